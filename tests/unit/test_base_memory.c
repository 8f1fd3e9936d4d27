#include "shared/base/arb_arena.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_result.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

Test(base_arena, gives_zeroed_aligned_memory_that_does_not_overlap)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    uint8_t *blocks[200];
    for (size_t i = 0; i < 200; i++) {
        size_t bytes = 1 + i * 61;
        blocks[i] = arb_arena_take(&arena, bytes);
        cr_assert_eq((uintptr_t)blocks[i] % 64, 0);
        for (size_t b = 0; b < bytes; b++) {
            cr_assert_eq(blocks[i][b], 0);
        }
        memset(blocks[i], (int)i + 1, bytes);
    }
    for (size_t i = 0; i < 200; i++) {
        for (size_t b = 0; b < 1 + i * 61; b++) {
            cr_assert_eq(blocks[i][b], (uint8_t)(i + 1));
        }
    }
    arb_arena_free(&arena);
}

Test(base_arena, takes_more_than_a_block_and_nothing)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    uint8_t *large = arb_arena_take_array(&arena, 1000, 4000);
    large[3999999] = 1;
    cr_assert_not_null(arb_arena_take(&arena, 0));
    cr_assert_geq(arena.taken_bytes, 4000000);
    arb_arena_free(&arena);
    cr_assert_eq(arena.taken_bytes, 0);
}

Test(base_arena, a_busy_array_is_zeroed_and_a_large_one_begins_a_page)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    static const size_t sizes[] = {1, 100000, 2 * ARB_MEM_LARGE_PAGE, 3 * ARB_MEM_LARGE_PAGE + 5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *bytes = arb_arena_take_busy(&arena, sizes[i], 1);
        cr_assert_eq((uintptr_t)bytes % 64, 0);
        cr_assert(sizes[i] < 2 * ARB_MEM_LARGE_PAGE || (uintptr_t)bytes % ARB_MEM_LARGE_PAGE == 0);
        for (size_t b = 0; b < sizes[i]; b += 61) {
            cr_assert_eq(bytes[b], 0);
        }
        memset(bytes, 1, sizes[i]);
    }
    arb_arena_free(&arena);
}

Test(base_arena, sealed_refuses, .signal = SIGABRT)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    arb_arena_take(&arena, 8);
    arb_arena_seal(&arena);
    arb_arena_take(&arena, 8);
}

Test(base_arena, product_that_overflows_is_refused, .signal = SIGABRT)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    arb_arena_take_array(&arena, SIZE_MAX / 4, 8);
}

Test(base_mem, counts_each_allocation)
{
    uint64_t before = arb_mem_count();
    void *a = arb_mem_alloc(10);
    void *b = arb_mem_malloc(10);
    b = arb_mem_realloc(b, 20);
    void *c = arb_mem_calloc(2, 10);
    cr_assert_eq(arb_mem_count() - before, 4);
    arb_mem_free(a);
    arb_mem_free(b);
    arb_mem_free(c);
    arb_mem_free(NULL);
    cr_assert_eq(arb_mem_count() - before, 4, "freeing is not counted");
}

Test(base_mem, zero_bytes_are_a_block)
{
    void *block = arb_mem_alloc(0);
    cr_assert_not_null(block);
    arb_mem_free(block);
}

Test(base_result, exit_statuses_are_those_of_the_manual)
{
    static const struct {
        enum arb_result result;
        int status;
    } cases[] = {
        {ARB_OK, 0},       {ARB_NO_RESULT, 1}, {ARB_ARGUMENTS, 64}, {ARB_DATA, 65},
        {ARB_ADDRESS, 69}, {ARB_MEMORY, 70},   {ARB_FILES, 74},     {ARB_CONFIG, 78},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(arb_result_exit_status(cases[i].result), cases[i].status);
        cr_assert_gt(strlen(arb_result_text(cases[i].result)), 0);
    }
}
