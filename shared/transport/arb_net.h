/* Endpoints that exchange messages over ENet, on our own socket layer (transport.md). The only
 * module that includes ENet. Never knows what a message means; reads no clock: time is an argument.
 * (One exception: how long a datagram has waited in the kernel, only the socket's carrier can say;
 * see arb_socket_unix.c. It takes a difference of the machine's clock, never a time.)
 * One endpoint, one thread (others may use other endpoints at the same time). Warm, it allocates
 * nothing: ENet's memory comes from a pool of the endpoint.
 */
#ifndef ARB_NET_H
#define ARB_NET_H

#include "shared/base/arb_result.h"
#include "shared/transport/arb_link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARB_NET_CHANNEL_RELIABLE = 0,    /* reliable, ordered */
    ARB_NET_CHANNEL_UNSEQUENCED = 1, /* may be lost, doubled never, reordered freely */
    ARB_NET_CHANNELS = 2,
    /* ENet's datagram on a path of 1,280 bytes: without IPv6 (40), UDP (8) and the seal (29). */
    ARB_NET_MTU = 1203,
    /* Largest message; asserted on send. ENet fragments what is longer than its MTU without its
     * headers (4) and a fragment's (24). */
    ARB_NET_MESSAGE_MAX = ARB_NET_MTU - 28,
    ARB_NET_ADDRESS_TEXT = 64, /* numeric address and port as text, with NUL */
    ARB_NET_PEERS_MAX = 3000,  /* of an endpoint: ENet names 4,095, strangers take some of them */
};

/* ---- carriers: where datagrams go ---- */

struct arb_carrier; /* udp socket, or an endpoint of a simulated network */

/* `address` numeric: "127.0.0.1", "::1", "0.0.0.0", "::" (both families). port 0: any. On failure
 * *out is NULL and ARB_ADDRESS is returned with text in `error`. Receive buffer: asks for 4 MiB. */
enum arb_result arb_udp_open(const char *address, uint16_t port, struct arb_carrier **out,
                             char *error, size_t error_bytes);
/* For a client: a socket that talks to one numeric address only. */
enum arb_result arb_udp_connect(const char *address, uint16_t port, struct arb_carrier **out,
                                char *error, size_t error_bytes);
/* The file descriptor to poll for reading; -1 for simulated ones. */
int arb_carrier_fd(const struct arb_carrier *carrier);
uint16_t arb_carrier_port(const struct arb_carrier *carrier);
/* Bytes of receive buffer that the kernel gave. */
uint32_t arb_carrier_receive_buffer(const struct arb_carrier *carrier);
void arb_carrier_close(struct arb_carrier *carrier);

/* Simulated network: in memory, virtual clock in whole microseconds, one seed. Same calls, same
 * seed: same deliveries. Equal times keep the order of sending. */
struct arb_simnet;

/* A datagram longer than a path of 1,280 bytes carries is dropped, one more than 65,536 under way
 * too. */
enum { ARB_SIM_RECEIVE_BYTES = 256 * 1024 }; /* receive buffer of each endpoint, headers counted */

/* Fates of datagrams; one that is doubled on both links counts there twice. */
struct arb_simnet_counters {
    uint64_t delivered;
#define X(name, text) uint64_t name;
    ARB_LINK_COUNTER_MAP(X)
#undef X
    uint64_t bad_checksum; /* corrupted and plain: dropped by the receiver, as by UDP */
    uint64_t buffer_full;  /* dropped by the receiver */
    uint64_t too_long, nobody, overflow;
    uint64_t allocations; /* for more datagrams under way at once than ever before */
};

struct arb_simnet *arb_simnet_create(uint64_t seed);
/* All its carriers must be closed. Accepts NULL. */
void arb_simnet_destroy(struct arb_simnet *net);
/* Sets the virtual clock; never goes back. */
void arb_simnet_advance(struct arb_simnet *net, uint64_t now_us);
uint64_t arb_simnet_now_us(const struct arb_simnet *net);
/* Earliest time at which something happens to a datagram under way; UINT64_MAX: none. */
uint64_t arb_simnet_next_us(const struct arb_simnet *net);
/* An endpoint with an address of its own; `up` is what it sends, `down` what it receives. Closed by
 * arb_carrier_close. Receives at most ARB_SIM_RECEIVE_BYTES between two reads, like a socket's
 * buffer. */
struct arb_carrier *arb_simnet_open(struct arb_simnet *net, struct arb_link up,
                                    struct arb_link down);
/* A client's endpoint that talks to `server` only. */
struct arb_carrier *arb_simnet_connect(struct arb_simnet *net, struct arb_carrier *server,
                                       struct arb_link up, struct arb_link down);
/* From now on; what is under way keeps its times, what waits for a rate goes on at the new one
 * (arb_link_set). May be called as often as a link changes. */
void arb_simnet_set_links(struct arb_carrier *carrier, struct arb_link up, struct arb_link down);
/* A partition of either direction: while it lasts, what the carrier sends (up) or what would enter
 * the link towards it (down) is lost. Stays over arb_simnet_set_links. */
void arb_simnet_block(struct arb_carrier *carrier, bool up, bool down);
const struct arb_simnet_counters *arb_simnet_counters(const struct arb_simnet *net);

/* ---- endpoints ---- */

