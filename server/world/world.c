#include "server/world/world.h"

#include "server/world/world_internal.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"

#include <string.h>

struct layout {
    size_t players, entities, free_ids, bodies, points, rules, end; /* offsets in the block */
};

static size_t aligned(size_t offset)
{
    return (offset + 7) & ~(size_t)7;
}

static struct layout layout_of(const struct world_capacity *capacity)
{
    struct layout at;
    size_t points = (size_t)capacity->bodies * capacity->body_points;
    at.players = aligned(sizeof(struct world_head));
    at.entities = aligned(at.players + capacity->players * sizeof(struct world_player));
    at.free_ids = aligned(at.entities + capacity->entities * sizeof(struct world_entity));
    at.bodies = aligned(at.free_ids + capacity->entities * sizeof(uint16_t));
    at.points = aligned(at.bodies + capacity->bodies * sizeof(struct world_body));
    at.rules = aligned(at.points + points * sizeof(struct arb_vec2));
    at.end = aligned(at.rules + capacity->rules_bytes);
    return at;
}

size_t world_block_bytes(const struct world_capacity *capacity)
{
    return layout_of(capacity).end;
}

static void set_view(struct world *world, uint8_t *block, const struct world_capacity *capacity)
{
    struct layout at = layout_of(capacity);
    world->block = block;
    world->head = (struct world_head *)(void *)block;
    world->players = (struct world_player *)(void *)(block + at.players);
    world->entities = (struct world_entity *)(void *)(block + at.entities);
    world->free_ids = (uint16_t *)(void *)(block + at.free_ids);
    world->bodies = (struct world_body *)(void *)(block + at.bodies);
    world->points = (struct arb_vec2 *)(void *)(block + at.points);
    world->rules = block + at.rules;
}

void world_view(struct world *world, const struct world *like, uint8_t *block)
{
    const struct world_head *head = like->head;
    struct world_capacity capacity = {.players = head->player_capacity,
                                      .entities = head->entity_capacity,
                                      .bodies = head->body_capacity,
                                      .body_points = head->body_points,
                                      .rules_bytes = head->rules_bytes};
    *world = (struct world){0};
    set_view(world, block, &capacity);
    *world->head = *head;
    if (like->rules_part_count > 0) {
        world_set_rules_parts(world, like->rules_parts, like->rules_part_count);
    }
}

void world_create(struct world *world, struct arb_arena *arena,
                  const struct world_capacity *capacity, uint64_t seed, arb_tick first_tick)
{
    ARB_ASSERT(capacity->players >= 1 && capacity->players <= ARB_PLAYERS_MAX);
    ARB_ASSERT(capacity->entities >= 1 && capacity->entities <= ARB_ENTITIES_MAX);
    ARB_ASSERT(capacity->body_points <= ARB_BODY_POINTS_MAX);
    size_t bytes = world_block_bytes(capacity);
    ARB_ASSERT(bytes <= UINT32_MAX);
    *world = (struct world){0};
    set_view(world, arb_arena_take(arena, bytes), capacity);
    if (!ARB_FORM_IS_MEMORY) world->form = arb_arena_take(arena, bytes);
    struct world_head *head = world->head;
    head->schema_version = WORLD_SCHEMA_VERSION;
    head->block_bytes = (uint32_t)bytes;
    head->tick = first_tick;
    head->seed = seed;
    for (uint64_t i = 0; i < WORLD_STREAMS; i++) {
        arb_rng_seed(&head->streams[i], seed, i + 1);
    }
    head->next_player_id = 1;
    head->player_capacity = capacity->players;
    head->entity_capacity = capacity->entities;
    head->body_capacity = capacity->bodies;
    head->body_points = capacity->body_points;
    head->rules_bytes = capacity->rules_bytes;
    head->free_count = capacity->entities;
    for (uint16_t id = 0; id < capacity->entities; id++) {
        world->free_ids[id] = id;
    }
}

