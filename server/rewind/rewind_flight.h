/* A projectile among characters that move: the question that rules ask for each piece of its way
 * (spec/lag-compensation.md "More than rays"). Where a ray asks of one moment, this one asks of all
 * moments between two: the circle and the characters go on together, and the first touch counts.
 * Pure, over the same published frames as every other query.
 *
 * While it is caught up, its shooter's pairs say how each character was drawn, as for a ray, until
 * what the client knew with its view ends; past that they are on straight lines from one snapshot
 * to the next that the client held, as far as it held any; and past the last of these where clients
 * draw them that get every snapshot. Who loses one of those draws a longer line; that is known only
 * later, and not asked for.
 */
#ifndef REWIND_FLIGHT_H
#define REWIND_FLIGHT_H

#include "server/rewind/rewind.h"

/* What a client held of the snapshots around the view that it leaves with. */
struct rewind_seen {
    struct arb_view view;
    uint64_t later;                  /* as in struct rewind_ray */
    const struct rewind_pair *pairs; /* as there; NULL: it held every snapshot */
    uint32_t pair_count;
};

static inline struct rewind_seen rewind_flight_seen(const struct rewind_ray *ray)
{
    return (struct rewind_seen){ray->view, ray->later, ray->pairs, ray->pair_count};
}

struct rewind_flight {
    uint16_t owner; /* player slot: none of its characters is met */
    uint8_t team;   /* with team_filter: the same one (not 0) is not met */
    bool team_filter;
    struct arb_vec2 origin, delta;    /* m: its centre at `from`, and the way to the one at `to` */
    float radius;                     /* m */
    arb_fine from, to;                /* from < to, within one tick of the published past */
    const struct rewind_seen *seen;   /* NULL: everyone as of the snapshots around `from` */
    const struct rewind_mercy *mercy; /* NULL: none */
};

/* Whom it passes though it touches them, each once however many pieces of its way lead through
 * them; more than there is room for are not told apart and not counted. */
struct rewind_passed {
    struct arb_key unseen[REWIND_HITS_MAX], spared[REWIND_HITS_MAX];
    uint8_t unseen_count, spared_count;
};

struct rewind_meeting {
    struct arb_key victim;
    uint8_t part;
    arb_fine at;            /* rounded down to 1/256 tick */
    struct arb_vec2 centre; /* m, of the circle at the touch */
    struct arb_vec2 point;  /* m, of the victim: its drawn place then */
};

/* The first character that it meets; of those met at one moment the lowest key. Static geometry is
 * the caller's business: it does not move. Parts are taken as turned as in the middle of the way.
 * Those that are passed before it are added to *passed. */
bool rewind_resolve_flight(const struct rewind *rewind, const struct rewind_flight *flight,
                           struct rewind_meeting *meeting, struct rewind_passed *passed);

/* Up to when the drawn world is known: the tick of the newest snapshot; `before` 1: as it was known
 * a tick earlier. */
arb_fine rewind_flight_newest(const struct rewind *rewind, uint32_t before);
/* From when on it can be asked. */
arb_fine rewind_flight_oldest(const struct rewind *rewind);

/* The past of a moment up to rewind_flight_newest, for other questions: of everybody, or of the
 * client that held this; shooter, team and mercy are the caller's. */
struct rewind_past rewind_flight_past(const struct rewind *rewind, const struct rewind_seen *seen,
                                      arb_fine at);

#endif
