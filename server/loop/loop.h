/* The tick thread's event loop: socket, tick timer, signals (design.md, idea 5). The only reader of
 * a clock; it runs what is due and never waits for anything else. Life of a process here: asleep
 * while nobody is there, ticking, then draining after the match has ended (spec/operations.md "Life
 * of a match process").
 */
#ifndef LOOP_H
#define LOOP_H

#include "server/loop/histogram.h"
#include "server/match/match.h"
#include "server/net/net.h"

struct loop_options {
    struct match *match; /* not owned */
    struct net *net;     /* not owned; its carrier has a file descriptor */
    uint32_t tick_rate, max_catchup_ticks;
    uint32_t join_timeout_s;     /* nobody ever came: ends with "nobody"; 0: waits for ever */
    uint32_t idle_exit_s;        /* everyone left before the first round: ends with "empty" */
    uint32_t grace_s;            /* from the first SIGTERM or SIGINT to the end of the process */
    bool abort_on_signal;        /* else a live match goes on while the grace lasts */
    void (*ticked)(void *owner); /* after each tick; never blocks */
    void (*hangup)(void *owner); /* SIGHUP; never blocks. Ticks follow soon */
    /* The match is decided, its result final: called once, before the result phase. May block. */
    void (*decided)(void *owner);
    void *owner;
};

/* What was measured; all of ticks that were run live. */
struct loop_report {
    struct loop_histogram lateness; /* start of a tick - its deadline */
    struct loop_histogram work;     /* receive and tick */
    uint64_t ticking_ns;            /* from the first deadline on, without sleep */
    uint64_t dropped_ticks;         /* of time, beyond the catch-up */
    uint64_t allocations;           /* inside receive and tick while the match was live */
    bool match_ended;               /* false: the grace was over before */
};

struct loop;

/* NULL when the system refuses (descriptors): the reason is in `error`. From here on signals are
 * caught. */
struct loop *loop_create(const struct loop_options *options, char *error, size_t error_bytes);

/* Returns when the match has ended and the clients are gone, or the grace is over. */
void loop_run(struct loop *loop, struct loop_report *report);
void loop_destroy(struct loop *loop);

#endif
