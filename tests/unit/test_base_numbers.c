#include "shared/base/arb_hash.h"
#include "shared/base/arb_rng.h"
#include "shared/base/arb_types.h"

#include <criterion/criterion.h>

Test(base_rng, is_pcg32_of_the_published_demo)
{
    /* pcg32-demo of the PCG C library: seed 42, stream 54. */
    static const uint32_t published[] = {0xA15C02B7, 0x7B47F409, 0xBA1D3330,
                                         0x83D2F293, 0xBFA4784B, 0xCBED606E};
    struct arb_rng rng;
    arb_rng_seed(&rng, 42, 54);
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        cr_assert_eq(arb_rng_next(&rng), published[i]);
    }
}

Test(base_rng, streams_of_one_seed_differ)
{
    struct arb_rng a;
    struct arb_rng b;
    arb_rng_seed(&a, 1, 1);
    arb_rng_seed(&b, 1, 2);
    int equal = 0;
    for (int i = 0; i < 1000; i++) {
        equal += arb_rng_next(&a) == arb_rng_next(&b);
    }
    cr_assert_leq(equal, 1);
}

Test(base_rng, below_is_within_its_bound_and_even)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 3, 3);
    int seen[6] = {0};
    for (int i = 0; i < 60000; i++) {
        uint32_t value = arb_rng_below(&rng, 6);
        cr_assert_lt(value, 6);
        seen[value]++;
    }
    for (int i = 0; i < 6; i++) {
        cr_assert(seen[i] > 9500 && seen[i] < 10500, "%d: %d", i, seen[i]);
    }
    cr_assert_eq(arb_rng_below(&rng, 1), 0);
}

Test(base_rng, unit_and_range_exclude_their_high_end)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 9, 9);
    for (int i = 0; i < 100000; i++) {
        float unit = arb_rng_unit(&rng);
        cr_assert(unit >= 0.0F && unit < 1.0F);
        float ranged = arb_rng_range(&rng, -2.0F, 2.0F);
        cr_assert(ranged >= -2.0F && ranged < 2.0F);
    }
}

Test(base_hash, is_xxh3_and_does_not_depend_on_the_processor)
{
    cr_assert_eq(arb_hash("", 0, 0), 0x2D06800538D394C2ULL, "XXH3_64bits of nothing, seed 0");
    cr_assert_neq(arb_hash("a", 1, 0), arb_hash("a", 1, 1));
    const uint8_t bytes[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    cr_assert_eq(arb_hash_mix(99, 0x0102030405060708ULL), arb_hash(bytes, 8, 99));
}

Test(base_hash, mix_depends_on_order)
{
    cr_assert_neq(arb_hash_mix(arb_hash_mix(0, 1), 2), arb_hash_mix(arb_hash_mix(0, 2), 1));
}

Test(base_types, low_bits_widen_to_the_nearest)
{
    static const struct {
        uint16_t low;
        uint64_t near, expected;
    } cases[] = {
        {5, 3, 5},
        {0xFFF0, 0xFFF0, 0xFFF0},
        {3, 0xFFF0, 0x10003},
        {0xFFF0, 0x10003, 0xFFF0},
        {0x7FF0, 0x7FFFFFF0, 0x7FFF7FF0},
        {5, 0xFFFFFFF0, 0x100000005},
        {0xFFF0, 0x100000005, 0xFFFFFFF0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(arb_widen16(cases[i].low, cases[i].near), cases[i].expected, "case %zu", i);
    }
    cr_assert_eq(arb_widen32(5, 0xFFFFFFF0), 0x100000005);
    cr_assert_eq(arb_widen32(0xFFFFFFF0, 0x100000005), 0xFFFFFFF0);
    cr_assert_eq(arb_widen32(0x7FFFFFF0, 0x80000010), 0x7FFFFFF0);
}

Test(base_types, newer_holds_across_the_wrap)
{
    cr_assert(arb_newer16(1, 0));
    cr_assert(arb_newer16(0, 0xFFFF));
    cr_assert(arb_newer16(3, 0xFFF0));
    cr_assert_not(arb_newer16(0xFFF0, 3));
    cr_assert_not(arb_newer16(7, 7));
}

Test(base_types, keys_order_by_id_then_generation)
{
    struct arb_key a = {42, 3};
    struct arb_key b = {42, 4};
    struct arb_key c = {43, 1};
    cr_assert(arb_key_order(a) < arb_key_order(b) && arb_key_order(b) < arb_key_order(c));
    cr_assert(arb_key_equal(a, a) && !arb_key_equal(a, b));
    cr_assert(arb_key_is_none(ARB_KEY_NONE) && !arb_key_is_none(a));
}
