/* The arena mode's numbers and the functions that its files share. For this folder, scenes and
 * tests. */
#ifndef RULES_ARENA_INTERNAL_H
#define RULES_ARENA_INTERNAL_H

#include "server/rules/rules.h"

enum { ARENA_WEAPON_NAME_BYTES = 24 };

enum arena_spread { ARENA_SPREAD_UNIFORM, ARENA_SPREAD_TRIANGULAR };

/* A circle (a == b) or capsule in the character's frame, +x ahead. */
struct arena_hit_shape {
    float ax, ay, bx, by; /* m */
    float radius;         /* m */
    float factor;         /* of the damage */
};

struct arena_weapon {
    char name[ARENA_WEAPON_NAME_BYTES];
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

extern const struct option arena_options[];
extern const size_t arena_option_count;

#endif
