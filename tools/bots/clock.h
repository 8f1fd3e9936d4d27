/* Time of the bots' process; the library's clock is arbiter_now_ns. */
#ifndef BOTS_CLOCK_H
#define BOTS_CLOCK_H

#include <stdint.h>

/* Before the first sleep, once: asks the system for wake-ups as exact as it has them. */
void clock_begin(void);

/* Sleeps until arbiter_now_ns() is `when_ns`; returns earlier when a signal comes. */
void clock_sleep_until(uint64_t when_ns);

#endif
