/* Late inputs where it is easy to be wrong: liars' sequences, views of shots that were assumed,
 * events of what is gone by the time that they are told, a restore into a match that has run. */
#include "server/match/match_past.h"
#include "server/match/match_rollback.h"
#include "server/match/match_save.h"
#include "server/match/rollback_internal.h"
#include "tests/unit/views_rig.h"

enum { WINDOW = 6 };

static void open_window(void)
{
    config.rollback_window_ticks = WINDOW;
    open_match();
}

TestSuite(match_rollback_corners, .init = setup, .fini = close_match);

static void say_one(arb_sequence sequence, arb_tick target)
{
    struct arb_input *input = add_input(packet(0, player(0)->control), sequence, target);
    input->buttons = input->edges = ARB_BUTTON_USE;
}

/* ---- sequences ---- */

/* Sequences 100 to 109, each in its own tick but that of 105, which is missing when this returns.
 * Returns the tick of 100. */
static arb_tick play_with_a_gap(void)
{
    open_window();
    join_live();
    arb_tick first = match_tick(match);
    for (arb_sequence i = 0; i < 10; i++) {
        if (i != 5) say_one(100 + i, first + i);
        tick();
    }
    return first;
}

Test(match_rollback_corners, a_sequence_that_was_taken_fills_no_gap)
{
    static const arb_sequence liars[] = {99, 100, 104, 106, 109};
    for (size_t i = 0; i < 5; i++) {
        arb_tick first = play_with_a_gap();
        uint32_t edges = counts(0).edges[1];
        say_one(liars[i], first + 5);
        tick();
        cr_expect_eq(match_rollback_counts(match).merged, 0, "%u", liars[i]);
        cr_expect_eq(counts(0).edges[1], edges);
        close_match();
    }
    arb_tick first = play_with_a_gap();
    say_one(105, first + 5);
    tick();
    cr_expect_eq(match_rollback_counts(match).merged, 1);
}

Test(match_rollback_corners, an_old_sequence_is_none_again_when_its_tick_is_settled)
{
    arb_tick first = play_with_a_gap();
    for (uint32_t i = 0; i < 2 * WINDOW; i++)
        tick();
    cr_assert_gt(match_settled(match), first + 10);
    struct arb_counts before = counts(0);
    for (arb_sequence sequence = 1; sequence < 110; sequence += 12)
        say_one(sequence, match_tick(match) + sequence % 5);
    for (uint32_t i = 0; i < WINDOW; i++)
        tick();
    cr_expect_eq(counts(0).edges[1], before.edges[1]);
    cr_expect_eq(counts(0).inputs_duplicate, before.inputs_duplicate + 10);
    cr_expect_eq(player(0)->last_sequence, 109);
}

Test(match_rollback_corners, what_came_too_late_does_not_come_again_for_another_tick)
{
    arb_tick first = play_with_a_gap();
    for (uint32_t i = 0; i < 2 * WINDOW; i++)
        tick();
    say_one(110, first + 11); /* too late: its press waits for the next input */
    tick();
    cr_assert_eq(match_rollback_counts(match).refused, 1);
    say_one(110, match_tick(match) - 1);
    tick();
    cr_expect_eq(match_rollback_counts(match).merged, 0);
}

Test(match_rollback_corners, an_old_sequence_takes_the_place_of_no_later_one)
{
    play_with_a_gap();
    for (uint32_t i = 0; i < 2 * WINDOW; i++)
        tick();
    arb_tick target = match_tick(match) - 1;
    say_one(3, target);
    say_one(110, target);
    tick();
    cr_expect_eq(match_rollback_counts(match).merged, 1);
    cr_expect_eq(player(0)->last_sequence, 110);
}

/* ---- the end ---- */

Test(match_rollback_corners, an_abort_is_final_at_once_and_waits_for_no_input)
{
    open_window();
    join_live();
    for (uint32_t i = 0; i < 2 * WINDOW; i++)
        tick(); /* whoever plays says nothing */
    cr_assert_eq(match_settled(match), match_tick(match) - WINDOW);
    match_abort(match, ARB_END_ABORTED);
    tick();
    cr_expect_eq(match_settled(match), match_tick(match));
    cr_expect(match_decided(match) && match_ended(match));
    bool told = false;
    for (uint32_t k = 0; k < sent_count; k++)
        told |= sent[k].type == ARB_MESSAGE_EVENT && sent[k].event.kind == ARB_EVENT_RESULT;
    cr_expect(told);
    say_one(1, match_tick(match) - 1); /* of the tick that aborted it */
    arb_tick settled = match_settled(match);
    tick();
    cr_expect_eq(match_rollback_counts(match).merged, 0);
    cr_expect_geq(match_settled(match), settled);
}

