/* Between the files of static geometry. */
#ifndef ARB_GEOMETRY_INTERNAL_H
#define ARB_GEOMETRY_INTERNAL_H

#include "shared/move/arb_convex.h"
#include "shared/move/arb_geometry.h"

#include <box2d/collision.h>

struct arb_geometry {
    struct arb_shape *shapes;    /* [count] as given */
    struct arb_convex *convexes; /* [count] */
    b2DynamicTree tree;          /* user data: index of the shape */
    uint32_t *found;             /* [count] scratch of one question; not part of what it is */
    size_t count;
    struct arb_bounds bounds;
};

/* Indices of the shapes whose boxes overlap the box, ascending: *found is valid until the next
 * question. */
uint32_t arb_geometry_find(const struct arb_geometry *geometry, struct arb_bounds box,
                           const uint32_t **found);

/* Shape `index` as an obstacle to the centre of a hull: widened by its half length; its radius has
 * the hull's added. `room` is used where a new one must be made. */
const struct arb_convex *arb_geometry_obstacle(const struct arb_geometry *geometry, uint32_t index,
                                               struct arb_hull hull, struct arb_convex *room);

/* Where the centre of the hull may be for the bounds' sake. */
struct arb_bounds arb_geometry_inner(const struct arb_geometry *geometry, struct arb_hull hull);

/* Box around a path of a centre, grown by the hull and by `margin` (m). */
struct arb_bounds arb_geometry_path_box(struct arb_hull hull, struct arb_vec2 centre,
                                        struct arb_vec2 delta, float margin);

#endif
