/* Two delays that follow what the network does: how far behind the server's present the others are
 * drawn, and how far ahead of it the inputs are made (spec/client.md "Time", "Others"). Both look
 * at a window of measurements, rise at once in what they want, and leave the smooth way there to
 * the clocks of arb_client_time.h.
 */
#ifndef ARB_CLIENT_PACE_H
#define ARB_CLIENT_PACE_H

#include "shared/client/arb_client_time.h"

enum { ARB_PACE_WINDOW = 64 };

/* ---- behind: the view ---- */

enum {
    ARB_LOSS_BLOCK = 64,  /* snapshots that came */
    ARB_LOSS_BLOCKS = 16, /* losses are remembered for 1,024 of them */
    ARB_LOSS_DOUBTED = 4, /* blocks at the start for which an uneven line is taken to lose some */
    ARB_LOSS_EVEN = 32, /* even: arrivals are late by less than this part of a tick, in the mean */
    ARB_LOSS_RUN = 2,   /* lost in a row that the delay bridges at most */
    ARB_LOSS_FREQUENT = 20, /* of those remembered, 2 %: two in a row will come as well */
};

/* Of the window, all relative to the server's time. */
struct arb_delay_spread {
    arb_fine youngest, oldest, mean; /* ages */
    arb_fine need;
};

struct arb_delay {
    uint32_t count;                 /* measurements ever */
    arb_fine age[ARB_PACE_WINDOW];  /* server's time at arrival - tick of the snapshot */
    arb_fine need[ARB_PACE_WINDOW]; /* the same for the snapshot before it: a view that old never
                                       ran out of snapshots */
    uint8_t lost[ARB_LOSS_BLOCKS];  /* by block: lost, a longer run counts as ARB_LOSS_RUN */
    arb_fine step;                  /* ticks from one snapshot sent to the next, of the newest */
    struct arb_delay_spread spread; /* of what is in the window; frames come more often than it
                                       changes */
    arb_fine held;                  /* longest interpolation of late; sinks slowly */
    uint64_t held_ns;
    uint64_t backlog_ns; /* when the first of what an outage had held up arrived; 0: none did */
};

/* Before the first measurement: whether what arrived at now_ns, `age` old, has waited behind an
 * outage in which the connection began. All that waited then comes in a burst whose youngest is as
 * old as the burst is long; `age` says nothing about the line yet, which a ping knows to be
 * `one_way` long. False after a third of a second: the line has become that slow. */
bool arb_delay_is_backlog(struct arb_delay *delay, arb_fine age, arb_fine one_way, uint32_t rate,
                          uint64_t now_ns);

/* A snapshot of `tick` was committed at server's time `arrived`; `previous` is the tick of the one
 * committed before, and `lost` were sent between the two. */
void arb_delay_add(struct arb_delay *delay, arb_fine arrived, arb_tick previous, arb_tick tick,
                   uint32_t lost);

/* How many lost in a row the delay is to bridge: 0 on a line that has lost none for long, or that
 * is even and has lost none yet. */
uint32_t arb_delay_run(const struct arb_delay *delay);

struct arb_delay_state {
    arb_fine age;           /* smallest of the window */
    arb_fine interpolation; /* on top of it, within the limits */
    arb_fine jitter;        /* largest age - smallest age */
};

/* Without a measurement: an interval and 7/16 tick, within the limits; that much is within what is
 * promised of an even line, and little enough to be short of for long. The interpolation rises at
 * once and sinks by half of what is too much in a second. */
struct arb_delay_state arb_delay_now(struct arb_delay *delay, uint64_t now_ns,
                                     uint32_t interval_ticks, arb_fine low, arb_fine high);

/* ---- ahead: the inputs ---- */

struct arb_lead {
    uint32_t count;
    arb_fine wanted[ARB_PACE_WINDOW]; /* lead with which the spare would have been as asked */
    arb_fine highest;                 /* of the window */
    arb_fine held;                    /* highest of late; sinks slowly */
    uint64_t held_ns;
};

/* The server reported that of the inputs made with `lead_then` the worst came `worst_ticks` before
 * its tick. */
void arb_lead_add(struct arb_lead *lead, arb_fine lead_then, int32_t worst_ticks, arb_fine spare);

/* What the lead should be, within the limits. `first` is the answer before any report. */
arb_fine arb_lead_now(struct arb_lead *lead, uint64_t now_ns, arb_fine first, arb_fine low,
                      arb_fine high);

#endif
