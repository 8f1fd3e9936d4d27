#include "shared/base/arb_hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t arb_hash(const void *bytes, size_t count, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, count, seed);
}

uint64_t arb_hash_mix(uint64_t hash, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
    return XXH3_64bits_withSeed(bytes, sizeof bytes, hash);
}
