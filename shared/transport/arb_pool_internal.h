/* The memory that ENet and the event queue of one endpoint live in: blocks of a few sizes, each
 * size with a list of free ones (beside them, so that the next ones are known before they are
 * read). Grows in chunks through arb_mem_*, so growth is counted; gives nothing back before
 * arb_pool_free. Larger requests (ENet's host and peers, at creation) go to arb_mem_* one by one.
 * Not thread-safe.
 */
#ifndef ARB_POOL_INTERNAL_H
#define ARB_POOL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

enum { ARB_POOL_SIZES = 5 };

struct arb_pool_size {
    void **free; /* [free_capacity] blocks given back, the newest last */
    uint32_t free_count, free_capacity, block_count;
    uint8_t *fresh, *fresh_end; /* never used yet; so untouched memory stays unbacked */
};

struct arb_pool {
    struct arb_pool_chunk *newest;
    uint32_t taken; /* blocks, large ones too */
    struct arb_pool_size sizes[ARB_POOL_SIZES];
};

/* Payload bytes of the blocks of each size, ascending. */
extern const uint32_t arb_pool_block_bytes[ARB_POOL_SIZES];

/* Has `counts[i]` blocks of size i ready before the first request. */
void arb_pool_init(struct arb_pool *pool, const uint32_t counts[ARB_POOL_SIZES]);
/* 16-byte aligned. NULL only for a large request without memory. */
void *arb_pool_take(struct arb_pool *pool, size_t bytes);
/* Accepts NULL. The block is from this pool. */
void arb_pool_give(struct arb_pool *pool, void *block);
/* All blocks must have been given back: one that was not would be lost in a pool that goes on. */
void arb_pool_free(struct arb_pool *pool);

#endif
