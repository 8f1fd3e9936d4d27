/* Map files from the inside: objects of the editor become shapes and places (spec/simulation.md
 * "Maps"). For this folder and its tests.
 *
 * Two frames: the editor's (pixels, y down, rotation clockwise in degrees) and the world's (metres,
 * y up, origin in the middle of the bounds). Each corner is turned in doubles and rounded once to
 * the floats of the world; everything after works on those, so the pieces of a polygon share their
 * corners bit for bit. No function of libm: the same file gives the same bits everywhere.
 */
#ifndef CONFIG_MAP_INTERNAL_H
#define CONFIG_MAP_INTERNAL_H

#include "server/config/config_internal.h"
#include "shared/base/arb_shape.h"

enum {
    MAP_POLYGON_POINTS_MAX = 1024,
    MAP_ELLIPSE_POINTS_MAX = 128,
};

/* Corners nearer to each other, or to the line through their neighbours, are dropped: Box2D would
 * drop them too. */
#define MAP_WELD_M 0.021
#define MAP_FLAT_M 0.012
#define MAP_EXTENT_M 4096.0

struct map_shapes {
    struct arb_shape *list; /* arb_mem_* */
    uint32_t count, capacity;
    bool full; /* more than MAP_SHAPES_MAX */
};

enum map_outline {
    MAP_OUTLINE_OK,
    MAP_OUTLINE_THIN,    /* nothing is left of it after welding: thinner than about 2 cm */
    MAP_OUTLINE_CROSSED, /* edges cross or touch */
};

void map_add_shape(struct map_shapes *shapes, const struct arb_shape *shape);

/* Appends convex polygons of 3..8 corners that cover the outline: either direction, concave or not.
 * Slivers that no polygon can hold become thin capsules, so that no gap is left. `points` is
 * overwritten; count <= MAP_POLYGON_POINTS_MAX. */
enum map_outline map_add_polygon(struct map_shapes *shapes, struct arb_vec2 *points, size_t count);

/* Drops corners that are too close or too flat, in place; returns how many are left. */
size_t map_simplify(struct arb_vec2 *points, size_t count);

/* Sine and cosine of an angle in degrees, exact at multiples of 90; |degrees| <= 1e6. */
void map_turn(double degrees, double *sine, double *cosine);

/* The object of a place. */
struct map_origin {
    const cJSON *node;
    const char *layer;
};

/* One load. */
struct map_loader {
    struct map *map;
    const struct config_source *source;
    struct config_error *error;
    double metres_per_pixel;
    double left, top, width, height; /* of the bounds, pixels */
    struct map_shapes shapes;
    struct map_place *spawns, *pickups;                /* [MAP_PLACES_MAX], arb_mem_* */
    struct map_origin *spawn_origins, *pickup_origins; /* beside them, for messages */
    const char *layer;                                 /* name of the layer being read */
};

/* An object with what every kind of it has. */
struct map_object {
    const cJSON *node;
    const char *layer;
    double x, y, width, height, rotation; /* pixels with the layer's offset; degrees */
    double sine, cosine;                  /* of rotation */
};

/* "layer \"walls\", object 7 \"pillar\": <text>" at the node; false. */
bool map_fail(const struct map_loader *loader, const cJSON *object, const char *layer,
              const cJSON *place, const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A finite number within +-1e6 that is a member of `owner`, `fallback` where it is missing.
 * `object` and `layer` are for the message, NULL: none. */
bool map_read_number(const struct map_loader *loader, const cJSON *object, const char *layer,
                     const cJSON *owner, const char *name, double fallback, double *out);

/* Value of a custom property, or NULL. */
const cJSON *map_property(const cJSON *owner, const char *name);

/* World place of a point given relative to the object, which its rotation turns. */
struct arb_vec2 map_to_world(const struct map_loader *loader, const struct map_object *object,
                             double x, double y);

/* Reads one object of an object layer. */
bool map_read_object(struct map_loader *loader, const cJSON *node, double offset_x,
                     double offset_y);
/* Static shape of an object without class or of class wall. */
bool map_read_wall(struct map_loader *loader, const struct map_object *object);
/* Spawns and pickups. */
bool map_read_place(struct map_loader *loader, const struct map_object *object, bool spawn);
/* Spawns do not overlap, nothing stands in a wall or outside. */
bool map_check_places(struct map_loader *loader);

#endif
