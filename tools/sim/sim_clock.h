/* A clock of one simulated process: its own beginning and its own rate against the simulator's time
 * (spec: issue "whole system in one simulator"). Integers only; it never goes back.
 */
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include <stdint.h>

enum { SIM_CLOCK_PPM_MAX = 20000 };

struct sim_clock {
    uint64_t local_ns; /* what it showed ... */
    uint64_t at_us;    /* ... at this time of the simulator */
    int32_t rate_ppm;  /* too fast (+) or too slow (-), in millionths */
};

/* What it shows at `now_us`, >= at_us. */
uint64_t sim_clock_ns(const struct sim_clock *clock, uint64_t now_us);

/* First microsecond of the simulator's time at which it shows `local_ns` or more. */
uint64_t sim_clock_when_us(const struct sim_clock *clock, uint64_t local_ns);

/* Goes on from what it shows now at another rate, at most SIM_CLOCK_PPM_MAX either way. */
void sim_clock_set_rate(struct sim_clock *clock, uint64_t now_us, int32_t rate_ppm);

#endif
