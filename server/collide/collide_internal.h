/* Between the files of server/collide and their tests. */
#ifndef COLLIDE_INTERNAL_H
#define COLLIDE_INTERNAL_H

#include "server/collide/collide.h"

#include <box2d/collision.h>

enum {
    COLLIDE_CHUNK = 8, /* ring places of a body that make one part */
};

/* What stands in the grid: the circle of an entity, on its way in this tick, or a chunk of a body.
 */
struct collide_leaf {
    b2AABB box;
    uint32_t bit;  /* collide_bit */
    uint32_t data; /* id of the entity, or collide_chunk_data */
};

/* Parts by cells: bucket b has sorted[starts[b]] to sorted[starts[b + 1]]. */
struct collide_grid {
    struct collide_leaf *parts, *sorted; /* [capacity] */
    uint32_t *starts;                    /* [side * side + 2], last those too large for cells */
    uint32_t capacity, part_count;
    uint32_t shift, mask; /* side = 1 << shift = mask + 1 */
    float cells_per_m;
    float half_limit; /* m: parts with a longer half side are large */
    float half_most;  /* m, of the others */
    float half_sum;   /* m, of all */
};

/* What the chunks' boxes were last made for. */
struct collide_trail {
    struct arb_key key;
    uint16_t first, count;
};

struct collide {
    struct collide_kind kinds[ARB_KINDS_MAX];
    uint32_t wanted[ARB_KINDS_MAX]; /* collide_bit of all that a kind is tested against */
    struct collide_grid grid;
    float *halves;                    /* [grid.capacity], m: half the longer side of each part */
    uint32_t *buckets;                /* [grid.capacity] */
    struct collide_trail *trails;     /* [body_capacity] */
    b2AABB *chunk_boxes;              /* [body_capacity * chunk_count] */
    struct collide_contact *contacts; /* [contact_max] */
    struct collide_contact *found;    /* [2 * entity_capacity], of one mover */
    uint8_t *marks;                   /* [entity_capacity], of one overlap */
    uint32_t contact_max;
    uint32_t entity_capacity, body_capacity, body_points, chunk_count;
    uint64_t dropped;
};

/* What a query may ask for. */
static inline uint32_t collide_bit(uint8_t kind, enum collide_part part)
{
    return 1U << (kind + (part == COLLIDE_BODY ? ARB_KINDS_MAX : 0));
}

static inline uint32_t collide_chunk_data(uint32_t body, uint32_t chunk)
{
    return body << 16 | chunk;
}

static inline bool collide_is_chunk(const struct collide_leaf *part)
{
    return part->bit >= 1U << ARB_KINDS_MAX;
}

/* Of the whole way of a circle in this tick. */
b2AABB collide_circle_box(struct arb_vec2 from, struct arb_vec2 to, float radius);

/* The segment of the body that ends in its ring place `place`: false when that place holds none.
 * *segment is its index from the head, a the end nearer to the head. */
bool collide_segment(const struct world *world, uint32_t body, uint32_t place, uint32_t *segment,
                     struct arb_vec2 *a, struct arb_vec2 *b);

/* The bits of all circles and bodies of these categories. */
uint32_t collide_wanted(const struct collide *collide, uint32_t circles, uint32_t bodies);

bool collide_boxes_apart(b2AABB a, b2AABB b);

typedef void collide_found(void *context, const struct collide_leaf *part);
/* Every part whose bit is among `bits` and whose box meets `box`, once, in no order to rely on. */
void collide_query(const struct collide *collide, b2AABB box, uint32_t bits, collide_found *found,
                   void *context);

#endif
