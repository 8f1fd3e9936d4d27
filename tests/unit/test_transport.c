/* Endpoints over the simulated network: what the interface promises. */
#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/transport/arb_net.h"
#include "tests/unit/transport_rig.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static const struct arb_link near_link = {.delay_us = 10000};
static const struct arb_link bad_link = {.delay_us = 40000,
                                         .jitter_us = 30000,
                                         .loss_ppm = 200000,
                                         .duplicate_ppm = 100000,
                                         .reorder_ppm = 200000};

static void put32(uint8_t *bytes, uint32_t value)
{
    memcpy(bytes, &value, 4);
}

static uint32_t get32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, 4);
    return value;
}

Test(transport, connects_exchanges_and_disconnects_with_a_reason)
{
    struct rig rig;
    rig_start(&rig, 1, 4, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    struct arb_net_event event = rig_connect(&rig, 0);
    cr_assert_eq(event.peer, 0);
    cr_assert_eq(event.epoch, 1);
    cr_assert_eq(arb_net_connected_count(rig.server), 1);
    cr_assert_eq(arb_net_connected_count(client), 1);
    char text[ARB_NET_ADDRESS_TEXT];
    arb_net_peer_address(rig.server, 0, text);
    cr_assert_str_eq(text, "sim:1");

    cr_assert(arb_net_send(client, 0, ARB_NET_CHANNEL_RELIABLE, (const uint8_t *)"up", 2));
    cr_assert(arb_net_send(rig.server, 0, ARB_NET_CHANNEL_UNSEQUENCED, (const uint8_t *)"down", 4));
    rig_step(&rig, 30000);
    cr_assert(rig_find(rig.server, ARB_NET_MESSAGE, &event));
    cr_assert_eq(event.size, 2);
    cr_assert_eq(memcmp(event.bytes, "up", 2), 0);
    cr_assert_eq(event.channel, ARB_NET_CHANNEL_RELIABLE);
    cr_assert_eq(event.received_ns, rig_ns(&rig) - 20000000, "10 ms on the way, 20 unread");
    cr_assert(rig_find(client, ARB_NET_MESSAGE, &event));
    cr_assert_eq(event.size, 4);
    cr_assert_eq(event.channel, ARB_NET_CHANNEL_UNSEQUENCED);

    cr_assert(arb_net_send(rig.server, 0, ARB_NET_CHANNEL_RELIABLE, (const uint8_t *)"bye", 3));
    arb_net_disconnect(rig.server, 0, 77);
    cr_assert_not(arb_net_send(rig.server, 0, 0, (const uint8_t *)"x", 1));
    bool told = false, delivered = false, done = false;
    for (int i = 0; i < 100; i++) {
        rig_step(&rig, 10000);
        while (arb_net_next(client, &event)) {
            delivered |= event.type == ARB_NET_MESSAGE && event.size == 3;
            if (event.type == ARB_NET_DISCONNECTED) {
                cr_assert(delivered, "what was queued arrives before the end");
                cr_assert_eq(event.data, 77);
                told = true;
            }
        }
        done |= rig_find(rig.server, ARB_NET_DISCONNECTED, &event);
    }
    cr_assert(told && done);
    cr_assert_eq(arb_net_connected_count(rig.server), 0);
    cr_assert_eq(arb_net_connected_count(client), 0);
    rig_stop(&rig);
}

Test(transport, first_messages_travel_with_the_end_of_the_handshake)
{
    struct rig rig;
    rig_start(&rig, 2, 4, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    struct arb_net_event event;
    cr_assert(arb_net_connect(client, rig_ns(&rig)));
    rig_step(&rig, 20000);
    rig_step(&rig, 20000);
    cr_assert(rig_find(client, ARB_NET_CONNECTED, &event));
    arb_net_send(client, 0, ARB_NET_CHANNEL_RELIABLE, (const uint8_t *)"hello", 5);
    arb_net_send(client, 0, ARB_NET_CHANNEL_UNSEQUENCED, (const uint8_t *)"input", 5);
    rig_step(&rig, 20000);
    cr_assert(arb_net_next(rig.server, &event));
    cr_assert_eq(event.type, ARB_NET_CONNECTED);
    int messages = 0;
    while (arb_net_next(rig.server, &event)) {
        messages += event.type == ARB_NET_MESSAGE;
    }
    cr_assert_eq(messages, 2);
    rig_stop(&rig);
}

static void take_in_order(struct arb_net *net, uint32_t *next)
{
    struct arb_net_event event;
    while (arb_net_next(net, &event)) {
        if (event.type != ARB_NET_MESSAGE) continue;
        cr_assert_eq(get32(event.bytes), *next);
        ++*next;
    }
}

static void check_reliable(uint32_t clock_start_ms)
{
    enum { MESSAGES = 1500 };
    struct rig rig;
    struct arb_net_options options = {.timeout_ms = 60000, .clock_start_ms = clock_start_ms};
    rig_start(&rig, 3, 4, options);
    struct arb_net *client = rig_add_client(&rig, bad_link, options);
    rig_connect(&rig, 0);
    uint32_t sent = 0, up = 0, down = 0;
    for (int i = 0; i < 8000 && (up < MESSAGES || down < MESSAGES); i++) {
        if (i % 4 == 0 && sent < MESSAGES) {
            uint8_t bytes[200] = {0};
            put32(bytes, sent++);
            cr_assert(arb_net_send(client, 0, 0, bytes, sizeof bytes));
            cr_assert(arb_net_send(rig.server, 0, 0, bytes, sizeof bytes));
        }
        rig_step(&rig, 10000);
        take_in_order(rig.server, &up);
        take_in_order(client, &down);
    }
    cr_assert_eq(up, MESSAGES);
    cr_assert_eq(down, MESSAGES);
    cr_assert_gt(arb_simnet_counters(rig.sim)->lost, 1000);
    cr_assert_gt(arb_simnet_counters(rig.sim)->duplicated, 500);
    cr_assert_gt(arb_simnet_counters(rig.sim)->reordered, 500);
    rig_stop(&rig);
}

Test(transport, reliable_arrives_once_and_in_order_over_a_bad_link)
{
    check_reliable(0);
    check_reliable(0U - 30000); /* the clock of 32 bits ends in the midst of it */
}

Test(transport, unsequenced_is_never_doubled_and_keeps_its_bytes)
{
    enum { MESSAGES = 5000 };
    static uint8_t seen[MESSAGES];
    struct rig rig;
    rig_start(&rig, 4, 4, (struct arb_net_options){.timeout_ms = 60000});
    struct arb_net *client =
        rig_add_client(&rig, bad_link, (struct arb_net_options){.timeout_ms = 60000});
    rig_connect(&rig, 0);
    uint32_t received = 0;
    for (uint32_t i = 0; i < MESSAGES + 200; i++) {
        if (i < MESSAGES) {
            uint8_t bytes[ARB_NET_MESSAGE_MAX];
            size_t size = 4 + i % (ARB_NET_MESSAGE_MAX - 3);
            memset(bytes, (int)(i & 0xFF), size);
            put32(bytes, i);
            cr_assert(arb_net_send(rig.server, 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size));
        }
        rig_step(&rig, 8000);
        struct arb_net_event event;
        while (arb_net_next(client, &event)) {
            if (event.type != ARB_NET_MESSAGE) continue;
            uint32_t number = get32(event.bytes);
            cr_assert_lt(number, MESSAGES);
            cr_assert_eq(seen[number], 0, "message %u came twice", number);
            cr_assert_eq(event.size, 4 + number % (ARB_NET_MESSAGE_MAX - 3));
            for (size_t b = 4; b < event.size; b++) {
                cr_assert_eq(event.bytes[b], number & 0xFF);
            }
            seen[number] = 1;
            received++;
        }
    }
    /* 20 % loss, and ENet drops what comes from before its window of 1,024 moved on. */
    cr_assert_gt(received, MESSAGES * 3 / 4);
    cr_assert_lt(received, MESSAGES * 9 / 10);
    rig_stop(&rig);
}

/* pitfalls.md: ENet's throttle. The client's polls stall and the round trip leaps. */
Test(transport, no_packet_is_dropped_when_round_trips_vary)
{
    struct rig rig;
    rig_start(&rig, 5, 4, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    rig_connect(&rig, 0);
    struct arb_rng rng;
    arb_rng_seed(&rng, 5, 0);
    uint32_t sent = 0, up = 0, down = 0;
    uint64_t client_polls_us = 0;
    for (uint32_t ms = 0; ms < 62000; ms++) {
        if (ms % 1000 == 0) {
            struct arb_link link = {.delay_us = ms / 1000 % 3 == 1 ? 150000 : 5000,
                                    .jitter_us = 40000};
            arb_simnet_set_links(arb_net_carrier(client), link, link);
        }
        if (ms % 33 == 0 && ms < 60000) {
            arb_net_send(rig.server, 0, ARB_NET_CHANNEL_UNSEQUENCED, (const uint8_t *)"s", 1);
            arb_net_send(client, 0, ARB_NET_CHANNEL_UNSEQUENCED, (const uint8_t *)"c", 1);
            sent++;
        }
        rig_advance(&rig, 1000);
        struct arb_net_event event;
        arb_net_service(rig.server, rig_ns(&rig));
        while (arb_net_next(rig.server, &event)) {
            up += event.type == ARB_NET_MESSAGE;
        }
        if (rig.now_us < client_polls_us) continue;
        client_polls_us = rig.now_us + (arb_rng_below(&rng, 10) == 0 ? 60000 : 16000);
        arb_net_service(client, rig_ns(&rig));
        while (arb_net_next(client, &event)) {
            down += event.type == ARB_NET_MESSAGE;
        }
    }
    cr_assert_eq(up, sent);
    cr_assert_eq(down, sent);
    rig_stop(&rig);
}

Test(transport, the_longest_message_is_one_datagram)
{
    struct rig rig;
    rig_start(&rig, 6, 4, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    rig_connect(&rig, 0);
    for (int i = 0; i < 200; i++) {
        rig_step(&rig, 10000);
    }
    static const uint8_t bytes[ARB_NET_MESSAGE_MAX];
    for (uint8_t channel = 0; channel < ARB_NET_CHANNELS; channel++) {
        uint64_t before = arb_net_counters(rig.server)->datagrams_out;
        uint64_t bytes_before = arb_net_counters(rig.server)->bytes_out;
        cr_assert(arb_net_send(rig.server, 0, channel, bytes, sizeof bytes));
        arb_net_flush(rig.server, rig_ns(&rig));
        cr_assert_eq(arb_net_counters(rig.server)->datagrams_out, before + 1);
        cr_assert_leq(arb_net_counters(rig.server)->bytes_out, bytes_before + ARB_NET_MTU);
        rig_step(&rig, 20000);
        struct arb_net_event event;
        cr_assert(rig_find(client, ARB_NET_MESSAGE, &event));
        cr_assert_eq(event.size, sizeof bytes);
    }
    cr_assert_eq(arb_net_counters(client)->refused_command, 0);
    rig_stop(&rig);
}

Test(transport, a_warm_exchange_allocates_nothing)
{
    enum { CLIENTS = 16 };
    struct rig rig;
    rig_start(&rig, 7, CLIENTS, (struct arb_net_options){0});
    struct arb_link link = {.delay_us = 20000, .jitter_us = 5000, .loss_ppm = 10000};
    for (uint32_t i = 0; i < CLIENTS; i++) {
        rig_add_client(&rig, link, (struct arb_net_options){0});
        rig_connect(&rig, i);
    }
    static const uint8_t bytes[1000];
    uint64_t warm = 0;
    uint32_t received = 0;
    for (int round = 0; round < 1300; round++) {
        if (round == 300) {
            warm = arb_mem_count();
            received = 0;
        }
        for (uint32_t i = 0; i < CLIENTS; i++) {
            arb_net_send(rig.server, i, ARB_NET_CHANNEL_UNSEQUENCED, bytes, sizeof bytes);
            if (round % 10 == 0) arb_net_send(rig.server, i, ARB_NET_CHANNEL_RELIABLE, bytes, 100);
            arb_net_send(rig.clients[i], 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, 60);
        }
        rig_step(&rig, 16667);
        struct arb_net_event event;
        while (arb_net_next(rig.server, &event)) {
            received += event.type == ARB_NET_MESSAGE;
        }
        for (uint32_t i = 0; i < CLIENTS; i++) {
            while (arb_net_next(rig.clients[i], &event)) {
                received += event.type == ARB_NET_MESSAGE;
            }
        }
    }
    cr_assert_eq(arb_mem_count(), warm);
    cr_assert_gt(received, 1000 * CLIENTS * 2 * 97 / 100);
    rig_stop(&rig);
}

Test(transport, a_peer_that_acknowledges_nothing_is_cut_at_its_cap_and_memory_stays)
{
    struct rig rig;
    rig_start(&rig, 8, 4,
              (struct arb_net_options){.reliable_bytes_max = 64 * 1024, .full_queue_data = 9});
    struct arb_net *reader = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    struct arb_net *sleeper = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    static const uint8_t bytes[936];
    uint64_t count = 0;
    for (int turn = 0; turn < 5; turn++) {
        if (turn == 0) rig_connect(&rig, 0);
        struct arb_net_event event = rig_connect(&rig, 1);
        uint32_t place = event.peer;
        int accepted = 0;
        while (arb_net_send(rig.server, place, ARB_NET_CHANNEL_RELIABLE, bytes, sizeof bytes)) {
            accepted++;
        }
        cr_assert_eq(accepted, 65); /* 65 * (936 + 64) <= 65,536 */
        cr_assert_not(arb_net_send(rig.server, place, 1, bytes, 1));
        cr_assert(rig_find(rig.server, ARB_NET_DISCONNECTED, &event));
        cr_assert_eq(event.peer, place);
        cr_assert_eq(arb_net_connected_count(rig.server), 1);
        for (int i = 0; i < 100; i++) {
            rig_step(&rig, 10000);
            rig_drain(reader);
        }
        cr_assert(rig_find(sleeper, ARB_NET_DISCONNECTED, &event));
        cr_assert_eq(event.data, 9);
        if (turn == 1) count = arb_mem_count();
    }
    cr_assert_eq(arb_mem_count(), count);
    cr_assert_eq(arb_net_counters(rig.server)->cut_full_queue, 5);
    cr_assert(arb_net_send(rig.server, 0, 0, bytes, 1), "the other peer is untouched");
    rig_stop(&rig);
}

Test(transport, what_a_cut_peer_had_sent_is_not_told_of_the_next_in_its_place)
{
    struct rig rig;
    struct arb_net_event event;
    rig_start(&rig, 17, 1, (struct arb_net_options){0});
    struct arb_net *old = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    struct arb_net *next = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    cr_assert_eq(rig_connect(&rig, 0).epoch, 1);
    arb_net_send(old, 0, ARB_NET_CHANNEL_RELIABLE, (const uint8_t *)"old", 3);
    rig_step(&rig, 30000);
    arb_net_cut(rig.server, 0); /* its message waits to be taken */
    cr_assert(arb_net_connect(next, rig_ns(&rig)));
    for (int i = 0; i < 20; i++) {
        rig_step(&rig, 10000);
    }
    arb_net_send(next, 0, ARB_NET_CHANNEL_RELIABLE, (const uint8_t *)"next", 4);
    rig_step(&rig, 30000);
    cr_assert(arb_net_next(rig.server, &event));
    cr_assert_eq(event.type, ARB_NET_CONNECTED);
    cr_assert_eq(event.peer, 0);
    cr_assert_eq(event.epoch, 2);
    cr_assert(arb_net_next(rig.server, &event));
    cr_assert_eq(event.type, ARB_NET_MESSAGE);
    cr_assert_eq(event.epoch, 2);
    cr_assert_eq(event.size, 4, "of the next one");
    cr_assert_not(arb_net_next(rig.server, &event));
    rig_stop(&rig);
}

Test(transport, a_stall_of_forty_seconds_drops_nobody)
{
    struct rig rig;
    rig_start(&rig, 9, 4, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    rig_connect(&rig, 0);
    static const uint8_t bytes[100];
    arb_net_send(rig.server, 0, ARB_NET_CHANNEL_RELIABLE, bytes, sizeof bytes);
    arb_net_flush(rig.server, rig_ns(&rig));
    /* Both processes stand still with a reliable message under way. */
    rig_advance(&rig, 40000000);
    for (int i = 0; i < 300; i++) {
        rig_step(&rig, 16667);
        struct arb_net_event event;
        while (arb_net_next(rig.server, &event)) {
            cr_assert_neq(event.type, ARB_NET_DISCONNECTED);
        }
        while (arb_net_next(client, &event)) {
            cr_assert_neq(event.type, ARB_NET_DISCONNECTED);
        }
    }
    cr_assert_eq(arb_net_connected_count(rig.server), 1);
    rig_stop(&rig);
}

static void check_silence(uint32_t clock_start_ms)
{
    struct rig rig;
    struct arb_net_options options = {.timeout_ms = 3000, .clock_start_ms = clock_start_ms};
    rig_start(&rig, 10, 4, options);
    struct arb_net *client = rig_add_client(&rig, near_link, options);
    rig_connect(&rig, 0);
    struct arb_net_event event;
    for (int i = 0; i < 600; i++) { /* idle, but not silent: ENet pings */
        rig_step(&rig, 16667);
        cr_assert_not(arb_net_next(rig.server, &event));
        cr_assert_not(arb_net_next(client, &event));
    }
    struct arb_link dead = {.loss_ppm = 1000000};
    arb_simnet_set_links(arb_net_carrier(client), dead, dead);
    uint64_t start_us = rig.now_us, gone_us[2] = {0};
    for (int i = 0; i < 300; i++) {
        rig_step(&rig, 16667);
        if (rig_find(rig.server, ARB_NET_DISCONNECTED, &event)) gone_us[0] = rig.now_us - start_us;
        if (rig_find(client, ARB_NET_DISCONNECTED, &event)) gone_us[1] = rig.now_us - start_us;
    }
    for (int i = 0; i < 2; i++) {
        cr_assert_geq(gone_us[i], 2400000); /* the last ping may be 0.5 s old */
        cr_assert_leq(gone_us[i], 3150000);
    }
    cr_assert_eq(event.data, 0);

    cr_assert(arb_net_connect(client, rig_ns(&rig)));
    cr_assert_not(arb_net_connect(client, rig_ns(&rig)), "one at a time");
    bool failed = false;
    for (int i = 0; i < 300 && !failed; i++) {
        rig_step(&rig, 16667);
        failed = rig_find(client, ARB_NET_DISCONNECTED, &event);
    }
    cr_assert(failed, "connecting to nobody ends too");
    rig_stop(&rig);
}

Test(transport, silence_ends_a_connection_after_the_timeout)
{
    check_silence(0);
}

/* 10 s of pings, 5 s of silence, up to 5 s of connecting: the clock ends in each of them once. */
Test(transport, the_end_of_the_clock_of_32_bits_passes_unnoticed)
{
    static const uint32_t before_ms[] = {1, 20, 5000, 9999, 11000, 12500, 13000, 15500, 17000};
    for (size_t i = 0; i < sizeof before_ms / sizeof before_ms[0]; i++) {
        check_silence(0U - before_ms[i]);
    }
}

Test(transport, places_are_reused_with_the_next_epoch_only_after_the_end_was_taken)
{
    struct rig rig;
    rig_start(&rig, 11, 2, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    cr_assert_eq(rig_connect(&rig, 0).epoch, 1);
    struct arb_net_event event;
    arb_net_disconnect(client, 0, 5);
    for (int i = 0; i < 10; i++) {
        rig_step(&rig, 20000);
    }
    cr_assert(rig_find(client, ARB_NET_DISCONNECTED, &event));
    cr_assert_not(arb_net_send(rig.server, 0, 0, (const uint8_t *)"x", 1));
    /* DISCONNECTED still waits at the server: the next connection gets another place. */
    cr_assert(arb_net_connect(client, rig_ns(&rig)));
    for (int i = 0; i < 10; i++) {
        rig_step(&rig, 20000);
    }
    cr_assert(arb_net_next(rig.server, &event));
    cr_assert_eq(event.type, ARB_NET_DISCONNECTED);
    cr_assert_eq(event.data, 5);
    cr_assert_eq(event.peer, 0);
    cr_assert(arb_net_next(rig.server, &event));
    cr_assert_eq(event.type, ARB_NET_CONNECTED);
    cr_assert_eq(event.peer, 1);

    /* What waits of a peer that is cut is not delivered; its place comes back at once. */
    rig_drain(client);
    arb_net_send(client, 0, 0, (const uint8_t *)"late", 4);
    rig_step(&rig, 20000);
    arb_net_cut(rig.server, 1);
    cr_assert_not(arb_net_next(rig.server, &event));
    cr_assert_eq(arb_net_connected_count(rig.server), 0);
    arb_net_cut(rig.server, 1);
    arb_net_cut(client, 0);
    cr_assert_eq(rig_connect(&rig, 0).peer, 0);
    arb_net_cut(rig.server, 0);
    arb_net_cut(client, 0);
    event = rig_connect(&rig, 0);
    cr_assert_eq(event.peer, 0);
    cr_assert_eq(event.epoch, 3);
    rig_stop(&rig);
}

Test(transport, no_more_peers_than_places)
{
    struct rig rig;
    rig_start(&rig, 12, 2, (struct arb_net_options){0});
    for (uint32_t i = 0; i < 3; i++) {
        rig_add_client(&rig, near_link, (struct arb_net_options){.timeout_ms = 3000});
    }
    rig_connect(&rig, 0);
    rig_connect(&rig, 1);
    cr_assert(arb_net_connect(rig.clients[2], rig_ns(&rig)));
    struct arb_net_event event;
    bool failed = false;
    for (int i = 0; i < 300 && !failed; i++) {
        rig_step(&rig, 16667);
        cr_assert_not(rig_find(rig.server, ARB_NET_CONNECTED, &event));
        failed = rig_find(rig.clients[2], ARB_NET_DISCONNECTED, &event);
    }
    cr_assert(failed);
    cr_assert_gt(arb_net_counters(rig.server)->refused_stranger, 0);
    arb_net_cut(rig.server, 1);
    cr_assert_eq(rig_connect(&rig, 2).peer, 1);
    rig_stop(&rig);
}

Test(transport, a_thousand_connections_leave_memory_flat)
{
    struct rig rig;
    rig_start(&rig, 13, 4, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    uint64_t count = 0;
    for (uint32_t i = 1; i <= 1000; i++) {
        struct arb_net_event event = rig_connect(&rig, 0);
        cr_assert_eq(event.peer, 0);
        cr_assert_eq(event.epoch, i);
        arb_net_send(client, 0, 0, (const uint8_t *)"hello", 5);
        arb_net_disconnect(i % 2 ? client : rig.server, 0, i);
        bool here = false, there = false;
        for (int k = 0; k < 50 && !(here && there); k++) {
            rig_step(&rig, 10000);
            here |= rig_find(rig.server, ARB_NET_DISCONNECTED, &event);
            there |= rig_find(client, ARB_NET_DISCONNECTED, &event);
        }
        cr_assert(here && there);
        if (i == 20) count = arb_mem_count();
    }
    cr_assert_eq(arb_mem_count(), count);
    rig_stop(&rig);
}

Test(transport, sequences_wrap_unnoticed)
{
    enum { MESSAGES = 70000, PER_STEP = 20 };
    static uint8_t seen[MESSAGES];
    struct rig rig;
    rig_start(&rig, 14, 4, (struct arb_net_options){0});
    struct arb_link link = {.delay_us = 500};
    struct arb_net *client = rig_add_client(&rig, link, (struct arb_net_options){0});
    rig_connect(&rig, 0);
    uint32_t next = 0, unsequenced = 0;
    for (uint32_t sent = 0; sent < MESSAGES + 2000; sent += PER_STEP) {
        for (uint32_t i = sent; i < sent + PER_STEP && i < MESSAGES; i++) {
            uint8_t bytes[8];
            put32(bytes, i);
            cr_assert(arb_net_send(client, 0, ARB_NET_CHANNEL_RELIABLE, bytes, 8));
            cr_assert(arb_net_send(client, 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, 8));
        }
        rig_step(&rig, 2000);
        struct arb_net_event event;
        while (arb_net_next(rig.server, &event)) {
            uint32_t number = get32(event.bytes);
            if (event.channel == ARB_NET_CHANNEL_RELIABLE) {
                cr_assert_eq(number, next);
                next++;
            } else {
                cr_assert_eq(seen[number]++, 0);
                unsequenced++;
            }
        }
    }
    cr_assert_eq(next, MESSAGES);
    cr_assert_eq(unsequenced, MESSAGES);
    rig_stop(&rig);
}

/* Far more than ENet reads before it reports the first, on both channels, polled late. */
Test(transport, each_message_is_stamped_with_the_arrival_of_its_own_datagram)
{
    enum { MESSAGES = 600, EVERY_US = 300 };
    struct rig rig;
    rig_start(&rig, 7, 1, (struct arb_net_options){0});
    struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
    rig_connect(&rig, 0);
    rig_step(&rig, 50000);
    rig_drain(rig.server);
    for (uint64_t i = 0; i < MESSAGES; i++) {
        uint64_t sent_ns = rig_ns(&rig);
        cr_assert(arb_net_send(client, 0, i % 50 == 0 ? 0 : 1, (const uint8_t *)&sent_ns,
                               sizeof sent_ns));
        arb_net_flush(client, sent_ns);
        rig_advance(&rig, EVERY_US);
    }
    rig_advance(&rig, 30000);
    arb_net_service(rig.server, rig_ns(&rig));
    struct arb_net_event event;
    uint32_t seen = 0;
    for (; arb_net_next(rig.server, &event); seen++) {
        uint64_t sent_ns;
        memcpy(&sent_ns, event.bytes, sizeof sent_ns);
        cr_assert_eq(event.received_ns, sent_ns + 10000000, "message %u", seen);
    }
    cr_assert_eq(seen, MESSAGES);
    rig_stop(&rig);
}

Test(transport, what_waited_longer_than_a_quarter_second_counts_from_the_service)
{
    static const struct {
        uint64_t unread_us, wait_us;
    } cases[] = {{0, 0}, {1, 1}, {250000, 250000}, {250001, 0}, {5000000, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rig rig;
        rig_start(&rig, 8, 1, (struct arb_net_options){0});
        struct arb_net *client = rig_add_client(&rig, near_link, (struct arb_net_options){0});
        rig_connect(&rig, 0);
        rig_step(&rig, 50000);
        rig_drain(rig.server);
        cr_assert(arb_net_send(client, 0, 1, (const uint8_t *)"x", 1));
        arb_net_flush(client, rig_ns(&rig));
        rig_advance(&rig, near_link.delay_us + cases[i].unread_us);
        arb_net_service(rig.server, rig_ns(&rig));
        struct arb_net_event event;
        cr_assert(rig_find(rig.server, ARB_NET_MESSAGE, &event));
        cr_assert_eq(rig_ns(&rig) - event.received_ns, cases[i].wait_us * 1000, "case %zu", i);
        rig_stop(&rig);
    }
}

static uint64_t hash_of_a_run(uint64_t seed)
{
    enum { CLIENTS = 4 };
    struct rig rig;
    uint64_t hash = 0;
    rig_start(&rig, seed, CLIENTS, (struct arb_net_options){.timeout_ms = 60000});
    for (uint32_t i = 0; i < CLIENTS; i++) {
        rig_add_client(&rig, bad_link, (struct arb_net_options){.timeout_ms = 60000});
        arb_net_connect(rig.clients[i], rig_ns(&rig));
    }
    for (uint32_t round = 0; round < 1500; round++) {
        for (uint32_t i = 0; i < CLIENTS; i++) {
            uint8_t bytes[300] = {0};
            put32(bytes, round);
            arb_net_send(rig.server, i, round % 7 == 0 ? 0 : 1, bytes, 40 + round % 260);
            arb_net_send(rig.clients[i], 0, round % 5 == 0 ? 0 : 1, bytes, 30);
        }
        rig_step(&rig, 16667);
        for (uint32_t i = 0; i <= CLIENTS; i++) {
            struct arb_net *net = i == CLIENTS ? rig.server : rig.clients[i];
            struct arb_net_event event;
            while (arb_net_next(net, &event)) {
                hash = arb_hash_mix(hash, (uint64_t)event.type << 48 | (uint64_t)event.peer << 32 |
                                              event.epoch);
                hash = arb_hash_mix(hash, event.received_ns);
                if (event.size > 0) hash = arb_hash(event.bytes, event.size, hash);
            }
        }
    }
    hash = arb_hash(arb_net_counters(rig.server), sizeof(struct arb_net_counters), hash);
    rig_stop(&rig);
    return hash;
}

Test(transport, the_same_seed_gives_the_same_deliveries)
{
    uint64_t first = hash_of_a_run(42);
    void *elsewhere = malloc(12345); /* addresses of memory must not matter */
    cr_assert_eq(hash_of_a_run(42), first);
    cr_assert_neq(hash_of_a_run(43), first);
    free(elsewhere);
}

Test(transport, the_largest_endpoint_has_a_place_for_strangers_still)
{
    struct arb_link line = {0};
    struct arb_simnet *sim = arb_simnet_create(1);
    struct arb_carrier *carrier = arb_simnet_open(sim, line, line);
    struct arb_carrier *way = arb_simnet_connect(sim, carrier, line, line);
    struct arb_net_options options = {.peer_capacity = ARB_NET_PEERS_MAX};
    struct arb_net *server = arb_net_create(carrier, &options, 0);
    struct arb_net *client = arb_net_create(way, &(struct arb_net_options){.peer_capacity = 1}, 0);
    cr_assert(server != NULL && client != NULL);
    cr_assert(arb_net_connect(client, 0));
    for (uint64_t ms = 1; ms < 100 && arb_net_connected_count(server) == 0; ms++) {
        arb_simnet_advance(sim, ms * 1000);
        arb_net_service(client, ms * 1000000);
        arb_net_service(server, ms * 1000000);
    }
    cr_expect_eq(arb_net_connected_count(server), 1);
    arb_net_destroy(client);
    arb_net_destroy(server);
    arb_simnet_destroy(sim);
}

static uint32_t connect_id_with(uint32_t seed)
{
    struct arb_simnet *sim = arb_simnet_create(1);
    struct arb_carrier *server = arb_simnet_open(sim, (struct arb_link){0}, (struct arb_link){0});
    struct arb_carrier *carrier =
        arb_simnet_connect(sim, server, (struct arb_link){0}, (struct arb_link){0});
    struct arb_net_options options = {.peer_capacity = 1, .seed = seed};
    struct arb_net *client = arb_net_create(carrier, &options, 0);
    cr_assert(arb_net_connect(client, 0));
    arb_net_flush(client, 0);
    struct arb_datagram datagram;
    cr_assert(arb_carrier_receive(server, &datagram));
    cr_assert_eq(datagram.size, 52);
    uint32_t connect_id = get32(datagram.bytes + 44);
    arb_net_destroy(client);
    arb_carrier_close(server);
    arb_simnet_destroy(sim);
    return connect_id;
}

Test(transport, the_seed_alone_makes_the_connection_id)
{
    void *elsewhere = malloc(54321);
    uint32_t first = connect_id_with(7);
    free(elsewhere);
    cr_assert_eq(connect_id_with(7), first);
    cr_assert_neq(connect_id_with(8), first);
}

/* Spread of each reliable message's way at 20 % loss each way: ENet alone takes 6 s for the worst
 * of 150 (it doubles its wait at each repeat). */
Test(transport, a_lost_reliable_message_is_repeated_soon)
{
    struct rig rig;
    rig_start(&rig, 15, 4, (struct arb_net_options){0});
    struct arb_link link = {.delay_us = 50000, .loss_ppm = 200000};
    struct arb_net *client = rig_add_client(&rig, link, (struct arb_net_options){0});
    rig_connect(&rig, 0);
    uint64_t worst_us = 0;
    uint32_t late = 0, received = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        if (i % 10 == 0) {
            uint8_t bytes[8];
            memcpy(bytes, &rig.now_us, 8);
            cr_assert(arb_net_send(rig.server, 0, ARB_NET_CHANNEL_RELIABLE, bytes, 8));
        }
        rig_step(&rig, 10000);
        rig_drain(rig.server);
        struct arb_net_event event;
        while (arb_net_next(client, &event)) {
            if (event.type != ARB_NET_MESSAGE) continue;
            uint64_t sent_us;
            memcpy(&sent_us, event.bytes, 8);
            uint64_t took_us = rig.now_us - sent_us;
            if (took_us > worst_us) worst_us = took_us;
            late += took_us > 1000000;
            received++;
        }
    }
    cr_assert_geq(received, 1980);
    cr_assert_lt(worst_us, 3000000);
    cr_assert_lt(late, received / 50);
    rig_stop(&rig);
}
