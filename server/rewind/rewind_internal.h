/* Between the files of server/rewind and their tests. */
#ifndef REWIND_INTERNAL_H
#define REWIND_INTERNAL_H

#include "server/rewind/rewind.h"

#include <box2d/collision.h>

enum { REWIND_NO_PROXY = -1, REWIND_NO_TEAM = -1 };

/* What is needed of a kind besides its shapes, found once. */
struct rewind_kind_facts {
    float reach;  /* m: no shape goes further from the centre; 0: cannot be hit */
    int8_t team;  /* index of the field `team`, or REWIND_NO_TEAM */
    bool centred; /* circles around the centre only: the heading is of no matter */
};

/* Bounds of one entity id over the window, whatever generations had it. Two halves of `samples`
 * ticks each take turns, so that their union covers at least the window and old places leave it. */
struct rewind_leaf {
    b2AABB fat; /* what the tree holds */
    b2AABB now, before;
    bool has_now, has_before;
    uint32_t index; /* in the newest frame; a first guess for the others */
    int32_t proxy;
};

struct rewind_record {
    arb_sequence sequence; /* 0: none */
    arb_tick tick;         /* the step that consumed it */
    struct arb_vec2 origin, previous;
};

struct rewind {
    struct rewind_config config;
    const struct arb_geometry *geometry;
    struct rewind_kind kinds[ARB_KINDS_MAX];
    struct rewind_kind_facts facts[ARB_KINDS_MAX];

    struct arb_frame *frames; /* [frame_count] ring by tick */
    uint32_t frame_count;
    uint32_t samples; /* of them, the newest ones that a view may name */
    uint64_t committed;
    arb_tick newest; /* meaningful when committed > 0 */
    bool open;       /* between begin and commit */

    b2DynamicTree tree;         /* user data: entity id */
    struct rewind_leaf *leaves; /* [entity_capacity] */

    struct rewind_record *records; /* [player_capacity * samples] ring by sequence */
    struct rewind_record *last;    /* [player_capacity] */
};

/* Makes the tree cover the newest frame. */
void rewind_bounds_commit(struct rewind *rewind, const struct arb_frame *frame);
void rewind_bounds_create(struct rewind *rewind, struct arb_arena *arena);

/* The two frames of a view and how to stand between them. */
struct rewind_moment {
    const struct arb_frame *from, *to;
    float part;  /* 0..1 from one to the other; 0 when they are the same */
    float ticks; /* past the newest: from == to */
};

/* A view of ticks that are not held names the nearest that are. False before the first frame. */
bool rewind_moment_of(const struct rewind *rewind, struct arb_view view,
                      struct rewind_moment *moment);

struct rewind_stance {
    const struct arb_published *state; /* the earlier one */
    const struct arb_published *next;  /* to interpolate with; NULL: state alone */
    float part;
    struct arb_vec2 position;
};

/* Entity `id` at that moment; false when it was not there. */
bool rewind_stance_at(const struct rewind *rewind, const struct rewind_moment *moment, uint16_t id,
                      struct rewind_stance *stance);

/* Apart, because most candidates of a ray are missed by their place alone. */
float rewind_stance_heading(const struct rewind *rewind, const struct rewind_stance *stance);

#endif
