#include "server/loop/histogram.h"

#include <criterion/criterion.h>

Test(histogram, durations_fall_into_their_buckets)
{
    struct loop_histogram histogram = {0};
    cr_assert_eq(loop_histogram_us(&histogram, 990), 0);
    for (int i = 0; i < 990; i++) {
        loop_histogram_add(&histogram, 55000);
    }
    for (int i = 0; i < 9; i++) {
        loop_histogram_add(&histogram, 999999);
    }
    loop_histogram_add(&histogram, 1000000);
    cr_assert_eq(histogram.count, 1000);
    cr_assert_eq(loop_histogram_us(&histogram, 500), 60);
    cr_assert_eq(loop_histogram_us(&histogram, 990), 60);
    cr_assert_eq(loop_histogram_us(&histogram, 999), 1000);
    cr_assert_eq(loop_histogram_us(&histogram, 1000), 1000, "never more than the longest");
    cr_assert_eq(loop_histogram_within_ms(&histogram), 999);
}

Test(histogram, longest_is_kept_exactly)
{
    struct loop_histogram histogram = {0};
    loop_histogram_add(&histogram, UINT64_C(40000000123));
    loop_histogram_add(&histogram, 1);
    cr_assert_eq(histogram.max_ns, UINT64_C(40000000123));
    cr_assert_eq(loop_histogram_us(&histogram, 1000), 40000000);
    cr_assert_eq(loop_histogram_us(&histogram, 500), 10);
}
