/* The broad phase of shots: one leaf per entity id around all its places in the window. Too large
 * is allowed, too small is not; which leaves a ray meets decides nothing. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/move/arb_move.h"

#define FAT 0.5F /* m: a slow mover is put back into the tree every few ticks only */
#define EXACT 0.001F

static bool contains(b2AABB outer, b2AABB inner)
{
    return outer.lowerBound.x <= inner.lowerBound.x && outer.lowerBound.y <= inner.lowerBound.y &&
           outer.upperBound.x >= inner.upperBound.x && outer.upperBound.y >= inner.upperBound.y;
}

static b2AABB around(struct arb_vec2 a, struct arb_vec2 b, float reach)
{
    float grow = reach + EXACT;
    return (b2AABB){{(a.x < b.x ? a.x : b.x) - grow, (a.y < b.y ? a.y : b.y) - grow},
                    {(a.x > b.x ? a.x : b.x) + grow, (a.y > b.y ? a.y : b.y) + grow}};
}

/* From where it stands to as far as a view past the newest tick may take it. */
static b2AABB bounds_of(const struct rewind *rewind, const struct arb_published *state)
{
    const struct arb_kind *kind = &rewind->config.schema->kinds[state->kind];
    struct arb_drawn_pair pair = {.from = state};
    struct arb_vec2 at = arb_drawn_position(kind, &pair, &rewind->rule);
    pair.at = (arb_fine)arb_move_extrapolation_cap(rewind->rule.interval_ticks) * ARB_FINE_TICK;
    struct arb_vec2 ahead = arb_drawn_position(kind, &pair, &rewind->rule);
    return around(at, ahead, rewind->facts[state->kind].reach);
}

static void put_leaf(struct rewind *rewind, uint16_t id, b2AABB box)
{
    struct rewind_leaf *leaf = &rewind->leaves[id];
    leaf->fat = (b2AABB){{box.lowerBound.x - FAT, box.lowerBound.y - FAT},
                         {box.upperBound.x + FAT, box.upperBound.y + FAT}};
    if (leaf->proxy == REWIND_NO_PROXY) {
        leaf->proxy = b2DynamicTree_CreateProxy(&rewind->tree, leaf->fat, 1, id);
    } else {
        b2DynamicTree_MoveProxy(&rewind->tree, leaf->proxy, leaf->fat);
    }
}

static void drop_leaf(struct rewind *rewind, uint32_t id)
{
    struct rewind_leaf *leaf = &rewind->leaves[id];
    if (leaf->proxy != REWIND_NO_PROXY) {
        b2DynamicTree_DestroyProxy(&rewind->tree, leaf->proxy);
        leaf->proxy = REWIND_NO_PROXY;
    }
}

/* The younger half becomes the older one; what only the old half had seen leaves the tree. */
static void turn_halves(struct rewind *rewind)
{
    for (uint32_t id = 0; id < rewind->config.entity_capacity; id++) {
        struct rewind_leaf *leaf = &rewind->leaves[id];
        leaf->before = leaf->now;
        leaf->has_before = leaf->has_now;
        leaf->has_now = false;
        if (!leaf->has_before) {
            drop_leaf(rewind, id);
        } else {
            put_leaf(rewind, (uint16_t)id, leaf->before);
        }
    }
}

void rewind_bounds_commit(struct rewind *rewind, const struct arb_frame *frame)
{
    uint32_t half = rewind->samples + rewind->config.back_ticks;
    if (rewind->committed == 1) {
        rewind->turned = frame->tick;
    } else if (frame->tick >= rewind->turned + half) {
        turn_halves(rewind);
        rewind->turned = frame->tick;
    }
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        const struct arb_published *state = &frame->entities[i];
        ARB_ASSERT(state->key.id < rewind->config.entity_capacity);
        if (rewind->kinds[state->kind].count == 0) {
            continue; /* nothing can hit it */
        }
        struct rewind_leaf *leaf = &rewind->leaves[state->key.id];
        leaf->index = i;
        b2AABB box = bounds_of(rewind, state);
        leaf->now = leaf->has_now ? b2AABB_Union(leaf->now, box) : box;
        leaf->has_now = true;
        if (leaf->proxy == REWIND_NO_PROXY || !contains(leaf->fat, box)) {
            put_leaf(rewind, state->key.id,
                     leaf->has_before ? b2AABB_Union(leaf->now, leaf->before) : leaf->now);
        }
    }
}

void rewind_bounds_forget(struct rewind *rewind)
{
    for (uint32_t id = 0; id < rewind->config.entity_capacity; id++) {
        drop_leaf(rewind, id);
        rewind->leaves[id] = (struct rewind_leaf){.proxy = REWIND_NO_PROXY};
    }
}

void rewind_bounds_create(struct rewind *rewind, struct arb_arena *arena)
{
    uint32_t capacity = rewind->config.entity_capacity;
    rewind->leaves = arb_arena_take_array(arena, capacity, sizeof rewind->leaves[0]);
    rewind->tree = b2DynamicTree_Create();
    /* Box2D's tree grows as leaves come: filled once to the brim, it never grows again. */
    for (uint32_t id = 0; id < capacity; id++) {
        float x = (float)id;
        rewind->leaves[id].proxy =
            b2DynamicTree_CreateProxy(&rewind->tree, (b2AABB){{x, 0}, {x, 0}}, 1, id);
    }
    for (uint32_t id = 0; id < capacity; id++) {
        drop_leaf(rewind, id);
    }
}
