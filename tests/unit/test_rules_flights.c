/* server/rules, arena projectiles on their way through the past of their shooter: whom mercy spares
 * there and not in the present, whom the client did not hold, and what is told of it. */
#include "server/rules/arena_internal.h"
#include "shared/view/arb_held.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* Half a metre a tick; characters are circles of 0.5 m. The muzzle is always at (5, 20). */
#define LAUNCHER                                                                                   \
    "{\"kind\":\"projectile\",\"damage\":40,\"damage_far\":40,\"projectile_speed\":30,"            \
    "\"projectile_radius_m\":0.25,\"interval_ms\":100,\"start\":true"

enum { SHOOTER, VICTIM, BACK = 12 };

static struct stage stage;
static struct rewind_shelter shelter;
static struct rewind_mercy mercy;

static void open_with(const char *more)
{
    char weapons[512];
    snprintf(weapons, sizeof weapons, "arena.weapons=[%s%s}]", LAUNCHER, more);
    const char *sets[] = {weapons, "arena.spawn_protection_ms=0", "arena.respawn_ms=10000",
                          "snapshot.interval_ticks=1", NULL};
    stage_open(&stage, "arena", sets, 2);
    stage_add_spawn_area(&stage, (struct arb_vec2){1, 1}, (struct arb_vec2){39, 39});
    shelter = (struct rewind_shelter){0};
    mercy = (struct rewind_mercy){.origin = {5, 20}, .shelters = &shelter};
}

static void close_stage(void)
{
    stage_close(&stage);
}

static void begin(float x, float y)
{
    stage_start(&stage);
    stage_put(&stage, SHOOTER, 5, 20);
    stage_put(&stage, VICTIM, x, y);
    stage_pass(&stage, 40);
}

static arb_tick newest(void)
{
    return rewind_newest(stage.rewind)->tick;
}

/* Of an input that drew the world `back` ticks ago. */
static struct rules_shot shot_back(uint32_t back)
{
    struct rules_shot shot = {.slot = SHOOTER,
                              .shooter = stage_key(&stage, SHOOTER),
                              .projectile_count = 1,
                              .action = 77};
    shot.rays[0] = (struct rewind_ray){.origin = {5, 20}, .direction = {1, 0}, .mercy = &mercy};
    shot.rays[0].view.from_tick = shot.rays[0].view.to_tick = newest() - back;
    return shot;
}

static void fire(const struct rules_shot *shot)
{
    stage_tick(&stage, shot, 1, NULL, 0);
}

static int32_t health(void)
{
    return stage_character(&stage, VICTIM)->values[CHARACTER_HEALTH];
}

static void shelter_until(arb_tick since)
{
    shelter = (struct rewind_shelter){stage_key(&stage, VICTIM), since};
    mercy.shelter_count = 1;
}

/* In the open when it is met, 7.5 ticks ago; behind the corner for the newest four. */
static void hide(void)
{
    open_with("");
    stage_add_box(&stage, (struct arb_vec2){6.4F, 21.5F}, (struct arb_vec2){7, 26});
    begin(8, 20);
    stage_put(&stage, VICTIM, 8, 24);
    stage_pass(&stage, 4);
}

