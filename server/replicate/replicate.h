/* Turns the newest published frame into one snapshot per client and hands it to the port (stage 9):
 * what is in view as a difference to the newest snapshot that the client acknowledged
 * (spec/replication.md "Snapshots"). Reads frames from rewind, visible sets from interest; owns
 * what each client has been sent (its ring of sent snapshots) and its budget. Never reads the live
 * world.
 */
#ifndef REPLICATE_H
#define REPLICATE_H

#include "server/interest/interest.h"
#include "server/match/port.h"
#include "server/rewind/rewind.h"
#include "shared/move/arb_own.h"
#include "shared/view/arb_held.h"

/* Where published frames come from: `at` returns NULL for a tick that is not held; those of the 64
 * snapshots before the one that is sent are asked for. */
struct replicate_frames {
    const struct arb_frame *(*at)(const void *owner, arb_tick tick);
    const void *owner;
};

struct replicate_config {
    const struct arb_schema *schema;
    const struct rewind *rewind;    /* whose frames are sent */
    struct replicate_frames frames; /* `at` not NULL: these are, and rewind is not looked at */
    uint32_t client_capacity;
    uint32_t tick_rate;
    uint32_t interval_ticks; /* every frame that is sent has a tick that is a multiple of it */
    uint32_t chunk_payload_bytes;
    uint32_t budget_bytes_per_s; /* the most; less while a path does not carry it */
    uint32_t entity_capacity;    /* entities of a frame, and bound of their ids */
    uint32_t point_capacity;     /* body points of a frame */
    float far_m;                 /* what is farther from the eye comes less often; 0: nothing is */
    uint32_t far_every;          /* namely with every so many-th snapshot */
    bool parity;                 /* a group of several chunks has one that replaces any of them */
};

enum { REPLICATE_RING = ARB_HELD_FRAMES }; /* sent snapshots that are remembered per client */

/* One sent snapshot. */
struct replicate_sent {
    arb_tick tick;         /* published tick */
    arb_tick oldest_tick;  /* of the states that the client holds with it */
    uint64_t content;      /* equal numbers: clients that held the very same with it */
    uint32_t id;           /* 0: the place was never used, or what it held is forgotten */
    uint32_t entity_count; /* everything in view for this client, as arb_held_frame */
    uint32_t first;        /* of its entries in the client's ring of entries */
    bool acked;            /* the client committed it */
    bool astray;           /* named what has never been: no baseline */
};

/* Counted per client since its session began. */
struct replicate_counts {
    uint64_t snapshots, chunks, bytes;
    uint64_t full;     /* of the snapshots, without a baseline */
    uint64_t deferred; /* entities that a snapshot had no room for; they come first in the next */
    uint64_t dropped;  /* of these, gone for the client because their state became too old */
    uint64_t held;     /* snapshots not sent because the budget left no useful room */
    uint64_t slowed;   /* not sent because the client acknowledges nothing of use */
    uint64_t bad_acks; /* of snapshots never sent */
    uint64_t reduced;  /* times that the working rate went down */
    uint64_t parities; /* chunks that say nothing themselves; also among the chunks */
    uint32_t rate_bytes_per_s; /* the working rate now: what the path of this client carries */
};

/* What the streams of all clients consisted of since the start. */
struct replicate_traffic {
    uint64_t snapshots;
    uint64_t stream_bits;
    uint64_t own_bits; /* of it, before the first entity */
    struct replicate_kind_traffic {
        uint64_t unchanged, left_out, gone;
        uint64_t updates, update_bits; /* of their records */
        uint64_t enters, enter_bits;
    } kinds[ARB_KINDS_MAX];
};

/* What the match knows of one client at this tick. */
struct replicate_client {
    struct port_session session;
    uint16_t client;           /* index, = player slot */
    const struct arb_own *own; /* NULL without a character */
    struct arb_key controlled;
    bool shares_view; /* others get the very same `visible` in this tick; no own part then */
    uint8_t control;
    uint32_t starved_ticks, outside_changes;
    arb_sequence last_sequence;
    int32_t buffer_ticks; /* worst lead since the last snapshot */
};

