/* server/rules, arena projectiles: whom they meet on their way through the past and the present,
 * what ends them, and in which order that counts. */
#include "server/rules/arena_internal.h"
#include "shared/base/arb_math.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 30 m/s, which is half a metre a tick, for two seconds; characters are circles of 0.5 m. */
#define LAUNCHER                                                                                   \
    "{\"kind\":\"projectile\",\"damage\":40,\"damage_far\":40,\"projectile_speed\":30,"            \
    "\"projectile_radius_m\":0.25,\"interval_ms\":100,\"start\":true"

static struct stage stage;

static void open_with(const char *more, uint32_t players, const char *set)
{
    char weapons[512];
    snprintf(weapons, sizeof weapons, "arena.weapons=[%s%s}]", LAUNCHER, more);
    const char *sets[] = {weapons,
                          "arena.spawn_protection_ms=0",
                          "arena.respawn_ms=10000",
                          "snapshot.interval_ticks=1",
                          set,
                          NULL};
    stage_open(&stage, "arena", sets, players);
    stage_add_spawn_area(&stage, (struct arb_vec2){1, 1}, (struct arb_vec2){39, 39});
}

static void close_stage(void)
{
    stage_close(&stage);
}

static int32_t health_of(uint16_t slot)
{
    const struct world_entity *entity = stage_character(&stage, slot);
    return entity == NULL ? 0 : entity->values[CHARACTER_HEALTH];
}

/* Of an input that drew the world `age` ticks before the newest published one. */
static struct rules_shot shot_of(uint16_t slot, struct arb_vec2 origin, float angle, uint32_t age)
{
    struct rules_shot shot = {.slot = slot,
                              .shooter = stage_key(&stage, slot),
                              .projectile_count = (uint8_t)stage.move.weapons[0].projectiles,
                              .action = (uint16_t)(70000U + slot)};
    shot.rays[0].origin = origin;
    shot.rays[0].direction = (struct arb_vec2){1, 0};
    if (angle != 0.0F) {
        shot.rays[0].direction = arb_move_direction(angle);
    }
    shot.rays[0].view.from_tick = rewind_newest(stage.rewind)->tick - age;
    shot.rays[0].view.to_tick = shot.rays[0].view.from_tick;
    return shot;
}

static void fire(uint16_t slot, struct arb_vec2 origin, uint32_t age)
{
    struct rules_shot shot = shot_of(slot, origin, 0, age);
    stage_tick(&stage, &shot, 1, NULL, 0);
}

/* Ticks from now until somebody is hurt; 0 in this very tick's past, -1: not within 200. */
static int ticks_to_hit(uint16_t victim)
{
    for (int i = 0; i < 200; i++) {
        if (health_of(victim) < 100) {
            return i;
        }
        stage_pass(&stage, 1);
    }
    return -1;
}

static void two(float x, float y)
{
    stage_start(&stage);
    stage_put(&stage, 0, 5, 20);
    stage_put(&stage, 1, x, y);
    stage_pass(&stage, 40);
}

Test(rules_projectiles, one_flies_until_it_touches_somebody, .fini = close_stage)
{
    open_with("", 2, NULL);
    two(15, 20);
    fire(0, (struct arb_vec2){5, 20}, 0);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 1);
    /* 9.25 m to the touch are 18.5 ticks: published so far after the 19th. */
    cr_assert_eq(ticks_to_hit(1), 19);
    cr_assert_eq(health_of(1), 60);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 0);
    const struct arb_event *impact = stage_event(&stage, ARB_EVENT_IMPACT, 0);
    cr_assert_eq(impact->impact.shooter_slot, 0);
    cr_assert_eq(impact->impact.action, 70000 & 0xFFFF);
    cr_assert_float_eq(impact->impact.x, 14.25F, 0.01F);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_HIT, 0)->hit.victim_slot, 1);
}

