/* The measure of lag compensation: it says 0 where there is nothing to say, and by how much where
 * there is; and what comes out of it in whole matches is 0. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "shared/move/arb_move.h"
#include "tools/net/profile.h"
#include "tools/sim/sim_rewind.h"

#include <criterion/criterion.h>
#include <math.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"

enum { SETS_MAX = 12 };

struct run {
    const char *profile; /* NULL: 50 ms each way */
    const char *sets[SETS_MAX];
    uint32_t clients, ticks, frames_per_s;
    bool extrapolates;
    uint64_t seed;
    enum sim_cheat cheat;
    void (*hook)(struct sim *sim);
    struct sim *sim;
};

static void after_tick(void *user, struct match *match)
{
    struct run *run = user;
    (void)match;
    if (run->hook != NULL && run->sim != NULL) run->hook(run->sim);
}

static struct sim_rewind_figures play(struct run *run)
{
    static const char *const always[] = {"match.min_players=2", "match.countdown_s=0",
                                         "match.duration_s=3000"};
    const char *sets[SETS_MAX + 3];
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        sets[count++] = always[i];
    }
    for (size_t i = 0; i < SETS_MAX && run->sets[i] != NULL; i++) {
        sets[count++] = run->sets[i];
    }
    struct profile *profile = NULL;
    struct profile_error problem;
    if (run->profile != NULL) {
        cr_assert_eq(profile_load(run->profile, run->seed, &profile, &problem), ARB_OK);
    }
    struct config_error error;
    run->sim = NULL;
    struct sim *sim = sim_create(&(struct sim_options){.config_file = ARENA,
                                                       .sets = sets,
                                                       .set_count = count,
                                                       .clients = run->clients,
                                                       .seed = run->seed,
                                                       .profile = profile,
                                                       .up = {.delay_us = 50000},
                                                       .down = {.delay_us = 50000},
                                                       .policies = {"aim"},
                                                       .frames_per_s = run->frames_per_s,
                                                       .frame_jitter_us = 1500,
                                                       .fixed_interpolation = run->extrapolates,
                                                       .cheat = run->cheat,
                                                       .check = true,
                                                       .own_clocks = true,
                                                       .after_tick = after_tick,
                                                       .user = run},
                                 &error);
    cr_assert_not_null(sim, "%s", error.text);
    run->sim = sim;
    sim_run_ticks(sim, run->ticks);
    struct sim_rewind_figures figures = sim->checks->rewind->figures;
    const char *text;
    sim_first_violation(sim, &text);
    if (run->hook == NULL) cr_assert_eq(sim_violation_count(sim), 0, "%s", text);
    return figures;
}

static void stop(struct run *run)
{
    struct profile *profile = (struct profile *)run->sim->options.profile;
    sim_destroy(run->sim);
    if (profile != NULL) profile_free(profile);
    run->sim = NULL;
}

/* ---- the measure ---- */

static uint64_t moved_pictures[8];

/* Each picture once: everybody as they were a tick before. */
static void move_by_a_tick(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        struct sim_eye *eye = &sim->checks->rewind->eyes[i];
        for (; moved_pictures[i] < eye->picture_count; moved_pictures[i]++) {
            const struct sim_picture *picture = &eye->pictures[moved_pictures[i] % SIM_PICTURES];
            for (uint32_t at = 0; at < picture->count; at++) {
                struct sim_drawn *drawn = sim_drawn_of(eye, picture, at);
                drawn->position = arb_vec2_mul_add(drawn->position, -1.0F / 60.0F, drawn->velocity);
            }
        }
    }
}

Test(rewind_measure, a_tick_too_late_is_measured_as_one_tick)
{
    struct run run = {.clients = 8, .ticks = 3000, .seed = 3, .hook = move_by_a_tick};
    struct sim_rewind_figures figures = play(&run);
    cr_assert_gt(figures.moving, 100);
    cr_assert_float_eq(figures.signed_ticks / (double)figures.moving, 1.0, 0.001);
    cr_assert_geq(figures.error_max_m, 0.09, "6 m/s and 60 ticks a second are 10 cm");
    cr_assert_gt(sim_violations(run.sim, SIM_INVARIANT_rewind_error), 100);
    stop(&run);
}

