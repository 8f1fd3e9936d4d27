/* Who stands in an area of the past: melee, explosions. A pure question. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_math.h"

#include <math.h>
#include <string.h>

struct touching {
    const struct rewind_query *query;
    const struct rewind_area *area;
    struct rewind_touch *touch;
};

/* The nearest of its shapes; of equally near ones the first. */
static bool touches(const struct touching *touching, const struct rewind_stance *stance,
                    struct rewind_hit *hit)
{
    const struct rewind_area *area = touching->area;
    struct rewind_shape shapes[REWIND_SHAPES_MAX];
    uint32_t count = rewind_query_shapes(touching->query, stance, shapes);
    bool any = false;
    for (uint32_t i = 0; i < count; i++) {
        const struct rewind_shape *shape = &shapes[i];
        b2SegmentDistanceResult apart =
            b2SegmentDistance((b2Vec2){area->a.x, area->a.y}, (b2Vec2){area->b.x, area->b.y},
                              (b2Vec2){shape->a.x, shape->a.y}, (b2Vec2){shape->b.x, shape->b.y});
        float distance = sqrtf(apart.distanceSquared);
        float gap = distance > shape->radius ? distance - shape->radius : 0.0F;
        if (distance <= shape->radius + area->radius && (!any || gap < hit->distance)) {
            hit->distance = gap;
            hit->part = shape->part;
            hit->point = (struct arb_vec2){apart.closest2.x, apart.closest2.y};
            any = true;
        }
    }
    return any;
}

static void try_stance(struct touching *touching, const struct rewind_stance *stance, bool unseen)
{
    struct rewind_touch *touch = touching->touch;
    struct rewind_hit hit = {.victim = stance->state->key};
    if (rewind_query_spares(touching->query, stance->state) || !touches(touching, stance, &hit)) {
        return;
    }
    if (unseen) {
        touch->unseen += touch->unseen < UINT8_MAX;
        return;
    }
    if (rewind_query_forgives(touching->query, hit.victim)) {
        touch->spared += touch->spared < UINT8_MAX;
        return;
    }
    touch->left_out += touch->hit_count == REWIND_TOUCHES_MAX;
    touch->hit_count =
        (uint8_t)rewind_hit_insert(touch->hits, touch->hit_count, REWIND_TOUCHES_MAX, &hit);
}

static bool try_candidate(int proxy, uint64_t id, void *context)
{
    (void)proxy;
    struct touching *touching = context;
    struct rewind_stance stance;
    bool unseen;
    if (rewind_query_stance(touching->query, (uint16_t)id, &stance, &unseen)) {
        try_stance(touching, &stance, unseen);
    }
    return true;
}

static void overlap(struct rewind *rewind, const struct rewind_query *query,
                    const struct rewind_area *area, struct rewind_touch *out)
{
    struct touching touching = {query, area, out};
    struct arb_vec2 a = area->a, b = area->b;
    float r = area->radius;
    if (!isfinite(a.x) || !isfinite(a.y) || !isfinite(b.x) || !isfinite(b.y) || !isfinite(r)) {
        return;
    }
    for (uint32_t i = 0; query->any_older && i < query->past.pair_count; i++) {
        struct rewind_stance stance;
        if (rewind_query_older(query, i, &stance)) {
            try_stance(&touching, &stance, false);
        }
    }
    b2AABB box = {{(a.x < b.x ? a.x : b.x) - r, (a.y < b.y ? a.y : b.y) - r},
                  {(a.x > b.x ? a.x : b.x) + r, (a.y > b.y ? a.y : b.y) + r}};
    b2DynamicTree_Query(&rewind->tree, box, 1, try_candidate, &touching);
}

void rewind_overlap(struct rewind *rewind, const struct rewind_past *past,
                    const struct rewind_area *areas, uint32_t count, struct rewind_touch *out)
{
    struct rewind_query query;
    bool any = count > 0 && rewind_query_begin(&query, rewind, past);
    memset(out, 0, count * sizeof *out);
    for (uint32_t i = 0; any && i < count; i++) {
        overlap(rewind, &query, &areas[i], &out[i]);
    }
}
