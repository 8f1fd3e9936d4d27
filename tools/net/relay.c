#define _GNU_SOURCE
#include "tools/net/relay.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    PAYLOAD_BYTES_MAX = RELAY_PATH_BYTES - ARB_LINK_HEADERS_BYTES,
    READS_MAX = 256, /* of one socket before the others have their turn */
    EVENTS_MAX = 64,
    SOCKET_BYTES = 4 * 1024 * 1024,
    LISTENER = RELAY_CLIENTS_MAX, /* what epoll tells of a socket; below: the client */
    TIMER,
    NONE = UINT32_MAX,
};

#define US_PER_S 1000000ULL

struct client {
    struct sockaddr_storage address;
    socklen_t address_bytes;
    int fd;          /* towards the server; -1: the place is free */
    uint32_t serial; /* which client of the profile */
    uint64_t heard_us;
    struct arb_link_state up, down;
};

struct flight {
    uint64_t due_us, order;
    uint32_t client, serial; /* a later client in the same place gets nothing of it */
    uint32_t next;           /* free ones */
    uint16_t size;
    bool is_up;
    uint8_t bytes[PAYLOAD_BYTES_MAX];
};

struct relay {
    const struct profile *profile;
    uint64_t seed, start_us, links_us, order;
    struct sockaddr_storage server;
    socklen_t server_bytes;
    int listener, epoll, timer;
    uint16_t port;
    uint32_t serials;
    struct client clients[RELAY_CLIENTS_MAX];
    struct flight *flights;
    uint32_t flight_count, free_first;
    uint32_t heap[RELAY_FLIGHTS_MAX]; /* flights by (due_us, order) */
    uint32_t heap_count;
    struct relay_counters counters;
};

static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * US_PER_S + (uint64_t)now.tv_nsec / 1000;
}

static uint64_t now_us(const struct relay *relay)
{
    return clock_us() - relay->start_us;
}

/* ---- flights ---- */

static uint32_t flight_take(struct relay *relay)
{
    if (relay->free_first == NONE) {
        return relay->flight_count < RELAY_FLIGHTS_MAX ? relay->flight_count++ : NONE;
    }
    uint32_t index = relay->free_first;
    relay->free_first = relay->flights[index].next;
    return index;
}

static void flight_free(struct relay *relay, uint32_t index)
{
    relay->flights[index].next = relay->free_first;
    relay->free_first = index;
}

static bool is_before(const struct relay *relay, uint32_t a, uint32_t b)
{
    const struct flight *x = &relay->flights[a], *y = &relay->flights[b];
    return x->due_us != y->due_us ? x->due_us < y->due_us : x->order < y->order;
}

static void heap_push(struct relay *relay, uint32_t flight)
{
    relay->flights[flight].order = relay->order++;
    uint32_t at = relay->heap_count++;
    while (at > 0 && is_before(relay, flight, relay->heap[(at - 1) / 2])) {
        relay->heap[at] = relay->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    relay->heap[at] = flight;
}

static uint32_t heap_pop(struct relay *relay)
{
    uint32_t top = relay->heap[0];
    uint32_t moved = relay->heap[--relay->heap_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < relay->heap_count; child = 2 * at + 1) {
        if (child + 1 < relay->heap_count &&
            is_before(relay, relay->heap[child + 1], relay->heap[child])) {
            child++;
        }
        if (!is_before(relay, relay->heap[child], moved)) break;
        relay->heap[at] = relay->heap[child];
        at = child;
    }
    relay->heap[at] = moved;
    return top;
}

/* ---- sockets ---- */

static void watch(struct relay *relay, int fd, uint32_t what)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = what}};
    int failed = epoll_ctl(relay->epoll, EPOLL_CTL_ADD, fd, &event);
    ARB_ASSERT(failed == 0);
}

