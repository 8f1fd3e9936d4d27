/* Memory that is taken at start and never given back before the end: sizes follow from the
 * configuration, the arena grows in blocks until it is sealed, then a request is our mistake
 * (asserted). Single-threaded.
 */
#ifndef ARB_ARENA_H
#define ARB_ARENA_H

#include <stdbool.h>
#include <stddef.h>

struct arb_arena {
    struct arb_arena_block *newest; /* chain of blocks, owned */
    size_t taken_bytes;             /* handed out so far, with padding */
    bool sealed;
};

/* An empty arena owns nothing until the first request. */
void arb_arena_init(struct arb_arena *arena);

/* Zeroed, 64-byte aligned, valid until arb_arena_free. 0 bytes give a valid pointer. Asserts when
 * sealed. */
void *arb_arena_take(struct arb_arena *arena, size_t bytes);

/* `count` things of `bytes` each; the product is checked. */
void *arb_arena_take_array(struct arb_arena *arena, size_t count, size_t bytes);

/* The same for an array of which all is used each tick: a large one lies on large pages where the
 * system has them, which take memory as a whole. */
void *arb_arena_take_busy(struct arb_arena *arena, size_t count, size_t bytes);

/* From now on a request is a mistake. */
void arb_arena_seal(struct arb_arena *arena);

/* Frees all of it; the arena is empty and unsealed again. */
void arb_arena_free(struct arb_arena *arena);

#endif
