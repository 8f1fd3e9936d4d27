/* The serpent mode's numbers and the functions that its files share. For this folder, scenes and
 * tests. */
#ifndef RULES_SERPENT_INTERNAL_H
#define RULES_SERPENT_INTERNAL_H

#include "server/rules/rules.h"

enum serpent_score { SERPENT_SCORE_LENGTH, SERPENT_SCORE_FOOD };

struct serpent_params {
    float base_speed, boost_speed, turn_rate;
    float head_radius_m, body_radius_m, body_spacing_m;
    float start_length_m, max_length_m;
    float growth_m;
    float boost_min_length_m, boost_cost, boost_drop_m;
    float food_radius_m, food_per_s, food_respawn_s;
    int32_t food_value, food_count, food_max;
    float death_food_spacing_m;
    int32_t death_food_value;
    int32_t respawn_ms, spawn_candidates;
    float spawn_clearance_m, spawn_ahead_m;
    int32_t score, score_limit;
};

extern const struct option serpent_options[];
extern const size_t serpent_option_count;

#endif
