/* What has left a match for good, by key (spec/determinism.md "Effects"; JOURNAL.md, SENT): a key
 * that stands here leaves no more, whether it was sent a moment ago or by a process that is no
 * more. Bounded, memory from an arena. Knows nothing of what the keys mean; called by whoever sends
 * (server/loop) and by resume, which fills it from the file.
 */
#ifndef JOURNAL_LEDGER_H
#define JOURNAL_LEDGER_H

#include "server/journal/journal.h"
#include "shared/base/arb_arena.h"

#include <stdbool.h>
#include <stdint.h>

struct journal_ledger;

/* Of so many keys. */
struct journal_ledger *journal_ledger_create(struct arb_arena *arena, uint32_t capacity);

/* key[size], 1 to JOURNAL_KEY_BYTES_MAX bytes (asserted). */
bool journal_ledger_has(const struct journal_ledger *ledger, const char *key, size_t size);

/* False: it is full. One that is there already stays, once. */
bool journal_ledger_add(struct journal_ledger *ledger, const char *key, size_t size);

uint32_t journal_ledger_count(const struct journal_ledger *ledger);

#endif
