#define _GNU_SOURCE
#include "tools/bots/clock.h"

#include "shared/client/arbiter_client.h"

#ifdef _WIN32
#include <windows.h>
#include <timeapi.h>

void clock_begin(void)
{
    timeBeginPeriod(1);
}

/* To the millisecond: the rest of it is less than a frame's jitter anyway. */
void clock_sleep_until(uint64_t when_ns)
{
    uint64_t now_ns = arbiter_now_ns();
    if (when_ns > now_ns) {
        Sleep((DWORD)((when_ns - now_ns + 999999) / 1000000));
    }
}

#else
#include <time.h>

void clock_begin(void)
{
}

void clock_sleep_until(uint64_t when_ns)
{
    struct timespec at = {(time_t)(when_ns / 1000000000U), (long)(when_ns % 1000000000U)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
#endif
