/* The mover in static geometry: it never enters what it started outside of, and never passes
 * through. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_geometry.h"
#include "shared/move/arb_move.h"

#include <criterion/criterion.h>

#include <math.h>

#define SLOP 0.005F

enum { CORNERS = 9, CLUTTER = 20, ROOM_SHAPES = CORNERS + CLUTTER };

/* A closed room of thin walls with corners of all angles, clutter inside. */
struct room {
    struct arb_vec2 corners[CORNERS];
    struct arb_shape shapes[ROOM_SHAPES];
    struct arb_geometry *geometry;
};

static struct arb_shape thin_wall(struct arb_vec2 a, struct arb_vec2 b)
{
    return (struct arb_shape){ARB_SHAPE_CAPSULE, 2, 0.02F, {a, b}};
}

static struct arb_shape triangle(struct arb_vec2 at, float size, float turn, float sharpness)
{
    struct arb_shape shape = {.type = ARB_SHAPE_POLYGON, .count = 3};
    float angles[3] = {0, ARB_PI - sharpness, ARB_PI + sharpness};
    for (int i = 0; i < 3; i++) {
        struct arb_vec2 out = arb_move_direction(turn + angles[i]);
        shape.points[i] = arb_vec2_mul_add(at, size, out);
    }
    return shape;
}

static void make_room(struct room *room, struct arb_rng *rng, struct arb_vec2 middle)
{
    for (int i = 0; i < CORNERS; i++) {
        float angle = ARB_TURN * (float)i / CORNERS;
        /* Every second corner may lie near the middle: star points, as sharp as they come. */
        float size = i % 2 == 0 ? arb_rng_range(rng, 8, 20) : arb_rng_range(rng, 4, 16);
        room->corners[i] = arb_vec2_mul_add(middle, size, arb_move_direction(angle));
    }
    for (int i = 0; i < CORNERS; i++) {
        room->shapes[i] = thin_wall(room->corners[i], room->corners[(i + 1) % CORNERS]);
    }
    for (int i = CORNERS; i < ROOM_SHAPES; i++) {
        struct arb_vec2 at = {middle.x + arb_rng_range(rng, -12, 12),
                              middle.y + arb_rng_range(rng, -12, 12)};
        struct arb_vec2 end = {at.x + arb_rng_range(rng, -4, 4), at.y + arb_rng_range(rng, -4, 4)};
        float turn = arb_rng_range(rng, -3, 3);
        switch (i % 4) {
        case 0:
            room->shapes[i] =
                (struct arb_shape){ARB_SHAPE_CIRCLE, 1, arb_rng_range(rng, 0.02F, 1.0F), {at}};
            break;
        case 1:
            room->shapes[i] = triangle(at, arb_rng_range(rng, 0.5F, 2), turn, 0.3F);
            break;
        case 2:
            room->shapes[i] = triangle(at, arb_rng_range(rng, 0.5F, 2), turn, 1.2F);
            room->shapes[i].radius = 0.1F;
            break;
        default:
            room->shapes[i] = thin_wall(at, end);
            break;
        }
    }
    struct arb_bounds bounds = {{middle.x - 21, middle.y - 21}, {middle.x + 21, middle.y + 21}};
    room->geometry = arb_geometry_create(room->shapes, ROOM_SHAPES, bounds);
}

static bool inside_room(const struct room *room, struct arb_vec2 p)
{
    bool inside = false;
    for (int i = 0, j = CORNERS - 1; i < CORNERS; j = i++) {
        struct arb_vec2 a = room->corners[i], b = room->corners[j];
        if ((a.y > p.y) != (b.y > p.y) && (double)p.x < ((double)b.x - (double)a.x) *
                                                                ((double)p.y - (double)a.y) /
                                                                ((double)b.y - (double)a.y) +
                                                            (double)a.x) {
            inside = !inside;
        }
    }
    return inside;
}

/* Random walks: keeps a direction for a while, so that it presses into corners. Returns the steps
 * made. */
