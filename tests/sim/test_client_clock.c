/* Time at both ends, in whole virtual matches: the client's idea of the server's tick however
 * seldom it polls, inputs in time whatever its frames, and the same match from ticks near the ends
 * of 24, 31 and 32 bits. */
#include "shared/client/arbiter_client_internal.h"
#include "tests/support/driven.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"
#define SERPENT ARBITER_SOURCE_DIR "/config/serpent.json"

enum { CLIENTS = 4, TICK_RATE = 60 };

static const char *const modes[] = {ARENA, SERPENT};
static const uint32_t polls_per_s[] = {20, 60, 144};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct arbiter_statistics figures(struct sim *run, uint32_t client)
{
    struct arbiter_statistics statistics;
    arbiter_client_statistics(sim_client(run, client), &statistics);
    return statistics;
}

/* ---- the server's tick, as clients see it ---- */

struct clock_check {
    struct sim *run;
    uint64_t start_us; /* when the first tick, tick 1, ran */
    uint32_t estimates;
    double worst; /* ticks */
};

static void note_error(struct clock_check *check, arb_fine estimate, double stands)
{
    double error = fabs((double)estimate / ARB_FINE_TICK - stands);
    check->estimates++;
    check->worst = error > check->worst ? error : check->worst;
}

static void compare_clocks(void *user, struct match *match)
{
    struct clock_check *check = user;
    (void)match;
    uint64_t now_us = sim_now_us(check->run);
    if (check->start_us == 0) check->start_us = now_us;
    double stands = 1.0 + (double)(now_us - check->start_us) * TICK_RATE * 1e-6;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct arbiter_client *client = sim_client(check->run, i);
        arb_fine estimate;
        if (!arb_client_estimate(client, now_us * 1000, &estimate)) continue;
        note_error(check, estimate, stands);
        if (client->clocks.server.running) {
            note_error(check, arb_slew_at(&client->clocks.server, now_us * 1000, TICK_RATE),
                       stands);
        }
    }
}

static void check_clocks(uint32_t delay_us, uint32_t frames_per_s)
{
    const char *sets[] = {"match.min_players=4"};
    struct clock_check check = {0};
    struct sim_options options = {
        .config_file = ARENA,
        .sets = sets,
        .set_count = 1,
        .clients = CLIENTS,
        .seed = 51,
        .up = {.delay_us = delay_us},
        .down = {.delay_us = delay_us},
        .policies = {"wander"},
        .frames_per_s = frames_per_s,
        .after_tick = compare_clocks,
        .user = &check,
    };
    check.run = virtual_create(&options);
    sim_run_ticks(check.run, 600);
    cr_assert_gt(check.estimates, 3000);
    cr_assert_lt(check.worst, 1.001, "%u us each way, %u polls/s: off by %f ticks", delay_us,
                 frames_per_s, check.worst);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct arbiter_statistics now = figures(check.run, i);
        double real_ms = 2e-3 * delay_us;
        cr_assert_float_eq((double)now.rtt_min_ms, real_ms, 0.01);
        cr_assert_float_eq((double)now.rtt_ms, real_ms, 0.01, "%u polls/s: %f ms, not %f",
                           frames_per_s, (double)now.rtt_ms, real_ms);
    }
    sim_destroy(check.run);
}

Test(client_clock, polling_seldom_changes_neither_the_round_trip_nor_the_estimated_tick)
{
    static const uint32_t delays_us[] = {0, 500, 50000, 100000};
    for (size_t d = 0; d < COUNT(delays_us); d++) {
        for (size_t f = 0; f < COUNT(polls_per_s); f++) {
            check_clocks(delays_us[d], polls_per_s[f]);
        }
    }
}

/* ---- inputs and views at every frame rate ---- */

static void play(const char *file, uint32_t delay_us, uint32_t frames_per_s)
{
    const char *sets[] = {"match.min_players=4", "match.max_players=4", "match.countdown_s=1",
                          "match.duration_s=20", "match.result_s=1",    "match.rounds=1"};
    struct sim_options options = {
        .config_file = file,
        .sets = sets,
        .set_count = COUNT(sets),
        .clients = CLIENTS,
        .seed = 52 + frames_per_s,
        .up = {.delay_us = delay_us},
        .down = {.delay_us = delay_us},
        .policies = {"aim"},
        .frames_per_s = frames_per_s,
    };
    struct sim *run = virtual_create(&options);
    sim_run_to_end(run, 6000);
    uint64_t presses = 0;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct arbiter_statistics now = figures(run, i);
        cr_assert_gt(now.inputs_consumed, 1200);
        cr_assert(1000 * now.inputs_starved < now.inputs_consumed,
                  "%u us, %u frames/s: %u starved of %u", delay_us, frames_per_s,
                  now.inputs_starved, now.inputs_consumed);
        cr_assert_eq(now.corrections.count, 0, "%u us, %u frames/s", delay_us, frames_per_s);
        cr_assert_eq(now.resyncs, 0);
        cr_assert_eq(now.frozen_frames, 0, "%u us, %u frames/s: %llu frozen", delay_us,
                     frames_per_s, (unsigned long long)now.frozen_frames);
        for (int button = 0; button < ARBITER_BUTTONS; button++) {
            cr_assert_eq(now.edges[button], now.edges_sent[button]);
            presses += now.edges_sent[button];
        }
    }
    cr_assert_gt(presses, 0);
    sim_destroy(run);
}

