/* Spectators in whole matches: real sessions, match and clients over the simulated network. What
 * each of them has is compared with what the server published of that tick (the simulator's
 * invariants); here is what else must be so. Every run follows from its seed. */
#include "tests/support/virtual.h"

#include <criterion/criterion.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"
#define SERPENT ARBITER_SOURCE_DIR "/config/serpent.json"

static const struct arb_link average = {.delay_us = 40000, .jitter_us = 10000, .loss_ppm = 10000};
static const struct arb_link bad = {.delay_us = 80000,
                                    .jitter_us = 40000,
                                    .loss_ppm = 100000,
                                    .duplicate_ppm = 10000,
                                    .reorder_ppm = 20000};

static struct sim *start(const char *file, const char *const *sets, size_t set_count,
                         uint32_t spectators, struct arb_link link, uint64_t seed, uint32_t faults)
{
    return virtual_create(&(struct sim_options){.config_file = file,
                                                .sets = sets,
                                                .set_count = set_count,
                                                .clients = 6,
                                                .spectators = spectators,
                                                .seed = seed,
                                                .up = link,
                                                .down = link,
                                                .policies = {"aim"},
                                                .faults = faults,
                                                .check = true,
                                                .own_clocks = true});
}

static void all_holds(const struct sim *sim)
{
    const char *text;
    sim_first_violation(sim, &text);
    cr_assert_eq(sim_violation_count(sim), 0, "%s", text);
}

static struct arbiter_statistics figures(struct sim *sim, uint32_t spectator)
{
    struct arbiter_statistics out;
    arbiter_client_statistics(sim_spectator(sim, spectator), &out);
    return out;
}

static struct arbiter_view view_of(struct sim *sim, uint32_t spectator)
{
    struct arbiter_view out;
    struct arbiter_client *client = sim_spectator(sim, spectator);
    arbiter_client_sample(client, 0, &out);
    return out;
}

/* ---- claims ---- */

static void watch(const char *file, const char *delay, uint64_t shown_from)
{
    const char *sets[] = {"match.min_players=4", "match.countdown_s=1", delay};
    struct sim *sim = start(file, sets, 3, 5, bad, 41, 0);
    sim_run_ticks(sim, 1200);
    all_holds(sim);
    cr_assert_eq(match_spectator_count(sim_match(sim)), 5);
    cr_assert_eq(match_present_count(sim_match(sim)), 6);
    for (uint32_t i = 0; i < 5; i++) {
        struct arbiter_statistics s = figures(sim, i);
        cr_assert_gt(s.snapshots, (1200 - shown_from) / 2 * 7 / 10, "spectator %u: %llu", i,
                     (unsigned long long)s.snapshots);
        cr_assert_eq(s.inputs_sent, 0);
        cr_assert_eq(s.counts_received, 0);
        struct arbiter_view view = view_of(sim, i);
        cr_assert_eq(view.game, ARBITER_GAME_SPECTATING);
        cr_assert_eq(view.phase, ARBITER_MATCH_LIVE);
        cr_assert_eq(view.own_slot, ARBITER_NO_SLOT);
        cr_assert_not(view.own.exists);
        cr_assert_eq(view.player_count, 6);
    }
    sim_destroy(sim);
}

Test(spectators, see_what_was_published_under_loss)
{
    watch(ARENA, "spectator.delay_s=0", 120);
    watch(SERPENT, "spectator.delay_s=0", 120);
}

Test(spectators, see_it_as_much_later_as_configured)
{
    watch(ARENA, "spectator.delay_s=3", 300);
    watch(SERPENT, "spectator.delay_s=3", 300);
}

Test(spectators, live_on_the_delayed_time)
{
    const char *sets[] = {"match.countdown_s=1", "spectator.delay_s=3"};
    struct sim *sim = start(ARENA, sets, 2, 2, average, 5, 0);
    sim_run_ticks(sim, 600);
    struct arbiter_view view = view_of(sim, 0);
    /* They came before the delay had passed, so their ticks began below 0, modulo 2^32. */
    double behind = (double)match_tick(sim_match(sim)) + 4294967296.0 - view.server_tick;
    cr_assert_float_eq(behind, 180.0, 4.0, "%g ticks behind", behind);
    cr_assert_lt(figures(sim, 0).view_age_ms, 300.0F, "no older than a player's view of its time");
    sim_destroy(sim);
}

