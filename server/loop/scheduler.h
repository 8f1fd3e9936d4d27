/* Which ticks are due at time t: arithmetic only, no clock and no libuv, so that the simulator runs
 * it too (spec/simulation.md "One clock"). Deadlines are absolute: start + n * 1e9 / rate
 * nanoseconds, in integers.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include <stdint.h>

struct scheduler {
    uint64_t start_ns;      /* deadline of tick number 0 of this scheduler */
    uint64_t next;          /* number of the next tick, counted from 0 */
    uint32_t rate;          /* Hz */
    uint32_t max_catchup;   /* ticks run back to back at most; beyond, time is dropped */
    uint64_t dropped_ticks; /* ticks of time dropped so far */
};

void scheduler_start(struct scheduler *scheduler, uint64_t now_ns, uint32_t rate,
                     uint32_t max_catchup);

/* Deadline of the next tick, ns. */
uint64_t scheduler_deadline_ns(const struct scheduler *scheduler);

/* How many ticks are due now (0..max_catchup). More than that: the excess is dropped by moving
 * start_ns, counted. Each tick that is run calls scheduler_ran. */
uint32_t scheduler_due(struct scheduler *scheduler, uint64_t now_ns);
void scheduler_ran(struct scheduler *scheduler);

/* How far the period that ends with the next deadline has passed, 1/65536, 0..65535. */
uint16_t scheduler_fraction(const struct scheduler *scheduler, uint64_t now_ns);

#endif
