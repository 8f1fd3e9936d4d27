/* The client's prediction, input and correction against a server of one player over the simulated
 * network. */
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

Test(client, prediction_is_bit_exact_for_10000_ticks_at_200_ms_and_5_percent_loss)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 11,
        .up = {.delay_us = 100000, .loss_ppm = 50000},
        .down = {.delay_us = 100000, .loss_ppm = 50000},
        .walls = true,
        .movers = 4,
    });
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 3);
    fake_run(fake, client, 170 * S, 60, walker_walk, &walker);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_gt(now.inputs_consumed, 9800);
    cr_assert_eq(now.corrections.count, 0, "%u without a cause", now.corrections.count);
    cr_assert_eq(now.corrections.jumped, 0);
    cr_assert_lt(now.inputs_starved, 20, "%u starved", now.inputs_starved);
    uint32_t wrong = walker_mispredicted(&walker, 120);
    cr_assert_leq(wrong, 8 * now.inputs_starved, "%u of 10000 ticks", wrong);
    cr_assert_eq(fake->duplicate_sequences, 0);
    cr_assert_eq(fake->target_gaps, 0);
    cr_assert_eq(fake->bad_acks, 0);
    cr_assert_float_eq((double)now.rtt_min_ms, 200.0, 3.0);
    cr_assert(now.loss > 0.0F && now.loss < 0.25F, "%f", (double)now.loss);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, steady_run_at_200_ms_has_no_offset_and_no_correction)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 12,
        .up = {.delay_us = 100000},
        .down = {.delay_us = 100000},
        .walls = true,
    });
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 4);
    fake_run(fake, client, 60 * S, 60, walker_walk, &walker);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.corrections.count + now.corrections.starved + now.corrections.outside, 0);
    cr_assert_eq(now.inputs_starved, 0);
    cr_assert_eq(walker.worst_offset, 0.0F);
    cr_assert_eq(walker_mispredicted(&walker, 0), 0);
    cr_assert_lt(now.lead_ticks, 12.0F, "no more ahead than needed: %f", (double)now.lead_ticks);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, server_says_how_early_the_inputs_are)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 12, .up = {.delay_us = 40000}, .down = {.delay_us = 40000}});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 4);
    fake_run(fake, client, 10 * S, 60, walker_walk, &walker);
    int32_t steady = fake_figures(client).buffer_ticks;
    cr_assert(steady >= 1 && steady <= 3, "one tick to spare is asked for, %d", (int)steady);
    /* For a moment, inputs that are under way are late: the way became longer by 100 ms. */
    arb_simnet_set_links(arb_net_carrier(client->net), (struct arb_link){.delay_us = 140000},
                         (struct arb_link){.delay_us = 40000});
    fake_run(fake, client, 10 * S + 350000, 60, walker_walk, &walker);
    cr_assert_lt(fake_figures(client).buffer_ticks, 0);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, input_delay_of_the_match_is_predicted_too)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 13,
                                                                  .up = {.delay_us = 30000},
                                                                  .down = {.delay_us = 30000},
                                                                  .input_delay_ticks = 4});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 5);
    fake_run(fake, client, 20 * S, 60, walker_walk, &walker);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.corrections.count + now.corrections.starved, 0);
    cr_assert_eq(walker.worst_offset, 0.0F);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, tick_labels_go_up_by_one_while_the_lead_changes)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 14});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 6);
    static const float spares[] = {4.0F, 2.0F, 5.0F};
    for (uint64_t i = 0; i < 3; i++) {
        client->config.spare_ticks = spares[i];
        fake_run(fake, client, (8 * i + 8) * S, 60, walker_walk, &walker);
    }
    cr_assert_eq(fake->duplicate_sequences, 0);
    cr_assert_eq(fake->target_gaps, 0);
    cr_assert_eq(fake->counts.inputs_starved, 0);
    cr_assert_eq(fake->counts.inputs_late, 0);
    cr_assert_eq(fake_figures(client).resyncs, 0);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, estimate_is_within_a_tick_of_the_server)
{
    static const struct {
        uint32_t delay_us, frames_per_s;
        arb_tick first_tick;
    } cases[] = {{0, 144, 0},        {0, 60, 1000},  {50000, 144, 0},
                 {50000, 60, 65000}, {50000, 20, 0}, {50000, 60, (1ULL << 32) - 200}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fake_server *fake = fake_create(&(struct fake_options){
            .seed = 35,
            .up = {.delay_us = cases[i].delay_us},
            .down = {.delay_us = cases[i].delay_us},
            .first_tick = cases[i].first_tick,
        });
        struct arbiter_client *client = fake_join(fake);
        struct arbiter_view view;
        fake_run(fake, client, 5 * S, cases[i].frames_per_s, NULL, NULL);
        arbiter_client_sample(client, fake_now_ns(fake), &view);
        /* Step n of the fake server runs n + 1 periods after its first tick. */
        double now = (double)fake_now_ns(fake) * 60e-9 - 1.0 + (double)cases[i].first_tick;
        cr_assert_float_eq(view.server_tick, now, 1.05, "case %zu: %f", i, view.server_tick - now);
        cr_assert_eq(
            fake_figures(client).corrections.count + fake_figures(client).corrections.starved, 0);
        arbiter_client_destroy(client);
        fake_destroy(fake);
    }
}

