/* Which past a shot meets: claimed views, what is honoured, what is put in their place
 * (spec/lag-compensation.md "Validation"). */
#include "server/match/match_internal.h"
#include "tests/unit/views_rig.h"

#include "shared/base/arb_rng.h"

TestSuite(match_views, .init = setup, .fini = close_match);

/* ---- honest clients ---- */

Test(match_views, honest_views_are_honoured_at_every_latency_and_tick_rate)
{
    static const int32_t rates[] = {20, 60, 128};
    static const struct {
        int32_t up_ms, down_ms, delay_ms;
    } lines[] = {{0, 0, 0}, {0, 0, 50}, {20, 20, 66}, {40, 80, 100}, {150, 50, 150}};
    for (size_t r = 0; r < 3; r++) {
        for (size_t l = 0; l < 5; l++) {
            setup();
            config.tick_rate = rates[r];
            config.snapshot_interval_ticks = rates[r] == 20 ? 1 : 2;
            client.up = (uint32_t)(lines[l].up_ms * rates[r] / 1000);
            client.down = (uint32_t)(lines[l].down_ms * rates[r] / 1000);
            client.delay = (arb_fine)lines[l].delay_ms * rates[r] * ARB_FINE_TICK / 1000;
            open_live();
            warm_up(100);
            for (uint32_t i = 0; i < 100; i++) {
                struct arb_view claimed = say_input(ARB_BUTTON_FIRE)->view;
                run_tick();
                run_tick();
                cr_assert(memcmp(&shot_ray.view, &claimed, sizeof claimed) == 0,
                          "as claimed, to the bit: %d Hz, line %zu", rates[r], l);
                cr_assert_not_null(shot_ray.pairs);
                cr_assert_gt(shot_ray.pair_count, 0, "what it held comes with it");
            }
            cr_expect_eq(claims(MATCH_VIEW_HONOURED), 100);
            cr_expect_eq(not_honoured(), 0);
            cr_expect_eq(match_view_totals(match).shots, 100);
            close_match();
        }
    }
}

/* The lead covers what the line holds up; packets come in order, so none overtakes. */
Test(match_views, honest_views_are_honoured_on_a_line_that_jitters)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 8, 8);
    client.delay = 8 * ARB_FINE_TICK;
    open_live();
    warm_up(40);
    uint32_t shots = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        /* 0 to 12 ticks (200 ms) held up, then those behind it come at once. */
        uint32_t burst = arb_rng_below(&rng, 10) == 0 ? arb_rng_below(&rng, 13) : 0;
        for (uint32_t k = 0; k < burst; k++) {
            run_tick();
        }
        for (uint32_t k = 0; k <= burst; k++) {
            client.up = 3 + burst - k;
            client.wait = 13 - (burst - k);
            say_input(ARB_BUTTON_FIRE);
            shots++;
        }
        run_tick();
    }
    cr_expect_eq(claims(MATCH_VIEW_HONOURED) + not_honoured(), shots);
    cr_expect_lt(not_honoured(), shots / 200, "%u of %u", (uint32_t)not_honoured(), shots);
}

Test(match_views, a_delay_that_adapts_as_fast_as_the_client_may_is_honoured)
{
    open_live();
    warm_up(40);
    for (uint32_t i = 0; i < 300; i++) {
        /* 8 % of the view's clock and 4 % of the estimate: up, then down again. */
        client.delay += i < 120   ? ARB_FINE_TICK * 12 / 100
                        : i < 240 ? -ARB_FINE_TICK * 12 / 100
                                  : 0;
        say_input(ARB_BUTTON_FIRE);
        run_tick();
    }
    cr_expect_eq(not_honoured(), 0);
}

/* ---- claims that are not permitted ---- */

struct bad_claim {
    const char *what;
    int32_t back; /* ticks older (less than 0: younger) than the honest view */
    void (*spoil)(struct arb_view *view); /* after that */
    enum match_view_verdict verdict;
};

static void never_sent(struct arb_view *view)
{
    view->from_tick++; /* snapshots are of every other tick */
    view->to_tick++;
}

static void too_far_apart(struct arb_view *view)
{
    view->to_tick += 2;
}

