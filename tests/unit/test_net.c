#include "server/net/net_internal.h"

#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 4, PER_TICK = 8, BAD_MAX = 5, TICK_US = 16667, LONG_BYTES = 5000 };

/* A client without a library: raw messages over its own endpoint. */
struct peer {
    struct arb_net *net;
    bool connected, gone;
    uint32_t gone_data;
    uint8_t last[2048]; /* newest message, of type `keep` when that is not 0 */
    size_t last_size;
    uint8_t keep;
    uint32_t received[256]; /* by type */
    uint8_t parts_bytes[LONG_BYTES];
    struct arb_parts parts;
    bool long_complete;
};

static struct scene {
    struct arb_arena arena;
    struct arb_simnet *simnet;
    struct arb_carrier *server;
    struct net *net;
    struct match_port port;
    struct peer peers[SESSIONS + 1];
    uint64_t now_us;
    arb_tick tick;
} scene;

static const struct arb_link perfect = {.delay_us = 1000};

static uint8_t drawn;

static void draw_bytes(void *owner, uint8_t *bytes, size_t count)
{
    (void)owner;
    memset(bytes, ++drawn, count);
}

static void open_scene(void)
{
    memset(&scene, 0, sizeof scene);
    arb_arena_init(&scene.arena);
    scene.now_us = 1000000;
    scene.tick = 70000;
    scene.simnet = arb_simnet_create(7);
    arb_simnet_advance(scene.simnet, scene.now_us);
    scene.server = arb_simnet_open(scene.simnet, perfect, perfect);
    struct arb_net_options options = {.peer_capacity = SESSIONS, .seed = 3};
    struct arb_net *transport = arb_net_create(scene.server, &options, scene.now_us * 1000);
    struct net_config config = {.session_capacity = SESSIONS,
                                .messages_per_tick = PER_TICK,
                                .bad_messages_max = BAD_MAX,
                                .hello_timeout_ms = 2000,
                                .tick_rate = 60,
                                .spectator_delay_ticks = 600,
                                .random = draw_bytes};
    scene.net = net_create(&scene.arena, &config, transport);
    scene.port = net_port(scene.net);
}

static void close_scene(void)
{
    for (size_t i = 0; i < sizeof scene.peers / sizeof scene.peers[0]; i++) {
        if (scene.peers[i].net != NULL) arb_net_destroy(scene.peers[i].net);
    }
    net_destroy(scene.net);
    arb_simnet_destroy(scene.simnet);
    arb_arena_free(&scene.arena);
}

static struct peer *connect_peer(int index)
{
    struct peer *peer = &scene.peers[index];
    memset(peer, 0, sizeof *peer);
    struct arb_carrier *carrier = arb_simnet_connect(scene.simnet, scene.server, perfect, perfect);
    struct arb_net_options options = {.peer_capacity = 1, .seed = (uint32_t)index + 100};
    peer->net = arb_net_create(carrier, &options, scene.now_us * 1000);
    arb_parts_init(&peer->parts, peer->parts_bytes, sizeof peer->parts_bytes);
    cr_assert(arb_net_connect(peer->net, scene.now_us * 1000));
    arb_net_flush(peer->net, scene.now_us * 1000);
    return peer;
}

static void peer_event(struct peer *peer, const struct arb_net_event *event)
{
    if (event->type == ARB_NET_CONNECTED) peer->connected = true;
    if (event->type == ARB_NET_DISCONNECTED) {
        peer->gone = true;
        peer->gone_data = event->data;
    }
    if (event->type != ARB_NET_MESSAGE) return;
    peer->received[event->bytes[0]]++;
    if (peer->keep == 0 || peer->keep == event->bytes[0]) {
        memcpy(peer->last, event->bytes, event->size);
        peer->last_size = event->size;
    }
    struct arb_part part;
    if (event->bytes[0] == ARB_MESSAGE_PART) {
        cr_assert_eq(arb_part_decode(event->bytes, event->size, &part), ARB_DECODE_OK);
        peer->long_complete = arb_parts_add(&peer->parts, &part) == ARB_PARTS_COMPLETE;
    }
}

