/* Merging late inputs, running again what follows, and what is settled. */
#include "server/match/rollback_internal.h"

#include "server/match/match_past.h"
#include "shared/base/arb_assert.h"

#include <string.h>

enum { SENT_FRAMES = REPLICATE_RING + 2 }; /* baselines reach so many snapshots back */

struct rollback {
    arb_tick window;
    arb_tick next;        /* the live tick that follows the newest; another one: a restore */
    arb_tick settled;     /* S[settled] */
    arb_tick merged_from; /* oldest tick that got an input in this stage 1; or `next` */
    arb_tick limit;       /* ticks that may be run again */
    struct assumed *assumed;
    struct match_record received; /* holds what stage 1 took while earlier ticks are run */
    struct arb_frame *sent;       /* [SENT_FRAMES] ring by snapshot */
    arb_tick interval;
    struct match_rollback_counts counts;
};

struct rollback *rollback_create(struct match *match, struct arb_arena *arena, uint32_t entities,
                                 uint32_t points)
{
    if (match->config.rollback_window_ticks == 0) return NULL;
    struct rollback *rollback = arb_arena_take(arena, sizeof *rollback);
    rollback->window = (arb_tick)match->config.rollback_window_ticks;
    rollback->limit = rollback->window;
    rollback->interval = (arb_tick)match->config.snapshot_interval_ticks;
    ARB_ASSERT(rollback->window <= MATCH_WINDOW_MAX);
    match_record_create(&rollback->received, arena, &match->record_capacity);
    rollback->assumed = assumed_create(match, arena);
    rollback->sent = arb_arena_take_array(arena, SENT_FRAMES, sizeof rollback->sent[0]);
    for (uint32_t i = 0; i < SENT_FRAMES; i++) {
        struct arb_frame *frame = &rollback->sent[i];
        frame->entities = arb_arena_take_array(arena, entities, sizeof frame->entities[0]);
        frame->points = arb_arena_take_array(arena, points, sizeof frame->points[0]);
    }
    return rollback;
}

/* ---- what is settled ---- */

/* Between live ticks of this very course; in any other match nothing is speculative. */
static bool is_live(const struct match *match)
{
    return match->rollback != NULL && match->rollback->next == match->world.head->tick;
}

arb_tick match_settled(const struct match *match)
{
    return is_live(match) ? match->rollback->settled : match->world.head->tick;
}

const struct match_record *match_settled_record(const struct match *match, arb_tick tick)
{
    if (is_live(match)) return match_past_record(match->past, tick);
    ARB_ASSERT(tick == match->record.tick);
    return &match->record;
}

uint64_t match_settled_checksum(const struct match *match, arb_tick tick)
{
    if (is_live(match)) return match_past_checksum(match->past, tick);
    ARB_ASSERT(tick == match->world.head->tick);
    return match->checksum;
}

uint32_t match_save_settled(struct match *match, arb_tick tick, enum match_save_parts parts,
                            uint8_t *out, uint32_t capacity)
{
    if (is_live(match)) return match_past_save(match->past, match, tick, parts, out, capacity);
    ARB_ASSERT(tick == match->world.head->tick);
    return match_save(match, parts, out, capacity);
}

/* Whoever is connected has sent what it does in that tick. */
static bool is_complete(const struct match *match, arb_tick tick)
{
    const struct match_record *record = match_past_record(match->past, tick);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (match_is_heard(match, slot) && match->seats[slot].since <= tick &&
            match_record_input(record, slot) == NULL) {
            return false;
        }
    }
    return true;
}

static void close_sequence(struct match *match, uint16_t slot, arb_sequence sequence)
{
    struct input_buffer *buffer = &match->seats[slot].buffer;
    if (sequence > buffer->closed) buffer->closed = sequence;
}

/* What was taken in that tick, by sessions that are still there. */
static void close_tick(struct match *match, arb_tick tick)
{
    const struct match_record *record = match_past_record(match->past, tick);
    for (uint32_t i = 0; i < record->input_count; i++) {
        const struct match_record_input *entry = &record->inputs[i];
        if (match->seats[entry->slot].since <= tick) {
            close_sequence(match, entry->slot, entry->input.sequence);
        }
    }
}

