#include "shared/base/arb_arena.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdint.h>

enum { ALIGNMENT = 64, BLOCK_BYTES = 256 * 1024, BUSY_BYTES = 2 * ARB_MEM_LARGE_PAGE };

struct arb_arena_block {
    struct arb_arena_block *older;
    size_t used;
    size_t capacity;
};

void arb_arena_init(struct arb_arena *arena)
{
    *arena = (struct arb_arena){NULL, 0, false};
}

static uint8_t *block_start(struct arb_arena_block *block)
{
    uintptr_t start = (uintptr_t)(block + 1);
    return (uint8_t *)((start + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1));
}

static void add_block(struct arb_arena *arena, size_t bytes)
{
    size_t capacity = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
    struct arb_arena_block *block = arb_mem_alloc(sizeof *block + ALIGNMENT + capacity);
    block->older = arena->newest;
    block->capacity = capacity;
    arena->newest = block;
}

void *arb_arena_take(struct arb_arena *arena, size_t bytes)
{
    ARB_ASSERT(!arena->sealed);
    ARB_ASSERT(bytes <= SIZE_MAX / 2);
    size_t padded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    struct arb_arena_block *block = arena->newest;
    if (block == NULL || block->capacity - block->used < padded) {
        add_block(arena, padded);
        block = arena->newest;
    }
    void *memory = block_start(block) + block->used;
    block->used += padded;
    arena->taken_bytes += padded;
    return memory;
}

void *arb_arena_take_busy(struct arb_arena *arena, size_t count, size_t bytes)
{
    ARB_ASSERT(bytes == 0 || count <= SIZE_MAX / 4 / bytes);
    if (count * bytes < BUSY_BYTES) return arb_arena_take(arena, count * bytes);
    uintptr_t memory = (uintptr_t)arb_arena_take(arena, count * bytes + ARB_MEM_LARGE_PAGE);
    uintptr_t mask = ARB_MEM_LARGE_PAGE - 1;
    void *aligned = (void *)((memory + mask) & ~mask);
    arb_mem_use_large_pages(aligned, count * bytes);
    return aligned;
}

void *arb_arena_take_array(struct arb_arena *arena, size_t count, size_t bytes)
{
    ARB_ASSERT(bytes == 0 || count <= SIZE_MAX / 2 / bytes);
    return arb_arena_take(arena, count * bytes);
}

void arb_arena_seal(struct arb_arena *arena)
{
    arena->sealed = true;
}

void arb_arena_free(struct arb_arena *arena)
{
    struct arb_arena_block *block = arena->newest;
    while (block != NULL) {
        struct arb_arena_block *older = block->older;
        arb_mem_free(block);
        block = older;
    }
    arb_arena_init(arena);
}
