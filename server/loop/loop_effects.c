#include "server/loop/loop_effects.h"

#include "server/ops/log.h"

#include <string.h>

/* Sent before it is written down: who dies between the two sends it again, and the key says so to
 * whoever gets it; the other order would lose it. */
enum loop_effect loop_effects_deliver(struct loop_effects *effects, const char *key,
                                      bool (*send)(void *owner), void *owner)
{
    size_t size = strlen(key);
    if (journal_ledger_has(effects->ledger, key, size)) return LOOP_EFFECT_HAD_LEFT;
    /* Otherwise what comes back from the journal might be another one than was handed out. */
    if (!loop_journal_settle(effects->journal)) {
        ops_log(OPS_WARN, "journal_behind", OPS_TEXT("key", key),
                OPS_TEXT("text", "it is handed out before the journal has what led to it"));
    }
    if (!send(owner)) return LOOP_EFFECT_FAILED;
    journal_ledger_add(effects->ledger, key, size);
    loop_journal_sent(effects->journal, key);
    return LOOP_EFFECT_LEFT;
}
