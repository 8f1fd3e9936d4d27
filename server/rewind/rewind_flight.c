#include "server/rewind/rewind_flight.h"

#include "server/rewind/rewind_internal.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"
#include "shared/view/arb_held.h"

#include <math.h>

enum { MOMENT = ARB_FINE_TICK / 256 };

/* Somebody who is passed, and when. */
struct passing {
    struct arb_key key;
    float fraction; /* of the way */
};

struct passings {
    struct passing list[REWIND_HITS_MAX];
    uint32_t count;
};

struct flying {
    const struct rewind *rewind;
    const struct rewind_flight *flight;
    struct rewind_query query; /* of flight->from */
    bool any;
    float fraction; /* of the way, of the first touch so far */
    struct rewind_meeting *meeting;
    struct passings unseen, spared;
};

arb_fine rewind_flight_newest(const struct rewind *rewind, uint32_t before)
{
    arb_tick newest = rewind_newest(rewind)->tick - before;
    return (arb_fine)(newest - newest % rewind->config.snapshot_interval_ticks) * ARB_FINE_TICK;
}

arb_fine rewind_flight_oldest(const struct rewind *rewind)
{
    uint64_t held = rewind->committed < rewind->samples ? rewind->committed : rewind->samples;
    arb_tick interval = rewind->config.snapshot_interval_ticks;
    arb_tick oldest = rewind_newest(rewind)->tick - (held - 1);
    return (arb_fine)((oldest + interval - 1) / interval * interval) * ARB_FINE_TICK;
}

/* ---- between which snapshots ---- */

/* What a client that held this view knew with it ends with the later one of its two snapshots, or
 * where it had drawn past its newest one, with the next that there was to come. */
static arb_fine held_until(const struct rewind *rewind, const struct arb_view *view)
{
    if (view->from_tick < view->to_tick) {
        return (arb_fine)view->to_tick * ARB_FINE_TICK;
    }
    arb_fine span = (arb_fine)rewind->config.snapshot_interval_ticks * ARB_FINE_TICK;
    return (arb_view_at(view) / span + 1) * span;
}

/* What came after the last one that it held is taken for held. */
static bool is_held(const struct rewind *rewind, const struct rewind_seen *seen, arb_tick tick)
{
    if (seen == NULL || seen->pairs == NULL) {
        return true;
    }
    if (tick <= seen->view.to_tick) {
        return tick == seen->view.from_tick || tick == seen->view.to_tick;
    }
    arb_tick after = (tick - seen->view.to_tick) / rewind->config.snapshot_interval_ticks - 1;
    return after >= 64 || seen->later >> after == 0 || (seen->later >> after & 1) != 0;
}

/* The two around the moment. */
static struct arb_view view_of(const struct rewind *rewind, const struct rewind_seen *seen,
                               arb_fine at)
{
    arb_tick interval = rewind->config.snapshot_interval_ticks;
    arb_tick newest = (arb_tick)(rewind_flight_newest(rewind, 0) / ARB_FINE_TICK);
    arb_tick oldest = (arb_tick)(rewind_flight_oldest(rewind) / ARB_FINE_TICK);
    arb_tick from = (arb_tick)(at / ARB_FINE_TICK) / interval * interval;
    arb_tick to = from + interval;
    while (from > oldest && !is_held(rewind, seen, from)) {
        from -= interval;
    }
    while (to < newest && !is_held(rewind, seen, to)) {
        to += interval;
    }
    arb_fine passed = at - (arb_fine)from * ARB_FINE_TICK;
    struct arb_view view = {.from_tick = from, .to_tick = to};
    view.fraction = (uint16_t)(passed * 256 / ((arb_fine)(to - from) * ARB_FINE_TICK));
    if (to > newest) {
        view.to_tick = from;
        view.fraction = (uint16_t)(passed / MOMENT);
    }
    return view;
}

struct rewind_past rewind_flight_past(const struct rewind *rewind, const struct rewind_seen *seen,
                                      arb_fine at)
{
    struct rewind_past past = {.view = view_of(rewind, seen, at)};
    if (seen != NULL) {
        past.pairs = seen->pairs;
        past.pair_count = seen->pair_count;
        past.pairs_until = held_until(rewind, &seen->view);
    }
    return past;
}

