/* Stalls and ends of a connection, events, servers that are none. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/client/arbiter_client_internal.h"
#include "shared/move/arb_move.h"
#include "shared/proto/arb_proto.h"
#include "tests/support/fake_player.h"
#include "tests/support/fake_server.h"

#include <criterion/criterion.h>
#include <string.h>

#define S 1000000ULL /* of the virtual clock, in microseconds */

static const struct arb_link clean = {0};

/* ---- stalls and ends ---- */

Test(client_life, stall_of_five_seconds_is_over_with_one_resync)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 25, .up = {.delay_us = 30000}, .down = {.delay_us = 30000}, .movers = 2});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 10);
    fake_run(fake, client, 5 * S, 60, walker_walk, &walker);
    for (uint64_t now = 5 * S; now < 10 * S; now += 1000) {
        fake_advance(fake, now);
    }
    fake_run(fake, client, 10 * S + S / 2, 60, walker_walk, &walker);
    struct arbiter_view view;
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_gt(view.time.to_tick + 20, fake->tick, "others move again");
    cr_assert_neq(view.entities[0].drawn, ARBITER_FROZEN);
    cr_assert_lt(fake_figures(client).interpolation_ms, 100.0F, "what waited here was not late");
    fake_run(fake, client, 11 * S, 60, walker_walk, &walker);
    uint32_t starved = fake->counts.inputs_starved;
    fake_run(fake, client, 16 * S, 60, walker_walk, &walker);
    cr_assert_eq(fake->counts.inputs_starved, starved, "the right lead within a second");
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.resyncs, 1);
    cr_assert_lt(now.lead_ticks, 9.0F, "%f", (double)now.lead_ticks);
    cr_assert_eq(now.corrections.count, 0);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

static void check_server_stall(uint64_t stall_us)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 26, .up = {.delay_us = 30000}, .down = {.delay_us = 30000}, .movers = 2});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 10);
    fake_run(fake, client, 5 * S, 60, walker_walk, &walker);
    uint64_t end = 5 * S + stall_us;
    for (uint64_t now = 5 * S; now < end; now += S / 60) {
        struct arbiter_view view;
        arb_simnet_advance(fake->sim, now);
        arbiter_client_poll(client, now * 1000);
        arbiter_client_sample(client, now * 1000, &view);
        walker_walk(&walker, client, &view);
    }
    fake->start_us += stall_us;
    fake_run(fake, client, end + S, 60, walker_walk, &walker);
    uint32_t starved = fake->counts.inputs_starved, consumed = fake->counts.inputs_consumed;
    cr_assert_lt(starved, 60, "%u", starved);
    fake_run(fake, client, end + 6 * S, 60, walker_walk, &walker);
    cr_assert_eq(fake->counts.inputs_starved, starved, "%u", fake->counts.inputs_starved - starved);
    cr_assert_gt(fake->counts.inputs_consumed, consumed + 290);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.resyncs, 1);
    cr_assert_lt(now.lead_ticks, 9.0F, "%f", (double)now.lead_ticks);
    cr_assert_eq(now.corrections.count, 0, "what it forgot at the resync is a known cause");
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_life, server_that_stalled_and_dropped_the_time_is_steered_again_at_once)
{
    static const uint64_t stalls_us[] = {S / 2, S, 2 * S, 5 * S};
    for (size_t i = 0; i < sizeof stalls_us / sizeof stalls_us[0]; i++) {
        check_server_stall(stalls_us[i]);
    }
}

/* A client of five seconds whose input clock stands `back` ticks before the newest snapshot, and
 * whose newest input `made` ticks before it. */
static struct arbiter_client *join_with_clock(struct fake_server *fake, struct walker *walker,
                                              int back, int made)
{
    struct arbiter_client *client = fake_join(fake);
    *walker = walker_open(fake, 10);
    fake_run(fake, client, 5 * S, 60, walker_walk, walker);
    arb_fine told = (arb_fine)client->predict.confirmed_tick;
    client->clocks.input.at = (told - back + 1) * ARB_FINE_TICK;
    client->predict.newest_tick = (arb_tick)(told - made);
    return client;
}

Test(client_life, after_a_resync_no_input_is_for_a_tick_that_a_snapshot_told_of)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 27, .movers = 2});
    struct walker walker;
    struct arbiter_client *client = join_with_clock(fake, &walker, 10, 60);
    struct arb_predict *predict = &client->predict;
    arb_sequence newest = predict->newest;
    arb_client_inputs_make(client, fake_now_ns(fake));
    cr_assert_eq(predict->newest, newest);
    client->clocks.input.at += 12 * ARB_FINE_TICK;
    arb_client_inputs_make(client, fake_now_ns(fake));
    cr_assert_eq(predict->newest, newest + 2);
    cr_assert_eq(predict->newest_tick, predict->confirmed_tick + 2);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* The server may stand further than the client knows, and take all of them. */
