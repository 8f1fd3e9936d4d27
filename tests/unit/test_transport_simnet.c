/* The simulated network by itself: raw datagrams, exact times. */
#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"
#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_net.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct arb_link perfect = {0};

struct path {
    struct arb_simnet *net;
    struct arb_carrier *server, *client;
};

static struct path open_path(uint64_t seed, struct arb_link up, struct arb_link down)
{
    struct path path = {.net = arb_simnet_create(seed)};
    path.server = arb_simnet_open(path.net, perfect, down);
    path.client = arb_simnet_connect(path.net, path.server, up, perfect);
    return path;
}

static void close_path(struct path *path)
{
    arb_carrier_close(path->client);
    arb_carrier_close(path->server);
    arb_simnet_destroy(path->net);
}

static void send_number(struct arb_carrier *from, uint32_t number, size_t size)
{
    uint8_t *room = arb_carrier_room(from);
    memset(room, 0, size);
    memcpy(room, &number, 4);
    arb_carrier_commit(from, &from->server, size);
}

static bool receive_number(struct arb_carrier *at, uint32_t *number)
{
    struct arb_datagram datagram;
    if (!arb_carrier_receive(at, &datagram)) return false;
    memcpy(number, datagram.bytes, 4);
    return true;
}

Test(transport_simnet, delays_are_exact_and_add_up)
{
    struct path path =
        open_path(1, (struct arb_link){.delay_us = 1234}, (struct arb_link){.delay_us = 4321});
    uint32_t number;
    arb_simnet_advance(path.net, 100);
    send_number(path.client, 7, 10);
    cr_assert_eq(arb_simnet_next_us(path.net), 1334);
    arb_simnet_advance(path.net, 5654);
    cr_assert_eq(arb_simnet_next_us(path.net), 5655);
    cr_assert_not(receive_number(path.server, &number));
    arb_simnet_advance(path.net, 5655);
    cr_assert(receive_number(path.server, &number));
    cr_assert_eq(number, 7);
    cr_assert_eq(arb_simnet_next_us(path.net), UINT64_MAX);
    close_path(&path);
}

Test(transport_simnet, without_delay_a_datagram_is_there_at_once)
{
    struct path path = open_path(1, perfect, perfect);
    uint32_t number;
    send_number(path.client, 8, 10);
    cr_assert(receive_number(path.server, &number));
    struct arb_datagram datagram;
    send_number(path.client, 9, 33);
    cr_assert(arb_carrier_receive(path.server, &datagram));
    cr_assert_eq(datagram.size, 33);
    memcpy(arb_carrier_room(path.server), "back", 4);
    arb_carrier_commit(path.server, &datagram.from, 4);
    cr_assert(arb_carrier_receive(path.client, &datagram));
    cr_assert_eq(memcmp(datagram.bytes, "back", 4), 0);
    close_path(&path);
}

Test(transport_simnet, equal_times_keep_the_order_of_sending)
{
    struct path path = open_path(1, (struct arb_link){.delay_us = 500}, perfect);
    struct arb_carrier *other =
        arb_simnet_connect(path.net, path.server, (struct arb_link){.delay_us = 500}, perfect);
    for (uint32_t i = 0; i < 300; i++) {
        send_number(i % 3 ? path.client : other, i, 20);
    }
    arb_simnet_advance(path.net, 500);
    uint32_t number;
    for (uint32_t i = 0; i < 300; i++) {
        cr_assert(receive_number(path.server, &number));
        cr_assert_eq(number, i);
    }
    arb_carrier_close(other);
    close_path(&path);
}

struct outcome {
    uint32_t received, inversions, doubles;
    uint64_t first_us, last_us, hash;
};

/* One datagram a millisecond; who arrives when. */
static struct outcome run(uint64_t seed, struct arb_link link, uint32_t count, size_t size)
{
    static uint8_t seen[100000];
    memset(seen, 0, sizeof seen);
    struct outcome outcome = {.first_us = UINT64_MAX};
    struct path path = open_path(seed, link, perfect);
    uint32_t newest = 0;
    for (uint64_t us = 0; us < count * 1000ULL + 2000000; us += 1000) {
        arb_simnet_advance(path.net, us);
        uint32_t number;
        while (receive_number(path.server, &number)) {
            outcome.received++;
            outcome.inversions += number < newest;
            outcome.doubles += seen[number]++ > 0;
            if (number > newest) newest = number;
            uint64_t late_us = us - number * 1000ULL;
            if (late_us < outcome.first_us) outcome.first_us = late_us;
            if (late_us > outcome.last_us) outcome.last_us = late_us;
            outcome.hash = arb_hash_mix(outcome.hash, us << 20 | number);
        }
        if (us < count * 1000ULL) send_number(path.client, (uint32_t)(us / 1000), size);
    }
    close_path(&path);
    return outcome;
}

