/* server/rules, arena: pickups, respawns, teams, limits, pushes, and the ties between them. */
#include "server/rules/arena_internal.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* The checks here turn the damage of a hand-made hit: one weapon, no falloff. */
static const char *const numbers[] = {
    "arena.weapons=[{\"name\":\"gun\",\"start\":true,\"damage\":40,\"damage_far\":40,"
    "\"magazine\":5,\"reserve\":10,\"reserve_max\":20,\"interval_ms\":100},"
    "{\"name\":\"big\",\"damage\":70,\"damage_far\":70,\"magazine\":2,\"reserve\":4,"
    "\"reserve_max\":8}]",
    "arena.spawn_protection_ms=0",
    "arena.respawn_ms=1000",
    "arena.pickup_health=25",
    "arena.pickup_ammo=6",
    "arena.pickup_weapon=2",
    "arena.pickup_respawn_s=2",
    NULL,
};

static struct stage stage;

static void open_stage(uint32_t players, const char *extra)
{
    stage_open_field(&stage, "arena", numbers, extra, players);
}

static void close_stage(void)
{
    stage_close(&stage);
}

static struct rules_shot shot_at(uint16_t shooter, uint16_t victim)
{
    struct rules_shot shot = {
        .slot = shooter, .shooter = stage_key(&stage, shooter), .pellet_count = 1, .sequence = 1};
    shot.pellets[0].hit_count = 1;
    shot.pellets[0].hits[0] =
        (struct rewind_hit){.victim = stage_key(&stage, victim), .distance = 5};
    return shot;
}

static int32_t health_of(uint16_t slot)
{
    return stage_character(&stage, slot)->values[CHARACTER_HEALTH];
}

static const struct world_player *player(uint16_t slot)
{
    return &stage.world.players[slot];
}

/* ---- characters ---- */

Test(rules_arena, begins_with_a_character_for_each_and_full_weapons, .fini = close_stage)
{
    open_stage(5, NULL);
    stage_start(&stage);
    for (uint16_t slot = 0; slot < 5; slot++) {
        const struct world_entity *entity = stage_character(&stage, slot);
        cr_assert_not_null(entity);
        cr_assert_eq(entity->owner, slot);
        cr_assert_eq(entity->values[CHARACTER_HEALTH], 100);
        const struct arb_own *own = &player(slot)->own;
        cr_assert(memcmp(&own->x, &entity->x, sizeof own->x) == 0);
        cr_assert_eq(own->weapons, 1);
        cr_assert_eq(own->magazine[0], 5);
        cr_assert_eq(own->reserve[0], 10);
    }
    cr_assert_eq(stage_event_count(&stage, ARB_EVENT_REBIND), 5);
}

Test(rules_arena, the_dead_come_back_after_the_delay_as_another_generation, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    struct arb_key old = stage_key(&stage, 1);
    uint8_t control = player(1)->control;
    struct rules_shot shot = shot_at(0, 1);
    for (int i = 0; i < 3; i++) {
        stage_tick(&stage, &shot, 1, NULL, 0);
    }
    cr_assert_eq(player(1)->deaths, 1);
    cr_assert_eq(player(0)->kills, 1);
    cr_assert_null(stage_character(&stage, 1));
    cr_assert_eq(stage.world.head->entity_count, 1);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_DEATH, 0)->death.killer_slot, 0);
    stage_pass(&stage, 59);
    cr_assert_null(stage_character(&stage, 1), "dead for 60 published ticks");
    stage_pass(&stage, 1);
    cr_assert_not_null(stage_character(&stage, 1));
    cr_assert_eq(health_of(1), 100);
    cr_assert(!arb_key_equal(old, stage_key(&stage, 1)));
    cr_assert_eq(player(1)->control, (uint8_t)(control + 2));
}