static int open_socket(int family)
{
    int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fd;
    int bytes = SOCKET_BYTES;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

static bool resolve(const struct relay_address *address, struct sockaddr_storage *out,
                    socklen_t *out_bytes, char error[RELAY_ERROR_BYTES])
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
    int failed = getaddrinfo(address->host, address->port, &hints, &found);
    if (failed != 0) {
        snprintf(error, RELAY_ERROR_BYTES, "no address for host %s: %s", address->host,
                 gai_strerror(failed));
        return false;
    }
    memcpy(out, found->ai_addr, found->ai_addrlen);
    *out_bytes = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static bool open_listener(struct relay *relay, const struct relay_address *listen_at,
                          char error[RELAY_ERROR_BYTES])
{
    struct sockaddr_storage own;
    socklen_t bytes;
    if (!resolve(listen_at, &own, &bytes, error)) return false;
    relay->listener = open_socket(own.ss_family);
    if (relay->listener < 0 || bind(relay->listener, (struct sockaddr *)&own, bytes) != 0) {
        snprintf(error, RELAY_ERROR_BYTES, "cannot listen at %s port %s: %s", listen_at->host,
                 listen_at->port, strerror(errno));
        return false;
    }
    bytes = sizeof own;
    getsockname(relay->listener, (struct sockaddr *)&own, &bytes);
    in_port_t port = own.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&own)->sin6_port
                                               : ((struct sockaddr_in *)&own)->sin_port;
    relay->port = ntohs(port);
    return true;
}

enum arb_result relay_open(const struct relay_address *listen_at, const struct relay_address *to,
                           const struct profile *profile, uint64_t seed, struct relay **out,
                           char error[RELAY_ERROR_BYTES])
{
    struct relay *relay = arb_mem_alloc(sizeof *relay);
    *out = relay;
    relay->profile = profile;
    relay->seed = seed;
    relay->free_first = NONE;
    relay->flights = arb_mem_alloc(RELAY_FLIGHTS_MAX * sizeof *relay->flights);
    relay->listener = -1;
    relay->epoll = epoll_create1(EPOLL_CLOEXEC);
    relay->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    for (uint32_t i = 0; i < RELAY_CLIENTS_MAX; i++) {
        relay->clients[i].fd = -1;
    }
    if (relay->epoll < 0 || relay->timer < 0) {
        snprintf(error, RELAY_ERROR_BYTES, "no descriptors: %s", strerror(errno));
    } else if (resolve(to, &relay->server, &relay->server_bytes, error) &&
               open_listener(relay, listen_at, error)) {
        watch(relay, relay->listener, LISTENER);
        watch(relay, relay->timer, TIMER);
        return ARB_OK;
    }
    relay_close(relay);
    *out = NULL;
    return ARB_ADDRESS;
}

void relay_close(struct relay *relay)
{
    for (uint32_t i = 0; i < RELAY_CLIENTS_MAX; i++) {
        if (relay->clients[i].fd >= 0) close(relay->clients[i].fd);
    }
    if (relay->listener >= 0) close(relay->listener);
    if (relay->timer >= 0) close(relay->timer);
    if (relay->epoll >= 0) close(relay->epoll);
    arb_mem_free(relay->flights);
    arb_mem_free(relay);
}

uint16_t relay_port(const struct relay *relay)
{
    return relay->port;
}

/* ---- clients ---- */

static bool is_at(const struct client *client, const struct sockaddr_storage *address,
                  socklen_t bytes)
{
    return client->fd >= 0 && client->address_bytes == bytes &&
           memcmp(&client->address, address, bytes) == 0;
}

static void begin_client(struct relay *relay, struct client *client, uint64_t now)
{
    struct arb_link up, down;
    client->serial = relay->serials++;
    client->heard_us = now;
    profile_links_at(relay->profile, client->serial, now, &up, &down);
    arb_link_start(&client->up, up, relay->seed, 2ULL * client->serial);
    arb_link_start(&client->down, down, relay->seed, 2ULL * client->serial + 1);
    relay->counters.clients++;
}

