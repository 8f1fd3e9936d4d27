/* The record of a tick: kept while the tick runs live, read while it is played. */
#include "server/match/match_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

struct match_record_capacity match_record_capacity(const struct match *match)
{
    uint32_t players = match->world.head->player_capacity;
    return (struct match_record_capacity){
        .players = players,
        .commands = match->command_capacity + 2, /* and the reload and the abort */
        /* Targets of one session's inputs ascend, so each late tick has one of a player. */
        .late = players * (uint32_t)match->config.input_buffer_ticks,
        .late_ticks = (uint32_t)match->config.input_buffer_ticks,
        /* All may shoot in one tick, and hold everything. */
        .pairs = match->rules->shoot != NULL ? players * match->world.head->entity_capacity : 0,
        .entities = match->world.head->entity_capacity,
        .numbers = match->numbers.count,
    };
}

void match_record_create(struct match_record *record, struct arb_arena *arena,
                         const struct match_record_capacity *capacity)
{
    memset(record, 0, sizeof *record);
    record->commands = arb_arena_take_array(arena, capacity->commands, sizeof record->commands[0]);
    record->stale = arb_arena_take_array(arena, capacity->players, sizeof record->stale[0]);
    record->late = arb_arena_take_array(arena, capacity->late, sizeof record->late[0]);
    record->inputs = arb_arena_take_array(arena, capacity->players, sizeof record->inputs[0]);
    record->views = arb_arena_take_array(arena, capacity->players, sizeof record->views[0]);
    record->pairs = arb_arena_take_array(arena, capacity->pairs, sizeof record->pairs[0]);
    record->numbers = arb_arena_take_array(arena, capacity->numbers, sizeof record->numbers[0]);
}

void match_record_copy(struct match_record *to, const struct match_record *from)
{
#define COPY(list, count)                                                                          \
    if (from->count > 0) memcpy(to->list, from->list, from->count * sizeof from->list[0]);         \
    to->count = from->count;
    to->tick = from->tick;
    COPY(commands, command_count)
    COPY(stale, stale_count)
    COPY(late, late_count)
    COPY(inputs, input_count)
    COPY(views, view_count)
    COPY(pairs, pair_count)
    COPY(numbers, number_count)
#undef COPY
}

/* The slots ascend: halving finds the place. */
const struct match_record_input *match_record_input(const struct match_record *record,
                                                    uint16_t slot)
{
    uint32_t low = 0, high = record->input_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (record->inputs[middle].slot < slot) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < record->input_count && record->inputs[low].slot == slot;
    return found ? &record->inputs[low] : NULL;
}

const struct match_record *match_record(const struct match *match)
{
    return &match->record;
}

void match_play(struct match *match, const struct match_record *record)
{
    ARB_ASSERT(!match->plays);
    ARB_ASSERT(record->tick == match->world.head->tick);
    match_record_copy(&match->record, record);
    match->plays = true;
}

/* ---- while the tick runs ---- */

void record_begin(struct match *match)
{
    struct match_record *record = &match->record;
    if (match->plays) {
        return;
    }
    record->tick = match->world.head->tick;
    record->command_count = 0;
    record->stale_count = 0;
    record->late_count = 0;
    record->input_count = 0;
    record->view_count = 0;
    record->pair_count = 0;
    record->number_count = 0;
}

void record_late(struct match *match, uint16_t slot, const struct input_entry *entry)
{
    struct match_record *record = &match->record;
    ARB_ASSERT(record->late_count < match->record_capacity.late);
    struct match_record_input *late = &record->late[record->late_count++];
    *late = (struct match_record_input){.input = entry->input,
                                        .claimed = entry->claimed,
                                        .slot = slot,
                                        .control = entry->control,
                                        .verdict = entry->verdict};
}

