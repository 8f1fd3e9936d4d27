/* Static geometry: what is valid, distances, rays at their edges (pitfalls.md "Rewind and ray
 * tests"). */
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_convex.h"
#include "shared/move/arb_geometry.h"
#include "shared/move/arb_move.h"

#include <criterion/criterion.h>

#include <math.h>

static const struct arb_bounds wide = {{-100, -100}, {100, 100}};

static struct arb_shape box(float x, float y, float half_x, float half_y)
{
    return (struct arb_shape){ARB_SHAPE_POLYGON,
                              4,
                              0,
                              {{x - half_x, y - half_y},
                               {x + half_x, y - half_y},
                               {x + half_x, y + half_y},
                               {x - half_x, y + half_y}}};
}

/* ---- validity ---- */

Test(geometry, shapes_are_refused_that_the_rest_could_not_stand)
{
    static const struct arb_shape good[] = {
        {ARB_SHAPE_CIRCLE, 1, 0.5F, {{1, 2}}},
        {ARB_SHAPE_CAPSULE, 2, 0.02F, {{1, 2}, {3, 4}}},
        {ARB_SHAPE_CAPSULE, 2, 0.02F, {{1, 2}, {1, 2}}},
        {ARB_SHAPE_POLYGON, 3, 0, {{0, 0}, {1, 0}, {0, 1}}},
        {ARB_SHAPE_POLYGON, 3, 0.5F, {{1, 0}, {0, 1}, {0, 0}}},
    };
    static const struct arb_shape bad[] = {
        {0, 1, 0.5F, {{1, 2}}},
        {9, 1, 0.5F, {{1, 2}}},
        {ARB_SHAPE_CIRCLE, 2, 0.5F, {{1, 2}, {1, 2}}},
        {ARB_SHAPE_CIRCLE, 1, 0, {{1, 2}}},
        {ARB_SHAPE_CIRCLE, 1, -1, {{1, 2}}},
        {ARB_SHAPE_CIRCLE, 1, NAN, {{1, 2}}},
        {ARB_SHAPE_CIRCLE, 1, INFINITY, {{1, 2}}},
        {ARB_SHAPE_CIRCLE, 1, 1, {{4097, 2}}},
        {ARB_SHAPE_CIRCLE, 1, 1, {{NAN, 2}}},
        {ARB_SHAPE_CAPSULE, 1, 1, {{1, 2}}},
        {ARB_SHAPE_CAPSULE, 2, 0, {{1, 2}, {3, 4}}},
        {ARB_SHAPE_CAPSULE, 2, 1, {{1, 2}, {3, -INFINITY}}},
        {ARB_SHAPE_POLYGON, 2, 0, {{0, 0}, {1, 0}}},
        {ARB_SHAPE_POLYGON, 9, 0, {{0, 0}, {1, 0}, {0, 1}}},
        {ARB_SHAPE_POLYGON, 3, 0, {{0, 0}, {0, 1}, {1, 0}}},               /* clockwise */
        {ARB_SHAPE_POLYGON, 3, 0, {{0, 0}, {1, 0}, {2, 0}}},               /* flat */
        {ARB_SHAPE_POLYGON, 4, 0, {{0, 0}, {1, 0}, {0.1F, 0.1F}, {0, 1}}}, /* concave */
        {ARB_SHAPE_POLYGON, 4, 0, {{0, 0}, {1, 0}, {1, 0}, {0, 1}}},       /* doubled */
        {ARB_SHAPE_POLYGON, 3, -0.1F, {{0, 0}, {1, 0}, {0, 1}}},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect(arb_geometry_shape_valid(&good[i]), "good %zu", i);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_expect(!arb_geometry_shape_valid(&bad[i]), "bad %zu", i);
    }
}

