/* The client library against a server of one player over the simulated network. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/client/arbiter_client_internal.h"
#include "shared/move/arb_move.h"
#include "shared/proto/arb_proto.h"
#include "tests/support/fake_server.h"

#include <criterion/criterion.h>
#include <string.h>

#define S 1000000ULL /* of the virtual clock, in microseconds */

static const struct arb_link clean = {0};

static struct arbiter_client *join(struct fake_server *fake)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert_not_null(client);
    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    return client;
}

static struct arbiter_statistics figures(const struct arbiter_client *client)
{
    struct arbiter_statistics statistics;
    arbiter_client_statistics(client, &statistics);
    return statistics;
}

/* ---- a player who walks about ---- */

struct walker {
    struct fake_server *fake;
    struct arb_rng rng;
    uint32_t frames;
    struct arbiter_input input;
    struct arb_own *newest; /* prediction of each tick when it was first made, FAKE_LOG */
    bool *made;
    float worst_offset;
};

static struct walker walker_open(struct fake_server *fake, uint64_t seed)
{
    struct walker walker = {.fake = fake};
    arb_rng_seed(&walker.rng, seed, 1);
    walker.newest = arb_mem_alloc(FAKE_LOG * sizeof *walker.newest);
    walker.made = arb_mem_alloc(FAKE_LOG * sizeof *walker.made);
    return walker;
}

static void walker_close(struct walker *walker)
{
    arb_mem_free(walker->newest);
    arb_mem_free(walker->made);
}

static void walk(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct walker *walker = user;
    if (walker->frames++ % 12 == 0) {
        walker->input.move_x = (int8_t)(arb_rng_below(&walker->rng, 255) - 127);
        walker->input.move_y = (int8_t)(arb_rng_below(&walker->rng, 255) - 127);
        walker->input.buttons = (uint16_t)arb_rng_below(&walker->rng, 16);
    }
    walker->input.aim = (uint16_t)(walker->input.aim + 300);
    arbiter_client_input(client, &walker->input);
    float offset = arb_vec2_length((struct arb_vec2){view->own.offset_x, view->own.offset_y});
    walker->worst_offset = offset > walker->worst_offset ? offset : walker->worst_offset;
    arb_tick tick = client->predict.predicted_tick;
    if (client->predict.has_state && tick == client->predict.newest_tick && tick < FAKE_LOG &&
        !walker->made[tick]) {
        walker->made[tick] = true;
        arb_client_predicted(client, tick, &walker->newest[tick]);
    }
}

/* Ticks that the server computed otherwise than they had been predicted when first shown. */
static uint32_t mispredicted(const struct walker *walker, arb_tick from)
{
    uint32_t count = 0;
    for (arb_tick tick = from; tick + 1 < walker->fake->tick; tick++) {
        const struct arb_own *log = &walker->fake->log[tick];
        count += walker->made[tick] && memcmp(&walker->newest[tick], log, sizeof *log) != 0;
    }
    return count;
}

