/* The broad phase: one tree over the circles' ways in this tick and over the bodies in pieces. A
 * leaf's box may be larger than what it stands for, never smaller; which leaves a query names never
 * decides a result. */
#include "server/collide/collide_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_box2d.h"

#define FAT 0.5F     /* m: a slow mover is put back into the tree every few ticks only */
#define EXACT 0.001F /* m, around every box: rounding hides nothing from the coarse test */

b2AABB collide_circle_box(struct arb_vec2 from, struct arb_vec2 to, float radius)
{
    float grow = radius + EXACT;
    return (b2AABB){
        {(from.x < to.x ? from.x : to.x) - grow, (from.y < to.y ? from.y : to.y) - grow},
        {(from.x > to.x ? from.x : to.x) + grow, (from.y > to.y ? from.y : to.y) + grow}};
}

static b2AABB fatten(b2AABB box)
{
    return (b2AABB){{box.lowerBound.x - FAT, box.lowerBound.y - FAT},
                    {box.upperBound.x + FAT, box.upperBound.y + FAT}};
}

static bool contains(b2AABB outer, b2AABB inner)
{
    return outer.lowerBound.x <= inner.lowerBound.x && outer.lowerBound.y <= inner.lowerBound.y &&
           outer.upperBound.x >= inner.upperBound.x && outer.upperBound.y >= inner.upperBound.y;
}

/* ---- circles ---- */

static void drop_proxy(struct collide *collide, int32_t *proxy)
{
    if (*proxy != COLLIDE_NO_PROXY) {
        b2DynamicTree_DestroyProxy(&collide->tree, *proxy);
        *proxy = COLLIDE_NO_PROXY;
    }
}

static void refit_circle(struct collide *collide, const struct world *world, uint32_t id)
{
    struct collide_leaf *leaf = &collide->leaves[id];
    const struct world_entity *entity = &world->entities[id];
    bool wanted = entity->alive && !(entity->flags & WORLD_ENTITY_REMOVED) &&
                  collide->kinds[entity->kind].category != 0;
    if (!wanted) {
        drop_proxy(collide, &leaf->proxy);
        return;
    }
    b2AABB box = collide_circle_box((struct arb_vec2){entity->previous_x, entity->previous_y},
                                    (struct arb_vec2){entity->x, entity->y}, entity->radius);
    bool same = leaf->proxy != COLLIDE_NO_PROXY && leaf->kind == entity->kind;
    if (same && contains(leaf->fat, box)) {
        return;
    }
    leaf->fat = fatten(box);
    if (same) {
        b2DynamicTree_MoveProxy(&collide->tree, leaf->proxy, leaf->fat);
        return;
    }
    drop_proxy(collide, &leaf->proxy);
    leaf->kind = entity->kind;
    leaf->proxy = b2DynamicTree_CreateProxy(
        &collide->tree, leaf->fat, collide_bits(collide->kinds[entity->kind].category, 0), id);
}

/* ---- bodies ---- */

bool collide_segment(const struct world *world, uint32_t body, uint32_t place, uint32_t *segment,
                     struct arb_vec2 *a, struct arb_vec2 *b)
{
    const struct world_body *trail = &world->bodies[body];
    uint32_t capacity = world->head->body_points;
    uint32_t index = (place + capacity - trail->first) % capacity;
    if (index >= trail->count) {
        return false;
    }
    const struct world_entity *owner = &world->entities[trail->entity];
    struct arb_vec2 head = {owner->x, owner->y};
    *segment = index;
    *a = index == 0 ? head : world_body_point(world, (uint16_t)body, index - 1, head);
    *b = world_body_point(world, (uint16_t)body, index, head);
    return true;
}

static void refit_chunk(struct collide *collide, const struct world *world, uint32_t body,
                        uint32_t chunk)
{
    const struct world_entity *owner = &world->entities[world->bodies[body].entity];
    const struct collide_kind *kind = &collide->kinds[owner->kind];
    int32_t *proxy = &collide->chunk_proxies[body * collide->chunk_count + chunk];
    b2AABB box = {{0, 0}, {0, 0}};
    bool any = false;
    uint32_t end = (chunk + 1) * COLLIDE_CHUNK;
    for (uint32_t place = chunk * COLLIDE_CHUNK; place < end && place < collide->body_points;
         place++) {
        uint32_t segment;
        struct arb_vec2 a, b;
        if (collide_segment(world, body, place, &segment, &a, &b)) {
            /* Whole, not cut at the body's length: that may grow without a new point. */
            b = world->points[(size_t)body * collide->body_points + place];
            b2AABB one = collide_circle_box(a, b, kind->body_radius);
            box = any ? b2AABB_Union(box, one) : one;
            any = true;
        }
    }
    if (!any || kind->category == 0) {
        drop_proxy(collide, proxy);
    } else if (*proxy == COLLIDE_NO_PROXY) {
        *proxy = b2DynamicTree_CreateProxy(&collide->tree, box, collide_bits(0, kind->category),
                                           collide_chunk_data(body, chunk));
    } else if (!contains(b2DynamicTree_GetAABB(&collide->tree, *proxy), box)) {
        b2DynamicTree_MoveProxy(&collide->tree, *proxy, fatten(box));
    }
}

static void drop_trail(struct collide *collide, uint32_t body)
{
    for (uint32_t chunk = 0; chunk < collide->chunk_count; chunk++) {
        drop_proxy(collide, &collide->chunk_proxies[body * collide->chunk_count + chunk]);
    }
    collide->trails[body] = (struct collide_trail){.key = ARB_KEY_NONE};
}

