/* server/rules: spawns of both modes, checks of numbers and maps, capacity, the list of modes. */
#include "server/rules/arena_internal.h"
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"
#include "shared/base/arb_math.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct stage stage;

static void close_stage(void)
{
    stage_close(&stage);
}

static struct arb_vec2 place_of(uint16_t slot)
{
    const struct world_entity *entity = stage_character(&stage, slot);
    return (struct arb_vec2){entity->x, entity->y};
}

static bool stands_at(uint16_t slot, float x, float y)
{
    struct arb_vec2 at = place_of(slot);
    return fabsf(at.x - x) < 1e-6F && fabsf(at.y - y) < 1e-6F;
}

/* Ends the character and waits until the next one is there. */
static void respawn(uint16_t slot)
{
    rules_kill(&stage.context, slot, ARB_NO_SLOT, ARB_CAUSE_WALL);
    rules_respawn_after(&stage.context, slot, 0);
    stage_pass(&stage, 2); /* a body is free only after the tick in which its serpent died */
}

/* ---- spawns ---- */

Test(rules_places, spawns_far_from_living_enemies, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 2);
    stage_add_spawn(&stage, 5, 5, 0);
    stage_add_spawn(&stage, 35, 5, 0);
    stage_add_spawn(&stage, 5, 35, 0);
    stage_add_spawn(&stage, 35, 35, 0);
    stage_start(&stage);
    for (int i = 0; i < 20; i++) {
        stage_put(&stage, 1, 6, 6);
        respawn(0);
        cr_assert(stands_at(0, 35, 35));
    }
}

Test(rules_places, equal_places_are_all_taken_in_time, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 1);
    stage_add_spawn(&stage, 5, 5, 0);
    stage_add_spawn(&stage, 35, 5, 0);
    stage_add_spawn(&stage, 5, 35, 0);
    stage_start(&stage);
    int seen[3] = {0};
    for (int i = 0; i < 60; i++) {
        respawn(0);
        seen[0] += stands_at(0, 5, 5);
        seen[1] += stands_at(0, 35, 5);
        seen[2] += stands_at(0, 5, 35);
    }
    cr_assert_eq(seen[0] + seen[1] + seen[2], 60);
    cr_assert(seen[0] > 5 && seen[1] > 5 && seen[2] > 5);
}

Test(rules_places, teams_keep_to_their_spawns, .fini = close_stage)
{
    const char *sets[] = {"match.teams=2", NULL};
    stage_open(&stage, "arena", sets, 4);
    stage_add_spawn(&stage, 5, 5, 1);
    stage_add_spawn(&stage, 5, 15, 1);
    stage_add_spawn(&stage, 35, 5, 2);
    stage_add_spawn(&stage, 35, 15, 2);
    stage_start(&stage);
    for (int i = 0; i < 10; i++) {
        for (uint16_t slot = 0; slot < 4; slot++) {
            cr_assert_eq(place_of(slot).x < 20.0F, stage.world.players[slot].team == 1);
            respawn(slot);
        }
    }
}

Test(rules_places, a_team_without_spawns_uses_all, .fini = close_stage)
{
    const char *sets[] = {"match.teams=2", NULL};
    stage_open(&stage, "arena", sets, 2);
    stage_add_spawn(&stage, 5, 5, 1);
    stage_add_spawn(&stage, 5, 15, 1);
    stage_start(&stage);
    cr_assert_lt(place_of(1).x, 6);
}

Test(rules_places, no_two_in_one_place_while_there_is_another, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 8);
    stage_add_spawn(&stage, 20, 20, 0);
    stage_start(&stage);
    for (uint16_t a = 0; a < 8; a++) {
        for (uint16_t b = 0; b < a; b++) {
            cr_assert_gt(arb_vec2_distance(place_of(a), place_of(b)), 1.0F);
        }
    }
}

Test(rules_places, never_in_a_wall, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 16);
    stage_add_spawn_area(&stage, (struct arb_vec2){0, 0}, (struct arb_vec2){40, 40});
    for (int i = 0; i < 8; i++) {
        float x = 5.0F * (float)i;
        stage_add_box(&stage, (struct arb_vec2){x, 2}, (struct arb_vec2){x + 3.0F, 38});
    }
    stage_start(&stage);
    for (int i = 0; i < 30; i++) {
        for (uint16_t slot = 0; slot < 16; slot++) {
            if (stage_character(&stage, slot) != NULL) {
                cr_assert_gt(arb_geometry_clearance(stage.geometry, (struct arb_hull){0.5F, 0},
                                                    place_of(slot), 1),
                             0);
                respawn(slot);
            }
        }
    }
}

