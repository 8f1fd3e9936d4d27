/* A resolved shot as plain data, with everybody near its rays. Only while somebody looks. */
#include "server/match/match_internal.h"

#include "server/match/match_shot.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/view/arb_held.h"

#include <string.h>

_Static_assert((int)MATCH_SHOT_RAYS == (int)RULES_PELLETS_MAX, "each pellet is a ray");
_Static_assert((int)MATCH_SHOT_HITS == (int)REWIND_HITS_MAX, "all hits are copied");
_Static_assert((int)MATCH_SHOT_SHAPES == (int)REWIND_SHAPES_MAX, "all shapes are copied");

#define NEAR 1.5F /* m: whose shape comes nearer than this to a ray is of interest */

static void copy_ray(struct match_shot_ray *out, const struct rewind_ray *ray,
                     const struct rewind_shot *shot)
{
    out->direction = ray->direction;
    out->range = ray->range;
    out->reach = shot->reach;
    out->hit_count = shot->hit_count;
    for (uint8_t i = 0; i < shot->hit_count; i++) {
        const struct rewind_hit *hit = &shot->hits[i];
        out->hits[i] = (struct match_shot_hit){hit->victim, hit->part, hit->distance, hit->point};
    }
}

static void copy_outline(struct match_shot_outline *out, bool there,
                         const struct rewind_outline *outline)
{
    out->there = there;
    if (!there) {
        return;
    }
    out->centre = outline->centre;
    out->count = outline->count;
    for (uint8_t i = 0; i < outline->count; i++) {
        const struct rewind_shape *shape = &outline->shapes[i];
        out->shapes[i] = (struct match_shot_shape){shape->a, shape->b, shape->radius, shape->part};
    }
}

static float distance_to_ray(const struct match_shot *shot, const struct match_shot_ray *ray,
                             struct arb_vec2 point)
{
    float along = arb_vec2_dot(arb_vec2_sub(point, shot->origin), ray->direction);
    along = along < 0 ? 0 : along > ray->reach ? ray->reach : along;
    return arb_vec2_distance(point, arb_vec2_mul_add(shot->origin, along, ray->direction));
}

/* By the ends of its shapes: a long one that a ray passes in the middle is a hit or as good as. */
static bool is_near(const struct match_shot *shot, const struct match_shot_outline *outline)
{
    for (uint8_t r = 0; outline->there && r < shot->ray_count; r++) {
        for (uint8_t i = 0; i < outline->count; i++) {
            const struct match_shot_shape *shape = &outline->shapes[i];
            float a = distance_to_ray(shot, &shot->rays[r], shape->a);
            float b = distance_to_ray(shot, &shot->rays[r], shape->b);
            if ((a < b ? a : b) < shape->radius + NEAR) {
                return true;
            }
        }
    }
    return false;
}

static bool is_listed(const struct match_shot *shot, struct arb_key key)
{
    for (uint8_t i = 0; i < shot->candidate_count; i++) {
        if (arb_key_equal(shot->candidates[i].key, key)) {
            return true;
        }
    }
    return false;
}

static void look_at(const struct match *match, const struct rewind_ray *ray, struct arb_key key,
                    struct match_shot_candidate *out)
{
    struct rewind_outline outline;
    struct rewind_past now = {.view = rewind_present(match->rewind)};
    struct rewind_past then = {
        .view = ray->view, .pairs = ray->pairs, .pair_count = ray->pair_count, .mercy = ray->mercy};
    *out = (struct match_shot_candidate){.key = key, .slot = ARB_NO_SLOT};
    bool there = rewind_outline(match->rewind, &now, key, &outline);
    copy_outline(&out->present, there, &outline);
    there = rewind_outline(match->rewind, &then, key, &outline);
    copy_outline(&out->rewound, there, &outline);
    out->spared = rewind_forgives(match->rewind, &then, key);
    const struct world_entity *entity = world_find(&match->world, key);
    if (entity != NULL) {
        out->slot = entity->owner;
    }
}

/* `must`: it was hit. */
static void list(const struct match *match, const struct rewind_ray *ray, struct arb_key key,
                 bool must, struct match_shot *shot)
{
    if (arb_key_equal(key, shot->shooter) || is_listed(shot, key)) {
        return;
    }
    struct match_shot_candidate candidate;
    look_at(match, ray, key, &candidate);
    bool can_be_hit = candidate.present.count > 0 || candidate.rewound.count > 0;
    if (!can_be_hit ||
        !(must || is_near(shot, &candidate.present) || is_near(shot, &candidate.rewound))) {
        return;
    }
    if (shot->candidate_count == MATCH_SHOT_CANDIDATES) {
        shot->candidates_left_out++;
        return;
    }
    uint32_t ticks = rewind_cover_ticks(match->rewind, key, ray->origin, ray->view, UINT32_MAX);
    candidate.cover_ms = ticks * 1000 / (uint32_t)match->config.tick_rate;
    shot->candidates[shot->candidate_count++] = candidate;
}

static void list_frame(const struct match *match, const struct rewind_ray *ray,
                       const struct arb_frame *frame, struct match_shot *shot)
{
    for (uint32_t i = 0; frame != NULL && i < frame->entity_count; i++) {
        list(match, ray, frame->entities[i].key, false, shot);
    }
}

static float rewound_ms(const struct match *match, const struct arb_view *view)
{
    float ms_per_tick = 1000.0F / (float)match->config.tick_rate;
    return (float)fairness_rewound(match, view) / (float)ARB_FINE_TICK * ms_per_tick;
}

void match_record_shot(const struct match *match, const struct rules_shot *shot,
                       struct match_shot *out)
{
    const struct arb_frame *newest = rewind_newest(match->rewind);
    const struct rewind_ray *ray = &shot->rays[0];
    const struct world_player *player = &match->world.players[shot->slot];
    *out = (struct match_shot){.tick = match->world.head->tick,
                               .newest = newest->tick,
                               .slot = shot->slot,
                               .shooter = shot->shooter,
                               .sequence = shot->sequence,
                               .weapon = shot->weapon,
                               .claimed = shot->claimed,
                               .applied = ray->view,
                               .verdict = match_view_verdict_text(shot->verdict),
                               .late = shot->late,
                               .repeated = shot->repeated,
                               .rewound_ms = rewound_ms(match, &ray->view),
                               .origin = ray->origin,
                               .ray_count = shot->pellet_count};
    memcpy(out->name, player->name, sizeof out->name);
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        copy_ray(&out->rays[i], &shot->rays[i], &shot->pellets[i]);
    }
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        for (uint8_t h = 0; h < shot->pellets[i].hit_count; h++) {
            list(match, ray, shot->pellets[i].hits[h].victim, true, out);
        }
    }
    list_frame(match, ray, newest, out);
    list_frame(match, ray, rewind_frame(match->rewind, ray->view.from_tick), out);
}
