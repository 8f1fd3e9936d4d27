/* server/rules, serpent: deaths and their ties, food, growth, boost, score. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char *const numbers[] = {
    "serpent.food_count=0",       "serpent.growth_m=0.5",       "serpent.start_length_m=4",
    "serpent.max_length_m=20",    "serpent.respawn_ms=1000",    "serpent.boost_min_length_m=3",
    "serpent.boost_cost=2",       "serpent.boost_drop_m=0.5",   "serpent.death_food_spacing_m=1",
    "serpent.death_food_value=3", "serpent.body_spacing_m=0.5", NULL,
};

static struct stage stage;

static void open_stage(uint32_t players, const char *extra)
{
    stage_open_field(&stage, "serpent", numbers, extra, players);
}

static void close_stage(void)
{
    stage_close(&stage);
}

static const struct world_player *player(uint16_t slot)
{
    return &stage.world.players[slot];
}

static float length_of(uint16_t slot)
{
    return serpent_body(&stage.world, stage_character(&stage, slot))->length;
}

/* Makes the serpent lie straight to the left of (x, y), heading right. */
static void lay(uint16_t slot, float x, float y)
{
    struct world_entity *head = stage_character(&stage, slot);
    stage_put(&stage, slot, x, y);
    stage.world.players[slot].own.heading = head->heading = 0.0F;
    serpent_body(&stage.world, head)->count = 0;
    serpent_body(&stage.world, head)->along = 0.0F;
    world_body_advance(&stage.world, head->body, (struct arb_vec2){x - 4.0F, y},
                       (struct arb_vec2){x, y});
}

static struct collide_contact heads(uint16_t a, uint16_t b, float fraction)
{
    return stage_touch(stage_key(&stage, a), stage_key(&stage, b), fraction);
}

static struct collide_contact bites(uint16_t mover, uint16_t other, float fraction)
{
    struct collide_contact contact = heads(mover, other, fraction);
    contact.part = COLLIDE_BODY;
    contact.segment = 3;
    return contact;
}

static void at_wall(uint16_t slot, float fraction)
{
    stage.moved[slot].report.touched_static = true;
    stage.moved[slot].report.touch_fraction = fraction;
}

/* ---- movement ---- */

Test(rules_serpent, a_head_goes_as_the_worked_case_says, .fini = close_stage)
{
    static const struct {
        int8_t move_x;
        float heading_degrees, after_degrees, x, y;
    } rows[] = {{0, 0, 0, 0.0833F, 0.0F},
                {127, 0, -3, 0.0832F, -0.0044F},
                {-127, 179, -178, -0.0833F, -0.0029F}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        open_stage(1, NULL);
        stage_start(&stage);
        stage_put(&stage, 0, 20, 20);
        stage.world.players[0].own.heading = rows[i].heading_degrees * 3.14159265F / 180.0F;
        struct arb_input input = {.sequence = 1, .move_x = rows[i].move_x};
        stage_walk(&stage, &input);
        const struct arb_own *own = &player(0)->own;
        cr_assert_float_eq(own->heading * 180.0F / 3.14159265F, rows[i].after_degrees, 1e-3F);
        cr_assert_float_eq(own->x - 20.0F, rows[i].x, 1e-4F, "row %zu", i);
        cr_assert_float_eq(own->y - 20.0F, rows[i].y, 1e-4F, "row %zu", i);
        close_stage();
    }
    open_stage(1, NULL); /* for the fini */
}

/* ---- deaths ---- */

Test(rules_serpent, a_wall_kills_by_nobody_and_the_serpent_comes_back, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    at_wall(0, 0.4F);
    stage_pass(&stage, 1);
    cr_assert_null(stage_character(&stage, 0));
    cr_assert_eq(player(0)->deaths_by_nobody, 1);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_DEATH, 0)->death.cause, ARB_CAUSE_WALL);
    stage_pass(&stage, 60);
    cr_assert_not_null(stage_character(&stage, 0));
    cr_assert_float_eq(length_of(0), 4, 0);
}

