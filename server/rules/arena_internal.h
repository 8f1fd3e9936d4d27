/* The arena mode's numbers and the functions that its files share. For this folder, scenes and
 * tests. */
#ifndef RULES_ARENA_INTERNAL_H
#define RULES_ARENA_INTERNAL_H

#include "server/rules/rules.h"

enum {
    ARENA_WEAPON_NAME_BYTES = 24,
    ARENA_HEALTH_MOST = 1000, /* points; arena.health_max may be lowered while some have more */
};

enum arena_kind { ARENA_HITSCAN, ARENA_PROJECTILE };
enum arena_spread { ARENA_SPREAD_UNIFORM, ARENA_SPREAD_TRIANGULAR };

/* A circle (a == b) or capsule in the character's frame, +x ahead. */
struct arena_hit_shape {
    float ax, ay, bx, by; /* m */
    float radius;         /* m */
    float factor;         /* of the damage */
};

struct arena_weapon {
    char name[ARENA_WEAPON_NAME_BYTES];
    int32_t kind; /* enum arena_kind */
    float range_m;
    int32_t damage;     /* points, up to falloff_from_m */
    int32_t damage_far; /* points, from falloff_to_m on; linear between */
    float falloff_from_m, falloff_to_m;
    float spread_rad; /* to either side */
    int32_t spread;   /* enum arena_spread */
    int32_t pellets;  /* rays of one shot */
    int32_t pierce;   /* characters it goes through */
    float pierce_factor;
    int32_t interval_ms;
    int32_t magazine; /* rounds; 0: none, never empty */
    int32_t reserve, reserve_max;
    int32_t reload_ms;
    float projectile_speed;    /* m/s */
    float projectile_radius_m; /* m */
    int32_t projectile_life_ms;
    float blast_m;        /* 0: no blast */
    int32_t blast_damage; /* points, in the middle */
    bool automatic;
    bool start; /* carried from the spawn on */
};

struct arena_params {
    float player_radius_m, player_half_length_m;
    float max_speed, acceleration, friction;
    float dash_speed;
    int32_t dash_ms, dash_cooldown_ms;
    int32_t health, health_max;
    struct arena_hit_shape hit_shapes[REWIND_SHAPES_MAX];
    int32_t hit_shape_count;
    struct arena_weapon weapons[ARB_WEAPONS_MAX];
    int32_t weapon_count;
    float pickup_radius_m, pickup_respawn_s;
    int32_t pickup_health, pickup_ammo, pickup_weapon;
    int32_t respawn_ms, spawn_protection_ms, spawn_candidates;
    bool team_damage;
    bool player_push;
    int32_t kill_score, team_kill_score, score_limit;
};

enum { ARENA_OPTIONS = 25 };
extern const struct option arena_options[ARENA_OPTIONS];

/* Entity values of a character (health first) and of a pickup. */
enum {
    CHARACTER_HEALTH,
    CHARACTER_PUSH_X,
    CHARACTER_PUSH_Y
};                                                /* push: 1/65536 m, 0 between ticks */
enum { PICKUP_TYPE, PICKUP_VALUE, PICKUP_PLACE }; /* place: index into map->pickups */

/* Entity values of a projectile. Its velocity is the entity's; x and y go along. */
enum {
    PROJECTILE_ORIGIN_X, /* bits of m */
    PROJECTILE_ORIGIN_Y,
    PROJECTILE_START, /* low 32 bits, in moments */
    PROJECTILE_END,   /* the same: where static geometry or its life ends it */
    PROJECTILE_SHOT,  /* action << 16 | pellet << 8 | weapon */
};

/* Player values: low 32 bits of the tick S[that] from which on it can be hurt. */
enum { PLAYER_PROTECTED_UNTIL };

/* The mode's own state: one per pickup of the map, followed by the keys of all projectiles under
 * way (arena_projectiles.c). */
struct arena_place {
    arb_tick due; /* S[due] has it again; 0: it lies there */
};

static inline const struct arena_params *arena_params(const struct rules_context *context)
{
    return context->params;
}

/* arena_check.c */
bool arena_check(const void *params, uint32_t tick_rate, uint32_t max_players,
                 const struct map *map, char *error, size_t error_bytes);
void arena_capacity(const void *params, const struct map *map, uint32_t max_players,
                    struct world_capacity *out);
/* Type and value of a pickup of the map, defaults filled in; false: the mode knows no such kind. A
 * weapon's value is its index, from 0. */
bool arena_pickup_of(const struct arena_params *params, const struct map_place *place,
                     enum arb_pickup_type *type, int32_t *value);
/* The greatest value that a published pickup can say. */
int32_t arena_pickup_most(void);

/* arena.c: distance to the nearest living enemy (m); negative when the place touches somebody. As
 * rules_spawn.room. */
float arena_room(const struct rules_context *context, uint16_t slot, struct arb_vec2 at,
                 float least);

/* arena_weapons.c */
void arena_shoot(struct rules_context *context, struct rules_shot *shot);
void arena_shots(struct rules_context *context, const struct rules_shot *shots, uint32_t count);
/* Damage in points of a hit at `distance` (m) after going through `pierced` characters. */
int32_t arena_damage(const struct arena_params *params, const struct arena_weapon *weapon,
                     float distance, uint8_t part, uint32_t pierced);
/* Start weapons, full magazines. */
void arena_arm(const struct arena_params *params, struct arb_own *own);
/* False: of no use to that player, nothing changed. */
bool arena_give_weapon(const struct arena_params *params, struct arb_own *own, int32_t index);
bool arena_give_ammo(const struct arena_params *params, struct arb_own *own, int32_t rounds);
/* The weapon in hand can never fire again while another one can: takes the first of these. */
bool arena_drop_spent(const struct arena_params *params, struct arb_own *own);

/* What one shot did to one victim: its pellets together are one event. */
struct arena_blow {
    struct arb_key victim;
    int32_t damage;
    uint8_t part;
    struct arb_vec2 point; /* m, of the victim */
};
/* Damage, death and score. A victim that is dead, by an earlier shot of this tick too, gives
 * nothing. */
void arena_strike(struct rules_context *context, uint16_t shooter, const struct arena_blow *blow);
/* A point at the very end of the world may be rounded past it, and no message says so. */
float arena_within_world(float coordinate);

/* arena_projectiles.c */
/* Most that one player has under way. */
uint32_t arena_flights_max(const struct arena_params *params);
/* Stage 7, after the rays: those under way go on, those of this tick's shots leave. */
void arena_projectiles(struct rules_context *context, const struct rules_shot *shots,
                       uint32_t count);
/* Those of a player who leaves are gone with it. */
void arena_drop_projectiles(struct rules_context *context, uint16_t slot);
void arena_publish_projectile(const struct rules_context *context,
                              const struct world_entity *entity, int32_t *out);

/* arena_state.c */
uint32_t arena_state_parts(const void *params, const struct map *map, uint32_t max_players,
                           struct arb_form_part parts[WORLD_RULES_PARTS]);
bool arena_check_state(const void *params, const struct map *map, const struct world *world);

/* arena_pickups.c */
void arena_place_pickups(struct rules_context *context); /* those that are due */
void arena_take_pickups(struct rules_context *context, const struct collide_contact *contacts,
                        uint32_t count);

#endif