Test(client_life, what_a_resync_forgets_reaches_to_the_newest_input_however_far)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 28, .movers = 2});
    struct walker walker;
    struct arbiter_client *client = join_with_clock(fake, &walker, 0, -200);
    struct arb_predict *predict = &client->predict;
    arb_tick newest_tick = predict->newest_tick;
    arb_sequence newest = predict->newest;
    arb_client_inputs_make(client, fake_now_ns(fake));
    cr_assert_eq(client->snapshots.forgotten_tick, newest_tick);
    cr_assert_eq(client->snapshots.forgotten, newest);
    client->clocks.input.at += 60 * ARB_FINE_TICK;
    arb_client_inputs_make(client, fake_now_ns(fake));
    cr_assert_eq(client->snapshots.forgotten_tick, newest_tick, "a second one takes nothing back");
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_life, other_version_is_refused_with_both_named)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 26});
    fake->refuse_version = true;
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(view.connection, ARBITER_OFFLINE);
    cr_assert_eq(view.game, ARBITER_GAME_ERROR);
    cr_assert_eq(info.reason, ARBITER_REASON_VERSION);
    cr_assert_eq(info.server_version, 77);
    cr_assert_eq(info.client_version, ARB_PROTOCOL_VERSION);
    cr_assert_eq(info.server_schema, 0xABCD);
    cr_assert_not_null(strstr(info.text, "version 77"));
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_life, map_that_does_not_match_its_hash_is_refused)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 36, .walls = true});
    fake->wrong_map_hash = true;
    struct arbiter_client *client = fake_join(fake);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(info.reason, ARBITER_REASON_BAD_SERVER);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_life, nobody_there_is_said_after_the_timeout)
{
    struct arb_simnet *sim = arb_simnet_create(1);
    struct arb_carrier *nobody = arb_simnet_open(sim, clean, clean);
    struct arbiter_config config;
    arbiter_config_default(&config);
    config.timeout_ms = 2000;
    struct arbiter_client *client = arbiter_client_create(&config);
    arb_client_connect_carrier(client, arb_simnet_connect(sim, nobody, clean, clean), 0);
    struct arbiter_view view;
    for (uint64_t now = 0; now < 10 * S; now += 16000) {
        arb_simnet_advance(sim, now);
        arbiter_client_poll(client, now * 1000);
    }
    arbiter_client_sample(client, 10 * S * 1000, &view);
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(view.connection, ARBITER_OFFLINE);
    cr_assert_eq(info.reason, ARBITER_REASON_NO_ANSWER);
    arbiter_client_destroy(client);
    arb_carrier_close(nobody);
    arb_simnet_destroy(sim);
}

static void name_player(struct fake_server *fake, uint16_t slot, const char *name, int32_t score)
{
    struct arb_event player = {.tick = (uint32_t)fake->tick, .kind = ARB_EVENT_PLAYER};
    player.player.slot = slot;
    player.player.present = 1;
    player.player.player_id = slot + 1U;
    strncpy(player.player.name, name, sizeof player.player.name - 1);
    fake_event(fake, player);
    struct arb_event line = {.tick = (uint32_t)fake->tick, .kind = ARB_EVENT_SCORE};
    line.score = (struct arb_event_score){slot, score, 1, 0, 0};
    fake_event(fake, line);
}

Test(client_life, reconnect_starts_with_nothing_old)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 27, .movers = 5});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 11);
    struct arbiter_view view;
    fake_run(fake, client, 3 * S, 60, walker_walk, &walker);
    name_player(fake, 0, "ada", 12);
    fake_run(fake, client, 4 * S, 60, walker_walk, &walker);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.player_count, 1);
    cr_assert_str_eq(view.players[0].name, "ada");
    cr_assert_eq(view.players[0].score, 12);
    arbiter_client_disconnect(client, fake_now_ns(fake));
    fake_run(fake, client, 6 * S, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_OFFLINE);
    cr_assert_eq(view.player_count, 0);
    cr_assert_eq(view.entity_count, 0);
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(info.reason, ARBITER_REASON_ASKED);

    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTING);
    cr_assert_eq(view.game, ARBITER_GAME_JOINING);
    cr_assert_eq(fake_figures(client).snapshots, 0);
    fake_run(fake, client, 8 * S, 60, walker_walk, &walker);
    struct arbiter_statistics now = fake_figures(client);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_eq(view.entity_count, 6);
    cr_assert_eq(view.player_count, 0);
    cr_assert_eq(now.corrections.count, 0);
    cr_assert_lt(now.inputs_sent, 130, "sequences begin anew");
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- events ---- */