Test(geometry, keeps_what_it_was_given_and_hashes_all_of_it)
{
    struct arb_shape shapes[2] = {box(1, 2, 3, 4), {ARB_SHAPE_CIRCLE, 1, 0.5F, {{1, 2}}}};
    struct arb_geometry *a = arb_geometry_create(shapes, 2, wide);
    uint64_t hash = arb_geometry_hash(a);
    cr_expect_eq(arb_geometry_shape_count(a), 2);
    cr_expect_eq(arb_geometry_shape(a, 1)->radius, 0.5F);
    cr_expect_eq(arb_geometry_bounds(a).high.x, 100.0F);
    shapes[1].points[3].x = 77; /* beyond its count */
    struct arb_geometry *same = arb_geometry_create(shapes, 2, wide);
    cr_expect_eq(arb_geometry_hash(same), hash);
    shapes[1].points[0].y = nextafterf(2.0F, 3.0F);
    struct arb_geometry *other = arb_geometry_create(shapes, 2, wide);
    cr_expect_neq(arb_geometry_hash(other), hash);
    struct arb_geometry *fewer = arb_geometry_create(shapes, 1, wide);
    cr_expect_neq(arb_geometry_hash(fewer), hash);
    arb_geometry_destroy(a);
    arb_geometry_destroy(same);
    arb_geometry_destroy(other);
    arb_geometry_destroy(fewer);
}

/* ---- rays ---- */

