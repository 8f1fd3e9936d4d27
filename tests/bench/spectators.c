/* What spectators cost, beside the bare sending of what they are sent. A scene without a network is
 * played three times at 60 Hz in this process: with nobody watching; with `spectators` of them
 * connected over UDP on loopback, whom another process plays; and not at all, but the very messages
 * of the time before are sent again to the same connections. CPU time of this process, kernel
 * included; who watches is paid by the other one.
 *
 * usage: bench_spectators [spectators [seconds [delay_s [seed [scene]]]]]
 */
#define _GNU_SOURCE
#include "server/loop/clock.h"
#include "server/match/match_internal.h"
#include "server/net/net.h"
#include "shared/base/arb_assert.h"
#include "tests/bench/bench.h"
#include "tests/scenes/scenes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    RATE = 60,
    WATCHERS_MAX = 1000,
    SETTLE_TICKS = 3 * RATE,
    ARRIVAL_S = 30,
    ACK_NS = 100000000,    /* as the client library */
    SERVICE_NS = 4000000,  /* of the other process */
    FOLLOWERS_OF_FOUR = 3, /* the fourth has a moving camera */
};

/* ---- those who watch: another process ---- */

struct watcher {
    struct arb_net *net;
    struct arb_spectate wish;
    uint64_t mask; /* bit i: snapshot ack - i came */
    uint64_t said_ns;
    bool welcome, news;
};

static void say(struct watcher *watcher, enum arb_message_type type,
                const struct arb_fields *fields, const void *message)
{
    uint8_t bytes[256];
    size_t size = arb_message_encode(type, fields, message, bytes, sizeof bytes);
    bool reliable = type == ARB_MESSAGE_HELLO;
    arb_net_send(watcher->net, 0, reliable ? ARB_NET_CHANNEL_RELIABLE : ARB_NET_CHANNEL_UNSEQUENCED,
                 bytes, size);
}

/* Takes no snapshot apart: of one chunk, it is whole. */
static void note_snapshot(struct watcher *watcher, const struct arb_net_event *event)
{
    struct arb_chunk chunk;
    if (arb_chunk_decode(event->bytes, event->size, &chunk) != ARB_DECODE_OK ||
        chunk.header.chunk_count != 1) {
        return;
    }
    watcher->news = true; /* also when it is sent again */
    int16_t step = (int16_t)(uint16_t)(chunk.header.id - watcher->wish.ack_snapshot);
    if (watcher->wish.has_ack && step <= 0) return;
    watcher->mask = watcher->wish.has_ack && step < 64 ? watcher->mask << step : 0;
    watcher->mask |= 1;
    watcher->wish.has_ack = 1;
    watcher->wish.ack_snapshot = chunk.header.id;
    watcher->wish.ack_mask = (uint32_t)(watcher->mask >> 1);
}

static void serve(struct watcher *watcher, uint64_t now_ns)
{
    struct arb_net_event event;
    arb_net_service(watcher->net, now_ns);
    while (arb_net_next(watcher->net, &event)) {
        if (event.type == ARB_NET_CONNECTED) {
            struct arb_hello hello = {.version = ARB_PROTOCOL_VERSION,
                                      .schema_hash = arb_proto_schema_hash(),
                                      .name = "watcher",
                                      .role = ARB_ROLE_SPECTATOR};
            say(watcher, ARB_MESSAGE_HELLO, &arb_hello_fields, &hello);
        } else if (event.type == ARB_NET_MESSAGE && event.bytes[0] == ARB_MESSAGE_SNAPSHOT) {
            note_snapshot(watcher, &event);
        } else if (event.type == ARB_NET_MESSAGE && !watcher->welcome) {
            watcher->welcome = watcher->news = true;
        } else if (event.type == ARB_NET_DISCONNECTED) {
            _exit(EXIT_FAILURE);
        }
    }
    if (watcher->news && now_ns - watcher->said_ns >= ACK_NS) {
        watcher->wish.number++;
        if (watcher->wish.follow == ARB_NO_SLOT) {
            watcher->wish.x = (float)(watcher->wish.number % 800) * 0.1F;
        }
        say(watcher, ARB_MESSAGE_SPECTATE, &arb_spectate_fields, &watcher->wish);
        watcher->said_ns = now_ns;
        watcher->news = false;
    }
    arb_net_flush(watcher->net, now_ns);
}

