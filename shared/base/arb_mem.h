/* The one door to the C allocator. ENet, Box2D, cJSON and libuv are hooked to it too, so that one
 * counter proves that a warm tick allocates nothing (spec/simulation.md "World state").
 * Thread-safe.
 */
#ifndef ARB_MEM_H
#define ARB_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory. Aborts with a message when there is none: everything is allocated at start, and a
 * match that cannot start has nothing to save. Freed by arb_mem_free. */
void *arb_mem_alloc(size_t bytes);

/* Blocks of 64 KiB and more come fresh from the system from now on: what of them is never touched
 * takes no memory. Else they may lie where others were before, and are cleared. For programs whose
 * arrays are sized for the worst; at their start. */
void arb_mem_leave_untouched(void);

enum { ARB_MEM_LARGE_PAGE = 2 * 1024 * 1024 };

/* Wishes for pages of ARB_MEM_LARGE_PAGE bytes for those of this memory that lie in it whole,
 * before anything is written to it. For large arrays of which all is used each tick: those of a
 * crowd lie on more small pages than the processor knows places of. Each takes memory as a whole,
 * at once. */
void arb_mem_use_large_pages(void *memory, size_t bytes);

/* Counted forms of malloc, realloc and free for the libraries' hooks; NULL when there is no memory.
 */
void *arb_mem_malloc(size_t bytes);
void *arb_mem_realloc(void *block, size_t bytes);
void *arb_mem_calloc(size_t count, size_t bytes);

/* Accepts NULL. */
void arb_mem_free(void *block);

/* Allocations (not frees) of this process since it started. */
uint64_t arb_mem_count(void);

#endif
