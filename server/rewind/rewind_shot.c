/* A shot, or a capsule on its way: who is met first. A pure question to the past. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

#include <math.h>
#include <string.h>

#define EXACT 0.001F /* m: no coarse test hides what an exact one would meet */

/* Whom it passes though it would meet them; those before its end count. */
struct passed {
    uint32_t count;
    struct rewind_hit hits[REWIND_HITS_MAX];
};

/* One ray, or one sweep: a ray of its point `a` against shapes that are grown by the capsule. */
struct cast {
    const struct rewind_query *query;
    struct rewind_shot *shot;
    struct arb_vec2 origin;
    struct arb_vec2 direction; /* unit */
    struct arb_vec2 delta;     /* as far as static geometry lets it go */
    float length;              /* of delta, m */
    struct arb_vec2 axis;      /* of the sweep's capsule, from a to b; 0 for a circle or ray */
    float radius, size;        /* m: of the capsule; of it around `a` */
    uint32_t most;             /* victims before it ends */
    struct passed unseen, spared;
};

/* Whether `point` lies in the parallelogram of corner `a` and these two sides. */
static bool is_within(struct arb_vec2 point, struct arb_vec2 a, struct arb_vec2 u,
                      struct arb_vec2 v)
{
    struct arb_vec2 to = arb_vec2_sub(point, a);
    float whole = u.x * v.y - u.y * v.x;
    float along_u = to.x * v.y - to.y * v.x;
    float along_v = u.x * to.y - u.y * to.x;
    if (whole < 0.0F) {
        whole = -whole;
        along_u = -along_u;
        along_v = -along_v;
    }
    return whole > 0.0F && along_u >= 0.0F && along_u <= whole && along_v >= 0.0F &&
           along_v <= whole;
}

/* Capsule against capsule is a point against the sum of their axes, a parallelogram, rounded by
 * both radii: it is entered through one of its edges. */
static bool meets(const struct cast *cast, const struct rewind_shape *shape, float *fraction)
{
    float radius = shape->radius + cast->radius;
    if (cast->axis.x == 0.0F && cast->axis.y == 0.0F) {
        return arb_move_ray_capsule(cast->origin, cast->delta, shape->a, shape->b, radius,
                                    fraction);
    }
    struct arb_vec2 side = arb_vec2_sub(shape->b, shape->a);
    struct arb_vec2 back = arb_vec2_scale(cast->axis, -1.0F);
    if (is_within(cast->origin, shape->a, side, back)) {
        *fraction = 0.0F;
        return true;
    }
    struct arb_vec2 corners[] = {shape->a, shape->b, arb_vec2_add(shape->b, back),
                                 arb_vec2_add(shape->a, back)};
    bool any = false;
    for (uint32_t i = 0; i < 4; i++) {
        float at;
        if (arb_move_ray_capsule(cast->origin, cast->delta, corners[i], corners[(i + 1) % 4],
                                 radius, &at) &&
            (!any || at < *fraction)) {
            *fraction = at;
            any = true;
        }
    }
    return any;
}

/* The nearest of its shapes; of equally near ones the first. */
static bool hit_shapes(const struct cast *cast, const struct rewind_stance *stance,
                       struct rewind_hit *hit)
{
    struct rewind_shape shapes[REWIND_SHAPES_MAX];
    uint32_t count = rewind_query_shapes(cast->query, stance, shapes);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        float fraction;
        if (meets(cast, &shapes[i], &fraction) &&
            (!any || fraction * cast->length < hit->distance)) {
            hit->distance = fraction * cast->length;
            hit->part = shapes[i].part;
            any = true;
        }
    }
    return any;
}

/* By its place alone: no shape of its kind, however turned, reaches the path. */
static bool is_far(const struct cast *cast, const struct rewind_stance *stance)
{
    struct arb_vec2 to = arb_vec2_sub(stance->position, cast->origin);
    struct arb_vec2 direction = cast->direction;
    float reach = cast->query->rewind->facts[stance->state->kind].reach + cast->size + EXACT;
    float side = direction.x * to.y - direction.y * to.x;
    float ahead = arb_vec2_dot(direction, to);
    return side > reach || side < -reach || ahead < -reach || ahead > cast->length + reach;
}

