#include "shared/transport/arb_pool_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <string.h>

enum {
    GROWTH = 64, /* blocks */
    LARGE = ARB_POOL_SIZES,
    HEAD_BYTES = 16,
    AHEAD = 6, /* takes: what lies that deep is fetched */
};

/* ENet 1.3.18 on 64 bits: packet 48 and our events; acknowledgement 72, commands 96; channels 160
 * per peer; payloads up to a small event, up to a full message. */
const uint32_t arb_pool_block_bytes[ARB_POOL_SIZES] = {64, 96, 192, 512, 1216};

/* In front of each block. */
struct head {
    uint32_t size_index;
    uint32_t mark; /* finds a block of another kind, or given back twice */
    uint64_t padding;
};
_Static_assert(sizeof(struct head) == HEAD_BYTES, "blocks stay aligned");

enum { MARK_TAKEN = 0x7A4E, MARK_FREE = 0xF4EE };

struct arb_pool_chunk {
    struct arb_pool_chunk *older;
    uint64_t padding;
};

/* Room in the list for all blocks there are, so that giving back never needs memory. */
static void widen(struct arb_pool_size *size, uint32_t count)
{
    size->block_count += count;
    if (size->block_count <= size->free_capacity) return;
    uint32_t twice = 2 * size->free_capacity;
    size->free_capacity = size->block_count > twice ? size->block_count : twice;
    void **wider = arb_mem_malloc(size->free_capacity * sizeof *wider);
    ARB_ASSERT(wider != NULL);
    if (size->free_count > 0) memcpy(wider, size->free, size->free_count * sizeof *wider);
    arb_mem_free(size->free);
    size->free = wider;
}

static void add_chunk(struct arb_pool *pool, uint32_t size_index, uint32_t count)
{
    struct arb_pool_size *size = &pool->sizes[size_index];
    size_t bytes = (size_t)count * (HEAD_BYTES + arb_pool_block_bytes[size_index]);
    struct arb_pool_chunk *chunk = arb_mem_alloc(sizeof *chunk + bytes);
    chunk->older = pool->newest;
    pool->newest = chunk;
    size->fresh = (uint8_t *)(chunk + 1);
    size->fresh_end = (uint8_t *)(chunk + 1) + bytes;
    widen(size, count);
}

void arb_pool_init(struct arb_pool *pool, const uint32_t counts[ARB_POOL_SIZES])
{
    *pool = (struct arb_pool){0};
    for (uint32_t i = 0; i < ARB_POOL_SIZES; i++) {
        if (counts[i] > 0) add_chunk(pool, i, counts[i]);
    }
}

static struct head *head_of(void *block)
{
    return (struct head *)((uint8_t *)block - HEAD_BYTES);
}

static void *take_large(struct arb_pool *pool, size_t bytes)
{
    struct head *head = arb_mem_malloc(HEAD_BYTES + bytes);
    if (head == NULL) return NULL;
    pool->taken++;
    head->size_index = LARGE;
    head->mark = MARK_TAKEN;
    return head + 1;
}

void *arb_pool_take(struct arb_pool *pool, size_t bytes)
{
    uint32_t index = 0;
    while (index < ARB_POOL_SIZES && arb_pool_block_bytes[index] < bytes) {
        index++;
    }
    if (index == LARGE) return take_large(pool, bytes);

    pool->taken++;
    struct arb_pool_size *size = &pool->sizes[index];
    if (size->free_count > 0) {
        void *block = size->free[--size->free_count];
        /* Given back ticks ago, so out of the caches: several takes ahead, since they follow each
           other faster than memory answers. */
        if (size->free_count > AHEAD) {
            char *later = size->free[size->free_count - AHEAD];
            __builtin_prefetch(later - HEAD_BYTES, 1);
            __builtin_prefetch(later + 64 - HEAD_BYTES, 1);
        }
        head_of(block)->mark = MARK_TAKEN;
        return block;
    }
    if (size->fresh == size->fresh_end) add_chunk(pool, index, GROWTH);
    struct head *head = (struct head *)size->fresh;
    size->fresh += HEAD_BYTES + arb_pool_block_bytes[index];
    head->size_index = index;
    head->mark = MARK_TAKEN;
    return head + 1;
}

void arb_pool_give(struct arb_pool *pool, void *block)
{
    if (block == NULL) return;
    struct head *head = head_of(block);
    ARB_ASSERT(head->mark == MARK_TAKEN);
    head->mark = MARK_FREE;
    pool->taken--;
    if (head->size_index == LARGE) {
        arb_mem_free(head);
        return;
    }
    struct arb_pool_size *size = &pool->sizes[head->size_index];
    size->free[size->free_count++] = block;
}

void arb_pool_free(struct arb_pool *pool)
{
    ARB_ASSERT(pool->taken == 0);
    while (pool->newest != NULL) {
        struct arb_pool_chunk *older = pool->newest->older;
        arb_mem_free(pool->newest);
        pool->newest = older;
    }
    for (uint32_t i = 0; i < ARB_POOL_SIZES; i++) {
        arb_mem_free(pool->sizes[i].free);
    }
    *pool = (struct arb_pool){0};
}
