/* When the client tells of a reliable event: with the drawn world, never ahead of it. */
#include "shared/client/arbiter_client_internal.h"

#include <criterion/criterion.h>

#define TICK ((arb_fine)ARB_FINE_TICK)

static struct arbiter_client *client_at(arb_fine view)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert_not_null(client);
    arb_client_events_make(client, 8);
    client->events.newest = 990;
    client->clocks.view.running = true;
    client->clocks.view.at = view;
    return client;
}

static void receive_phase(struct arbiter_client *client, arb_tick tick, uint8_t round)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    struct arb_event event = {.tick = (uint32_t)tick, .kind = ARB_EVENT_PHASE};
    event.phase = (struct arb_event_phase){ARB_PHASE_LIVE, round, 0};
    size_t size = arb_event_encode(&event, bytes, sizeof bytes);
    cr_assert_gt(size, 0);
    arb_client_event(client, bytes, size);
}

Test(client_events, event_is_due_at_its_tick_and_not_a_moment_before)
{
    static const struct {
        arb_fine view;
        uint32_t told;
    } cases[] = {
        {990 * TICK, 0},      {999 * TICK, 0},      {1000 * TICK - 1, 0}, {1000 * TICK, 1},
        {1001 * TICK - 1, 1}, {1001 * TICK, 2},     {1003 * TICK, 2},     {1004 * TICK - 1, 2},
        {1004 * TICK, 3},     {1 + 1004 * TICK, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arbiter_client *client = client_at(cases[i].view);
        static const arb_tick ticks[] = {1000, 1001, 1004};
        for (uint8_t k = 0; k < 3; k++) {
            receive_phase(client, ticks[k], (uint8_t)(k + 1));
        }
        arb_client_events_due(client, false);
        cr_assert_eq(client->board.round, cases[i].told, "case %zu: applied", i);
        cr_assert_eq(arb_client_events_take(client), cases[i].told, "case %zu: told", i);
        for (uint32_t k = 0; k < cases[i].told; k++) {
            cr_assert_eq(client->events.out[k].tick, ticks[k]);
        }
        arb_client_events_due(client, true);
        cr_assert_eq(client->board.round, 3, "what is left at the end happened too");
        cr_assert_eq(arb_client_events_take(client), 3 - cases[i].told, "each once");
        arbiter_client_destroy(client);
    }
}

Test(client_events, nothing_is_due_before_a_world_is_drawn)
{
    struct arbiter_client *client = client_at(2000 * TICK);
    client->clocks.view.running = false;
    receive_phase(client, 1000, 1);
    arb_client_events_due(client, false);
    cr_assert_eq(arb_client_events_take(client), 0);
    arbiter_client_destroy(client);
}

static void receive_scores(struct arbiter_client *client, arb_tick tick,
                           const struct arb_event_score *lines, uint32_t count)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    uint32_t used;
    size_t size = arb_scores_encode((uint32_t)tick, lines, count, bytes, sizeof bytes, &used);
    cr_assert_eq(used, count);
    arb_client_scores(client, bytes, size);
}

Test(client_events, scores_are_told_line_by_line_at_their_tick)
{
    const struct arb_event_score lines[] = {{2, -5, 1, 2, 3}, {700, 9, 0, 0, 0}};
    struct arbiter_client *client = client_at(999 * TICK);
    receive_scores(client, 1000, lines, 2);
    arb_client_events_due(client, false);
    cr_assert_eq(arb_client_events_take(client), 0);
    client->clocks.view.at = 1000 * TICK;
    arb_client_events_due(client, false);
    cr_assert_eq(arb_client_events_take(client), 2);
    const struct arbiter_event *told = client->events.out;
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(told[i].kind, ARBITER_EVENT_SCORE);
        cr_assert_eq(told[i].tick, 1000);
        cr_assert_eq(told[i].a, lines[i].slot);
        cr_assert_eq(told[i].b, lines[i].score);
        cr_assert_eq(told[i].c, lines[i].kills);
    }
    arbiter_client_destroy(client);
}

Test(client_events, more_scores_than_room_lose_the_oldest_and_count_them)
{
    struct arb_event_score lines[12] = {0};
    for (uint16_t i = 0; i < 12; i++) {
        lines[i].slot = i;
    }
    struct arbiter_client *client = client_at(999 * TICK);
    receive_scores(client, 1000, lines, 12);
    cr_assert_eq(client->events.count, 8);
    cr_assert_eq(client->statistics.events_lost, 4);
    uint8_t bytes[] = {ARB_MESSAGE_SCORES, 1, 2, 3};
    arb_client_scores(client, bytes, sizeof bytes);
    cr_assert_eq(client->statistics.bad_messages, 1);
    arbiter_client_destroy(client);
}
