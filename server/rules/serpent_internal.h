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

enum { SERPENT_OPTIONS = 26 };
extern const struct option serpent_options[SERPENT_OPTIONS];

/* Entity values of a head: bits of the fraction of this tick's step at which it reached a wall, +1,
 * 0: it did not (0 between ticks); bits of the metres lost to boost since the last food that it
 * left. Of food: value, where it is from; in stage 7 who touched it first, slot + 1, and when. */
enum { HEAD_WALL, HEAD_LOST };
enum { FOOD_VALUE, FOOD_ORIGIN, FOOD_EATER, FOOD_FRACTION };

/* FOOD_ORIGIN; from SERPENT_FOOD_MAP on: place of the map, added to it. */
enum { SERPENT_FOOD_SOWN, SERPENT_FOOD_LEFT, SERPENT_FOOD_MAP };

/* The mode's own state, followed by one arb_tick per pickup of the map: S[that] has it again; 0: it
 * lies there. */
struct serpent_state {
    uint32_t food;     /* that lies there, of all origins */
    uint32_t sown;     /* of these, sown */
    float sow_credit;  /* of a piece */
    uint32_t reserved; /* 0 */
};

static inline const struct serpent_params *serpent_params(const struct rules_context *context)
{
    return context->params;
}

static inline struct serpent_state *serpent_state(const struct rules_context *context)
{
    return (struct serpent_state *)(void *)context->world->rules;
}

/* NULL: none at present. */
static inline struct world_entity *serpent_head(const struct world *world, uint16_t slot)
{
    return world_find(world, world->players[slot].controlled);
}

static inline struct world_body *serpent_body(const struct world *world,
                                              const struct world_entity *head)
{
    return &world->bodies[head->body];
}

/* serpent_check.c: the greatest value that published food can say. */
int32_t serpent_food_most(void);
bool serpent_check(const void *params, uint32_t tick_rate, uint32_t max_players,
                   const struct map *map, char *error, size_t error_bytes);
void serpent_capacity(const void *params, const struct map *map, uint32_t max_players,
                      struct world_capacity *out);

/* serpent_state.c */
uint32_t serpent_state_parts(const void *params, const struct map *map, uint32_t max_players,
                             struct arb_form_part parts[WORLD_RULES_PARTS]);
bool serpent_check_state(const void *params, const struct map *map, const struct world *world);

/* serpent_spawn.c */
/* False: there is no free place, entity or body in this tick. */
bool serpent_spawn(struct rules_context *context, uint16_t slot);
/* Distance to the nearest part of anybody's middle line, beyond the wanted one (m). As
 * rules_spawn.room. */
float serpent_room(const struct rules_context *context, uint16_t slot, struct arb_vec2 at,
                   float least);

/* serpent_death.c: judges all ends of this tick, see there. */
void serpent_deaths(struct rules_context *context, const struct collide_contact *contacts,
                    uint32_t count);

/* serpent_food.c */
void serpent_food_begin(struct rules_context *context);
/* The map's food that is due, then what is sown in a tick. */
void serpent_food_update(struct rules_context *context);
/* Leaves a piece; left out when there is no room for more. */
void serpent_food_leave(struct rules_context *context, struct arb_vec2 at, int32_t value);
/* The living eat what they touched. */
void serpent_eat(struct rules_context *context, const struct collide_contact *contacts,
                 uint32_t count);
/* serpent.c: after a body has grown; `eaten` is the value of the food. */
void serpent_score(struct rules_context *context, uint16_t slot, int32_t eaten);

#endif
