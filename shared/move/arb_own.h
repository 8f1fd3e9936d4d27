/* The own-player state and the numbers of its step: what a client needs to predict its own player
 * bit for bit, and nothing else (spec/README.md "Where code lives"). It travels exact, as float
 * bits.
 */
#ifndef ARB_OWN_H
#define ARB_OWN_H

#include "shared/base/arb_field.h"
#include "shared/base/arb_types.h"

enum { ARB_WEAPONS_MAX = 6 };

enum arb_mover {
    ARB_MOVER_NONE = 0,
    ARB_MOVER_ARENA = 1,   /* accelerates, slides along walls, dashes, shoots */
    ARB_MOVER_SERPENT = 2, /* turns and always goes forward */
};

/* All members are plain; unused ones are zero, so that two equal states are equal bytes. No
 * padding. */
struct arb_own {
    float x, y;                         /* m, centre of the character */
    float vx, vy;                       /* m/s */
    float heading;                      /* rad (-pi, pi]: where it aims (arena) or goes (serpent) */
    float dash_x, dash_y;               /* unit direction of the running dash, else 0 */
    uint16_t dash_ticks;                /* ticks left of the running dash */
    uint16_t dash_cooldown;             /* ticks until the next dash is allowed */
    uint16_t fire_cooldown;             /* ticks until the next shot is allowed */
    uint16_t reload_ticks;              /* ticks left of the running reload; 0: none */
    uint16_t magazine[ARB_WEAPONS_MAX]; /* rounds in the weapon */
    uint16_t reserve[ARB_WEAPONS_MAX];  /* rounds carried for it */
    uint8_t weapon;                     /* index of the weapon in hand */
    uint8_t weapons;                    /* bit per weapon carried */
    uint8_t boost;                      /* serpent: 1 while the server grants boost; arena: 0 */
    uint8_t reserved;                   /* 0 */
};

_Static_assert(sizeof(struct arb_own) == 7 * 4 + 4 * 2 + 12 * 2 + 4, "no padding");

struct arb_weapon_step {
    uint16_t interval_ticks; /* between two shots, >= 1 */
    uint16_t magazine;       /* rounds; 0: no magazine, never reloads, never empty */
    uint16_t reload_ticks;
    uint8_t automatic;         /* 1: fires while the button is held; 0: one shot a press */
    uint8_t projectiles;       /* of one shot; 0: hitscan, the rest is 0 then */
    uint16_t projectile_ticks; /* how long one flies, >= 1 */
    float projectile_speed;    /* m/s */
    float projectile_radius;   /* m */
    float projectile_spread;   /* rad: half of the fan in which several leave */
};

/* Told in the welcome in exact floats; equal on both ends for the whole match. */
struct arb_move_params {
    uint8_t mover;        /* enum arb_mover */
    uint8_t weapon_count; /* arena, 0..ARB_WEAPONS_MAX */
    uint16_t tick_rate;   /* Hz, 20..128 */
    float radius;         /* m, of the hull and of the serpent's head */
    float half_length; /* m, arena: the hull is a capsule from -half_length to +half_length on x; 0:
                          circle */
    float max_speed;   /* arena, m/s */
    float acceleration; /* arena, m/s^2 */
    float friction;     /* arena, m/s^2 while no move is intended */
    float dash_speed;   /* arena, m/s; 0: no dash */
    uint16_t dash_ticks;
    uint16_t dash_cooldown_ticks;
    float base_speed;  /* serpent, m/s */
    float boost_speed; /* serpent, m/s */
    float turn_rate;   /* serpent, rad/s */
    struct arb_weapon_step weapons[ARB_WEAPONS_MAX];
};

/* Tables for the codec: own state per mover (only what that mover uses) and the parameters. */
extern const struct arb_fields arb_own_fields_arena;
extern const struct arb_fields arb_own_fields_serpent;
extern const struct arb_fields arb_move_param_fields;

/* The table of a mover; NULL for ARB_MOVER_NONE. */
const struct arb_fields *arb_own_fields(enum arb_mover mover);

#endif
