/* server/rules, arena weapons: rays, damage by distance, part and pierce, rounds. */
#include "server/rules/arena_internal.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct stage stage;

static void open_with(const char *weapons, const char *shapes)
{
    const char *sets[] = {weapons, shapes != NULL ? shapes : "arena.hit_shapes=[{}]",
                          "arena.spawn_protection_ms=0", NULL};
    stage_open(&stage, "arena", sets, 3);
    stage_add_spawn_area(&stage, (struct arb_vec2){1, 1}, (struct arb_vec2){39, 39});
}

static void close_stage(void)
{
    stage_close(&stage);
}

static const struct arena_params *params(void)
{
    return stage.params;
}

/* ---- damage ---- */

Test(rules_weapons, damage_by_distance_is_linear_between_the_two_marks, .fini = close_stage)
{
    static const struct {
        float distance;
        int32_t damage;
    } rows[] = {{0, 50},     {5, 50},  {10, 50}, {10.5F, 49}, {15, 40},    {20, 30},
                {29.9F, 10}, {30, 10}, {31, 10}, {1000, 10},  {22.5F, 25}, {25, 20}};
    open_with("arena.weapons=[{\"damage\":50,\"damage_far\":10,\"falloff_from_m\":10,"
              "\"falloff_to_m\":30}]",
              NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(arena_damage(params(), &params()->weapons[0], rows[i].distance, 0, 0),
                     rows[i].damage, "row %zu", i);
    }
}

Test(rules_weapons, equal_marks_are_a_step, .fini = close_stage)
{
    open_with("arena.weapons=[{\"damage\":50,\"damage_far\":10,\"falloff_from_m\":20,"
              "\"falloff_to_m\":20}]",
              NULL);
    cr_assert_eq(arena_damage(params(), &params()->weapons[0], 20, 0, 0), 50);
    cr_assert_eq(arena_damage(params(), &params()->weapons[0], 20.01F, 0, 0), 10);
}

Test(rules_weapons, parts_and_pierced_characters_multiply, .fini = close_stage)
{
    static const struct {
        uint8_t part;
        uint32_t pierced;
        int32_t damage;
    } rows[] = {{0, 0, 40}, {1, 0, 80}, {2, 0, 10}, {3, 0, 0}, {0, 1, 24}, {1, 2, 29}, {0, 3, 9}};
    open_with("arena.weapons=[{\"damage\":40,\"damage_far\":40,\"pierce\":3,"
              "\"pierce_factor\":0.6}]",
              "arena.hit_shapes=[{\"factor\":1},{\"factor\":2},{\"factor\":0.25},{\"factor\":0}]");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(
            arena_damage(params(), &params()->weapons[0], 1, rows[i].part, rows[i].pierced),
            rows[i].damage, "row %zu", i);
    }
}

Test(rules_weapons, a_shot_hurts_everyone_it_went_through, .fini = close_stage)
{
    open_with("arena.weapons=[{\"start\":true,\"damage\":40,\"damage_far\":40,\"pierce\":2,"
              "\"pierce_factor\":0.5}]",
              "arena.hit_shapes=[{\"factor\":1},{\"factor\":2}]");
    stage_start(&stage);
    struct rules_shot shot = {.slot = 0, .shooter = stage_key(&stage, 0), .pellet_count = 1};
    shot.pellets[0].hit_count = 2;
    shot.pellets[0].hits[0] = (struct rewind_hit){.victim = stage_key(&stage, 2), .part = 1};
    shot.pellets[0].hits[1] = (struct rewind_hit){.victim = stage_key(&stage, 1), .part = 0};
    stage_tick(&stage, &shot, 1, NULL, 0);
    cr_assert_eq(stage_character(&stage, 2)->values[CHARACTER_HEALTH], 20);
    cr_assert_eq(stage_character(&stage, 1)->values[CHARACTER_HEALTH], 80);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_HIT, 0)->hit.part, 1);
}

/* ---- rays ---- */

static struct rules_shot shoot(uint8_t weapon, float angle)
{
    struct rules_shot shot = {.slot = 0, .shooter = stage_key(&stage, 0), .weapon = weapon};
    for (int i = 0; i < RULES_PELLETS_MAX; i++) {
        shot.rays[i].direction = arb_move_direction(angle);
    }
    stage.rules->shoot(&stage.context, &shot);
    return shot;
}