/* The client of that address, a new one if need be; NULL: no place. */
static struct client *client_of(struct relay *relay, const struct sockaddr_storage *address,
                                socklen_t bytes, uint64_t now)
{
    struct client *place = NULL;
    for (uint32_t i = 0; i < RELAY_CLIENTS_MAX; i++) {
        struct client *client = &relay->clients[i];
        if (is_at(client, address, bytes)) return client;
        if (place == NULL && client->fd < 0) place = client;
    }
    if (place == NULL) return NULL;
    int fd = open_socket(relay->server.ss_family);
    if (fd < 0) return NULL;
    if (connect(fd, (struct sockaddr *)&relay->server, relay->server_bytes) != 0) {
        close(fd);
        return NULL;
    }
    place->fd = fd;
    memcpy(&place->address, address, bytes);
    place->address_bytes = bytes;
    begin_client(relay, place, now);
    watch(relay, fd, (uint32_t)(place - relay->clients));
    return place;
}

static void set_links(struct relay *relay, uint64_t now)
{
    for (uint32_t i = 0; i < RELAY_CLIENTS_MAX; i++) {
        struct client *client = &relay->clients[i];
        if (client->fd < 0) continue;
        if (now - client->heard_us > RELAY_IDLE_S * US_PER_S) {
            close(client->fd); /* which ends epoll's watch too */
            client->fd = -1;
            continue;
        }
        struct arb_link up, down;
        profile_links_at(relay->profile, client->serial, now, &up, &down);
        arb_link_set(&client->up, up, now);
        arb_link_set(&client->down, down, now);
    }
}

/* ---- the way of a datagram ---- */

static void take_off(struct relay *relay, struct relay_side_counters *side, uint32_t index,
                     struct arb_link_delivery delivery)
{
    struct flight *flight = &relay->flights[index];
    bool is_plain = flight->size == 0 || (flight->bytes[0] & ARB_LINK_SEALED_BIT) == 0;
    if (delivery.corrupt != 0 && is_plain) {
        side->bad_checksum++;
        flight_free(relay, index);
        return;
    }
    if (delivery.corrupt != 0) arb_link_corrupt(delivery.corrupt, flight->bytes, flight->size);
    flight->due_us = delivery.deliver_us;
    heap_push(relay, index);
}

static int pass_link(struct relay_side_counters *side, struct arb_link_state *link, uint64_t now,
                     size_t size, struct arb_link_delivery out[2])
{
    struct arb_link_counters fate = {0};
    int copies = arb_link_send(link, now, size, out, &fate);
#define X(name, text) side->name += fate.name;
    ARB_LINK_COUNTER_MAP(X)
#undef X
    return copies;
}

/* The flight holds what was read. */
static void enter_link(struct relay *relay, struct client *client, bool is_up, uint32_t index,
                       uint64_t now)
{
    struct relay_side_counters *side = is_up ? &relay->counters.up : &relay->counters.down;
    struct flight *flight = &relay->flights[index];
    struct arb_link_delivery out[2];
    int copies = pass_link(side, is_up ? &client->up : &client->down, now, flight->size, out);
    if (copies == 0) {
        flight_free(relay, index);
        return;
    }
    flight->client = (uint32_t)(client - relay->clients);
    flight->serial = client->serial;
    flight->is_up = is_up;
    uint32_t second = copies == 2 ? flight_take(relay) : NONE;
    if (second != NONE) relay->flights[second] = *flight;
    take_off(relay, side, index, out[0]);
    if (second != NONE) {
        take_off(relay, side, second, out[1]);
    } else if (copies == 2) {
        side->overflow++;
    }
}

