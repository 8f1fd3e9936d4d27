/* Where things may be put: the places of a map, and free room between its walls. */
#include "server/rules/rules_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static float draw(struct arb_rng *rng, float low, float high)
{
    return low < high ? arb_rng_range(rng, low, high) : low;
}

static bool is_point(const struct map_place *place)
{
    return !(place->low.x < place->high.x || place->low.y < place->high.y);
}

struct arb_vec2 rules_place_point(const struct map_place *place, struct arb_rng *rng)
{
    float x = draw(rng, place->low.x, place->high.x);
    float y = draw(rng, place->low.y, place->high.y);
    return (struct arb_vec2){x, y};
}

static bool is_free(const struct arb_geometry *geometry, struct arb_hull hull, struct arb_vec2 at)
{
    return arb_geometry_clearance(geometry, hull, at, hull.radius) > 0.0F;
}

bool rules_free_point(const struct rules_context *context, struct arb_rng *rng, struct arb_vec2 low,
                      struct arb_vec2 high, float radius, uint32_t tries, struct arb_vec2 *out)
{
    for (uint32_t i = 0; i < tries; i++) {
        float x = draw(rng, low.x, high.x);
        float y = draw(rng, low.y, high.y);
        *out = (struct arb_vec2){x, y};
        if (is_free(context->geometry, (struct arb_hull){.radius = radius}, *out)) {
            return true;
        }
    }
    return false;
}

/* ---- spawns ---- */

static bool serves(const struct map_place *place, uint8_t team)
{
    return team == 0 || place->team == 0 || place->team == team;
}

static uint32_t count_serving(const struct map *map, uint8_t team)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < map->spawn_count; i++) {
        count += serves(&map->spawns[i], team);
    }
    return count;
}

/* n is below count_serving. */
static const struct map_place *nth_serving(const struct map *map, uint8_t team, uint32_t n)
{
    const struct map_place *place = map->spawns;
    while (!serves(place, team) || n-- > 0) {
        place++;
    }
    ARB_ASSERT(place < map->spawns + map->spawn_count);
    return place;
}

struct best_place {
    bool found;
    float room;
    struct arb_vec2 at;
};

static void consider(const struct rules_context *context, const struct rules_spawn *spawn,
                     struct arb_vec2 at, struct best_place *best)
{
    float least = best->found ? best->room : -INFINITY;
    float room = spawn->room(context, spawn->slot, at, least);
    /* Walls last: most places are beaten already. */
    if ((!best->found || room > least) && is_free(context->geometry, spawn->hull, at)) {
        *best = (struct best_place){true, room, at};
    }
}

bool rules_spawn_point(const struct rules_context *context, const struct rules_spawn *spawn,
                       struct arb_vec2 *out)
{
    const struct map *map = context->map;
    struct arb_rng *rng = world_stream(context->world, WORLD_STREAM_SPAWN);
    uint8_t team = context->world->players[spawn->slot].team;
    uint32_t count = count_serving(map, team);
    if (count == 0) {
        team = 0;
        count = map->spawn_count;
    }
    struct best_place best = {0};
    /* Evenly over the list from a random start: with no more places than candidates each is met. */
    uint32_t stride = count > spawn->candidates ? count / spawn->candidates : 1;
    uint32_t start = count > 0 ? arb_rng_below(rng, count) : 0;
    for (uint32_t i = 0; i < spawn->candidates && count > 0; i++) {
        const struct map_place *place = nth_serving(map, team, (start + i * stride) % count);
        if (i < count || !is_point(place)) {
            consider(context, spawn, rules_place_point(place, rng), &best);
        }
    }
    for (uint32_t i = 0; i < spawn->candidates && (!best.found || best.room < 0.0F); i++) {
        float x = draw(rng, map->bounds.low.x, map->bounds.high.x);
        float y = draw(rng, map->bounds.low.y, map->bounds.high.y);
        consider(context, spawn, (struct arb_vec2){x, y}, &best);
    }
    *out = best.at;
    return best.found;
}

/* ---- checks ---- */

bool rules_refuse(char *error, size_t error_bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error, error_bytes, format, arguments);
    va_end(arguments);
    return false;
}

static bool check_spawn_walls(const struct map *map, struct arb_hull hull, char *error,
                              size_t error_bytes)
{
    struct arb_geometry *geometry = arb_geometry_create(map->shapes, map->shape_count, map->bounds);
    bool good = true;
    for (uint32_t i = 0; i < map->spawn_count && good; i++) {
        const struct map_place *place = &map->spawns[i];
        if (is_point(place) && !is_free(geometry, hull, place->low)) {
            good = rules_refuse(error, error_bytes,
                                "spawn \"%s\" at (%g, %g) m overlaps a wall or the bounds: a "
                                "character of radius %g m must fit there",
                                RULES_PLACE(place), (double)hull.radius);
        }
    }
    arb_geometry_destroy(geometry);
    return good;
}

bool rules_check_spawns(const struct map *map, struct arb_hull hull, char *error,
                        size_t error_bytes)
{
    if (map->spawn_count == 0) {
        return rules_refuse(error, error_bytes,
                            "the map has no object of class \"spawn\": at least one is needed");
    }
    for (uint32_t i = 0; i < map->spawn_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            const struct map_place *a = &map->spawns[k], *b = &map->spawns[i];
            if (is_point(a) && is_point(b) && arb_vec2_distance(a->low, b->low) < hull.radius) {
                return rules_refuse(error, error_bytes,
                                    "spawn \"%s\" at (%g, %g) m overlaps spawn \"%s\": points of "
                                    "class \"spawn\" must be at least %g m apart",
                                    RULES_PLACE(b), a->name, (double)hull.radius);
            }
        }
    }
    return check_spawn_walls(map, hull, error, error_bytes);
}