/* Lets `ticks` pass: peers and server work and send; the inbox is left alone. */
static void pass(int ticks)
{
    for (int i = 0; i < ticks * 4; i++) {
        scene.now_us += TICK_US / 4;
        arb_simnet_advance(scene.simnet, scene.now_us);
        for (size_t p = 0; p < sizeof scene.peers / sizeof scene.peers[0]; p++) {
            struct peer *peer = &scene.peers[p];
            struct arb_net_event event;
            if (peer->net == NULL) continue;
            arb_net_service(peer->net, scene.now_us * 1000);
            while (arb_net_next(peer->net, &event)) {
                peer_event(peer, &event);
            }
            arb_net_flush(peer->net, scene.now_us * 1000);
        }
        net_receive(scene.net, scene.now_us * 1000, scene.tick, 0x4321);
        scene.port.flush(scene.port.owner);
    }
}

static void say(struct peer *peer, uint8_t channel, const uint8_t *bytes, size_t size)
{
    cr_assert(arb_net_send(peer->net, 0, channel, bytes, size));
}

static size_t hello_bytes(uint8_t *bytes, uint16_t version, uint64_t hash, const char *name)
{
    struct arb_hello hello = {.version = version, .schema_hash = hash};
    strcpy(hello.name, name);
    return arb_message_encode(ARB_MESSAGE_HELLO, &arb_hello_fields, &hello, bytes, 100);
}

static void say_hello(struct peer *peer, const char *name)
{
    uint8_t bytes[100];
    size_t size = hello_bytes(bytes, ARB_PROTOCOL_VERSION, arb_proto_schema_hash(), name);
    say(peer, ARB_NET_CHANNEL_RELIABLE, bytes, size);
}

static void say_hello_as(struct peer *peer, uint8_t role)
{
    struct arb_hello hello = {.version = ARB_PROTOCOL_VERSION,
                              .schema_hash = arb_proto_schema_hash(),
                              .name = "Kim",
                              .role = role};
    uint8_t bytes[100];
    size_t size =
        arb_message_encode(ARB_MESSAGE_HELLO, &arb_hello_fields, &hello, bytes, sizeof bytes);
    say(peer, ARB_NET_CHANNEL_RELIABLE, bytes, size);
}

static bool take(struct port_message *out)
{
    return scene.port.take(scene.port.owner, out);
}

/* Connects, greets and is taken. */
static struct port_session joined(int index, const char *name)
{
    struct peer *peer = connect_peer(index);
    pass(4);
    cr_assert(peer->connected);
    say_hello(peer, name);
    pass(2);
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_JOIN);
    cr_assert_str_eq(message.name, name);
    cr_assert_not(take(&message));
    return message.session;
}

static void say_inputs(struct peer *peer, arb_sequence first, uint8_t count, arb_tick tick)
{
    struct arb_input_packet packet = {.control = 1, .count = count};
    for (uint8_t i = 0; i < count; i++) {
        packet.inputs[i] =
            (struct arb_input){.sequence = first + i, .target_tick = tick + i, .move_x = 5};
    }
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    cr_assert_gt(size, 0);
    say(peer, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
}

Test(net, a_disconnect_without_a_goodbye_loses_the_session_only)
{
    for (uint32_t data = 0; data < 3; data++) {
        open_scene();
        joined(0, "Ada");
        arb_net_disconnect(scene.peers[0].net, 0, data);
        pass(4);
        struct port_message message;
        cr_assert(take(&message));
        cr_assert_eq(message.type, data == ARB_GOODBYE_DATA ? PORT_LEAVE : PORT_LOST);
        close_scene();
    }
}

Test(net, a_new_player_gets_a_token_of_its_own_and_a_shown_one_is_handed_on)
{
    open_scene();
    struct port_message message;
    uint8_t bytes[128], token[ARB_TOKEN_BYTES];
    for (int i = 0; i < 2; i++) {
        struct peer *peer = connect_peer(i);
        pass(4);
        say_hello(peer, "Ada");
        pass(2);
        cr_assert(take(&message));
        cr_assert_not(message.resume);
        memset(token, i + 1, sizeof token); /* as the rig draws them */
        cr_assert_arr_eq(message.token, token, sizeof token);
    }
    struct arb_hello hello = {.version = ARB_PROTOCOL_VERSION,
                              .schema_hash = arb_proto_schema_hash(),
                              .name = "Ada",
                              .resume = 1};
    memset(hello.token, 0xA5, sizeof hello.token);
    struct peer *peer = connect_peer(2);
    pass(4);
    say(peer, ARB_NET_CHANNEL_RELIABLE, bytes,
        arb_message_encode(ARB_MESSAGE_HELLO, &arb_hello_fields, &hello, bytes, sizeof bytes));
    pass(2);
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_JOIN);
    cr_assert(message.resume);
    cr_assert_arr_eq(message.token, hello.token, sizeof hello.token);
    /* b2sum --length 128 of sixteen bytes 0xA5: journals hold these. */
    static const uint8_t hash[PORT_TOKEN_HASH_BYTES] = {0x88, 0x6a, 0x0c, 0x00, 0xfe, 0x05,
                                                        0x83, 0x91, 0x50, 0x7e, 0xbd, 0x09,
                                                        0x21, 0xcd, 0x56, 0x9e};
    cr_assert_arr_eq(message.token_hash, hash, sizeof hash);
    close_scene();
}