Test(client, prediction_is_bit_exact_for_10000_ticks_at_200_ms_and_5_percent_loss)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 11,
        .up = {.delay_us = 100000, .loss_ppm = 50000},
        .down = {.delay_us = 100000, .loss_ppm = 50000},
        .walls = true,
        .movers = 4,
    });
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 3);
    fake_run(fake, client, 170 * S, 60, walk, &walker);
    struct arbiter_statistics now = figures(client);
    cr_assert_gt(now.inputs_consumed, 9800);
    cr_assert_eq(now.corrections.count, 0, "%u without a cause", now.corrections.count);
    cr_assert_eq(now.corrections.jumped, 0);
    cr_assert_lt(now.inputs_starved, 20, "%u starved", now.inputs_starved);
    uint32_t wrong = mispredicted(&walker, 120);
    cr_assert_leq(wrong, 8 * now.inputs_starved, "%u of 10000 ticks", wrong);
    cr_assert_eq(fake->duplicate_sequences, 0);
    cr_assert_eq(fake->target_gaps, 0);
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
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 4);
    fake_run(fake, client, 60 * S, 60, walk, &walker);
    struct arbiter_statistics now = figures(client);
    cr_assert_eq(now.corrections.count + now.corrections.starved + now.corrections.outside, 0);
    cr_assert_eq(now.inputs_starved, 0);
    cr_assert_eq(walker.worst_offset, 0.0F);
    cr_assert_eq(mispredicted(&walker, 0), 0);
    cr_assert_lt(now.lead_ticks, 12.0F, "no more ahead than needed: %f", (double)now.lead_ticks);
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
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 5);
    fake_run(fake, client, 20 * S, 60, walk, &walker);
    struct arbiter_statistics now = figures(client);
    cr_assert_eq(now.corrections.count + now.corrections.starved, 0);
    cr_assert_eq(walker.worst_offset, 0.0F);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, tick_labels_go_up_by_one_while_the_lead_changes)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 14});
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 6);
    static const float spares[] = {4.0F, 2.0F, 5.0F};
    for (uint64_t i = 0; i < 3; i++) {
        client->config.spare_ticks = spares[i];
        fake_run(fake, client, (8 * i + 8) * S, 60, walk, &walker);
    }
    cr_assert_eq(fake->duplicate_sequences, 0);
    cr_assert_eq(fake->target_gaps, 0);
    cr_assert_eq(fake->counts.inputs_starved, 0);
    cr_assert_eq(fake->counts.inputs_late, 0);
    cr_assert_eq(figures(client).resyncs, 0);
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
        struct arbiter_client *client = join(fake);
        struct arbiter_view view;
        fake_run(fake, client, 5 * S, cases[i].frames_per_s, NULL, NULL);
        arbiter_client_sample(client, fake_now_ns(fake), &view);
        /* Step n of the fake server runs n + 1 periods after its first tick. */
        double now = (double)fake_now_ns(fake) * 60e-9 - 1.0 + (double)cases[i].first_tick;
        cr_assert_float_eq(view.server_tick, now, 1.05, "case %zu: %f", i, view.server_tick - now);
        cr_assert_eq(figures(client).corrections.count + figures(client).corrections.starved, 0);
        arbiter_client_destroy(client);
        fake_destroy(fake);
    }
}

Test(client, longer_way_is_steered_to_without_a_jump)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 15, .up = {.delay_us = 20000}, .down = {.delay_us = 20000}});
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 7);
    fake_run(fake, client, 5 * S, 60, walk, &walker);
    arb_simnet_set_links(arb_net_carrier(client->net), (struct arb_link){.delay_us = 80000},
                         (struct arb_link){.delay_us = 80000});
    fake_run(fake, client, 20 * S, 60, walk, &walker);
    uint32_t starved = fake->counts.inputs_starved;
    fake_run(fake, client, 30 * S, 60, walk, &walker);
    cr_assert_eq(fake->counts.inputs_starved, starved, "settled");
    cr_assert_eq(fake->target_gaps, 0);
    cr_assert_eq(figures(client).corrections.count, 0);
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
    struct arbiter_client *client = join(fake);
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
    struct arbiter_statistics now = figures(client);
    cr_assert_eq(now.edges_sent[0], 100);
    cr_assert_eq(now.edges[0], 100, "told by the server");
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, presses_after_the_decisive_tick_are_not_counted)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 34});
    struct arbiter_client *client = join(fake);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    press(client, ARBITER_BUTTON_FIRE);
    fake_run(fake, client, 2 * S + S / 4, 60, NULL, NULL);
    struct arb_event result = {.tick = (uint32_t)fake->tick - 1, .kind = ARB_EVENT_RESULT};
    press(client, 0);
    press(client, ARBITER_BUTTON_FIRE); /* is under way when the result comes */
    fake_run(fake, client, 2 * S + S / 4 + 20000, 60, NULL, NULL);
    cr_assert_eq(figures(client).edges_sent[0], 2);
    fake_event(fake, result);
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    press(client, 0);
    press(client, ARBITER_BUTTON_FIRE);
    fake_run(fake, client, 4 * S, 60, NULL, NULL);
    cr_assert_eq(figures(client).edges_sent[0], 1);
    arbiter_client_destroy(client);
    fake_destroy(fake);
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
    struct arbiter_config config;
    uint32_t presses = 0;
    arbiter_config_default(&config);
    config.on_tick = alternate;
    config.on_tick_user = &presses;
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert(arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake)));
    fake_run(fake, client, 5 * S, 23, NULL, NULL);
    struct arbiter_statistics now = figures(client);
    cr_assert_gt(presses, 100);
    cr_assert_eq(now.edges_sent[1], presses);
    cr_assert_eq(fake->counts.edges[1], presses, "frames slower than ticks lose none");
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- others ---- */

