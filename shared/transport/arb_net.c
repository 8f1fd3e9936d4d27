#include "shared/transport/arb_endpoint_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

enum {
    RELIABLE_BYTES_DEFAULT = 256 * 1024,
    TIMEOUT_DEFAULT_MS = 10000,
    WAITING_BYTES_MAX = 1024 * 1024, /* received by ENet, not yet ours; per peer */
    ROUNDS_MAX = 4096,               /* of one service; each takes an event or reads */
    CLOCK_START_DEFAULT_MS = 1000,
};

/* ---- life ---- */

static struct arb_net_options with_defaults(const struct arb_net_options *options)
{
    struct arb_net_options full = *options;
    if (full.reliable_bytes_max == 0) full.reliable_bytes_max = RELIABLE_BYTES_DEFAULT;
    if (full.timeout_ms == 0) full.timeout_ms = TIMEOUT_DEFAULT_MS;
    if (full.clock_start_ms == 0) full.clock_start_ms = CLOCK_START_DEFAULT_MS;
    return full;
}

/* Enough for a stall of a quarter second, for a link that lets go at once of seconds of snapshots,
 * and for everybody joining at once, when each is told of each: per peer a dozen large messages and
 * some hundred events, with command and acknowledgement. Memory that is never touched is never
 * backed, so what is not needed costs no room. What more is needed once stays. */
static void size_pool(struct arb_pool *pool, uint32_t peers)
{
    const uint32_t counts[ARB_POOL_SIZES] = {256 * peers + 256, 256 * peers + 256, 32 * peers + 64,
                                             16 * peers + 192, 16 * peers + 192};
    arb_pool_init(pool, counts);
}

/* Slots for strangers, beside those of the peers. */
#define HALF_OPEN_OF(peers) ((peers) / 4 + 4)
_Static_assert(ARB_NET_PEERS_MAX + HALF_OPEN_OF(ARB_NET_PEERS_MAX) <=
                   (int)ENET_PROTOCOL_MAXIMUM_PEER_ID,
               "ENet can name all of them");

struct arb_net *arb_net_create(struct arb_carrier *carrier, const struct arb_net_options *options,
                               uint64_t now_ns)
{
    ARB_ASSERT(options->peer_capacity > 0 && options->peer_capacity <= ARB_NET_PEERS_MAX);
    ARB_ASSERT(!carrier->is_client || options->peer_capacity == 1);
    struct arb_net *net = arb_mem_alloc(sizeof *net);
    net->carrier = carrier;
    net->options = with_defaults(options);
    net->now_ns = now_ns;
    net->enet_ns = net->options.clock_start_ms * 1000000ULL;
    net->arrived_slot = ARB_NET_NOWHERE;
    net->half_open_max = carrier->is_client ? 0 : HALF_OPEN_OF(options->peer_capacity);
    net->slot_count = options->peer_capacity + net->half_open_max;
    net->slots = arb_mem_alloc(net->slot_count * sizeof *net->slots);
    net->places = arb_mem_alloc(options->peer_capacity * sizeof *net->places);
    for (uint32_t i = 0; i < net->slot_count; i++) {
        net->slots[i].place = ARB_NET_NOWHERE;
    }
    for (uint32_t i = 0; i < options->peer_capacity; i++) {
        net->places[i].slot = ARB_NET_NOWHERE;
    }
    size_pool(&net->pool, net->slot_count);
    net_enter(net);
    if (net_platform_start()) {
        net->host = enet_host_create(NULL, net->slot_count, ARB_NET_CHANNELS, 0, 0);
    }
    if (net->host == NULL) {
        arb_net_destroy(net);
        return NULL;
    }
    carrier->counters = &net->counters;
    /* ENet mixes an address of memory into its seed: not reproducible. */
    net->host->randomSeed = options->seed;
    net->host->mtu = ARB_NET_MTU;
    net->host->maximumPacketSize = ARB_NET_MESSAGE_MAX;
    net->host->maximumWaitingData = WAITING_BYTES_MAX;
    return net;
}

void arb_net_destroy(struct arb_net *net)
{
    if (net == NULL) return;
    net_enter(net);
    net_drop_events(net);
    enet_host_destroy(net->host);
    net_enter(NULL);
    arb_pool_free(&net->pool);
    arb_carrier_close(net->carrier);
    arb_mem_free(net->slots);
    arb_mem_free(net->places);
    arb_mem_free(net);
}

/* ---- time and work ---- */

/* ENet drops every peer with data under way when its clock leaps, so after a stall it goes on as if
 * the stall had been short. */
static void step_clock(struct arb_net *net, uint64_t now_ns)
{
    uint64_t step_ns = now_ns > net->now_ns ? now_ns - net->now_ns : 0;
    uint64_t max_ns = ARB_NET_STEP_MAX_MS * 1000000ULL;
    net->enet_ns += step_ns < max_ns ? step_ns : max_ns;
    if (now_ns > net->now_ns) net->now_ns = now_ns;
}

/* One round of ENet: at most 256 datagrams. A result below 0 is a bad datagram or a bad moment,
 * never the end. */
static void work_round(struct arb_net *net)
{
    ENetEvent event;
    if (enet_host_service(net->host, &event, 0) <= 0) return;
    do {
        net_take_event(net, &event);
    } while (enet_host_check_events(net->host, &event) > 0);
}

