/* The past and its owner: the ring of published frames and the origin records. */
#include "server/rewind/rewind.h"

#include "server/rewind/rewind_pack.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_box2d.h"
#include "shared/move/arb_move.h"

#include <string.h>

/* ---- creation ---- */

uint32_t rewind_samples(uint32_t max_rewind_ms, uint32_t tick_rate, uint32_t window_ticks)
{
    enum { LEAST_MS = 50, EDGE_SAMPLES = 4 };
    uint32_t ms = max_rewind_ms > LEAST_MS ? max_rewind_ms : LEAST_MS;
    return arb_ms_to_ticks(ms, tick_rate) + EDGE_SAMPLES + window_ticks;
}

/* A baseline may be 64 snapshots old; 4 more as at the edge of the samples. A view as old as is
 * allowed, whose snapshot others were carried on from, may show a state that was left out of
 * snapshots ever since it became as old as the oldest that a client keeps. */
uint32_t rewind_frames(const struct rewind_config *config)
{
    uint32_t interval = config->snapshot_interval_ticks;
    uint32_t samples =
        rewind_samples(config->max_rewind_ms, config->tick_rate, config->window_ticks);
    uint32_t views =
        samples + arb_move_extrapolation_cap(interval) + REWIND_STATE_SNAPSHOTS * interval;
    uint32_t baselines = 64 * interval + 4;
    return views > baselines ? views : baselines;
}

static float reach_of(const struct rewind_kind *kind)
{
    float reach = 0.0F;
    for (uint8_t i = 0; i < kind->count; i++) {
        const struct rewind_shape *shape = &kind->shapes[i];
        float a = arb_vec2_length(shape->a) + shape->radius;
        float b = arb_vec2_length(shape->b) + shape->radius;
        reach = a > reach ? a : reach;
        reach = b > reach ? b : reach;
    }
    return reach;
}

static bool is_centred(const struct rewind_kind *kind)
{
    for (uint8_t i = 0; i < kind->count; i++) {
        const struct rewind_shape *shape = &kind->shapes[i];
        if (shape->a.x != 0.0F || shape->a.y != 0.0F || shape->b.x != 0.0F || shape->b.y != 0.0F) {
            return false;
        }
    }
    return true;
}

static int8_t team_field(const struct arb_kind *kind)
{
    for (int8_t i = 0; i < kind->field_count; i++) {
        if (strcmp(kind->fields[i].name, "team") == 0) {
            return i;
        }
    }
    return REWIND_NO_TEAM;
}

static void take_frames(const struct rewind *rewind, struct arb_arena *arena,
                        struct arb_frame *frames, uint32_t count)
{
    const struct rewind_config *config = &rewind->config;
    for (uint32_t i = 0; i < count; i++) {
        frames[i].entities =
            arb_arena_take_array(arena, config->entity_capacity, sizeof frames[i].entities[0]);
        frames[i].points =
            arb_arena_take_array(arena, config->point_capacity, sizeof frames[i].points[0]);
    }
}

struct rewind *rewind_create(struct arb_arena *arena, const struct rewind_config *config,
                             const struct arb_geometry *geometry)
{
    const struct arb_schema *schema = config->schema;
    ARB_ASSERT(schema->kind_count <= ARB_KINDS_MAX);
    arb_box2d_use_memory();
    struct rewind *rewind = arb_arena_take(arena, sizeof *rewind);
    rewind->config = *config;
    rewind->geometry = geometry;
    for (uint8_t i = 0; i < schema->kind_count; i++) {
        ARB_ASSERT(config->kinds[i].count <= REWIND_SHAPES_MAX);
        rewind->kinds[i] = config->kinds[i];
        rewind->facts[i].reach = reach_of(&config->kinds[i]);
        rewind->facts[i].centred = is_centred(&config->kinds[i]);
        rewind->facts[i].team = team_field(&schema->kinds[i]);
    }
    rewind->config.kinds = rewind->kinds;
    rewind->samples =
        rewind_samples(config->max_rewind_ms, config->tick_rate, config->window_ticks);
    rewind->frame_count = rewind_frames(config);
    rewind->rule = (struct arb_drawn_rule){.interval_ticks = config->snapshot_interval_ticks,
                                           .tick_rate = config->tick_rate};
    rewind->ring_count = rewind->frame_count + config->back_ticks;
    rewind->frames = arb_arena_take_array(arena, rewind->ring_count, sizeof rewind->frames[0]);
    take_frames(rewind, arena, rewind->frames, rewind->ring_count);
    rewind->records = arb_arena_take_array(arena, (size_t)config->player_capacity * rewind->samples,
                                           sizeof rewind->records[0]);
    rewind->last = arb_arena_take_array(arena, config->player_capacity, sizeof rewind->last[0]);
    rewind_pack_create(rewind, arena);
    rewind_bounds_create(rewind, arena);
    return rewind;
}

