/* What a rewound shot costs, beside a floor in the same scene: one tree of static boxes, one tree
 * of boxes around the ways of the window, arrays of past places, one capsule test for each
 * candidate, nothing checked, nothing sorted. 1,000 and 10,000 characters that walk about, as many
 * to the square metre. Prints a line per scene. usage: bench_rewind [rounds [scene]]
 */
#include "server/loop/clock.h"
#include "server/rewind/rewind.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_move.h"

#include <box2d/collision.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST = 10000,
    TICK_RATE = 60,
    TICKS = 80, /* two windows of rewind's bounds, and more */
    KEPT = 20,  /* past places of the floor */
    TURN_TICKS = 30,
    WALLS = 8000,
    BACK = 8, /* published ticks that a view lies behind the newest */
    FRACTION = 102,
};

#define M2_PER_CHARACTER 42.0F
#define M2_PER_WALL 60.0F
#define STEP_M 0.1F /* a tick: 6 m/s */

static const struct rewind_kind kinds[ARB_KINDS_MAX] = {
    [ARB_ARENA_CHARACTER] = {.shapes = {{{-0.2F, 0}, {0.2F, 0}, 0.4F, 0}}, .count = 1}};

struct scene {
    const char *name;
    uint32_t characters;
    float range_m;
    bool pairs; /* what the shooter's client holds: all within the range, each between its own */
};

static const struct scene scenes[] = {
    {"1000_20m", 1000, 20, false},        {"1000_60m", 1000, 60, false},
    {"10000_20m", 10000, 20, false},      {"10000_60m", 10000, 60, false},
    {"1000_20m_pairs", 1000, 20, true},   {"1000_60m_pairs", 1000, 60, true},
    {"10000_20m_pairs", 10000, 20, true}, {"10000_60m_pairs", 10000, 60, true},
};

/* ---- the scene ---- */

static struct arb_rng rng;
static struct arb_vec2 place[MOST], step[MOST];
static float heading[MOST];
static struct arb_shape walls[WALLS];
static uint32_t wall_count;
static float half_m;

static void take_step(uint32_t index, uint32_t tick)
{
    if (tick % TURN_TICKS == index % TURN_TICKS) {
        heading[index] = arb_rng_range(&rng, -3.1F, 3.1F);
        step[index] = arb_vec2_scale(arb_move_direction(heading[index]), STEP_M);
    }
    struct arb_vec2 to = arb_vec2_add(place[index], step[index]);
    if (fabsf(to.x) < half_m && fabsf(to.y) < half_m) {
        place[index] = to;
    }
}

static void build(uint32_t characters)
{
    arb_rng_seed(&rng, 1, 1);
    half_m = 0.5F * sqrtf((float)characters * M2_PER_CHARACTER);
    wall_count = (uint32_t)(4 * half_m * half_m / M2_PER_WALL);
    wall_count = wall_count < WALLS ? wall_count : WALLS;
    for (uint32_t i = 0; i < wall_count; i++) {
        struct arb_vec2 at = {arb_rng_range(&rng, -half_m, half_m),
                              arb_rng_range(&rng, -half_m, half_m)};
        float x = arb_rng_range(&rng, 0.5F, 1.5F), y = arb_rng_range(&rng, 0.3F, 0.8F);
        walls[i] = (struct arb_shape){ARB_SHAPE_POLYGON,
                                      4,
                                      0,
                                      {{at.x - x, at.y - y},
                                       {at.x + x, at.y - y},
                                       {at.x + x, at.y + y},
                                       {at.x - x, at.y + y}}};
    }
    for (uint32_t i = 0; i < characters; i++) {
        place[i] = (struct arb_vec2){arb_rng_range(&rng, -half_m, half_m),
                                     arb_rng_range(&rng, -half_m, half_m)};
        step[i] = (struct arb_vec2){0, 0};
    }
}

/* ---- the floor ---- */

static struct {
    struct {
        float x, y, cosine, sine;
    } past[KEPT][MOST];
    b2DynamicTree still, moving;
    b2Polygon boxes[WALLS];
    b2AABB around[MOST];
    int proxies[MOST];
} * floor_;

static b2AABB box_around(struct arb_vec2 at, float margin)
{
    return (b2AABB){{at.x - margin, at.y - margin}, {at.x + margin, at.y + margin}};
}

static void floor_begin(uint32_t characters)
{
    floor_->still = b2DynamicTree_Create();
    floor_->moving = b2DynamicTree_Create();
    for (uint32_t i = 0; i < wall_count; i++) {
        b2Vec2 points[4];
        memcpy(points, walls[i].points, sizeof points);
        b2Hull hull = b2ComputeHull(points, 4);
        floor_->boxes[i] = b2MakePolygon(&hull, 0);
        b2DynamicTree_CreateProxy(&floor_->still, (b2AABB){points[0], points[2]}, 1, i);
    }
    b2DynamicTree_Rebuild(&floor_->still, true);
    for (uint32_t i = 0; i < characters; i++) {
        floor_->around[i] = box_around(place[i], 2.9F);
        floor_->proxies[i] = b2DynamicTree_CreateProxy(&floor_->moving, floor_->around[i], 1, i);
    }
    b2DynamicTree_Rebuild(&floor_->moving, true);
}

