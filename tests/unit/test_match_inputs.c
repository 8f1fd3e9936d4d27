/* server/match: from packets to the one input of a tick. */
#include "server/match/match_internal.h"
#include "tests/unit/match_rig.h"

TestSuite(match_inputs, .init = defaults, .fini = close_match);

/* Runs 30 ticks of the same walk, its inputs in packets as `arrange` says; returns the checksum. */
static uint64_t walk(int arrangement)
{
    open_match();
    join_live();
    arb_tick first = match_tick(match);
    float last_x = player(0)->own.x;
    for (uint32_t i = 0; i < 30; i++) {
        arb_tick now = match_tick(match);
        if (arrangement == 0 || i % 3 == 0) {
            uint32_t bundle = arrangement == 0 ? 1 : 3;
            struct arb_input_packet *inputs = packet(0, player(0)->control);
            for (uint32_t k = 0; k < bundle; k++) {
                add_input(inputs, i + k + 1, now + k)->move_x = 127;
            }
            if (arrangement == 2) { /* again, and an older one after it */
                queue[queued] = queue[queued - 1];
                queued++;
            }
        }
        tick();
        cr_assert(player(0)->own.x > last_x, "moves evenly, however packets come");
        last_x = player(0)->own.x;
    }
    cr_assert_eq(counts(0).inputs_consumed, 30);
    cr_assert_eq(counts(0).inputs_starved, 0);
    cr_assert_eq(counts(0).inputs_duplicate, arrangement == 2 ? 30 : 0);
    cr_assert_eq(counts(0).inputs_refused, 0);
    cr_assert_eq(match_tick(match), first + 30);
    uint64_t checksum = match_checksum(match);
    close_match();
    return checksum;
}

Test(match_inputs, packets_bundled_or_doubled_give_the_same_state)
{
    uint64_t single = walk(0);
    cr_assert_eq(walk(1), single);
    cr_assert_eq(walk(2), single);
}

Test(match_inputs, a_missing_input_repeats_what_is_held_but_no_press_and_ends_after_the_hold)
{
    config.input_hold_ticks = 5;
    open_match();
    join_live();
    struct arb_input *input = add_input(packet(0, player(0)->control), 1, match_tick(match));
    input->move_x = 127;
    input->buttons = input->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(player(0)->values[0], 1, "one press, one shot");
    for (int i = 0; i < 5; i++) {
        float before = player(0)->own.vx;
        tick();
        cr_assert(player(0)->own.vx >= before, "goes on for the hold");
    }
    tick();
    cr_assert(player(0)->own.vx < 6.0F, "then lets go");
    cr_assert_eq(player(0)->values[0], 1, "a press does not repeat");
    cr_assert_eq(counts(0).inputs_starved, 6);
    cr_assert_eq(counts(0).edges[0], 1);
    cr_assert_eq(player(0)->starved_ticks, 6);
}

Test(match_inputs, nothing_is_starved_before_the_first_input)
{
    open_match();
    join_live();
    for (int i = 0; i < 10; i++) {
        tick();
    }
    cr_assert_eq(counts(0).inputs_starved, 0);
}

Test(match_inputs, first_inputs_that_come_late_were_missing_in_their_ticks)
{
    open_match();
    join_live();
    tick();
    tick();
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    add_input(inputs, 1, match_tick(match) - 2);
    add_input(inputs, 2, match_tick(match) - 1);
    add_input(inputs, 3, match_tick(match));
    tick();
    cr_assert_eq(counts(0).inputs_starved, 2);
    cr_assert_eq(player(0)->starved_ticks, 2);
    inputs = packet(0, player(0)->control);
    add_input(inputs, 4, match_tick(match) - 1);
    tick();
    cr_assert_eq(player(0)->starved_ticks, 3, "counted once, as it went by");
}

/* One packet with a press, aimed along y, for the tick that has just gone by without an input. */
static struct arb_input_packet *press_late(void)
{
    open_match();
    join_live();
    add_input(packet(0, player(0)->control), 1, match_tick(match));
    tick();
    tick();
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    struct arb_input *late = add_input(inputs, 2, match_tick(match) - 1);
    late->edges = ARB_BUTTON_FIRE;
    late->aim = 16384;
    return inputs;
}

Test(match_inputs, a_late_press_goes_once_into_the_next_input)
{
    struct arb_input_packet *inputs = press_late();
    add_input(inputs, 3, match_tick(match));
    tick();
    cr_assert_eq(counts(0).inputs_late, 1);
    cr_assert_eq(counts(0).edges[0], 1);
    cr_assert_eq(player(0)->values[0], 1, "the shot leaves");
    cr_assert_eq(shots_seen[0].action, 2, "its client knows it by the input that pressed");
    cr_assert_eq(player(0)->carried_edges, 0);
    cr_assert_eq(player(0)->last_sequence, 3);
    add_input(packet(0, player(0)->control), 4, match_tick(match));
    tick();
    cr_assert_eq(player(0)->values[0], 1, "once");
}

