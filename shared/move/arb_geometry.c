#include "shared/move/arb_geometry.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/move/arb_box2d.h"
#include "shared/move/arb_geometry_internal.h"

#include <math.h>
#include <string.h>

#define WORLD_LIMIT 4096.0F /* m, of any coordinate */
#define BOX_MARGIN                                                                                 \
    0.001F /* m, so that rounding never hides a shape from the tree's coarse test                  \
            */

enum { CATEGORY_STATIC = 1 };

/* ---- creation ---- */

static bool coordinate_valid(float value)
{
    return isfinite(value) && fabsf(value) <= WORLD_LIMIT;
}

static bool radius_valid(float radius)
{
    return isfinite(radius) && radius >= 0.0F && radius <= WORLD_LIMIT;
}

/* Box2D keeps each point in the given order; which comes first is of no importance. */
static bool polygon_valid(const struct arb_shape *shape)
{
    b2Vec2 points[ARB_SHAPE_POINTS_MAX];
    for (int i = 0; i < shape->count; i++) {
        points[i] = (b2Vec2){shape->points[i].x, shape->points[i].y};
    }
    b2Hull hull = b2ComputeHull(points, shape->count);
    if (hull.count != shape->count) {
        return false;
    }
    for (int shift = 0; shift < hull.count; shift++) {
        int same = 0;
        while (same < hull.count) {
            b2Vec2 a = hull.points[same], b = points[(same + shift) % hull.count];
            if (a.x != b.x || a.y != b.y) {
                break;
            }
            same++;
        }
        if (same == hull.count) {
            return true;
        }
    }
    return false;
}

bool arb_geometry_shape_valid(const struct arb_shape *shape)
{
    static const uint8_t counts[][2] = {
        [ARB_SHAPE_CIRCLE] = {1, 1},
        [ARB_SHAPE_CAPSULE] = {2, 2},
        [ARB_SHAPE_POLYGON] = {3, ARB_SHAPE_POINTS_MAX},
    };
    if (shape->type < ARB_SHAPE_CIRCLE || shape->type > ARB_SHAPE_POLYGON ||
        shape->count < counts[shape->type][0] || shape->count > counts[shape->type][1] ||
        !radius_valid(shape->radius)) {
        return false;
    }
    for (int i = 0; i < shape->count; i++) {
        if (!coordinate_valid(shape->points[i].x) || !coordinate_valid(shape->points[i].y)) {
            return false;
        }
    }
    return shape->type == ARB_SHAPE_POLYGON ? polygon_valid(shape) : shape->radius > 0.0F;
}

static b2AABB box_of(const struct arb_convex *convex)
{
    struct arb_vec2 low = convex->points[0], high = low;
    for (uint32_t i = 1; i < convex->count; i++) {
        low = (struct arb_vec2){arb_lesser(low.x, convex->points[i].x),
                                arb_lesser(low.y, convex->points[i].y)};
        high = (struct arb_vec2){arb_greater(high.x, convex->points[i].x),
                                 arb_greater(high.y, convex->points[i].y)};
    }
    float grow = convex->radius + BOX_MARGIN;
    return (b2AABB){{low.x - grow, low.y - grow}, {high.x + grow, high.y + grow}};
}

struct arb_geometry *arb_geometry_create(const struct arb_shape *shapes, size_t count,
                                         struct arb_bounds bounds)
{
    ARB_ASSERT(bounds.low.x <= bounds.high.x && bounds.low.y <= bounds.high.y);
    arb_box2d_use_memory();
    struct arb_geometry *geometry = arb_mem_alloc(sizeof *geometry);
    geometry->shapes = arb_mem_alloc(count * sizeof geometry->shapes[0]);
    geometry->convexes = arb_mem_alloc(count * sizeof geometry->convexes[0]);
    geometry->found = arb_mem_alloc(count * sizeof geometry->found[0]);
    geometry->tree = b2DynamicTree_Create();
    geometry->count = count;
    geometry->bounds = bounds;
    for (size_t i = 0; i < count; i++) {
        ARB_ASSERT(arb_geometry_shape_valid(&shapes[i]));
        geometry->shapes[i] = shapes[i];
        arb_convex_from_shape(&geometry->convexes[i], &shapes[i]);
        b2DynamicTree_CreateProxy(&geometry->tree, box_of(&geometry->convexes[i]), CATEGORY_STATIC,
                                  i);
    }
    b2DynamicTree_Rebuild(&geometry->tree, true);
    return geometry;
}

