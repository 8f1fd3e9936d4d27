/* Spawns and pickups: points and upright rectangles; checks of where they are. */
#include "server/config/map_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/move/arb_geometry.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Two spawns nearer to each other than this would put characters into each other in any game. */
static const float SPAWN_APART_M = 0.1F;
static const float PROBE_RADIUS_M = 0.05F;
enum { PROBES = 17 }; /* places looked at along each side of an area */

static bool read_text_property(const struct map_loader *loader, const struct map_object *object,
                               const char *name, char out[MAP_TEXT_BYTES])
{
    const cJSON *node = map_property(object->node, name);
    if (cJSON_IsString(node) && node->valuestring[0] != 0 &&
        strlen(node->valuestring) < MAP_TEXT_BYTES) {
        memset(out, 0, MAP_TEXT_BYTES);
        memcpy(out, node->valuestring, strlen(node->valuestring));
        return true;
    }
    return map_fail(loader, object->node, object->layer, node != NULL ? node : object->node,
                    "a pickup needs the property %s; allowed: a string of 1 to %d bytes", name,
                    MAP_TEXT_BYTES - 1);
}

static bool read_int_property(const struct map_loader *loader, const struct map_object *object,
                              const char *name, int32_t high, int32_t *out)
{
    const cJSON *node = map_property(object->node, name);
    int64_t value = 0;
    if (node == NULL) {
        *out = 0;
        return true;
    }
    if (json_read_i64(loader->source->json, node, &value) != JSON_NUMBER_OK || value < 0 ||
        value > high) {
        return map_fail(loader, object->node, object->layer, node,
                        "property %s; allowed: an integer from 0 to %d", name, high);
    }
    *out = (int32_t)value;
    return true;
}

static bool read_respawn(const struct map_loader *loader, const struct map_object *object,
                         float *out)
{
    const cJSON *node = map_property(object->node, "respawn_s");
    double value = 0.0;
    *out = 0.0F;
    if (node == NULL) {
        return true;
    }
    if (json_read_double(loader->source->json, node, &value) != JSON_NUMBER_OK || value < 0.0 ||
        value > 86400.0) {
        return map_fail(loader, object->node, object->layer, node,
                        "property respawn_s; allowed: a number from 0 to 86400 (s)");
    }
    *out = (float)value;
    return true;
}

/* The box of a point or of an upright rectangle. */
static bool read_box(const struct map_loader *loader, const struct map_object *object,
                     struct map_place *place)
{
    static const char *const others[][2] = {
        {"polygon", "a polygon"}, {"polyline", "a polyline"}, {"ellipse", "an ellipse"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (json_member(object->node, others[i][0]) != NULL) {
            return map_fail(loader, object->node, object->layer, object->node,
                            "%s is not allowed for its class; allowed: a point or a rectangle",
                            others[i][1]);
        }
    }
    bool point = cJSON_IsTrue(json_member(object->node, "point"));
    double w = point ? 0.0 : object->width, h = point ? 0.0 : object->height;
    if (w < 0.0 || h < 0.0) {
        return map_fail(loader, object->node, object->layer, object->node,
                        "allowed: width and height of at least 0");
    }
    if ((w > 0.0 || h > 0.0) && object->sine != 0.0 && object->cosine != 0.0) {
        return map_fail(loader, object->node, object->layer, object->node,
                        "an area cannot be turned; allowed: multiples of 90 degrees");
    }
    struct arb_vec2 a = map_to_world(loader, object, 0, 0), b = map_to_world(loader, object, w, h);
    place->low = (struct arb_vec2){fminf(a.x, b.x), fminf(a.y, b.y)};
    place->high = (struct arb_vec2){fmaxf(a.x, b.x), fmaxf(a.y, b.y)};
    return true;
}

/* Cut between characters, never inside one. */
static void copy_name(const cJSON *node, char out[MAP_TEXT_BYTES])
{
    const cJSON *name = json_member(node, "name");
    const char *text = cJSON_IsString(name) ? name->valuestring : "";
    size_t length = strlen(text) < MAP_TEXT_BYTES ? strlen(text) : MAP_TEXT_BYTES - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) {
        length--;
    }
    memcpy(out, text, length);
}