static int walk(const struct room *room, struct arb_rng *rng, struct arb_hull hull,
                struct arb_vec2 middle, int steps)
{
    struct arb_vec2 centre;
    int tries = 0;
    do {
        centre = (struct arb_vec2){middle.x + arb_rng_range(rng, -8, 8),
                                   middle.y + arb_rng_range(rng, -8, 8)};
        if (++tries > 200) {
            return 0;
        }
    } while (!inside_room(room, centre) ||
             arb_geometry_clearance(room->geometry, hull, centre, 1) < 0.0F);
    float speed = 5.0F;
    struct arb_vec2 direction = {1, 0};
    for (int i = 0; i < steps; i++) {
        if (arb_rng_below(rng, 12) == 0) {
            static const float speeds[] = {0.01F, 1, 5, 20, 100, 1000};
            speed = speeds[arb_rng_below(rng, 6)];
            direction = arb_move_direction(arb_rng_range(rng, -3.14F, 3.14F));
        }
        struct arb_vec2 velocity = arb_vec2_scale(direction, speed), before = centre;
        arb_geometry_slide(room->geometry, hull, &centre, arb_vec2_scale(velocity, 1.0F / 60.0F),
                           &velocity);
        float clearance = arb_geometry_clearance(room->geometry, hull, centre, 1);
        cr_assert(clearance >= 0.0F, "step %d: %g m inside, at (%f, %f) from (%f, %f) at %f m/s", i,
                  (double)-clearance, (double)centre.x, (double)centre.y, (double)before.x,
                  (double)before.y, (double)speed);
        cr_assert(inside_room(room, centre), "step %d passed a wall at %f m/s", i, (double)speed);
    }
    return steps;
}

static void walk_rooms(uint64_t seed, int rooms, struct arb_vec2 middle)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, seed, 2);
    int steps = 0;
    for (int i = 0; i < rooms; i++) {
        struct room room;
        make_room(&room, &rng, middle);
        struct arb_hull circle = {arb_rng_range(&rng, 0.05F, 0.8F), 0};
        struct arb_hull capsule = {arb_rng_range(&rng, 0.05F, 0.5F), arb_rng_range(&rng, 0, 1)};
        steps += walk(&room, &rng, circle, middle, 1000);
        steps += walk(&room, &rng, capsule, middle, 1000);
        arb_geometry_destroy(room.geometry);
    }
    cr_expect_gt(steps, rooms * 1000, "most rooms have a place to start");
}

Test(geometry_slide, never_inside_and_never_through, .timeout = 1200)
{
    walk_rooms(1, 120, (struct arb_vec2){0, 0});
}

Test(geometry_slide, never_inside_and_never_through_at_the_edge_of_the_world, .timeout = 1200)
{
    walk_rooms(2, 60, (struct arb_vec2){4075, -4075});
}

Test(geometry_slide, one_step_of_any_length_passes_no_wall)
{
    struct arb_shape wall = thin_wall((struct arb_vec2){5, -50}, (struct arb_vec2){5, 50});
    struct arb_bounds bounds = {{-4000, -4000}, {4000, 4000}};
    struct arb_geometry *geometry = arb_geometry_create(&wall, 1, bounds);
    static const float lengths[] = {1, 10, 1000, 1e6F, 1e12F};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct arb_vec2 centre = {0, 0}, velocity = {lengths[i], 0};
        bool touched = arb_geometry_slide(geometry, (struct arb_hull){0.3F, 0}, &centre,
                                          (struct arb_vec2){lengths[i], 0}, &velocity);
        cr_expect(centre.x < 4.69F, "length %g: %f", (double)lengths[i], (double)centre.x);
        cr_expect_eq(touched, lengths[i] > 5.0F);
    }
    arb_geometry_destroy(geometry);
}

Test(geometry_slide, open_ground_is_plain_addition)
{
    struct arb_shape wall = thin_wall((struct arb_vec2){5, -50}, (struct arb_vec2){5, 50});
    struct arb_bounds bounds = {{-50, -50}, {50, 50}};
    struct arb_geometry *geometry = arb_geometry_create(&wall, 1, bounds);
    struct arb_vec2 centre = {1.1F, 2.3F}, velocity = {5, 1};
    struct arb_vec2 delta = {5.0F / 60.0F, 1.0F / 60.0F};
    cr_expect(!arb_geometry_slide(geometry, (struct arb_hull){0.5F, 0}, &centre, delta, &velocity));
    cr_expect_eq(centre.x, 1.1F + delta.x);
    cr_expect_eq(centre.y, 2.3F + delta.y);
    cr_expect(velocity.x == 5 && velocity.y == 1);
    arb_geometry_destroy(geometry);
}

