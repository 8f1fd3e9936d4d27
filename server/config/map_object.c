/* Objects of the editor: what they must not be, and static shapes from the others. */
#include "server/config/map_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"
#include "shared/move/arb_geometry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool map_fail(const struct map_loader *loader, const cJSON *object, const char *layer,
              const cJSON *place, const char *format, ...)
{
    char what[CONFIG_ERROR_BYTES / 2], who[160] = "", text[64], number[24] = "";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (layer != NULL) {
        json_quote(text, sizeof text, layer, 32);
        snprintf(who, sizeof who, "layer %s: ", text);
    }
    if (object != NULL) {
        const cJSON *id = json_member(object, "id"), *name = json_member(object, "name");
        int64_t value;
        if (id != NULL && json_read_i64(loader->source->json, id, &value) == JSON_NUMBER_OK) {
            snprintf(number, sizeof number, " %lld", (long long)value);
        }
        size_t used = strlen(who) - (layer != NULL ? 2 : 0);
        json_quote(text, sizeof text, cJSON_IsString(name) ? name->valuestring : "", 32);
        snprintf(who + used, sizeof who - used, ", object%s %s: ", number, text);
    }
    return config_fail_node(loader->error, loader->source, place, "%s%s", who, what);
}

bool map_read_number(const struct map_loader *loader, const cJSON *object, const char *layer,
                     const cJSON *owner, const char *name, double fallback, double *out)
{
    const cJSON *node = json_member(owner, name);
    *out = fallback;
    if (node == NULL) {
        return true;
    }
    if (json_read_double(loader->source->json, node, out) != JSON_NUMBER_OK || fabs(*out) > 1e6) {
        return map_fail(loader, object, layer, node,
                        "%s; allowed: a number from -1000000 to 1000000", name);
    }
    return true;
}

const cJSON *map_property(const cJSON *owner, const char *name)
{
    const cJSON *list = json_member(owner, "properties");
    for (const cJSON *item = list != NULL ? list->child : NULL; item != NULL; item = item->next) {
        const cJSON *named = json_member(item, "name");
        if (cJSON_IsString(named) && strcmp(named->valuestring, name) == 0) {
            return json_member(item, "value");
        }
    }
    return NULL;
}

struct arb_vec2 map_to_world(const struct map_loader *loader, const struct map_object *object,
                             double x, double y)
{
    double px = object->x + x * object->cosine - y * object->sine;
    double py = object->y + x * object->sine + y * object->cosine;
    double middle_x = loader->left + 0.5 * loader->width;
    double middle_y = loader->top + 0.5 * loader->height;
    /* + 0.0 so that no -0 is in a map. */
    return (struct arb_vec2){(float)((px - middle_x) * loader->metres_per_pixel + 0.0),
                             (float)((middle_y - py) * loader->metres_per_pixel + 0.0)};
}

/* ---- shapes ---- */

static bool is_true(const cJSON *node, const char *name)
{
    return cJSON_IsTrue(json_member(node, name));
}

static bool fail_object(const struct map_loader *loader, const struct map_object *object,
                        const char *what)
{
    return map_fail(loader, object->node, object->layer, object->node, "%s", what);
}

static bool check_extent(const struct map_loader *loader, const struct map_object *object,
                         struct arb_vec2 point)
{
    if (fabs((double)point.x) <= MAP_EXTENT_M && fabs((double)point.y) <= MAP_EXTENT_M) {
        return true;
    }
    return fail_object(loader, object, "reaches beyond 4096 m from the middle of the map");
}

static bool add_outline(struct map_loader *loader, const struct map_object *object,
                        struct arb_vec2 *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!check_extent(loader, object, points[i])) {
            return false;
        }
    }
    switch (map_add_polygon(&loader->shapes, points, count)) {
    case MAP_OUTLINE_THIN:
        return fail_object(
            loader, object,
            "is thinner than 2 cm; allowed: thicker, or a polyline with thickness_m");
    case MAP_OUTLINE_CROSSED:
        return fail_object(loader, object, "its edges cross or touch; allowed: a simple outline");
    default:
        return true;
    }
}