Test(client, longer_way_is_steered_to_without_a_jump)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 15, .up = {.delay_us = 20000}, .down = {.delay_us = 20000}});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 7);
    fake_run(fake, client, 5 * S, 60, walker_walk, &walker);
    arb_simnet_set_links(arb_net_carrier(client->net), (struct arb_link){.delay_us = 80000},
                         (struct arb_link){.delay_us = 80000});
    fake_run(fake, client, 20 * S, 60, walker_walk, &walker);
    uint32_t starved = fake->counts.inputs_starved;
    fake_run(fake, client, 30 * S, 60, walker_walk, &walker);
    cr_assert_eq(fake->counts.inputs_starved, starved, "settled");
    cr_assert_eq(fake->target_gaps, 0);
    cr_assert_eq(fake_figures(client).corrections.count, 0);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- presses ---- */

static void press(struct arbiter_client *client, uint16_t buttons)
{
    struct arbiter_input input = {.buttons = buttons};
    arbiter_client_input(client, &input);
}

Test(client, tap_inside_one_tick_is_one_edge_and_loses_nothing_under_loss)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 16,
        .up = {.delay_us = 40000, .loss_ppm = 100000},
        .down = {.delay_us = 40000, .loss_ppm = 100000},
    });
    struct arbiter_client *client = fake_join(fake);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    for (uint64_t i = 0; i < 100; i++) {
        press(client, ARBITER_BUTTON_FIRE);
        press(client, 0);
        if (i % 10 == 0) {
            press(client, ARBITER_BUTTON_FIRE); /* twice between two inputs counts once */
            press(client, 0);
        }
        fake_run(fake, client, 2 * S + (i + 1) * S / 10, 60, NULL, NULL);
    }
    fake_run(fake, client, 14 * S, 60, NULL, NULL);
    cr_assert_eq(fake->counts.edges[0], 100, "%u edges", fake->counts.edges[0]);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.edges_sent[0], 100);
    cr_assert_eq(now.edges[0], 100, "told by the server");
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, press_takes_aim_and_view_of_its_own_frame)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 37, .movers = 2});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    uint64_t now = 2 * S;
    /* Several frames in one tick; the trigger is pressed after the first. */
    for (int frame = 0; frame < 4; frame++) {
        arbiter_client_sample(client, now * 1000 + (uint64_t)frame * 2000000, &view);
        struct arbiter_input input = {.aim = (uint16_t)(1000 + frame),
                                      .buttons = ARBITER_BUTTON_FIRE};
        arbiter_client_input(client, &input);
        if (frame == 0) {
            fake->last_press = (struct arb_input){
                .view = {.from_tick = view.time.from_tick, .to_tick = view.time.to_tick}};
            fake->last_press.view.fraction = (uint16_t)view.time.fraction;
        }
    }
    struct arb_view drawn = fake->last_press.view;
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    cr_assert_eq(fake->last_press.edges, ARB_BUTTON_FIRE);
    cr_assert_eq(fake->last_press.aim, 1000);
    cr_assert_eq(fake->last_press.view.from_tick, drawn.from_tick);
    cr_assert_eq(fake->last_press.view.to_tick, drawn.to_tick);
    cr_assert_eq(fake->last_press.view.fraction, drawn.fraction);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, presses_after_the_decisive_tick_are_not_counted)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 34});
    struct arbiter_client *client = fake_join(fake);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    press(client, ARBITER_BUTTON_FIRE);
    fake_run(fake, client, 2 * S + S / 4, 60, NULL, NULL);
    struct arb_event result = {.tick = (uint32_t)fake->tick - 1, .kind = ARB_EVENT_RESULT};
    press(client, 0);
    press(client, ARBITER_BUTTON_FIRE); /* is under way when the result comes */
    fake_run(fake, client, 2 * S + S / 4 + 20000, 60, NULL, NULL);
    cr_assert_eq(fake_figures(client).edges_sent[0], 2);
    fake_event(fake, result);
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    press(client, 0);
    press(client, ARBITER_BUTTON_FIRE);
    fake_run(fake, client, 4 * S, 60, NULL, NULL);
    cr_assert_eq(fake_figures(client).edges_sent[0], 1);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* One that asks `on_tick` about its inputs. */
static struct arbiter_client *join_asked(struct fake_server *fake, arbiter_tick_function on_tick,
                                         void *user)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    config.on_tick = on_tick;
    config.on_tick_user = user;
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    return client;
}

static void alternate(void *user, uint64_t tick, struct arbiter_input *input)
{
    uint32_t *presses = user;
    bool held = tick % 2 == 0 && tick < 280;
    input->buttons = held ? ARBITER_BUTTON_USE : 0;
    *presses += held;
}

