#include "shared/move/arb_own.h"

#include <stddef.h>

/* Beyond any place or speed that a valid map and configuration lead to; not finite is refused too.
 */
#define PLACE 8192.0
#define SPEED 65536.0
#define ANGLE 3.1415928

#define OWN(member, kind, bits, low, high, text)                                                   \
    ARB_FIELD(arb_own, member, kind, bits, low, high, text)

static const struct arb_field arena_rows[] = {
    OWN(x, F32, 0, -PLACE, PLACE, "m, centre"),
    OWN(y, F32, 0, -PLACE, PLACE, "m"),
    OWN(vx, F32, 0, -SPEED, SPEED, "m/s"),
    OWN(vy, F32, 0, -SPEED, SPEED, "m/s"),
    OWN(heading, F32, 0, -ANGLE, ANGLE, "rad, where it aims"),
    OWN(dash_x, F32, 0, -1.001, 1.001, "unit direction of the running dash, else 0"),
    OWN(dash_y, F32, 0, -1.001, 1.001, "as dash_x"),
    OWN(dash_ticks, U16, 16, 0, 65535, "ticks left of the running dash"),
    OWN(dash_cooldown, U16, 16, 0, 65535, "ticks until the next dash is allowed"),
    OWN(fire_cooldown, U16, 16, 0, 65535, "ticks until the next shot is allowed"),
    OWN(reload_ticks, U16, 16, 0, 65535, "ticks left of the running reload, 0: none"),
    OWN(magazine, U16, 16, 0, 65535, "rounds in the weapon, per weapon"),
    OWN(reserve, U16, 16, 0, 65535, "rounds carried for it, per weapon"),
    OWN(weapon, U8, 3, 0, ARB_WEAPONS_MAX - 1, "index of the weapon in hand"),
    OWN(weapons, U8, ARB_WEAPONS_MAX, 0, (1 << ARB_WEAPONS_MAX) - 1, "bit per weapon carried"),
};

static const struct arb_field serpent_rows[] = {
    OWN(x, F32, 0, -PLACE, PLACE, "m, head"),
    OWN(y, F32, 0, -PLACE, PLACE, "m"),
    OWN(vx, F32, 0, -SPEED, SPEED, "m/s"),
    OWN(vy, F32, 0, -SPEED, SPEED, "m/s"),
    OWN(heading, F32, 0, -ANGLE, ANGLE, "rad, where it goes"),
    OWN(boost, U8, 1, 0, 1, "1 while the server grants boost"),
};

#define PARAM(member, kind, bits, low, high, text)                                                 \
    ARB_FIELD(arb_move_params, member, kind, bits, low, high, text)
#define WEAPON(index)                                                                              \
    PARAM(weapons[index].interval_ticks, U16, 16, 0, 65535, "ticks between two shots"),            \
        PARAM(weapons[index].magazine, U16, 16, 0, 65535, "rounds, 0: no magazine"),               \
        PARAM(weapons[index].reload_ticks, U16, 16, 0, 65535, "ticks of a reload"),                \
        PARAM(weapons[index].automatic, U8, 1, 0, 1, "1: fires while held; 0: one shot a press"),  \
        PARAM(weapons[index].projectiles, U8, 5, 0, 16, "projectiles of one shot, 0: hitscan"),    \
        PARAM(weapons[index].projectile_ticks, U16, 16, 0, 65535, "ticks that one flies"),         \
        PARAM(weapons[index].projectile_speed, F32, 0, 0, 512, "m/s"),                             \
        PARAM(weapons[index].projectile_radius, F32, 0, 0, PLACE, "m"),                            \
        PARAM(weapons[index].projectile_spread, F32, 0, 0, ANGLE, "rad, half of their fan")

static const struct arb_field param_rows[] = {
    PARAM(mover, U8, 2, 0, ARB_MOVER_SERPENT, "0 none, 1 arena, 2 serpent"),
    PARAM(weapon_count, U8, 3, 0, ARB_WEAPONS_MAX, "arena"),
    PARAM(tick_rate, U16, 8, 20, 128, "Hz"),
    PARAM(radius, F32, 0, 0, PLACE, "m, of the hull and of the serpent's head"),
    PARAM(half_length, F32, 0, 0, PLACE, "m, arena: of the hull's capsule along x, 0: circle"),
    PARAM(max_speed, F32, 0, 0, SPEED, "m/s, arena"),
    PARAM(acceleration, F32, 0, 0, 1e9, "m/s^2, arena"),
    PARAM(friction, F32, 0, 0, 1e9, "m/s^2, arena, while no move is intended"),
    PARAM(dash_speed, F32, 0, 0, SPEED, "m/s, arena, 0: no dash"),
    PARAM(dash_ticks, U16, 16, 0, 65535, "length of a dash"),
    PARAM(dash_cooldown_ticks, U16, 16, 0, 65535, "from the start of a dash to the next"),
    PARAM(base_speed, F32, 0, 0, SPEED, "m/s, serpent"),
    PARAM(boost_speed, F32, 0, 0, SPEED, "m/s, serpent"),
    PARAM(turn_rate, F32, 0, 0, 1e6, "rad/s, serpent"),
    WEAPON(0),
    WEAPON(1),
    WEAPON(2),
    WEAPON(3),
    WEAPON(4),
    WEAPON(5),
};

_Static_assert(ARB_WEAPONS_MAX == 6, "a WEAPON row for each");

const struct arb_fields arb_own_fields_arena = ARB_FIELDS("own.arena", arena_rows);
const struct arb_fields arb_own_fields_serpent = ARB_FIELDS("own.serpent", serpent_rows);
const struct arb_fields arb_move_param_fields = ARB_FIELDS("move", param_rows);

const struct arb_fields *arb_own_fields(enum arb_mover mover)
{
    switch (mover) {
    case ARB_MOVER_ARENA:
        return &arb_own_fields_arena;
    case ARB_MOVER_SERPENT:
        return &arb_own_fields_serpent;
    case ARB_MOVER_NONE:
        break;
    }
    return NULL;
}
