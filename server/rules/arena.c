/* The arena mode: shooters between walls. Here its table, characters and their end; weapons,
 * pickups and checks have files of their own.
 *
 * Order within a tick, and the ties it decides (all by player slot, never by entity or contact
 * order):
 * 1. Shots, by slot, then sequence. All were resolved before the first one hurts, so a player who
 * is killed by an earlier shot of the tick still fires the shot that had left: two can kill each
 *    other. Who is already dead gives nothing to a later shot of the tick.
 *    Then projectiles, by slot of the shooter, then in the order of launch (arena_projectiles.c);
 *    each first who it hits, then its blast, by slot of the victim.
 * 2. Pickups, by the moment of touch, then slot (arena_pickups.c). The dead take none.
 * 3. Pushes (arena.player_push), summed in integers, then applied by slot.
 * 4. Respawns by slot; pickups that are due; the score limit. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"

#include "shared/base/arb_math.h"

#include <math.h>

#define PUSH_UNIT (1.0F / 65536.0F) /* m, of CHARACTER_PUSH_* */

enum { CATEGORY_CHARACTER = 1, CATEGORY_PICKUP = 2 };

static struct world_entity *character_of(const struct world *world, uint16_t slot)
{
    return world_find(world, world->players[slot].controlled);
}

/* ---- numbers for the engine ---- */

static void arena_move_params(const void *data, uint32_t tick_rate, struct arb_move_params *out)
{
    const struct arena_params *params = data;
    *out = (struct arb_move_params){
        .mover = ARB_MOVER_ARENA,
        .weapon_count = (uint8_t)params->weapon_count,
        .tick_rate = (uint16_t)tick_rate,
        .radius = params->player_radius_m,
        .half_length = params->player_half_length_m,
        .max_speed = params->max_speed,
        .acceleration = params->acceleration,
        .friction = params->friction,
        .dash_speed = params->dash_speed,
        .dash_ticks = (uint16_t)arb_ms_to_ticks((uint32_t)params->dash_ms, tick_rate),
        .dash_cooldown_ticks =
            (uint16_t)arb_ms_to_ticks((uint32_t)params->dash_cooldown_ms, tick_rate),
    };
    for (int32_t i = 0; i < params->weapon_count; i++) {
        const struct arena_weapon *weapon = &params->weapons[i];
        bool reloads = weapon->magazine > 0;
        uint32_t reload = arb_ms_to_ticks((uint32_t)weapon->reload_ms, tick_rate);
        out->weapons[i] = (struct arb_weapon_step){
            .interval_ticks = (uint16_t)arb_ms_to_ticks((uint32_t)weapon->interval_ms, tick_rate),
            .magazine = (uint16_t)weapon->magazine,
            .reload_ticks = reloads ? (uint16_t)(reload > 0 ? reload : 1) : 0,
            .automatic = weapon->automatic,
        };
        if (weapon->kind == ARENA_PROJECTILE) {
            uint32_t life = arb_ms_to_ticks((uint32_t)weapon->projectile_life_ms, tick_rate);
            out->weapons[i].projectiles = (uint8_t)weapon->pellets;
            out->weapons[i].projectile_ticks = (uint16_t)life;
            out->weapons[i].projectile_speed = weapon->projectile_speed;
            out->weapons[i].projectile_radius = weapon->projectile_radius_m;
            out->weapons[i].projectile_spread = weapon->spread_rad;
        }
    }
}

static void arena_collide_kinds(const void *data, struct collide_kind kinds[ARB_KINDS_MAX])
{
    const struct arena_params *params = data;
    kinds[ARB_ARENA_CHARACTER] = (struct collide_kind){
        .category = CATEGORY_CHARACTER,
        .mask = CATEGORY_PICKUP | (params->player_push ? CATEGORY_CHARACTER : 0),
    };
    kinds[ARB_ARENA_PICKUP] = (struct collide_kind){.category = CATEGORY_PICKUP};
}

static void arena_rewind_kinds(const void *data, struct rewind_kind kinds[ARB_KINDS_MAX])
{
    const struct arena_params *params = data;
    struct rewind_kind *character = &kinds[ARB_ARENA_CHARACTER];
    character->count = (uint8_t)params->hit_shape_count;
    for (uint8_t i = 0; i < character->count; i++) {
        const struct arena_hit_shape *shape = &params->hit_shapes[i];
        character->shapes[i] = (struct rewind_shape){
            .a = {shape->ax, shape->ay},
            .b = {shape->bx, shape->by},
            .radius = shape->radius,
            .part = i,
        };
    }
}

/* ---- characters ---- */