static void claim_that_it_compensates(struct sim *sim)
{
    sim->checks->rewind->most_ms = 500.0;
}

Test(rewind_measure, compensation_that_does_nothing_is_noticed)
{
    struct run run = {.sets = {"lagcomp.max_rewind_ms=0"},
                      .clients = 8,
                      .ticks = 3000,
                      .seed = 3,
                      .hook = claim_that_it_compensates};
    play(&run);
    cr_assert_gt(sim_violations(run.sim, SIM_INVARIANT_rewind_applied), 0);
    stop(&run);
}

Test(rewind_measure, a_round_trip_of_100_ms_is_rewound)
{
    struct run run = {.clients = 8, .ticks = 3000, .seed = 3};
    struct sim_rewind_figures figures = play(&run);
    double mean_ms = figures.rewound_ms / (double)figures.rewound;
    cr_assert_gt(figures.rewound, 50);
    cr_assert(mean_ms > 100.0 && mean_ms < 250.0, "%g ms", mean_ms);
    cr_assert_eq(figures.shots[SIM_SHOT_clamped], 0);
    stop(&run);
}

/* Two ways to the same answer: what a ray meets. */
Test(rewind_measure, its_arithmetic_agrees_with_that_of_the_game)
{
    struct arb_rng rng;
    uint32_t met = 0;
    arb_rng_seed(&rng, 7, 0);
    for (uint32_t i = 0; i < 200000; i++) {
        struct arb_vec2 a = {arb_rng_range(&rng, -4, 4), arb_rng_range(&rng, -4, 4)};
        struct arb_vec2 b = {arb_rng_range(&rng, -4, 4), arb_rng_range(&rng, -4, 4)};
        struct arb_vec2 from = {arb_rng_range(&rng, -9, 9), arb_rng_range(&rng, -9, 9)};
        struct arb_vec2 direction = arb_move_direction(arb_rng_range(&rng, -3, 3));
        if (i % 3 == 0) b = a;
        float fraction = 0.0F, length = 20.0F;
        bool game =
            arb_move_ray_capsule(from, arb_vec2_scale(direction, length), a, b, 0.5F, &fraction);
        double here = sim_rewind_meets(sim_spot_of(from), sim_spot_of(direction), sim_spot_of(a),
                                       sim_spot_of(b), 0.5);
        /* Nearly touching: either is right. */
        double less = sim_rewind_meets(sim_spot_of(from), sim_spot_of(direction), sim_spot_of(a),
                                       sim_spot_of(b), 0.5 - 1e-4);
        double more = sim_rewind_meets(sim_spot_of(from), sim_spot_of(direction), sim_spot_of(a),
                                       sim_spot_of(b), 0.5 + 1e-4);
        if ((less < SIM_NEVER_MET) != (more < SIM_NEVER_MET)) continue;
        cr_assert_eq(game, here < SIM_NEVER_MET, "case %u", i);
        met += game;
        if (game && fabs(less - more) < 0.01) {
            cr_assert_float_eq((double)(fraction * length), here, 2e-3, "case %u", i);
        }
    }
    cr_assert_gt(met, 10000);
}

/* ---- whole matches ---- */

static void expect_exact(struct run *run, uint64_t shots)
{
    struct sim_rewind_figures figures = play(run);
    cr_assert_geq(figures.shots[SIM_SHOT_honoured], shots);
    cr_assert_eq(figures.error_max_m, 0.0);
    cr_assert_eq(figures.differing, 0);
    cr_assert_eq(figures.drawn_only, 0);
    cr_assert_eq(figures.held_only, 0);
    cr_assert_eq(figures.muzzle_max_m, 0.0);
    cr_assert_gt(figures.muzzles, shots / 4);
    cr_assert_lt(figures.unsure, 1 + figures.rays / 100);
    stop(run);
}

Test(rewind_measure, it_is_exact_between_two_snapshots)
{
    expect_exact(&(struct run){.clients = 8, .ticks = 3000, .seed = 11, .profile = "average"}, 150);
}

