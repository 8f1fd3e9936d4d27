#include "server/loop/scheduler.h"

#include <criterion/criterion.h>

#define SECOND UINT64_C(1000000000)

/* A loop on a virtual clock: sleeps until the deadline (and `oversleep_ns`), runs what is due, each
 * tick taking `work_ns`. Returns the ticks run before `end_ns`. */
static uint64_t play(struct scheduler *scheduler, uint64_t *clock, uint64_t end_ns,
                     uint64_t work_ns, uint64_t oversleep_ns)
{
    uint64_t ran = 0;
    while (*clock < end_ns) {
        uint64_t deadline = scheduler_deadline_ns(scheduler);
        if (*clock < deadline) *clock = deadline + oversleep_ns;
        for (uint32_t due = scheduler_due(scheduler, *clock); due > 0; due--) {
            scheduler_ran(scheduler);
            *clock += work_ns;
            ran++;
        }
    }
    return ran;
}

Test(scheduler, minute_with_work_has_every_tick)
{
    static const struct {
        uint32_t rate;
        uint64_t work_ns, oversleep_ns;
    } rows[] = {
        {60, 5000000, 0},   {60, 0, 0},       {60, 5000000, 900000}, {20, 5000000, 60000},
        {128, 5000000, 60}, {128, 0, 800000}, {60, 16000000, 70000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct scheduler scheduler;
        uint64_t clock = 77 * SECOND + 123456789;
        scheduler_start(&scheduler, clock, rows[i].rate, 8);
        uint64_t ran =
            play(&scheduler, &clock, clock + 60 * SECOND, rows[i].work_ns, rows[i].oversleep_ns);
        uint64_t wanted = (uint64_t)rows[i].rate * 60;
        cr_assert(ran + 1 >= wanted && ran <= wanted + 1, "row %zu: %llu ticks", i,
                  (unsigned long long)ran);
        cr_assert_eq(scheduler.dropped_ticks, 0);
    }
}

Test(scheduler, ten_minutes_drift_less_than_a_tick)
{
    static const uint32_t rates[] = {20, 60, 61, 128};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct scheduler scheduler;
        uint64_t start = 5 * SECOND + 1;
        uint64_t clock = start;
        scheduler_start(&scheduler, clock, rates[i], 8);
        play(&scheduler, &clock, start + 600 * SECOND, 5000000, 150000);
        uint64_t deadline = scheduler_deadline_ns(&scheduler);
        uint64_t exact = start + scheduler.next * SECOND / rates[i];
        cr_assert_eq(deadline, exact, "rate %u", rates[i]);
    }
}

Test(scheduler, late_tick_catches_up_back_to_back)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, 1000, 60, 8);
    cr_assert_eq(scheduler_due(&scheduler, 999), 0);
    cr_assert_eq(scheduler_due(&scheduler, 1000), 1);
    cr_assert_eq(scheduler_due(&scheduler, 1000 + 3 * SECOND / 60 + 1), 4);
    for (int i = 0; i < 4; i++) {
        scheduler_ran(&scheduler);
    }
    cr_assert_eq(scheduler_due(&scheduler, 1000 + 3 * SECOND / 60 + 1), 0);
    cr_assert_eq(scheduler.dropped_ticks, 0);
    cr_assert_eq(scheduler_deadline_ns(&scheduler), 1000 + 4 * SECOND / 60);
}

Test(scheduler, beyond_the_catchup_time_is_dropped_and_counted)
{
    static const uint32_t rates[] = {20, 60, 61, 127, 128};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        uint32_t rate = rates[i];
        struct scheduler scheduler;
        scheduler_start(&scheduler, 0, rate, 8);
        uint64_t now = 40 * SECOND + 1; /* 40 s of SIGSTOP */
        cr_assert_eq(scheduler_due(&scheduler, now), 8);
        cr_assert_eq(scheduler.dropped_ticks, (uint64_t)rate * 40 + 1 - 8);
        for (int j = 0; j < 8; j++) {
            scheduler_ran(&scheduler);
        }
        cr_assert_eq(scheduler_due(&scheduler, now), 0, "no burst after the catch-up");
        uint64_t deadline = scheduler_deadline_ns(&scheduler);
        cr_assert(deadline > now && deadline <= now + SECOND / rate + 2);
    }
}

Test(scheduler, no_rounding_makes_a_tick_due_after_the_catchup)
{
    for (uint32_t rate = 20; rate <= 128; rate++) {
        for (uint64_t n = 1000; n < 1000 + rate; n++) {
            struct scheduler scheduler;
            scheduler_start(&scheduler, 0, rate, 8);
            uint64_t now = n * SECOND / rate - 1; /* just before a deadline */
            cr_assert_eq(scheduler_due(&scheduler, now), 8);
            scheduler.next += 8;
            cr_assert_eq(scheduler_due(&scheduler, now), 0, "rate %u, tick %llu", rate,
                         (unsigned long long)n);
        }
    }
}

Test(scheduler, nothing_is_dropped_at_exactly_the_catchup)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, 0, 60, 8);
    cr_assert_eq(scheduler_due(&scheduler, 7 * SECOND / 60), 8);
    cr_assert_eq(scheduler.dropped_ticks, 0);
    cr_assert_eq(scheduler_due(&scheduler, 8 * SECOND / 60), 8);
    cr_assert_eq(scheduler.dropped_ticks, 1);
}

Test(scheduler, fraction_says_how_far_the_period_has_passed)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, SECOND, 50, 8); /* 20 ms */
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND - 20000000), 0);
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND - 25000000), 0);
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND - 10000000), 32768);
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND - 5000000), 49152);
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND), 65535);
    scheduler_ran(&scheduler);
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND), 0);
    cr_assert_eq(scheduler_fraction(&scheduler, SECOND + 15000000), 49152);
}

Test(scheduler, years_do_not_overflow)
{
    struct scheduler scheduler;
    scheduler_start(&scheduler, 0, 128, 8);
    scheduler.next = UINT64_C(128) * 3600 * 24 * 365 * 100;
    uint64_t century = UINT64_C(3600) * 24 * 365 * 100 * SECOND;
    cr_assert_eq(scheduler_deadline_ns(&scheduler), century);
    cr_assert_eq(scheduler_due(&scheduler, century - 1), 0);
    cr_assert_eq(scheduler_due(&scheduler, century), 1);
}