void record_stale(struct match *match, uint16_t slot, arb_sequence sequence, bool within)
{
    struct match_record *record = &match->record;
    uint32_t at = record->stale_count;
    while (at > 0 && record->stale[at - 1].slot > slot) {
        at--;
    }
    if (at > 0 && record->stale[at - 1].slot == slot) {
        record->stale[at - 1].count++;
        record->stale[at - 1].within += within;
        record->stale[at - 1].newest = sequence; /* they come in ascending order */
        return;
    }
    ARB_ASSERT(record->stale_count < match->record_capacity.players);
    memmove(&record->stale[at + 1], &record->stale[at],
            (record->stale_count - at) * sizeof record->stale[0]);
    record->stale_count++;
    record->stale[at] = (struct match_record_stale){slot, 1, within, sequence};
}

void record_input(struct match *match, uint16_t slot, const struct input_entry *entry)
{
    struct match_record *record = &match->record;
    ARB_ASSERT(record->input_count < match->record_capacity.players);
    struct match_record_input *input = &record->inputs[record->input_count++];
    *input = (struct match_record_input){.input = entry->input,
                                         .claimed = entry->claimed,
                                         .slot = slot,
                                         .control = entry->control,
                                         .verdict = entry->verdict};
}

void record_command(struct match *match, const struct match_command *command)
{
    struct match_record *record = &match->record;
    ARB_ASSERT(record->command_count < match->record_capacity.commands);
    record->commands[record->command_count++] = *command;
}

void record_reload(struct match *match, const uint32_t *numbers)
{
    struct match_record *record = &match->record;
    record->number_count = match->record_capacity.numbers;
    memcpy(record->numbers, numbers, record->number_count * sizeof numbers[0]);
    record_command(match, &(struct match_command){.type = MATCH_COMMAND_RELOAD});
}

struct rewind_pair *record_pairs(struct match *match, uint32_t count)
{
    struct match_record *record = &match->record;
    ARB_ASSERT(record->pair_count + count <= match->record_capacity.pairs);
    struct rewind_pair *pairs = record->pairs + record->pair_count;
    record->pair_count += count;
    return pairs;
}

const struct match_record_view *record_view_of(const struct match *match, uint16_t slot)
{
    const struct match_record *record = &match->record;
    for (uint32_t i = 0; i < record->view_count; i++) {
        if (record->views[i].slot == slot) {
            return &record->views[i];
        }
    }
    return NULL;
}

void record_view(struct match *match, uint16_t slot, const struct view_past *past)
{
    struct match_record *record = &match->record;
    ARB_ASSERT(record->view_count < match->record_capacity.players);
    /* One that a played record lacks goes to its place: others of higher slots may be there. */
    uint32_t at = record->view_count++;
    for (; at > 0 && record->views[at - 1].slot > slot; at--) {
        record->views[at] = record->views[at - 1];
    }
    struct match_record_view *view = &record->views[at];
    *view = (struct match_record_view){
        .slot = slot, .everyone = past->pairs == NULL, .slow = past->slow, .view = past->view};
    if (past->pairs != NULL && past->pair_count > 0) {
        view->pair_first = (uint32_t)(past->pairs - record->pairs);
        view->pair_count = past->pair_count;
        view->later = past->later;
    }
}

/* Its pairs too, so that a new one has room. */
void record_drop_view(struct match_record *record, uint16_t slot)
{
    uint32_t at = 0;
    while (at < record->view_count && record->views[at].slot != slot)
        at++;
    if (at == record->view_count) return;
    struct match_record_view gone = record->views[at];
    uint32_t behind = gone.pair_first + gone.pair_count;
    if (gone.pair_count > 0) {
        memmove(record->pairs + gone.pair_first, record->pairs + behind,
                (record->pair_count - behind) * sizeof record->pairs[0]);
        record->pair_count -= gone.pair_count;
    }
    memmove(record->views + at, record->views + at + 1,
            (record->view_count - at - 1) * sizeof record->views[0]);
    record->view_count--;
    for (uint32_t i = 0; i < record->view_count; i++) {
        struct match_record_view *view = &record->views[i];
        if (view->pair_count > 0 && view->pair_first >= behind) view->pair_first -= gone.pair_count;
    }
}
