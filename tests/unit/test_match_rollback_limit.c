/* Late inputs where there is no time to run the whole window again (match_limit_rerun). */
#include "server/match/match_rollback.h"
#include "tests/unit/views_rig.h"

enum { WINDOW = 6 };

static void open_window(void)
{
    config.rollback_window_ticks = WINDOW;
    open_match();
    join_live();
}

TestSuite(match_rollback_limit, .init = setup, .fini = close_match);

static void say_one(arb_sequence sequence, arb_tick target)
{
    struct arb_input *input = add_input(packet(0, player(0)->control), sequence, target);
    input->buttons = input->edges = ARB_BUTTON_USE;
}

/* An input for this tick that comes so many ticks later, when ticks may be run again up to the
 * limit. What came of it. */
static struct match_rollback_counts late_by(uint32_t ticks, uint32_t limit)
{
    open_window();
    arb_tick first = match_tick(match);
    say_one(100, first);
    for (uint32_t i = 0; i <= ticks; i++)
        tick();
    match_limit_rerun(match, limit);
    say_one(101, first + 1);
    tick();
    return match_rollback_counts(match);
}

Test(match_rollback_limit, as_late_as_there_is_time_for_acts_in_its_tick)
{
    for (uint32_t ticks = 1; ticks < WINDOW; ticks++) {
        struct match_rollback_counts found = late_by(ticks, ticks);
        cr_expect_eq(found.merged, 1, "%u", ticks);
        cr_expect_eq(found.refused, 0);
        cr_expect_eq(found.lengths[ticks], 1);
        cr_expect_eq(counts(0).edges[1], 2);
        close_match();
    }
    open_window();
}

/* Nothing of it is lost: its press acts with the next input. */
Test(match_rollback_limit, later_than_that_is_late_as_without_a_window)
{
    for (uint32_t ticks = 1; ticks < WINDOW; ticks++) {
        struct match_rollback_counts found = late_by(ticks, ticks - 1);
        cr_expect_eq(found.merged, 0, "%u", ticks);
        cr_expect_eq(found.refused, 1);
        cr_expect_eq(found.reruns, 0);
        cr_expect_eq(found.short_ticks, 1);
        cr_expect_eq(counts(0).inputs_late, 1);
        cr_expect_eq(counts(0).edges[1], 2);
        cr_expect_eq(player(0)->carried_edges, ARB_BUTTON_USE);
        struct arb_input *next = add_input(packet(0, player(0)->control), 102, match_tick(match));
        next->move_x = 1;
        tick();
        cr_expect_eq(player(0)->carried_edges, 0);
        close_match();
    }
    open_window();
}

Test(match_rollback_limit, a_gap_that_there_is_no_time_for_stays_one)
{
    open_window();
    arb_tick first = match_tick(match);
    for (arb_sequence i = 0; i < 5; i++) {
        if (i != 1) say_one(100 + i, first + i);
        tick();
    }
    match_limit_rerun(match, 3);
    say_one(101, first + 1);
    tick();
    cr_expect_eq(match_rollback_counts(match).merged, 0);
    match_limit_rerun(match, UINT32_MAX);
    say_one(101, first + 1);
    tick();
    cr_expect_eq(match_rollback_counts(match).merged, 1, "nothing was settled by it");
}

/* The window still ends when it did. */
Test(match_rollback_limit, what_is_settled_does_not_depend_on_it)
{
    open_window();
    for (uint32_t i = 0; i < 2 * WINDOW; i++) {
        match_limit_rerun(match, 0);
        tick();
    }
    cr_expect_eq(match_settled(match) + WINDOW, match_tick(match));
}

Test(match_rollback_limit, without_a_window_there_is_nothing_to_limit)
{
    open_match();
    match_limit_rerun(match, 0);
    cr_expect_eq(match_rollback_counts(match).short_ticks, 0);
}
