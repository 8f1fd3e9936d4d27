/* One server and a few clients on a simulated network, stepped by hand. For the transport's tests.
 */
#ifndef TRANSPORT_RIG_H
#define TRANSPORT_RIG_H

#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_net.h"

#include <criterion/criterion.h>
#include <string.h>

enum { RIG_CLIENTS_MAX = 64 };

struct rig {
    struct arb_simnet *sim;
    struct arb_carrier *server_carrier;
    struct arb_net *server;
    struct arb_net *clients[RIG_CLIENTS_MAX];
    uint32_t client_count;
    uint64_t now_us;
};

static inline uint64_t rig_ns(const struct rig *rig)
{
    return rig->now_us * 1000;
}

static inline struct arb_net *rig_add_client(struct rig *rig, struct arb_link link,
                                             struct arb_net_options options)
{
    struct arb_carrier *carrier = arb_simnet_connect(rig->sim, rig->server_carrier, link, link);
    options.peer_capacity = 1;
    options.seed += rig->client_count + 1;
    struct arb_net *client = arb_net_create(carrier, &options, rig_ns(rig));
    cr_assert_not_null(client);
    rig->clients[rig->client_count++] = client;
    return client;
}

/* The server's own links are perfect: a path is the client's link. */
static inline void rig_start(struct rig *rig, uint64_t seed, uint32_t capacity,
                             struct arb_net_options options)
{
    *rig = (struct rig){.now_us = 1000000};
    rig->sim = arb_simnet_create(seed);
    arb_simnet_advance(rig->sim, rig->now_us);
    rig->server_carrier = arb_simnet_open(rig->sim, (struct arb_link){0}, (struct arb_link){0});
    options.peer_capacity = capacity;
    options.seed = (uint32_t)seed;
    rig->server = arb_net_create(rig->server_carrier, &options, rig_ns(rig));
    cr_assert_not_null(rig->server);
}

static inline void rig_stop(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->client_count; i++) {
        arb_net_destroy(rig->clients[i]);
    }
    arb_net_destroy(rig->server);
    arb_simnet_destroy(rig->sim);
}

static inline void rig_advance(struct rig *rig, uint64_t us)
{
    rig->now_us += us;
    arb_simnet_advance(rig->sim, rig->now_us);
}

/* Everybody flushes what it has, time passes, everybody reads. */
static inline void rig_step(struct rig *rig, uint64_t us)
{
    arb_net_flush(rig->server, rig_ns(rig));
    for (uint32_t i = 0; i < rig->client_count; i++) {
        arb_net_flush(rig->clients[i], rig_ns(rig));
    }
    rig_advance(rig, us);
    arb_net_service(rig->server, rig_ns(rig));
    for (uint32_t i = 0; i < rig->client_count; i++) {
        arb_net_service(rig->clients[i], rig_ns(rig));
    }
}

/* Takes events until one of that type; others are dropped. */
static inline bool rig_find(struct arb_net *net, enum arb_net_event_type type,
                            struct arb_net_event *event)
{
    while (arb_net_next(net, event)) {
        if (event->type == type) return true;
    }
    return false;
}

static inline void rig_drain(struct arb_net *net)
{
    struct arb_net_event event;
    while (arb_net_next(net, &event)) {
    }
}

/* Connects client `index` and gives the server's event. */
static inline struct arb_net_event rig_connect(struct rig *rig, uint32_t index)
{
    struct arb_net_event at_server = {0}, at_client = {0};
    bool server_knows = false, client_knows = false;
    cr_assert(arb_net_connect(rig->clients[index], rig_ns(rig)));
    for (int i = 0; i < 2000 && !(server_knows && client_knows); i++) {
        rig_step(rig, 5000);
        if (!server_knows) server_knows = rig_find(rig->server, ARB_NET_CONNECTED, &at_server);
        if (!client_knows) {
            client_knows = rig_find(rig->clients[index], ARB_NET_CONNECTED, &at_client);
        }
    }
    cr_assert(server_knows && client_knows);
    return at_server;
}

/* Hands the server raw bytes as if they came from that client's address. */
static inline void rig_inject(struct arb_net *client, const void *bytes, size_t size)
{
    struct arb_carrier *carrier = arb_net_carrier(client);
    memcpy(arb_carrier_room(carrier), bytes, size);
    arb_carrier_commit(carrier, &carrier->server, size);
    arb_carrier_flush(carrier);
}

#endif