void arb_geometry_destroy(struct arb_geometry *geometry)
{
    if (geometry == NULL) {
        return;
    }
    b2DynamicTree_Destroy(&geometry->tree);
    arb_mem_free(geometry->found);
    arb_mem_free(geometry->convexes);
    arb_mem_free(geometry->shapes);
    arb_mem_free(geometry);
}

struct arb_bounds arb_geometry_bounds(const struct arb_geometry *geometry)
{
    return geometry->bounds;
}

size_t arb_geometry_shape_count(const struct arb_geometry *geometry)
{
    return geometry->count;
}

const struct arb_shape *arb_geometry_shape(const struct arb_geometry *geometry, size_t index)
{
    ARB_ASSERT(index < geometry->count);
    return &geometry->shapes[index];
}

static uint64_t hash_float(uint64_t hash, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return arb_hash_mix(hash, bits);
}

static uint64_t hash_point(uint64_t hash, struct arb_vec2 point)
{
    return hash_float(hash_float(hash, point.x), point.y);
}

uint64_t arb_geometry_hash(const struct arb_geometry *geometry)
{
    uint64_t hash = arb_hash_mix(0, geometry->count);
    hash = hash_point(hash_point(hash, geometry->bounds.low), geometry->bounds.high);
    for (size_t i = 0; i < geometry->count; i++) {
        const struct arb_shape *shape = &geometry->shapes[i];
        hash = arb_hash_mix(hash, (uint64_t)shape->type << 8 | shape->count);
        hash = hash_float(hash, shape->radius);
        for (int p = 0; p < shape->count; p++) {
            hash = hash_point(hash, shape->points[p]);
        }
    }
    return hash;
}

/* ---- questions ---- */

struct collect {
    uint32_t *found;
    uint32_t count;
};

/* Sorted by insertion: few are found, and no result may hang on the tree's shape. */
static bool collect_one(int proxy, uint64_t index, void *context)
{
    (void)proxy;
    struct collect *collect = context;
    uint32_t at = collect->count++;
    while (at > 0 && collect->found[at - 1] > (uint32_t)index) {
        collect->found[at] = collect->found[at - 1];
        at--;
    }
    collect->found[at] = (uint32_t)index;
    return true;
}

uint32_t arb_geometry_find(const struct arb_geometry *geometry, struct arb_bounds box,
                           const uint32_t **found)
{
    struct collect collect = {.found = geometry->found};
    b2DynamicTree_Query(&geometry->tree, (b2AABB){{box.low.x, box.low.y}, {box.high.x, box.high.y}},
                        CATEGORY_STATIC, collect_one, &collect);
    *found = geometry->found;
    return collect.count;
}

const struct arb_convex *arb_geometry_obstacle(const struct arb_geometry *geometry, uint32_t index,
                                               struct arb_hull hull, struct arb_convex *room)
{
    const struct arb_convex *convex = &geometry->convexes[index];
    if (hull.half_length == 0.0F) {
        return convex;
    }
    arb_convex_widen(room, convex, hull.half_length);
    return room;
}

struct arb_bounds arb_geometry_inner(const struct arb_geometry *geometry, struct arb_hull hull)
{
    struct arb_bounds inner = geometry->bounds;
    inner.low.x += hull.radius + hull.half_length;
    inner.low.y += hull.radius;
    inner.high.x -= hull.radius + hull.half_length;
    inner.high.y -= hull.radius;
    return inner;
}

struct arb_bounds arb_geometry_path_box(struct arb_hull hull, struct arb_vec2 centre,
                                        struct arb_vec2 delta, float margin)
{
    float x = hull.radius + hull.half_length + margin, y = hull.radius + margin;
    return (struct arb_bounds){
        {centre.x + arb_lesser(delta.x, 0.0F) - x, centre.y + arb_lesser(delta.y, 0.0F) - y},
        {centre.x + arb_greater(delta.x, 0.0F) + x, centre.y + arb_greater(delta.y, 0.0F) + y}};
}

static float bounds_clearance(struct arb_bounds inner, struct arb_vec2 centre)
{
    return arb_lesser(arb_lesser(centre.x - inner.low.x, inner.high.x - centre.x),
                      arb_lesser(centre.y - inner.low.y, inner.high.y - centre.y));
}

