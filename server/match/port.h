/* The table of functions through which a match reaches the network: filled by server/net (over
 * ENet, real or simulated), or by a test. Stages 1 and 9 are the only callers. A leaf header:
 * neither side knows the other.
 */
#ifndef MATCH_PORT_H
#define MATCH_PORT_H

#include "shared/proto/arb_proto.h"

enum port_message_type {
    PORT_NONE = 0,
    PORT_JOIN,     /* said hello with the right versions; wants a place */
    PORT_LEAVE,    /* the session ended, and its player leaves */
    PORT_LOST,     /* the session ended; its player may come back */
    PORT_INPUTS,   /* of a player: a decoded input packet, ticks and sequences widened */
    PORT_SPECTATE, /* of a spectator */
};

enum { PORT_TOKEN_HASH_BYTES = 16 };

/* A session: index (below 4 * ARB_PLAYERS_MAX) into the port's places and the epoch of the
 * connection there. */
struct port_session {
    uint16_t index;
    uint32_t epoch;
};

struct port_message {
    enum port_message_type type;
    struct port_session session;
    char name[ARB_NAME_BYTES];      /* JOIN */
    enum arb_role role;             /* JOIN */
    bool resume;                    /* JOIN: wants the place of the player of that token */
    uint8_t token[ARB_TOKEN_BYTES]; /* JOIN: shown with resume, else drawn for it */
    uint8_t token_hash[PORT_TOKEN_HASH_BYTES]; /* JOIN: what may be kept and written down of it */
    struct arb_input_packet inputs;            /* INPUTS */
    struct arb_spectate spectate;              /* SPECTATE */
};

struct match_port {
    void *owner;
    /* Next message in order of arrival; false when there is none (or the tick's bound is reached).
     */
    bool (*take)(void *owner, struct port_message *out);
    /* Sends to that session; ignored when it is gone. Longer than a datagram: reliable only, sent
     * in parts. */
    void (*put)(void *owner, struct port_session session, uint8_t channel, const uint8_t *bytes,
                size_t size);
    /* Tells why and ends the session; neither LEAVE nor LOST follows. */
    void (*refuse)(void *owner, struct port_session session, enum arb_refusal reason);
    /* All of this tick is put: send it. */
    void (*flush)(void *owner);
};

enum { PORT_CHANNEL_RELIABLE = 0, PORT_CHANNEL_UNSEQUENCED = 1 }; /* as ARB_NET_CHANNEL_* */

#endif
