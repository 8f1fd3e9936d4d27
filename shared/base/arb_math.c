#include "shared/base/arb_math.h"

#include "shared/base/arb_assert.h"

#include <math.h>

float arb_vec2_length(struct arb_vec2 v)
{
    return sqrtf(v.x * v.x + v.y * v.y);
}

float arb_vec2_distance(struct arb_vec2 a, struct arb_vec2 b)
{
    return arb_vec2_length(arb_vec2_sub(a, b));
}

int32_t arb_quantise(float value, float unit, int32_t low, int32_t high)
{
    ARB_ASSERT(unit > 0.0F && low <= high);
    /* In double: the division of two floats is within half a step of the exact quotient for all our
     * units. */
    double scaled = (double)value / (double)unit;
    /* The cast cuts towards zero: away from zero at a half. */
    double moved = scaled < 0.0 ? scaled - 0.5 : scaled + 0.5;
    if (!(moved > (double)low)) {
        return low;
    }
    if (moved >= (double)high) {
        return high;
    }
    return (int32_t)moved;
}

float arb_angle_wrap(float angle)
{
    if (angle > -ARB_PI && angle < ARB_PI) {
        return angle; /* what remainderf would give, to the bit */
    }
    float wrapped = remainderf(angle, ARB_TURN);
    return wrapped <= -ARB_PI ? ARB_PI : wrapped;
}

/* By a power of two: exact. */
static float turn_unit(unsigned bits)
{
    return ARB_TURN / (float)(1 << bits);
}

float arb_turn_to_angle(uint32_t turn, unsigned bits)
{
    int32_t whole = 1 << bits;
    int32_t centred = (int32_t)turn > whole / 2 ? (int32_t)turn - whole : (int32_t)turn;
    return (float)centred * turn_unit(bits);
}

uint32_t arb_angle_to_turn(float angle, unsigned bits)
{
    int32_t half = 1 << bits >> 1;
    int32_t steps = arb_quantise(arb_angle_wrap(angle), turn_unit(bits), -half, half);
    return (uint32_t)steps & ((1U << bits) - 1);
}

float arb_turn16_to_angle(uint16_t turn)
{
    return arb_turn_to_angle(turn, 16);
}

uint16_t arb_angle_to_turn16(float angle)
{
    return (uint16_t)arb_angle_to_turn(angle, 16);
}