Test(geometry, rays_at_their_edges)
{
    static const struct {
        const char *name;
        struct arb_vec2 origin, delta, a, b;
        float radius;
        bool hit;
        float distance;
    } cases[] = {
        {"pointing away from a capsule close behind",
         {0, 0},
         {20, 0},
         {-0.6F, -1},
         {-0.6F, 1},
         0.5F,
         false,
         0},
        {"muzzle inside a capsule", {0, 0}, {20, 0}, {-0.2F, -1}, {-0.2F, 1}, 0.5F, true, 0},
        {"muzzle inside, pointing out", {0, 0}, {20, 0}, {-0.4F, 0}, {-0.4F, 0}, 0.5F, true, 0},
        {"capsule with equal ends", {0, 0}, {20, 0}, {10, 0}, {10, 0}, 0.5F, true, 9.5F},
        {"touching along the side", {0, 0}, {20, 0}, {10, 0.5F}, {10, 0.5F}, 0.5F, true, 10},
        {"a hair beside", {0, 0}, {20, 0}, {10, 0.5001F}, {10, 0.5001F}, 0.5F, false, 0},
        {"length 0", {0, 0}, {0, 0}, {0, 0}, {1, 0}, 0.5F, false, 0},
        {"not a number", {0, 0}, {NAN, 1}, {0, 0}, {1, 0}, 0.5F, false, 0},
        {"infinite", {0, 0}, {INFINITY, 0}, {10, 0}, {10, 0}, 0.5F, false, 0},
        {"origin not a number", {NAN, 0}, {20, 0}, {10, 0}, {10, 0}, 0.5F, false, 0},
        {"ends exactly at the surface", {0, 0}, {9.5F, 0}, {10, 0}, {10, 0}, 0.5F, true, 9.5F},
        {"ends before it", {0, 0}, {9.4F, 0}, {10, 0}, {10, 0}, 0.5F, false, 0},
        {"along the axis", {0, 0}, {20, 0}, {10, 0}, {15, 0}, 0.5F, true, 9.5F},
        {"along the axis, from behind", {20, 0}, {-20, 0}, {10, 0}, {15, 0}, 0.5F, true, 4.5F},
        {"across the side", {0, 0}, {20, 0}, {10, -5}, {10, 5}, 0.5F, true, 9.5F},
        {"across, the other winding", {0, 0}, {20, 0}, {10, 5}, {10, -5}, 0.5F, true, 9.5F},
        {"past the round end", {0, 0}, {20, 0}, {10, 1}, {10, 5}, 0.5F, false, 0},
        {"into the round end", {0, 0.7F}, {20, 0}, {10, 1}, {10, 5}, 0.5F, true, 9.6F},
        {"parallel and beside", {0, 1}, {20, 0}, {5, 0}, {15, 0}, 0.5F, false, 0},
        {"starts at the surface, pointing away", {0.5F, 0}, {9, 0}, {0, 0}, {0, 0}, 0.5F, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float fraction = -1;
        bool hit = arb_move_ray_capsule(cases[i].origin, cases[i].delta, cases[i].a, cases[i].b,
                                        cases[i].radius, &fraction);
        cr_expect_eq(hit, cases[i].hit, "%s", cases[i].name);
        if (hit) {
            float distance = fraction * arb_vec2_length(cases[i].delta);
            cr_expect_float_eq(distance, cases[i].distance, 1e-5F, "%s: %f", cases[i].name,
                               (double)distance);
        }
    }
}

/* Slow and exact: the distance to the axis along the ray in double, first by its minimum (golden
 * section on a convex function), then by bisection of the way before it. */
static double to_segment(double x, double y, struct arb_vec2 a, struct arb_vec2 b)
{
    double ex = (double)b.x - (double)a.x, ey = (double)b.y - (double)a.y;
    double px = x - (double)a.x, py = y - (double)a.y;
    double square = ex * ex + ey * ey;
    double u = square > 0 ? (px * ex + py * ey) / square : 0;
    u = u < 0 ? 0 : u > 1 ? 1 : u;
    return hypot(px - u * ex, py - u * ey);
}

struct slow {
    double closest, fraction;
};

static struct slow slow_cast(struct arb_vec2 o, struct arb_vec2 d, struct arb_vec2 a,
                             struct arb_vec2 b, double radius)
{
    double low = 0, high = 1;
    for (int i = 0; i < 60; i++) {
        double t1 = low + (high - low) * 0.382, t2 = low + (high - low) * 0.618;
        double d1 =
            to_segment((double)o.x + t1 * (double)d.x, (double)o.y + t1 * (double)d.y, a, b);
        double d2 =
            to_segment((double)o.x + t2 * (double)d.x, (double)o.y + t2 * (double)d.y, a, b);
        if (d1 < d2) {
            high = t2;
        } else {
            low = t1;
        }
    }
    struct slow slow = {.closest = to_segment((double)o.x + low * (double)d.x,
                                              (double)o.y + low * (double)d.y, a, b)};
    high = low;
    low = 0;
    for (int i = 0; i < 50; i++) {
        double t = (low + high) / 2;
        double at = to_segment((double)o.x + t * (double)d.x, (double)o.y + t * (double)d.y, a, b);
        if (at <= radius) {
            high = t;
        } else {
            low = t;
        }
    }
    slow.fraction = high;
    return slow;
}

Test(geometry, a_million_random_casts_agree_with_a_slow_exact_version, .timeout = 1200)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 11, 1);
    uint32_t hits = 0;
    for (int i = 0; i < 1000000; i++) {
        struct arb_vec2 p[4];
        for (int k = 0; k < 4; k++) {
            p[k] = (struct arb_vec2){arb_rng_range(&rng, -10, 10), arb_rng_range(&rng, -10, 10)};
        }
        struct arb_vec2 b = i % 3 == 0 ? p[2] : arb_move_lerp(p[2], p[3], 0.2F);
        float radius = arb_rng_range(&rng, 0.02F, 1.5F), fraction = 0;
        struct arb_vec2 delta = arb_vec2_sub(p[1], p[0]);
        bool hit = arb_move_ray_capsule(p[0], delta, p[2], b, radius, &fraction);
        struct slow slow = slow_cast(p[0], delta, p[2], b, (double)radius);
        hits += hit;
        if (fabs(slow.closest - (double)radius) < 1e-4) {
            continue; /* grazing: either answer is right */
        }
        cr_assert_eq(hit, slow.closest <= (double)radius, "cast %d", i);
        if (hit) {
            /* A ray that dives flat loses digits of where, not of whether. */
            double off = ((double)fraction - slow.fraction) * (double)arb_vec2_length(delta);
            double x = (double)p[0].x + (double)fraction * (double)delta.x;
            double y = (double)p[0].y + (double)fraction * (double)delta.y;
            cr_assert(fabs(off) < 2e-3, "cast %d: %g m off", i, off);
            cr_assert(fraction == 0.0F || fabs(to_segment(x, y, p[2], b) - (double)radius) < 2e-5,
                      "cast %d ends beside the surface", i);
        }
    }
    cr_expect_gt(hits, 50000);
}

