/* server/rules: places chosen among a crowd, beside a look at everybody. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MANY = 1000 };

static struct arb_arena arena;
static struct rules_crowd *crowd;
static struct arb_vec2 places[MANY];
static float reaches[MANY];
static struct arb_rng rng;

static void open_crowd(void)
{
    arb_arena_init(&arena);
    crowd = rules_crowd_create(&arena, MANY);
    arb_rng_seed(&rng, 7, 7);
}

static void close_crowd(void)
{
    arb_arena_free(&arena);
}

TestSuite(rules_crowd, .init = open_crowd, .fini = close_crowd);

static struct arb_vec2 within(float low, float high)
{
    float x = arb_rng_range(&rng, low, high);
    float y = arb_rng_range(&rng, low, high);
    return (struct arb_vec2){x, y};
}

struct asker {
    struct arb_vec2 at;
    float nearest;
    uint32_t asked;
};

/* To the nearest part, as if it were as near as it may be. */
static float distance_to(struct arb_vec2 at, uint16_t slot)
{
    return arb_vec2_distance(at, places[slot]) - reaches[slot];
}

static float look(void *owner, uint16_t slot)
{
    struct asker *asker = owner;
    asker->asked++;
    asker->nearest = fminf(asker->nearest, distance_to(asker->at, slot));
    return asker->nearest;
}

static struct asker ask(struct arb_vec2 at)
{
    struct asker asker = {.at = at, .nearest = INFINITY};
    rules_crowd_around(crowd, at, INFINITY, look, &asker);
    return asker;
}

static void add(uint16_t slot, struct arb_vec2 at, float reach)
{
    places[slot] = at;
    reaches[slot] = reach;
    rules_crowd_add(crowd, slot, at, reach);
}

static void expect_nearest(uint16_t count, struct arb_vec2 at)
{
    float nearest = INFINITY;
    for (uint16_t slot = 0; slot < count; slot++) {
        nearest = fminf(nearest, distance_to(at, slot));
    }
    float found = ask(at).nearest;
    cr_assert(found <= nearest && found >= nearest, "of %u at (%g, %g): %g, not %g", count,
              (double)at.x, (double)at.y, (double)found, (double)nearest);
}

/* Some far outside of the box around those who were there before. */
static struct arb_vec2 somewhere(uint16_t slot)
{
    return slot % 97 == 96 ? within(-4000, 4000)
           : slot % 3 == 0 ? within(10, 12)
                           : within(-100, 100);
}

Test(rules_crowd, the_nearest_is_that_of_a_look_at_everybody)
{
    for (int round = 0; round < 4; round++) {
        rules_crowd_clear(crowd);
        for (uint16_t slot = 0; slot < MANY; slot++) {
            add(slot, somewhere(slot), round % 2 == 0 ? 0.0F : arb_rng_range(&rng, 0, 30));
            expect_nearest((uint16_t)(slot + 1), within(-120, 120));
            if (slot % 8 == 0) expect_nearest((uint16_t)(slot + 1), within(-4096, 4096));
        }
    }
}

Test(rules_crowd, all_in_one_place_are_found)
{
    for (uint16_t slot = 0; slot < MANY; slot++) {
        add(slot, (struct arb_vec2){3, 3}, 0.0F);
    }
    expect_nearest(MANY, (struct arb_vec2){3, 3});
    expect_nearest(MANY, (struct arb_vec2){-4096, 4096});
}

Test(rules_crowd, nobody_is_asked_about_in_an_empty_one)
{
    add(0, (struct arb_vec2){1, 1}, 0.0F);
    rules_crowd_set_filled(crowd);
    cr_assert(rules_crowd_is_filled(crowd));
    rules_crowd_clear(crowd);
    cr_assert_not(rules_crowd_is_filled(crowd));
    cr_assert_eq(ask((struct arb_vec2){0, 0}).asked, 0);
}

/* A thousand who begin in one tick, each with sixteen places: as many looks for each of the later
 * ones as for the earlier ones, wherever on the map they begin. */
Test(rules_crowd, asks_about_a_few_however_many_there_are)
{
    static const float sides[] = {20, 200, 2000};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        uint64_t asked = 0;
        rules_crowd_clear(crowd);
        for (uint16_t slot = 0; slot < MANY; slot++) {
            add(slot, within(0, sides[i]), 0.0F);
            for (int place = 0; place < 16; place++) {
                asked += ask(within(0, sides[i])).asked;
            }
        }
        cr_assert_lt(asked, 16U * MANY * 24, "%.1f each", (double)asked / (16.0 * MANY));
    }
}

/* ---- the modes ---- */

static struct stage stage;

static void open_mode(const char *mode, const char *const *sets)
{
    stage_open(&stage, mode, sets, STAGE_PLAYERS_MAX);
    stage_add_spawn_area(&stage, (struct arb_vec2){1, 1}, (struct arb_vec2){39, 39});
    stage_start(&stage);
    arb_rng_seed(&rng, 3, 3);
}

static void close_mode(void)
{
    stage_close(&stage);
}

/* A tick in which they have moved. */
static void begin_tick(void)
{
    stage_pass(&stage, 1);
    rules_crowd_clear(stage.context.crowd);
}