Test(rules_places, without_any_room_nobody_comes_and_nothing_breaks, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 2);
    stage_add_spawn(&stage, 20, 20, 0);
    stage_add_box(&stage, (struct arb_vec2){0, 0}, (struct arb_vec2){40, 40});
    stage_start(&stage);
    stage_pass(&stage, 10);
    cr_assert_null(stage_character(&stage, 0));
    cr_assert_eq(stage.world.head->entity_count, 0);
}

Test(rules_places, a_spawn_draws_from_the_spawn_stream_alone, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 1);
    stage_add_spawn_area(&stage, (struct arb_vec2){1, 1}, (struct arb_vec2){39, 39});
    stage_start(&stage);
    struct arb_rng streams[WORLD_STREAMS];
    memcpy(streams, stage.world.head->streams, sizeof streams);
    respawn(0);
    cr_assert_neq(stage.world.head->streams[WORLD_STREAM_SPAWN].state,
                  streams[WORLD_STREAM_SPAWN].state);
    cr_assert_eq(stage.world.head->streams[WORLD_STREAM_COMBAT].state,
                 streams[WORLD_STREAM_COMBAT].state);
    cr_assert_eq(stage.world.head->streams[WORLD_STREAM_LOOT].state,
                 streams[WORLD_STREAM_LOOT].state);
}

Test(rules_places, serpents_begin_in_the_free_with_a_way_ahead, .fini = close_stage)
{
    stage_open(&stage, "serpent", NULL, 12);
    stage_add_spawn_area(&stage, (struct arb_vec2){0, 0}, (struct arb_vec2){40, 40});
    stage_add_box(&stage, (struct arb_vec2){10, 10}, (struct arb_vec2){14, 30});
    stage_start(&stage);
    const struct serpent_params *params = stage.params;
    for (uint16_t slot = 0; slot < 12; slot++) {
        const struct arb_own *own = &stage.world.players[slot].own;
        struct arb_vec2 way = arb_vec2_scale(arb_move_direction(own->heading), 4.0F);
        float fraction;
        cr_assert_not(arb_geometry_sweep(stage.geometry, params->head_radius_m, place_of(slot), way,
                                         &fraction));
        for (uint16_t other = 0; other < slot; other++) {
            cr_assert_geq(arb_vec2_distance(place_of(slot), place_of(other)),
                          params->spawn_clearance_m);
        }
    }
}

Test(rules_places, a_serpent_keeps_clear_of_long_bodies, .fini = close_stage)
{
    stage_open(&stage, "serpent", NULL, 2);
    stage_add_spawn_area(&stage, (struct arb_vec2){0, 18}, (struct arb_vec2){40, 22});
    stage_start(&stage);
    struct world_entity *head = stage_character(&stage, 1);
    serpent_body(&stage.world, head)->length = 30;
    stage_put(&stage, 1, 35, 20);
    world_body_advance(&stage.world, head->body, (struct arb_vec2){5, 20},
                       (struct arb_vec2){35, 20});
    for (int i = 0; i < 20; i++) {
        respawn(0);
        struct arb_vec2 at = place_of(0);
        bool beside = at.x > 5 && at.x < 35 && fabsf(at.y - 20) < 2.9F;
        cr_assert_not(beside, "(%g, %g)", (double)at.x, (double)at.y);
    }
}

/* ---- checks ---- */

static void open_checked(const char *mode, const char *set)
{
    const char *sets[] = {set, NULL};
    stage_open(&stage, mode, sets, 16);
}

static void refused(const char *what)
{
    char error[512] = "";
    cr_assert_not(stage_check(&stage, error, sizeof error), "%s", what);
    cr_assert_not_null(strstr(error, what), "\"%s\" does not name %s", error, what);
    close_stage();
}

Test(rules_places, the_defaults_pass)
{
    char error[512] = "";
    for (size_t i = 0; i < rules_mode_count; i++) {
        stage_open(&stage, rules_modes[i]->name, NULL, 64);
        stage_add_spawn(&stage, 20, 20, 0);
        cr_assert(stage_check(&stage, error, sizeof error), "%s", error);
        close_stage();
    }
}