Test(rules_flights, cover_for_longer_than_the_grace_wins_over_the_past, .fini = close_stage)
{
    static const struct {
        uint32_t cover_ticks;
        int32_t health;
        uint32_t spared;
    } rows[] = {{0, 60, 0}, {4, 100, 1}, {5, 60, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        hide();
        mercy.cover_ticks = rows[i].cover_ticks;
        struct rules_shot shot = shot_back(BACK);
        fire(&shot);
        cr_expect_eq(health(), rows[i].health, "row %zu", i);
        cr_expect_eq(stage.flights.list[0].spared, rows[i].spared, "row %zu", i);
        cr_expect_eq(stage_count(&stage, ARB_ARENA_PROJECTILE), rows[i].spared, "it flies on");
        if (i + 1 < sizeof rows / sizeof rows[0]) {
            close_stage();
        }
    }
}

Test(rules_flights, an_ability_wins_over_the_past_and_not_over_the_present, .fini = close_stage)
{
    open_with("");
    begin(8, 20);
    shelter_until(newest() + 1000);
    struct rules_shot shot = shot_back(BACK);
    fire(&shot);
    cr_expect_eq(health(), 100);
    cr_expect_eq(stage.flights.list[0].spared, 1, "once, though three ticks lead through it");
    stage_pass(&stage, 100);
    shot = shot_back(0);
    fire(&shot);
    cr_expect_eq(stage.flights.list[0].spared, 0);
    stage_pass(&stage, 5);
    cr_expect_eq(health(), 60, "it has been seen coming");
}

/* It touches after eleven and a half of the twelve ticks. */
Test(rules_flights, the_last_piece_of_what_is_caught_up_is_of_the_present, .fini = close_stage)
{
    open_with("");
    begin(11.5F, 20);
    shelter_until(newest() + 1000);
    struct rules_shot shot = shot_back(BACK);
    fire(&shot);
    cr_expect_eq(health(), 60);
    cr_assert_eq(stage.flights.landing_count, 1);
    cr_expect_not(stage.flights.landings[0].rewound);
    cr_expect_eq(stage.flights.landings[0].flight, 0);
}

Test(rules_flights, who_was_not_held_is_passed, .fini = close_stage)
{
    open_with("");
    begin(5.9F, 20);
    struct rules_shot shot = shot_back(BACK);
    struct rewind_pair nobody = {{0}, 0, 0};
    shot.rays[0].view.to_tick += 4;
    shot.rays[0].pairs = &nobody;
    fire(&shot);
    cr_expect_eq(health(), 100);
    cr_expect_eq(stage.flights.list[0].unseen, 1);
    shot = shot_back(BACK);
    fire(&shot);
    cr_expect_eq(health(), 60);
    cr_expect_eq(stage.flights.list[0].unseen, 0);
}

/* The shooter held only the state before it stepped aside and the one after it came back. */
Test(rules_flights, an_older_state_that_was_held_is_what_is_met, .fini = close_stage)
{
    for (int held = 0; held < 2; held++) {
        open_with("");
        begin(8, 20);
        stage_put(&stage, VICTIM, 8, 30);
        stage_pass(&stage, 20);
        stage_put(&stage, VICTIM, 8, 20);
        stage_pass(&stage, 1);
        stage_put(&stage, VICTIM, 8, 35);
        struct rules_shot shot = shot_back(BACK);
        struct rewind_pair pair = {stage_key(&stage, VICTIM), newest() - 21, newest()};
        shot.rays[0].pairs = held ? &pair : NULL;
        shot.rays[0].pair_count = held ? 1 : 0;
        fire(&shot);
        cr_expect_eq(health(), held ? 60 : 100);
        if (held == 0) {
            close_stage();
        }
    }
}

Test(rules_flights, the_way_and_whom_it_met_are_told, .fini = close_stage)
{
    hide();
    struct rules_shot shot = shot_back(BACK);
    arb_tick now = newest();
    fire(&shot);
    cr_assert_eq(stage.flights.count, 1);
    cr_assert_eq(stage.flights.landing_count, 1);
    const struct rules_flight *flight = &stage.flights.list[0];
    const struct rules_landing *landing = &stage.flights.landings[0];
    cr_expect_eq(flight->shot, 0);
    cr_expect_eq(flight->path.start, (arb_fine)(now - BACK) * ARB_FINE_TICK);
    cr_expect_eq(flight->present, (arb_fine)(now - 1) * ARB_FINE_TICK);
    cr_expect_eq(flight->to, landing->at);
    double ago = (double)now - (double)landing->at / ARB_FINE_TICK;
    cr_expect_float_eq(ago, 7.5, 0.02, "2.25 m are four and a half ticks: %f", ago);
    cr_expect(landing->rewound);
    cr_expect_eq(landing->flight, 0);
    cr_expect(arb_key_equal(landing->victim, stage_key(&stage, VICTIM)));
    cr_expect_eq(landing->slot, SHOOTER);
    cr_expect_eq(landing->origin.x, 5);
    cr_expect_float_eq(landing->centre.x, 7.25F, 0.01F);
    cr_expect_float_eq(landing->point.y, 20, 0.01F);
    cr_expect_not(landing->blast);
}

Test(rules_flights, a_hit_of_a_later_tick_is_told_as_one_of_the_present, .fini = close_stage)
{
    open_with("");
    begin(15, 20);
    struct rules_shot shot = shot_back(0);
    fire(&shot);
    cr_assert_eq(stage.flights.count, 1);
    while (stage.flights.landing_count == 0) {
        stage_pass(&stage, 1);
        cr_assert_eq(stage.flights.count, 0);
    }
    cr_expect_not(stage.flights.landings[0].rewound);
    cr_expect_eq(stage.flights.landings[0].flight, -1);
    cr_expect_eq(health(), 60);
}

/* It ends at a wall, 2.5 ticks ago; the victim stands round the corner, hidden from the muzzle all
 * the time and in the open for the blast. */
static void blast_with(uint32_t cover_ticks, bool evades)
{
    open_with(",\"blast_m\":4,\"blast_damage\":80");
    stage_add_box(&stage, (struct arb_vec2){10, 18}, (struct arb_vec2){11, 22});
    stage_add_box(&stage, (struct arb_vec2){6, 20.8F}, (struct arb_vec2){7.5F, 22.5F});
    begin(9, 23);
    mercy.cover_ticks = cover_ticks;
    if (evades) {
        shelter_until(newest());
    }
    struct rules_shot shot = shot_back(BACK);
    fire(&shot);
}

Test(rules_flights, a_blast_reaches_round_the_corner_whatever_the_grace, .fini = close_stage)
{
    blast_with(2, false);
    cr_expect_lt(health(), 100);
    cr_assert_eq(stage.flights.landing_count, 1);
    cr_expect(stage.flights.landings[0].blast);
    cr_expect(stage.flights.landings[0].rewound);
    cr_expect_float_eq(stage.flights.landings[0].origin.x, 9.75F, 0.01F);
    cr_expect_eq(stage_event_count(&stage, ARB_EVENT_IMPACT), 0);
}

Test(rules_flights, a_blast_of_the_past_spares_who_evades, .fini = close_stage)
{
    blast_with(0, true);
    cr_expect_eq(health(), 100);
}

Test(rules_flights, an_impact_is_about_the_projectile_and_its_victim, .fini = close_stage)
{
    open_with("");
    begin(15, 20);
    struct rules_shot shot = shot_back(0);
    fire(&shot);
    struct arb_key flying = world_key(&stage.world, stage_entity(&stage, ARB_ARENA_PROJECTILE, 0));
    while (stage_event_count(&stage, ARB_EVENT_IMPACT) == 0) {
        stage_pass(&stage, 1);
    }
    const struct rules_event *event = stage.events.list;
    while (event->event.kind != ARB_EVENT_IMPACT) {
        event++;
    }
    cr_expect_eq(event->to, SHOOTER);
    cr_expect(arb_key_equal(event->about[0], flying));
    cr_expect(arb_key_equal(event->about[1], stage_key(&stage, VICTIM)));
}