static void watch(uint16_t port, uint32_t count, uint32_t players)
{
    static struct watcher watchers[WATCHERS_MAX];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_carrier *carrier = NULL;
        char error[160];
        if (arb_udp_connect("127.0.0.1", port, &carrier, error, sizeof error) != ARB_OK) {
            fprintf(stderr, "bench_spectators: %s\n", error);
            _exit(EXIT_FAILURE);
        }
        struct arb_net_options options = {.peer_capacity = 1, .seed = i + 1};
        watchers[i].net = arb_net_create(carrier, &options, loop_now_ns());
        bool follows = i % (FOLLOWERS_OF_FOUR + 1) < FOLLOWERS_OF_FOUR;
        watchers[i].wish.follow = (uint16_t)(follows ? i % players : ARB_NO_SLOT);
        watchers[i].wish.y = (float)(i % 80);
        watchers[i].said_ns = i * (uint64_t)(ACK_NS / WATCHERS_MAX);
        arb_net_connect(watchers[i].net, loop_now_ns());
        arb_net_flush(watchers[i].net, loop_now_ns());
    }
    for (uint64_t due = loop_now_ns();; due += SERVICE_NS) {
        for (uint32_t i = 0; i < count; i++) {
            serve(&watchers[i], loop_now_ns());
        }
        bench_sleep_until(due);
    }
}

/* ---- the server ---- */

/* What one time of a phase cost, per tick. */
struct cost {
    uint64_t receive_ns, tick_ns;
};

/* A message that was put, and its bytes behind it. */
struct sent {
    struct port_session session;
    uint8_t channel;
    uint16_t size;
};

static struct bench {
    struct scene_run run;
    struct arb_arena arena; /* of net */
    struct net *net;
    struct match_port port; /* of net */
    bool recording;
    uint8_t *record;
    size_t record_capacity, recorded;
    size_t *tick_ends; /* [ticks] */
    uint64_t messages, bytes, snapshots;
} bench;

static bool take(void *owner, struct port_message *out)
{
    (void)owner;
    return bench.port.take(bench.port.owner, out);
}

static void put(void *owner, struct port_session session, uint8_t channel, const uint8_t *bytes,
                size_t size)
{
    (void)owner;
    if (bench.recording) {
        struct sent sent = {session, channel, (uint16_t)size};
        ARB_ASSERT(bench.recorded + sizeof sent + size <= bench.record_capacity);
        memcpy(bench.record + bench.recorded, &sent, sizeof sent);
        memcpy(bench.record + bench.recorded + sizeof sent, bytes, size);
        bench.recorded += sizeof sent + size;
        bench.messages++;
        bench.bytes += size;
        bench.snapshots += bytes[0] == ARB_MESSAGE_SNAPSHOT;
    }
    bench.port.put(bench.port.owner, session, channel, bytes, size);
}

static void refuse(void *owner, struct port_session session, enum arb_refusal reason)
{
    (void)owner;
    bench.port.refuse(bench.port.owner, session, reason);
}

static void flush(void *owner)
{
    (void)owner;
    bench.port.flush(bench.port.owner);
}

static void receive(void)
{
    net_receive(bench.net, loop_now_ns(), match_tick(bench.run.match), 0);
}

static void play(struct cost *cost)
{
    uint64_t begin = bench_cpu_ns();
    receive();
    uint64_t received = bench_cpu_ns();
    scene_give_inputs(&bench.run);
    tick_run(bench.run.match, TICK_LIVE);
    cost->receive_ns += received - begin;
    cost->tick_ns += bench_cpu_ns() - received;
}

/* The messages of tick `tick` again, to the same sessions. */
static void send_again(struct cost *cost, uint32_t tick)
{
    struct port_message message;
    uint64_t begin = bench_cpu_ns();
    receive();
    while (bench.port.take(bench.port.owner, &message)) {
    }
    uint64_t received = bench_cpu_ns();
    size_t at = tick == 0 ? 0 : bench.tick_ends[tick - 1];
    while (at < bench.tick_ends[tick]) {
        struct sent sent;
        memcpy(&sent, bench.record + at, sizeof sent);
        at += sizeof sent;
        bench.port.put(bench.port.owner, sent.session, sent.channel, bench.record + at, sent.size);
        at += sent.size;
    }
    flush(NULL);
    cost->receive_ns += received - begin;
    cost->tick_ns += bench_cpu_ns() - received;
}

enum phase { ALONE, WATCHED, AGAIN };

static struct cost run_phase(enum phase phase, uint32_t ticks)
{
    struct cost cost = {0};
    uint64_t start_ns = loop_now_ns();
    for (uint32_t i = 0; i < ticks; i++) {
        bench_sleep_until(start_ns + (uint64_t)i * 1000000000U / RATE);
        if (phase == AGAIN) {
            send_again(&cost, i);
            continue;
        }
        bench.recording = phase == WATCHED;
        play(&cost);
        if (phase == WATCHED) bench.tick_ends[i] = bench.recorded;
    }
    bench.recording = false;
    return (struct cost){cost.receive_ns / ticks, cost.tick_ns / ticks};
}

static void draw_token(void *owner, uint8_t *bytes, size_t count)
{
    (void)owner;
    memset(bytes, 1, count); /* spectators have none */
}

