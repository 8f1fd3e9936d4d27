/* What the arena's numbers ask of each other and of the map, and how much room a match of it takes.
 */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"

static bool check_projectile(const struct arena_params *params, int32_t index, char *error,
                             size_t error_bytes)
{
    const struct arena_weapon *weapon = &params->weapons[index];
    if (weapon->kind != ARENA_PROJECTILE) {
        return weapon->blast_m <= 0.0F ||
               rules_refuse(error, error_bytes,
                            "arena.weapons[%d].blast_m is %g: 0 for a weapon of kind \"hitscan\"",
                            index, (double)weapon->blast_m);
    }
    if (weapon->pierce > 0) {
        return rules_refuse(error, error_bytes,
                            "arena.weapons[%d].pierce is %d: 0 for a weapon of kind "
                            "\"projectile\"",
                            index, weapon->pierce);
    }
    if (weapon->projectile_radius_m > params->player_radius_m) {
        return rules_refuse(
            error, error_bytes,
            "arena.weapons[%d].projectile_radius_m is %g: at most arena.player_radius_m (%g)",
            index, (double)weapon->projectile_radius_m, (double)params->player_radius_m);
    }
    return true;
}

static bool check_weapon(const struct arena_params *params, int32_t index, char *error,
                         size_t error_bytes)
{
    const struct arena_weapon *weapon = &params->weapons[index];
    if (weapon->falloff_from_m > weapon->falloff_to_m) {
        return rules_refuse(error, error_bytes,
                            "arena.weapons[%d].falloff_from_m is %g: at most falloff_to_m (%g)",
                            index, (double)weapon->falloff_from_m, (double)weapon->falloff_to_m);
    }
    if (weapon->damage_far > weapon->damage) {
        return rules_refuse(error, error_bytes,
                            "arena.weapons[%d].damage_far is %d: at most damage (%d)", index,
                            weapon->damage_far, weapon->damage);
    }
    if (weapon->reserve > weapon->reserve_max) {
        return rules_refuse(error, error_bytes,
                            "arena.weapons[%d].reserve is %d: at most reserve_max (%d)", index,
                            weapon->reserve, weapon->reserve_max);
    }
    if (weapon->magazine == 0 && weapon->reserve_max > 0) {
        return rules_refuse(error, error_bytes,
                            "arena.weapons[%d].reserve_max is %d: 0 for a weapon without magazine",
                            index, weapon->reserve_max);
    }
    for (int32_t other = 0; other < index; other++) {
        if (strcmp(params->weapons[other].name, weapon->name) == 0) {
            return rules_refuse(error, error_bytes,
                                "arena.weapons[%d].name is \"%s\", as that of arena.weapons[%d]: "
                                "each weapon needs its own",
                                index, weapon->name, other);
        }
    }
    return check_projectile(params, index, error, error_bytes);
}

static bool check_numbers(const struct arena_params *params, char *error, size_t error_bytes)
{
    if (params->health > params->health_max) {
        return rules_refuse(error, error_bytes, "arena.health is %d: at most arena.health_max (%d)",
                            params->health, params->health_max);
    }
    if (params->dash_speed > 0.0F && params->dash_ms == 0) {
        return rules_refuse(error, error_bytes,
                            "arena.dash_ms is 0: at least 1 while arena.dash_speed is above 0");
    }
    for (int32_t i = 0; i < params->weapon_count; i++) {
        if (!check_weapon(params, i, error, error_bytes)) {
            return false;
        }
    }
    return true;
}

static bool find_type(const char *name, enum arb_pickup_type *type)
{
    static const char *const names[] = {
        [ARB_PICKUP_HEALTH] = "health",
        [ARB_PICKUP_AMMO] = "ammo",
        [ARB_PICKUP_WEAPON] = "weapon",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            *type = (enum arb_pickup_type)i;
            return true;
        }
    }
    return false;
}

