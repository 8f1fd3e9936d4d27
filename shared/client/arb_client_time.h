/* Time of a connection: the server's tick, estimated from pings, and clocks that follow it smoothly
 * (spec/client.md "Time"). Integers only. Reads no clock: local time is an argument. Used by the
 * client library alone.
 *
 * The server's timeline: at s = n the step of tick n runs, so that published tick n exists and
 * inputs of tick n come too late. Between two steps s is fractional.
 */
#ifndef ARB_CLIENT_TIME_H
#define ARB_CLIENT_TIME_H

#include "shared/base/arb_types.h"

enum { ARB_TIME_SAMPLES = 8 };

/* Nanoseconds in ticks, rounded down. `rate` in Hz. */
arb_fine arb_fine_from_ns(uint64_t ns, uint32_t rate);
arb_fine arb_fine_from_ms(uint32_t ms, uint32_t rate);

struct arb_time_sample {
    arb_fine at_receipt; /* the server's time when the answer arrived here */
    uint64_t received_ns, rtt_ns;
};

struct arb_time_sync {
    uint32_t rate;  /* Hz */
    uint32_t count; /* samples since the start or the server's last stall; the newest 8 are kept,
                       sample i at i % 8 */
    struct arb_time_sample samples[ARB_TIME_SAMPLES];
};

void arb_time_sync_reset(struct arb_time_sync *sync, uint32_t rate);

/* One answered ping: `answered` is the server's time when it answered, wait_ns how long the ping
 * had waited there by then; received_ns is when the answer arrived here, not when it was read.
 * Round trip = received - sent - wait; at_receipt = answered + ceil(rtt * rate / 2) ticks. An
 * answer that proves the server more than a quarter of a second behind the estimate (it stalled
 * and dropped the time) makes all earlier samples void. */
void arb_time_sync_add(struct arb_time_sync *sync, arb_fine answered, uint64_t wait_ns,
                       uint64_t sent_ns, uint64_t received_ns);

/* The sample with the smallest round trip, the newer on a tie; NULL when there is none. */
const struct arb_time_sample *arb_time_sync_best(const struct arb_time_sync *sync);

/* Half of its round trip in whole ticks, rounded up, as the estimate has it; 0 without a sample. */
arb_fine arb_time_sync_one_way(const struct arb_time_sync *sync);

/* Server's time at now_ns (which may lie before the sample); false without a sample. */
bool arb_time_sync_estimate(const struct arb_time_sync *sync, uint64_t now_ns, arb_fine *out);

/* A clock in ticks that is steered towards a target by running a little faster or slower, and
 * jumps only when it is off by more than a bound. */
struct arb_slew {
    bool running;
    arb_fine at; /* its time at now_ns */
    uint64_t now_ns;
};

struct arb_slew_limits {
    uint32_t percent; /* of the rate, up and down */
    arb_fine jump;    /* an error beyond is made good at once */
};

/* Starts at the target, or goes to now_ns and towards the target there. True when it jumped (not
 * when it started). */
bool arb_slew_advance(struct arb_slew *slew, uint64_t now_ns, uint32_t rate, arb_fine target,
                      struct arb_slew_limits limits);

/* Its time at a nearby moment, at the nominal rate. */
arb_fine arb_slew_at(const struct arb_slew *slew, uint64_t ns, uint32_t rate);

#endif