static void open_bench(const struct scene *scene, uint64_t seed, uint32_t spectators,
                       uint32_t seconds)
{
    struct arb_carrier *carrier = NULL;
    char error[160];
    scene_open(&bench.run, scene, seed);
    if (arb_udp_open("127.0.0.1", 0, &carrier, error, sizeof error) != ARB_OK) {
        fprintf(stderr, "bench_spectators: %s\n", error);
        exit(EXIT_FAILURE);
    }
    uint32_t sessions = spectators + 16;
    arb_arena_init(&bench.arena);
    struct arb_net_options options = {.peer_capacity = sessions, .seed = 1};
    struct arb_net *transport = arb_net_create(carrier, &options, loop_now_ns());
    bench.net =
        net_create(&bench.arena,
                   &(struct net_config){.session_capacity = sessions,
                                        .messages_per_tick = 16,
                                        .bad_messages_max = 1000,
                                        .hello_timeout_ms = 60000,
                                        .tick_rate = RATE,
                                        .random = draw_token,
                                        .spectator_delay_ticks =
                                            match_spectator_delay_ticks(&bench.run.config.match)},
                   transport);
    bench.port = net_port(bench.net);
    bench.run.match->port = (struct match_port){NULL, take, put, refuse, flush};
    bench.record_capacity = (size_t)spectators * seconds * RATE * 256;
    bench.record = malloc(bench.record_capacity);
    bench.tick_ends = calloc((size_t)seconds * RATE, sizeof *bench.tick_ends);
    ARB_ASSERT(bench.record != NULL && bench.tick_ends != NULL);
    /* The room for the record is not to be found while the server is measured. */
    memset(bench.record, 1, bench.record_capacity);
}

static bool wait_for_all(uint32_t spectators)
{
    for (uint32_t i = 0; i < ARRIVAL_S; i++) {
        run_phase(ALONE, RATE);
        if (match_spectator_count(bench.run.match) == spectators) return true;
    }
    return false;
}

static void print(const struct scene *scene, uint32_t spectators, uint32_t ticks,
                  const struct cost *alone, const struct cost *watched, const struct cost *again)
{
    double us[] = {(double)alone->receive_ns / 1e3,   (double)alone->tick_ns / 1e3,
                   (double)watched->receive_ns / 1e3, (double)watched->tick_ns / 1e3,
                   (double)again->receive_ns / 1e3,   (double)again->tick_ns / 1e3};
    double spent = us[2] + us[3] - us[0] - us[1];
    printf("%s, %u spectators, %u ticks: alone %.0f us/tick; watched receive %.0f tick %.0f; "
           "sent again receive %.0f send %.0f\n"
           "they cost %.0f us/tick, %.2f of receiving and sending the same, %.2f of sending alone; "
           "%.1f bytes a snapshot, %.2f snapshots and %.2f messages a tick and spectator\n",
           scene->name, spectators, ticks, us[0] + us[1], us[2], us[3], us[4], us[5], spent,
           spent / (us[4] + us[5]), spent / us[5], (double)bench.bytes / (double)bench.messages,
           (double)bench.snapshots / ticks / spectators,
           (double)bench.messages / ticks / spectators);
}

static uint32_t argument(int argc, char **argv, int index, uint32_t otherwise)
{
    return argc > index ? (uint32_t)strtoul(argv[index], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    uint32_t spectators = argument(argc, argv, 1, 500), seconds = argument(argc, argv, 2, 5);
    uint32_t delay_s = argument(argc, argv, 3, 0), seed = argument(argc, argv, 4, 1);
    const struct scene *scene = scene_find(argc > 5 ? argv[5] : "arena64");
    if (scene == NULL || spectators == 0 || spectators > WATCHERS_MAX || seconds == 0) {
        fprintf(stderr,
                "usage: bench_spectators [spectators [seconds [delay_s [seed [scene]]]]]\n");
        return 64;
    }
    char places[32], delay[32];
    snprintf(places, sizeof places, "spectator.max=%u", spectators);
    snprintf(delay, sizeof delay, "spectator.delay_s=%u", delay_s);
    /* About 20 of 64 in view. */
    const char *sets[SCENE_SETS_MAX] = {scene->sets[0], "interest.enter_m=25",
                                        "interest.retain_m=30", places, delay};
    struct scene watched = *scene;
    watched.sets = sets;
    uint32_t ticks = seconds * RATE;
    open_bench(&watched, seed, spectators, seconds);
    run_phase(ALONE, RATE + delay_s * RATE);
    struct cost alone = run_phase(ALONE, ticks);
    pid_t child = fork();
    if (child == 0) {
        watch(arb_carrier_port(arb_net_carrier(net_transport(bench.net))), spectators,
              scene->players);
    }
    int status = EXIT_FAILURE;
    if (wait_for_all(spectators)) {
        run_phase(ALONE, SETTLE_TICKS);
        struct cost seen = run_phase(WATCHED, ticks);
        struct cost again = run_phase(AGAIN, ticks);
        print(scene, spectators, ticks, &alone, &seen, &again);
        status = EXIT_SUCCESS;
    } else {
        fprintf(stderr, "bench_spectators: only %u came\n", match_spectator_count(bench.run.match));
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    net_destroy(bench.net);
    arb_arena_free(&bench.arena);
    free(bench.record);
    free(bench.tick_ends);
    scene_close(&bench.run);
    return status;
}