int32_t arena_pickup_most(void)
{
    return (1 << arb_schema_arena.kinds[ARB_ARENA_PICKUP].fields[ARB_PICKUP_VALUE].bits) - 1;
}

bool arena_pickup_of(const struct arena_params *params, const struct map_place *place,
                     enum arb_pickup_type *type, int32_t *value)
{
    if (!find_type(place->type, type)) {
        return false;
    }
    *value = place->value;
    switch (*type) {
    case ARB_PICKUP_HEALTH:
        *value = place->value != 0 ? place->value : params->pickup_health;
        break;
    case ARB_PICKUP_AMMO:
        *value = place->value != 0 ? place->value : params->pickup_ammo;
        break;
    case ARB_PICKUP_WEAPON: /* numbers in files count from 1, indices from 0 */
        *value = (place->value != 0 ? place->value : params->pickup_weapon) - 1;
        break;
    }
    return true;
}

static bool check_pickup(const struct arena_params *params, const struct map_place *place,
                         char *error, size_t error_bytes)
{
    enum arb_pickup_type type;
    int32_t value;
    if (!arena_pickup_of(params, place, &type, &value)) {
        return rules_refuse(
            error, error_bytes,
            "pickup \"%s\" at (%g, %g) m has kind \"%s\": allowed are \"health\", \"ammo\", "
            "\"weapon\"",
            RULES_PLACE(place), place->type);
    }
    if (type == ARB_PICKUP_WEAPON && (value < 0 || value >= params->weapon_count)) {
        return rules_refuse(
            error, error_bytes,
            "pickup \"%s\" at (%g, %g) m gives weapon %d, and arena.weapons has %d (the map's "
            "value, else arena.pickup_weapon; counted from 1)",
            RULES_PLACE(place), value + 1, params->weapon_count);
    }
    int32_t most = arena_pickup_most();
    if (type != ARB_PICKUP_WEAPON && (value < 1 || value > most)) {
        return rules_refuse(error, error_bytes,
                            "pickup \"%s\" at (%g, %g) m has value %d: allowed are 1 to %d",
                            RULES_PLACE(place), value, most);
    }
    return true;
}

/* Whoever dies and comes back in one tick needs two entities in it. */
static uint32_t entity_count(const struct arena_params *params, const struct map *map,
                             uint32_t max_players)
{
    return (2 + arena_flights_max(params)) * max_players + map->pickup_count;
}

bool arena_check(const void *data, uint32_t tick_rate, uint32_t max_players, const struct map *map,
                 char *error, size_t error_bytes)
{
    (void)tick_rate;
    const struct arena_params *params = data;
    if (!check_numbers(params, error, error_bytes)) {
        return false;
    }
    for (uint32_t i = 0; i < map->pickup_count; i++) {
        if (!check_pickup(params, &map->pickups[i], error, error_bytes)) {
            return false;
        }
    }
    if (entity_count(params, map, max_players) > ARB_ENTITIES_MAX) {
        return rules_refuse(error, error_bytes,
                            "the map has %u pickups and arena.weapons up to %u projectiles of each "
                            "player at one time (pellets * projectile_life_ms / interval_ms): with "
                            "match.max_players %u that is more than %d entities",
                            map->pickup_count, arena_flights_max(params), max_players,
                            ARB_ENTITIES_MAX);
    }
    struct arb_hull hull = {params->player_radius_m, params->player_half_length_m};
    return rules_check_spawns(map, hull, error, error_bytes);
}

void arena_capacity(const void *params, const struct map *map, uint32_t max_players,
                    struct world_capacity *out)
{
    uint32_t flights = arena_flights_max(params) * max_players;
    out->entities = (uint16_t)entity_count(params, map, max_players);
    out->bodies = 0;
    out->body_points = 0;
    out->rules_bytes = map->pickup_count * (uint32_t)sizeof(struct arena_place) +
                       flights * (uint32_t)sizeof(struct arb_key);
}
