/* The past and its owner: the ring of published frames and the origin records. */
#include "server/rewind/rewind.h"

#include "server/rewind/rewind_internal.h"
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

/* A baseline may be 64 snapshots old; 4 more as at the edge of the samples. */
uint32_t rewind_frames(const struct rewind_config *config)
{
    uint32_t samples =
        rewind_samples(config->max_rewind_ms, config->tick_rate, config->window_ticks);
    uint32_t baselines = 64 * config->snapshot_interval_ticks + 4;
    return samples > baselines ? samples : baselines;
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
    rewind->frames = arb_arena_take_array(arena, rewind->frame_count, sizeof rewind->frames[0]);
    for (uint32_t i = 0; i < rewind->frame_count; i++) {
        struct arb_frame *frame = &rewind->frames[i];
        frame->entities =
            arb_arena_take_array(arena, config->entity_capacity, sizeof frame->entities[0]);
        frame->points =
            arb_arena_take_array(arena, config->point_capacity, sizeof frame->points[0]);
    }
    rewind->records = arb_arena_take_array(arena, (size_t)config->player_capacity * rewind->samples,
                                           sizeof rewind->records[0]);
    rewind->last = arb_arena_take_array(arena, config->player_capacity, sizeof rewind->last[0]);
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
    struct arb_frame *frame = &rewind->frames[tick % rewind->frame_count];
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
    const struct arb_frame *frame = &rewind->frames[rewind->newest % rewind->frame_count];
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
    return &rewind->frames[tick % rewind->frame_count];
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

/* ---- a character in a view ---- */

static arb_tick clamp_tick(arb_tick tick, arb_tick low, arb_tick high)
{
    return tick < low ? low : tick > high ? high : tick;
}

bool rewind_moment_of(const struct rewind *rewind, struct arb_view view,
                      struct rewind_moment *moment)
{
    ARB_ASSERT(!rewind->open);
    const struct arb_frame *newest = rewind_newest(rewind);
    if (newest == NULL) {
        return false;
    }
    uint64_t held = rewind->committed < rewind->samples ? rewind->committed : rewind->samples;
    arb_tick oldest = newest->tick - (held - 1);
    arb_tick from = clamp_tick(view.from_tick, oldest, newest->tick);
    arb_tick to = clamp_tick(view.to_tick, from, newest->tick);
    bool is_pair = view.from_tick < view.to_tick;
    moment->from = rewind_frame(rewind, from);
    moment->to = rewind_frame(rewind, to);
    uint16_t fraction = view.fraction > 256 ? 256 : view.fraction;
    moment->part = from < to ? (float)fraction / 256.0F : 0.0F;
    moment->ticks = is_pair ? 0.0F : (float)view.fraction / 256.0F;
    return true;
}

/* Few entities come and go, so most stand in the guessed place. */
static const struct arb_published *find_id(const struct arb_frame *frame, uint16_t id,
                                           uint32_t guess)
{
    if (guess < frame->entity_count && frame->entities[guess].key.id == id) {
        return &frame->entities[guess];
    }
    uint32_t low = 0, high = frame->entity_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (frame->entities[middle].key.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < frame->entity_count && frame->entities[low].key.id == id;
    return found ? &frame->entities[low] : NULL;
}

static float value_of(const struct arb_kind *kind, const struct arb_published *state, int8_t field)
{
    return arb_dequantise(state->q[field], kind->fields[field].unit);
}

static struct arb_vec2 position_of(const struct arb_kind *kind, const struct arb_published *state)
{
    return (struct arb_vec2){value_of(kind, state, kind->x), value_of(kind, state, kind->y)};
}

static float heading_of(const struct arb_kind *kind, const struct arb_published *state)
{
    return kind->heading < 0 ? 0.0F : arb_angle_wrap(value_of(kind, state, kind->heading));
}

/* Past the newest: straight on, capped, heading kept; a long body is never extrapolated. */
static struct arb_vec2 extrapolated(const struct rewind *rewind, const struct arb_kind *kind,
                                    const struct arb_published *state, float ticks)
{
    struct arb_vec2 position = position_of(kind, state);
    if (ticks <= 0.0F || kind->vx < 0 || kind->vy < 0 || kind->has_body) {
        return position;
    }
    struct arb_vec2 velocity = {value_of(kind, state, kind->vx), value_of(kind, state, kind->vy)};
    return arb_move_extrapolate(position, velocity, ticks, rewind->config.snapshot_interval_ticks,
                                rewind->config.tick_rate);
}

/* A jump lies between them: nothing is interpolated, the earlier state holds until the later tick.
 */
static bool jumped(const struct arb_kind *kind, const struct arb_published *a,
                   const struct arb_published *b)
{
    return kind->jump >= 0 && a->q[kind->jump] != b->q[kind->jump];
}

bool rewind_stance_at(const struct rewind *rewind, const struct rewind_moment *moment, uint16_t id,
                      struct rewind_stance *stance)
{
    bool at_end = moment->part >= 1.0F;
    uint32_t guess = rewind->leaves[id].index;
    const struct arb_published *a = find_id(at_end ? moment->to : moment->from, id, guess);
    if (a == NULL) {
        return false;
    }
    const struct arb_kind *kind = &rewind->config.schema->kinds[a->kind];
    *stance = (struct rewind_stance){.state = a, .part = moment->part};
    if (at_end || moment->part <= 0.0F) {
        float ticks = at_end ? 0.0F : moment->ticks;
        stance->position = extrapolated(rewind, kind, a, ticks);
        return true;
    }
    const struct arb_published *b = find_id(moment->to, id, guess);
    if (b == NULL || !arb_key_equal(a->key, b->key) || a->kind != b->kind) {
        return false;
    }
    stance->position = position_of(kind, a);
    if (!jumped(kind, a, b)) {
        stance->next = b;
        stance->position = arb_move_lerp(stance->position, position_of(kind, b), moment->part);
    }
    return true;
}

float rewind_stance_heading(const struct rewind *rewind, const struct rewind_stance *stance)
{
    const struct arb_kind *kind = &rewind->config.schema->kinds[stance->state->kind];
    float heading = heading_of(kind, stance->state);
    return stance->next == NULL
               ? heading
               : arb_move_lerp_angle(heading, heading_of(kind, stance->next), stance->part);
}

bool rewind_pose(const struct rewind *rewind, struct arb_key key, struct arb_view view,
                 struct arb_vec2 *position, float *heading)
{
    struct rewind_moment moment;
    struct rewind_stance stance;
    if (key.id >= rewind->config.entity_capacity || !rewind_moment_of(rewind, view, &moment) ||
        !rewind_stance_at(rewind, &moment, key.id, &stance) ||
        !arb_key_equal(stance.state->key, key)) {
        return false;
    }
    *position = stance.position;
    if (heading != NULL) {
        *heading = rewind_stance_heading(rewind, &stance);
    }
    return true;
}

/* ---- origins ---- */

static struct rewind_record *record_of(const struct rewind *rewind, uint16_t slot,
                                       arb_sequence sequence)
{
    ARB_ASSERT(slot < rewind->config.player_capacity);
    return &rewind->records[(size_t)slot * rewind->samples + sequence % rewind->samples];
}

void rewind_record_origin(struct rewind *rewind, uint16_t slot, arb_sequence sequence,
                          arb_tick tick, struct arb_vec2 origin)
{
    ARB_ASSERT(sequence != 0);
    struct rewind_record *record = record_of(rewind, slot, sequence);
    const struct rewind_record *last = &rewind->last[slot];
    bool follows = last->sequence != 0 && last->tick + 1 == tick;
    *record = (struct rewind_record){.sequence = sequence,
                                     .tick = tick,
                                     .origin = origin,
                                     .previous = follows ? last->origin : origin};
    rewind->last[slot] = *record;
}

void rewind_drop_origins(struct rewind *rewind, uint16_t slot)
{
    for (uint32_t i = 0; i < rewind->samples; i++) {
        record_of(rewind, slot, i)->sequence = 0;
    }
    rewind->last[slot].sequence = 0;
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