Test(transport_simnet, jitter_spreads_and_keeps_the_order)
{
    struct outcome outcome =
        run(2, (struct arb_link){.delay_us = 10000, .jitter_us = 20000}, 20000, 100);
    cr_assert_eq(outcome.received, 20000);
    cr_assert_eq(outcome.inversions, 0);
    /* Nobody overtakes, so one that is late holds up those behind it. */
    cr_assert_geq(outcome.first_us, 10000);
    cr_assert_leq(outcome.first_us, 20000);
    cr_assert_geq(outcome.last_us, 29000);
    cr_assert_leq(outcome.last_us, 31000);
}

Test(transport_simnet, loss_duplicates_and_reordering_come_as_often_as_asked)
{
    struct outcome lost = run(3, (struct arb_link){.loss_ppm = 200000}, 50000, 100);
    cr_assert_geq(lost.received, 39500);
    cr_assert_leq(lost.received, 40500);
    struct outcome doubled = run(3, (struct arb_link){.duplicate_ppm = 100000}, 50000, 100);
    cr_assert_eq(doubled.received, 50000 + doubled.doubles);
    cr_assert_geq(doubled.doubles, 4700);
    cr_assert_leq(doubled.doubles, 5300);
    struct arb_link link = {.delay_us = 5000, .jitter_us = 20000, .reorder_ppm = 50000};
    struct outcome reordered = run(3, link, 50000, 100);
    cr_assert_eq(reordered.received, 50000);
    cr_assert_geq(reordered.inversions, 1000);
    cr_assert_leq(reordered.last_us, 46000);
    struct outcome dead = run(3, (struct arb_link){.loss_ppm = 1000000}, 1000, 100);
    cr_assert_eq(dead.received, 0);
}

Test(transport_simnet, the_seed_decides)
{
    struct arb_link link = {.delay_us = 5000,
                            .jitter_us = 20000,
                            .loss_ppm = 50000,
                            .duplicate_ppm = 50000,
                            .reorder_ppm = 50000};
    struct outcome first = run(4, link, 5000, 100);
    cr_assert_eq(run(4, link, 5000, 100).hash, first.hash);
    cr_assert_neq(run(5, link, 5000, 100).hash, first.hash);
}

/* 952 + 48 bytes are 8,000 bits: 8 ms at 1,000 kbit/s. */
Test(transport_simnet, a_rate_spaces_datagrams_and_its_queue_drops_the_tail)
{
    struct arb_link link = {.delay_us = 500, .rate_kbps = 1000, .queue_bytes = 5000};
    struct path path = open_path(6, link, perfect);
    for (uint32_t i = 0; i < 9; i++) {
        send_number(path.client, i, 952);
    }
    cr_assert_eq(arb_simnet_counters(path.net)->queue_full, 4);
    uint32_t number;
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t due_us = 8000ULL * (i + 1) + 500;
        arb_simnet_advance(path.net, due_us - 1);
        cr_assert_not(receive_number(path.server, &number));
        arb_simnet_advance(path.net, due_us);
        cr_assert(receive_number(path.server, &number));
        cr_assert_eq(number, i);
    }
    arb_simnet_advance(path.net, 1000000);
    cr_assert_not(receive_number(path.server, &number));
    send_number(path.client, 9, 952); /* the idle time is not saved up */
    cr_assert_eq(arb_simnet_next_us(path.net), 1008500);
    close_path(&path);
}

Test(transport_simnet, a_datagram_that_the_path_cannot_carry_is_dropped)
{
    struct path path = open_path(7, perfect, perfect);
    uint32_t number;
    send_number(path.client, 1, 1233);
    cr_assert_not(receive_number(path.server, &number));
    cr_assert_eq(arb_simnet_counters(path.net)->too_long, 1);
    send_number(path.client, 2, 1232);
    cr_assert(receive_number(path.server, &number));
    cr_assert_eq(number, 2);
    close_path(&path);
}

Test(transport_simnet, a_receiver_that_does_not_read_loses_what_its_buffer_cannot_hold)
{
    struct path path = open_path(8, perfect, perfect);
    for (uint32_t i = 0; i < 400; i++) {
        send_number(path.client, i, 976);
    }
    arb_simnet_advance(path.net, 1);
    uint32_t number, count = 0;
    while (receive_number(path.server, &number)) {
        cr_assert_eq(number, count++);
    }
    cr_assert_eq(count, ARB_SIM_RECEIVE_BYTES / 1024);
    cr_assert_eq(arb_simnet_counters(path.net)->buffer_full, 400 - count);
    send_number(path.client, 999, 976);
    cr_assert(receive_number(path.server, &number));
    close_path(&path);
}

