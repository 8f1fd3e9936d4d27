#include "tools/sim/sim_clock.h"

#include "shared/base/arb_assert.h"

uint64_t sim_clock_ns(const struct sim_clock *clock, uint64_t now_us)
{
    ARB_ASSERT(now_us >= clock->at_us);
    uint64_t passed_us = now_us - clock->at_us;
    int64_t drift_ns = (int64_t)passed_us * clock->rate_ppm / 1000;
    return clock->local_ns + passed_us * 1000 + (uint64_t)drift_ns;
}

uint64_t sim_clock_when_us(const struct sim_clock *clock, uint64_t local_ns)
{
    if (local_ns <= clock->local_ns) return clock->at_us;
    uint64_t wanted_ns = local_ns - clock->local_ns;
    uint64_t pace = (uint64_t)(1000000 + (int64_t)clock->rate_ppm);
    uint64_t when_us = clock->at_us + wanted_ns / pace * 1000 + wanted_ns % pace * 1000 / pace;
    /* The divisions were rounded down twice, the clock itself once. */
    while (sim_clock_ns(clock, when_us) < local_ns) {
        when_us++;
    }
    return when_us;
}

void sim_clock_set_rate(struct sim_clock *clock, uint64_t now_us, int32_t rate_ppm)
{
    ARB_ASSERT(rate_ppm >= -SIM_CLOCK_PPM_MAX && rate_ppm <= SIM_CLOCK_PPM_MAX);
    clock->local_ns = sim_clock_ns(clock, now_us);
    clock->at_us = now_us;
    clock->rate_ppm = rate_ppm;
}
