/* Rewind against what one client held (spec/lag-compensation.md "What the client sends"): each
 * character between its own two states, and who was not held is not hit. */
#include "server/rewind/rewind.h"
#include "shared/base/arb_rng.h"
#include "shared/view/arb_drawn.h"
#include "shared/view/arb_held.h"
#include "tests/unit/rewind_rig.h"

TestSuite(rewind_pairs, .init = setup, .fini = teardown);

/* The target walks 1 m a tick along y at x = 20; published ticks 100 to 119. */
static void walk(void)
{
    for (arb_tick tick = 100; tick < 120; tick++) {
        publish(tick, &(struct stand){.key = target, .x = 20, .y = (float)tick - 100, .vx = 6}, 1);
    }
}

static struct rewind_ray ray_at(float y, struct arb_view view, const struct rewind_pair *pairs,
                                uint32_t count)
{
    struct rewind_ray ray = ray_along_x(view);
    ray.origin.y = y;
    ray.pairs = pairs;
    ray.pair_count = count;
    return ray;
}

Test(rewind_pairs, a_deferred_target_is_met_between_its_own_states)
{
    walk();
    /* Drawn at 113.5; its states of 108 and 118 were the nearest that the client held. */
    struct arb_view view = {.from_tick = 112, .to_tick = 114, .fraction = 192};
    struct rewind_pair pair = {target, 108, 118};
    struct arb_vec2 at;
    cr_assert(rewind_pose_of_pair(rewind_, &pair, view, &at, NULL));
    cr_expect_float_eq(at.y, 13.5F, 1e-5F);
    cr_expect_eq(shoot(ray_at(13.5F, view, &pair, 1)).hit_count, 1);
    /* Alone it goes on from there by its velocity, no further than the cap. */
    pair.to_tick = 108;
    cr_assert(rewind_pose_of_pair(rewind_, &pair, view, &at, NULL));
    cr_expect_eq(at.y, 8);
    cr_expect_float_eq(at.x, 20 + 4 * 6.0F / 60, 1e-5F);
    cr_expect_eq(shoot(ray_at(8, view, &pair, 1)).hit_count, 1);
    cr_expect_eq(shoot(ray_at(13.5F, view, &pair, 1)).hit_count, 0);
}

Test(rewind_pairs, who_was_not_held_is_not_hit_but_counted)
{
    struct stand stands[] = {{.key = {5, 1}, .x = 10},
                             {.key = {6, 1}, .x = 20},
                             {.key = {7, 1}, .x = 30},
                             {.key = {8, 1}, .x = 30, .y = 5}};
    publish(100, stands, 4);
    publish(101, stands, 4);
    struct arb_view view = {.from_tick = 100, .to_tick = 101, .fraction = 9};
    struct rewind_pair pairs[] = {{{6, 1}, 100, 101}, {{8, 1}, 100, 101}};
    struct rewind_shot shot = shoot(ray_at(0, view, pairs, 2));
    cr_assert_eq(shot.hit_count, 1);
    cr_expect_eq(shot.hits[0].victim.id, 6);
    cr_expect_eq(shot.unseen, 1, "the one before it; behind it nothing is met");
    shot = shoot(ray_at(0, view, pairs, 0));
    cr_expect_eq(shot.hit_count, 0, "an empty list is nobody");
    cr_expect_eq(shot.unseen, 3);
    cr_expect_float_eq(shot.reach, 500, 1e-3F);
    shot = shoot(ray_at(0, view, NULL, 0));
    cr_expect_eq(shot.hits[0].victim.id, 5, "no list is everyone");
    cr_expect_eq(shot.unseen, 0);
    struct rewind_ray ray = ray_at(0, view, pairs, 2);
    ray.shooter = (struct arb_key){5, 1};
    cr_expect_eq(shoot(ray).unseen, 0, "the shooter itself is not missed");
}