/* ---- views ---- */

/* Of a weapon that goes on firing, for four ticks; returns the newest view. */
static struct arb_view hold_the_trigger(void)
{
    struct arb_view newest = {0};
    client.wait = 0;
    open_window();
    match->move.weapons[0].automatic = 1;
    join_live();
    warm_up(60);
    for (uint32_t i = 0; i < 4; i++) {
        newest = say_input(ARB_BUTTON_FIRE)->view;
        run_tick();
    }
    return newest;
}

Test(match_rollback_corners, the_view_of_a_late_shot_is_its_own_and_not_that_of_what_was_assumed)
{
    struct arb_view before = hold_the_trigger();
    arb_tick lost = match_tick(match);
    client.sequence++;
    run_tick();
    const struct match_record *record = match_past_record(match->past, lost);
    cr_assert_eq(record->view_count, 1, "the trigger is held");
    cr_assert_neq(memcmp(&record->views[0].view, &before, sizeof before), 0, "and time goes on");

    struct arb_input *now = say_input(ARB_BUTTON_FIRE);
    struct arb_input_packet *into = &queue[queued - 1].inputs;
    into->inputs[1] = *now;
    into->count = 2;
    now->sequence = client.sequence - 1;
    now->target_tick = lost;
    now->view = before; /* two inputs of one picture */
    run_tick();
    cr_assert_eq(match_rollback_counts(match).merged, 1);
    cr_assert_eq(not_honoured(), 0);
    record = match_past_record(match->past, lost);
    cr_assert_eq(record->view_count, 1);
    cr_expect_eq(memcmp(&record->views[0].view, &before, sizeof before), 0);
    cr_expect_gt(record->views[0].pair_count, 0);
    cr_expect_eq(record->pair_count, record->views[0].pair_count);
}

Test(match_rollback_corners, a_shot_behind_a_newer_one_may_not_step_in_its_lag)
{
    client.delay = 8 * ARB_FINE_TICK;
    open_window();
    join_live();
    warm_up(60);
    for (uint32_t i = 0; i < 40; i++) {
        say_input(ARB_BUTTON_FIRE);
        run_tick();
    }
    cr_assert_eq(not_honoured(), 0);
    client.sequence++;
    run_tick();
    struct arb_held held = held_then();
    arb_tick newest = say_input(ARB_BUTTON_FIRE)->target_tick;
    queue[queued] = queue[queued - 1];
    struct arb_input *gap = &queue[queued++].inputs.inputs[0];
    gap->sequence--;
    gap->target_tick--;
    arb_held_find(&held, drawn_at() + 5 * ARB_FINE_TICK, &gap->view);
    run_tick();
    cr_expect_eq(claims(MATCH_VIEW_BACKWARD), 1, "the one behind it had drawn an older picture");
    cr_expect_eq(match->seats[0].views.lag_target, newest, "it goes on from the newer one");
}

/* Fires each tick; one input comes LATE ticks later than it should, in its own packet. The next one
 * of its session was there in time. `step`: of its view, in ticks. */
static void fire_with_a_gap(int step)
{
    enum { LATE = 10 };
    static struct port_message lost;
    config.rollback_window_ticks = LATE + 2;
    config.lagcomp.view_tolerance_ms = 50;
    client.wait = 0;
    open_match();
    join_live();
    warm_up(60);
    for (uint32_t i = 0; i < 40; i++) {
        struct arb_input *input = say_input(ARB_BUTTON_FIRE);
        if (i == 20) {
            struct arb_held held = held_then();
            arb_held_find(&held, drawn_at() + step * ARB_FINE_TICK, &input->view);
            lost = queue[--queued];
        }
        if (i == 20 + LATE) queue[queued++] = lost;
        run_tick();
    }
    cr_assert_eq(match_rollback_counts(match).merged, 1);
}

Test(match_rollback_corners, a_shot_that_fills_a_gap_stands_between_its_neighbours)
{
    fire_with_a_gap(0);
    cr_expect_eq(not_honoured(), 0);
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 40);
    for (int step = -2; step <= 2; step += 4) {
        close_match();
        setup();
        fire_with_a_gap(step);
        cr_expect_eq(claims(MATCH_VIEW_BACKWARD), 1, "%d", step);
        cr_expect_eq(claims(MATCH_VIEW_HONOURED), 39);
    }
}

