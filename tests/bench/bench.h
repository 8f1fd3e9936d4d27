/* What several benches measure with. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <time.h>

/* CPU time of this process, kernel included. */
static inline uint64_t bench_cpu_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (uint64_t)at.tv_sec * 1000000000U + (uint64_t)at.tv_nsec;
}

/* As loop_now_ns. */
static inline void bench_sleep_until(uint64_t deadline_ns)
{
    struct timespec at = {.tv_sec = (time_t)(deadline_ns / 1000000000U),
                          .tv_nsec = (long)(deadline_ns % 1000000000U)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Of uint32_t, for qsort. */
static inline int bench_ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

#endif