Test(rules_arena, a_new_character_is_safe_until_time_is_up_or_it_shoots, .fini = close_stage)
{
    open_stage(3, "arena.spawn_protection_ms=500");
    stage_start(&stage);
    struct rules_shot shots[] = {shot_at(0, 1), shot_at(0, 2)};
    stage.moved[2].report.fired = true;
    stage_tick(&stage, shots, 2, NULL, 0);
    cr_assert_eq(health_of(1), 100);
    cr_assert_eq(health_of(2), 60, "fired in this tick");
    cr_assert_eq(stage_event_count(&stage, ARB_EVENT_HIT), 1);
    stage_pass(&stage, 28);
    stage_tick(&stage, shots, 1, NULL, 0);
    cr_assert_eq(health_of(1), 100, "the 30th tick");
    stage_tick(&stage, shots, 1, NULL, 0);
    cr_assert_eq(health_of(1), 60, "the 31st");
}

Test(rules_arena, protection_ends_where_the_low_bits_of_the_tick_wrap, .fini = close_stage)
{
    open_stage(2, "arena.spawn_protection_ms=500");
    stage_start(&stage);
    stage.world.head->tick = (UINT64_C(1) << 32) - 10;
    rules_kill(&stage.context, 1, ARB_NO_SLOT, ARB_CAUSE_WALL);
    stage.rules->player_joined(&stage.context, 1);
    stage_pass(&stage, 1);
    struct rules_shot shot = shot_at(0, 1);
    stage_tick(&stage, &shot, 1, NULL, 0);
    cr_assert_eq(health_of(1), 100, "before the wrap");
    stage_pass(&stage, 29);
    stage_tick(&stage, &shot, 1, NULL, 0);
    cr_assert_eq(health_of(1), 60, "after it, and the time is up");
}

Test(rules_arena, a_hit_at_the_end_of_the_world_can_be_told, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    struct rules_shot shot = shot_at(0, 1);
    shot.pellets[0].hits[0].point = (struct arb_vec2){4096.0005F, -4096.0005F};
    stage_tick(&stage, &shot, 1, NULL, 0);
    const struct arb_event *hit = stage_event(&stage, ARB_EVENT_HIT, 0);
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    cr_assert_gt(arb_event_encode(hit, bytes, sizeof bytes), 0);
    cr_assert_eq(hit->hit.x, 4096.0F);
    cr_assert_eq(hit->hit.y, -4096.0F);
}

Test(rules_arena, who_leaves_ends_his_character_by_nobody, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    stage.world.players[1].presence = WORLD_LEFT;
    stage.rules->player_left(&stage.context, 1);
    stage_pass(&stage, 200);
    cr_assert_null(stage_character(&stage, 1));
    cr_assert_eq(player(1)->deaths_by_nobody, 1);
    cr_assert(stage_deaths_add_up(&stage));
}

Test(rules_arena, the_round_ends_without_entities_or_controls, .fini = close_stage)
{
    open_stage(4, NULL);
    stage_add_pickup(&stage, "health", 5, 5, 0, 0);
    stage_start(&stage);
    stage.rules->round_end(&stage.context);
    world_settle(&stage.world);
    cr_assert_eq(stage.world.head->entity_count, 0);
    for (uint16_t slot = 0; slot < 4; slot++) {
        cr_assert(arb_key_is_none(player(slot)->controlled));
    }
}

/* ---- shots of one tick ---- */

Test(rules_arena, two_who_shoot_each_other_in_one_tick_both_die, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    stage_character(&stage, 0)->values[CHARACTER_HEALTH] = 10;
    stage_character(&stage, 1)->values[CHARACTER_HEALTH] = 10;
    struct rules_shot shots[] = {shot_at(0, 1), shot_at(1, 0)};
    stage_tick(&stage, shots, 2, NULL, 0);
    for (uint16_t slot = 0; slot < 2; slot++) {
        cr_assert_null(stage_character(&stage, slot));
        cr_assert_eq(player(slot)->kills, 1);
        cr_assert_eq(player(slot)->deaths, 1);
        cr_assert_eq(player(slot)->score, 1);
    }
}

