#include "shared/client/arb_client_predict.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

/* ---- correction ---- */

struct arb_vec2 arb_correction_offset(struct arb_vec2 drawn, struct arb_vec2 logical,
                                      const struct arb_correction_limits *limits)
{
    struct arb_vec2 offset = arb_vec2_sub(drawn, logical);
    float distance = arb_vec2_length(offset);
    /* Written so that what is not a number is no offset either. */
    bool smooth = distance > limits->tolerance_m && distance <= limits->hard_snap_m;
    return smooth ? offset : (struct arb_vec2){0.0F, 0.0F};
}

/* 0.5^x for x >= 0: whole halvings, then 64 table steps of the square-root ladder, so that no libm
 * function is needed whose last bits vary. */
static float half_power(float x)
{
    static const float roots[10] = {
        0.70710678F, 0.84089642F, 0.91700404F, 0.95760328F, 0.97857206F,
        0.98922801F, 0.99459942F, 0.99729605F, 0.99864711F, 0.99932333F,
    };
    if (!(x < 64.0F)) {
        return 0.0F;
    }
    float power = 1.0F;
    while (x >= 1.0F) {
        power *= 0.5F;
        x -= 1.0F;
    }
    float part = 0.5F;
    for (int i = 0; i < 10; i++) {
        if (x >= part) {
            power *= roots[i];
            x -= part;
        }
        part *= 0.5F;
    }
    return power * (1.0F - 0.69314718F * x);
}

struct arb_vec2 arb_correction_fade(struct arb_vec2 offset, uint64_t passed_ns, float half_life_ms)
{
    if (offset.x == 0.0F && offset.y == 0.0F) {
        return offset;
    }
    if (!(half_life_ms > 0.0F)) {
        return (struct arb_vec2){0.0F, 0.0F};
    }
    struct arb_vec2 faded =
        arb_vec2_scale(offset, half_power((float)passed_ns * 1e-6F / half_life_ms));
    /* Below what any screen shows it is over. */
    return arb_vec2_length(faded) < 1e-5F ? (struct arb_vec2){0.0F, 0.0F} : faded;
}

/* ---- prediction ---- */

void arb_predict_reset(struct arb_predict *predict, const struct arb_move_params *params,
                       const struct arb_geometry *geometry)
{
    memset(predict, 0, sizeof *predict);
    predict->params = params;
    predict->geometry = geometry;
}

const struct arb_pending *arb_predict_at(const struct arb_predict *predict, arb_tick tick)
{
    arb_sequence sequence = predict->at_tick[tick % ARB_PREDICT_TICKS];
    if (sequence == 0) {
        return NULL;
    }
    const struct arb_pending *pending = &predict->pending[sequence % ARB_PREDICT_TICKS];
    bool found = pending->input.sequence == sequence && pending->input.target_tick == tick;
    return found ? pending : NULL;
}

uint8_t arb_predict_fired(const struct arb_predict *predict, arb_tick tick)
{
    bool held =
        predict->has_state && tick > predict->confirmed_tick && tick <= predict->predicted_tick;
    return held ? predict->fired[tick % ARB_PREDICT_TICKS] : 0;
}

uint32_t arb_predict_unacknowledged(const struct arb_predict *predict)
{
    uint32_t count = predict->newest - predict->acknowledged;
    return count < ARB_PREDICT_TICKS ? count : ARB_PREDICT_TICKS - 1;
}

/* What the server makes of an input of another control number. */
static void make_neutral(struct arb_input *input)
{
    input->buttons = 0;
    input->edges = 0;
    input->move_x = 0;
    input->move_y = 0;
}

/* The input that steers `tick`: the one made for it, else what steered the tick before goes on
 * without a new press, as on the server. */
static struct arb_input steering(const struct arb_predict *predict, arb_tick tick)
{
    const struct arb_pending *pending = arb_predict_at(predict, tick);
    if (pending == NULL) {
        struct arb_input held = predict->held[(tick - 1) % ARB_PREDICT_TICKS];
        held.edges = 0;
        return held;
    }
    struct arb_input input = pending->input;
    if (pending->control != predict->control) {
        make_neutral(&input);
    }
    return input;
}

static void step(struct arb_predict *predict)
{
    arb_tick tick = predict->predicted_tick + 1;
    struct arb_input input = steering(predict, tick);
    struct arb_own *state = &predict->states[tick % ARB_PREDICT_TICKS];
    struct arb_move_report report;
    *state = predict->states[(tick - 1) % ARB_PREDICT_TICKS];
    arb_move_step(state, &input, predict->params, predict->geometry, &report);
    predict->held[tick % ARB_PREDICT_TICKS] = input;
    predict->fired[tick % ARB_PREDICT_TICKS] = report.fired ? (uint8_t)(state->weapon + 1) : 0;
    predict->predicted_tick = tick;
}

