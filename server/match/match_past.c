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
    struct match_figures *of;     /* [ticks + 1] ring by tick: figures of S[tick]; NULL: nobody asks
                                     for any but the newest */
    struct match_figures held;    /* of the newest, while ticks are run again */
    struct match_record *records; /* [ticks] ring by tick */
};

static void create_figures(struct match_past *past, struct arb_arena *arena,
                           const struct match *match)
{
    past->of = arb_arena_take_array(arena, past->ticks + 1, sizeof past->of[0]);
    for (uint32_t i = 0; i <= past->ticks; i++) {
        match_figures_create(match, arena, &past->of[i]);
    }
}

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
    match_figures_create(match, arena, &past->held);
    if (match->rollback != NULL) create_figures(past, arena, match);
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

static struct match_figures *figures_of(const struct match_past *past, arb_tick tick)
{
    ARB_ASSERT(tick >= past->oldest && tick <= past->newest);
    return &past->of[tick % (past->ticks + 1)];
}

struct match_record *match_past_record(struct match_past *past, arb_tick tick)
{
    ARB_ASSERT(tick >= past->oldest && tick < past->newest);
    return &past->records[tick % past->ticks];
}

uint8_t *match_past_state(struct match_past *past, arb_tick tick, uint64_t **checksum)
{
    *checksum = &past->checksums[tick % (past->ticks + 1)];
    return state_of(past, tick);
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
    if (past->of != NULL) match_figures_collect(match, figures_of(past, past->newest));
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
    if (past->of != NULL) match_figures_collect(match, figures_of(past, past->newest));
}

void match_past_merge(struct match_past *past, uint16_t slot, const struct arb_input *input)
{
    for (arb_tick tick = input->target_tick + 1; tick <= past->newest; tick++) {
        match_figures_merge(figures_of(past, tick), slot, input);
    }
}

/* ---- running again ---- */

/* What a tick that is run again must leave as it is: who looks on sees each tick once, and figures
 * count it once. */
static struct match_observer begin_again(struct match_past *past, struct match *match)
{
    struct match_observer observer = match->observer;
    match->observer = (struct match_observer){0};
    match_figures_collect(match, &past->held);
    return observer;
}

static void end_again(struct match_past *past, struct match *match,
                      const struct match_observer *observer)
{
    match_figures_apply(match, &past->held);
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

/* Shots count as this run has them: from what they had come to before it. */
static void count_again(struct match_past *past, struct match *match, arb_tick from)
{
    match_figures_take_shots(match, &past->held, figures_of(past, from));
    match_figures_apply(match, &past->held);
}

static void note_count(struct match_past *past, const struct match *match)
{
    struct match_figures *now = &match->saved->figures;
    match_figures_collect(match, now);
    match_figures_take_shots(match, figures_of(past, match->world.head->tick), now);
}

void match_past_run_again(struct match_past *past, struct match *match, arb_tick from)
{
    ARB_ASSERT(match->world.head->tick == past->newest);
    struct match_observer observer = begin_again(past, match);
    match_go_back(match, state_of(past, from));
    if (past->of != NULL) count_again(past, match, from);
    while (match->world.head->tick < past->newest) {
        run_tick(past, match);
        keep_state(past, match);
        if (past->of != NULL) note_count(past, match);
    }
    if (past->of != NULL)
        match_figures_take_shots(match, &past->held, figures_of(past, past->newest));
    end_again(past, match, &observer);
}

uint32_t match_past_save(struct match_past *past, struct match *match, arb_tick tick,
                         enum match_save_parts parts, uint8_t *out, uint32_t capacity)
{
    if (tick == past->newest) return match_save(match, parts, out, capacity);
    struct match_observer observer = begin_again(past, match);
    match_go_back(match, state_of(past, tick));
    if (past->of != NULL) match_figures_apply(match, figures_of(past, tick));
    uint32_t bytes = match_save(match, parts, out, capacity);
    while (match->world.head->tick < past->newest)
        run_tick(past, match);
    end_again(past, match, &observer);
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
    struct match_observer observer = begin_again(past, match);
    bool same = true;
    match_go_back(match, state_of(past, from));
    while (same && match->world.head->tick < past->newest) {
        run_tick(past, match);
        same = is_as_kept(past, match, how, text, size);
    }
    end_again(past, match, &observer);
    return same;
}