Test(rules_places, relations_of_numbers_are_checked_by_path)
{
    static const struct {
        const char *mode, *set, *named;
    } rows[] = {
        {"arena", "arena.weapons=[{\"falloff_from_m\":5,\"falloff_to_m\":4}]",
         "arena.weapons[0].falloff_from_m"},
        {"arena", "arena.weapons=[{\"name\":\"a\"},{\"damage\":5,\"damage_far\":6}]",
         "arena.weapons[1].damage_far"},
        {"arena", "arena.weapons=[{\"magazine\":1,\"reserve\":5,\"reserve_max\":4}]",
         "arena.weapons[0].reserve"},
        {"arena", "arena.weapons=[{\"reserve_max\":4}]", "arena.weapons[0].reserve_max"},
        {"arena", "arena.weapons=[{\"name\":\"a\"},{\"name\":\"a\"}]", "arena.weapons[1].name"},
        {"arena", "arena.health=101", "arena.health"},
        {"arena", "arena.dash_ms=0", "arena.dash_ms"},
        {"serpent", "serpent.boost_speed=4", "serpent.boost_speed"},
        {"serpent", "serpent.body_spacing_m=0.1", "serpent.body_spacing_m"},
        {"serpent", "serpent.start_length_m=200", "serpent.start_length_m"},
        {"serpent", "serpent.max_length_m=400", "serpent.max_length_m"},
        {"serpent", "serpent.food_max=100", "serpent.food_max"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_checked(rows[i].mode, rows[i].set);
        stage_add_spawn(&stage, 20, 20, 0);
        refused(rows[i].named);
    }
}

Test(rules_places, maps_without_spawn_or_with_bad_ones_are_refused)
{
    for (size_t i = 0; i < rules_mode_count; i++) {
        const char *mode = rules_modes[i]->name;
        open_checked(mode, NULL);
        refused("class \"spawn\"");
        open_checked(mode, NULL);
        stage_add_spawn(&stage, 20, 20, 0);
        stage_add_spawn(&stage, 20, 20.3F, 0);
        refused("spawn \"spawn 2\"");
        open_checked(mode, NULL);
        stage_add_spawn(&stage, 20, 20, 0);
        stage_add_spawn(&stage, 0.2F, 20, 0);
        refused("spawn \"spawn 2\"");
        open_checked(mode, NULL);
        stage_add_box(&stage, (struct arb_vec2){10, 10}, (struct arb_vec2){30, 30});
        stage_add_spawn(&stage, 20, 20, 0);
        refused("overlaps a wall");
    }
}

Test(rules_places, pickups_must_be_known_to_the_mode)
{
    static const struct {
        const char *mode, *type;
        int32_t value;
    } rows[] = {{"arena", "food", 0},     {"arena", "", 0},        {"arena", "weapon", 6},
                {"arena", "health", -1},  {"arena", "ammo", 1024}, {"serpent", "health", 0},
                {"serpent", "food", 256}, {"serpent", "food", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_checked(rows[i].mode, NULL);
        stage_add_spawn(&stage, 20, 20, 0);
        stage_add_pickup(&stage, rows[i].type, 10, 10, rows[i].value, 0);
        refused("pickup \"pickup 1\" at (10, 10) m");
    }
}

Test(rules_places, the_shipped_maps_pass_and_have_room_for_sixteen)
{
    static const struct {
        const char *mode, *path;
    } rows[] = {{"arena", "arena_crossfire"},
                {"arena", "arena_duel"},
                {"arena", "arena_foundry"},
                {"serpent", "serpent_meadow"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[256], error[512] = "";
        struct config_error config_error;
        snprintf(path, sizeof path, "%s/config/maps/%s.tmj", ARBITER_SOURCE_DIR, rows[i].path);
        stage_open(&stage, rows[i].mode, NULL, 16);
        cr_assert_eq(map_load(&stage.map, &stage.arena, path, &config_error), ARB_OK, "%s",
                     config_error.text);
        cr_assert(stage_check(&stage, error, sizeof error), "%s: %s", rows[i].path, error);
        stage_start(&stage);
        for (uint16_t slot = 0; slot < 16; slot++) {
            cr_assert_not_null(stage_character(&stage, slot), "%s", rows[i].path);
        }
        close_stage();
    }
}

/* ---- capacity and names ---- */

Test(rules_places, a_full_body_fits_its_points, .fini = close_stage)
{
    const char *sets[] = {"serpent.max_length_m=30", "serpent.start_length_m=30",
                          "serpent.body_spacing_m=0.15", "serpent.food_count=0", NULL};
    stage_open(&stage, "serpent", sets, 1);
    stage_add_spawn(&stage, 20, 20, 0);
    stage_start(&stage);
    struct arb_input circle = {.sequence = 1, .move_x = -127};
    const struct world_entity *head = stage_character(&stage, 0);
    uint32_t most = 0;
    for (int i = 0; i < 1200; i++) {
        stage_walk(&stage, &circle);
        cr_assert_not_null(stage_character(&stage, 0));
        uint32_t count = world_body_count(&stage.world, head->body);
        most = count > most ? count : most;
    }
    cr_assert_geq(most, 200);
    cr_assert_lt(most, stage.world.head->body_points, "the oldest point never had to give way");
}

Test(rules_places, capacity_keeps_within_the_formats_bounds)
{
    for (size_t i = 0; i < rules_mode_count; i++) {
        struct world_capacity capacity = {.players = 1024};
        stage_open(&stage, rules_modes[i]->name, NULL, 1);
        stage_add_spawn(&stage, 20, 20, 0);
        char error[512];
        cr_assert(stage.rules->check(stage.params, 60, 1024, &stage.map, error, sizeof error));
        stage.rules->capacity(stage.params, &stage.map, 1024, &capacity);
        cr_assert_leq(capacity.entities, ARB_ENTITIES_MAX);
        cr_assert_leq(capacity.body_points, ARB_BODY_POINTS_MAX);
        close_stage();
    }
}

Test(rules_places, modes_are_found_by_name)
{
    cr_assert_eq(rules_find("arena"), &rules_arena);
    cr_assert_eq(rules_find("serpent"), &rules_serpent);
    cr_assert_null(rules_find("Arena"));
    cr_assert_null(rules_find(""));
    for (size_t i = 0; i < rules_mode_count; i++) {
        cr_assert_str_eq(rules_modes[i]->name, rules_modes[i]->schema->name);
    }
}

Test(rules_places, who_kills_himself_dies_by_nobody, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 1);
    stage_add_spawn(&stage, 20, 20, 0);
    stage_start(&stage);
    rules_kill(&stage.context, 0, 0, ARB_CAUSE_SHOT);
    cr_assert_eq(stage.world.players[0].kills, 0);
    cr_assert_eq(stage.world.players[0].deaths_by_nobody, 1);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_DEATH, 0)->death.killer_slot, ARB_NO_SLOT);
}

