#include "server/interest/interest.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

enum { ENTITIES = 512, POINTS = 4096, VIEWERS = 4 };

#define UNIT (1.0F / 512.0F)

static const struct arb_kind_field place_fields[] = {
    {"x", 24, 1, UNIT, "m"},
    {"y", 24, 1, UNIT, "m"},
};
static const struct arb_kind kinds[] = {
    {"dot", place_fields, 2, 0, 0, 1, -1, -1, -1, -1, -1, 0, 0},
    {"snake", place_fields, 2, 1, 0, 1, -1, -1, -1, -1, -1, 0, 0},
};
static const struct arb_schema schema = {"test", kinds, 2, 0};

/* A frame that is filled by hand. */
struct scene {
    struct arb_arena arena;
    struct interest *interest;
    struct arb_frame frame;
    struct arb_published entities[ENTITIES];
    struct arb_point points[POINTS];
};

static struct scene scene;

static void scene_open(float cell, float enter, float retain, float radius)
{
    arb_arena_init(&scene.arena);
    struct interest_config config = {
        .schema = &schema,
        .cell_m = cell,
        .enter_m = enter,
        .retain_m = retain,
        .viewer_capacity = VIEWERS,
        .entity_capacity = ENTITIES,
        .point_capacity = POINTS,
        .radius_of_kind = {radius, radius},
    };
    scene.interest = interest_create(&scene.arena, &config);
    scene.frame = (struct arb_frame){.entities = scene.entities, .points = scene.points};
}

static void scene_close(void)
{
    arb_arena_free(&scene.arena);
}

static void scene_clear(void)
{
    scene.frame.entity_count = 0;
    scene.frame.point_count = 0;
}

static int32_t steps(float metres)
{
    return arb_quantise(metres, UNIT, INT32_MIN, INT32_MAX);
}

static struct arb_published *put(uint16_t id, uint16_t generation, uint8_t kind, float x, float y)
{
    struct arb_published *entity = &scene.entities[scene.frame.entity_count++];
    *entity = (struct arb_published){.key = {id, generation}, .kind = kind};
    entity->body_first = scene.frame.point_count;
    entity->q[0] = steps(x);
    entity->q[1] = steps(y);
    return entity;
}

static void put_point(struct arb_published *entity, float x, float y)
{
    scene.points[scene.frame.point_count++] = (struct arb_point){steps(x), steps(y)};
    entity->body_count++;
}

static uint32_t look(uint32_t viewer, float x, float y, const uint32_t **indices)
{
    uint32_t count;
    interest_build(scene.interest, &scene.frame);
    *indices = interest_update(scene.interest, viewer, (struct arb_vec2){x, y}, NULL, 0, &count);
    return count;
}

static uint32_t count_seen(uint32_t viewer, float x, float y)
{
    const uint32_t *indices;
    return look(viewer, x, y, &indices);
}

Test(interest, cell_is_the_floor_also_below_zero)
{
    static const struct {
        float v;
        int32_t cell;
    } rows[] = {{0.0F, 0}, {-0.1F, -1}, {10.0F, 1}, {9.99F, 0}, {-10.0F, -1}, {-10.01F, -2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(interest_cell(rows[i].v, 10.0F), rows[i].cell, "row %zu", i);
    }
}

Test(interest, bounds_across_zero_touch_two_cells)
{
    scene_open(10.0F, 0.5F, 0.5F, 1.0F);
    put(1, 1, 0, 0.0F, 5.0F); /* bounds (-1,4) to (1,6): cells (-1,0) and (0,0) */
    for (uint16_t id = 2; id < 100; id++) {
        put(id, 1, 0, 205.0F, 205.0F); /* too many for all to be tested */
    }
    cr_assert_eq(count_seen(0, -1.4F, 5.0F), 1);
    cr_assert_eq(count_seen(1, 1.4F, 5.0F), 1);
    cr_assert_eq(interest_candidates(scene.interest), 2);
    cr_assert_eq(count_seen(2, 15.0F, 5.0F), 0);
    cr_assert_eq(interest_candidates(scene.interest), 2, "no candidate two cells away");
    scene_close();
}

Test(interest, target_radius_counts_and_touching_is_in)
{
    scene_open(10.0F, 30.0F, 30.0F, 1.0F);
    put(1, 1, 0, 31.0F, 0.0F);
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 1);
    cr_assert_eq(count_seen(1, -0.001F, 0.0F), 0);
    scene_close();
}