Test(match_rollback_corners, a_trigger_that_is_held_goes_on_from_the_view_of_what_came_late)
{
    struct arb_view before = hold_the_trigger();
    arb_tick lost = match_tick(match);
    for (uint32_t i = 0; i < 3; i++) {
        client.sequence++;
        run_tick();
    }
    const struct match_record *next = match_past_record(match->past, lost + 1);
    cr_assert_eq(next->view_count, 1);
    cr_expect_eq(arb_view_at(&next->views[0].view), arb_view_at(&before) + 2 * ARB_FINE_TICK);

    struct arb_input_packet *into = packet(0, player(0)->control);
    struct arb_input *input = add_input(into, client.sequence - 2, lost);
    input->buttons = input->edges = ARB_BUTTON_FIRE;
    input->view = before; /* two inputs of one picture */
    run_tick();
    cr_assert_eq(match_rollback_counts(match).merged, 1);
    cr_assert_eq(not_honoured(), 0);
    next = match_past_record(match->past, lost + 1);
    cr_assert_eq(next->view_count, 1);
    cr_expect_eq(arb_view_at(&next->views[0].view), arb_view_at(&before) + ARB_FINE_TICK);
    for (arb_tick tick = lost; tick < lost + 3; tick++) {
        const struct match_record *record = match_past_record(match->past, tick);
        cr_assert_eq(record->view_count, 1);
        cr_expect_lt(record->views[0].view.to_tick, tick, "nothing of a later tick");
    }
}

/* ---- events ---- */

/* A thing that both see comes with tick `thing_from` and ends with `thing_to`, which is told. */
static arb_tick thing_from, thing_to;
static struct arb_key thing;

static void come_and_go(struct rules_context *context)
{
    struct world *world = context->world;
    if (world->head->tick == thing_from) {
        thing = world_spawn(world, ARB_ARENA_CHARACTER);
        struct world_entity *entity = world_find(world, thing);
        entity->owner = 1;
        entity->flags |= WORLD_ENTITY_ALWAYS_RELEVANT;
    }
    if (world->head->tick == thing_to) {
        struct arb_event event = {.kind = ARB_EVENT_IMPACT};
        rules_emit_about(context, 0, thing, ARB_KEY_NONE, &event);
        world_remove(world, thing);
    }
}

Test(match_rollback_corners, who_saw_what_an_event_is_about_is_told_when_it_is_gone)
{
    probe_hook = come_and_go;
    open_window();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    thing_from = match_tick(match) + 12;
    thing_to = thing_from + 8;
    uint32_t told[2] = {0};
    for (uint32_t i = 0; i < 40; i++) {
        tick();
        for (uint32_t k = 0; k < sent_count; k++) {
            bool impact =
                sent[k].type == ARB_MESSAGE_EVENT && sent[k].event.kind == ARB_EVENT_IMPACT;
            told[sent[k].session] += impact;
        }
        bool due = match_settled(match) > thing_to;
        cr_assert_eq(told[0], due);
        cr_assert_eq(told[1], due, "it was in its snapshots, in tick %u", i);
    }
    cr_assert_eq(told[1], 1);
}

/* ---- restore ---- */

Test(match_rollback_corners, a_match_that_is_restored_to_its_own_tick_goes_on_from_there)
{
    static uint8_t block[16 << 20];
    struct match_save_error error;
    arb_tick first = play_with_a_gap();
    say_one(105, first + 5);
    tick();
    uint32_t bytes = match_save(match, MATCH_SAVE_WHOLE, block, sizeof block);
    uint64_t checksum = match_checksum(match);
    close_match();

    open_window();
    join_live();
    while (match_tick(match) < first + 11)
        tick();
    cr_assert_neq(match_checksum(match), checksum);
    cr_assert_eq(match_restore(match, block, bytes, &error), ARB_OK, "%s", error.text);
    arb_tick now = match_tick(match);
    cr_assert_eq(now, first + 11);
    cr_expect_eq(match_settled(match), now, "nothing of before can change");
    cr_expect_eq(match_settled_checksum(match, now), checksum);
    tick();
    cr_expect_eq(match_past_oldest(match->past), now);
    cr_expect_eq(match_past_checksum(match->past, now), checksum);
}

/* ---- spectators ---- */

Test(match_rollback_corners, a_spectator_without_delay_is_told_what_is_not_settled)
{
    config.spectator_max = 1;
    open_window();
    join_live();
    say(PORT_JOIN, 1);
    queue[queued - 1].role = ARB_ROLE_SPECTATOR;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < 30; i++) {
        tick();
        for (uint32_t k = 0; k < sent_count; k++) {
            if (sent[k].type != ARB_MESSAGE_SNAPSHOT || sent[k].session != 1) continue;
            cr_assert_eq(sent[k].chunk.header.confirmed_tick, match_settled(match) - 1);
            seen++;
        }
    }
    cr_assert_gt(seen, 4);
}