Test(geometry_slide, a_wall_takes_only_the_speed_towards_it)
{
    struct arb_shape wall = thin_wall((struct arb_vec2){-50, 0}, (struct arb_vec2){50, 0});
    struct arb_bounds bounds = {{-60, -60}, {60, 60}};
    struct arb_geometry *geometry = arb_geometry_create(&wall, 1, bounds);
    struct arb_vec2 centre = {0, 1}, velocity = {3, -4};
    for (int tick = 0; tick < 60; tick++) {
        struct arb_vec2 wanted = {3, -4};
        velocity = wanted;
        arb_geometry_slide(geometry, (struct arb_hull){0.5F, 0}, &centre,
                           arb_vec2_scale(wanted, 1.0F / 60.0F), &velocity);
    }
    cr_expect_float_eq(centre.x, 3.0F, 0.01F, "the whole way along the wall: %f", (double)centre.x);
    cr_expect(centre.y > 0.52F && centre.y < 0.53F, "%f", (double)centre.y);
    cr_expect_float_eq(velocity.x, 3.0F, 1e-4F);
    cr_expect_float_eq(velocity.y, 0.0F, 1e-4F);
    arb_geometry_destroy(geometry);
}

Test(geometry_slide, a_slope_turns_the_way_and_loses_no_more_than_its_share)
{
    struct arb_shape wall = thin_wall((struct arb_vec2){-20, -20}, (struct arb_vec2){20, 20});
    struct arb_bounds bounds = {{-60, -60}, {60, 60}};
    struct arb_geometry *geometry = arb_geometry_create(&wall, 1, bounds);
    struct arb_vec2 centre = {0, 1};
    for (int tick = 0; tick < 120; tick++) {
        struct arb_vec2 velocity = {6, 0};
        arb_geometry_slide(geometry, (struct arb_hull){0.5F, 0.3F}, &centre,
                           (struct arb_vec2){0.1F, 0}, &velocity);
    }
    /* Half of 12 m goes along the slope: 6 m of x, 6 m of y; the way to the wall apart. */
    cr_expect_float_eq(centre.x, 6.0F, 0.3F, "%f", (double)centre.x);
    cr_expect_float_eq(centre.y - centre.x, 0.3F + 0.52F * sqrtf(2.0F), 0.02F);
    arb_geometry_destroy(geometry);
}

Test(geometry_slide, a_corner_holds_and_lets_go)
{
    struct arb_shape walls[] = {
        thin_wall((struct arb_vec2){0, 0}, (struct arb_vec2){20, 0.5F}),
        thin_wall((struct arb_vec2){0, 0}, (struct arb_vec2){20, 4}),
    };
    struct arb_bounds bounds = {{-60, -60}, {60, 60}};
    struct arb_geometry *geometry = arb_geometry_create(walls, 2, bounds);
    struct arb_hull hull = {0.5F, 0};
    struct arb_vec2 centre = {15, 1.6F}, velocity = {0, 0};
    for (int tick = 0; tick < 300; tick++) {
        arb_geometry_slide(geometry, hull, &centre, (struct arb_vec2){-0.1F, -0.01F}, &velocity);
    }
    struct arb_vec2 stuck = centre;
    arb_geometry_slide(geometry, hull, &centre, (struct arb_vec2){-0.1F, -0.01F}, &velocity);
    cr_expect_float_eq(arb_vec2_distance(stuck, centre), 0.0F, 0.002F, "it comes to rest");
    cr_expect_geq(arb_geometry_clearance(geometry, hull, centre, 1), 0.0F);
    for (int tick = 0; tick < 30; tick++) {
        arb_geometry_slide(geometry, hull, &centre, (struct arb_vec2){0.1F, 0.012F}, &velocity);
    }
    cr_expect_gt(centre.x, stuck.x + 2.9F, "%f", (double)(centre.x - stuck.x));
    arb_geometry_destroy(geometry);
}

Test(geometry_slide, who_starts_inside_is_pushed_out)
{
    struct arb_shape shapes[] = {
        {ARB_SHAPE_POLYGON, 4, 0, {{-2, -1}, {2, -1}, {2, 1}, {-2, 1}}},
        {ARB_SHAPE_CIRCLE, 1, 1, {{10, 0}}},
    };
    struct arb_bounds bounds = {{-60, -60}, {60, 60}};
    struct arb_geometry *geometry = arb_geometry_create(shapes, 2, bounds);
    struct arb_vec2 starts[] = {{0.3F, 0.2F}, {10, 0}, {10.5F, 0.1F}, {-61, 3}};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        struct arb_vec2 velocity = {0, 0};
        for (int tick = 0; tick < 3; tick++) {
            arb_geometry_slide(geometry, (struct arb_hull){0.5F, 0}, &starts[i],
                               (struct arb_vec2){0, 0.001F}, &velocity);
        }
        float clearance =
            arb_geometry_clearance(geometry, (struct arb_hull){0.5F, 0}, starts[i], 1);
        cr_expect_geq(clearance, -SLOP, "case %zu: %f", i, (double)clearance);
    }
    arb_geometry_destroy(geometry);
}