static void over_one(struct arb_view *view)
{
    view->fraction = 257;
}

static void of_the_future(struct arb_view *view)
{
    view->held = (uint16_t)(view->held + 20);
}

static void only_one(struct arb_view *view)
{
    view->to_tick = view->from_tick;
}

static void nothing(struct arb_view *view)
{
    memset(view, 0, sizeof *view);
}

static void wild(struct arb_view *view)
{
    *view = (struct arb_view){.from_tick = UINT64_C(1) << 40, .to_tick = UINT64_C(1) << 41};
}

static const struct bad_claim bad_claims[] = {
    {"ticks between the snapshots", 0, never_sent, MATCH_VIEW_NOT_SENT},
    {"two that do not follow", 0, too_far_apart, MATCH_VIEW_NOT_SENT},
    {"more than the whole way", 0, over_one, MATCH_VIEW_NOT_SENT},
    {"holding what was not sent yet", 0, of_the_future, MATCH_VIEW_NOT_SENT},
    {"one alone that is not the newest", 0, only_one, MATCH_VIEW_NOT_SENT},
    {"nothing drawn", 0, nothing, MATCH_VIEW_NOT_SENT},
    {"far out", 0, wild, MATCH_VIEW_NOT_SENT},
    {"past the present", -20, NULL, MATCH_VIEW_FUTURE},
    {"older than allowed", 25, NULL, MATCH_VIEW_TOO_OLD},
    {"older than expected", 12, NULL, MATCH_VIEW_UNEXPECTED},
    {"younger than expected", -8, NULL, MATCH_VIEW_UNEXPECTED},
    {"a little older", 5, NULL, MATCH_VIEW_HONOURED},
    {"a little younger", -5, NULL, MATCH_VIEW_HONOURED},
};

enum { BAD_CLAIMS = sizeof bad_claims / sizeof bad_claims[0] };

static struct arb_view claim_badly(const struct bad_claim *claim)
{
    open_live();
    warm_up(60);
    struct arb_input *input = say_input(ARB_BUTTON_FIRE);
    struct arb_held held = held_then();
    arb_held_find(&held, drawn_at() - claim->back * (arb_fine)ARB_FINE_TICK, &input->view);
    if (claim->spoil != NULL) {
        claim->spoil(&input->view);
    }
    struct arb_view claimed = input->view;
    run_tick();
    run_tick();
    return claimed;
}

Test(match_views, each_claim_that_is_not_permitted_is_counted_by_its_reason)
{
    for (size_t i = 0; i < BAD_CLAIMS; i++) {
        setup();
        struct arb_view claimed = claim_badly(&bad_claims[i]);
        cr_expect_eq(claims(bad_claims[i].verdict), 1, "%s", bad_claims[i].what);
        cr_expect_eq(claims(MATCH_VIEW_HONOURED) + not_honoured(), 1);
        cr_assert_eq(shots_count, 1, "the shot leaves all the same");
        cr_expect_eq(shots_seen[0].verdict, bad_claims[i].verdict);
        cr_expect_eq(memcmp(&shots_seen[0].claimed, &claimed, sizeof claimed), 0);
        bool as_claimed = memcmp(&shot_ray.view, &claimed, sizeof claimed) == 0;
        cr_expect_eq(as_claimed, bad_claims[i].verdict == MATCH_VIEW_HONOURED, "%s",
                     bad_claims[i].what);
        close_match();
    }
}

/* Honest: consumed at now + 1 with the newest published at now: 3 + 3 + 4 ticks old. */
Test(match_views, what_is_not_permitted_becomes_the_nearest_that_is)
{
    for (size_t i = 0; i < BAD_CLAIMS; i++) {
        setup();
        claim_badly(&bad_claims[i]);
        float most = 10 + 6 + 1, least = 10 - 6 - 1; /* round trips are measured up to one longer */
        if (bad_claims[i].verdict == MATCH_VIEW_FUTURE) {
            cr_expect_eq(rewound(), 0, "%s", bad_claims[i].what);
        } else {
            cr_expect(rewound() >= least && rewound() <= most, "%s: %f", bad_claims[i].what,
                      (double)rewound());
        }
        bool older = bad_claims[i].back > 6;
        cr_expect(!older || rewound() > 14, "%s: the oldest permitted, %f", bad_claims[i].what,
                  (double)rewound());
        close_match();
    }
}

