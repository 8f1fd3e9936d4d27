/* From the states of one entity to where it is drawn at a moment (spec/lag-compensation.md
 * "History", spec/client.md "Others"). Run by the client's view and by the server's rewind; bit for
 * bit the same.
 */
#ifndef ARB_DRAWN_H
#define ARB_DRAWN_H

#include "shared/move/arb_path.h"
#include "shared/proto/arb_schema.h"

struct arb_drawn_rule {
    uint32_t interval_ticks; /* of the snapshots; bounds extrapolation */
    uint32_t tick_rate;      /* Hz */
};

/* What is drawn from: one state, or two of the same entity around `at`. */
struct arb_drawn_pair {
    const struct arb_published *from;
    const struct arb_published *to; /* NULL: `from` alone */
    arb_tick from_tick, to_tick;    /* of the states */
    arb_fine at;                    /* the time that is drawn; not before from_tick */
};

/* As enum arbiter_drawn of the client. */
enum arb_drawn_how {
    ARB_DRAWN_BETWEEN = 0, /* interpolated, or the state itself */
    ARB_DRAWN_BEYOND,      /* extrapolated by its velocity */
    ARB_DRAWN_FROZEN,      /* beyond what may be extrapolated */
};

/* One quantised value as both ends read it: m, m/s, rad (-pi, pi] for the heading, or 1. 0 for an
 * index of -1 (the kind has none). */
float arb_published_value(const struct arb_kind *kind, const struct arb_published *state,
                          int index);

/* The path of an entity whose kind has one; `tick` is any published tick that has the entity. */
struct arb_path arb_published_path(const struct arb_kind *kind, const struct arb_published *state,
                                   arb_tick tick);

/* Where it is at published tick `tick`, of which this is the state: m. Paths included. */
struct arb_vec2 arb_published_position(const struct arb_kind *kind,
                                       const struct arb_published *state, arb_tick tick,
                                       uint32_t tick_rate);

/* How far from `from` to `to`, 0..1; 0 where nothing is blended: one state alone, another kind, or
 * a jump between the two, over which the earlier one holds. */
float arb_drawn_part(const struct arb_kind *kind, const struct arb_drawn_pair *pair);

/* m */
struct arb_vec2 arb_drawn_position(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                                   const struct arb_drawn_rule *rule);
/* rad (-pi, pi]; 0 for kinds without one */
float arb_drawn_heading(const struct arb_kind *kind, const struct arb_drawn_pair *pair);
/* m/s; 0 for kinds without one, and when frozen */
struct arb_vec2 arb_drawn_velocity(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                                   const struct arb_drawn_rule *rule);
enum arb_drawn_how arb_drawn_how(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                                 const struct arb_drawn_rule *rule);

/* All of the above. */
struct arb_drawn {
    enum arb_drawn_how how;
    float part, heading;
    struct arb_vec2 position, velocity;
};

/* The same bits as the functions above give one by one, for who wants them all, once a frame for
 * everything in view. */
void arb_drawn_all(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                   const struct arb_drawn_rule *rule, struct arb_drawn *out);

#endif
