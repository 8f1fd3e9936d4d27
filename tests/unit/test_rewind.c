/* The past: ring of frames, origins, views, shots (spec/lag-compensation.md). */
#include "server/rewind/rewind.h"
#include "tests/unit/rewind_rig.h"

#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"

TestSuite(rewind, .init = setup, .fini = teardown);

/* ---- frames ---- */

Test(rewind, capacity_worked_cases)
{
    cr_expect_eq(rewind_samples(0, 60, 0), 7);
    cr_expect_eq(rewind_samples(50, 60, 0), 7);
    cr_expect_eq(rewind_samples(250, 60, 0), 19);
    cr_expect_eq(rewind_samples(500, 60, 0), 34);
    cr_expect_eq(rewind_samples(700, 60, 0), 46);
    cr_expect_eq(rewind_samples(700, 60, 30), 76);
    struct rewind_config config = {
        .max_rewind_ms = 250, .tick_rate = 60, .snapshot_interval_ticks = 2};
    cr_expect_eq(rewind_frames(&config), 132);
    config.max_rewind_ms = 700;
    config.tick_rate = 128;
    config.window_ticks = 30;
    config.snapshot_interval_ticks = 1;
    cr_expect_eq(rewind_frames(&config), 124 + 2 + 48);
}

/* The oldest state of the oldest view, or a baseline of 64 snapshots. */
Test(rewind, the_ring_is_as_long_as_views_and_baselines_reach_back)
{
    static const struct {
        uint32_t tick_rate, interval, frames;
    } rows[] = {{20, 1, 14 + 2 + 48},  {20, 2, 132},          {20, 3, 196},
                {60, 1, 34 + 2 + 48},  {60, 2, 34 + 4 + 96},  {60, 3, 196},
                {128, 1, 68 + 2 + 48}, {128, 2, 68 + 4 + 96}, {128, 3, 68 + 6 + 144}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rewind_config config = {.max_rewind_ms = 500,
                                       .tick_rate = rows[i].tick_rate,
                                       .snapshot_interval_ticks = rows[i].interval};
        uint32_t baselines = 64 * rows[i].interval + 4;
        cr_expect_eq(rewind_frames(&config),
                     rows[i].frames > baselines ? rows[i].frames : baselines, "row %zu", i);
    }
}

Test(rewind, the_ring_holds_its_length_of_ticks_and_no_more)
{
    cr_expect_null(rewind_newest(rewind_));
    cr_expect_null(rewind_frame(rewind_, 0));
    for (arb_tick tick = 1000; tick < 1200; tick++) {
        struct arb_frame *under_way = rewind_begin_frame(rewind_, tick);
        cr_expect_eq(under_way->entity_count, 0);
        cr_expect_null(rewind_frame(rewind_, tick), "not published before its commit");
        if (tick > 1000) {
            cr_expect_eq(rewind_newest(rewind_)->tick, tick - 1);
        }
        rewind_commit(rewind_);
        cr_expect_eq(rewind_newest(rewind_)->tick, tick);
    }
    cr_expect_null(rewind_frame(rewind_, 1200));
    cr_expect_null(rewind_frame(rewind_, 1199 - 132));
    cr_assert_not_null(rewind_frame(rewind_, 1199 - 131));
    cr_expect_eq(rewind_frame(rewind_, 1199 - 131)->tick, 1199 - 131);
    cr_expect_null(rewind_frame(rewind_, 5));
}

Test(rewind, a_match_may_begin_at_any_tick)
{
    arb_tick first = ((arb_tick)1 << 32) - 2;
    struct stand stand = {.key = target};
    for (arb_tick tick = first; tick < first + 10; tick++) {
        stand.x = (float)(tick - first);
        publish(tick, &stand, 1);
    }
    struct arb_vec2 at;
    struct arb_view view = {.from_tick = first + 3, .to_tick = first + 5, .fraction = 128};
    cr_assert(rewind_pose(rewind_, target, view, &at, NULL));
    cr_expect_eq(at.x, 4.0F);
}

