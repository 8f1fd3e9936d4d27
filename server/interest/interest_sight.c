#include "server/interest/interest_sight.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

/* What a viewer knows of one entity id. */
struct note {
    uint32_t look_tick;  /* low 32 bits of the tick from which on it is looked at again */
    uint16_t generation; /* 0: never looked at */
    uint16_t shown;
};

struct viewer {
    struct note *notes; /* [entity_capacity] by entity id */
    struct arb_vec2 eye;
};

struct interest_sight {
    struct interest_sight_config config;
    uint32_t hidden_ticks, shown_ticks;
    struct viewer *viewers;
    uint32_t *left; /* [entity_capacity] */
};

struct interest_sight *interest_sight_create(struct arb_arena *arena,
                                             const struct interest_sight_config *config)
{
    ARB_ASSERT(config->margin_m >= 0.0F && config->tick_rate > 0);
    struct interest_sight *sight = arb_arena_take(arena, sizeof *sight);
    sight->config = *config;
    sight->hidden_ticks = arb_ms_to_ticks(INTEREST_SIGHT_HIDDEN_MS, config->tick_rate);
    sight->shown_ticks = arb_ms_to_ticks(INTEREST_SIGHT_SHOWN_MS, config->tick_rate);
    sight->left = arb_arena_take_array(arena, config->entity_capacity, sizeof *sight->left);
    sight->viewers = arb_arena_take_array(arena, config->viewer_capacity, sizeof *sight->viewers);
    for (uint32_t i = 0; i < config->viewer_capacity; i++) {
        struct viewer *viewer = &sight->viewers[i];
        viewer->notes = arb_arena_take_array(arena, config->entity_capacity, sizeof(struct note));
    }
    return sight;
}

void interest_sight_forget(struct interest_sight *sight, uint32_t viewer)
{
    ARB_ASSERT(viewer < sight->config.viewer_capacity);
    memset(sight->viewers[viewer].notes, 0, sight->config.entity_capacity * sizeof(struct note));
}

/* ---- the lines ---- */

static bool is_clear(const struct arb_geometry *geometry, struct arb_vec2 a, struct arb_vec2 b)
{
    float fraction;
    return !arb_geometry_ray(geometry, a, arb_vec2_sub(b, a), &fraction);
}

/* As far as a straight walk by `way` gets. */
static struct arb_vec2 walked(const struct arb_geometry *geometry, struct arb_vec2 from,
                              struct arb_vec2 way)
{
    float fraction = 1.0F;
    if (arb_geometry_ray(geometry, from, way, &fraction)) {
        fraction *= 0.99F; /* before the wall, not in it */
    }
    return arb_vec2_mul_add(from, fraction, way);
}

bool interest_sight_clear(const struct arb_geometry *geometry, struct arb_vec2 eye,
                          struct arb_vec2 target, float margin)
{
    if (is_clear(geometry, eye, target)) {
        return true;
    }
    float distance = arb_vec2_distance(eye, target);
    if (distance <= 0.0F || margin <= 0.0F) {
        return false;
    }
    /* Across the line is where corners open. */
    struct arb_vec2 along = arb_vec2_scale(arb_vec2_sub(target, eye), margin / distance);
    struct arb_vec2 across = {-along.y, along.x};
    struct arb_vec2 back = {along.y, -along.x};
    struct arb_vec2 from[3] = {eye, walked(geometry, eye, across), walked(geometry, eye, back)};
    struct arb_vec2 to[3] = {target, walked(geometry, target, across),
                             walked(geometry, target, back)};
    for (int i = 1; i < 9; i++) {
        if (is_clear(geometry, from[i / 3], to[i % 3])) {
            return true;
        }
    }
    return false;
}

/* ---- the set ---- */

static bool may_hide(const struct interest_sight *sight, const struct arb_published *entity)
{
    const struct arb_kind *kind = &sight->config.schema->kinds[entity->kind];
    return kind->owner >= 0 && entity->q[kind->owner] != 0 && !kind->has_body;
}

static bool is_shown(const struct interest_sight *sight, const struct viewer *viewer,
                     const struct arb_published *entity, uint32_t tick)
{
    ARB_ASSERT(entity->key.id < sight->config.entity_capacity);
    struct note *note = &viewer->notes[entity->key.id];
    bool known = note->generation == entity->key.generation;
    bool rests = known && (int32_t)(note->look_tick - tick) > 0;
    if (rests && note->shown) {
        return true;
    }
    const struct arb_kind *kind = &sight->config.schema->kinds[entity->kind];
    struct arb_vec2 target = {arb_dequantise(entity->q[kind->x], kind->fields[kind->x].unit),
                              arb_dequantise(entity->q[kind->y], kind->fields[kind->y].unit)};
    float margin = rests ? 0.0F : sight->config.margin_m;
    bool shown = interest_sight_clear(sight->config.geometry, viewer->eye, target, margin);
    if (rests && !shown) {
        return false;
    }
    note->generation = entity->key.generation;
    note->shown = shown;
    note->look_tick = tick + (shown ? sight->shown_ticks : sight->hidden_ticks);
    return shown;
}

/* An eye that jumped sees all anew. */
static void move_eye(struct interest_sight *sight, uint32_t index, struct arb_vec2 eye)
{
    struct viewer *viewer = &sight->viewers[index];
    if (arb_vec2_distance(viewer->eye, eye) > sight->config.margin_m) {
        interest_sight_forget(sight, index);
    }
    viewer->eye = eye;
}

const uint32_t *interest_sight_cull(struct interest_sight *sight, uint32_t viewer,
                                    struct arb_vec2 eye, const struct arb_frame *frame,
                                    const uint32_t *visible, uint32_t count,
                                    const struct arb_key *always, uint32_t always_count,
                                    uint32_t *left)
{
    ARB_ASSERT(viewer < sight->config.viewer_capacity && count <= sight->config.entity_capacity);
    move_eye(sight, viewer, eye);
    uint32_t at = 0;
    *left = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct arb_published *entity = &frame->entities[visible[i]];
        uint32_t order = arb_key_order(entity->key);
        while (at < always_count && arb_key_order(always[at]) < order) {
            at++;
        }
        bool due = at < always_count && arb_key_order(always[at]) == order;
        if (due || !may_hide(sight, entity) ||
            is_shown(sight, &sight->viewers[viewer], entity, (uint32_t)frame->tick)) {
            sight->left[(*left)++] = visible[i];
        }
    }
    return sight->left;
}
