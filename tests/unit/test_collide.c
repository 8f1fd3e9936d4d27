/* Contacts (spec/simulation.md "Collision"), against all pairs and against a grid that is built
 * anew. */
#include "server/collide/collide.h"
#include "server/collide/collide_internal.h"
#include "server/world/world.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_move.h"

#include <criterion/criterion.h>

#include <math.h>
#include <string.h>

enum { HEAD, FOOD, GHOST, KINDS };
enum { HEAD_BIT = 1, FOOD_BIT = 2 };

static const struct collide_kind kinds[KINDS] = {
    [HEAD] = {.category = HEAD_BIT,
              .mask = HEAD_BIT | FOOD_BIT,
              .body_mask = HEAD_BIT,
              .body_radius = 0.3F},
    [FOOD] = {.category = FOOD_BIT},
    [GHOST] = {0},
};

static const struct world_capacity capacity = {
    .players = 4, .entities = 300, .bodies = 40, .body_points = 30};

static struct arb_arena arena;
static struct world world;
static struct collide *collide;

static void setup(void)
{
    arb_arena_init(&arena);
    world_create(&world, &arena, &capacity, 1, 0);
    collide = collide_create(&arena, kinds, KINDS, &capacity, 10000);
}

static void teardown(void)
{
    arb_arena_free(&arena);
}

TestSuite(collide, .init = setup, .fini = teardown);

static struct arb_key put(uint8_t kind, float radius, struct arb_vec2 from, struct arb_vec2 to)
{
    struct arb_key key = world_spawn(&world, kind);
    struct world_entity *entity = world_find(&world, key);
    entity->previous_x = from.x;
    entity->previous_y = from.y;
    entity->x = to.x;
    entity->y = to.y;
    entity->radius = radius;
    return key;
}

static struct arb_key rest(uint8_t kind, float radius, float x, float y)
{
    return put(kind, radius, (struct arb_vec2){x, y}, (struct arb_vec2){x, y});
}

static const struct collide_contact *contacts(uint32_t *count)
{
    collide_refit(collide, &world);
    return collide_contacts(collide, &world, count);
}

/* ---- worked cases ---- */

Test(collide, boxes_hold_the_whole_of_a_shape)
{
    b2AABB circle = collide_circle_box((struct arb_vec2){3, 4}, (struct arb_vec2){3, 4}, 2);
    b2AABB capsule = collide_circle_box((struct arb_vec2){4, 3}, (struct arb_vec2){0, 0}, 1);
    cr_expect_float_eq(circle.lowerBound.x, 1, 2e-3F);
    cr_expect_float_eq(circle.lowerBound.y, 2, 2e-3F);
    cr_expect_float_eq(circle.upperBound.x, 5, 2e-3F);
    cr_expect_float_eq(circle.upperBound.y, 6, 2e-3F);
    cr_expect_float_eq(capsule.lowerBound.x, -1, 2e-3F);
    cr_expect_float_eq(capsule.lowerBound.y, -1, 2e-3F);
    cr_expect_float_eq(capsule.upperBound.x, 5, 2e-3F);
    cr_expect_float_eq(capsule.upperBound.y, 4, 2e-3F);
    cr_expect(circle.lowerBound.x <= 1 && circle.upperBound.x >= 5);
}