static bool add_rectangle(struct map_loader *loader, const struct map_object *object)
{
    double w = object->width, h = object->height;
    struct arb_vec2 corners[4] = {
        map_to_world(loader, object, 0, 0), map_to_world(loader, object, 0, h),
        map_to_world(loader, object, w, h), map_to_world(loader, object, w, 0)};
    return add_outline(loader, object, corners, 4);
}

static bool add_circle(struct map_loader *loader, const struct map_object *object)
{
    double radius = 0.5 * object->width;
    struct arb_shape shape = {.type = ARB_SHAPE_CIRCLE, .count = 1};
    shape.points[0] = map_to_world(loader, object, radius, radius);
    shape.radius = (float)(radius * loader->metres_per_pixel);
    if (shape.radius < 0.01F) {
        return fail_object(loader, object, "is thinner than 2 cm; allowed: thicker");
    }
    if (!check_extent(loader, object, shape.points[0])) {
        return false;
    }
    if (!arb_geometry_shape_valid(&shape)) {
        return fail_object(loader, object,
                           "is no circle that can be stood on; allowed: larger, "
                           "and within 4096 m of the middle");
    }
    map_add_shape(&loader->shapes, &shape);
    return true;
}

/* Corners on the ellipse, so many that the chords stay within about 1 cm of it (at most 128). */
static bool add_ellipse(struct map_loader *loader, const struct map_object *object)
{
    double a = 0.5 * object->width, b = 0.5 * object->height;
    double larger = (a > b ? a : b) * loader->metres_per_pixel;
    size_t count = 16;
    while (count < MAP_ELLIPSE_POINTS_MAX && 4.94 * larger > 0.01 * (double)(count * count)) {
        count *= 2;
    }
    struct arb_vec2 points[MAP_ELLIPSE_POINTS_MAX];
    for (size_t i = 0; i < count; i++) {
        double sine, cosine;
        map_turn(360.0 * (double)i / (double)count, &sine, &cosine);
        points[i] = map_to_world(loader, object, a + a * cosine, b + b * sine);
    }
    return add_outline(loader, object, points, count);
}

/* Points of "polygon" or "polyline", in the world; NULL with the error. Freed with arb_mem_free. */
static struct arb_vec2 *read_points(struct map_loader *loader, const struct map_object *object,
                                    const cJSON *list, size_t *count)
{
    int size = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (size < 2 || size > MAP_POLYGON_POINTS_MAX) {
        map_fail(loader, object->node, object->layer, list, "allowed: an array of 2 to %d points",
                 MAP_POLYGON_POINTS_MAX);
        return NULL;
    }
    struct arb_vec2 *points = arb_mem_alloc((size_t)size * sizeof points[0]);
    *count = 0;
    for (const cJSON *node = list->child; node != NULL; node = node->next) {
        double x, y;
        bool whole = json_member(node, "x") != NULL && json_member(node, "y") != NULL;
        if (!whole) {
            map_fail(loader, object->node, object->layer, node, "allowed: a point with x and y");
        }
        if (!whole || !map_read_number(loader, object->node, object->layer, node, "x", 0, &x) ||
            !map_read_number(loader, object->node, object->layer, node, "y", 0, &y)) {
            arb_mem_free(points);
            return NULL;
        }
        points[(*count)++] = map_to_world(loader, object, x, y);
    }
    return points;
}

static bool add_polygon(struct map_loader *loader, const struct map_object *object,
                        const cJSON *list)
{
    size_t count;
    struct arb_vec2 *points = read_points(loader, object, list, &count);
    bool ok = points != NULL && add_outline(loader, object, points, count);
    arb_mem_free(points);
    return ok;
}

static bool read_thickness(const struct map_loader *loader, const struct map_object *object,
                           float *radius)
{
    const cJSON *node = map_property(object->node, "thickness_m");
    double thickness = 0.0;
    if (node != NULL &&
        json_read_double(loader->source->json, node, &thickness) == JSON_NUMBER_OK &&
        thickness >= 0.02 && thickness <= 100.0) {
        *radius = (float)(0.5 * thickness);
        return true;
    }
    return map_fail(loader, object->node, object->layer, node != NULL ? node : object->node,
                    "a polyline needs the property thickness_m; allowed: a number from 0.02 to 100 "
                    "(m)");
}

