#include "shared/move/arb_convex.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUNDING 1e-6F /* of a distance, relative to the coordinates that it comes from */

static float cross(struct arb_vec2 a, struct arb_vec2 b)
{
    return a.x * b.y - a.y * b.x;
}

/* Direction of an edge from its outward normal: counter-clockwise by a quarter turn. */
static struct arb_vec2 along_edge(struct arb_vec2 normal)
{
    return (struct arb_vec2){-normal.y, normal.x};
}

static uint32_t next_of(const struct arb_convex *convex, uint32_t index)
{
    return index + 1 == convex->count ? 0 : index + 1;
}

static void set_normals(struct arb_convex *out)
{
    for (uint32_t i = 0; i < out->count && out->count > 1; i++) {
        struct arb_vec2 edge = arb_vec2_sub(out->points[next_of(out, i)], out->points[i]);
        float length = arb_vec2_length(edge);
        ARB_ASSERT(length > 0.0F);
        out->normals[i] = (struct arb_vec2){edge.y / length, -edge.x / length};
    }
}

void arb_convex_from_shape(struct arb_convex *out, const struct arb_shape *shape)
{
    if (shape->count == 2) {
        arb_convex_from_capsule(out, shape->points[0], shape->points[1], shape->radius);
        return;
    }
    ARB_ASSERT(shape->count >= 1 && shape->count <= ARB_SHAPE_POINTS_MAX);
    out->count = shape->count;
    out->radius = shape->radius;
    memcpy(out->points, shape->points, shape->count * sizeof shape->points[0]);
    set_normals(out);
}

void arb_convex_from_capsule(struct arb_convex *out, struct arb_vec2 a, struct arb_vec2 b,
                             float radius)
{
    struct arb_vec2 axis = arb_vec2_sub(b, a);
    /* Too short to have a direction: its square is no normal number. */
    out->count = arb_vec2_dot(axis, axis) >= FLT_MIN ? 2 : 1;
    out->radius = radius;
    out->points[0] = a;
    out->points[1] = b;
    set_normals(out);
}

static void widen_add(struct arb_convex *out, struct arb_vec2 point, float shift,
                      struct arb_vec2 normal)
{
    ARB_ASSERT(out->count < ARB_CONVEX_POINTS_MAX);
    out->points[out->count] = (struct arb_vec2){point.x + shift, point.y};
    out->normals[out->count] = normal;
    out->count++;
}

/* Every vertex moves to the side to which its neighbouring edges face; where they face different
 * sides, the vertex becomes an edge along x: the lowest and the highest one. */
void arb_convex_widen(struct arb_convex *out, const struct arb_convex *from, float half_length)
{
    static const struct arb_vec2 down = {0, -1}, up = {0, 1};
    out->count = 0;
    out->radius = from->radius;
    if (from->count == 1) {
        widen_add(out, from->points[0], -half_length, down);
        widen_add(out, from->points[0], half_length, up);
        return;
    }
    for (uint32_t i = 0; i < from->count; i++) {
        struct arb_vec2 in = from->normals[i == 0 ? from->count - 1 : i - 1];
        struct arb_vec2 leaving = from->normals[i];
        /* An edge along x faces no side: below it runs to +x, above it runs to -x. */
        float arrives = in.x != 0.0F ? in.x : -in.y;
        float leaves = leaving.x != 0.0F ? leaving.x : leaving.y;
        if (arrives > 0.0F && leaves > 0.0F) {
            widen_add(out, from->points[i], half_length, leaving);
        } else if (arrives < 0.0F && leaves < 0.0F) {
            widen_add(out, from->points[i], -half_length, leaving);
        } else if (arrives < 0.0F) {
            widen_add(out, from->points[i], -half_length, down);
            widen_add(out, from->points[i], half_length, leaving);
        } else {
            widen_add(out, from->points[i], half_length, up);
            widen_add(out, from->points[i], -half_length, leaving);
        }
    }
}

static float distance_to_point(struct arb_vec2 from, struct arb_vec2 point, struct arb_vec2 spare,
                               struct arb_vec2 *normal)
{
    struct arb_vec2 away = arb_vec2_sub(point, from);
    float distance = arb_vec2_length(away);
    *normal = distance > 0.0F ? (struct arb_vec2){away.x / distance, away.y / distance} : spare;
    return distance;
}

/* Of its own, because a segment has no inside: on its line, rounding may put the point behind both
 * edges. */
static float distance_to_segment(const struct arb_convex *convex, struct arb_vec2 point,
                                 struct arb_vec2 *normal)
{
    struct arb_vec2 side = convex->normals[0], along = along_edge(side);
    struct arb_vec2 from_a = arb_vec2_sub(point, convex->points[0]);
    struct arb_vec2 from_b = arb_vec2_sub(point, convex->points[1]);
    float separation = arb_vec2_dot(from_a, side);
    if (separation < 0.0F) {
        side = convex->normals[1];
    }
    if (arb_vec2_dot(from_a, along) <= 0.0F) {
        return distance_to_point(convex->points[0], point, side, normal);
    }
    if (arb_vec2_dot(from_b, along) >= 0.0F) {
        return distance_to_point(convex->points[1], point, side, normal);
    }
    *normal = side;
    return fabsf(separation);
}

