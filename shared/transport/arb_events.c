/* What ENet reports, as the events of the interface: places given and taken back, the queue. */
#include "shared/transport/arb_endpoint_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/transport/arb_wall_internal.h"

static struct net_node *add_event(struct arb_net *net, uint8_t type, uint32_t place)
{
    struct net_node *node = arb_pool_take(&net->pool, sizeof *node);
    *node = (struct net_node){
        .received_ns = net->now_ns, .type = type, .peer = place, .epoch = net->places[place].epoch};
    if (net->last != NULL) {
        net->last->next = node;
    } else {
        net->first = node;
    }
    net->last = node;
    net->waiting++;
    return node;
}

static struct net_node *take_first(struct arb_net *net)
{
    struct net_node *node = net->first;
    net->first = node->next;
    if (net->first == NULL) net->last = NULL;
    net->waiting--;
    return node;
}

/* ---- places ---- */

static uint32_t free_place(const struct arb_net *net)
{
    for (uint32_t i = 0; i < net->options.peer_capacity; i++) {
        if (net->places[i].state == NET_PLACE_FREE) return i;
    }
    return ARB_NET_NOWHERE;
}

void net_close_place(struct arb_net *net, uint32_t place, uint32_t data)
{
    struct net_place *closing = &net->places[place];
    ARB_ASSERT(closing->slot != ARB_NET_NOWHERE);
    if (closing->state == NET_PLACE_OPEN) net->open_count--;
    closing->state = NET_PLACE_CLOSING;
    net->slots[closing->slot].place = ARB_NET_NOWHERE;
    closing->slot = ARB_NET_NOWHERE;
    add_event(net, ARB_NET_DISCONNECTED, place)->data = data;
}

void net_free_place(struct arb_net *net, uint32_t place)
{
    struct net_place *freed = &net->places[place];
    if (freed->state == NET_PLACE_FREE) return;
    if (freed->state == NET_PLACE_OPEN) net->open_count--;
    if (freed->slot != ARB_NET_NOWHERE) net->slots[freed->slot].place = ARB_NET_NOWHERE;
    freed->slot = ARB_NET_NOWHERE;
    freed->state = NET_PLACE_FREE;
    net->used_count--;
}

ENetPeer *net_peer_of(const struct arb_net *net, uint32_t place)
{
    ARB_ASSERT(place < net->options.peer_capacity);
    uint32_t slot = net->places[place].slot;
    return slot != ARB_NET_NOWHERE ? &net->host->peers[slot] : NULL;
}

/* ---- ENet's events ---- */

/* Not before CONNECTED: the values of the throttle are echoed and compared in ENet's handshake. */
static void settle_peer(const struct arb_net *net, ENetPeer *peer)
{
    peer->packetThrottleInterval = ARB_THROTTLE_INTERVAL_MS;
    peer->packetThrottleAcceleration = ARB_THROTTLE_ACCELERATION;
    peer->packetThrottleDeceleration = ARB_THROTTLE_DECELERATION;
    peer->packetThrottle = ENET_PEER_PACKET_THROTTLE_SCALE;
    peer->mtu = ARB_NET_MTU;
    uint32_t ping_ms = net->options.timeout_ms / 4;
    enet_peer_ping_interval(peer, ping_ms < ENET_PEER_PING_INTERVAL ? ping_ms + 1 : 0);
    enet_peer_timeout(peer, 0, net->options.timeout_ms, net->options.timeout_ms);
}

static void on_connect(struct arb_net *net, ENetPeer *peer)
{
    struct net_slot *slot = &net->slots[peer->incomingPeerID];
    if (slot->place == ARB_NET_NOWHERE) {
        uint32_t index = free_place(net);
        if (index == ARB_NET_NOWHERE) { /* others completed their connection first */
            net->counters.refused_stranger++;
            /* Repeated until it is acknowledged: who is not told waits for the whole time-out. */
            enet_peer_disconnect(peer, net->options.no_place_data);
            return;
        }
        slot->place = index;
        net->used_count++;
        net->places[index].epoch++;
    }
    struct net_place *place = &net->places[slot->place];
    place->slot = peer->incomingPeerID;
    place->address = slot->address;
    place->state = NET_PLACE_OPEN;
    net->open_count++;
    settle_peer(net, peer);
    add_event(net, ARB_NET_CONNECTED, slot->place);
}