static double squared_distance(struct arb_vec2 a, struct arb_vec2 b)
{
    double x = (double)b.x - (double)a.x, y = (double)b.y - (double)a.y;
    return x * x + y * y;
}

/* One capsule for each segment; segments shorter than what Box2D tells from a point are joined to
 * the next. */
static bool add_capsules(struct map_loader *loader, const struct map_object *object,
                         const struct arb_vec2 *points, size_t count, float radius)
{
    struct arb_shape shape = {.type = ARB_SHAPE_CAPSULE, .count = 2, .radius = radius};
    struct arb_vec2 from = points[0];
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (!check_extent(loader, object, points[i])) {
            return false;
        }
        if (squared_distance(from, points[i]) < MAP_WELD_M * MAP_WELD_M) {
            continue;
        }
        shape.points[0] = from;
        shape.points[1] = from = points[i];
        any = true;
        if (!arb_geometry_shape_valid(&shape)) {
            return fail_object(loader, object, "reaches beyond 4096 m from the middle of the map");
        }
        map_add_shape(&loader->shapes, &shape);
    }
    return any || fail_object(loader, object, "has no length");
}

static bool add_polyline(struct map_loader *loader, const struct map_object *object,
                         const cJSON *list)
{
    size_t count;
    float radius = 0.0F;
    if (!read_thickness(loader, object, &radius)) {
        return false;
    }
    struct arb_vec2 *points = read_points(loader, object, list, &count);
    bool ok = points != NULL && add_capsules(loader, object, points, count, radius);
    arb_mem_free(points);
    return ok;
}

bool map_read_wall(struct map_loader *loader, const struct map_object *object)
{
    const cJSON *polygon = json_member(object->node, "polygon");
    const cJSON *polyline = json_member(object->node, "polyline");
    if (is_true(object->node, "point")) {
        return fail_object(loader, object, "a point is no wall; allowed: class spawn or pickup");
    }
    if (polygon != NULL) {
        return add_polygon(loader, object, polygon);
    }
    if (polyline != NULL) {
        return add_polyline(loader, object, polyline);
    }
    if (object->width <= 0.0 || object->height <= 0.0) {
        return fail_object(loader, object, "has no size; allowed: width and height above 0");
    }
    if (!is_true(object->node, "ellipse")) {
        return add_rectangle(loader, object);
    }
    double difference = fabs(object->width - object->height);
    return difference < 0.01 ? add_circle(loader, object) : add_ellipse(loader, object);
}

/* ---- any object ---- */

enum object_class { CLASS_WALL, CLASS_SPAWN, CLASS_PICKUP, CLASS_UNKNOWN };

/* `class` and `type` name the same in different versions of the editor. */
static const char *class_name(const cJSON *node)
{
    const char *names[2] = {"class", "type"};
    for (int i = 0; i < 2; i++) {
        const cJSON *value = json_member(node, names[i]);
        if (cJSON_IsString(value) && value->valuestring[0] != 0) {
            return value->valuestring;
        }
    }
    return "";
}

static enum object_class class_of(const char *name)
{
    if (name[0] == 0 || strcmp(name, "wall") == 0) {
        return CLASS_WALL;
    }
    if (strcmp(name, "spawn") == 0) {
        return CLASS_SPAWN;
    }
    return strcmp(name, "pickup") == 0 ? CLASS_PICKUP : CLASS_UNKNOWN;
}

