/* Splitting outlines: every piece is one that the geometry takes, together they are the outline. */
#include "server/config/map_internal.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_geometry.h"

#include <criterion/criterion.h>

#include <math.h>

#define PI 3.14159265358979323846

static struct map_shapes shapes;

static double area_of(const struct arb_vec2 *points, size_t count)
{
    double area = 0;
    for (size_t i = 0; i < count; i++) {
        struct arb_vec2 a = points[i], b = points[(i + 1) % count];
        area += 0.5 * ((double)a.x * (double)b.y - (double)b.x * (double)a.y);
    }
    return area;
}

static bool inside(const struct arb_vec2 *points, size_t count, struct arb_vec2 p)
{
    bool in = false;
    for (size_t i = 0, k = count - 1; i < count; k = i++) {
        struct arb_vec2 a = points[i], b = points[k];
        if ((a.y > p.y) != (b.y > p.y) && (double)p.x < ((double)b.x - (double)a.x) *
                                                                ((double)p.y - (double)a.y) /
                                                                ((double)b.y - (double)a.y) +
                                                            (double)a.x) {
            in = !in;
        }
    }
    return in;
}

static double distance_to(const struct arb_vec2 *points, size_t count, struct arb_vec2 p)
{
    double best = 1e9;
    for (size_t i = 0; i < count; i++) {
        struct arb_vec2 a = points[i], b = points[(i + 1) % count];
        double ex = (double)b.x - (double)a.x, ey = (double)b.y - (double)a.y;
        double px = (double)p.x - (double)a.x, py = (double)p.y - (double)a.y;
        double t = fmin(1.0, fmax(0.0, (px * ex + py * ey) / (ex * ex + ey * ey)));
        best = fmin(best, hypot(px - t * ex, py - t * ey));
    }
    return best;
}

static bool covered(struct arb_vec2 p)
{
    for (uint32_t i = 0; i < shapes.count; i++) {
        const struct arb_shape *shape = &shapes.list[i];
        if (shape->type == ARB_SHAPE_POLYGON && inside(shape->points, shape->count, p)) {
            return true;
        }
        if (distance_to(shape->points, shape->count, p) <= (double)shape->radius + 1e-4) {
            return true;
        }
    }
    return false;
}

/* Splits, checks the pieces, and compares with the outline at random places. */
static void expect_split(const struct arb_vec2 *outline, size_t count, struct arb_rng *rng)
{
    struct arb_vec2 points[MAP_POLYGON_POINTS_MAX], kept[MAP_POLYGON_POINTS_MAX];
    for (size_t i = 0; i < count; i++) {
        points[i] = kept[i] = outline[i];
    }
    shapes.count = 0;
    cr_assert_eq(map_add_polygon(&shapes, points, count), MAP_OUTLINE_OK);
    size_t left = map_simplify(kept, count);
    double area = 0;
    for (uint32_t i = 0; i < shapes.count; i++) {
        const struct arb_shape *shape = &shapes.list[i];
        cr_assert(arb_geometry_shape_valid(shape));
        area += shape->type == ARB_SHAPE_POLYGON ? area_of(shape->points, shape->count) : 0.0;
    }
    double wanted = fabs(area_of(kept, left));
    cr_expect_float_eq(area, wanted, 0.002 * wanted + 0.05, "%g of %g", area, wanted);
    for (int i = 0; i < 300; i++) {
        struct arb_vec2 p = {arb_rng_range(rng, -30, 30), arb_rng_range(rng, -30, 30)};
        if (distance_to(kept, left, p) > 0.05) {
            cr_expect_eq(covered(p), inside(kept, left, p), "(%g, %g)", (double)p.x, (double)p.y);
        }
    }
}

Test(map_polygon, random_star_shaped_outlines_are_covered_exactly)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 7, 1);
    for (int round = 0; round < 200; round++) {
        struct arb_vec2 points[200];
        size_t count = 3 + arb_rng_below(&rng, 150);
        float spread = arb_rng_range(&rng, 0.05F, 0.95F);
        for (size_t i = 0; i < count; i++) {
            double angle = 2 * PI * (double)i / (double)count * (round % 2 == 0 ? 1 : -1);
            double radius = 25.0 * (1.0 - (double)(spread * arb_rng_unit(&rng)));
            points[i] =
                (struct arb_vec2){(float)(radius * cos(angle)), (float)(radius * sin(angle))};
        }
        expect_split(points, count, &rng);
    }
    arb_mem_free(shapes.list);
}