static void pass(struct passed *passed, const struct rewind_hit *hit)
{
    passed->count = rewind_hit_insert(passed->hits, passed->count, REWIND_HITS_MAX, hit);
}

static uint32_t passed_before(const struct passed *passed, float reach)
{
    uint32_t count = 0;
    while (count < passed->count && passed->hits[count].distance <= reach) {
        count++;
    }
    return count;
}

static void try_stance(struct cast *cast, const struct rewind_stance *stance, bool unseen)
{
    struct rewind_shot *shot = cast->shot;
    struct rewind_hit hit = {.victim = stance->state->key};
    if (is_far(cast, stance) || rewind_query_spares(cast->query, stance->state) ||
        !hit_shapes(cast, stance, &hit)) {
        return;
    }
    hit.point = arb_vec2_mul_add(cast->origin, hit.distance, cast->direction);
    if (unseen) {
        pass(&cast->unseen, &hit);
    } else if (rewind_query_forgives(cast->query, hit.victim)) {
        pass(&cast->spared, &hit);
    } else {
        shot->hit_count = (uint8_t)rewind_hit_insert(shot->hits, shot->hit_count, cast->most, &hit);
    }
}

/* Once it has its victims, nothing beyond the last of them matters; a little more than the exact
 * fraction, so that an equally near one is still met. */
static float worth_going(const struct cast *cast, float most)
{
    const struct rewind_shot *shot = cast->shot;
    if (shot->hit_count < cast->most) {
        return most;
    }
    float clip = shot->hits[cast->most - 1].distance / cast->length * 1.00001F + 1e-6F;
    return clip < most ? clip : most;
}

static void try_candidate(struct cast *cast, uint64_t id)
{
    struct rewind_stance stance;
    bool unseen;
    if (rewind_query_stance(cast->query, (uint16_t)id, &stance, &unseen)) {
        try_stance(cast, &stance, unseen);
    }
}

static float ray_candidate(const b2RayCastInput *input, int proxy, uint64_t id, void *context)
{
    (void)proxy;
    try_candidate(context, id);
    return worth_going(context, input->maxFraction);
}

static float sweep_candidate(const b2ShapeCastInput *input, int proxy, uint64_t id, void *context)
{
    (void)proxy;
    try_candidate(context, id);
    return worth_going(context, input->maxFraction);
}

static void try_older(struct cast *cast)
{
    const struct rewind_query *query = cast->query;
    for (uint32_t i = 0; query->any_older && i < query->past.pair_count; i++) {
        struct rewind_stance stance;
        if (rewind_query_older(query, i, &stance)) {
            try_stance(cast, &stance, false);
        }
    }
}

static void finish(struct cast *cast)
{
    struct rewind_shot *shot = cast->shot;
    if (shot->hit_count == cast->most) {
        shot->reach = shot->hits[cast->most - 1].distance;
    }
    shot->unseen = passed_before(&cast->unseen, shot->reach);
    shot->spared = passed_before(&cast->spared, shot->reach);
}

static uint32_t victims_of(uint8_t pierce)
{
    return pierce < REWIND_HITS_MAX ? (uint32_t)pierce + 1 : REWIND_HITS_MAX;
}

static bool is_finite(struct arb_vec2 v)
{
    return isfinite(v.x) && isfinite(v.y);
}

