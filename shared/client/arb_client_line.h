/* What goes wrong on the way to the screen, and whose fault it was: silence, and stutters with a
 * verdict each (arbiter_client.h "stutters"). A stutter is a time in which the drawn world had run
 * out of snapshots, or in which nobody polled. The server says itself when a step of it was late;
 * what it did not say is the network's: lost snapshots or late ones. Knows times and ticks only;
 * arb_client_line.c feeds it from the client.
 */
#ifndef ARB_CLIENT_LINE_H
#define ARB_CLIENT_LINE_H

#include "shared/base/arb_types.h"
#include "shared/client/arbiter_client.h"

enum { ARB_LINE_LATE = 8, ARB_LINE_WAITING = 4 };

/* A stutter before its verdict. */
struct arb_hitch {
    uint64_t begin_ns, end_ns;
    arb_tick before, after; /* newest published tick when it began and when it was over */
    bool lost;              /* ids between them never came */
};

struct arb_line {
    uint64_t heard_ns; /* when a datagram was read last */
    uint64_t datagrams;
    bool silent;
    uint64_t poll_ns;      /* the last poll */
    uint64_t late_poll_ns; /* the newest that came late; 0: none did */

    bool open; /* the drawn world stands still: `hitch` has begun */
    uint64_t lost_before;
    struct arb_hitch hitch;
    struct arb_hitch waiting[ARB_LINE_WAITING]; /* for the server's word, in order */
    uint32_t waiting_count;
    struct {
        uint32_t tick; /* low 32 bits */
        uint32_t ms;
        uint64_t told_ns;  /* when */
    } late[ARB_LINE_LATE]; /* the newest that the server told of, a ring */
    uint32_t late_count;

    struct arbiter_stutter ring[ARBITER_STUTTERS];
    uint32_t stutters; /* ever */
    uint64_t counts[ARBITER_STUTTER_CAUSES];
    float sums_ms[ARBITER_STUTTER_CAUSES];
};

/* The server's word: the step of that tick (low 32 bits) began so late. */
void arb_line_late(struct arb_line *line, uint32_t tick, uint32_t ms, uint64_t now_ns);

/* A poll, the first after poll_ns. Later than late_poll_ms after it: a stutter of this process. */
void arb_line_poll(struct arb_line *line, uint64_t now_ns, uint32_t late_poll_ms);

/* The drawn world stands past the newest snapshot, of `newest`, since `since_ns`. */
void arb_line_ran_out(struct arb_line *line, uint64_t since_ns, arb_tick newest, uint64_t lost);
/* It goes on at now_ns, where `newest` is the newest; what was shorter than `least_ns` was none. */
void arb_line_goes_on(struct arb_line *line, uint64_t now_ns, arb_tick newest, uint64_t lost,
                      uint64_t least_ns);
/* Verdicts for which the time has come. */
void arb_line_judge(struct arb_line *line, uint64_t now_ns);

/* ms since a datagram was read, while that is told as silence; else 0. */
uint32_t arb_line_silent_ms(const struct arb_line *line, uint64_t now_ns);

#endif
