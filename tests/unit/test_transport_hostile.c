/* Strangers and broken peers on the simulated network: what they send must not reach others. */
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/transport/arb_net.h"
#include "tests/unit/transport_rig.h"

#include <criterion/criterion.h>

static const struct arb_link perfect = {.delay_us = 1000};

static void start_with_player(struct rig *rig, uint32_t capacity)
{
    rig_start(rig, 21, capacity, (struct arb_net_options){0});
    rig_add_client(rig, perfect, (struct arb_net_options){0});
    rig_connect(rig, 0);
    for (int i = 0; i < 100; i++) { /* the handshake's last words */
        rig_step(rig, 16667);
    }
}

/* Both directions, both channels. */
static void check_player(struct rig *rig)
{
    rig_drain(rig->server);
    rig_drain(rig->clients[0]);
    for (uint8_t channel = 0; channel < ARB_NET_CHANNELS; channel++) {
        cr_assert(arb_net_send(rig->server, 0, channel, (const uint8_t *)"down", 4));
        cr_assert(arb_net_send(rig->clients[0], 0, channel, (const uint8_t *)"up", 2));
    }
    int up = 0, down = 0;
    for (int i = 0; i < 10; i++) {
        struct arb_net_event event;
        rig_step(rig, 5000);
        while (arb_net_next(rig->server, &event)) {
            up += event.type == ARB_NET_MESSAGE && event.peer == 0 && event.size == 2;
        }
        while (arb_net_next(rig->clients[0], &event)) {
            down += event.type == ARB_NET_MESSAGE && event.size == 4;
        }
    }
    cr_assert_eq(up, 2);
    cr_assert_eq(down, 2);
}

/* Gives what the server counted of one datagram from the player's own address. */
static struct arb_net_counters counted(struct rig *rig, const uint8_t *bytes, size_t size)
{
    rig_step(rig, 5000);
    struct arb_net_counters before = *arb_net_counters(rig->server);
    rig_inject(rig->clients[0], bytes, size);
    rig_advance(rig, 2000);
    arb_net_service(rig->server, rig_ns(rig));
    struct arb_net_counters after = *arb_net_counters(rig->server);
#define X(name, text) after.name -= before.name;
    ARB_NET_COUNTER_MAP(X)
#undef X
    return after;
}

Test(transport_hostile, each_refusal_has_its_counter_and_harms_nobody)
{
    struct rig rig;
    start_with_player(&rig, 4);
    /* count 2^20: ENet would allocate a bitmap for it */
    const uint8_t fragment[] = {0x80, 0, 0, 1, 0x88, 0, 0,  1, 0, 1, 0, 1, 0, 16, 0,
                                0,    0, 0, 0, 0,    0, 32, 0, 0, 0, 0, 0, 0, 'x'};
    const uint8_t compressed[] = {0xC0, 0, 0, 1, 0x85, 0xFF, 0, 1};
    const uint8_t nobody[] = {0x80, 3, 0, 1, 0x85, 0xFF, 0, 1};
    const uint8_t beyond[] = {0x8F, 0xF0, 0, 1, 0x85, 0xFF, 0, 1};
    const uint8_t too_short[] = {0x80, 0};
    const uint8_t too_long_message[] = {0x80, 0, 0, 1, 0x86, 0, 0, 1, 0xFF, 0xFF};
    const uint8_t ahead[] = {0x80, 0, 0, 1, 0x86, 0, 0x10, 0, 0, 1, 'x'};
    static const uint8_t too_long[ARB_NET_MTU + 1] = {0x80, 0, 0, 1, 0x85};
    uint64_t allocations = arb_mem_count();

    cr_assert_eq(counted(&rig, fragment, sizeof fragment).refused_command, 1);
    cr_assert_eq(counted(&rig, compressed, sizeof compressed).refused_header, 1);
    cr_assert_eq(counted(&rig, nobody, sizeof nobody).refused_header, 1);
    cr_assert_eq(counted(&rig, beyond, sizeof beyond).refused_header, 1);
    cr_assert_eq(counted(&rig, too_short, sizeof too_short).refused_size, 1);
    cr_assert_eq(counted(&rig, too_long, sizeof too_long).refused_size, 1);
    cr_assert_eq(counted(&rig, too_long, 0).refused_size, 1);
    cr_assert_eq(counted(&rig, too_long_message, sizeof too_long_message).refused_length, 1);
    cr_assert_eq(counted(&rig, ahead, sizeof ahead).refused_ahead, 1);
    for (int i = 0; i < 1000; i++) {
        counted(&rig, fragment, sizeof fragment);
    }
    cr_assert_eq(arb_mem_count(), allocations);
    check_player(&rig);
    rig_stop(&rig);
}