Test(collide, boxes_that_overlap_are_no_contact_and_touching_is_one)
{
    static const struct {
        float x, y;
        bool contact;
    } cases[] = {{1.9F, 1.9F, false}, {2, 0, true}, {0, -2, true}, {2.01F, 0, false}, {0, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t count;
        struct arb_key a = rest(HEAD, 1, 0, 0), b = rest(HEAD, 1, cases[i].x, cases[i].y);
        contacts(&count);
        cr_expect_eq(count, cases[i].contact, "case %zu", i);
        world_remove(&world, a);
        world_remove(&world, b);
        world_settle(&world);
    }
}

Test(collide, two_heads_are_reported_once_with_the_lower_key_first)
{
    uint32_t count;
    struct arb_key a = rest(HEAD, 1, 0, 0), b = rest(HEAD, 1, 1, 0);
    const struct collide_contact *list = contacts(&count);
    cr_assert_eq(count, 1);
    cr_expect(arb_key_equal(list[0].mover, a) && arb_key_equal(list[0].other, b));
    cr_expect_eq(list[0].part, COLLIDE_CIRCLE);
    cr_expect_eq(list[0].fraction, 0.0F);
}

Test(collide, the_asking_side_is_the_mover_whatever_its_key)
{
    uint32_t count;
    struct arb_key food = rest(FOOD, 0.2F, 0, 0), head = rest(HEAD, 1, 1, 0);
    rest(GHOST, 1, 0, 0);
    const struct collide_contact *list = contacts(&count);
    cr_assert_eq(count, 1);
    cr_expect(arb_key_equal(list[0].mover, head) && arb_key_equal(list[0].other, food));
}

Test(collide, nothing_tunnels_and_the_fraction_is_that_of_the_first_touch)
{
    uint32_t count;
    put(HEAD, 0.5F, (struct arb_vec2){0, 0}, (struct arb_vec2){100, 0});
    rest(FOOD, 0.5F, 50, 0);
    const struct collide_contact *list = contacts(&count);
    cr_assert_eq(count, 1);
    cr_expect_float_eq(list[0].fraction, 0.49F, 1e-6F);
}

Test(collide, two_that_pass_each_other_within_a_tick_meet)
{
    uint32_t count;
    put(HEAD, 0.1F, (struct arb_vec2){0, 0}, (struct arb_vec2){10, 0});
    put(HEAD, 0.1F, (struct arb_vec2){10, 0.1F}, (struct arb_vec2){0, 0.1F});
    contacts(&count);
    cr_expect_eq(count, 1);
}

Test(collide, two_that_cross_at_different_moments_do_not_meet)
{
    uint32_t count;
    put(HEAD, 0.1F, (struct arb_vec2){0, 0}, (struct arb_vec2){10, 0});
    put(HEAD, 0.1F, (struct arb_vec2){2, -10}, (struct arb_vec2){2, 0.5F});
    contacts(&count);
    cr_expect_eq(count, 0);
}

/* A body along y = 0 from its head at x = length. */
static struct arb_key serpent_along_x(float length)
{
    struct arb_key key = rest(HEAD, 0.4F, 0, 0);
    struct world_entity *head = world_find(&world, key);
    head->body = world_body_create(&world, key, 0.5F, length);
    for (float x = 0; x < length; x += 0.25F) {
        world_body_advance(&world, head->body, (struct arb_vec2){x, 0},
                           (struct arb_vec2){x + 0.25F, 0});
    }
    head->x = head->previous_x = length;
    return key;
}

Test(collide, a_head_meets_the_first_segment_of_a_foreign_body_never_its_own)
{
    uint32_t count;
    struct arb_key owner = serpent_along_x(8);
    struct arb_key mover = put(HEAD, 0.4F, (struct arb_vec2){2.2F, 2}, (struct arb_vec2){2.2F, -2});
    const struct collide_contact *list = contacts(&count);
    cr_assert_eq(count, 1, "%u", count);
    cr_expect(arb_key_equal(list[0].mover, mover) && arb_key_equal(list[0].other, owner));
    cr_expect_eq(list[0].part, COLLIDE_BODY);
    cr_expect_float_eq(list[0].fraction, (2 - 0.7F) / 4, 1e-5F);
    cr_expect_eq(list[0].segment, 12, "%u", list[0].segment); /* x 2 to 2.5; 0 ends at x 8 */
}

Test(collide, the_tail_ends_where_the_length_is_reached)
{
    uint32_t count;
    struct arb_key owner = serpent_along_x(8);
    world_find(&world, owner)->x = world_find(&world, owner)->previous_x = 8;
    rest(HEAD, 0.4F, -0.69F, 0);
    contacts(&count);
    cr_expect_eq(count, 1, "the tail's round end at 0");
    world.bodies[world_find(&world, owner)->body].length = 7.9F;
    contacts(&count);
    cr_expect_eq(count, 0);
}

Test(collide, beyond_its_bound_the_list_keeps_the_first_keys_and_counts)
{
    struct collide *small = collide_create(&arena, kinds, KINDS, &capacity, 3);
    for (int i = 0; i < 4; i++) {
        rest(HEAD, 1, 0, 0); /* six pairs */
    }
    uint32_t count;
    collide_refit(small, &world);
    const struct collide_contact *list = collide_contacts(small, &world, &count);
    cr_expect_eq(count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(list[i].mover.id, 0);
        cr_expect_eq(list[i].other.id, i + 1);
    }
    cr_expect_eq(collide_dropped(small), 3);
}

Test(collide, insertion_order_changes_nothing)
{
    uint32_t count, count_again;
    struct collide_contact before[10];
    rest(HEAD, 1, 0, 0);
    rest(FOOD, 1, 0.5F, 0);
    rest(HEAD, 1, 1, 0);
    memcpy(before, contacts(&count), sizeof before);
    collide_rebuild(collide, &world);
    const struct collide_contact *after = collide_contacts(collide, &world, &count_again);
    cr_assert_eq(count, 3);
    cr_assert_eq(count_again, 3);
    cr_expect_arr_eq(before, after, 3 * sizeof before[0]);
}

/* As after going back: the same serpent, as many points, but another path. */
Test(collide, a_body_of_another_state_is_met_where_it_lies_now)
{
    uint32_t count;
    struct arb_key owner = rest(HEAD, 0.5F, 0, 0);
    uint16_t body = world_body_create(&world, owner, 1, 10);
    world_find(&world, owner)->body = body;
    for (float x = 0; x < 10; x++) {
        world_body_advance(&world, body, (struct arb_vec2){x, 0}, (struct arb_vec2){x + 1, 0});
    }
    world_find(&world, owner)->x = world_find(&world, owner)->previous_x = 10;
    rest(HEAD, 0.5F, 5, 20);
    contacts(&count);
    cr_assert_eq(count, 0);
    for (uint32_t i = 0; i < capacity.body_points; i++) {
        world.points[body * capacity.body_points + i].y = 20;
    }
    collide_forget_bodies(collide);
    const struct collide_contact *list = contacts(&count);
    cr_assert_eq(count, 1);
    cr_expect_eq(list[0].part, COLLIDE_BODY);
}

/* ---- random scenes ---- */

/* All pairs, no grid, no chunks. */
static uint32_t all_pairs(struct collide_contact *out)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < capacity.entities; m++) {
        for (uint32_t o = 0; o < capacity.entities; o++) {
            const struct world_entity *mover = &world.entities[m], *other = &world.entities[o];
            if (!mover->alive || !other->alive || m == o || mover->kind != HEAD) {
                continue;
            }
            struct collide_contact one = {.mover = world_key(&world, mover),
                                          .other = world_key(&world, other)};
            struct arb_vec2 from = {mover->previous_x - other->previous_x,
                                    mover->previous_y - other->previous_y};
            struct arb_vec2 to = {mover->x - other->x, mover->y - other->y}, zero = {0, 0};
            float sum = mover->radius + other->radius;
            bool ask = other->kind == FOOD || (other->kind == HEAD && m < o);
            if (ask && (arb_move_ray_capsule(from, arb_vec2_sub(to, from), zero, zero, sum,
                                             &one.fraction) ||
                        arb_vec2_length(to) <= sum)) {
                out[count++] = one;
            }
            if (other->kind != HEAD || other->body == WORLD_NO_BODY) {
                continue;
            }
            one.part = COLLIDE_BODY;
            one.fraction = 2;
            struct arb_vec2 newer = {other->x, other->y}, head = newer;
            for (uint32_t i = 0; i < world_body_count(&world, other->body); i++) {
                struct arb_vec2 older = world_body_point(&world, other->body, i, head);
                struct arb_vec2 start = {mover->previous_x, mover->previous_y}, way = {0, 0};
                way.x = mover->x - start.x;
                way.y = mover->y - start.y;
                if (way.x == 0 && way.y == 0) {
                    way.x = 1e-6F; /* who stands still is met where it stands */
                }
                float fraction, reach = mover->radius + kinds[HEAD].body_radius;
                if (arb_move_ray_capsule(start, way, newer, older, reach, &fraction) &&
                    fraction < one.fraction) {
                    one.fraction = fraction;
                    one.segment = (uint16_t)i;
                }
                newer = older;
            }
            if (one.fraction <= 1) {
                out[count++] = one;
            }
        }
    }
    return count;
}

