/* server/journal: what has left, by key. */
#include "server/journal/ledger.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct arb_arena arena;

static void setup(void)
{
    arb_arena_init(&arena);
}

static void teardown(void)
{
    arb_arena_free(&arena);
}

TestSuite(ledger, .init = setup, .fini = teardown);

Test(ledger, a_key_is_there_once_it_was_added_and_no_other_is)
{
    enum { KEYS = 500 };
    char key[JOURNAL_KEY_BYTES_MAX + 1];
    struct journal_ledger *ledger = journal_ledger_create(&arena, KEYS);
    for (int i = 0; i < KEYS; i++) {
        size_t size = (size_t)snprintf(key, sizeof key, "reward %d.%d", i / 7, i % 7);
        cr_assert_not(journal_ledger_has(ledger, key, size));
        cr_assert(journal_ledger_add(ledger, key, size));
        cr_assert(journal_ledger_has(ledger, key, size));
        cr_assert_not(journal_ledger_has(ledger, key, size - 1), "a part is another one");
    }
    cr_expect_eq(journal_ledger_count(ledger), KEYS);
    for (int i = 0; i < KEYS; i++) {
        size_t size = (size_t)snprintf(key, sizeof key, "reward %d.%d", i / 7, i % 7);
        cr_expect(journal_ledger_has(ledger, key, size));
    }
}

Test(ledger, a_full_one_takes_no_other_and_keeps_what_it_has)
{
    struct journal_ledger *ledger = journal_ledger_create(&arena, 2);
    cr_expect(journal_ledger_add(ledger, "a", 1));
    cr_expect(journal_ledger_add(ledger, "b", 1));
    cr_expect_not(journal_ledger_add(ledger, "c", 1));
    cr_expect(journal_ledger_add(ledger, "a", 1), "it is there");
    cr_expect_eq(journal_ledger_count(ledger), 2);
    cr_expect_not(journal_ledger_has(ledger, "c", 1));
}

Test(ledger, keys_of_all_lengths_are_told_apart)
{
    char key[JOURNAL_KEY_BYTES_MAX];
    struct journal_ledger *ledger = journal_ledger_create(&arena, JOURNAL_KEY_BYTES_MAX);
    memset(key, 'x', sizeof key);
    for (size_t size = 1; size <= sizeof key; size += 2)
        cr_assert(journal_ledger_add(ledger, key, size));
    for (size_t size = 1; size <= sizeof key; size++)
        cr_expect_eq(journal_ledger_has(ledger, key, size), size % 2 == 1, "%zu", size);
}
