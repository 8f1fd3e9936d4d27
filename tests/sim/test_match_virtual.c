/* Whole matches under virtual time: real sessions, match, clients and bots over the simulated
 * network. Every run follows from its printed seed. */
#include "server/rewind/rewind.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/transport/arb_carrier_internal.h"
#include "tests/support/virtual.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"
#define SERPENT ARBITER_SOURCE_DIR "/config/serpent.json"

static const struct arb_link clean = {.delay_us = 500};
static const struct arb_link average = {.delay_us = 40000, .jitter_us = 10000, .loss_ppm = 10000};
static const struct arb_link bad = {.delay_us = 80000,
                                    .jitter_us = 40000,
                                    .loss_ppm = 50000,
                                    .duplicate_ppm = 10000,
                                    .reorder_ppm = 20000};

/* ---- what holds after every tick ---- */

enum { TICKS_MAX = 8192 };
static uint64_t checksums[2][TICKS_MAX];
static uint32_t checksum_count[2];
static int run_number;
static const struct arb_geometry *geometry;
static struct arb_hull hull;

static void nobody_is_in_a_wall(const struct match *match)
{
    const struct world *world = match_world(match);
    struct arb_bounds bounds = arb_geometry_bounds(geometry);
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        if (arb_key_is_none(player->controlled)) continue;
        struct arb_vec2 at = {player->own.x, player->own.y};
        cr_assert(at.x >= bounds.low.x && at.x <= bounds.high.x && at.y >= bounds.low.y &&
                      at.y <= bounds.high.y,
                  "tick %llu: slot %u is outside", (unsigned long long)match_tick(match), slot);
        float clearance = arb_geometry_clearance(geometry, hull, at, 1.0F);
        cr_assert(clearance >= -0.006F, "tick %llu: slot %u is %f m in a wall",
                  (unsigned long long)match_tick(match), slot, (double)clearance);
    }
}

static void scores_add_up(const struct match *match)
{
    const struct world *world = match_world(match);
    uint32_t kills = 0, deaths = 0, by_nobody = 0;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        kills += world->players[slot].kills;
        deaths += world->players[slot].deaths;
        by_nobody += world->players[slot].deaths_by_nobody;
    }
    cr_assert_eq(kills + by_nobody, deaths);
}

static void after_tick(void *user, struct match *match)
{
    bool slides = *(const bool *)user;
    if (checksum_count[run_number] < TICKS_MAX) {
        checksums[run_number][checksum_count[run_number]++] = match_checksum(match);
    }
    if (slides && geometry != NULL) nobody_is_in_a_wall(match);
    scores_add_up(match);
}

static bool slides_yes = true, slides_no = false;

static struct sim *start(const char *file, const char *const *sets, size_t set_count,
                         uint32_t clients, uint64_t seed, struct arb_link link, const char *policy)
{
    struct sim_options options = {
        .config_file = file,
        .sets = sets,
        .set_count = set_count,
        .clients = clients,
        .seed = seed,
        .up = link,
        .down = link,
        .policies = {policy},
        .after_tick = after_tick,
        .user = strcmp(file, ARENA) == 0 ? &slides_yes : &slides_no,
    };
    geometry = NULL;
    struct sim *run = virtual_create(&options);
    struct arb_move_params move;
    const struct rules *rules = rules_find(strcmp(file, ARENA) == 0 ? "arena" : "serpent");
    rules->move_params(sim_params(run), 60, &move);
    hull = (struct arb_hull){move.radius, move.half_length};
    geometry = sim_geometry(run);
    return run;
}

/* ---- claims ---- */

static void play_for_checksums(int number, const char *file, uint64_t seed)
{
    const char *sets[] = {"match.min_players=8", "match.countdown_s=1"};
    run_number = number;
    checksum_count[number] = 0;
    struct sim *run = start(file, sets, 2, 8, seed, bad, "aim");
    sim_run_ticks(run, 1200);
    sim_destroy(run);
}

static void compare_runs(const char *file, uint64_t seed)
{
    play_for_checksums(0, file, seed);
    play_for_checksums(1, file, seed);
    cr_assert_eq(checksum_count[0], 1200);
    for (uint32_t i = 0; i < checksum_count[0]; i++) {
        cr_assert_eq(checksums[0][i], checksums[1][i], "tick %u", i);
    }
    play_for_checksums(1, file, seed + 1);
    cr_assert_neq(checksums[0][1199], checksums[1][1199], "another seed is another match");
}

Test(match_virtual, same_seed_gives_the_same_checksum_on_every_tick_in_arena)
{
    compare_runs(ARENA, 11);
}

Test(match_virtual, same_seed_gives_the_same_checksum_on_every_tick_in_serpent)
{
    compare_runs(SERPENT, 12);
}

static void check_clients(struct sim *run, bool no_loss)
{
    for (uint32_t i = 0; i < sim_client_count(run); i++) {
        struct arbiter_statistics s;
        arbiter_client_statistics(sim_client(run, i), &s);
        cr_assert_eq(s.corrections.count, 0, "client %u: %u corrections, at most %f m", i,
                     s.corrections.count, (double)s.corrections.max_m);
        cr_assert_eq(s.bad_messages, 0);
        cr_assert_eq(s.bad_snapshots, 0);
        cr_assert_gt(s.snapshots, 100);
        if (no_loss) {
            cr_assert(1000 * s.inputs_starved <= s.inputs_consumed, "client %u: %u starved of %u",
                      i, s.inputs_starved, s.inputs_consumed);
        }
        for (int button = 0; button < ARBITER_BUTTONS; button++) {
            cr_assert_eq(s.edges[button], s.edges_sent[button],
                         "client %u, button %d: %u edges of %llu presses", i, button,
                         s.edges[button], (unsigned long long)s.edges_sent[button]);
        }
    }
}

