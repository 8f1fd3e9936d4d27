/* The own-player step: movement, static geometry, dash, boost and weapon timers. The server runs it
 * in stage 4 for every player, the client runs the very same code to predict its own
 * (spec/simulation.md "Movement"). Never knows other players, damage or score.
 */
#ifndef ARB_MOVE_H
#define ARB_MOVE_H

#include "shared/base/arb_input.h"
#include "shared/move/arb_geometry.h"
#include "shared/move/arb_own.h"

/* Why a pressed or held trigger gave no shot (counted; costs nothing). */
enum arb_fire_refusal {
    ARB_FIRE_NOT_ASKED = 0,
    ARB_FIRE_COOLING, /* the fire interval has not passed */
    ARB_FIRE_EMPTY, /* no round in the magazine; a reload starts by itself when there is reserve */
    ARB_FIRE_RELOADING,
    ARB_FIRE_UNARMED,
};

struct arb_move_report {
    bool fired; /* a shot left in this step, from the weapon own->weapon, round already taken */
    uint8_t refusal;     /* enum arb_fire_refusal when not fired */
    bool dashed;         /* a dash began */
    bool touched_static; /* arena: slid along something; serpent: its head reaches a static shape or
                            bound */
    float touch_fraction; /* serpent: 0..1 of the step where that happens */
};

/* One tick: *own is S[t]'s, becomes S[t+1]'s. Same bits in, same bits out, everywhere. The aim is
 * used as quantised; move intents are clamped to the unit disc. Order: timers, dash, velocity,
 * slide (arena); heading, velocity, position (serpent: position is advanced also when something is
 * touched; the rules decide). */
void arb_move_step(struct arb_own *own, const struct arb_input *input,
                   const struct arb_move_params *params, const struct arb_geometry *geometry,
                   struct arb_move_report *report);

/* Deterministic and within 2e-7 (why not Box2D's: arb_angle.c); radians. The angle of (0, 0) is 0.
 */
struct arb_vec2 arb_move_direction(float angle);
float arb_move_angle(struct arb_vec2 direction);

/* Interpolation and extrapolation formulas of drawing and rewind (spec/lag-compensation.md
 * "History"). Positions linear; angles normalised-linear along the shorter arc, exactly opposite
 * keeps `a`; t in 0..1. */
struct arb_vec2 arb_move_lerp(struct arb_vec2 a, struct arb_vec2 b, float t);
float arb_move_lerp_angle(float a, float b, float t);

/* Position after `ticks` (>= 0, fractional) past the newest state, capped at
 * arb_move_extrapolation_cap. */
struct arb_vec2 arb_move_extrapolate(struct arb_vec2 position, struct arb_vec2 velocity,
                                     float ticks, uint32_t snapshot_interval_ticks,
                                     uint32_t tick_rate);

/* max(1, 2 * snapshot interval) ticks. */
uint32_t arb_move_extrapolation_cap(uint32_t snapshot_interval_ticks);

/* Ray against a capsule (a == b: circle): true and *fraction of delta in 0..1; starts inside: 0;
 * touching counts; length 0 or not finite: false. The table of pitfalls.md "Rays at their edges"
 * holds. */
bool arb_move_ray_capsule(struct arb_vec2 origin, struct arb_vec2 delta, struct arb_vec2 a,
                          struct arb_vec2 b, float radius, float *fraction);

#endif
