/* Those who watch (spec/replication.md "Spectators"): sessions without a character. What they get,
 * snapshots, events, scores, phase, result and time, is of one published tick, `spectator.delay_s`
 * behind the newest; nothing newer is ever encoded for them. They are of the edge of a match alone:
 * stages 1 and 9 call this, no command, state, checksum or phase knows of them.
 *
 * spectators.c        who is there, what each looks at, what it is sent
 * spectators_past.c   what was published so long ago: scenes, events, scores
 */
#ifndef SPECTATORS_INTERNAL_H
#define SPECTATORS_INTERNAL_H

#include "server/interest/interest.h"
#include "server/match/match_config.h"
#include "server/match/news.h"
#include "server/match/port.h"
#include "server/match/scores.h"
#include "server/replicate/replicate.h"

struct match;

struct spectator {
    bool seated;
    bool needs_welcome;
    bool has_wish;
    uint16_t number;      /* of the newest wish */
    uint64_t news_told;   /* of spectators->news */
    uint32_t scores_told; /* stamp of spectators->scores */
    uint16_t follow;      /* slot; ARB_NO_SLOT: free camera */
    struct port_session session;
    struct arb_vec2 camera; /* m, of the free camera */
    struct arb_vec2 eye;    /* m, where it looked last */
    /* Of the snapshot at hand: */
    uint32_t viewer;        /* whose visible set it shares */
    uint16_t next;          /* place of the next one with that viewer */
    struct arb_key watched; /* character that it follows, or none */
};

/* What else than the frame one has to know to follow somebody. */
struct spectator_slot {
    struct arb_key controlled;
    bool present;
};

/* A published tick of which snapshots go out. */
struct spectator_scene {
    const struct arb_frame *frame; /* NULL: none yet; rewind's, or `copy` */
    struct arb_frame copy;         /* with a delay: arrays of its own */
    struct spectator_slot *slots;  /* [players] */
    struct arb_key *always;        /* [entities]: what everybody always sees, ascending */
    uint32_t always_count;
};

/* What the delivered events add up to: what whoever comes is told first. */
struct spectator_line {
    bool known;
    struct arb_event_player player;
};

struct spectator_event {
    arb_tick tick; /* published */
    struct arb_event event;
};

struct spectators {
    uint32_t capacity, count;
    uint64_t came;
    uint32_t most; /* at one time */
    uint16_t players;
    arb_tick delay, interval; /* ticks; the delay is a multiple of the interval */
    arb_tick first_tick;
    struct spectator *list; /* [capacity] */
    uint16_t *of_session;   /* [MATCH_SESSIONS_MAX] place in the list, checked against it */
    uint64_t refused;       /* no place for them */

    struct interest *interest;   /* the match's; with a delay one of its own, as the next */
    struct replicate *replicate; /* client `first_client` + place */
    uint32_t first_viewer;       /* [players] who follow a slot together, then [capacity] cameras */
    uint32_t first_client;
    struct arb_key *always;  /* [entities + 1] of one viewer */
    const uint32_t *visible; /* of the viewer at hand */
    uint32_t visible_count;
    uint16_t *first_of; /* [players + capacity] place of the first with that viewer */
    uint16_t *order;    /* [capacity] places, as snapshots are sent */
    arb_tick *viewed;   /* [players + capacity] tick of its newest set */

    struct spectator_scene *scenes; /* [scene_count], ring by tick / interval */
    uint32_t scene_count;
    struct arb_vec2 *eyes; /* [players] where each one's last character was, as of what is shown */
    bool *has_eye;

    struct spectator_event *events; /* [event_capacity] ring */
    uint32_t event_capacity, event_reserve, event_first, event_count;
    uint64_t events_dropped;
    struct spectator_line *lines; /* [players] */
    struct scores scores;         /* as of what is shown, as the next */
    struct news news;
    struct news standing; /* when somebody comes: who is there */
    struct arb_event_phase phase;
    struct arb_event_result result;
    bool has_result;
};

/* NULL when the configuration has no place for them. The match's own parts exist already. */
struct spectators *spectators_create(struct match *match, struct arb_arena *arena,
                                     const struct interest_config *interest,
                                     const struct replicate_config *replicate);
/* Viewers and clients that they need in the match's own interest and replicate: all, or none when
 * there is a delay. */
uint32_t spectators_viewers(const struct match_config *config);
uint32_t spectators_clients(const struct match_config *config);

/* Stage 1. `spectators` may be NULL. */
void spectators_join(struct match *match, const struct port_message *message);
/* To all of them at once, whatever their delay: what they are shown stands still now. Names the
 * tick that the late step showed them. */
void spectators_put_late(struct match *match, const struct arb_late *late);
/* False: it is none of them. */
bool spectators_leave(struct match *match, struct port_session session);
void spectators_wish(struct match *match, struct port_session session,
                     const struct arb_spectate *wish);

/* Stage 9, after the players' announcements and their snapshots, which are made of `frame`. */
void spectators_publish(struct match *match, const struct arb_frame *frame);

/* ---- spectators_past.c ---- */

void spectators_past_create(struct spectators *spectators, struct arb_arena *arena,
                            const struct match *match, uint32_t entities, uint32_t points);
/* Keeps this tick's scene, when snapshots of it will go out. */
void spectators_keep(struct match *match, const struct arb_frame *frame);
/* And what a tick has to tell everybody, behind the lines that it changed (match->scores). */
struct match_outcome;
void spectators_keep_events(struct match *match, const struct match_outcome *outcome);
/* After a restore or a replay, whose events nobody kept: who is there, the phase and the result, as
 * events of the newest published tick. Without spectators nothing. */
void spectators_told(struct match *match);
/* The tick that is shown when `published` is the newest. False: it was before the first. */
bool spectators_shown(const struct spectators *spectators, arb_tick published, arb_tick *shown);
/* NULL: not kept (any more). */
const struct spectator_scene *spectators_scene(const struct spectators *spectators, arb_tick tick);
/* Frames for replicate: NULL as above. */
const struct arb_frame *spectators_frame(const void *spectators, arb_tick tick);
/* The next event of the shown tick or before, taken out and added to the lines; NULL: none. Valid
 * until the next spectators_keep. */
const struct arb_event *spectators_next_event(struct spectators *spectators, arb_tick shown);

#endif
