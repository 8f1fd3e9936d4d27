/* A UDP relay whose path is a profile: each client's datagrams go through a link up, the answers
 * through a link down, the same code as the simulated network's. Owns the sockets (one towards the
 * server per client address, so that the server sees different clients), what is under way, and the
 * only clock of this folder. Never looks into a datagram but at its first byte. Linux. Called by
 * arbiter-netsim.
 */
#ifndef NET_RELAY_H
#define NET_RELAY_H

#include "shared/base/arb_result.h"
#include "tools/net/profile.h"

#include <signal.h>
#include <stdint.h>

enum {
    RELAY_CLIENTS_MAX = 256,
    RELAY_FLIGHTS_MAX = 65536, /* datagrams under way */
    RELAY_PATH_BYTES = 1280,   /* longest packet, with headers, as in the simulated network */
    RELAY_IDLE_S = 60,         /* after that a client's place is free again */
    RELAY_HOST_BYTES = 256,
    RELAY_ERROR_BYTES = 512,
};

struct relay_address {
    char host[RELAY_HOST_BYTES]; /* name or number */
    char port[8];
};

struct relay_side_counters {
    uint64_t datagrams, bytes; /* read from the sockets; UDP payload */
    uint64_t delivered;
#define X(name, text) uint64_t name;
    ARB_LINK_COUNTER_MAP(X)
#undef X
    uint64_t bad_checksum; /* corrupted and plain, so not sent on */
    uint64_t too_long, overflow, send_failed;
};

struct relay_counters {
    struct relay_side_counters up, down;
    uint64_t clients;         /* addresses that got a place */
    uint64_t refused_clients; /* datagrams of those that found none */
    uint64_t late_us_max;     /* how much later than its time a datagram was sent on */
    uint64_t running_us;
};

struct relay;

/* ARB_ADDRESS with text in `error` when an address is not to be had. `profile` outlives the relay.
 */
enum arb_result relay_open(const struct relay_address *listen_at, const struct relay_address *to,
                           const struct profile *profile, uint64_t seed, struct relay **out,
                           char error[RELAY_ERROR_BYTES]);
void relay_close(struct relay *relay);
uint16_t relay_port(const struct relay *relay);

/* Relays until *stop is set by a signal, which `unblocked` must let through, or for `duration_us`
 * (0: for ever). */
void relay_run(struct relay *relay, const volatile sig_atomic_t *stop, const sigset_t *unblocked,
               uint64_t duration_us);

struct relay_counters relay_counters(const struct relay *relay);

#endif
