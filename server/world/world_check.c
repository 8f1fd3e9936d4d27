/* A state that came from outside: whether the stages can work with it. Every index is one that
 * there is, and what names each other agrees. */
#include "server/world/world.h"

#include "server/world/world_internal.h"

#include <string.h>

static bool is_all_zero(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    return count == 0 || (at[0] == 0 && memcmp(at, at + 1, count - 1) == 0);
}

static bool head_fits(const struct world_head *head, const struct world_head *own)
{
    return head->schema_version == WORLD_SCHEMA_VERSION && head->block_bytes == own->block_bytes &&
           head->player_capacity == own->player_capacity &&
           head->entity_capacity == own->entity_capacity &&
           head->body_capacity == own->body_capacity && head->body_points == own->body_points &&
           head->rules_bytes == own->rules_bytes && head->seed == own->seed;
}

static bool streams_are_good(const struct world_head *head)
{
    for (uint64_t i = 0; i < WORLD_STREAMS; i++) {
        if (head->streams[i].increment != ((i + 1) << 1 | 1)) return false;
    }
    return true;
}

/* Each id is either alive or waits once in the ring. */
static bool ids_are_good(const struct world *world)
{
    const struct world_head *head = world->head;
    uint64_t waits[ARB_ENTITIES_MAX / 64] = {0};
    if (head->free_first >= head->entity_capacity || head->free_count > head->entity_capacity ||
        head->entity_count != head->entity_capacity - head->free_count) {
        return false;
    }
    for (uint32_t i = 0; i < head->entity_capacity; i++) {
        uint16_t id = world->free_ids[(head->free_first + i) % head->entity_capacity];
        if (id >= head->entity_capacity) return false;
        if (i >= head->free_count) continue; /* a place in the ring that nothing waits in */
        uint64_t bit = UINT64_C(1) << (id % 64);
        if (world->entities[id].alive || (waits[id / 64] & bit) != 0) return false;
        waits[id / 64] |= bit;
    }
    return true;
}

static bool body_is_of(const struct world *world, uint16_t body, uint16_t id)
{
    return body < world->head->body_capacity && world->bodies[body].used == 1 &&
           world->bodies[body].entity == id;
}

static bool entity_is_good(const struct world *world, uint16_t id, uint8_t kind_count)
{
    const struct world_entity *entity = &world->entities[id];
    if (!entity->alive) {
        struct world_entity rest = *entity;
        rest.generation = 0;
        return is_all_zero(&rest, sizeof rest);
    }
    return entity->generation != 0 && entity->kind < kind_count &&
           entity->flags != WORLD_ENTITY_REMOVED &&
           (entity->owner == ARB_NO_SLOT || entity->owner < world->head->player_capacity) &&
           (entity->body == WORLD_NO_BODY || body_is_of(world, entity->body, id));
}

static bool body_is_good(const struct world *world, uint16_t index, const struct arb_fields *form)
{
    const struct world_body *body = &world->bodies[index];
    uint16_t capacity = world->head->body_points;
    const struct arb_vec2 *points = &world->points[(size_t)index * capacity];
    if (!body->used) {
        return is_all_zero(body, sizeof *body) && is_all_zero(points, capacity * sizeof *points);
    }
    return arb_form_check(form, body) == NULL && body->first < capacity &&
           body->count <= capacity && body->spacing > 0.0F && body->along <= body->spacing &&
           body->entity < world->head->entity_capacity && world->entities[body->entity].alive &&
           world->entities[body->entity].body == index;
}

static bool player_is_good(const struct world *world, uint16_t slot)
{
    const struct world_player *player = &world->players[slot];
    if (!arb_proto_name_valid(player->name)) return false; /* others are told of it */
    if (arb_key_is_none(player->controlled)) {
        return player->controlled.id == 0;
    }
    const struct world_entity *entity = world_find(world, player->controlled);
    return (player->presence == WORLD_PRESENT || player->presence == WORLD_AWAY) &&
           entity != NULL && entity->owner == slot;
}

bool world_check(const struct world *world, const struct world *own, uint8_t kind_count,
                 const char **wrong)
{
    const struct world_head *head = world->head;
    struct arb_form_part parts[WORLD_PARTS];
    *wrong = "is of other capacities, or of another seed";
    if (!head_fits(head, own->head)) return false;
    world_parts(world, parts);
    *wrong = "has an impossible number in its head";
    if (arb_form_check(parts[0].fields, head) != NULL || !streams_are_good(head)) return false;
    *wrong = "does not say which entity ids are free";
    if (!ids_are_good(world)) return false;
    *wrong = "has an impossible entity";
    if (!arb_form_check_all(&parts[2])) return false;
    for (uint16_t id = 0; id < head->entity_capacity; id++) {
        if (!entity_is_good(world, id, kind_count)) return false;
    }
    *wrong = "has an impossible body";
    for (uint16_t body = 0; body < head->body_capacity; body++) {
        if (!body_is_good(world, body, parts[4].fields)) return false;
    }
    if (!arb_form_check_all(&parts[5])) return false;
    *wrong = "has an impossible player";
    if (!arb_form_check_all(&parts[1])) return false;
    for (uint16_t slot = 0; slot < head->player_capacity; slot++) {
        if (!player_is_good(world, slot)) return false;
    }
    return true;
}
