#include "tests/scenes/stage.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <stdio.h>
#include <string.h>

static const float SIDE_M = 40.0F;

void stage_open(struct stage *stage, const char *mode, const char *const *sets, uint32_t players)
{
    ARB_ASSERT(players <= STAGE_PLAYERS_MAX);
    memset(stage, 0, sizeof *stage);
    arb_arena_init(&stage->arena);
    stage->params = scene_configure(&stage->config, &stage->arena, mode, sets, 7);
    stage->rules = rules_find(mode);
    stage->players = players;
    stage->map.bounds = (struct arb_bounds){{0, 0}, {SIDE_M, SIDE_M}};
    stage->map.shapes =
        arb_arena_take_array(&stage->arena, STAGE_SHAPES_MAX, sizeof(struct arb_shape));
    stage->map.spawns =
        arb_arena_take_array(&stage->arena, STAGE_PLACES_MAX, sizeof(struct map_place));
    stage->map.pickups =
        arb_arena_take_array(&stage->arena, STAGE_PLACES_MAX, sizeof(struct map_place));
    stage->events.capacity = rules_events_capacity(players);
    stage->events.list =
        arb_arena_take_array(&stage->arena, stage->events.capacity, sizeof(struct rules_event));
    rules_flights_create(&stage->flights, &stage->arena, players);
}

void stage_open_field(struct stage *stage, const char *mode, const char *const *sets,
                      const char *extra, uint32_t players)
{
    const char *all[SCENE_SETS_MAX] = {0};
    uint32_t count = 0;
    for (; sets[count] != NULL; count++) {
        ARB_ASSERT(count + 2 < SCENE_SETS_MAX); /* with it and the end */
        all[count] = sets[count];
    }
    all[count] = extra;
    stage_open(stage, mode, all, players);
    stage_add_spawn_area(stage, (struct arb_vec2){1, 1}, (struct arb_vec2){SIDE_M - 1, SIDE_M - 1});
}

void stage_add_spawn(struct stage *stage, float x, float y, int32_t team)
{
    ARB_ASSERT(stage->map.spawn_count < STAGE_PLACES_MAX);
    struct map_place *place = &stage->map.spawns[stage->map.spawn_count++];
    *place = (struct map_place){.low = {x, y}, .high = {x, y}, .team = team};
    snprintf(place->name, sizeof place->name, "spawn %u", stage->map.spawn_count);
}

void stage_add_spawn_area(struct stage *stage, struct arb_vec2 low, struct arb_vec2 high)
{
    stage_add_spawn(stage, low.x, low.y, 0);
    stage->map.spawns[stage->map.spawn_count - 1].high = high;
}

void stage_add_pickup(struct stage *stage, const char *type, float x, float y, int32_t value,
                      float respawn_s)
{
    ARB_ASSERT(stage->map.pickup_count < STAGE_PLACES_MAX);
    struct map_place *place = &stage->map.pickups[stage->map.pickup_count++];
    *place =
        (struct map_place){.low = {x, y}, .high = {x, y}, .value = value, .respawn_s = respawn_s};
    snprintf(place->type, sizeof place->type, "%s", type);
    snprintf(place->name, sizeof place->name, "pickup %u", stage->map.pickup_count);
}

void stage_add_box(struct stage *stage, struct arb_vec2 low, struct arb_vec2 high)
{
    ARB_ASSERT(stage->map.shape_count < STAGE_SHAPES_MAX);
    stage->map.shapes[stage->map.shape_count++] = (struct arb_shape){
        .type = ARB_SHAPE_POLYGON,
        .count = 4,
        .points = {low, {high.x, low.y}, high, {low.x, high.y}},
    };
}

bool stage_check(struct stage *stage, char *error, size_t error_bytes)
{
    return stage->rules->check(stage->params, (uint32_t)stage->config.match.tick_rate,
                               stage->players, &stage->map, error, error_bytes);
}