void rollback_settle(struct match *match)
{
    struct rollback *rollback = match->rollback;
    arb_tick now = match->world.head->tick, before = rollback->settled;
    rollback->next = now;
    rollback->counts.ticks++;
    if (now > rollback->settled + rollback->window) rollback->settled = now - rollback->window;
    while (rollback->settled < now && is_complete(match, rollback->settled))
        rollback->settled++;
    /* An end that is ordered is final: the process may have no time to wait for inputs. */
    if (match->aborts) rollback->settled = now;
    for (arb_tick tick = before; tick < rollback->settled; tick++)
        close_tick(match, tick);
}

void rollback_forget(struct match *match)
{
    match->rollback->next = 0;
}

void rollback_begin(struct match *match)
{
    struct rollback *rollback = match->rollback;
    arb_tick now = match->world.head->tick;
    if (rollback->next != now) rollback->next = rollback->settled = match->announced = now;
    rollback->merged_from = now;
    assumed_begin(rollback->assumed);
}

/* ---- late inputs ---- */

void match_limit_rerun(struct match *match, uint32_t ticks)
{
    struct rollback *rollback = match->rollback;
    if (rollback == NULL) return;
    rollback->limit = ticks < rollback->window ? ticks : rollback->window;
    rollback->counts.short_ticks += rollback->limit < rollback->window;
}

/* The oldest tick into which an input of that session may still come. */
static arb_tick first_open(const struct match *match, uint16_t slot)
{
    const struct rollback *rollback = match->rollback;
    arb_tick now = match->world.head->tick, first = rollback->settled;
    if (match->seats[slot].since > first) first = match->seats[slot].since;
    return now > first + rollback->limit ? now - rollback->limit : first;
}

bool rollback_is_open(const struct match *match, uint16_t slot, arb_tick target)
{
    return match->rollback != NULL && target < match->world.head->tick &&
           target >= first_open(match, slot);
}

/* What is known of the session for that tick; NULL: nothing. */
static const struct arb_input *known_for(const struct match *match, uint16_t slot, arb_tick tick)
{
    if (tick < match->world.head->tick) {
        const struct match_record_input *entry =
            match_record_input(match_past_record(match->past, tick), slot);
        return entry != NULL ? &entry->input : NULL;
    }
    const struct input_buffer *buffer = &match->seats[slot].buffer;
    const struct input_entry *entry = &buffer->entries[tick % buffer->size];
    bool there = entry->input.sequence != 0 && entry->input.target_tick == tick;
    return there ? &entry->input : NULL;
}

bool rollback_has_gap(const struct match *match, uint16_t slot, const struct arb_input *input)
{
    if (match->rollback == NULL) return false;
    const struct input_buffer *buffer = &match->seats[slot].buffer;
    arb_tick now = match->world.head->tick, target = input->target_tick;
    arb_tick first = match->rollback->settled, since = match->seats[slot].since;
    first = since > first ? since : first;
    if (target < first_open(match, slot) || target >= now + buffer->size ||
        input->sequence <= buffer->closed || known_for(match, slot, target) != NULL) {
        return false;
    }
    for (arb_tick tick = first; tick < now + buffer->size; tick++) {
        const struct arb_input *known = known_for(match, slot, tick);
        if (known == NULL) continue;
        bool in_order =
            tick < target ? known->sequence < input->sequence : known->sequence > input->sequence;
        if (!in_order) return false;
    }
    return true;
}

static void insert(struct match_record *record, const struct match_record_input *input)
{
    uint32_t at = record->input_count++;
    for (; at > 0 && record->inputs[at - 1].slot > input->slot; at--) {
        record->inputs[at] = record->inputs[at - 1];
    }
    record->inputs[at] = *input;
}

/* Those of shots of what was assumed: this input has its own, and what goes on until the next one
 * is what this one holds. */
static void drop_assumed_views(struct match *match, uint16_t slot, arb_tick from)
{
    for (arb_tick tick = from; tick < match->world.head->tick; tick++) {
        struct match_record *record = match_past_record(match->past, tick);
        if (tick > from && match_record_input(record, slot) != NULL) return;
        record_drop_view(record, slot);
    }
}

