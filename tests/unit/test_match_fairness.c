/* What victims have of lag compensation: figures, cover, abilities (spec/lag-compensation.md "More
 * than rays"). A bench's players: their views are taken at their word. */
#include "server/match/match_internal.h"
#include "tests/unit/cover_rig.h"

static arb_tick view_tick;

static void setup(void)
{
    defaults();
    spawn_gap = 8;
    shot_range = 30;
    covered = 0;
}

TestSuite(match_fairness, .init = setup, .fini = close_match);

/* Walks behind the wall; then the shot, aimed along x where it was BACK ticks ago. */
static const struct rules_shot *walk_and_shoot(void)
{
    walk_into_cover(BACK);
    view_tick = match_tick(match) - 1 - BACK;
    steer(SHOOTER, 0, (struct arb_view){.from_tick = view_tick, .to_tick = view_tick},
          ARB_BUTTON_FIRE);
    tick();
    cr_assert_eq(shots_count, 1);
    return &shots_seen[0];
}

Test(match_fairness,
     a_hit_is_counted_with_how_far_it_was_rewound_and_how_long_its_victim_was_hidden)
{
    cr_assert_eq(walk_and_shoot()->pellets[0].hit_count, 1);
    const struct match_fairness *fairness = match_fairness(match);
    cr_expect_eq(fairness->rewound_shots.count, 1);
    cr_expect_eq(fairness->rewound_shots.max_ms, ms_of(BACK));
    cr_expect_eq(fairness->rewound_shots.counts[ms_of(BACK) / 10], 1);
    cr_expect_eq(fairness->rewound_hits.max_ms, ms_of(BACK));
    cr_expect_eq(fairness->cover_hits.count, 1);
    cr_expect_eq(fairness->cover_hits.max_ms, ms_of(covered));
    cr_expect_eq(fairness->max_rewind_ms, 500);
    cr_expect_eq(fairness->slow_shots, 0);
    /* A miss is a shot and no hit. */
    steer(SHOOTER, 0, (struct arb_view){0}, ARB_BUTTON_FIRE);
    tick();
    cr_expect_eq(fairness->rewound_shots.count, 2);
    cr_expect_eq(fairness->rewound_shots.counts[0], 1);
    cr_expect_eq(fairness->rewound_hits.count, 1);
}

