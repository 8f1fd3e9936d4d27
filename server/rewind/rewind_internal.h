/* Between the files of server/rewind and their tests. */
#ifndef REWIND_INTERNAL_H
#define REWIND_INTERNAL_H

#include "server/rewind/rewind.h"
#include "server/rewind/rewind_save.h"
#include "shared/view/arb_drawn.h"

#include <box2d/collision.h>

enum { REWIND_NO_PROXY = -1, REWIND_NO_TEAM = -1 };

/* What is needed of a kind besides its shapes, found once. */
struct rewind_kind_facts {
    float reach;  /* m: no shape goes further from the centre; 0: cannot be hit */
    int8_t team;  /* index of the field `team`, or REWIND_NO_TEAM */
    bool centred; /* circles around the centre only: the heading is of no matter */
};

/* Bounds of one entity id over the window, whatever generations had it. Two halves take turns, each
 * of `samples` ticks and those that a rollback may go back, so that their union covers at least the
 * window, from wherever it is asked, and old places leave it. */
struct rewind_leaf {
    b2AABB fat; /* what the tree holds */
    b2AABB now, before;
    bool has_now, has_before;
    uint32_t index; /* in the newest frame; a first guess for the others */
    int32_t proxy;
};

/* Least and most of what an entity's bounds follow from, over many of its states. */
enum rewind_reach { REWIND_X, REWIND_Y, REWIND_VX, REWIND_VY, REWIND_REACHES };
struct rewind_span {
    int32_t low[REWIND_REACHES], high[REWIND_REACHES]; /* quantised */
    uint8_t kind;
    bool any;
};

struct rewind {
    struct rewind_config config;
    const struct arb_geometry *geometry;
    struct rewind_kind kinds[ARB_KINDS_MAX];
    struct rewind_kind_facts facts[ARB_KINDS_MAX];

    struct arb_frame *frames; /* [ring_count] ring by tick */
    uint32_t frame_count;     /* rewind_frames: so many are held */
    uint32_t ring_count;      /* back_ticks more: as many are held after going back so far */
    uint32_t samples;         /* of them, the newest ones that a view without pairs may name */
    struct arb_drawn_rule rule;
    uint64_t committed;
    arb_tick newest; /* meaningful when committed > 0 */
    bool open;       /* between begin and commit */

    arb_tick turned;            /* tick that began the younger half */
    b2DynamicTree tree;         /* user data: entity id */
    struct rewind_leaf *leaves; /* [entity_capacity] */
    struct rewind_span *spans;  /* [entity_capacity] for rewind_bounds_fill */

    struct rewind_record *records; /* [player_capacity * samples] ring by sequence */
    struct rewind_record *last;    /* [player_capacity] */

    struct rewind_pack *pack; /* for frames as bytes: rewind_pack.h */
};

/* Makes the tree cover the newest frame. */
void rewind_bounds_commit(struct rewind *rewind, const struct arb_frame *frame);
void rewind_bounds_create(struct rewind *rewind, struct arb_arena *arena);
/* Makes the tree cover the frames that are held now, whatever was before. */
void rewind_bounds_fill(struct rewind *rewind);
/* No frame is held. */
void rewind_bounds_forget(struct rewind *rewind);

/* ---- who stood where: rewind_stance.c ---- */

/* A view's own two frames and its time. */
struct rewind_moment {
    const struct arb_frame *from;
    const struct arb_frame *to; /* NULL: the one alone, or what lies past it */
    arb_fine at;
};

/* A view of ticks that are not held names the nearest that are. False before the first frame. */
bool rewind_moment_of(const struct rewind *rewind, struct arb_view view,
                      struct rewind_moment *moment);

struct rewind_stance {
    const struct arb_published *state; /* the earlier one */
    struct arb_drawn_pair drawn;
    struct arb_vec2 position;
};

/* Entity `id` (below the capacity) as drawn from the moment's own two frames; false when it was not
 * there. */
bool rewind_stance_at(const struct rewind *rewind, const struct rewind_moment *moment, uint16_t id,
                      struct rewind_stance *stance);

/* As drawn from the states of a pair at time `at`. */
bool rewind_stance_of(const struct rewind *rewind, const struct rewind_pair *pair, arb_fine at,
                      struct rewind_stance *stance);

/* Apart, because most candidates of a ray are missed by their place alone. */
float rewind_stance_heading(const struct rewind *rewind, const struct rewind_stance *stance);

/* ---- what all queries share: rewind_query.c ---- */

struct rewind_query {
    const struct rewind *rewind;
    struct rewind_past past;
    struct rewind_moment moment;
    arb_fine at;    /* the view's time, unclamped: what pairs are drawn at */
    arb_tick sure;  /* the tree covers states of this tick and younger */
    bool any_older; /* some pair begins before that: those are tried one by one */
};

/* Looks the histories up once. False: there is no past yet. */
bool rewind_query_begin(struct rewind_query *query, const struct rewind *rewind,
                        const struct rewind_past *past);

/* The tree's candidate. False: not there, or not the tree's to find (rewind_query_older).
 * *unseen: it was there, but the client did not hold it. */
bool rewind_query_stance(const struct rewind_query *query, uint16_t id,
                         struct rewind_stance *stance, bool *unseen);

/* That character, wherever the tree has it. False: not there, or the client did not hold it. */
bool rewind_query_key(const struct rewind_query *query, struct arb_key key,
                      struct rewind_stance *stance);

/* Pair `index` when the tree does not cover it. */
bool rewind_query_older(const struct rewind_query *query, uint32_t index,
                        struct rewind_stance *stance);

/* Self, and the own team where it is spared. */
bool rewind_query_spares(const struct rewind_query *query, const struct arb_published *state);

/* Whether mercy spares somebody whom the shot meets; the costliest of all questions, so the last.
 */
bool rewind_query_forgives(const struct rewind_query *query, struct arb_key key);

/* The shapes of a stance in the world's frame, out[return value]. */
uint32_t rewind_query_shapes(const struct rewind_query *query, const struct rewind_stance *stance,
                             struct rewind_shape out[REWIND_SHAPES_MAX]);

/* Keeps the nearest `most` in order, ties by key; returns the new count. */
uint32_t rewind_hit_insert(struct rewind_hit *hits, uint32_t count, uint32_t most,
                           const struct rewind_hit *hit);

#endif