/* ---- who is met ---- */

static bool is_spared(const struct flying *flying, const struct arb_published *state)
{
    const struct rewind_flight *flight = flying->flight;
    const struct arb_kind *kind = &flying->rewind->config.schema->kinds[state->kind];
    int8_t team = flying->rewind->facts[state->kind].team;
    return (kind->owner >= 0 && state->q[kind->owner] == flight->owner + 1) ||
           (flight->team_filter && flight->team != 0 && team != REWIND_NO_TEAM &&
            state->q[team] == flight->team);
}

static struct arb_vec2 turned(struct arb_vec2 point, struct arb_vec2 direction)
{
    return (struct arb_vec2){point.x * direction.x - point.y * direction.y,
                             point.x * direction.y + point.y * direction.x};
}

/* Where the character goes meanwhile, m. */
static struct arb_vec2 way_of(const struct rewind *rewind, const struct rewind_stance *stance,
                              arb_fine to)
{
    struct arb_drawn_pair later = stance->drawn;
    later.at = to;
    struct arb_vec2 there = arb_drawn_position(&rewind->config.schema->kinds[stance->state->kind],
                                               &later, &rewind->rule);
    return arb_vec2_sub(there, stance->position);
}

static struct arb_vec2 facing(const struct flying *flying, const struct rewind_stance *stance)
{
    const struct rewind *rewind = flying->rewind;
    if (rewind->facts[stance->state->kind].centred) {
        return (struct arb_vec2){1, 0};
    }
    struct arb_drawn_pair middle = stance->drawn;
    middle.at = flying->flight->from + (flying->flight->to - flying->flight->from) / 2;
    return arb_move_direction(
        arb_drawn_heading(&rewind->config.schema->kinds[stance->state->kind], &middle));
}

/* Two that stand still in relation to each other touch all the time or never. */
static bool touch(const struct flying *flying, struct arb_vec2 delta, struct arb_vec2 a,
                  struct arb_vec2 b, float radius, float *fraction)
{
    if (delta.x == 0.0F && delta.y == 0.0F) {
        delta.x = 1e-4F;
        return arb_move_ray_capsule(flying->flight->origin, delta, a, b, radius, fraction) &&
               *fraction == 0.0F;
    }
    return arb_move_ray_capsule(flying->flight->origin, delta, a, b, radius, fraction);
}

static void keep_first(struct flying *flying, const struct rewind_stance *stance, uint8_t part,
                       float fraction, struct arb_vec2 way)
{
    const struct rewind_flight *flight = flying->flight;
    struct rewind_meeting *meeting = flying->meeting;
    bool first = !flying->any || fraction < flying->fraction ||
                 (fraction == flying->fraction &&
                  arb_key_order(stance->state->key) < arb_key_order(meeting->victim));
    if (!first) {
        return;
    }
    int32_t moments = (int32_t)((flight->to - flight->from) / MOMENT);
    int32_t passed = arb_quantise((float)moments * fraction - 0.5F, 1.0F, 0, moments);
    flying->any = true;
    flying->fraction = fraction;
    meeting->victim = stance->state->key;
    meeting->part = part;
    meeting->at = flight->from + (arb_fine)passed * MOMENT;
    meeting->centre = arb_vec2_mul_add(flight->origin, fraction, flight->delta);
    meeting->point = arb_vec2_mul_add(stance->position, fraction, way);
}

static void keep_passing(struct passings *passings, struct arb_key key, float fraction)
{
    if (passings->count < REWIND_HITS_MAX) {
        passings->list[passings->count++] = (struct passing){key, fraction};
    }
}