Test(geometry, a_ray_stops_at_the_first_shape_or_bound)
{
    struct arb_shape shapes[] = {box(5, 0, 1, 1),
                                 {ARB_SHAPE_CIRCLE, 1, 1, {{10, 0}}},
                                 {ARB_SHAPE_CAPSULE, 2, 0.02F, {{-3, -5}, {-3, 5}}}};
    struct arb_geometry *geometry = arb_geometry_create(shapes, 3, wide);
    static const struct {
        struct arb_vec2 origin, delta;
        bool hit;
        float distance;
    } cases[] = {
        {{0, 0}, {20, 0}, true, 4},      {{20, 0}, {-20, 0}, true, 9},
        {{0, 0}, {3.9F, 0}, false, 0},   {{0, 1}, {20, 0}, true, 4}, /* along the top of the box */
        {{0, 1.01F}, {20, 0}, false, 0}, {{0, 0}, {-20, 0}, true, 2.98F},
        {{0, 50}, {0, 100}, true, 50}, /* the bound */
        {{5, 0}, {1, 0}, true, 0},     /* inside the box */
        {{0, 50}, {0, 50}, true, 50},    {{0, 0}, {0, 0}, false, 0},
        {{0, 200}, {0, -50}, true, 0}, /* outside of the world */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float fraction = -1;
        bool hit = arb_geometry_ray(geometry, cases[i].origin, cases[i].delta, &fraction);
        cr_expect_eq(hit, cases[i].hit, "case %zu", i);
        if (hit && cases[i].hit) {
            cr_expect_float_eq(fraction * arb_vec2_length(cases[i].delta), cases[i].distance, 1e-5F,
                               "case %zu", i);
        }
    }
    arb_geometry_destroy(geometry);
}

/* ---- distances ---- */

static double slow_distance(const struct arb_convex *convex, struct arb_vec2 p)
{
    double best = 1e9, inside = -1e9;
    for (uint32_t i = 0; i < convex->count; i++) {
        struct arb_vec2 a = convex->points[i], b = convex->points[(i + 1) % convex->count];
        best = fmin(best, to_segment((double)p.x, (double)p.y, a, b));
        double ex = (double)b.x - (double)a.x, ey = (double)b.y - (double)a.y;
        double length = hypot(ex, ey);
        double away = (ey * ((double)p.x - (double)a.x) - ex * ((double)p.y - (double)a.y));
        inside = fmax(inside, length > 0 ? away / length : 1);
    }
    return convex->count >= 3 && inside < 0 ? inside : best;
}

static struct arb_shape random_shape(struct arb_rng *rng)
{
    struct arb_vec2 at = {arb_rng_range(rng, -5, 5), arb_rng_range(rng, -5, 5)};
    struct arb_shape shape = {.radius = arb_rng_range(rng, 0.02F, 0.5F), .points = {at}};
    shape.type = (uint8_t)(1 + arb_rng_below(rng, 3));
    shape.count = shape.type;
    shape.points[1] =
        (struct arb_vec2){at.x + arb_rng_range(rng, -3, 3), at.y + arb_rng_range(rng, -3, 3)};
    if (shape.type == ARB_SHAPE_POLYGON) {
        shape.count = (uint8_t)(3 + arb_rng_below(rng, 6));
        float size = arb_rng_range(rng, 0.3F, 3.0F), turn = arb_rng_range(rng, 0, 6);
        for (int i = 0; i < shape.count; i++) {
            struct arb_vec2 out =
                arb_move_direction(turn + ARB_TURN * (float)i / (float)shape.count);
            shape.points[i] = arb_vec2_mul_add(at, size, out);
        }
        shape.radius = arb_rng_below(rng, 2) == 0 ? 0.0F : shape.radius;
    }
    return shape;
}

