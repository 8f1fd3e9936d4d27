/* How far back late inputs may take a match, so that running ticks again leaves room for the next
 * one (spec/determinism.md "Late inputs": what does not fit the budget is refused and corrected).
 * Arithmetic in integers on times that it is given: no clock. The loop asks before each tick and
 * tells after it.
 *
 * Half of a tick's time may go into it, and what is not used is kept for a second: a burst of late
 * inputs passes, and one client that sends each of its inputs as late as it may does not stall a
 * match of a thousand.
 */
#ifndef RERUN_BUDGET_H
#define RERUN_BUDGET_H

#include <stdint.h>

struct rerun_budget {
    uint64_t share_ns; /* that a tick adds */
    uint64_t most_ns;  /* that is kept */
    uint64_t left_ns;
    uint64_t plain_ns; /* of a tick in which none was run again, smoothed */
    uint64_t again_ns; /* of one that is run again, smoothed; 0: none was yet */
};

void rerun_budget_begin(struct rerun_budget *budget, uint32_t tick_rate);
/* So many ticks there is time for; UINT32_MAX where it is not known how long one takes. */
uint32_t rerun_budget_ticks(const struct rerun_budget *budget);
/* A tick took work_ns, and `again` others were run again in it. */
void rerun_budget_ran(struct rerun_budget *budget, uint64_t work_ns, uint64_t again);

#endif