Test(client, tick_function_is_asked_once_for_each_input)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 17});
    uint32_t presses = 0;
    struct arbiter_client *client = join_asked(fake, alternate, &presses);
    fake_run(fake, client, 5 * S, 23, NULL, NULL);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_gt(presses, 100);
    cr_assert_eq(now.edges_sent[1], presses);
    cr_assert_eq(fake->counts.edges[1], presses, "frames slower than ticks lose none");
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

static void note_buttons(void *user, uint64_t tick, struct arbiter_input *input)
{
    (void)tick;
    *(uint16_t *)user |= input->buttons;
}

Test(client, tick_function_is_told_of_a_press_that_is_over)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 18});
    uint16_t seen = 0;
    struct arbiter_client *client = join_asked(fake, note_buttons, &seen);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    cr_assert_eq(seen, 0);
    press(client, ARBITER_BUTTON_DASH);
    press(client, 0);
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    cr_assert_eq(seen, ARBITER_BUTTON_DASH);
    cr_assert_eq(fake_figures(client).edges_sent[2], 1);
    cr_assert_eq(fake->counts.edges[2], 1);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- corrections with a cause ---- */

Test(client, push_from_outside_is_smoothed_and_counted_with_its_cause)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 22, .up = {.delay_us = 50000}, .down = {.delay_us = 50000}});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 8);
    fake_run(fake, client, 3 * S, 60, walker_walk, &walker);
    fake->own.x += 0.5F;
    fake->outside++;
    fake_run(fake, client, 4 * S, 60, walker_walk, &walker);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.corrections.outside, 1);
    cr_assert_eq(now.corrections.count, 0);
    cr_assert(walker.worst_offset > 0.4F && walker.worst_offset < 0.6F);
    struct arbiter_view view;
    fake_run(fake, client, 6 * S, 60, walker_walk, &walker);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.own.offset_x, 0.0F, "it fades out");
    fake->own.y += 0.25F; /* nobody says why */
    fake_run(fake, client, 7 * S, 60, walker_walk, &walker);
    now = fake_figures(client);
    cr_assert_eq(now.corrections.count, 1);
    cr_assert_float_eq((double)now.corrections.max_m, 0.25, 0.02);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, teleport_and_new_character_jump_without_a_slide)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 23, .up = {.delay_us = 50000}, .down = {.delay_us = 50000}});
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 9);
    fake_run(fake, client, 3 * S, 60, walker_walk, &walker);
    fake->own.x += 1.0F;
    fake->jump++;
    fake_run(fake, client, 5 * S, 60, walker_walk, &walker);
    cr_assert_eq(fake_figures(client).corrections.jumped, 1);
    fake->key.generation = 2;
    fake->control = 2;
    fake->own.x = -20.0F;
    fake->own.y = -20.0F;
    fake_run(fake, client, 7 * S, 60, walker_walk, &walker);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_eq(now.corrections.jumped, 2);
    cr_assert_eq(now.corrections.count + now.corrections.starved, 0);
    cr_assert_eq(walker.worst_offset, 0.0F);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, inputs_made_before_a_new_character_steer_it_nowhere_also_when_sent_again)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 33,
        .up = {.delay_us = 50000, .loss_ppm = 200000},
        .down = {.delay_us = 50000, .loss_ppm = 200000},
    });
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 13);
    fake_run(fake, client, 3 * S, 60, walker_walk, &walker);
    for (uint64_t i = 1; i <= 60; i++) {
        fake->key.generation++;
        fake->control++;
        fake->own.x = (float)(i % 7) - 3.0F;
        fake_run(fake, client, 3 * S + i * S / 2, 60, walker_walk, &walker);
    }
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_gt(now.corrections.jumped, 50);
    cr_assert_eq(now.corrections.count, 0, "%u", now.corrections.count);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- memory ---- */

Test(client, playing_allocates_nothing)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 32,
        .up = {.delay_us = 20000, .loss_ppm = 20000},
        .down = {.delay_us = 20000, .loss_ppm = 20000},
        .movers = 40,
        .chunk_payload = 300,
        .walls = true,
    });
    struct arbiter_client *client = fake_join(fake);
    struct walker walker = walker_open(fake, 12);
    fake_run(fake, client, 5 * S, 60, walker_walk, &walker);
    uint64_t before = arb_mem_count();
    fake_run(fake, client, 20 * S, 60, walker_walk, &walker);
    cr_assert_eq(arb_mem_count(), before);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, configuration_out_of_range_makes_no_client)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    config.abi++;
    cr_assert_null(arbiter_client_create(&config));
    arbiter_config_default(&config);
    config.hard_snap_m = 0.0F / 0.0F;
    cr_assert_null(arbiter_client_create(&config));
    arbiter_config_default(&config);
    memset(config.name, 'x', sizeof config.name);
    cr_assert_null(arbiter_client_create(&config));
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert_not(arbiter_client_connect(client, "not an address", 1, 0));
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(info.reason, ARBITER_REASON_ADDRESS);
    arbiter_client_destroy(client);
}
