/* Contacts between entities: a grid, then exact swept circle and circle-capsule tests
 * (spec/simulation.md "Collision"; README.md says why it is no tree). Knows no game meaning. The
 * grid is a cache of the state: rebuilding it at any tick changes no result. Called by stage 5
 * only.
 */
#ifndef COLLIDE_H
#define COLLIDE_H

#include "server/world/world.h"

/* What meets what, per entity kind; given by the mode. */
struct collide_kind {
    uint32_t category; /* bit of this kind; 0: never in contact */
    uint32_t mask; /* categories whose circles this kind's circle is tested against, as the moving
                      side */
    uint32_t
        body_mask;     /* categories whose bodies (capsules) this kind's circle is tested against */
    float body_radius; /* m, of the bodies of this kind */
};

enum collide_part { COLLIDE_CIRCLE = 0, COLLIDE_BODY = 1 };

/* `mover`'s circle met `other`. Circle against circle of kinds that ask for each other is reported
 * once, with the lower key as mover; else the asking side is the mover. */
struct collide_contact {
    struct arb_key mover, other;
    uint8_t part; /* enum collide_part of other */
    uint8_t reserved;
    uint16_t segment; /* part BODY: index of the segment, 0 is at the head */
    float fraction;   /* 0..1 of this tick's motion when they first touch */
};

struct collide;

/* kinds[kind_count] is copied. `contact_max` bounds the list; beyond it the rest in key order is
 * dropped and counted. */
struct collide *collide_create(struct arb_arena *arena, const struct collide_kind *kinds,
                               uint8_t kind_count, const struct world_capacity *capacity,
                               uint32_t contact_max);

/* Makes the grid agree with the world, when since the last call it was changed by the tick's own
 * steps only. */
void collide_refit(struct collide *collide, const struct world *world);
/* After another state was put into the world: points of a body may differ that no step has pushed.
 * The next refit does the rest. */
void collide_forget_bodies(struct collide *collide);
/* Builds all anew from the world. */
void collide_rebuild(struct collide *collide, const struct world *world);

/* Every contact of this tick (distance <= sum of radii at some moment of the motion from previous
 * to present place; bodies are where they are at the end of the tick; own body excluded), sorted by
 * (mover, other, part, fraction, segment), at most one per (mover, other, part): the earliest.
 * Valid until the next call. */
const struct collide_contact *collide_contacts(struct collide *collide, const struct world *world,
                                               uint32_t *count);

/* Entities whose circle or body comes within `radius` of `centre`, ascending by key; returns how
 * many of them were written (at most `capacity`). For spawn points and effects of area. */
uint32_t collide_overlap(struct collide *collide, const struct world *world, struct arb_vec2 centre,
                         float radius, uint32_t categories, struct arb_key *keys,
                         uint32_t capacity);

uint64_t collide_dropped(const struct collide *collide);

#endif
