/* A loaded map: static shapes and marked places. Plain data, loaded by server/config from a Tiled
 * file, never changed afterwards.
 */
#ifndef WORLD_MAP_H
#define WORLD_MAP_H

#include "shared/base/arb_shape.h"

#include <stdint.h>

enum { MAP_TEXT_BYTES = 32, MAP_SHAPES_MAX = 65536, MAP_PLACES_MAX = 4096 };

/* A point or an area of class `spawn` or `pickup`. */
struct map_place {
    struct arb_vec2 low, high; /* m; equal for a point */
    char type[MAP_TEXT_BYTES]; /* pickup: its `kind` property ("health", "ammo", "weapon", "food",
                                  ...) */
    int32_t team;              /* spawn: 0 for any */
    int32_t value;             /* pickup: `value` property, 0: the mode's default */
    float respawn_s;           /* pickup: `respawn_s` property, 0: the mode's default */
    char name[MAP_TEXT_BYTES]; /* object's name, for messages */
};

struct map {
    char path[256];
    struct arb_bounds bounds;
    struct arb_shape *shapes; /* owned by the loader's arena */
    uint32_t shape_count;
    struct map_place *spawns;
    uint32_t spawn_count;
    struct map_place *pickups;
    uint32_t pickup_count;
};

#endif
