/* A client that neither predicts nor draws says and hears what every other does. */
#include "shared/client/arbiter_client_internal.h"
#include "tests/support/fake_player.h"
#include "tests/support/fake_server.h"

#include <criterion/criterion.h>

static struct arbiter_client *join_light(struct fake_server *fake)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    arb_client_go_light(client);
    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    return client;
}

static void play(struct fake_server *fake, struct arbiter_client *client, uint64_t until_us,
                 struct arbiter_view *view)
{
    uint16_t frames = 0;
    for (uint64_t now = fake_now_ns(fake) / 1000; now < until_us; now += 16667) {
        fake_advance(fake, now);
        arbiter_client_poll(client, now * 1000);
        arb_client_glance(client, view);
        struct arbiter_input input = {.move_x = (int8_t)(frames / 30 % 2 == 0 ? 100 : -100),
                                      .aim = (uint16_t)(frames * 300)};
        arbiter_client_input(client, &input);
        frames++;
    }
}

Test(client_light, inputs_arrive_snapshots_are_acknowledged_and_nothing_is_predicted)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 21,
        .up = {.delay_us = 30000, .loss_ppm = 20000},
        .down = {.delay_us = 30000, .loss_ppm = 20000},
        .walls = true,
        .movers = 4,
    });
    struct arbiter_client *client = join_light(fake);
    struct arbiter_view view;
    play(fake, client, 20000000, &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_gt(view.time.to_tick, 600, "others would be drawn");
    cr_assert_eq(view.entity_count, 0);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_gt(now.snapshots, 500);
    cr_assert_gt(now.inputs_consumed, 1000);
    cr_assert_lt(now.inputs_starved, 20, "%u starved", now.inputs_starved);
    cr_assert_eq(now.bad_messages + now.bad_snapshots + now.snapshots_undecodable, 0);
    cr_assert_eq(fake->bad_acks, 0);
    cr_assert_eq(client->predict.predicted_tick, client->predict.confirmed_tick);
    cr_assert_null(client->match.geometry);
    const struct arb_client_account *account = arb_client_account(client);
    cr_assert_eq(account->streams.streams, now.snapshots);
    cr_assert_gt(account->types[ARB_MESSAGE_SNAPSHOT].bytes, 500);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}
