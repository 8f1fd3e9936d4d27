/* A resolved shot as plain data, with everybody near its rays or flights. Only while somebody
 * looks.
 */
#include "server/match/match_internal.h"

#include "server/match/match_shot.h"
#include "server/rewind/rewind_flight.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/view/arb_held.h"

#include <string.h>

_Static_assert((int)MATCH_SHOT_RAYS == (int)RULES_PELLETS_MAX, "each pellet is a ray");
_Static_assert((int)MATCH_SHOT_HITS == (int)REWIND_HITS_MAX, "all hits are copied");
_Static_assert((int)MATCH_SHOT_SHAPES == (int)REWIND_SHAPES_MAX, "all shapes are copied");

#define NEAR 1.5F /* m: whose shape comes nearer than this to a ray is of interest */
/* m: whose centre is farther from a flight, both at its start and now, did not come near it. */
#define FAR 10.0F

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

static float ms_of(const struct match *match, arb_fine time)
{
    return (float)time / (float)ARB_FINE_TICK * 1000.0F / (float)match->config.tick_rate;
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

/* By what was published: who was killed by the shot is no more. */
static uint16_t slot_of(const struct match *match, struct arb_key key)
{
    const struct arb_published *state = arb_frame_find(rewind_newest(match->rewind), key);
    const struct arb_kind *kind = state == NULL ? NULL : &match->rules->schema->kinds[state->kind];
    bool owned = kind != NULL && kind->owner >= 0 && state->q[kind->owner] > 0;
    return owned ? (uint16_t)(state->q[kind->owner] - 1) : ARB_NO_SLOT;
}

static void look_at(const struct match *match, const struct rewind_past *then, struct arb_key key,
                    struct match_shot_candidate *out)
{
    struct rewind_outline outline;
    struct rewind_past now = {.view = rewind_present(match->rewind)};
    *out = (struct match_shot_candidate){.key = key, .slot = slot_of(match, key)};
    bool there = rewind_outline(match->rewind, &now, key, &outline);
    copy_outline(&out->present, there, &outline);
    there = rewind_outline(match->rewind, then, key, &outline);
    copy_outline(&out->rewound, there, &outline);
    out->spared = rewind_forgives(match->rewind, then, key);
}

static void append(const struct match *match, uint32_t cover_ticks,
                   const struct match_shot_candidate *candidate, struct match_shot *shot)
{
    if (shot->candidate_count == MATCH_SHOT_CANDIDATES) {
        shot->candidates_left_out++;
        return;
    }
    struct match_shot_candidate *out = &shot->candidates[shot->candidate_count++];
    *out = *candidate;
    out->cover_ms = cover_ticks * 1000 / (uint32_t)match->config.tick_rate;
}

static uint32_t cover_of(const struct match *match, const struct rewind_past *then,
                         struct arb_key key, struct arb_vec2 from)
{
    return rewind_cover_ticks(match->rewind, key, from, then->view, UINT32_MAX);
}

static bool can_be_hit(const struct match_shot_candidate *candidate)
{
    return candidate->present.count > 0 || candidate->rewound.count > 0;
}

/* ---- rays ---- */

/* `must`: it was hit. */
static void list(const struct match *match, const struct rewind_ray *ray, struct arb_key key,
                 bool must, struct match_shot *shot)
{
    if (arb_key_equal(key, shot->shooter) || is_listed(shot, key)) {
        return;
    }
    struct rewind_past then = {
        .view = ray->view, .pairs = ray->pairs, .pair_count = ray->pair_count, .mercy = ray->mercy};
    struct match_shot_candidate candidate;
    look_at(match, &then, key, &candidate);
    if (can_be_hit(&candidate) &&
        (must || is_near(shot, &candidate.present) || is_near(shot, &candidate.rewound))) {
        append(match, cover_of(match, &then, key, ray->origin), &candidate, shot);
    }
}

static void list_frame(const struct match *match, const struct rewind_ray *ray,
                       const struct arb_frame *frame, struct match_shot *shot)
{
    for (uint32_t i = 0; frame != NULL && i < frame->entity_count; i++) {
        list(match, ray, frame->entities[i].key, false, shot);
    }
}

static void record_rays(const struct match *match, const struct rules_shot *shot,
                        struct match_shot *out)
{
    const struct rewind_ray *ray = &shot->rays[0];
    out->ray_count = shot->pellet_count;
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        copy_ray(&out->rays[i], &shot->rays[i], &shot->pellets[i]);
    }
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        for (uint8_t h = 0; h < shot->pellets[i].hit_count; h++) {
            list(match, ray, shot->pellets[i].hits[h].victim, true, out);
        }
    }
    list_frame(match, ray, rewind_newest(match->rewind), out);
    list_frame(match, ray, rewind_frame(match->rewind, ray->view.from_tick), out);
}