/* The shooter saw it stand there; it has gone since. With a young view the shot misses. */
Test(rules_projectiles, one_hits_in_the_past_who_has_left_since, .fini = close_stage)
{
    static const struct {
        uint32_t age;
        bool hit;
    } rows[] = {{12, true}, {10, true}, {3, false}, {0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_with("", 2, NULL);
        two(8, 20);
        stage_put(&stage, 1, 8, 30);
        stage_pass(&stage, 4);
        fire(0, (struct arb_vec2){5, 20}, rows[i].age);
        cr_expect_eq(health_of(1), rows[i].hit ? 60 : 100, "age %u", rows[i].age);
        cr_expect_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), rows[i].hit ? 0 : 1);
        cr_expect_eq(ticks_to_hit(1), rows[i].hit ? 0 : -1);
        close_stage();
    }
    open_with("", 2, NULL);
}

/* Half a metre each tick to one side, as the target does: it meets the projectile only where both
 * are at one moment, in the past and in the present. */
Test(rules_projectiles, the_present_takes_up_where_the_past_ends, .fini = close_stage)
{
    open_with("", 2, NULL);
    two(15, 10);
    for (int i = 0; i < 10; i++) {
        stage_put(&stage, 1, 15, 10.5F + 0.5F * (float)i);
        stage_pass(&stage, 1);
    }
    struct rules_shot shot = shot_of(0, (struct arb_vec2){5, 20}, 0, 10);
    stage_put(&stage, 1, 15, 15.5F);
    stage_tick(&stage, &shot, 1, NULL, 0);
    cr_assert_eq(health_of(1), 100);
    struct world_entity *flying = stage_entity(&stage, ARB_ARENA_PROJECTILE, 0);
    cr_assert_float_eq(flying->x, 10.0F, 0.01F, "ten ticks of its way at once");
    int hit = -1;
    for (int i = 0; i < 20 && hit < 0; i++) {
        stage_put(&stage, 1, 15, 16.0F + 0.5F * (float)i);
        stage_pass(&stage, 1);
        hit = health_of(1) < 100 ? i : -1;
    }
    cr_assert_geq(hit, 6);
    cr_assert_leq(hit, 9);
}

Test(rules_projectiles, the_cap_bounds_how_far_back_one_leaves, .fini = close_stage)
{
    static const struct {
        const char *set;
        float x; /* after the tick of the shot, 20 ticks old */
    } rows[] = {{"lagcomp.projectile_catchup_ms=700", 15},
                {"lagcomp.projectile_catchup_ms=250", 12.5F},
                {"lagcomp.projectile_catchup_ms=100", 8},
                {"lagcomp.projectile_catchup_ms=0", 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_with("", 2, rows[i].set);
        two(30, 38);
        fire(0, (struct arb_vec2){5, 20}, 20);
        cr_expect_float_eq(stage_entity(&stage, ARB_ARENA_PROJECTILE, 0)->x, rows[i].x, 0.01F, "%s",
                           rows[i].set);
        close_stage();
    }
    open_with("", 2, NULL);
}

Test(rules_projectiles, a_view_of_the_future_is_the_present, .fini = close_stage)
{
    open_with("", 2, NULL);
    two(30, 38);
    struct rules_shot shot = shot_of(0, (struct arb_vec2){5, 20}, 0, 0);
    shot.rays[0].view.fraction = 60000;
    stage_tick(&stage, &shot, 1, NULL, 0);
    stage_pass(&stage, 1);
    cr_assert_float_eq(stage_entity(&stage, ARB_ARENA_PROJECTILE, 0)->x, 5.5F, 0.01F);
}

Test(rules_projectiles, walls_and_age_end_one_and_it_hurts_nobody_behind, .fini = close_stage)
{
    open_with("", 2, NULL);
    stage_add_box(&stage, (struct arb_vec2){10, 18}, (struct arb_vec2){11, 22});
    two(12, 20);
    fire(0, (struct arb_vec2){5, 20}, 12);
    cr_assert_eq(ticks_to_hit(1), -1);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 0);
    close_stage();

    open_with(",\"projectile_life_ms\":100", 2, NULL); /* six ticks, three metres */
    two(9, 20);
    fire(0, (struct arb_vec2){5, 20}, 0);
    stage_pass(&stage, 5);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 1);
    stage_pass(&stage, 1);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 0);
    cr_assert_eq(health_of(1), 100);
}

