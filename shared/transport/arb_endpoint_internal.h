/* The inside of an endpoint, shared by arb_net.c (the interface), arb_admit.c (datagrams on their
 * way to ENet), arb_watch.c (silence and repeats), arb_events.c (what ENet reports) and
 * arb_platform.c (the functions that ENet asks its platform for).
 *
 * Two tables, because strangers need ENet peers too and must not use up the places of players:
 * - a slot is an ENet peer, same index. ENet sees a virtual address: host = slot, port = the slot's
 *   serial, +1 for each stranger that got it. The real address stays here, so ENet knows no family
 *   and a peer may change its address without ENet noticing.
 * - a place is what the interface calls `peer`; given at CONNECTED, free again when the caller took
 *   DISCONNECTED or cut it.
 */
#ifndef ARB_ENDPOINT_INTERNAL_H
#define ARB_ENDPOINT_INTERNAL_H

#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_pool_internal.h"

#include <enet/enet.h>

enum {
    ARB_NET_NOWHERE = UINT32_MAX,   /* no slot, no place */
    ARB_NET_HALF_OPEN_MS = 5000,    /* a stranger that does not complete its connection */
    ARB_NET_STEP_MAX_MS = 250,      /* of ENet's clock */
    ARB_NET_READS_MAX = 16384,      /* datagrams per service, refused ones too */
    ARB_NET_EVENTS_MAX = 16384,     /* waiting for the caller; then the carrier is not read */
    ARB_NET_WATCH_EVERY_MS = 50,    /* between two looks after all peers */
    ARB_NET_REPEAT_MAX_MS = 2000,   /* wait before a reliable message is repeated */
    ARB_NET_RELIABLE_OVERHEAD = 64, /* bytes that a queued reliable message counts beyond its own */
};

struct net_slot {
    struct arb_address address;
    uint32_t place; /* or ARB_NET_NOWHERE */
    uint32_t opened_ms, heard_ms;
    uint32_t reliable_bytes; /* queued or under way */
    uint16_t serial;
};

enum net_place_state {
    NET_PLACE_FREE = 0,
    NET_PLACE_OPENING, /* a client's, from arb_net_connect */
    NET_PLACE_OPEN,
    NET_PLACE_CLOSING, /* DISCONNECTED waits for the caller */
};

struct net_place {
    struct arb_address address;
    uint32_t slot; /* ARB_NET_NOWHERE when free or closing */
    uint32_t epoch;
    enum net_place_state state;
};

struct net_node { /* an event that waits */
    struct net_node *next;
    ENetPacket *packet; /* of a message, owned */
    uint64_t received_ns;
    uint32_t peer, epoch, data;
    uint8_t type, channel;
};

struct arb_net {
    struct arb_carrier *carrier;
    ENetHost *host;
    struct arb_pool pool;
    struct arb_net_options options;
    struct arb_net_counters counters;
    uint64_t now_ns;     /* of the newest call that brought it */
    uint64_t enet_ns;    /* ENet's clock: now_ns without what stalls swallowed */
    uint32_t watched_ms; /* when peers were last looked after */
    uint32_t reads_left; /* of this service */
    bool is_dry;         /* the carrier had nothing more */
    uint64_t arrived_ns; /* of the newest datagram that ENet got, and whose it was */
    uint32_t arrived_slot;
    uint32_t slot_count;
    uint32_t half_open_max;
    uint32_t open_count; /* places in NET_PLACE_OPEN */
    uint32_t used_count; /* places not free */
    struct net_slot *slots;
    struct net_place *places;
    struct net_node *first, *last;
    uint32_t waiting; /* events in that list */
    ENetPacket *lent; /* whose bytes the caller reads */
};

/* ENet's platform functions take no argument: they serve the endpoint that this thread entered
 * last. Called before each call into ENet. */
void net_enter(struct arb_net *net);

/* Registers pools with ENet; any number of times, from any thread. False: ENet refused. */
bool net_platform_start(void);

/* Milliseconds of ENet's clock; starts above 0, which ENet takes for "never". */
uint32_t net_clock_ms(const struct arb_net *net);

/* ---- arb_admit.c ---- */

/* Lets a datagram through the wall and names it to ENet, or counts why not. The bytes may have
 * been rewritten and shortened. */
bool net_admit(struct arb_net *net, struct arb_datagram *datagram, ENetAddress *address);

/* ---- arb_watch.c ---- */

/* A stranger whose connection is not complete. */
bool net_is_half_open(const ENetPeer *peer);

/* Every ARB_NET_WATCH_EVERY_MS: cuts peers that were silent for too long and strangers that do not
 * complete a connection, and keeps ENet's waits before it repeats a message short. */
void net_watch(struct arb_net *net);

/* ---- arb_events.c ---- */

/* The messages that the newest datagram brought are marked with its arrival. Called before ENet
 * gets another one. */
void net_stamp_messages(struct arb_net *net);

/* What ENet reported becomes an event of ours. */
void net_take_event(struct arb_net *net, const ENetEvent *event);

/* The place loses its slot; DISCONNECTED with `data` follows. ENet's peer is left alone. */
void net_close_place(struct arb_net *net, uint32_t place, uint32_t data);

/* The place is free at once; events of it that still wait are dropped when their turn comes. */
void net_free_place(struct arb_net *net, uint32_t place);

/* NULL when the place has none. */
ENetPeer *net_peer_of(const struct arb_net *net, uint32_t place);

/* Takes waiting events and the lent message back to the pool. */
void net_drop_events(struct arb_net *net);

#endif
