/* The monotonic clock. Read by this folder and by main for the time of its start; nothing inside a
 * tick knows it (spec/simulation.md "One clock").
 */
#ifndef LOOP_CLOCK_H
#define LOOP_CLOCK_H

#include <stdint.h>

/* ns since some moment before the process. */
uint64_t loop_now_ns(void);

#endif