Test(rules_places, events_beyond_the_room_for_them_are_counted, .fini = close_stage)
{
    stage_open(&stage, "arena", NULL, 1);
    stage_add_spawn(&stage, 20, 20, 0);
    stage_start(&stage);
    stage.events.count = 0;
    const uint32_t capacity = stage.events.capacity;
    const struct arb_event hit = {.kind = ARB_EVENT_HIT};
    for (uint32_t i = 0; i < capacity; i++) {
        rules_emit(&stage.context, 0, ARB_NO_SLOT, &hit);
    }
    cr_assert_eq(stage.events.count, capacity / 2, "hits leave room for what must not be lost");
    for (uint32_t i = 0; i < capacity - capacity / 2 + 3; i++) {
        rules_emit_score(&stage.context, 0);
    }
    cr_assert_eq(stage.events.count, capacity);
    cr_assert_eq(stage.events.dropped, capacity - capacity / 2 + 3);
}

Test(rules_places, rank_is_score_then_kills_then_fewer_deaths)
{
    struct world_player a = {.score = 5, .kills = 2, .deaths = 3}, b = a;
    cr_assert_eq(rules_rank(&a, &b), 0);
    b.deaths = 4;
    cr_assert_lt(rules_rank(&a, &b), 0);
    b.kills = 3;
    cr_assert_gt(rules_rank(&a, &b), 0);
    a.score = 6;
    cr_assert_lt(rules_rank(&a, &b), 0);
}