Test(match_views, other_answers_to_what_is_not_permitted_are_the_present_and_nobody)
{
    for (size_t i = 0; i < BAD_CLAIMS; i++) {
        if (bad_claims[i].verdict == MATCH_VIEW_HONOURED) {
            continue;
        }
        setup();
        config.lagcomp.view_violation = MATCH_VIEW_PRESENT;
        claim_badly(&bad_claims[i]);
        cr_expect_eq(rewound(), 0, "%s", bad_claims[i].what);
        cr_expect_null(shot_ray.pairs, "everyone");
        cr_expect_eq(shots_seen[0].projectile_count, 1);
        close_match();
        setup();
        config.lagcomp.view_violation = MATCH_VIEW_REFUSE;
        claim_badly(&bad_claims[i]);
        cr_expect_not_null(shot_ray.pairs);
        cr_expect_eq(shot_ray.pair_count, 0, "%s: nobody", bad_claims[i].what);
        cr_expect_eq(shots_seen[0].projectile_count, 0, "nothing flies");
        close_match();
    }
}

Test(match_views, views_only_go_forward)
{
    open_live();
    warm_up(40);
    client.delay -= 3 * ARB_FINE_TICK;
    say_input(ARB_BUTTON_FIRE);
    run_tick();
    run_tick();
    struct arb_view first = shot_ray.view;
    client.delay += 5 * ARB_FINE_TICK; /* the same time as before would be allowed, not earlier */
    say_input(ARB_BUTTON_FIRE);
    run_tick();
    run_tick();
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 1);
    cr_expect_eq(claims(MATCH_VIEW_BACKWARD), 1);
    arb_fine ahead = arb_view_at(&shot_ray.view) - arb_view_at(&first);
    cr_expect(ahead >= 0 && ahead < ARB_FINE_TICK, "the nearest that its clocks allow");
    client.delay -= 4 * ARB_FINE_TICK;
    say_input(ARB_BUTTON_FIRE);
    say_input(ARB_BUTTON_FIRE)->target_tick++;
    run_tick();
    run_tick();
    run_tick();
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 3, "equal is allowed");
}

/* Each within the tolerance, none older than the one before: but no client draws like that. */
Test(match_views, pictures_that_are_picked_as_it_suits_are_not_honoured)
{
    open_live();
    warm_up(60);
    for (int i = 0; i < 20; i++) {
        int32_t off = i % 2 == 0 ? 0 : -3;
        client.delay += off * ARB_FINE_TICK;
        say_input(ARB_BUTTON_FIRE);
        client.delay -= off * ARB_FINE_TICK;
        for (int pause = 0; pause < 4; pause++) {
            run_tick();
        }
    }
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 10);
    cr_expect_eq(claims(MATCH_VIEW_RATE), 10);
}

/* At 20 frames a second three inputs are of one picture; four ticks later it is an old one. */
Test(match_views, the_inputs_of_one_drawn_frame_share_its_picture)
{
    open_live();
    warm_up(60);
    struct arb_view picture = say_input(ARB_BUTTON_FIRE)->view;
    run_tick();
    for (int i = 1; i < 8; i++) {
        say_input(ARB_BUTTON_FIRE)->view = picture;
        run_tick();
    }
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 5);
    cr_expect_eq(claims(MATCH_VIEW_RATE), 2);
    cr_expect_eq(claims(MATCH_VIEW_UNEXPECTED), 1);
}

/* Its delay steps, so that its claims are none that are expected; they go forward all the same. */
Test(match_views, what_a_claim_got_in_its_place_is_not_held_against_the_next)
{
    open_live();
    warm_up(60);
    say_input(ARB_BUTTON_FIRE);
    run_tick();
    client.delay += 4 * ARB_FINE_TICK;
    for (int i = 0; i < 4; i++)
        run_tick();
    for (int i = 0; i < 30; i++) {
        say_input(ARB_BUTTON_FIRE);
        run_tick();
    }
    cr_expect_gt(claims(MATCH_VIEW_RATE), 3);
    cr_expect_eq(claims(MATCH_VIEW_BACKWARD), 0);
    cr_expect_gt(claims(MATCH_VIEW_HONOURED), 5);
}

