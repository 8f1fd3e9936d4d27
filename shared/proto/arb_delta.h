/* The stream of a snapshot (PROTOCOL.md "Snapshot stream"): own part, then everything in view as a
 * difference to a baseline, which is an earlier snapshot that the client has acknowledged: each of
 * its entities is unchanged, left out for now, updated or gone, and then come the new ones. Without
 * a baseline all are new.
 */
#ifndef ARB_DELTA_H
#define ARB_DELTA_H

#include "shared/proto/arb_proto.h"

/* A snapshot as its receiver committed it. */
struct arb_delta_base {
    arb_tick tick;
    const struct arb_frame *frame;        /* everything in view, states left out included */
    const struct arb_held_entry *entries; /* [frame->entity_count], beside frame->entities */
    struct arb_key controlled;            /* or none */
    const void *own;                      /* own state, NULL without a character */
};

/* What a stream says. Arrays are the caller's. */
struct arb_delta_out {
    struct arb_frame *frame;        /* becomes everything in view; frame->tick is left alone */
    struct arb_held_entry *entries; /* [entity_capacity], beside frame->entities */
    uint32_t entity_capacity, point_capacity;
    void *own; /* members without a row are left alone: zero it before */
    struct arb_own_part own_part;
    bool has_own;
    struct arb_key controlled;
};

/* `tick`: the snapshot's published tick. base NULL: the stream needs none. All checks of
 * spec/replication.md "Chunks": every record decodes, no key twice, values in range, bodies whole,
 * nothing updated that the baseline lacks. */
enum arb_decode arb_delta_decode(const struct arb_schema *schema,
                                 const struct arb_fields *own_fields, const uint8_t *bytes,
                                 size_t size, arb_tick tick, const struct arb_delta_base *base,
                                 struct arb_delta_out *out);

#endif
