/* Projectiles of the arena: from the shot to what they end in.
 *
 * A projectile leaves at the moment that its shooter saw, not at the tick in which the server
 * learns of the shot, and at every later moment it is as far as the time between the two. So it
 * meets on its way who is drawn on its way: in the tick of the shot it is caught up through the
 * past, moment by moment, to what is published; from then on it keeps up with what is published. A
 * shot that is older than the cap leaves at the cap.
 *
 * The past through which it is caught up is the one that its shooter's rays meet: the states that
 * the client held, cover and abilities that win over a late shot. From the present on it is seen
 * coming like any other, and meets whoever is there.
 *
 * What it meets is asked of the rewind module, which draws characters between snapshots as clients
 * do; so it moves from snapshot to snapshot, and what happened in between is known with the later
 * one. In stage 7, after the rays of the tick: by slot of the shooter, then in the order of launch.
 * The past does not change while that is done: who is killed by one of them still stands in the way
 * of the next, which ends there and hurts nobody. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"

#include "server/rewind/rewind_flight.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_path.h"
#include "shared/view/arb_held.h"

/* ---- room ---- */

/* Of one weapon, as many can be under way as are fired while the first one flies; the intervals of
 * all weapons are kept when one is put away for another. A tick more on either side, of the slowest
 * rate. */
uint32_t arena_flights_max(const struct arena_params *params)
{
    enum { TICK_MS = 50 };
    uint32_t most = 0;
    for (int32_t i = 0; i < params->weapon_count; i++) {
        const struct arena_weapon *weapon = &params->weapons[i];
        if (weapon->kind == ARENA_PROJECTILE) {
            int32_t shots = (weapon->projectile_life_ms + 2 * TICK_MS) / weapon->interval_ms + 2;
            most += (uint32_t)(weapon->pellets * shots);
        }
    }
    return most;
}

/* Keys of what the player has under way, in order of launch; none behind the last. */
static struct arb_key *flights_of(const struct rules_context *context, uint16_t slot)
{
    uint8_t *after =
        context->world->rules + context->map->pickup_count * sizeof(struct arena_place);
    uint32_t most = arena_flights_max(arena_params(context));
    return (struct arb_key *)(void *)after + (size_t)slot * most;
}

/* ---- moments ---- */

static int64_t to_moments(arb_fine at)
{
    return at / ARB_PATH_MOMENT;
}

/* The moment nearest to this tick that has these low bits. */
static arb_fine from_low(const struct rules_context *context, int32_t low)
{
    int64_t now = (int64_t)context->world->head->tick * (ARB_FINE_TICK / ARB_PATH_MOMENT);
    int64_t moments = now + (int32_t)((uint32_t)low - (uint32_t)now);
    return moments * ARB_PATH_MOMENT;
}

static struct arb_path path_of(const struct rules_context *context,
                               const struct world_entity *entity)
{
    return (struct arb_path){
        .origin = {rules_float(entity->values[PROJECTILE_ORIGIN_X]),
                   rules_float(entity->values[PROJECTILE_ORIGIN_Y])},
        .velocity = {entity->vx, entity->vy},
        .start = from_low(context, entity->values[PROJECTILE_START]),
    };
}

static uint8_t weapon_of(const struct world_entity *entity)
{
    return (uint8_t)entity->values[PROJECTILE_SHOT];
}

/* ---- launch ---- */

/* The moment of the shooter's view, not further back than the cap and than the past is kept. */
static arb_fine start_of(const struct rules_context *context, const struct rules_shot *shot)
{
    arb_fine newest = (arb_fine)rewind_newest(context->rewind)->tick * ARB_FINE_TICK;
    arb_fine oldest = newest - (arb_fine)context->catchup_ticks * ARB_FINE_TICK;
    arb_fine kept = rewind_flight_oldest(context->rewind);
    arb_fine start = arb_view_at(&shot->rays[0].view);
    oldest = oldest > kept ? oldest : kept;
    return start < oldest ? oldest : start > newest ? newest : start;
}

static struct world_entity *launch(struct rules_context *context, const struct rules_shot *shot,
                                   uint8_t pellet)
{
    struct world *world = context->world;
    const struct arb_weapon_step *weapon = &context->move->weapons[shot->weapon];
    struct arb_key key = world_spawn(world, ARB_ARENA_PROJECTILE);
    struct world_entity *entity = world_find(world, key);
    if (entity == NULL) {
        return NULL;
    }
    struct arb_path path = arb_path_launch(weapon, shot->rays[0].origin, shot->rays[0].direction,
                                           pellet, start_of(context, shot));
    arb_fine end =
        path.start + arb_path_flight(&path, weapon, context->tick_rate, context->geometry);
    entity->owner = shot->slot;
    entity->team = world->players[shot->slot].team;
    entity->x = entity->previous_x = path.origin.x;
    entity->y = entity->previous_y = path.origin.y;
    entity->vx = path.velocity.x;
    entity->vy = path.velocity.y;
    entity->radius = weapon->projectile_radius;
    entity->values[PROJECTILE_ORIGIN_X] = rules_bits(path.origin.x);
    entity->values[PROJECTILE_ORIGIN_Y] = rules_bits(path.origin.y);
    entity->values[PROJECTILE_START] = (int32_t)(uint32_t)to_moments(path.start);
    entity->values[PROJECTILE_END] = (int32_t)(uint32_t)to_moments(end);
    entity->values[PROJECTILE_SHOT] =
        (int32_t)((uint32_t)shot->action << 16 | (uint32_t)pellet << 8 | shot->weapon);
    return entity;
}