void world_set_rules_parts(struct world *world, const struct arb_form_part *parts, uint32_t count)
{
    ARB_ASSERT(count <= WORLD_RULES_PARTS);
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        world->rules_parts[i] = parts[i];
        world->rules_parts[i].memory = world->rules + at;
        at += (size_t)parts[i].count * arb_form_bytes(parts[i].fields);
    }
    ARB_ASSERT(at == world->head->rules_bytes);
    world->rules_part_count = count;
}

uint64_t world_checksum(const struct world *world)
{
    uint32_t bytes = world->head->block_bytes;
    if (ARB_FORM_IS_MEMORY) {
        return arb_hash(world->block, bytes, 0);
    }
    struct arb_form_part parts[WORLD_PARTS];
    uint32_t count = world_parts(world, parts);
    for (uint32_t i = 0; i < count; i++) {
        arb_form_put(&parts[i], world->form + ((uint8_t *)parts[i].memory - world->block));
    }
    return arb_hash(world->form, bytes, 0);
}

struct arb_key world_spawn(struct world *world, uint8_t kind)
{
    struct world_head *head = world->head;
    if (head->free_count == 0) {
        return ARB_KEY_NONE;
    }
    uint16_t id = world->free_ids[head->free_first];
    head->free_first = (head->free_first + 1) % head->entity_capacity;
    head->free_count--;
    head->entity_count++;
    struct world_entity *entity = &world->entities[id];
    ARB_ASSERT(!entity->alive);
    uint16_t generation = (uint16_t)(entity->generation + 1);
    memset(entity, 0, sizeof *entity);
    entity->generation = generation == 0 ? 1 : generation;
    entity->alive = 1;
    entity->kind = kind;
    entity->owner = ARB_NO_SLOT;
    entity->body = WORLD_NO_BODY;
    entity->born_tick = (uint32_t)(head->tick + 1);
    return (struct arb_key){id, entity->generation};
}

struct world_entity *world_find(const struct world *world, struct arb_key key)
{
    if (arb_key_is_none(key) || key.id >= world->head->entity_capacity) {
        return NULL;
    }
    struct world_entity *entity = &world->entities[key.id];
    bool here = entity->alive && entity->generation == key.generation &&
                !(entity->flags & WORLD_ENTITY_REMOVED);
    return here ? entity : NULL;
}

struct arb_key world_key(const struct world *world, const struct world_entity *entity)
{
    return (struct arb_key){(uint16_t)(entity - world->entities), entity->generation};
}

void world_remove(struct world *world, struct arb_key key)
{
    struct world_entity *entity = world_find(world, key);
    if (entity != NULL) {
        entity->flags |= WORLD_ENTITY_REMOVED;
        world->head->removed_count++;
    }
}

static void free_entity(struct world *world, uint16_t id)
{
    struct world_head *head = world->head;
    struct world_entity *entity = &world->entities[id];
    if (entity->body != WORLD_NO_BODY) {
        world_body_free(world, entity->body);
    }
    uint16_t generation = entity->generation;
    memset(entity, 0, sizeof *entity);
    entity->generation = generation;
    uint32_t last = (head->free_first + head->free_count) % head->entity_capacity;
    world->free_ids[last] = id;
    head->free_count++;
    head->entity_count--;
}

void world_settle(struct world *world)
{
    struct world_head *head = world->head;
    for (uint16_t id = 0; head->removed_count > 0; id++) {
        ARB_ASSERT(id < head->entity_capacity);
        if (world->entities[id].flags & WORLD_ENTITY_REMOVED) {
            free_entity(world, id);
            head->removed_count--;
        }
    }
}

void world_bind(struct world *world, uint16_t slot, struct arb_key key)
{
    ARB_ASSERT(slot < world->head->player_capacity);
    struct world_player *player = &world->players[slot];
    player->controlled = key;
    player->control++;
    memset(&player->own, 0, sizeof player->own);
    player->carried_edges = 0;
    player->carried_aim = 0;
    player->carried_action = 0;
    player->carried_view = (struct arb_view){0};
}