static void phase(struct fake_server *fake, uint8_t phase_now, arb_tick tick)
{
    struct arb_event event = {.tick = (uint32_t)tick, .kind = ARB_EVENT_PHASE};
    event.phase = (struct arb_event_phase){phase_now, 1, (uint32_t)tick + 600};
    fake_event(fake, event);
}

Test(client_life, event_waits_until_the_drawn_world_reaches_its_tick)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 28, .up = {.delay_us = 30000}, .down = {.delay_us = 30000}});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    arb_tick tick = fake->tick + 30;
    phase(fake, ARB_PHASE_LIVE, tick);
    bool shown = false;
    for (uint64_t now = 3 * S; now < 5 * S; now += 10000) {
        fake_advance(fake, now);
        arbiter_client_poll(client, now * 1000);
        arbiter_client_sample(client, now * 1000, &view);
        bool before = view.time.to_tick < tick;
        cr_assert(!before || view.phase == ARBITER_MATCH_WAITING, "not before it is drawn");
        for (uint32_t i = 0; i < view.event_count; i++) {
            cr_assert_not(shown, "told once");
            cr_assert_eq(view.events[i].kind, ARBITER_EVENT_PHASE);
            cr_assert_eq(view.events[i].tick, tick);
            shown = true;
        }
    }
    cr_assert(shown);
    cr_assert_eq(view.phase, ARBITER_MATCH_LIVE);
    cr_assert_eq(view.phase_end_tick, tick + 600);
    cr_assert(view.phase_left_s > 8.0 && view.phase_left_s < 10.0);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_life, result_outlives_the_connection_and_all_queued_events_are_told)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 29});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    name_player(fake, 3, "bo", 7);
    struct arb_event result = {.tick = (uint32_t)fake->tick + 60, .kind = ARB_EVENT_RESULT};
    result.result = (struct arb_event_result){ARB_END_SCORE, 3, 0};
    fake_event(fake, result);
    arb_net_disconnect(fake->net, 0, ARB_REFUSED_ENDED);
    fake_run(fake, client, 2 * S + S / 2, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_OFFLINE);
    cr_assert_eq(view.game, ARBITER_GAME_RESULT);
    cr_assert(view.has_result);
    cr_assert_eq(view.result_winner, 3);
    cr_assert_eq(view.player_count, 1);
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(info.reason, ARBITER_REASON_ENDED);
    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_not(view.has_result, "until the next connection");
    cr_assert_eq(view.player_count, 0);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_life, at_most_64_network_events_are_handled_by_one_poll)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 30});
    struct arbiter_client *client = fake_join(fake);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    fake->silent = true;
    uint64_t now = 2 * S;
    for (int i = 0; i < 30; i++) {
        now += 1000;
        fake_advance(fake, now);
        arbiter_client_poll(client, now * 1000);
    }
    arb_tick before = client->events.newest;
    for (uint32_t i = 1; i <= 100; i++) {
        phase(fake, ARB_PHASE_LIVE, before + i);
    }
    for (int i = 0; i < 4; i++) {
        now += 100;
        fake_advance(fake, now);
    }
    arbiter_client_poll(client, now * 1000);
    cr_assert_eq(client->events.newest, before + 64);
    arbiter_client_poll(client, now * 1000 + 1000);
    cr_assert_eq(client->events.newest, before + 100);
    for (uint32_t i = 1; i <= 10; i++) {
        phase(fake, ARB_PHASE_LIVE, before + 100 + i);
    }
    fake_advance(fake, now + 200);
    arbiter_client_poll(client, (now + 200) * 1000);
    cr_assert_eq(client->events.newest, before + 110, "a bound, not a batch");
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- bad servers ---- */

Test(client_life, malformed_messages_are_counted_change_nothing_and_end_the_connection)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 31, .movers = 3});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    struct arb_rng rng;
    arb_rng_seed(&rng, 31, 2);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        uint8_t bytes[100] = {99};
        fake_send(fake, ARB_NET_CHANNEL_RELIABLE, bytes, sizeof bytes);
    }
    fake_run(fake, client, 2 * S + S / 10, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(fake_figures(client).bad_messages, 20);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_eq(view.entity_count, 4);
    for (int i = 0; i < 2000; i++) {
        uint8_t bytes[300];
        size_t size = 1 + arb_rng_below(&rng, sizeof bytes - 1);
        for (size_t b = 0; b < size; b++) {
            bytes[b] = (uint8_t)arb_rng_next(&rng);
        }
        bytes[0] = (uint8_t)(16 + arb_rng_below(&rng, 7));
        arb_client_message(client, bytes, size, client->now_ns);
    }
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(view.connection, ARBITER_OFFLINE);
    cr_assert_neq(info.reason, ARBITER_REASON_NONE);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}