Test(rewind_pairs, pairs_that_fit_nothing_hit_nothing)
{
    walk();
    publish(120, &(struct stand){.key = {7, 2}, .x = 20, .y = 12}, 1);
    struct arb_view view = {.from_tick = 112, .to_tick = 114};
    static const struct {
        const char *what;
        struct rewind_pair pair;
        uint32_t hits, unseen;
    } cases[] = {
        {"right", {{7, 1}, 112, 114}, 1, 0},
        {"another generation", {{7, 2}, 112, 114}, 0, 1},
        {"a generation that came later", {{7, 2}, 112, 120}, 0, 1},
        {"a frame not published yet", {{7, 1}, 112, 150}, 0, 0},
        {"a frame no longer held", {{7, 1}, 1, 114}, 0, 0},
        {"its life ended before the second", {{7, 1}, 112, 120}, 0, 0},
        {"both after the view", {{7, 1}, 114, 116}, 0, 0},
        {"both before the view", {{7, 1}, 108, 110}, 0, 0},
        {"backwards: the first alone", {{7, 1}, 112, 100}, 1, 0},
        {"no such id", {{60000, 1}, 112, 114}, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rewind_shot shot = shoot(ray_at(12, view, &cases[i].pair, 1));
        cr_expect_eq(shot.hit_count, cases[i].hits, "%s", cases[i].what);
        cr_expect_eq(shot.unseen, cases[i].unseen, "%s: %u", cases[i].what, shot.unseen);
    }
}

Test(rewind_pairs, a_state_from_before_the_window_is_found)
{
    /* 19 samples of the window, 132 frames held: state 100 of the pair is long out of the tree. */
    for (arb_tick tick = 100; tick < 220; tick++) {
        struct stand stand = {.key = target, .x = 20, .y = tick < 110 ? 0.0F : 300.0F};
        publish(tick, &stand, 1);
    }
    struct arb_view view = {.from_tick = 210, .to_tick = 212};
    struct rewind_pair pair = {target, 105, 105};
    struct rewind_shot shot = shoot(ray_at(0, view, &pair, 1));
    cr_assert_eq(shot.hit_count, 1);
    cr_expect_float_eq(shot.hits[0].distance, 19.5F, 1e-3F);
    cr_expect_eq(shoot(ray_at(300, view, &pair, 1)).hit_count, 0);
    cr_expect_eq(shoot(ray_at(300, view, &pair, 1)).unseen, 0, "it was seen, elsewhere");
    struct rewind_past past = {.view = view, .pairs = &pair, .pair_count = 1};
    struct rewind_area area = {{20, 0}, {20, 0}, 1};
    struct rewind_touch touch;
    rewind_overlap(rewind_, &past, &area, 1, &touch);
    cr_expect_eq(touch.hit_count, 1);
    struct rewind_sweep sweep = {.a = {0, 0}, .b = {0, 0}, .radius = 0.1F, .delta = {50, 0}};
    rewind_sweep(rewind_, &past, &sweep, 1, &shot);
    cr_expect_eq(shot.hit_count, 1);
}

Test(rewind_pairs, a_jump_of_any_size_between_its_states_holds_the_earlier_one)
{
    static const float jumps[] = {0.01F, 100};
    for (size_t i = 0; i < 2; i++) {
        arb_tick first = 100 + 10 * i;
        struct stand stand = {.key = target, .x = 20, .jump = (uint8_t)i};
        publish(first, &stand, 1);
        stand.y = jumps[i];
        stand.jump++;
        for (arb_tick tick = first + 1; tick < first + 10; tick++) {
            publish(tick, &stand, 1);
        }
        struct rewind_pair pair = {target, first, first + 4};
        for (uint16_t fraction = 0; fraction <= 255; fraction++) {
            struct arb_view view = {.from_tick = first, .to_tick = first + 4, .fraction = fraction};
            struct arb_vec2 at;
            cr_assert(rewind_pose_of_pair(rewind_, &pair, view, &at, NULL));
            cr_assert_eq(at.y, 0.0F, "%f at %u", (double)jumps[i], fraction);
        }
        struct arb_vec2 at;
        struct arb_view later = {.from_tick = first + 4, .to_tick = first + 6};
        pair = (struct rewind_pair){target, first + 4, first + 6};
        cr_assert(rewind_pose_of_pair(rewind_, &pair, later, &at, NULL));
        cr_expect_float_eq(at.y, jumps[i], 1.0F / 512);
    }
}

/* Against the rule itself, over random holes in what the client got. */
Test(rewind_pairs, the_rewound_place_is_the_drawn_one_to_the_bit)
{
    enum { TICKS = 200, KEPT = 4 };
    static struct arb_held held;
    static struct arb_held_entry entries[TICKS];
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_CHARACTER];
    const struct arb_drawn_rule rule = {2, 60};
    struct arb_rng rng;
    arb_rng_seed(&rng, 3, 3);
    uint32_t drawn = 0;
    arb_tick state = 0;
    for (arb_tick tick = 1; tick < TICKS; tick++) {
        publish(tick,
                &(struct stand){.key = target,
                                .x = arb_rng_range(&rng, -90, 90),
                                .y = arb_rng_range(&rng, -90, 90),
                                .vx = arb_rng_range(&rng, -9, 9),
                                .heading = arb_rng_range(&rng, -3, 3),
                                .jump = (uint8_t)(tick / 50)},
                1);
        if (tick % 2 != 0 || (state != 0 && arb_rng_below(&rng, 10) < 3)) {
            continue; /* lost */
        }
        if (state == 0 || arb_rng_below(&rng, 10) < 5) {
            state = tick; /* else it was left out */
        }
        if (held.count == KEPT) {
            memmove(held.frames, held.frames + 1, (KEPT - 1) * sizeof held.frames[0]);
            held.count--;
        }
        entries[tick] = (struct arb_held_entry){.key = target, .age = (uint16_t)(tick - state)};
        held.frames[held.count++] =
            (struct arb_held_frame){tick, (uint32_t)tick, 1, &entries[tick]};
        arb_fine at =
            (arb_fine)(tick + 1) * ARB_FINE_TICK - (arb_fine)arb_rng_below(&rng, 8 * ARB_FINE_TICK);
        struct arb_view view;
        struct arb_held_place place;
        struct arb_held_states states;
        if (!arb_held_find(&held, at, &view)) {
            continue;
        }
        cr_assert(arb_held_place(&held, &view, &place));
        cr_assert(arb_held_states(&held, &place, target, &states));
        struct rewind_pair pair = {target, states.from_tick, states.to_tick};
        const struct arb_published *to =
            states.to_tick > states.from_tick
                ? arb_frame_find(rewind_frame(rewind_, states.to_tick), target)
                : NULL;
        struct arb_drawn_pair as_drawn = {
            arb_frame_find(rewind_frame(rewind_, states.from_tick), target), to, states.from_tick,
            states.to_tick, place.at};
        struct arb_vec2 there, expected = arb_drawn_position(kind, &as_drawn, &rule);
        float heading;
        cr_assert(rewind_pose_of_pair(rewind_, &pair, view, &there, &heading));
        cr_assert(there.x == expected.x && there.y == expected.y);
        cr_assert_eq(heading, arb_drawn_heading(kind, &as_drawn));
        drawn++;
    }
    cr_expect_gt(drawn, 50);
}

