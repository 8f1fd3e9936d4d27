/* The committed snapshots of a connection as frames: the 64 newest ids, each at a fixed place of
 * its own (spec/client.md "Others", spec/lag-compensation.md "What the client sends"). A frame is
 * everything in view, what its snapshot left out included, with the age of each state. New
 * snapshots are decoded against one of them, and the client's view is drawn from them; nothing else
 * reads them.
 */
#ifndef ARB_CLIENT_HISTORY_H
#define ARB_CLIENT_HISTORY_H

#include "shared/move/arb_move.h"
#include "shared/proto/arb_proto.h"
#include "shared/view/arb_held.h"

enum { ARB_HISTORY_PLACES = ARB_HELD_FRAMES + 1 }; /* one is always free to decode into */

struct arb_history_slot {
    uint32_t id;                    /* of the snapshot, widened */
    struct arb_frame frame;         /* arrays at this place, of the capacities */
    struct arb_held_entry *entries; /* [frame.entity_count], beside frame.entities */
    uint32_t first,
        first_point;           /* where they are in the history's arrays; the frame's counts long */
    struct arb_key controlled; /* or none */
    bool has_own;
    struct arb_own own;
    struct arb_own_part own_part; /* its pointer is left alone: see `own` */
};

struct arb_history {
    uint32_t count;
    uint32_t entity_capacity, point_capacity; /* of one frame */
    /* ARB_HELD_FRAMES times these: what is held lies close together, so that only what is in view
     * takes memory; and one frame more, to decode into. */
    struct arb_published *entities;
    struct arb_held_entry *entries; /* beside entities */
    struct arb_point *points;
    struct arb_held held;              /* the same frames, for shared/view */
    uint8_t order[ARB_HISTORY_PLACES]; /* slot of frame i; from `count` on the free ones */
    struct arb_history_slot slots[ARB_HISTORY_PLACES];
};

/* Arrays are the caller's: ARB_HISTORY_PLACES times the capacity of one frame. They are touched
 * from the start on, as far as what is held needs. */
void arb_history_init(struct arb_history *history, struct arb_published *entities,
                      struct arb_held_entry *entries, uint32_t entity_capacity,
                      struct arb_point *points, uint32_t point_capacity);

/* Frame `index` from the oldest, 0..count-1. */
const struct arb_history_slot *arb_history_at(const struct arb_history *history, uint32_t index);
struct arb_frame arb_history_frame(const struct arb_history *history, uint32_t index);
/* NULL before the first. */
const struct arb_history_slot *arb_history_newest(const struct arb_history *history);

/* Index of the frame of snapshot `id`; `count` when it is not held. */
uint32_t arb_history_index(const struct arb_history *history, uint32_t id);

/* The free place, emptied: all members but the frame's arrays are the caller's to fill. */
struct arb_history_slot *arb_history_next(struct arb_history *history);

/* What a group in the free place must fulfil beyond decoding well, before it is committed: no
 * state goes back in time, and, where the newest frame was settled, no entity of an older
 * generation: else what it named may never have been. */
bool arb_history_accepts(const struct arb_history *history, const struct arb_frame *frame,
                         bool was_settled);

/* The free place becomes the newest frame: its id is newer than all, its frame accepted. One of the
 * same tick is replaced; what lies 64 ids back is no longer held. */
void arb_history_commit(struct arb_history *history);

#endif