Test(spectators, follow_who_they_are_told_to)
{
    const char *sets[] = {"match.countdown_s=1"};
    struct sim *sim = start(ARENA, sets, 1, 5, average, 6, 0);
    uint32_t followed = 0, drawn = 0;
    for (int i = 0; i < 20; i++) {
        sim_run_ticks(sim, 60);
        struct arbiter_view view = view_of(sim, 0);
        followed += view.followed_key != 0;
        for (uint32_t e = 0; e < view.entity_count; e++) {
            drawn += view.entities[e].key == view.followed_key;
            cr_assert_not(view.entities[e].is_own);
        }
    }
    cr_assert_gt(followed, 12);
    cr_assert_geq(drawn + 2, followed, "%u of %u", drawn, followed);
    cr_assert_eq(view_of(sim, 1).followed_key, 0, "bot 8 has a camera");
    cr_assert_gt(figures(sim, 1).snapshots, 400);
    sim_destroy(sim);
}

Test(spectators, come_and_go_as_faults_will)
{
    const uint32_t faults = (1U << SIM_FAULTS) - 1;
    const char *sets[] = {"match.countdown_s=1", "spectator.delay_s=1", "debug.first_tick=65500"};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct sim *sim = start(seed == 2 ? SERPENT : ARENA, sets, 3, 6, average, seed, faults);
        sim_run_ticks(sim, 1500);
        all_holds(sim);
        sim_destroy(sim);
    }
}

Test(spectators, in_a_match_younger_than_the_delay_wait_for_it)
{
    const char *sets[] = {"match.countdown_s=1", "spectator.delay_s=5"};
    struct sim *sim = start(ARENA, sets, 2, 2, average, 9, 0);
    sim_run_ticks(sim, 280);
    cr_assert_eq(figures(sim, 0).snapshots, 0);
    cr_assert_eq(view_of(sim, 0).connection, ARBITER_CONNECTED);
    sim_run_ticks(sim, 300);
    cr_assert_gt(figures(sim, 0).snapshots, 100);
    all_holds(sim);
    sim_destroy(sim);
}

Test(spectators, hear_the_result_later_too)
{
    const char *sets[] = {"match.countdown_s=0", "match.duration_s=6", "match.result_s=1",
                          "spectator.delay_s=4"};
    struct sim *sim = start(ARENA, sets, 4, 3, average, 3, 0);
    while (!match_decided(sim_match(sim))) {
        sim_run_ticks(sim, 1);
    }
    uint64_t decided_us = sim_now_us(sim);
    sim_run_us(sim, 3500000);
    cr_assert(match_ended(sim_match(sim)));
    cr_assert(match_is_watched(sim_match(sim)));
    cr_assert(bot_counts(sim_bot(sim, 0)).saw_result);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_not(bot_counts(sim_spectator_bot(sim, i)).saw_result);
    }
    while (match_is_watched(sim_match(sim))) {
        sim_run_us(sim, 16667);
    }
    cr_assert_geq(sim_now_us(sim), decided_us + 5000000 - 40000);
    sim_run_us(sim, 1000000);
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert(bot_counts(sim_spectator_bot(sim, i)).saw_result);
    }
    all_holds(sim);
    sim_destroy(sim);
}

Test(spectators, may_be_many)
{
    const char *sets[] = {"match.countdown_s=1", "spectator.max=100"};
    struct sim *sim = start(ARENA, sets, 2, 100, average, 8, 0);
    sim_run_ticks(sim, 400);
    cr_assert_eq(match_spectator_count(sim_match(sim)), 100);
    all_holds(sim);
    for (uint32_t i = 0; i < 100; i++) {
        cr_assert_gt(figures(sim, i).snapshots, 100);
    }
    sim_destroy(sim);
}

Test(spectators, more_than_there_are_places_for_are_refused)
{
    const char *sets[] = {"spectator.max=2"};
    struct sim *sim = start(ARENA, sets, 1, 3, average, 4, 0);
    sim_run_ticks(sim, 150);
    uint32_t refused = 0;
    for (uint32_t i = 0; i < 3; i++) {
        struct arbiter_disconnect_info info;
        arbiter_client_disconnect_info(sim_spectator(sim, i), &info);
        if (info.reason != ARBITER_REASON_FULL) continue;
        refused++;
        cr_assert_str_eq(info.text, "the match has no place for another spectator");
    }
    cr_assert_eq(refused, 1);
    cr_assert_eq(match_spectator_count(sim_match(sim)), 2);
    sim_destroy(sim);
}