/* One on its way in this tick. */
struct flying {
    struct rules_context *context;
    struct world_entity *entity;
    struct arb_path path;
    const struct rewind_seen *seen;   /* of its shooter's client; NULL: it is under way */
    const struct rewind_mercy *mercy; /* of the shot that it leaves with */
    arb_fine present;                 /* where the past ends */
    int32_t told;                     /* index in context->flights; -1: none */
    struct rewind_passed passed;
};

/* ---- its end ---- */

struct ending {
    arb_fine at;
    struct arb_vec2 point; /* m, its centre */
    struct arb_key victim; /* none: it met nobody */
    struct arb_vec2 touch; /* m, of the victim */
    uint8_t part;
};

static bool is_rewound(const struct flying *flying, arb_fine at)
{
    return flying->seen != NULL && at < flying->present;
}

static void tell_landing(const struct flying *flying, const struct ending *ending, bool blast,
                         const struct arena_blow *blow)
{
    rules_landed(flying->context, &(struct rules_landing){
                                      .slot = flying->entity->owner,
                                      .flight = flying->told,
                                      .rewound = is_rewound(flying, ending->at),
                                      .blast = blast,
                                      .part = blow->part,
                                      .victim = blow->victim,
                                      .at = ending->at,
                                      .origin = blast ? ending->point : flying->path.origin,
                                      .centre = ending->point,
                                      .point = blow->point,
                                  });
}

/* To those who see the projectile or its victim: where it ended is where both are. */
static void emit_impact(struct rules_context *context, const struct world_entity *entity,
                        const struct ending *ending)
{
    struct arb_event event = {.kind = ARB_EVENT_IMPACT};
    uint32_t shot = (uint32_t)entity->values[PROJECTILE_SHOT];
    event.impact = (struct arb_event_impact){
        .shooter_slot = entity->owner,
        .action = (uint16_t)(shot >> 16),
        .pellet = (uint8_t)(shot >> 8),
        .moment = (uint32_t)to_moments(ending->at),
        .x = arena_within_world(ending->point.x),
        .y = arena_within_world(ending->point.y),
    };
    rules_emit_about(context, entity->owner, world_key(context->world, entity), ending->victim,
                     &event);
}

/* Less with the distance, nothing at the rim. */
static int32_t blast_damage(const struct arena_weapon *weapon, float distance)
{
    float part = 1.0F - distance / weapon->blast_m;
    return arb_quantise((float)weapon->blast_damage * part, 1.0F, 0, UINT16_MAX);
}

static bool is_shielded(const struct rules_context *context, struct arb_vec2 from,
                        struct arb_vec2 to)
{
    float fraction;
    return arb_geometry_ray(context->geometry, from, arb_vec2_sub(to, from), &fraction);
}

/* Whose middle is hidden from a blast is asked from there, not from the muzzle: it reaches around
 * corners. */
static struct rewind_past past_of_blast(const struct flying *flying, const struct ending *ending,
                                        struct rewind_mercy *mercy)
{
    const struct rules_context *context = flying->context;
    const struct world_entity *entity = flying->entity;
    struct rewind_past past = rewind_flight_past(context->rewind, flying->seen, ending->at);
    past.shooter = context->world->players[entity->owner].controlled;
    past.shooter_team = entity->team;
    past.team_filter = !arena_params(context)->team_damage;
    if (is_rewound(flying, ending->at) && flying->mercy != NULL) {
        *mercy = *flying->mercy;
        mercy->origin = ending->point;
        past.mercy = mercy;
    }
    return past;
}

