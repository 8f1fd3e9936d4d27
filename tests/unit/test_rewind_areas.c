/* More than rays: sweeps, overlaps and places of the past, against slow versions. */
#include "server/rewind/rewind.h"
#include "shared/base/arb_rng.h"
#include "tests/unit/rewind_rig.h"

TestSuite(rewind_areas, .init = setup, .fini = teardown);

static struct rewind_shot sweep_once(struct rewind_past past, struct rewind_sweep sweep)
{
    struct rewind_shot shot;
    rewind_sweep(rewind_, &past, &sweep, 1, &shot);
    return shot;
}

static struct rewind_touch overlap_once(struct rewind_past past, struct rewind_area area)
{
    struct rewind_touch touch;
    rewind_overlap(rewind_, &past, &area, 1, &touch);
    return touch;
}

Test(rewind_areas, a_moving_circle_meets_whom_it_touches_first)
{
    struct stand stands[] = {{.key = {7, 1}, .x = 20, .heading = ARB_PI / 2},
                             {.key = {8, 1}, .x = 30, .heading = ARB_PI / 2}};
    publish(1, stands, 2);
    struct rewind_past past = {.view = rewind_present(rewind_)};
    struct rewind_sweep sweep = {.radius = 0.25F, .delta = {100, 0}, .pierce = 3};
    struct rewind_shot shot = sweep_once(past, sweep);
    cr_assert_eq(shot.hit_count, 2);
    cr_expect_float_eq(shot.hits[0].distance, 19.25F, 1e-3F);
    cr_expect_float_eq(shot.hits[0].point.x, 19.25F, 1e-3F);
    cr_expect_eq(shot.hits[1].victim.id, 8);
    cr_expect_float_eq(shot.reach, 100, 1e-3F);
    sweep.pierce = 0;
    cr_expect_float_eq(sweep_once(past, sweep).reach, 19.25F, 1e-3F);
    sweep.delta.x = 19.2F;
    cr_expect_eq(sweep_once(past, sweep).hit_count, 0, "its way ends before");
    sweep.delta.x = 19.26F;
    cr_expect_eq(sweep_once(past, sweep).hit_count, 1);
    sweep.a = sweep.b = (struct arb_vec2){20.3F, 0};
    shot = sweep_once(past, sweep);
    cr_expect_eq(shot.hits[0].distance, 0, "touched at the start");
    sweep.delta.x = 0;
    cr_expect_eq(sweep_once(past, sweep).hit_count, 0, "without a way it meets nobody");
    past.shooter = (struct arb_key){7, 1};
    sweep.delta.x = 100;
    cr_expect_eq(sweep_once(past, sweep).hits[0].victim.id, 8);
}

Test(rewind_areas, a_capsule_meets_with_its_whole_length)
{
    publish(1, &(struct stand){.key = target, .x = 20, .y = 3}, 1);
    struct rewind_past past = {.view = rewind_present(rewind_)};
    struct rewind_sweep blade = {.a = {0, -4}, .b = {0, 4}, .radius = 0.1F, .delta = {40, 0}};
    struct rewind_shot shot = sweep_once(past, blade);
    cr_assert_eq(shot.hit_count, 1);
    cr_expect_float_eq(shot.hits[0].distance, 19.4F, 1e-3F);
    cr_expect_float_eq(shot.hits[0].point.y, -4, 1e-3F, "the point of its end a");
    blade.b.y = 2;
    cr_expect_eq(sweep_once(past, blade).hit_count, 0);
    struct rewind_sweep around = {.a = {18, 0}, .b = {18, 6}, .radius = 0, .delta = {0.5F, 0}};
    cr_expect_eq(sweep_once(past, around).hit_count, 0);
    around.delta.x = 4;
    cr_expect_eq(sweep_once(past, around).hit_count, 1);
}

Test(rewind_areas, walls_stop_a_circle_where_asked)
{
    publish(1, &(struct stand){.key = target, .x = 0, .y = 70}, 1);
    struct rewind_past past = {.view = rewind_present(rewind_)};
    struct rewind_sweep sweep = {.radius = 0.5F, .delta = {0, 100}};
    cr_expect_eq(sweep_once(past, sweep).hit_count, 1);
    sweep.walls = true;
    struct rewind_shot shot = sweep_once(past, sweep);
    cr_expect_eq(shot.hit_count, 0);
    cr_expect_float_eq(shot.reach, 49.5F, 0.02F);
}

