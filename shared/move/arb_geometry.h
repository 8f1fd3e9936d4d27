/* Static geometry of a match, equal on both ends: built once from the shapes of the map, then only
 * asked. Owns a Box2D dynamic tree over the shapes. Never changes after arb_geometry_create.
 * Thread: one.
 */
#ifndef ARB_GEOMETRY_H
#define ARB_GEOMETRY_H

#include "shared/base/arb_shape.h"

#include <stdbool.h>
#include <stddef.h>

struct arb_geometry;

/* Copies the shapes (each must be valid: arb_geometry_shape_valid). The world's bounds act as
 * walls. Freed by arb_geometry_destroy. */
struct arb_geometry *arb_geometry_create(const struct arb_shape *shapes, size_t count,
                                         struct arb_bounds bounds);
void arb_geometry_destroy(struct arb_geometry *geometry);

/* Finite, within +-4096 m, counts and radii as arb_shape.h says, polygons convex and
 * counter-clockwise as Box2D's hull would keep them (same points, same order). */
bool arb_geometry_shape_valid(const struct arb_shape *shape);

struct arb_bounds arb_geometry_bounds(const struct arb_geometry *geometry);
size_t arb_geometry_shape_count(const struct arb_geometry *geometry);
const struct arb_shape *arb_geometry_shape(const struct arb_geometry *geometry, size_t index);

/* 64-bit hash over the shapes and bounds, the same on every processor. */
uint64_t arb_geometry_hash(const struct arb_geometry *geometry);

/* A hull: capsule from centre - (half_length, 0) to centre + (half_length, 0), or a circle when
 * that is 0. */
struct arb_hull {
    float radius;
    float half_length;
};

/* Distance from the hull to the nearest static shape or bound; negative or 0: touches or overlaps.
 * Looks no further than `limit` metres (then returns limit). */
float arb_geometry_clearance(const struct arb_geometry *geometry, struct arb_hull hull,
                             struct arb_vec2 centre, float limit);

/* Moves the hull by `delta` (m), sliding along what it touches with Box2D's plane solver; never
 * tunnels at any length of delta, never ends inside a shape when it starts outside (tolerance:
 * Box2D's linear slop, 5 mm). Writes the new centre and clips *velocity (m/s) against the planes
 * touched. Returns true when something was touched. */
bool arb_geometry_slide(const struct arb_geometry *geometry, struct arb_hull hull,
                        struct arb_vec2 *centre, struct arb_vec2 delta, struct arb_vec2 *velocity);

/* First touch of a circle of `radius` that moves by `delta`: true and *fraction in 0..1 (0 when it
 * starts in touch). Used by movers that stop or die at walls instead of sliding. */
bool arb_geometry_sweep(const struct arb_geometry *geometry, float radius, struct arb_vec2 centre,
                        struct arb_vec2 delta, float *fraction);

/* First hit of a ray without thickness: true and *fraction of `delta` in 0..1. Length 0 or not
 * finite: false. */
bool arb_geometry_ray(const struct arb_geometry *geometry, struct arb_vec2 origin,
                      struct arb_vec2 delta, float *fraction);

#endif