/* Newly pushed points, and the one that was the first before: its segment now ends elsewhere. The
 * chunks that lost their last point are those behind the end. */
static void refit_trail(struct collide *collide, const struct world *world, uint32_t body)
{
    const struct world_body *now = &world->bodies[body];
    struct collide_trail *trail = &collide->trails[body];
    const struct world_entity *owner = now->used ? &world->entities[now->entity] : NULL;
    if (owner == NULL || !owner->alive || (owner->flags & WORLD_ENTITY_REMOVED)) {
        drop_trail(collide, body);
        return;
    }
    struct arb_key key = world_key(world, owner);
    uint32_t capacity = collide->body_points;
    uint32_t pushed = (trail->first + capacity - now->first) % capacity;
    bool follows = arb_key_equal(trail->key, key) && now->count <= trail->count + pushed &&
                   pushed <= now->count;
    if (!follows) {
        drop_trail(collide, body);
        for (uint32_t chunk = 0; chunk < collide->chunk_count; chunk++) {
            refit_chunk(collide, world, body, chunk);
        }
    } else {
        uint32_t ended = trail->count + pushed - now->count;
        uint32_t last_done = collide->chunk_count;
        for (uint32_t i = 0; i <= pushed; i++) {
            uint32_t chunk = (now->first + i) % capacity / COLLIDE_CHUNK;
            if (chunk != last_done) {
                refit_chunk(collide, world, body, chunk);
                last_done = chunk;
            }
        }
        for (uint32_t i = 0; i < ended; i++) {
            uint32_t chunk = (now->first + now->count + i) % capacity / COLLIDE_CHUNK;
            if (chunk != last_done) {
                refit_chunk(collide, world, body, chunk);
                last_done = chunk;
            }
        }
    }
    *trail = (struct collide_trail){.key = key, .first = now->first, .count = now->count};
}

void collide_refit(struct collide *collide, const struct world *world)
{
    ARB_ASSERT(world->head->entity_capacity == collide->entity_capacity);
    for (uint32_t id = 0; id < collide->entity_capacity; id++) {
        refit_circle(collide, world, id);
    }
    for (uint32_t body = 0; body < collide->body_capacity; body++) {
        refit_trail(collide, world, body);
    }
}

/* ---- creation ---- */

void collide_forget_bodies(struct collide *collide)
{
    for (uint32_t body = 0; body < collide->body_capacity; body++) {
        drop_trail(collide, body);
    }
}

static void forget_all(struct collide *collide)
{
    for (uint32_t id = 0; id < collide->entity_capacity; id++) {
        drop_proxy(collide, &collide->leaves[id].proxy);
    }
    collide_forget_bodies(collide);
}

void collide_rebuild(struct collide *collide, const struct world *world)
{
    forget_all(collide);
    collide_refit(collide, world);
    b2DynamicTree_Rebuild(&collide->tree, true);
}

/* Box2D's tree grows as leaves come: filled once to the brim, it never grows again. */
static void reserve_tree(struct collide *collide)
{
    uint32_t chunks = collide->body_capacity * collide->chunk_count;
    for (uint32_t i = 0; i < collide->entity_capacity + chunks; i++) {
        float x = (float)i;
        int32_t *proxy = i < collide->entity_capacity
                             ? &collide->leaves[i].proxy
                             : &collide->chunk_proxies[i - collide->entity_capacity];
        *proxy = b2DynamicTree_CreateProxy(&collide->tree, (b2AABB){{x, 0}, {x, 0}}, 1, i);
    }
    b2DynamicTree_Rebuild(&collide->tree, true);
    forget_all(collide);
}

struct collide *collide_create(struct arb_arena *arena, const struct collide_kind *kinds,
                               uint8_t kind_count, const struct world_capacity *capacity,
                               uint32_t contact_max)
{
    ARB_ASSERT(kind_count <= ARB_KINDS_MAX);
    arb_box2d_use_memory();
    struct collide *collide = arb_arena_take(arena, sizeof *collide);
    for (uint8_t i = 0; i < kind_count; i++) {
        collide->kinds[i] = kinds[i];
    }
    collide->contact_max = contact_max;
    collide->entity_capacity = capacity->entities;
    collide->body_capacity = capacity->bodies;
    collide->body_points = capacity->body_points;
    collide->chunk_count = (capacity->body_points + COLLIDE_CHUNK - 1U) / COLLIDE_CHUNK;
    collide->leaves = arb_arena_take_array(arena, capacity->entities, sizeof collide->leaves[0]);
    collide->trails = arb_arena_take_array(arena, capacity->bodies, sizeof collide->trails[0]);
    collide->chunk_proxies = arb_arena_take_array(
        arena, (size_t)capacity->bodies * collide->chunk_count, sizeof collide->chunk_proxies[0]);
    collide->contacts = arb_arena_take_array(arena, contact_max, sizeof collide->contacts[0]);
    collide->found =
        arb_arena_take_array(arena, 2 * (size_t)capacity->entities, sizeof collide->found[0]);
    collide->marks = arb_arena_take_array(arena, capacity->entities, sizeof collide->marks[0]);
    collide->tree = b2DynamicTree_Create();
    reserve_tree(collide);
    return collide;
}

void collide_destroy(struct collide *collide)
{
    if (collide != NULL) {
        b2DynamicTree_Destroy(&collide->tree);
    }
}
