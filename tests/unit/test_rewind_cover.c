/* Fairness: how long a victim had been behind cover; and the shapes that a shot was tested against
 * (spec/lag-compensation.md "More than rays", "Seeing it"). */
#include "server/rewind/rewind.h"
#include "shared/base/arb_math.h"
#include "shared/proto/arb_schema.h"

#include <criterion/criterion.h>

#include <string.h>

enum { SHOOTER = 0, VICTIM = 1, FIRST = 100 };

static const struct rewind_kind kinds[3] = {
    [ARB_ARENA_CHARACTER] = {.shapes = {{{0, 0}, {0, 0}, 0.5F, 0}, {{0.4F, 0}, {1, 0}, 0.2F, 1}},
                             .count = 2},
};

static struct arb_arena arena;
static struct arb_geometry *geometry;
static struct rewind *rewind_;

/* A wall along y = 5 from x = 0 on: who stands behind it at x > 0 is in cover from the origin. */
static void setup(void)
{
    struct arb_shape wall = {ARB_SHAPE_POLYGON, 4, 0, {{0, 5}, {20, 5}, {20, 6}, {0, 6}}};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(&wall, 1, (struct arb_bounds){{-100, -100}, {100, 100}});
    struct rewind_config config = {.schema = &arb_schema_arena,
                                   .kinds = kinds,
                                   .tick_rate = 60,
                                   .max_rewind_ms = 500,
                                   .snapshot_interval_ticks = 2,
                                   .entity_capacity = 8,
                                   .player_capacity = 2};
    rewind_ = rewind_create(&arena, &config, geometry);
}

static void teardown(void)
{
    rewind_destroy(rewind_);
    arb_geometry_destroy(geometry);
    arb_arena_free(&arena);
}

TestSuite(rewind_cover, .init = setup, .fini = teardown);

static void publish(arb_tick tick, uint16_t generation, float x, float heading)
{
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_CHARACTER];
    struct arb_frame *frame = rewind_begin_frame(rewind_, tick);
    struct arb_published *out = &frame->entities[frame->entity_count++];
    memset(out, 0, sizeof *out);
    out->key = (struct arb_key){VICTIM, generation};
    out->kind = ARB_ARENA_CHARACTER;
    out->q[ARB_CHARACTER_X] = arb_quantise(x, kind->fields[ARB_CHARACTER_X].unit, -65536, 65536);
    out->q[ARB_CHARACTER_Y] = arb_quantise(10, kind->fields[ARB_CHARACTER_Y].unit, -65536, 65536);
    out->q[ARB_CHARACTER_HEADING] = (int32_t)arb_angle_to_turn(heading, ARB_CHARACTER_TURN_BITS);
    rewind_commit(rewind_);
}

/* In the open for three ticks, then behind the wall for seven: 103..109. */
static void run_behind_the_wall(void)
{
    for (arb_tick i = 0; i < 10; i++) {
        publish(FIRST + i, 1, i < 3 ? -3.0F : 3.0F, 0);
    }
}

static uint32_t cover(struct arb_view view, uint32_t most)
{
    struct arb_key victim = {VICTIM, 1};
    return rewind_cover_ticks(rewind_, victim, (struct arb_vec2){0, 0}, view, most);
}

Test(rewind_cover, counts_the_newest_frames_behind_static_geometry)
{
    run_behind_the_wall();
    cr_assert_eq(cover((struct arb_view){.from_tick = 100, .to_tick = 102}, UINT32_MAX), 7);
    cr_assert_eq(cover((struct arb_view){.from_tick = 100, .to_tick = 102}, 4), 4,
                 "no further than asked for");
}

