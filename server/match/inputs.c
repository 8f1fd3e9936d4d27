/* Inputs between arrival and their tick (spec/simulation.md stage 3). Exactly one input per player
 * and tick: the one whose target is that tick, else the held one again. */
#include "server/match/match_past.h"
#include "server/match/rollback_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

void inputs_reset(struct input_buffer *buffer)
{
    memset(buffer->entries, 0, buffer->size * sizeof buffer->entries[0]);
    buffer->newest = 0;
    buffer->newest_target = 0;
    buffer->closed = 0;
    buffer->worst_lead = MATCH_NO_LEAD;
}

/* A press that missed its tick is not lost: it goes once into the player's next input; of one
 * button a second one is dropped and counted (clarifications, "State, inputs, identity"). */
static void carry_presses(struct match *match, const struct match_record_input *late)
{
    const struct arb_input *input = &late->input;
    struct world_player *player = &match->world.players[late->slot];
    struct match_seat *seat = &match->seats[late->slot];
    struct arb_counts *counts = &seat->counts;
    counts->inputs_refused += (input->edges & player->carried_edges) != 0;
    uint16_t fresh = (uint16_t)(input->edges & ~player->carried_edges);
    player->carried_edges |= fresh;
    if (fresh & ARB_BUTTON_FIRE) {
        player->carried_aim = input->aim;
        player->carried_action = (uint16_t)input->sequence;
        player->carried_view = input->view;
        seat->carried = *late;
    }
}

/* What is counted is the match up to the tick that decided it: a press of a later tick is none of
 * it, one that comes late for an earlier tick still is. */
static bool within_match(const struct match *match, arb_tick target)
{
    return !match->decided || target <= match->decided_tick;
}

static void count_edges(struct arb_counts *counts, uint16_t edges)
{
    /* Mostly there is none. */
    for (uint32_t left = edges; left != 0; left &= left - 1) {
        int bit = __builtin_ctz(left);
        if (bit < ARB_BUTTON_COUNT) counts->edges[bit]++;
    }
}

static void note_lead(struct input_buffer *buffer, int64_t lead)
{
    int32_t bounded = lead < -128 ? -128 : lead > 126 ? 126 : (int32_t)lead;
    if (bounded < buffer->worst_lead) {
        buffer->worst_lead = bounded;
    }
}

/* What is later than the buffer is long does nothing any more, so nothing is worked out for it: a
 * client may send thousands of such in a tick. */
static bool is_of_use(const struct match *match, const struct arb_input *input, arb_tick now)
{
    return input->target_tick + (arb_tick)match->config.input_buffer_ticks >= now;
}

static void tell_late(const struct match *match, uint16_t slot, const struct arb_input *input,
                      uint8_t control)
{
    const struct match_observer *observer = &match->observer;
    if (observer->late != NULL) {
        observer->late(observer->owner, slot, input, control);
    }
}

/* Stage 1 only notes it: whatever changes the state belongs to the part of the tick that can be run
 * again. */
static void add_late(struct match *match, uint16_t slot, const struct input_entry *entry,
                     arb_tick now)
{
    rollback_refuse(match, slot, entry->input.sequence);
    if (is_of_use(match, &entry->input, now)) {
        record_late(match, slot, entry);
    } else {
        tell_late(match, slot, &entry->input, entry->control);
        record_stale(match, slot, entry->input.sequence,
                     within_match(match, entry->input.target_tick));
    }
}

static void count_late(struct match *match, uint16_t slot, uint32_t count, uint32_t within,
                       arb_sequence newest)
{
    struct match_seat *seat = &match->seats[slot];
    struct world_player *player = &match->world.players[slot];
    seat->counts.inputs_late += count;
    if (player->last.sequence == 0) {
        /* Of a session that nothing was applied of yet: when its tick went by, nobody knew. */
        seat->counts.inputs_starved += within;
        player->starved_ticks += count;
    }
    player->last_sequence = newest > player->last_sequence ? newest : player->last_sequence;
}

