/* The serpent mode's own state in saved blocks: how much food lies there, and when each of the
 * map's is due. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include <math.h>

static const struct arb_field food_rows[] = {
    ARB_FORM(serpent_state, food, U32, 0, 0),
    ARB_FORM(serpent_state, sown, U32, 0, 0),
    ARB_FORM(serpent_state, sow_credit, F32, 0, 65536),
    ARB_FORM_ZERO(serpent_state, reserved, U32),
};
static const struct arb_fields food_form = ARB_FIELDS("food", food_rows);

struct due {
    arb_tick tick;
};
static const struct arb_field due_rows[] = {ARB_FORM(due, tick, U64, 0, 0)};
static const struct arb_fields due_form = ARB_FIELDS("food due", due_rows);

uint32_t serpent_state_parts(const void *params, const struct map *map, uint32_t max_players,
                             struct arb_form_part parts[WORLD_RULES_PARTS])
{
    (void)params;
    (void)max_players;
    parts[0] = (struct arb_form_part){"food", &food_form, 1, NULL};
    parts[1] = (struct arb_form_part){"food_due", &due_form, map->pickup_count, NULL};
    return 2;
}

static bool head_is_good(const struct world *world, const struct world_entity *head)
{
    float lost = rules_float(head->values[HEAD_LOST]);
    return head->owner != ARB_NO_SLOT && head->body != WORLD_NO_BODY && isfinite(lost) &&
           world->players[head->owner].controlled.id == head - world->entities;
}

static bool food_is_good(const struct map *map, const struct world_entity *food)
{
    int32_t value = food->values[FOOD_VALUE], origin = food->values[FOOD_ORIGIN];
    return value >= 0 && value <= serpent_food_most() && origin >= 0 &&
           origin < SERPENT_FOOD_MAP + (int32_t)map->pickup_count &&
           food->values[FOOD_EATER] == 0 && food->values[FOOD_FRACTION] == 0;
}

bool serpent_check_state(const void *params, const struct map *map, const struct world *world)
{
    const struct serpent_state *state = (const struct serpent_state *)(const void *)world->rules;
    uint32_t food = 0, sown = 0;
    (void)params;
    for (uint32_t id = 0; id < world->head->entity_capacity; id++) {
        const struct world_entity *entity = &world->entities[id];
        if (!entity->alive) continue;
        bool is_food = entity->kind == ARB_SERPENT_FOOD;
        if (is_food ? !food_is_good(map, entity) : !head_is_good(world, entity)) return false;
        food += is_food;
        sown += is_food && entity->values[FOOD_ORIGIN] == SERPENT_FOOD_SOWN;
    }
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_entity *entity = world_find(world, world->players[slot].controlled);
        if (entity != NULL && entity->kind != ARB_SERPENT_HEAD) return false;
    }
    return arb_form_check(&food_form, state) == NULL && state->food == food && state->sown == sown;
}
