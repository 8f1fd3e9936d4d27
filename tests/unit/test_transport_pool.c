#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/transport/arb_pool_internal.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

static const uint32_t some[ARB_POOL_SIZES] = {8, 8, 8, 8, 8};

Test(transport_pool, blocks_are_aligned_and_do_not_overlap)
{
    enum { BLOCKS = 600 };
    struct arb_pool pool;
    arb_pool_init(&pool, some);
    uint8_t *blocks[BLOCKS];
    size_t sizes[BLOCKS];
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, 0);
    for (int i = 0; i < BLOCKS; i++) {
        sizes[i] = 1 + arb_rng_below(&rng, 1400); /* some larger than the largest size */
        blocks[i] = arb_pool_take(&pool, sizes[i]);
        cr_assert_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], i & 0xFF, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        for (size_t b = 0; b < sizes[i]; b++) {
            cr_assert_eq(blocks[i][b], i & 0xFF);
        }
        arb_pool_give(&pool, blocks[i]);
    }
    arb_pool_give(&pool, NULL);
    arb_pool_free(&pool);
}

Test(transport_pool, what_was_given_back_is_used_before_more_is_asked_for)
{
    struct arb_pool pool;
    arb_pool_init(&pool, some);
    uint64_t allocations = arb_mem_count();
    for (int round = 0; round < 1000; round++) {
        void *blocks[ARB_POOL_SIZES][8];
        for (int i = 0; i < ARB_POOL_SIZES; i++) {
            for (int k = 0; k < 8; k++) {
                blocks[i][k] = arb_pool_take(&pool, arb_pool_block_bytes[i]);
            }
        }
        for (int i = 0; i < ARB_POOL_SIZES; i++) {
            for (int k = 0; k < 8; k++) {
                arb_pool_give(&pool, blocks[i][k]);
            }
        }
    }
    cr_assert_eq(arb_mem_count(), allocations);
    void *small[9];
    for (int k = 0; k < 9; k++) {
        small[k] = arb_pool_take(&pool, 1);
    }
    cr_assert_eq(arb_mem_count(), allocations + 2, "growth is counted: blocks, and their list");
    for (int k = 0; k < 9; k++) {
        arb_pool_give(&pool, small[k]);
    }
    arb_pool_free(&pool);
}

Test(transport_pool, giving_back_twice_is_caught, .signal = SIGABRT)
{
    struct arb_pool pool;
    arb_pool_init(&pool, some);
    void *block = arb_pool_take(&pool, 10);
    arb_pool_give(&pool, block);
    arb_pool_give(&pool, block);
}

Test(transport_pool, a_block_that_is_lost_is_caught_at_the_end, .signal = SIGABRT)
{
    struct arb_pool pool;
    arb_pool_init(&pool, some);
    arb_pool_give(&pool, arb_pool_take(&pool, 10));
    (void)arb_pool_take(&pool, 2000);
    arb_pool_free(&pool);
}