static void make_past(struct stage *stage, const struct world_capacity *capacity)
{
    struct rewind_kind kinds[ARB_KINDS_MAX] = {0};
    stage->rules->rewind_kinds(stage->params, kinds);
    struct rewind_config config = {
        .schema = stage->rules->schema,
        .kinds = kinds,
        .tick_rate = stage->context.tick_rate,
        .max_rewind_ms = 500,
        .snapshot_interval_ticks = (uint32_t)stage->config.match.snapshot_interval_ticks,
        .entity_capacity = capacity->entities,
        .player_capacity = capacity->players,
    };
    stage->rewind = rewind_create(&stage->arena, &config, stage->geometry);
    stage->context.rewind = stage->rewind;
}

static void publish(struct stage *stage)
{
    const struct world *world = &stage->world;
    /* A test that turns the clock has no past from then on. */
    const struct arb_frame *newest = stage->rewind == NULL ? NULL : rewind_newest(stage->rewind);
    if (stage->rewind == NULL || (newest != NULL && newest->tick + 1 != world->head->tick)) {
        return;
    }
    struct arb_frame *frame = rewind_begin_frame(stage->rewind, world->head->tick);
    for (uint16_t id = 0; id < world->head->entity_capacity; id++) {
        const struct world_entity *entity = &world->entities[id];
        if (entity->alive) {
            struct arb_published *out = &frame->entities[frame->entity_count++];
            memset(out, 0, sizeof *out);
            out->key = world_key(world, entity);
            out->kind = entity->kind;
            stage->rules->publish(&stage->context, entity, out->q);
        }
    }
    rewind_commit(stage->rewind);
}

static void end_tick(struct stage *stage)
{
    world_settle(&stage->world);
    publish(stage);
    stage->world.head->tick++;
}

void stage_start(struct stage *stage)
{
    const struct rules *rules = stage->rules;
    uint32_t tick_rate = (uint32_t)stage->config.match.tick_rate;
    stage->geometry =
        arb_geometry_create(stage->map.shapes, stage->map.shape_count, stage->map.bounds);
    rules->move_params(stage->params, tick_rate, &stage->move);
    struct world_capacity capacity = {.players = (uint16_t)stage->players};
    rules->capacity(stage->params, &stage->map, stage->players, &capacity);
    world_create(&stage->world, &stage->arena, &capacity, stage->config.match.seed.value, 1);
    stage->context = (struct rules_context){
        .world = &stage->world,
        .params = stage->params,
        .map = &stage->map,
        .geometry = stage->geometry,
        .move = &stage->move,
        .tick_rate = tick_rate,
        .catchup_ticks =
            arb_ms_to_ticks((uint32_t)stage->config.match.lagcomp.projectile_catchup_ms, tick_rate),
        .events = &stage->events,
        .flights = &stage->flights,
        .crowd = rules_crowd_create(&stage->arena, stage->players),
    };
    for (uint16_t slot = 0; slot < stage->players; slot++) {
        struct world_player *player = &stage->world.players[slot];
        player->player_id = slot + 1U;
        player->presence = WORLD_PRESENT;
        player->team = stage->config.match.teams != 0 ? (uint8_t)(1 + slot % 2) : 0;
    }
    if (rules->shoot != NULL) {
        make_past(stage, &capacity);
    }
    stage->world.head->phase = ARB_PHASE_LIVE;
    rules->round_begin(&stage->context);
    end_tick(stage);
}

void stage_close(struct stage *stage)
{
    rewind_destroy(stage->rewind);
    if (stage->geometry != NULL) {
        arb_geometry_destroy(stage->geometry);
    }
    arb_arena_free(&stage->arena);
}

