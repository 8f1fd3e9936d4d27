/* What the client draws of others, and which events it tells when. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "shared/client/arbiter_client_internal.h"
#include "shared/move/arb_move.h"
#include "shared/proto/arb_proto.h"
#include "tests/support/fake_player.h"
#include "tests/support/fake_server.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define S 1000000ULL /* of the virtual clock, in microseconds */

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

Test(client_view, others_are_drawn_between_two_states_exactly_and_only_go_forward)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 18,
        .up = {.delay_us = 50000},
        .down = {.delay_us = 50000, .jitter_us = 20000, .reorder_ppm = 100000},
        .movers = 30,
    });
    struct arbiter_client *client = fake_join(fake);
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

/* The newest snapshot's own values, not what is drawn of them. */
static void check_newest(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct drawn_check *check = user;
    struct arb_frame frame;
    cr_assert(arb_client_frame(client, &frame));
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        struct arbiter_point newest;
        cr_assert(arbiter_client_newest(client, entity->key, &newest));
        if (!entity->is_own) {
            uint32_t index = (entity->key >> 16) - 30 - ((entity->key >> 16) > 40);
            cr_assert_eq(newest.x, quantised(fake_mover(index, frame.tick).x));
            cr_assert_eq(newest.y, quantised(fake_mover(index, frame.tick).y));
            check->interpolated += newest.x > entity->x;
        }
        cr_assert_not(arbiter_client_newest(client, entity->key + 1, &newest),
                      "another generation");
    }
}

Test(client_view, newest_place_of_others_is_what_arrived_last)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 18, .up = {.delay_us = 50000}, .down = {.delay_us = 50000}, .movers = 5});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_point newest;
    cr_assert_not(arbiter_client_newest(client, 31 << 16 | 1, &newest), "nothing has arrived");
    struct drawn_check check = {.fake = fake};
    fake_run(fake, client, 3 * S, 60, NULL, NULL);
    fake_run(fake, client, 5 * S, 60, check_newest, &check);
    cr_assert_gt(check.interpolated, 500, "ahead of what is drawn");
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_view, silence_is_extrapolated_for_four_ticks_and_then_frozen)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 19, .movers = 3});
    struct arbiter_client *client = fake_join(fake);
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

struct shots {
    struct fake_server *fake;
    uint32_t frames;
    uint16_t expected_held;
    double off_max; /* ticks between the view that is expected and the one that was named */
};

/* A press each half second; what the server makes of the press before. */
static void shoot(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct shots *shots = user;
    struct arbiter_input input = {.buttons = shots->frames++ % 30 == 0 ? ARBITER_BUTTON_FIRE : 0};
    if (input.buttons != 0) {
        shots->expected_held = client->snapshots.header.id;
        cr_assert_eq(client->controls.drawn.held, shots->expected_held);
    }
    arbiter_client_input(client, &input);
    (void)view;
    const struct arb_input *press = &shots->fake->last_press;
    if (shots->frames % 30 != 25 || press->sequence == 0) {
        return;
    }
    cr_assert_eq(press->view.held, shots->expected_held, "the newest that was committed then");
    double sent = (double)press->target_tick - (double)fake_figures(client).lead_ticks;
    double rtt = (double)fake_figures(client).rtt_min_ms * 60.0 / 1000.0;
    double expected = sent - rtt / 2.0 - (double)shots->fake->view_delay / 16.0;
    double off = expected - (double)arb_view_at(&press->view) / (double)ARB_FINE_TICK;
    shots->off_max = fmax(shots->off_max, fabs(off));
}

Test(client_view, announced_delay_says_which_view_a_shot_will_name)
{
    static const uint64_t one_way_us[] = {1000, 50000, 150000};
    for (size_t i = 0; i < sizeof one_way_us / sizeof one_way_us[0]; i++) {
        struct fake_server *fake = fake_create(&(struct fake_options){
            .seed = 41,
            .up = {.delay_us = (uint32_t)one_way_us[i]},
            .down = {.delay_us = (uint32_t)one_way_us[i], .jitter_us = 10000},
            .movers = 3,
        });
        struct arbiter_client *client = fake_join(fake);
        struct shots shots = {.fake = fake};
        cr_assert_eq(fake->view_delay, 0);
        fake_run(fake, client, 4 * S, 60, NULL, NULL);
        fake_run(fake, client, 12 * S, 60, shoot, &shots);
        cr_assert_gt(fake->view_delay, 16, "%u", fake->view_delay);
        cr_assert_lt(fake->view_delay, 16 * 6, "the network's share is not in it: %u",
                     fake->view_delay);
        cr_assert_lt(shots.off_max, 2.5, "%f", shots.off_max);
        arbiter_client_destroy(client);
        fake_destroy(fake);
    }
}

