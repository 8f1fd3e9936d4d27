#include "shared/base/arb_math.h"

#include <criterion/criterion.h>
#include <math.h>

Test(base_math, quantise_rounds_to_nearest_halves_away_from_zero_and_clamps)
{
    static const struct {
        float value, unit;
        int32_t low, high, expected;
    } cases[] = {
        {0.0F, 0.5F, -10, 10, 0},
        {0.25F, 0.5F, -10, 10, 1},
        {-0.25F, 0.5F, -10, 10, -1},
        {0.24F, 0.5F, -10, 10, 0},
        {100.0F, 0.5F, -10, 10, 10},
        {-100.0F, 0.5F, -10, 10, -10},
        {INFINITY, 1.0F, -10, 10, 10},
        {-INFINITY, 1.0F, -10, 10, -10},
        {NAN, 1.0F, -10, 10, -10},
        {4096.0F, 1.0F / 512, -2097152, 2097151, 2097151},
        {-4096.0F, 1.0F / 512, -2097152, 2097151, -2097152},
        {1e30F, 1.0F, INT32_MIN, INT32_MAX, INT32_MAX},
        {-1e30F, 1.0F, INT32_MIN, INT32_MAX, INT32_MIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int32_t q = arb_quantise(cases[i].value, cases[i].unit, cases[i].low, cases[i].high);
        cr_assert_eq(q, cases[i].expected, "case %zu: %d", i, q);
    }
}

/* In words: to the nearest, halves away from zero, then into the range. */
Test(base_math, quantise_agrees_with_its_definition_at_ranges_of_all_signs)
{
    static const int32_t ranges[][2] = {{-3, 3}, {0, 5}, {-5, 0}, {2, 4}, {-4, -2}, {7, 7}};
    for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
        for (int i = -800; i <= 800; i++) {
            float value = (float)i / 100.0F;
            double rounded = round((double)value);
            int32_t low = ranges[r][0], high = ranges[r][1];
            double wanted = fmin(fmax(rounded, low), high);
            cr_assert_eq(arb_quantise(value, 1.0F, low, high), (int32_t)wanted, "%d in %d..%d", i,
                         low, high);
        }
    }
}

Test(base_math, quantise_undoes_dequantise)
{
    static const float units[] = {1.0F / 512, 1.0F / 64, ARB_TURN / 65536.0F, 1.0F};
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        for (int32_t q = -2097152; q < 2097152; q += 37) {
            float shown = arb_dequantise(q, units[u]);
            cr_assert_eq(arb_quantise(shown, units[u], -2097152, 2097151), q);
        }
    }
}

Test(base_math, angles_wrap_into_one_turn)
{
    static const float cases[][2] = {
        {0.0F, 0.0F},     {ARB_PI, ARB_PI},          {-ARB_PI, ARB_PI},
        {ARB_TURN, 0.0F}, {1.5F * ARB_TURN, ARB_PI}, {ARB_PI + 0.5F, 0.5F - ARB_PI},
        {-0.5F, -0.5F},   {3.0F * ARB_TURN, 0.0F},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        float wrapped = arb_angle_wrap(cases[i][0]);
        cr_assert(fabsf(wrapped - cases[i][1]) < 1e-5F, "case %zu: %f", i, (double)wrapped);
        cr_assert(wrapped > -ARB_PI && wrapped <= ARB_PI);
    }
}

Test(base_math, turns_of_the_wire_read_back)
{
    for (uint32_t turn = 0; turn < 65536; turn++) {
        float angle = arb_turn16_to_angle((uint16_t)turn);
        cr_assert(angle > -ARB_PI - 1e-6F && angle <= ARB_PI);
        cr_assert_eq(arb_angle_to_turn16(angle), turn);
    }
    cr_assert_eq(arb_angle_to_turn16(ARB_PI / 2), 16384);
    cr_assert_eq(arb_angle_to_turn16(-ARB_PI / 2), 49152);
}

Test(base_math, vectors)
{
    struct arb_vec2 a = {3, 4};
    struct arb_vec2 b = {1, -2};
    cr_assert_eq(arb_vec2_length(a), 5);
    cr_assert_eq(arb_vec2_dot(a, b), -5);
    struct arb_vec2 sum = arb_vec2_add(a, b);
    struct arb_vec2 difference = arb_vec2_sub(a, b);
    struct arb_vec2 along = arb_vec2_mul_add(a, 2, b);
    struct arb_vec2 twice = arb_vec2_scale(a, 2);
    cr_assert(sum.x == 4 && sum.y == 2);
    cr_assert(difference.x == 2 && difference.y == 6);
    cr_assert(along.x == 5 && along.y == 0);
    cr_assert(twice.x == 6 && twice.y == 8);
    cr_assert_eq(arb_vec2_distance(a, a), 0);
}

Test(base_math, milliseconds_round_up_to_ticks)
{
    cr_assert_eq(arb_ms_to_ticks(0, 60), 0);
    cr_assert_eq(arb_ms_to_ticks(1, 60), 1);
    cr_assert_eq(arb_ms_to_ticks(50, 60), 3);
    cr_assert_eq(arb_ms_to_ticks(250, 60), 15);
    cr_assert_eq(arb_ms_to_ticks(UINT32_MAX, 128), 549755814U);
}