static void cast_ray(struct rewind *rewind, const struct rewind_query *query,
                     const struct rewind_ray *ray, struct rewind_shot *out)
{
    memset(out, 0, sizeof *out);
    out->reach = ray->range;
    if (!is_finite(ray->origin) || !is_finite(ray->direction)) {
        return;
    }
    struct arb_vec2 whole = arb_vec2_scale(ray->direction, ray->range);
    float wall;
    if (arb_geometry_ray(rewind->geometry, ray->origin, whole, &wall)) {
        out->reach = wall * ray->range;
    }
    if (query == NULL || !(out->reach > 0.0F)) {
        return;
    }
    struct cast cast;
    cast.query = query;
    cast.shot = out;
    cast.origin = ray->origin;
    cast.direction = ray->direction;
    cast.delta = arb_vec2_scale(ray->direction, out->reach);
    cast.length = out->reach;
    cast.axis = (struct arb_vec2){0, 0};
    cast.radius = cast.size = 0.0F;
    cast.most = victims_of(ray->pierce);
    cast.unseen.count = cast.spared.count = 0;
    try_older(&cast);
    b2RayCastInput input = {
        {ray->origin.x, ray->origin.y}, {cast.delta.x, cast.delta.y}, worth_going(&cast, 1.0F)};
    b2DynamicTree_RayCast(&rewind->tree, &input, 1, ray_candidate, &cast);
    finish(&cast);
}

void rewind_resolve_shots(struct rewind *rewind, const struct rewind_ray *rays, uint32_t count,
                          struct rewind_shot *out)
{
    if (count == 0) {
        return;
    }
    struct rewind_past past = {.shooter = rays[0].shooter,
                               .shooter_team = rays[0].shooter_team,
                               .team_filter = rays[0].team_filter,
                               .view = rays[0].view,
                               .pairs = rays[0].pairs,
                               .pair_count = rays[0].pair_count,
                               .mercy = rays[0].mercy};
    struct rewind_query query;
    bool any = rewind_query_begin(&query, rewind, &past);
    for (uint32_t i = 0; i < count; i++) {
        cast_ray(rewind, any ? &query : NULL, &rays[i], &out[i]);
    }
}

void rewind_resolve_shot(struct rewind *rewind, const struct rewind_ray *ray,
                         struct rewind_shot *out)
{
    rewind_resolve_shots(rewind, ray, 1, out);
}

static void cast_capsule(struct rewind *rewind, const struct rewind_query *query,
                         const struct rewind_sweep *sweep, struct rewind_shot *out)
{
    memset(out, 0, sizeof *out);
    float length = arb_vec2_length(sweep->delta);
    if (!isfinite(length) || !(length > 0.0F) || !is_finite(sweep->a) || !is_finite(sweep->b)) {
        return;
    }
    out->reach = length;
    float wall;
    if (sweep->walls) {
        ARB_ASSERT(sweep->a.x == sweep->b.x && sweep->a.y == sweep->b.y);
        if (arb_geometry_sweep(rewind->geometry, sweep->radius, sweep->a, sweep->delta, &wall)) {
            out->reach = wall * length;
        }
    }
    if (query == NULL || !(out->reach > 0.0F)) {
        return;
    }
    struct cast cast;
    cast.query = query;
    cast.shot = out;
    cast.origin = sweep->a;
    cast.direction = arb_vec2_scale(sweep->delta, 1.0F / length);
    cast.delta = arb_vec2_scale(cast.direction, out->reach);
    cast.length = out->reach;
    cast.axis = arb_vec2_sub(sweep->b, sweep->a);
    cast.radius = sweep->radius;
    cast.size = sweep->radius + arb_vec2_length(cast.axis);
    cast.most = victims_of(sweep->pierce);
    cast.unseen.count = cast.spared.count = 0;
    try_older(&cast);
    b2Vec2 points[] = {{sweep->a.x, sweep->a.y}, {sweep->b.x, sweep->b.y}};
    b2ShapeCastInput input = {.proxy = b2MakeProxy(points, 2, sweep->radius),
                              .translation = {cast.delta.x, cast.delta.y},
                              .maxFraction = worth_going(&cast, 1.0F)};
    b2DynamicTree_ShapeCast(&rewind->tree, &input, 1, sweep_candidate, &cast);
    finish(&cast);
}

void rewind_sweep(struct rewind *rewind, const struct rewind_past *past,
                  const struct rewind_sweep *sweeps, uint32_t count, struct rewind_shot *out)
{
    struct rewind_query query;
    bool any = count > 0 && rewind_query_begin(&query, rewind, past);
    for (uint32_t i = 0; i < count; i++) {
        cast_capsule(rewind, any ? &query : NULL, &sweeps[i], &out[i]);
    }
}
