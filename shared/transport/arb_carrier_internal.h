/* What a carrier is to the rest of this folder: it takes and gives datagrams, and knows nothing of
 * ENet. Two kinds: arb_udp.c (sockets) and arb_simnet.c (memory). Addresses are values, compared
 * byte for byte; ENet never sees them (arb_endpoint_internal.h: virtual addresses).
 */
#ifndef ARB_CARRIER_INTERNAL_H
#define ARB_CARRIER_INTERNAL_H

#include "shared/transport/arb_net.h"

enum {
    ARB_DATAGRAM_ROOM = 1280,            /* bytes that fit into what arb_carrier_room gives */
    ARB_WAIT_MAX_NS = 250 * 1000 * 1000, /* a longer wait is not believed */
    ARB_UDP_RECEIVE_BYTES = 4 * 1024 * 1024,
    ARB_UDP_SEND_BYTES = 1024 * 1024,
};

enum arb_address_kind { ARB_ADDRESS_NONE = 0, ARB_ADDRESS_IPV4, ARB_ADDRESS_IPV6, ARB_ADDRESS_SIM };

struct arb_address {
    uint8_t ip[16]; /* network order; IPv4 in the first 4, simulated: index and generation */
    uint32_t scope; /* IPv6: interface of a link-local address */
    uint16_t port;  /* host order */
    uint16_t kind;  /* enum arb_address_kind */
};

bool arb_address_equal(const struct arb_address *a, const struct arb_address *b);
/* "192.0.2.1:7777", "[2001:db8::1]:7777" (a mapped IPv4 address as IPv4), "sim:3". */
void arb_address_text(const struct arb_address *address, char text[ARB_NET_ADDRESS_TEXT]);

/* A datagram that was read. */
struct arb_datagram {
    uint8_t *bytes; /* the carrier's, valid until the next receive; may be rewritten in place */
    size_t size;
    bool truncated; /* it was longer than the carrier's room */
    struct arb_address from;
    /* From its arrival to this read; 0 when that is not known or more than ARB_WAIT_MAX_NS. */
    uint64_t wait_ns;
};

struct arb_carrier_ops {
    bool (*receive)(struct arb_carrier *carrier, struct arb_datagram *datagram);
    uint8_t *(*room)(struct arb_carrier *carrier);
    void (*commit)(struct arb_carrier *carrier, const struct arb_address *to, size_t size);
    void (*flush)(struct arb_carrier *carrier);
    void (*close)(struct arb_carrier *carrier);
};

/* First member of each kind of carrier. */
struct arb_carrier {
    const struct arb_carrier_ops *ops;
    struct arb_net_counters *counters; /* the endpoint's once it owns the carrier, else `own` */
    struct arb_net_counters own;
    struct arb_address server; /* of a client's carrier: the only address it talks to */
    bool is_client;
    int fd; /* -1: nothing to poll */
    uint16_t port;
    uint32_t receive_buffer_bytes;
};

/* False when there is nothing more to read now. Never blocks. */
bool arb_carrier_receive(struct arb_carrier *carrier, struct arb_datagram *datagram);
/* ARB_DATAGRAM_ROOM bytes to write one datagram into; a commit must follow. */
uint8_t *arb_carrier_room(struct arb_carrier *carrier);
/* Sends the first `size` bytes of the room, at the latest with the next flush. */
void arb_carrier_commit(struct arb_carrier *carrier, const struct arb_address *to, size_t size);
void arb_carrier_flush(struct arb_carrier *carrier);

#endif