Test(map_polygon, combs_spirals_and_stairs_are_covered_exactly)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 8, 1);
    struct arb_vec2 comb[82];
    for (int i = 0; i < 40; i++) {
        comb[i] = (struct arb_vec2){(float)i - 20, i % 4 < 2 ? 10.0F : -8.0F};
        comb[i].x -= i % 2 == 1 ? 0.3F : 0.0F;
    }
    comb[40] = (struct arb_vec2){20, -10};
    comb[41] = (struct arb_vec2){-20, -10};
    expect_split(comb, 42, &rng);

    struct arb_vec2 spiral[120];
    for (int i = 0; i < 60; i++) {
        double angle = 0.25 * i, radius = 3 + 0.35 * i;
        spiral[i] = (struct arb_vec2){(float)(radius * cos(angle)), (float)(radius * sin(angle))};
        spiral[119 - i] = (struct arb_vec2){(float)((radius + 1) * cos(angle)),
                                            (float)((radius + 1) * sin(angle))};
    }
    expect_split(spiral, 120, &rng);

    struct arb_vec2 stairs[82];
    for (int i = 0; i < 40; i++) {
        stairs[2 * i] = (struct arb_vec2){0.5F * (float)i - 10, 0.5F * (float)i - 10};
        stairs[2 * i + 1] = (struct arb_vec2){0.5F * (float)(i + 1) - 10, 0.5F * (float)i - 10};
    }
    stairs[80] = (struct arb_vec2){10, 10};
    stairs[81] = (struct arb_vec2){-10, 10};
    expect_split(stairs, 82, &rng);
    arb_mem_free(shapes.list);
}

Test(map_polygon, a_convex_outline_of_many_corners_is_halved)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 9, 1);
    struct arb_vec2 points[64];
    for (int i = 0; i < 64; i++) {
        points[i] = (struct arb_vec2){(float)(20 * cos(2 * PI * i / 64)),
                                      (float)(20 * sin(2 * PI * i / 64))};
    }
    expect_split(points, 64, &rng);
    cr_assert_leq(shapes.count, 16);
    arb_mem_free(shapes.list);
}

Test(map_polygon, few_pieces_come_out_of_simple_outlines)
{
    struct arb_vec2 plus[] = {{1, 1},   {5, 1},   {5, -1}, {1, -1}, {1, -5}, {-1, -5},
                              {-1, -1}, {-5, -1}, {-5, 1}, {-1, 1}, {-1, 5}, {1, 5}};
    cr_assert_eq(map_add_polygon(&shapes, plus, 12), MAP_OUTLINE_OK);
    cr_assert_leq(shapes.count, 5);
    arb_mem_free(shapes.list);
}

Test(map_polygon, flat_and_doubled_corners_are_dropped)
{
    struct arb_vec2 points[] = {{0, 0}, {1, 0}, {1.005F, 0}, {2, 0.005F}, {2, 2},
                                {1, 2}, {0, 2}, {0, 1},      {0, 0}};
    cr_assert_eq(map_simplify(points, 9), 4);
}

Test(map_polygon, outlines_without_inside_are_refused)
{
    struct arb_vec2 line[] = {{0, 0}, {1, 0}, {2, 0}, {1, 0.001F}};
    cr_assert_eq(map_add_polygon(&shapes, line, 4), MAP_OUTLINE_THIN);
    struct arb_vec2 point[] = {{1, 1}, {1, 1}, {1, 1}};
    cr_assert_eq(map_add_polygon(&shapes, point, 3), MAP_OUTLINE_THIN);
    struct arb_vec2 bow[] = {{0, 0}, {2, 2}, {2, 0}, {0, 2}};
    cr_assert_eq(map_add_polygon(&shapes, bow, 4), MAP_OUTLINE_CROSSED);
    struct arb_vec2 star[5];
    for (int i = 0; i < 5; i++) {
        star[i] = (struct arb_vec2){(float)cos(4 * PI * i / 5), (float)sin(4 * PI * i / 5)};
    }
    cr_assert_eq(map_add_polygon(&shapes, star, 5), MAP_OUTLINE_CROSSED);
    cr_assert_eq(shapes.count, 0);
}

Test(map_polygon, slivers_leave_no_gap)
{
    /* A dent so flat that the triangles beside it are thinner than any polygon may be. */
    struct arb_rng rng;
    arb_rng_seed(&rng, 10, 1);
    for (int i = 0; i < 40; i++) {
        float dent = 0.0125F + 0.001F * (float)i;
        struct arb_vec2 points[] = {{-20, -5},     {20, -5},       {20, 5},
                                    {3, 5 - dent}, {-3, 5 - dent}, {-20, 5}};
        expect_split(points, 6, &rng);
    }
    arb_mem_free(shapes.list);
}

Test(map_polygon, the_turn_is_exact_at_quarters_and_close_elsewhere)
{
    static const double exact[][3] = {{0, 0, 1},    {90, 1, 0},   {180, 0, -1},  {270, -1, 0},
                                      {360, 0, 1},  {-90, -1, 0}, {-180, 0, -1}, {450, 1, 0},
                                      {-270, 1, 0}, {3690, 1, 0}};
    double sine, cosine;
    for (size_t i = 0; i < sizeof exact / sizeof exact[0]; i++) {
        map_turn(exact[i][0], &sine, &cosine);
        cr_expect_eq(sine, exact[i][1], "sine of %g", exact[i][0]);
        cr_expect_eq(cosine, exact[i][2], "cosine of %g", exact[i][0]);
    }
    for (double degrees = -400; degrees < 400; degrees += 0.37) {
        map_turn(degrees, &sine, &cosine);
        cr_expect_float_eq(sine, sin(degrees * PI / 180), 1e-14);
        cr_expect_float_eq(cosine, cos(degrees * PI / 180), 1e-14);
    }
}