/* Those who stood there at that moment, but the one that was hit and its shooter; by slot. */
static void blast(struct flying *flying, const struct ending *ending)
{
    struct rules_context *context = flying->context;
    struct world *world = context->world;
    const struct arena_weapon *weapon = &arena_params(context)->weapons[weapon_of(flying->entity)];
    struct rewind_mercy mercy;
    struct rewind_past past = past_of_blast(flying, ending, &mercy);
    struct rewind_area area = {ending->point, ending->point, weapon->blast_m};
    struct rewind_touch near;
    rewind_overlap(context->rewind, &past, &area, 1, &near);
    uint16_t owner = flying->entity->owner;
    for (uint32_t from = 0;;) {
        const struct rewind_hit *next = NULL;
        uint32_t next_slot = UINT32_MAX;
        for (uint8_t i = 0; i < near.hit_count; i++) {
            const struct world_entity *victim = world_find(world, near.hits[i].victim);
            if (victim != NULL && victim->owner >= from && victim->owner < next_slot) {
                next = &near.hits[i];
                next_slot = victim->owner;
            }
        }
        if (next == NULL) {
            return;
        }
        from = next_slot + 1;
        if (!arb_key_equal(next->victim, ending->victim) &&
            !is_shielded(context, ending->point, next->point)) {
            struct arena_blow blow = {next->victim, blast_damage(weapon, next->distance),
                                      next->part, next->point};
            tell_landing(flying, ending, true, &blow);
            arena_strike(context, owner, &blow);
        }
    }
}

static void end_flight(struct flying *flying, const struct ending *ending)
{
    struct rules_context *context = flying->context;
    const struct arena_params *params = arena_params(context);
    const struct arena_weapon *weapon = &params->weapons[weapon_of(flying->entity)];
    if (!arb_key_is_none(ending->victim)) {
        float way = arb_vec2_distance(flying->path.origin, ending->point);
        struct arena_blow blow = {ending->victim,
                                  arena_damage(params, weapon, way, ending->part, 0), ending->part,
                                  ending->touch};
        emit_impact(context, flying->entity, ending);
        tell_landing(flying, ending, false, &blow);
        arena_strike(context, flying->entity->owner, &blow);
    }
    if (weapon->blast_m > 0.0F && weapon->blast_damage > 0) {
        blast(flying, ending);
    }
    world_remove(context->world, world_key(context->world, flying->entity));
}

/* ---- the way ---- */

/* From one moment to another of the same tick; true: it met somebody. */
static bool fly_step(struct flying *flying, arb_fine from, arb_fine to, struct ending *ending)
{
    const struct rules_context *context = flying->context;
    const struct world_entity *entity = flying->entity;
    struct rewind_flight flight = {
        .owner = entity->owner,
        .team = entity->team,
        .team_filter = !arena_params(context)->team_damage,
        .origin = arb_path_at(&flying->path, context->tick_rate, from),
        .radius = entity->radius,
        .from = from,
        .to = to,
        .seen = flying->seen,
        .mercy = is_rewound(flying, from) ? flying->mercy : NULL,
    };
    struct rewind_meeting meeting;
    flight.delta = arb_vec2_sub(arb_path_at(&flying->path, context->tick_rate, to), flight.origin);
    if (!rewind_resolve_flight(context->rewind, &flight, &meeting, &flying->passed)) {
        return false;
    }
    *ending =
        (struct ending){meeting.at, meeting.centre, meeting.victim, meeting.point, meeting.part};
    return true;
}

/* For whoever looks: what it did in the tick in which it left. */
static void tell_flight(struct flying *flying, uint32_t shot, uint8_t pellet)
{
    struct rules_flight *flight = rules_flight_begin(flying->context, shot);
    if (flight == NULL) {
        return;
    }
    flight->pellet = pellet;
    flight->path = flying->path;
    flight->radius = flying->entity->radius;
    flight->present = flying->present;
    flying->told = (int32_t)(flight - flying->context->flights->list);
}

static void tell_way(const struct flying *flying, arb_fine to)
{
    if (flying->told < 0) {
        return;
    }
    struct rules_flight *flight = &flying->context->flights->list[flying->told];
    flight->to = to;
    flight->unseen = flying->passed.unseen_count;
    flight->spared = flying->passed.spared_count;
}

/* Tick by tick, since characters move on straight lines within one; true: it has ended. */
static bool fly(struct flying *flying)
{
    struct rules_context *context = flying->context;
    struct world_entity *entity = flying->entity;
    const struct arb_path *path = &flying->path;
    arb_fine end = from_low(context, entity->values[PROJECTILE_END]);
    arb_fine known = rewind_flight_newest(context->rewind, 0);
    arb_fine from = flying->present;
    arb_fine to = end < known ? end : known;
    struct ending ending = {.at = end, .point = arb_path_at(path, context->tick_rate, end)};
    bool met = false;
    from = flying->seen != NULL || from < path->start ? path->start : from;
    while (from < to && !met) {
        arb_fine tick_end = (from / ARB_FINE_TICK + 1) * ARB_FINE_TICK;
        arb_fine next = tick_end < to ? tick_end : to;
        met = fly_step(flying, from, next, &ending);
        from = next;
    }
    bool ends = met || end <= known;
    tell_way(flying, met ? ending.at : ends ? end : from);
    if (ends) {
        end_flight(flying, &ending);
        return true;
    }
    struct arb_vec2 at = arb_path_at(path, context->tick_rate, from);
    entity->x = entity->previous_x = at.x;
    entity->y = entity->previous_y = at.y;
    return false;
}

