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
    history->entities = entities;
    history->entries = entries;
    history->points = points;
    for (uint32_t i = 0; i < ARB_HISTORY_PLACES; i++) {
        history->order[i] = (uint8_t)i;
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
    memset(slot, 0, sizeof *slot); /* own states are compared with their padding */
    size_t at = ARB_HELD_FRAMES;   /* behind those that are held */
    slot->frame.entities = history->entities + at * history->entity_capacity;
    slot->entries = history->entries + at * history->entity_capacity;
    slot->frame.points = history->points + at * history->point_capacity;
    return slot;
}

/* Only the tick of the whole is compared: what a snapshot carries is of its own tick, and what it
 * left out may be older here than in a frame before, if it was coded against one still older. */
bool arb_history_accepts(const struct arb_history *history, const struct arb_frame *frame,
                         bool was_settled)
{
    const struct arb_history_slot *newest = arb_history_newest(history);
    if (newest == NULL) {
        return true;
    }
    if (frame->tick < newest->frame.tick) {
        return false;
    }
    uint32_t known = 0;
    for (uint32_t i = 0; was_settled && i < frame->entity_count; i++) {
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

/* What is taken of one of the arrays. */
struct taken {
    uint32_t first[ARB_HELD_FRAMES], end[ARB_HELD_FRAMES];
    uint32_t count;
};

static void take(struct taken *taken, uint32_t first, uint32_t count)
{
    if (count == 0) return;
    taken->first[taken->count] = first;
    taken->end[taken->count++] = first + count;
}

static bool is_free(const struct taken *taken, size_t first, size_t count)
{
    bool met = false;
    for (uint32_t i = 0; i < taken->count; i++) {
        met |= first + count > taken->first[i] && first < taken->end[i];
    }
    return !met;
}

/* At the start, else behind the newest, else behind all; `capacity` when nowhere. */
static size_t find_place(const struct taken *taken, size_t capacity, size_t count)
{
    if (is_free(taken, 0, count)) return 0;
    size_t behind = taken->end[taken->count - 1], top = 0;
    if (behind + count <= capacity && is_free(taken, behind, count)) return behind;
    for (uint32_t i = 0; i < taken->count; i++) {
        top = taken->end[i] > top ? taken->end[i] : top;
    }
    return top + count <= capacity ? top : capacity;
}

/* False: there is room, but not in one piece. */
static bool find_places(const struct arb_history *history, const struct arb_frame *frame,
                        size_t *first, size_t *first_point)
{
    struct taken entities = {.count = 0}, points = {.count = 0};
    for (uint32_t i = 0; i < history->count; i++) {
        const struct arb_history_slot *slot = arb_history_at(history, i);
        take(&entities, slot->first, slot->frame.entity_count);
        take(&points, slot->first_point, slot->frame.point_count);
    }
    size_t capacity = (size_t)ARB_HELD_FRAMES * history->entity_capacity;
    size_t point_capacity = (size_t)ARB_HELD_FRAMES * history->point_capacity;
    *first = find_place(&entities, capacity, frame->entity_count);
    *first_point = find_place(&points, point_capacity, frame->point_count);
    return *first < capacity && *first_point < point_capacity;
}

static void point_at(struct arb_history *history, struct arb_history_slot *slot, size_t first,
                     size_t first_point)
{
    slot->first = (uint32_t)first;
    slot->first_point = (uint32_t)first_point;
    slot->frame.entities = history->entities + first;
    slot->frame.points = history->points + first_point;
    slot->entries = history->entries + first;
}

/* The held frame with the lowest place at or behind `from` in one of the arrays; NULL: none. An
 * empty one may lie anywhere. */
static struct arb_history_slot *next_behind(struct arb_history *history, size_t from, bool points)
{
    struct arb_history_slot *next = NULL;
    for (uint32_t i = 0; i < history->count; i++) {
        struct arb_history_slot *slot = &history->slots[history->order[i]];
        uint32_t count = points ? slot->frame.point_count : slot->frame.entity_count;
        uint32_t at = points ? slot->first_point : slot->first;
        if (count == 0 || at < from) continue;
        if (next == NULL || at < (points ? next->first_point : next->first)) next = slot;
    }
    return next;
}

/* Without gaps. Frames of very different sizes now and then need it. */
static void close_up(struct arb_history *history)
{
    size_t used = 0, from = 0;
    struct arb_history_slot *slot;
    while ((slot = next_behind(history, from, false)) != NULL) {
        size_t count = slot->frame.entity_count;
        from = slot->first + count;
        memmove(history->entities + used, slot->frame.entities, count * sizeof *history->entities);
        memmove(history->entries + used, slot->entries, count * sizeof *history->entries);
        point_at(history, slot, used, slot->first_point);
        used += count;
    }
    used = from = 0;
    while ((slot = next_behind(history, from, true)) != NULL) {
        size_t count = slot->frame.point_count;
        from = slot->first_point + count;
        memmove(history->points + used, slot->frame.points, count * sizeof *history->points);
        point_at(history, slot, slot->first, used);
        used += count;
    }
}

/* From where it was decoded to among those that are held, of which there are 63 at most. */
static void move_in(struct arb_history *history)
{
    struct arb_history_slot *slot = &history->slots[history->order[history->count]];
    struct arb_frame from = slot->frame;
    const struct arb_held_entry *entries = slot->entries;
    size_t first, first_point;
    if (!find_places(history, &from, &first, &first_point)) {
        close_up(history);
        bool found = find_places(history, &from, &first, &first_point);
        ARB_ASSERT(found);
    }
    point_at(history, slot, first, first_point);
    memcpy(slot->frame.entities, from.entities, from.entity_count * sizeof *from.entities);
    memcpy(slot->entries, entries, from.entity_count * sizeof *entries);
    memcpy(slot->frame.points, from.points, from.point_count * sizeof *from.points);
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
        history->count--;
    }
    uint32_t old = 0;
    while (old < history->count &&
           added->id - arb_history_at(history, old)->id >= ARB_HELD_FRAMES) {
        old++;
    }
    drop_oldest(history, old);
    move_in(history);
    history->count++;
    fill_held(history);
}