static void floor_commit(uint32_t characters, uint32_t tick)
{
    for (uint32_t i = 0; i < characters; i++) {
        struct arb_vec2 direction = arb_move_direction(heading[i]);
        floor_->past[tick % KEPT][i].x = place[i].x;
        floor_->past[tick % KEPT][i].y = place[i].y;
        floor_->past[tick % KEPT][i].cosine = direction.x;
        floor_->past[tick % KEPT][i].sine = direction.y;
        if (!b2AABB_Contains(floor_->around[i], box_around(place[i], 2.4F))) {
            floor_->around[i] = box_around(place[i], 2.9F);
            b2DynamicTree_MoveProxy(&floor_->moving, floor_->proxies[i], floor_->around[i]);
        }
    }
}

struct floor_shot {
    uint32_t self, from, to;
    float part;
    bool hit;
};

static float floor_wall(const b2RayCastInput *input, int proxy, uint64_t index, void *context)
{
    (void)proxy;
    b2CastOutput out = b2RayCastPolygon(&floor_->boxes[index], input);
    if (out.hit) {
        *(float *)context = out.fraction;
    }
    return out.hit ? out.fraction : input->maxFraction;
}

static float floor_target(const b2RayCastInput *input, int proxy, uint64_t index, void *context)
{
    (void)proxy;
    struct floor_shot *shot = context;
    if (index == shot->self) {
        return input->maxFraction;
    }
    float t = shot->part, s = 1 - t;
    float x = floor_->past[shot->from][index].x * s + floor_->past[shot->to][index].x * t;
    float y = floor_->past[shot->from][index].y * s + floor_->past[shot->to][index].y * t;
    float c = floor_->past[shot->from][index].cosine * s + floor_->past[shot->to][index].cosine * t;
    float d = floor_->past[shot->from][index].sine * s + floor_->past[shot->to][index].sine * t;
    float length = 1 / sqrtf(c * c + d * d);
    c *= length * 0.2F;
    d *= length * 0.2F;
    b2Capsule capsule = {{x - c, y - d}, {x + c, y + d}, 0.4F};
    b2CastOutput out = b2RayCastCapsule(&capsule, input);
    shot->hit |= out.hit;
    return out.hit ? out.fraction : input->maxFraction;
}

static bool floor_shoot(const struct rewind_ray *ray, uint32_t self, uint32_t newest)
{
    struct floor_shot shot = {.self = self,
                              .from = (newest - BACK) % KEPT,
                              .to = (newest - BACK + 1) % KEPT,
                              .part = FRACTION / 256.0F};
    b2RayCastInput input = {{ray->origin.x, ray->origin.y},
                            {ray->direction.x * ray->range, ray->direction.y * ray->range},
                            1};
    float most = 1;
    b2DynamicTree_RayCast(&floor_->still, &input, 1, floor_wall, &most);
    input.maxFraction = most;
    b2DynamicTree_RayCast(&floor_->moving, &input, 1, floor_target, &shot);
    return shot.hit;
}

/* ---- the rewind ---- */

static void publish(struct rewind *rewind, uint32_t characters, uint32_t tick)
{
    struct arb_frame *frame = rewind_begin_frame(rewind, tick);
    for (uint32_t i = 0; i < characters; i++) {
        struct arb_published *out = &frame->entities[frame->entity_count++];
        memset(out, 0, sizeof *out);
        out->key = (struct arb_key){(uint16_t)i, 1};
        out->q[ARB_CHARACTER_X] = arb_quantise(place[i].x, 1.0F / 512, -(1 << 22), 1 << 22);
        out->q[ARB_CHARACTER_Y] = arb_quantise(place[i].y, 1.0F / 512, -(1 << 22), 1 << 22);
        out->q[ARB_CHARACTER_VX] = arb_quantise(step[i].x * TICK_RATE, 1.0F / 64, -8192, 8191);
        out->q[ARB_CHARACTER_VY] = arb_quantise(step[i].y * TICK_RATE, 1.0F / 64, -8192, 8191);
        out->q[ARB_CHARACTER_HEADING] =
            (int32_t)arb_angle_to_turn(heading[i], ARB_CHARACTER_TURN_BITS);
    }
    rewind_commit(rewind);
}

/* A fifth was left out of a snapshot and has states farther apart. */
static uint32_t hold(struct rewind_pair *pairs, uint32_t characters, const struct rewind_ray *ray,
                     uint32_t newest)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < characters; i++) {
        if (arb_vec2_distance(place[i], ray->origin) < ray->range + 2) {
            uint32_t older = i % 5 == 0 ? 4 : 0;
            pairs[count++] = (struct rewind_pair){
                {(uint16_t)i, 1}, newest - BACK - older, newest - BACK + 1 + older / 2};
        }
    }
    return count;
}