/* ---- poses ---- */

Test(rewind, a_jump_is_not_interpolated)
{
    publish(10, &(struct stand){.key = target, .x = 0}, 1);
    publish(11, &(struct stand){.key = target, .x = 100, .jump = 1}, 1);
    publish(12, &(struct stand){.key = target, .x = 101, .jump = 1}, 1);
    static const struct {
        struct arb_view view;
        float x;
    } cases[] = {
        {{.from_tick = 10, .to_tick = 11, .fraction = 128}, 0},
        {{.from_tick = 10, .to_tick = 11, .fraction = 255}, 0},
        {{.from_tick = 10, .to_tick = 11, .fraction = 256}, 100},
        {{.from_tick = 11, .to_tick = 12, .fraction = 0}, 100},
        {{.from_tick = 11, .to_tick = 12, .fraction = 128}, 100.5F},
        {{.from_tick = 10, .to_tick = 12, .fraction = 192}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_vec2 at = {-1, -1};
        cr_expect(rewind_pose(rewind_, target, cases[i].view, &at, NULL), "case %zu", i);
        cr_expect_eq(at.x, cases[i].x, "case %zu: %f", i, (double)at.x);
    }
}

Test(rewind, ticks_outside_of_the_history_are_its_ends)
{
    struct stand stand = {.key = target};
    for (arb_tick tick = 100; tick < 150; tick++) {
        stand.x = (float)tick;
        publish(tick, &stand, 1);
    }
    static const struct {
        struct arb_view view;
        float x;
    } cases[] = {
        {{.from_tick = 140, .to_tick = 142, .fraction = 64}, 140.5F},
        {{.from_tick = 3, .to_tick = 5, .fraction = 64}, 131}, /* 19 samples */
        {{.from_tick = 120, .to_tick = 132, .fraction = 128}, 131.5F},
        {{.from_tick = 148, .to_tick = 170, .fraction = 128}, 148.5F},
        {{.from_tick = 160, .to_tick = 170, .fraction = 128}, 149},
        {{.from_tick = 140, .to_tick = 142, .fraction = 9999}, 142},
        {{.from_tick = 0, .to_tick = 0}, 131},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_vec2 at;
        cr_assert(rewind_pose(rewind_, target, cases[i].view, &at, NULL));
        cr_expect_eq(at.x, cases[i].x, "case %zu: %f", i, (double)at.x);
    }
    struct arb_view present = rewind_present(rewind_);
    cr_expect(present.from_tick == 149 && present.to_tick == 149 && present.fraction == 0);
}

Test(rewind, past_the_newest_the_capped_extrapolation_holds)
{
    publish(10, &(struct stand){.key = target, .x = 10, .vx = 10}, 1);
    static const struct {
        uint16_t fraction;
        float ticks;
    } cases[] = {{0, 0}, {256, 1}, {640, 2.5F}, {1024, 4}, {1280, 4}, {65535, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_vec2 at;
        struct arb_view view = {.from_tick = 10, .to_tick = 10, .fraction = cases[i].fraction};
        cr_assert(rewind_pose(rewind_, target, view, &at, NULL));
        cr_expect_float_eq(at.x, 10 + cases[i].ticks * 10 / 60, 1e-5F, "case %zu", i);
    }
}

/* A mode that publishes the velocity of something with a body. */
/* Alone in the tree, so that nothing but its own bounds decides whether the ray is tried. */
Test(rewind, a_shot_finds_who_is_drawn_four_ticks_ahead_of_the_newest)
{
    publish(1, &(struct stand){.key = target, .y = 10, .vx = 40}, 1);
    for (uint32_t ticks = 0; ticks <= 4; ticks++) {
        struct rewind_ray ray = {
            .origin = {40.0F * (float)ticks / 60.0F, 0},
            .direction = {0, 1},
            .range = 30,
            .view = {.from_tick = 1, .to_tick = 1, .fraction = (uint16_t)(256 * ticks)}};
        struct rewind_shot shot = shoot(ray);
        cr_assert_eq(shot.hit_count, 1, "%u ticks ahead", ticks);
        cr_assert_float_eq(shot.hits[0].distance, 9.5F, 0.01F);
    }
}

Test(rewind, what_has_a_body_stays_where_it_was_last)
{
    struct arb_kind character = arb_schema_arena.kinds[ARB_ARENA_CHARACTER];
    character.has_body = 1;
    struct arb_schema schema = {.name = "bodies", .kinds = &character, .kind_count = 1};
    struct arb_arena memory;
    arb_arena_init(&memory);
    struct rewind *with_body = rewind_create(&memory,
                                             &(struct rewind_config){.schema = &schema,
                                                                     .kinds = kinds,
                                                                     .tick_rate = 60,
                                                                     .snapshot_interval_ticks = 2,
                                                                     .entity_capacity = ENTITIES,
                                                                     .player_capacity = 1},
                                             geometry);
    struct arb_frame *frame = rewind_begin_frame(with_body, 10);
    frame->entities[frame->entity_count++] =
        (struct arb_published){.key = target,
                               .q = {[ARB_CHARACTER_X] = quantised(ARB_CHARACTER_X, 10),
                                     [ARB_CHARACTER_VX] = quantised(ARB_CHARACTER_VX, 10)}};
    rewind_commit(with_body);
    struct arb_vec2 at;
    struct arb_view view = {.from_tick = 10, .to_tick = 10, .fraction = 512};
    cr_assert(rewind_pose(with_body, target, view, &at, NULL));
    cr_expect_eq(at.x, 10);
    rewind_destroy(with_body);
    arb_arena_free(&memory);
}

Test(rewind, rotation_takes_the_shorter_arc)
{
    float degree = ARB_PI / 180;
    publish(10, &(struct stand){.key = target, .heading = 170 * degree}, 1);
    publish(11, &(struct stand){.key = target, .heading = -170 * degree}, 1);
    struct arb_vec2 at;
    float heading;
    struct arb_view view = {.from_tick = 10, .to_tick = 11, .fraction = 128};
    cr_assert(rewind_pose(rewind_, target, view, &at, &heading));
    cr_expect_float_eq(fabsf(heading), ARB_PI, 1e-4F);
}

Test(rewind, a_pose_is_what_the_formulas_of_drawing_give_bit_for_bit)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 4, 4);
    for (arb_tick tick = 1; tick < 200; tick++) {
        struct stand stand = {.key = target,
                              .x = arb_rng_range(&rng, -900, 900),
                              .y = arb_rng_range(&rng, -900, 900),
                              .heading = arb_rng_range(&rng, -3, 3)};
        publish(tick, &stand, 1);
        if (tick < 3) {
            continue;
        }
        const struct arb_published *a = arb_frame_find(rewind_frame(rewind_, tick - 2), target);
        const struct arb_published *b = arb_frame_find(rewind_frame(rewind_, tick), target);
        uint16_t fraction = (uint16_t)(1 + arb_rng_below(&rng, 255));
        struct arb_view view = {.from_tick = tick - 2, .to_tick = tick, .fraction = fraction};
        struct arb_vec2 at;
        float heading, unit = 1.0F / 512.0F;
        cr_assert(rewind_pose(rewind_, target, view, &at, &heading));
        struct arb_vec2 from = {(float)a->q[ARB_CHARACTER_X] * unit,
                                (float)a->q[ARB_CHARACTER_Y] * unit};
        struct arb_vec2 to = {(float)b->q[ARB_CHARACTER_X] * unit,
                              (float)b->q[ARB_CHARACTER_Y] * unit};
        struct arb_vec2 drawn = arb_move_lerp(from, to, (float)fraction / 256.0F);
        cr_assert(drawn.x == at.x && drawn.y == at.y);
        float turn = arb_move_lerp_angle(
            arb_turn_to_angle((uint32_t)a->q[ARB_CHARACTER_HEADING], 12),
            arb_turn_to_angle((uint32_t)b->q[ARB_CHARACTER_HEADING], 12), (float)fraction / 256.0F);
        cr_assert_eq(turn, heading);
    }
}

