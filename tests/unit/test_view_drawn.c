/* From states to places: worked cases of spec/lag-compensation.md and spec/client.md. */
#include "shared/base/arb_math.h"
#include "shared/view/arb_drawn.h"

#include <criterion/criterion.h>

#include <math.h>

#define KIND (&arb_schema_arena.kinds[ARB_ARENA_CHARACTER])
static const struct arb_drawn_rule rule = {.interval_ticks = 2, .tick_rate = 60};

static struct arb_published character(float x, float y, float vx, int32_t jump)
{
    struct arb_published out = {.key = {1, 1}, .kind = ARB_ARENA_CHARACTER};
    out.q[ARB_CHARACTER_X] = arb_quantise(x, 1.0F / 512.0F, -(1 << 21), 1 << 21);
    out.q[ARB_CHARACTER_Y] = arb_quantise(y, 1.0F / 512.0F, -(1 << 21), 1 << 21);
    out.q[ARB_CHARACTER_VX] = arb_quantise(vx, 1.0F / 64.0F, -(1 << 13), 1 << 13);
    out.q[ARB_CHARACTER_JUMP] = jump;
    return out;
}

static struct arb_drawn_pair between(const struct arb_published *a, arb_tick a_tick,
                                     const struct arb_published *b, arb_tick b_tick, double at)
{
    return (struct arb_drawn_pair){.from = a,
                                   .to = b,
                                   .from_tick = a_tick,
                                   .to_tick = b_tick,
                                   .at = (arb_fine)(at * ARB_FINE_TICK)};
}

Test(view_drawn, positions_are_linear_between_two_states)
{
    struct arb_published a = character(0, 0, 0, 0), b = character(100, 8, 0, 0);
    struct arb_drawn_pair pair = between(&a, 100, &b, 104, 101);
    cr_expect_eq(arb_drawn_part(KIND, &pair), 0.25F);
    struct arb_vec2 at = arb_drawn_position(KIND, &pair, &rule);
    cr_expect(at.x == 25.0F && at.y == 2.0F);
    cr_expect_eq(arb_drawn_how(KIND, &pair, &rule), ARB_DRAWN_BETWEEN);
}

/* Ticks 10 (0,0), 11 (100,0) jumped, 12 (101,0). */
Test(view_drawn, nothing_is_drawn_between_the_ends_of_a_jump)
{
    struct arb_published ten = character(0, 0, 0, 3), eleven = character(100, 0, 0, 4),
                         twelve = character(101, 0, 0, 4);
    struct {
        struct arb_drawn_pair pair;
        float x;
    } rows[] = {
        {between(&ten, 10, &eleven, 11, 10.5), 0},
        {between(&eleven, 11, &twelve, 12, 11), 100},
        {between(&eleven, 11, &twelve, 12, 11.5), 100.5F},
        {between(&ten, 10, &twelve, 12, 11.5), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_vec2 at = arb_drawn_position(KIND, &rows[i].pair, &rule);
        cr_expect_eq(at.x, rows[i].x, "row %zu: %g", i, (double)at.x);
    }
}

/* 170 to -170 degrees at 0.5: 180, not 0. Exactly opposite: the earlier one. */
Test(view_drawn, headings_turn_the_shorter_way)
{
    struct arb_published a = character(0, 0, 0, 0), b = a;
    a.q[ARB_CHARACTER_HEADING] = 170 * 4096 / 360;
    b.q[ARB_CHARACTER_HEADING] = 190 * 4096 / 360;
    struct arb_drawn_pair pair = between(&a, 10, &b, 11, 10.5);
    cr_expect_float_eq(fabsf(arb_drawn_heading(KIND, &pair)), ARB_PI, 1e-3F);
    a.q[ARB_CHARACTER_HEADING] = 0;
    b.q[ARB_CHARACTER_HEADING] = 2048;
    cr_expect_eq(arb_drawn_heading(KIND, &pair), 0.0F);
}

/* From (10,0) at 10 m/s, four ticks at 60 Hz: (10.67,0), still moving; then it stands. */
Test(view_drawn, past_the_newest_it_goes_on_for_two_intervals)
{
    struct arb_published a = character(10, 0, 10, 0);
    static const struct {
        double at;
        float x;
        enum arb_drawn_how how;
        float vx;
    } rows[] = {
        {100, 10, ARB_DRAWN_BETWEEN, 10},      {102, 10.3333F, ARB_DRAWN_BEYOND, 10},
        {104, 10.6667F, ARB_DRAWN_BEYOND, 10}, {105, 10.6667F, ARB_DRAWN_FROZEN, 0},
        {900, 10.6667F, ARB_DRAWN_FROZEN, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_drawn_pair pair = between(&a, 100, NULL, 100, rows[i].at);
        cr_expect_float_eq(arb_drawn_position(KIND, &pair, &rule).x, rows[i].x, 1e-4F, "row %zu",
                           i);
        cr_expect_eq(arb_drawn_how(KIND, &pair, &rule), rows[i].how, "row %zu", i);
        cr_expect_eq(arb_drawn_velocity(KIND, &pair, &rule).x, rows[i].vx, "row %zu", i);
    }
}

Test(view_drawn, a_long_body_is_never_extrapolated)
{
    const struct arb_kind *head = &arb_schema_serpent.kinds[ARB_SERPENT_HEAD];
    struct arb_published a = {.key = {1, 1}, .kind = ARB_SERPENT_HEAD};
    a.q[ARB_HEAD_X] = 5120;
    struct arb_drawn_pair pair = between(&a, 100, NULL, 100, 101);
    cr_expect_eq(arb_drawn_position(head, &pair, &rule).x, 10.0F);
    cr_expect_eq(arb_drawn_how(head, &pair, &rule), ARB_DRAWN_FROZEN);
}

/* A place that did not move and has no speed is the same drawn alone and between. */
Test(view_drawn, whoever_stands_is_drawn_where_it_stands)
{
    struct arb_published a = character(3.25F, -7.5F, 0, 0), b = a;
    struct arb_drawn_pair two = between(&a, 100, &b, 131, 117.3);
    struct arb_drawn_pair one = between(&a, 100, NULL, 100, 117.3);
    cr_expect_eq(arb_drawn_position(KIND, &two, &rule).x, 3.25F);
    cr_expect_eq(arb_drawn_position(KIND, &one, &rule).x, 3.25F);
}