static struct arb_rng rng;
static uint32_t one_is_large; /* of so many; 0: none is */

static float radius_random(void)
{
    bool is_large = one_is_large > 0 && arb_rng_below(&rng, one_is_large) == 0;
    return is_large ? arb_rng_range(&rng, 4, 12) : arb_rng_range(&rng, 0.1F, 0.6F);
}

static void spawn_random(float size)
{
    float x = arb_rng_range(&rng, -size, size), y = arb_rng_range(&rng, -size, size);
    bool head = arb_rng_below(&rng, 3) == 0;
    struct arb_key key = rest(head ? HEAD : FOOD, radius_random(), x, y);
    struct world_entity *entity = world_find(&world, key);
    entity->heading = arb_rng_range(&rng, -3, 3);
    if (head && arb_rng_below(&rng, 4) != 0) {
        entity->body = world_body_create(&world, key, arb_rng_range(&rng, 0.2F, 0.6F),
                                         arb_rng_range(&rng, 1, 9));
    }
}

static void step_random(float size)
{
    for (uint32_t id = 0; id < capacity.entities; id++) {
        struct world_entity *entity = &world.entities[id];
        if (!entity->alive || entity->kind == FOOD) {
            continue;
        }
        entity->heading += arb_rng_range(&rng, -0.3F, 0.3F);
        float speed = id % 11 == 0 ? 2.0F : 0.1F;
        struct arb_vec2 way = arb_vec2_scale(arb_move_direction(entity->heading), speed);
        entity->previous_x = entity->x;
        entity->previous_y = entity->y;
        entity->x = fmaxf(-size, fminf(size, entity->x + way.x));
        entity->y = fmaxf(-size, fminf(size, entity->y + way.y));
        if (entity->body != WORLD_NO_BODY) {
            if (arb_rng_below(&rng, 10) == 0) {
                world.bodies[entity->body].length = arb_rng_range(&rng, 0.5F, 10);
            }
            struct arb_vec2 from = {entity->previous_x, entity->previous_y};
            world_body_advance(&world, entity->body, from, (struct arb_vec2){entity->x, entity->y});
            world.bodies[entity->body].length += arb_rng_range(&rng, 0, 0.2F);
        }
    }
}

