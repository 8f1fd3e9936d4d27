/* Lying about what it saw gains a client nothing; a sample of what tests/sim/cheats.py plays. */
#include "tools/net/profile.h"
#include "tools/sim/sim_cheat.h"
#include "tools/sim/sim_rewind.h"

#include <criterion/criterion.h>
#include <math.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"

/* Never empty, hits where it aims, and nobody dies of it. */
#define WEAPON(name)                                                                               \
    "{\"name\":\"" name "\",\"range_m\":30,\"damage\":0,\"damage_far\":0,\"falloff_from_m\":8,"    \
    "\"falloff_to_m\":24,\"spread_rad\":0,\"spread\":\"uniform\",\"pellets\":1,\"pierce\":0,"      \
    "\"pierce_factor\":0.5,\"interval_ms\":50,\"magazine\":0,\"reserve\":0,\"reserve_max\":0,"     \
    "\"reload_ms\":0,\"automatic\":false,\"start\":true}"

enum { SEEDS = 3, TICKS = 2000 };

struct score {
    double beyond[SEEDS]; /* share of hits less the share of presses with somebody in sight */
    double mean, error;   /* of the mean */
    uint64_t shots, hits;
};

static void play(enum sim_cheat cheat, uint64_t seed, struct score *score)
{
    const char *sets[] = {
        "arena.weapons=[" WEAPON("a") "," WEAPON("b") "," WEAPON("c") "," WEAPON("d") "]",
        "match.duration_s=3000", "match.countdown_s=0", "match.rounds=1"};
    struct profile *profile;
    struct profile_error problem;
    struct config_error error;
    cr_assert_eq(profile_load("average", seed, &profile, &problem), ARB_OK);
    struct sim *sim = sim_create(&(struct sim_options){.config_file = ARENA,
                                                       .sets = sets,
                                                       .set_count = 4,
                                                       .clients = 4,
                                                       .seed = seed,
                                                       .profile = profile,
                                                       .policies = {"wander"},
                                                       .frame_jitter_us = 1500,
                                                       .cheat = cheat,
                                                       .check = true,
                                                       .own_clocks = true},
                                 &error);
    cr_assert_not_null(sim, "%s", error.text);
    sim_run_ticks(sim, TICKS);
    const char *text;
    sim_first_violation(sim, &text);
    cr_assert_eq(sim_violation_count(sim), 0, "%s: %s", sim_cheat_name(cheat), text);
    const struct sim_rewind_figures *figures = &sim->checks->rewind->figures;
    uint64_t presses, in_sight;
    sim_cheater_count(sim->cheater, &presses, &in_sight);
    cr_assert_gt(figures->cheat_shots, 100);
    score->beyond[seed % SEEDS] = (double)figures->cheat_hits / (double)figures->cheat_shots -
                                  (double)in_sight / (double)presses;
    score->shots += figures->cheat_shots;
    score->hits += figures->cheat_hits;
    sim_destroy(sim);
    profile_free(profile);
}

static struct score score_of(enum sim_cheat cheat)
{
    struct score score = {.shots = 0};
    double squares = 0.0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        play(cheat, 20 + seed, &score);
    }
    for (int i = 0; i < SEEDS; i++) {
        score.mean += score.beyond[i] / SEEDS;
    }
    for (int i = 0; i < SEEDS; i++) {
        squares += (score.beyond[i] - score.mean) * (score.beyond[i] - score.mean);
    }
    score.error = sqrt(squares / (SEEDS - 1) / SEEDS);
    return score;
}

/* So few runs say little of their own spread: the binomial error, which is none too small here, is
 * added. */
static double variance_of(const struct score *score)
{
    double share = (double)score->hits / (double)score->shots;
    return score->error * score->error + share * (1.0 - share) / (double)score->shots;
}

Test(rewind_cheat, no_lie_gains_a_hit)
{
    struct score honest = score_of(SIM_CHEAT_honest);
    cr_assert_float_eq(honest.mean, 0.0, 0.05, "an honest client hits what it has in sight");
    for (int i = SIM_CHEAT_honest + 1; i < SIM_CHEATS; i++) {
        struct score score = score_of((enum sim_cheat)i);
        double error = sqrt(variance_of(&honest) + variance_of(&score));
        double gain = score.mean - honest.mean;
        cr_assert_leq(gain, 3.0 * error, "%s gains %g +- %g", sim_cheat_name((enum sim_cheat)i),
                      gain, error);
    }
}
