/* shared/base/arb_form: bytes in table order whatever the memory, bounds, the first difference. */
#include "shared/base/arb_form.h"
#include "shared/base/arb_types.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

struct thing {
    uint64_t wide;
    float place[2];
    int32_t number;
    struct arb_key key;
    uint16_t pair[2];
    int8_t small;
    uint8_t flag;
    char name[6];
    uint8_t zero[4];
};

static const struct arb_field rows[] = {
    ARB_FORM(thing, wide, U64, 0, 0),      ARB_FORM(thing, place, F32, -8, 8),
    ARB_FORM(thing, number, I32, -5, 500), ARB_FORM(thing, key, KEY, 0, 0),
    ARB_FORM(thing, pair, U16, 0, 0),      ARB_FORM(thing, small, I8, 0, 0),
    ARB_FORM(thing, flag, U8, 0, 1),       ARB_FORM(thing, name, TEXT, 0, 0),
    ARB_FORM_ZERO(thing, zero, BYTES),
};
static const struct arb_fields fields = ARB_FIELDS("thing", rows);

static struct thing things[2] = {
    {0x0102030405060708U, {1.0F, -2.0F}, -3, {0x1112, 0x2122}, {1, 2}, -1, 1, "ab", {0}},
    {7, {0.5F, 8.0F}, 500, {3, 4}, {5, 6}, 7, 0, "cdefg", {0}},
};
static const struct arb_form_part part = {"things", &fields, 2, things};

Test(base_form, values_lie_low_byte_first_in_table_order)
{
    static const uint8_t first[] = {8,    7,    6,    5,    4, 3,    2,    1,    0,    0,
                                    0x80, 0x3F, 0,    0,    0, 0xC0, 0xFD, 0xFF, 0xFF, 0xFF,
                                    0x12, 0x11, 0x22, 0x21, 1, 0,    2,    0,    0xFF, 1,
                                    'a',  'b',  0,    0,    0, 0,    0,    0,    0,    0};
    uint8_t copied[1 + 2 * sizeof(struct thing)], each[2 * sizeof(struct thing)];
    cr_assert(arb_form_covers(&fields, sizeof(struct thing)));
    cr_assert_eq(arb_form_bytes(&fields), sizeof first);
    /* Not aligned. */
    cr_assert_eq(arb_form_put(&part, copied + 1), sizeof each);
    cr_assert_eq(arb_form_put_each(&part, each), sizeof each);
    cr_expect_arr_eq(copied + 1, first, sizeof first);
    cr_expect_arr_eq(each, copied + 1, sizeof each, "where memory has another form");
    struct thing back[2];
    struct arb_form_part read = {"things", &fields, 2, back};
    cr_assert_eq(arb_form_get(&read, copied + 1), sizeof each);
    cr_expect_arr_eq(back, things, sizeof things);
}

Test(base_form, a_table_with_a_gap_or_a_member_twice_covers_nothing)
{
    static const struct arb_field gap[] = {ARB_FORM(thing, wide, U64, 0, 0),
                                           ARB_FORM(thing, number, I32, 0, 0)};
    static const struct arb_field twice[] = {ARB_FORM(thing, wide, U64, 0, 0),
                                             ARB_FORM(thing, wide, U64, 0, 0)};
    const struct arb_fields with_gap = ARB_FIELDS("gap", gap), doubled = ARB_FIELDS("two", twice);
    cr_expect_not(arb_form_covers(&with_gap, 20));
    cr_expect_not(arb_form_covers(&doubled, 8));
    cr_expect_not(arb_form_covers(&fields, sizeof(struct thing) + 1));
}

Test(base_form, a_value_beyond_its_bounds_is_named)
{
    cr_assert_null(arb_form_check(&fields, &things[0]));
    cr_assert_null(arb_form_check(&fields, &things[1]), "bounds themselves are allowed");
#define WRONG(member, value, row)                                                                  \
    do {                                                                                           \
        struct thing wrong = things[1];                                                            \
        wrong.member = value;                                                                      \
        const struct arb_field *found = arb_form_check(&fields, &wrong);                           \
        cr_assert_not_null(found, #member);                                                        \
        cr_expect_str_eq(found->name, row);                                                        \
    } while (0)
    WRONG(place[1], 8.001F, "place");
    WRONG(place[0], NAN, "place");
    WRONG(number, -6, "number");
    WRONG(flag, 2, "flag");
    WRONG(zero[3], 1, "zero");
#undef WRONG
}

Test(base_form, one_value_beyond_its_bounds_anywhere_in_a_part_is_found)
{
    struct point {
        float x, y;
    } points[9];
    static const struct arb_field even_rows[] = {ARB_FORM(point, x, F32, -8, 8),
                                                 ARB_FORM(point, y, F32, -8, 8)};
    static const struct arb_fields even = ARB_FIELDS("point", even_rows);
    for (uint32_t count = 0; count <= 9; count++) {
        struct arb_form_part all = {"points", &even, count, points};
        for (uint32_t i = 0; i < count * 2; i++) {
            const float wrong[] = {8.001F, -8.001F, NAN, INFINITY, -INFINITY};
            float *value = i % 2 == 0 ? &points[i / 2].x : &points[i / 2].y;
            for (uint32_t k = 0; k < count; k++) {
                points[k] = (struct point){8, -8};
            }
            cr_assert(arb_form_check_all(&all));
            for (uint32_t k = 0; k < 5; k++) {
                *value = wrong[k];
                cr_assert_not(arb_form_check_all(&all), "%u of %u", i, count);
            }
        }
    }
    struct thing copy[2] = {things[0], things[1]};
    struct arb_form_part pair = {"things", &fields, 2, copy};
    cr_assert(arb_form_check_all(&pair));
    copy[1].flag = 2;
    cr_assert_not(arb_form_check_all(&pair));
    copy[1].flag = 1;
    copy[1].place[1] = -9;
    cr_assert_not(arb_form_check_all(&pair));
}

Test(base_form, the_first_field_that_differs_is_told_with_both_values)
{
    uint8_t a[3 * sizeof(struct thing)], b[3 * sizeof(struct thing)];
    char text[128];
    struct arb_form_part parts[2] = {{"first", &fields, 1, things}, part};
    struct arb_form_place place;
    size_t bytes = arb_form_put(&parts[0], a);
    bytes += arb_form_put(&parts[1], a + bytes);
    memcpy(b, a, bytes);
    cr_assert_not(arb_form_difference(parts, 2, a, b, &place));
    b[2 * sizeof(struct thing) + offsetof(struct thing, pair) + 2] = 9;
    b[2 * sizeof(struct thing) + offsetof(struct thing, flag)] = 1;
    cr_assert(arb_form_difference(parts, 2, a, b, &place));
    arb_form_tell(parts, &place, a, b, text, sizeof text);
    cr_expect_str_eq(text, "things[1].pair[1]: 6, 9");
    b[offsetof(struct thing, place) + 3] ^= 0x80;
    cr_assert(arb_form_difference(parts, 2, a, b, &place));
    arb_form_tell(parts, &place, a, b, text, sizeof text);
    cr_expect_str_eq(text, "first[0].place[0]: 1 (0x3f800000), -1 (0xbf800000)");
}
