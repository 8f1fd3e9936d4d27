/* shared/move, paths of projectiles: one formula, and where static geometry ends it. */
#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"
#include "shared/move/arb_path.h"
#include "shared/view/arb_drawn.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct arb_weapon_step launcher = {
    .interval_ticks = 30,
    .projectiles = 1,
    .projectile_ticks = 120,
    .projectile_speed = 30.0F,
    .projectile_radius = 0.25F,
};

enum { RATE = 60 };

static struct arb_path straight(arb_fine start)
{
    return arb_path_launch(&launcher, (struct arb_vec2){1, 2}, (struct arb_vec2){1, 0}, 0, start);
}

Test(path, a_tick_is_a_sixtieth_of_its_speed)
{
    struct arb_path path = straight(100 * ARB_FINE_TICK);
    static const struct {
        double ticks;
        float x;
    } rows[] = {{0, 1}, {1, 1.5F}, {0.5, 1.25F}, {60, 31}, {-3, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arb_fine at = path.start + (arb_fine)(rows[i].ticks * ARB_FINE_TICK);
        struct arb_vec2 place = arb_path_at(&path, RATE, at);
        cr_expect_float_eq(place.x, rows[i].x, 1e-5F, "row %zu: %g", i, (double)place.x);
        cr_expect_eq(place.y, 2.0F);
    }
}

Test(path, several_leave_as_an_even_fan)
{
    struct arb_weapon_step three = launcher;
    three.projectiles = 3;
    three.projectile_spread = 0.5F;
    static const float angles[] = {-0.5F, 0.0F, 0.5F};
    for (uint32_t i = 0; i < 3; i++) {
        struct arb_path path =
            arb_path_launch(&three, (struct arb_vec2){0, 0}, (struct arb_vec2){1, 0}, i, 0);
        cr_expect_float_eq(arb_move_angle(path.velocity), angles[i], 1e-3F);
    }
}

Test(path, everything_of_it_is_on_the_grid_that_is_sent)
{
    struct arb_path path = arb_path_launch(&launcher, (struct arb_vec2){1.2345678F, -7.654321F},
                                           arb_move_direction(0.777F), 0, 123457 * 17);
    float numbers[] = {path.origin.x / ARB_PATH_PLACE, path.origin.y / ARB_PATH_PLACE,
                       path.velocity.x / ARB_PATH_SPEED, path.velocity.y / ARB_PATH_SPEED};
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(numbers[i], (float)(int32_t)numbers[i]);
    }
    cr_expect_eq(path.start % ARB_PATH_MOMENT, 0);
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_PROJECTILE];
    cr_expect_eq(kind->fields[kind->x].unit, ARB_PATH_PLACE);
    cr_expect_eq(kind->fields[kind->vx].unit, ARB_PATH_SPEED);
    cr_expect_eq(kind->fields[kind->start].bits, 24);
    cr_expect_geq((1 << (kind->fields[kind->vx].bits - 1)) / 256, ARB_PATH_SPEED_MAX);
}

/* What is published of a path, and read back, is that path: also where the tick's low bits wrap. */
Test(path, what_is_published_is_read_back_bit_for_bit)
{
    static const arb_tick ticks[] = {5, 65534, 65536, 65537, (UINT64_C(1) << 32) + 1};
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_PROJECTILE];
    for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
        arb_fine start = (arb_fine)(ticks[i] - 3) * ARB_FINE_TICK + 77 * ARB_PATH_MOMENT;
        struct arb_path path = arb_path_launch(&launcher, (struct arb_vec2){-3.3F, 9.1F},
                                               arb_move_direction(-2.0F), 0, start);
        struct arb_published state = {.kind = ARB_ARENA_PROJECTILE};
        state.q[ARB_PROJECTILE_X] = arb_quantise(path.origin.x, ARB_PATH_PLACE, -99999, 99999);
        state.q[ARB_PROJECTILE_Y] = arb_quantise(path.origin.y, ARB_PATH_PLACE, -99999, 99999);
        state.q[ARB_PROJECTILE_VX] = arb_quantise(path.velocity.x, ARB_PATH_SPEED, -99999, 99999);
        state.q[ARB_PROJECTILE_VY] = arb_quantise(path.velocity.y, ARB_PATH_SPEED, -99999, 99999);
        state.q[ARB_PROJECTILE_START] = (int32_t)(path.start / ARB_PATH_MOMENT & 0xFFFFFF);
        struct arb_path read = arb_published_path(kind, &state, ticks[i]);
        cr_expect(memcmp(&read, &path, sizeof path) == 0, "tick %zu", i);
        struct arb_drawn_rule rule = {2, RATE};
        struct arb_drawn_pair pair = {&state, NULL, ticks[i], ticks[i], start + 999999};
        struct arb_vec2 drawn = arb_drawn_position(kind, &pair, &rule);
        struct arb_vec2 at = arb_path_at(&path, RATE, start + 999999);
        cr_expect(memcmp(&drawn, &at, sizeof at) == 0, "drawn, tick %zu", i);
        cr_expect_eq(arb_drawn_how(kind, &pair, &rule), ARB_DRAWN_BEYOND, "never frozen");
    }
}

static struct arb_geometry *walls(float wall_x)
{
    struct arb_shape wall = {
        .type = ARB_SHAPE_POLYGON,
        .count = 4,
        .points = {{wall_x, -50}, {wall_x + 1, -50}, {wall_x + 1, 50}, {wall_x, 50}}};
    return arb_geometry_create(&wall, 1, (struct arb_bounds){{-90, -90}, {90, 90}});
}

Test(path, it_ends_at_a_wall_at_a_bound_or_of_age)
{
    static const struct {
        float wall_x, end_x;
    } rows[] = {{11, 10.75F}, {70, 61}, {1.5F, 1.25F}, {1.1F, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_geometry *geometry = walls(rows[i].wall_x);
        struct arb_path path = straight(7 * ARB_FINE_TICK);
        arb_fine flight = arb_path_flight(&path, &launcher, RATE, geometry);
        struct arb_vec2 end = arb_path_at(&path, RATE, path.start + flight);
        cr_expect_leq(end.x, rows[i].end_x + 1e-4F, "row %zu: not in the wall", i);
        cr_expect_geq(end.x, rows[i].end_x - 0.02F, "row %zu: at the wall, %g", i, (double)end.x);
        cr_expect_eq(flight % ARB_PATH_MOMENT, 0);
        arb_geometry_destroy(geometry);
    }
}
