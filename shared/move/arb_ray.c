#include "shared/base/arb_math.h"
#include "shared/move/arb_convex.h"
#include "shared/move/arb_move.h"

#include <math.h>

static bool is_finite(struct arb_vec2 v)
{
    return isfinite(v.x) && isfinite(v.y);
}

bool arb_move_ray_capsule(struct arb_vec2 origin, struct arb_vec2 delta, struct arb_vec2 a,
                          struct arb_vec2 b, float radius, float *fraction)
{
    float length = arb_vec2_length(delta);
    if (!isfinite(length) || !(length > 0.0F) || !is_finite(origin)) {
        return false;
    }
    struct arb_convex capsule;
    struct arb_vec2 normal;
    arb_convex_from_capsule(&capsule, a, b, radius);
    if (arb_convex_distance(&capsule, origin, &normal) <= radius) {
        *fraction = 0.0F;
        return true;
    }
    return arb_convex_cast(&capsule, radius, origin, delta, fraction);
}