Test(interest, enters_at_the_inner_and_leaves_at_the_outer_radius)
{
    static const struct {
        float distance;
        uint32_t seen;
    } rows[] = {{40.0F, 0}, {31.0F, 0}, {30.0F, 1}, {33.0F, 1},
                {36.0F, 1}, {36.5F, 0}, {33.0F, 0}, {29.0F, 1}};
    for (int others = 0; others < 2; others++) {
        scene_open(10.0F, 30.0F, 36.0F, 0.0F);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            scene_clear();
            if (others != 0) put(3, 9, 0, 0.0F, 500.0F);
            put(7, 2, 0, rows[i].distance, 0.0F);
            if (others != 0) put(8, 1, 0, -400.0F, 0.0F);
            const uint32_t *indices;
            cr_assert_eq(look(0, 0.0F, 0.0F, &indices), rows[i].seen, "row %zu", i);
            if (rows[i].seen > 0) cr_assert_eq(scene.entities[indices[0]].key.id, 7);
        }
        scene_close();
    }
}

Test(interest, new_generation_has_to_enter_anew)
{
    scene_open(10.0F, 30.0F, 36.0F, 0.0F);
    put(7, 2, 0, 29.0F, 0.0F);
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 1);
    scene_clear();
    put(7, 3, 0, 33.0F, 0.0F);
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 0);
    scene_close();
}

Test(interest, forgotten_viewer_has_seen_nothing)
{
    scene_open(10.0F, 30.0F, 36.0F, 0.0F);
    put(7, 2, 0, 29.0F, 0.0F);
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 1);
    scene_clear();
    put(7, 2, 0, 33.0F, 0.0F);
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 1);
    interest_forget(scene.interest, 0);
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 0);
    scene_close();
}

Test(interest, body_counts_when_any_part_does)
{
    scene_open(10.0F, 30.0F, 36.0F, 0.5F);
    struct arb_published *snake = put(7, 2, 1, 100.0F, 0.0F);
    for (int i = 1; i <= 70; i++) {
        put_point(snake, 100.0F - (float)i, 0.0F);
    }
    cr_assert_eq(count_seen(0, 0.0F, 0.0F), 1, "the tail at 30 m");
    cr_assert_eq(count_seen(1, -0.6F, 0.0F), 0, "the tail at 30.6 m");
    snake->body_count--;
    cr_assert_eq(count_seen(2, 0.0F, 0.0F), 0, "the tail at 31 m");
    scene_close();
}

Test(interest, always_list_is_in_and_the_rest_sorted_with_it)
{
    scene_open(10.0F, 30.0F, 36.0F, 0.0F);
    put(2, 1, 0, 1.0F, 0.0F);
    put(5, 4, 0, 900.0F, 0.0F);
    put(6, 1, 0, 2.0F, 0.0F);
    put(9, 1, 0, 901.0F, 0.0F);
    interest_build(scene.interest, &scene.frame);
    const struct arb_key always[] = {{1, 1}, {5, 3}, {5, 4}, {77, 1}};
    uint32_t count;
    const uint32_t *indices =
        interest_update(scene.interest, 0, (struct arb_vec2){0.0F, 0.0F}, always, 4, &count);
    cr_assert_eq(count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(indices[i], i);
    }
    scene_close();
}

Test(interest, ids_far_apart_are_listed_in_order)
{
    arb_arena_init(&scene.arena);
    struct interest_config config = {.schema = &schema,
                                     .cell_m = 10.0F,
                                     .enter_m = 30.0F,
                                     .retain_m = 36.0F,
                                     .viewer_capacity = VIEWERS,
                                     .entity_capacity = 10000,
                                     .point_capacity = POINTS};
    scene.interest = interest_create(&scene.arena, &config);
    scene.frame = (struct arb_frame){.entities = scene.entities, .points = scene.points};
    scene_clear();
    static const uint16_t ids[] = {0, 63, 64, 2048, 4095, 4096, 4160, 9999};
    for (uint32_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        put(ids[i], 1, 0, i == 3 ? 90.0F : (float)i, 0.0F);
    }
    static const uint32_t expected[] = {0, 1, 2, 4, 5, 6, 7};
    const uint32_t *indices;
    cr_assert_eq(look(0, 0.0F, 0.0F, &indices), 7);
    cr_assert_arr_eq(indices, expected, sizeof expected);
    scene_close();
}