/* Everybody who has a character, before the first choice of a tick. */
static void fill_crowd(const struct rules_context *context)
{
    const struct world *world = context->world;
    if (rules_crowd_is_filled(context->crowd)) return;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_entity *entity = character_of(world, slot);
        if (entity == NULL) continue;
        rules_crowd_add(context->crowd, slot, (struct arb_vec2){entity->x, entity->y}, 0.0F);
    }
    rules_crowd_set_filled(context->crowd);
}

/* One who looks for room. */
struct arena_look {
    const struct world *world;
    struct arb_vec2 at;
    uint8_t team;
    float anybody, enemy; /* squares of the distance to the nearest so far */
    float touch;          /* m; so near anybody counts */
    float least;          /* m; with an enemy so near the place is no better than another one */
};

static float look_at_character(void *asker, uint16_t other)
{
    struct arena_look *look = asker;
    const struct world_entity *entity = character_of(look->world, other);
    struct arb_vec2 way = arb_vec2_sub(look->at, (struct arb_vec2){entity->x, entity->y});
    float square = arb_vec2_dot(way, way);
    if (square < look->anybody) look->anybody = square;
    bool is_enemy = look->team == 0 || look->world->players[other].team != look->team;
    if (is_enemy && square < look->enemy) look->enemy = square;
    float enemy = sqrtf(look->enemy);
    return enemy <= look->least ? -INFINITY : fmaxf(enemy, look->touch);
}

float arena_room(const struct rules_context *context, uint16_t slot, struct arb_vec2 at,
                 float least)
{
    const struct arena_params *params = arena_params(context);
    float size = params->player_radius_m + params->player_half_length_m;
    struct arena_look look = {
        .world = context->world,
        .at = at,
        .team = context->world->players[slot].team,
        .anybody = INFINITY,
        .enemy = INFINITY,
        .touch = 2.0F * size,
        .least = least,
    };
    fill_crowd(context);
    rules_crowd_around(context->crowd, at, INFINITY, look_at_character, &look);
    float nearest = sqrtf(look.anybody);
    return nearest <= 2.0F * size ? nearest - 2.0F * size : sqrtf(look.enemy);
}

/* False: there is no free place or no free entity in this tick. */
static bool spawn_character(struct rules_context *context, uint16_t slot)
{
    struct world *world = context->world;
    const struct arena_params *params = arena_params(context);
    struct arb_hull hull = {params->player_radius_m, params->player_half_length_m};
    struct arb_vec2 at;
    struct rules_spawn spawn = {slot, hull, (uint32_t)params->spawn_candidates, arena_room};
    if (!rules_spawn_point(context, &spawn, &at)) {
        return false;
    }
    struct arb_key key = world_spawn(world, ARB_ARENA_CHARACTER);
    struct world_entity *entity = world_find(world, key);
    if (entity == NULL) {
        return false;
    }
    struct world_player *player = &world->players[slot];
    rules_bind(context, slot, key);
    player->respawn_tick = 0;
    arb_tick protection =
        arb_ms_to_ticks((uint32_t)params->spawn_protection_ms, context->tick_rate);
    player->values[PLAYER_PROTECTED_UNTIL] =
        (int32_t)(uint32_t)(world->head->tick + 1 + protection);
    player->own.x = at.x;
    player->own.y = at.y;
    player->own.heading = arb_rng_range(world_stream(world, WORLD_STREAM_SPAWN), -ARB_PI, ARB_PI);
    arena_arm(params, &player->own);

    entity->owner = slot;
    entity->team = player->team;
    entity->x = entity->previous_x = at.x;
    entity->y = entity->previous_y = at.y;
    entity->heading = player->own.heading;
    entity->radius = hull.radius + hull.half_length;
    entity->values[CHARACTER_HEALTH] = params->health;
    if (rules_crowd_is_filled(context->crowd)) rules_crowd_add(context->crowd, slot, at, 0.0F);
    return true;
}

static void begin_player(struct rules_context *context, uint16_t slot)
{
    if (!spawn_character(context, slot)) {
        rules_respawn_after(context, slot, 0);
    }
}

static void arena_player_joined(struct rules_context *context, uint16_t slot)
{
    rules_crowd_clear(context->crowd);
    begin_player(context, slot);
}

/* Leaving is a death by nobody: it saves no one from the count. */
static void arena_player_left(struct rules_context *context, uint16_t slot)
{
    context->world->players[slot].respawn_tick = 0;
    arena_drop_projectiles(context, slot);
    if (character_of(context->world, slot) != NULL) {
        rules_kill(context, slot, ARB_NO_SLOT, ARB_CAUSE_LEFT);
    }
}

