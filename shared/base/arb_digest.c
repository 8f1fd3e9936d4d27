#include "shared/base/arb_digest.h"

#include "shared/base/arb_assert.h"

#include <string.h>

enum { BLOCK_BYTES = 64, ROUNDS = 64 };

static const uint32_t round_constants[ROUNDS] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

static uint32_t turn(uint32_t x, int bits)
{
    return x >> bits | x << (32 - bits);
}

static void expand(const uint8_t block[BLOCK_BYTES], uint32_t w[ROUNDS])
{
    for (size_t i = 0; i < 16; i++) {
        const uint8_t *b = block + 4 * i;
        w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    for (size_t i = 16; i < ROUNDS; i++) {
        uint32_t a = turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

/* s: a to h of the standard. */
static void mix(uint32_t s[8], const uint32_t w[ROUNDS])
{
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t first = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice +
                         round_constants[i] + w[i];
        uint32_t second = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += first;
        s[0] = first + second;
    }
}

void arb_digest(const uint8_t *bytes, size_t count, uint8_t out[ARB_DIGEST_BYTES])
{
    static const uint32_t start[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                      0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};
    ARB_ASSERT(count <= ARB_DIGEST_INPUT_MAX);
    uint8_t block[BLOCK_BYTES] = {0};
    memcpy(block, bytes, count);
    block[count] = 0x80;
    block[BLOCK_BYTES - 2] = (uint8_t)(count >> 5); /* its length in bits, below 512 */
    block[BLOCK_BYTES - 1] = (uint8_t)(count << 3);
    uint32_t w[ROUNDS];
    uint32_t s[8];
    expand(block, w);
    memcpy(s, start, sizeof s);
    mix(s, w);
    for (size_t i = 0; i < 8; i++) {
        uint32_t word = s[i] + start[i];
        for (size_t byte = 0; byte < 4; byte++) {
            out[4 * i + byte] = (uint8_t)(word >> (24 - 8 * byte));
        }
    }
}

bool arb_digest_equal(const uint8_t *a, const uint8_t *b, size_t count)
{
    uint8_t difference = 0;
    for (size_t i = 0; i < count; i++) {
        difference |= (uint8_t)(a[i] ^ b[i]);
    }
    return difference == 0;
}
