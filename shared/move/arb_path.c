#include "shared/move/arb_path.h"

#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

/* What the fields of the wire hold. */
enum { PLACE_LIMIT = (1 << 21) - 1, SPEED_LIMIT = (1 << 17) - 1 };

static float on_grid(float value, float unit, int32_t limit)
{
    return arb_dequantise(arb_quantise(value, unit, -limit, limit), unit);
}

static struct arb_vec2 fanned(const struct arb_weapon_step *weapon, struct arb_vec2 aim,
                              uint32_t index)
{
    if (weapon->projectiles < 2) {
        return aim;
    }
    float part = 2.0F * (float)index / (float)(weapon->projectiles - 1) - 1.0F;
    struct arb_vec2 by = arb_move_direction(weapon->projectile_spread * part);
    return (struct arb_vec2){aim.x * by.x - aim.y * by.y, aim.x * by.y + aim.y * by.x};
}

struct arb_path arb_path_launch(const struct arb_weapon_step *weapon, struct arb_vec2 origin,
                                struct arb_vec2 aim, uint32_t index, arb_fine start)
{
    struct arb_vec2 velocity = arb_vec2_scale(fanned(weapon, aim, index), weapon->projectile_speed);
    return (struct arb_path){
        .origin = {on_grid(origin.x, ARB_PATH_PLACE, PLACE_LIMIT),
                   on_grid(origin.y, ARB_PATH_PLACE, PLACE_LIMIT)},
        .velocity = {on_grid(velocity.x, ARB_PATH_SPEED, SPEED_LIMIT),
                     on_grid(velocity.y, ARB_PATH_SPEED, SPEED_LIMIT)},
        .start = start - start % ARB_PATH_MOMENT,
    };
}

static float seconds(arb_fine time, uint32_t tick_rate)
{
    return (float)time / ((float)ARB_FINE_TICK * (float)tick_rate);
}

struct arb_vec2 arb_path_at(const struct arb_path *path, uint32_t tick_rate, arb_fine at)
{
    arb_fine passed = at > path->start ? at - path->start : 0;
    return arb_vec2_mul_add(path->origin, seconds(passed, tick_rate), path->velocity);
}

arb_fine arb_path_flight(const struct arb_path *path, const struct arb_weapon_step *weapon,
                         uint32_t tick_rate, const struct arb_geometry *geometry)
{
    arb_fine life = (arb_fine)weapon->projectile_ticks * ARB_FINE_TICK;
    struct arb_vec2 delta = arb_vec2_scale(path->velocity, seconds(life, tick_rate));
    float fraction;
    if (!arb_geometry_sweep(geometry, weapon->projectile_radius, path->origin, delta, &fraction)) {
        return life;
    }
    /* In steps of a moment, rounded down: it ends before the wall, never in it. */
    int32_t moments = (int32_t)(life / ARB_PATH_MOMENT);
    int32_t flown = arb_quantise((float)moments * fraction - 0.5F, 1.0F, 0, moments);
    return (arb_fine)flown * ARB_PATH_MOMENT;
}