static void arena_round_begin(struct rules_context *context)
{
    struct world *world = context->world;
    memset(world->rules, 0, world->head->rules_bytes);
    struct arena_place *places = (struct arena_place *)(void *)world->rules;
    for (uint32_t i = 0; i < context->map->pickup_count; i++) {
        places[i].due = world->head->tick + 1;
    }
    arena_place_pickups(context);
    rules_crowd_clear(context->crowd);
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        if (world->players[slot].presence == WORLD_PRESENT) {
            begin_player(context, slot);
        }
    }
}

static void arena_round_end(struct rules_context *context)
{
    rules_clear(context);
    memset(context->world->rules, 0, context->world->head->rules_bytes);
}

/* ---- stage 7 ---- */

/* The first shot ends the protection; a weapon that is spent gives way to another one. */
static void arena_moved(struct rules_context *context, const struct rules_moved *moved)
{
    struct world *world = context->world;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        if (!moved[slot].stepped || character_of(world, slot) == NULL) {
            continue;
        }
        struct world_player *player = &world->players[slot];
        if (moved[slot].report.fired) {
            player->values[PLAYER_PROTECTED_UNTIL] = (int32_t)(uint32_t)world->head->tick;
        }
        if (arena_drop_spent(arena_params(context), &player->own)) {
            player->outside_changes++;
        }
    }
}

static void arena_all_shots(struct rules_context *context, const struct rules_shot *shots,
                            uint32_t count)
{
    arena_shots(context, shots, count);
    arena_projectiles(context, shots, count);
}

/* Each of two that overlap gives way by half. The sums are integers, so the order of contacts does
 * not matter. */
static void push_pair(struct world_entity *a, struct world_entity *b)
{
    struct arb_vec2 between = {b->x - a->x, b->y - a->y};
    float distance = arb_vec2_length(between);
    float overlap = a->radius + b->radius - distance;
    if (overlap <= 0.0F) {
        return;
    }
    struct arb_vec2 along = {a->owner < b->owner ? 1.0F : -1.0F, 0.0F}; /* both in one place */
    if (distance > 0.0F) {
        along = arb_vec2_scale(between, 1.0F / distance);
    }
    int32_t x = arb_quantise(0.5F * overlap * along.x, PUSH_UNIT, -(1 << 22), 1 << 22);
    int32_t y = arb_quantise(0.5F * overlap * along.y, PUSH_UNIT, -(1 << 22), 1 << 22);
    a->values[CHARACTER_PUSH_X] -= x;
    a->values[CHARACTER_PUSH_Y] -= y;
    b->values[CHARACTER_PUSH_X] += x;
    b->values[CHARACTER_PUSH_Y] += y;
}

static void apply_push(struct rules_context *context, uint16_t slot)
{
    struct world_player *player = &context->world->players[slot];
    struct world_entity *entity = character_of(context->world, slot);
    if (entity == NULL) {
        return;
    }
    int32_t *x = &entity->values[CHARACTER_PUSH_X], *y = &entity->values[CHARACTER_PUSH_Y];
    if (*x == 0 && *y == 0) {
        return;
    }
    struct arb_hull hull = {context->move->radius, context->move->half_length};
    struct arb_vec2 delta = {arb_dequantise(*x, PUSH_UNIT), arb_dequantise(*y, PUSH_UNIT)};
    struct arb_vec2 centre = {player->own.x, player->own.y};
    struct arb_vec2 velocity = {player->own.vx, player->own.vy};
    arb_geometry_slide(context->geometry, hull, &centre, delta, &velocity);
    *x = 0;
    *y = 0;
    player->own.x = entity->x = centre.x;
    player->own.y = entity->y = centre.y;
    player->own.vx = entity->vx = velocity.x;
    player->own.vy = entity->vy = velocity.y;
    player->outside_changes++; /* no client predicts the others */
}

static void arena_contacts(struct rules_context *context, const struct collide_contact *contacts,
                           uint32_t count)
{
    struct world *world = context->world;
    arena_take_pickups(context, contacts, count);
    if (!arena_params(context)->player_push) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct world_entity *a = world_find(world, contacts[i].mover);
        struct world_entity *b = world_find(world, contacts[i].other);
        if (a != NULL && b != NULL && b->kind == ARB_ARENA_CHARACTER) {
            push_pair(a, b);
        }
    }
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        apply_push(context, slot);
    }
}