struct drawn_check {
    struct fake_server *fake;
    uint32_t interpolated, extrapolated, frozen;
    arb_fine last;
    bool went_back;
};

static float quantised(float value)
{
    return arb_dequantise(arb_quantise(value, 1.0F / 512.0F, -(1 << 21), (1 << 21) - 1),
                          1.0F / 512.0F);
}

/* What is drawn is computed from the two published states and the fraction, bit for bit. */
static void check_drawn(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct drawn_check *check = user;
    uint64_t from = view->time.from_tick;
    uint64_t to = view->time.to_tick;
    arb_fine at = client->clocks.view.at;
    check->went_back |= at < check->last;
    check->last = at;
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        cr_assert(i == 0 || view->entities[i - 1].key < entity->key);
        if (entity->is_own) {
            continue;
        }
        uint32_t index = (entity->key >> 16) - 30 - ((entity->key >> 16) > 40);
        struct arb_vec2 a = fake_mover(index, from);
        struct arb_vec2 b = fake_mover(index, to);
        check->interpolated += entity->drawn == ARBITER_INTERPOLATED;
        check->extrapolated += entity->drawn == ARBITER_EXTRAPOLATED;
        check->frozen += entity->drawn == ARBITER_FROZEN;
        if (entity->drawn == ARBITER_INTERPOLATED && from < to) {
            float t = (float)view->time.fraction / 256.0F;
            bool jumped = b.x < a.x;
            float expected = jumped ? quantised(a.x)
                                    : arb_move_lerp((struct arb_vec2){quantised(a.x), 0.0F},
                                                    (struct arb_vec2){quantised(b.x), 0.0F}, t)
                                          .x;
            cr_assert_eq(entity->x, expected);
        }
    }
}

Test(client, others_are_drawn_between_two_states_exactly_and_only_go_forward)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 18,
        .up = {.delay_us = 50000},
        .down = {.delay_us = 50000, .jitter_us = 20000, .reorder_ppm = 100000},
        .movers = 30,
    });
    struct arbiter_client *client = join(fake);
    struct drawn_check check = {.fake = fake};
    fake_run(fake, client, 3 * S, 144, NULL, NULL);
    fake_run(fake, client, 23 * S, 144, check_drawn, &check);
    cr_assert_gt(check.interpolated, 50000);
    cr_assert_lt(check.extrapolated + check.frozen, check.interpolated / 100, "%u and %u",
                 check.extrapolated, check.frozen);
    cr_assert_not(check.went_back);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, silence_is_extrapolated_for_four_ticks_and_then_frozen)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 19, .movers = 3});
    struct arbiter_client *client = join(fake);
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    fake->hold_snapshots = true;
    struct drawn_check check = {.fake = fake};
    fake_run(fake, client, 4 * S, 240, check_drawn, &check);
    cr_assert_gt(check.extrapolated, 0);
    cr_assert_gt(check.frozen, 0);
    struct arbiter_view view;
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    arb_tick newest = view.time.from_tick;
    cr_assert_eq(view.time.to_tick, newest);
    for (uint32_t i = 0; i < view.entity_count; i++) {
        if (!view.entities[i].is_own) {
            struct arb_vec2 at = fake_mover((view.entities[i].key >> 16) - 30, newest);
            cr_assert_eq(view.entities[i].drawn, ARBITER_FROZEN);
            cr_assert_eq(view.entities[i].vx, 0.0F);
            cr_assert_float_eq((double)view.entities[i].x, (double)at.x + 4.0 * 3.0 / 60.0, 0.003);
        }
    }
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, snapshots_of_many_chunks_commit_in_any_order)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 20,
        .down =
            {.delay_us = 5000, .jitter_us = 8000, .reorder_ppm = 1000000, .duplicate_ppm = 200000},
        .movers = 40,
        .chunk_payload = 100,
    });
    struct arbiter_client *client = join(fake);
    struct drawn_check check = {.fake = fake};
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    fake_run(fake, client, 8 * S, 60, check_drawn, &check);
    struct arbiter_statistics now = figures(client);
    cr_assert_gt(now.snapshots, 200);
    cr_assert_eq(now.bad_messages, 0);
    cr_assert_eq(now.bad_snapshots, 0);
    cr_assert_gt(check.interpolated, 40 * 300);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- the serpent ---- */