Test(rewind_areas, an_area_touches_who_stands_in_it)
{
    struct stand stands[] = {{.key = {5, 1}, .x = 0, .heading = ARB_PI},
                             {.key = {6, 1}, .x = 3, .heading = 0},
                             {.key = {7, 1}, .x = 5.5F, .heading = 0}};
    publish(1, stands, 3);
    struct rewind_past past = {.view = rewind_present(rewind_), .shooter = {5, 1}};
    struct rewind_area blast = {{0, 0}, {0, 0}, 5};
    struct rewind_touch touch = overlap_once(past, blast);
    cr_assert_eq(touch.hit_count, 2);
    cr_expect_eq(touch.hits[0].victim.id, 6);
    cr_expect_float_eq(touch.hits[0].distance, 2.5F, 1e-3F);
    cr_expect_float_eq(touch.hits[0].point.x, 3, 1e-3F);
    cr_expect_eq(touch.hits[1].victim.id, 7);
    cr_expect_float_eq(touch.hits[1].distance, 5, 1e-3F, "touching counts");
    past.shooter = ARB_KEY_NONE;
    touch = overlap_once(past, blast);
    cr_expect_eq(touch.hit_count, 3);
    cr_expect_eq(touch.hits[0].distance, 0);
    struct rewind_pair seen = {{7, 1}, 1, 1};
    past.pairs = &seen;
    past.pair_count = 1;
    touch = overlap_once(past, blast);
    cr_expect_eq(touch.hit_count, 1);
    cr_expect_eq(touch.unseen, 2);
}

Test(rewind_areas, of_too_many_the_nearest_are_told)
{
    static struct stand stands[100];
    for (int i = 0; i < 100; i++) {
        stands[i] = (struct stand){.key = {(uint16_t)(100 + i), 1}, .x = 100 - (float)i};
    }
    publish(1, stands, 100);
    struct rewind_past past = {.view = rewind_present(rewind_)};
    struct rewind_touch touch = overlap_once(past, (struct rewind_area){{0, 0}, {0, 0}, 200});
    cr_assert_eq(touch.hit_count, REWIND_TOUCHES_MAX);
    cr_expect_eq(touch.left_out, 100 - REWIND_TOUCHES_MAX);
    cr_expect_eq(touch.hits[0].victim.id, 199);
    cr_expect_eq(touch.hits[REWIND_TOUCHES_MAX - 1].victim.id, 199 - (REWIND_TOUCHES_MAX - 1));
}

Test(rewind_areas, places_are_those_of_the_pairs_or_of_the_view)
{
    for (arb_tick tick = 1; tick <= 9; tick++) {
        struct stand stands[] = {{.key = {5, 1}, .x = (float)tick},
                                 {.key = {6, 1}, .x = 100 + (float)tick}};
        publish(tick, stands, 2);
    }
    struct rewind_pair pairs[] = {{{5, 1}, 2, 8}};
    struct rewind_past past = {.view = {.from_tick = 4, .to_tick = 6, .fraction = 128}};
    struct arb_key keys[] = {{5, 1}, {6, 1}, {6, 2}, {900, 1}, {60000, 1}};
    struct rewind_place out[5];
    rewind_places(rewind_, &past, keys, 5, out);
    cr_expect(out[0].there && out[1].there && !out[2].there && !out[3].there && !out[4].there);
    cr_expect_float_eq(out[0].position.x, 5, 1e-5F);
    cr_expect_float_eq(out[1].position.x, 105, 1e-5F);
    past.pairs = pairs;
    past.pair_count = 1;
    rewind_places(rewind_, &past, keys, 5, out);
    cr_expect(out[0].there && !out[1].there);
    cr_expect_float_eq(out[0].position.x, 5, 1e-5F);
}

/* ---- against slow versions ---- */

enum { CROWD = 60 };

static struct arb_rng rng;
static struct stand crowd[CROWD];