Test(rewind_measure, it_is_exact_past_the_newest_snapshot)
{
    struct run run = {.clients = 8,
                      .ticks = 3000,
                      .seed = 12,
                      .profile = "average",
                      .extrapolates = true,
                      .frames_per_s = 144};
    struct sim_rewind_figures figures = play(&run);
    cr_assert_gt(figures.how[ARBITER_EXTRAPOLATED], 100);
    cr_assert_eq(figures.errors + figures.differing, 0);
    stop(&run);
}

Test(rewind_measure, it_is_exact_on_the_worst_line)
{
    expect_exact(&(struct run){.clients = 8,
                               .ticks = 3000,
                               .seed = 13,
                               .profile = "bad",
                               .sets = {"lagcomp.max_rewind_ms=700"}},
                 100);
}

Test(rewind_measure, it_is_exact_at_ten_times_the_speed_and_240_frames)
{
    expect_exact(&(struct run){.clients = 8,
                               .ticks = 3000,
                               .seed = 14,
                               .profile = "good",
                               .frames_per_s = 240,
                               .sets = {"arena.max_speed=60", "arena.acceleration=600",
                                        "snapshot.interval_ticks=3"}},
                 50);
}

Test(rewind_measure, it_is_exact_when_snapshots_leave_characters_out)
{
    struct run run = {.clients = 16,
                      .ticks = 1500,
                      .seed = 17,
                      .profile = "average",
                      .sets = {"snapshot.budget_bytes_per_s=5000", "snapshot.far_m=4",
                               "snapshot.far_every=4", "snapshot.interval_ticks=1"}};
    struct sim_rewind_figures figures = play(&run);
    cr_assert_geq(figures.shots[SIM_SHOT_honoured], 150);
    cr_assert_gt(figures.deferred, 100);
    cr_assert_eq(figures.errors + figures.differing, 0);
    stop(&run);
}

/* The dead come back as somebody else at once; the new one has the old one's id. */
Test(rewind_measure, it_is_exact_when_characters_die_and_come_back_all_the_time)
{
    expect_exact(&(struct run){.clients = 8,
                               .ticks = 3000,
                               .seed = 15,
                               .profile = "average",
                               .sets = {"arena.health=20", "arena.health_max=20",
                                        "arena.respawn_ms=100", "arena.spawn_protection_ms=0"}},
                 100);
}

/* Now and then everybody is somewhere else, near or far, without having gone there. */
static void teleport(struct sim *sim)
{
    struct world *world = (struct world *)match_world(sim->match);
    if (sim->ticks % 20 != 0) return;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        struct world_player *player = &world->players[slot];
        struct world_entity *entity = world_find(world, player->controlled);
        if (entity == NULL) continue;
        player->own.x += slot % 2 == 0 ? 0.01F : -0.5F * player->own.x;
        entity->x = player->own.x;
        entity->jump++;
        player->outside_changes++;
    }
}

Test(rewind_measure, it_is_exact_when_characters_jump)
{
    struct run run = {
        .clients = 8, .ticks = 3000, .seed = 16, .profile = "average", .hook = teleport};
    struct sim_rewind_figures figures = play(&run);
    cr_assert_geq(figures.shots[SIM_SHOT_honoured], 100);
    cr_assert_eq(sim_violations(run.sim, SIM_INVARIANT_rewind_error), 0);
    cr_assert_eq(sim_violations(run.sim, SIM_INVARIANT_rewind_decision), 0);
    stop(&run);
}

/* ---- what flies ---- */

#define FLIES(name)                                                                                \
    "{\"name\":\"" name "\",\"kind\":\"projectile\",\"damage\":60,\"damage_far\":60,"              \
    "\"projectile_speed\":18,\"projectile_radius_m\":0.15,\"interval_ms\":300,"                    \
    "\"automatic\":true,\"start\":true}"

static struct sim_rewind_flights play_flights(struct run *run, const char *more)
{
    run->sets[0] = "arena.weapons=[" FLIES("a") "," FLIES("b") "," FLIES("c") "," FLIES("d") "]";
    run->sets[1] = "match.map=maps/arena_duel.tmj";
    run->sets[2] = "lagcomp.max_rewind_ms=700";
    run->sets[3] = "lagcomp.projectile_catchup_ms=700";
    run->sets[4] = more;
    return play(run).flights;
}

