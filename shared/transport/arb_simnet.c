/* Simulated network: endpoints in memory, one virtual clock in whole microseconds, integer
 * arithmetic only. A datagram passes two links (arb_link.h): the sender's `up`, then the receiver's
 * `down`, which it enters when it left the first. Each link has a random stream of its own, so that
 * one link's traffic leaves the fate of the rest as it was.
 */
#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"
#include "shared/transport/arb_carrier_internal.h"

#include <string.h>

enum {
    NONE = UINT32_MAX,
    FLIGHTS_PER_CHUNK = 64,
    CHUNKS_MAX = 1024, /* bounds the memory: 65,536 datagrams under way, about 84 MB */
    ENDPOINTS_MAX = 8192,
    PATH_BYTES = 1280,                      /* longest packet of the path, with headers */
    HEADERS_BYTES = ARB_LINK_HEADERS_BYTES, /* they count for buffers too */
};

struct flight {
    uint64_t due_us;
    uint64_t order; /* of equal due times */
    uint32_t from, from_generation;
    uint32_t to, to_generation;
    uint32_t next; /* in a receive queue or the list of free ones */
    bool entered;  /* has left the sender's link */
    bool is_plain; /* carries a checksum, as by UDP */
    uint16_t size;
    uint32_t checksum; /* of the bytes as they were sent */
    uint8_t bytes[ARB_DATAGRAM_ROOM];
};

struct endpoint {
    struct arb_carrier carrier;
    struct arb_simnet *net;
    struct arb_link_state up, down;
    uint32_t index, generation;
    uint32_t first, last, queued_bytes;  /* received, not yet read */
    uint32_t lent;                       /* flight that the last receive handed out */
    uint32_t room;                       /* flight that the last room handed out */
    uint8_t overflow[ARB_DATAGRAM_ROOM]; /* room when there is no flight left; never sent */
};

struct arb_simnet {
    uint64_t seed, now_us, order;
    struct flight *chunks[CHUNKS_MAX];
    uint32_t chunk_count, free_first;
    uint32_t *heap; /* flights by (due_us, order) */
    uint32_t heap_count;
    struct endpoint *endpoints[ENDPOINTS_MAX];
    uint32_t generations[ENDPOINTS_MAX];
    uint32_t endpoint_count, open_count;
    struct arb_simnet_counters counters;
};

static const struct arb_carrier_ops sim_ops;

/* ---- flights ---- */

static struct flight *flight_at(struct arb_simnet *net, uint32_t index)
{
    return &net->chunks[index / FLIGHTS_PER_CHUNK][index % FLIGHTS_PER_CHUNK];
}

static void flight_free(struct arb_simnet *net, uint32_t index)
{
    flight_at(net, index)->next = net->free_first;
    net->free_first = index;
}

static bool add_chunk(struct arb_simnet *net)
{
    if (net->chunk_count == CHUNKS_MAX) return false;
    uint32_t first = net->chunk_count * FLIGHTS_PER_CHUNK;
    net->chunks[net->chunk_count++] = arb_mem_alloc(FLIGHTS_PER_CHUNK * sizeof(struct flight));
    for (uint32_t i = FLIGHTS_PER_CHUNK; i > 0; i--) {
        flight_free(net, first + i - 1);
    }
    uint32_t *heap = arb_mem_alloc((first + FLIGHTS_PER_CHUNK) * sizeof *heap);
    net->counters.allocations += 2;
    if (net->heap != NULL) memcpy(heap, net->heap, net->heap_count * sizeof *heap);
    arb_mem_free(net->heap);
    net->heap = heap;
    return true;
}

static uint32_t flight_take(struct arb_simnet *net)
{
    if (net->free_first == NONE && !add_chunk(net)) return NONE;
    uint32_t index = net->free_first;
    net->free_first = flight_at(net, index)->next;
    return index;
}

/* ---- heap ---- */

static bool is_before(struct arb_simnet *net, uint32_t a, uint32_t b)
{
    const struct flight *x = flight_at(net, a), *y = flight_at(net, b);
    return x->due_us != y->due_us ? x->due_us < y->due_us : x->order < y->order;
}

