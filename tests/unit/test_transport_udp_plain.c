/* The carrier as it is on systems without recvmmsg: the same sources, compiled into this test, take
 * the place of the library's. */
#define ARB_UDP_PLAIN
#include "shared/transport/arb_socket_unix.c"
#include "shared/transport/arb_udp.c"

#include "tests/unit/transport_udp_rig.h"

Test(transport_udp_plain, is_not_batched)
{
    cr_assert_eq(ARB_SOCKET_BATCH, 1);
}

Test(transport_udp_plain, messages_cross_both_families)
{
    check_exchange("127.0.0.1", "127.0.0.1", "127.0.0.1:");
    check_exchange("::", "::1", "[::1]:");
}

Test(transport_udp_plain, hundreds_of_datagrams_arrive_in_order)
{
    check_flood();
}

Test(transport_udp_plain, datagrams_of_any_size_are_counted_and_service_goes_on)
{
    check_sizes();
}

#if UDP_HAS_STAMPS
Test(transport_udp_plain, a_message_is_received_when_the_kernel_got_it)
{
    check_arrival();
}
#endif

#define TIME_MOST (sizeof(time_t) == 8 ? (time_t)INT64_MAX : (time_t)INT32_MAX)

/* Moments of the wall clock, which may be set at any time. */
Test(transport_udp_plain, a_wait_is_a_difference_that_can_be_or_none)
{
    static const struct {
        struct timespec stamp, now;
        uint64_t wait_ns;
    } cases[] = {
        {{1000, 5}, {1000, 5}, 0},
        {{1000, 5}, {1000, 6}, 1},
        {{1000, 999999999}, {1001, 4}, 5},
        {{1000, 800000000}, {1001, 50000000}, 250000000},
        {{1000, 800000000}, {1001, 50000001}, 0}, /* a stall */
        {{1000, 6}, {1000, 5}, 0},                /* set back a little, an hour, a day */
        {{4600, 0}, {1000, 0}, 0},
        {{87400, 0}, {1000, 0}, 0},
        {{1000, 0}, {4600, 0}, 0}, /* set forward an hour, a day, to the end of time */
        {{1000, 0}, {87400, 0}, 0},
        {{0, 0}, {TIME_MOST, 0}, 0},
        {{TIME_MOST, 0}, {0, 999999999}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(wait_between(cases[i].stamp, cases[i].now), cases[i].wait_ns, "case %zu", i);
    }
}
