/* 64-bit checksums (XXH3) over bytes in their defined order, little-endian and without padding: the
 * same on every processor. Not for secrets. The only place that includes xxHash.
 */
#ifndef ARB_HASH_H
#define ARB_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t arb_hash(const void *bytes, size_t count, uint64_t seed);

/* Chains a further value onto a hash, order matters. */
uint64_t arb_hash_mix(uint64_t hash, uint64_t value);

#endif
