/* A Tiled map (.tmj): its properties, its layers, and the order of it all. Unknown members are
 * other people's (the editor adds some with each version) and are left alone; what this reads must
 * be right.
 */
#include "server/config/map_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail_root(const struct map_loader *loader, const cJSON *place, const char *what)
{
    return config_fail_node(loader->error, loader->source, place, "%s", what);
}

static bool has_text(const cJSON *object, const char *name, const char *text)
{
    const cJSON *node = json_member(object, name);
    return cJSON_IsString(node) && strcmp(node->valuestring, text) == 0;
}

/* "left top width height" in pixels of the editor. */
static bool parse_bounds(struct map_loader *loader, const cJSON *node)
{
    double values[4];
    const char *at = cJSON_IsString(node) ? node->valuestring : "";
    for (int i = 0; i < 4; i++) {
        char *end;
        values[i] = strtod(at, &end);
        bool plain = strspn(at, " +-.0123456789eE") >= (size_t)(end - at);
        if (end == at || !plain || !isfinite(values[i]) || fabs(values[i]) > 1e6) {
            return fail_root(loader, node,
                             "property bounds; allowed: \"left top width height\" in pixels");
        }
        at = end;
    }
    if (at[strspn(at, " ")] != 0 || values[2] <= 0.0 || values[3] <= 0.0) {
        return fail_root(loader, node,
                         "property bounds; allowed: \"left top width height\" in pixels, width "
                         "and height above 0");
    }
    loader->left = values[0];
    loader->top = values[1];
    loader->width = values[2];
    loader->height = values[3];
    return true;
}

/* The whole canvas of the editor. */
static bool measure_canvas(struct map_loader *loader, const cJSON *root)
{
    const char *const names[4] = {"width", "tilewidth", "height", "tileheight"};
    double values[4];
    if (cJSON_IsTrue(json_member(root, "infinite"))) {
        return fail_root(loader, root,
                         "an infinite map needs the property bounds: \"left top width height\" in "
                         "pixels");
    }
    for (int i = 0; i < 4; i++) {
        if (!map_read_number(loader, NULL, NULL, root, names[i], 0, &values[i])) {
            return false;
        }
        if (values[i] <= 0.0) {
            const cJSON *node = json_member(root, names[i]);
            char what[96];
            snprintf(what, sizeof what, "the map needs %s; allowed: a number above 0", names[i]);
            return fail_root(loader, node != NULL ? node : root, what);
        }
    }
    loader->width = values[0] * values[1];
    loader->height = values[2] * values[3];
    return true;
}

static bool read_scale(struct map_loader *loader, const cJSON *root)
{
    const cJSON *node = map_property(root, "metres_per_pixel");
    double value = 0.0;
    if (node == NULL) {
        return fail_root(loader, root,
                         "the map needs the property metres_per_pixel; allowed: a number from "
                         "0.0001 to 100");
    }
    if (json_read_double(loader->source->json, node, &value) != JSON_NUMBER_OK || value < 0.0001 ||
        value > 100.0) {
        return fail_root(loader, node,
                         "property metres_per_pixel; allowed: a number from 0.0001 to 100");
    }
    loader->metres_per_pixel = value;
    return true;
}

static bool read_header(struct map_loader *loader, const cJSON *root)
{
    if (!cJSON_IsObject(root) ||
        (json_member(root, "type") != NULL && !has_text(root, "type", "map"))) {
        return fail_root(loader, root, "is no Tiled map; allowed: a .tmj file of type map");
    }
    const cJSON *orientation = json_member(root, "orientation");
    if (!has_text(root, "orientation", "orthogonal")) {
        return fail_root(loader, orientation != NULL ? orientation : root,
                         "only orthogonal maps can be read; allowed: \"orthogonal\"");
    }
    const cJSON *properties = json_member(root, "properties");
    if (properties != NULL && !cJSON_IsArray(properties)) {
        return fail_root(loader, properties, "properties; allowed: an array");
    }
    const cJSON *bounds = map_property(root, "bounds");
    if (!read_scale(loader, root) ||
        !(bounds != NULL ? parse_bounds(loader, bounds) : measure_canvas(loader, root))) {
        return false;
    }
    double half_width = 0.5 * loader->width * loader->metres_per_pixel;
    double half_height = 0.5 * loader->height * loader->metres_per_pixel;
    if (half_width > MAP_EXTENT_M || half_height > MAP_EXTENT_M || half_width < 0.5 ||
        half_height < 0.5) {
        return fail_root(loader, bounds != NULL ? bounds : root,
                         "the map's size; allowed: 1 to 8192 m from side to side");
    }
    loader->map->bounds = (struct arb_bounds){{(float)-half_width, (float)-half_height},
                                              {(float)half_width, (float)half_height}};
    return true;
}

static bool read_layers(struct map_loader *loader, const cJSON *owner, double offset_x,
                        double offset_y);

