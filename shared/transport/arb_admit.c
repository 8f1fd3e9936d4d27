/* From the carrier to ENet: whose datagram it is, and whether it may pass. */
#include "shared/transport/arb_endpoint_internal.h"

#include "shared/transport/arb_wall_internal.h"

static bool refuse(struct arb_net *net, enum arb_wall_verdict verdict)
{
    uint64_t *const counters[] = {
        [ARB_WALL_PASS] = NULL,
        [ARB_WALL_SIZE] = &net->counters.refused_size,
        [ARB_WALL_HEADER] = &net->counters.refused_header,
        [ARB_WALL_COMMAND] = &net->counters.refused_command,
        [ARB_WALL_LENGTH] = &net->counters.refused_length,
        [ARB_WALL_AHEAD] = NULL, /* counted per command */
    };
    if (counters[verdict] != NULL) ++*counters[verdict];
    return false;
}

/* The slot for a datagram that asks for a connection: the one that it had for a repeated request,
 * else the one that ENet will take, its first free peer. Nowhere: refused. */
static uint32_t slot_of_stranger(struct arb_net *net, const struct arb_address *from,
                                 uint32_t connect_id)
{
    uint32_t half_open = 0, vacant = ARB_NET_NOWHERE;
    for (uint32_t i = 0; i < net->slot_count; i++) {
        const ENetPeer *peer = &net->host->peers[i];
        if (peer->state == ENET_PEER_STATE_DISCONNECTED) {
            if (vacant == ARB_NET_NOWHERE) vacant = i;
        } else if (peer->connectID == connect_id &&
                   arb_address_equal(&net->slots[i].address, from)) {
            return i;
        }
        half_open += net_is_half_open(peer);
    }
    if (net->used_count == net->options.peer_capacity) return ARB_NET_NOWHERE;
    if (half_open >= net->half_open_max) return ARB_NET_NOWHERE;
    if (vacant != ARB_NET_NOWHERE) {
        struct net_slot *slot = &net->slots[vacant];
        slot->address = *from;
        slot->place = ARB_NET_NOWHERE;
        slot->serial++;
        slot->opened_ms = slot->heard_ms = net_clock_ms(net);
    }
    return vacant;
}

static bool admit_stranger(struct arb_net *net, struct arb_datagram *datagram,
                           const struct arb_wall_header *header, uint32_t *slot)
{
    if (net->carrier->is_client) return refuse(net, ARB_WALL_HEADER);
    uint32_t connect_id;
    enum arb_wall_verdict verdict =
        arb_wall_connect(datagram->bytes, datagram->size, header, &connect_id);
    if (verdict != ARB_WALL_PASS) return refuse(net, verdict);
    *slot = slot_of_stranger(net, &datagram->from, connect_id);
    if (*slot == ARB_NET_NOWHERE) {
        net->counters.refused_stranger++;
        return false;
    }
    return true;
}

static bool admit_known(struct arb_net *net, struct arb_datagram *datagram,
                        const struct arb_wall_header *header)
{
    uint32_t index = header->peer_id;
    if (index >= net->slot_count) return refuse(net, ARB_WALL_HEADER);
    struct net_slot *slot = &net->slots[index];
    const ENetPeer *peer = &net->host->peers[index];
    if (peer->state == ENET_PEER_STATE_DISCONNECTED ||
        !arb_address_equal(&slot->address, &datagram->from)) {
        return refuse(net, ARB_WALL_HEADER);
    }
    uint16_t order[ARB_NET_CHANNELS] = {0};
    for (size_t i = 0; i < ARB_NET_CHANNELS && i < peer->channelCount; i++) {
        order[i] = peer->channels[i].incomingReliableSequenceNumber;
    }
    enum arb_wall_side side = net->carrier->is_client ? ARB_WALL_CLIENT : ARB_WALL_SERVER;
    uint32_t ahead = 0;
    enum arb_wall_verdict verdict =
        arb_wall_commands(side, datagram->bytes, &datagram->size, header, order, &ahead);
    net->counters.refused_ahead += ahead;
    if (verdict != ARB_WALL_PASS) return refuse(net, verdict);
    slot->heard_ms = net_clock_ms(net);
    return true;
}

bool net_admit(struct arb_net *net, struct arb_datagram *datagram, ENetAddress *address)
{
    struct arb_wall_header header;
    if (datagram->truncated) return refuse(net, ARB_WALL_SIZE);
    enum arb_wall_verdict verdict = arb_wall_open(datagram->bytes, datagram->size, &header);
    if (verdict != ARB_WALL_PASS) return refuse(net, verdict);

    uint32_t slot = header.peer_id;
    bool may_pass = header.peer_id == ARB_WALL_PEER_NONE
                        ? admit_stranger(net, datagram, &header, &slot)
                        : admit_known(net, datagram, &header);
    if (!may_pass) return false;
    address->host = slot;
    address->port = net->slots[slot].serial;
    return true;
}
