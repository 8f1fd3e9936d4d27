/* What both forms of the UDP carrier, batched and plain, must do. */
#ifndef TRANSPORT_UDP_RIG_H
#define TRANSPORT_UDP_RIG_H

#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_net.h"
#include "shared/transport/arb_socket_internal.h"

#include <criterion/criterion.h>
#include <string.h>

#ifdef _WIN32
#define poll WSAPoll
#else
#include <poll.h>
#include <time.h>
#endif

/* 0: nothing here knows when the kernel got a datagram (Windows; qemu-user does not pass it on). */
#ifndef UDP_HAS_STAMPS
#define UDP_HAS_STAMPS 1
#endif

static inline struct arb_carrier *open_server(const char *address)
{
    struct arb_carrier *carrier;
    char error[200] = "";
    cr_assert_eq(arb_udp_open(address, 0, &carrier, error, sizeof error), ARB_OK, "%s", error);
    return carrier;
}

static inline struct arb_carrier *open_client(const char *address, uint16_t port)
{
    struct arb_carrier *carrier;
    char error[200] = "";
    cr_assert_eq(arb_udp_connect(address, port, &carrier, error, sizeof error), ARB_OK, "%s",
                 error);
    return carrier;
}

/* The clock is made up; only waiting for the kernel is real. */
struct udp_pair {
    struct arb_net *server, *client;
    uint64_t now_ns;
};

static inline void udp_wait_readable(struct arb_net *net)
{
    struct pollfd readable = {.events = POLLIN};
#ifdef _WIN32
    readable.fd = (SOCKET)arb_carrier_fd(arb_net_carrier(net));
#else
    readable.fd = arb_carrier_fd(arb_net_carrier(net));
#endif
    poll(&readable, 1, 5);
}

static inline void udp_step(struct udp_pair *pair)
{
    arb_net_flush(pair->client, pair->now_ns);
    udp_wait_readable(pair->server);
    pair->now_ns += 5000000;
    arb_net_service(pair->server, pair->now_ns);
    arb_net_flush(pair->server, pair->now_ns);
    udp_wait_readable(pair->client);
    arb_net_service(pair->client, pair->now_ns);
}

static inline bool udp_wait(struct udp_pair *pair, struct arb_net *at, enum arb_net_event_type type,
                            struct arb_net_event *event)
{
    for (int i = 0; i < 400; i++) {
        while (arb_net_next(at, event)) {
            if (event->type == type) return true;
        }
        udp_step(pair);
    }
    return false;
}

static inline struct udp_pair udp_connect_pair(const char *listen, const char *target)
{
    struct udp_pair pair = {.now_ns = 5000000000};
    struct arb_net_options options = {.peer_capacity = 4, .seed = 1};
    pair.server = arb_net_create(open_server(listen), &options, pair.now_ns);
    options.peer_capacity = 1;
    uint16_t port = arb_carrier_port(arb_net_carrier(pair.server));
    pair.client = arb_net_create(open_client(target, port), &options, pair.now_ns);
    struct arb_net_event event;
    cr_assert(arb_net_connect(pair.client, pair.now_ns));
    cr_assert(udp_wait(&pair, pair.client, ARB_NET_CONNECTED, &event));
    cr_assert(udp_wait(&pair, pair.server, ARB_NET_CONNECTED, &event));
    return pair;
}

static inline void udp_destroy_pair(struct udp_pair *pair)
{
    arb_net_destroy(pair->client);
    arb_net_destroy(pair->server);
}

static inline void check_exchange(const char *listen, const char *target, const char *prefix)
{
    struct udp_pair pair = udp_connect_pair(listen, target);
    char text[ARB_NET_ADDRESS_TEXT];
    arb_net_peer_address(pair.server, 0, text);
    cr_assert_eq(strncmp(text, prefix, strlen(prefix)), 0, "%s", text);
    struct arb_net_event event;
    for (uint8_t channel = 0; channel < ARB_NET_CHANNELS; channel++) {
        cr_assert(arb_net_send(pair.client, 0, channel, (const uint8_t *)"up", 2));
        cr_assert(udp_wait(&pair, pair.server, ARB_NET_MESSAGE, &event));
        cr_assert_eq(event.size, 2);
        cr_assert_eq(event.channel, channel);
        cr_assert(arb_net_send(pair.server, 0, channel, (const uint8_t *)"down", 4));
        cr_assert(udp_wait(&pair, pair.client, ARB_NET_MESSAGE, &event));
        cr_assert_eq(memcmp(event.bytes, "down", 4), 0);
    }
    arb_net_disconnect(pair.client, 0, 3);
    cr_assert(udp_wait(&pair, pair.server, ARB_NET_DISCONNECTED, &event));
    cr_assert_eq(event.data, 3);
    cr_assert(udp_wait(&pair, pair.client, ARB_NET_DISCONNECTED, &event));
    cr_assert_gt(arb_net_counters(pair.server)->datagrams_in, 3);
    cr_assert_gt(arb_net_counters(pair.server)->bytes_out, 50);
    cr_assert_eq(arb_net_counters(pair.server)->refused_header, 0);
    cr_assert_eq(arb_net_counters(pair.server)->refused_command, 0);
    cr_assert_eq(arb_net_counters(pair.client)->refused_command, 0);
    udp_destroy_pair(&pair);
}

