/* Snapshots in unusual shapes, on their whole way from the real server to a real client: several
 * datagrams with one that makes up for a lost one, and a line whose round trip is longer than the
 * snapshots that either end remembers. */
#include "server/replicate/replicate.h"
#include "tests/support/driven.h"

#include <criterion/criterion.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"
#define SERPENT ARBITER_SOURCE_DIR "/config/serpent.json"

static void all_holds(const struct sim *sim)
{
    const char *text;
    sim_first_violation(sim, &text);
    cr_assert_eq(sim_violation_count(sim), 0, "%s", text);
}

static const struct replicate_counts *sent_to(const struct driven *driven)
{
    cr_assert_lt(driven->view.own_slot, ARBITER_NO_SLOT);
    return replicate_counts(match_replicate(sim_match(driven->sim)), driven->view.own_slot);
}

/* ---- parity ---- */

enum { GUESTS = 30 };

struct groups {
    uint64_t parities;  /* sent: one for each group of several datagrams */
    uint32_t committed; /* of several datagrams */
    uint32_t repaired;  /* of these, one of them had not come */
};

/* What the newest committed snapshot of the client came in. */
static void look(const struct driven *guest, uint16_t *newest, struct groups *groups)
{
    const struct arb_assembly *assembly = &guest->client->snapshots.assembly;
    if (!assembly->committed_any || assembly->committed_id == *newest ||
        assembly->header.id != assembly->committed_id) {
        return;
    }
    *newest = assembly->committed_id;
    uint32_t count = assembly->header.chunk_count;
    uint64_t all = UINT64_MAX >> (64 - count);
    groups->committed += count > 1;
    groups->repaired += (assembly->present & all) != all;
}

/* Clients who come one after the other on a line that loses a fifth. Each sees three bodies of 500
 * points at once, whose enters take several chunks, so long that ENet puts no two whole ones into
 * one datagram. */
static struct groups welcome_guests(const char *parity)
{
    const char *const sets[] = {"match.min_players=1",
                                "match.countdown_s=0",
                                "match.duration_s=600",
                                "snapshot.chunk_payload_bytes=620",
                                "interest.enter_m=500",
                                "interest.retain_m=600",
                                "serpent.start_length_m=75",
                                "serpent.max_length_m=76",
                                "serpent.body_spacing_m=0.15",
                                "serpent.food_count=0",
                                parity};
    const struct arb_link calm = {.delay_us = 20000};
    const struct arb_link lossy = {.delay_us = 20000, .loss_ppm = 200000};
    struct sim *sim = virtual_create(&(struct sim_options){.config_file = SERPENT,
                                                           .sets = sets,
                                                           .set_count = sizeof sets / sizeof *sets,
                                                           .clients = 3,
                                                           .seed = 8,
                                                           .up = calm,
                                                           .down = calm,
                                                           .policy = "wander",
                                                           .check = true});
    sim_run_ticks(sim, 900);
    struct groups out = {0};
    for (uint32_t i = 0; i < GUESTS; i++) {
        struct driven guest = {.sim = sim, .up = calm, .down = lossy};
        struct arbiter_config config;
        arbiter_config_default(&config);
        config.seed = i + 1;
        driven_connect(&guest, &config);
        uint16_t newest = 0;
        for (uint32_t frame = 0; frame < 120; frame++) {
            driven_frame(&guest);
            look(&guest, &newest, &out);
        }
        out.parities += sent_to(&guest)->parities;
        cr_assert_eq(driven_figures(&guest).bad_messages, 0);
        cr_assert_eq(driven_figures(&guest).bad_snapshots, 0);
        arbiter_client_disconnect(guest.client, driven_now_ns(&guest));
        driven_play(&guest, 1.0);
        arbiter_client_destroy(guest.client);
    }
    all_holds(sim);
    sim_destroy(sim);
    return out;
}

Test(client_snapshots, a_parity_chunk_stands_in_for_a_lost_one)
{
    struct groups with = welcome_guests("snapshot.parity=true");
    cr_assert_gt(with.parities, 50);
    cr_assert_geq(with.committed * 100, with.parities * 75, "%u of %llu", with.committed,
                  (unsigned long long)with.parities);
    cr_assert_geq(with.repaired, 10);
    struct groups without = welcome_guests("snapshot.parity=false");
    cr_assert_eq(without.parities, 0);
    cr_assert_gt(without.committed, 20);
    cr_assert_eq(without.repaired, 0);
}

/* ---- a long line ---- */

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
                                                    .clients = 2,
                                                    .seed = 9,
                                                    .up = near,
                                                    .down = near,
                                                    .policy = "wander",
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

Test(client_snapshots, a_line_longer_than_the_ring_lives_on_full_ones_and_recovers)
{
    struct driven guest = begin(near);
    driven_play(&guest, 3.0);
    uint64_t full = sent_to(&guest)->full;
    driven_set_links(&guest, far, far);
    driven_play(&guest, 300.0);
    cr_assert_eq(guest.view.connection, ARBITER_CONNECTED);
    uint64_t rare = sent_to(&guest)->full - full;
    cr_assert_geq(rare, 180, "more than it would be cut after: %llu", (unsigned long long)rare);
    struct arbiter_statistics before = driven_figures(&guest);
    full = sent_to(&guest)->full;
    uint64_t snapshots = sent_to(&guest)->snapshots;
    driven_play(&guest, 20.0);
    struct arbiter_statistics after = driven_figures(&guest);
    cr_assert_eq(sent_to(&guest)->full - full, sent_to(&guest)->snapshots - snapshots, "all full");
    cr_assert_geq(after.snapshots - before.snapshots, 18, "one a second");
    cr_assert_leq(after.snapshots - before.snapshots, 22);
    cr_assert_eq(after.bad_messages, 0);
    cr_assert_gt(guest.view.entity_count, 0);

    driven_set_links(&guest, near, near);
    driven_play(&guest, 10.0);
    before = driven_figures(&guest);
    full = sent_to(&guest)->full;
    driven_play(&guest, 10.0);
    after = driven_figures(&guest);
    cr_assert_eq(sent_to(&guest)->full, full, "differences again");
    cr_assert_geq(after.snapshots - before.snapshots, 295);
    cr_assert_eq(after.frozen_frames, before.frozen_frames);
    cr_assert_eq(after.inputs_late, before.inputs_late);
    cr_assert_eq(after.corrections.count, 0);
    cr_assert_lt(after.view_age_ms, 100.0F);
    end(&guest);
}

/* What it knows of the time comes from pings, of which it remembers sixteen. */
Test(client_snapshots, whoever_comes_over_a_long_line_knows_the_time_and_draws)
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