bool map_read_place(struct map_loader *loader, const struct map_object *object, bool spawn)
{
    struct map *map = loader->map;
    uint32_t *count = spawn ? &map->spawn_count : &map->pickup_count;
    if (*count == MAP_PLACES_MAX) {
        return map_fail(loader, object->node, object->layer, object->node,
                        "is one too many; allowed: at most %d", MAP_PLACES_MAX);
    }
    struct map_place *place = &(spawn ? loader->spawns : loader->pickups)[*count];
    memset(place, 0, sizeof *place);
    copy_name(object->node, place->name);
    if (!read_box(loader, object, place)) {
        return false;
    }
    bool ok = spawn ? read_int_property(loader, object, "team", 2, &place->team)
                    : read_text_property(loader, object, "kind", place->type) &&
                          read_int_property(loader, object, "value", 1000000, &place->value) &&
                          read_respawn(loader, object, &place->respawn_s);
    if (!ok) {
        return false;
    }
    (spawn ? loader->spawn_origins : loader->pickup_origins)[(*count)++] =
        (struct map_origin){object->node, object->layer};
    return true;
}

/* ---- checks, once all is read ---- */

/* Points too near, areas that share ground, a point in an area. */
static bool overlap(const struct map_place *a, const struct map_place *b)
{
    float apart_x = fmaxf(a->low.x, b->low.x) - fminf(a->high.x, b->high.x);
    float apart_y = fmaxf(a->low.y, b->low.y) - fminf(a->high.y, b->high.y);
    bool areas = a->high.x > a->low.x && b->high.x > b->low.x;
    float least = areas ? 0.0F : SPAWN_APART_M;
    return apart_x < least && apart_y < least;
}

static bool check_overlaps(struct map_loader *loader)
{
    for (uint32_t i = 0; i < loader->map->spawn_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (!overlap(&loader->spawns[i], &loader->spawns[k])) {
                continue;
            }
            const cJSON *other = json_member(loader->spawn_origins[k].node, "id");
            char shown[32] = "another";
            if (other != NULL) {
                config_show(loader->source->json, other, shown, sizeof shown);
            }
            const struct map_origin *origin = &loader->spawn_origins[i];
            return map_fail(loader, origin->node, origin->layer, origin->node,
                            "overlaps the spawn of object %s; allowed: apart", shown);
        }
    }
    return true;
}

static bool is_free(const struct arb_geometry *geometry, struct arb_vec2 at)
{
    struct arb_hull probe = {.radius = PROBE_RADIUS_M};
    return arb_geometry_clearance(geometry, probe, at, 1.0F) > 0.0F;
}

/* A point: itself; an area: somewhere on a grid over it. */
static bool has_room(const struct arb_geometry *geometry, const struct map_place *place)
{
    float width = place->high.x - place->low.x, height = place->high.y - place->low.y;
    for (int y = 0; y < PROBES; y++) {
        for (int x = 0; x < PROBES; x++) {
            float part_x = ((float)x + 0.5F) / (float)PROBES;
            float part_y = ((float)y + 0.5F) / (float)PROBES;
            struct arb_vec2 at = {place->low.x + part_x * width, place->low.y + part_y * height};
            if (is_free(geometry, at)) {
                return true;
            }
            if (width <= 0.0F && height <= 0.0F) {
                return false;
            }
        }
    }
    return false;
}

static bool check_room(struct map_loader *loader, const struct arb_geometry *geometry,
                       const struct map_place *places, const struct map_origin *origins,
                       uint32_t count)
{
    const struct arb_bounds *bounds = &loader->map->bounds;
    for (uint32_t i = 0; i < count; i++) {
        const struct map_place *place = &places[i];
        const cJSON *node = origins[i].node;
        const char *layer = origins[i].layer;
        if (place->low.x < bounds->low.x || place->low.y < bounds->low.y ||
            place->high.x > bounds->high.x || place->high.y > bounds->high.y) {
            return map_fail(loader, node, layer, node, "reaches out of the map's bounds");
        }
        if (!has_room(geometry, place)) {
            return map_fail(loader, node, layer, node, "is inside a wall; allowed: free ground");
        }
    }
    return true;
}

bool map_check_places(struct map_loader *loader)
{
    const struct map *map = loader->map;
    struct arb_geometry *geometry = arb_geometry_create(map->shapes, map->shape_count, map->bounds);
    bool ok =
        check_overlaps(loader) &&
        check_room(loader, geometry, loader->spawns, loader->spawn_origins, map->spawn_count) &&
        check_room(loader, geometry, loader->pickups, loader->pickup_origins, map->pickup_count);
    arb_geometry_destroy(geometry);
    return ok;
}