float arb_convex_distance(const struct arb_convex *convex, struct arb_vec2 point,
                          struct arb_vec2 *normal)
{
    if (convex->count == 1) {
        return distance_to_point(convex->points[0], point, (struct arb_vec2){0, 1}, normal);
    }
    if (convex->count == 2) {
        return distance_to_segment(convex, point, normal);
    }
    float deepest = -FLT_MAX, nearest = FLT_MAX;
    uint32_t face = 0, corner = 0;
    for (uint32_t i = 0; i < convex->count; i++) {
        struct arb_vec2 away = arb_vec2_sub(point, convex->points[i]);
        float separation = arb_vec2_dot(away, convex->normals[i]);
        if (separation > deepest) {
            deepest = separation;
            face = i;
        }
        if (separation < 0.0F) {
            continue;
        }
        struct arb_vec2 along = along_edge(convex->normals[i]);
        uint32_t end = next_of(convex, i);
        float u = arb_vec2_dot(away, along);
        bool before = u <= 0.0F;
        struct arb_vec2 beyond = before ? away : arb_vec2_sub(point, convex->points[end]);
        if (!before && arb_vec2_dot(beyond, along) < 0.0F) {
            *normal = convex->normals[i];
            return separation;
        }
        float squared = arb_vec2_dot(beyond, beyond);
        if (squared < nearest) {
            nearest = squared;
            corner = before ? i : end;
        }
    }
    if (deepest < 0.0F) {
        *normal = convex->normals[face];
        return deepest;
    }
    return distance_to_point(convex->points[corner], point, convex->normals[face], normal);
}

/* The path as a line through the origin: unit direction and length. */
struct path {
    struct arb_vec2 direction;
    float length;
};

/* Sharp corners: the path is clipped by every edge's line, so that no crack lies between edges. */
static bool cast_sharp(const struct arb_convex *convex, struct arb_vec2 origin, struct path path,
                       float *at)
{
    float enter = 0.0F, leave = path.length;
    for (uint32_t i = 0; i < convex->count; i++) {
        float away = arb_vec2_dot(arb_vec2_sub(origin, convex->points[i]), convex->normals[i]);
        float speed = arb_vec2_dot(path.direction, convex->normals[i]);
        if (speed == 0.0F) {
            if (away > 0.0F) return false;
        } else if (speed < 0.0F) {
            enter = arb_greater(enter, away / -speed);
        } else {
            leave = arb_lesser(leave, -away / speed);
        }
    }
    *at = enter;
    return enter <= leave;
}

/* Edges moved out by the radius, and full circles around the corners. The circles overlap the
 * edges, so a path that rounding takes past the end of an edge meets the circle there. */
static bool cast_rounded(const struct arb_convex *convex, float radius, struct arb_vec2 origin,
                         struct path path, float *at)
{
    float best = FLT_MAX;
    for (uint32_t i = 0; i < convex->count; i++) {
        struct arb_vec2 to = arb_vec2_sub(convex->points[i], origin);
        float side = cross(path.direction, to);
        float square = radius * radius - side * side;
        float ahead = arb_vec2_dot(to, path.direction);
        if (square >= 0.0F && ahead >= 0.0F) {
            best = arb_lesser(best, arb_greater(ahead - sqrtf(square), 0.0F));
        }
        if (convex->count == 1) {
            break;
        }
        struct arb_vec2 normal = convex->normals[i];
        float speed = arb_vec2_dot(path.direction, normal);
        float away = -arb_vec2_dot(to, normal) - radius;
        /* The origin is outside, so in front of an edge it is not behind it by more than rounding.
         */
        if (speed >= 0.0F || away < -ROUNDING * (fabsf(to.x) + fabsf(to.y) + radius)) {
            continue;
        }
        float t = arb_greater(away, 0.0F) / -speed;
        struct arb_vec2 along = along_edge(normal);
        float u = t * arb_vec2_dot(path.direction, along) - arb_vec2_dot(to, along);
        struct arb_vec2 edge = arb_vec2_sub(convex->points[next_of(convex, i)], convex->points[i]);
        if (u >= 0.0F && u <= arb_vec2_dot(edge, along)) {
            best = arb_lesser(best, t);
        }
    }
    *at = best;
    return best <= path.length;
}

/* All of the core lies on one side of the path, behind it or beyond its end. */
static bool misses(const struct arb_convex *convex, float radius, struct arb_vec2 origin,
                   struct path path)
{
    float left = -FLT_MAX, right = FLT_MAX, far = -FLT_MAX, near = FLT_MAX;
    for (uint32_t i = 0; i < convex->count; i++) {
        struct arb_vec2 to = arb_vec2_sub(convex->points[i], origin);
        float side = cross(path.direction, to);
        float ahead = arb_vec2_dot(to, path.direction);
        left = arb_greater(left, side);
        right = arb_lesser(right, side);
        far = arb_greater(far, ahead);
        near = arb_lesser(near, ahead);
    }
    return right > radius || left < -radius || far < -radius || near > path.length + radius;
}

bool arb_convex_cast(const struct arb_convex *convex, float radius, struct arb_vec2 origin,
                     struct arb_vec2 delta, float *fraction)
{
    struct path path = {.length = arb_vec2_length(delta)};
    if (!(path.length > 0.0F)) {
        return false;
    }
    path.direction = (struct arb_vec2){delta.x / path.length, delta.y / path.length};
    float at;
    if (misses(convex, radius, origin, path) ||
        !(radius > 0.0F ? cast_rounded(convex, radius, origin, path, &at)
                        : cast_sharp(convex, origin, path, &at))) {
        return false;
    }
    *fraction = arb_lesser(at / path.length, 1.0F);
    return true;
}
