/* server/rules in whole matches of random walkers: what must hold after every tick. */
#include "server/rules/arena_internal.h"
#include "server/rules/serpent_internal.h"
#include "tests/scenes/scenes.h"

#include <criterion/criterion.h>
#include <string.h>

enum { TICKS = 10000 };

static struct scene_run run;

static uint32_t count_kind(const struct world *world, uint8_t kind)
{
    uint32_t count = 0;
    for (uint16_t id = 0; id < world->head->entity_capacity; id++) {
        count += world->entities[id].alive && world->entities[id].kind == kind;
    }
    return count;
}

static uint32_t count_controls(const struct world *world)
{
    uint32_t count = 0;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        bool has = !arb_key_is_none(player->controlled);
        cr_assert_eq(has, world_find(world, player->controlled) != NULL);
        cr_assert(has || player->respawn_tick != 0, "slot %u waits for nothing", slot);
        count += has;
    }
    return count;
}

static void check_deaths(const struct world *world)
{
    uint32_t deaths = 0, explained = 0;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        deaths += player->deaths;
        explained += (uint32_t)player->kills + player->deaths_by_nobody;
    }
    cr_assert_eq(deaths, explained);
}

/* An entity's place is its player's, bit for bit, and outside of every wall (to Box2D's slop). */
static void check_places(const struct world *world, struct arb_hull hull)
{
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        const struct world_entity *entity = world_find(world, player->controlled);
        if (entity != NULL) {
            struct arb_vec2 at = {player->own.x, player->own.y};
            cr_assert(memcmp(&entity->x, &at.x, sizeof at.x) == 0);
            cr_assert(memcmp(&entity->y, &at.y, sizeof at.y) == 0);
            cr_assert_gt(arb_geometry_clearance(run.geometry, hull, at, 1.0F), -0.0051F);
        }
    }
}

static void check_arena(const struct world *world)
{
    const struct arena_place *places = (const struct arena_place *)(const void *)world->rules;
    uint32_t lying = 0;
    for (uint32_t i = 0; i < run.map.pickup_count; i++) {
        lying += places[i].due == 0;
    }
    cr_assert_eq(count_kind(world, ARB_ARENA_PICKUP), lying);
    cr_assert_eq(count_kind(world, ARB_ARENA_CHARACTER), count_controls(world));
    cr_assert_eq(world->head->entity_count, lying + count_controls(world));
}

static void play_arena(const char *name)
{
    scene_open(&run, scene_find(name), 11);
    const struct world *world = match_world(run.match);
    const struct arena_params *params = run.params;
    for (int i = 0; i < TICKS; i++) {
        scene_step(&run);
        check_arena(world);
        check_deaths(world);
        check_places(world, (struct arb_hull){params->player_radius_m, 0});
    }
    uint32_t deaths = 0, changes = 0;
    for (uint16_t slot = 0; slot < 16; slot++) {
        deaths += world->players[slot].deaths;
        changes += world->players[slot].outside_changes;
        cr_assert_eq(world->players[slot].deaths_by_nobody, 0);
    }
    cr_assert_gt(deaths, 20, "somebody was hit");
    cr_assert_gt(changes, 20, "pickups were taken");
    scene_close(&run);
}

Test(rules_match, fighters_leak_nothing_and_stay_out_of_walls)
{
    play_arena("fight16");
}

Test(rules_match, those_who_push_each_other_stay_out_of_walls)
{
    play_arena("push16");
}

Test(rules_match, serpents_leak_neither_food_nor_bodies)
{
    scene_open(&run, scene_find("serpent16"), 11);
    const struct world *world = match_world(run.match);
    uint32_t most_food = 0;
    for (int i = 0; i < TICKS; i++) {
        scene_step(&run);
        const struct serpent_state *state =
            (const struct serpent_state *)(const void *)world->rules;
        uint32_t heads = count_controls(world), bodies = 0;
        for (uint16_t b = 0; b < world->head->body_capacity; b++) {
            bodies += world->bodies[b].used != 0;
        }
        cr_assert_eq(count_kind(world, ARB_SERPENT_HEAD), heads);
        cr_assert_eq(bodies, heads);
        cr_assert_eq(count_kind(world, ARB_SERPENT_FOOD), state->food);
        cr_assert_leq(state->sown, 400);
        most_food = state->food > most_food ? state->food : most_food;
        check_deaths(world);
    }
    cr_assert_gt(most_food, 420, "the dead turned into food");
    uint32_t kills = 0, nobody = 0;
    for (uint16_t slot = 0; slot < 16; slot++) {
        kills += world->players[slot].kills;
        nobody += world->players[slot].deaths_by_nobody;
    }
    cr_assert_gt(kills, 10);
    cr_assert_gt(nobody, 10);
    scene_close(&run);
}

Test(rules_match, one_seed_gives_one_course_and_another_another)
{
    static struct scene_run other;
    for (size_t s = 0; s < scene_count; s++) {
        if (scenes[s].players > 64) {
            continue;
        }
        scene_open(&run, &scenes[s], 3);
        scene_open(&other, &scenes[s], 3);
        for (int i = 0; i < 400; i++) {
            scene_step(&run);
            scene_step(&other);
            cr_assert_eq(match_checksum(run.match), match_checksum(other.match), "%s, tick %d",
                         scenes[s].name, i);
        }
        scene_close(&other);
        scene_open(&other, &scenes[s], 4);
        scene_step(&other);
        cr_assert_neq(match_checksum(run.match), match_checksum(other.match));
        scene_close(&other);
        scene_close(&run);
    }
}

/* Time is a number that only ever grows: where it began changes nothing. */
static void run_from(const char *name, const char *first_tick, struct world_player *players)
{
    struct scene scene = *scene_find(name);
    const char *sets[SCENE_SETS_MAX] = {0};
    uint32_t count = 0;
    for (; scene.sets[count] != NULL; count++) {
        sets[count] = scene.sets[count];
    }
    sets[count] = first_tick;
    scene.sets = sets;
    scene_open(&run, &scene, 21);
    for (int i = 0; i < 1200; i++) {
        scene_step(&run);
    }
    memcpy(players, match_world(run.match)->players, scene.players * sizeof players[0]);
    scene_close(&run);
}

Test(rules_match, the_first_tick_changes_nothing)
{
    static const char *const ticks[] = {"debug.first_tick=16777216", "debug.first_tick=2147483048",
                                        "debug.first_tick=4294966696"};
    static const char *const names[] = {"fight16", "serpent16"};
    for (size_t n = 0; n < 2; n++) {
        struct world_player first[16], other[16];
        run_from(names[n], "debug.first_tick=1", first);
        for (size_t i = 0; i < sizeof ticks / sizeof ticks[0]; i++) {
            run_from(names[n], ticks[i], other);
            for (int slot = 0; slot < 16; slot++) {
                cr_assert(memcmp(&first[slot].own, &other[slot].own, sizeof first[slot].own) == 0,
                          "%s, %s", names[n], ticks[i]);
                cr_assert_eq(first[slot].score, other[slot].score);
                cr_assert_eq(first[slot].deaths, other[slot].deaths);
                cr_assert_eq(first[slot].outside_changes, other[slot].outside_changes);
            }
        }
    }
}
