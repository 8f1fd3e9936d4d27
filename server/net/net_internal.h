/* Sessions and the inbox, shared by net.c (what comes in) and net_port.c (the match's side). */
#ifndef NET_INTERNAL_H
#define NET_INTERNAL_H

#include "server/net/net.h"

enum session_state {
    SESSION_FREE = 0,
    SESSION_GREETING, /* connected, no HELLO yet */
    SESSION_OPEN,     /* its JOIN is in the inbox, or taken */
    SESSION_CLOSING,  /* told why; leaves when that was delivered or timed out */
};

struct session {
    uint64_t connected_ns;
    uint32_t epoch;
    uint32_t messages;            /* in this place since the inbox was emptied, over all epochs */
    uint32_t bad;                 /* messages that no client sends */
    arb_sequence newest_sequence; /* of its inputs */
    uint32_t taken_epoch;         /* its JOIN was taken by the match, which is owed a LEAVE */
    bool taken;
    uint8_t state;  /* enum session_state */
    uint8_t role;   /* enum arb_role, of its HELLO */
    uint8_t resume; /* the same */
    uint16_t part_message;
    uint16_t ping;      /* sequence of the one that is to be answered */
    uint8_t ping_waits; /* flushes left that its answer may wait for company; 0: there is none */
    uint64_t pinged_ns; /* when it reached the socket */
};

/* A JOIN in the inbox. */
struct net_join {
    char name[ARB_NAME_BYTES];
    uint8_t token[ARB_TOKEN_BYTES];
    uint8_t resume;
};

/* In front of each message of the inbox; the bytes follow, not aligned. */
struct inbox_entry {
    uint32_t epoch;
    uint16_t index;
    uint16_t size;
    uint8_t type; /* enum port_message_type */
};

enum {
    /* A JOIN in the inbox, at most. */
    NET_JOIN_BYTES = sizeof(struct inbox_entry) + 64,
    /* Who joins is told of everybody and everybody of him: when a crowd comes at once, so many of
     * these messages are begun per tick, the others wait. Else the crowd of a thousand stalls the
     * match by seconds, and the million messages take memory that is of no use ever after. */
    NET_JOIN_MESSAGES = 4096,
    /* Ticks in which a pong waits for the next message to its client: that is a snapshot, whose
     * datagram it shares. A datagram of its own costs as much as a snapshot's. */
    NET_PONG_TICKS = 3,
};

/* Messages in order of arrival. Emptied by each tick, so it is a plain stretch of memory; its size
 * follows from the limits, so it is never full. */
struct inbox {
    uint8_t *bytes;
    size_t capacity, written, read;
};

struct net {
    struct net_config config;
    struct arb_net *transport;
    struct session *sessions; /* [session_capacity] by peer */
    struct inbox inbox;
    struct inbox waiting; /* JOINs that go first into the next tick's inbox; of sessions that are
                             there, so at most one for each */
    uint32_t joins_per_tick, joins_left;
    uint32_t player_joins_left; /* of them, those of players */
    struct net_counters counters;
    uint64_t schema_hash;
    uint64_t now_ns;
    arb_tick next_tick;
    uint16_t fraction;
    uint8_t door; /* enum arb_refusal; 0: open */
    uint32_t session_count, greeting_count;
    uint32_t pings_open; /* sessions with ping_waits > 0 */
    bool answered;       /* something waits for a flush */
};

/* As many JOINs as a tick may take. */
void net_renew_joins(struct net *net);

/* NULL when that session is not there any more. */
struct session *net_find(struct net *net, struct port_session id);

/* Answers the ping that waits in that place. */
void net_answer_ping(struct net *net, uint32_t index);

/* Counts a message under its type in one of the tables of the counters. */
void net_count(struct net_traffic *traffic, const uint8_t *bytes, size_t size);

/* Adds to the inbox. */
void net_queue(struct net *net, enum port_message_type type, struct port_session id,
               const void *bytes, size_t size);

/* A decoder's verdict on a message of that session; repeated offence ends it. Returns whether it
 * was good. */
bool net_judge(struct net *net, struct port_session id, enum arb_decode reason);

/* Tells the reason and disconnects after delivery. The match is not told. */
void net_refuse(struct net *net, struct port_session id, const struct arb_refused *refused);

/* As above with a reason that has no versions. */
void net_refuse_reason(struct net *net, struct port_session id, enum arb_refusal reason);

#endif
