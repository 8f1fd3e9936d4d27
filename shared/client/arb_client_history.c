#include "shared/client/arb_client_history.h"

#include "shared/base/arb_assert.h"

#include <string.h>

void arb_history_init(struct arb_history *history, struct arb_published *entities,
                      uint32_t entity_capacity, struct arb_point *points, uint32_t point_capacity)
{
    memset(history, 0, sizeof *history);
    history->entities = entities;
    history->points = points;
    history->entity_capacity = entity_capacity;
    history->point_capacity = point_capacity;
}

static const struct arb_history_slot *slot_at(const struct arb_history *history, uint32_t index)
{
    ARB_ASSERT(index < history->count);
    return &history->slots[(history->first + index) % ARB_HISTORY_FRAMES];
}

struct arb_frame arb_history_frame(const struct arb_history *history, uint32_t index)
{
    const struct arb_history_slot *slot = slot_at(history, index);
    return (struct arb_frame){
        .tick = slot->tick,
        .entity_count = slot->entity_count,
        .point_count = slot->point_count,
        .entities = history->entities + slot->first_entity,
        .points = history->points + slot->first_point,
    };
}

bool arb_history_accepts(const struct arb_history *history, const struct arb_frame *frame)
{
    if (history->count == 0) {
        return true;
    }
    struct arb_frame newest = arb_history_frame(history, history->count - 1);
    if (frame->tick < newest.tick) {
        return false;
    }
    uint32_t known = 0;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        struct arb_key key = frame->entities[i].key;
        while (known < newest.entity_count && newest.entities[known].key.id < key.id) {
            known++;
        }
        if (known == newest.entity_count) {
            return true;
        }
        if (newest.entities[known].key.id == key.id &&
            arb_newer16(newest.entities[known].key.generation, key.generation)) {
            return false;
        }
    }
    return true;
}

static void drop_oldest(struct arb_history *history)
{
    history->first = (history->first + 1) % ARB_HISTORY_FRAMES;
    history->count--;
}

static bool overlaps(uint32_t first_a, uint32_t count_a, uint32_t first_b, uint32_t count_b)
{
    return count_a > 0 && count_b > 0 && first_a < first_b + count_b && first_b < first_a + count_a;
}

/* Right after the newest frame, or at 0 when the rest of the ring is too short. */
static uint32_t place_after(uint32_t end, uint32_t count, uint32_t capacity)
{
    return count <= capacity - end ? end : 0;
}

void arb_history_add(struct arb_history *history, const struct arb_frame *frame)
{
    ARB_ASSERT(frame->entity_count <= history->entity_capacity);
    ARB_ASSERT(frame->point_count <= history->point_capacity);
    if (history->count > 0 && slot_at(history, history->count - 1)->tick == frame->tick) {
        history->count--;
    }
    if (history->count == ARB_HISTORY_FRAMES) {
        drop_oldest(history);
    }
    struct arb_history_slot slot = {.tick = frame->tick,
                                    .entity_count = frame->entity_count,
                                    .point_count = frame->point_count};
    if (history->count > 0) {
        const struct arb_history_slot *newest = slot_at(history, history->count - 1);
        slot.first_entity = place_after(newest->first_entity + newest->entity_count,
                                        frame->entity_count, history->entity_capacity);
        slot.first_point = place_after(newest->first_point + newest->point_count,
                                       frame->point_count, history->point_capacity);
    }
    /* In the order in which they lie in the rings, the oldest are the ones in the way. */
    for (uint32_t i = history->count; i-- > 0;) {
        const struct arb_history_slot *other = slot_at(history, i);
        if (overlaps(slot.first_entity, slot.entity_count, other->first_entity,
                     other->entity_count) ||
            overlaps(slot.first_point, slot.point_count, other->first_point, other->point_count)) {
            for (uint32_t drop = 0; drop <= i; drop++) {
                drop_oldest(history);
            }
            break;
        }
    }
    if (frame->entity_count > 0) {
        memcpy(history->entities + slot.first_entity, frame->entities,
               frame->entity_count * sizeof *frame->entities);
    }
    if (frame->point_count > 0) {
        memcpy(history->points + slot.first_point, frame->points,
               frame->point_count * sizeof *frame->points);
    }
    history->slots[(history->first + history->count) % ARB_HISTORY_FRAMES] = slot;
    history->count++;
}

bool arb_history_find(const struct arb_history *history, arb_fine at, struct arb_history_view *view)
{
    uint32_t after = history->count; /* the oldest frame after `at` */
    while (after > 0 && (arb_fine)slot_at(history, after - 1)->tick * ARB_FINE_TICK > at) {
        after--;
    }
    if (after == 0) {
        return false;
    }
    view->from = after - 1;
    arb_fine from = (arb_fine)slot_at(history, view->from)->tick * ARB_FINE_TICK;
    if (after == history->count) {
        arb_fine beyond = (at - from) * 256 / ARB_FINE_TICK;
        view->to = view->from;
        view->fraction = beyond > UINT16_MAX ? UINT16_MAX : (uint32_t)beyond;
        view->at = from + (arb_fine)view->fraction * (ARB_FINE_TICK / 256);
        return true;
    }
    view->to = after;
    arb_fine span = (arb_fine)slot_at(history, after)->tick * ARB_FINE_TICK - from;
    view->fraction = (uint32_t)((at - from) * 256 / span);
    view->at = from + span * (arb_fine)view->fraction / 256;
    return true;
}

static const struct arb_published *state_in(const struct arb_history *history, uint32_t index,
                                            struct arb_key key, arb_tick *tick,
                                            const struct arb_point **points)
{
    struct arb_frame frame = arb_history_frame(history, index);
    const struct arb_published *state = arb_frame_find(&frame, key);
    if (state != NULL) {
        *tick = frame.tick;
        *points = frame.points + state->body_first;
    }
    return state;
}

bool arb_history_pair(const struct arb_history *history, const struct arb_history_view *view,
                      struct arb_key key, uint32_t linger, struct arb_history_pair *pair)
{
    memset(pair, 0, sizeof *pair);
    for (uint32_t i = view->from + 1; i-- > 0 && pair->from == NULL;) {
        arb_fine tick = (arb_fine)slot_at(history, i)->tick * ARB_FINE_TICK;
        if (i < view->from && view->at - tick > (arb_fine)linger * ARB_FINE_TICK) {
            break;
        }
        pair->from = state_in(history, i, key, &pair->from_tick, &pair->from_points);
    }
    for (uint32_t i = view->from + 1; i < history->count && pair->to == NULL; i++) {
        pair->to = state_in(history, i, key, &pair->to_tick, &pair->to_points);
    }
    return pair->from != NULL;
}