/* The first touch of its shapes, if any. */
static void try_stance(struct flying *flying, const struct rewind_stance *stance, bool unseen)
{
    if (is_spared(flying, stance->state)) {
        return;
    }
    const struct rewind_kind *kind = &flying->rewind->kinds[stance->state->kind];
    struct arb_key key = stance->state->key;
    struct arb_vec2 way = way_of(flying->rewind, stance, flying->flight->to);
    struct arb_vec2 delta = arb_vec2_sub(flying->flight->delta, way);
    struct arb_vec2 direction = facing(flying, stance);
    float first = 2.0F; /* beyond the way */
    uint8_t part = 0;
    for (uint8_t i = 0; i < kind->count; i++) {
        const struct rewind_shape *shape = &kind->shapes[i];
        struct arb_vec2 a = arb_vec2_add(stance->position, turned(shape->a, direction));
        struct arb_vec2 b = arb_vec2_add(stance->position, turned(shape->b, direction));
        float fraction;
        if (touch(flying, delta, a, b, shape->radius + flying->flight->radius, &fraction) &&
            fraction <= 1.0F && fraction < first) {
            first = fraction;
            part = shape->part;
        }
    }
    if (first > 1.0F) {
        return;
    }
    if (unseen) {
        keep_passing(&flying->unseen, key, first);
    } else if (rewind_query_forgives(&flying->query, key)) {
        keep_passing(&flying->spared, key, first);
    } else {
        keep_first(flying, stance, part, first, way);
    }
}

static bool try_candidate(int proxy, uint64_t id, void *context)
{
    (void)proxy;
    struct flying *flying = context;
    struct rewind_stance stance;
    bool unseen;
    if (rewind_query_stance(&flying->query, (uint16_t)id, &stance, &unseen)) {
        try_stance(flying, &stance, unseen);
    }
    return true;
}

static void try_older(struct flying *flying)
{
    const struct rewind_query *query = &flying->query;
    for (uint32_t i = 0; query->any_older && i < query->past.pair_count; i++) {
        struct rewind_stance stance;
        if (rewind_query_older(query, i, &stance)) {
            try_stance(flying, &stance, false);
        }
    }
}

/* Those before its end, once each. */
static void pass(const struct flying *flying, const struct passings *passings,
                 struct arb_key keys[REWIND_HITS_MAX], uint8_t *count)
{
    for (uint32_t i = 0; i < passings->count; i++) {
        const struct passing *passing = &passings->list[i];
        bool counts = !flying->any || passing->fraction <= flying->fraction;
        for (uint8_t k = 0; k < *count; k++) {
            counts = counts && !arb_key_equal(keys[k], passing->key);
        }
        if (counts && *count < REWIND_HITS_MAX) {
            keys[(*count)++] = passing->key;
        }
    }
}

/* False: that moment is not held. */
static bool begin(struct flying *flying)
{
    const struct rewind_flight *flight = flying->flight;
    struct rewind_past past = rewind_flight_past(flying->rewind, flight->seen, flight->from);
    past.mercy = flight->mercy;
    if (rewind_frame(flying->rewind, past.view.from_tick) == NULL ||
        !rewind_query_begin(&flying->query, flying->rewind, &past)) {
        return false;
    }
    /* A moment is finer than a view can say. */
    flying->query.moment.from = rewind_frame(flying->rewind, past.view.from_tick);
    flying->query.moment.to = rewind_frame(flying->rewind, past.view.to_tick);
    flying->query.moment.at = flying->query.at = flight->from;
    return true;
}

bool rewind_resolve_flight(const struct rewind *rewind, const struct rewind_flight *flight,
                           struct rewind_meeting *meeting, struct rewind_passed *passed)
{
    ARB_ASSERT(flight->from < flight->to);
    ARB_ASSERT(flight->to <= rewind_flight_newest(rewind, 0));
    struct flying flying;
    flying.rewind = rewind;
    flying.flight = flight;
    flying.meeting = meeting;
    flying.any = false;
    flying.unseen.count = flying.spared.count = 0;
    if (!isfinite(flight->origin.x) || !isfinite(flight->origin.y) || !begin(&flying)) {
        return false;
    }
    struct arb_vec2 a = flight->origin, b = arb_vec2_add(flight->origin, flight->delta);
    float r = flight->radius;
    b2AABB box = {{fminf(a.x, b.x) - r, fminf(a.y, b.y) - r},
                  {fmaxf(a.x, b.x) + r, fmaxf(a.y, b.y) + r}};
    try_older(&flying);
    b2DynamicTree_Query(&rewind->tree, box, 1, try_candidate, &flying);
    pass(&flying, &flying.unseen, passed->unseen, &passed->unseen_count);
    pass(&flying, &flying.spared, passed->spared, &passed->spared_count);
    return flying.any;
}
