/* Line-of-sight culling (spec/replication.md "Interest"): who stands behind walls is not sent, so a
 * client cannot draw through them what it was never told. Comes after the visible set and only
 * makes it smaller; the set itself, with its radii, does not know of it.
 *
 * With a margin: somebody counts as seen when from a place within the margin of the eye one sees a
 * place within the margin of it, both as far as they can be walked to in a straight line. So it is
 * there before it comes round the corner on the screen of a player whose view is late.
 */
#ifndef INTEREST_SIGHT_H
#define INTEREST_SIGHT_H

#include "shared/base/arb_arena.h"
#include "shared/move/arb_geometry.h"
#include "shared/proto/arb_schema.h"

enum {
    INTEREST_SIGHT_HIDDEN_MS = 50, /* who is hidden is looked at with the margin again after that;
                                      the straight line counts each time */
    INTEREST_SIGHT_SHOWN_MS = 250, /* who is shown stays so for that long at least */
};

struct interest_sight_config {
    const struct arb_schema *schema;
    const struct arb_geometry *geometry;
    float margin_m;
    uint32_t tick_rate;
    uint32_t viewer_capacity, entity_capacity;
};

struct interest_sight;
struct interest_sight *interest_sight_create(struct arb_arena *arena,
                                             const struct interest_sight_config *config);

/* Of `visible` (indices into frame->entities, ascending) what that viewer, whose eye is at `eye`,
 * may be told of: everything that no player steers, long bodies, what is in `always` (ascending),
 * and who is in sight. Ascending; valid until the next call. */
const uint32_t *interest_sight_cull(struct interest_sight *sight, uint32_t viewer,
                                    struct arb_vec2 eye, const struct arb_frame *frame,
                                    const uint32_t *visible, uint32_t count,
                                    const struct arb_key *always, uint32_t always_count,
                                    uint32_t *left);

/* A new session. */
void interest_sight_forget(struct interest_sight *sight, uint32_t viewer);

/* Is there a clear line between places within `margin` (m) of the two? Pure. */
bool interest_sight_clear(const struct arb_geometry *geometry, struct arb_vec2 eye,
                          struct arb_vec2 target, float margin);

#endif