/* A client that announces another delay with the shot, to have an older view with it. */
Test(match_views, an_announced_delay_is_believed_no_faster_than_a_client_can_change_it)
{
    open_live();
    warm_up(60);
    client.delay += 11 * ARB_FINE_TICK;
    say_input(ARB_BUTTON_FIRE);
    run_tick();
    run_tick();
    cr_expect_eq(claims(MATCH_VIEW_RATE), 1);
    cr_expect_lt(rewound(), 10 + 6 + 2);
    /* Silence for ten seconds is no way round it. */
    setup();
    close_match();
    open_live();
    warm_up(60);
    for (int i = 0; i < 600; i++) {
        run_tick();
    }
    client.delay += 15 * ARB_FINE_TICK;
    say_input(ARB_BUTTON_FIRE);
    run_tick();
    run_tick();
    cr_expect_eq(claims(MATCH_VIEW_RATE) + claims(MATCH_VIEW_TOO_OLD), 1);
}

/* It holds its packets back until the target is gone, then shoots at where it was. */
Test(match_views, stalls_and_bursts_win_no_older_view)
{
    open_live();
    warm_up(120);
    for (int i = 0; i < 15; i++) {
        run_tick(); /* a quarter of a second of nothing */
    }
    arb_tick since = match_tick(match) - 15;
    for (arb_sequence i = 0; i < 15; i++) {
        struct arb_held held = held_then();
        struct arb_input *input = say_input(i == 0 ? ARB_BUTTON_FIRE : 0);
        input->target_tick = since + i + client.wait;
        arb_held_find(&held, drawn_at() - 15 * (arb_fine)ARB_FINE_TICK, &input->view);
    }
    say_input(0);
    run_tick();
    run_tick();
    cr_expect_eq(match_view_counts(match, 0).late, 1);
    cr_expect_eq(claims(MATCH_VIEW_UNEXPECTED) + claims(MATCH_VIEW_TOO_OLD), 1);
    cr_expect(shots_seen[0].late);
    cr_expect_lt(rewound(), 10 + 6 + 2, "%f", (double)rewound());
}

/* Its inputs come in bursts far ahead, as if their line held most of them up: then each first one
 * might be of a view that is as much older, or of the true one, as it likes. */
Test(match_views, inputs_sent_ahead_win_no_choice_of_ages)
{
    enum { AHEAD = 26, ROUNDS = 8 };
    client.up = client.down = 1;
    open_live();
    warm_up(60);
    for (int round = 0; round < ROUNDS; round++) {
        struct arb_held held = held_then();
        struct arb_input *first = say_input(ARB_BUTTON_FIRE);
        if (round == ROUNDS - 1) {
            arb_held_find(&held, drawn_at() - 22 * (arb_fine)ARB_FINE_TICK, &first->view);
        }
        for (uint32_t i = 1; i < AHEAD; i++) {
            add_input(&queue[queued - 1].inputs, ++client.sequence,
                      match_tick(match) + client.wait + i);
        }
        run_tick();
        run_tick();
        cr_expect_lt(rewound(), 6 + 6 + 4 + 1, "%d: %f", round, (double)rewound());
        for (uint32_t i = 2; i < AHEAD; i++) {
            run_tick();
        }
    }
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), ROUNDS - 1);
    cr_expect_eq(claims(MATCH_VIEW_RATE), 1);
}

/* Round trip 40 ms, claimed 600 ms old, from before the target took cover. */
Test(match_views, a_view_of_600_ms_ago_is_not_honoured_at_40_ms)
{
    static const int32_t most[] = {500, 700};
    for (size_t i = 0; i < 2; i++) {
        setup();
        config.lagcomp.max_rewind_ms = most[i];
        client.up = client.down = 1;
        open_live();
        warm_up(60);
        say_input(ARB_BUTTON_FIRE);
        run_tick();
        run_tick();
        cr_expect_eq(not_honoured(), 0, "an honest one is");
        struct arb_input *input = say_input(ARB_BUTTON_FIRE);
        struct arb_held held = held_then();
        arb_held_find(&held, drawn_at() - 30 * (arb_fine)ARB_FINE_TICK, &input->view);
        run_tick();
        run_tick();
        cr_expect_eq(not_honoured(), 1);
        cr_expect_lt(rewound(), 7 + 6 + 1);
        close_match();
    }
}