float arb_geometry_clearance(const struct arb_geometry *geometry, struct arb_hull hull,
                             struct arb_vec2 centre, float limit)
{
    const uint32_t *found;
    struct arb_bounds box =
        arb_geometry_path_box(hull, centre, (struct arb_vec2){0, 0}, arb_greater(limit, 0.0F));
    uint32_t count = arb_geometry_find(geometry, box, &found);
    float least = arb_lesser(limit, bounds_clearance(arb_geometry_inner(geometry, hull), centre));
    for (uint32_t i = 0; i < count; i++) {
        struct arb_convex room;
        struct arb_vec2 normal;
        const struct arb_convex *convex = arb_geometry_obstacle(geometry, found[i], hull, &room);
        float distance = arb_convex_distance(convex, centre, &normal);
        least = arb_lesser(least, distance - convex->radius - hull.radius);
    }
    return least;
}

/* Part of the way until `at` leaves low..high; 1 or more: it stays. */
static float axis_leaves(float at, float delta, float low, float high)
{
    if (at < low || at > high) {
        return 0.0F;
    }
    if (delta == 0.0F) {
        return INFINITY;
    }
    return (delta < 0.0F ? low - at : high - at) / delta;
}

static bool leaves_bounds(struct arb_bounds inner, struct arb_vec2 from, struct arb_vec2 delta,
                          float *fraction)
{
    float part = arb_lesser(axis_leaves(from.x, delta.x, inner.low.x, inner.high.x),
                            axis_leaves(from.y, delta.y, inner.low.y, inner.high.y));
    *fraction = arb_lesser(part, 1.0F);
    return part <= 1.0F;
}

/* Fraction at which a point of thickness `radius` first touches shape `index`. */
static bool touch_shape(const struct arb_convex *convex, float radius, struct arb_vec2 from,
                        struct arb_vec2 delta, float *fraction)
{
    struct arb_vec2 normal;
    radius += convex->radius;
    /* With sharp corners the cast itself finds an origin inside. */
    bool sharp = radius == 0.0F && (delta.x != 0.0F || delta.y != 0.0F);
    if (!sharp && arb_convex_distance(convex, from, &normal) <= radius) {
        *fraction = 0.0F;
        return true;
    }
    return arb_convex_cast(convex, radius, from, delta, fraction);
}

bool arb_geometry_sweep(const struct arb_geometry *geometry, float radius, struct arb_vec2 centre,
                        struct arb_vec2 delta, float *fraction)
{
    struct arb_hull hull = {.radius = radius};
    const uint32_t *found;
    uint32_t count =
        arb_geometry_find(geometry, arb_geometry_path_box(hull, centre, delta, 0.0F), &found);
    bool touched = leaves_bounds(arb_geometry_inner(geometry, hull), centre, delta, fraction);
    for (uint32_t i = 0; i < count; i++) {
        float part;
        if (touch_shape(&geometry->convexes[found[i]], radius, centre, delta, &part)) {
            *fraction = arb_lesser(*fraction, part);
            touched = true;
        }
    }
    return touched;
}

struct ray {
    const struct arb_geometry *geometry;
    struct arb_vec2 origin, delta;
    float fraction;
    bool hit;
};

static float ray_shape(const b2RayCastInput *input, int proxy, uint64_t index, void *context)
{
    (void)proxy;
    struct ray *ray = context;
    float part;
    if (touch_shape(&ray->geometry->convexes[index], 0.0F, ray->origin, ray->delta, &part)) {
        ray->fraction = arb_lesser(ray->fraction, part);
        ray->hit = true;
        return ray->fraction;
    }
    return input->maxFraction;
}

bool arb_geometry_ray(const struct arb_geometry *geometry, struct arb_vec2 origin,
                      struct arb_vec2 delta, float *fraction)
{
    float length = arb_vec2_length(delta);
    if (!isfinite(length) || !(length > 0.0F) || !isfinite(origin.x) || !isfinite(origin.y)) {
        return false;
    }
    struct ray ray = {.geometry = geometry, .origin = origin, .delta = delta};
    ray.hit = leaves_bounds(geometry->bounds, origin, delta, &ray.fraction);
    b2RayCastInput input = {{origin.x, origin.y}, {delta.x, delta.y}, ray.fraction};
    if (ray.fraction > 0.0F) {
        b2DynamicTree_RayCast(&geometry->tree, &input, CATEGORY_STATIC, ray_shape, &ray);
    }
    *fraction = ray.fraction;
    return ray.hit;
}
