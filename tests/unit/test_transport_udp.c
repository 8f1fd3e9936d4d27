/* Endpoints and raw datagrams over real sockets on loopback. */
#define _GNU_SOURCE
#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_net.h"
#include "tests/unit/transport_udp_rig.h"

#include <criterion/criterion.h>
#include <string.h>

Test(transport_udp, messages_cross_ipv4)
{
    check_exchange("127.0.0.1", "127.0.0.1", "127.0.0.1:");
}

Test(transport_udp, messages_cross_ipv6)
{
    check_exchange("::1", "::1", "[::1]:");
}

Test(transport_udp, one_socket_serves_both_families)
{
    check_exchange("::", "127.0.0.1", "127.0.0.1:");
    check_exchange("::", "::1", "[::1]:");
}

Test(transport_udp, hundreds_of_datagrams_move_in_batches_and_in_order)
{
    check_flood();
}

#if UDP_HAS_STAMPS
Test(transport_udp, a_message_is_received_when_the_kernel_got_it)
{
    check_arrival();
}
#endif

Test(transport_udp, a_port_in_use_is_an_error_with_a_text)
{
    struct arb_carrier *first = open_server("127.0.0.1"), *second;
    char error[200] = "";
    cr_assert_eq(arb_udp_open("127.0.0.1", arb_carrier_port(first), &second, error, sizeof error),
                 ARB_ADDRESS);
    cr_assert_null(second);
#ifndef _WIN32 /* its texts speak its user's language */
    cr_assert_not_null(strstr(error, "in use"), "%s", error);
#endif
    cr_assert_not_null(strstr(error, "127.0.0.1 port "), "%s", error);
    arb_carrier_close(first);
}

Test(transport_udp, only_numeric_addresses_of_this_machine)
{
    static const char *const wrong[] = {"", "localhost", "1.2.3", "1.2.3.4.5", "::g", "127.0.0.1 "};
    char error[200];
    struct arb_carrier *carrier;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        error[0] = '\0';
        cr_assert_eq(arb_udp_open(wrong[i], 0, &carrier, error, sizeof error), ARB_ADDRESS);
        cr_assert_null(carrier);
        cr_assert_not_null(strstr(error, "numeric"), "%s", error);
    }
#ifndef _WIN32 /* wine binds it to all of its own */
    cr_assert_eq(arb_udp_open("192.0.2.1", 0, &carrier, error, sizeof error), ARB_ADDRESS);
    cr_assert_not_null(strstr(error, "192.0.2.1"), "%s", error);
#endif
}

Test(transport_udp, the_receive_buffer_is_larger_than_the_default)
{
    struct arb_carrier *carrier = open_server("127.0.0.1");
    cr_assert_geq(arb_carrier_receive_buffer(carrier), 212992);
    cr_assert_geq(arb_carrier_fd(carrier), 0);
    cr_assert_gt(arb_carrier_port(carrier), 0);
    arb_carrier_close(carrier);
}

Test(transport_udp, datagrams_of_any_size_are_counted_and_service_goes_on)
{
    check_sizes();
}

Test(transport_udp, a_server_that_is_gone_ends_in_disconnected)
{
    struct arb_carrier *server = open_server("127.0.0.1");
    uint16_t port = arb_carrier_port(server);
    arb_carrier_close(server);
    uint64_t now_ns = 1000000000;
    struct arb_net_options options = {.peer_capacity = 1, .timeout_ms = 1000};
    struct arb_net *client = arb_net_create(open_client("127.0.0.1", port), &options, now_ns);
    cr_assert(arb_net_connect(client, now_ns));
    struct arb_net_event event = {0};
    for (int i = 0; i < 100 && event.type == ARB_NET_NONE; i++) {
        now_ns += 20000000;
        arb_net_service(client, now_ns);
        arb_net_next(client, &event);
    }
    cr_assert_eq(event.type, ARB_NET_DISCONNECTED);
    arb_net_destroy(client);
}
