/* What goes wrong between a client and its server, and what the client tells of it: outages with
 * their event and state (arbiter_client.h, enum arbiter_line), returns by resume token, stutters
 * with their cause. The real server over the simulated network, and a client that the test drives.
 */
#include "tests/support/driven.h"

#include <criterion/criterion.h>
#include <string.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"

static const struct arb_link line = {.delay_us = 20000};

static struct driven scene;

static struct sim *server(uint64_t seed)
{
    static const char *const sets[] = {"match.min_players=1", "match.countdown_s=0",
                                       "match.duration_s=600", "spectator.max=1",
                                       "spectator.delay_s=1"};
    return virtual_create(&(struct sim_options){.config_file = ARENA,
                                                .sets = sets,
                                                .set_count = 5,
                                                .clients = 3,
                                                .seed = seed,
                                                .up = line,
                                                .down = line,
                                                .policies = {"wander"}});
}

static uint64_t now_ns(void)
{
    return driven_now_ns(&scene);
}

static struct arb_carrier *path(void)
{
    return driven_path(&scene);
}

static void frame(void)
{
    driven_frame(&scene);
}

static void play(double seconds)
{
    driven_play(&scene, seconds);
}

static void begin_as(bool spectate, enum arbiter_game game)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    config.spectate = spectate;
    scene = (struct driven){.sim = server(5), .up = line, .down = line};
    driven_connect(&scene, &config);
    play(3);
    cr_assert_eq(scene.view.connection, ARBITER_CONNECTED);
    cr_assert_eq(scene.view.game, game);
    cr_assert_eq(scene.news_count, 0);
}

static void begin(void)
{
    begin_as(false, ARBITER_GAME_PLAYING);
}

static void finish(void)
{
    arbiter_client_destroy(scene.client);
    sim_destroy(scene.sim);
}

static enum arbiter_reason reason(void)
{
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(scene.client, &info);
    cr_assert(info.reason == ARBITER_REASON_NONE || info.text[0] != '\0');
    return info.reason;
}

static void told(uint32_t index, enum arbiter_line what, enum arbiter_reason why)
{
    cr_assert_gt(scene.news_count, index);
    cr_assert_eq(scene.news[index].a, (int32_t)what, "%u: %d", index, scene.news[index].a);
    cr_assert_eq(scene.news[index].b, (int32_t)why, "%u: %d", index, scene.news[index].b);
}

/* ---- outages ---- */

Test(client_line, a_network_gone_for_a_second_is_silence_and_back)
{
    begin();
    uint16_t slot = scene.view.own_slot;
    arb_simnet_block(scene.carrier, true, true);
    play(0.4);
    cr_assert_eq(scene.news_count, 0);
    cr_assert_eq(scene.view.silent_ms, 0);
    play(0.6);
    cr_assert_eq(scene.news_count, 1);
    told(0, ARBITER_LINE_SILENT, ARBITER_REASON_NONE);
    cr_assert_geq(scene.view.silent_ms, 900);
    cr_assert_leq(scene.view.silent_ms, 1020);
    cr_assert_eq(scene.view.connection, ARBITER_CONNECTED);
    arb_simnet_block(scene.carrier, false, false);
    play(1);
    cr_assert_eq(scene.news_count, 2);
    told(1, ARBITER_LINE_BACK, ARBITER_REASON_NONE);
    cr_assert_geq(scene.news[1].c, 900);
    cr_assert_eq(scene.view.silent_ms, 0);
    cr_assert_eq(scene.view.own_slot, slot);
    cr_assert_eq(scene.view.game, ARBITER_GAME_PLAYING);
    finish();
}

/* `token` NULL: as a new player. */
static void come_back(bool rejoins, const uint8_t *token)
{
    struct arb_carrier *carrier = path();
    cr_assert(rejoins         ? arb_client_rejoin_carrier(scene.client, carrier, now_ns())
              : token != NULL ? arb_client_resume_carrier(scene.client, carrier, token, now_ns())
                              : arb_client_connect_carrier(scene.client, carrier, now_ns()));
}