void inputs_late(struct match *match)
{
    const struct match_record *record = &match->record;
    for (uint32_t i = 0; i < record->stale_count; i++) {
        const struct match_record_stale *stale = &record->stale[i];
        count_late(match, stale->slot, stale->count, stale->within, stale->newest);
    }
    for (uint32_t i = 0; i < record->late_count; i++) {
        const struct match_record_input *late = &record->late[i];
        const struct arb_input *input = &late->input;
        bool within = within_match(match, input->target_tick);
        tell_late(match, late->slot, input, late->control);
        count_late(match, late->slot, 1, within, input->sequence);
        if (within) count_edges(&match->seats[late->slot].counts, input->edges);
        if (late->control == match->world.players[late->slot].control) {
            carry_presses(match, late);
        }
    }
}

/* Those of one session ascend; one that is behind is known, or was passed over. False: it is not
 * taken. */
static bool is_in_order(struct match *match, uint16_t slot, const struct arb_input *input)
{
    struct match_seat *seat = &match->seats[slot];
    struct input_buffer *buffer = &seat->buffer;
    bool duplicate = input->sequence <= buffer->newest;
    if (duplicate || (buffer->newest != 0 && input->target_tick <= buffer->newest_target)) {
        if (rollback_has_gap(match, slot, input)) return true;
        seat->counts.inputs_duplicate += duplicate;
        seat->counts.inputs_refused += !duplicate;
        return false;
    }
    buffer->newest = input->sequence;
    buffer->newest_target = input->target_tick;
    note_lead(buffer, (int64_t)(input->target_tick - match->world.head->tick));
    return true;
}

/* One that acts in a tick that is over is judged as if it had come when that tick began. */
static void add_one(struct match *match, uint16_t slot, const struct arb_input *input,
                    uint8_t control, arb_tick now)
{
    struct input_buffer *buffer = &match->seats[slot].buffer;
    bool open = rollback_is_open(match, slot, input->target_tick);
    struct input_entry entry = {.input = *input, .control = control, .claimed = input->view};
    if (open || is_of_use(match, input, now)) {
        entry.verdict =
            (uint8_t)views_judge(match, slot, &entry.input, now, open ? input->target_tick : now);
    }
    if (open) {
        rollback_merge(match, slot, &entry);
    } else if (input->target_tick < now) {
        add_late(match, slot, &entry, now);
    } else {
        buffer->entries[input->target_tick % buffer->size] = entry;
    }
}

void inputs_add(struct match *match, uint16_t slot, const struct arb_input_packet *packet,
                arb_tick now)
{
    struct match_seat *seat = &match->seats[slot];
    for (uint32_t i = 0; i < packet->count; i++) {
        const struct arb_input *input = &packet->inputs[i];
        if (input->sequence > seat->buffer.newest &&
            input->target_tick >= now + seat->buffer.size) {
            seat->counts.inputs_refused++;
            break; /* the later ones lie further ahead; the client sends them again */
        }
        if (is_in_order(match, slot, input)) {
            uint8_t control = (uint8_t)(packet->control - (i < packet->older_count ? 1 : 0));
            add_one(match, slot, input, control, now);
        }
    }
}

void inputs_count_merged(struct match *match, uint16_t slot, const struct arb_input *input)
{
    struct arb_counts *counts = &match->seats[slot].counts;
    if (!within_match(match, input->target_tick)) return;
    count_edges(counts, input->edges);
    counts->inputs_consumed++;
    counts->inputs_starved -= counts->inputs_starved > 0;
    match_past_merge(match->past, slot, input);
}

/* The same for an input of another control number on both ends: it steers nothing, but aims. */
static void make_neutral(struct arb_input *input)
{
    input->buttons = 0;
    input->edges = 0;
    input->move_x = 0;
    input->move_y = 0;
}

struct arb_input inputs_as_state(const struct arb_input *input)
{
    return (struct arb_input){
        .target_tick = input->target_tick,
        .view = {.from_tick = input->view.from_tick,
                 .to_tick = input->view.to_tick,
                 .fraction = input->view.fraction,
                 .held = input->view.held},
        .sequence = input->sequence,
        .buttons = input->buttons,
        .edges = input->edges,
        .move_x = input->move_x,
        .move_y = input->move_y,
        .aim = input->aim,
        .muzzle_fraction = input->muzzle_fraction,
    };
}