Test(transport_hostile, a_player_survives_a_hundred_thousand_random_datagrams)
{
    struct rig rig;
    start_with_player(&rig, 4);
    struct arb_carrier *stranger =
        arb_simnet_connect(rig.sim, rig.server_carrier, perfect, perfect);
    struct arb_rng rng;
    arb_rng_seed(&rng, 22, 0);
    uint64_t before = arb_net_counters(rig.server)->datagrams_in;
    for (uint32_t i = 0; i < 100000; i++) {
        bool is_own = i % 4 == 0; /* from the player's address: so few look right by chance */
        struct arb_carrier *from = is_own ? arb_net_carrier(rig.clients[0]) : stranger;
        uint8_t *bytes = arb_carrier_room(from);
        size_t size = arb_rng_below(&rng, 200);
        for (size_t b = 0; b < size; b++) {
            bytes[b] = (uint8_t)arb_rng_next(&rng);
        }
        if (!is_own && size > 4 && i % 2 == 0) { /* aimed at the player's slot, or a stranger's */
            bytes[0] = i % 8 == 2 ? 0x8F : 0x80;
            bytes[1] = i % 8 == 2 ? 0xFF : 0;
            bytes[4] = (uint8_t)(0x80 | arb_rng_below(&rng, 13));
        }
        arb_carrier_commit(from, &from->server, size);
        if (i % 100 == 99) {
            rig_step(&rig, 5000);
            rig_drain(rig.clients[0]);
        }
    }
    rig_step(&rig, 5000);
    cr_assert_geq(arb_net_counters(rig.server)->datagrams_in, before + 100000);
    check_player(&rig);
    cr_assert_eq(arb_net_connected_count(rig.server), 1);
    arb_carrier_close(stranger);
    rig_stop(&rig);
}

/* Commands of every kind with random fields, from the player's address and in its session: they may
 * end that player's connection, nobody else's, and memory stays. */
Test(transport_hostile, a_peer_out_of_its_mind_harms_only_itself)
{
    static const uint8_t sizes[13] = {0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24};
    static const uint8_t commands[] = {0x01, 0x83, 0x85, 0x86, 0x07, 0x49, 0x8A, 0x8B, 0x88};
    struct rig rig;
    start_with_player(&rig, 4);
    struct arb_net *mad = rig_add_client(&rig, perfect, (struct arb_net_options){0});
    rig_connect(&rig, 1);
    struct arb_rng rng;
    arb_rng_seed(&rng, 23, 0);
    uint64_t allocations = 0;
    for (uint32_t i = 0; i < 60000; i++) {
        uint8_t bytes[1200] = {0x80, 1};
        size_t size = 4;
        uint32_t count = 1 + arb_rng_below(&rng, 30);
        for (uint32_t k = 0; k < count; k++) {
            uint8_t command = commands[arb_rng_below(&rng, sizeof commands - (i % 3 != 0))];
            bytes[size] = command;
            for (size_t b = 1; b < sizes[command & 0x0F]; b++) {
                bytes[size + b] = (uint8_t)arb_rng_below(&rng, b % 2 ? 256 : 2);
            }
            bytes[size + 1] = (uint8_t)arb_rng_below(&rng, 2);
            size += sizes[command & 0x0F];
            if (command == 0x86 || command == 0x07 || command == 0x49) {
                bytes[size - 2] = 0;
                bytes[size - 1] = 1;
                bytes[size++] = 'x';
            }
        }
        rig_inject(mad, bytes, size);
        if (i % 50 == 49) {
            rig_step(&rig, 5000);
            rig_drain(rig.server);
            rig_drain(mad);
        }
        if (i == 20000) allocations = arb_mem_count();
    }
    cr_assert_leq(arb_mem_count() - allocations, 4);
    cr_assert_gt(arb_net_counters(rig.server)->refused_ahead, 1000);
    check_player(&rig);
    rig_stop(&rig);
}

static void knock(struct arb_carrier *carrier, uint32_t connect_id)
{
    uint8_t bytes[52] = {0x8F, 0xFF, 0, 1, 0x82, 0xFF, 0, 1, 0, 0, 0xFF, 0xFF, [23] = 2};
    memcpy(bytes + 44, &connect_id, 4);
    memcpy(arb_carrier_room(carrier), bytes, sizeof bytes);
    arb_carrier_commit(carrier, &carrier->server, sizeof bytes);
}

