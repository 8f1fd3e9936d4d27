/* What a rollback goes back to, and what it and a restored match forget. The frames' own bytes:
 * rewind_pack.h. */
#include "server/rewind/rewind_save.h"

#include "server/rewind/rewind_internal.h"
#include "shared/base/arb_assert.h"

#include <string.h>

/* ---- origins ---- */

#define RECORD(member, kind, low, high) ARB_FORM(rewind_record, member, kind, low, high)
static const struct arb_field record_rows[] = {
    RECORD(tick, U64, 0, 0),
    RECORD(origin, F32, -8192, 8192),
    RECORD(previous, F32, -8192, 8192),
    RECORD(sequence, U32, 0, 0),
    ARB_FORM_ZERO(rewind_record, reserved, U32),
};
static const struct arb_fields record_form = ARB_FIELDS("origin", record_rows);

struct arb_form_part rewind_origins(const struct rewind *rewind)
{
    return (struct arb_form_part){"origins", &record_form, rewind->config.player_capacity,
                                  rewind->last};
}

void rewind_origins_changed(struct rewind *rewind)
{
    size_t count = (size_t)rewind->config.player_capacity * rewind->samples;
    memset(rewind->records, 0, count * sizeof rewind->records[0]);
    for (uint32_t slot = 0; slot < rewind->config.player_capacity; slot++) {
        const struct rewind_record *last = &rewind->last[slot];
        rewind->records[(size_t)slot * rewind->samples + last->sequence % rewind->samples] = *last;
    }
}

/* ---- taking over ---- */

void rewind_forget(struct rewind *rewind)
{
    rewind->open = false;
    rewind->committed = 0;
    rewind->newest = 0;
    rewind_bounds_forget(rewind);
}

void rewind_go_back(struct rewind *rewind, arb_tick tick)
{
    if (rewind->committed == 0) return;
    uint64_t gone = rewind->newest + 1 - tick;
    ARB_ASSERT(!rewind->open && tick <= rewind->newest + 1 && gone <= rewind->committed);
    rewind->committed -= gone;
    rewind->newest = tick - 1;
}