/* ---- flights ---- */

/* The past that a projectile of the shot met at that moment. */
static struct rewind_past past_at(const struct match *match, const struct rules_shot *shot,
                                  const struct rules_flight *flight, arb_fine at)
{
    const struct rewind_seen seen = rewind_flight_seen(&shot->rays[0]);
    struct rewind_past past = rewind_flight_past(match->rewind, &seen, at);
    past.mercy = at < flight->present ? shot->rays[0].mercy : NULL;
    return past;
}

static void list_landing(const struct match *match, const struct rules_shot *shot,
                         const struct rules_landing *landing, struct match_shot *out)
{
    const struct rules_flight *flight = &match->flights.list[landing->flight];
    struct rewind_past then = past_at(match, shot, flight, landing->at);
    struct match_shot_candidate candidate;
    if (!is_listed(out, landing->victim)) {
        look_at(match, &then, landing->victim, &candidate);
        bool rewound = landing->rewound;
        append(match, rewound ? cover_of(match, &then, landing->victim, landing->origin) : 0,
               &candidate, out);
    }
}

static bool is_far(const struct match *match, const struct rewind_past *past, struct arb_key key,
                   struct arb_vec2 from, struct arb_vec2 to)
{
    struct rewind_place place;
    rewind_places(match->rewind, past, &key, 1, &place);
    struct arb_vec2 way = arb_vec2_sub(to, from);
    float square = arb_vec2_dot(way, way);
    float part =
        square > 0.0F ? arb_vec2_dot(arb_vec2_sub(place.position, from), way) / square : 0.0F;
    part = part < 0.0F ? 0.0F : part > 1.0F ? 1.0F : part;
    return !place.there ||
           arb_vec2_distance(place.position, arb_vec2_mul_add(from, part, way)) > FAR;
}

/* The moment of its way, of those at which ticks end, when it was nearest to the character;
 * negative: that was never near. */
static arb_fine nearest_moment(const struct match *match, const struct rules_shot *shot,
                               const struct rules_flight *flight, struct arb_key key)
{
    uint32_t rate = (uint32_t)match->config.tick_rate;
    struct rewind_past now = {.view = rewind_present(match->rewind)};
    struct rewind_past first = past_at(match, shot, flight, flight->path.start);
    struct arb_vec2 end = arb_path_at(&flight->path, rate, flight->to);
    arb_fine best = -1;
    float least = FAR;
    if (is_far(match, &now, key, flight->path.origin, end) &&
        is_far(match, &first, key, flight->path.origin, end)) {
        return best;
    }
    for (arb_fine at = flight->path.start; at <= flight->to;) {
        struct rewind_past then = past_at(match, shot, flight, at);
        struct rewind_place place;
        rewind_places(match->rewind, &then, &key, 1, &place);
        float distance = arb_vec2_distance(place.position, arb_path_at(&flight->path, rate, at));
        if (place.there && distance < least) {
            least = distance;
            best = at;
        }
        arb_fine next = (at / ARB_FINE_TICK + 1) * ARB_FINE_TICK;
        at = at < flight->to && next > flight->to ? flight->to : next;
    }
    return best;
}

static bool is_near_flight(const struct match_shot_outline *outline, struct arb_vec2 place)
{
    for (uint8_t i = 0; outline->there && i < outline->count; i++) {
        const struct match_shot_shape *shape = &outline->shapes[i];
        float a = arb_vec2_distance(shape->a, place), b = arb_vec2_distance(shape->b, place);
        if ((a < b ? a : b) < shape->radius + NEAR) {
            return true;
        }
    }
    return false;
}

