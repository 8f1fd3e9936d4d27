/* What cannot be taken back leaves the match here, once by its key (spec/determinism.md "Effects",
 * JOURNAL.md "What has left"): over asking again, over a crash and over a resume. Tick thread, and
 * only where that may wait (a match that is decided).
 */
#ifndef LOOP_EFFECTS_H
#define LOOP_EFFECTS_H

#include "server/journal/ledger.h"
#include "server/loop/loop_journal.h"

/* Keys of one match: the result, and room for what else leaves. */
enum { LOOP_EFFECTS_MAX = 1024 };

struct loop_effects {
    struct journal_ledger *ledger;
    struct loop_journal *journal; /* NULL: the match has none */
};

enum loop_effect {
    LOOP_EFFECT_LEFT,
    LOOP_EFFECT_HAD_LEFT, /* before, and so not again */
    LOOP_EFFECT_FAILED,   /* `send` did; it may be tried again */
};

/* Waits for the journal to have all that led to it, but not for ever (told in the log then), sends,
 * and writes down that it was sent. */
enum loop_effect loop_effects_deliver(struct loop_effects *effects, const char *key,
                                      bool (*send)(void *owner), void *owner);

#endif