Test(rules_serpent, a_head_at_a_wall_in_fact_dies, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_start(&stage);
    lay(0, 39.0F, 20.0F);
    struct arb_input straight = {.sequence = 1};
    for (int i = 0; i < 10 && stage_character(&stage, 0) != NULL; i++) {
        stage_walk(&stage, &straight);
    }
    cr_assert_null(stage_character(&stage, 0));
    cr_assert_eq(player(0)->deaths_by_nobody, 1);
}

Test(rules_serpent, two_heads_that_meet_both_die_by_the_other, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    serpent_body(&stage.world, stage_character(&stage, 0))->length = 15;
    struct collide_contact contact = heads(0, 1, 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    for (uint16_t slot = 0; slot < 2; slot++) {
        cr_assert_null(stage_character(&stage, slot));
        cr_assert_eq(player(slot)->kills, 1);
        cr_assert_eq(player(slot)->deaths, 1);
    }
}

Test(rules_serpent, a_head_that_meets_a_body_dies_by_its_owner, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    struct collide_contact contact = bites(1, 0, 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_not_null(stage_character(&stage, 0));
    cr_assert_null(stage_character(&stage, 1));
    cr_assert_eq(player(0)->kills, 1);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_DEATH, 0)->death.cause, ARB_CAUSE_BODY);
}

Test(rules_serpent, who_died_earlier_in_the_tick_kills_nobody_later_in_it, .fini = close_stage)
{
    open_stage(3, NULL);
    stage_start(&stage);
    at_wall(0, 0.3F);
    struct collide_contact contacts[] = {bites(1, 0, 0.5F), heads(0, 2, 0.4F)};
    stage_tick(&stage, NULL, 0, contacts, 2);
    cr_assert_null(stage_character(&stage, 0));
    cr_assert_not_null(stage_character(&stage, 1));
    cr_assert_not_null(stage_character(&stage, 2));
}

