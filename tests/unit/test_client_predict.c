/* Prediction and correction: the worked cases of spec/client.md "Correction". */
#include "shared/base/arb_math.h"
#include "shared/client/arb_client_predict.h"

#include <criterion/criterion.h>
#include <string.h>

#define TICK ((arb_fine)ARB_FINE_TICK)
#define MS 1000000ULL

static const struct arb_correction_limits limits = {60.0F, 0.01F, 2.0F};

static void assert_near(float got, float expected, const char *what)
{
    cr_assert(got - expected < 1e-4F && expected - got < 1e-4F, "%s: %f, expected %f", what,
              (double)got, (double)expected);
}

Test(client_correction, offset_keeps_the_drawn_place_and_halves_in_a_half_life)
{
    struct arb_vec2 offset = arb_correction_offset((struct arb_vec2){12.4F, 8.1F},
                                                   (struct arb_vec2){12.0F, 8.0F}, &limits);
    assert_near(offset.x, 0.4F, "x");
    assert_near(offset.y, 0.1F, "y");
    assert_near(arb_vec2_length(offset), 0.412311F, "length");
    struct arb_vec2 later = arb_correction_fade(offset, 60 * MS, 60.0F);
    assert_near(later.x, 0.2F, "x after a half-life");
    assert_near(later.y, 0.05F, "y after a half-life");
}

Test(client_correction, two_frames_fade_like_one_of_twice_the_length)
{
    struct arb_vec2 offset = {0.4F, 0.1F};
    for (uint64_t ms = 1; ms < 400; ms += 7) {
        struct arb_vec2 half = arb_correction_fade(offset, ms * MS, 60.0F);
        struct arb_vec2 twice = arb_correction_fade(half, ms * MS, 60.0F);
        struct arb_vec2 once = arb_correction_fade(offset, 2 * ms * MS, 60.0F);
        assert_near(twice.x, once.x, "x");
        assert_near(twice.y, once.y, "y");
    }
}

