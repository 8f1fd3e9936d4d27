/* What the modes of this folder share beside rules.h: times, published values, places of the map.
 * A mode may use it or not; the engine never does. */
#ifndef RULES_INTERNAL_H
#define RULES_INTERNAL_H

#include "server/rules/crowd.h"
#include "server/rules/rules.h"

#include <string.h>

/* Entities and players have integers for the mode's own numbers; a fraction is kept as its bits. */
static inline int32_t rules_bits(float value)
{
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float rules_float(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The player's next character comes `delay_ms` (rounded up to ticks) after this tick; with 0 it is
 * in S[t + 1] already. */
void rules_respawn_after(struct rules_context *context, uint16_t slot, int32_t delay_ms);

/* Waits for a character, is present, and S[t + 1] should have it. */
bool rules_respawn_due(const struct rules_context *context, uint16_t slot);

/* Seconds to the nearest tick, at least 1. */
arb_tick rules_seconds(const struct rules_context *context, float seconds);

/* A value as that field of the kind publishes it, clamped to what its bits hold. */
int32_t rules_quantise(const struct arb_kind *kind, int field, float value);

/* Higher score, then more kills, then fewer deaths. */
int rules_rank(const struct world_player *a, const struct world_player *b);

/* ---- places (places.c) ---- */

/* A point of the place: itself, or uniform in the area (two draws). */
struct arb_vec2 rules_place_point(const struct map_place *place, struct arb_rng *rng);

/* A random point of low..high where a circle of `radius` touches no static shape; false after
 * `tries` points that were no good. */
bool rules_free_point(const struct rules_context *context, struct arb_rng *rng, struct arb_vec2 low,
                      struct arb_vec2 high, float radius, uint32_t tries, struct arb_vec2 *out);

struct rules_spawn {
    uint16_t slot;
    struct arb_hull hull;
    uint32_t candidates; /* places looked at */
    /* How good a free place is: more is better; negative: it touches somebody. Of a place that is
     * no better than `least` any number up to that. */
    float (*room)(const struct rules_context *context, uint16_t slot, struct arb_vec2 at,
                  float least);
};

/* The place with the most room among candidates from the map's spawns of the player's team (of all
 * teams where it has none), else from anywhere in the bounds. Never one where the hull touches a
 * static shape: false when none was found. Which candidates, and who comes first of equals, is up
 * to the spawn stream. */
bool rules_spawn_point(const struct rules_context *context, const struct rules_spawn *spawn,
                       struct arb_vec2 *out);

/* Checks of a mode: false with one sentence in `error`. */
bool rules_refuse(char *error, size_t error_bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Arguments of "\"%s\" at (%g, %g) m": names are often empty or given twice. */
#define RULES_PLACE(place) (place)->name, (double)(place)->low.x, (double)(place)->low.y

/* The map has spawns, and none that is a point touches a wall or another one. */
bool rules_check_spawns(const struct map *map, struct arb_hull hull, char *error,
                        size_t error_bytes);

#endif