/* Inputs that were made for those ticks would have had these sequences. */
Test(match_inputs, held_fire_of_missing_inputs_has_their_actions)
{
    open_match();
    match->move.weapons[0].automatic = 1;
    join_live();
    struct arb_input *input = add_input(packet(0, player(0)->control), 7, match_tick(match));
    input->buttons = input->edges = ARB_BUTTON_FIRE;
    for (uint16_t i = 0; i < 5; i++) {
        tick();
        cr_assert_eq(player(0)->values[0], i + 1);
        cr_expect_eq(shots_seen[0].action, 7 + i);
        cr_expect_eq(shots_seen[0].sequence, i == 0 ? 7 : 0);
    }
}

Test(match_inputs, a_carried_shot_keeps_its_aim_and_starts_where_the_player_is)
{
    struct arb_input_packet *inputs = press_late();
    struct arb_input *next = add_input(inputs, 3, match_tick(match));
    next->move_x = 127;
    tick();
    cr_assert_float_eq(shot_ray.direction.y, 1.0F, 1e-6, "the aim of the press");
    cr_assert_eq(shot_ray.origin.x, player(0)->own.x, "the present place, after the move");
}

Test(match_inputs, a_shot_starts_between_the_places_of_its_own_input_and_the_one_before)
{
    open_match();
    join_live();
    float places[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct arb_input *input =
            add_input(packet(0, player(0)->control), i + 1, match_tick(match));
        input->move_x = 127;
        input->edges = i == 2 ? ARB_BUTTON_FIRE : 0;
        input->muzzle_fraction = 64;
        input->aim = 32768;
        tick();
        places[i] = player(0)->own.x;
    }
    cr_assert_lt(places[1], places[2]);
    cr_assert_float_eq(shot_ray.origin.x, places[1] + 0.25F * (places[2] - places[1]), 1e-5);
    cr_assert_float_eq(shot_ray.direction.x, -1.0F, 1e-6);
    arb_tick published = match_tick(match) - 2;
    cr_assert(shot_ray.view.from_tick == published && shot_ray.view.to_tick == published,
              "the newest frame that there was at stage 6");
}

Test(match_inputs, of_two_late_presses_of_a_button_the_first_is_carried)
{
    open_match();
    join_live();
    add_input(packet(0, player(0)->control), 1, match_tick(match));
    for (int i = 0; i < 3; i++) {
        tick();
    }
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    for (uint32_t i = 0; i < 2; i++) {
        struct arb_input *late = add_input(inputs, i + 2, match_tick(match) - 2 + i);
        late->edges = ARB_BUTTON_FIRE;
        late->aim = (uint16_t)(16384 * (i + 1));
    }
    tick();
    cr_assert_eq(player(0)->carried_edges, ARB_BUTTON_FIRE);
    cr_assert_eq(player(0)->carried_aim, 16384);
    cr_assert_eq(counts(0).inputs_late, 2);
    cr_assert_eq(counts(0).inputs_refused, 1, "the second");
    add_input(packet(0, player(0)->control), 4, match_tick(match));
    tick();
    cr_assert_eq(player(0)->values[0], 1, "one shot");
}

Test(match_inputs, a_late_press_for_another_character_is_counted_and_not_carried)
{
    for (int difference = -1; difference <= 1; difference += 2) {
        open_match();
        join_live();
        add_input(packet(0, player(0)->control), 1, match_tick(match));
        tick();
        tick();
        uint8_t other = (uint8_t)(player(0)->control + difference);
        add_input(packet(0, other), 2, match_tick(match) - 1)->edges = ARB_BUTTON_FIRE;
        add_input(packet(0, player(0)->control), 3, match_tick(match));
        tick();
        cr_assert_eq(counts(0).inputs_late, 1);
        cr_assert_eq(counts(0).edges[0], 1);
        cr_assert_eq(player(0)->carried_edges, 0);
        cr_assert_eq(player(0)->values[0], 0, "no shot of this one");
        close_match();
    }
}

Test(match_inputs, an_input_is_done_once_also_when_its_place_in_the_buffer_comes_round)
{
    open_match();
    join_live();
    struct arb_input *input = add_input(packet(0, player(0)->control), 1, match_tick(match));
    input->edges = ARB_BUTTON_FIRE;
    for (int i = 0; i < 100; i++) {
        tick();
    }
    cr_assert_eq(counts(0).inputs_consumed, 1);
    cr_assert_eq(counts(0).inputs_starved, 99);
    cr_assert_eq(player(0)->values[0], 1, "one shot");
}