Test(net, hello_becomes_a_join_and_a_goodbye_a_leave)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    cr_assert_eq(net_session_count(scene.net), 1);
    arb_net_disconnect(scene.peers[0].net, 0, ARB_GOODBYE_DATA);
    pass(4);
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_LEAVE);
    cr_assert_eq(message.session.index, session.index);
    cr_assert_eq(message.session.epoch, session.epoch);
    cr_assert_not(take(&message));
    cr_assert_eq(net_session_count(scene.net), 0);
    close_scene();
}

Test(net, other_version_is_refused_with_both_versions)
{
    open_scene();
    struct peer *peer = connect_peer(0);
    pass(4);
    uint8_t bytes[100];
    size_t size = hello_bytes(bytes, ARB_PROTOCOL_VERSION + 1, 0x1234, "Old");
    bytes[size] = 7; /* another version's HELLO may be longer */
    say(peer, ARB_NET_CHANNEL_RELIABLE, bytes, size + 1);
    pass(6);
    struct arb_refused refused;
    cr_assert_eq(peer->received[ARB_MESSAGE_REFUSED], 1);
    cr_assert_eq(arb_message_decode(ARB_MESSAGE_REFUSED, &arb_refused_fields, peer->last,
                                    peer->last_size, &refused),
                 ARB_DECODE_OK);
    cr_assert_eq(refused.reason, ARB_REFUSED_VERSION);
    cr_assert_eq(refused.server_version, ARB_PROTOCOL_VERSION);
    cr_assert_eq(refused.client_version, ARB_PROTOCOL_VERSION + 1);
    cr_assert_eq(refused.server_hash, arb_proto_schema_hash());
    cr_assert_eq(refused.client_hash, 0x1234);
    cr_assert(peer->gone);
    cr_assert_eq(peer->gone_data, ARB_REFUSED_VERSION);
    struct port_message message;
    cr_assert_not(take(&message));
    cr_assert_eq(net_counters(scene.net)->versions_refused, 1);
    cr_assert_eq(net_session_count(scene.net), 0);
    close_scene();
}

Test(net, other_schema_is_refused)
{
    open_scene();
    struct peer *peer = connect_peer(0);
    pass(4);
    uint8_t bytes[100];
    size_t size = hello_bytes(bytes, ARB_PROTOCOL_VERSION, arb_proto_schema_hash() ^ 1, "Modded");
    say(peer, ARB_NET_CHANNEL_RELIABLE, bytes, size);
    pass(6);
    cr_assert(peer->gone);
    cr_assert_eq(net_counters(scene.net)->versions_refused, 1);
    close_scene();
}

Test(net, silent_connection_is_cut_after_its_time)
{
    open_scene();
    connect_peer(0);
    pass(4);
    cr_assert_eq(net_session_count(scene.net), 1);
    pass(110);
    cr_assert_eq(net_counters(scene.net)->cut_silent, 0);
    pass(20);
    cr_assert_eq(net_counters(scene.net)->cut_silent, 1);
    cr_assert_eq(net_session_count(scene.net), 0);
    struct port_message message;
    cr_assert_not(take(&message), "the match never knew it");
    close_scene();
}

