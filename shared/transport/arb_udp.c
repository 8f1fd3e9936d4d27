/* UDP carrier: datagrams in batches where the system has them (arb_socket_internal.h). */
#include "shared/base/arb_mem.h"
#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_socket_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    /* A client reads one or two, and may be one of many in its process. */
    CLIENT_BATCH = ARB_SOCKET_BATCHED ? 8 : 1,
    /* Longer than any datagram of ours, so that a longer one shows as cut off. */
    RECEIVE_ROOM = 1536,
    /* Errors of earlier sends that a read may report before we give up for now. */
    ERRORS_IN_A_ROW = 8,
};

struct udp {
    struct arb_carrier carrier;
    int in_count, in_next; /* of the batch that was read: how many, and the first not yet given */
    bool in_last;          /* the batch was not full, so the socket is empty */
    int out_count;
    struct arb_socket_in in[ARB_SOCKET_BATCH];
    struct arb_socket_out out[ARB_SOCKET_BATCH];
    uint8_t in_bytes[ARB_SOCKET_BATCH][RECEIVE_ROOM];
    uint8_t out_bytes[ARB_SOCKET_BATCH][ARB_DATAGRAM_ROOM];
};

static socklen_t to_socket_address(const struct arb_address *address, struct sockaddr_in6 *out)
{
    memset(out, 0, sizeof *out);
    if (address->kind == ARB_ADDRESS_IPV4) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(address->port)};
        memcpy(&four.sin_addr, address->ip, 4);
        memcpy(out, &four, sizeof four);
        return sizeof four;
    }
    out->sin6_family = AF_INET6;
    out->sin6_port = htons(address->port);
    out->sin6_scope_id = address->scope;
    memcpy(&out->sin6_addr, address->ip, 16);
    return sizeof *out;
}

static struct arb_address from_socket_address(const struct sockaddr_in6 *from)
{
    struct arb_address address = {.kind = ARB_ADDRESS_IPV6};
    if (from->sin6_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, from, sizeof four);
        address.kind = ARB_ADDRESS_IPV4;
        address.port = ntohs(four.sin_port);
        memcpy(address.ip, &four.sin_addr, 4);
    } else {
        address.port = ntohs(from->sin6_port);
        address.scope = from->sin6_scope_id;
        memcpy(address.ip, &from->sin6_addr, 16);
    }
    return address;
}

/* Datagrams that one read takes at most. */
static int batch_of(const struct udp *udp)
{
    return udp->carrier.is_client ? CLIENT_BATCH : ARB_SOCKET_BATCH;
}

/* False: nothing to read. A connected socket reports refusals of earlier sends here: no reason to
 * stop reading. */
static bool refill(struct udp *udp)
{
    for (int i = 0; i < ERRORS_IN_A_ROW; i++) {
        enum arb_socket_error error = ARB_SOCKET_NOT_NOW;
        int count = arb_socket_read(udp->carrier.fd, udp->in, batch_of(udp), &error);
        if (count > 0) {
            udp->in_count = count;
            udp->in_next = 0;
            udp->in_last = ARB_SOCKET_BATCHED && count < batch_of(udp);
            return true;
        }
        if (error == ARB_SOCKET_NOT_NOW) return false;
    }
    return false;
}

static bool udp_receive(struct arb_carrier *carrier, struct arb_datagram *datagram)
{
    struct udp *udp = (struct udp *)carrier;
    if (udp->in_next == udp->in_count) {
        bool last = udp->in_last;
        udp->in_last = false;
        if (last || !refill(udp)) return false;
    }
    const struct arb_socket_in *in = &udp->in[udp->in_next++];
    datagram->bytes = in->bytes;
    datagram->size = in->size;
    datagram->truncated = in->truncated;
    datagram->wait_ns = in->wait_ns;
    datagram->from = carrier->is_client ? carrier->server : from_socket_address(&in->from);
    return true;
}

