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

/* What was known with a view whose later frame is at `until`. */
static bool meets(struct rewind_flight flight, const struct rewind_pair *pairs, uint32_t count,
                  arb_tick until)
{
    struct rewind_seen seen = {
        .view = {.from_tick = until - 2, .to_tick = until}, .pairs = pairs, .pair_count = count};
    flight.seen = &seen;
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
    static const struct rewind_pair nobody[1];
    dodge();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rewind_seen seen = {.view = rows[i].view, .pairs = nobody};
        struct rewind_past past = rewind_flight_past(rewind_, &seen, at(115));
        cr_expect_eq(past.pairs_until, at(rows[i].until), "row %zu", i);
    }
}

/* Between the snapshots that the client held: with the view those of 104 and 106. */
Test(rewind_flight, a_moment_stands_between_two_snapshots_that_were_held)
{
    static const struct {
        uint64_t later; /* 108, 110, ... */
        double at;
        arb_tick from, to;
        uint16_t fraction;
    } rows[] = {
        {0, 107, 106, 108, 128},
        {0, 108.5, 108, 110, 64},
        {1, 109, 108, 110, 128},
        {2, 107, 106, 110, 64},
        {2, 109, 106, 110, 192},
        {2, 111, 110, 112, 128},
        {9, 112, 108, 114, 170},
        {9, 113, 108, 114, 213},
        {9, 114, 114, 116, 0},
        {0, 105, 104, 106, 128},
        {0, 118.5, 118, 118, 128},
        {UINT64_C(1) << 60, 117, 106, 118, 234},
        {UINT64_MAX, 117, 116, 118, 128},
    };
    static const struct rewind_pair nobody[1];
    dodge();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rewind_seen seen = {
            .view = {.from_tick = 104, .to_tick = 106}, .later = rows[i].later, .pairs = nobody};
        struct arb_view view = rewind_flight_past(rewind_, &seen, at(rows[i].at)).view;
        cr_expect_eq(view.from_tick, rows[i].from, "row %zu: %u", i, (unsigned)view.from_tick);
        cr_expect_eq(view.to_tick, rows[i].to, "row %zu: %u", i, (unsigned)view.to_tick);
        cr_expect_eq(view.fraction, rows[i].fraction, "row %zu: %u", i, view.fraction);
    }
    struct rewind_seen all = {.view = {.from_tick = 104, .to_tick = 106}, .later = 2};
    cr_expect_eq(rewind_flight_past(rewind_, &all, at(107)).view.to_tick, 108,
                 "no client, no loss");
}

/* Of the snapshots 110 to 116 none came: past the dodge it was drawn in a straight line. */
Test(rewind_flight, past_what_the_view_knew_lines_go_on_to_what_was_held)
{
    dodge();
    struct rewind_pair pair = {target, 106, 108};
    struct rewind_seen seen = {.view = {.from_tick = 106, .to_tick = 108},
                               .later = 1 << 4,
                               .pairs = &pair,
                               .pair_count = 1};
    struct rewind_flight flight = across(0, 112, 113);
    flight.seen = &seen;
    cr_expect(rewind_resolve_flight(rewind_, &flight, &meeting, &passed));
    seen.later = 1 << 1;
    cr_expect_not(rewind_resolve_flight(rewind_, &flight, &meeting, &passed));
    flight = across(8, 112, 113);
    flight.seen = &seen;
    cr_expect(rewind_resolve_flight(rewind_, &flight, &meeting, &passed));
}