void stage_tick(struct stage *stage, const struct rules_shot *shots, uint32_t shot_count,
                const struct collide_contact *contacts, uint32_t contact_count)
{
    const struct rules *rules = stage->rules;
    stage->events.count = 0;
    stage->flights.count = stage->flights.landing_count = 0;
    for (uint16_t slot = 0; slot < stage->players; slot++) {
        stage->moved[slot].stepped = stage_character(stage, slot) != NULL;
    }
    rules->moved(&stage->context, stage->moved);
    rules->shots(&stage->context, shots, shot_count);
    rules->contacts(&stage->context, contacts, contact_count);
    rules->update(&stage->context);
    end_tick(stage);
    memset(stage->moved, 0, sizeof stage->moved);
}

void stage_pass(struct stage *stage, uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        stage_tick(stage, NULL, 0, NULL, 0);
    }
}

void stage_walk(struct stage *stage, const struct arb_input *input)
{
    for (uint16_t slot = 0; slot < stage->players; slot++) {
        struct world_entity *entity = stage_character(stage, slot);
        if (entity == NULL) {
            continue;
        }
        struct arb_own *own = &stage->world.players[slot].own;
        struct arb_vec2 from = {own->x, own->y};
        arb_move_step(own, input, &stage->move, stage->geometry, &stage->moved[slot].report);
        stage->moved[slot].buttons = input->buttons;
        stage->moved[slot].edges = input->edges;
        entity->previous_x = from.x;
        entity->previous_y = from.y;
        entity->x = own->x;
        entity->y = own->y;
        entity->heading = own->heading;
        if (entity->body != WORLD_NO_BODY) {
            world_body_advance(&stage->world, entity->body, from,
                               (struct arb_vec2){own->x, own->y});
        }
    }
    stage_tick(stage, NULL, 0, NULL, 0);
}

struct world_entity *stage_character(struct stage *stage, uint16_t slot)
{
    return world_find(&stage->world, stage->world.players[slot].controlled);
}

struct arb_key stage_key(struct stage *stage, uint16_t slot)
{
    return stage->world.players[slot].controlled;
}

void stage_put(struct stage *stage, uint16_t slot, float x, float y)
{
    struct world_entity *entity = stage_character(stage, slot);
    struct arb_own *own = &stage->world.players[slot].own;
    ARB_ASSERT(entity != NULL);
    own->x = entity->x = entity->previous_x = x;
    own->y = entity->y = entity->previous_y = y;
}

struct world_entity *stage_entity(struct stage *stage, uint8_t kind, uint32_t n)
{
    for (uint16_t id = 0; id < stage->world.head->entity_capacity; id++) {
        struct world_entity *entity = &stage->world.entities[id];
        if (entity->alive && entity->kind == kind && n-- == 0) {
            return entity;
        }
    }
    return NULL;
}

uint32_t stage_count(struct stage *stage, uint8_t kind)
{
    uint32_t count = 0;
    while (stage_entity(stage, kind, count) != NULL) {
        count++;
    }
    return count;
}

const struct arb_event *stage_event(const struct stage *stage, enum arb_event_kind kind, uint32_t n)
{
    for (uint32_t i = 0; i < stage->events.count; i++) {
        const struct arb_event *event = &stage->events.list[i].event;
        if (event->kind == kind && n-- == 0) {
            return event;
        }
    }
    return NULL;
}

uint32_t stage_event_count(const struct stage *stage, enum arb_event_kind kind)
{
    uint32_t count = 0;
    while (stage_event(stage, kind, count) != NULL) {
        count++;
    }
    return count;
}

bool stage_deaths_add_up(const struct stage *stage)
{
    uint32_t deaths = 0, explained = 0;
    for (uint16_t slot = 0; slot < stage->players; slot++) {
        const struct world_player *player = &stage->world.players[slot];
        deaths += player->deaths;
        explained += (uint32_t)player->kills + player->deaths_by_nobody;
    }
    return deaths == explained;
}

struct collide_contact stage_touch(struct arb_key mover, struct arb_key other, float fraction)
{
    return (struct collide_contact){
        .mover = mover, .other = other, .part = COLLIDE_CIRCLE, .fraction = fraction};
}
