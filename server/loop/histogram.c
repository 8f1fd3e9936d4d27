#include "server/loop/histogram.h"

#include "shared/base/arb_assert.h"

static const uint64_t fine_us = 10, coarse_us = 100, ms_us = 1000;

static uint32_t bucket_of(uint64_t us)
{
    if (us < ms_us) return (uint32_t)(us / fine_us);
    uint64_t coarse = (us - ms_us) / coarse_us;
    return LOOP_HISTOGRAM_FINE +
           (uint32_t)(coarse < LOOP_HISTOGRAM_COARSE ? coarse : LOOP_HISTOGRAM_COARSE);
}

static uint64_t upper_us(uint32_t bucket)
{
    if (bucket < LOOP_HISTOGRAM_FINE) return (bucket + 1) * fine_us;
    return ms_us + (bucket - LOOP_HISTOGRAM_FINE + 1) * coarse_us;
}

void loop_histogram_add(struct loop_histogram *histogram, uint64_t ns)
{
    histogram->buckets[bucket_of(ns / 1000)]++;
    histogram->count++;
    if (ns > histogram->max_ns) histogram->max_ns = ns;
}

uint64_t loop_histogram_within_ms(const struct loop_histogram *histogram)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < LOOP_HISTOGRAM_FINE; i++) {
        sum += histogram->buckets[i];
    }
    return sum;
}

uint64_t loop_histogram_us(const struct loop_histogram *histogram, uint32_t per_mille)
{
    ARB_ASSERT(per_mille <= 1000);
    uint64_t wanted = (histogram->count * per_mille + 999) / 1000;
    uint64_t sum = 0, max_us = histogram->max_ns / 1000;
    if (histogram->count == 0) return 0;
    for (uint32_t i = 0; i < LOOP_HISTOGRAM_BUCKETS - 1; i++) {
        sum += histogram->buckets[i];
        if (sum >= wanted) return upper_us(i) < max_us ? upper_us(i) : max_us;
    }
    return max_us;
}
