#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"
#include "shared/move/arb_weapon.h"

#include <string.h>

enum { TURN_BEYOND = 32 }; /* of move_x, serpent: less is no turn */

/* The intended move, at most 1 long. */
static struct arb_vec2 intent_of(const struct arb_input *input)
{
    float x = (float)arb_input_axis(input->move_x) / 127.0F;
    float y = (float)arb_input_axis(input->move_y) / 127.0F;
    struct arb_vec2 intent = {x, y};
    float length = arb_vec2_length(intent);
    return length > 1.0F ? (struct arb_vec2){x / length, y / length} : intent;
}

/* Goes from *velocity towards `wanted` by `step` (m/s) at most. */
static void approach(struct arb_own *own, struct arb_vec2 wanted, float step)
{
    struct arb_vec2 missing = {wanted.x - own->vx, wanted.y - own->vy};
    float length = arb_vec2_length(missing);
    if (length <= step) {
        own->vx = wanted.x;
        own->vy = wanted.y;
    } else {
        own->vx += missing.x * (step / length);
        own->vy += missing.y * (step / length);
    }
}

static void end_dash(struct arb_own *own, const struct arb_move_params *params)
{
    own->dash_x = 0.0F;
    own->dash_y = 0.0F;
    float speed = arb_vec2_length((struct arb_vec2){own->vx, own->vy});
    if (speed > params->max_speed) {
        own->vx *= params->max_speed / speed;
        own->vy *= params->max_speed / speed;
    }
}

/* A dash of n ticks moves in n steps, the one of the press included. */
static void dash_timers(struct arb_own *own, const struct arb_move_params *params)
{
    if (own->dash_cooldown > 0) {
        own->dash_cooldown--;
    }
    if (own->dash_ticks > 0 && --own->dash_ticks == 0) {
        end_dash(own, params);
    }
}

/* Along the intended move, else along the aim. */
static bool begin_dash(struct arb_own *own, struct arb_vec2 intent,
                       const struct arb_move_params *params)
{
    if (params->dash_speed <= 0.0F || params->dash_ticks == 0 || own->dash_cooldown > 0 ||
        own->dash_ticks > 0) {
        return false;
    }
    float length = arb_vec2_length(intent);
    struct arb_vec2 direction = length > 0.0F
                                    ? (struct arb_vec2){intent.x / length, intent.y / length}
                                    : arb_move_direction(own->heading);
    own->dash_x = direction.x;
    own->dash_y = direction.y;
    own->dash_ticks = params->dash_ticks;
    own->dash_cooldown = params->dash_cooldown_ticks;
    return true;
}

static void arena_velocity(struct arb_own *own, struct arb_vec2 intent,
                           const struct arb_move_params *params, float dt)
{
    if (own->dash_ticks > 0) {
        own->vx = own->dash_x * params->dash_speed;
        own->vy = own->dash_y * params->dash_speed;
    } else if (intent.x != 0.0F || intent.y != 0.0F) {
        approach(own, arb_vec2_scale(intent, params->max_speed), params->acceleration * dt);
    } else {
        approach(own, (struct arb_vec2){0, 0}, params->friction * dt);
    }
}

static void arena_step(struct arb_own *own, const struct arb_input *input,
                       const struct arb_move_params *params, const struct arb_geometry *geometry,
                       struct arb_move_report *report)
{
    float dt = 1.0F / (float)params->tick_rate;
    struct arb_vec2 intent = intent_of(input);
    own->heading = arb_turn16_to_angle(input->aim);
    dash_timers(own, params);
    arb_weapon_step(own, input, params, report);
    if ((input->edges & ARB_BUTTON_DASH) != 0) {
        report->dashed = begin_dash(own, intent, params);
    }
    arena_velocity(own, intent, params, dt);

    struct arb_hull hull = {params->radius, params->half_length};
    struct arb_vec2 centre = {own->x, own->y}, velocity = {own->vx, own->vy};
    report->touched_static =
        arb_geometry_slide(geometry, hull, &centre, arb_vec2_scale(velocity, dt), &velocity);
    own->x = centre.x;
    own->y = centre.y;
    own->vx = velocity.x;
    own->vy = velocity.y;
}

static void serpent_step(struct arb_own *own, const struct arb_input *input,
                         const struct arb_move_params *params, const struct arb_geometry *geometry,
                         struct arb_move_report *report)
{
    float dt = 1.0F / (float)params->tick_rate;
    float turn = input->move_x < -TURN_BEYOND ? 1.0F : input->move_x > TURN_BEYOND ? -1.0F : 0.0F;
    own->heading = arb_angle_wrap(own->heading + turn * params->turn_rate * dt);
    float speed = own->boost ? params->boost_speed : params->base_speed;
    struct arb_vec2 velocity = arb_vec2_scale(arb_move_direction(own->heading), speed);
    struct arb_vec2 from = {own->x, own->y}, delta = arb_vec2_scale(velocity, dt);
    own->vx = velocity.x;
    own->vy = velocity.y;
    own->x += delta.x;
    own->y += delta.y;
    report->touched_static =
        arb_geometry_sweep(geometry, params->radius, from, delta, &report->touch_fraction);
}

void arb_move_step(struct arb_own *own, const struct arb_input *input,
                   const struct arb_move_params *params, const struct arb_geometry *geometry,
                   struct arb_move_report *report)
{
    memset(report, 0, sizeof *report);
    switch ((enum arb_mover)params->mover) {
    case ARB_MOVER_ARENA:
        arena_step(own, input, params, geometry, report);
        break;
    case ARB_MOVER_SERPENT:
        serpent_step(own, input, params, geometry, report);
        if (!report->touched_static) {
            report->touch_fraction = 0.0F;
        }
        break;
    case ARB_MOVER_NONE:
        ARB_ASSERT(params->mover != ARB_MOVER_NONE);
    }
}
