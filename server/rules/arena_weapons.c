/* Weapons of the arena: the rays of a shot, what a hit costs, and rounds. What flies is in
 * arena_projectiles.c. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <math.h>

/* ---- stage 6: rays ---- */

/* Triangular is the sum of two uniform draws, which is why it takes two. */
static float spread_angle(const struct arena_weapon *weapon, struct arb_rng *rng)
{
    float angle = arb_rng_range(rng, -1.0F, 1.0F);
    if (weapon->spread == ARENA_SPREAD_TRIANGULAR) {
        angle = 0.5F * (angle + arb_rng_range(rng, -1.0F, 1.0F));
    }
    return angle * weapon->spread_rad;
}

static struct arb_vec2 turned(struct arb_vec2 direction, float angle)
{
    struct arb_vec2 by = arb_move_direction(angle);
    struct arb_vec2 out = {direction.x * by.x - direction.y * by.y,
                           direction.x * by.y + direction.y * by.x};
    return arb_vec2_scale(out, 1.0F / arb_vec2_length(out));
}

void arena_shoot(struct rules_context *context, struct rules_shot *shot)
{
    const struct arena_params *params = arena_params(context);
    ARB_ASSERT(shot->weapon < params->weapon_count);
    const struct arena_weapon *weapon = &params->weapons[shot->weapon];
    struct arb_rng *combat = world_stream(context->world, WORLD_STREAM_COMBAT);
    struct arb_vec2 aim = shot->rays[0].direction;
    if (weapon->kind == ARENA_PROJECTILE) {
        shot->pellet_count = 0;
        shot->projectile_count = (uint8_t)weapon->pellets;
        return; /* they leave in stage 7, along the aim */
    }
    shot->pellet_count = (uint8_t)weapon->pellets;
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        struct rewind_ray *ray = &shot->rays[i];
        ray->range = weapon->range_m;
        ray->pierce = (uint8_t)weapon->pierce;
        ray->team_filter = !params->team_damage;
        ray->direction = aim;
        if (weapon->spread_rad > 0.0F) {
            ray->direction = turned(aim, spread_angle(weapon, combat));
        }
    }
}

/* ---- stage 7: damage ---- */

static float falloff(const struct arena_weapon *weapon, float distance)
{
    float near = (float)weapon->damage, far = (float)weapon->damage_far;
    if (distance <= weapon->falloff_from_m) {
        return near;
    }
    if (distance >= weapon->falloff_to_m) {
        return far;
    }
    float part =
        (distance - weapon->falloff_from_m) / (weapon->falloff_to_m - weapon->falloff_from_m);
    return near + part * (far - near);
}

int32_t arena_damage(const struct arena_params *params, const struct arena_weapon *weapon,
                     float distance, uint8_t part, uint32_t pierced)
{
    ARB_ASSERT(part < params->hit_shape_count);
    float damage = falloff(weapon, distance) * params->hit_shapes[part].factor;
    for (uint32_t i = 0; i < pierced; i++) {
        damage *= weapon->pierce_factor;
    }
    return arb_quantise(damage, 1.0F, 0, UINT16_MAX);
}

struct blows {
    struct arena_blow list[RULES_PELLETS_MAX * REWIND_HITS_MAX];
    uint32_t count;
};

static struct arena_blow *blow_for(struct blows *blows, const struct rewind_hit *hit)
{
    for (uint32_t i = 0; i < blows->count; i++) {
        if (arb_key_equal(blows->list[i].victim, hit->victim)) {
            return &blows->list[i];
        }
    }
    struct arena_blow *blow = &blows->list[blows->count++];
    *blow = (struct arena_blow){.victim = hit->victim, .part = hit->part, .point = hit->point};
    return blow;
}

static bool is_protected(const struct rules_context *context, uint16_t slot)
{
    const struct world *world = context->world;
    uint32_t until = (uint32_t)world->players[slot].values[PLAYER_PROTECTED_UNTIL];
    return (int32_t)(until - (uint32_t)world->head->tick) > 0; /* wrap-safe */
}

static void score_kill(struct rules_context *context, uint16_t killer, uint16_t victim)
{
    const struct arena_params *params = arena_params(context);
    struct world_player *players = context->world->players;
    bool own_team = players[killer].team != 0 && players[killer].team == players[victim].team;
    players[killer].score += own_team ? params->team_kill_score : params->kill_score;
}

float arena_within_world(float coordinate)
{
    const float limit = 4096.0F;
    return fminf(fmaxf(coordinate, -limit), limit);
}

