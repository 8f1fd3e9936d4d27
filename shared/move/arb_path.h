/* The path of a projectile: where it left, its velocity and the moment, and nothing after that.
 * Both ends compute every later place with the code of this file, bit for bit, so a projectile is
 * sent once and never again (spec/lag-compensation.md "More than rays"). Knows no targets: only
 * static geometry ends a path here.
 *
 * Moments are of the drawn world. A projectile leaves at the moment its shooter saw when it fired;
 * at every later moment that is drawn it has gone as far as the time between the two.
 */
#ifndef ARB_PATH_H
#define ARB_PATH_H

#include "shared/move/arb_geometry.h"
#include "shared/move/arb_own.h"

/* Steps of what is sent of a path. The kind's fields have the same; a test compares. */
#define ARB_PATH_PLACE (1.0F / 512.0F) /* m */
#define ARB_PATH_SPEED (1.0F / 256.0F) /* m/s */
enum {
    ARB_PATH_MOMENT = ARB_FINE_TICK / 256, /* of a moment */
    ARB_PATH_SPEED_MAX = 500,              /* m/s */
    ARB_PATH_LIFE_MS_MAX = 60000,
};

struct arb_path {
    struct arb_vec2 origin;   /* m, on the grid of ARB_PATH_PLACE */
    struct arb_vec2 velocity; /* m/s, on the grid of ARB_PATH_SPEED */
    arb_fine start;           /* multiple of ARB_PATH_MOMENT */
};

/* The path of projectile `index` of a shot from `origin` along `aim` (unit) at `start`. Several of
 * one shot leave as an even fan over the weapon's spread, without chance: the shooter's client
 * draws them at once. */
struct arb_path arb_path_launch(const struct arb_weapon_step *weapon, struct arb_vec2 origin,
                                struct arb_vec2 aim, uint32_t index, arb_fine start);

/* Place at that moment, m; before the start: the origin. Knows no end. */
struct arb_vec2 arb_path_at(const struct arb_path *path, uint32_t tick_rate, arb_fine at);

/* How long it flies when it meets nobody: until it touches static geometry, at most its life. A
 * multiple of ARB_PATH_MOMENT; 0 when it starts in touch. */
arb_fine arb_path_flight(const struct arb_path *path, const struct arb_weapon_step *weapon,
                         uint32_t tick_rate, const struct arb_geometry *geometry);

#endif