static bool read_objects(struct map_loader *loader, const cJSON *layer, double offset_x,
                         double offset_y)
{
    const cJSON *objects = json_member(layer, "objects");
    if (!cJSON_IsArray(objects)) {
        return map_fail(loader, NULL, loader->layer, objects != NULL ? objects : layer,
                        "objects; allowed: an array");
    }
    for (const cJSON *object = objects->child; object != NULL; object = object->next) {
        if (!map_read_object(loader, object, offset_x, offset_y)) {
            return false;
        }
        if (loader->shapes.full) {
            return map_fail(loader, object, loader->layer, object,
                            "is one too many; allowed: at most %d shapes", MAP_SHAPES_MAX);
        }
    }
    return true;
}

static bool read_layer(struct map_loader *loader, const cJSON *layer, double offset_x,
                       double offset_y)
{
    const cJSON *name = json_member(layer, "name");
    double x, y;
    loader->layer = cJSON_IsString(name) ? name->valuestring : "";
    if (!map_read_number(loader, NULL, loader->layer, layer, "offsetx", 0, &x) ||
        !map_read_number(loader, NULL, loader->layer, layer, "offsety", 0, &y)) {
        return false;
    }
    if (has_text(layer, "type", "objectgroup")) {
        return read_objects(loader, layer, offset_x + x, offset_y + y);
    }
    if (has_text(layer, "type", "group")) {
        return read_layers(loader, layer, offset_x + x, offset_y + y);
    }
    if (has_text(layer, "type", "tilelayer") || has_text(layer, "type", "imagelayer")) {
        return true; /* for the eye only */
    }
    const cJSON *type = json_member(layer, "type");
    return map_fail(loader, NULL, loader->layer, type != NULL ? type : layer,
                    "type; allowed: \"objectgroup\", \"group\", \"tilelayer\", \"imagelayer\"");
}

static bool read_layers(struct map_loader *loader, const cJSON *owner, double offset_x,
                        double offset_y)
{
    const cJSON *layers = json_member(owner, "layers");
    if (!cJSON_IsArray(layers)) {
        return fail_root(loader, layers != NULL ? layers : owner, "layers; allowed: an array");
    }
    for (const cJSON *layer = layers->child; layer != NULL; layer = layer->next) {
        if (!cJSON_IsObject(layer)) {
            return fail_root(loader, layer, "allowed: a layer");
        }
        if (!read_layer(loader, layer, offset_x, offset_y)) {
            return false;
        }
    }
    return true;
}

static void *keep(struct arb_arena *arena, const void *list, uint32_t count, size_t bytes)
{
    void *kept = arb_arena_take_array(arena, count, bytes);
    if (count > 0) {
        memcpy(kept, list, count * bytes);
    }
    return kept;
}

static bool read_map(struct map_loader *loader, struct arb_arena *arena, const cJSON *root)
{
    struct map *map = loader->map;
    if (!read_header(loader, root) || !read_layers(loader, root, 0, 0)) {
        return false;
    }
    map->shape_count = loader->shapes.count;
    map->shapes = keep(arena, loader->shapes.list, map->shape_count, sizeof map->shapes[0]);
    map->spawns = keep(arena, loader->spawns, map->spawn_count, sizeof map->spawns[0]);
    map->pickups = keep(arena, loader->pickups, map->pickup_count, sizeof map->pickups[0]);
    return map_check_places(loader);
}

static bool load_text(struct map *map, struct arb_arena *arena, const char *path, const char *text,
                      size_t bytes, struct config_error *error)
{
    struct json json;
    struct json_error cause;
    struct config_source source = {.name = path, .path = "", .json = &json, .file = true};
    if (!json_parse(&json, text, bytes, &cause)) {
        return config_fail_json(error, &source, text, &cause);
    }
    struct map_loader loader = {.map = map, .source = &source, .error = error};
    loader.spawns = arb_mem_alloc(MAP_PLACES_MAX * sizeof loader.spawns[0]);
    loader.pickups = arb_mem_alloc(MAP_PLACES_MAX * sizeof loader.pickups[0]);
    loader.spawn_origins = arb_mem_alloc(MAP_PLACES_MAX * sizeof(struct map_origin));
    loader.pickup_origins = arb_mem_alloc(MAP_PLACES_MAX * sizeof(struct map_origin));
    bool ok = read_map(&loader, arena, json.root);
    arb_mem_free(loader.shapes.list);
    arb_mem_free(loader.spawns);
    arb_mem_free(loader.pickups);
    arb_mem_free(loader.spawn_origins);
    arb_mem_free(loader.pickup_origins);
    json_free(&json);
    return ok;
}

enum arb_result map_read(const char *path, char **text, size_t *bytes, struct config_error *error)
{
    return config_read_file(path, MAP_FILE_BYTES_MAX, text, bytes, error) ? ARB_OK : ARB_CONFIG;
}

enum arb_result map_load_text(struct map *map, struct arb_arena *arena, const char *name,
                              const char *text, size_t bytes, struct config_error *error)
{
    memset(map, 0, sizeof *map);
    snprintf(map->path, sizeof map->path, "%s", name);
    return load_text(map, arena, name, text, bytes, error) ? ARB_OK : ARB_CONFIG;
}

enum arb_result map_load(struct map *map, struct arb_arena *arena, const char *path,
                         struct config_error *error)
{
    char *text;
    size_t bytes;
    enum arb_result result = map_read(path, &text, &bytes, error);
    if (result != ARB_OK) return result;
    result = map_load_text(map, arena, path, text, bytes, error);
    arb_mem_free(text);
    return result;
}