struct arb_net;

enum arb_net_event_type {
    ARB_NET_NONE = 0,
    ARB_NET_CONNECTED,
    ARB_NET_DISCONNECTED,
    ARB_NET_MESSAGE,
};

struct arb_net_event {
    enum arb_net_event_type type;
    uint32_t peer; /* 0..peer_capacity-1; given to another only after DISCONNECTED was taken */
    /* +1 at each connection in that place: a late event of an older one is told apart. */
    uint32_t epoch;
    uint32_t data; /* DISCONNECTED: the reason the other side gave, 0 for a time-out */
    uint8_t channel;
    const uint8_t *bytes; /* MESSAGE: valid until the next arb_net_next */
    size_t size;
    /* MESSAGE: when its datagram arrived here (the kernel's stamp, or the simulated arrival), so
     * that no round trip contains the time until somebody polled. At most 250 ms before now_ns of
     * the service that read it; that now_ns where no arrival is known, and of all other events. A
     * reliable message that waited for an earlier one: when that one arrived. */
    uint64_t received_ns;
};

/* Counted since the start; refusals are datagrams or commands dropped before ENet saw them. */
#define ARB_NET_COUNTER_MAP(X)                                                                     \
    X(datagrams_in, "datagrams read")                                                              \
    X(datagrams_out, "datagrams sent")                                                             \
    X(bytes_in, "UDP payload read")                                                                \
    X(bytes_out, "UDP payload sent")                                                               \
    X(send_failed, "datagrams that the kernel did not take")                                       \
    X(refused_size, "datagram empty, oversized or truncated")                                      \
    X(refused_header, "not an ENet datagram of ours")                                              \
    X(refused_command, "a command that no peer of ours sends (fragments, unknown ones, ...)")      \
    X(refused_length, "a command whose length is wrong or too long")                               \
    X(refused_ahead, "a message too far ahead of the ones before it (cut out, not the datagram)")  \
    X(refused_stranger, "more strangers than places for them")                                     \
    X(cut_full_queue, "peers cut because they did not acknowledge")

struct arb_net_counters {
#define X(name, text) uint64_t name;
    ARB_NET_COUNTER_MAP(X)
#undef X
};

struct arb_net_options {
    uint32_t peer_capacity; /* 1 for a client, at most ARB_NET_PEERS_MAX */
    uint32_t seed;          /* ENet's random seed */
    /* A peer with more unacknowledged reliable bytes is cut (each message counts 64 more); 0: 256
     * KiB. */
    uint32_t reliable_bytes_max;
    uint32_t full_queue_data; /* what such a peer is told, as with arb_net_disconnect */
    uint32_t no_place_data;   /* what one is told that came when all places were taken */
    uint32_t timeout_ms;      /* silence after which a peer is gone; 0: 10,000 */
    /* Where ENet's clock of 32 bits begins, for tests of its end; 0: 1,000. */
    uint32_t clock_start_ms;
};

/* The carrier is the endpoint's from now on, and closed when there is no memory for it (NULL). */
struct arb_net *arb_net_create(struct arb_carrier *carrier, const struct arb_net_options *options,
                               uint64_t now_ns);
/* Closes the carrier too. Peers are not told: disconnect and flush first. */
void arb_net_destroy(struct arb_net *net);

/* Client: starts connecting to the carrier's one address; ARB_NET_CONNECTED or ARB_NET_DISCONNECTED
 * follows. */
bool arb_net_connect(struct arb_net *net, uint64_t now_ns);

/* Reads what the carrier has (at most 16,384 datagrams, and none while so many events wait), lets
 * ENet work (acknowledgements, resends, time-outs); never blocks. ENet's clock goes at most 250 ms
 * forward per call. Then arb_net_next gives the events one by one. */
void arb_net_service(struct arb_net *net, uint64_t now_ns);
/* False when there are no more. Events are in order of arrival per peer. */
bool arb_net_next(struct arb_net *net, struct arb_net_event *event);

/* 1..ARB_NET_MESSAGE_MAX bytes. False when the peer is gone or (reliable) its queue is full: then
 * it is being cut and ARB_NET_DISCONNECTED follows. Copied. */
bool arb_net_send(struct arb_net *net, uint32_t peer, uint8_t channel, const uint8_t *bytes,
                  size_t size);
/* Sends everything queued in as few system calls as possible. */
void arb_net_flush(struct arb_net *net, uint64_t now_ns);

/* After everything reliable was delivered; `data` reaches the other side. ARB_NET_DISCONNECTED
 * follows here too. */
void arb_net_disconnect(struct arb_net *net, uint32_t peer, uint32_t data);
/* At once, without telling. ARB_NET_DISCONNECTED does not follow, nor what still waits of that
 * peer. */
void arb_net_cut(struct arb_net *net, uint32_t peer);

uint32_t arb_net_connected_count(const struct arb_net *net);
/* Real address of a peer as text, for the log. */
void arb_net_peer_address(const struct arb_net *net, uint32_t peer,
                          char text[ARB_NET_ADDRESS_TEXT]);
const struct arb_net_counters *arb_net_counters(const struct arb_net *net);
/* The endpoint's, for its descriptor, port and buffer. */
struct arb_carrier *arb_net_carrier(struct arb_net *net);

#endif