/* False: there is nothing to read. `client` NULL: from the listener. */
static bool read_one(struct relay *relay, struct client *client)
{
    struct relay_side_counters *side = client == NULL ? &relay->counters.up : &relay->counters.down;
    struct sockaddr_storage from = {0};
    socklen_t from_bytes = sizeof from;
    uint8_t overflow[PAYLOAD_BYTES_MAX];
    uint32_t index = flight_take(relay);
    uint8_t *bytes = index == NONE ? overflow : relay->flights[index].bytes;
    ssize_t size = client == NULL ? recvfrom(relay->listener, bytes, PAYLOAD_BYTES_MAX, MSG_TRUNC,
                                             (struct sockaddr *)&from, &from_bytes)
                                  : recv(client->fd, bytes, PAYLOAD_BYTES_MAX, MSG_TRUNC);
    uint64_t now = now_us(relay);
    bool is_up = client == NULL;
    bool is_good = size >= 0 && size <= PAYLOAD_BYTES_MAX && index != NONE;
    if (size >= 0) {
        side->datagrams++;
        side->bytes += (uint64_t)size;
        side->too_long += size > PAYLOAD_BYTES_MAX;
        side->overflow += index == NONE;
    }
    if (is_good && is_up) {
        client = client_of(relay, &from, from_bytes, now);
        relay->counters.refused_clients += client == NULL;
    }
    if (is_good && client != NULL) {
        client->heard_us = now;
        relay->flights[index].size = (uint16_t)size;
        enter_link(relay, client, is_up, index, now);
    } else if (index != NONE) {
        flight_free(relay, index);
    }
    /* A refused port is told here; the server may come later. */
    return size >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

static void read_socket(struct relay *relay, uint32_t what)
{
    struct client *client = what == LISTENER ? NULL : &relay->clients[what];
    if (client != NULL && client->fd < 0) return;
    for (int i = 0; i < READS_MAX && read_one(relay, client); i++) {
    }
}

static void deliver(struct relay *relay, const struct flight *flight)
{
    struct relay_side_counters *side = flight->is_up ? &relay->counters.up : &relay->counters.down;
    const struct client *client = &relay->clients[flight->client];
    if (client->fd < 0 || client->serial != flight->serial) return;
    ssize_t sent = flight->is_up
                       ? send(client->fd, flight->bytes, flight->size, MSG_NOSIGNAL)
                       : sendto(relay->listener, flight->bytes, flight->size, MSG_NOSIGNAL,
                                (const struct sockaddr *)&client->address, client->address_bytes);
    if (sent < 0) {
        side->send_failed++;
    } else {
        side->delivered++;
    }
}

static void deliver_due(struct relay *relay)
{
    uint64_t now = now_us(relay);
    while (relay->heap_count > 0 && relay->flights[relay->heap[0]].due_us <= now) {
        uint32_t index = heap_pop(relay);
        const struct flight *flight = &relay->flights[index];
        uint64_t late_us = now - flight->due_us;
        if (late_us > relay->counters.late_us_max) relay->counters.late_us_max = late_us;
        deliver(relay, flight);
        flight_free(relay, index);
    }
}

/* ---- the loop ---- */

/* Wakes at the next datagram that is due, change of the links or end. */
static void set_timer(struct relay *relay, uint64_t end_us)
{
    uint64_t at_us = relay->links_us < end_us ? relay->links_us : end_us;
    if (relay->heap_count > 0 && relay->flights[relay->heap[0]].due_us < at_us) {
        at_us = relay->flights[relay->heap[0]].due_us;
    }
    at_us += relay->start_us;
    struct itimerspec when = {
        .it_value = {(time_t)(at_us / US_PER_S), (long)(at_us % US_PER_S) * 1000}};
    timerfd_settime(relay->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

void relay_run(struct relay *relay, const volatile sig_atomic_t *stop, const sigset_t *unblocked,
               uint64_t duration_us)
{
    struct epoll_event events[EVENTS_MAX];
    uint64_t end_us = duration_us > 0 ? duration_us : UINT64_MAX / 2;
    relay->start_us = clock_us();
    while (!*stop && now_us(relay) < end_us) {
        set_timer(relay, end_us);
        int count = epoll_pwait(relay->epoll, events, EVENTS_MAX, -1, unblocked);
        for (int i = 0; i < count; i++) {
            uint32_t what = events[i].data.u32;
            uint64_t ticks;
            if (what != TIMER) {
                read_socket(relay, what);
            } else if (read(relay->timer, &ticks, sizeof ticks) < 0) {
                continue; /* it was set anew meanwhile */
            }
        }
        uint64_t now = now_us(relay);
        if (now >= relay->links_us) {
            set_links(relay, now);
            relay->links_us = now - now % PROFILE_STEP_US + PROFILE_STEP_US;
        }
        deliver_due(relay);
    }
    relay->counters.running_us = now_us(relay);
}

struct relay_counters relay_counters(const struct relay *relay)
{
    return relay->counters;
}
