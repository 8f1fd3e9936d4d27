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
    uint64_t kept;                /* ever */
    arb_tick newest;              /* S[newest] is the youngest state; meaningful when kept > 0 */
    uint8_t **states;             /* [ticks + 1] ring by tick: S[tick] */
    uint64_t *checksums;          /* [ticks + 1] of them */
    uint8_t *now;                 /* of the state that is compared */
    struct match_record *records; /* [ticks] ring by tick */
};

struct match_past *match_past_create(struct arb_arena *arena, const struct match *match,
                                     uint32_t ticks)
{
    ARB_ASSERT(ticks >= 1 && ticks <= (uint32_t)match->config.back_ticks);
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
    return past->states[tick % (past->ticks + 1)];
}

static struct match_record *record_of(const struct match_past *past, arb_tick tick)
{
    return &past->records[tick % past->ticks];
}

uint32_t match_past_length(const struct match_past *past)
{
    uint64_t between = past->kept > 0 ? past->kept - 1 : 0;
    return between < past->ticks ? (uint32_t)between : past->ticks;
}

void match_past_keep(struct match_past *past, const struct match *match)
{
    arb_tick tick = match->world.head->tick;
    ARB_ASSERT(past->kept == 0 || tick == past->newest + 1);
    ARB_ASSERT(match->record.tick + 1 == tick);
    match_save(match, MATCH_SAVE_STATE, state_of(past, tick), past->state_bytes);
    past->checksums[tick % (past->ticks + 1)] = match->checksum;
    match_record_copy(record_of(past, tick - 1), &match->record);
    past->newest = tick;
    past->kept++;
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

/* The state that the match is in against the one that was kept of this moment: to the byte where
 * the ticks end, by its checksum on the way there. */
static bool is_as_kept(struct match_past *past, const struct match *match, char *text, size_t size)
{
    char field[MATCH_SAVE_TEXT_BYTES] = "none, but the checksum";
    arb_tick tick = match->world.head->tick;
    const uint8_t *kept = state_of(past, tick);
    if (tick < past->newest && past->checksums[tick % (past->ticks + 1)] == match->checksum) {
        return true;
    }
    match_save(match, MATCH_SAVE_STATE, past->now, past->state_bytes);
    if (memcmp(kept, past->now, past->state_bytes) == 0) return true;
    match_save_differs(match, kept, past->now, field, sizeof field);
    snprintf(text, size,
             "S[%" PRIu64 "] is another one when it is run again from S[%" PRIu64 "]: %s", tick,
             past->newest - match_past_length(past), field);
    return false;
}

bool match_past_repeats(struct match_past *past, struct match *match, char *text, size_t size)
{
    uint32_t back = match_past_length(past);
    ARB_ASSERT(past->kept > 0 && match->world.head->tick == past->newest);
    if (back == 0) return true;
    struct match_observer observer = begin_again(match);
    bool same = true;
    match_go_back(match, state_of(past, past->newest - back));
    while (same && match->world.head->tick < past->newest) {
        match_play(match, record_of(past, match->world.head->tick));
        tick_run(match, TICK_RERUN);
        same = is_as_kept(past, match, text, size);
    }
    end_again(match, &observer);
    return same;
}
