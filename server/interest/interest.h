/* Who sees what: a uniform grid over the newest published frame and, per viewer, the sorted visible
 * set with enter and retain radius (spec/replication.md "Interest"). Reduces replication, never
 * simulation. Its sets are derived: they depend on the frames seen, not on insertion order.
 */
#ifndef INTEREST_H
#define INTEREST_H

#include "shared/base/arb_arena.h"
#include "shared/proto/arb_schema.h"

struct interest_config {
    const struct arb_schema *schema;
    uint32_t tick_rate; /* Hz: of kinds with a path */
    float cell_m, enter_m, retain_m;
    uint32_t viewer_capacity;
    uint32_t entity_capacity, point_capacity; /* of a frame */
    float radius_of_kind[ARB_KINDS_MAX];      /* m, target radius r of the test */
};

struct interest;
struct interest *interest_create(struct arb_arena *arena, const struct interest_config *config);

/* Cell of a coordinate: floor(v / size). */
int32_t interest_cell(float v, float cell_m);

/* Registers every entity of the frame in every cell that its bounds (body too) touch. Ids are below
 * entity_capacity. */
void interest_build(struct interest *interest, const struct arb_frame *frame);

/* Renews the set of that viewer, whose eye is at `centre` (m); `always` are keys that are in
 * regardless (ascending, the own character among them). Returns indices into frame->entities,
 * ascending; valid until the next call for any viewer. */
const uint32_t *interest_update(struct interest *interest, uint32_t viewer, struct arb_vec2 centre,
                                const struct arb_key *always, uint32_t always_count,
                                uint32_t *count);

/* Forgets what that viewer saw (new session). */
void interest_forget(struct interest *interest, uint32_t viewer);

/* Parts that were tested exactly since the start: what a query costs. */
uint64_t interest_candidates(const struct interest *interest);

#endif
