/* Food: of the map, sown over it, left by the boosting and the dead; and who eats it. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

static arb_tick *dues_of(const struct rules_context *context)
{
    return (arb_tick *)(void *)(context->world->rules + sizeof(struct serpent_state));
}

/* ---- placing ---- */

static bool has_room(const struct rules_context *context)
{
    return serpent_state(context)->food < (uint32_t)serpent_params(context)->food_max;
}

/* False: no room for more. */
static bool add_food(struct rules_context *context, struct arb_vec2 at, int32_t value,
                     int32_t origin)
{
    struct world *world = context->world;
    if (!has_room(context)) {
        return false;
    }
    struct world_entity *entity = world_find(world, world_spawn(world, ARB_SERPENT_FOOD));
    if (entity == NULL) {
        return false;
    }
    entity->x = entity->previous_x = at.x;
    entity->y = entity->previous_y = at.y;
    entity->radius = serpent_params(context)->food_radius_m;
    entity->values[FOOD_VALUE] = value;
    entity->values[FOOD_ORIGIN] = origin;
    serpent_state(context)->food++;
    serpent_state(context)->sown += origin == SERPENT_FOOD_SOWN;
    return true;
}

void serpent_food_leave(struct rules_context *context, struct arb_vec2 at, int32_t value)
{
    add_food(context, at, value, SERPENT_FOOD_LEFT);
}

static bool find_point(const struct rules_context *context, struct arb_vec2 low,
                       struct arb_vec2 high, struct arb_vec2 *at)
{
    const struct serpent_params *params = serpent_params(context);
    return rules_free_point(context, world_stream(context->world, WORLD_STREAM_LOOT), low, high,
                            params->food_radius_m, (uint32_t)params->spawn_candidates, at);
}

static void place_map_food(struct rules_context *context)
{
    arb_tick *dues = dues_of(context);
    arb_tick next = context->world->head->tick + 1;
    for (uint32_t i = 0; i < context->map->pickup_count; i++) {
        const struct map_place *place = &context->map->pickups[i];
        bool is_area = place->low.x < place->high.x || place->low.y < place->high.y;
        struct arb_vec2 at = place->low;
        if (dues[i] == 0 || next < dues[i] || !has_room(context) ||
            (is_area && !find_point(context, place->low, place->high, &at))) {
            continue;
        }
        int32_t value = place->value != 0 ? place->value : serpent_params(context)->food_value;
        if (add_food(context, at, value, SERPENT_FOOD_MAP + (int32_t)i)) {
            dues[i] = 0;
        }
    }
}

static void sow(struct rules_context *context, uint32_t most)
{
    const struct serpent_params *params = serpent_params(context);
    const struct arb_bounds *bounds = &context->map->bounds;
    const struct serpent_state *state = serpent_state(context);
    for (uint32_t i = 0; i < most && state->sown < (uint32_t)params->food_count; i++) {
        struct arb_vec2 at;
        if (has_room(context) && find_point(context, bounds->low, bounds->high, &at)) {
            add_food(context, at, params->food_value, SERPENT_FOOD_SOWN);
        }
    }
}

void serpent_food_begin(struct rules_context *context)
{
    for (uint32_t i = 0; i < context->map->pickup_count; i++) {
        dues_of(context)[i] = context->world->head->tick + 1;
    }
    place_map_food(context);
    sow(context, (uint32_t)serpent_params(context)->food_count);
}

/* Credit does not pile up while nothing is missing. */
static void sow_in_time(struct rules_context *context)
{
    const struct serpent_params *params = serpent_params(context);
    struct serpent_state *state = serpent_state(context);
    if (state->sown >= (uint32_t)params->food_count) {
        state->sow_credit = 0.0F;
        return;
    }
    state->sow_credit += params->food_per_s / (float)context->tick_rate;
    uint32_t due = (uint32_t)arb_quantise(state->sow_credit - 0.5F, 1.0F, 0, INT32_MAX);
    state->sow_credit -= (float)due;
    sow(context, due);
}

void serpent_food_update(struct rules_context *context)
{
    place_map_food(context);
    sow_in_time(context);
}

/* ---- eating ---- */

/* The eater has a head here and the food lies there still. */
static struct world_entity *food_of(const struct world *world,
                                    const struct collide_contact *contact)
{
    struct world_entity *food = world_find(world, contact->other);
    bool eats =
        food != NULL && food->kind == ARB_SERPENT_FOOD && world_find(world, contact->mover) != NULL;
    return eats ? food : NULL;
}

static void claim(struct world_entity *food, uint16_t slot, float fraction)
{
    int32_t *eater = &food->values[FOOD_EATER];
    float earliest = rules_float(food->values[FOOD_FRACTION]);
    bool tie = !(fraction < earliest || earliest < fraction);
    if (*eater == 0 || fraction < earliest || (tie && slot + 1 < *eater)) {
        *eater = slot + 1;
        food->values[FOOD_FRACTION] = rules_bits(fraction);
    }
}

static void eat(struct rules_context *context, uint16_t slot, struct world_entity *food)
{
    struct world *world = context->world;
    const struct serpent_params *params = serpent_params(context);
    struct serpent_state *state = serpent_state(context);
    struct world_body *body = serpent_body(world, serpent_head(world, slot));
    int32_t value = food->values[FOOD_VALUE], origin = food->values[FOOD_ORIGIN];
    float length = body->length + params->growth_m * (float)value;
    body->length = length < params->max_length_m ? length : params->max_length_m;
    ARB_ASSERT(state->food > 0);
    state->food--;
    if (origin == SERPENT_FOOD_SOWN) {
        state->sown--;
    } else if (origin >= SERPENT_FOOD_MAP) {
        uint32_t index = (uint32_t)(origin - SERPENT_FOOD_MAP);
        float respawn_s = context->map->pickups[index].respawn_s;
        respawn_s = respawn_s > 0.0F ? respawn_s : params->food_respawn_s;
        dues_of(context)[index] = world->head->tick + 1 + rules_seconds(context, respawn_s);
    }
    world_remove(world, world_key(world, food));
    serpent_score(context, slot, value);
}

/* First everyone puts a claim on what he touches, the earliest stays; then all eat. */
void serpent_eat(struct rules_context *context, const struct collide_contact *contacts,
                 uint32_t count)
{
    const struct world *world = context->world;
    for (uint32_t i = 0; i < count; i++) {
        struct world_entity *food = food_of(world, &contacts[i]);
        if (food != NULL) {
            claim(food, world_find(world, contacts[i].mover)->owner, contacts[i].fraction);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        struct world_entity *food = food_of(world, &contacts[i]);
        if (food != NULL) {
            uint16_t slot = world_find(world, contacts[i].mover)->owner;
            if (food->values[FOOD_EATER] == slot + 1) {
                eat(context, slot, food);
            }
        }
    }
}
