/* One direction of a path as numbers: when does a datagram that is sent now arrive, how often, and
 * is it whole. The simulated network and the relay for real processes (tools/net) use the same
 * code. Owns the state of one direction; never holds bytes and reads no clock. Whole microseconds,
 * integer arithmetic, PCG32: the same on every machine (design.md, idea 3).
 */
#ifndef ARB_LINK_H
#define ARB_LINK_H

#include "shared/base/arb_rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARB_LINK_HEADERS_BYTES = 48,  /* IPv6 and UDP; they count for rates and queues */
    ARB_LINK_QUEUE_BYTES = 65536, /* of a link that limits the rate and names no queue size */
    ARB_LINK_TIME_MAX_US = 60 * 1000 * 1000, /* longest delay, and longest jitter */
    ARB_JITTER_VALUES = 4096,
    ARB_JITTER_SIGMA = 8192, /* one standard deviation in a jitter table */
    ARB_TRACE_BYTES = 1500,  /* what one opportunity of a trace carries, with headers */
    /* Bit of a datagram's first byte (transport.md, "Sealed layer"): it is authenticated, so a
     * corrupted one is handed on for its receiver to refuse. Without the bit it is plain: UDP's
     * checksum would have dropped it. */
    ARB_LINK_SEALED_BIT = 0x40,
};

/* A distribution as iproute2's tc/<name>.dist has it: equally likely values. */
struct arb_jitter_table {
    int16_t value[ARB_JITTER_VALUES];
};

/* What was recorded of a path; repeats for ever. */
struct arb_trace {
    uint32_t count;     /* > 0 */
    uint32_t period_ms; /* > 0 */
    /* Not falling. Opportunities: moments at which ARB_TRACE_BYTES could be delivered, the last one
     * == period_ms. Table: begin of each row, the first 0, all below period_ms. */
    const uint32_t *time_ms;
    /* Table: delay of what is sent during the row. NULL: this trace is a list of opportunities. */
    const uint32_t *delay_us;
    const uint8_t *lost; /* table: 1: what is sent during the row is lost */
};

/* All zero: perfect. A value; the tables it points to are the caller's and outlive its use. */
struct arb_link {
    uint32_t delay_us;
    /* Uniform 0..jitter_us on top; with a table one standard deviation, to both sides of delay_us.
     * Does not reorder unless reorder_ppm hits. */
    uint32_t jitter_us;
    uint32_t loss_ppm; /* of a million datagrams */
    uint32_t duplicate_ppm;
    uint32_t reorder_ppm; /* datagrams that skip the order-keeping and get jitter again (so it takes
                             jitter) */
    uint32_t rate_kbps;   /* with IPv6 and UDP headers; 0: unlimited */
    uint32_t queue_bytes; /* drop-tail queue in front of rate or trace; 0: ARB_LINK_QUEUE_BYTES */
    /* Mean length of a run of losses in thousandths (Gilbert-Elliott, all lost in the bad state);
     * 0: independent losses, else at least 1000. loss_ppm stays the mean as long as it can:
     * loss <= burst / (burst + 1). */
    uint32_t burst_milli;
    uint32_t corrupt_ppm;                        /* copies that arrive with flipped bits */
    const struct arb_jitter_table *jitter_table; /* NULL: uniform */
    const struct arb_trace *trace; /* NULL: none; opportunities take the place of rate_kbps */
    uint64_t trace_offset_us;      /* where in the trace time 0 lies */
};

/* Fates of datagrams. */
#define ARB_LINK_COUNTER_MAP(X)                                                                    \
    X(lost, "lost under way")                                                                      \
    X(duplicated, "arrive twice")                                                                  \
    X(reordered, "may be overtaken")                                                               \
    X(corrupted, "copies with flipped bits")                                                       \
    X(queue_full, "dropped in front of a rate or trace")                                           \
    X(blocked, "sent during a partition")

struct arb_link_counters {
#define X(name, text) uint64_t name;
    ARB_LINK_COUNTER_MAP(X)
#undef X
};

/* Visible because its owner embeds it; only arb_link.c touches it. */
struct arb_link_state {
    struct arb_link link;
    struct arb_rng rng, flips;
    uint64_t free_us;          /* when all that was accepted has been sent at the link's rate */
    uint64_t last_us;          /* newest due time that keeps the order */
    uint64_t opportunity;      /* of the trace, counted from its first pass: the one being filled */
    uint32_t opportunity_left; /* bytes free in it */
    bool in_burst;
    bool is_blocked;
};

struct arb_link_delivery {
    uint64_t deliver_us; /* >= now_us */
    uint32_t corrupt;    /* 0: whole; else pass it to arb_link_corrupt */
};

/* The seed and stream decide everything. Each datagram takes the same number of draws, so that one
 * changed number of a link leaves the fate of the rest as it was. */
void arb_link_start(struct arb_link_state *state, struct arb_link link, uint64_t seed,
                    uint64_t stream);

/* From now on. What waits in the queue goes on at the new rate as far as those behind it are
 * concerned; deliveries already told keep their times, and order is kept to them. */
void arb_link_set(struct arb_link_state *state, struct arb_link link, uint64_t now_us);

/* A partition of this direction: all that is sent is lost until it ends. arb_link_set leaves it. */
void arb_link_block(struct arb_link_state *state, bool is_blocked);

/* A datagram of `size` bytes of UDP payload enters at `now_us` (not falling from call to call).
 * Returns how many copies arrive, 0 to 2, and counts its fate. */
int arb_link_send(struct arb_link_state *state, uint64_t now_us, size_t size,
                  struct arb_link_delivery out[2], struct arb_link_counters *counters);

/* Bytes that wait in front of rate or trace. */
uint64_t arb_link_waiting_bytes(const struct arb_link_state *state, uint64_t now_us);

/* Flips a run of 1 to 8 bits, the same for the same `corrupt` and size; size > 0. */
void arb_link_corrupt(uint32_t corrupt, uint8_t *bytes, size_t size);

#endif