static void say_ping(struct peer *peer, uint16_t sequence)
{
    uint8_t bytes[16];
    struct arb_ping ping = {.sequence = sequence};
    size_t size =
        arb_message_encode(ARB_MESSAGE_PING, &arb_ping_fields, &ping, bytes, sizeof bytes);
    say(peer, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
    arb_net_flush(peer->net, scene.now_us * 1000);
}

static struct arb_pong heard_pong(struct peer *peer)
{
    struct arb_pong pong = {0};
    cr_assert_eq(
        arb_message_decode(ARB_MESSAGE_PONG, &arb_pong_fields, peer->last, peer->last_size, &pong),
        ARB_DECODE_OK);
    return pong;
}

Test(net, ping_is_answered_with_the_clock_also_when_nothing_else_is_sent)
{
    open_scene();
    joined(0, "Ada");
    scene.tick = 0x1000000FFULL;
    say_ping(&scene.peers[0], 0xABCD);
    pass(2);
    cr_assert_eq(scene.peers[0].received[ARB_MESSAGE_PONG], 1);
    struct arb_pong pong = heard_pong(&scene.peers[0]);
    cr_assert_eq(pong.sequence, 0xABCD);
    cr_assert_eq(pong.tick, 0xFF);
    cr_assert_eq(pong.fraction, 0x4321);
    cr_assert_gt(pong.wait_us, TICK_US / 4);
    cr_assert_lt(pong.wait_us, 20000);
    close_scene();
}

/* As the clock goes on while a tick works. */
static uint64_t late_clock(void *owner)
{
    (void)owner;
    return (scene.now_us + TICK_US) * 1000;
}

Test(net, pong_shares_the_datagram_of_the_next_message_and_tells_the_clock_of_then)
{
    open_scene();
    struct port_session id = joined(0, "Ada");
    scene.net->config.clock = late_clock;
    scene.tick = 0x1000000FFULL;
    say_ping(&scene.peers[0], 7);
    scene.now_us += TICK_US;
    arb_simnet_advance(scene.simnet, scene.now_us);
    net_receive(scene.net, scene.now_us * 1000, scene.tick, 0x4321);
    const struct arb_net_counters *sent = arb_net_counters(net_transport(scene.net));
    uint64_t before = sent->datagrams_out;
    const uint8_t snapshot[] = {ARB_MESSAGE_SNAPSHOT, 1, 2, 3};
    scene.port.put(scene.port.owner, id, PORT_CHANNEL_UNSEQUENCED, snapshot, sizeof snapshot);
    scene.port.flush(scene.port.owner);
    cr_assert_eq(sent->datagrams_out, before + 1, "both in one");
    cr_assert_eq(net_counters(scene.net)->out[ARB_MESSAGE_PONG].messages, 1);
    scene.peers[0].keep = ARB_MESSAGE_PONG;
    pass(2);
    cr_assert_eq(scene.peers[0].received[ARB_MESSAGE_SNAPSHOT], 1);
    struct arb_pong pong = heard_pong(&scene.peers[0]);
    cr_assert_eq(pong.sequence, 7);
    cr_assert_eq(pong.tick, 0x100, "a tick later than the messages were read");
    cr_assert_leq(abs((int)pong.fraction - 0x4321), 8);
    cr_assert_geq(pong.wait_us, TICK_US);
    close_scene();
}

Test(net, each_of_several_pings_is_answered)
{
    open_scene();
    joined(0, "Ada");
    for (uint16_t i = 0; i < 3; i++) {
        say_ping(&scene.peers[0], i);
    }
    pass(2);
    cr_assert_eq(scene.peers[0].received[ARB_MESSAGE_PONG], 3);
    close_scene();
}

Test(net, inputs_are_widened_against_the_newest_of_the_session)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    struct port_message message;
    arb_sequence sequence = 1;
    while (sequence < 140000) { /* twice over the wrap of 16 bits */
        say_inputs(&scene.peers[0], sequence, 3, scene.tick + 2);
        pass(1);
        cr_assert(take(&message), "sequence %u", sequence);
        cr_assert_eq(message.type, PORT_INPUTS);
        cr_assert_eq(message.session.epoch, session.epoch);
        cr_assert_eq(message.inputs.count, 3);
        cr_assert_eq(message.inputs.inputs[0].sequence, sequence);
        cr_assert_eq(message.inputs.inputs[2].sequence, sequence + 2);
        cr_assert_eq(message.inputs.inputs[2].target_tick, scene.tick + 4);
        cr_assert_not(take(&message));
        sequence += 30000;
        scene.tick += 30000;
    }
    close_scene();
}