static void heap_push(struct arb_simnet *net, uint32_t flight, uint64_t due_us)
{
    flight_at(net, flight)->due_us = due_us;
    flight_at(net, flight)->order = net->order++;
    uint32_t at = net->heap_count++;
    while (at > 0 && is_before(net, flight, net->heap[(at - 1) / 2])) {
        net->heap[at] = net->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    net->heap[at] = flight;
}

static uint32_t heap_pop(struct arb_simnet *net)
{
    uint32_t top = net->heap[0];
    uint32_t moved = net->heap[--net->heap_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < net->heap_count; child = 2 * at + 1) {
        if (child + 1 < net->heap_count && is_before(net, net->heap[child + 1], net->heap[child])) {
            child++;
        }
        if (!is_before(net, net->heap[child], moved)) break;
        net->heap[at] = net->heap[child];
        at = child;
    }
    net->heap[at] = moved;
    return top;
}

/* ---- links ---- */

static uint32_t checksum_of(const struct flight *flight)
{
    return (uint32_t)arb_hash(flight->bytes, flight->size, 0);
}

static int pass_link(struct arb_simnet *net, struct arb_link_state *link, uint64_t now_us,
                     uint32_t size, struct arb_link_delivery out[2])
{
    struct arb_link_counters fate = {0};
    int copies = arb_link_send(link, now_us, size, out, &fate);
#define X(name, text) net->counters.name += fate.name;
    ARB_LINK_COUNTER_MAP(X)
#undef X
    return copies;
}

static void send_off(struct arb_simnet *net, uint32_t index, struct arb_link_delivery delivery)
{
    struct flight *flight = flight_at(net, index);
    if (delivery.corrupt != 0) arb_link_corrupt(delivery.corrupt, flight->bytes, flight->size);
    heap_push(net, index, delivery.deliver_us);
}

/* The flight enters a link; afterwards it is under way, once or twice, or free. */
static void enter_link(struct arb_simnet *net, uint32_t index, struct arb_link_state *link,
                       uint64_t now_us, bool entered)
{
    struct flight *flight = flight_at(net, index);
    struct arb_link_delivery out[2];
    int copies = pass_link(net, link, now_us, flight->size, out);
    if (copies == 0) {
        flight_free(net, index);
        return;
    }
    flight->entered = entered;
    uint32_t second = copies == 2 ? flight_take(net) : NONE;
    if (second != NONE) *flight_at(net, second) = *flight;
    send_off(net, index, out[0]);
    if (second != NONE) {
        send_off(net, second, out[1]);
    } else if (copies == 2) {
        net->counters.overflow++;
    }
}

/* ---- deliveries ---- */

static struct endpoint *endpoint_of(struct arb_simnet *net, uint32_t index, uint32_t generation)
{
    bool is_open = index < net->endpoint_count && net->endpoints[index] != NULL &&
                   net->generations[index] == generation;
    return is_open ? net->endpoints[index] : NULL;
}

static void deliver(struct arb_simnet *net, struct endpoint *to, uint32_t index)
{
    struct flight *flight = flight_at(net, index);
    uint32_t bytes = flight->size + (uint32_t)HEADERS_BYTES;
    if (flight->is_plain && checksum_of(flight) != flight->checksum) {
        net->counters.bad_checksum++;
        flight_free(net, index);
        return;
    }
    if (to->queued_bytes + bytes > ARB_SIM_RECEIVE_BYTES) {
        net->counters.buffer_full++;
        flight_free(net, index);
        return;
    }
    net->counters.delivered++;
    to->queued_bytes += bytes;
    flight->next = NONE;
    if (to->last == NONE) {
        to->first = index;
    } else {
        flight_at(net, to->last)->next = index;
    }
    to->last = index;
}

static void run(struct arb_simnet *net)
{
    while (net->heap_count > 0 && flight_at(net, net->heap[0])->due_us <= net->now_us) {
        uint32_t index = heap_pop(net);
        struct flight *flight = flight_at(net, index);
        struct endpoint *to = endpoint_of(net, flight->to, flight->to_generation);
        if (to == NULL) {
            net->counters.nobody++;
            flight_free(net, index);
        } else if (!flight->entered) {
            enter_link(net, index, &to->down, flight->due_us, true);
        } else {
            deliver(net, to, index);
        }
    }
}

/* ---- the network ---- */

struct arb_simnet *arb_simnet_create(uint64_t seed)
{
    struct arb_simnet *net = arb_mem_alloc(sizeof *net);
    net->seed = seed;
    net->free_first = NONE;
    return net;
}

void arb_simnet_destroy(struct arb_simnet *net)
{
    if (net == NULL) return;
    ARB_ASSERT(net->open_count == 0);
    for (uint32_t i = 0; i < net->chunk_count; i++) {
        arb_mem_free(net->chunks[i]);
    }
    arb_mem_free(net->heap);
    arb_mem_free(net);
}

void arb_simnet_advance(struct arb_simnet *net, uint64_t now_us)
{
    ARB_ASSERT(now_us >= net->now_us);
    net->now_us = now_us;
    run(net);
}

uint64_t arb_simnet_now_us(const struct arb_simnet *net)
{
    return net->now_us;
}

uint64_t arb_simnet_next_us(const struct arb_simnet *net)
{
    if (net->heap_count == 0) return UINT64_MAX;
    uint32_t top = net->heap[0];
    return net->chunks[top / FLIGHTS_PER_CHUNK][top % FLIGHTS_PER_CHUNK].due_us;
}

const struct arb_simnet_counters *arb_simnet_counters(const struct arb_simnet *net)
{
    return &net->counters;
}

/* ---- endpoints ---- */

static struct arb_address address_of(const struct endpoint *endpoint)
{
    struct arb_address address = {.kind = ARB_ADDRESS_SIM};
    memcpy(address.ip, &endpoint->index, 4);
    memcpy(address.ip + 4, &endpoint->generation, 4);
    return address;
}

struct arb_carrier *arb_simnet_open(struct arb_simnet *net, struct arb_link up,
                                    struct arb_link down)
{
    uint32_t index = 0;
    while (index < net->endpoint_count && net->endpoints[index] != NULL) {
        index++;
    }
    ARB_ASSERT(index < ENDPOINTS_MAX);
    if (index == net->endpoint_count) net->endpoint_count++;
    struct endpoint *endpoint = arb_mem_alloc(sizeof *endpoint);
    net->endpoints[index] = endpoint;
    net->open_count++;
    endpoint->net = net;
    endpoint->index = index;
    endpoint->generation = ++net->generations[index];
    endpoint->first = endpoint->last = endpoint->lent = endpoint->room = NONE;
    endpoint->carrier.ops = &sim_ops;
    endpoint->carrier.counters = &endpoint->carrier.own;
    endpoint->carrier.fd = -1;
    endpoint->carrier.receive_buffer_bytes = ARB_SIM_RECEIVE_BYTES;
    uint64_t stream = ((uint64_t)endpoint->generation << 32 | index) << 1;
    arb_link_start(&endpoint->up, up, net->seed, stream);
    arb_link_start(&endpoint->down, down, net->seed, stream | 1);
    return &endpoint->carrier;
}

struct arb_carrier *arb_simnet_connect(struct arb_simnet *net, struct arb_carrier *server,
                                       struct arb_link up, struct arb_link down)
{
    ARB_ASSERT(server->ops == &sim_ops);
    struct arb_carrier *carrier = arb_simnet_open(net, up, down);
    carrier->is_client = true;
    carrier->server = address_of((struct endpoint *)server);
    return carrier;
}

void arb_simnet_set_links(struct arb_carrier *carrier, struct arb_link up, struct arb_link down)
{
    ARB_ASSERT(carrier->ops == &sim_ops);
    struct endpoint *endpoint = (struct endpoint *)carrier;
    arb_link_set(&endpoint->up, up, endpoint->net->now_us);
    arb_link_set(&endpoint->down, down, endpoint->net->now_us);
}

void arb_simnet_block(struct arb_carrier *carrier, bool up, bool down)
{
    ARB_ASSERT(carrier->ops == &sim_ops);
    struct endpoint *endpoint = (struct endpoint *)carrier;
    arb_link_block(&endpoint->up, up);
    arb_link_block(&endpoint->down, down);
}

static void give_back(struct endpoint *endpoint, uint32_t *flight)
{
    if (*flight != NONE) flight_free(endpoint->net, *flight);
    *flight = NONE;
}

static bool sim_receive(struct arb_carrier *carrier, struct arb_datagram *datagram)
{
    struct endpoint *endpoint = (struct endpoint *)carrier;
    struct arb_simnet *net = endpoint->net;
    give_back(endpoint, &endpoint->lent);
    run(net);
    while (endpoint->first != NONE) {
        uint32_t index = endpoint->first;
        struct flight *flight = flight_at(net, index);
        endpoint->first = flight->next;
        if (endpoint->first == NONE) endpoint->last = NONE;
        endpoint->queued_bytes -= flight->size + (uint32_t)HEADERS_BYTES;
        endpoint->lent = index;
        struct arb_address from = {.kind = ARB_ADDRESS_SIM};
        memcpy(from.ip, &flight->from, 4);
        memcpy(from.ip + 4, &flight->from_generation, 4);
        if (carrier->is_client && !arb_address_equal(&from, &carrier->server)) {
            give_back(endpoint, &endpoint->lent);
            continue;
        }
        uint64_t wait_ns = (net->now_us - flight->due_us) * 1000;
        *datagram = (struct arb_datagram){flight->bytes, flight->size, false, from,
                                          wait_ns <= ARB_WAIT_MAX_NS ? wait_ns : 0};
        return true;
    }
    return false;
}

static uint8_t *sim_room(struct arb_carrier *carrier)
{
    struct endpoint *endpoint = (struct endpoint *)carrier;
    if (endpoint->room == NONE) endpoint->room = flight_take(endpoint->net);
    return endpoint->room == NONE ? endpoint->overflow
                                  : flight_at(endpoint->net, endpoint->room)->bytes;
}

static void sim_commit(struct arb_carrier *carrier, const struct arb_address *to, size_t size)
{
    struct endpoint *endpoint = (struct endpoint *)carrier;
    struct arb_simnet *net = endpoint->net;
    carrier->counters->datagrams_out++;
    carrier->counters->bytes_out += size;
    if (endpoint->room == NONE) {
        net->counters.overflow++;
        return;
    }
    if (size + HEADERS_BYTES > PATH_BYTES) {
        net->counters.too_long++;
        return; /* the room serves for the next one */
    }
    uint32_t index = endpoint->room;
    endpoint->room = NONE;
    struct flight *flight = flight_at(net, index);
    const struct arb_address *target = carrier->is_client ? &carrier->server : to;
    ARB_ASSERT(target->kind == ARB_ADDRESS_SIM);
    memcpy(&flight->to, target->ip, 4);
    memcpy(&flight->to_generation, target->ip + 4, 4);
    flight->from = endpoint->index;
    flight->from_generation = endpoint->generation;
    flight->size = (uint16_t)size;
    flight->is_plain = size == 0 || (flight->bytes[0] & ARB_LINK_SEALED_BIT) == 0;
    flight->checksum = checksum_of(flight);
    enter_link(net, index, &endpoint->up, net->now_us, false);
}

static void sim_flush(struct arb_carrier *carrier)
{
    (void)carrier; /* a datagram is under way as soon as it is committed */
}

static void sim_close(struct arb_carrier *carrier)
{
    struct endpoint *endpoint = (struct endpoint *)carrier;
    struct arb_simnet *net = endpoint->net;
    give_back(endpoint, &endpoint->lent);
    give_back(endpoint, &endpoint->room);
    while (endpoint->first != NONE) {
        uint32_t index = endpoint->first;
        endpoint->first = flight_at(net, index)->next;
        flight_free(net, index);
    }
    net->endpoints[endpoint->index] = NULL;
    net->open_count--;
    arb_mem_free(endpoint);
}

static const struct arb_carrier_ops sim_ops = {
    .receive = sim_receive,
    .room = sim_room,
    .commit = sim_commit,
    .flush = sim_flush,
    .close = sim_close,
};