Test(rewind, who_did_not_exist_then_cannot_be_met)
{
    static const struct arb_key reborn = {7, 2};
    struct arb_vec2 at;
    publish(10, NULL, 0);
    publish(11, &(struct stand){.key = target, .x = 10}, 1);
    publish(12, &(struct stand){.key = target, .x = 10}, 1);
    publish(13, &(struct stand){.key = reborn, .x = 10}, 1);
    static const struct {
        struct arb_view view;
        bool old, young;
    } cases[] = {
        {{.from_tick = 10, .to_tick = 11, .fraction = 128}, false, false},
        {{.from_tick = 10, .to_tick = 11, .fraction = 256}, true, false},
        {{.from_tick = 11, .to_tick = 12, .fraction = 128}, true, false},
        {{.from_tick = 12, .to_tick = 13, .fraction = 0}, true, false},
        {{.from_tick = 12, .to_tick = 13, .fraction = 128}, true, false}, /* drawn until 13 */
        {{.from_tick = 13, .to_tick = 13}, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(rewind_pose(rewind_, target, cases[i].view, &at, NULL), cases[i].old, "%zu",
                     i);
        cr_expect_eq(rewind_pose(rewind_, reborn, cases[i].view, &at, NULL), cases[i].young, "%zu",
                     i);
        struct rewind_shot shot = shoot(ray_along_x(cases[i].view));
        cr_expect_eq(shot.hit_count, cases[i].old || cases[i].young, "%zu", i);
    }
}

/* ---- origins ---- */

Test(rewind, each_shot_leaves_from_the_origin_of_its_own_input)
{
    struct arb_vec2 at;
    rewind_record_origin(rewind_, 2, 500, 40, (struct arb_vec2){0, 0});
    rewind_record_origin(rewind_, 2, 501, 41, (struct arb_vec2){1, 0});
    rewind_record_origin(rewind_, 2, 502, 42, (struct arb_vec2){2, 0});
    static const struct {
        arb_sequence sequence;
        uint8_t fraction;
        float x;
    } cases[] = {{501, 0, 0}, {501, 128, 0.5F}, {501, 255, 255.0F / 256}, {502, 0, 1}, {500, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert(rewind_origin(rewind_, 2, cases[i].sequence, cases[i].fraction, &at));
        cr_expect_eq(at.x, cases[i].x, "case %zu", i);
    }
    cr_expect(!rewind_origin(rewind_, 2, 503, 0, &at));
    cr_expect(!rewind_origin(rewind_, 2, 0, 0, &at));
    cr_expect(!rewind_origin(rewind_, 1, 501, 0, &at), "another player's");
}

Test(rewind, origins_do_not_interpolate_over_a_gap_or_a_rebind)
{
    struct arb_vec2 at;
    rewind_record_origin(rewind_, 0, 1, 10, (struct arb_vec2){0, 0});
    rewind_record_origin(rewind_, 0, 2, 14, (struct arb_vec2){9, 0});
    cr_assert(rewind_origin(rewind_, 0, 2, 0, &at));
    cr_expect_eq(at.x, 9.0F, "three ticks had no input");
    rewind_drop_origins(rewind_, 0);
    cr_expect(!rewind_origin(rewind_, 0, 2, 0, &at));
    rewind_record_origin(rewind_, 0, 3, 15, (struct arb_vec2){50, 0});
    cr_assert(rewind_origin(rewind_, 0, 3, 0, &at));
    cr_expect_eq(at.x, 50.0F);
}

Test(rewind, an_old_sequence_is_forgotten)
{
    struct arb_vec2 at;
    for (arb_sequence sequence = 1; sequence <= 100; sequence++) {
        rewind_record_origin(rewind_, 0, sequence, 10 + sequence,
                             (struct arb_vec2){(float)sequence, 0});
    }
    cr_expect(rewind_origin(rewind_, 0, 100 - 18, 255, &at));
    cr_expect(!rewind_origin(rewind_, 0, 100 - 19, 255, &at));
}

/* ---- shots ---- */

Test(rewind, what_the_shooter_saw_is_what_is_hit)
{
    /* 6 m in 100 ms along y; the shot at its old place arrives then. */
    for (arb_tick tick = 100; tick <= 106; tick++) {
        struct stand stand = {.key = target, .x = 20, .y = (float)(tick - 100)};
        publish(tick, &stand, 1);
    }
    struct rewind_shot then =
        shoot(ray_along_x((struct arb_view){.from_tick = 100, .to_tick = 102}));
    cr_expect_eq(then.hit_count, 1);
    cr_expect(arb_key_equal(then.hits[0].victim, target));
    struct rewind_shot now = shoot(ray_along_x(rewind_present(rewind_)));
    cr_expect_eq(now.hit_count, 0, "who stood there then stands elsewhere now");
    cr_expect_float_eq(now.reach, 500, 1e-3F);
}

Test(rewind, a_neighbouring_tick_is_ten_centimetres_off_at_six_metres_a_second)
{
    for (arb_tick tick = 100; tick <= 106; tick++) {
        struct stand stand = {.key = target, .x = 20 + 0.1F * (float)(tick - 100)};
        publish(tick, &stand, 1);
    }
    struct arb_vec2 a, b;
    struct arb_view view = {.from_tick = 102, .to_tick = 104, .fraction = 128}, next = view;
    next.from_tick++;
    next.to_tick++;
    rewind_pose(rewind_, target, view, &a, NULL);
    rewind_pose(rewind_, target, next, &b, NULL);
    cr_expect_float_eq(b.x - a.x, 0.1F, 1.0F / 512);
}

Test(rewind, shapes_turn_with_the_character_and_tell_their_part)
{
    struct stand stand = {.key = target, .x = 20, .heading = ARB_PI};
    publish(1, &stand, 1);
    struct rewind_shot shot = shoot(ray_along_x(rewind_present(rewind_)));
    cr_assert_eq(shot.hit_count, 1);
    cr_expect_eq(shot.hits[0].part, HEAD, "it looks at the shooter");
    cr_expect_float_eq(shot.hits[0].distance, 18.8F, 1e-3F);
    cr_expect_float_eq(shot.hits[0].point.x, 18.8F, 1e-3F);
    cr_expect_float_eq(shot.reach, 18.8F, 1e-3F);
    stand.heading = 0;
    publish(2, &stand, 1);
    shot = shoot(ray_along_x(rewind_present(rewind_)));
    cr_expect_eq(shot.hits[0].part, BODY);
    cr_expect_float_eq(shot.hits[0].distance, 19.5F, 1e-3F);
}

Test(rewind, hits_are_ordered_nearest_first_and_ties_by_key)
{
    struct stand stands[] = {
        {.key = {1, 1}, .x = 1}, /* the shooter itself */
        {.key = {2, 1}, .x = 40}, {.key = {3, 1}, .x = 20},         {.key = {4, 9}, .x = 20},
        {.key = {5, 1}, .x = 30}, {.key = {6, 1}, .x = 30, .y = 5},
    };
    publish(1, stands, 6);
    struct rewind_ray ray = ray_along_x(rewind_present(rewind_));
    ray.pierce = 9;
    struct rewind_shot shot = shoot(ray);
    static const uint16_t expected[] = {3, 4, 5, 2};
    cr_assert_eq(shot.hit_count, 4);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(shot.hits[i].victim.id, expected[i], "hit %d", i);
    }
    cr_expect_float_eq(shot.reach, 500, 1e-3F, "it pierces on to its range");
    ray.pierce = 1;
    shot = shoot(ray);
    cr_assert_eq(shot.hit_count, 2);
    cr_expect_eq(shot.hits[1].victim.id, 4);
    cr_expect_float_eq(shot.reach, 19.5F, 1e-3F);
    ray.pierce = 0;
    cr_expect_eq(shoot(ray).hits[0].victim.id, 3);
}

Test(rewind, more_victims_than_a_shot_holds_end_it)
{
    struct stand stands[30];
    for (int i = 0; i < 30; i++) {
        stands[i] = (struct stand){.key = {(uint16_t)(10 + i), 1}, .x = 100 - (float)i * 3};
    }
    publish(1, stands, 30);
    struct rewind_ray ray = ray_along_x(rewind_present(rewind_));
    ray.pierce = 255;
    struct rewind_shot shot = shoot(ray);
    cr_assert_eq(shot.hit_count, REWIND_HITS_MAX);
    for (int i = 0; i < REWIND_HITS_MAX; i++) {
        cr_expect_eq(shot.hits[i].victim.id, 39 - i);
    }
}

Test(rewind, static_geometry_stops_the_ray)
{
    struct stand stands[] = {{.key = {7, 1}, .x = 0, .y = 45}, {.key = {8, 1}, .x = 0, .y = 70}};
    publish(1, stands, 2);
    struct rewind_ray ray = ray_along_x(rewind_present(rewind_));
    ray.direction = (struct arb_vec2){0, 1};
    ray.pierce = 5;
    struct rewind_shot shot = shoot(ray);
    cr_assert_eq(shot.hit_count, 1);
    cr_expect_eq(shot.hits[0].victim.id, 7);
    cr_expect_float_eq(shot.reach, 50, 1e-3F);
    ray.origin = (struct arb_vec2){0, 61};
    cr_expect_eq(shoot(ray).hits[0].victim.id, 8, "from behind the wall");
    ray.origin = (struct arb_vec2){0, 55};
    cr_expect_eq(shoot(ray).hit_count, 0, "from inside it");
}

Test(rewind, the_own_team_is_spared_where_the_filter_is_on)
{
    struct stand stands[] = {{.key = {7, 1}, .x = 20, .team = 1},
                             {.key = {8, 1}, .x = 30, .team = 2}};
    publish(1, stands, 2);
    struct rewind_ray ray = ray_along_x(rewind_present(rewind_));
    ray.shooter_team = 1;
    cr_expect_eq(shoot(ray).hits[0].victim.id, 7, "the filter is off");
    ray.team_filter = true;
    cr_expect_eq(shoot(ray).hits[0].victim.id, 8);
    ray.shooter_team = 0;
    cr_expect_eq(shoot(ray).hits[0].victim.id, 7, "team 0 is none");
}

Test(rewind, rays_without_length_or_history_hit_nothing)
{
    struct rewind_ray ray = {.direction = {1, 0}, .range = 100};
    struct rewind_shot shot = shoot(ray);
    cr_expect_eq(shot.hit_count, 0, "no frame yet");
    publish(1, &(struct stand){.key = target}, 1);
    ray = ray_along_x(rewind_present(rewind_));
    ray.range = 0;
    cr_expect_eq(shoot(ray).hit_count, 0);
    ray.range = NAN;
    cr_expect_eq(shoot(ray).hit_count, 0);
    ray.range = 1;
    shot = shoot(ray);
    cr_assert_eq(shot.hit_count, 1, "muzzle inside the target");
    cr_expect_eq(shot.hits[0].distance, 0.0F);
}

/* ---- against a slow version ---- */

static struct arb_rng rng;
static struct stand crowd[300];

static void step_crowd(arb_tick tick)
{
    uint32_t count = 0;
    struct stand shown[300];
    for (uint16_t i = 0; i < 300; i++) {
        struct stand *one = &crowd[i];
        if (tick == 1 || arb_rng_below(&rng, 200) == 0) {
            *one = (struct stand){.key = {(uint16_t)(i + 2), (uint16_t)(one->key.generation + 1)},
                                  .x = arb_rng_range(&rng, -40, 40),
                                  .y = arb_rng_range(&rng, -40, 40),
                                  .vx = arb_rng_range(&rng, -20, 20)};
        }
        if (arb_rng_below(&rng, 100) == 0) {
            one->x = -one->x;
            one->jump++;
        }
        one->heading = arb_angle_wrap(one->heading + 0.1F);
        one->x += one->vx / 60;
        if (fabsf(one->x) > 45) {
            one->vx = -one->vx;
        }
        if (i % 17 != (tick / 30) % 17) { /* some are away for a while */
            shown[count++] = *one;
        }
    }
    publish(tick, shown, count);
}

/* Every character, every shape, no tree. */
static uint32_t slow_shot(const struct rewind_ray *ray, struct rewind_hit *hits)
{
    uint32_t count = 0;
    float wall = 1;
    arb_geometry_ray(geometry, ray->origin, arb_vec2_scale(ray->direction, ray->range), &wall);
    float length = wall * ray->range;
    struct arb_vec2 delta = arb_vec2_scale(ray->direction, length);
    for (uint32_t i = 0; i < 300; i++) {
        for (uint16_t generation = 1; generation <= crowd[i].key.generation; generation++) {
            struct arb_key key = {(uint16_t)(i + 2), generation};
            struct arb_vec2 at;
            float heading, best = 1e9F;
            if (!rewind_pose(rewind_, key, ray->view, &at, &heading)) {
                continue;
            }
            struct arb_vec2 d = arb_move_direction(heading);
            for (int s = 0; s < 2; s++) {
                const struct rewind_shape *shape = &kinds[0].shapes[s];
                struct arb_vec2 a = arb_vec2_mul_add(at, shape->a.x, d);
                struct arb_vec2 b = arb_vec2_mul_add(at, shape->b.x, d);
                float fraction;
                if (arb_move_ray_capsule(ray->origin, delta, a, b, shape->radius, &fraction)) {
                    best = fminf(best, fraction * length);
                }
            }
            if (best < 1e9F) {
                hits[count++] = (struct rewind_hit){.victim = key, .distance = best};
            }
        }
    }
    return count;
}

Test(rewind, the_tree_of_bounds_changes_no_shot, .timeout = 1200)
{
    static struct rewind_hit all[300];
    arb_rng_seed(&rng, 9, 9);
    uint32_t total = 0;
    for (arb_tick tick = 1; tick < 300; tick++) {
        step_crowd(tick);
        for (int k = 0; k < 4; k++) {
            arb_tick back = arb_rng_below(&rng, 25);
            struct rewind_ray ray = {
                .origin = {arb_rng_range(&rng, -40, 40), arb_rng_range(&rng, -40, 40)},
                .direction = arb_move_direction(arb_rng_range(&rng, -3, 3)),
                .range = arb_rng_range(&rng, 1, 90),
                .pierce = (uint8_t)arb_rng_below(&rng, 4),
                .view = {.from_tick = tick > back ? tick - back : 0,
                         .fraction = (uint16_t)arb_rng_below(&rng, 257)}};
            ray.view.to_tick = ray.view.from_tick + arb_rng_below(&rng, 3);
            uint32_t count = slow_shot(&ray, all);
            struct rewind_shot shot = shoot(ray);
            uint32_t expected = count < ray.pierce + 1U ? count : ray.pierce + 1U;
            cr_assert_eq(shot.hit_count, expected, "tick %u", (unsigned)tick);
            for (uint32_t i = 0; i < shot.hit_count; i++) {
                uint32_t before = 0;
                for (uint32_t j = 0; j < count; j++) {
                    before += all[j].distance < shot.hits[i].distance ||
                              (all[j].distance == shot.hits[i].distance &&
                               arb_key_order(all[j].victim) < arb_key_order(shot.hits[i].victim));
                }
                cr_assert_eq(before, i, "tick %u hit %u", (unsigned)tick, i);
            }
            total += shot.hit_count;
        }
    }
    cr_expect_gt(total, 300);
}

Test(rewind, a_warm_tick_allocates_nothing)
{
    arb_rng_seed(&rng, 9, 9);
    uint64_t before = arb_mem_count();
    for (arb_tick tick = 1; tick < 200; tick++) {
        step_crowd(tick);
        shoot(ray_along_x(rewind_present(rewind_)));
    }
    cr_expect_eq(arb_mem_count(), before);
}
