#include "server/rules/rules.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

const struct rules *const rules_modes[] = {&rules_arena, &rules_serpent};
const size_t rules_mode_count = sizeof rules_modes / sizeof rules_modes[0];

size_t rules_index(const char *name)
{
    size_t index = 0;
    while (index < rules_mode_count && strcmp(rules_modes[index]->name, name) != 0) {
        index++;
    }
    return index;
}

const struct rules *rules_find(const char *name)
{
    size_t index = rules_index(name);
    return index < rules_mode_count ? rules_modes[index] : NULL;
}

static void append(struct rules_context *context, const struct rules_event *event)
{
    struct rules_events *events = context->events;
    uint8_t kind = event->event.kind;
    bool is_hit = kind == ARB_EVENT_HIT || kind == ARB_EVENT_IMPACT;
    uint32_t room = is_hit ? events->capacity / 2 : events->capacity;
    if (events->count >= room) {
        events->dropped++;
        return;
    }
    events->list[events->count++] = *event;
}

void rules_emit(struct rules_context *context, uint16_t to, uint16_t also,
                const struct arb_event *event)
{
    append(context, &(struct rules_event){.to = to, .also = also, .event = *event});
}

void rules_emit_about(struct rules_context *context, uint16_t to, struct arb_key a,
                      struct arb_key b, const struct arb_event *event)
{
    append(context,
           &(struct rules_event){.to = to, .also = ARB_NO_SLOT, .about = {a, b}, .event = *event});
}

void rules_flights_create(struct rules_flights *flights, struct arb_arena *arena, uint32_t players)
{
    flights->capacity = players * RULES_PELLETS_MAX;
    flights->list = arb_arena_take_array(arena, flights->capacity, sizeof flights->list[0]);
    flights->landing_capacity = rules_events_capacity(players) / 2;
    flights->landings =
        arb_arena_take_array(arena, flights->landing_capacity, sizeof flights->landings[0]);
}

struct rules_flight *rules_flight_begin(struct rules_context *context, uint32_t shot)
{
    struct rules_flights *flights = context->flights;
    if (flights->count == flights->capacity) {
        return NULL;
    }
    struct rules_flight *flight = &flights->list[flights->count++];
    *flight = (struct rules_flight){.shot = shot};
    return flight;
}

void rules_landed(struct rules_context *context, const struct rules_landing *landing)
{
    struct rules_flights *flights = context->flights;
    if (flights->landing_count == flights->landing_capacity) {
        flights->dropped++;
        return;
    }
    flights->landings[flights->landing_count++] = *landing;
}

void rules_emit_score(struct rules_context *context, uint16_t slot)
{
    const struct world_player *player = &context->world->players[slot];
    struct arb_event event = {.kind = ARB_EVENT_SCORE};
    event.score = (struct arb_event_score){
        .slot = slot,
        .score = player->score,
        .kills = player->kills,
        .deaths = player->deaths,
        .deaths_by_nobody = player->deaths_by_nobody,
    };
    rules_emit(context, slot, ARB_NO_SLOT, &event);
}

void rules_bind(struct rules_context *context, uint16_t slot, struct arb_key key)
{
    world_bind(context->world, slot, key);
    struct arb_event event = {.kind = ARB_EVENT_REBIND};
    event.rebind.key = key;
    event.rebind.control = context->world->players[slot].control;
    rules_emit(context, slot, ARB_NO_SLOT, &event);
}

void rules_clear(struct rules_context *context)
{
    struct world *world = context->world;
    for (uint16_t id = 0; id < world->head->entity_capacity; id++) {
        if (world->entities[id].alive) {
            world_remove(world, world_key(world, &world->entities[id]));
        }
    }
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        struct world_player *player = &world->players[slot];
        player->respawn_tick = 0;
        if (!arb_key_is_none(player->controlled)) {
            rules_bind(context, slot, ARB_KEY_NONE);
        }
    }
}

void rules_kill(struct rules_context *context, uint16_t victim_slot, uint16_t killer_slot,
                enum arb_cause cause)
{
    struct world *world = context->world;
    struct world_player *victim = &world->players[victim_slot];
    ARB_ASSERT(world_find(world, victim->controlled) != NULL);
    if (killer_slot == victim_slot) {
        killer_slot = ARB_NO_SLOT;
    }
    struct arb_event event = {.kind = ARB_EVENT_DEATH};
    event.death = (struct arb_event_death){
        .victim = victim->controlled,
        .victim_slot = victim_slot,
        .killer_slot = killer_slot,
        .cause = (uint8_t)cause,
    };
    rules_emit(context, ARB_NO_SLOT, ARB_NO_SLOT, &event);
    victim->deaths++;
    if (killer_slot == ARB_NO_SLOT) {
        victim->deaths_by_nobody++;
    } else {
        world->players[killer_slot].kills++;
        rules_emit_score(context, killer_slot);
    }
    rules_emit_score(context, victim_slot);
    world_remove(world, victim->controlled);
    rules_bind(context, victim_slot, ARB_KEY_NONE);
}

void rules_respawn_after(struct rules_context *context, uint16_t slot, int32_t delay_ms)
{
    arb_tick delay = arb_ms_to_ticks((uint32_t)delay_ms, context->tick_rate);
    context->world->players[slot].respawn_tick = context->world->head->tick + 1 + delay;
}

bool rules_respawn_due(const struct rules_context *context, uint16_t slot)
{
    const struct world *world = context->world;
    const struct world_player *player = &world->players[slot];
    return player->respawn_tick != 0 && player->presence == WORLD_PRESENT &&
           world->head->tick + 1 >= player->respawn_tick;
}

arb_tick rules_seconds(const struct rules_context *context, float seconds)
{
    return (arb_tick)arb_quantise(seconds * (float)context->tick_rate, 1.0F, 1, INT32_MAX);
}

int32_t rules_quantise(const struct arb_kind *kind, int field, float value)
{
    const struct arb_kind_field *row = &kind->fields[field];
    int32_t high = (int32_t)((1U << (row->bits - (row->is_signed ? 1U : 0U))) - 1U);
    return arb_quantise(value, row->unit, row->is_signed ? -high - 1 : 0, high);
}

int rules_rank(const struct world_player *a, const struct world_player *b)
{
    if (a->score != b->score) {
        return a->score > b->score ? -1 : 1;
    }
    if (a->kills != b->kills) {
        return a->kills > b->kills ? -1 : 1;
    }
    if (a->deaths != b->deaths) {
        return a->deaths < b->deaths ? -1 : 1;
    }
    return 0;
}