Test(rules_serpent, what_happens_at_one_moment_happens_together, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    at_wall(0, 0.5F);
    struct collide_contact contact = bites(1, 0, 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_null(stage_character(&stage, 0));
    cr_assert_null(stage_character(&stage, 1));
    cr_assert_eq(player(0)->kills, 1);
    cr_assert_eq(player(0)->deaths_by_nobody, 1);
}

Test(rules_serpent, the_dead_are_no_obstacle_in_the_next_tick, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    struct collide_contact later = bites(1, 0, 0.1F); /* names the one that is gone by then */
    at_wall(0, 0.9F);
    stage_pass(&stage, 1);
    stage_tick(&stage, NULL, 0, &later, 1);
    cr_assert_not_null(stage_character(&stage, 1));
}

Test(rules_serpent, a_meeting_of_heads_is_not_blamed_on_a_neck, .fini = close_stage)
{
    open_stage(2, NULL);
    stage_start(&stage);
    struct collide_contact contacts[] = {heads(0, 1, 0.9F), bites(0, 1, 0.8F), bites(1, 0, 0.6F)};
    stage_tick(&stage, NULL, 0, contacts, 3);
    cr_assert_null(stage_character(&stage, 0));
    cr_assert_null(stage_character(&stage, 1));
    cr_assert_eq(stage_event(&stage, ARB_EVENT_DEATH, 0)->death.cause, ARB_CAUSE_HEAD);
    cr_assert_eq(stage_event(&stage, ARB_EVENT_DEATH, 1)->death.cause, ARB_CAUSE_HEAD);
}

Test(rules_serpent, of_several_causes_body_head_wall_and_the_lowest_slot_decide,
     .fini = close_stage)
{
    open_stage(4, NULL);
    stage_start(&stage);
    at_wall(3, 0.5F);
    struct collide_contact contacts[] = {bites(3, 2, 0.5F), bites(3, 1, 0.5F), heads(0, 3, 0.5F)};
    stage_tick(&stage, NULL, 0, contacts, 3);
    cr_assert_eq(player(3)->deaths, 1);
    cr_assert_eq(player(1)->kills, 1);
    cr_assert_eq(player(2)->kills, 0);
    cr_assert_eq(player(3)->kills, 1, "of the head it met");
    cr_assert(stage_deaths_add_up(&stage));
}

static uint64_t melee(const int *order, size_t count)
{
    open_stage(5, NULL);
    stage_start(&stage);
    at_wall(4, 0.45F);
    struct collide_contact all[] = {bites(0, 1, 0.2F), bites(2, 0, 0.3F), heads(1, 2, 0.4F),
                                    bites(3, 4, 0.4F), bites(1, 3, 0.1F)};
    struct collide_contact listed[5];
    for (size_t i = 0; i < count; i++) {
        listed[i] = all[order[i]];
    }
    stage_tick(&stage, NULL, 0, listed, (uint32_t)count);
    uint64_t checksum = world_checksum(&stage.world);
    close_stage();
    return checksum;
}

Test(rules_serpent, the_order_of_contacts_decides_nothing)
{
    static const int orders[][5] = {
        {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {3, 4, 0, 2, 1}};
    uint64_t first = melee(orders[0], 5);
    for (size_t i = 1; i < sizeof orders / sizeof orders[0]; i++) {
        cr_assert_eq(melee(orders[i], 5), first, "order %zu", i);
    }
}

Test(rules_serpent, the_dead_turn_into_food_along_their_body, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_start(&stage);
    lay(0, 20, 20);
    at_wall(0, 0.5F);
    stage_pass(&stage, 1);
    uint32_t count = stage_count(&stage, ARB_SERPENT_FOOD);
    cr_assert_geq(count, 4);
    cr_assert_leq(count, 5);
    for (uint32_t i = 0; i < count; i++) {
        const struct world_entity *food = stage_entity(&stage, ARB_SERPENT_FOOD, i);
        cr_assert_eq(food->values[FOOD_VALUE], 3);
        cr_assert_float_eq(food->y, 20, 1e-4F);
        cr_assert_geq(food->x, 16.0F - 1e-3F);
        cr_assert_leq(food->x, 20.0F);
    }
}

Test(rules_serpent, food_beyond_the_most_is_left_out, .fini = close_stage)
{
    open_stage(1, "serpent.food_max=2");
    stage_start(&stage);
    lay(0, 20, 20);
    at_wall(0, 0.5F);
    stage_pass(&stage, 1);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 2);
    stage_pass(&stage, 60);
    cr_assert_not_null(stage_character(&stage, 0), "and takes no serpent's entity");
}

/* ---- food ---- */

static struct arb_key food_key(uint32_t n)
{
    return world_key(&stage.world, stage_entity(&stage, ARB_SERPENT_FOOD, n));
}

Test(rules_serpent, food_makes_longer_up_to_the_most_and_scores_length, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "food", 10, 10, 5, 1.0F);
    stage_start(&stage);
    cr_assert_eq(player(0)->score, 4);
    struct collide_contact contact = stage_touch(stage_key(&stage, 0), food_key(0), 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_float_eq(length_of(0), 6.5F, 1e-6F);
    cr_assert_eq(player(0)->score, 6, "whole metres");
    cr_assert_eq(stage_event_count(&stage, ARB_EVENT_SCORE), 1);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 0);
    stage_pass(&stage, 59);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 0);
    stage_pass(&stage, 1);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 1, "the map's respawn_s");
    serpent_body(&stage.world, stage_character(&stage, 0))->length = 19;
    contact = stage_touch(stage_key(&stage, 0), food_key(0), 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_float_eq(length_of(0), 20.0F, 0);
}