/* One that is under way; true: it has ended. */
static bool fly_on(struct rules_context *context, struct arb_key key)
{
    struct world_entity *entity = world_find(context->world, key);
    ARB_ASSERT(entity != NULL);
    struct flying flying = {.context = context,
                            .entity = entity,
                            .path = path_of(context, entity),
                            .present = rewind_flight_newest(context->rewind, 1),
                            .told = -1};
    return fly(&flying);
}

/* One of the shot leaves; none: it has ended at once, or there was no room for it. */
static struct arb_key fly_off(struct rules_context *context, const struct rules_shot *shot,
                              uint32_t index, uint8_t pellet)
{
    struct world_entity *entity = launch(context, shot, pellet);
    if (entity == NULL) {
        return ARB_KEY_NONE;
    }
    struct rewind_seen seen = rewind_flight_seen(&shot->rays[0]);
    struct flying flying = {
        .context = context,
        .entity = entity,
        .path = path_of(context, entity),
        .seen = &seen,
        .mercy = shot->rays[0].mercy,
        .present = rewind_flight_newest(context->rewind, 1),
        .told = -1,
    };
    tell_flight(&flying, index, pellet);
    return fly(&flying) ? ARB_KEY_NONE : world_key(context->world, entity);
}

/* Index of the slot's shot of projectiles; `count`: it has none. */
static uint32_t shot_of(const struct rules_shot *shots, uint32_t count, uint16_t slot)
{
    uint32_t i = 0;
    while (i < count && (shots[i].slot != slot || shots[i].projectile_count == 0)) {
        i++;
    }
    return i;
}

static void fly_all_of(struct rules_context *context, uint16_t slot, const struct rules_shot *shots,
                       uint32_t count)
{
    uint32_t most = arena_flights_max(arena_params(context));
    uint32_t shot = shot_of(shots, count, slot);
    uint8_t leaving = shot < count ? shots[shot].projectile_count : 0;
    struct arb_key *flights = flights_of(context, slot);
    uint32_t kept = 0, old = 0;
    while (old < most && !arb_key_is_none(flights[old])) {
        struct arb_key key = flights[old++];
        if (!fly_on(context, key)) {
            flights[kept++] = key;
        }
    }
    for (uint8_t i = 0; i < leaving && kept < most; i++) {
        struct arb_key key = fly_off(context, &shots[shot], shot, i);
        if (!arb_key_is_none(key)) {
            flights[kept++] = key;
        }
    }
    for (uint32_t i = kept; i < most; i++) {
        flights[i] = ARB_KEY_NONE;
    }
}

void arena_projectiles(struct rules_context *context, const struct rules_shot *shots,
                       uint32_t count)
{
    if (arena_flights_max(arena_params(context)) == 0 || rewind_newest(context->rewind) == NULL) {
        return;
    }
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        fly_all_of(context, slot, shots, count);
    }
}

void arena_drop_projectiles(struct rules_context *context, uint16_t slot)
{
    uint32_t most = arena_flights_max(arena_params(context));
    struct arb_key *flights = flights_of(context, slot);
    for (uint32_t i = 0; i < most; i++) {
        world_remove(context->world, flights[i]);
        flights[i] = ARB_KEY_NONE;
    }
}

/* ---- stage 8 ---- */

void arena_publish_projectile(const struct rules_context *context,
                              const struct world_entity *entity, int32_t *out)
{
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_PROJECTILE];
    struct arb_path path = path_of(context, entity);
    uint32_t shot = (uint32_t)entity->values[PROJECTILE_SHOT];
    out[ARB_PROJECTILE_OWNER] = entity->owner + 1;
    out[ARB_PROJECTILE_WEAPON] = weapon_of(entity);
    out[ARB_PROJECTILE_X] = rules_quantise(kind, ARB_PROJECTILE_X, path.origin.x);
    out[ARB_PROJECTILE_Y] = rules_quantise(kind, ARB_PROJECTILE_Y, path.origin.y);
    out[ARB_PROJECTILE_VX] = rules_quantise(kind, ARB_PROJECTILE_VX, path.velocity.x);
    out[ARB_PROJECTILE_VY] = rules_quantise(kind, ARB_PROJECTILE_VY, path.velocity.y);
    out[ARB_PROJECTILE_START] = (int32_t)(to_moments(path.start) & 0xFFFFFF);
    out[ARB_PROJECTILE_ACTION] = (int32_t)(shot >> 16);
    out[ARB_PROJECTILE_PELLET] = (int32_t)(shot >> 8 & 0xFF);
}
