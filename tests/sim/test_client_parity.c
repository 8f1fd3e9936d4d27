/* Snapshots of several datagrams with one that makes up for a lost one, on their whole way from the
 * real server to a real client. */
#include "tests/support/driven.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define SERPENT ARBITER_SOURCE_DIR "/config/serpent.json"

static void all_holds(const struct sim *sim)
{
    const char *text;
    sim_first_violation(sim, &text);
    cr_assert_eq(sim_violation_count(sim), 0, "%s", text);
}

enum { GUESTS = 60, ENOUGH = 16 };

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

/* Clients who come one after the other on a line that loses a fifth, until enough groups came. Each
 * sees all bodies at once, of up to 500 points in curves: an enter of 1.2 to 2.2 KB. */
static struct groups welcome_guests(const char *parity, bool check)
{
    const char *const sets[] = {
        "match.min_players=1",        "match.countdown_s=0",        "interest.enter_m=500",
        "interest.retain_m=600",      "serpent.base_speed=12",      "serpent.boost_speed=13",
        "serpent.turn_rate=12",       "serpent.start_length_m=150", "serpent.max_length_m=151",
        "serpent.body_spacing_m=0.3", "serpent.food_count=0",       parity};
    const struct arb_link calm = {.delay_us = 20000};
    const struct arb_link lossy = {.delay_us = 20000, .loss_ppm = 200000};
    struct sim *sim = virtual_create(&(struct sim_options){.config_file = SERPENT,
                                                           .sets = sets,
                                                           .set_count = sizeof sets / sizeof *sets,
                                                           .clients = 4,
                                                           .seed = 9,
                                                           .up = calm,
                                                           .down = calm,
                                                           .policies = {"wander"},
                                                           .check = check});
    sim_run_ticks(sim, 900);
    struct groups out = {0};
    for (uint32_t i = 0; i < GUESTS && out.committed < ENOUGH; i++) {
        struct driven guest = {.sim = sim, .up = calm, .down = lossy};
        struct arbiter_config config;
        arbiter_config_default(&config);
        config.seed = i + 1;
        driven_connect(&guest, &config);
        uint16_t newest = 0;
        for (uint32_t frame = 0; frame < 90; frame++) {
            driven_frame(&guest);
            look(&guest, &newest, &out);
        }
        out.parities += driven_sent(&guest)->parities;
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

Test(client_parity, a_parity_chunk_stands_in_for_a_lost_one)
{
    struct groups with = welcome_guests("snapshot.parity=true", true);
    struct groups without = welcome_guests("snapshot.parity=false", false);
    printf("groups: %u of %llu came, %u of them repaired; without parity %u came\n", with.committed,
           (unsigned long long)with.parities, with.repaired, without.committed);
    cr_assert_geq(with.committed, ENOUGH);
    cr_assert_geq(with.committed * 100, with.parities * 75);
    cr_assert_geq(with.repaired, 2);
    cr_assert_geq(without.committed, ENOUGH);
    cr_assert_eq(without.parities, 0);
    cr_assert_eq(without.repaired, 0);
}
