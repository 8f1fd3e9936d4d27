#include "shared/view/arb_held.h"

#include "shared/base/arb_assert.h"

arb_fine arb_view_at(const struct arb_view *view)
{
    arb_fine from = (arb_fine)view->from_tick * ARB_FINE_TICK;
    if (view->from_tick >= view->to_tick) {
        return from + (arb_fine)view->fraction * (ARB_FINE_TICK / 256);
    }
    arb_fine span = (arb_fine)(view->to_tick - view->from_tick) * ARB_FINE_TICK;
    return from + span * (arb_fine)view->fraction / 256;
}

static arb_fine time_of(const struct arb_held *held, uint32_t frame)
{
    return (arb_fine)held->frames[frame].tick * ARB_FINE_TICK;
}

bool arb_held_find(const struct arb_held *held, arb_fine at, struct arb_view *view)
{
    uint32_t after = held->count; /* the oldest frame after `at` */
    while (after > 0 && time_of(held, after - 1) > at) {
        after--;
    }
    if (after == 0) {
        return false;
    }
    arb_fine passed = at - time_of(held, after - 1);
    *view = (struct arb_view){.from_tick = held->frames[after - 1].tick,
                              .to_tick = held->frames[after - 1].tick,
                              .held = (uint16_t)held->frames[held->count - 1].id};
    if (after == held->count) {
        arb_fine beyond = passed * 256 / ARB_FINE_TICK;
        view->fraction = beyond > UINT16_MAX ? UINT16_MAX : (uint16_t)beyond;
    } else {
        view->to_tick = held->frames[after].tick;
        view->fraction =
            (uint16_t)(passed * 256 / (time_of(held, after) - time_of(held, after - 1)));
    }
    return true;
}

bool arb_held_place(const struct arb_held *held, const struct arb_view *view,
                    struct arb_held_place *place)
{
    uint32_t from = held->count;
    while (from > 0 && held->frames[from - 1].tick > view->from_tick) {
        from--;
    }
    if (from == 0 || held->frames[from - 1].tick != view->from_tick) {
        return false;
    }
    from--;
    bool newest = from + 1 == held->count;
    bool between = view->from_tick < view->to_tick;
    if (between ? newest || held->frames[from + 1].tick != view->to_tick || view->fraction > 256
                : !newest || view->to_tick != view->from_tick) {
        return false;
    }
    place->from = between && view->fraction == 256 ? from + 1 : from;
    place->at = arb_view_at(view);
    return true;
}

static uint32_t find_entry(const struct arb_held_frame *frame, struct arb_key key)
{
    uint32_t low = 0;
    uint32_t high = frame->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (frame->entries[middle].key.id < key.id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < frame->count && arb_key_equal(frame->entries[low].key, key);
    return found ? low : frame->count;
}

static arb_tick state_tick(const struct arb_held_frame *frame, uint32_t entry)
{
    return frame->tick - frame->entries[entry].age;
}

/* Mostly it stands in the same place as in a frame nearby. */
static uint32_t find_near(const struct arb_held_frame *frame, struct arb_key key, uint32_t place)
{
    bool there = place < frame->count && arb_key_equal(frame->entries[place].key, key);
    return there ? place : find_entry(frame, key);
}

/* A snapshot that left the entity out may have been coded against an older one than the client
 * holds: its state may be older than one of a frame before. */
static void look_back(const struct arb_held *held, struct arb_key key,
                      struct arb_held_states *states)
{
    for (uint32_t i = states->from_frame; i-- > 0;) {
        const struct arb_held_frame *frame = &held->frames[i];
        if (frame->tick <= states->from_tick) {
            return;
        }
        uint32_t entry = find_near(frame, key, states->from_entry);
        if (entry == frame->count) {
            return;
        }
        if (state_tick(frame, entry) > states->from_tick) {
            states->from_tick = state_tick(frame, entry);
            states->from_frame = i;
            states->from_entry = entry;
        }
    }
}

static void look_ahead(const struct arb_held *held, const struct arb_held_place *place,
                       struct arb_key key, struct arb_held_states *states)
{
    for (uint32_t i = place->from + 1; i < held->count; i++) {
        const struct arb_held_frame *frame = &held->frames[i];
        uint32_t entry = find_near(frame, key, states->from_entry);
        if (entry == frame->count) {
            return;
        }
        arb_tick tick = state_tick(frame, entry);
        if ((arb_fine)tick * ARB_FINE_TICK > place->at && tick > states->from_tick) {
            states->to_tick = tick;
            states->to_frame = i;
            states->to_entry = entry;
            return;
        }
    }
}

void arb_held_states_of(const struct arb_held *held, const struct arb_held_place *place,
                        uint32_t entry, struct arb_held_states *states)
{
    const struct arb_held_frame *frame = &held->frames[place->from];
    ARB_ASSERT(entry < frame->count);
    struct arb_key key = frame->entries[entry].key;
    *states = (struct arb_held_states){
        .from_tick = state_tick(frame, entry), .from_frame = place->from, .from_entry = entry};
    if (states->from_tick < frame->tick) {
        look_back(held, key, states);
    }
    states->to_tick = states->from_tick;
    look_ahead(held, place, key, states);
}

bool arb_held_states(const struct arb_held *held, const struct arb_held_place *place,
                     struct arb_key key, struct arb_held_states *states)
{
    uint32_t entry = find_entry(&held->frames[place->from], key);
    if (entry == held->frames[place->from].count) {
        return false;
    }
    arb_held_states_of(held, place, entry, states);
    return true;
}
