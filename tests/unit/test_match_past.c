/* server/match gone back and run again: the same course, and nobody notices. */
#include "server/match/match_past.h"
#include "tests/unit/match_rig.h"

#include <stdio.h>

enum { BACK = 20 };

static void open_past(void)
{
    config.back_ticks = BACK;
    open_match();
}

TestSuite(match_past, .init = defaults, .fini = close_match);

/* Ticks that are all run again from as far back as can be. */
static void pass(uint32_t ticks)
{
    char text[256] = "";
    for (uint32_t i = 0; i < ticks; i++) {
        tick();
        cr_assert(match_repeats(match, BACK, text, sizeof text), "%s", text);
    }
}

static void walk(uint16_t session, arb_sequence sequence, uint16_t edges)
{
    struct arb_input *input =
        add_input(packet(session, player(session)->control), sequence, match_tick(match));
    input->move_x = (int8_t)(sequence * 17);
    input->buttons = input->edges = edges;
}

Test(match_past, who_comes_goes_and_is_away_does_so_again)
{
    config.min_players = 1;
    config.countdown_s = 1;
    config.duration_s = 2;
    config.result_s = 1;
    config.rounds = 2;
    config.rejoin_grace_s = 1;
    config.idle_exit_s = 1;
    open_past();
    say(PORT_JOIN, 0);
    pass(100);
    say(PORT_JOIN, 1);
    for (arb_sequence i = 1; i < 40; i++) {
        walk(0, i, i % 3 == 0 ? ARB_BUTTON_FIRE : 0);
        pass(1);
    }
    say(PORT_LOST, 1);
    pass(30);
    say(PORT_LEAVE, 0);
    pass(1);
    for (int i = 0; i < 600 && !match_ended(match); i++) {
        pass(1);
    }
    cr_assert(match_ended(match));
    cr_assert_eq(match->world.head->end_reason, ARB_END_EMPTY);
    pass(BACK + 2);
}

Test(match_past, only_so_many_ticks_are_kept)
{
    open_past();
    for (uint32_t i = 1; i < BACK + 5; i++) {
        pass(1);
        cr_assert_eq(match_past_newest(match->past), match_tick(match));
        cr_assert_eq(match_tick(match) - match_past_oldest(match->past), i < BACK ? i : BACK);
    }
}

static uint32_t looked;

static void look(void *owner, uint16_t slot, const struct arb_input *input, uint8_t control,
                 const struct arb_input *applied)
{
    (void)owner, (void)slot, (void)input, (void)control, (void)applied;
    looked++;
}

Test(match_past, a_tick_that_is_run_again_is_neither_seen_nor_counted_nor_told)
{
    open_past();
    match_observe(match, &(struct match_observer){.input = look});
    join_live();
    looked = 0;
    struct arb_counts before = counts(0);
    for (arb_sequence i = 1; i <= 30; i++) {
        walk(0, i, ARB_BUTTON_USE);
        pass(1);
    }
    cr_assert_eq(looked % 30, 0);
    cr_assert_leq(looked, 60, "once for each player and tick");
    cr_assert_eq(counts(0).inputs_consumed - before.inputs_consumed, 30);
    cr_assert_eq(counts(0).ticks - before.ticks, 30);
    uint32_t told = sent_count;
    char text[256];
    cr_assert(match_repeats(match, BACK, text, sizeof text));
    cr_assert_eq(sent_count, told);
}

Test(match_past, another_course_is_told_by_tick_and_field)
{
    char text[256] = "", expected[64];
    open_past();
    join_live();
    pass(5);
    match->world.players[0].outside_changes += 3;
    cr_assert_not(match_repeats(match, BACK, text, sizeof text));
    cr_assert_not_null(strstr(text, "than when its tick ended: players[0].outside_changes: "), "%s",
                       text);
    tick();
    cr_assert_not(match_repeats(match, BACK, text, sizeof text));
    snprintf(expected, sizeof expected, "S[%llu] is another one",
             (unsigned long long)match_tick(match));
    cr_assert_eq(strncmp(text, expected, strlen(expected)), 0, "%s", text);
    cr_assert_not_null(strstr(text, "players[0].outside_changes: "), "%s", text);
}