/* ---- without a claim ---- */

Test(match_views, round_trip_worked_cases)
{
    static const struct {
        int32_t rtt_ms, most_ms;
        arb_tick expected;
    } cases[] = {{100, 700, 994}, {1000, 250, 985}, {1600, 700, 958},
                 {0, 250, 1000},  {8, 250, 1000},   {9, 250, 999}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        arb_fine rtt = (arb_fine)cases[i].rtt_ms * 60 * ARB_FINE_TICK / 1000;
        arb_fine most = (arb_fine)cases[i].most_ms * 60 * ARB_FINE_TICK / 1000;
        cr_expect_eq(views_round_trip_tick(1000, rtt, 0, most), cases[i].expected, "case %zu", i);
    }
    cr_expect_eq(
        views_round_trip_tick(1000, 3 * ARB_FINE_TICK, 4 * ARB_FINE_TICK, 99 * ARB_FINE_TICK), 993,
        "the announced delay counts");
    cr_expect_eq(views_round_trip_tick(3, 9 * ARB_FINE_TICK, 0, 99 * ARB_FINE_TICK), 0);
}

Test(match_views, by_round_trip_the_claim_is_ignored)
{
    config.lagcomp.view_source = MATCH_VIEW_ROUND_TRIP;
    open_live();
    warm_up(60);
    say_input(ARB_BUTTON_FIRE)->view = (struct arb_view){.from_tick = 1, .to_tick = 3};
    run_tick();
    run_tick();
    cr_expect_eq(shot_ray.view.from_tick, shot_ray.view.to_tick);
    cr_expect_float_eq(rewound(), 10, 1.01F);
    cr_expect_null(shot_ray.pairs);
    cr_expect_eq(not_honoured() + claims(MATCH_VIEW_HONOURED), 0);
}

Test(match_views, with_compensation_off_every_shot_meets_the_newest_tick)
{
    config.lagcomp.max_rewind_ms = 0;
    open_live();
    warm_up(60);
    say_input(ARB_BUTTON_FIRE);
    run_tick();
    run_tick();
    cr_expect_eq(rewound(), 0);
    cr_expect_null(shot_ray.pairs);
    cr_expect_eq(match_view_counts(match, 0).shots, 1);
}

Test(match_views, acknowledgements_of_the_future_change_nothing)
{
    open_live();
    warm_up(40);
    struct arb_input *input = say_input(ARB_BUTTON_FIRE);
    queue[queued - 1].inputs.ack_snapshot = (uint16_t)(queue[queued - 1].inputs.ack_snapshot + 900);
    input->view.held = queue[queued - 1].inputs.ack_snapshot;
    run_tick();
    run_tick();
    cr_expect_eq(claims(MATCH_VIEW_NOT_SENT), 1);
    cr_expect(rewound() > 3 && rewound() < 17);
}

Test(match_views, a_view_of_what_no_packet_acknowledged_is_not_honoured)
{
    for (int is_steady = 0; is_steady < 2; is_steady++) {
        setup();
        open_live();
        warm_up(40);
        for (uint32_t i = 0; i < 12; i++) {
            say_input(i == 11 ? ARB_BUTTON_FIRE : 0);
            queue[queued - 1].inputs.has_ack = false;
            if (!is_steady) uneven(1.0F);
            run_tick();
        }
        run_tick();
        cr_expect_eq(claims(MATCH_VIEW_NOT_SENT), 1);
        if (is_steady) {
            cr_expect_eq(rewound(), 0, "on such a link nobody stands for so long");
        } else {
            cr_expect(rewound() > 3 && rewound() < 17, "nearest of what was: extrapolated");
        }
        close_match();
    }
    open_live();
}