void rewind_destroy(struct rewind *rewind)
{
    if (rewind != NULL) {
        b2DynamicTree_Destroy(&rewind->tree);
    }
}

/* ---- published frames ---- */

struct arb_frame *rewind_begin_frame(struct rewind *rewind, arb_tick tick)
{
    ARB_ASSERT(!rewind->open);
    ARB_ASSERT(rewind->committed == 0 || tick == rewind->newest + 1);
    struct arb_frame *frame = &rewind->frames[tick % rewind->ring_count];
    frame->tick = tick;
    frame->entity_count = 0;
    frame->point_count = 0;
    rewind->newest = tick;
    rewind->open = true;
    return frame;
}

void rewind_commit(struct rewind *rewind)
{
    ARB_ASSERT(rewind->open);
    const struct arb_frame *frame = &rewind->frames[rewind->newest % rewind->ring_count];
    ARB_ASSERT(frame->tick == rewind->newest);
    ARB_ASSERT(frame->entity_count <= rewind->config.entity_capacity);
    ARB_ASSERT(frame->point_count <= rewind->config.point_capacity);
    rewind->open = false;
    rewind->committed++;
    rewind_bounds_commit(rewind, frame);
}

/* The frame under way is not published yet: its tick is newest, one more than the newest published.
 */
const struct arb_frame *rewind_frame(const struct rewind *rewind, arb_tick tick)
{
    uint64_t published = rewind->newest - (rewind->open ? 1 : 0);
    uint64_t held = rewind->frame_count - (rewind->open ? 1 : 0);
    held = rewind->committed < held ? rewind->committed : held;
    if (tick > published || published - tick >= held) {
        return NULL;
    }
    return &rewind->frames[tick % rewind->ring_count];
}

const struct arb_frame *rewind_newest(const struct rewind *rewind)
{
    return rewind->committed == 0 ? NULL
                                  : rewind_frame(rewind, rewind->newest - (rewind->open ? 1 : 0));
}

struct arb_view rewind_present(const struct rewind *rewind)
{
    const struct arb_frame *newest = rewind_newest(rewind);
    ARB_ASSERT(newest != NULL);
    return (struct arb_view){.from_tick = newest->tick, .to_tick = newest->tick};
}

/* ---- origins ---- */

static struct rewind_record *record_of(const struct rewind *rewind, uint16_t slot,
                                       arb_sequence sequence)
{
    ARB_ASSERT(slot < rewind->config.player_capacity);
    return &rewind->records[(size_t)slot * rewind->samples + sequence % rewind->samples];
}

void rewind_expect_origin(const struct rewind *rewind, uint16_t slot, arb_sequence sequence)
{
    __builtin_prefetch(record_of(rewind, slot, sequence), 1);
}

void rewind_record_origin(struct rewind *rewind, uint16_t slot, arb_sequence sequence,
                          arb_tick tick, struct arb_vec2 origin)
{
    ARB_ASSERT(sequence != 0);
    struct rewind_record *record = record_of(rewind, slot, sequence);
    const struct rewind_record *last = &rewind->last[slot];
    bool follows = last->sequence != 0 && last->tick + 1 == tick;
    struct rewind_record made = {.sequence = sequence,
                                 .tick = tick,
                                 .origin = origin,
                                 .previous = follows ? last->origin : origin};
    *record = made;
    rewind->last[slot] = made;
}

void rewind_drop_origins(struct rewind *rewind, uint16_t slot)
{
    for (uint32_t i = 0; i < rewind->samples; i++) {
        record_of(rewind, slot, i)->sequence = 0;
    }
    rewind->last[slot] = (struct rewind_record){0};
}

bool rewind_origin(const struct rewind *rewind, uint16_t slot, arb_sequence sequence,
                   uint8_t muzzle_fraction, struct arb_vec2 *origin)
{
    const struct rewind_record *record = record_of(rewind, slot, sequence);
    if (sequence == 0 || record->sequence != sequence) {
        return false;
    }
    *origin = arb_move_lerp(record->previous, record->origin, (float)muzzle_fraction / 256.0F);
    return true;
}
