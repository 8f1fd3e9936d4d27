/* The rings of states and records, and the way through them. */
#include "server/match/match_past.h"

#include "server/match/match_save_internal.h"
#include "shared/base/arb_assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct match_past {
    uint32_t ticks;
    uint32_t state_bytes;
    arb_tick oldest, newest;      /* S[oldest] to S[newest] are there; 0: none yet */
    uint8_t **states;             /* [ticks + 1] ring by tick: S[tick] */
    uint64_t *checksums;          /* [ticks + 1] of them */
    uint8_t *now;                 /* of the state that is compared */
    struct match_record *records; /* [ticks] ring by tick */
};

struct match_past *match_past_create(struct arb_arena *arena, const struct match *match,
                                     uint32_t ticks)
{
    ARB_ASSERT(ticks >= 1);
    struct match_record_capacity capacity = match_record_capacity(match);
    struct match_past *past = arb_arena_take(arena, sizeof *past);
    past->ticks = ticks;
    past->state_bytes = match_save_bytes(match, MATCH_SAVE_STATE);
    past->states = arb_arena_take_array(arena, ticks + 1, sizeof past->states[0]);
    past->checksums = arb_arena_take_array(arena, ticks + 1, sizeof past->checksums[0]);
    past->records = arb_arena_take_array(arena, ticks, sizeof past->records[0]);
    past->now = arb_arena_take(arena, past->state_bytes);
    for (uint32_t i = 0; i <= ticks; i++) {
        past->states[i] = arb_arena_take(arena, past->state_bytes);
        if (i < ticks) match_record_create(&past->records[i], arena, &capacity);
    }
    return past;
}

static uint8_t *state_of(const struct match_past *past, arb_tick tick)
{
    ARB_ASSERT(tick >= past->oldest && tick <= past->newest);
    return past->states[tick % (past->ticks + 1)];
}

struct match_record *match_past_record(struct match_past *past, arb_tick tick)
{
    ARB_ASSERT(tick >= past->oldest && tick < past->newest);
    return &past->records[tick % past->ticks];
}

uint64_t match_past_checksum(const struct match_past *past, arb_tick tick)
{
    ARB_ASSERT(tick >= past->oldest && tick <= past->newest);
    return past->checksums[tick % (past->ticks + 1)];
}

arb_tick match_past_oldest(const struct match_past *past)
{
    return past->oldest;
}

arb_tick match_past_newest(const struct match_past *past)
{
    return past->newest;
}

static void keep_state(struct match_past *past, const struct match *match)
{
    arb_tick tick = match->world.head->tick;
    match_save(match, MATCH_SAVE_STATE, state_of(past, tick), past->state_bytes);
    past->checksums[tick % (past->ticks + 1)] = match->checksum;
}

void match_past_begin(struct match_past *past, const struct match *match)
{
    past->oldest = past->newest = match->world.head->tick;
    keep_state(past, match);
}

void match_past_forget(struct match_past *past)
{
    past->oldest = past->newest = 0;
}

void match_past_keep(struct match_past *past, const struct match *match)
{
    ARB_ASSERT(match->world.head->tick == past->newest + 1);
    ARB_ASSERT(match->record.tick == past->newest);
    past->newest++;
    if (past->newest - past->oldest > past->ticks) past->oldest++;
    keep_state(past, match);
    match_record_copy(match_past_record(past, past->newest - 1), &match->record);
}

/* ---- running again ---- */

/* What a tick that is run again must leave as it is: who looks on sees each tick once, and figures
 * count it once. */
static struct match_observer begin_again(struct match *match)
{
    struct match_observer observer = match->observer;
    match->observer = (struct match_observer){0};
    match_figures_collect(match);
    return observer;
}

static void end_again(struct match *match, const struct match_observer *observer)
{
    match_figures_apply(match);
    match->observer = *observer;
}

/* A record may have got views of shots that were none before. */
static void run_tick(struct match_past *past, struct match *match)
{
    struct match_record *record = match_past_record(past, match->world.head->tick);
    match_play(match, record);
    tick_run(match, TICK_RERUN);
    if (match->record.view_count != record->view_count) match_record_copy(record, &match->record);
}

void match_past_run_again(struct match_past *past, struct match *match, arb_tick from)
{
    ARB_ASSERT(match->world.head->tick == past->newest);
    struct match_observer observer = begin_again(match);
    match_go_back(match, state_of(past, from));
    while (match->world.head->tick < past->newest) {
        run_tick(past, match);
        keep_state(past, match);
    }
    end_again(match, &observer);
}

uint32_t match_past_save(struct match_past *past, struct match *match, arb_tick tick,
                         enum match_save_parts parts, uint8_t *out, uint32_t capacity)
{
    if (tick == past->newest) return match_save(match, parts, out, capacity);
    struct match_observer observer = begin_again(match);
    match_go_back(match, state_of(past, tick));
    uint32_t bytes = match_save(match, parts, out, capacity);
    while (match->world.head->tick < past->newest)
        run_tick(past, match);
    end_again(match, &observer);
    return bytes;
}

/* ---- synctest ---- */

/* The state that the match is in against the one that was kept of this moment: to the byte where
 * the ticks end, by its checksum on the way there. */
static bool is_as_kept(struct match_past *past, const struct match *match, const char *how,
                       char *text, size_t size)
{
    char field[MATCH_SAVE_TEXT_BYTES] = "none, but the checksum";
    arb_tick tick = match->world.head->tick;
    const uint8_t *kept = state_of(past, tick);
    if (tick < past->newest && match_past_checksum(past, tick) == match->checksum) return true;
    match_save(match, MATCH_SAVE_STATE, past->now, past->state_bytes);
    if (memcmp(kept, past->now, past->state_bytes) == 0) return true;
    match_save_differs(match, kept, past->now, field, sizeof field);
    snprintf(text, size, "S[%" PRIu64 "] is another one %s: %s", tick, how, field);
    return false;
}

bool match_repeats(struct match *match, uint32_t ticks, char *text, size_t size)
{
    struct match_past *past = match->past;
    ARB_ASSERT(past != NULL && match->world.head->tick == past->newest);
    arb_tick length = past->newest - past->oldest;
    arb_tick from = past->newest - (ticks < length ? ticks : length);
    char how[64];
    if (!is_as_kept(past, match, "than when its tick ended", text, size)) return false;
    snprintf(how, sizeof how, "when it is run again from S[%" PRIu64 "]", from);
    struct match_observer observer = begin_again(match);
    bool same = true;
    match_go_back(match, state_of(past, from));
    while (same && match->world.head->tick < past->newest) {
        run_tick(past, match);
        same = is_as_kept(past, match, how, text, size);
    }
    end_again(match, &observer);
    return same;
}