static float arena_brute(uint16_t slot, struct arb_vec2 at, float touch)
{
    float anybody = INFINITY, enemy = INFINITY;
    for (uint16_t other = 0; other < STAGE_PLAYERS_MAX; other++) {
        const struct world_entity *entity = stage_character(&stage, other);
        if (entity == NULL) continue;
        float distance = arb_vec2_distance(at, (struct arb_vec2){entity->x, entity->y});
        uint8_t team = stage.world.players[slot].team;
        anybody = fminf(anybody, distance);
        if (team == 0 || stage.world.players[other].team != team) enemy = fminf(enemy, distance);
    }
    return anybody <= touch ? anybody - touch : enemy;
}

static void compare_arena(const char *const *sets)
{
    open_mode("arena", sets);
    const struct arena_params *params = stage.params;
    float touch = 2.0F * (params->player_radius_m + params->player_half_length_m);
    for (int round = 0; round < 50; round++) {
        for (uint16_t slot = 0; slot < STAGE_PLAYERS_MAX; slot++) {
            if (stage_character(&stage, slot) == NULL) continue;
            struct arb_vec2 to = round % 5 == 4 ? within(1, 39) : within(1, 6);
            stage_put(&stage, slot, to.x, to.y);
        }
        rules_kill(&stage.context, (uint16_t)round, ARB_NO_SLOT, ARB_CAUSE_WALL);
        begin_tick();
        for (int i = 0; i < 200; i++) {
            struct arb_vec2 at = within(0, 40);
            uint16_t slot = (uint16_t)round;
            float expected = arena_brute(slot, at, touch);
            float room = arena_room(&stage.context, slot, at, -INFINITY);
            cr_assert(fabsf(room - expected) < 1e-5F || room == expected, "%g, not %g",
                      (double)room, (double)expected);
            float least = expected < INFINITY ? expected * 0.99F - 0.01F : 1000.0F;
            cr_assert(arena_room(&stage.context, slot, at, least) == room);
            cr_assert(arena_room(&stage.context, slot, at, room) <= room);
        }
    }
    close_mode();
}

Test(rules_crowd_modes, arena_has_the_room_that_a_look_at_everybody_tells)
{
    compare_arena(NULL);
}

Test(rules_crowd_modes, arena_with_teams_has_it_too)
{
    const char *sets[] = {"match.teams=2", NULL};
    compare_arena(sets);
}

static float serpent_brute(struct arb_vec2 at)
{
    const struct world *world = &stage.world;
    float nearest = INFINITY;
    for (uint16_t other = 0; other < STAGE_PLAYERS_MAX; other++) {
        const struct world_entity *head = stage_character(&stage, other);
        if (head == NULL) continue;
        struct arb_vec2 centre = {head->x, head->y};
        nearest = fminf(nearest, arb_vec2_distance(at, centre));
        for (uint32_t i = 0; i < world_body_count(world, head->body); i++) {
            struct arb_vec2 point = world_body_point(world, head->body, i, centre);
            nearest = fminf(nearest, arb_vec2_distance(at, point));
        }
    }
    return nearest;
}

/* Bodies lie in coils: their ends are nearer to some places than any head is. */
static void crawl(int steps)
{
    for (int i = 0; i < steps; i++) {
        for (uint16_t slot = 0; slot < STAGE_PLAYERS_MAX; slot++) {
            struct world_entity *head = stage_character(&stage, slot);
            if (head == NULL) continue;
            struct arb_vec2 from = {head->x, head->y};
            head->x += 0.3F * (float)((slot + i / 20) % 3 - 1);
            head->y += 0.25F;
            struct arb_vec2 to = {head->x, head->y};
            world_body_advance(&stage.world, head->body, from, to);
        }
    }
}

Test(rules_crowd_modes, serpent_has_the_room_that_a_look_at_every_part_tells)
{
    const char *sets[] = {"serpent.start_length_m=9", "serpent.spawn_clearance_m=0", NULL};
    open_mode("serpent", sets);
    crawl(60);
    rules_crowd_clear(stage.context.crowd);
    for (int i = 0; i < 4000; i++) {
        struct arb_vec2 at = within(-20, 60);
        float expected = serpent_brute(at);
        float room = serpent_room(&stage.context, 0, at, -INFINITY);
        cr_assert(room == expected, "%g, not %g", (double)room, (double)expected);
        cr_assert(serpent_room(&stage.context, 0, at, 0.99F * room) == room);
        cr_assert(serpent_room(&stage.context, 0, at, room) <= room);
    }
    close_mode();
}

Test(rules_crowd_modes, who_begins_counts_for_those_who_begin_after_him)
{
    open_mode("arena", NULL);
    for (uint16_t a = 0; a < STAGE_PLAYERS_MAX; a++) {
        for (uint16_t b = 0; b < a; b++) {
            struct arb_vec2 one = {stage_character(&stage, a)->x, stage_character(&stage, a)->y};
            struct arb_vec2 two = {stage_character(&stage, b)->x, stage_character(&stage, b)->y};
            cr_assert_gt(arb_vec2_distance(one, two), 2.0F);
        }
    }
    close_mode();
}