Test(net, messages_beyond_the_limit_of_a_tick_are_dropped_and_counted)
{
    open_scene();
    joined(0, "Ada");
    struct port_message message;
    for (arb_sequence i = 1; i <= PER_TICK + 4; i++) {
        say_inputs(&scene.peers[0], i, 1, scene.tick);
    }
    pass(3);
    for (arb_sequence i = 0; i < PER_TICK; i++) {
        cr_assert(take(&message));
    }
    cr_assert_not(take(&message));
    cr_assert_eq(net_counters(scene.net)->over_limit, 4);
    say_inputs(&scene.peers[0], 20, 1, scene.tick);
    pass(1);
    cr_assert(take(&message), "the next tick has its own limit");
    close_scene();
}

Test(net, bad_messages_are_counted_by_reason_and_repeated_ones_end_the_session)
{
    static const struct {
        uint8_t bytes[4];
        size_t size;
        enum arb_decode reason;
    } rows[] = {
        {{99}, 1, ARB_DECODE_UNKNOWN},
        {{ARB_MESSAGE_WELCOME, 1}, 2, ARB_DECODE_UNKNOWN},
        {{ARB_MESSAGE_PING}, 1, ARB_DECODE_SHORT},
        {{ARB_MESSAGE_PING, 1, 2, 3}, 4, ARB_DECODE_LONG},
        {{ARB_MESSAGE_HELLO, 1}, 2, ARB_DECODE_ORDER},
        {{99}, 1, ARB_DECODE_UNKNOWN},
    };
    open_scene();
    struct port_session session = joined(0, "Eve");
    uint64_t expected[ARB_DECODE_REASONS] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_not(scene.peers[0].gone);
        say(&scene.peers[0], ARB_NET_CHANNEL_RELIABLE, rows[i].bytes, rows[i].size);
        pass(2);
        expected[rows[i].reason]++;
        for (int reason = 0; reason < ARB_DECODE_REASONS; reason++) {
            cr_assert_eq(net_counters(scene.net)->refused[reason], expected[reason],
                         "row %zu, reason %d", i, reason);
        }
    }
    pass(4);
    cr_assert(scene.peers[0].gone);
    cr_assert_eq(scene.peers[0].gone_data, ARB_REFUSED_PROTOCOL);
    cr_assert_eq(net_counters(scene.net)->cut_offenders, 1);
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_LEAVE);
    cr_assert_eq(message.session.epoch, session.epoch);
    cr_assert_not(take(&message));
    close_scene();
}

Test(net, broken_inputs_are_refused_when_they_are_taken)
{
    open_scene();
    joined(0, "Eve");
    static const uint8_t bytes[] = {ARB_MESSAGE_INPUT, 1};
    say(&scene.peers[0], ARB_NET_CHANNEL_UNSEQUENCED, bytes, sizeof bytes);
    pass(1);
    struct port_message message;
    cr_assert_not(take(&message));
    cr_assert_eq(net_counters(scene.net)->refused[ARB_DECODE_SHORT], 1);
    close_scene();
}

Test(net, random_messages_do_no_harm)
{
    open_scene();
    struct arb_rng rng;
    arb_rng_seed(&rng, 11, 1);
    struct port_message message;
    struct port_session honest = joined(1, "Ada");
    for (int round = 0; round < 40; round++) {
        struct peer *peer = connect_peer(0);
        pass(4);
        for (int i = 0; i < 30 && !peer->gone; i++) {
            uint8_t bytes[64];
            size_t size = arb_rng_below(&rng, sizeof bytes) + 1;
            for (size_t b = 0; b < size; b++) {
                bytes[b] = (uint8_t)arb_rng_next(&rng);
            }
            if (arb_rng_below(&rng, 2) == 0) bytes[0] = (uint8_t)(1 + arb_rng_below(&rng, 3));
            arb_net_send(peer->net, 0, (uint8_t)arb_rng_below(&rng, 2), bytes, size);
            pass(1);
            while (take(&message)) {
                cr_assert_neq(message.session.index, honest.index);
            }
        }
        arb_net_destroy(peer->net);
        peer->net = NULL;
        pass(1);
        while (take(&message)) {
        }
    }
    say_inputs(&scene.peers[1], 1, 1, scene.tick);
    pass(1);
    cr_assert(take(&message));
    cr_assert_eq(message.session.index, honest.index);
    cr_assert_gt(net_counters(scene.net)->refused[ARB_DECODE_UNKNOWN], 0);
    close_scene();
}