Test(match_inputs, a_press_later_than_the_buffer_is_long_is_dropped)
{
    open_match();
    join_live();
    for (int i = 0; i < 40; i++) {
        tick();
    }
    add_input(packet(0, player(0)->control), 1, match_tick(match) - 31)->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(counts(0).inputs_late, 1);
    cr_assert_eq(counts(0).edges[0], 0);
    cr_assert_eq(player(0)->carried_edges, 0);
    cr_assert_eq(player(0)->last_sequence, 1, "the client need not send it again");
    add_input(packet(0, player(0)->control), 2, match_tick(match) - 30)->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(counts(0).edges[0], 1, "late by as much as the buffer is long");
    cr_assert_eq(player(0)->carried_edges, ARB_BUTTON_FIRE);
}

Test(match_inputs, inputs_too_far_ahead_are_refused_and_may_come_again)
{
    open_match();
    join_live();
    arb_tick target = match_tick(match) + 31;
    add_input(packet(0, player(0)->control), 1, target);
    tick();
    cr_assert_eq(counts(0).inputs_refused, 1);
    add_input(packet(0, player(0)->control), 1, target);
    for (int i = 0; i < 31; i++) {
        tick();
    }
    cr_assert_eq(counts(0).inputs_consumed, 1);
}

/* A character that ends and the next one that begins in the same stage 7. */
static void swap_character(struct rules_context *context)
{
    probe_player_left(context, 0);
    probe_spawn(context, 0);
    struct arb_own *own = &context->world->players[0].own;
    own->x = 20.0F;
    world_find(context->world, context->world->players[0].controlled)->x = 20.0F;
}

Test(match_inputs, no_muzzle_lies_between_two_characters)
{
    open_match();
    join_live();
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1) {
            swap_character(&match->context);
        }
        add_input(packet(0, player(0)->control), i + 1, match_tick(match));
        tick();
    }
    struct arb_vec2 origin;
    cr_assert_not(rewind_origin(match_rewind(match), 0, 1, 255, &origin), "of the one before");
    cr_assert(rewind_origin(match_rewind(match), 0, 2, 0, &origin));
    cr_assert_float_eq(origin.x, 20.0F, 1e-6);
}

Test(match_inputs, one_input_a_tick_whatever_a_client_sends)
{
    open_match();
    join_live();
    arb_tick now = match_tick(match);
    add_input(packet(0, player(0)->control), 1, now)->move_x = 127;
    add_input(packet(0, player(0)->control), 2, now)->move_x = 127;
    add_input(packet(0, player(0)->control), 3, now)->move_x = 127;
    tick();
    cr_assert_eq(counts(0).inputs_consumed, 1);
    cr_assert_eq(counts(0).inputs_refused, 2);
}

Test(match_inputs, inputs_of_another_control_number_steer_nothing_but_their_presses_count)
{
    open_match();
    join_live();
    uint8_t control = player(0)->control;
    struct arb_input *input = add_input(packet(0, (uint8_t)(control + 1)), 1, match_tick(match));
    input->move_x = 127;
    input->edges = input->buttons = ARB_BUTTON_FIRE;
    tick();
    cr_assert(player(0)->own.vx == 0.0F);
    cr_assert_eq(player(0)->values[0], 0);
    cr_assert_eq(counts(0).edges[0], 1);
    struct arb_input_packet *mixed = packet(0, control);
    add_input(mixed, 2, match_tick(match))->move_x = 127;
    add_input(mixed, 3, match_tick(match) + 1)->move_x = 127;
    mixed->older_count = 1;
    tick();
    cr_assert(player(0)->own.vx == 0.0F, "the older one is of an earlier control");
    tick();
    cr_assert(player(0)->own.vx > 0.0F);
}

Test(match_inputs, the_worst_lead_since_the_last_snapshot_is_told)
{
    open_match();
    join_live();
    if (match_tick(match) % 2 != 1) {
        tick(); /* the coming two ticks share one snapshot */
    }
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    add_input(inputs, 1, match_tick(match) + 5);
    add_input(inputs, 2, match_tick(match) + 6);
    tick();
    add_input(packet(0, player(0)->control), 3, match_tick(match) + 6);
    tick();
    bool told = false;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_SNAPSHOT) {
            cr_assert_eq(sent[i].chunk.header.buffer_ticks, 5);
            cr_assert(arb_key_equal(sent_snapshot(i).controlled, player(0)->controlled));
            told = true;
        }
    }
    cr_assert(told);
    tick();
    tick();
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_SNAPSHOT) {
            cr_assert_eq(sent[i].chunk.header.buffer_ticks, MATCH_NO_LEAD, "none came since");
        }
    }
}
