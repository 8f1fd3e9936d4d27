/* The own-player step and the formulas of drawing (spec/simulation.md "Movement",
 * lag-compensation.md "History"). */
#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

#define DEGREE (ARB_PI / 180.0F)

static struct arb_geometry *open_field;

static void setup(void)
{
    struct arb_bounds bounds = {{-100, -100}, {100, 100}};
    open_field = arb_geometry_create(NULL, 0, bounds);
}

static void teardown(void)
{
    arb_geometry_destroy(open_field);
}

TestSuite(move, .init = setup, .fini = teardown);

static const struct arb_move_params serpent = {
    .mover = ARB_MOVER_SERPENT,
    .tick_rate = 60,
    .radius = 0.4F,
    .base_speed = 5.0F,
    .boost_speed = 8.0F,
    .turn_rate = ARB_PI,
};

static const struct arb_move_params arena = {
    .mover = ARB_MOVER_ARENA,
    .weapon_count = 3,
    .tick_rate = 60,
    .radius = 0.5F,
    .max_speed = 6.0F,
    .acceleration = 60.0F,
    .friction = 30.0F,
    .dash_speed = 18.0F,
    .dash_ticks = 9,
    .dash_cooldown_ticks = 60,
    .weapons = {{.interval_ticks = 6, .magazine = 3, .reload_ticks = 10, .automatic = 1},
                {.interval_ticks = 20, .magazine = 2, .reload_ticks = 30, .automatic = 0},
                {.interval_ticks = 4, .magazine = 0, .reload_ticks = 0, .automatic = 0}},
};

static struct arb_move_report step(struct arb_own *own, const struct arb_move_params *params,
                                   struct arb_input input)
{
    struct arb_move_report report;
    arb_move_step(own, &input, params, open_field, &report);
    return report;
}

/* ---- serpent ---- */