/* Of a player, or with teams of a team. */
static bool limit_reached(const struct rules_context *context)
{
    int32_t limit = arena_params(context)->score_limit;
    if (limit == 0) {
        return false;
    }
    int64_t team_score[UINT8_MAX + 1] = {0};
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        const struct world_player *player = &context->world->players[slot];
        int64_t score = player->score;
        if (player->team != 0) {
            score = team_score[player->team] += player->score;
        }
        if (player->team == 0 && score >= limit) {
            return true;
        }
    }
    for (int team = 1; team <= UINT8_MAX; team++) {
        if (team_score[team] >= limit) {
            return true;
        }
    }
    return false;
}

static void arena_update(struct rules_context *context)
{
    struct world *world = context->world;
    rules_crowd_clear(context->crowd);
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        if (rules_respawn_due(context, slot)) {
            spawn_character(context, slot); /* else again in the next tick */
        }
    }
    arena_place_pickups(context);
    if (limit_reached(context)) {
        world->head->ended_early = 1;
    }
}

/* ---- stage 8 ---- */

static void publish_character(const struct rules_context *context,
                              const struct world_entity *entity, int32_t *out)
{
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_CHARACTER];
    out[ARB_CHARACTER_OWNER] = entity->owner + 1;
    out[ARB_CHARACTER_TEAM] = entity->team;
    out[ARB_CHARACTER_X] = rules_quantise(kind, ARB_CHARACTER_X, entity->x);
    out[ARB_CHARACTER_Y] = rules_quantise(kind, ARB_CHARACTER_Y, entity->y);
    out[ARB_CHARACTER_VX] = rules_quantise(kind, ARB_CHARACTER_VX, entity->vx);
    out[ARB_CHARACTER_VY] = rules_quantise(kind, ARB_CHARACTER_VY, entity->vy);
    out[ARB_CHARACTER_HEADING] =
        (int32_t)arb_angle_to_turn(entity->heading, ARB_CHARACTER_TURN_BITS);
    out[ARB_CHARACTER_HEALTH] = entity->values[CHARACTER_HEALTH];
    out[ARB_CHARACTER_WEAPON] = context->world->players[entity->owner].own.weapon;
    out[ARB_CHARACTER_JUMP] = entity->jump;
}

static void arena_publish(const struct rules_context *context, const struct world_entity *entity,
                          int32_t out[ARB_KIND_FIELDS_MAX])
{
    if (entity->kind == ARB_ARENA_CHARACTER) {
        publish_character(context, entity, out);
        return;
    }
    if (entity->kind == ARB_ARENA_PROJECTILE) {
        arena_publish_projectile(context, entity, out);
        return;
    }
    const struct arb_kind *kind = &arb_schema_arena.kinds[ARB_ARENA_PICKUP];
    out[ARB_PICKUP_TYPE] = entity->values[PICKUP_TYPE];
    out[ARB_PICKUP_VALUE] = entity->values[PICKUP_VALUE];
    out[ARB_PICKUP_X] = rules_quantise(kind, ARB_PICKUP_X, entity->x);
    out[ARB_PICKUP_Y] = rules_quantise(kind, ARB_PICKUP_Y, entity->y);
}

/* The tick of the press shows its first step (shared/move/arb_step.c). */
static bool arena_evades(const struct rules_context *context, uint16_t slot, arb_tick *since)
{
    uint16_t left = context->world->players[slot].own.dash_ticks;
    *since = context->world->head->tick - (arb_tick)(context->move->dash_ticks - left);
    return left > 0;
}

/* Of what hits at once: a projectile meets whom it comes to, seen or not. */
static float arena_reach(const void *data)
{
    const struct arena_params *params = data;
    float reach = 0.0F;
    for (uint32_t i = 0; i < (uint32_t)params->weapon_count; i++) {
        const struct arena_weapon *weapon = &params->weapons[i];
        bool farther = weapon->kind == ARENA_HITSCAN && weapon->range_m > reach;
        reach = farther ? weapon->range_m : reach;
    }
    return reach;
}

const struct rules rules_arena = {
    .name = "arena",
    .schema = &arb_schema_arena,
    .options = arena_options,
    .option_count = ARENA_OPTIONS,
    .params_bytes = sizeof(struct arena_params),
    .teams = true,
    .check = arena_check,
    .reach = arena_reach,
    .move_params = arena_move_params,
    .capacity = arena_capacity,
    .collide_kinds = arena_collide_kinds,
    .rewind_kinds = arena_rewind_kinds,
    .round_begin = arena_round_begin,
    .round_end = arena_round_end,
    .player_joined = arena_player_joined,
    .player_left = arena_player_left,
    .shoot = arena_shoot,
    .evades = arena_evades,
    .moved = arena_moved,
    .shots = arena_all_shots,
    .contacts = arena_contacts,
    .update = arena_update,
    .publish = arena_publish,
    .state = arena_state_parts,
    .check_state = arena_check_state,
    .rank = rules_rank,
};