Test(rules_projectiles, own_characters_and_the_own_team_are_flown_through, .fini = close_stage)
{
    open_with("", 4, "match.teams=2");
    stage_start(&stage);
    stage_put(&stage, 0, 5, 20);
    stage_put(&stage, 1, 15, 20);
    stage_put(&stage, 2, 10, 20); /* of the shooter's team */
    stage_put(&stage, 3, 5, 35);
    stage_pass(&stage, 40);
    fire(0, (struct arb_vec2){5, 20}, 0);
    cr_assert_gt(ticks_to_hit(1), 0);
    cr_assert_eq(health_of(2), 100);
    cr_assert_eq(health_of(0), 100);
}

Test(rules_projectiles, a_blast_hurts_by_distance_and_not_behind_a_wall, .fini = close_stage)
{
    open_with(",\"blast_m\":4,\"blast_damage\":80", 5, NULL);
    stage_add_box(&stage, (struct arb_vec2){13, 21}, (struct arb_vec2){17, 21.2F});
    stage_start(&stage);
    stage_put(&stage, 0, 5, 20);
    stage_put(&stage, 1, 15, 20);        /* hit */
    stage_put(&stage, 2, 14.25F, 17.5F); /* 2 m from the blast's rim of the body: half */
    stage_put(&stage, 3, 15, 22);        /* as near, behind the wall */
    stage_put(&stage, 4, 14.25F, 10);
    stage_pass(&stage, 40);
    fire(0, (struct arb_vec2){5, 20}, 0);
    cr_assert_gt(ticks_to_hit(1), 0);
    cr_expect_eq(health_of(1), 60, "the damage of the hit alone");
    cr_expect_eq(health_of(2), 60, "%d", health_of(2));
    cr_expect_eq(health_of(3), 100);
    cr_expect_eq(health_of(4), 100);
}

Test(rules_projectiles, a_blast_at_a_wall_spares_its_shooter, .fini = close_stage)
{
    open_with(",\"blast_m\":4,\"blast_damage\":80", 2, NULL);
    stage_add_box(&stage, (struct arb_vec2){8, 18}, (struct arb_vec2){9, 22});
    two(7, 21.5F);
    fire(0, (struct arb_vec2){7, 20}, 0);
    stage_pass(&stage, 3);
    cr_assert_lt(health_of(1), 100);
    cr_assert_eq(health_of(0), 100);
    cr_assert_eq(stage_event_count(&stage, ARB_EVENT_IMPACT), 0);
}

/* Both leave in one tick and meet each other's shooter at one moment: both die. */
Test(rules_projectiles, trades_happen, .fini = close_stage)
{
    open_with(",\"pellets\":1", 2, "arena.health=40");
    two(15, 20);
    struct rules_shot shots[] = {shot_of(0, (struct arb_vec2){5, 20}, 0, 0),
                                 shot_of(1, (struct arb_vec2){15, 20}, ARB_PI, 0)};
    stage_tick(&stage, shots, 2, NULL, 0);
    stage_pass(&stage, 30);
    cr_assert_eq(stage.world.players[0].kills, 1);
    cr_assert_eq(stage.world.players[1].kills, 1);
    cr_assert(stage_deaths_add_up(&stage));
}