/* ENet reads up to 256 datagrams before it reports the first message. So each message carries the
 * arrival of its datagram in the pointer that ENet leaves to its user: the low bits of nanoseconds,
 * never 0, which says that there is none. */
void net_stamp_messages(struct arb_net *net)
{
    if (net->arrived_slot == ARB_NET_NOWHERE) return;
    ENetList *waiting = &net->host->peers[net->arrived_slot].dispatchedCommands;
    uintptr_t low = (uintptr_t)net->arrived_ns;
    void *stamp = (void *)(low != 0 ? low : 1);
    ENetListIterator end = enet_list_end(waiting);
    for (ENetListIterator i = enet_list_previous(end); i != end; i = enet_list_previous(i)) {
        ENetPacket *packet = ((ENetIncomingCommand *)i)->packet;
        if (packet->userData != NULL) break;
        packet->userData = stamp;
    }
    net->arrived_slot = ARB_NET_NOWHERE;
}

/* One without a mark is of the newest datagram. */
static uint64_t arrival_of(const struct arb_net *net, const ENetPacket *packet)
{
    if (packet->userData == NULL) return net->arrived_ns;
    uintptr_t age_ns = (uintptr_t)net->now_ns - (uintptr_t)packet->userData;
    return net->now_ns - age_ns;
}

static void on_message(struct arb_net *net, const ENetEvent *event)
{
    uint32_t place = net->slots[event->peer->incomingPeerID].place;
    if (place == ARB_NET_NOWHERE) {
        enet_packet_destroy(event->packet);
        return;
    }
    struct net_node *node = add_event(net, ARB_NET_MESSAGE, place);
    node->packet = event->packet;
    node->channel = event->channelID;
    node->received_ns = arrival_of(net, event->packet);
}

void net_take_event(struct arb_net *net, const ENetEvent *event)
{
    uint32_t place = ARB_NET_NOWHERE;
    switch (event->type) {
    case ENET_EVENT_TYPE_CONNECT:
        on_connect(net, event->peer);
        break;
    case ENET_EVENT_TYPE_RECEIVE:
        on_message(net, event);
        break;
    case ENET_EVENT_TYPE_DISCONNECT:
        place = net->slots[event->peer->incomingPeerID].place;
        if (place != ARB_NET_NOWHERE) net_close_place(net, place, event->data);
        break;
    case ENET_EVENT_TYPE_NONE:
        break;
    }
}

/* ---- the caller's side ---- */

static void give_back_lent(struct arb_net *net)
{
    enet_packet_destroy(net->lent);
    net->lent = NULL;
}

/* A place that was cut, or cut and given again, has no claim to what it had before. */
static bool is_stale(const struct arb_net *net, const struct net_node *node)
{
    const struct net_place *place = &net->places[node->peer];
    return place->epoch != node->epoch || place->state == NET_PLACE_FREE;
}

bool arb_net_next(struct arb_net *net, struct arb_net_event *event)
{
    net_enter(net);
    give_back_lent(net);
    while (net->first != NULL) {
        struct net_node *node = take_first(net);
        bool is_wanted = !is_stale(net, node);
        if (is_wanted) {
            *event = (struct arb_net_event){
                .type = (enum arb_net_event_type)node->type,
                .peer = node->peer,
                .epoch = node->epoch,
                .data = node->data,
                .channel = node->channel,
                .bytes = node->packet != NULL ? node->packet->data : NULL,
                .size = node->packet != NULL ? node->packet->dataLength : 0,
                .received_ns = node->received_ns,
            };
            net->lent = node->packet;
            if (node->type == ARB_NET_DISCONNECTED) net_free_place(net, node->peer);
        } else {
            enet_packet_destroy(node->packet);
        }
        arb_pool_give(&net->pool, node);
        if (is_wanted) return true;
    }
    *event = (struct arb_net_event){.type = ARB_NET_NONE};
    return false;
}

void net_drop_events(struct arb_net *net)
{
    give_back_lent(net);
    while (net->first != NULL) {
        struct net_node *node = take_first(net);
        enet_packet_destroy(node->packet);
        arb_pool_give(&net->pool, node);
    }
}