/* Longer than timeout_ms: the connection is lost, the player is not. */
static void outage(double seconds, bool kept, bool rejoins)
{
    uint8_t token[ARBITER_TOKEN_BYTES];
    begin();
    uint16_t slot = scene.view.own_slot;
    uint32_t key = scene.view.own.key;
    arb_simnet_block(scene.carrier, true, true);
    play(seconds);
    cr_assert_eq(scene.view.connection, ARBITER_OFFLINE);
    cr_assert_eq(scene.view.game, ARBITER_GAME_ERROR);
    cr_assert_eq(reason(), ARBITER_REASON_LOST);
    cr_assert_eq(scene.news_count, 2);
    told(0, ARBITER_LINE_SILENT, ARBITER_REASON_NONE);
    told(1, ARBITER_LINE_ENDED, ARBITER_REASON_LOST);
    cr_assert_geq(scene.news[1].c, 9000);
    cr_assert(arbiter_client_token(scene.client, token));
    come_back(rejoins, token);
    play(2);
    if (kept) {
        cr_assert_eq(scene.view.game, ARBITER_GAME_PLAYING);
        cr_assert_eq(scene.view.own_slot, slot);
        cr_assert_eq(scene.view.own.key, key, "the still-living character");
        cr_assert_eq(scene.news_count, 2);
        cr_assert_eq(scene.client->statistics.corrections.count, 0);
    } else {
        cr_assert_eq(reason(), ARBITER_REASON_TOKEN);
        told(2, ARBITER_LINE_ENDED, ARBITER_REASON_TOKEN);
        cr_assert_not(arbiter_client_token(scene.client, token));
        come_back(rejoins, NULL);
        play(2);
        cr_assert_eq(scene.view.game, ARBITER_GAME_PLAYING, "as a new player");
        cr_assert_neq(scene.view.own.key, key);
    }
    finish();
}

Test(client_line, after_ten_seconds_without_a_network_the_same_player_goes_on)
{
    outage(10.5, true, false);
}

Test(client_line, rejoining_after_ten_seconds_it_is_the_same_player)
{
    outage(10.5, true, true);
}

Test(client_line, after_sixty_seconds_it_is_another_player)
{
    outage(60, false, false);
}

Test(client_line, rejoining_after_sixty_seconds_it_is_another_player)
{
    outage(60, false, true);
}

Test(client_line, a_client_that_starts_anew_in_the_middle_is_the_same_player)
{
    uint8_t token[ARBITER_TOKEN_BYTES];
    begin();
    uint32_t key = scene.view.own.key;
    float x = scene.view.own.confirmed_x;
    cr_assert(arbiter_client_token(scene.client, token));
    arbiter_client_destroy(scene.client); /* the server has not heard of it yet */
    struct arbiter_config config;
    arbiter_config_default(&config);
    scene.client = arbiter_client_create(&config);
    cr_assert(arb_client_resume_carrier(scene.client, path(), token, now_ns()));
    while (!scene.client->snapshots.any) {
        frame();
    }
    cr_assert_eq(scene.client->snapshots.header.baseline, 0, "a whole snapshot first");
    frame();
    cr_assert_eq(scene.view.own.key, key);
    cr_assert_geq(scene.view.own.confirmed_x, x, "where it was, walking to the right");
    play(3);
    cr_assert_eq(match_present_count(sim_match(scene.sim)), 4);
    finish();
}

Test(client_line, a_newer_connection_takes_over_and_the_older_is_told)
{
    uint8_t token[ARBITER_TOKEN_BYTES];
    begin();
    cr_assert(arbiter_client_token(scene.client, token));
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *newer = arbiter_client_create(&config);
    struct arb_carrier *second =
        arb_simnet_connect(sim_network(scene.sim), sim_server_carrier(scene.sim), line, line);
    cr_assert(arb_client_resume_carrier(newer, second, token, now_ns()));
    struct arbiter_view view;
    for (int i = 0; i < 60; i++) {
        frame();
        arbiter_client_poll(newer, now_ns());
        arbiter_client_sample(newer, now_ns(), &view);
    }
    cr_assert_eq(view.game, ARBITER_GAME_PLAYING);
    cr_assert_eq(scene.view.connection, ARBITER_OFFLINE);
    cr_assert_eq(reason(), ARBITER_REASON_REPLACED);
    told(0, ARBITER_LINE_ENDED, ARBITER_REASON_REPLACED);
    arbiter_client_destroy(newer);
    finish();
}

/* The server is gone, another one stands in its place. */
Test(client_line, a_server_that_was_started_anew_knows_no_token_of_before)
{
    uint8_t token[ARBITER_TOKEN_BYTES];
    begin();
    scene.sim->server_busy_us = SIM_NEVER;
    play(11);
    cr_assert_eq(reason(), ARBITER_REASON_LOST);
    told(0, ARBITER_LINE_SILENT, ARBITER_REASON_NONE);
    told(1, ARBITER_LINE_ENDED, ARBITER_REASON_LOST);
    cr_assert(arbiter_client_token(scene.client, token));
    struct sim *old = scene.sim;
    scene.sim = server(6);
    sim_run_us(scene.sim, sim_now_us(old) - sim_now_us(scene.sim));
    cr_assert(arb_client_resume_carrier(scene.client, path(), token, now_ns()));
    play(1);
    cr_assert_eq(reason(), ARBITER_REASON_TOKEN);
    cr_assert(arb_client_connect_carrier(scene.client, path(), now_ns()));
    play(1);
    cr_assert_eq(scene.view.game, ARBITER_GAME_PLAYING);
    finish();
    sim_destroy(old);
}

