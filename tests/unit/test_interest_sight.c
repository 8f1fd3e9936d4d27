/* Line-of-sight culling: who stands behind a wall is not told of. */
#include "server/interest/interest_sight.h"
#include "shared/base/arb_math.h"

#include <criterion/criterion.h>

#include <string.h>

enum { VIEWERS = 2, ENTITIES = 8, PICKUP = 5 };

static struct arb_arena arena;
static struct arb_geometry *geometry;
static struct interest_sight *sight;
static struct arb_published entities[ENTITIES];
static struct arb_frame frame;
static uint32_t visible[ENTITIES];

/* A wall of 20 m along y at x = 0, 1 m thick. */
static void create(float margin)
{
    struct arb_shape wall = {
        ARB_SHAPE_POLYGON, 4, 0, {{-0.5F, -10}, {0.5F, -10}, {0.5F, 10}, {-0.5F, 10}}};
    struct arb_bounds bounds = {{-100, -100}, {100, 100}};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(&wall, 1, bounds);
    struct interest_sight_config config = {.schema = &arb_schema_arena,
                                           .geometry = geometry,
                                           .margin_m = margin,
                                           .tick_rate = 60,
                                           .viewer_capacity = VIEWERS,
                                           .entity_capacity = ENTITIES};
    sight = interest_sight_create(&arena, &config);
    frame = (struct arb_frame){.tick = 1000, .entities = entities};
}

static void setup(void)
{
    create(2.0F);
}

static void teardown(void)
{
    arb_geometry_destroy(geometry);
    arb_arena_free(&arena);
}

TestSuite(interest_sight, .init = setup, .fini = teardown);

static int32_t place(float metres)
{
    return arb_quantise(metres, 1.0F / 512.0F, -(1 << 21), 1 << 21);
}

static void put(uint16_t id, float x, float y)
{
    struct arb_published *out = &entities[frame.entity_count];
    memset(out, 0, sizeof *out);
    out->key = (struct arb_key){id, 1};
    if (id == PICKUP) {
        out->kind = ARB_ARENA_PICKUP;
        out->q[ARB_PICKUP_X] = place(x);
        out->q[ARB_PICKUP_Y] = place(y);
    } else {
        out->kind = ARB_ARENA_CHARACTER;
        out->q[ARB_CHARACTER_OWNER] = id + 1;
        out->q[ARB_CHARACTER_X] = place(x);
        out->q[ARB_CHARACTER_Y] = place(y);
    }
    visible[frame.entity_count] = frame.entity_count;
    frame.entity_count++;
}

/* Bit per id of what is left for viewer 0 with its eye at (x, y). */
static uint32_t left_of(float x, float y, const struct arb_key *always, uint32_t always_count)
{
    uint32_t count;
    const uint32_t *left = interest_sight_cull(sight, 0, (struct arb_vec2){x, y}, &frame, visible,
                                               frame.entity_count, always, always_count, &count);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(i == 0 || left[i - 1] < left[i]);
        bits |= 1U << entities[left[i]].key.id;
    }
    return bits;
}

Test(interest_sight, who_stands_behind_a_wall_is_left_out)
{
    put(1, -5, 0); /* on this side */
    put(2, 5, 0);  /* behind the wall */
    cr_expect_eq(left_of(-10, 0, NULL, 0), 1U << 1);
}

Test(interest_sight, pickups_and_whom_one_always_sees_stay)
{
    put(1, 5, 0), put(2, 5, 1), put(PICKUP, 5, 2);
    struct arb_key always[] = {{2, 1}};
    cr_expect_eq(left_of(-10, 0, always, 1), 1U << 2 | 1U << PICKUP);
}

/* The line from the eye passes the corner at (0.5, 10); a little further on it would be clear. */
Test(interest_sight, whoever_could_come_round_the_corner_is_there_before)
{
    static const struct {
        float y;
        bool seen;
    } rows[] = {{0, false}, {5, false}, {7.5F, true}, {12, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_vec2 eye = {-6, 9}, target = {6, rows[i].y};
        cr_expect_eq(interest_sight_clear(geometry, eye, target, 2.0F), rows[i].seen, "row %zu", i);
    }
    cr_expect(
        !interest_sight_clear(geometry, (struct arb_vec2){-6, 9}, (struct arb_vec2){6, 9.5F}, 0.0F),
        "without a margin only the line counts");
}

/* One cannot look from inside a wall: the margin ends where a walk does. */
Test(interest_sight, the_margin_does_not_reach_through_walls)
{
    struct arb_vec2 eye = {-0.6F, 0}, target = {0.6F, 0};
    cr_expect(!interest_sight_clear(geometry, eye, target, 3.0F));
}

Test(interest_sight, whoever_was_seen_stays_for_a_while)
{
    put(1, 5, 20);
    cr_expect_eq(left_of(-5, 20, NULL, 0), 1U << 1, "round the end of the wall");
    entities[0].q[ARB_CHARACTER_Y] = place(0);
    frame.tick += 14;
    cr_expect_eq(left_of(-5, 19, NULL, 0), 1U << 1, "14 ticks are less than 250 ms");
    for (float y = 18; y >= 0; y -= 1)
        left_of(-5, y, NULL, 0);
    frame.tick += 1;
    cr_expect_eq(left_of(-5, 0, NULL, 0), 0);
}

Test(interest_sight, the_hidden_are_there_at_once_in_plain_sight_and_soon_within_the_margin)
{
    put(1, 6, 5);
    cr_expect_eq(left_of(-6, 9, NULL, 0), 0);
    entities[0].q[ARB_CHARACTER_Y] = place(7.5F); /* within the margin: see above */
    frame.tick += 2;
    cr_expect_eq(left_of(-6, 9, NULL, 0), 0, "2 ticks are less than 50 ms");
    frame.tick += 1;
    cr_expect_eq(left_of(-6, 9, NULL, 0), 1U << 1);
    entities[0].key.generation = 2;
    entities[0].q[ARB_CHARACTER_Y] = place(5);
    cr_expect_eq(left_of(-6, 9, NULL, 0), 0);
    entities[0].q[ARB_CHARACTER_X] = place(-8);
    frame.tick += 1;
    cr_expect_eq(left_of(-6, 9, NULL, 0), 1U << 1, "plain sight waits for nothing");
}

Test(interest_sight, a_jump_of_the_eye_or_another_generation_is_looked_at_at_once)
{
    put(1, 5, 0);
    cr_expect_eq(left_of(-5, 0, NULL, 0), 0);
    cr_expect_eq(left_of(9, 0, NULL, 0), 1U << 1);
    cr_expect_eq(left_of(-5, 0, NULL, 0), 0, "and back");
    entities[0].key.generation = 2;
    entities[0].q[ARB_CHARACTER_X] = place(-7);
    cr_expect_eq(left_of(-5, 0, NULL, 0), 1U << 1);
    interest_sight_forget(sight, 0);
    entities[0].q[ARB_CHARACTER_X] = place(5);
    cr_expect_eq(left_of(-5, 0, NULL, 0), 0, "a new session knows nothing");
}
