/* The mover: collect planes where the hull stands, let Box2D's plane solver bend the motion, then
 * move as far as an exact cast allows, up to ITERATIONS times. The cast alone keeps the hull out of
 * the shapes; the solver only makes the motion useful.
 *
 * Two thin skins around every obstacle. The solver holds the hull PLANE_SKIN off, the cast stops it
 * at CAST_SKIN: sliding along a wall therefore never grazes the cast, and neither the rounding of a
 * position (0.25 mm at 4,096 m) nor that of a cast reaches the obstacle itself.
 */
#include "shared/base/arb_math.h"
#include "shared/move/arb_geometry.h"
#include "shared/move/arb_geometry_internal.h"

#include <float.h>
#include <math.h>

#define PLANE_SKIN 0.002F
#define CAST_SKIN 0.0005F
#define NEAR_SKIN 0.0006F    /* m, below it a motion is judged by its direction: too near to cast */
#define PLANE_REACH 0.004F   /* m, clearance up to which an obstacle is a plane */
#define SHORT_MOTION 0.0001F /* m, not worth another iteration */
#define BOX_SLACK 0.25F      /* m, at most: room for the bent motion in the box asked first */

/* b2SolvePlanes allows, and stops at, errors of its linear slop. Solving in units of 1/128 m makes
 * these errors small. */
#define SOLVER_SCALE 128.0F
#define SOLVER_SLOP 0.005F

enum { ITERATIONS = 5, PLANES_MAX = 16 };

struct mover {
    const struct arb_geometry *geometry;
    struct arb_hull hull;
    struct arb_bounds inner; /* where the centre may be for the bounds' sake */
    struct arb_bounds box;   /* for which `found` holds all obstacles */
    const uint32_t *found;
    uint32_t found_count;
    b2CollisionPlane planes[PLANES_MAX];
    int plane_count;
    bool is_near; /* the last motion asked about began within NEAR_SKIN of something */
};

static bool box_contains(struct arb_bounds outer, struct arb_bounds box)
{
    return outer.low.x <= box.low.x && outer.low.y <= box.low.y && outer.high.x >= box.high.x &&
           outer.high.y >= box.high.y;
}

static void find(struct mover *mover, struct arb_bounds box)
{
    mover->box = box;
    mover->found_count = arb_geometry_find(mover->geometry, box, &mover->found);
}

static void add_plane(struct mover *mover, struct arb_vec2 normal, float clearance)
{
    if (clearance <= PLANE_REACH && mover->plane_count < PLANES_MAX) {
        float offset = (PLANE_SKIN - clearance) * SOLVER_SCALE + SOLVER_SLOP;
        mover->planes[mover->plane_count++] = (b2CollisionPlane){
            .plane = {{normal.x, normal.y}, offset}, .pushLimit = FLT_MAX, .clipVelocity = true};
    }
}

/* From the hull at `centre` to one of what was found, m; `normal` away from it. */
static float gap_to(const struct mover *mover, uint32_t found, struct arb_vec2 centre,
                    struct arb_vec2 *normal)
{
    struct arb_convex room;
    const struct arb_convex *convex =
        arb_geometry_obstacle(mover->geometry, mover->found[found], mover->hull, &room);
    return arb_convex_distance(convex, centre, normal) - convex->radius - mover->hull.radius;
}

static void collect_planes(struct mover *mover, struct arb_vec2 centre)
{
    mover->plane_count = 0;
    add_plane(mover, (struct arb_vec2){1, 0}, centre.x - mover->inner.low.x);
    add_plane(mover, (struct arb_vec2){-1, 0}, mover->inner.high.x - centre.x);
    add_plane(mover, (struct arb_vec2){0, 1}, centre.y - mover->inner.low.y);
    add_plane(mover, (struct arb_vec2){0, -1}, mover->inner.high.y - centre.y);
    for (uint32_t i = 0; i < mover->found_count; i++) {
        struct arb_vec2 normal;
        float gap = gap_to(mover, i, centre, &normal);
        add_plane(mover, normal, gap);
    }
}

/* Bends the motion along the planes; clips the velocity by those that pushed. True when one did. */
static bool bend(struct mover *mover, struct arb_vec2 *motion, struct arb_vec2 *velocity)
{
    if (mover->plane_count == 0) {
        return false;
    }
    b2Vec2 wanted = {motion->x * SOLVER_SCALE, motion->y * SOLVER_SCALE};
    b2Vec2 solved = b2SolvePlanes(wanted, mover->planes, mover->plane_count).translation;
    bool pushed = false;
    for (int i = 0; i < mover->plane_count; i++) {
        pushed = pushed || mover->planes[i].push > 0.0F;
    }
    if (pushed) {
        b2Vec2 clipped =
            b2ClipVector((b2Vec2){velocity->x, velocity->y}, mover->planes, mover->plane_count);
        *velocity = (struct arb_vec2){clipped.x, clipped.y};
        *motion = (struct arb_vec2){solved.x / SOLVER_SCALE, solved.y / SOLVER_SCALE};
    }
    return pushed;
}

/* A side of the bounds as an obstacle: clearance before, and its change over the whole motion. */
static float side_allows(struct mover *mover, float clearance, float change)
{
    if (clearance <= NEAR_SKIN) {
        mover->is_near = true;
        return change < 0.0F ? 0.0F : 1.0F;
    }
    return change < 0.0F ? arb_lesser((clearance - CAST_SKIN) / -change, 1.0F) : 1.0F;
}

