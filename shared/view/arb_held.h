/* What one client holds of the others, and the rule by which a view picks the states that it is
 * drawn from (spec/lag-compensation.md "What the client sends"). Ticks and keys only: the client
 * has the states beside it, the server has the published frames. The client's view and the server's
 * rewind call the very same functions, so they cannot differ.
 */
#ifndef ARB_HELD_H
#define ARB_HELD_H

#include "shared/base/arb_input.h"
#include "shared/proto/arb_schema.h"

enum { ARB_HELD_FRAMES = 64 }; /* committed snapshots that count, the newest ones */

/* One committed snapshot: everything in view, what it left out included. */
struct arb_held_frame {
    arb_tick tick; /* published */
    uint32_t id;   /* of the snapshot */
    uint32_t count;
    const struct arb_held_entry *entries; /* ascending by key, an id never twice */
};

struct arb_held {
    uint32_t count;
    struct arb_held_frame frames[ARB_HELD_FRAMES]; /* ascending by id and tick */
};

/* The time that a view shows: from + fraction * (to - from), or fraction ticks past the newest. */
arb_fine arb_view_at(const struct arb_view *view);

/* The view that shows time `at`, rounded down to its 1/256: between the newest frame not after `at`
 * and the next one, or past the newest of all. view->held is the newest id. False: nothing to draw,
 * all frames lie ahead or there are none. */
bool arb_held_find(const struct arb_held *held, arb_fine at, struct arb_view *view);

/* Where a view stands among the frames. */
struct arb_held_place {
    uint32_t from; /* index of the newest frame not after `at` */
    arb_fine at;
};

/* False: no such view can be drawn from these frames. Its two ticks must be two frames in a row, or
 * both the newest. */
bool arb_held_place(const struct arb_held *held, const struct arb_view *view,
                    struct arb_held_place *place);

/* The states of one entity that a view is drawn from. */
struct arb_held_states {
    arb_tick from_tick, to_tick; /* of the states; equal: `from` alone, extrapolated */
    uint32_t from_frame, from_entry;
    uint32_t to_frame, to_entry; /* meaningful when to_tick > from_tick */
};

/* The entity must be in the frame at place->from: what was not there is not drawn. Then the newest
 * state not after place->at, and the oldest after it, that these frames hold while the entity was
 * in view without a break. */
bool arb_held_states(const struct arb_held *held, const struct arb_held_place *place,
                     struct arb_key key, struct arb_held_states *states);

/* The same for entry `entry` of frame place->from. */
void arb_held_states_of(const struct arb_held *held, const struct arb_held_place *place,
                        uint32_t entry, struct arb_held_states *states);

#endif