void arb_net_service(struct arb_net *net, uint64_t now_ns)
{
    net_enter(net);
    step_clock(net, now_ns);
    net->reads_left = ARB_NET_READS_MAX;
    net->is_dry = false;
    for (int round = 0; round < ROUNDS_MAX; round++) {
        if (net->is_dry || net->reads_left == 0 || net->waiting >= ARB_NET_EVENTS_MAX) break;
        work_round(net);
    }
    net_watch(net);
    arb_carrier_flush(net->carrier);
}

void arb_net_flush(struct arb_net *net, uint64_t now_ns)
{
    net_enter(net);
    step_clock(net, now_ns);
    enet_host_flush(net->host);
    arb_carrier_flush(net->carrier);
}

/* ---- connections ---- */

bool arb_net_connect(struct arb_net *net, uint64_t now_ns)
{
    ARB_ASSERT(net->carrier->is_client);
    net_enter(net);
    step_clock(net, now_ns);
    struct net_place *place = &net->places[0];
    struct net_slot *slot = &net->slots[0];
    if (place->state != NET_PLACE_FREE ||
        net->host->peers[0].state != ENET_PEER_STATE_DISCONNECTED) {
        return false;
    }
    ENetAddress address = {.host = 0, .port = ++slot->serial};
    ENetPeer *peer = enet_host_connect(net->host, &address, ARB_NET_CHANNELS, 0);
    if (peer == NULL) return false;
    enet_peer_timeout(peer, 0, net->options.timeout_ms, net->options.timeout_ms);
    slot->address = net->carrier->server;
    slot->opened_ms = slot->heard_ms = net_clock_ms(net);
    slot->place = 0;
    place->address = slot->address;
    place->slot = 0;
    place->epoch++;
    place->state = NET_PLACE_OPENING;
    net->used_count++;
    return true;
}

void arb_net_disconnect(struct arb_net *net, uint32_t peer, uint32_t data)
{
    net_enter(net);
    ENetPeer *leaving = net_peer_of(net, peer);
    if (leaving == NULL) return;
    bool was_open = net->places[peer].state == NET_PLACE_OPEN;
    enet_peer_disconnect_later(leaving, data);
    if (!was_open) net_close_place(net, peer, 0); /* ENet reports nothing of an unfinished one */
}

void arb_net_cut(struct arb_net *net, uint32_t peer)
{
    net_enter(net);
    ENetPeer *cut = net_peer_of(net, peer);
    if (cut != NULL) enet_peer_reset(cut);
    net_free_place(net, peer);
}

/* ---- messages ---- */

static uint32_t reliable_cost(size_t size)
{
    return (uint32_t)size + (uint32_t)ARB_NET_RELIABLE_OVERHEAD;
}

static void on_reliable_done(ENetPacket *packet)
{
    struct net_slot *slot = packet->userData;
    slot->reliable_bytes -= reliable_cost(packet->dataLength);
}

/* Told at once: whoever reads too slowly would not see the end of a full queue either. */
static void cut_for_full_queue(struct arb_net *net, uint32_t place, ENetPeer *peer)
{
    net->counters.cut_full_queue++;
    enet_peer_disconnect_now(peer, net->options.full_queue_data);
    net_close_place(net, place, 0);
}

bool arb_net_send(struct arb_net *net, uint32_t peer, uint8_t channel, const uint8_t *bytes,
                  size_t size)
{
    ARB_ASSERT(size > 0 && size <= ARB_NET_MESSAGE_MAX);
    ARB_ASSERT(channel < ARB_NET_CHANNELS);
    net_enter(net);
    ENetPeer *to = net_peer_of(net, peer);
    if (to == NULL || to->state != ENET_PEER_STATE_CONNECTED) return false;

    struct net_slot *slot = &net->slots[net->places[peer].slot];
    bool is_reliable = channel == ARB_NET_CHANNEL_RELIABLE;
    uint32_t cost = is_reliable ? reliable_cost(size) : 0;
    if (is_reliable && slot->reliable_bytes + cost > net->options.reliable_bytes_max) {
        cut_for_full_queue(net, peer, to);
        return false;
    }
    ENetPacket *packet = enet_packet_create(
        bytes, size, is_reliable ? ENET_PACKET_FLAG_RELIABLE : ENET_PACKET_FLAG_UNSEQUENCED);
    if (is_reliable) {
        packet->userData = slot;
        packet->freeCallback = on_reliable_done;
        slot->reliable_bytes += cost;
    }
    if (enet_peer_send(to, channel, packet) == 0) return true;
    enet_packet_destroy(packet);
    return false;
}

/* ---- looking ---- */

uint32_t arb_net_connected_count(const struct arb_net *net)
{
    return net->open_count;
}

void arb_net_peer_address(const struct arb_net *net, uint32_t peer, char text[ARB_NET_ADDRESS_TEXT])
{
    ARB_ASSERT(peer < net->options.peer_capacity);
    arb_address_text(&net->places[peer].address, text);
}

const struct arb_net_counters *arb_net_counters(const struct arb_net *net)
{
    return &net->counters;
}

struct arb_carrier *arb_net_carrier(struct arb_net *net)
{
    return net->carrier;
}