static float obstacle_allows(struct mover *mover, const struct arb_convex *convex,
                             struct arb_vec2 centre, struct arb_vec2 motion)
{
    struct arb_vec2 normal;
    float radius = convex->radius + mover->hull.radius;
    if (arb_convex_distance(convex, centre, &normal) <= radius + NEAR_SKIN) {
        /* The distance from a convex core along a line is convex: a motion that does not begin
         * downwards never goes down. */
        mover->is_near = true;
        return arb_vec2_dot(motion, normal) < 0.0F ? 0.0F : 1.0F;
    }
    float fraction;
    return arb_convex_cast(convex, radius + CAST_SKIN, centre, motion, &fraction) ? fraction : 1.0F;
}

/* 0..1: how much of the motion leaves the hull outside of everything. */
static float allowed(struct mover *mover, struct arb_vec2 centre, struct arb_vec2 motion)
{
    struct arb_bounds path = arb_geometry_path_box(mover->hull, centre, motion, NEAR_SKIN);
    if (!box_contains(mover->box, path)) {
        find(mover, path);
    }
    struct arb_bounds inner = mover->inner;
    mover->is_near = false;
    float part = side_allows(mover, centre.x - inner.low.x, motion.x);
    part = arb_lesser(part, side_allows(mover, inner.high.x - centre.x, -motion.x));
    part = arb_lesser(part, side_allows(mover, centre.y - inner.low.y, motion.y));
    part = arb_lesser(part, side_allows(mover, inner.high.y - centre.y, -motion.y));
    for (uint32_t i = 0; i < mover->found_count && part > 0.0F; i++) {
        struct arb_convex room;
        const struct arb_convex *convex =
            arb_geometry_obstacle(mover->geometry, mover->found[i], mover->hull, &room);
        part = arb_lesser(part, obstacle_allows(mover, convex, centre, motion));
    }
    return part;
}

/* Least clearance from what was found, m. */
static float clearance_at(const struct mover *mover, struct arb_vec2 centre)
{
    float least =
        arb_lesser(arb_lesser(centre.x - mover->inner.low.x, mover->inner.high.x - centre.x),
                   arb_lesser(centre.y - mover->inner.low.y, mover->inner.high.y - centre.y));
    for (uint32_t i = 0; i < mover->found_count; i++) {
        struct arb_vec2 normal;
        least = arb_lesser(least, gap_to(mover, i, centre, &normal));
    }
    return least;
}

/* In a gap that just holds the hull, the rounding of its position could creep into a wall, step by
 * step: such a step is not made. */
static bool creeps_in(const struct mover *mover, struct arb_vec2 from, struct arb_vec2 to)
{
    if (!mover->is_near) {
        return false;
    }
    float after = clearance_at(mover, to);
    return after < 0.0F && after < clearance_at(mover, from);
}

/* Nothing within reach of the whole way. */
static bool way_is_free(const struct mover *mover, struct arb_vec2 from, struct arb_vec2 to)
{
    struct arb_bounds inner = mover->inner;
    return mover->found_count == 0 && arb_lesser(from.x, to.x) >= inner.low.x + PLANE_REACH &&
           arb_lesser(from.y, to.y) >= inner.low.y + PLANE_REACH &&
           arb_greater(from.x, to.x) <= inner.high.x - PLANE_REACH &&
           arb_greater(from.y, to.y) <= inner.high.y - PLANE_REACH;
}

/* One bent, cast and made motion towards the target. False when no further one is of use. */
static bool move_once(struct mover *mover, struct arb_vec2 target, struct arb_vec2 *centre,
                      struct arb_vec2 *velocity, bool *touched)
{
    struct arb_vec2 none = {0, 0}, motion = arb_vec2_sub(target, *centre);
    struct arb_bounds here = arb_geometry_path_box(mover->hull, *centre, none, PLANE_REACH);
    if (!box_contains(mover->box, here)) {
        find(mover, here);
    }
    collect_planes(mover, *centre);
    bool pushed = bend(mover, &motion, velocity);
    float part = allowed(mover, *centre, motion);
    *touched = *touched || pushed || part < 1.0F;
    struct arb_vec2 next = arb_vec2_mul_add(*centre, part, motion);
    if (creeps_in(mover, *centre, next)) {
        return false;
    }
    *centre = next;
    struct arb_vec2 moved = arb_vec2_scale(motion, part);
    /* Standing against something without its plane: the next round knows the plane. */
    bool stuck = pushed && arb_vec2_dot(moved, moved) < SHORT_MOTION * SHORT_MOTION;
    return part < 1.0F && !stuck;
}

bool arb_geometry_slide(const struct arb_geometry *geometry, struct arb_hull hull,
                        struct arb_vec2 *centre, struct arb_vec2 delta, struct arb_vec2 *velocity)
{
    if (delta.x == 0.0F && delta.y == 0.0F) {
        return false;
    }
    struct mover mover; /* not zeroed: most motions never come to its planes */
    mover.geometry = geometry;
    mover.hull = hull;
    mover.inner = arb_geometry_inner(geometry, hull);
    struct arb_vec2 target = arb_vec2_add(*centre, delta);
    float slack = arb_lesser(fabsf(delta.x) + fabsf(delta.y), BOX_SLACK);
    find(&mover, arb_geometry_path_box(hull, *centre, delta, PLANE_REACH + slack));
    if (way_is_free(&mover, *centre, target)) {
        *centre = target;
        return false;
    }
    bool touched = false;
    for (int i = 0; i < ITERATIONS; i++) {
        if (!move_once(&mover, target, centre, velocity, &touched)) {
            break;
        }
    }
    return touched;
}