static void steer(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    uint32_t *frames = user;
    struct arbiter_input input = {.move_x = (int8_t)(*frames / 40 % 3 == 0 ? -100 : 100)};
    arbiter_client_input(client, &input);
    for (uint32_t i = 0; i < view->entity_count && ++*frames > 60; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        cr_assert_neq(entity->drawn, ARBITER_EXTRAPOLATED, "a long body keeps its shape");
        cr_assert_gt(entity->point_count, 1);
        if (entity->is_own) {
            cr_assert_eq(entity->points[0].x, view->own.x, "the body begins at the drawn head");
            cr_assert_eq(entity->points[0].y, view->own.y);
            for (uint32_t p = 2; p < entity->point_count; p++) {
                float gap = arb_vec2_distance(
                    (struct arb_vec2){entity->points[p].x, entity->points[p].y},
                    (struct arb_vec2){entity->points[p - 1].x, entity->points[p - 1].y});
                cr_assert_lt(gap, 0.3F, "joined without a gap");
            }
        }
    }
}

Test(client, serpent_shows_its_predicted_head_on_the_servers_path)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 21,
        .up = {.delay_us = 60000},
        .down = {.delay_us = 60000, .loss_ppm = 100000},
        .serpent = true,
        .movers = 3,
    });
    struct arbiter_client *client = join(fake);
    uint32_t frames = 0;
    fake_run(fake, client, 6 * S, 60, steer, &frames);
    fake->hold_snapshots = true;
    fake_run(fake, client, 6 * S + S / 2, 60, steer, &frames);
    struct arbiter_view view;
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.entity_count, 4);
    cr_assert_eq(view.entities[0].drawn, ARBITER_FROZEN);
    cr_assert_gt(frames, 100);
    cr_assert_eq(figures(client).corrections.count, 0);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- corrections with a cause ---- */

Test(client, push_from_outside_is_smoothed_and_counted_with_its_cause)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 22, .up = {.delay_us = 50000}, .down = {.delay_us = 50000}});
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 8);
    fake_run(fake, client, 3 * S, 60, walk, &walker);
    fake->own.x += 0.5F;
    fake->outside++;
    fake_run(fake, client, 4 * S, 60, walk, &walker);
    struct arbiter_statistics now = figures(client);
    cr_assert_eq(now.corrections.outside, 1);
    cr_assert_eq(now.corrections.count, 0);
    cr_assert(walker.worst_offset > 0.4F && walker.worst_offset < 0.6F);
    struct arbiter_view view;
    fake_run(fake, client, 6 * S, 60, walk, &walker);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.own.offset_x, 0.0F, "it fades out");
    fake->own.y += 0.25F; /* nobody says why */
    fake_run(fake, client, 7 * S, 60, walk, &walker);
    now = figures(client);
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
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 9);
    fake_run(fake, client, 3 * S, 60, walk, &walker);
    fake->own.x += 1.0F;
    fake->jump++;
    fake_run(fake, client, 5 * S, 60, walk, &walker);
    cr_assert_eq(figures(client).corrections.jumped, 1);
    fake->key.generation = 2;
    fake->control = 2;
    fake->own.x = -20.0F;
    fake->own.y = -20.0F;
    fake_run(fake, client, 7 * S, 60, walk, &walker);
    struct arbiter_statistics now = figures(client);
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
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 13);
    fake_run(fake, client, 3 * S, 60, walk, &walker);
    for (uint64_t i = 1; i <= 60; i++) {
        fake->key.generation++;
        fake->control++;
        fake->own.x = (float)(i % 7) - 3.0F;
        fake_run(fake, client, 3 * S + i * S / 2, 60, walk, &walker);
    }
    struct arbiter_statistics now = figures(client);
    cr_assert_gt(now.corrections.jumped, 50);
    cr_assert_eq(now.corrections.count, 0, "%u", now.corrections.count);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, without_a_character_the_game_waits_and_nothing_is_predicted)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 24, .movers = 2});
    struct arbiter_client *client = join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.game, ARBITER_GAME_PLAYING);
    cr_assert_eq(view.entity_count, 3);
    fake->no_character = true;
    fake->control = 2;
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_eq(view.game, ARBITER_GAME_WAITING);
    cr_assert_not(view.own.exists);
    cr_assert_eq(view.entity_count, 2);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- stalls and ends ---- */