Test(rewind_cover, what_the_shooter_saw_does_not_count)
{
    run_behind_the_wall();
    static const struct {
        struct arb_view view;
        uint32_t ticks;
    } rows[] = {
        {{.from_tick = 109, .to_tick = 109}, 0},
        {{.from_tick = 109, .to_tick = 109, .fraction = 512}, 0},
        {{.from_tick = 108, .to_tick = 109, .fraction = 255}, 1},
        {{.from_tick = 104, .to_tick = 108, .fraction = 64}, 4}, /* the moment 105 */
        {{.from_tick = 104, .to_tick = 108, .fraction = 63}, 5},
        {{.from_tick = 100, .to_tick = 100}, 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(cover(rows[i].view, UINT32_MAX), rows[i].ticks, "row %zu: %u", i,
                     cover(rows[i].view, UINT32_MAX));
    }
}

Test(rewind_cover, ends_where_it_was_seen_again)
{
    run_behind_the_wall();
    publish(110, 1, -3, 0);
    publish(111, 1, 3, 0);
    publish(112, 1, 3, 0);
    cr_assert_eq(cover((struct arb_view){.from_tick = 100, .to_tick = 100}, UINT32_MAX), 2);
    publish(113, 1, -3, 0);
    cr_assert_eq(cover((struct arb_view){.from_tick = 100, .to_tick = 100}, UINT32_MAX), 0);
}

Test(rewind_cover, belongs_to_one_character)
{
    struct arb_view old = {.from_tick = 100, .to_tick = 100};
    cr_assert_eq(cover(old, UINT32_MAX), 0, "nothing was published yet");
    publish(100, 1, 3, 0);
    publish(101, 1, 3, 0);
    publish(102, 2, 3, 0);
    publish(103, 2, 3, 0);
    cr_assert_eq(cover(old, UINT32_MAX), 0, "it is gone");
    struct arb_key next = {VICTIM, 2};
    cr_assert_eq(rewind_cover_ticks(rewind_, next, (struct arb_vec2){0, 0}, old, UINT32_MAX), 2,
                 "the one before is another character");
}

Test(rewind_cover, a_match_younger_than_the_view_counts_what_there_is)
{
    publish(0, 1, 3, 0);
    publish(1, 1, 3, 0);
    cr_assert_eq(cover((struct arb_view){.from_tick = 0, .to_tick = 0}, UINT32_MAX), 1);
}

Test(rewind_cover, outline_is_what_the_ray_meets)
{
    publish(100, 1, -2, 0);
    publish(101, 1, -2, ARB_PI / 2);
    publish(102, 1, -4, ARB_PI / 2);
    struct rewind_outline outline;
    struct arb_key victim = {VICTIM, 1};
    struct rewind_past past = {.view = {.from_tick = 101, .to_tick = 102, .fraction = 128}};
    cr_assert(rewind_outline(rewind_, &past, victim, &outline));
    cr_assert_eq(outline.count, 2);
    cr_assert_float_eq(outline.centre.x, -3, 1e-6);
    cr_assert_float_eq(outline.shapes[1].a.x, -3, 1e-5);
    cr_assert_float_eq(outline.shapes[1].b.y, 11, 1e-5, "its head is ahead of it: up");
    struct rewind_ray ray = {
        .origin = {-3, 0}, .direction = {0, 1}, .range = 50, .view = past.view};
    struct rewind_shot shot;
    rewind_resolve_shot(rewind_, &ray, &shot);
    cr_assert_eq(shot.hit_count, 1);
    cr_assert_float_eq(shot.hits[0].distance, outline.centre.y - outline.shapes[0].radius, 1e-4);
    victim.generation = 2;
    cr_assert_not(rewind_outline(rewind_, &past, victim, &outline));
    victim.id = 2000;
    cr_assert_not(rewind_outline(rewind_, &past, victim, &outline));
}

Test(rewind_cover, outline_is_of_the_states_that_the_client_held)
{
    publish(100, 1, -2, 0);
    publish(101, 1, -3, 0);
    publish(102, 1, -4, 0);
    struct arb_key victim = {VICTIM, 1};
    struct rewind_pair pair = {victim, 100, 102};
    struct rewind_past past = {
        .view = {.from_tick = 101, .to_tick = 101}, .pairs = &pair, .pair_count = 1};
    struct rewind_outline outline;
    cr_assert(rewind_outline(rewind_, &past, victim, &outline));
    cr_assert_float_eq(outline.centre.x, -3, 1e-6);
    pair.to_tick = 100;
    cr_assert(rewind_outline(rewind_, &past, victim, &outline));
    cr_assert_float_eq(outline.centre.x, -2, 1e-6, "only the older state: it stood there");
    past.pair_count = 0;
    cr_assert_not(rewind_outline(rewind_, &past, victim, &outline), "not seen");
}

/* ---- mercy ---- */

static struct rewind_shot shoot_at_old_place(const struct rewind_mercy *mercy)
{
    struct rewind_ray ray = {.origin = {-3, 0},
                             .direction = {0, 1},
                             .range = 50,
                             .view = {.from_tick = 100, .to_tick = 102},
                             .mercy = mercy};
    struct rewind_shot shot;
    rewind_resolve_shot(rewind_, &ray, &shot);
    return shot;
}

Test(rewind_cover, whoever_is_in_cover_for_longer_than_the_grace_is_spared)
{
    run_behind_the_wall();
    struct rewind_shot shot = shoot_at_old_place(NULL);
    cr_assert_eq(shot.hit_count, 1);
    cr_assert_eq(shot.spared, 0);
    struct rewind_mercy mercy = {.origin = {0, 0}, .cover_ticks = 0};
    cr_assert_eq(shoot_at_old_place(&mercy).hit_count, 1, "no grace is set");
    mercy.cover_ticks = 8;
    cr_assert_eq(shoot_at_old_place(&mercy).hit_count, 1, "seven ticks only");
    mercy.cover_ticks = 7;
    shot = shoot_at_old_place(&mercy);
    cr_assert_eq(shot.hit_count, 0);
    cr_assert_eq(shot.spared, 1);
    cr_assert_eq(shot.reach, 50, "the ray goes on");
    struct rewind_past past = {.view = {.from_tick = 100, .to_tick = 102}, .mercy = &mercy};
    cr_assert(rewind_forgives(rewind_, &past, (struct arb_key){VICTIM, 1}));
    cr_assert_not(rewind_forgives(rewind_, &past, (struct arb_key){VICTIM, 2}));
    mercy.origin = (struct arb_vec2){3, 8};
    cr_assert_eq(shoot_at_old_place(&mercy).hit_count, 1, "no cover from there");
}

Test(rewind_cover, an_ability_that_the_shooter_did_not_see_yet_wins)
{
    run_behind_the_wall();
    struct rewind_shelter shelters[] = {{{0, 1}, 900}, {{VICTIM, 1}, 100}, {{2, 1}, 900}};
    struct rewind_mercy mercy = {.shelters = shelters, .shelter_count = 3};
    cr_assert_eq(shoot_at_old_place(&mercy).hit_count, 1, "it is in the view");
    shelters[1].since = 101;
    struct rewind_shot shot = shoot_at_old_place(&mercy);
    cr_assert_eq(shot.hit_count, 0);
    cr_assert_eq(shot.spared, 1);
    shelters[1].key.generation = 2;
    cr_assert_eq(shoot_at_old_place(&mercy).hit_count, 1, "somebody else's");
    mercy.shelter_count = 1;
    cr_assert_eq(shoot_at_old_place(&mercy).hit_count, 1);
}

Test(rewind_cover, sweeps_and_areas_spare_the_same)
{
    run_behind_the_wall();
    struct rewind_mercy mercy = {.origin = {0, 0}, .cover_ticks = 7};
    struct rewind_past past = {.view = {.from_tick = 100, .to_tick = 102}};
    struct rewind_sweep sweep = {{-3, 0}, {-3, 0}, 0.1F, {0, 20}, 0, false};
    struct rewind_area area = {{-3, 10}, {-3, 10}, 1};
    for (int spares = 0; spares < 2; spares++) {
        struct rewind_shot shot;
        struct rewind_touch touch;
        past.mercy = spares ? &mercy : NULL;
        rewind_sweep(rewind_, &past, &sweep, 1, &shot);
        rewind_overlap(rewind_, &past, &area, 1, &touch);
        cr_assert_eq(shot.hit_count, !spares);
        cr_assert_eq(shot.spared != 0, spares);
        cr_assert_eq(touch.hit_count, !spares);
        cr_assert_eq(touch.spared != 0, spares);
    }
}