Test(rules_serpent, score_may_count_food_instead, .fini = close_stage)
{
    open_stage(1, "serpent.score=\"food\"");
    stage_add_pickup(&stage, "food", 10, 10, 5, 1.0F);
    stage_start(&stage);
    cr_assert_eq(player(0)->score, 0);
    struct collide_contact contact = stage_touch(stage_key(&stage, 0), food_key(0), 0.5F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_eq(player(0)->score, 5);
}

static uint64_t race(bool swapped, float first, float second, uint16_t winner)
{
    open_stage(2, "serpent.score=\"food\"");
    stage_add_pickup(&stage, "food", 10, 10, 5, 1.0F);
    stage_start(&stage);
    struct collide_contact contacts[2];
    contacts[swapped ? 1 : 0] = stage_touch(stage_key(&stage, 0), food_key(0), first);
    contacts[swapped ? 0 : 1] = stage_touch(stage_key(&stage, 1), food_key(0), second);
    stage_tick(&stage, NULL, 0, contacts, 2);
    cr_assert_eq(player(winner)->score, 5);
    cr_assert_eq(player((uint16_t)(1 - winner))->score, 0);
    uint64_t checksum = world_checksum(&stage.world);
    close_stage();
    return checksum;
}

Test(rules_serpent, food_goes_to_the_first_touch_then_the_lower_slot)
{
    static const struct {
        float first, second;
        uint16_t winner;
    } rows[] = {{0.5F, 0.5F, 0}, {0.6F, 0.5F, 1}, {0.1F, 0.2F, 0}, {0.0F, 0.0F, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(race(false, rows[i].first, rows[i].second, rows[i].winner),
                     race(true, rows[i].first, rows[i].second, rows[i].winner), "row %zu", i);
    }
}

Test(rules_serpent, the_dead_of_a_tick_eat_nothing, .fini = close_stage)
{
    open_stage(1, "serpent.death_food_spacing_m=0");
    stage_add_pickup(&stage, "food", 10, 10, 5, 1.0F);
    stage_start(&stage);
    at_wall(0, 0.9F);
    struct collide_contact contact = stage_touch(stage_key(&stage, 0), food_key(0), 0.1F);
    stage_tick(&stage, NULL, 0, &contact, 1);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 1);
}

Test(rules_serpent, food_is_sown_at_once_then_at_its_rate, .fini = close_stage)
{
    open_stage(1, "serpent.food_count=30");
    ((struct serpent_params *)stage.params)->food_per_s = 6.0F;
    stage_add_box(&stage, (struct arb_vec2){0, 0}, (struct arb_vec2){40, 18});
    stage_start(&stage);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 30);
    for (uint32_t i = 0; i < 30; i++) {
        cr_assert_geq(stage_entity(&stage, ARB_SERPENT_FOOD, i)->y, 18.3F, "not in a wall");
    }
    struct collide_contact eaten[10];
    for (uint32_t i = 0; i < 10; i++) {
        eaten[i] = stage_touch(stage_key(&stage, 0), food_key(i), 0.5F);
    }
    stage_tick(&stage, NULL, 0, eaten, 10);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 20);
    stage_pass(&stage, 60);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 26);
    stage_pass(&stage, 200);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 30);
}

/* ---- boost ---- */

Test(rules_serpent, boost_is_granted_for_length_and_costs_it, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_start(&stage);
    lay(0, 10, 20);
    struct arb_input press = {.sequence = 1, .buttons = ARB_BUTTON_BOOST};
    const struct arb_own *own = &player(0)->own;
    stage_walk(&stage, &press);
    cr_assert_eq(own->boost, 1, "from the next step on");
    cr_assert_eq(player(0)->outside_changes, 1);
    cr_assert_float_eq(own->x, 10 + 5.0F / 60, 1e-4F, "this one was not boosted");
    stage_walk(&stage, &press);
    cr_assert_float_eq(own->x, 10 + 14.0F / 60, 1e-4F);
    cr_assert_float_eq(length_of(0), 4 - 2.0F / 60, 1e-4F);
    int ticks = 0;
    for (; own->boost; ticks++) {
        stage_walk(&stage, &press);
    }
    cr_assert_float_eq(length_of(0), 3.0F, 2.0F / 60);
    cr_assert_leq(length_of(0), 3.0F);
    cr_assert_eq(stage_count(&stage, ARB_SERPENT_FOOD), 2, "one for each half metre");
    uint32_t changes = player(0)->outside_changes;
    stage_walk(&stage, &press);
    cr_assert_eq(own->boost, 0, "held, but too short");
    cr_assert_eq(player(0)->outside_changes, changes);
}

