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

/* Ticks of one half. */
static uint32_t half_of(const struct rewind *rewind)
{
    return rewind->samples + rewind->config.back_ticks;
}

void rewind_bounds_commit(struct rewind *rewind, const struct arb_frame *frame)
{
    if (rewind->committed == 1) {
        rewind->turned = frame->tick;
    } else if (frame->tick >= rewind->turned + half_of(rewind)) {
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

static void set_reach(const struct arb_kind *kind, const int32_t values[REWIND_REACHES],
                      struct arb_published *state)
{
    state->q[kind->x] = values[REWIND_X];
    state->q[kind->y] = values[REWIND_Y];
    if (kind->vx >= 0) state->q[kind->vx] = values[REWIND_VX];
    if (kind->vy >= 0) state->q[kind->vy] = values[REWIND_VY];
}

/* Into the leaf. The state of all least values and that of all most ones have bounds that hold
 * those of every state between, as each side of them grows with place and speed. */
static void end_span(const struct rewind *rewind, struct rewind_span *span,
                     struct rewind_leaf *leaf)
{
    const struct arb_kind *kind = &rewind->config.schema->kinds[span->kind];
    struct arb_published low = {.kind = span->kind}, high = low;
    set_reach(kind, span->low, &low);
    set_reach(kind, span->high, &high);
    b2AABB box = b2AABB_Union(bounds_of(rewind, &low), bounds_of(rewind, &high));
    leaf->now = leaf->has_now ? b2AABB_Union(leaf->now, box) : box;
    leaf->has_now = true;
    span->any = false;
}

static void widen(struct rewind_span *span, enum rewind_reach reach, int32_t value)
{
    if (!span->any || value < span->low[reach]) span->low[reach] = value;
    if (!span->any || value > span->high[reach]) span->high[reach] = value;
}

static void widen_span(struct rewind_span *span, const struct arb_kind *kind,
                       const struct arb_published *state)
{
    widen(span, REWIND_X, state->q[kind->x]);
    widen(span, REWIND_Y, state->q[kind->y]);
    if (kind->vx >= 0) widen(span, REWIND_VX, state->q[kind->vx]);
    if (kind->vy >= 0) widen(span, REWIND_VY, state->q[kind->vy]);
    span->kind = state->kind;
    span->any = true;
}

/* The widest span of what the tree is asked for, per entity id and kind it had. */
static void fill_leaves(struct rewind *rewind)
{
    for (arb_tick tick = rewind->turned; tick <= rewind->newest; tick++) {
        const struct arb_frame *frame = &rewind->frames[tick % rewind->ring_count];
        for (uint32_t i = 0; i < frame->entity_count; i++) {
            const struct arb_published *state = &frame->entities[i];
            struct rewind_span *span = &rewind->spans[state->key.id];
            struct rewind_leaf *leaf = &rewind->leaves[state->key.id];
            leaf->index = i;
            if (rewind->kinds[state->kind].count == 0) continue;
            if (span->any && span->kind != state->kind) end_span(rewind, span, leaf);
            widen_span(span, &rewind->config.schema->kinds[state->kind], state);
        }
    }
}

/* All in the younger half, as if it had begun as long ago as it may have: what is older is not
 * asked of the tree. A leaf that is large enough stays where it is: the same match often goes back
 * to where most of it still stands. */
void rewind_bounds_fill(struct rewind *rewind)
{
    uint64_t half = half_of(rewind);
    uint64_t count = rewind->committed < half ? rewind->committed : half;
    for (uint32_t id = 0; id < rewind->config.entity_capacity; id++) {
        struct rewind_leaf *leaf = &rewind->leaves[id];
        leaf->has_now = leaf->has_before = false;
        leaf->index = 0;
    }
    rewind->turned = count > 0 ? rewind->newest - (count - 1) : 0;
    if (count > 0) fill_leaves(rewind);
    for (uint32_t id = 0; id < rewind->config.entity_capacity; id++) {
        struct rewind_leaf *leaf = &rewind->leaves[id];
        if (rewind->spans[id].any) end_span(rewind, &rewind->spans[id], leaf);
        if (!leaf->has_now) {
            drop_leaf(rewind, id);
        } else if (leaf->proxy == REWIND_NO_PROXY || !contains(leaf->fat, leaf->now)) {
            put_leaf(rewind, (uint16_t)id, leaf->now);
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
    rewind->spans = arb_arena_take_array(arena, capacity, sizeof rewind->spans[0]);
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
