/* What running ticks again may take: shares, what is kept, and what a liar gets of it. */
#include "server/loop/rerun_budget.h"

#include <criterion/criterion.h>

enum { RATE = 60, TICK_NS = 1000000000 / RATE, WINDOW = 30 };

static struct rerun_budget budget;

static void setup(void)
{
    rerun_budget_begin(&budget, RATE);
}

TestSuite(rerun_budget, .init = setup);

/* Ticks in each of which somebody asks for the whole window, and gets what there is time for.
 * Returns the mean work of the second half. */
static uint64_t play(uint32_t ticks, uint64_t plain_ns, uint64_t again_ns, uint32_t *shortest)
{
    uint64_t sum_ns = 0;
    *shortest = WINDOW;
    for (uint32_t i = 0; i < ticks; i++) {
        uint32_t again = rerun_budget_ticks(&budget);
        if (again > WINDOW) again = WINDOW;
        if (again < *shortest) *shortest = again;
        uint64_t work_ns = plain_ns + again * again_ns;
        rerun_budget_ran(&budget, work_ns, again);
        if (i >= ticks / 2) sum_ns += work_ns;
    }
    return sum_ns / (ticks - ticks / 2);
}

Test(rerun_budget, what_fits_half_a_tick_is_never_cut)
{
    uint32_t shortest;
    rerun_budget_ran(&budget, 1000000, 0);
    play(36000, 1000000, TICK_NS / 2 / WINDOW, &shortest);
    cr_expect_eq(shortest, WINDOW);
}

Test(rerun_budget, what_does_not_fit_takes_half_a_tick_in_the_long_run)
{
    static const uint64_t again_ns[] = {300000, 500000, 1000000, 5000000, 20000000, 100000000};
    for (size_t i = 0; i < sizeof again_ns / sizeof again_ns[0]; i++) {
        uint32_t shortest;
        setup();
        rerun_budget_ran(&budget, 1000000, 0);
        uint64_t mean_ns = play(36000, 1000000, again_ns[i], &shortest);
        cr_expect_lt(shortest, WINDOW, "%lu", (unsigned long)again_ns[i]);
        cr_expect_leq(mean_ns, 1000000 + TICK_NS / 2 + TICK_NS / 20, "%lu ns: %lu",
                      (unsigned long)again_ns[i], (unsigned long)mean_ns);
    }
}

Test(rerun_budget, a_burst_passes_after_a_quiet_second)
{
    uint32_t shortest;
    rerun_budget_ran(&budget, 1000000, 0);
    play(600, 1000000, 1000000, &shortest);
    cr_expect_lt(shortest, WINDOW);
    for (uint32_t i = 0; i < RATE; i++)
        rerun_budget_ran(&budget, 1000000, 0);
    cr_expect_geq(rerun_budget_ticks(&budget), 10 * WINDOW);
}

/* One tick may be held up by the machine. */
Test(rerun_budget, what_a_tick_takes_is_not_judged_by_one)
{
    uint32_t shortest;
    rerun_budget_ran(&budget, 100000, 0);
    play(600, 100000, 10000, &shortest);
    rerun_budget_ran(&budget, 50000000, 1);
    cr_expect_geq(rerun_budget_ticks(&budget), WINDOW);
    play(60, 100000, 10000, &shortest);
    cr_expect_eq(shortest, WINDOW);
}

Test(rerun_budget, ticks_that_take_no_time_are_not_divided_by)
{
    rerun_budget_ran(&budget, 0, 30);
    rerun_budget_ran(&budget, 0, 1);
    cr_expect_gt(rerun_budget_ticks(&budget), WINDOW);
}
