/* A clock for games that have none of their own. Nothing else in the library reads one. */
#define _GNU_SOURCE
#include "shared/client/arbiter_client.h"

#ifdef _WIN32
#include <windows.h>

uint64_t arbiter_now_ns(void)
{
    const uint64_t second_ns = 1000000000U;
    LARGE_INTEGER count;
    LARGE_INTEGER per_second;
    QueryPerformanceCounter(&count);
    QueryPerformanceFrequency(&per_second);
    uint64_t ticks = (uint64_t)count.QuadPart;
    uint64_t rate = (uint64_t)per_second.QuadPart;
    return ticks / rate * second_ns + ticks % rate * second_ns / rate;
}

#else
#include <time.h>

uint64_t arbiter_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}
#endif