static void emit_hit(struct rules_context *context, uint16_t shooter, uint16_t victim,
                     const struct arena_blow *blow, int32_t damage)
{
    struct arb_event event = {.kind = ARB_EVENT_HIT};
    event.hit = (struct arb_event_hit){
        .victim = blow->victim,
        .shooter_slot = shooter,
        .victim_slot = victim,
        .damage = (uint16_t)damage,
        .part = blow->part,
        .x = arena_within_world(blow->point.x),
        .y = arena_within_world(blow->point.y),
    };
    rules_emit(context, shooter, victim, &event);
}

void arena_strike(struct rules_context *context, uint16_t shooter, const struct arena_blow *blow)
{
    struct world_entity *entity = world_find(context->world, blow->victim);
    if (entity == NULL || entity->kind != ARB_ARENA_CHARACTER ||
        is_protected(context, entity->owner)) {
        return;
    }
    uint16_t victim = entity->owner;
    int32_t *health = &entity->values[CHARACTER_HEALTH];
    int32_t damage = blow->damage < *health ? blow->damage : *health;
    *health -= damage;
    emit_hit(context, shooter, victim, blow, damage);
    if (*health <= 0) {
        score_kill(context, shooter, victim);
        rules_kill(context, victim, shooter, ARB_CAUSE_SHOT);
        rules_respawn_after(context, victim, arena_params(context)->respawn_ms);
    }
}

void arena_shots(struct rules_context *context, const struct rules_shot *shots, uint32_t count)
{
    const struct arena_params *params = arena_params(context);
    for (uint32_t i = 0; i < count; i++) {
        const struct rules_shot *shot = &shots[i];
        const struct arena_weapon *weapon = &params->weapons[shot->weapon];
        struct blows blows;
        blows.count = 0;
        for (uint8_t p = 0; p < shot->pellet_count; p++) {
            const struct rewind_shot *pellet = &shot->pellets[p];
            for (uint8_t h = 0; h < pellet->hit_count; h++) {
                const struct rewind_hit *hit = &pellet->hits[h];
                blow_for(&blows, hit)->damage +=
                    arena_damage(params, weapon, hit->distance, hit->part, h);
            }
        }
        for (uint32_t b = 0; b < blows.count; b++) {
            arena_strike(context, shot->slot, &blows.list[b]);
        }
    }
}

/* ---- rounds ---- */

static void load(const struct arena_weapon *weapon, struct arb_own *own, int32_t index)
{
    own->weapons = (uint8_t)(own->weapons | 1U << index);
    own->magazine[index] = (uint16_t)weapon->magazine;
    own->reserve[index] = (uint16_t)weapon->reserve;
}

void arena_arm(const struct arena_params *params, struct arb_own *own)
{
    for (int32_t i = params->weapon_count - 1; i >= 0; i--) {
        if (params->weapons[i].start) {
            load(&params->weapons[i], own, i);
            own->weapon = (uint8_t)i;
        }
    }
}

static bool carries(const struct arb_own *own, int32_t index)
{
    return (own->weapons >> index & 1) != 0;
}

static bool add_rounds(const struct arena_weapon *weapon, struct arb_own *own, int32_t index,
                       int32_t rounds)
{
    int32_t room = weapon->reserve_max - (int32_t)own->reserve[index];
    if (weapon->magazine == 0 || room <= 0) {
        return false;
    }
    own->reserve[index] = (uint16_t)(own->reserve[index] + (rounds < room ? rounds : room));
    return true;
}

bool arena_give_weapon(const struct arena_params *params, struct arb_own *own, int32_t index)
{
    const struct arena_weapon *weapon = &params->weapons[index];
    if (carries(own, index)) {
        return add_rounds(weapon, own, index, weapon->magazine + weapon->reserve);
    }
    load(weapon, own, index);
    own->weapon = (uint8_t)index;
    own->reload_ticks = 0; /* that reload was the other weapon's */
    return true;
}

bool arena_give_ammo(const struct arena_params *params, struct arb_own *own, int32_t rounds)
{
    bool used = false;
    for (int32_t i = 0; i < params->weapon_count; i++) {
        if (carries(own, i)) {
            used |= add_rounds(&params->weapons[i], own, i, rounds);
        }
    }
    return used;
}

static bool is_spent(const struct arena_params *params, const struct arb_own *own, int32_t index)
{
    return params->weapons[index].magazine > 0 && own->magazine[index] == 0 &&
           own->reserve[index] == 0;
}

bool arena_drop_spent(const struct arena_params *params, struct arb_own *own)
{
    if (!carries(own, own->weapon) || !is_spent(params, own, own->weapon)) {
        return false;
    }
    for (int32_t i = 0; i < params->weapon_count; i++) {
        if (carries(own, i) && !is_spent(params, own, i)) {
            own->weapon = (uint8_t)i;
            own->reload_ticks = 0;
            return true;
        }
    }
    return false;
}
