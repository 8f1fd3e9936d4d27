#include "shared/base/arb_digest.h"

#include <criterion/criterion.h>
#include <string.h>

Test(base_digest, is_sha_256_of_the_published_examples)
{
    /* FIPS 180-4 examples and RFC 6234: of nothing, of "abc", of 55 letters (the longest block). */
    static const struct {
        const char *text;
        uint8_t first[8], last[4];
    } rows[] = {
        {"", {0xE3, 0xB0, 0xC4, 0x42, 0x98, 0xFC, 0x1C, 0x14}, {0x78, 0x52, 0xB8, 0x55}},
        {"abc", {0xBA, 0x78, 0x16, 0xBF, 0x8F, 0x01, 0xCF, 0xEA}, {0xF2, 0x00, 0x15, 0xAD}},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         {0x9F, 0x43, 0x90, 0xF8, 0xD3, 0x0C, 0x2D, 0xD9},
         {0x0F, 0x73, 0x43, 0x18}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t out[ARB_DIGEST_BYTES];
        arb_digest((const uint8_t *)rows[i].text, strlen(rows[i].text), out);
        cr_assert_arr_eq(out, rows[i].first, sizeof rows[i].first, "row %zu", i);
        cr_assert_arr_eq(out + ARB_DIGEST_BYTES - 4, rows[i].last, sizeof rows[i].last, "row %zu",
                         i);
    }
}

Test(base_digest, equality_sees_each_byte)
{
    uint8_t a[16] = {1, 2, 3}, b[16];
    for (size_t i = 0; i < sizeof a; i++) {
        memcpy(b, a, sizeof b);
        cr_assert(arb_digest_equal(a, b, sizeof a));
        b[i] ^= 0x80;
        cr_assert_not(arb_digest_equal(a, b, sizeof a));
    }
}