#if UDP_HAS_STAMPS
static inline uint64_t udp_real_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline uint64_t udp_send_and_sleep(struct udp_pair *pair, long sleep_ms)
{
    const struct timespec pause = {.tv_nsec = sleep_ms * 1000000};
    uint64_t sent_ns = udp_real_ns();
    cr_assert(arb_net_send(pair->client, 0, ARB_NET_CHANNEL_UNSEQUENCED, (const uint8_t *)"x", 1));
    arb_net_flush(pair->client, pair->now_ns);
    nanosleep(&pause, NULL);
    return sent_ns;
}

/* Two messages lie unread for 50 and 20 ms of real time; the made up clock stands still meanwhile.
 * False: this machine was too busy to tell, or its kernel has not begun to stamp yet, which it does
 * a moment after the first socket of all asks. */
static inline bool udp_arrivals_are_known(struct udp_pair *pair)
{
    struct arb_net_event event;
    uint64_t sent_ns[2];
    sent_ns[0] = udp_send_and_sleep(pair, 30);
    sent_ns[1] = udp_send_and_sleep(pair, 20);
    arb_net_service(pair->server, pair->now_ns);
    uint64_t read_ns = udp_real_ns();
    bool tells = read_ns - sent_ns[0] < ARB_WAIT_MAX_NS;
    static const uint64_t least_ns[2] = {49000000, 19000000};
    for (int i = 0; i < 2; i++) {
        if (!arb_net_next(pair->server, &event)) { /* the kernel has yet to pass it on */
            cr_assert(udp_wait(pair, pair->server, ARB_NET_MESSAGE, &event));
            tells = false;
        }
        cr_assert_eq(event.type, ARB_NET_MESSAGE);
        uint64_t wait_ns = pair->now_ns - event.received_ns;
        tells &= wait_ns > least_ns[i] && wait_ns <= read_ns - sent_ns[i];
    }
    return tells;
}

static inline void check_arrival(void)
{
    struct udp_pair pair = udp_connect_pair("127.0.0.1", "127.0.0.1");
    bool known = false;
    for (int i = 0; i < 200 && !known; i++) {
        known = udp_arrivals_are_known(&pair);
    }
    cr_assert(known);
    udp_destroy_pair(&pair);
}
#endif

/* 150 full datagrams in one flush: more than a batch, fewer than a buffer. */
static inline void check_flood(void)
{
    struct udp_pair pair = udp_connect_pair("127.0.0.1", "127.0.0.1");
    static uint8_t bytes[1000];
    for (uint32_t i = 0; i < 150; i++) {
        memcpy(bytes, &i, 4);
        cr_assert(arb_net_send(pair.server, 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, sizeof bytes));
    }
    struct arb_net_event event;
    for (uint32_t i = 0; i < 150; i++) {
        cr_assert(udp_wait(&pair, pair.client, ARB_NET_MESSAGE, &event));
        cr_assert_eq(memcmp(event.bytes, &i, 4), 0);
    }
    cr_assert_eq(arb_net_counters(pair.server)->send_failed, 0);
    udp_destroy_pair(&pair);
}

static inline void check_sizes(void)
{
    struct udp_pair pair = udp_connect_pair("127.0.0.1", "127.0.0.1");
    static const size_t sizes[] = {0, 1, 28, 1204, 1536, 1537, 5000, 65507};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    static uint8_t bytes[65507];
    struct sockaddr_in6 any = {0};
    struct sockaddr_in any4 = {.sin_family = AF_INET};
    memcpy(&any, &any4, sizeof any4);
    char error[200] = "";
    int raw = arb_socket_open(AF_INET, &any, sizeof any4, false, error, sizeof error);
    cr_assert_geq(raw, 0, "%s", error);
    arb_socket_size_buffers(raw, ARB_UDP_SEND_BYTES, ARB_UDP_RECEIVE_BYTES);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(arb_carrier_port(arb_net_carrier(pair.server))),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (size_t i = 0; i < COUNT; i++) {
        struct arb_socket_out out = {.bytes = bytes, .size = sizes[i], .to_bytes = sizeof to};
        enum arb_socket_error why;
        memcpy(&out.to, &to, sizeof to);
        cr_assert_eq(arb_socket_write(raw, &out, 1, &why), 1, "%zu bytes", sizes[i]);
    }
    const struct arb_net_counters *counters = arb_net_counters(pair.server);
    for (int i = 0; i < 400 && counters->refused_size + counters->refused_header < COUNT; i++) {
        udp_step(&pair);
    }
    cr_assert_eq(counters->refused_size, COUNT - 1); /* all but the 28 bytes of zeros */
    cr_assert_eq(counters->refused_header, 1);
    struct arb_net_event event;
    arb_net_send(pair.client, 0, 0, (const uint8_t *)"on", 2);
    cr_assert(udp_wait(&pair, pair.server, ARB_NET_MESSAGE, &event));
    arb_socket_close(raw);
    udp_destroy_pair(&pair);
}

#endif
