/* Pickups of the arena: where the map has them, and who gets one. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

static struct arena_place *places_of(const struct rules_context *context)
{
    return (struct arena_place *)(void *)context->world->rules;
}

/* ---- placing ---- */

/* In an area: at a free point of it, another one each time. */
static bool find_point(const struct rules_context *context, const struct map_place *place,
                       struct arb_vec2 *at)
{
    const struct arena_params *params = arena_params(context);
    *at = place->low;
    if (place->low.x >= place->high.x && place->low.y >= place->high.y) {
        return true;
    }
    return rules_free_point(context, world_stream(context->world, WORLD_STREAM_LOOT), place->low,
                            place->high, params->pickup_radius_m,
                            (uint32_t)params->spawn_candidates, at);
}

static bool place_pickup(struct rules_context *context, uint32_t index)
{
    struct arb_vec2 at;
    const struct map_place *place = &context->map->pickups[index];
    if (!find_point(context, place, &at)) {
        return false;
    }
    struct world *world = context->world;
    struct world_entity *entity = world_find(world, world_spawn(world, ARB_ARENA_PICKUP));
    if (entity == NULL) {
        return false;
    }
    enum arb_pickup_type type;
    bool known =
        arena_pickup_of(arena_params(context), place, &type, &entity->values[PICKUP_VALUE]);
    ARB_ASSERT(known);
    entity->x = entity->previous_x = at.x;
    entity->y = entity->previous_y = at.y;
    entity->radius = arena_params(context)->pickup_radius_m;
    entity->values[PICKUP_TYPE] = (int32_t)type;
    entity->values[PICKUP_PLACE] = (int32_t)index;
    return true;
}

void arena_place_pickups(struct rules_context *context)
{
    struct arena_place *places = places_of(context);
    arb_tick next = context->world->head->tick + 1;
    for (uint32_t i = 0; i < context->map->pickup_count; i++) {
        if (places[i].due != 0 && next >= places[i].due && place_pickup(context, i)) {
            places[i].due = 0;
        }
    }
}

/* ---- taking ---- */

static bool heal(const struct arena_params *params, struct world_entity *character, int32_t points)
{
    int32_t *health = &character->values[CHARACTER_HEALTH];
    if (*health >= params->health_max) {
        return false;
    }
    int32_t room = params->health_max - *health;
    *health += points < room ? points : room;
    return true;
}

/* False: of no use to that player. */
static bool use_pickup(struct rules_context *context, struct world_entity *character,
                       const struct world_entity *pickup)
{
    const struct arena_params *params = arena_params(context);
    struct world_player *player = &context->world->players[character->owner];
    int32_t value = pickup->values[PICKUP_VALUE];
    bool used = false;
    switch ((enum arb_pickup_type)pickup->values[PICKUP_TYPE]) {
    case ARB_PICKUP_HEALTH:
        return heal(params, character, value);
    case ARB_PICKUP_AMMO:
        used = arena_give_ammo(params, &player->own, value);
        break;
    case ARB_PICKUP_WEAPON:
        used = arena_give_weapon(params, &player->own, value);
        break;
    }
    player->outside_changes += used;
    return used;
}

static void take(struct rules_context *context, struct world_entity *character,
                 struct world_entity *pickup)
{
    if (!use_pickup(context, character, pickup)) {
        return;
    }
    uint32_t index = (uint32_t)pickup->values[PICKUP_PLACE];
    float respawn_s = context->map->pickups[index].respawn_s;
    if (respawn_s <= 0.0F) {
        respawn_s = arena_params(context)->pickup_respawn_s;
    }
    places_of(context)[index].due =
        context->world->head->tick + 1 + rules_seconds(context, respawn_s);
    world_remove(context->world, world_key(context->world, pickup));
}

/* A touch of a pickup in this tick, in the one order in which they are served. */
struct touch {
    float fraction;
    uint16_t slot;
    int32_t place;
    struct world_entity *character, *pickup;
};

static bool comes_before(const struct touch *a, const struct touch *b)
{
    if (a->fraction < b->fraction || b->fraction < a->fraction) {
        return a->fraction < b->fraction;
    }
    return a->slot != b->slot ? a->slot < b->slot : a->place < b->place;
}

/* False: not a character at a pickup, or one of them is gone by now. */
static bool touch_of(const struct world *world, const struct collide_contact *contact,
                     struct touch *out)
{
    struct world_entity *character = world_find(world, contact->mover);
    struct world_entity *pickup = world_find(world, contact->other);
    if (character == NULL || pickup == NULL || pickup->kind != ARB_ARENA_PICKUP) {
        return false;
    }
    *out = (struct touch){contact->fraction, character->owner, pickup->values[PICKUP_PLACE],
                          character, pickup};
    return true;
}

/* Who touched first gets it, the lower slot of two that touched at the same moment; whoever has no
 * use for it leaves it to the next. Each pass serves the next touch in that order, which depends on
 * nothing but the touches; there are few. */
void arena_take_pickups(struct rules_context *context, const struct collide_contact *contacts,
                        uint32_t count)
{
    struct touch served = {.fraction = -1.0F};
    for (;;) {
        struct touch next = {.fraction = 2.0F};
        for (uint32_t i = 0; i < count; i++) {
            struct touch touch;
            if (touch_of(context->world, &contacts[i], &touch) && comes_before(&served, &touch) &&
                comes_before(&touch, &next)) {
                next = touch;
            }
        }
        if (next.character == NULL) {
            return;
        }
        take(context, next.character, next.pickup);
        served = next;
    }
}
