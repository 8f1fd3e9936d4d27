/* The carrier as it is on systems without recvmmsg: the same source, compiled into this test, takes
 * the place of the library's. */
#define ARB_UDP_PLAIN
#include "shared/transport/arb_udp.c"

#include "tests/unit/transport_udp_rig.h"

Test(transport_udp_plain, is_not_batched)
{
    cr_assert_eq(BATCH, 1);
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