Test(move, serpent_worked_cases)
{
    static const struct {
        float heading;
        int8_t move_x;
        float x, y, heading_after;
    } cases[] = {
        {0, 0, 5.0F / 60.0F, 0, 0},
        {0, 127, 0.0832191F, -0.00436133F, -3 * DEGREE},
        {0, -127, 0.0832191F, 0.00436133F, 3 * DEGREE},
        {0, 32, 5.0F / 60.0F, 0, 0},
        {0, -32, 5.0F / 60.0F, 0, 0},
        {0, 33, 0.0832191F, -0.00436133F, -3 * DEGREE},
        {179 * DEGREE, -100, -0.0832826F, -0.00290830F, -178 * DEGREE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_own own = {.heading = cases[i].heading};
        step(&own, &serpent, (struct arb_input){.move_x = cases[i].move_x});
        cr_expect_float_eq(own.x, cases[i].x, 1e-6F, "case %zu: x %f", i, (double)own.x);
        cr_expect_float_eq(own.y, cases[i].y, 1e-6F, "case %zu: y %f", i, (double)own.y);
        cr_expect_float_eq(own.heading, cases[i].heading_after, 1e-6F, "case %zu", i);
        cr_expect_float_eq(own.vx, own.x * 60.0F, 1e-4F);
    }
}

Test(move, boost_is_what_the_server_granted_not_the_button)
{
    struct arb_own held = {0}, granted = {.boost = 1};
    step(&held, &serpent,
         (struct arb_input){.buttons = ARB_BUTTON_BOOST, .edges = ARB_BUTTON_BOOST});
    step(&granted, &serpent, (struct arb_input){0});
    cr_expect_float_eq(held.x, 5.0F / 60.0F, 1e-6F);
    cr_expect_float_eq(granted.x, 8.0F / 60.0F, 1e-6F);
}

Test(move, a_serpent_reports_where_its_head_reaches_the_bound_and_goes_on)
{
    struct arb_own own = {.x = 99.55F};
    struct arb_move_report report = step(&own, &serpent, (struct arb_input){0});
    cr_expect(report.touched_static);
    cr_expect_float_eq(report.touch_fraction, 0.05F / (5.0F / 60.0F), 1e-3F);
    cr_expect_float_eq(own.x, 99.55F + 5.0F / 60.0F, 1e-5F);
    own = (struct arb_own){.x = 99.0F};
    report = step(&own, &serpent, (struct arb_input){0});
    cr_expect(!report.touched_static && report.touch_fraction == 0.0F);
}

/* ---- arena: movement ---- */

Test(move, an_arena_player_reaches_and_keeps_its_maximum_speed)
{
    struct arb_own own = {0};
    for (int tick = 1; tick <= 30; tick++) {
        step(&own, &arena, (struct arb_input){.move_x = 127, .aim = 16384});
        cr_expect_float_eq(own.vx, tick < 6 ? (float)tick : 6.0F, 1e-4F, "tick %d", tick);
    }
    cr_expect_float_eq(own.heading, ARB_PI / 2.0F, 1e-6F);
}

Test(move, a_diagonal_is_not_faster)
{
    struct arb_own own = {0};
    for (int tick = 0; tick < 30; tick++) {
        step(&own, &arena, (struct arb_input){.move_x = -128, .move_y = 127});
    }
    cr_expect_float_eq(arb_vec2_length((struct arb_vec2){own.vx, own.vy}), 6.0F, 1e-4F);
    cr_expect_float_eq(own.vx, -own.vy, 1e-5F);
}

Test(move, friction_stops_a_player_and_leaves_it_at_rest)
{
    struct arb_own own = {.vx = 6.0F};
    for (int tick = 0; tick < 12; tick++) {
        step(&own, &arena, (struct arb_input){0});
    }
    cr_expect_eq(own.vx, 0.0F);
    float x = own.x;
    step(&own, &arena, (struct arb_input){0});
    cr_expect_eq(own.x, x);
}

Test(move, a_dash_lasts_its_ticks_and_waits_for_its_cooldown)
{
    struct arb_own own = {0};
    struct arb_input press = {.move_y = 127, .edges = ARB_BUTTON_DASH};
    struct arb_move_report report = step(&own, &arena, press);
    cr_expect(report.dashed);
    int ticks = 1;
    for (; own.vy > 6.5F && ticks < 100; ticks++) {
        report = step(&own, &arena, press); /* pressing again does not prolong it */
        cr_expect(!report.dashed);
    }
    cr_expect_eq(ticks - 1, 9);
    cr_expect_float_eq(own.y, 9 * 18.0F / 60.0F + 6.0F / 60.0F, 1e-3F);
    cr_expect(own.dash_x == 0.0F && own.dash_y == 0.0F);
    cr_expect_float_eq(own.vy, 6.0F, 1e-4F, "a dash leaves no more than the maximum speed");
    int waited = ticks;
    while (!step(&own, &arena, press).dashed && waited < 200) {
        waited++;
    }
    cr_expect_eq(waited, 60, "%d", waited);
}

Test(move, a_dash_without_intent_goes_where_it_aims)
{
    struct arb_own own = {0};
    step(&own, &arena, (struct arb_input){.aim = 32768, .edges = ARB_BUTTON_DASH});
    cr_expect_float_eq(own.vx, -18.0F, 1e-4F);
    cr_expect_float_eq(own.vy, 0.0F, 1e-4F);
}

Test(move, bounds_stop_a_player_and_take_its_speed)
{
    struct arb_own own = {.x = 99.45F, .vx = 6.0F, .vy = 3.0F};
    struct arb_move_report report = {0};
    for (int tick = 0; tick < 5; tick++) {
        report = step(&own, &arena, (struct arb_input){.move_x = 127});
    }
    cr_expect(report.touched_static);
    cr_expect(own.x <= 99.5F && own.x > 99.49F, "%f", (double)own.x);
    cr_expect_float_eq(own.vx, 0.0F, 1e-4F);
}

/* ---- arena: weapons ---- */

static struct arb_own armed(uint8_t weapon)
{
    return (struct arb_own){
        .weapons = 7, .weapon = weapon, .magazine = {3, 2, 0, 0}, .reserve = {4, 1, 0, 0}};
}

static const struct arb_input fire_held = {.buttons = ARB_BUTTON_FIRE};
static const struct arb_input fire_press = {.buttons = ARB_BUTTON_FIRE, .edges = ARB_BUTTON_FIRE};

Test(move, an_automatic_weapon_fires_each_interval_then_reloads_by_itself)
{
    struct arb_own own = armed(0);
    int fired_at[8], count = 0;
    for (int tick = 0; tick < 60; tick++) {
        struct arb_move_report report = step(&own, &arena, fire_held);
        if (report.fired) {
            cr_assert_lt(count, 8);
            fired_at[count++] = tick;
        }
    }
    /* 3 rounds, empty at 18, reloads 18..28, 3 rounds, empty at 46, the last reserve round at 56 */
    static const int expected[] = {0, 6, 12, 28, 34, 40, 56};
    cr_assert_eq(count, 7);
    cr_expect_arr_eq(fired_at, expected, sizeof expected);
    cr_expect_eq(own.reserve[0], 0);
}

Test(move, refusals_name_their_reason_and_cost_nothing)
{
    struct arb_own own = armed(1);
    cr_expect(step(&own, &arena, fire_press).fired);
    cr_expect_eq(own.magazine[1], 1);
    cr_expect_eq(step(&own, &arena, fire_press).refusal, ARB_FIRE_COOLING);
    cr_expect_eq(own.magazine[1], 1);
    for (int i = 0; i < 20; i++) {
        cr_expect_eq(step(&own, &arena, fire_held).refusal, ARB_FIRE_NOT_ASKED,
                     "held is no press for this weapon");
    }
    cr_expect(step(&own, &arena, fire_press).fired);
    for (int i = 0; i < 20; i++) {
        step(&own, &arena, (struct arb_input){0});
    }
    cr_expect_eq(step(&own, &arena, fire_press).refusal, ARB_FIRE_EMPTY);
    cr_expect_eq(own.reload_ticks, 30);
    cr_expect_eq(step(&own, &arena, fire_press).refusal, ARB_FIRE_RELOADING);
    own.weapons = 0;
    cr_expect_eq(step(&own, &arena, fire_press).refusal, ARB_FIRE_UNARMED);
}

Test(move, an_interval_counts_from_shot_to_shot_exactly)
{
    struct arb_own own = armed(1);
    cr_expect(step(&own, &arena, fire_press).fired);
    for (int i = 1; i < 20; i++) {
        step(&own, &arena, (struct arb_input){0});
    }
    cr_expect(step(&own, &arena, fire_press).fired, "the 20th tick after a shot");
}

Test(move, use_takes_the_next_carried_weapon_and_breaks_the_reload_off)
{
    struct arb_own own = armed(0);
    own.weapons = 5;
    own.magazine[0] = 1;
    step(&own, &arena, (struct arb_input){.edges = ARB_BUTTON_RELOAD});
    cr_expect_eq(own.reload_ticks, 10);
    step(&own, &arena, (struct arb_input){.edges = ARB_BUTTON_USE});
    cr_expect_eq(own.weapon, 2);
    cr_expect_eq(own.reload_ticks, 0);
    cr_expect_eq(own.magazine[0], 1);
    step(&own, &arena, (struct arb_input){.edges = ARB_BUTTON_USE});
    cr_expect_eq(own.weapon, 0);
    own.weapons = 1;
    step(&own, &arena, (struct arb_input){.edges = ARB_BUTTON_USE});
    cr_expect_eq(own.weapon, 0, "the only one stays");
}

Test(move, switching_does_not_shorten_the_interval)
{
    struct arb_own own = armed(1);
    own.weapons = 6;
    cr_expect(step(&own, &arena, fire_press).fired);
    struct arb_input both = {.edges = ARB_BUTTON_USE | ARB_BUTTON_FIRE};
    cr_expect_eq(step(&own, &arena, both).refusal, ARB_FIRE_COOLING);
    cr_expect_eq(own.weapon, 2);
}

Test(move, a_weapon_without_magazine_never_empties)
{
    struct arb_own own = armed(2);
    for (int shots = 0; shots < 100; shots++) {
        cr_expect(step(&own, &arena, fire_press).fired);
        for (int i = 0; i < 3; i++) {
            step(&own, &arena, (struct arb_input){0});
        }
    }
}

/* ---- angles and interpolation ---- */

Test(move, directions_and_angles_are_exact_to_a_fraction_of_the_wire_step)
{
    for (int turn = 0; turn < 65536; turn++) {
        float angle = arb_turn16_to_angle((uint16_t)turn);
        struct arb_vec2 direction = arb_move_direction(angle);
        cr_assert_float_eq(direction.x, (float)cos((double)angle), 2e-7F, "%d", turn);
        cr_assert_float_eq(direction.y, (float)sin((double)angle), 2e-7F, "%d", turn);
        cr_assert_eq(arb_angle_to_turn16(arb_move_angle(direction)), turn);
    }
    cr_expect_eq(arb_move_angle((struct arb_vec2){0, 0}), 0.0F);
    cr_expect_float_eq(arb_move_angle((struct arb_vec2){-1, 0}), ARB_PI, 1e-7F);
}

Test(move, angles_interpolate_along_the_shorter_arc)
{
    static const struct {
        float a, b, t, expected;
    } cases[] = {
        {170, -170, 0.5F, 180},     {-170, 170, 0.5F, 180}, {10, 30, 0.5F, 20},
        {-10, 10, 0.5F, 0},         {80, 100, 0.5F, 90},    {-100, -80, 0.5F, -90},
        {0, 180, 0.5F, 0},          {90, -90, 0.3F, 90},    {170, -170, 0.0F, 170},
        {170, -170, 1.0F, -170},    {0, 90, 0.5F, 45},      {3, 3, 0.7F, 3},
        {0, 90, 0.25F, 18.434949F}, /* normalised-linear: atan(0.25 / 0.75) */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float got =
            arb_move_lerp_angle(cases[i].a * DEGREE, cases[i].b * DEGREE, cases[i].t) / DEGREE;
        float apart = remainderf(got - cases[i].expected, 360.0F);
        cr_expect_float_eq(apart, 0.0F, 1e-4F, "case %zu: %f", i, (double)got);
    }
}

Test(move, a_capsule_between_aims_around_the_wrap_points_ahead)
{
    float angle = arb_move_lerp_angle(arb_turn16_to_angle(65500), arb_turn16_to_angle(36), 0.5F);
    struct arb_vec2 end = arb_move_direction(angle);
    cr_expect_float_eq(end.x, 1.0F, 1e-6F);
    cr_expect_float_eq(end.y, 0.0F, 1e-6F);
}

Test(move, extrapolation_goes_to_its_cap_and_stays)
{
    static const struct {
        float ticks, x;
    } cases[] = {{0, 10},
                 {1, 10 + 10.0F / 60},
                 {4, 10 + 40.0F / 60},
                 {5, 10 + 40.0F / 60},
                 {1000, 10 + 40.0F / 60},
                 {-3, 10},
                 {0.5F, 10 + 5.0F / 60}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_vec2 at = arb_move_extrapolate((struct arb_vec2){10, 0},
                                                  (struct arb_vec2){10, 0}, cases[i].ticks, 2, 60);
        cr_expect_float_eq(at.x, cases[i].x, 1e-5F, "case %zu", i);
    }
    cr_expect_eq(arb_move_extrapolation_cap(2), 4);
    cr_expect_eq(arb_move_extrapolation_cap(0), 1);
}

Test(move, positions_interpolate_linearly)
{
    struct arb_vec2 at = arb_move_lerp((struct arb_vec2){0, 8}, (struct arb_vec2){100, 0}, 0.25F);
    cr_expect_eq(at.x, 25.0F);
    cr_expect_eq(at.y, 6.0F);
}

/* ---- tables ---- */

/* Bytes of the struct that no row names. */
static size_t unnamed(const struct arb_fields *fields, size_t size)
{
    bool named[256] = {0};
    for (size_t row = 0; row < fields->count; row++) {
        for (size_t i = 0; i < fields->rows[row].size; i++) {
            named[fields->rows[row].offset + i] = true;
        }
    }
    size_t missing = 0;
    for (size_t i = 0; i < size; i++) {
        missing += !named[i];
    }
    return missing;
}

Test(move, tables_name_every_member_that_a_mover_uses)
{
    /* arena: boost and reserved; parameters: two bytes of padding per weapon */
    cr_expect_eq(unnamed(arb_own_fields(ARB_MOVER_ARENA), sizeof(struct arb_own)), 2);
    cr_expect_eq(unnamed(&arb_move_param_fields, sizeof(struct arb_move_params)),
                 2 * ARB_WEAPONS_MAX);
    cr_expect_eq(unnamed(arb_own_fields(ARB_MOVER_SERPENT), sizeof(struct arb_own)),
                 sizeof(struct arb_own) - 21);
    cr_expect_null(arb_own_fields(ARB_MOVER_NONE));
}

Test(move, the_same_state_and_input_give_the_same_bytes)
{
    struct arb_own a = armed(0), b = armed(0);
    for (int tick = 0; tick < 200; tick++) {
        struct arb_input input = {.move_x = (int8_t)(tick * 7),
                                  .move_y = (int8_t)(tick * 13),
                                  .aim = (uint16_t)(tick * 991),
                                  .buttons = ARB_BUTTON_FIRE,
                                  .edges = tick % 31 == 0 ? ARB_BUTTON_DASH : 0};
        step(&a, &arena, input);
        step(&b, &arena, input);
        cr_assert_arr_eq(&a, &b, sizeof a);
    }
}