/* What cannot be sent is dropped and counted, as a router would: ENet resends what matters. */
static void udp_flush(struct arb_carrier *carrier)
{
    struct udp *udp = (struct udp *)carrier;
    int first = 0, errors = 0;
    while (first < udp->out_count) {
        enum arb_socket_error error = ARB_SOCKET_FAILED;
        int count = arb_socket_write(carrier->fd, &udp->out[first], udp->out_count - first, &error);
        if (count > 0) {
            for (int i = first; i < first + count; i++) {
                carrier->counters->datagrams_out++;
                carrier->counters->bytes_out += udp->out[i].size;
            }
            first += count;
            errors = 0;
            continue;
        }
        if (error == ARB_SOCKET_NOT_NOW) break;
        /* An earlier datagram's refusal is reported once, before this one was tried. */
        if (error == ARB_SOCKET_EARLIER && ++errors < ERRORS_IN_A_ROW) continue;
        carrier->counters->send_failed++;
        first++;
        errors = 0;
    }
    carrier->counters->send_failed += (uint64_t)(udp->out_count - first);
    udp->out_count = 0;
}

static uint8_t *udp_room(struct arb_carrier *carrier)
{
    struct udp *udp = (struct udp *)carrier;
    if (udp->out_count == ARB_SOCKET_BATCH) udp_flush(carrier);
    return udp->out_bytes[udp->out_count];
}

static void udp_commit(struct arb_carrier *carrier, const struct arb_address *to, size_t size)
{
    struct udp *udp = (struct udp *)carrier;
    struct arb_socket_out *out = &udp->out[udp->out_count++];
    out->size = size;
    out->to_bytes = carrier->is_client ? 0 : to_socket_address(to, &out->to);
}

static void udp_close(struct arb_carrier *carrier)
{
    arb_socket_close(carrier->fd);
    arb_mem_free(carrier);
}

static const struct arb_carrier_ops udp_ops = {
    .receive = udp_receive,
    .room = udp_room,
    .commit = udp_commit,
    .flush = udp_flush,
    .close = udp_close,
};

static bool parse_address(const char *text, uint16_t port, struct arb_address *out)
{
    *out = (struct arb_address){.port = port};
    if (inet_pton(AF_INET, text, out->ip) == 1) {
        out->kind = ARB_ADDRESS_IPV4;
        return true;
    }
    out->kind = ARB_ADDRESS_IPV6;
    return inet_pton(AF_INET6, text, out->ip) == 1;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_in6 name = {0};
    return arb_socket_name(fd, &name) ? from_socket_address(&name).port : 0;
}

static enum arb_result open_udp(const char *text, uint16_t port, bool is_client,
                                struct arb_carrier **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct arb_address address;
    if (!parse_address(text, port, &address)) {
        snprintf(error, error_bytes, "%s is not a numeric IPv4 or IPv6 address", text);
        return ARB_ADDRESS;
    }
    struct sockaddr_in6 name;
    socklen_t name_bytes = to_socket_address(&address, &name);
    int family = address.kind == ARB_ADDRESS_IPV4 ? AF_INET : AF_INET6;
    char reason[128];
    int fd = arb_socket_open(family, &name, name_bytes, is_client, reason, sizeof reason);
    if (fd < 0) {
        snprintf(error, error_bytes, "%s port %u (UDP): %s", text, (unsigned)port, reason);
        return ARB_ADDRESS;
    }
    struct udp *udp = arb_mem_alloc(sizeof *udp);
    udp->carrier = (struct arb_carrier){
        .ops = &udp_ops,
        .is_client = is_client,
        .fd = fd,
        .port = bound_port(fd),
        .receive_buffer_bytes =
            arb_socket_size_buffers(fd, ARB_UDP_SEND_BYTES, ARB_UDP_RECEIVE_BYTES),
    };
    for (int i = 0; i < ARB_SOCKET_BATCH; i++) {
        udp->in[i].bytes = udp->in_bytes[i];
        udp->in[i].room = RECEIVE_ROOM;
        udp->out[i].bytes = udp->out_bytes[i];
    }
    if (is_client) udp->carrier.server = address;
    udp->carrier.counters = &udp->carrier.own;
    *out = &udp->carrier;
    return ARB_OK;
}

enum arb_result arb_udp_open(const char *address, uint16_t port, struct arb_carrier **out,
                             char *error, size_t error_bytes)
{
    return open_udp(address, port, false, out, error, error_bytes);
}

enum arb_result arb_udp_connect(const char *address, uint16_t port, struct arb_carrier **out,
                                char *error, size_t error_bytes)
{
    return open_udp(address, port, true, out, error, error_bytes);
}