Test(net, long_messages_travel_in_parts)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    uint8_t bytes[LONG_BYTES];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)(i * 7 + (size_t)round);
        }
        scene.port.put(scene.port.owner, session, PORT_CHANNEL_RELIABLE, bytes, sizeof bytes);
        pass(4);
        cr_assert(scene.peers[0].long_complete);
        cr_assert_eq(scene.peers[0].parts.size, sizeof bytes);
        cr_assert_eq(memcmp(scene.peers[0].parts_bytes, bytes, sizeof bytes), 0);
        scene.peers[0].long_complete = false;
    }
    close_scene();
}

Test(net, put_reaches_only_that_session)
{
    open_scene();
    struct port_session first = joined(0, "Ada");
    joined(1, "Eve");
    static const uint8_t bytes[] = {ARB_MESSAGE_EVENT, 1, 2};
    scene.port.put(scene.port.owner, first, PORT_CHANNEL_RELIABLE, bytes, sizeof bytes);
    struct port_session gone = {first.index, first.epoch + 1};
    scene.port.put(scene.port.owner, gone, PORT_CHANNEL_RELIABLE, bytes, sizeof bytes);
    pass(4);
    cr_assert_eq(scene.peers[0].received[ARB_MESSAGE_EVENT], 1);
    cr_assert_eq(scene.peers[1].received[ARB_MESSAGE_EVENT], 0);
    close_scene();
}

Test(net, refused_by_the_match_gets_no_leave)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    scene.port.refuse(scene.port.owner, session, ARB_REFUSED_FULL);
    pass(6);
    cr_assert(scene.peers[0].gone);
    cr_assert_eq(scene.peers[0].gone_data, ARB_REFUSED_FULL);
    struct port_message message;
    cr_assert_not(take(&message));
    close_scene();
}

/* Between two ticks of the match. */
static void come_and_go(const char *name)
{
    struct peer *peer = connect_peer(0);
    pass(4);
    say_hello(peer, name);
    pass(2);
    arb_net_disconnect(peer->net, 0, 0);
    pass(4);
}

Test(net, place_of_a_refused_session_owes_nothing_to_the_next)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    scene.port.refuse(scene.port.owner, session, ARB_REFUSED_FULL);
    pass(6);
    arb_net_destroy(scene.peers[0].net);
    come_and_go("Eve");
    struct port_message message;
    cr_assert_not(take(&message));
    close_scene();
}

Test(net, session_that_came_and_went_before_a_tick_is_never_told)
{
    open_scene();
    come_and_go("Ada");
    struct port_message message;
    cr_assert_not(take(&message));
    close_scene();
}

Test(net, place_taken_again_before_a_tick_gives_the_old_leave_first)
{
    open_scene();
    struct port_session old = joined(0, "Ada");
    arb_net_disconnect(scene.peers[0].net, 0, 0);
    pass(4);
    arb_net_destroy(scene.peers[0].net);
    struct peer *peer = connect_peer(0);
    pass(4);
    say_hello(peer, "Eve");
    pass(2);
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_LOST);
    cr_assert_eq(message.session.epoch, old.epoch);
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_JOIN);
    cr_assert_str_eq(message.name, "Eve");
    cr_assert_not(take(&message));
    close_scene();
}

Test(net, closed_door_refuses_newcomers_and_those_who_wait)
{
    open_scene();
    joined(0, "Ada");
    struct peer *waiting = connect_peer(1);
    pass(4);
    net_close_door(scene.net, ARB_REFUSED_SHUTDOWN);
    struct peer *late = connect_peer(2);
    pass(8);
    cr_assert(waiting->gone);
    cr_assert_eq(waiting->gone_data, ARB_REFUSED_SHUTDOWN);
    cr_assert(late->gone);
    cr_assert_eq(late->gone_data, ARB_REFUSED_SHUTDOWN);
    cr_assert_not(scene.peers[0].gone);
    close_scene();
}

Test(net, end_tells_everybody_and_empties_the_house)
{
    open_scene();
    joined(0, "Ada");
    joined(1, "Eve");
    net_end_all(scene.net, ARB_REFUSED_ENDED);
    pass(6);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(scene.peers[i].received[ARB_MESSAGE_REFUSED], 1);
        cr_assert(scene.peers[i].gone);
        cr_assert_eq(scene.peers[i].gone_data, ARB_REFUSED_ENDED);
    }
    cr_assert_eq(net_session_count(scene.net), 0);
    close_scene();
}

