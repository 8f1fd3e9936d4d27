/* Between the files of server/collide and their tests. */
#ifndef COLLIDE_INTERNAL_H
#define COLLIDE_INTERNAL_H

#include "server/collide/collide.h"

#include <box2d/collision.h>

enum {
    COLLIDE_CHUNK = 8,     /* ring places of a body that share one leaf */
    COLLIDE_NO_PROXY = -1, /* no leaf in the tree */
};

/* Leaf of an entity's circle. */
struct collide_leaf {
    b2AABB fat; /* what the tree holds */
    struct arb_key key;
    int32_t proxy;
    uint8_t kind;
};

/* What the chunks' leaves were last made for. The points of a body stay at their ring places, so
 * only the chunks of new points change, and the last ones end. */
struct collide_trail {
    struct arb_key key;
    uint16_t first, count;
};

struct collide {
    struct collide_kind kinds[ARB_KINDS_MAX];
    b2DynamicTree tree;
    struct collide_leaf *leaves;      /* [entity_capacity], by id */
    struct collide_trail *trails;     /* [body_capacity] */
    int32_t *chunk_proxies;           /* [body_capacity * chunk_count] */
    struct collide_contact *contacts; /* [contact_max] */
    struct collide_contact *found;    /* [2 * entity_capacity], of one mover */
    uint8_t *marks;                   /* [entity_capacity], of one overlap */
    uint32_t contact_max;
    uint32_t entity_capacity, body_capacity, body_points, chunk_count;
    uint64_t dropped;
};

/* Category bits in the tree: circles below, bodies above. */
static inline uint64_t collide_bits(uint32_t circles, uint32_t bodies)
{
    return (uint64_t)bodies << 32 | circles;
}

/* User data of a leaf: id of the entity for a circle, else body and chunk. */
static inline uint64_t collide_chunk_data(uint32_t body, uint32_t chunk)
{
    return (uint64_t)1 << 32 | (uint64_t)body << 16 | chunk;
}

static inline bool collide_data_is_chunk(uint64_t data)
{
    return data >> 32 != 0;
}

/* Of the whole way of a circle in this tick. */
b2AABB collide_circle_box(struct arb_vec2 from, struct arb_vec2 to, float radius);

/* The segment of the body that ends in its ring place `place`: false when that place holds none.
 * *segment is its index from the head, a the end nearer to the head. */
bool collide_segment(const struct world *world, uint32_t body, uint32_t place, uint32_t *segment,
                     struct arb_vec2 *a, struct arb_vec2 *b);

#endif