Test(transport_simnet, nobody_receives_for_one_who_left)
{
    struct path path = open_path(9, (struct arb_link){.delay_us = 1000}, perfect);
    struct arb_datagram datagram;
    send_number(path.client, 1, 10);
    arb_simnet_advance(path.net, 1000);
    cr_assert(arb_carrier_receive(path.server, &datagram));
    struct arb_address old = datagram.from;
    arb_carrier_close(path.client);
    path.client = arb_simnet_connect(path.net, path.server, perfect, perfect);
    memcpy(arb_carrier_room(path.server), "late", 4);
    arb_carrier_commit(path.server, &old, 4);
    arb_simnet_advance(path.net, 2000);
    cr_assert_not(arb_carrier_receive(path.client, &datagram));
    cr_assert_eq(arb_simnet_counters(path.net)->nobody, 1);
    close_path(&path);
}

Test(transport_simnet, memory_is_bounded_and_used_again)
{
    struct arb_link far = {.delay_us = 10000000};
    struct path path = open_path(10, far, perfect);
    for (uint32_t i = 0; i < 70000; i++) {
        send_number(path.client, i, 10);
    }
    /* One of them stays in the sender's hand for its next room. */
    cr_assert_eq(arb_simnet_counters(path.net)->overflow, 70000 - 65536);
    uint64_t allocations = arb_mem_count();
    uint32_t number, received = 0;
    for (uint64_t us = 10000000; us < 10100000; us += 1000) {
        arb_simnet_advance(path.net, us);
        while (receive_number(path.server, &number)) {
            received++;
        }
    }
    cr_assert_gt(received, 3000);
    for (uint32_t i = 0; i < 65000; i++) {
        send_number(path.client, i, 10);
    }
    cr_assert_eq(arb_mem_count(), allocations);
    close_path(&path);
}

/* A number's first byte tells here whether its datagram counts as sealed. */
Test(transport_simnet, a_corrupted_datagram_is_dropped_when_plain_and_arrives_damaged_when_sealed)
{
    struct path path = open_path(11, (struct arb_link){.corrupt_ppm = 300000}, perfect);
    uint32_t number, damaged = 0, counts[2] = {0};
    for (uint32_t i = 0; i < 10000; i++) {
        uint32_t sealed = i % 2;
        uint32_t sent = i << 8 | (sealed ? 0x40 : 0);
        send_number(path.client, sent, 4);
        if (!receive_number(path.server, &number)) continue;
        counts[sealed]++;
        damaged += number != sent;
        cr_assert(sealed || number == sent);
    }
    const struct arb_simnet_counters *counters = arb_simnet_counters(path.net);
    cr_assert_eq(counts[1], 5000);
    cr_assert_eq(counts[0] + counters->bad_checksum, 5000);
    cr_assert_eq(damaged + counters->bad_checksum, counters->corrupted);
    cr_assert_gt(counters->bad_checksum, 1300);
    cr_assert_gt(damaged, 1300);
    close_path(&path);
}

Test(transport_simnet, a_partition_cuts_one_direction_and_stays_when_links_change)
{
    struct path path = open_path(12, perfect, perfect);
    struct arb_datagram datagram;
    send_number(path.client, 1, 10);
    cr_assert(arb_carrier_receive(path.server, &datagram));
    struct arb_address from = datagram.from;
    arb_simnet_block(path.client, false, true);
    arb_simnet_set_links(path.client, perfect, perfect);
    uint32_t number;
    send_number(path.client, 2, 10);
    cr_assert(receive_number(path.server, &number));
    arb_carrier_room(path.server);
    arb_carrier_commit(path.server, &from, 4);
    cr_assert_not(arb_carrier_receive(path.client, &datagram));
    arb_simnet_block(path.client, true, false);
    send_number(path.client, 3, 10);
    cr_assert_not(receive_number(path.server, &number));
    arb_carrier_room(path.server);
    arb_carrier_commit(path.server, &from, 4);
    cr_assert(arb_carrier_receive(path.client, &datagram));
    arb_simnet_block(path.client, false, false);
    send_number(path.client, 4, 10);
    cr_assert(receive_number(path.server, &number));
    cr_assert_eq(arb_simnet_counters(path.net)->blocked, 2);
    close_path(&path);
}

/* 952 + 48 bytes are 8,000 bits. */
Test(transport_simnet, a_rate_that_changes_serves_what_waits)
{
    struct arb_link link = {.rate_kbps = 1000};
    struct path path = open_path(13, link, perfect);
    for (uint32_t i = 0; i < 4; i++) {
        send_number(path.client, i, 952);
    }
    arb_simnet_advance(path.net, 16000);
    link.rate_kbps = 100;
    arb_simnet_set_links(path.client, link, perfect);
    send_number(path.client, 4, 952);
    uint32_t number;
    arb_simnet_advance(path.net, 16000 + 3 * 80000 - 1);
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(receive_number(path.server, &number));
    }
    cr_assert_not(receive_number(path.server, &number));
    arb_simnet_advance(path.net, 16000 + 3 * 80000);
    cr_assert(receive_number(path.server, &number));
    close_path(&path);
}