static void play_to_the_end(const char *file, uint32_t clients, uint64_t seed, struct arb_link link,
                            bool no_loss)
{
    char least[64], most[64];
    snprintf(least, sizeof least, "match.min_players=%u", clients);
    snprintf(most, sizeof most, "match.max_players=%u", clients);
    const char *sets[] = {
        least,           most, "match.countdown_s=1", "match.duration_s=20", "match.result_s=2",
        "match.rounds=1"};
    run_number = 0;
    checksum_count[0] = 0;
    struct sim *run = start(file, sets, 6, clients, seed, link, "aim");
    sim_run_to_end(run, 6000);
    struct match_result *result = malloc(sizeof *result);
    match_get_result(sim_match(run), result);
    cr_assert_eq(result->player_count, clients);
    uint32_t kills = 0, deaths = 0, by_nobody = 0;
    for (uint32_t i = 0; i < result->player_count; i++) {
        kills += result->players[i].kills;
        deaths += result->players[i].deaths;
        by_nobody += result->players[i].deaths_by_nobody;
    }
    cr_assert_eq(kills + by_nobody, deaths);
    cr_assert_gt(deaths, 0, "a match in which nobody dies shows nothing");
    free(result);
    check_clients(run, no_loss);
    sim_destroy(run);
}

Test(match_virtual, sixteen_bots_play_arena_to_its_result_on_a_clean_line)
{
    play_to_the_end(ARENA, 16, 21, clean, true);
}

Test(match_virtual, sixteen_bots_play_arena_to_its_result_on_an_average_line)
{
    play_to_the_end(ARENA, 16, 22, average, false);
}

Test(match_virtual, eight_bots_play_arena_to_its_result_on_a_bad_line)
{
    play_to_the_end(ARENA, 8, 23, bad, false);
}

Test(match_virtual, sixty_four_bots_play_serpent_to_its_result_on_a_clean_line)
{
    play_to_the_end(SERPENT, 64, 24, clean, true);
}

Test(match_virtual, eight_bots_play_serpent_to_its_result_on_a_bad_line)
{
    play_to_the_end(SERPENT, 8, 25, bad, false);
}

static void warm_ticks_allocate_nothing(const char *file, uint32_t clients, uint64_t seed)
{
    char least[64];
    snprintf(least, sizeof least, "match.min_players=%u", clients);
    const char *sets[] = {least, "match.countdown_s=1"};
    run_number = 0;
    checksum_count[0] = 0;
    struct sim *run = start(file, sets, 2, clients, seed, average, "aim");
    sim_run_ticks(run, 600);
    uint64_t before = arb_mem_count();
    sim_run_ticks(run, 600);
    cr_assert_eq(arb_mem_count() - before, 0, "server, clients, ENet and Box2D together");
    sim_destroy(run);
}

Test(match_virtual, a_warm_tick_of_arena_allocates_nothing)
{
    warm_ticks_allocate_nothing(ARENA, 16, 31);
}

Test(match_virtual, a_warm_tick_of_serpent_allocates_nothing)
{
    warm_ticks_allocate_nothing(SERPENT, 16, 32);
}

/* Strangers throw datagrams of every size and some that look like ENet's at the server while a
 * match runs. */
static void play_with_strangers(int number, bool strangers)
{
    const char *sets[] = {"match.min_players=4", "match.countdown_s=1"};
    run_number = number;
    checksum_count[number] = 0;
    struct sim *run = start(ARENA, sets, 2, 4, 41, clean, "aim");
    struct arb_carrier *stranger =
        arb_simnet_connect(sim_network(run), sim_server_carrier(run), clean, clean);
    struct arb_rng rng;
    arb_rng_seed(&rng, 41, 1);
    for (int tick = 0; tick < 600; tick++) {
        for (int i = 0; strangers && i < 10; i++) {
            uint8_t bytes[1200];
            size_t size = 1 + arb_rng_below(&rng, i == 0 ? sizeof bytes : 64);
            for (size_t k = 0; k < size; k++) {
                bytes[k] = (uint8_t)arb_rng_next(&rng);
            }
            memcpy(arb_carrier_room(stranger), bytes, size);
            arb_carrier_commit(stranger, &stranger->server, size);
        }
        arb_carrier_flush(stranger);
        sim_run_ticks(run, 1);
    }
    const struct arb_net_counters *counters = arb_net_counters(net_transport(sim_net(run)));
    uint64_t refused = counters->refused_header + counters->refused_command +
                       counters->refused_length + counters->refused_size +
                       counters->refused_stranger;
    cr_assert(strangers ? refused >= 5000 : refused == 0, "%llu refused",
              (unsigned long long)refused);
    arb_carrier_close(stranger);
    sim_destroy(run);
}

Test(match_virtual, random_datagrams_are_counted_and_change_no_state)
{
    play_with_strangers(0, false);
    play_with_strangers(1, true);
    cr_assert_eq(checksum_count[0], checksum_count[1]);
    for (uint32_t i = 0; i < checksum_count[0]; i++) {
        cr_assert_eq(checksums[0][i], checksums[1][i], "tick %u", i);
    }
}
