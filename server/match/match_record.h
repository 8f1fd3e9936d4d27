/* All that one tick took from outside: S[t], with the histories that shots read, and the record of
 * tick t give S[t+1] to the bit (spec/determinism.md). The match owns the record of its newest
 * tick; a journal writes it down, rollback and replay play it. Plain data in fixed arrays from an
 * arena; match_codec.h has its bytes. Never holds a session, a clock or what the network measured.
 */
#ifndef MATCH_RECORD_H
#define MATCH_RECORD_H

#include "server/match/port.h"
#include "server/rewind/rewind.h"

struct match;

/* Carried out at the begin of stage 3, in order. More kinds come at the end: journals hold the
 * numbers. */
enum match_command_type {
    MATCH_COMMAND_JOIN,
    MATCH_COMMAND_LEAVE,
    MATCH_COMMAND_ABORT,  /* the match ends in stage 7 of this tick */
    MATCH_COMMAND_AWAY,   /* the session is lost, the player's place is kept */
    MATCH_COMMAND_RETURN, /* another session has shown the player's resume token */
    MATCH_COMMAND_RELOAD, /* the record's numbers are in force from here on; once in a tick */
    MATCH_COMMAND_TYPES
};

struct match_command {
    enum match_command_type type;
    /* JOIN, RETURN; index 0xFFFF: none. Means nothing in another process. */
    struct port_session session;
    /* LEAVE, AWAY, RETURN; of a RETURN ARB_NO_SLOT: nobody's token. JOIN: decided when its tick was
     * first run; ARB_NO_SLOT: refused. */
    uint16_t slot;
    uint8_t reason;            /* ABORT: enum arb_end_reason */
    char name[ARB_NAME_BYTES]; /* JOIN */
    /* JOIN, RETURN: of the resume token, which itself is nowhere in a record or a state. */
    uint8_t token_hash[PORT_TOKEN_HASH_BYTES];
};

/* A player's input as it came, with the applied view in the place of the claimed one. */
struct match_record_input {
    struct arb_input input;
    struct arb_view claimed; /* for whoever looks; the bytes of a record have it only where the
                                verdict is another than MATCH_VIEW_HONOURED */
    uint16_t slot;
    uint8_t control; /* control number that it was made under */
    uint8_t verdict; /* enum match_view_verdict */
};

/* Inputs of one player that came too late to do anything but be counted. */
struct match_record_stale {
    uint16_t slot;
    uint32_t count;
    uint32_t within; /* of them, those for ticks of the match up to the one that decided it */
    arb_sequence newest;
};

/* What one shot met. */
struct match_record_view {
    uint16_t slot;
    bool everyone; /* as of the view's own two ticks; no pairs then */
    bool slow;     /* of a player with a long round trip: for the figures alone */
    struct arb_view view;
    uint32_t pair_first, pair_count; /* in pairs */
    uint64_t later;                  /* of what flies, with pairs; as in struct rewind_ray */
};

struct match_record {
    arb_tick tick; /* its step: S[tick] -> S[tick + 1] */
    struct match_command *commands;
    struct match_record_stale *stale;  /* by slot, ascending */
    struct match_record_input *late;   /* came after their tick; in order of arrival */
    struct match_record_input *inputs; /* of this tick; by slot, ascending */
    struct match_record_view *views;   /* by slot, ascending */
    struct rewind_pair *pairs;         /* of each view ascending by key */
    uint32_t *numbers;                 /* of the RELOAD (match_numbers.h) */
    uint32_t command_count, stale_count, late_count, input_count, view_count, pair_count;
    uint32_t number_count; /* 0: there is no RELOAD; else as the capacity says */
};

struct match_record_capacity {
    uint32_t players;  /* stale, inputs, views */
    uint32_t commands; /* of a tick */
    uint32_t late;     /* of all players */
    uint32_t pairs;
    uint32_t entities;   /* their keys' ids are below */
    uint32_t late_ticks; /* a late input that still does something is at most so late */
    uint32_t numbers;    /* of the game that may change; 0: none can */
};
struct match_record_capacity match_record_capacity(const struct match *match);

/* Empty; untouched memory of its arrays costs nothing. */
void match_record_create(struct match_record *record, struct arb_arena *arena,
                         const struct match_record_capacity *capacity);
/* Both of the same capacity. */
void match_record_copy(struct match_record *to, const struct match_record *from);
/* NULL: none came. */
const struct match_record_input *match_record_input(const struct match_record *record,
                                                    uint16_t slot);

/* Of the newest tick; valid until the next tick_run or match_play. */
const struct match_record *match_record(const struct match *match);

/* Feeds the next tick_run(match, TICK_RERUN), of that very tick: it takes its commands and inputs
 * from here and not from sessions, and what waits of those stays. Copied. A shot of an input that
 * the record has no view of meets what this match's own clients hold. */
void match_play(struct match *match, const struct match_record *record);

#endif
