/* Static shapes of a map, in exact floats: told to clients in the welcome, so both ends collide
 * with the same bits. Metres, world frame.
 */
#ifndef ARB_SHAPE_H
#define ARB_SHAPE_H

#include "shared/base/arb_types.h"

enum { ARB_SHAPE_POINTS_MAX = 8 };

enum arb_shape_type {
    ARB_SHAPE_CIRCLE = 1,  /* points[0], radius > 0 */
    ARB_SHAPE_CAPSULE = 2, /* points[0], points[1], radius > 0 */
    ARB_SHAPE_POLYGON = 3, /* 3..8 points, convex, counter-clockwise; radius >= 0 rounds it */
};

struct arb_shape {
    uint8_t type;  /* enum arb_shape_type */
    uint8_t count; /* of points: circle 1, capsule 2, polygon 3..8 */
    float radius;
    struct arb_vec2 points[ARB_SHAPE_POINTS_MAX];
};

struct arb_bounds {
    struct arb_vec2 low, high; /* the world's rectangle; within +-4096 m */
};

#endif