Test(rules_serpent, releasing_ends_boost, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_start(&stage);
    lay(0, 10, 20);
    struct arb_input press = {.sequence = 1, .buttons = ARB_BUTTON_BOOST}, rest = {.sequence = 1};
    stage_walk(&stage, &press);
    stage_walk(&stage, &rest);
    cr_assert_eq(player(0)->own.boost, 0);
    cr_assert_eq(player(0)->outside_changes, 2);
    float length = length_of(0);
    stage_walk(&stage, &rest);
    cr_assert_float_eq(length_of(0), length, 0);
}

/* ---- rounds ---- */

Test(rules_serpent, the_score_limit_ends_the_round, .fini = close_stage)
{
    open_stage(2, "serpent.score_limit=9");
    stage_start(&stage);
    stage_pass(&stage, 1);
    cr_assert_eq(stage.world.head->ended_early, 0);
    stage.world.players[1].score = 9;
    stage_pass(&stage, 1);
    cr_assert_eq(stage.world.head->ended_early, 1);
}

Test(rules_serpent, the_round_ends_without_entities_bodies_or_food, .fini = close_stage)
{
    open_stage(3, "serpent.food_count=10");
    stage_start(&stage);
    stage.rules->round_end(&stage.context);
    world_settle(&stage.world);
    cr_assert_eq(stage.world.head->entity_count, 0);
    cr_assert_eq(serpent_state(&stage.context)->food, 0);
    for (uint16_t i = 0; i < stage.world.head->body_capacity; i++) {
        cr_assert_eq(stage.world.bodies[i].used, 0);
    }
}

Test(rules_serpent, publishes_by_the_units_of_the_schema, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "food", 3, 4, 9, 0);
    stage_start(&stage);
    lay(0, 12.5F, 20);
    stage.world.players[0].own.boost = 1;
    int32_t q[ARB_KIND_FIELDS_MAX] = {0};
    stage.rules->publish(&stage.context, stage_character(&stage, 0), q);
    cr_assert_eq(q[ARB_HEAD_OWNER], 1);
    cr_assert_eq(q[ARB_HEAD_X], 6400);
    cr_assert_eq(q[ARB_HEAD_HEADING], 0);
    cr_assert_eq(q[ARB_HEAD_BOOST], 1);
    cr_assert_eq(q[ARB_HEAD_LENGTH], 256);
    memset(q, 0, sizeof q);
    stage.rules->publish(&stage.context, stage_entity(&stage, ARB_SERPENT_FOOD, 0), q);
    cr_assert_eq(q[ARB_FOOD_VALUE], 9);
    cr_assert_eq(q[ARB_FOOD_Y], 2048);
}

/* Else it would be published with more bits than the field has, and a block saved then be refused.
 */
Test(rules_serpent, goes_on_from_no_food_that_cannot_be_published, .fini = close_stage)
{
    open_stage(1, NULL);
    stage_add_pickup(&stage, "food", 3, 4, 9, 0);
    stage_start(&stage);
    int32_t *value = &stage_entity(&stage, ARB_SERPENT_FOOD, 0)->values[FOOD_VALUE];
    *value = 255;
    cr_assert(stage.rules->check_state(stage.params, &stage.map, &stage.world));
    *value = 256;
    cr_assert_not(stage.rules->check_state(stage.params, &stage.map, &stage.world));
}
