/* From states to places: worked cases of spec/lag-compensation.md and spec/client.md. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "shared/view/arb_drawn.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

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

static void randomise(struct arb_rng *rng, const struct arb_schema *schema, uint8_t kind,
                      struct arb_published *out)
{
    *out = (struct arb_published){.key = {1, 1}, .kind = kind};
    for (int i = 0; i < schema->kinds[kind].field_count; i++) {
        const struct arb_kind_field *field = &schema->kinds[kind].fields[i];
        int32_t below = (int32_t)arb_rng_below(rng, 1U << field->bits);
        out->q[i] = field->is_signed ? below - (1 << (field->bits - 1)) : below;
    }
}

/* What is drawn of one at a time and of all at once must be the same to the bit: the server's
 * rewind uses the one, the client's view the other. */
static void compare_with_all(const struct arb_kind *kind, const struct arb_drawn_pair *pair)
{
    struct arb_drawn all;
    arb_drawn_all(kind, pair, &rule, &all);
    struct arb_vec2 position = arb_drawn_position(kind, pair, &rule);
    struct arb_vec2 velocity = arb_drawn_velocity(kind, pair, &rule);
    float heading = arb_drawn_heading(kind, pair), part = arb_drawn_part(kind, pair);
    cr_assert_eq(all.how, arb_drawn_how(kind, pair, &rule), "%s", kind->name);
    cr_assert(memcmp(&all.position, &position, sizeof position) == 0, "%s", kind->name);
    cr_assert(memcmp(&all.velocity, &velocity, sizeof velocity) == 0, "%s", kind->name);
    cr_assert(memcmp(&all.heading, &heading, sizeof heading) == 0, "%s", kind->name);
    cr_assert(memcmp(&all.part, &part, sizeof part) == 0, "%s", kind->name);
}

Test(view_drawn, all_at_once_gives_the_bits_of_one_by_one)
{
    const struct arb_schema *const schemas[] = {&arb_schema_arena, &arb_schema_serpent};
    struct arb_rng rng;
    arb_rng_seed(&rng, 7, 0);
    for (uint32_t i = 0; i < 20000; i++) {
        const struct arb_schema *schema = schemas[i % 2];
        uint8_t index = (uint8_t)arb_rng_below(&rng, schema->kind_count);
        const struct arb_kind *kind = &schema->kinds[index];
        struct arb_published a, b;
        randomise(&rng, schema, index, &a);
        randomise(&rng, schema, index, &b);
        if (kind->jump >= 0 && i % 3 != 0) {
            b.q[kind->jump] = a.q[kind->jump];
        }
        if (kind->heading >= 0 && i % 7 == 0) {
            b.q[kind->heading] = a.q[kind->heading];
        }
        bool alone = i % 5 == 0;
        arb_tick to = 1000 + 1 + arb_rng_below(&rng, 8);
        struct arb_drawn_pair pair =
            between(&a, 1000, alone ? NULL : &b, alone ? 1000 : to, 1000.0);
        pair.at += (arb_fine)arb_rng_below(&rng, (uint32_t)(to - 1000) * ARB_FINE_TICK);
        compare_with_all(kind, &pair);
    }
}
