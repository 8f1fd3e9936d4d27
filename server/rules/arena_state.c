/* The arena's own state in saved blocks: when each pickup is due, and what each player has under
 * way. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"

#include "shared/move/arb_path.h"

static const struct arb_field place_rows[] = {ARB_FORM(arena_place, due, U64, 0, 0)};
static const struct arb_fields place_form = ARB_FIELDS("pickup place", place_rows);

struct flight {
    struct arb_key key;
};
static const struct arb_field flight_rows[] = {ARB_FORM(flight, key, KEY, 0, 0)};
static const struct arb_fields flight_form = ARB_FIELDS("flight", flight_rows);

uint32_t arena_state_parts(const void *params, const struct map *map, uint32_t max_players,
                           struct arb_form_part parts[WORLD_RULES_PARTS])
{
    parts[0] = (struct arb_form_part){"pickup_places", &place_form, map->pickup_count, NULL};
    parts[1] = (struct arb_form_part){"flights", &flight_form,
                                      arena_flights_max(params) * max_players, NULL};
    return 2;
}

static bool is_weapon(const struct arena_params *params, int32_t index)
{
    return index >= 0 && index < params->weapon_count;
}

static bool pickup_is_good(const struct arena_params *params, const struct map *map,
                           const struct world_entity *entity)
{
    int32_t type = entity->values[PICKUP_TYPE], value = entity->values[PICKUP_VALUE];
    int32_t place = entity->values[PICKUP_PLACE];
    return place >= 0 && (uint32_t)place < map->pickup_count && value >= 0 &&
           value <= arena_pickup_most() && type >= 0 && type <= ARB_PICKUP_WEAPON &&
           (type != ARB_PICKUP_WEAPON || is_weapon(params, value));
}

static bool is_place(int32_t bits)
{
    float place = rules_float(bits);
    return place >= -8192.0F && place <= 8192.0F;
}

/* Its end lies as near to its start as the longest life, and neither is far from this tick: the low
 * bits would be taken for other moments. */
static bool projectile_is_good(const struct arena_params *params, const struct world *world,
                               const struct world_entity *entity)
{
    enum { MOMENTS_FAR = 1 << 24 };
    int32_t weapon = entity->values[PROJECTILE_SHOT] & 0xFF;
    uint32_t now = (uint32_t)(world->head->tick * (ARB_FINE_TICK / ARB_PATH_MOMENT));
    int32_t start = (int32_t)((uint32_t)entity->values[PROJECTILE_START] - now);
    int32_t end = (int32_t)((uint32_t)entity->values[PROJECTILE_END] - now);
    return is_weapon(params, weapon) && params->weapons[weapon].kind == ARENA_PROJECTILE &&
           entity->owner != ARB_NO_SLOT && is_place(entity->values[PROJECTILE_ORIGIN_X]) &&
           is_place(entity->values[PROJECTILE_ORIGIN_Y]) && start > -MOMENTS_FAR && start <= end &&
           end < MOMENTS_FAR;
}

static bool entity_is_good(const struct arena_params *params, const struct map *map,
                           const struct world *world, const struct world_entity *entity)
{
    int32_t health = entity->values[CHARACTER_HEALTH];
    switch (entity->kind) {
    case ARB_ARENA_PICKUP:
        return pickup_is_good(params, map, entity);
    case ARB_ARENA_PROJECTILE:
        return projectile_is_good(params, world, entity);
    default:
        return entity->owner != ARB_NO_SLOT && health >= 0 && health <= ARENA_HEALTH_MOST &&
               world->players[entity->owner].controlled.id == entity - world->entities;
    }
}

/* Each player's flights come first and are its own; every projectile is in its owner's list once.
 */
static bool flights_are_good(const struct arena_params *params, const struct map *map,
                             const struct world *world, uint32_t projectiles)
{
    uint32_t most = arena_flights_max(params), found = 0;
    const struct arb_key *flights =
        (const struct arb_key *)(const void *)(world->rules +
                                               map->pickup_count * sizeof(struct arena_place));
    for (uint32_t i = 0; i < most * world->head->player_capacity; i++) {
        if (arb_key_is_none(flights[i])) {
            if (flights[i].id != 0) return false;
            continue;
        }
        const struct world_entity *entity = world_find(world, flights[i]);
        bool first = i % most == 0 || !arb_key_is_none(flights[i - 1]);
        if (!first || entity == NULL || entity->kind != ARB_ARENA_PROJECTILE ||
            entity->owner != i / most) {
            return false;
        }
        for (uint32_t before = i - i % most; before < i; before++) {
            if (arb_key_equal(flights[before], flights[i])) return false;
        }
        found++;
    }
    return found == projectiles;
}

bool arena_check_state(const void *data, const struct map *map, const struct world *world)
{
    const struct arena_params *params = data;
    uint32_t projectiles = 0;
    for (uint32_t id = 0; id < world->head->entity_capacity; id++) {
        const struct world_entity *entity = &world->entities[id];
        if (!entity->alive) continue;
        if (!entity_is_good(params, map, world, entity)) return false;
        projectiles += entity->kind == ARB_ARENA_PROJECTILE;
    }
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        const struct world_entity *entity = world_find(world, player->controlled);
        if (entity != NULL &&
            (entity->kind != ARB_ARENA_CHARACTER || !is_weapon(params, player->own.weapon))) {
            return false;
        }
    }
    return flights_are_good(params, map, world, projectiles);
}
