/* The floor of the scheduler's figures: a bare timerfd loop at 60 Hz on this machine, printing what
 * arbiterd's `ticks` line prints. usage: bench_timer_floor [seconds]
 */
#define _GNU_SOURCE
#include "server/loop/clock.h"
#include "server/loop/histogram.h"
#include "server/loop/scheduler.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { RATE = 60 };

static void sleep_until(int fd, uint64_t deadline_ns)
{
    const uint64_t second_ns = 1000000000U;
    struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(deadline_ns / second_ns),
                                           .tv_nsec = (long)(deadline_ns % second_ns)}};
    uint64_t expirations;
    if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL) != 0 ||
        read(fd, &expirations, sizeof expirations) != sizeof expirations) {
        perror("timerfd");
        exit(1);
    }
}

int main(int argc, char **argv)
{
    uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 60;
    static struct loop_histogram late;
    struct scheduler scheduler;
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    uint64_t start_ns = loop_now_ns();
    scheduler_start(&scheduler, start_ns, RATE, 8);
    while (loop_now_ns() < start_ns + seconds * 1000000000U) {
        sleep_until(fd, scheduler_deadline_ns(&scheduler));
        uint64_t now_ns = loop_now_ns();
        for (uint32_t due = scheduler_due(&scheduler, now_ns); due > 0; due--) {
            loop_histogram_add(&late, now_ns - scheduler_deadline_ns(&scheduler));
            scheduler_ran(&scheduler);
        }
    }
    printf("run %llu within_1ms_percent %.3f late_p50_us %llu late_p99_us %llu late_max_us %llu\n",
           (unsigned long long)late.count,
           100.0 * (double)loop_histogram_within_ms(&late) / (double)late.count,
           (unsigned long long)loop_histogram_us(&late, 500),
           (unsigned long long)loop_histogram_us(&late, 990),
           (unsigned long long)(late.max_ns / 1000));
    close(fd);
    return 0;
}