static bool draws(const struct arbiter_view *view, uint32_t key)
{
    for (uint32_t i = 0; i < view->entity_count; i++) {
        if (view->entities[i].key == key) {
            return true;
        }
    }
    return false;
}

/* Frames say what is there: an entity that is in none from a tick on is drawn as it was last until
 * that tick, beyond it by nothing. */
Test(client_view, entity_is_drawn_as_long_as_the_frame_drawn_has_it)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 38, .up = {.delay_us = 10000}, .down = {.delay_us = 10000}, .movers = 3});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    uint32_t key = (uint32_t)30 << 16 | 1;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    fake->first_mover_gone = true;
    arb_tick gone = (fake->tick + 1) / 2 * 2;
    arb_tick back = 0;
    for (uint64_t now = 2 * S; now < 4 * S; now += 2000) {
        fake_advance(fake, now);
        if (now == 3 * S) {
            fake->first_mover_gone = false;
            back = (fake->tick + 1) / 2 * 2;
        }
        arbiter_client_poll(client, now * 1000);
        arbiter_client_sample(client, now * 1000, &view);
        arb_tick at = (arb_tick)view.time.from_tick;
        bool there = at < gone || (back != 0 && at >= back);
        cr_assert_eq(draws(&view, key), there, "at %llu, gone %llu, back %llu",
                     (unsigned long long)at, (unsigned long long)gone, (unsigned long long)back);
    }
    cr_assert_eq(view.entity_count, 4);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_view, snapshots_of_many_chunks_commit_in_any_order)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 20,
        .down =
            {.delay_us = 5000, .jitter_us = 8000, .reorder_ppm = 1000000, .duplicate_ppm = 200000},
        .movers = 40,
        .chunk_payload = 100,
    });
    struct arbiter_client *client = fake_join(fake);
    struct drawn_check check = {.fake = fake};
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    fake_run(fake, client, 8 * S, 60, check_drawn, &check);
    struct arbiter_statistics now = fake_figures(client);
    cr_assert_gt(now.snapshots, 200);
    cr_assert_eq(now.bad_messages, 0);
    cr_assert_eq(now.bad_snapshots, 0);
    cr_assert_gt(check.interpolated, 40 * 300);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_view, without_a_character_the_game_waits_and_nothing_is_predicted)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 24, .movers = 2});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.game, ARBITER_GAME_PLAYING);
    cr_assert_eq(view.entity_count, 3);
    fake->no_character = true;
    fake->control = 2;
    for (uint64_t now = 2 * S; now < 3 * S; now += 4000) {
        bool alive = client->predict.has_state;
        fake_advance(fake, now);
        arbiter_client_poll(client, now * 1000);
        arbiter_client_sample(client, now * 1000, &view);
        cr_assert(alive || !draws(&view, (uint32_t)40 << 16 | 1), "the own death is shown at once");
    }
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.connection, ARBITER_CONNECTED);
    cr_assert_eq(view.game, ARBITER_GAME_WAITING);
    cr_assert_not(view.own.exists);
    cr_assert_eq(view.entity_count, 2);
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

Test(client_view, each_point_of_a_body_is_drawn_anew_in_each_frame)
{
    struct fake_server *fake =
        fake_create(&(struct fake_options){.seed = 22, .serpent = true, .movers = 3});
    struct arbiter_client *client = fake_join(fake);
    struct arbiter_view view;
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    memset(client->drawing.points, 0xFF,
           client->config.max_points * sizeof view.entities->points[0]);
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.entity_count, 4);
    for (uint32_t i = 0; i < view.entity_count; i++) {
        const struct arbiter_entity *entity = &view.entities[i];
        cr_assert_gt(entity->point_count, 1);
        for (uint32_t p = 0; p < entity->point_count; p++) {
            cr_assert(isfinite(entity->points[p].x) && isfinite(entity->points[p].y));
        }
    }
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_view, serpent_shows_its_predicted_head_on_the_servers_path)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 21,
        .up = {.delay_us = 60000},
        .down = {.delay_us = 60000, .loss_ppm = 100000},
        .serpent = true,
        .movers = 3,
    });
    struct arbiter_client *client = fake_join(fake);
    uint32_t frames = 0;
    fake_run(fake, client, 6 * S, 60, steer, &frames);
    fake->hold_snapshots = true;
    fake_run(fake, client, 6 * S + S / 2, 60, steer, &frames);
    struct arbiter_view view;
    arbiter_client_sample(client, fake_now_ns(fake), &view);
    cr_assert_eq(view.entity_count, 4);
    cr_assert_eq(view.entities[0].drawn, ARBITER_FROZEN);
    cr_assert_gt(frames, 100);
    cr_assert_eq(fake_figures(client).corrections.count, 0);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}
