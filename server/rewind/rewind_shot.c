/* A shot: a pure question to the past. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

#include <string.h>

#define EXACT 0.001F /* m: no coarse test hides what an exact one would meet */

struct cast {
    const struct rewind *rewind;
    const struct rewind_ray *ray;
    struct rewind_shot *shot;
    struct rewind_moment moment;
    struct arb_vec2 delta; /* as far as static geometry lets the ray go */
    float length;          /* of delta, m */
    uint32_t most;         /* victims before the ray ends */
};

static struct arb_vec2 turned(struct arb_vec2 point, struct arb_vec2 direction)
{
    return (struct arb_vec2){point.x * direction.x - point.y * direction.y,
                             point.x * direction.y + point.y * direction.x};
}

/* The nearest of its shapes; of equally near ones the first. */
static bool hit_shapes(const struct cast *cast, const struct rewind_kind *kind,
                       const struct rewind_stance *stance, struct rewind_hit *hit)
{
    struct arb_vec2 direction = {1, 0};
    if (!cast->rewind->facts[stance->state->kind].centred) {
        direction = arb_move_direction(rewind_stance_heading(cast->rewind, stance));
    }
    bool any = false;
    for (uint8_t i = 0; i < kind->count; i++) {
        const struct rewind_shape *shape = &kind->shapes[i];
        struct arb_vec2 a = arb_vec2_add(stance->position, turned(shape->a, direction));
        struct arb_vec2 b = arb_vec2_add(stance->position, turned(shape->b, direction));
        float fraction;
        if (arb_move_ray_capsule(cast->ray->origin, cast->delta, a, b, shape->radius, &fraction) &&
            (!any || fraction * cast->length < hit->distance)) {
            hit->distance = fraction * cast->length;
            hit->part = shape->part;
            any = true;
        }
    }
    return any;
}

static bool comes_before(const struct rewind_hit *a, const struct rewind_hit *b)
{
    return a->distance != b->distance ? a->distance < b->distance
                                      : arb_key_order(a->victim) < arb_key_order(b->victim);
}

/* Keeps the nearest `most`, in order. */
static void insert_hit(struct cast *cast, const struct rewind_hit *hit)
{
    struct rewind_shot *shot = cast->shot;
    uint32_t at = shot->hit_count;
    if (at == cast->most) {
        if (!comes_before(hit, &shot->hits[at - 1])) {
            return;
        }
        at--;
    } else {
        shot->hit_count++;
    }
    for (; at > 0 && comes_before(hit, &shot->hits[at - 1]); at--) {
        shot->hits[at] = shot->hits[at - 1];
    }
    shot->hits[at] = *hit;
}

/* By its place alone: no shape of its kind, however turned, reaches the ray. */
static bool is_far(const struct cast *cast, const struct rewind_stance *stance)
{
    struct arb_vec2 to = arb_vec2_sub(stance->position, cast->ray->origin);
    struct arb_vec2 direction = cast->ray->direction;
    float reach = cast->rewind->facts[stance->state->kind].reach + EXACT;
    float side = direction.x * to.y - direction.y * to.x;
    float ahead = arb_vec2_dot(direction, to);
    return side > reach || side < -reach || ahead < -reach || ahead > cast->length + reach;
}

/* Self, and the own team where it is spared. */
static bool is_spared(const struct cast *cast, const struct arb_published *state)
{
    const struct rewind_ray *ray = cast->ray;
    int8_t team = cast->rewind->facts[state->kind].team;
    return arb_key_equal(state->key, ray->shooter) ||
           (ray->team_filter && ray->shooter_team != 0 && team != REWIND_NO_TEAM &&
            state->q[team] == ray->shooter_team);
}

/* Once the ray has its victims, nothing beyond the last of them matters; a little more than the
 * exact fraction, so that an equally near one is still met. */
static float worth_going(const struct cast *cast, float most)
{
    const struct rewind_shot *shot = cast->shot;
    if (shot->hit_count < cast->most) {
        return most;
    }
    float clip = shot->hits[cast->most - 1].distance / cast->length * 1.00001F + 1e-6F;
    return clip < most ? clip : most;
}

static float try_candidate(const b2RayCastInput *input, int proxy, uint64_t id, void *context)
{
    (void)proxy;
    struct cast *cast = context;
    struct rewind_stance stance;
    if (!rewind_stance_at(cast->rewind, &cast->moment, (uint16_t)id, &stance) ||
        is_far(cast, &stance)) {
        return input->maxFraction;
    }
    const struct rewind_kind *kind = &cast->rewind->kinds[stance.state->kind];
    struct rewind_hit hit = {.victim = stance.state->key};
    if (is_spared(cast, stance.state) || !hit_shapes(cast, kind, &stance, &hit)) {
        return input->maxFraction;
    }
    hit.point = arb_vec2_mul_add(cast->ray->origin, hit.distance, cast->ray->direction);
    insert_hit(cast, &hit);
    return worth_going(cast, input->maxFraction);
}

void rewind_resolve_shot(struct rewind *rewind, const struct rewind_ray *ray,
                         struct rewind_shot *out)
{
    memset(out, 0, sizeof *out);
    out->reach = ray->range;
    struct cast cast = {.rewind = rewind, .ray = ray, .shot = out};
    cast.most = (uint32_t)ray->pierce + 1;
    cast.most = cast.most < REWIND_HITS_MAX ? cast.most : REWIND_HITS_MAX;
    float wall;
    struct arb_vec2 whole = arb_vec2_scale(ray->direction, ray->range);
    if (arb_geometry_ray(rewind->geometry, ray->origin, whole, &wall)) {
        out->reach = wall * ray->range;
    }
    cast.delta = arb_vec2_scale(ray->direction, out->reach);
    cast.length = out->reach;
    if (!(out->reach > 0.0F) || !rewind_moment_of(rewind, ray->view, &cast.moment)) {
        return;
    }
    b2RayCastInput input = {{ray->origin.x, ray->origin.y}, {cast.delta.x, cast.delta.y}, 1.0F};
    b2DynamicTree_RayCast(&rewind->tree, &input, 1, try_candidate, &cast);
    if (out->hit_count == cast.most) {
        out->reach = out->hits[cast.most - 1].distance;
    }
}
