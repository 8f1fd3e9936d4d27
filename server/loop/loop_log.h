/* What the daemon tells of its sessions and ticks in the log. */
#ifndef LOOP_LOG_H
#define LOOP_LOG_H

#include "server/loop/loop.h"

/* The observer of struct net_config: asks the net for addresses. */
struct loop_log_observer {
    struct net *net; /* set once it exists; not owned */
};
void loop_log_notice(void *observer, const struct net_notice *notice);

/* How the ticks ran, and what was refused on the way in. */
void loop_log_report(const struct loop_report *report, struct net *net);

/* At the end of a match: how far shots were rewound, and what became of claimed views; a warning
 * when compensation does nothing though it is on. */
void loop_log_lagcomp(const struct match_result *result);

/* At the end, with a rollback window: late inputs that acted, and what running again took. */
void loop_log_rollback(const struct match *match);

#endif
