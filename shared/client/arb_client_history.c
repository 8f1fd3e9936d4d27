#include "shared/client/arb_client_history.h"

#include "shared/base/arb_assert.h"

#include <string.h>

void arb_history_init(struct arb_history *history, struct arb_published *entities,
                      struct arb_held_entry *entries, uint32_t entity_capacity,
                      struct arb_point *points, uint32_t point_capacity)
{
    memset(history, 0, sizeof *history);
    history->entity_capacity = entity_capacity;
    history->point_capacity = point_capacity;
    for (uint32_t i = 0; i < ARB_HISTORY_PLACES; i++) {
        history->order[i] = (uint8_t)i;
        history->slots[i].entries = entries + (size_t)i * entity_capacity;
        history->slots[i].frame.entities = entities + (size_t)i * entity_capacity;
        history->slots[i].frame.points = points + (size_t)i * point_capacity;
    }
}

const struct arb_history_slot *arb_history_at(const struct arb_history *history, uint32_t index)
{
    ARB_ASSERT(index < history->count);
    return &history->slots[history->order[index]];
}

struct arb_frame arb_history_frame(const struct arb_history *history, uint32_t index)
{
    return arb_history_at(history, index)->frame;
}

const struct arb_history_slot *arb_history_newest(const struct arb_history *history)
{
    return history->count == 0 ? NULL : arb_history_at(history, history->count - 1);
}

uint32_t arb_history_index(const struct arb_history *history, uint32_t id)
{
    uint32_t index = 0;
    while (index < history->count && arb_history_at(history, index)->id != id) {
        index++;
    }
    return index;
}

struct arb_history_slot *arb_history_next(struct arb_history *history)
{
    struct arb_history_slot *slot = &history->slots[history->order[history->count]];
    struct arb_published *entities = slot->frame.entities;
    struct arb_point *points = slot->frame.points;
    struct arb_held_entry *entries = slot->entries;
    memset(slot, 0, sizeof *slot); /* own states are compared with their padding */
    slot->frame.entities = entities;
    slot->frame.points = points;
    slot->entries = entries;
    return slot;
}

/* Only the tick of the whole is compared: what a snapshot carries is of its own tick, and what it
 * left out may be older here than in a frame before, if it was coded against one still older. */
bool arb_history_accepts(const struct arb_history *history, const struct arb_frame *frame)
{
    const struct arb_history_slot *newest = arb_history_newest(history);
    if (newest == NULL) {
        return true;
    }
    if (frame->tick < newest->frame.tick) {
        return false;
    }
    uint32_t known = 0;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        struct arb_key key = frame->entities[i].key;
        while (known < newest->frame.entity_count &&
               newest->frame.entities[known].key.id < key.id) {
            known++;
        }
        if (known == newest->frame.entity_count) {
            return true;
        }
        struct arb_key held = newest->frame.entities[known].key;
        if (held.id == key.id && arb_newer16(held.generation, key.generation)) {
            return false;
        }
    }
    return true;
}

/* The first `drop` frames go; their places are free, behind the others. */
static void drop_oldest(struct arb_history *history, uint32_t drop)
{
    uint8_t freed[ARB_HISTORY_PLACES];
    memcpy(freed, history->order, drop);
    memmove(history->order, history->order + drop, ARB_HISTORY_PLACES - drop);
    memcpy(history->order + ARB_HISTORY_PLACES - drop, freed, drop);
    history->count -= drop;
}

static void fill_held(struct arb_history *history)
{
    history->held.count = history->count;
    for (uint32_t i = 0; i < history->count; i++) {
        const struct arb_history_slot *slot = arb_history_at(history, i);
        history->held.frames[i] = (struct arb_held_frame){slot->frame.tick, slot->id,
                                                          slot->frame.entity_count, slot->entries};
    }
}

void arb_history_commit(struct arb_history *history)
{
    const struct arb_history_slot *added = &history->slots[history->order[history->count]];
    const struct arb_history_slot *before = arb_history_newest(history);
    ARB_ASSERT(before == NULL ||
               (added->id > before->id && added->frame.tick >= before->frame.tick));
    if (before != NULL && before->frame.tick == added->frame.tick) {
        uint8_t replaced = history->order[history->count - 1];
        history->order[history->count - 1] = history->order[history->count];
        history->order[history->count] = replaced;
    } else {
        history->count++;
    }
    uint32_t old = 0;
    while (added->id - arb_history_at(history, old)->id >= ARB_HELD_FRAMES) {
        old++;
    }
    drop_oldest(history, old);
    fill_held(history);
}
