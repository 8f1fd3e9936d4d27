/* What the serpent mode's numbers ask of each other and of the map, and how much room a match of it
 * takes. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include "shared/base/arb_math.h"

#include <math.h>

/* A body of length l keeps the points within l, one beyond its cut end, and the one that is pushed
 * before the tail is cut. */
static int32_t body_points(const struct serpent_params *params)
{
    float longest = fmaxf(params->max_length_m, params->start_length_m);
    return arb_quantise(longest / params->body_spacing_m, 1.0F, 0, 1 << 20) + 4;
}

/* Whoever dies and comes back in one tick needs two entities in it. */
static uint32_t entity_count(const struct serpent_params *params, uint32_t max_players)
{
    return 2 * max_players + (uint32_t)params->food_max;
}

static bool check_body(const struct serpent_params *params, uint32_t tick_rate, char *error,
                       size_t error_bytes)
{
    float step = params->boost_speed / (float)tick_rate;
    if (step > params->body_spacing_m) {
        return rules_refuse(error, error_bytes,
                            "serpent.body_spacing_m is %g: at least %g, the step of a boosting "
                            "head (serpent.boost_speed / match.tick_rate)",
                            (double)params->body_spacing_m, (double)step);
    }
    if (params->start_length_m > params->max_length_m) {
        return rules_refuse(error, error_bytes,
                            "serpent.start_length_m is %g: at most serpent.max_length_m (%g)",
                            (double)params->start_length_m, (double)params->max_length_m);
    }
    if (body_points(params) > ARB_BODY_POINTS_MAX) {
        return rules_refuse(error, error_bytes,
                            "serpent.max_length_m is %g: at most %g with serpent.body_spacing_m %g",
                            (double)params->max_length_m,
                            (double)((float)(ARB_BODY_POINTS_MAX - 5) * params->body_spacing_m),
                            (double)params->body_spacing_m);
    }
    return true;
}

static bool check_food(const struct serpent_params *params, uint32_t max_players,
                       const struct map *map, char *error, size_t error_bytes)
{
    uint32_t least = (uint32_t)params->food_count + map->pickup_count;
    if ((uint32_t)params->food_max < least) {
        return rules_refuse(error, error_bytes,
                            "serpent.food_max is %d: at least %u, serpent.food_count and the "
                            "map's pickups",
                            params->food_max, least);
    }
    if (entity_count(params, max_players) > ARB_ENTITIES_MAX) {
        return rules_refuse(error, error_bytes,
                            "serpent.food_max is %d: at most %u with match.max_players %u",
                            params->food_max, ARB_ENTITIES_MAX - 2 * max_players, max_players);
    }
    int32_t most = serpent_food_most();
    for (uint32_t i = 0; i < map->pickup_count; i++) {
        const struct map_place *place = &map->pickups[i];
        if (strcmp(place->type, "food") != 0) {
            return rules_refuse(error, error_bytes,
                                "pickup \"%s\" at (%g, %g) m has kind \"%s\": allowed is \"food\"",
                                RULES_PLACE(place), place->type);
        }
        if (place->value < 0 || place->value > most) {
            return rules_refuse(
                error, error_bytes,
                "pickup \"%s\" at (%g, %g) m has value %d: allowed are 0 (serpent.food_value) "
                "to %d",
                RULES_PLACE(place), place->value, most);
        }
    }
    return true;
}

int32_t serpent_food_most(void)
{
    return (1 << arb_schema_serpent.kinds[ARB_SERPENT_FOOD].fields[ARB_FOOD_VALUE].bits) - 1;
}

bool serpent_check(const void *data, uint32_t tick_rate, uint32_t max_players,
                   const struct map *map, char *error, size_t error_bytes)
{
    const struct serpent_params *params = data;
    if (params->boost_speed < params->base_speed) {
        return rules_refuse(error, error_bytes,
                            "serpent.boost_speed is %g: at least serpent.base_speed (%g)",
                            (double)params->boost_speed, (double)params->base_speed);
    }
    return check_body(params, tick_rate, error, error_bytes) &&
           check_food(params, max_players, map, error, error_bytes) &&
           rules_check_spawns(map, (struct arb_hull){.radius = params->head_radius_m}, error,
                              error_bytes);
}

void serpent_capacity(const void *data, const struct map *map, uint32_t max_players,
                      struct world_capacity *out)
{
    const struct serpent_params *params = data;
    out->entities = (uint16_t)entity_count(params, max_players);
    /* One each: a body is free again after the tick in which its serpent died. Bodies are most of
     * the state, and all of it is hashed in each tick. */
    out->bodies = (uint16_t)max_players;
    out->body_points = (uint16_t)body_points(params);
    out->rules_bytes =
        (uint32_t)(sizeof(struct serpent_state) + map->pickup_count * sizeof(arb_tick));
}