Test(transport_hostile, strangers_cannot_take_the_places_of_players)
{
    enum { CAPACITY = 8, STRANGERS = 200, HALF_OPEN = CAPACITY / 4 + 4 };
    static struct arb_carrier *strangers[STRANGERS];
    struct rig rig;
    start_with_player(&rig, CAPACITY);
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = arb_simnet_connect(rig.sim, rig.server_carrier, perfect, perfect);
    }
    uint64_t before = arb_net_counters(rig.server)->datagrams_out;
    for (uint32_t i = 0; i < STRANGERS; i++) {
        knock(strangers[i], i);
        knock(strangers[i], i); /* repeated: the same slot */
    }
    rig_advance(&rig, 2000);
    arb_net_service(rig.server, rig_ns(&rig));
    cr_assert_eq(arb_net_counters(rig.server)->refused_stranger, 2 * (STRANGERS - HALF_OPEN));
    cr_assert_leq(arb_net_counters(rig.server)->datagrams_out - before, HALF_OPEN);
    cr_assert_eq(arb_net_connected_count(rig.server), 1);
    check_player(&rig);

    /* They never answer: after 5 s their slots are free, and all other places still are. */
    for (int i = 0; i < 303; i++) {
        rig_step(&rig, 16667);
    }
    for (uint32_t i = 1; i < CAPACITY; i++) {
        rig_add_client(&rig, perfect, (struct arb_net_options){0});
        uint64_t knocked_us = rig.now_us;
        cr_assert_eq(rig_connect(&rig, i).peer, i);
        cr_assert_leq(rig.now_us - knocked_us, 100000, "at the first try");
        if (i == 4) {
            for (uint32_t k = 0; k < STRANGERS; k++) {
                knock(strangers[k], 1000 + k);
            }
            rig_step(&rig, 5000);
            for (int k = 0; k < 303; k++) {
                rig_step(&rig, 16667);
            }
        }
    }
    cr_assert_eq(arb_net_connected_count(rig.server), CAPACITY);
    check_player(&rig);
    for (int i = 0; i < STRANGERS; i++) {
        arb_carrier_close(strangers[i]);
    }
    rig_stop(&rig);
}

Test(transport_hostile, another_address_cannot_speak_for_a_player)
{
    struct rig rig;
    start_with_player(&rig, 4);
    struct arb_carrier *stranger =
        arb_simnet_connect(rig.sim, rig.server_carrier, perfect, perfect);
    uint64_t before = arb_net_counters(rig.server)->refused_header;
    for (uint32_t id = 0; id < 0x4000; id++) { /* every peer id and session: a blind DISCONNECT */
        uint8_t *bytes = arb_carrier_room(stranger);
        memcpy(bytes, (uint8_t[]){(uint8_t)(id >> 8), (uint8_t)id, 0x44, 0xFF, 0, 1, 0, 0, 0, 1},
               10);
        arb_carrier_commit(stranger, &stranger->server, 10);
        if (id % 256 == 255) rig_step(&rig, 2000);
    }
    rig_step(&rig, 2000);
    cr_assert_geq(arb_net_counters(rig.server)->refused_header, before + 0x4000 - 4);
    cr_assert_eq(arb_net_connected_count(rig.server), 1);
    check_player(&rig);
    arb_carrier_close(stranger);
    rig_stop(&rig);
}

Test(transport_hostile, events_nobody_takes_stop_the_reading_not_the_server)
{
    struct rig rig;
    start_with_player(&rig, 4);
    for (int i = 0; i < 2000; i++) {
        for (int k = 0; k < 30; k++) {
            arb_net_send(rig.clients[0], 0, ARB_NET_CHANNEL_UNSEQUENCED, (const uint8_t *)"x", 1);
        }
        arb_net_flush(rig.clients[0], rig_ns(&rig));
        rig_advance(&rig, 1000);
        arb_net_service(rig.server, rig_ns(&rig));
    }
    uint32_t events = 0;
    struct arb_net_event event;
    while (arb_net_next(rig.server, &event)) {
        events++;
    }
    cr_assert_geq(events, 16384);
    cr_assert_leq(events, 16384 + 256 * 32);
    for (int i = 0; i < 100; i++) {
        rig_step(&rig, 5000);
        rig_drain(rig.server);
    }
    check_player(&rig);
    rig_stop(&rig);
}

Test(transport_hostile, who_comes_when_all_places_were_just_taken_is_told_so)
{
    enum { FULL = 7 };
    const struct arb_link link = {.delay_us = 10000, .loss_ppm = 300000};
    struct rig rig;
    rig_start(&rig, 21, 2, (struct arb_net_options){.no_place_data = FULL});
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(
            arb_net_connect(rig_add_client(&rig, link, (struct arb_net_options){0}), rig_ns(&rig)));
    }
    uint32_t connected = 0, refused = 0;
    for (int step = 0; step < 900; step++) {
        struct arb_net_event event;
        rig_step(&rig, 5000);
        while (arb_net_next(rig.server, &event)) {
            connected += event.type == ARB_NET_CONNECTED;
        }
        for (uint32_t i = 0; i < 4; i++) {
            if (!rig_find(rig.clients[i], ARB_NET_DISCONNECTED, &event)) continue;
            cr_assert_eq(event.data, FULL);
            refused++;
        }
    }
    cr_assert_eq(connected, 2);
    cr_assert_eq(refused, 2);
    rig_stop(&rig);
}