struct replicate;
struct replicate *replicate_create(struct arb_arena *arena, const struct replicate_config *config);

/* A new session in that place: ids go on from a fresh start, nothing acknowledged. */
void replicate_reset(struct replicate *replicate, uint16_t client);
/* Snapshots of those published ticks named entities that, as it turned out, were none, or others:
 * no baseline any more. What their clients hold of them stays known. */
void replicate_distrust(struct replicate *replicate, arb_tick from, arb_tick to);
/* From an input packet: newest committed snapshot and mask. `now`: the newest tick that was
 * published when the packet was there; from its distance to the snapshot's the working rate of
 * this client follows. */
void replicate_ack(struct replicate *replicate, uint16_t client, uint16_t snapshot, uint32_t mask,
                   arb_tick now);

/* An acknowledgement of that client comes next: what it reads is asked for at once. */
void replicate_expect_ack(const struct replicate *replicate, uint16_t client, uint16_t snapshot);

/* Encodes and puts one snapshot of `frame`, rewind's newest; `visible` are indices into
 * frame->entities, ascending. It takes one datagram, more only for one entity that is larger alone.
 * What does not fit that or the budget waits by priority (distance to the eye, time since last
 * sent) and is counted: the client keeps its older state, or does not see it yet. */
void replicate_send(struct replicate *replicate, const struct replicate_client *client,
                    const struct arb_frame *frame, arb_tick confirmed_tick, struct arb_vec2 eye,
                    const uint32_t *visible, uint32_t count, const struct match_port *port);
/* The next three clients that replicate_send comes for: what it reads of them is fetched meanwhile,
 * since other work pushes it out of the caches between two snapshots. Above all clients: nobody. */
void replicate_expect(const struct replicate *replicate, const uint16_t *next);
/* The client did not acknowledge anything new over some 180 full snapshots, the last ones a second
 * apart: whoever it is, it is no client of ours and had better be cut. (One whose round trip is
 * longer than the ring of snapshots does: it lives with full ones at that rate.) */
bool replicate_in_vain(const struct replicate *replicate, uint16_t client);
/* Counts an event's bytes against the budget. */
void replicate_spend(struct replicate *replicate, uint16_t client, size_t bytes);
/* Once per frame before the first replicate_send of a tick: forgets the shared encodes. */
void replicate_begin(struct replicate *replicate, const struct arb_frame *frame);

/* The ring of sent snapshots: NULL when that id was never sent or is out of the ring. */
const struct replicate_sent *replicate_sent(const struct replicate *replicate, uint16_t client,
                                            uint32_t id);
/* Newest snapshot id that was sent, and that the client committed; 0: none. */
uint32_t replicate_newest_sent(const struct replicate *replicate, uint16_t client);
uint32_t replicate_newest_acked(const struct replicate *replicate, uint16_t client);

/* What the client held when `held` (low 16 bits of an id) was its newest snapshot: the acknowledged
 * ones up to it, ascending, of the ARB_HELD_FRAMES newest ids. Entries stay valid until the next
 * replicate_send for this client. Returns the id; 0: no acknowledged snapshot that is remembered
 * has it, and *out is what the client holds as of its newest acknowledgement not after it. */
uint32_t replicate_held(const struct replicate *replicate, uint16_t client, uint16_t held,
                        struct arb_held *out);

/* The newest snapshot that was sent shows it, or leaves the client what it held of it. */
bool replicate_shows(const struct replicate *replicate, uint16_t client, struct arb_key key);
/* The same of the newest one of a published tick before `before`, as far as it is remembered. */
bool replicate_showed(const struct replicate *replicate, uint16_t client, struct arb_key key,
                      arb_tick before);

const struct replicate_counts *replicate_counts(const struct replicate *replicate, uint16_t client);
const struct replicate_traffic *replicate_traffic(const struct replicate *replicate);
/* Counted of all clients that ever were. */
struct replicate_counts replicate_totals(const struct replicate *replicate);

#endif