static void publish_crowd(arb_tick tick)
{
    for (uint16_t i = 0; i < CROWD; i++) {
        struct stand *one = &crowd[i];
        if (tick == 1) {
            *one = (struct stand){.key = {(uint16_t)(i + 2), 1},
                                  .x = arb_rng_range(&rng, -15, 15),
                                  .y = arb_rng_range(&rng, -15, 15)};
        }
        one->x += arb_rng_range(&rng, -0.2F, 0.2F);
        one->heading = arb_angle_wrap(one->heading + arb_rng_range(&rng, -1, 1));
    }
    publish(tick, crowd, CROWD);
}

static struct arb_vec2 somewhere(void)
{
    return (struct arb_vec2){arb_rng_range(&rng, -16, 16), arb_rng_range(&rng, -16, 16)};
}

/* Smallest distance between two segments by walking along both. */
static float slow_distance(struct arb_vec2 a, struct arb_vec2 b, struct arb_vec2 c,
                           struct arb_vec2 d)
{
    enum { STEPS = 40 };
    float best = INFINITY;
    for (int i = 0; i <= STEPS; i++) {
        struct arb_vec2 p = arb_move_lerp(a, b, (float)i / STEPS);
        struct arb_vec2 u = arb_vec2_sub(d, c);
        float squared = arb_vec2_dot(u, u);
        float t = squared > 0 ? arb_vec2_dot(arb_vec2_sub(p, c), u) / squared : 0;
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        best = fminf(best, arb_vec2_distance(p, arb_vec2_mul_add(c, t, u)));
    }
    return best;
}

/* From a capsule to the nearest shape of one character, m; less than 0: they overlap. */
static float slow_gap(struct arb_key key, struct arb_view view, struct arb_vec2 a,
                      struct arb_vec2 b, float radius)
{
    struct arb_vec2 at;
    float heading, best = INFINITY;
    cr_assert(rewind_pose(rewind_, key, view, &at, &heading));
    struct arb_vec2 d = arb_move_direction(heading);
    for (int s = 0; s < 2; s++) {
        const struct rewind_shape *shape = &kinds[0].shapes[s];
        struct arb_vec2 c = arb_vec2_mul_add(at, shape->a.x, d);
        struct arb_vec2 e = arb_vec2_mul_add(at, shape->b.x, d);
        best = fminf(best, slow_distance(a, b, c, e) - shape->radius - radius);
    }
    return best;
}

static bool is_hit(const struct rewind_hit *hits, uint32_t count, struct arb_key key, float *at)
{
    for (uint32_t i = 0; i < count; i++) {
        if (arb_key_equal(hits[i].victim, key)) {
            *at = hits[i].distance;
            return true;
        }
    }
    return false;
}

Test(rewind_areas, overlaps_equal_a_slow_version, .timeout = 1200)
{
    arb_rng_seed(&rng, 11, 1);
    uint32_t touched = 0;
    for (arb_tick tick = 1; tick < 150; tick++) {
        publish_crowd(tick);
        struct rewind_past past = {.view = {.from_tick = tick > 5 ? tick - 5 : tick,
                                            .to_tick = tick > 5 ? tick - 3 : tick,
                                            .fraction = tick > 5 ? 77 : 0}};
        struct rewind_area area = {.a = somewhere(), .radius = arb_rng_range(&rng, 0, 3)};
        area.b = tick % 2 == 0
                     ? area.a
                     : arb_vec2_add(area.a, (struct arb_vec2){arb_rng_range(&rng, -4, 4), 1});
        struct rewind_touch touch = overlap_once(past, area);
        for (uint32_t i = 0; i < CROWD; i++) {
            float gap = slow_gap(crowd[i].key, past.view, area.a, area.b, area.radius);
            float at;
            bool hit = is_hit(touch.hits, touch.hit_count, crowd[i].key, &at);
            cr_assert(hit ? gap < 0.01F : gap > -0.01F, "gap %f", (double)gap);
            if (hit) {
                float own = fmaxf(gap + area.radius, 0);
                cr_assert_float_eq(at, own, 0.02F, "%f %f", (double)at, (double)own);
            }
        }
        touched += touch.hit_count;
    }
    cr_expect_gt(touched, 100);
}

