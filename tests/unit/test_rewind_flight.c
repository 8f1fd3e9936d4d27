/* Projectiles against the past of their shooter (spec/lag-compensation.md "More than rays"): who is
 * met between two moments, from the states that one client held, and who is passed. */
#include "server/rewind/rewind_flight.h"
#include "tests/unit/rewind_rig.h"

TestSuite(rewind_flight, .init = setup, .fini = teardown);

/* The target stands at x = 20: until tick 109 and from 117 on at y = 0, in between at y = 8. */
static void dodge(void)
{
    for (arb_tick tick = 100; tick < 120; tick++) {
        float y = tick < 110 || tick > 116 ? 0.0F : 8.0F;
        publish(tick, &(struct stand){.key = target, .x = 20, .y = y}, 1);
    }
}

static arb_fine at(double tick)
{
    return (arb_fine)(tick * ARB_FINE_TICK);
}

/* From x = 18 to x = 22 at that height. */
static struct rewind_flight across(float y, double from, double to)
{
    return (struct rewind_flight){.owner = 3,
                                  .origin = {18, y},
                                  .delta = {4, 0},
                                  .radius = 0.1F,
                                  .from = at(from),
                                  .to = at(to)};
}

static struct rewind_passed passed;
static struct rewind_meeting meeting;

static bool meets(struct rewind_flight flight, const struct rewind_pair *pairs, uint32_t count,
                  double until)
{
    flight.pairs = pairs;
    flight.pair_count = count;
    flight.pairs_until = at(until);
    return rewind_resolve_flight(rewind_, &flight, &meeting, &passed);
}

Test(rewind_flight, a_deferred_target_is_met_between_its_own_states)
{
    dodge();
    struct rewind_pair pair = {target, 108, 118}; /* at rest, on the shooter's screen */
    cr_expect(meets(across(0, 112, 113), &pair, 1, 114));
    cr_expect(arb_key_equal(meeting.victim, target));
    cr_expect_not(meets(across(8, 112, 113), &pair, 1, 114));
    cr_expect(meets(across(0, 115, 116), &pair, 1, 114), "longer than the view's own two frames");
    cr_expect(meets(across(8, 112, 113), NULL, 0, 0), "everybody else saw it there");
    cr_expect_not(meets(across(0, 112, 113), NULL, 0, 0));
}

Test(rewind_flight, past_the_later_of_its_states_a_target_is_as_published)
{
    dodge();
    struct rewind_pair pair = {target, 108, 112};
    cr_expect(meets(across(6.5F, 111, 112), &pair, 1, 112), "three quarters of the way up");
    cr_expect_not(meets(across(6.5F, 111, 112), NULL, 0, 0));
    cr_expect(meets(across(8, 112, 113), &pair, 1, 112));
    cr_expect(meets(across(8, 112, 113), &pair, 1, 114));
}

Test(rewind_flight, one_state_alone_counts_until_news_was_due)
{
    dodge();
    struct rewind_pair pair = {target, 108, 108};
    cr_expect(meets(across(0, 113, 114), &pair, 1, 114));
    cr_expect_not(meets(across(8, 113, 114), &pair, 1, 114));
    cr_expect_not(meets(across(0, 114, 115), &pair, 1, 114));
    cr_expect(meets(across(8, 114, 115), &pair, 1, 114));
}

Test(rewind_flight, who_was_not_held_is_passed_and_counted_once)
{
    dodge();
    struct rewind_pair other = {{9, 1}, 112, 114};
    cr_expect_not(meets(across(8, 112, 113), &other, 0, 114));
    cr_expect_not(meets(across(8, 113, 114), &other, 0, 114));
    cr_expect_eq(passed.unseen_count, 1, "however many pieces of its way lead through it");
    cr_expect(arb_key_equal(passed.unseen[0], target));
    cr_expect(meets(across(8, 114, 115), &other, 0, 114));
    cr_expect_eq(passed.spared_count, 0);
}

Test(rewind_flight, who_is_passed_behind_the_end_does_not_count)
{
    struct stand stands[] = {{.key = {6, 1}, .x = 19}, {.key = {7, 1}, .x = 21}};
    for (arb_tick tick = 100; tick < 104; tick++) {
        publish(tick, stands, 2);
    }
    struct rewind_pair first = {{6, 1}, 100, 102}, second = {{7, 1}, 100, 102};
    cr_expect(meets(across(0, 100, 101), &first, 1, 102));
    cr_expect_eq(meeting.victim.id, 6);
    cr_expect_eq(passed.unseen_count, 0);
    cr_expect(meets(across(0, 100, 101), &second, 1, 102));
    cr_expect_eq(meeting.victim.id, 7);
    cr_expect_eq(passed.unseen_count, 1);
}

/* Where it was drawn, nothing of the newest samples is: the tree does not find it there. */
Test(rewind_flight, states_from_before_the_samples_are_met_too)
{
    teardown();
    create(0);
    for (arb_tick tick = 100; tick < 144; tick++) {
        publish(tick, &(struct stand){.key = target, .x = 20, .y = tick < 101 ? 0.0F : 50.0F}, 1);
    }
    struct rewind_pair pair = {target, 100, 140};
    cr_expect(meets(across(45.6F, 136, 137), &pair, 1, 138));
    cr_expect_not(meets(across(45.6F, 136, 137), NULL, 0, 0));
    cr_expect(meets(across(50, 140, 140.5), &pair, 1, 138), "from its end on it is as published");
}

Test(rewind_flight, an_ability_that_was_not_drawn_yet_spares_until_it_is)
{
    dodge();
    struct rewind_shelter shelter = {target, 113};
    struct rewind_mercy mercy = {.shelters = &shelter, .shelter_count = 1};
    struct rewind_flight flight = across(8, 112, 113);
    flight.mercy = &mercy;
    cr_expect_not(meets(flight, NULL, 0, 0));
    cr_expect_eq(passed.spared_count, 1);
    cr_expect_eq(passed.unseen_count, 0);
    flight = across(8, 113, 114);
    flight.mercy = &mercy;
    cr_expect(meets(flight, NULL, 0, 0));
    cr_expect_eq(passed.spared_count, 1);
}

Test(rewind_flight, what_a_client_knew_with_a_view_ends_with_its_later_frame)
{
    static const struct {
        struct arb_view view;
        double until;
    } rows[] = {
        {{.from_tick = 112, .to_tick = 114, .fraction = 10}, 114},
        {{.from_tick = 106, .to_tick = 114, .fraction = 255}, 114},
        {{.from_tick = 112, .to_tick = 112}, 114},
        {{.from_tick = 112, .to_tick = 112, .fraction = 300}, 114},
        {{.from_tick = 112, .to_tick = 112, .fraction = 700}, 116},
    };
    dodge();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(rewind_flight_held_until(rewind_, &rows[i].view), at(rows[i].until), "row %zu",
                     i);
    }
}
