#include "server/loop/scheduler.h"

#include "shared/base/arb_assert.h"

static const uint64_t second_ns = 1000000000U;

/* floor(ticks * 1e9 / rate) without overflow of the product. */
static uint64_t ticks_to_ns(uint64_t ticks, uint32_t rate)
{
    return ticks / rate * second_ns + ticks % rate * second_ns / rate;
}

/* Ticks 0.. whose place, floor(n * 1e9 / rate), is at most `elapsed_ns`: ceil((elapsed + 1) * rate
 * / 1e9). */
static uint64_t ticks_within(uint64_t elapsed_ns, uint32_t rate)
{
    uint64_t end = elapsed_ns + 1;
    uint64_t part = end % second_ns * rate;
    return end / second_ns * rate + (part + second_ns - 1) / second_ns;
}

void scheduler_start(struct scheduler *scheduler, uint64_t now_ns, uint32_t rate,
                     uint32_t max_catchup)
{
    ARB_ASSERT(rate > 0 && max_catchup > 0);
    *scheduler = (struct scheduler){.start_ns = now_ns, .rate = rate, .max_catchup = max_catchup};
}

uint64_t scheduler_deadline_ns(const struct scheduler *scheduler)
{
    return scheduler->start_ns + ticks_to_ns(scheduler->next, scheduler->rate);
}

uint32_t scheduler_due(struct scheduler *scheduler, uint64_t now_ns)
{
    if (now_ns < scheduler_deadline_ns(scheduler)) return 0;
    uint64_t within = ticks_within(now_ns - scheduler->start_ns, scheduler->rate);
    ARB_ASSERT(within > scheduler->next);
    uint64_t due = within - scheduler->next;
    if (due <= scheduler->max_catchup) return (uint32_t)due;
    uint64_t excess = due - scheduler->max_catchup;
    /* Rounded up: after the move the first tick beyond the catch-up lies in the future for certain.
     */
    scheduler->start_ns += ticks_to_ns(excess, scheduler->rate) + 1;
    scheduler->dropped_ticks += excess;
    return scheduler->max_catchup;
}

void scheduler_ran(struct scheduler *scheduler)
{
    scheduler->next++;
}

uint16_t scheduler_fraction(const struct scheduler *scheduler, uint64_t now_ns)
{
    uint64_t deadline = scheduler_deadline_ns(scheduler);
    if (now_ns >= deadline) return UINT16_MAX;
    uint64_t left = deadline - now_ns;
    uint64_t period = second_ns / scheduler->rate;
    if (left >= period) return 0;
    return (uint16_t)((period - left) * UINT64_C(65536) / period);
}