/* Where a sweep says that it touches it does, and nowhere before. */
Test(rewind_areas, sweeps_equal_a_slow_version, .timeout = 1200)
{
    arb_rng_seed(&rng, 12, 1);
    uint32_t met = 0;
    for (arb_tick tick = 1; tick < 120; tick++) {
        publish_crowd(tick);
        struct rewind_past past = {.view = {.from_tick = tick > 5 ? tick - 5 : tick,
                                            .to_tick = tick > 5 ? tick - 3 : tick,
                                            .fraction = tick > 5 ? 77 : 0}};
        struct rewind_sweep sweep = {.a = somewhere(),
                                     .radius = arb_rng_range(&rng, 0, 0.6F),
                                     .delta = {arb_rng_range(&rng, -9, 9), 3},
                                     .pierce = 255};
        sweep.b = tick % 2 == 0
                      ? sweep.a
                      : arb_vec2_add(sweep.a, (struct arb_vec2){arb_rng_range(&rng, -3, 3),
                                                                arb_rng_range(&rng, -3, 3)});
        struct rewind_shot shot = sweep_once(past, sweep);
        float length = arb_vec2_length(sweep.delta);
        for (uint32_t i = 0; i < CROWD; i++) {
            float at = length;
            bool hit = is_hit(shot.hits, shot.hit_count, crowd[i].key, &at);
            for (float way = 0; way < length; way += 0.1F) {
                struct arb_vec2 moved = arb_vec2_scale(sweep.delta, way / length);
                float gap = slow_gap(crowd[i].key, past.view, arb_vec2_add(sweep.a, moved),
                                     arb_vec2_add(sweep.b, moved), sweep.radius);
                cr_assert(way >= at || gap > -0.01F, "it touches at %f, not at %f", (double)way,
                          (double)at);
            }
            if (hit) {
                struct arb_vec2 moved = arb_vec2_scale(sweep.delta, at / length);
                float gap = slow_gap(crowd[i].key, past.view, arb_vec2_add(sweep.a, moved),
                                     arb_vec2_add(sweep.b, moved), sweep.radius);
                cr_assert(at == 0 ? gap < 0.01F : fabsf(gap) < 0.01F, "gap %f", (double)gap);
            }
        }
        met += shot.hit_count;
    }
    cr_expect_gt(met, 100);
}

Test(rewind_areas, a_batch_answers_as_one_by_one)
{
    arb_rng_seed(&rng, 13, 1);
    for (arb_tick tick = 1; tick < 20; tick++) {
        publish_crowd(tick);
    }
    struct rewind_past past = {.view = {.from_tick = 12, .to_tick = 14, .fraction = 100}};
    struct rewind_sweep sweeps[20];
    struct rewind_area areas[20];
    struct rewind_ray rays[20];
    struct rewind_shot shots[20];
    static struct rewind_touch touches[20];
    for (int i = 0; i < 20; i++) {
        struct arb_vec2 a = somewhere();
        sweeps[i] = (struct rewind_sweep){.a = a, .b = a, .radius = 0.2F, .delta = {9, 9}};
        areas[i] = (struct rewind_area){a, a, 2};
        rays[i] =
            (struct rewind_ray){.origin = a, .direction = {0, 1}, .range = 20, .view = past.view};
    }
    rewind_sweep(rewind_, &past, sweeps, 20, shots);
    for (int i = 0; i < 20; i++) {
        struct rewind_shot one = sweep_once(past, sweeps[i]);
        cr_expect_eq(memcmp(&one, &shots[i], sizeof one), 0);
    }
    rewind_overlap(rewind_, &past, areas, 20, touches);
    for (int i = 0; i < 20; i++) {
        struct rewind_touch one = overlap_once(past, areas[i]);
        cr_expect_eq(memcmp(&one, &touches[i], sizeof one), 0);
    }
    rewind_resolve_shots(rewind_, rays, 20, shots);
    for (int i = 0; i < 20; i++) {
        struct rewind_shot one = shoot(rays[i]);
        cr_expect_eq(memcmp(&one, &shots[i], sizeof one), 0);
    }
}

Test(rewind_areas, before_the_first_frame_there_is_nobody)
{
    struct rewind_past past = {.view = {0}};
    struct rewind_place place;
    struct arb_key key = {1, 1};
    cr_expect_eq(sweep_once(past, (struct rewind_sweep){.radius = 9, .delta = {1, 1}}).hit_count,
                 0);
    cr_expect_eq(overlap_once(past, (struct rewind_area){.radius = 9}).hit_count, 0);
    rewind_places(rewind_, &past, &key, 1, &place);
    cr_expect(!place.there);
}