static void take_real(struct match *match, uint16_t slot, const struct match_record_input *entry)
{
    struct match_seat *seat = &match->seats[slot];
    struct world_player *player = &match->world.players[slot];
    struct arb_input *applied = &match->applied[slot];
    struct arb_input input = inputs_as_state(&entry->input);
    seat->taken = *entry;
    if (within_match(match, input.target_tick)) {
        count_edges(&seat->counts, input.edges);
        seat->counts.inputs_consumed++;
    }
    if (entry->control != player->control) {
        seat->counts.inputs_refused++;
        make_neutral(&input);
    }
    *applied = input;
    input.edges = 0;
    player->last = input;
    player->last_sequence = input.sequence;
    player->hold_ticks = 0;
    match->consumed[slot] = true;
    if (player->carried_edges != 0) {
        match->shot_edges_carried[slot] = player->carried_edges & ARB_BUTTON_FIRE;
        applied->edges |= player->carried_edges;
        player->carried_edges = 0;
        player->outside_changes++;
    }
}

/* Nothing came: held buttons and aim go on for a while, presses do not repeat. The view moves on
 * with time, where a shot needs it (views.c). */
static void take_held(struct match *match, uint16_t slot, arb_tick now)
{
    struct match_seat *seat = &match->seats[slot];
    struct world_player *player = &match->world.players[slot];
    struct arb_input *applied = &match->applied[slot];
    if (player->last.sequence == 0) {
        *applied = (struct arb_input){.target_tick = now};
        return;
    }
    seat->counts.inputs_starved += within_match(match, now);
    player->starved_ticks++;
    player->hold_ticks++;
    *applied = player->last;
    applied->sequence = 0;
    applied->target_tick = now;
    if (player->hold_ticks > (uint32_t)match->config.input_hold_ticks) {
        make_neutral(applied);
    }
}

/* What waits for this tick goes into the record, which is where it is taken from. */
static void draw_from_buffer(struct match *match, uint16_t slot, arb_tick now)
{
    struct input_buffer *buffer = &match->seats[slot].buffer;
    struct input_entry *entry = &buffer->entries[now % buffer->size];
    if (entry->input.sequence != 0 && entry->input.target_tick == now) {
        record_input(match, slot, entry);
        entry->input.sequence = 0;
    }
}

void inputs_expect_packet(const struct match *match, uint16_t slot)
{
    const struct match_seat *seat = &match->seats[slot];
    __builtin_prefetch(&seat->buffer, 1);
    __builtin_prefetch(&seat->counts, 1);
    __builtin_prefetch(&seat->views.round_trips, 1);
    __builtin_prefetch(&seat->views.delay_tick, 1);
}

void inputs_expect(const struct match *match, uint16_t slot)
{
    enum { AHEAD = 4, FAR_AHEAD = 8 }; /* players */
    uint16_t players = match->world.head->player_capacity;
    if (slot + FAR_AHEAD < players) {
        const struct match_seat *seat = &match->seats[slot + FAR_AHEAD];
        __builtin_prefetch(&seat->seated, 1);
        __builtin_prefetch(&seat->counts, 1);
        __builtin_prefetch(&seat->taken, 1);
        __builtin_prefetch((const char *)&seat->taken + 64, 1);
    }
    if (slot + AHEAD < players) {
        const struct input_buffer *buffer = &match->seats[slot + AHEAD].buffer;
        const char *entry = (const char *)&buffer->entries[match->world.head->tick % buffer->size];
        __builtin_prefetch(entry, 1);
        __builtin_prefetch(entry + 64);
    }
}

void inputs_take(struct match *match, uint16_t slot, arb_tick now)
{
    struct match_seat *seat = &match->seats[slot];
    bool live = match->world.head->phase == ARB_PHASE_LIVE;
    seat->counts.ticks += live;
    seat->played |= live;
    match->consumed[slot] = false;
    match->shot_edges_carried[slot] = 0;
    if (!match->plays) {
        draw_from_buffer(match, slot, now);
    }
    const struct match_record_input *came = match_record_input(&match->record, slot);
    if (came != NULL) {
        take_real(match, slot, came);
    } else {
        take_held(match, slot, now);
    }
    const struct match_observer *observer = &match->observer;
    if (observer->input != NULL) {
        observer->input(observer->owner, slot, came != NULL ? &came->input : NULL,
                        came != NULL ? came->control : 0, &match->applied[slot]);
    }
}
