/* Which states a view is drawn from: the rule of both ends (shared/view/arb_held.h). */
#include "shared/view/arb_held.h"

#include <criterion/criterion.h>

enum { FRAMES = 8, ENTRIES = 4 };

static struct arb_held_entry entries[FRAMES][ENTRIES];
static struct arb_held held;

static void frame(arb_tick tick, uint32_t id)
{
    struct arb_held_frame *out = &held.frames[held.count];
    *out = (struct arb_held_frame){.tick = tick, .id = id, .entries = entries[held.count]};
    held.count++;
}

static void entry(uint16_t id, uint16_t generation, uint16_t age)
{
    struct arb_held_frame *out = &held.frames[held.count - 1];
    cr_assert(out->count < ENTRIES);
    entries[held.count - 1][out->count++] = (struct arb_held_entry){{id, generation}, age, 0};
}

static void setup(void)
{
    held.count = 0;
}

TestSuite(view_held, .init = setup);

static arb_fine ticks(double at)
{
    return (arb_fine)(at * ARB_FINE_TICK);
}

static struct arb_held_place place_at(double at)
{
    struct arb_view view;
    struct arb_held_place place;
    cr_assert(arb_held_find(&held, ticks(at), &view));
    cr_assert(arb_held_place(&held, &view, &place));
    return place;
}

Test(view_held, a_moment_stands_between_the_frames_around_it)
{
    static const struct {
        double at;
        arb_tick from, to;
        uint16_t fraction;
    } rows[] = {
        {100, 100, 104, 0},   {101, 100, 104, 64},    {103.999, 100, 104, 255},
        {104, 104, 105, 0},   {104.5, 104, 105, 128}, {105, 105, 105, 0},
        {107, 105, 105, 512}, {500, 105, 105, 65535},
    };
    frame(100, 7), frame(104, 8), frame(105, 9);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_view view;
        cr_assert(arb_held_find(&held, ticks(rows[i].at), &view));
        cr_expect_eq(view.from_tick, rows[i].from, "row %zu", i);
        cr_expect_eq(view.to_tick, rows[i].to, "row %zu", i);
        cr_expect_eq(view.fraction, rows[i].fraction, "row %zu", i);
        cr_expect_eq(view.held, 9, "row %zu", i);
    }
    struct arb_view view;
    cr_expect(!arb_held_find(&held, ticks(99.9), &view), "all frames lie ahead");
}

/* A pair far apart has steps that are no whole 1/65536 tick: both ends round them alike. */
Test(view_held, what_is_found_is_placed_at_the_same_moment)
{
    frame(1000, 1), frame(1003, 2), frame(1010, 3);
    for (arb_fine at = ticks(1000); at < ticks(1015); at += 997) {
        struct arb_view view;
        struct arb_held_place place;
        cr_assert(arb_held_find(&held, at, &view));
        cr_assert(arb_held_place(&held, &view, &place));
        cr_assert_eq(place.at, arb_view_at(&view));
        cr_assert(place.at <= at && at - place.at < ticks(7.0 / 256) + 1);
        arb_tick from = held.frames[place.from].tick;
        cr_assert(place.at >= (arb_fine)from * ARB_FINE_TICK);
    }
}

Test(view_held, a_view_that_cannot_be_drawn_is_no_view)
{
    static const struct {
        struct arb_view view;
        bool good;
    } rows[] = {
        {{.from_tick = 100, .to_tick = 104, .fraction = 256}, true},
        {{.from_tick = 100, .to_tick = 104, .fraction = 257}, false}, /* over 1 */
        {{.from_tick = 100, .to_tick = 105}, false},                  /* not in a row */
        {{.from_tick = 104, .to_tick = 100}, false},                  /* backwards */
        {{.from_tick = 100, .to_tick = 100}, false},                  /* newer ones were held */
        {{.from_tick = 105, .to_tick = 105, .fraction = 65535}, true},
        {{.from_tick = 101, .to_tick = 104}, false}, /* never sent */
        {{.from_tick = 105, .to_tick = 109}, false},
        {{.from_tick = 0, .to_tick = 0}, false},
    };
    frame(100, 7), frame(104, 8), frame(105, 9);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_held_place place;
        cr_expect_eq(arb_held_place(&held, &rows[i].view, &place), rows[i].good, "row %zu", i);
    }
    struct arb_held none = {0};
    struct arb_held_place place;
    cr_expect(!arb_held_place(&none, &rows[0].view, &place));
}