/* Up to the newest input, but never further than states are kept: beyond, the server has been
 * silent for seconds and nothing is known. */
static void predict_on(struct arb_predict *predict)
{
    if (!predict->has_state) {
        return;
    }
    arb_tick last = predict->confirmed_tick + ARB_PREDICT_TICKS - 2;
    arb_tick end = predict->newest_tick < last ? predict->newest_tick : last;
    while (predict->predicted_tick < end) {
        step(predict);
    }
}

void arb_predict_input(struct arb_predict *predict, const struct arb_pending *pending)
{
    const struct arb_input *input = &pending->input;
    ARB_ASSERT(input->sequence == predict->newest + 1);
    ARB_ASSERT(predict->newest == 0 || input->target_tick > predict->newest_tick);
    predict->pending[input->sequence % ARB_PREDICT_TICKS] = *pending;
    predict->at_tick[input->target_tick % ARB_PREDICT_TICKS] = input->sequence;
    predict->newest = input->sequence;
    predict->newest_tick = input->target_tick;
    predict_on(predict);
}

void arb_predict_drop_inputs(struct arb_predict *predict)
{
    memset(predict->pending, 0, sizeof predict->pending);
    memset(predict->at_tick, 0, sizeof predict->at_tick);
    predict->acknowledged = predict->newest;
    predict->predicted_tick = predict->confirmed_tick;
    predict->newest_tick = predict->confirmed_tick;
}

void arb_predict_no_state(struct arb_predict *predict)
{
    predict->has_state = false;
}

static void acknowledge(struct arb_predict *predict, arb_sequence consumed)
{
    if (consumed > predict->acknowledged && consumed <= predict->newest) {
        predict->acknowledged = consumed;
    }
}

void arb_predict_acknowledge(struct arb_predict *predict, arb_tick tick, arb_sequence consumed)
{
    acknowledge(predict, consumed);
    predict->confirmed_tick = tick;
    predict->predicted_tick = tick;
}

enum arb_predict_verdict arb_predict_confirm(struct arb_predict *predict, arb_tick tick,
                                             const struct arb_own *own, uint8_t control,
                                             arb_sequence consumed)
{
    struct arb_own *state = &predict->states[tick % ARB_PREDICT_TICKS];
    bool held =
        predict->has_state && tick >= predict->confirmed_tick && tick <= predict->predicted_tick;
    bool same = held && control == predict->control && memcmp(state, own, sizeof *own) == 0;
    acknowledge(predict, consumed);
    predict->has_state = true;
    predict->control = control;
    predict->confirmed_tick = tick;
    if (!held) {
        const struct arb_pending *pending = arb_predict_at(predict, tick);
        struct arb_input *steered = &predict->held[tick % ARB_PREDICT_TICKS];
        *steered = pending != NULL ? pending->input : (struct arb_input){0};
    }
    if (!same) {
        *state = *own;
        predict->predicted_tick = tick;
    }
    predict_on(predict);
    return same ? ARB_PREDICT_SAME : held ? ARB_PREDICT_DIFFERS : ARB_PREDICT_UNKNOWN;
}

/* ---- showing ---- */

static const struct arb_own *known_state(const struct arb_predict *predict, arb_tick tick)
{
    arb_tick bounded = tick < predict->confirmed_tick   ? predict->confirmed_tick
                       : tick > predict->predicted_tick ? predict->predicted_tick
                                                        : tick;
    return &predict->states[bounded % ARB_PREDICT_TICKS];
}

void arb_predict_show(const struct arb_predict *predict, arb_fine at, const struct arb_input *now,
                      struct arb_predict_shown *shown)
{
    ARB_ASSERT(predict->has_state);
    arb_tick next = at > 0 ? (arb_tick)(at / ARB_FINE_TICK) : 0;
    float part = (float)(at > 0 ? at % ARB_FINE_TICK : 0) / (float)ARB_FINE_TICK;
    const struct arb_own *from = known_state(predict, next > 0 ? next - 1 : 0);
    shown->state = *known_state(predict, next);
    if (next > predict->predicted_tick && predict->predicted_tick == predict->newest_tick) {
        struct arb_move_report report;
        struct arb_input input = *now;
        input.target_tick = next;
        arb_move_step(&shown->state, &input, predict->params, predict->geometry, &report);
    }
    struct arb_vec2 a = {from->x, from->y};
    struct arb_vec2 b = {shown->state.x, shown->state.y};
    shown->position = arb_move_lerp(a, b, part);
    shown->velocity = (struct arb_vec2){shown->state.vx, shown->state.vy};
    shown->heading = arb_move_lerp_angle(from->heading, shown->state.heading, part);
}
