#include "server/journal/ledger.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"

#include <string.h>

struct entry {
    uint8_t size; /* 0: none */
    char key[JOURNAL_KEY_BYTES_MAX];
};

struct journal_ledger {
    struct entry *entries; /* [places], by hash, the next free one where that is taken */
    uint32_t places, capacity, count;
};

struct journal_ledger *journal_ledger_create(struct arb_arena *arena, uint32_t capacity)
{
    struct journal_ledger *ledger = arb_arena_take(arena, sizeof *ledger);
    ledger->capacity = capacity;
    ledger->places = 2 * capacity + 1; /* there is always a free one, which ends the search */
    ledger->entries = arb_arena_take_array(arena, ledger->places, sizeof ledger->entries[0]);
    return ledger;
}

/* Where it is, or would be. */
static struct entry *find(const struct journal_ledger *ledger, const char *key, size_t size)
{
    ARB_ASSERT(size > 0 && size <= JOURNAL_KEY_BYTES_MAX);
    uint32_t at = (uint32_t)(arb_hash(key, size, 0) % ledger->places);
    while (ledger->entries[at].size != 0) {
        struct entry *entry = &ledger->entries[at];
        if (entry->size == size && memcmp(entry->key, key, size) == 0) break;
        at = (at + 1) % ledger->places;
    }
    return &ledger->entries[at];
}

bool journal_ledger_has(const struct journal_ledger *ledger, const char *key, size_t size)
{
    return find(ledger, key, size)->size != 0;
}

bool journal_ledger_add(struct journal_ledger *ledger, const char *key, size_t size)
{
    struct entry *entry = find(ledger, key, size);
    if (entry->size != 0) return true;
    if (ledger->count == ledger->capacity) return false;
    entry->size = (uint8_t)size;
    memcpy(entry->key, key, size);
    ledger->count++;
    return true;
}

uint32_t journal_ledger_count(const struct journal_ledger *ledger)
{
    return ledger->count;
}
