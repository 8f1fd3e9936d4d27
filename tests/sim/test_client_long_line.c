/* A line whose round trip is longer than the snapshots that either end remembers, with the real
 * server and a real client. */
#include "tests/support/driven.h"

#include <criterion/criterion.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"

static void all_holds(const struct sim *sim)
{
    const char *text;
    sim_first_violation(sim, &text);
    cr_assert_eq(sim_violation_count(sim), 0, "%s", text);
}

static const struct arb_link near = {.delay_us = 20000};
static const struct arb_link far = {.delay_us = 1200000}; /* 2.4 s there and back; the ring: 2.1 */

static struct driven begin(struct arb_link link)
{
    const char *const sets[] = {"match.min_players=1", "match.countdown_s=0",
                                "match.duration_s=600"};
    struct driven out = {
        .sim = virtual_create(&(struct sim_options){.config_file = ARENA,
                                                    .sets = sets,
                                                    .set_count = sizeof sets / sizeof *sets,
                                                    .clients = 1,
                                                    .seed = 9,
                                                    .up = near,
                                                    .down = near,
                                                    .policies = {"wander"},
                                                    .check = true}),
        .up = link,
        .down = link};
    driven_connect(&out, NULL);
    return out;
}

static void end(struct driven *driven)
{
    all_holds(driven->sim);
    arbiter_client_destroy(driven->client);
    sim_destroy(driven->sim);
}

Test(client_long_line, a_line_longer_than_the_ring_lives_on_full_ones_and_recovers)
{
    struct driven guest = begin(near);
    driven_play(&guest, 3.0);
    uint64_t full = driven_sent(&guest)->full;
    driven_set_links(&guest, far, far);
    driven_play(&guest, 300.0);
    cr_assert_eq(guest.view.connection, ARBITER_CONNECTED);
    uint64_t rare = driven_sent(&guest)->full - full;
    cr_assert_geq(rare, 180, "more than it would be cut after: %llu", (unsigned long long)rare);
    struct arbiter_statistics before = driven_figures(&guest);
    full = driven_sent(&guest)->full;
    uint64_t snapshots = driven_sent(&guest)->snapshots;
    driven_play(&guest, 20.0);
    struct arbiter_statistics after = driven_figures(&guest);
    cr_assert_eq(driven_sent(&guest)->full - full, driven_sent(&guest)->snapshots - snapshots,
                 "all full");
    cr_assert_geq(after.snapshots - before.snapshots, 18, "one a second");
    cr_assert_leq(after.snapshots - before.snapshots, 22);
    cr_assert_eq(after.bad_messages, 0);
    cr_assert_gt(guest.view.entity_count, 0);

    driven_set_links(&guest, near, near);
    driven_play(&guest, 10.0);
    before = driven_figures(&guest);
    full = driven_sent(&guest)->full;
    driven_play(&guest, 10.0);
    after = driven_figures(&guest);
    cr_assert_eq(driven_sent(&guest)->full, full, "differences again");
    cr_assert_geq(after.snapshots - before.snapshots, 295);
    cr_assert_eq(after.frozen_frames, before.frozen_frames);
    cr_assert_eq(after.inputs_late, before.inputs_late);
    cr_assert_eq(after.corrections.count, 0);
    cr_assert_lt(after.view_age_ms, 100.0F);
    end(&guest);
}

/* What it knows of the time comes from pings, of which it remembers sixteen. */
Test(client_long_line, whoever_comes_over_a_long_line_knows_the_time_and_draws)
{
    static const uint32_t ways_us[] = {300000, 500000, 900000, 1500000};
    for (size_t i = 0; i < sizeof ways_us / sizeof ways_us[0]; i++) {
        const struct arb_link link = {.delay_us = ways_us[i]};
        struct driven guest = begin(link);
        driven_play(&guest, 15.0);
        struct arbiter_statistics figures = driven_figures(&guest);
        cr_expect_eq(guest.view.connection, ARBITER_CONNECTED, "%u us", ways_us[i]);
        cr_expect_float_eq(figures.rtt_ms, (float)ways_us[i] / 500.0F, 40.0F, "%u us: %g",
                           ways_us[i], (double)figures.rtt_ms);
        cr_expect_gt(figures.sampled_frames, 100, "%u us", ways_us[i]);
        cr_expect_gt(guest.view.entity_count, 0, "%u us", ways_us[i]);
        end(&guest);
    }
}