/* ---- against a search of everything
 * ----------------------------------------------------------------------- */

static bool within(const struct arb_published *entity, double x, double y, float reach, float r)
{
    double limit = ((double)reach + (double)r) * ((double)reach + (double)r);
    double dx = (double)((float)entity->q[0] * UNIT) - x;
    double dy = (double)((float)entity->q[1] * UNIT) - y;
    bool in = dx * dx + dy * dy <= limit;
    for (uint32_t i = 0; i < entity->body_count; i++) {
        const struct arb_point *point = &scene.points[entity->body_first + i];
        double px = (double)((float)point->x * UNIT) - x;
        double py = (double)((float)point->y * UNIT) - y;
        in = in || px * px + py * py <= limit;
    }
    return in;
}

/* Half of the coordinates lie exactly on borders of cells. */
static float somewhere(struct arb_rng *rng, float half_m, float cell)
{
    float v = (arb_rng_unit(rng) * 2.0F - 1.0F) * half_m;
    return arb_rng_below(rng, 2) == 0 ? floorf(v / cell) * cell : v;
}

static void scatter(struct arb_rng *rng, float half_m, float cell)
{
    static uint16_t generations[400];
    scene_clear();
    for (uint16_t id = 0; id < 400; id++) {
        if (generations[id] == 0 || arb_rng_below(rng, 50) == 0) generations[id]++;
        bool body = arb_rng_below(rng, 20) == 0;
        float x = somewhere(rng, half_m, cell);
        float y = somewhere(rng, half_m, cell);
        struct arb_published *entity = put(id, generations[id], body ? 1 : 0, x, y);
        for (uint32_t i = arb_rng_below(rng, body ? 60 : 1); i > 0; i--) {
            x += (arb_rng_unit(rng) - 0.3F) * 4.0F;
            y += (arb_rng_unit(rng) - 0.5F) * 30.0F;
            put_point(entity, x, y);
        }
    }
}

static void compare_with_everything(uint64_t seed, float half_m, float cell, float radius)
{
    enum { ROUNDS = 625 }; /* 4 calls * 625 * 400: 1e6 placements, each seen by 4 viewers */
    const float enter = 30.0F;
    const float retain = 36.0F;
    struct arb_rng rng;
    arb_rng_seed(&rng, seed, 1);
    scene_open(cell, enter, retain, radius);
    uint16_t seen[VIEWERS][ENTITIES] = {0}; /* generation, 0: not seen */
    for (int round = 0; round < ROUNDS; round++) {
        /* Sometimes all stay where they are, sometimes the same ones are elsewhere. */
        if (arb_rng_below(&rng, 4) != 0) scatter(&rng, half_m, cell);
        interest_build(scene.interest, &scene.frame);
        for (uint32_t viewer = 0; viewer < VIEWERS; viewer++) {
            if (viewer == 1 && round % 3 != 0) continue; /* looks at some frames only */
            struct arb_vec2 eye = {somewhere(&rng, half_m, cell), somewhere(&rng, half_m, cell)};
            uint32_t count;
            const uint32_t *got = interest_update(scene.interest, viewer, eye, NULL, 0, &count);
            uint32_t next = 0;
            for (uint32_t i = 0; i < scene.frame.entity_count; i++) {
                const struct arb_published *entity = &scene.entities[i];
                uint16_t *mark = &seen[viewer][entity->key.id];
                bool before = *mark == entity->key.generation;
                bool in =
                    within(entity, (double)eye.x, (double)eye.y, before ? retain : enter, radius);
                *mark = in ? entity->key.generation : 0;
                if (!in) continue;
                cr_assert(next < count && got[next] == i, "seed %llu round %d viewer %u entity %u",
                          (unsigned long long)seed, round, viewer, i);
                next++;
            }
            cr_assert_eq(next, count);
        }
    }
    scene_close();
}

Test(interest, finds_what_a_search_of_everything_finds)
{
    compare_with_everything(1, 100.0F, 10.0F, 0.5F);  /* crowded, around zero */
    compare_with_everything(2, 2000.0F, 10.0F, 0.5F); /* far beyond the folded grid */
    compare_with_everything(3, 60.0F, 1.0F, 3.0F);    /* cells smaller than a target */
    compare_with_everything(4, 150.0F, 64.0F, 0.0F);  /* cells larger than the radius */
}
