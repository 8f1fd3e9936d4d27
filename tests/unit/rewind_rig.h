/* Rig of the tests of server/rewind: two kinds of shape, one wall, frames of characters. Each test
 * runs in a process of its own (Criterion), so statics are enough.
 */
#ifndef REWIND_RIG_H
#define REWIND_RIG_H

#include "server/rewind/rewind.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"
#include "shared/proto/arb_schema.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

enum { ENTITIES = 1024, BODY = 1, HEAD = 2 };

/* A circle around the centre and a capsule that sticks out ahead. */
static const struct rewind_kind kinds[3] = {
    [ARB_ARENA_CHARACTER] = {.shapes = {{{0, 0}, {0, 0}, 0.5F, BODY},
                                        {{0.4F, 0}, {1, 0}, 0.2F, HEAD}},
                             .count = 2},
};

static struct arb_arena arena;
static struct arb_geometry *geometry;
static struct rewind *rewind_;

static inline void create(uint32_t max_rewind_ms)
{
    struct arb_shape wall = {ARB_SHAPE_POLYGON, 4, 0, {{-1, 50}, {1, 50}, {1, 60}, {-1, 60}}};
    struct arb_bounds bounds = {{-1000, -1000}, {1000, 1000}};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(&wall, 1, bounds);
    struct rewind_config config = {
        .schema = &arb_schema_arena,
        .kinds = kinds,
        .tick_rate = 60,
        .max_rewind_ms = max_rewind_ms,
        .snapshot_interval_ticks = 2,
        .entity_capacity = ENTITIES,
        .player_capacity = 4,
    };
    rewind_ = rewind_create(&arena, &config, geometry);
}

static inline void setup(void)
{
    create(250);
}

static inline void teardown(void)
{
    rewind_destroy(rewind_);
    arb_geometry_destroy(geometry);
    arb_arena_free(&arena);
}

struct stand {
    struct arb_key key;
    float x, y, heading;
    float vx;
    uint8_t team, jump;
};

static inline int32_t quantised(int field, float value)
{
    const struct arb_kind_field *row = &arb_schema_arena.kinds[ARB_ARENA_CHARACTER].fields[field];
    return arb_quantise(value, row->unit, -(1 << 30), 1 << 30);
}

/* Ascending keys are the caller's matter, as they are the match's. */
static inline void publish(arb_tick tick, const struct stand *stands, uint32_t count)
{
    struct arb_frame *frame = rewind_begin_frame(rewind_, tick);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_published *out = &frame->entities[frame->entity_count++];
        memset(out, 0, sizeof *out);
        out->key = stands[i].key;
        out->kind = ARB_ARENA_CHARACTER;
        out->q[ARB_CHARACTER_TEAM] = stands[i].team;
        out->q[ARB_CHARACTER_X] = quantised(ARB_CHARACTER_X, stands[i].x);
        out->q[ARB_CHARACTER_Y] = quantised(ARB_CHARACTER_Y, stands[i].y);
        out->q[ARB_CHARACTER_VX] = quantised(ARB_CHARACTER_VX, stands[i].vx);
        out->q[ARB_CHARACTER_HEADING] =
            (int32_t)arb_angle_to_turn(stands[i].heading, ARB_CHARACTER_TURN_BITS);
        out->q[ARB_CHARACTER_JUMP] = stands[i].jump;
    }
    rewind_commit(rewind_);
}

static const struct arb_key target = {7, 1}, shooter = {1, 1};

static inline struct rewind_ray ray_along_x(struct arb_view view)
{
    return (struct rewind_ray){.shooter = shooter, .direction = {1, 0}, .range = 500, .view = view};
}

static inline struct rewind_shot shoot(struct rewind_ray ray)
{
    struct rewind_shot shot;
    rewind_resolve_shot(rewind_, &ray, &shot);
    return shot;
}

#endif