Test(rules_weapons, rays_get_range_pierce_and_pellets, .fini = close_stage)
{
    open_with("arena.weapons=[{\"start\":true,\"range_m\":25,\"pierce\":2,\"pellets\":7}]", NULL);
    stage_start(&stage);
    uint64_t before = world_checksum(&stage.world);
    struct rules_shot shot = shoot(0, 1.0F);
    cr_assert_eq(shot.pellet_count, 7);
    for (int i = 0; i < 7; i++) {
        cr_assert_float_eq(shot.rays[i].range, 25, 0);
        cr_assert_eq(shot.rays[i].pierce, 2);
        cr_assert_float_eq(shot.rays[i].direction.x, arb_move_direction(1.0F).x, 0);
    }
    cr_assert_eq(world_checksum(&stage.world), before, "no draw without spread");
}

static void check_spread(const char *weapons, float expected_mean)
{
    open_with(weapons, NULL);
    stage_start(&stage);
    double sum = 0.0;
    float widest = 0.0F;
    enum { SHOTS = 2000 };
    for (int i = 0; i < SHOTS; i++) {
        float aim = 3.1F; /* near the wrap */
        struct rules_shot shot = shoot(0, aim);
        struct arb_vec2 d = shot.rays[0].direction, a = arb_move_direction(aim);
        cr_assert_float_eq(d.x * d.x + d.y * d.y, 1.0F, 1e-5F);
        float off =
            fabsf(arb_move_angle((struct arb_vec2){d.x * a.x + d.y * a.y, d.y * a.x - d.x * a.y}));
        widest = fmaxf(widest, off);
        sum += (double)off;
    }
    cr_assert_leq(widest, 0.1F + 1e-4F);
    cr_assert_geq(widest, 0.08F);
    cr_assert_float_eq(sum / SHOTS, (double)expected_mean, 0.002);
}

Test(rules_weapons, uniform_spread_fills_the_angle_evenly, .fini = close_stage)
{
    check_spread("arena.weapons=[{\"start\":true,\"spread_rad\":0.1}]", 0.05F);
}

Test(rules_weapons, triangular_spread_prefers_the_aim, .fini = close_stage)
{
    check_spread("arena.weapons=[{\"start\":true,\"spread_rad\":0.1,\"spread\":\"triangular\"}]",
                 0.0333F);
}

Test(rules_weapons, spread_draws_from_the_combat_stream_alone, .fini = close_stage)
{
    open_with("arena.weapons=[{\"start\":true,\"spread_rad\":0.1,\"pellets\":3}]", NULL);
    stage_start(&stage);
    struct arb_rng streams[WORLD_STREAMS];
    memcpy(streams, stage.world.head->streams, sizeof streams);
    struct rules_shot first = shoot(0, 0);
    const struct arb_rng *now = stage.world.head->streams;
    cr_assert_neq(now[WORLD_STREAM_COMBAT].state, streams[WORLD_STREAM_COMBAT].state);
    cr_assert_eq(now[WORLD_STREAM_SPAWN].state, streams[WORLD_STREAM_SPAWN].state);
    cr_assert_eq(now[WORLD_STREAM_LOOT].state, streams[WORLD_STREAM_LOOT].state);
    stage.world.head->streams[WORLD_STREAM_COMBAT] = streams[WORLD_STREAM_COMBAT];
    struct rules_shot again = shoot(0, 0);
    cr_assert(memcmp(first.rays, again.rays, 3 * sizeof first.rays[0]) == 0);
}

/* ---- rounds ---- */

Test(rules_weapons, start_weapons_are_carried_the_first_in_hand, .fini = close_stage)
{
    open_with("arena.weapons=[{\"name\":\"a\",\"magazine\":3,\"reserve\":1,\"reserve_max\":9},"
              "{\"name\":\"b\",\"start\":true,\"magazine\":4,\"reserve\":8,\"reserve_max\":9},"
              "{\"name\":\"c\",\"start\":true}]",
              NULL);
    struct arb_own own = {0};
    arena_arm(params(), &own);
    cr_assert_eq(own.weapons, 6);
    cr_assert_eq(own.weapon, 1);
    cr_assert_eq(own.magazine[0], 0);
    cr_assert_eq(own.magazine[1], 4);
    cr_assert_eq(own.reserve[1], 8);
    cr_assert_eq(own.magazine[2], 0);
}