static void play_random(uint64_t seed, float size, int ticks)
{
    static struct collide_contact expected[10000];
    arb_rng_seed(&rng, seed, 3);
    uint32_t met = 0;
    for (int tick = 0; tick < ticks; tick++) {
        step_random(size);
        if (arb_rng_below(&rng, 20) == 0) {
            collide_rebuild(collide, &world);
        }
        uint32_t count, expected_count = all_pairs(expected);
        const struct collide_contact *list = contacts(&count);
        cr_assert_eq(count, expected_count, "tick %d: %u of %u", tick, count, expected_count);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(arb_key_equal(list[i].mover, expected[i].mover) &&
                          arb_key_equal(list[i].other, expected[i].other) &&
                          list[i].part == expected[i].part &&
                          list[i].segment == expected[i].segment,
                      "tick %d contact %u", tick, i);
            cr_assert_float_eq(list[i].fraction, expected[i].fraction, 1e-6F);
        }
        met += count;
        for (uint32_t id = 0; id < capacity.entities; id++) {
            if (world.entities[id].alive && arb_rng_below(&rng, 60) == 0) {
                world_remove(&world, world_key(&world, &world.entities[id]));
            }
        }
        world_settle(&world);
        while (world.head->entity_count < 150) {
            spawn_random(size);
        }
    }
    cr_expect_gt(met, (uint32_t)ticks / 5, "%u", met);
}

Test(collide, grid_and_all_pairs_agree_spread_out, .timeout = 1200)
{
    play_random(1, 30, 400);
}

Test(collide, grid_and_all_pairs_agree_crowded, .timeout = 1200)
{
    play_random(2, 6, 200);
}

/* The plane is larger than the square of buckets: cells far apart share one. */
Test(collide, grid_and_all_pairs_agree_where_it_is_folded, .timeout = 1200)
{
    play_random(3, 70, 600);
}

/* Parts larger than a cell, beside small ones. */
Test(collide, grid_and_all_pairs_agree_about_large_ones, .timeout = 1200)
{
    one_is_large = 20;
    play_random(4, 60, 200);
}

Test(collide, a_tick_allocates_nothing)
{
    arb_rng_seed(&rng, 5, 3);
    for (int i = 0; i < 20; i++) {
        spawn_random(20);
    }
    uint64_t before = arb_mem_count();
    uint32_t count;
    for (int tick = 0; tick < 300; tick++) {
        step_random(20);
        contacts(&count);
        if (world.head->entity_count < 290) {
            spawn_random(20);
        }
    }
    collide_rebuild(collide, &world);
    cr_expect_eq(arb_mem_count(), before);
}

/* ---- areas ---- */

Test(collide, an_area_names_what_comes_within_it_in_key_order)
{
    struct arb_key keys[8], head = serpent_along_x(8), near = rest(FOOD, 0.5F, 3, 2.5F);
    rest(FOOD, 0.5F, 3, 2.51F);
    rest(GHOST, 9, 3, 1);
    struct arb_vec2 centre = {3, 1};
    cr_expect_eq(collide_overlap(collide, &world, centre, 1, HEAD_BIT | FOOD_BIT, keys, 8), 2);
    cr_expect(arb_key_equal(keys[0], head) && arb_key_equal(keys[1], near));
    cr_expect_eq(collide_overlap(collide, &world, centre, 1, FOOD_BIT, keys, 8), 1);
    cr_expect(arb_key_equal(keys[0], near));
    cr_expect_eq(collide_overlap(collide, &world, centre, 0.6F, HEAD_BIT | FOOD_BIT, keys, 8), 0);
    cr_expect_eq(collide_overlap(collide, &world, centre, 50, HEAD_BIT | FOOD_BIT, keys, 2), 2);
    world_remove(&world, near);
    cr_expect_eq(collide_overlap(collide, &world, centre, 1, FOOD_BIT, keys, 8), 0,
                 "asked right after a removal");
}