Test(match_views, a_client_that_never_acknowledged_meets_the_present)
{
    open_live();
    for (uint32_t i = 0; i < 20; i++) {
        struct arb_input *input = say_input(ARB_BUTTON_FIRE);
        queue[queued - 1].inputs.has_ack = false;
        input->view.held = 0;
        run_tick();
    }
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 0);
    cr_expect_eq(claims(MATCH_VIEW_NOT_SENT), 20);
    cr_expect_eq(rewound(), 0);
}

/* The picture of a moment before the true one, parts of a tick. */
static void claim_older(float ticks)
{
    struct arb_input *input = say_input(ARB_BUTTON_FIRE);
    struct arb_held held = held_then();
    arb_held_find(&held, drawn_at() - (arb_fine)(ticks * (float)ARB_FINE_TICK), &input->view);
}

/* A game may make some inputs a tick later than it drew; one that never did has no such excuse. */
Test(match_views, who_keeps_time_is_given_less_room_than_who_does_not)
{
    static const struct {
        float wanders;
        enum match_view_verdict verdict;
    } rows[] = {{0.0F, MATCH_VIEW_RATE}, {0.9F, MATCH_VIEW_HONOURED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        open_live();
        warm_up(40);
        for (uint32_t n = 0; n < 81; n++) {
            claim_older(n % 2 == 0 ? 0.0F : rows[i].wanders);
            run_tick();
            warm_up(2);
        }
        uint64_t before = claims(rows[i].verdict);
        cr_expect_eq(claims(MATCH_VIEW_HONOURED), 81, "row %zu", i);
        claim_older(0.9F);
        run_tick();
        cr_expect_eq(claims(rows[i].verdict), before + 1, "row %zu", i);
        close_match();
    }
    open_live();
}

/* Its clients' estimate of the server's time is ahead by as much, and comes back within seconds. */
Test(match_views, who_draws_ahead_since_the_server_dropped_time_is_honoured)
{
    static const struct {
        uint32_t dropped, since, ahead; /* ticks */
        enum match_view_verdict verdict;
    } rows[] = {{0, 0, 12, MATCH_VIEW_FUTURE},      {12, 0, 12, MATCH_VIEW_HONOURED},
                {12, 240, 12, MATCH_VIEW_HONOURED}, {12, 500, 12, MATCH_VIEW_FUTURE},
                {12, 0, 25, MATCH_VIEW_FUTURE},     {200, 0, 45, MATCH_VIEW_FUTURE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        open_live();
        warm_up(60);
        if (rows[i].dropped > 0) match_time_dropped(match, rows[i].dropped);
        warm_up(rows[i].since);
        client.announce = 4 * 16;
        client.delay -= (arb_fine)rows[i].ahead * ARB_FINE_TICK;
        say_input(ARB_BUTTON_FIRE);
        run_tick();
        run_tick();
        cr_expect_eq(claims(rows[i].verdict), 1, "row %zu", i);
        bool honoured = rows[i].verdict == MATCH_VIEW_HONOURED;
        cr_expect_eq(shot_ray.pairs != NULL, honoured, "row %zu: else the present", i);
        close_match();
    }
    open_live();
}

/* ---- late, and missing ---- */

static bool is_drawable(const struct arb_view *view)
{
    struct arb_held held;
    struct arb_held_place place;
    return replicate_held(match->replicate, 0, view->held, &held) != 0 &&
           arb_held_place(&held, view, &place);
}

Test(match_views, while_inputs_are_missing_the_view_moves_on_with_time_and_stays_drawable)
{
    open_live();
    warm_up(60);
    say_input(ARB_BUTTON_FIRE)->edges = 0;
    match->move.weapons[0].automatic = 1;
    run_tick();
    run_tick();
    float age = rewound();
    arb_fine before = arb_view_at(&shot_ray.view);
    for (int i = 1; i < 20; i++) {
        run_tick();
        cr_assert(shots_seen[0].repeated);
        cr_assert(is_drawable(&shot_ray.view), "tick %d", i);
        cr_assert_float_eq(rewound(), age, 0.02F, "as old as it was, in every tick");
        cr_assert_gt(arb_view_at(&shot_ray.view), before);
        before = arb_view_at(&shot_ray.view);
    }
    cr_expect_eq(claims(MATCH_VIEW_HONOURED), 1, "one claim");
}

Test(match_views, a_late_press_keeps_its_own_view_and_grows_older_while_it_waits)
{
    open_live();
    warm_up(60);
    for (int i = 0; i < 3; i++) {
        run_tick();
    }
    struct arb_input *late = say_input(ARB_BUTTON_FIRE);
    late->target_tick = match_tick(match) - 1;
    struct arb_view claimed = late->view;
    run_tick();
    cr_expect_eq(match_view_counts(match, 0).late, 1);
    client.wait = 0;
    struct arb_input *next = say_input(0);
    next->view = (struct arb_view){0};
    run_tick();
    cr_assert(shots_seen[0].late);
    cr_expect_eq(memcmp(&shot_ray.view, &claimed, sizeof claimed), 0);
    /* Another one, which nothing comes after for a second. */
    client.wait = 1;
    warm_up(10);
    for (int i = 0; i < 3; i++) {
        run_tick();
    }
    late = say_input(ARB_BUTTON_FIRE);
    late->target_tick = match_tick(match) - 1;
    for (int i = 0; i < 60; i++) {
        run_tick();
    }
    client.wait = 0;
    say_input(0);
    run_tick();
    cr_expect_float_eq(rewound(), 30, 0.02F, "500 ms at most");
    cr_expect(is_drawable(&shot_ray.view));
}

/* It can shoot no more: nothing is judged, whatever a client sends of it. */
Test(match_views, what_is_later_than_the_buffer_is_long_claims_nothing)
{
    open_live();
    warm_up(60);
    for (int i = 0; i < 80; i++) {
        run_tick();
    }
    arb_tick now = match_tick(match);
    arb_tick oldest = now - (arb_tick)config.input_buffer_ticks;
    for (int i = 0; i < 20; i++) {
        say_input(ARB_BUTTON_FIRE)->target_tick = oldest - 20 + (arb_tick)i;
    }
    say_input(ARB_BUTTON_FIRE)->target_tick = oldest;
    run_tick();
    struct arb_counts counts;
    match_get_counts(match, 0, &counts);
    cr_expect_eq(counts.inputs_late, 21);
    cr_expect_eq(match_view_counts(match, 0).late, 1);
    cr_expect_eq(claims(MATCH_VIEW_HONOURED) + not_honoured(), 1);
}

/* ---- the shot itself ---- */

/* Two players 4 m apart; the second walks across the first one's line of fire. */
static void open_two(void)
{
    spawn_gap = 4;
    open_match();
    say(PORT_JOIN, 1);
    say(PORT_JOIN, 0);
    run_tick();
    client.slot = 1;
    cr_assert_eq(match->seats[client.slot].session.index, 0);
}

/* The shooter has slot 1 then: its packets are of session 0. */
static arb_sequence target_sequence;

static struct arb_input *walk_target(int8_t move_y)
{
    struct arb_input *input = add_input(packet(1, match_world(match)->players[0].control),
                                        ++target_sequence, match_tick(match));
    input->move_y = move_y;
    return input;
}

static uint32_t hits_across(int32_t max_rewind_ms)
{
    setup();
    target_sequence = 0;
    config.lagcomp.max_rewind_ms = max_rewind_ms;
    open_two();
    for (int i = 0; i < 60; i++) {
        walk_target(0);
        say_input(0);
        run_tick();
    }
    for (int i = 0; i < 14; i++) {
        walk_target(127);
        struct arb_input *input = say_input(i == 12 ? ARB_BUTTON_FIRE : 0);
        input->aim = 32768;
        run_tick();
    }
    cr_assert_eq(shots_count, 1);
    cr_assert_gt(player(0)->own.y, 0.9F, "it has left the line");
    uint32_t hits = shots_seen[0].pellets[0].hit_count;
    close_match();
    return hits;
}

Test(match_views, the_target_is_hit_where_it_was_drawn_and_without_compensation_where_it_is)
{
    cr_expect_eq(hits_across(500), 1);
    cr_expect_eq(hits_across(0), 0);
}

Test(match_views, both_who_shoot_each_other_in_one_tick_do_and_the_lower_slot_is_first)
{
    client.wait = 0;
    target_sequence = 0;
    open_two();
    for (int i = 0; i < 60; i++) {
        walk_target(0);
        say_input(0);
        run_tick();
    }
    struct arb_input *first = walk_target(0);
    first->edges = ARB_BUTTON_FIRE;
    say_input(ARB_BUTTON_FIRE)->aim = 32768;
    run_tick();
    cr_assert_eq(shots_count, 2);
    for (uint16_t i = 0; i < 2; i++) {
        cr_expect_eq(shots_seen[i].slot, i);
        cr_assert_eq(shots_seen[i].pellets[0].hit_count, 1);
        cr_expect(arb_key_equal(shots_seen[i].pellets[0].hits[0].victim,
                                player((uint16_t)(1 - i))->controlled));
    }
}

Test(match_views, what_was_out_of_view_is_not_hit_but_counted)
{
    config.interest_enter_m = 3; /* less than the 4 m between them */
    config.interest_retain_m = 3.5F;
    client.wait = 0;
    target_sequence = 0;
    open_two();
    for (int i = 0; i < 60; i++) {
        walk_target(0);
        say_input(0);
        run_tick();
    }
    say_input(ARB_BUTTON_FIRE)->aim = 32768;
    run_tick();
    cr_assert_eq(shots_count, 1);
    cr_expect_eq(shots_seen[0].pellets[0].hit_count, 0);
    cr_expect_eq(match_view_counts(match, 1).unseen, 1);
    cr_expect_eq(match_view_totals(match).unseen, 1);
}

Test(match_views, a_sequence_far_ahead_shoots_from_its_own_place)
{
    client.wait = 0;
    open_live();
    warm_up(40);
    client.sequence += 1000000;
    float before = player(0)->own.x;
    say_input(ARB_BUTTON_FIRE)->move_x = 127;
    run_tick();
    cr_expect_lt(before, player(0)->own.x);
    cr_expect_eq(shot_ray.origin.x, before, "its fraction is 0: where the tick before ended");
    cr_expect_eq(match_view_counts(match, 0).unknown_origins, 0);
}

/* ---- run again ---- */

Test(match_views, what_a_shot_met_is_in_the_record_and_what_is_played_counts)
{
    client.wait = 0;
    target_sequence = 0;
    open_two();
    for (int i = 0; i < 60; i++) {
        walk_target(0);
        say_input(0);
        run_tick();
    }
    say_input(ARB_BUTTON_FIRE)->aim = 32768;
    run_tick();
    const struct match_record *newest = match_record(match);
    cr_assert_eq(newest->view_count, 1);
    cr_assert_eq(newest->views[0].slot, 1);
    cr_assert(!newest->views[0].everyone);
    cr_assert_eq(newest->views[0].pair_count, 2);
    cr_assert_eq(shots_seen[0].pellets[0].hit_count, 1);
    struct arb_arena own;
    arb_arena_init(&own);
    struct match_record_capacity capacity = match_record_capacity(match);
    struct match_record record;
    match_record_create(&record, &own, &capacity);
    match_record_copy(&record, newest);
    struct arb_view view = record.views[0].view;

    /* The same with a view and without anybody to see: what is played is what counts. */
    record.tick = match_tick(match);
    record.inputs[0].input.target_tick = record.tick;
    record.views[0].pair_count = 0;
    match_play(match, &record);
    tick_run(match, TICK_RERUN);
    cr_expect_eq(shots_seen[0].pellets[0].hit_count, 0);
    cr_expect_eq(match_record(match)->view_count, 1);

    record.tick++;
    record.inputs[0].input.target_tick++;
    record.views[0].everyone = true;
    match_play(match, &record);
    tick_run(match, TICK_RERUN);
    cr_expect_eq(shots_seen[0].pellets[0].hit_count, 1);
    cr_expect_eq(memcmp(&shot_ray.view, &view, sizeof view), 0);

    say_input(ARB_BUTTON_FIRE)->aim = 32768;
    run_tick();
    cr_expect_gt(arb_view_at(&shot_ray.view), arb_view_at(&view), "and only for those ticks");
    arb_arena_free(&own);
}
