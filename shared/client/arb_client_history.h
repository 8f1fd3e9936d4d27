/* The committed snapshots of a connection: up to 64, ascending by tick, packed in two rings of
 * entities and points (spec/client.md "Others", spec/lag-compensation.md "What the client sends").
 * The client's view, and nothing else, reads them.
 */
#ifndef ARB_CLIENT_HISTORY_H
#define ARB_CLIENT_HISTORY_H

#include "shared/client/arb_client_time.h"
#include "shared/proto/arb_schema.h"

enum { ARB_HISTORY_FRAMES = 64 };

struct arb_history_slot {
    arb_tick tick; /* published */
    uint32_t first_entity, entity_count;
    uint32_t first_point, point_count;
};

struct arb_history {
    struct arb_history_slot slots[ARB_HISTORY_FRAMES]; /* ring */
    uint32_t first, count;
    struct arb_published *entities; /* caller's */
    struct arb_point *points;
    uint32_t entity_capacity, point_capacity;
};

void arb_history_init(struct arb_history *history, struct arb_published *entities,
                      uint32_t entity_capacity, struct arb_point *points, uint32_t point_capacity);

/* What a group must fulfil beyond decoding well, before it is committed: no entity's state goes
 * back in time, no entity of an older generation. */
bool arb_history_accepts(const struct arb_history *history, const struct arb_frame *frame);

/* Copies the frame in; one of the same tick is replaced, the oldest make room. The frame must be
 * accepted and fit the capacities. */
void arb_history_add(struct arb_history *history, const struct arb_frame *frame);

/* Frame `index` from the oldest, 0..count-1; arrays are the history's own. */
struct arb_frame arb_history_frame(const struct arb_history *history, uint32_t index);

/* Where a view stands: the newest frame at or before `at`, the next one, and how far between, in
 * 1/256; past the newest, both are the newest and the fraction counts 1/256 ticks. False: nothing
 * to draw, all frames lie ahead (or there are none). */
struct arb_history_view {
    uint32_t from, to; /* indices of frames */
    uint32_t fraction;
    arb_fine at; /* the time that is drawn: `at`, rounded down to that fraction */
};
bool arb_history_find(const struct arb_history *history, arb_fine at,
                      struct arb_history_view *view);

/* The two states of one entity nearest around view->at: the newest not after, and the oldest after
 * it (NULL: none yet). Not more than `linger` ticks are looked back; false: not drawn. */
struct arb_history_pair {
    const struct arb_published *from, *to;
    arb_tick from_tick, to_tick;
    const struct arb_point *from_points, *to_points; /* of their bodies */
};
bool arb_history_pair(const struct arb_history *history, const struct arb_history_view *view,
                      struct arb_key key, uint32_t linger, struct arb_history_pair *pair);

#endif
