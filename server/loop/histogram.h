/* Durations in fixed buckets: 10 us wide up to 1 ms, 100 us up to 50 ms, all longer ones in the
 * last. Adding allocates nothing and costs a few instructions, so every tick can be measured.
 */
#ifndef LOOP_HISTOGRAM_H
#define LOOP_HISTOGRAM_H

#include <stdint.h>

enum {
    LOOP_HISTOGRAM_FINE = 100,   /* of 10 us */
    LOOP_HISTOGRAM_COARSE = 490, /* of 100 us */
    LOOP_HISTOGRAM_BUCKETS = LOOP_HISTOGRAM_FINE + LOOP_HISTOGRAM_COARSE + 1,
};

struct loop_histogram {
    uint64_t buckets[LOOP_HISTOGRAM_BUCKETS];
    uint64_t count, max_ns;
};

void loop_histogram_add(struct loop_histogram *histogram, uint64_t ns);

/* How many were shorter than 1 ms. */
uint64_t loop_histogram_within_ms(const struct loop_histogram *histogram);

/* Upper edge (us) of the bucket that holds the given per mille of all, and never more than the
 * maximum; 0 when empty. */
uint64_t loop_histogram_us(const struct loop_histogram *histogram, uint32_t per_mille);

#endif
