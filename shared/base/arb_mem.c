#ifdef __linux__
#define _DEFAULT_SOURCE /* madvise */
#endif

#include "shared/base/arb_mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __linux__
#include <sys/mman.h>
#endif

static atomic_uint_fast64_t allocations;

static void count_one(void)
{
    atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
}

void *arb_mem_alloc(size_t bytes)
{
    count_one();
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    if (block == NULL) {
        fprintf(stderr, "out of memory: %zu bytes wanted\n", bytes);
        abort();
    }
    return block;
}

void arb_mem_leave_untouched(void)
{
#ifdef __GLIBC__
    /* Setting it also keeps it from growing with what is given back. */
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
#endif
}

void arb_mem_use_large_pages(void *memory, size_t bytes)
{
#ifdef __linux__
    uintptr_t mask = ARB_MEM_LARGE_PAGE - 1;
    uintptr_t first = ((uintptr_t)memory + mask) & ~mask;
    uintptr_t end = ((uintptr_t)memory + bytes) & ~mask;
    /* A wish: where the system has none, or grants none, all stays as it is. Touched at once, since
       to find and to clear one may take milliseconds, which no tick has. */
    if (first >= end || madvise((void *)first, end - first, MADV_HUGEPAGE) != 0) return;
    for (uintptr_t page = first; page < end; page += ARB_MEM_LARGE_PAGE) {
        *(volatile char *)page = 0;
    }
#else
    (void)memory;
    (void)bytes;
#endif
}

void *arb_mem_malloc(size_t bytes)
{
    count_one();
    return malloc(bytes);
}

void *arb_mem_realloc(void *block, size_t bytes)
{
    count_one();
    return realloc(block, bytes);
}

void *arb_mem_calloc(size_t count, size_t bytes)
{
    count_one();
    return calloc(count, bytes);
}

void arb_mem_free(void *block)
{
    free(block);
}

uint64_t arb_mem_count(void)
{
    return atomic_load_explicit(&allocations, memory_order_relaxed);
}
