/* Projectiles beside the mode: what they count for in the figures of lag compensation, and what is
 * copied of them for whoever looks. The mode only says that something flew. */
#include "server/match/match_shot.h"
#include "tests/unit/cover_rig.h"

enum { MET = 20 /* ticks ago */ };

static uint32_t leaving; /* projectiles of the next shot */
static bool lands_now;   /* and one of before ends at the victim, too */

/* From the shooter's view on along x, a metre a tick. */
static void tell_of_flights(struct rules_context *context)
{
    arb_fine newest = (arb_fine)rewind_newest(context->rewind)->tick * ARB_FINE_TICK;
    struct rules_landing landing = {.slot = SHOOTER,
                                    .flight = -1,
                                    .victim = context->world->players[VICTIM].controlled,
                                    .at = newest - MET * ARB_FINE_TICK,
                                    .origin = {-40, 0},
                                    .centre = {-32.4F, 0},
                                    .point = {-32, 0}};
    for (uint8_t i = 0; i < leaving && match->shot_count > 0; i++) {
        struct rules_flight *flight = rules_flight_begin(context, 0);
        flight->pellet = i;
        flight->radius = 0.1F;
        flight->path = (struct arb_path){{-40, 0}, {60, 0}, newest - BACK * ARB_FINE_TICK};
        flight->to = landing.at;
        flight->present = newest - ARB_FINE_TICK;
        flight->unseen = 2;
        flight->spared = 3;
        landing.flight = i;
        landing.rewound = true;
        rules_landed(context, &landing);
    }
    if (lands_now) {
        landing.flight = -1;
        landing.rewound = false;
        rules_landed(context, &landing);
    }
}

static void setup(void)
{
    defaults();
    spawn_gap = 8;
    covered = leaving = 0;
    lands_now = false;
    probe_hook = tell_of_flights;
    config.lagcomp.projectile_catchup_ms = 500;
}

TestSuite(match_flights, .init = setup, .fini = close_match);

static void shoot(void)
{
    arb_tick at = match_tick(match) - 1 - BACK;
    steer(SHOOTER, 0, (struct arb_view){.from_tick = at, .to_tick = at}, ARB_BUTTON_FIRE);
    tick();
}

/* Walks behind the wall; then the shot. */
static void walk_and_shoot(uint32_t projectiles)
{
    walk_into_cover(MET);
    leaving = projectiles;
    shoot();
}

Test(match_flights, a_hit_of_the_past_counts_as_that_of_a_ray)
{
    walk_and_shoot(1);
    const struct match_fairness *fairness = match_fairness(match);
    cr_expect_eq(fairness->rewound_shots.count, 1);
    cr_expect_eq(fairness->rewound_shots.max_ms, ms_of(BACK), "to where it left");
    cr_expect_eq(fairness->rewound_hits.count, 1);
    cr_expect_eq(fairness->rewound_hits.max_ms, ms_of(MET), "to where it met its victim");
    cr_expect_eq(fairness->cover_hits.count, 1);
    cr_expect_eq(fairness->cover_hits.max_ms, ms_of(covered));
    cr_expect_eq(fairness->spared, 3);
    cr_expect_eq(match_view_counts(match, SHOOTER).unseen, 2);
    cr_expect_eq(match_view_totals(match).unseen, 2);
}

Test(match_flights, a_hit_of_the_present_was_not_rewound_and_nobody_was_in_cover_from_it)
{
    lands_now = true;
    walk_and_shoot(0);
    leaving = 0;
    const struct match_fairness *fairness = match_fairness(match);
    uint64_t before = fairness->rewound_hits.count;
    tick();
    cr_expect_eq(fairness->rewound_hits.count, before + 1);
    cr_expect_eq(fairness->rewound_hits.max_ms, 0);
    cr_expect_eq(fairness->cover_hits.count, before + 1);
    cr_expect_eq(fairness->cover_hits.max_ms, 0);
    cr_expect_eq(fairness->rewound_shots.count, 0);
}

Test(match_flights, a_shot_counts_once_whatever_leaves_with_it)
{
    walk_and_shoot(5);
    const struct match_fairness *fairness = match_fairness(match);
    cr_expect_eq(fairness->rewound_shots.count, 1);
    cr_expect_eq(fairness->rewound_hits.count, 5, "each of them hit");
}