Test(rules_arena, of_two_shots_at_one_victim_the_first_slot_gets_the_kill, .fini = close_stage)
{
    open_stage(3, NULL);
    stage_start(&stage);
    stage_character(&stage, 2)->values[CHARACTER_HEALTH] = 30;
    struct rules_shot shots[] = {shot_at(0, 2), shot_at(1, 2)};
    stage_tick(&stage, shots, 2, NULL, 0);
    cr_assert_eq(player(0)->kills, 1);
    cr_assert_eq(player(1)->kills, 0);
    cr_assert_eq(player(2)->deaths, 1, "once");
    cr_assert_eq(stage_event_count(&stage, ARB_EVENT_HIT), 1, "the dead give nothing");
    cr_assert_eq(stage_event(&stage, ARB_EVENT_HIT, 0)->hit.damage, 30, "what was left");
}

Test(rules_arena, pellets_of_a_shot_are_one_hit, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    struct rules_shot shot = shot_at(0, 1);
    shot.pellet_count = 2;
    shot.pellets[1] = shot.pellets[0];
    stage_tick(&stage, &shot, 1, NULL, 0);
    cr_assert_eq(health_of(1), 20);
    cr_assert_eq(stage_event_count(&stage, ARB_EVENT_HIT), 1);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_HIT, 0)->hit.damage, 80);
    cr_assert_eq(stage.events.list[0].to, 0);
    cr_assert_eq(stage.events.list[0].also, 1);
}

/* ---- teams and limits ---- */

Test(rules_arena, killing_the_own_team_costs_score, .fini = close_stage)
{
    open_stage(4, "match.teams=2");
    stage_start(&stage);
    stage_character(&stage, 2)->values[CHARACTER_HEALTH] = 1;
    stage_character(&stage, 1)->values[CHARACTER_HEALTH] = 1;
    struct rules_shot shots[] = {shot_at(0, 2), shot_at(0, 1)};
    stage_tick(&stage, shots, 1, NULL, 0);
    cr_assert_eq(player(0)->score, -1);
    cr_assert_eq(player(0)->kills, 1);
    stage_tick(&stage, shots + 1, 1, NULL, 0);
    cr_assert_eq(player(0)->score, 0);
    cr_assert(stage_deaths_add_up(&stage));
}

Test(rules_arena, shots_pass_through_the_own_team_unless_team_damage, .fini = close_stage)
{
    open_stage(2, "match.teams=2");
    stage_start(&stage);
    struct rules_shot shot = {.slot = 0, .shooter = stage_key(&stage, 0)};
    stage.rules->shoot(&stage.context, &shot);
    cr_assert(shot.rays[0].team_filter);
    ((struct arena_params *)stage.params)->team_damage = true;
    stage.rules->shoot(&stage.context, &shot);
    cr_assert_not(shot.rays[0].team_filter);
}

Test(rules_arena, the_score_limit_ends_the_round, .fini = close_stage)
{
    open_stage(2, "arena.score_limit=2");
    stage_start(&stage);
    stage.world.players[0].score = 1;
    stage_pass(&stage, 1);
    cr_assert_eq(stage.world.head->ended_early, 0);
    stage_character(&stage, 1)->values[CHARACTER_HEALTH] = 1;
    struct rules_shot shot = shot_at(0, 1);
    stage_tick(&stage, &shot, 1, NULL, 0);
    cr_assert_eq(stage.world.head->ended_early, 1);
}

Test(rules_arena, with_teams_the_limit_is_the_teams, .fini = close_stage)
{
    const char *sets[] = {"match.teams=2", "arena.score_limit=4", NULL};
    stage_open(&stage, "arena", sets, 4);
    stage_add_spawn_area(&stage, (struct arb_vec2){1, 1}, (struct arb_vec2){39, 39});
    stage_start(&stage);
    stage.world.players[0].score = 2;
    stage.world.players[1].score = 3;
    stage_pass(&stage, 1);
    cr_assert_eq(stage.world.head->ended_early, 0);
    stage.world.players[2].score = 2;
    stage_pass(&stage, 1);
    cr_assert_eq(stage.world.head->ended_early, 1);
}

/* ---- pickups ---- */

static struct arb_key pickup_key(uint32_t n)
{
    return world_key(&stage.world, stage_entity(&stage, ARB_ARENA_PICKUP, n));
}