static void list_passed(const struct match *match, const struct rules_shot *shot,
                        const struct rules_flight *flight, struct arb_key key,
                        struct match_shot *out)
{
    if (arb_key_equal(key, out->shooter) || is_listed(out, key)) {
        return;
    }
    arb_fine at = nearest_moment(match, shot, flight, key);
    if (at < 0) {
        return;
    }
    struct rewind_past then = past_at(match, shot, flight, at);
    struct arb_vec2 place = arb_path_at(&flight->path, (uint32_t)match->config.tick_rate, at);
    struct match_shot_candidate candidate;
    look_at(match, &then, key, &candidate);
    if (can_be_hit(&candidate) &&
        (is_near_flight(&candidate.rewound, place) || is_near_flight(&candidate.present, place))) {
        append(match, cover_of(match, &then, key, flight->path.origin), &candidate, out);
    }
}

static void copy_flight(struct match_shot *out, const struct rules_flight *flight)
{
    out->flights[out->flight_count++] =
        (struct match_shot_flight){.pellet = flight->pellet,
                                   .radius = flight->radius,
                                   .origin = flight->path.origin,
                                   .velocity = flight->path.velocity,
                                   .from = (uint64_t)(flight->path.start / ARB_PATH_MOMENT),
                                   .to = (uint64_t)(flight->to / ARB_PATH_MOMENT),
                                   .present = (uint64_t)(flight->present / ARB_PATH_MOMENT)};
}

static void copy_landing(struct match_shot *out, const struct rules_landing *landing,
                         uint8_t flight)
{
    if (out->landing_count == MATCH_SHOT_LANDINGS) {
        out->landings_left_out++;
        return;
    }
    out->landings[out->landing_count++] =
        (struct match_shot_landing){.flight = flight,
                                    .victim = landing->victim,
                                    .part = landing->part,
                                    .blast = landing->blast,
                                    .rewound = landing->rewound,
                                    .at = (uint64_t)(landing->at / ARB_PATH_MOMENT),
                                    .centre = landing->centre,
                                    .point = landing->point};
}

/* Those of one shot stand side by side. */
static void record_flights(const struct match *match, const struct rules_shot *shot,
                           struct match_shot *out)
{
    const struct rules_flights *flights = &match->flights;
    const struct arb_frame *newest = rewind_newest(match->rewind);
    uint32_t first = 0;
    while (first < flights->count && &match->shots[flights->list[first].shot] != shot) {
        first++;
    }
    for (uint32_t i = first; i < flights->count && &match->shots[flights->list[i].shot] == shot;
         i++) {
        copy_flight(out, &flights->list[i]);
        out->rewound_ms = ms_of(match, fairness_rewound(match, flights->list[i].path.start));
    }
    for (uint32_t i = 0; i < flights->landing_count; i++) {
        int64_t flight = (int64_t)flights->landings[i].flight - first;
        if (flight >= 0 && flight < out->flight_count) {
            copy_landing(out, &flights->landings[i], (uint8_t)flight);
            list_landing(match, shot, &flights->landings[i], out);
        }
    }
    for (uint8_t f = 0; f < out->flight_count; f++) {
        for (uint32_t i = 0; i < newest->entity_count; i++) {
            list_passed(match, shot, &flights->list[first + f], newest->entities[i].key, out);
        }
    }
}

/* ---- the shot ---- */

void match_record_shot(const struct match *match, const struct rules_shot *shot,
                       struct match_shot *out)
{
    const struct rewind_ray *ray = &shot->rays[0];
    const struct world_player *player = &match->world.players[shot->slot];
    *out = (struct match_shot){
        .tick = match->world.head->tick,
        .newest = rewind_newest(match->rewind)->tick,
        .slot = shot->slot,
        .shooter = shot->shooter,
        .sequence = shot->sequence,
        .weapon = shot->weapon,
        .claimed = shot->claimed,
        .applied = ray->view,
        .verdict = match_view_verdict_text(shot->verdict),
        .late = shot->late,
        .repeated = shot->repeated,
        .rewound_ms = ms_of(match, fairness_rewound(match, arb_view_at(&ray->view))),
        .origin = ray->origin,
    };
    memcpy(out->name, player->name, sizeof out->name);
    if (shot->projectile_count > 0) {
        record_flights(match, shot, out);
    } else {
        record_rays(match, shot, out);
    }
}