Test(geometry, distances_and_widened_shapes_agree_with_a_slow_exact_version)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 12, 1);
    for (int i = 0; i < 100000; i++) {
        struct arb_shape shape = random_shape(&rng);
        cr_assert(arb_geometry_shape_valid(&shape));
        struct arb_convex convex, widened;
        arb_convex_from_shape(&convex, &shape);
        struct arb_vec2 p = {arb_rng_range(&rng, -8, 8), arb_rng_range(&rng, -8, 8)}, normal;
        float got = arb_convex_distance(&convex, p, &normal);
        cr_assert_float_eq((double)got, slow_distance(&convex, p), 1e-5, "%d", i);
        cr_assert_float_eq(arb_vec2_length(normal), 1.0F, 1e-5F);

        /* Widened: the least of the distances to the shape moved along the segment. */
        float half = arb_rng_range(&rng, 0.1F, 2.0F);
        arb_convex_widen(&widened, &convex, half);
        double best = 1e9;
        for (int k = -200; k <= 200; k++) {
            struct arb_vec2 q = {p.x + half * (float)k / 200.0F, p.y};
            best = fmin(best, slow_distance(&convex, q));
        }
        double wide_distance = (double)arb_convex_distance(&widened, p, &normal);
        if (best > 0.05) {
            cr_assert_float_eq(wide_distance, best, 0.011, "%d: %f %f", i, wide_distance, best);
        }
        cr_assert_float_eq(wide_distance, slow_distance(&widened, p), 2e-5, "%d", i);
    }
}

Test(geometry, clearance_looks_as_far_as_it_is_told)
{
    struct arb_shape shapes[] = {box(5, 0, 1, 1)};
    struct arb_geometry *geometry = arb_geometry_create(shapes, 1, wide);
    struct arb_hull circle = {0.5F, 0}, capsule = {0.5F, 1};
    struct arb_vec2 origin = {0, 0}, inside = {5, 0}, edge = {99, 0};
    cr_expect_float_eq(arb_geometry_clearance(geometry, circle, origin, 10), 3.5F, 1e-6F);
    cr_expect_float_eq(arb_geometry_clearance(geometry, capsule, origin, 10), 2.5F, 1e-6F);
    cr_expect_eq(arb_geometry_clearance(geometry, circle, origin, 2), 2.0F);
    cr_expect_float_eq(arb_geometry_clearance(geometry, circle, inside, 2), -1.5F, 1e-6F);
    cr_expect_float_eq(arb_geometry_clearance(geometry, capsule, edge, 2), -0.5F, 1e-5F);
    arb_geometry_destroy(geometry);
}

Test(geometry, a_sweep_names_the_first_touch)
{
    struct arb_shape shapes[] = {box(5, 0, 1, 1)};
    struct arb_geometry *geometry = arb_geometry_create(shapes, 1, wide);
    float fraction;
    cr_expect(arb_geometry_sweep(geometry, 0.5F, (struct arb_vec2){0, 0}, (struct arb_vec2){10, 0},
                                 &fraction));
    cr_expect_float_eq(fraction, 0.35F, 1e-6F);
    cr_expect(arb_geometry_sweep(geometry, 0.5F, (struct arb_vec2){3.6F, 0},
                                 (struct arb_vec2){0, 0}, &fraction));
    cr_expect_eq(fraction, 0.0F, "in touch without a motion");
    cr_expect(!arb_geometry_sweep(geometry, 0.5F, (struct arb_vec2){0, 1.6F},
                                  (struct arb_vec2){10, 0}, &fraction));
    cr_expect(arb_geometry_sweep(geometry, 0.5F, (struct arb_vec2){99, 50}, (struct arb_vec2){1, 0},
                                 &fraction));
    cr_expect_float_eq(fraction, 0.5F, 1e-5F, "the bound");
    arb_geometry_destroy(geometry);
}

Test(geometry, questions_allocate_nothing)
{
    struct arb_shape shapes[] = {box(5, 0, 1, 1), box(-5, 0, 1, 1)};
    uint64_t before = arb_mem_count();
    struct arb_geometry *geometry = arb_geometry_create(shapes, 2, wide);
    cr_expect_gt(arb_mem_count(), before + 4, "Box2D's memory is counted too");
    before = arb_mem_count();
    struct arb_vec2 centre = {0, 0}, velocity = {1, 0};
    float fraction;
    for (int i = 0; i < 100; i++) {
        arb_geometry_slide(geometry, (struct arb_hull){0.5F, 0.2F}, &centre,
                           (struct arb_vec2){1, 0.01F}, &velocity);
        arb_geometry_ray(geometry, centre, (struct arb_vec2){-50, 0}, &fraction);
    }
    cr_expect_eq(arb_mem_count(), before);
    arb_geometry_destroy(geometry);
}
