#include "shared/base/arb_rng.h"

#include "shared/base/arb_assert.h"

uint32_t arb_rng_next(struct arb_rng *rng)
{
    uint64_t old = rng->state;
    rng->state = old * 6364136223846793005ULL + rng->increment;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t turn = (uint32_t)(old >> 59);
    return shifted >> turn | shifted << ((32 - turn) & 31);
}

void arb_rng_seed(struct arb_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = 0;
    rng->increment = stream << 1 | 1;
    arb_rng_next(rng);
    rng->state += seed;
    arb_rng_next(rng);
}

uint32_t arb_rng_below(struct arb_rng *rng, uint32_t bound)
{
    ARB_ASSERT(bound > 0);
    uint32_t threshold = (0U - bound) % bound;
    uint32_t value;
    do {
        value = arb_rng_next(rng);
    } while (value < threshold);
    return value % bound;
}

float arb_rng_unit(struct arb_rng *rng)
{
    return (float)(arb_rng_next(rng) >> 8) * (1.0F / 16777216.0F);
}

float arb_rng_range(struct arb_rng *rng, float low, float high)
{
    return low + (high - low) * arb_rng_unit(rng);
}
