#include "shared/move/arb_box2d.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <box2d/base.h>

#include <stdatomic.h>
#include <stdint.h>

/* arb_mem gives no alignment beyond malloc's: the block begins at an aligned place inside a larger
 * one, and the word before it remembers the larger one. */
static void *take(unsigned int size, int alignment)
{
    size_t align = (size_t)alignment;
    char *whole = arb_mem_malloc(size + align + sizeof(void *));
    ARB_ASSERT(whole != NULL);
    uintptr_t first = (uintptr_t)whole + sizeof(void *);
    char *block = whole + sizeof(void *) + (align - first % align) % align;
    ((void **)(void *)block)[-1] = whole;
    return block;
}

static void give_back(void *block, unsigned int size)
{
    (void)size;
    arb_mem_free(((void **)block)[-1]);
}

void arb_box2d_use_memory(void)
{
    enum { UNSET, SETTING, SET };
    static atomic_int state = UNSET;
    int expected = UNSET;
    if (atomic_compare_exchange_strong(&state, &expected, SETTING)) {
        b2SetAllocator(take, give_back);
        atomic_store(&state, SET);
    }
    while (atomic_load(&state) != SET) {
        /* Another thread is between the two lines above. */
    }
}
