/* The command firewall: what a datagram may hold before ENet sees it (transport.md, what ENet does
 * when left alone). Pure functions over bytes; the caller counts. It lets through what a stock ENet
 * 1.3 peer that follows our protocol sends, takes the power out of commands that would change
 * bandwidths or the throttle (they are reliable, so dropping them would time their sender out), and
 * refuses the rest as whole datagrams.
 */
#ifndef ARB_WALL_INTERNAL_H
#define ARB_WALL_INTERNAL_H

#include "shared/transport/arb_net.h"

enum arb_wall_side { ARB_WALL_SERVER, ARB_WALL_CLIENT }; /* who stands behind the wall */

enum arb_wall_verdict {
    ARB_WALL_PASS = 0,
    ARB_WALL_SIZE,
    ARB_WALL_HEADER,
    ARB_WALL_COMMAND,
    ARB_WALL_LENGTH,
    ARB_WALL_AHEAD, /* nothing else was left in the datagram */
};

enum {
    ARB_WALL_PEER_NONE = 0xFFF, /* peer id of a datagram that asks for a connection */
    ARB_WALL_COMMANDS_MAX = 32,
    /* Reliable messages that may wait for an earlier one, per channel: at a server a bound on what
     * a stranger can make it keep; a client trusts its server further. */
    ARB_WALL_AHEAD_SERVER = 64,
    ARB_WALL_AHEAD_CLIENT = 1024,
    /* ENet's throttle, off: interval ms, acceleration, deceleration. */
    ARB_THROTTLE_INTERVAL_MS = 5000,
    ARB_THROTTLE_ACCELERATION = 32,
    ARB_THROTTLE_DECELERATION = 0,
};

struct arb_wall_header {
    uint16_t peer_id; /* the receiver's place, or ARB_WALL_PEER_NONE */
    bool has_time;
    size_t size; /* of the header: 2 or 4 */
};

/* Sizes and header. */
enum arb_wall_verdict arb_wall_open(const uint8_t *bytes, size_t size,
                                    struct arb_wall_header *header);

/* A datagram of ARB_WALL_PEER_NONE: one CONNECT and nothing else, for our channels. Its MTU becomes
 * ours, its bandwidths 0. `connect_id` as on the wire. */
enum arb_wall_verdict arb_wall_connect(uint8_t *bytes, size_t size,
                                       const struct arb_wall_header *header, uint32_t *connect_id);

/* A datagram of a known peer. `order`: newest reliable sequence of each channel that the receiver
 * has taken in order. Messages too far ahead are cut out of the datagram, `size` shrinks and
 * `ahead` counts them; they are not acknowledged then, so the sender repeats the reliable ones. */
enum arb_wall_verdict arb_wall_commands(enum arb_wall_side side, uint8_t *bytes, size_t *size,
                                        const struct arb_wall_header *header,
                                        const uint16_t order[ARB_NET_CHANNELS], uint32_t *ahead);

#endif