void rollback_merge(struct match *match, uint16_t slot, const struct input_entry *entry)
{
    struct rollback *rollback = match->rollback;
    arb_tick target = entry->input.target_tick;
    struct match_record *record = match_past_record(match->past, target);
    ARB_ASSERT(match_record_input(record, slot) == NULL);
    ARB_ASSERT(record->input_count < match->record_capacity.players);
    insert(record, &(struct match_record_input){.input = entry->input,
                                                .claimed = entry->claimed,
                                                .slot = slot,
                                                .control = entry->control,
                                                .verdict = entry->verdict});
    drop_assumed_views(match, slot, target);
    inputs_count_merged(match, slot, &entry->input);
    rollback->counts.merged++;
    assumed_note(rollback->assumed, slot, target);
    if (target < rollback->merged_from) rollback->merged_from = target;
}

void rollback_refuse(struct match *match, uint16_t slot, arb_sequence sequence)
{
    if (match->rollback == NULL) return;
    match->rollback->counts.refused++;
    close_sequence(match, slot, sequence);
}

/* ---- running again ---- */

/* Baselines go by keys: one that has named something else, or nothing, is none. */
static bool is_astray(const struct match *match, const struct arb_frame *sent)
{
    const struct arb_frame *now = rewind_frame(match->rewind, sent->tick);
    for (uint32_t i = 0; i < sent->entity_count; i++) {
        const struct arb_published *is = arb_frame_find(now, sent->entities[i].key);
        if (is == NULL || is->kind != sent->entities[i].kind) return true;
    }
    return false;
}

static void look_at_sent(struct match *match, arb_tick from)
{
    struct rollback *rollback = match->rollback;
    arb_tick now = match->world.head->tick;
    for (arb_tick tick = from; tick < now; tick++) {
        const struct arb_frame *sent = rollback_sent(rollback, tick);
        if (sent == NULL || !is_astray(match, sent)) continue;
        replicate_distrust(match->replicate, tick, now - 1);
        rollback->counts.astray++;
        return;
    }
}

void rollback_run(struct match *match)
{
    struct rollback *rollback = match->rollback;
    arb_tick now = match->world.head->tick, from = rollback->merged_from;
    if (from == now) return;
    uint32_t assumed;
    from = assumed_correct(rollback->assumed, match, from, &assumed);
    rollback->counts.assumed += assumed;
    if (from == now) return;
    struct match_record received = match->record;
    match->record = rollback->received;
    match_past_run_again(match->past, match, from);
    rollback->received = match->record;
    match->record = received;
    rollback->counts.reruns++;
    rollback->counts.rerun_ticks += now - from;
    rollback->counts.lengths[now - from]++;
    look_at_sent(match, from);
}

/* ---- frames as they were sent ---- */

const struct arb_frame *rollback_send(struct match *match)
{
    struct rollback *rollback = match->rollback;
    const struct arb_frame *frame = rewind_newest(match->rewind);
    struct arb_frame *sent = &rollback->sent[frame->tick / rollback->interval % SENT_FRAMES];
    sent->tick = frame->tick;
    sent->entity_count = frame->entity_count;
    sent->point_count = frame->point_count;
    memcpy(sent->entities, frame->entities, frame->entity_count * sizeof sent->entities[0]);
    memcpy(sent->points, frame->points, frame->point_count * sizeof sent->points[0]);
    return sent;
}

const struct arb_frame *rollback_sent(const void *owner, arb_tick tick)
{
    const struct rollback *rollback = owner;
    const struct arb_frame *sent = &rollback->sent[tick / rollback->interval % SENT_FRAMES];
    return sent->tick == tick && sent->tick != 0 ? sent : NULL;
}

/* ---- counts ---- */

struct match_rollback_counts match_rollback_counts(const struct match *match)
{
    return match->rollback != NULL ? match->rollback->counts : (struct match_rollback_counts){0};
}

uint32_t match_rollback_length(const struct match_rollback_counts *counts, uint32_t percent)
{
    uint64_t below = 0;
    for (uint32_t length = 0; length <= MATCH_WINDOW_MAX; length++) {
        below += counts->lengths[length];
        if (counts->reruns > 0 && below * 100 >= counts->reruns * percent) return length;
    }
    return 0;
}