/* As long as the client held the snapshots, they are drawn where the projectile is tested against
 * them, whatever was lost; of those that it got later some were lost. */
Test(rewind_measure, what_a_launch_meets_is_what_its_shooter_drew_on_lines_that_lose)
{
    static const char *const profiles[] = {"average", "bad", "mobile"};
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        struct run run = {.clients = 6, .ticks = 2700, .seed = 21 + i, .profile = profiles[i]};
        struct sim_rewind_flights flights = play_flights(&run, NULL);
        cr_log_info("%s: %llu launches, %llu certain, %llu held (%llu differ), %llu assumed (%llu)",
                    profiles[i], (unsigned long long)flights.launches,
                    (unsigned long long)flights.certain.count,
                    (unsigned long long)flights.held.count, (unsigned long long)flights.held.errors,
                    (unsigned long long)flights.assumed.count,
                    (unsigned long long)flights.assumed.errors);
        cr_expect_gt(flights.launches, 100);
        cr_expect_gt(flights.certain.count, 300);
        cr_expect_gt(flights.held.count, 3000);
        cr_expect_eq(flights.certain.errors + flights.certain.missing, 0);
        /* Who leaves the view is drawn on from its last state. */
        cr_expect_lt(flights.held.errors, flights.held.count / 1000);
        cr_expect_eq(flights.held.missing, 0);
        stop(&run);
    }
}

Test(rewind_measure, a_launch_is_exact_up_to_its_view_when_snapshots_leave_characters_out)
{
    struct run run = {.clients = 6, .ticks = 2700, .seed = 6, .profile = "average"};
    struct sim_rewind_flights flights = play_flights(&run, "snapshot.budget_bytes_per_s=5000");
    cr_expect_gt(flights.certain.count, 300);
    cr_expect_eq(flights.certain.errors + flights.certain.missing, 0);
    stop(&run);
}

Test(rewind_measure, a_launch_into_another_past_is_noticed)
{
    struct run run = {.clients = 6, .ticks = 1200, .seed = 3, .hook = move_by_a_tick};
    struct sim_rewind_flights flights = play_flights(&run, NULL);
    cr_expect_gt(flights.certain.errors, 20);
    cr_expect_gt(flights.certain.max_m, 0.05);
    cr_expect_gt(flights.held.errors, 20);
    stop(&run);
}

/* ---- a slow server ---- */

static void be_too_slow(struct sim *sim)
{
    if (sim->ticks % 500 == 0) sim->server_busy_us = sim->now_us + 230000;
}

/* A server that is too slow drops time: its clients are ahead of it until they have learnt. */
Test(rewind_measure, it_stays_exact_and_honest_when_the_server_drops_time)
{
    static const struct {
        const char *profile;
        bool extrapolates;
    } rows[] = {{"lan", false}, {"average", false}, {"average", true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct run run = {.clients = 6,
                          .ticks = 4000,
                          .seed = 3,
                          .profile = rows[i].profile,
                          .extrapolates = rows[i].extrapolates,
                          .hook = be_too_slow};
        struct sim_rewind_figures figures = play(&run);
        struct match_view_counts counts = match_view_totals(run.sim->match);
        uint64_t claims = 0;
        for (int verdict = 0; verdict < MATCH_VIEW_VERDICTS; verdict++) {
            claims += counts.claims[verdict];
        }
        cr_assert_geq(run.sim->scheduler.dropped_ticks, 40, "row %zu", i);
        cr_assert_geq(figures.shots[SIM_SHOT_honoured], 100);
        cr_expect_geq(100 * counts.claims[MATCH_VIEW_HONOURED], 98 * claims, "row %zu: %u of %u", i,
                      (unsigned)counts.claims[MATCH_VIEW_HONOURED], (unsigned)claims);
        cr_expect_eq(sim_violations(run.sim, SIM_INVARIANT_rewind_error), 0);
        cr_expect_eq(sim_violations(run.sim, SIM_INVARIANT_rewind_decision), 0);
        stop(&run);
    }
}
