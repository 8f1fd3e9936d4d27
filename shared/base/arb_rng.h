/* PCG32 (M. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms",
 * 2014, pcg32 XSH-RR). The state is 16 bytes of plain integers, so a stream can be part of the
 * world's state.
 */
#ifndef ARB_RNG_H
#define ARB_RNG_H

#include <stdint.h>

struct arb_rng {
    uint64_t state;
    uint64_t increment; /* odd; picks the stream */
};

/* `stream` names the purpose: equal seeds with other streams give unrelated numbers. */
void arb_rng_seed(struct arb_rng *rng, uint64_t seed, uint64_t stream);

uint32_t arb_rng_next(struct arb_rng *rng);

/* Uniform in 0..bound-1 without bias; bound > 0. */
uint32_t arb_rng_below(struct arb_rng *rng, uint32_t bound);

/* Uniform in [0, 1): 24 bits, exact in float. */
float arb_rng_unit(struct arb_rng *rng);

/* Uniform in [low, high). */
float arb_rng_range(struct arb_rng *rng, float low, float high);

#endif