Test(client_clock, slow_and_fast_frames_lose_no_tick_and_no_press)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        for (size_t f = 0; f < COUNT(polls_per_s); f++) {
            play(modes[m], 500, polls_per_s[f]);
            play(modes[m], 50000, polls_per_s[f]);
        }
    }
}

/* ---- ticks near the ends of their types ---- */

enum { TICKS = 1000, SLOTS = 8 };

struct track {
    uint32_t count;
    struct arb_own own[TICKS][SLOTS];
};

static struct track tracks[2];

static void note_places(void *user, struct match *match)
{
    struct track *track = user;
    const struct world *world = match_world(match);
    if (track->count == TICKS) return;
    for (uint16_t slot = 0; slot < world->head->player_capacity && slot < SLOTS; slot++) {
        track->own[track->count][slot] = world->players[slot].own;
    }
    track->count++;
}

static void play_from(const char *file, uint64_t first_tick, bool clean, struct track *track)
{
    char first[64];
    snprintf(first, sizeof first, "debug.first_tick=%llu", (unsigned long long)first_tick);
    const char *sets[] = {"match.min_players=4", "match.max_players=4", "match.countdown_s=1",
                          first, clean ? "snapshot.interval_ticks=1" : "snapshot.interval_ticks=2"};
    struct arb_link link = {
        .delay_us = 40000, .jitter_us = clean ? 0 : 8000, .loss_ppm = clean ? 0 : 20000};
    struct sim_options options = {
        .config_file = file,
        .sets = sets,
        .set_count = COUNT(sets),
        .clients = CLIENTS,
        .seed = 53,
        .up = link,
        .down = link,
        .policies = {"aim"},
        .after_tick = note_places,
        .user = track,
    };
    track->count = 0;
    struct sim *run = virtual_create(&options);
    sim_run_ticks(run, TICKS);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct arbiter_statistics now = figures(run, i);
        cr_assert_eq(now.corrections.count, 0, "from %llu", (unsigned long long)first_tick);
        cr_assert_eq(now.bad_messages, 0);
        cr_assert_eq(now.bad_snapshots, 0);
        cr_assert_eq(now.resyncs, 0);
        cr_assert_gt(now.inputs_consumed, TICKS - 200);
    }
    sim_destroy(run);
}

static uint32_t moves_of(const struct track *track, uint32_t slot)
{
    uint32_t moves = 0;
    for (uint32_t step = 1; step < track->count; step++) {
        moves += track->own[step][slot].x != track->own[step - 1][slot].x;
    }
    return moves;
}

static void compare(const char *file, uint64_t base, uint64_t first_tick, bool clean)
{
    play_from(file, base, clean, &tracks[0]);
    play_from(file, first_tick, clean, &tracks[1]);
    cr_assert_eq(tracks[0].count, TICKS);
    cr_assert_eq(tracks[1].count, TICKS);
    for (uint32_t step = 0; step < TICKS; step++) {
        cr_assert_eq(memcmp(tracks[0].own[step], tracks[1].own[step], sizeof tracks[0].own[step]),
                     0, "step %u from %llu", step, (unsigned long long)first_tick);
    }
    for (uint32_t slot = 0; slot < CLIENTS; slot++) {
        cr_assert_gt(moves_of(&tracks[0], slot), TICKS / 2);
    }
}

/* Snapshots of some ticks and a figure a second go out at multiples of ticks. On a clean line with
 * a snapshot in every tick that does not matter; elsewhere the same datagrams are lost only when
 * both runs send them in the same steps. */
Test(client_clock, match_is_the_same_from_ticks_near_24_31_and_32_bits)
{
    static const uint64_t first_ticks[] = {1ULL << 24, (1ULL << 31) - 600, (1ULL << 32) - 600,
                                           (1ULL << 16) - 600};
    for (size_t m = 0; m < COUNT(modes); m++) {
        for (size_t i = 0; i < COUNT(first_ticks); i++) {
            compare(modes[m], 1, first_ticks[i], true);
            compare(modes[m], TICK_RATE + first_ticks[i] % TICK_RATE, first_ticks[i], false);
        }
    }
}

Test(client_clock, who_comes_while_ticks_pass_2_to_32_is_sent_nothing_that_it_takes_for_bad)
{
    for (uint64_t before = 4; before < 24; before++) {
        char first[64];
        snprintf(first, sizeof first, "debug.first_tick=%llu",
                 (unsigned long long)((UINT64_C(1) << 32) - before));
        const char *sets[] = {first, "match.min_players=1", "snapshot.interval_ticks=1",
                              "rollback.window_ticks=9"};
        struct driven guest = {.sim =
                                   virtual_create(&(struct sim_options){.config_file = ARENA,
                                                                        .sets = sets,
                                                                        .set_count = COUNT(sets),
                                                                        .clients = 1,
                                                                        .seed = 53,
                                                                        .policies = {"wander"}})};
        driven_connect(&guest, NULL);
        driven_play(&guest, 0.7);
        struct arbiter_statistics now = driven_figures(&guest);
        cr_assert_eq(now.bad_messages + now.snapshots_undecodable, 0, "%llu ticks before",
                     (unsigned long long)before);
        cr_assert_gt(now.snapshots, 20);
        cr_assert_eq(guest.view.connection, ARBITER_CONNECTED);
        arbiter_client_destroy(guest.client);
        sim_destroy(guest.sim);
    }
}