/* The lower slot's is counted first, whichever shot is listed first and whatever the ids are. */
Test(rules_projectiles, of_two_that_kill_in_one_tick_the_lower_slot_has_it, .fini = close_stage)
{
    uint64_t checksums[2];
    for (int order = 0; order < 2; order++) {
        open_with("", 3, "arena.health=40");
        stage_start(&stage);
        stage_put(&stage, 0, 15, 10);
        stage_put(&stage, 1, 5, 20);
        stage_put(&stage, 2, 25, 20);
        stage_put(&stage, 0, 15, 20);
        stage_pass(&stage, 40);
        struct rules_shot one = shot_of(1, (struct arb_vec2){5, 20}, 0, 0);
        struct rules_shot two_ = shot_of(2, (struct arb_vec2){25, 20}, ARB_PI, 0);
        struct rules_shot shots[] = {order == 0 ? one : two_, order == 0 ? two_ : one};
        stage_tick(&stage, shots, 2, NULL, 0);
        stage_pass(&stage, 30);
        cr_expect_eq(stage.world.players[1].kills, 1);
        cr_expect_eq(stage.world.players[2].kills, 0);
        checksums[order] = world_checksum(&stage.world);
        close_stage();
    }
    cr_assert_eq(checksums[0], checksums[1]);
    open_with("", 2, NULL);
}

Test(rules_projectiles, whoever_leaves_takes_them_along, .fini = close_stage)
{
    open_with(",\"pellets\":3,\"spread_rad\":0.2", 2, NULL);
    two(30, 38);
    fire(0, (struct arb_vec2){5, 20}, 0);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 3);
    stage.rules->player_left(&stage.context, 0);
    stage_pass(&stage, 1);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 0);
}

/* As often as the interval allows, older and younger views in turn: there is room for each. */
Test(rules_projectiles, there_is_room_for_all_that_can_be_fired, .fini = close_stage)
{
    open_with(",\"pellets\":2,\"spread_rad\":0.1,\"projectile_life_ms\":900", 2, NULL);
    two(5, 38);
    uint32_t most = 0;
    for (uint32_t i = 0; i < 100; i++) {
        fire(0, (struct arb_vec2){1, 20}, i % 2 == 0 ? 0 : 3);
        uint32_t count = stage_count(&stage, ARB_ARENA_PROJECTILE);
        cr_assert_leq(count, arena_flights_max(stage.params));
        most = count > most ? count : most;
        stage_pass(&stage, 5); /* 100 ms are six ticks */
    }
    cr_assert_geq(most, 16);
    stage.rules->round_end(&stage.context);
    world_settle(&stage.world);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), 0);
}

Test(rules_projectiles, a_projectile_weapon_casts_no_rays, .fini = close_stage)
{
    open_with(",\"pellets\":3,\"spread_rad\":0.5", 2, NULL);
    stage_start(&stage);
    struct arb_rng before = *world_stream(&stage.world, WORLD_STREAM_COMBAT);
    struct rules_shot shot = {.slot = 0};
    shot.rays[0].direction = (struct arb_vec2){0, 1};
    stage.rules->shoot(&stage.context, &shot);
    cr_assert_eq(shot.pellet_count, 0);
    cr_assert_eq(shot.projectile_count, 3);
    cr_assert_eq(memcmp(&before, world_stream(&stage.world, WORLD_STREAM_COMBAT), sizeof before), 0,
                 "its fan is not by chance");
}

Test(rules_projectiles, numbers_that_do_not_fit_are_refused)
{
    static const struct {
        const char *more, *says;
    } rows[] = {
        {",\"pierce\":1", "arena.weapons[0].pierce is 1: 0 for a weapon of kind \"projectile\""},
        {",\"projectile_radius_m\":0.6",
         "arena.weapons[0].projectile_radius_m is 0.6: at most arena.player_radius_m (0.5)"},
        {",\"kind\":\"hitscan\",\"blast_m\":3",
         "arena.weapons[0].blast_m is 3: 0 for a weapon of kind \"hitscan\""},
        {",\"interval_ms\":1,\"projectile_life_ms\":60000", "more than 8192 entities"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[512] = "";
        char weapons[512];
        snprintf(weapons, sizeof weapons, "arena.weapons=[{%s%s}]",
                 i == 2 ? "\"damage\":20" : "\"kind\":\"projectile\"", rows[i].more);
        const char *sets[] = {weapons, NULL};
        stage_open(&stage, "arena", sets, 2);
        stage_add_spawn(&stage, 20, 20, 0);
        cr_expect_not(stage_check(&stage, error, sizeof error));
        cr_expect_not_null(strstr(error, rows[i].says), "%s", error);
        close_stage();
    }
}