Test(view_held, a_whole_fraction_is_the_later_frame)
{
    frame(100, 7), entry(1, 1, 0);
    frame(104, 8), entry(1, 1, 0), entry(2, 1, 0);
    struct arb_view view = {.from_tick = 100, .to_tick = 104, .fraction = 256};
    struct arb_held_place place;
    struct arb_held_states states;
    cr_assert(arb_held_place(&held, &view, &place));
    cr_assert(arb_held_states(&held, &place, (struct arb_key){2, 1}, &states));
    cr_expect_eq(states.from_tick, 104);
}

Test(view_held, what_was_in_both_is_drawn_between_them)
{
    frame(100, 7), entry(1, 1, 0), entry(5, 1, 0);
    frame(104, 8), entry(1, 1, 0), entry(5, 2, 0);
    struct arb_held_place place = place_at(101);
    struct arb_held_states states;
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.from_tick == 100 && states.to_tick == 104);
    cr_expect(states.from_frame == 0 && states.from_entry == 0);
    cr_expect(states.to_frame == 1 && states.to_entry == 0);
    /* Another generation is another entity: the old one alone, the new one not yet. */
    cr_assert(arb_held_states(&held, &place, (struct arb_key){5, 1}, &states));
    cr_expect(states.from_tick == 100 && states.to_tick == 100);
    cr_expect(!arb_held_states(&held, &place, (struct arb_key){5, 2}, &states));
    cr_expect(!arb_held_states(&held, &place, (struct arb_key){3, 1}, &states));
}

/* Left out of 102 and 104: its own pair is 100 and 106. */
Test(view_held, what_was_left_out_has_a_pair_of_its_own)
{
    frame(100, 1), entry(1, 1, 0);
    frame(102, 2), entry(1, 1, 2);
    frame(104, 3), entry(1, 1, 4);
    frame(106, 4), entry(1, 1, 0);
    struct arb_held_states states;
    struct arb_held_place place = place_at(103);
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.from_tick == 100 && states.to_tick == 106 && states.to_frame == 3);
    held.count = 3; /* 106 has not come yet: the older one alone */
    place = place_at(103);
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.from_tick == 100 && states.to_tick == 100);
}

/* 104 was coded against 100 and so left it with that state; the client has 102's. */
Test(view_held, a_state_that_an_older_baseline_lacks_is_not_forgotten)
{
    frame(100, 1), entry(1, 1, 0);
    frame(102, 2), entry(1, 1, 0);
    frame(104, 3), entry(1, 1, 4);
    struct arb_held_states states;
    struct arb_held_place place = place_at(104.5);
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.from_tick == 102 && states.from_frame == 1);
}

/* And a state of before the view is never its later one. */
Test(view_held, the_later_state_lies_after_the_moment)
{
    frame(100, 1), entry(1, 1, 0);
    frame(102, 2), entry(1, 1, 1); /* of 101: an older baseline's */
    frame(104, 3), entry(1, 1, 0);
    struct arb_held_states states;
    struct arb_held_place place = place_at(101.5);
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.from_tick == 100 && states.to_tick == 104);
}

Test(view_held, nothing_is_drawn_across_a_time_out_of_view)
{
    frame(100, 1), entry(1, 1, 0);
    frame(102, 2);
    frame(104, 3), entry(1, 1, 0);
    struct arb_held_states states;
    struct arb_held_place place = place_at(101);
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.to_tick == 100, "it left before it came again");
    place = place_at(103);
    cr_expect(!arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    place = place_at(104);
    cr_assert(arb_held_states(&held, &place, (struct arb_key){1, 1}, &states));
    cr_expect(states.from_tick == 104 && states.to_tick == 104);
}