Test(rewind_pairs, a_ray_that_is_no_number_hits_nothing)
{
    walk();
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        struct rewind_ray ray = ray_along_x(rewind_present(rewind_));
        ray.direction.x = bad[i];
        cr_expect_eq(shoot(ray).hit_count, 0);
        ray = ray_along_x(rewind_present(rewind_));
        ray.origin.y = bad[i];
        cr_expect_eq(shoot(ray).hit_count, 0);
        struct rewind_past past = {.view = rewind_present(rewind_)};
        struct rewind_sweep sweep = {.delta = {1, bad[i]}, .radius = 1};
        struct rewind_shot shot;
        rewind_sweep(rewind_, &past, &sweep, 1, &shot);
        cr_expect_eq(shot.hit_count, 0);
        struct rewind_area area = {{20, 19}, {20, bad[i]}, 1};
        struct rewind_touch touch;
        rewind_overlap(rewind_, &past, &area, 1, &touch);
        cr_expect_eq(touch.hit_count, 0);
    }
}

Test(rewind_pairs, a_history_younger_than_the_view_is_its_oldest)
{
    publish(7, &(struct stand){.key = target, .x = 20, .y = 3}, 1);
    struct arb_vec2 at;
    struct arb_view view = {.from_tick = 1, .to_tick = 3, .fraction = 200};
    cr_assert(rewind_pose(rewind_, target, view, &at, NULL));
    cr_expect_eq(at.y, 3);
    struct rewind_pair pair = {target, 1, 3};
    cr_expect(!rewind_pose_of_pair(rewind_, &pair, view, &at, NULL), "nobody was sent that");
}
