/* What a view costs: 1,000 characters that all look, spread out and all in one cell; and 64
 * serpents with bodies; then a look past walls. Prints a line per scene, in CPU time of the round
 * that was disturbed least. usage: bench_interest [rounds]
 */
#define _GNU_SOURCE
#include "server/interest/interest.h"
#include "server/interest/interest_sight.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum { ENTITIES = 1024, BODY_POINTS = 100, POINTS = 64 * BODY_POINTS };

struct scene {
    const char *name;
    const struct arb_schema *schema;
    uint8_t kind;
    uint32_t entities, points_each;
    float half_m; /* they stand within +-half_m of the origin */
};

static struct arb_published entities[ENTITIES];
static struct arb_point points[POINTS];

static void place(const struct scene *scene, struct arb_frame *frame)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, 1);
    const struct arb_kind *kind = &scene->schema->kinds[scene->kind];
    float unit = kind->fields[kind->x].unit;
    *frame = (struct arb_frame){.entities = entities, .points = points};
    for (uint32_t i = 0; i < scene->entities; i++) {
        struct arb_published *entity = &entities[frame->entity_count++];
        *entity = (struct arb_published){.key = {(uint16_t)i, 1}, .kind = scene->kind};
        int32_t reach = (int32_t)(scene->half_m / unit);
        int32_t x = (int32_t)arb_rng_below(&rng, 2 * (uint32_t)reach) - reach;
        int32_t y = (int32_t)arb_rng_below(&rng, 2 * (uint32_t)reach) - reach;
        entity->q[kind->x] = x;
        entity->q[kind->y] = y;
        entity->body_first = frame->point_count;
        entity->body_count = (uint16_t)scene->points_each;
        for (uint32_t p = 0; p < scene->points_each; p++) {
            x += (int32_t)(0.5F / unit); /* half a metre apart */
            points[frame->point_count++] = (struct arb_point){x, y};
        }
    }
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void measure(const struct scene *scene, uint32_t rounds)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    struct interest_config config = {.schema = scene->schema,
                                     .cell_m = 10.0F,
                                     .enter_m = 30.0F,
                                     .retain_m = 36.0F,
                                     .viewer_capacity = ENTITIES,
                                     .entity_capacity = ENTITIES,
                                     .point_capacity = POINTS};
    config.radius_of_kind[scene->kind] = 0.5F;
    struct interest *interest = interest_create(&arena, &config);
    struct arb_frame frame;
    place(scene, &frame);
    const struct arb_kind *kind = &scene->schema->kinds[scene->kind];
    float unit = kind->fields[kind->x].unit;
    uint64_t build_ns = UINT64_MAX;
    uint64_t look_ns = UINT64_MAX;
    uint64_t seen = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t begin = bench_cpu_ns();
        interest_build(interest, &frame);
        uint64_t built = bench_cpu_ns();
        for (uint32_t i = 0; i < frame.entity_count; i++) {
            struct arb_vec2 eye = {arb_dequantise(entities[i].q[kind->x], unit),
                                   arb_dequantise(entities[i].q[kind->y], unit)};
            uint32_t count;
            interest_update(interest, i, eye, NULL, 0, &count);
            seen += count;
        }
        look_ns = least(look_ns, bench_cpu_ns() - built);
        build_ns = least(build_ns, built - begin);
    }
    double views = (double)frame.entity_count;
    double candidates = (double)interest_candidates(interest) / rounds;
    printf("%-20s build_us %.1f view_ns %.0f seen %.1f candidates %.1f ns_per_candidate %.2f\n",
           scene->name, (double)build_ns / 1e3, (double)look_ns / views,
           (double)seen / (rounds * views), candidates / views, (double)look_ns / candidates);
    arb_arena_free(&arena);
}

/* A grid of pillars; from one place to another, wherever they are, as interest_sight.c asks. */
static void measure_sight(uint32_t rounds)
{
    enum { SIDE = 8, LOOKS = 1000 };
    static struct arb_shape pillars[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        float x = (float)(i % SIDE) * 8.0F - 28.0F;
        float y = (float)(i / SIDE) * 8.0F - 28.0F;
        pillars[i] =
            (struct arb_shape){ARB_SHAPE_POLYGON,
                               4,
                               0,
                               {{x - 2, y - 2}, {x + 2, y - 2}, {x + 2, y + 2}, {x - 2, y + 2}}};
    }
    struct arb_bounds bounds = {{-40, -40}, {40, 40}};
    struct arb_geometry *geometry = arb_geometry_create(pillars, SIDE * SIDE, bounds);
    static struct arb_vec2 eyes[2][LOOKS], targets[2][LOOKS];
    uint32_t count[2] = {0, 0};
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, 1);
    for (uint32_t i = 0; i < LOOKS; i++) {
        /* In the lanes between the pillars. */
        struct arb_vec2 eye = {(float)arb_rng_below(&rng, 9) * 8.0F - 32.0F,
                               arb_rng_range(&rng, -32.0F, 32.0F)};
        struct arb_vec2 target = {arb_rng_range(&rng, -32.0F, 32.0F),
                                  (float)arb_rng_below(&rng, 9) * 8.0F - 32.0F};
        bool clear = interest_sight_clear(geometry, eye, target, 2.5F);
        eyes[clear][count[clear]] = eye;
        targets[clear][count[clear]++] = target;
    }
    uint64_t ns[2] = {UINT64_MAX, UINT64_MAX};
    for (uint32_t round = 0; round < rounds; round++) {
        for (int clear = 0; clear < 2; clear++) {
            uint64_t begin = bench_cpu_ns();
            for (uint32_t i = 0; i < count[clear]; i++) {
                interest_sight_clear(geometry, eyes[clear][i], targets[clear][i], 2.5F);
            }
            ns[clear] = least(ns[clear], bench_cpu_ns() - begin);
        }
    }
    printf("%-20s seen_ns %.0f hidden_ns %.0f\n", "sight_64_pillars",
           (double)ns[1] / (double)count[1], (double)ns[0] / (double)count[0]);
    arb_geometry_destroy(geometry);
}

int main(int argc, char **argv)
{
    static const struct scene scenes[] = {
        {"arena_1000_spread", &arb_schema_arena, ARB_ARENA_CHARACTER, 1000, 0, 190.0F},
        {"arena_1000_one_cell", &arb_schema_arena, ARB_ARENA_CHARACTER, 1000, 0, 4.0F},
        {"arena_16", &arb_schema_arena, ARB_ARENA_CHARACTER, 16, 0, 20.0F},
        {"serpent_64x100", &arb_schema_serpent, ARB_SERPENT_HEAD, 64, BODY_POINTS, 100.0F},
    };
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 200;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        measure(&scenes[i], rounds > 0 ? rounds : 1);
    }
    measure_sight(rounds > 0 ? rounds : 1);
    return 0;
}