Test(net, inbox_holds_the_worst_that_all_places_can_send)
{
    open_scene();
    for (int i = 0; i < SESSIONS; i++) {
        char name[] = "P0";
        name[1] = (char)('0' + i);
        joined(i, name);
    }
    static uint8_t bytes[ARB_NET_MESSAGE_MAX];
    bytes[0] = ARB_MESSAGE_INPUT;
    for (int i = 0; i < SESSIONS; i++) {
        for (int n = 0; n < PER_TICK; n++) {
            say(&scene.peers[i], ARB_NET_CHANNEL_UNSEQUENCED, bytes, sizeof bytes);
        }
    }
    pass(4);
    net_end_all(scene.net, ARB_REFUSED_ENDED);
    struct port_message message;
    int leaves = 0;
    while (take(&message)) {
        leaves += message.type == PORT_LEAVE;
    }
    cr_assert_eq(leaves, SESSIONS);
    close_scene();
}

/* ---- spectators ---- */

static struct port_session joined_to_watch(int index)
{
    struct port_message message;
    connect_peer(index);
    pass(4);
    say_hello_as(&scene.peers[index], ARB_ROLE_SPECTATOR);
    pass(3);
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_JOIN);
    cr_assert_eq(message.role, ARB_ROLE_SPECTATOR);
    return message.session;
}

static void say_spectate(struct peer *peer, const struct arb_spectate *spectate)
{
    uint8_t bytes[64];
    size_t size = arb_message_encode(ARB_MESSAGE_SPECTATE, &arb_spectate_fields, spectate, bytes,
                                     sizeof bytes);
    say(peer, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
}

Test(net, a_spectator_says_what_it_looks_at)
{
    open_scene();
    struct port_session session = joined_to_watch(0);
    say_spectate(&scene.peers[0], &(struct arb_spectate){.number = 3,
                                                         .ack_snapshot = 9,
                                                         .has_ack = 1,
                                                         .ack_mask = 5,
                                                         .follow = 7,
                                                         .x = 1.5F,
                                                         .y = -2.5F});
    pass(3);
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_SPECTATE);
    cr_assert_eq(message.session.index, session.index);
    cr_assert_eq(message.session.epoch, session.epoch);
    cr_assert_eq(message.spectate.number, 3);
    cr_assert_eq(message.spectate.ack_snapshot, 9);
    cr_assert_eq(message.spectate.ack_mask, 5);
    cr_assert_eq(message.spectate.follow, 7);
    cr_assert(message.spectate.x == 1.5F && message.spectate.y == -2.5F);
    cr_assert_not(take(&message));
    close_scene();
}

Test(net, each_role_has_its_own_message)
{
    open_scene();
    joined_to_watch(0);
    joined(1, "Ada");
    say_inputs(&scene.peers[0], 1, 1, scene.tick);
    say_spectate(&scene.peers[1], &(struct arb_spectate){.number = 1});
    pass(3);
    struct port_message message;
    cr_assert_not(take(&message));
    cr_assert_eq(net_counters(scene.net)->refused[ARB_DECODE_ORDER], 2);
    close_scene();
}

