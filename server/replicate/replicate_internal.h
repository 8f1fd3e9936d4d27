/* What replicate.c and replicate_choice.c share. For this folder and tests. */
#ifndef REPLICATE_INTERNAL_H
#define REPLICATE_INTERNAL_H

#include "server/replicate/replicate.h"

#include "shared/proto/arb_proto.h"

enum {
    /* ENet's header with the time of sending (4) and an unsequenced command (8): charged per
     * message although messages may share a datagram, so the budget is an upper bound. */
    REPLICATE_OVERHEAD_BYTES = 12,
    /* Short of budget, a snapshot with less room than this waits for the next: fewer are better
       than empty ones. */
    REPLICATE_USEFUL_BYTES = 400,
    /* An entity that waited so many snapshots and still does not fit holds the stream until it
       does. */
    REPLICATE_STARVING_SNAPSHOTS = 16,
    REPLICATE_WEIGHT_MAX = 10,
};

/* What one client was sent of one entity id. */
struct replicate_track {
    uint32_t since;      /* snapshot id that last carried it, or the one before it came into view */
    uint32_t seen;       /* newest snapshot id for which it was visible */
    uint16_t generation; /* of the entity that this is about */
};

struct replicate_state {
    uint32_t newest;   /* newest snapshot id; ids count from 1 */
    int64_t credit;    /* bytes * tick_rate that may be sent; negative: events spent ahead */
    arb_tick refilled; /* published tick of the last refill */
    bool started;      /* refilled is meaningful */
    uint32_t newest_acked;
    struct replicate_sent sent[REPLICATE_RING]; /* snapshot id modulo REPLICATE_RING */
    struct arb_held_entry *entries; /* [REPLICATE_RING * entity_capacity], of all in `sent` */
    struct replicate_track *tracks; /* [entity_capacity], by entity id */
    struct replicate_counts counts;
};

struct replicate_candidate {
    uint32_t priority;
    uint32_t place; /* in the visible list */
};

struct replicate {
    struct replicate_config config;
    const struct arb_fields *own_fields; /* NULL: the mode has no mover */
    const struct arb_frame *frame;       /* of the shared encodes */
    struct arb_records records;
    uint32_t chunk_head_bytes;
    int64_t depth; /* most credit, bytes * tick_rate */
    uint8_t *stream, *message;
    size_t stream_capacity;
    struct replicate_candidate *heap; /* [entity_capacity] */
    uint64_t *chosen;                 /* bit per place of the visible list */
    struct replicate_state *clients;
};

/* Makes `count` entries the next snapshot's (id newest + 1) and enters it into the ring, not
 * acknowledged; returns where its entries go. */
struct arb_held_entry *replicate_remember(const struct replicate *replicate,
                                          struct replicate_state *state, uint32_t count,
                                          arb_tick tick);

/* One snapshot in the making. */
struct replicate_job {
    struct replicate *replicate;
    struct replicate_state *state;
    const struct replicate_client *client;
    struct arb_vec2 eye;
    const uint32_t *visible;
    uint32_t count;
    size_t capacity; /* bytes of the stream at most */
    const struct arb_own_part *own;
};

/* Encodes the visible entities that go first by priority and fit; marks them in replicate->chosen.
 * Returns bytes of the stream, 0 when the snapshot had better wait (spec/replication.md
 * "Snapshots", none starves). */
size_t replicate_encode_chosen(const struct replicate_job *job, uint32_t *chosen_count);

/* Priority of that visible entity: weight by distance and kind, times snapshots waited; the own
 * character first. */
uint32_t replicate_priority(const struct replicate_job *job, uint32_t place);

#endif