static void touch_pickup(uint16_t slot, uint32_t n)
{
    struct collide_contact contact = stage_touch(stage_key(&stage, slot), pickup_key(n), 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
}

Test(rules_arena, health_heals_up_to_the_most_and_comes_back, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "health", 20, 20, 0, 0);
    stage_start(&stage);
    touch_pickup(0, 0);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 1, "of no use: it stays");
    stage_character(&stage, 0)->values[CHARACTER_HEALTH] = 60;
    touch_pickup(0, 0);
    cr_assert_eq(health_of(0), 85);
    cr_assert_eq(player(0)->outside_changes, 0, "health is no part of the predicted state");
    stage_pass(&stage, 119);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 0);
    stage_pass(&stage, 1);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 1, "after pickup_respawn_s");
    touch_pickup(0, 0);
    cr_assert_eq(health_of(0), 100, "not beyond");
}

Test(rules_arena, the_maps_value_and_time_come_before_the_defaults, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "health", 20, 20, 7, 0.5F);
    stage_start(&stage);
    stage_character(&stage, 0)->values[CHARACTER_HEALTH] = 60;
    touch_pickup(0, 0);
    cr_assert_eq(health_of(0), 67);
    stage_pass(&stage, 30);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 1);
}

Test(rules_arena, ammo_fills_the_reserve_of_what_is_carried, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "ammo", 20, 20, 0, 0.02F);
    stage_start(&stage);
    touch_pickup(0, 0);
    cr_assert_eq(player(0)->own.reserve[0], 16);
    cr_assert_eq(player(0)->own.reserve[1], 0, "not carried");
    cr_assert_eq(player(0)->outside_changes, 1);
    stage_pass(&stage, 2);
    touch_pickup(0, 0);
    cr_assert_eq(player(0)->own.reserve[0], 20, "not beyond reserve_max");
    stage_pass(&stage, 2);
    touch_pickup(0, 0);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 1, "of no use: it stays");
}

Test(rules_arena, a_weapon_comes_into_the_hand_full_then_as_rounds, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "weapon", 20, 20, 0, 0.02F);
    stage_start(&stage);
    stage.world.players[0].own.reload_ticks = 9;
    touch_pickup(0, 0);
    const struct arb_own *own = &player(0)->own;
    cr_assert_eq(own->weapon, 1);
    cr_assert_eq(own->weapons, 3);
    cr_assert_eq(own->magazine[1], 2);
    cr_assert_eq(own->reserve[1], 4);
    cr_assert_eq(own->reload_ticks, 0);
    stage_pass(&stage, 2);
    touch_pickup(0, 0);
    cr_assert_eq(own->reserve[1], 8);
    stage_pass(&stage, 2);
    touch_pickup(0, 0);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 1, "full: it stays");
}

/* Who gets it, by moments of touch, whichever way the contacts are listed and the entities were
 * made. */
static void race(bool swapped, float first, float second, uint16_t winner, uint64_t *checksum)
{
    open_stage(2, NULL);
    stage_add_pickup(&stage, "health", 20, 20, 0, 0);
    stage_start(&stage);
    for (uint16_t slot = 0; slot < 2; slot++) {
        stage_character(&stage, slot)->values[CHARACTER_HEALTH] = 50;
    }
    struct collide_contact contacts[2];
    contacts[swapped ? 1 : 0] = stage_touch(stage_key(&stage, 0), pickup_key(0), first);
    contacts[swapped ? 0 : 1] = stage_touch(stage_key(&stage, 1), pickup_key(0), second);
    stage_tick(&stage, NULL, 0, contacts, 2);
    cr_assert_eq(health_of(winner), 75);
    cr_assert_eq(health_of((uint16_t)(1 - winner)), 50);
    *checksum = world_checksum(&stage.world);
    close_stage();
}