/* ---- measuring ---- */

enum { SHOOTERS = 256, BATCHES = 41 };

static struct rewind_ray rays[SHOOTERS];
static struct rewind_pair pairs[SHOOTERS][MOST / 8];
static uint32_t selves[SHOOTERS];

static void aim(const struct scene *scene, uint32_t newest)
{
    for (uint32_t i = 0; i < SHOOTERS; i++) {
        selves[i] = arb_rng_below(&rng, scene->characters);
        rays[i] = (struct rewind_ray){
            .shooter = {(uint16_t)selves[i], 1},
            .origin = place[selves[i]],
            .direction = arb_move_direction(arb_rng_range(&rng, -3.1F, 3.1F)),
            .range = scene->range_m,
            .view = {
                .from_tick = newest - BACK, .to_tick = newest - BACK + 1, .fraction = FRACTION}};
        if (scene->pairs) {
            rays[i].pair_count = hold(pairs[i], scene->characters, &rays[i], newest);
            rays[i].pairs = pairs[i];
        }
    }
}

struct figures {
    double ours_ns[BATCHES], floor_ns[BATCHES]; /* per shot, the best round of each batch */
    uint64_t hits, floor_hits, held;            /* of one round of each */
};

/* The two take turns, so that a busy moment of the machine meets both. */
static void take_turns(struct rewind *rewind, uint32_t rounds, uint32_t batch,
                       struct figures *figures)
{
    uint64_t ours = UINT64_MAX, least = UINT64_MAX;
    for (uint32_t round = 0; round < rounds; round++) {
        struct rewind_shot shot;
        uint64_t hits = 0, floor_hits = 0, held = 0, start = loop_now_ns();
        for (uint32_t i = 0; i < SHOOTERS; i++) {
            floor_hits += floor_shoot(&rays[i], selves[i], TICKS);
        }
        uint64_t between = loop_now_ns();
        for (uint32_t i = 0; i < SHOOTERS; i++) {
            rewind_resolve_shot(rewind, &rays[i], &shot);
            hits += shot.hit_count;
            held += rays[i].pair_count;
        }
        uint64_t end = loop_now_ns();
        least = between - start < least ? between - start : least;
        ours = end - between < ours ? end - between : ours;
        if (round == 0) {
            figures->hits += hits;
            figures->floor_hits += floor_hits;
            figures->held += held;
        }
    }
    figures->ours_ns[batch] = (double)ours / SHOOTERS;
    figures->floor_ns[batch] = (double)least / SHOOTERS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double values[BATCHES])
{
    qsort(values, BATCHES, sizeof values[0], compare);
    return values[BATCHES / 2];
}

static void measure(const struct scene *scene, uint32_t rounds)
{
    build(scene->characters);
    struct arb_arena arena;
    arb_arena_init(&arena);
    struct arb_geometry *geometry = arb_geometry_create(
        walls, wall_count,
        (struct arb_bounds){{-half_m - 2, -half_m - 2}, {half_m + 2, half_m + 2}});
    size_t before = arena.taken_bytes;
    struct rewind *rewind =
        rewind_create(&arena,
                      &(struct rewind_config){.schema = &arb_schema_arena,
                                              .kinds = kinds,
                                              .tick_rate = TICK_RATE,
                                              .max_rewind_ms = 250,
                                              .snapshot_interval_ticks = 2,
                                              .entity_capacity = scene->characters,
                                              .player_capacity = 1},
                      geometry);
    size_t bytes = arena.taken_bytes - before;
    floor_begin(scene->characters);
    for (uint32_t tick = 1; tick <= TICKS; tick++) {
        for (uint32_t i = 0; i < scene->characters; i++) {
            take_step(i, tick);
        }
        publish(rewind, scene->characters, tick);
        floor_commit(scene->characters, tick);
    }
    struct figures figures = {0};
    for (uint32_t batch = 0; batch < BATCHES; batch++) {
        aim(scene, TICKS);
        take_turns(rewind, rounds, batch, &figures);
    }
    double count = (double)BATCHES * SHOOTERS;
    double ours = middle(figures.ours_ns), least = middle(figures.floor_ns);
    printf("%-16s shot_ns %.0f floor_ns %.0f ratio %.2f hits %.3f floor_hits %.3f held %.0f "
           "bytes_per_character %.0f\n",
           scene->name, ours, least, ours / least, (double)figures.hits / count,
           (double)figures.floor_hits / count, (double)figures.held / count,
           (double)bytes / scene->characters);
    b2DynamicTree_Destroy(&floor_->still);
    b2DynamicTree_Destroy(&floor_->moving);
    rewind_destroy(rewind);
    arb_geometry_destroy(geometry);
    arb_arena_free(&arena);
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    floor_ = arb_mem_alloc(sizeof *floor_);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        if (argc > 2 && strcmp(argv[2], scenes[i].name) != 0) continue;
        measure(&scenes[i], rounds > 0 ? rounds : 1);
    }
    arb_mem_free(floor_);
    return 0;
}