/* A misspelt property would silently do nothing. */
static bool check_properties(const struct map_loader *loader, const cJSON *node, const char *layer,
                             const char *const *known, const char *allowed)
{
    const cJSON *list = json_member(node, "properties");
    if (list != NULL && !cJSON_IsArray(list)) {
        return map_fail(loader, node, layer, list, "properties; allowed: an array");
    }
    for (const cJSON *item = list != NULL ? list->child : NULL; item != NULL; item = item->next) {
        const cJSON *name = json_member(item, "name");
        if (!cJSON_IsString(name) || json_member(item, "value") == NULL) {
            return map_fail(loader, node, layer, item, "allowed: a property with name and value");
        }
        bool found = false;
        for (size_t i = 0; known[i] != NULL && !found; i++) {
            found = strcmp(known[i], name->valuestring) == 0;
        }
        if (!found) {
            char shown[48];
            json_quote(shown, sizeof shown, name->valuestring, 32);
            return map_fail(loader, node, layer, item, "unknown property %s; allowed: %s", shown,
                            allowed);
        }
        for (const cJSON *other = list->child; other != item; other = other->next) {
            if (strcmp(json_member(other, "name")->valuestring, name->valuestring) == 0) {
                return map_fail(loader, node, layer, item, "the property %s is there twice",
                                name->valuestring);
            }
        }
    }
    return true;
}

static bool read_frame(const struct map_loader *loader, const cJSON *node, double offset_x,
                       double offset_y, struct map_object *object)
{
    const char *layer = loader->layer;
    *object = (struct map_object){.node = node, .layer = layer};
    if (json_member(node, "x") == NULL || json_member(node, "y") == NULL) {
        return map_fail(loader, node, layer, node, "x and y are missing");
    }
    if (!map_read_number(loader, node, layer, node, "x", 0, &object->x) ||
        !map_read_number(loader, node, layer, node, "y", 0, &object->y) ||
        !map_read_number(loader, node, layer, node, "width", 0, &object->width) ||
        !map_read_number(loader, node, layer, node, "height", 0, &object->height) ||
        !map_read_number(loader, node, layer, node, "rotation", 0, &object->rotation)) {
        return false;
    }
    object->x += offset_x;
    object->y += offset_y;
    map_turn(object->rotation, &object->sine, &object->cosine);
    return true;
}

static bool refuse_kind(const struct map_loader *loader, const cJSON *node, bool *skip)
{
    const char *layer = loader->layer;
    *skip = false;
    if (json_member(node, "template") != NULL) {
        map_fail(loader, node, layer, node,
                 "comes from a template; allowed: detach it (Detach Template Instance)");
        return true;
    }
    if (json_member(node, "gid") != NULL) {
        map_fail(loader, node, layer, node,
                 "is a tile; allowed: rectangles, ellipses, polygons, polylines, points");
        return true;
    }
    /* A remark of the map's author. */
    *skip = json_member(node, "text") != NULL && class_of(class_name(node)) == CLASS_WALL;
    if (json_member(node, "text") != NULL && !*skip) {
        map_fail(loader, node, layer, node,
                 "is a text; allowed for its class: a point or a rectangle");
        return true;
    }
    return false;
}

bool map_read_object(struct map_loader *loader, const cJSON *node, double offset_x, double offset_y)
{
    static const char *const wall[] = {"thickness_m", NULL}, *const spawn[] = {"team", NULL};
    static const char *const pickup[] = {"kind", "value", "respawn_s", NULL};
    struct map_object object;
    bool skip;
    if (!cJSON_IsObject(node)) {
        return map_fail(loader, NULL, loader->layer, node, "allowed: an object");
    }
    if (refuse_kind(loader, node, &skip)) {
        return false;
    }
    if (skip) {
        return true;
    }
    if (!read_frame(loader, node, offset_x, offset_y, &object)) {
        return false;
    }
    const char *name = class_name(node);
    switch (class_of(name)) {
    case CLASS_WALL:
        return check_properties(loader, node, loader->layer, wall, "thickness_m") &&
               map_read_wall(loader, &object);
    case CLASS_SPAWN:
        return check_properties(loader, node, loader->layer, spawn, "team") &&
               map_read_place(loader, &object, true);
    case CLASS_PICKUP:
        return check_properties(loader, node, loader->layer, pickup, "kind, value, respawn_s") &&
               map_read_place(loader, &object, false);
    default: {
        char shown[48];
        json_quote(shown, sizeof shown, name, 32);
        return map_fail(loader, node, loader->layer, node,
                        "unknown class %s; allowed: none, wall, spawn, pickup", shown);
    }
    }
}