Test(rules_arena, a_pickup_goes_to_the_first_touch_then_the_lower_slot)
{
    static const struct {
        float first, second;
        uint16_t winner;
    } rows[] = {{0.5F, 0.5F, 0}, {0.6F, 0.5F, 1}, {0.1F, 0.2F, 0}, {0.0F, 0.0F, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t straight, swapped;
        race(false, rows[i].first, rows[i].second, rows[i].winner, &straight);
        race(true, rows[i].first, rows[i].second, rows[i].winner, &swapped);
        cr_assert_eq(straight, swapped, "row %zu", i);
    }
}

Test(rules_arena, the_lower_slot_wins_a_tie_with_the_higher_key_too, .fini = close_stage)
{
    open_stage(2, "arena.respawn_ms=0");
    stage_add_pickup(&stage, "health", 20, 20, 0, 0);
    stage_start(&stage);
    struct rules_shot shots[] = {shot_at(1, 0), shot_at(1, 0), shot_at(1, 0)};
    stage_tick(&stage, shots, 3, NULL, 0);
    cr_assert_gt(stage_key(&stage, 0).id, stage_key(&stage, 1).id, "came back as a later entity");
    stage_character(&stage, 0)->values[CHARACTER_HEALTH] = 50;
    stage_character(&stage, 1)->values[CHARACTER_HEALTH] = 50;
    struct collide_contact contacts[] = {stage_touch(stage_key(&stage, 1), pickup_key(0), 0.5F),
                                         stage_touch(stage_key(&stage, 0), pickup_key(0), 0.5F)};
    stage_tick(&stage, NULL, 0, contacts, 2);
    cr_assert_eq(health_of(0), 75);
    cr_assert_eq(health_of(1), 50);
}

Test(rules_arena, who_has_no_use_leaves_it_to_the_next, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_add_pickup(&stage, "health", 20, 20, 0, 0);
    stage_start(&stage);
    stage_character(&stage, 1)->values[CHARACTER_HEALTH] = 50;
    struct collide_contact contacts[] = {stage_touch(stage_key(&stage, 0), pickup_key(0), 0.1F),
                                         stage_touch(stage_key(&stage, 1), pickup_key(0), 0.9F)};
    stage_tick(&stage, NULL, 0, contacts, 2);
    cr_assert_eq(health_of(1), 75);
}

Test(rules_arena, the_dead_of_a_tick_take_nothing, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_add_pickup(&stage, "health", 20, 20, 0, 0);
    stage_start(&stage);
    stage_character(&stage, 1)->values[CHARACTER_HEALTH] = 1;
    struct rules_shot shot = shot_at(0, 1);
    struct collide_contact contact = stage_touch(stage_key(&stage, 1), pickup_key(0), 0.0F);
    stage_tick(&stage, &shot, 1, &contact, 1);
    cr_assert_eq(stage_count(&stage, ARB_ARENA_PICKUP), 1);
}

/* ---- pushes ---- */

Test(rules_arena, pushes_part_those_who_overlap_each_by_half, .fini = close_stage)
{
    open_stage(2, "arena.player_push=true");
    stage_start(&stage);
    stage_put(&stage, 0, 20, 20);
    stage_put(&stage, 1, 20.6F, 20);
    struct collide_contact contact = stage_touch(stage_key(&stage, 0), stage_key(&stage, 1), 0);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_float_eq(player(0)->own.x, 19.8F, 1e-4F);
    cr_assert_float_eq(player(1)->own.x, 20.8F, 1e-4F);
    cr_assert(memcmp(&player(1)->own.x, &stage_character(&stage, 1)->x, sizeof(float)) == 0);
    cr_assert_eq(player(0)->outside_changes, 1);
    cr_assert_eq(player(1)->outside_changes, 1);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_eq(player(0)->outside_changes, 1, "apart now");
}

Test(rules_arena, pushes_never_lead_into_a_wall, .fini = close_stage)
{
    open_stage(2, "arena.player_push=true");
    stage_add_box(&stage, (struct arb_vec2){10, 10}, (struct arb_vec2){19.45F, 30});
    stage_start(&stage);
    stage_put(&stage, 0, 20, 20);
    stage_put(&stage, 1, 20.2F, 20);
    struct collide_contact contact = stage_touch(stage_key(&stage, 0), stage_key(&stage, 1), 0);
    for (int i = 0; i < 10; i++) {
        stage_tick(&stage, NULL, 0, &contact, 1);
    }
    cr_assert_geq(player(0)->own.x, 19.45F + 0.5F - 0.01F);
    cr_assert_geq(player(1)->own.x - player(0)->own.x, 0.97F);
}

static uint64_t push_three(bool swapped)
{
    open_stage(3, "arena.player_push=true");
    stage_start(&stage);
    stage_put(&stage, 0, 20, 20);
    stage_put(&stage, 1, 20.3F, 20.1F);
    stage_put(&stage, 2, 20.1F, 20.4F);
    struct collide_contact contacts[] = {
        stage_touch(stage_key(&stage, 0), stage_key(&stage, 1), 0),
        stage_touch(stage_key(&stage, 0), stage_key(&stage, 2), 0),
        stage_touch(stage_key(&stage, 1), stage_key(&stage, 2), 0),
    };
    if (swapped) {
        struct collide_contact last = contacts[2];
        contacts[2] = contacts[0];
        contacts[0] = last;
    }
    stage_tick(&stage, NULL, 0, contacts, 3);
    uint64_t checksum = world_checksum(&stage.world);
    close_stage();
    return checksum;
}

Test(rules_arena, pushes_do_not_depend_on_the_order_of_contacts)
{
    cr_assert_eq(push_three(false), push_three(true));
}

Test(rules_arena, two_in_one_place_are_pushed_apart_along_x, .fini = close_stage)
{
    open_stage(2, "arena.player_push=true");
    stage_start(&stage);
    stage_put(&stage, 0, 20, 20);
    stage_put(&stage, 1, 20, 20);
    struct collide_contact contact = stage_touch(stage_key(&stage, 0), stage_key(&stage, 1), 0);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_float_eq(player(0)->own.x, 19.5F, 1e-4F);
    cr_assert_float_eq(player(1)->own.x, 20.5F, 1e-4F);
}

/* ---- published ---- */

Test(rules_arena, publishes_by_the_units_of_the_schema, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "weapon", 3, 4, 2, 0);
    stage_start(&stage);
    stage_put(&stage, 0, 1.5F, -2.25F);
    struct world_entity *entity = stage_character(&stage, 0);
    entity->vx = 1.5F;
    entity->heading = -1.57079633F;
    int32_t q[ARB_KIND_FIELDS_MAX] = {0};
    stage.rules->publish(&stage.context, entity, q);
    cr_assert_eq(q[ARB_CHARACTER_OWNER], 1);
    cr_assert_eq(q[ARB_CHARACTER_X], 768);
    cr_assert_eq(q[ARB_CHARACTER_Y], -1152);
    cr_assert_eq(q[ARB_CHARACTER_VX], 96);
    cr_assert_eq(q[ARB_CHARACTER_HEADING], 3072);
    cr_assert_eq(q[ARB_CHARACTER_HEALTH], 100);
    memset(q, 0, sizeof q);
    stage.rules->publish(&stage.context, stage_entity(&stage, ARB_ARENA_PICKUP, 0), q);
    cr_assert_eq(q[ARB_PICKUP_TYPE], ARB_PICKUP_WEAPON);
    cr_assert_eq(q[ARB_PICKUP_VALUE], 1, "an index");
    cr_assert_eq(q[ARB_PICKUP_X], 3 * 512);
}

/* Else it would be published with more bits than the field has, and a block saved then be refused.
 */
Test(rules_arena, goes_on_from_no_pickup_that_cannot_be_published, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "health", 3, 4, 25, 0);
    stage_start(&stage);
    int32_t *value = &stage_entity(&stage, ARB_ARENA_PICKUP, 0)->values[PICKUP_VALUE];
    *value = 1023;
    cr_assert(stage.rules->check_state(stage.params, &stage.map, &stage.world));
    *value = 1024;
    cr_assert_not(stage.rules->check_state(stage.params, &stage.map, &stage.world));
}
