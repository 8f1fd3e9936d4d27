/* Exact arithmetic that both ends share: no libm function whose last bit varies, no fused
 * multiply-add (the build forbids contraction). Floats become integers only through arb_quantise.
 */
#ifndef ARB_MATH_H
#define ARB_MATH_H

#include "shared/base/arb_types.h"

#include <float.h>

/* Where floats are calculated in wider ones, other bits come out: i386 needs -mfpmath=sse, s390x
 * -fexcess-precision=fast. */
_Static_assert(FLT_EVAL_METHOD == 0, "floats must be calculated as floats");

#define ARB_PI 3.14159265358979323846F
#define ARB_TURN 6.28318530717958647692F

static inline struct arb_vec2 arb_vec2_add(struct arb_vec2 a, struct arb_vec2 b)
{
    return (struct arb_vec2){a.x + b.x, a.y + b.y};
}

static inline struct arb_vec2 arb_vec2_sub(struct arb_vec2 a, struct arb_vec2 b)
{
    return (struct arb_vec2){a.x - b.x, a.y - b.y};
}

static inline struct arb_vec2 arb_vec2_scale(struct arb_vec2 a, float s)
{
    return (struct arb_vec2){a.x * s, a.y * s};
}

/* a + s * b */
static inline struct arb_vec2 arb_vec2_mul_add(struct arb_vec2 a, float s, struct arb_vec2 b)
{
    return (struct arb_vec2){a.x + s * b.x, a.y + s * b.y};
}

static inline float arb_vec2_dot(struct arb_vec2 a, struct arb_vec2 b)
{
    return a.x * b.x + a.y * b.y;
}

float arb_vec2_length(struct arb_vec2 v);
float arb_vec2_distance(struct arb_vec2 a, struct arb_vec2 b);

/* Rounds value / unit to the nearest integer, halves away from zero, clamped to [low, high]; not
 * finite gives low (the callers' decoders have refused such values before). unit > 0. */
int32_t arb_quantise(float value, float unit, int32_t low, int32_t high);

/* The float that both ends use for a quantised value: (float)q * unit. */
static inline float arb_dequantise(int32_t q, float unit)
{
    return (float)q * unit;
}

/* Radians to (-pi, pi]; |angle| may be a few turns. */
float arb_angle_wrap(float angle);

/* An angle as a part of a turn, counter-clockwise from +x, in steps of 2^-bits of it (1 to 16
 * bits), to radians in (-pi, pi]; and to the nearest step (wraps). */
float arb_turn_to_angle(uint32_t turn, unsigned bits);
uint32_t arb_angle_to_turn(float angle, unsigned bits);

/* Aim of the wire: the same with 16 bits. */
float arb_turn16_to_angle(uint16_t turn);

uint16_t arb_angle_to_turn16(float angle);

/* Milliseconds to ticks, rounded up, in integers: ceil(ms * rate / 1000). */
static inline uint32_t arb_ms_to_ticks(uint32_t ms, uint32_t tick_rate)
{
    return (uint32_t)(((uint64_t)ms * tick_rate + 999) / 1000);
}

#endif