Test(client_correction, tolerance_and_hard_snap_are_inclusive)
{
    struct arb_vec2 zero = {0.0F, 0.0F};
    static const struct {
        float distance;
        bool smoothed;
    } cases[] = {{0.0F, false}, {0.01F, false},  {0.0101F, true},
                 {2.0F, true},  {2.001F, false}, {500.0F, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_vec2 offset =
            arb_correction_offset((struct arb_vec2){cases[i].distance, 0.0F}, zero, &limits);
        cr_assert_eq(offset.x > 0.0F, cases[i].smoothed, "distance %f", (double)cases[i].distance);
    }
    struct arb_vec2 broken =
        arb_correction_offset((struct arb_vec2){0.0F / 1.0F, 1.0F / 0.0F}, zero, &limits);
    cr_assert(broken.x == 0.0F && broken.y == 0.0F, "what is not finite is not smoothed");
}

Test(client_correction, fade_ends)
{
    struct arb_vec2 offset =
        arb_correction_fade((struct arb_vec2){1.0F, 1.0F}, 3600000 * MS, 60.0F);
    cr_assert(offset.x == 0.0F && offset.y == 0.0F);
    offset = arb_correction_fade((struct arb_vec2){1.0F, 1.0F}, 1, 0.0F);
    cr_assert(offset.x == 0.0F && offset.y == 0.0F, "half-life 0: at once");
}

/* ---- prediction in an empty arena ---- */

static struct arb_move_params arena(void)
{
    struct arb_move_params params;
    memset(&params, 0, sizeof params);
    params.mover = ARB_MOVER_ARENA;
    params.tick_rate = 60;
    params.radius = 0.4F;
    params.max_speed = 6.0F;
    params.acceleration = 60.0F;
    params.friction = 40.0F;
    params.dash_speed = 15.0F;
    params.dash_ticks = 8;
    params.dash_cooldown_ticks = 60;
    return params;
}

struct scene {
    struct arb_move_params params;
    struct arb_geometry *geometry;
    struct arb_predict predict;
};

static void scene_open(struct scene *scene)
{
    struct arb_bounds bounds = {{-50.0F, -50.0F}, {50.0F, 50.0F}};
    scene->params = arena();
    scene->geometry = arb_geometry_create(NULL, 0, bounds);
    arb_predict_reset(&scene->predict, &scene->params, scene->geometry);
}

static struct arb_pending input_for(const struct scene *scene, arb_tick tick, int8_t move_x)
{
    struct arb_pending pending = {.control = 1};
    pending.input.sequence = scene->predict.newest + 1;
    pending.input.target_tick = tick;
    pending.input.move_x = move_x;
    return pending;
}

static struct arb_own at_place(float x)
{
    struct arb_own own;
    memset(&own, 0, sizeof own);
    own.x = x;
    return own;
}

Test(client_predict, only_unacknowledged_inputs_are_applied_again)
{
    struct scene scene;
    scene_open(&scene);
    scene.predict.newest = 100;
    scene.predict.acknowledged = 100;
    for (arb_tick tick = 201; tick <= 203; tick++) {
        struct arb_pending pending = input_for(&scene, tick, 127);
        arb_predict_input(&scene.predict, &pending);
    }
    struct arb_own confirmed = at_place(3.0F);
    cr_assert_eq(arb_predict_confirm(&scene.predict, 202, &confirmed, 1, 102), ARB_PREDICT_UNKNOWN,
                 "there was no state to predict from");
    cr_assert_eq(arb_predict_unacknowledged(&scene.predict), 1, "only 103");
    arb_predict_confirm(&scene.predict, 202, &confirmed, 1, 103);
    cr_assert_eq(arb_predict_unacknowledged(&scene.predict), 0, "the next one too, then none");
    arb_predict_confirm(&scene.predict, 202, &confirmed, 1, 102);
    cr_assert_eq(arb_predict_unacknowledged(&scene.predict), 0, "it never goes back");
    struct arb_own expected = confirmed;
    struct arb_move_report report;
    struct arb_input input = {.sequence = 103, .target_tick = 203, .move_x = 127};
    arb_move_step(&expected, &input, &scene.params, scene.geometry, &report);
    cr_assert_eq(scene.predict.predicted_tick, 203);
    cr_assert_arr_eq(&scene.predict.states[203 % ARB_PREDICT_TICKS], &expected, sizeof expected);
    arb_geometry_destroy(scene.geometry);
}

Test(client_predict, server_that_agrees_changes_nothing)
{
    struct scene scene;
    scene_open(&scene);
    struct arb_own confirmed = at_place(0.0F);
    arb_predict_confirm(&scene.predict, 100, &confirmed, 1, 0);
    for (arb_tick tick = 101; tick <= 110; tick++) {
        struct arb_pending pending = input_for(&scene, tick, tick < 105 ? 127 : -60);
        arb_predict_input(&scene.predict, &pending);
    }
    struct arb_own result = scene.predict.states[106 % ARB_PREDICT_TICKS];
    struct arb_own newest = scene.predict.states[110 % ARB_PREDICT_TICKS];
    cr_assert_eq(arb_predict_confirm(&scene.predict, 106, &result, 1, 6), ARB_PREDICT_SAME);
    cr_assert_arr_eq(&scene.predict.states[110 % ARB_PREDICT_TICKS], &newest, sizeof newest);
    struct arb_own other = result;
    other.reserve[2]++;
    cr_assert_eq(arb_predict_confirm(&scene.predict, 106, &other, 1, 6), ARB_PREDICT_DIFFERS,
                 "whatever of it differs");
    cr_assert_eq(scene.predict.states[110 % ARB_PREDICT_TICKS].reserve[2], 1);
    result.x += 0.25F;
    cr_assert_eq(arb_predict_confirm(&scene.predict, 106, &result, 1, 6), ARB_PREDICT_DIFFERS);
    struct arb_own moved = scene.predict.states[110 % ARB_PREDICT_TICKS];
    assert_near(moved.x - newest.x, 0.25F, "the difference is carried to the newest tick");
    arb_geometry_destroy(scene.geometry);
}

Test(client_predict, input_of_an_earlier_control_number_steers_nothing)
{
    struct scene scene;
    scene_open(&scene);
    for (arb_tick tick = 101; tick <= 104; tick++) {
        struct arb_pending pending = input_for(&scene, tick, 127);
        pending.control = tick < 103 ? 1 : 2;
        arb_predict_input(&scene.predict, &pending);
    }
    struct arb_own confirmed = at_place(0.0F);
    arb_predict_confirm(&scene.predict, 100, &confirmed, 2, 0);
    cr_assert_eq(scene.predict.states[102 % ARB_PREDICT_TICKS].vx, 0.0F);
    cr_assert_gt(scene.predict.states[103 % ARB_PREDICT_TICKS].vx, 0.0F);
    arb_geometry_destroy(scene.geometry);
}

Test(client_predict, gap_is_bridged_with_what_was_held_and_no_new_press)
{
    struct scene scene;
    scene_open(&scene);
    scene.params.dash_ticks = 1;
    scene.params.dash_cooldown_ticks = 2;
    struct arb_own confirmed = at_place(0.0F);
    arb_predict_confirm(&scene.predict, 100, &confirmed, 1, 0);
    struct arb_pending pending = input_for(&scene, 101, 127);
    pending.input.edges = ARB_BUTTON_DASH;
    arb_predict_input(&scene.predict, &pending);
    struct arb_input held = pending.input;
    struct arb_move_report report;
    for (arb_tick tick = 101; tick <= 105; tick++) {
        arb_move_step(&confirmed, &held, &scene.params, scene.geometry, &report);
        held.edges = 0;
    }
    pending = input_for(&scene, 105, 127);
    arb_predict_input(&scene.predict, &pending);
    cr_assert_eq(scene.predict.predicted_tick, 105);
    cr_assert_arr_eq(&scene.predict.states[105 % ARB_PREDICT_TICKS], &confirmed, sizeof confirmed);
    arb_geometry_destroy(scene.geometry);
}

Test(client_predict, remainder_of_a_frame_is_shown_between_two_ticks)
{
    struct scene scene;
    scene_open(&scene);
    struct arb_own confirmed = at_place(0.0F);
    arb_predict_confirm(&scene.predict, 100, &confirmed, 1, 0);
    for (arb_tick tick = 101; tick <= 110; tick++) {
        struct arb_pending pending = input_for(&scene, tick, 127);
        arb_predict_input(&scene.predict, &pending);
    }
    struct arb_input held = {.move_x = 127};
    struct arb_predict_shown a, b, middle;
    arb_predict_show(&scene.predict, 108 * TICK, &held, &a);
    arb_predict_show(&scene.predict, 109 * TICK, &held, &b);
    arb_predict_show(&scene.predict, 108 * TICK + TICK / 2, &held, &middle);
    assert_near(a.position.x, scene.predict.states[107 % ARB_PREDICT_TICKS].x, "at a tick");
    assert_near(middle.position.x, 0.5F * (a.position.x + b.position.x), "half way");
    /* The tick in progress, for which no input was made yet, is steered by what is held. */
    struct arb_predict_shown going, standing;
    struct arb_input nothing = {0};
    arb_predict_show(&scene.predict, 111 * TICK + TICK / 2, &held, &going);
    arb_predict_show(&scene.predict, 111 * TICK + TICK / 2, &nothing, &standing);
    cr_assert_gt(going.position.x, scene.predict.states[110 % ARB_PREDICT_TICKS].x);
    cr_assert_lt(standing.position.x, going.position.x);
    arb_geometry_destroy(scene.geometry);
}

Test(client_predict, silent_server_does_not_overrun_what_is_kept)
{
    struct scene scene;
    scene_open(&scene);
    struct arb_own confirmed = at_place(0.0F);
    arb_predict_confirm(&scene.predict, 100, &confirmed, 1, 0);
    for (arb_tick tick = 101; tick <= 900; tick++) {
        struct arb_pending pending = input_for(&scene, tick, 40);
        arb_predict_input(&scene.predict, &pending);
    }
    cr_assert_lt(scene.predict.predicted_tick - scene.predict.confirmed_tick, ARB_PREDICT_TICKS);
    cr_assert_lt(arb_predict_unacknowledged(&scene.predict), ARB_PREDICT_TICKS);
    arb_predict_confirm(&scene.predict, 890, &confirmed, 1, 790);
    cr_assert_eq(scene.predict.predicted_tick, 900);
    arb_geometry_destroy(scene.geometry);
}