static struct arb_input trigger(uint16_t buttons)
{
    return (struct arb_input){.sequence = 1, .buttons = buttons, .edges = buttons};
}

Test(rules_weapons, a_magazine_empties_reloads_and_a_spent_weapon_gives_way, .fini = close_stage)
{
    open_with("arena.weapons=[{\"name\":\"a\",\"start\":true,\"magazine\":2,\"reserve\":1,"
              "\"reserve_max\":1,\"interval_ms\":1,\"reload_ms\":100},"
              "{\"name\":\"b\",\"start\":true}]",
              NULL);
    stage_start(&stage);
    struct arb_own *own = &stage.world.players[0].own;
    struct arb_input fire = trigger(ARB_BUTTON_FIRE), rest = trigger(0);
    stage_walk(&stage, &fire);
    stage_walk(&stage, &fire);
    cr_assert_eq(own->magazine[0], 0);
    stage_walk(&stage, &fire);
    cr_assert_gt(own->reload_ticks, 0, "begins by itself");
    for (int i = 0; i < 8; i++) {
        stage_walk(&stage, &rest);
    }
    cr_assert_eq(own->magazine[0], 1);
    cr_assert_eq(own->reserve[0], 0);
    uint32_t outside = stage.world.players[0].outside_changes;
    stage_walk(&stage, &fire);
    cr_assert_eq(own->magazine[0], 0);
    cr_assert_eq(own->weapon, 1, "spent");
    cr_assert_eq(stage.world.players[0].outside_changes, outside + 1);
}

Test(rules_weapons, the_last_weapon_stays_in_hand_when_all_are_spent, .fini = close_stage)
{
    open_with("arena.weapons=[{\"start\":true,\"magazine\":1}]", NULL);
    stage_start(&stage);
    stage.world.players[0].own.magazine[0] = 0;
    cr_assert_not(arena_drop_spent(params(), &stage.world.players[0].own));
}

Test(rules_weapons, times_become_ticks_rounded_up, .fini = close_stage)
{
    open_with("arena.weapons=[{\"magazine\":2,\"interval_ms\":100,\"reload_ms\":1001},"
              "{\"name\":\"b\",\"interval_ms\":1,\"reload_ms\":500},"
              "{\"name\":\"c\",\"magazine\":1,\"reload_ms\":0,\"automatic\":true}]",
              NULL);
    struct arb_move_params move;
    stage.rules->move_params(stage.params, 60, &move);
    cr_assert_eq(move.weapon_count, 3);
    cr_assert_eq(move.weapons[0].interval_ticks, 6);
    cr_assert_eq(move.weapons[0].reload_ticks, 61);
    cr_assert_eq(move.weapons[1].interval_ticks, 1);
    cr_assert_eq(move.weapons[1].reload_ticks, 0, "no magazine");
    cr_assert_eq(move.weapons[2].reload_ticks, 1);
    cr_assert_eq(move.weapons[2].automatic, 1);
    cr_assert_eq(move.dash_ticks, 9);
    cr_assert_eq(move.dash_cooldown_ticks, 90);
}

Test(rules_weapons, hit_shapes_go_to_the_rewind_with_their_part, .fini = close_stage)
{
    open_with("arena.weapons=[]", "arena.hit_shapes=[{\"ax\":-0.2,\"bx\":0.2,\"radius\":0.4},"
                                  "{\"ay\":0.5,\"by\":0.5,\"radius\":0.1,\"factor\":2}]");
    struct rewind_kind kinds[ARB_KINDS_MAX] = {0};
    stage.rules->rewind_kinds(stage.params, kinds);
    cr_assert_eq(kinds[ARB_ARENA_CHARACTER].count, 2);
    cr_assert_eq(kinds[ARB_ARENA_PICKUP].count, 0);
    cr_assert_float_eq(kinds[ARB_ARENA_CHARACTER].shapes[0].b.x, 0.2F, 0);
    cr_assert_float_eq(kinds[ARB_ARENA_CHARACTER].shapes[1].a.y, 0.5F, 0);
    cr_assert_eq(kinds[ARB_ARENA_CHARACTER].shapes[1].part, 1);
}
