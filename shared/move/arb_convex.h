/* Exact tests of one point against one convex shape with rounded corners: the narrow phase under
 * geometry, rays and contacts. A circle that moves is a point against the shape rounded by the
 * circle's radius as well; a capsule hull, whose axis always lies along x, is a point against the
 * shape widened along x.
 *
 * Analytic and not iterative: Box2D's shape cast stops 5 mm inside, gives up after 20 steps and
 * says so to nobody, and a grazing cast needs more of them. Internal to shared/move, server/collide
 * and the tests.
 */
#ifndef ARB_CONVEX_H
#define ARB_CONVEX_H

#include "shared/base/arb_shape.h"

#include <stdbool.h>

/* Not fminf and fmaxf: those leave the sign of a zero to the library, and are calls. */
static inline float arb_lesser(float a, float b)
{
    return a < b ? a : b;
}

static inline float arb_greater(float a, float b)
{
    return a > b ? a : b;
}

enum { ARB_CONVEX_POINTS_MAX = ARB_SHAPE_POINTS_MAX + 2 };

struct arb_convex {
    uint32_t count; /* 1: point, 2: segment, else counter-clockwise */
    float radius;   /* m, rounds the core that the points span */
    struct arb_vec2 points[ARB_CONVEX_POINTS_MAX];  /* m */
    struct arb_vec2 normals[ARB_CONVEX_POINTS_MAX]; /* unit, outward, of the edge from point i to
                                                       the next; a segment has two edges */
};

/* From a valid shape. A capsule with equal ends becomes a circle. */
void arb_convex_from_shape(struct arb_convex *out, const struct arb_shape *shape);

/* A capsule, or a circle when a == b. */
void arb_convex_from_capsule(struct arb_convex *out, struct arb_vec2 a, struct arb_vec2 b,
                             float radius);

/* The sum of `from` and the segment from (-half_length, 0) to (half_length, 0). */
void arb_convex_widen(struct arb_convex *out, const struct arb_convex *from, float half_length);

/* Distance from the core (without the radius) to `point`, m; negative inside a polygon. *normal
 * points from the core to the point, unit; where the point lies on the core, some fixed one. */
float arb_convex_distance(const struct arb_convex *convex, struct arb_vec2 point,
                          struct arb_vec2 *normal);

/* First touch of a point that moves by `delta` (finite, not 0) with the core rounded by `radius`
 * (m, >= 0; the core's own radius is not added). The origin lies outside: its distance from the
 * core is more than radius (with radius 0 it may lie inside: fraction 0). *fraction in 0..1 of
 * delta. */
bool arb_convex_cast(const struct arb_convex *convex, float radius, struct arb_vec2 origin,
                     struct arb_vec2 delta, float *fraction);

#endif