Test(client, stall_of_five_seconds_is_over_with_one_resync)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 25, .up = {.delay_us = 30000}, .down = {.delay_us = 30000}, .movers = 2});
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 10);
    fake_run(fake, client, 5 * S, 60, walk, &walker);
    for (uint64_t now = 5 * S; now < 10 * S; now += 1000) {
        fake_advance(fake, now);
    }
    fake_run(fake, client, 10 * S + S / 2, 60, walk, &walker);
    struct arbiter_view view;
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_gt(view.time.to_tick + 20, fake->tick, "others move again");
    cr_assert_neq(view.entities[0].drawn, ARBITER_FROZEN);
    cr_assert_lt(figures(client).interpolation_ms, 100.0F, "what waited here was not late");
    fake_run(fake, client, 11 * S, 60, walk, &walker);
    uint32_t starved = fake->counts.inputs_starved;
    fake_run(fake, client, 16 * S, 60, walk, &walker);
    cr_assert_eq(fake->counts.inputs_starved, starved, "the right lead within a second");
    struct arbiter_statistics now = figures(client);
    cr_assert_eq(now.resyncs, 1);
    cr_assert_lt(now.lead_ticks, 9.0F, "%f", (double)now.lead_ticks);
    cr_assert_eq(now.corrections.count, 0);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client, other_version_is_refused_with_both_named)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 26});
    fake->refuse_version = true;
    struct arbiter_client *client = join(fake);
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

Test(client, nobody_there_is_said_after_the_timeout)
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

Test(client, reconnect_starts_with_nothing_old)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 27, .movers = 5});
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 11);
    struct arbiter_view view;
    fake_run(fake, client, 3 * S, 60, walk, &walker);
    name_player(fake, 0, "ada", 12);
    fake_run(fake, client, 4 * S, 60, walk, &walker);
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
    cr_assert_eq(figures(client).snapshots, 0);
    fake_run(fake, client, 8 * S, 60, walk, &walker);
    struct arbiter_statistics now = figures(client);
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

Test(client, event_waits_until_the_drawn_world_reaches_its_tick)
{
    struct fake_server *fake = fake_create(
        &(struct fake_options){.seed = 28, .up = {.delay_us = 30000}, .down = {.delay_us = 30000}});
    struct arbiter_client *client = join(fake);
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

Test(client, result_outlives_the_connection_and_all_queued_events_are_told)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 29});
    struct arbiter_client *client = join(fake);
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

Test(client, at_most_64_network_events_are_handled_by_one_poll)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 30});
    struct arbiter_client *client = join(fake);
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

Test(client, malformed_messages_are_counted_change_nothing_and_end_the_connection)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 31, .movers = 3});
    struct arbiter_client *client = join(fake);
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
    cr_assert_eq(figures(client).bad_messages, 20);
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
    struct arbiter_client *client = join(fake);
    struct walker walker = walker_open(fake, 12);
    fake_run(fake, client, 5 * S, 60, walk, &walker);
    uint64_t before = arb_mem_count();
    fake_run(fake, client, 20 * S, 60, walk, &walker);
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