/* A player of 150 ms round trip; what it fires is rewound by nothing. */
static uint64_t slow_shots_with(int32_t catchup_ms)
{
    setup();
    config.lagcomp.projectile_catchup_ms = catchup_ms;
    walk_and_shoot(0);
    match->seats[SHOOTER].views.round_trip[0] = 9 * ARB_FINE_TICK;
    match->seats[SHOOTER].views.round_trips = 1;
    leaving = 1;
    shoot();
    uint64_t slow = match_fairness(match)->slow_shots;
    close_match();
    return slow;
}

Test(match_flights, what_may_not_leave_far_back_says_nothing_of_idle_compensation)
{
    cr_expect_eq(slow_shots_with(500), 1);
    cr_expect_eq(slow_shots_with(100), 1);
    cr_expect_eq(slow_shots_with(99), 0);
    cr_expect_eq(slow_shots_with(0), 0);
}

/* ---- seeing it ---- */

static struct match_shot seen;
static uint32_t seen_count;

static void on_flown(void *owner, const struct rules_shot *shots,
                     const struct rules_flights *flights)
{
    (void)owner;
    cr_assert_gt(flights->count, 0);
    match_record_shot(match, &shots[flights->list[0].shot], &seen);
    seen_count++;
}

Test(match_flights, a_launch_is_copied_with_its_way_and_whom_it_met)
{
    open_with_wall();
    match_observe(match, &(struct match_observer){.flown = on_flown});
    walk_behind_the_wall();
    cr_expect_eq(seen_count, 0);
    leaving = 2;
    shoot();
    cr_assert_eq(seen_count, 1);
    arb_tick newest = match_tick(match) - 2;
    cr_expect_eq(seen.newest, newest);
    cr_expect_eq(seen.ray_count, 0);
    cr_assert_eq(seen.flight_count, 2);
    cr_expect_eq(seen.flights[1].pellet, 1);
    cr_expect_eq(seen.flights[0].from, (newest - BACK) * 256);
    cr_expect_eq(seen.flights[0].to, (newest - MET) * 256);
    cr_expect_eq(seen.flights[0].present, (newest - 1) * 256);
    cr_expect_eq(seen.flights[0].velocity.x, 60);
    cr_expect_float_eq(seen.rewound_ms, 25 * 1000.0F / 60, 0.01F);
    cr_assert_eq(seen.landing_count, 2);
    cr_expect_eq(seen.landings[1].flight, 1);
    cr_expect(seen.landings[0].rewound);
    cr_assert_eq(seen.candidate_count, 1, "once, though both hit");
    const struct match_shot_candidate *candidate = &seen.candidates[0];
    cr_expect_eq(candidate->slot, VICTIM);
    cr_expect_eq(candidate->cover_ms, ms_of(covered));
    /* As it was when it was met, MET ticks ago; not as of the shot's view. */
    struct arb_vec2 then;
    struct arb_view view = {.from_tick = newest - MET, .to_tick = newest - MET};
    cr_assert(rewind_pose(match_rewind(match), candidate->key, view, &then, NULL));
    cr_expect_eq(candidate->rewound.centre.y, then.y);
    cr_expect_lt(candidate->rewound.centre.y, candidate->present.centre.y);
}

/* Its way leads past the victim's place: eight ticks after it left. */
static void tell_of_a_miss(struct rules_context *context)
{
    tell_of_flights(context);
    context->flights->landing_count = 0;
    for (uint32_t i = 0; i < context->flights->count; i++) {
        context->flights->list[i].to += 12 * ARB_FINE_TICK;
    }
}

Test(match_flights, whom_a_flight_passed_is_copied_as_of_when_it_was_nearest)
{
    open_with_wall();
    match_observe(match, &(struct match_observer){.flown = on_flown});
    probe_hook = tell_of_a_miss;
    walk_behind_the_wall();
    leaving = 1;
    shoot();
    cr_assert_eq(seen.flight_count, 1);
    cr_assert_eq(seen.landing_count, 0);
    cr_assert_eq(seen.candidate_count, 1);
    struct arb_vec2 then;
    arb_tick at = seen.newest - BACK + 8;
    struct arb_view view = {.from_tick = at, .to_tick = at};
    cr_assert(rewind_pose(match_rewind(match), seen.candidates[0].key, view, &then, NULL));
    cr_expect_float_eq(seen.candidates[0].rewound.centre.y, then.y, 0.02F, "a tick is 0.1 m");
}