Test(match_fairness, in_cover_for_longer_than_the_grace_nobody_is_hit)
{
    walk_and_shoot();
    uint32_t cover_ms = ms_of(covered);
    close_match();
    static const struct {
        int32_t more_ms;
        uint32_t hits;
    } rows[] = {{1, 1}, {-1, 0}, {50, 1}, {-50, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        config.lagcomp.cover_grace_ms = (int32_t)cover_ms + rows[i].more_ms;
        const struct rules_shot *shot = walk_and_shoot();
        cr_expect_eq(shot->pellets[0].hit_count, rows[i].hits, "row %zu", i);
        cr_expect_eq(match_fairness(match)->spared, 1 - rows[i].hits, "row %zu", i);
        cr_expect_eq(match_fairness(match)->cover_hits.count, rows[i].hits, "row %zu", i);
        close_match();
    }
}

Test(match_fairness, a_grace_of_a_millisecond_ends_with_the_first_tick_in_cover)
{
    config.lagcomp.cover_grace_ms = 1;
    cr_expect_eq(walk_and_shoot()->pellets[0].hit_count, 0);
}

Test(match_fairness, an_ability_wins_where_it_is_configured_and_had_not_been_seen)
{
    for (int wins = 0; wins < 2; wins++) {
        for (int seen = 0; seen < 2; seen++) {
            setup();
            config.lagcomp.abilities_win = wins;
            evading_slot = VICTIM;
            /* The first two ticks and then one for each step. */
            evading_since = (arb_tick)(2 + STEPS - BACK + (seen ? 0 : 1));
            const struct rules_shot *shot = walk_and_shoot();
            cr_assert_eq(evading_since <= view_tick, seen);
            cr_expect_eq(shot->pellets[0].hit_count, !(wins && !seen), "%d %d", wins, seen);
            cr_expect_eq(match_fairness(match)->spared, wins && !seen);
            close_match();
        }
    }
}

Test(match_fairness, a_shot_at_the_present_is_evaded_by_nobody)
{
    config.lagcomp.abilities_win = true;
    config.lagcomp.cover_grace_ms = 1;
    evading_slot = VICTIM;
    open_with_wall();
    evading_since = match_tick(match) - 1;
    steer(SHOOTER, 0, (struct arb_view){0}, ARB_BUTTON_FIRE);
    tick();
    cr_expect_eq(shots_seen[0].pellets[0].hit_count, 1);
    cr_expect_eq(match_fairness(match)->cover_hits.max_ms, 0);
}

Test(match_fairness, a_victim_counts_once_for_a_shot_whatever_the_pellets)
{
    struct rules_shot shot = *walk_and_shoot();
    shot.pellet_count = 3;
    shot.rays[1] = shot.rays[2] = shot.rays[0];
    shot.pellets[1] = shot.pellets[2] = shot.pellets[0];
    shot.pellets[2].hits[0].victim = player(SHOOTER)->controlled;
    fairness_count(match, &shot);
    cr_expect_eq(match_fairness(match)->rewound_shots.count, 2);
    cr_expect_eq(match_fairness(match)->rewound_hits.count, 3, "one of before, two of now");
    shot.pellet_count = 0;
    fairness_count(match, &shot);
    cr_expect_eq(match_fairness(match)->rewound_shots.count, 2, "no ray, no shot of these figures");
}

/* ---- figures ---- */

Test(match_fairness, percentiles_are_ends_of_buckets_and_never_beyond_the_maximum)
{
    struct match_histogram histogram = {.max_ms = 0};
    cr_expect_eq(match_histogram_ms(&histogram, 500), 0);
    histogram = (struct match_histogram){.counts = {1}, .count = 1};
    cr_expect_eq(match_histogram_ms(&histogram, 990), 0);
    histogram = (struct match_histogram){
        .counts = {[3] = 98, [20] = 1, [FAIRNESS_BUCKETS - 1] = 1}, .count = 100, .max_ms = 5000};
    cr_expect_eq(match_histogram_ms(&histogram, 500), 40);
    cr_expect_eq(match_histogram_ms(&histogram, 980), 40);
    cr_expect_eq(match_histogram_ms(&histogram, 981), 210);
    cr_expect_eq(match_histogram_ms(&histogram, 1000), 5000);
    histogram = (struct match_histogram){.counts = {[3] = 2}, .count = 2, .max_ms = 33};
    cr_expect_eq(match_histogram_ms(&histogram, 500), 33);
}

/* A player of 100 ms round trip whose shots always meet the newest tick. */
static bool idle_after(int32_t max_rewind_ms, uint32_t shots, uint32_t back, arb_fine round_trip)
{
    setup();
    config.lagcomp.max_rewind_ms = max_rewind_ms;
    open_with_wall();
    for (uint32_t i = 0; i < back; i++) {
        tick();
    }
    for (uint32_t i = 0; i < shots; i++) {
        match->seats[SHOOTER].views.round_trip[0] = round_trip;
        match->seats[SHOOTER].views.round_trips = 1;
        arb_tick at = match_tick(match) - 1 - back;
        steer(SHOOTER, 0, (struct arb_view){.from_tick = at, .to_tick = at}, ARB_BUTTON_FIRE);
        tick();
    }
    bool idle = match_fairness_idle(match_fairness(match));
    cr_assert_eq(match_fairness(match)->rewound_shots.count, shots);
    close_match();
    return idle;
}

Test(match_fairness, compensation_that_is_on_and_does_nothing_is_noticed)
{
    arb_fine tick_ms = 60 * ARB_FINE_TICK / 1000 + 1;
    cr_expect(idle_after(500, 10, 0, 100 * tick_ms));
    cr_expect(idle_after(250, 30, 1, 150 * tick_ms));
    cr_expect_not(idle_after(500, 9, 0, 100 * tick_ms), "too few to say");
    cr_expect_not(idle_after(500, 10, 0, 90 * tick_ms), "their round trips are short");
    cr_expect_not(idle_after(500, 10, 6, 100 * tick_ms), "they are rewound");
    cr_expect_not(idle_after(0, 10, 0, 100 * tick_ms), "it is off");
}