Test(net, a_place_that_is_no_number_is_refused)
{
    open_scene();
    joined_to_watch(0);
    uint8_t bytes[64];
    struct arb_spectate spectate = {.number = 1, .follow = ARB_NO_SLOT, .x = 3.0F};
    size_t size = arb_message_encode(ARB_MESSAGE_SPECTATE, &arb_spectate_fields, &spectate, bytes,
                                     sizeof bytes);
    memset(bytes + size - 6, 0xFF, 6);
    bytes[size - 1] = 1;
    say(&scene.peers[0], ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
    pass(3);
    struct port_message message;
    cr_assert_not(take(&message));
    cr_assert_eq(net_counters(scene.net)->refused[ARB_DECODE_RANGE], 1);
    close_scene();
}

Test(net, spectators_are_told_the_time_of_what_they_see)
{
    open_scene();
    joined_to_watch(0);
    joined(1, "Ada");
    const uint8_t ping[] = {ARB_MESSAGE_PING, 1, 0};
    arb_tick expected[] = {scene.tick - 600, scene.tick};
    for (int i = 0; i < 2; i++) {
        struct arb_pong pong;
        say(&scene.peers[i], ARB_NET_CHANNEL_UNSEQUENCED, ping, sizeof ping);
        pass(3);
        cr_assert_eq(arb_message_decode(ARB_MESSAGE_PONG, &arb_pong_fields, scene.peers[i].last,
                                        scene.peers[i].last_size, &pong),
                     ARB_DECODE_OK);
        cr_assert_eq(pong.tick, expected[i]);
    }
    close_scene();
}

Test(net, players_can_be_ended_and_spectators_stay)
{
    open_scene();
    joined_to_watch(0);
    joined(1, "Ada");
    net_end_players(scene.net, ARB_REFUSED_ENDED);
    pass(10);
    cr_assert(scene.peers[1].gone);
    cr_assert_eq(scene.peers[1].gone_data, ARB_REFUSED_ENDED);
    cr_assert_not(scene.peers[0].gone);
    net_end_all(scene.net, ARB_REFUSED_ENDED);
    pass(10);
    cr_assert(scene.peers[0].gone);
    close_scene();
}

/* All greet at once; one JOIN may be taken per tick. */
Test(net, crowd_joins_a_few_per_tick_in_the_order_it_came)
{
    open_scene();
    scene.net->joins_per_tick = 1;
    net_renew_joins(scene.net);
    static const char *const names[] = {"Ada", "Bo", "Cy"};
    for (int i = 0; i < 3; i++) {
        connect_peer(i);
        pass(4);
        say_hello(&scene.peers[i], names[i]);
        pass(1);
    }
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_str_eq(message.name, "Ada");
    cr_assert_not(take(&message));
    /* Bo waits and goes: he never joined, so nobody leaves. */
    arb_net_disconnect(scene.peers[1].net, 0, 0);
    pass(4);
    cr_assert(take(&message));
    cr_assert_str_eq(message.name, "Cy");
    cr_assert_not(take(&message));
    cr_assert_not(take(&message));
    close_scene();
}

/* A match has room for so many commands of a tick. Were everything behind them to wait too, those
 * who say HELLO all the time would hold up the inputs of those who play. */
Test(net, joins_that_the_match_has_no_room_for_hold_up_nothing_else)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    scene.net->config.player_joins_per_tick = 1;
    net_renew_joins(scene.net);
    for (int i = 1; i < 3; i++) {
        connect_peer(i);
        pass(4);
        say_hello(&scene.peers[i], "Bo");
        pass(1);
    }
    connect_peer(3);
    pass(4);
    say_hello_as(&scene.peers[3], ARB_ROLE_SPECTATOR);
    pass(2);
    say_inputs(&scene.peers[0], 1, 1, scene.tick);
    pass(1);
    struct port_message message;
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_JOIN);
    cr_assert_eq(message.role, ARB_ROLE_PLAYER);
    cr_assert(take(&message));
    cr_assert_eq(message.role, ARB_ROLE_SPECTATOR, "it takes no place among the players");
    cr_assert(take(&message));
    cr_assert_eq(message.type, PORT_INPUTS);
    cr_assert_eq(message.session.index, session.index);
    cr_assert_not(take(&message));
    cr_assert(take(&message), "the other one's turn is the next tick");
    cr_assert_eq(message.type, PORT_JOIN);
    cr_assert_not(take(&message));
    close_scene();
}

Test(net, messages_are_counted_by_type)
{
    open_scene();
    struct port_session session = joined(0, "Ada");
    say_inputs(&scene.peers[0], 1, 2, scene.tick);
    static const uint8_t snapshot[] = {ARB_MESSAGE_SNAPSHOT, 1, 2};
    scene.port.put(scene.port.owner, session, PORT_CHANNEL_UNSEQUENCED, snapshot, sizeof snapshot);
    pass(2);
    const struct net_counters *counters = net_counters(scene.net);
    cr_assert_eq(counters->in[ARB_MESSAGE_HELLO].messages, 1);
    cr_assert_eq(counters->in[ARB_MESSAGE_INPUT].messages, 1);
    cr_assert_gt(counters->in[ARB_MESSAGE_INPUT].bytes, 8);
    cr_assert_eq(counters->out[ARB_MESSAGE_SNAPSHOT].messages, 1);
    cr_assert_eq(counters->out[ARB_MESSAGE_SNAPSHOT].bytes, sizeof snapshot);
    close_scene();
}
