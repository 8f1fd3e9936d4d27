/* Sessions on the server side: who is connected, what they said, limits (spec/security.md). Knows
 * peers and bytes, never entities. Fills the match's port. Time is an argument. The same code runs
 * on UDP and in the simulated network.
 */
#ifndef NET_H
#define NET_H

#include "server/match/port.h"
#include "shared/base/arb_arena.h"
#include "shared/transport/arb_net.h"

enum net_notice_type {
    NET_CONNECTED,  /* a session began; it said nothing yet */
    NET_HELLO,      /* right versions: it wants a place, or its place again */
    NET_ENDED,      /* it left or timed out */
    NET_REFUSED,    /* it was told `reason` and is being disconnected */
    NET_CUT_SILENT, /* no HELLO in time */
};

/* For the log; the pointers are valid during the call. */
struct net_notice {
    enum net_notice_type type;
    struct port_session session;
    enum arb_refusal reason; /* NET_REFUSED */
    const char *name;        /* NET_HELLO, else NULL */
    enum arb_role role;      /* as its HELLO said, else a player */
    bool resume;             /* NET_HELLO: has shown a resume token */
};

struct net_config {
    uint32_t session_capacity;  /* players, spectators and those who are about to be refused */
    uint32_t messages_per_tick; /* per session; more are dropped and counted */
    uint32_t bad_messages_max;  /* of one session before it is disconnected */
    uint32_t hello_timeout_ms;  /* connected and silent for so long: cut */
    uint32_t tick_rate;         /* Hz */
    /* JOINs of players that the match has room for in a tick; the others wait in order. 0: any. */
    uint32_t player_joins_per_tick;
    /* So far behind is the time that spectators are told: that of all they get. */
    uint32_t spectator_delay_ticks;
    /* Bytes that nobody can guess, for resume tokens: of the system, or of the simulator's seed. */
    void (*random)(void *random_owner, uint8_t *bytes, size_t count);
    void *random_owner;
    /* What net_receive is told, later in the tick; NULL: no time passes within one. */
    uint64_t (*clock)(void *clock_owner);
    void *clock_owner;
    void (*notice)(void *observer, const struct net_notice *notice); /* may be NULL */
    void *observer;
};

/* Per reason and in total, for log and metrics. */
struct net_counters {
    uint64_t messages;
    uint64_t refused[ARB_DECODE_REASONS]; /* by enum arb_decode */
    uint64_t over_limit;                  /* more messages in a tick than allowed */
    uint64_t versions_refused, cut_offenders, cut_silent;
    struct net_traffic {
        uint64_t messages, bytes;                    /* without the transport's heads */
    } in[ARB_MESSAGE_TYPES], out[ARB_MESSAGE_TYPES]; /* by enum arb_message_type; 0: unknown */
};

struct net;

/* Takes ownership of the transport endpoint. */
struct net *net_create(struct arb_arena *arena, const struct net_config *config,
                       struct arb_net *transport);
void net_destroy(struct net *net);

/* Reads the socket; what a tick will want waits in the inbox until the port's `take` decodes it.
 * next_tick and fraction (1/65536) say where the clock stands: see struct arb_pong. A ping is
 * answered beside the next message to its client, or by the port's third `flush`; what was refused
 * is flushed at once. */
void net_receive(struct net *net, uint64_t now_ns, arb_tick next_tick, uint16_t fraction);

/* The port for match_create. */
struct match_port net_port(struct net *net);

/* No new sessions from now on: they are refused with that reason. */
void net_close_door(struct net *net, enum arb_refusal reason);
/* Tells everybody and disconnects after delivery. */
void net_end_all(struct net *net, enum arb_refusal reason);
/* The same for those who are no spectators. */
void net_end_players(struct net *net, enum arb_refusal reason);
uint32_t net_session_count(const struct net *net);
const struct net_counters *net_counters(const struct net *net);
struct arb_net *net_transport(struct net *net);
/* Text of a session's address, for the log. */
void net_session_address(const struct net *net, struct port_session session,
                         char text[ARB_NET_ADDRESS_TEXT]);

#endif