Test(client_line, nobody_answers)
{
    begin();
    cr_assert(arb_client_connect_carrier(scene.client, path(), now_ns()));
    arb_simnet_block(scene.carrier, true, true);
    frame();
    cr_assert_eq(scene.view.connection, ARBITER_CONNECTING);
    cr_assert_eq(scene.view.game, ARBITER_GAME_JOINING);
    play(11);
    cr_assert_eq(scene.view.connection, ARBITER_OFFLINE);
    cr_assert_eq(scene.view.game, ARBITER_GAME_ERROR);
    cr_assert_eq(reason(), ARBITER_REASON_NO_ANSWER);
    cr_assert_eq(scene.news_count, 1);
    told(0, ARBITER_LINE_ENDED, ARBITER_REASON_NO_ANSWER);
    finish();
}

Test(client_line, a_server_that_stops_says_so)
{
    begin();
    net_end_all(sim_net(scene.sim), ARB_REFUSED_SHUTDOWN);
    play(1);
    cr_assert_eq(reason(), ARBITER_REASON_SHUTDOWN);
    cr_assert_eq(scene.view.game, ARBITER_GAME_ERROR);
    told(0, ARBITER_LINE_ENDED, ARBITER_REASON_SHUTDOWN);
    finish();
}

Test(client_line, what_was_asked_for_and_what_cannot_begin)
{
    char address[ARBITER_ADDRESS_BYTES] = "";
    begin();
    arbiter_client_disconnect(scene.client, now_ns());
    play(1);
    cr_assert_eq(reason(), ARBITER_REASON_ASKED);
    cr_assert_eq(scene.view.game, ARBITER_GAME_NONE);
    cr_assert_eq(scene.news_count, 0);
    cr_assert_eq(match_present_count(sim_match(scene.sim)), 3, "it has left");
    cr_assert_not(arbiter_client_connect(scene.client, "no address", 1, now_ns()));
    cr_assert_eq(reason(), ARBITER_REASON_ADDRESS);
    frame();
    cr_assert_eq(scene.view.game, ARBITER_GAME_ERROR);
    cr_assert_not(arbiter_resolve("no-such-host.invalid", address));
    finish();
}

/* ---- stutters ---- */

static uint32_t stutters(struct arbiter_stutter out[ARBITER_STUTTERS])
{
    return arbiter_client_stutters(scene.client, out, ARBITER_STUTTERS);
}

static void one_stutter(enum arbiter_stutter_cause cause, float low_ms, float high_ms,
                        uint64_t from_ns)
{
    struct arbiter_stutter list[ARBITER_STUTTERS];
    uint32_t count = stutters(list);
    cr_assert_eq(count, 1, "%u stutters, the newest of cause %u", count, list[0].cause);
    cr_assert_eq(list[0].cause, cause, "%u", list[0].cause);
    cr_assert(list[0].ms >= low_ms && list[0].ms <= high_ms, "%g ms", (double)list[0].ms);
    cr_assert_geq(list[0].at_ns + 100000000, from_ns);
    cr_assert_leq(list[0].at_ns, from_ns + 200000000);
    struct arbiter_statistics statistics;
    arbiter_client_statistics(scene.client, &statistics);
    for (uint32_t i = 0; i < ARBITER_STUTTER_CAUSES; i++) {
        cr_assert_eq(statistics.stutters[i], i == cause);
    }
    cr_assert_float_eq(statistics.stutter_ms[cause], list[0].ms, 0.01F);
}

Test(client_line, a_calm_line_has_no_stutter)
{
    struct arbiter_stutter list[ARBITER_STUTTERS];
    begin();
    play(10);
    cr_assert_eq(stutters(list), 0);
    finish();
}

static void stall_the_server(void)
{
    uint64_t from_ns = now_ns();
    scene.sim->server_busy_us = sim_now_us(scene.sim) + 200000;
    play(0.3);
    cr_assert_eq(stutters((struct arbiter_stutter[ARBITER_STUTTERS]){0}), 0, "no verdict yet");
    play(5);
    struct arbiter_stutter list[ARBITER_STUTTERS];
    uint32_t count = stutters(list);
    cr_assert_geq(count, 1);
    cr_assert_geq(list[count - 1].at_ns + 20000000, from_ns, "the first of them");
    cr_assert_geq(list[count - 1].ms, 150.0F);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert_eq(list[i].cause, ARBITER_STUTTER_SERVER, "%u: %u, %g ms", i, list[i].cause,
                     (double)list[i].ms);
    }
    finish();
}

Test(client_line, a_late_tick_is_the_servers)
{
    begin();
    stall_the_server();
}

/* What it sees is a second old, and stands still now. */
Test(client_line, a_late_tick_is_the_servers_for_a_spectator_with_a_delay)
{
    begin_as(true, ARBITER_GAME_SPECTATING);
    stall_the_server();
}

Test(client_line, a_late_tick_that_was_made_good_is_one_stutter)
{
    begin();
    uint64_t from_ns = now_ns();
    scene.sim->server_busy_us = sim_now_us(scene.sim) + 80000;
    play(2);
    one_stutter(ARBITER_STUTTER_SERVER, 10, 90, from_ns);
    finish();
}

Test(client_line, lost_snapshots_are_the_networks)
{
    begin();
    uint64_t from_ns = now_ns();
    arb_simnet_block(scene.carrier, false, true);
    play(0.2);
    arb_simnet_block(scene.carrier, false, false);
    play(1);
    one_stutter(ARBITER_STUTTER_LOSS, 80, 260, from_ns);
    finish();
}

Test(client_line, snapshots_that_are_late_are_the_networks_jitter)
{
    const struct arb_link slow = {.delay_us = 180000};
    begin();
    uint64_t from_ns = now_ns();
    arb_simnet_set_links(scene.carrier, line, slow);
    play(0.08);
    arb_simnet_set_links(scene.carrier, line, line);
    play(1.2);
    one_stutter(ARBITER_STUTTER_JITTER, 20, 260, from_ns);
    finish();
}

Test(client_line, a_late_poll_is_this_processs_and_nobody_elses)
{
    begin();
    uint64_t from_ns = now_ns();
    sim_run_us(scene.sim, 300000);
    play(1.5);
    one_stutter(ARBITER_STUTTER_PROCESS, 300, 340, from_ns);
    finish();
}

Test(client_line, the_newest_stutters_are_kept_newest_first)
{
    struct arbiter_stutter list[ARBITER_STUTTERS];
    begin();
    for (uint64_t i = 0; i < ARBITER_STUTTERS + 8; i++) {
        sim_run_us(scene.sim, 60000 + DRIVEN_FRAME_US * (i % 16));
        play(0.5);
    }
    cr_assert_eq(stutters(list), ARBITER_STUTTERS);
    for (uint32_t i = 1; i < ARBITER_STUTTERS; i++) {
        cr_assert_gt(list[i - 1].at_ns, list[i].at_ns);
    }
    struct arbiter_stutter newest[3];
    cr_assert_eq(arbiter_client_stutters(scene.client, newest, 3), 3);
    cr_assert_eq(newest[2].at_ns, list[2].at_ns);
    finish();
}

/* Nothing comes for a second, and what waited meanwhile then comes within some frames. */
static struct arb_link silent_second(void)
{
    enum { GAP_MS = 1000, STEP_MS = 8, COUNT = 1000 };
    static uint32_t times_ms[COUNT];
    static struct arb_trace trace = {.count = COUNT, .time_ms = times_ms};
    for (uint32_t i = 0; i < COUNT; i++)
        times_ms[i] = GAP_MS + STEP_MS * i;
    trace.period_ms = times_ms[COUNT - 1];
    uint64_t period_us = trace.period_ms * UINT64_C(1000);
    return (struct arb_link){.trace = &trace,
                             .trace_offset_us = period_us - sim_now_us(scene.sim) % period_us};
}

Test(client_line, what_an_outage_held_up_at_the_begin_is_not_taken_for_the_age_of_the_line)
{
    const struct arb_link near = {.delay_us = 1000}; /* nothing is under way for long */
    scene = (struct driven){.sim = server(5), .up = near, .down = near};
    driven_connect(&scene, NULL);
    const struct arb_client_clocks *clocks = &scene.client->clocks;
    while (!clocks->view.running)
        frame();
    driven_set_links(&scene, near, silent_second());
    play(0.9);
    cr_assert(scene.client->snapshots.any);
    cr_assert_eq(clocks->delay.count, 0, "nothing was measured before");
    for (uint32_t i = 0; i < 60; i++) {
        arb_fine before = clocks->view.at;
        frame();
        cr_assert_gt(clocks->view.at, before, "frame %u: back by %d ticks", i,
                     (int)((before - clocks->view.at) / ARB_FINE_TICK));
    }
    cr_assert_lt(clocks->server.at - clocks->view.at, 20 * ARB_FINE_TICK);
    finish();
}
