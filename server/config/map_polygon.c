/* Outlines into convex pieces: weld, cut ears (the least slender first), join over the diagonals
 * again while the result stays convex (Hertel and Mehlhorn, 1983), emit what Box2D's hull would
 * keep as it is.
 */
#include "server/config/map_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/move/arb_geometry.h"

#include <math.h>
#include <string.h>

void map_add_shape(struct map_shapes *shapes, const struct arb_shape *shape)
{
    if (shapes->count == MAP_SHAPES_MAX) {
        shapes->full = true;
        return;
    }
    if (shapes->count == shapes->capacity) {
        shapes->capacity = shapes->capacity == 0 ? 64 : 2 * shapes->capacity;
        shapes->list = arb_mem_realloc(shapes->list, shapes->capacity * sizeof shapes->list[0]);
        ARB_ASSERT(shapes->list != NULL);
    }
    shapes->list[shapes->count++] = *shape;
}

/* ---- exact enough: differences of floats and their products in doubles ---- */

/* Twice the area of a, b, c: positive when they turn left. */
static double cross(struct arb_vec2 a, struct arb_vec2 b, struct arb_vec2 c)
{
    double abx = (double)b.x - (double)a.x, aby = (double)b.y - (double)a.y;
    double acx = (double)c.x - (double)a.x, acy = (double)c.y - (double)a.y;
    return abx * acy - aby * acx;
}

static double distance(struct arb_vec2 a, struct arb_vec2 b)
{
    double x = (double)b.x - (double)a.x, y = (double)b.y - (double)a.y;
    return sqrt(x * x + y * y);
}

/* How far b lies to the right of the way from a to c: the height of a corner that turns left at b.
 */
static double corner_height(struct arb_vec2 a, struct arb_vec2 b, struct arb_vec2 c)
{
    double length = distance(a, c);
    return length > 0.0 ? cross(a, b, c) / length : 0.0;
}

size_t map_simplify(struct arb_vec2 *points, size_t count)
{
    for (size_t i = 0, kept = 0; count >= 3 && kept < count;) {
        struct arb_vec2 a = points[(i + count - 1) % count], b = points[i],
                        c = points[(i + 1) % count];
        if (distance(a, b) < MAP_WELD_M || fabs(corner_height(a, b, c)) < MAP_FLAT_M) {
            memmove(points + i, points + i + 1, (count - i - 1) * sizeof points[0]);
            count--;
            i = i == 0 ? count - 1 : i - 1;
            kept = 0;
        } else {
            i = (i + 1) % count;
            kept++;
        }
    }
    return count;
}

static bool between(double a, double b, double x)
{
    return x >= (a < b ? a : b) && x <= (a < b ? b : a);
}

/* c on the segment a-b, when the three are in line. */
static bool on_segment(struct arb_vec2 a, struct arb_vec2 b, struct arb_vec2 c)
{
    return between((double)a.x, (double)b.x, (double)c.x) &&
           between((double)a.y, (double)b.y, (double)c.y);
}

/* Segments a-b and c-d cross or touch. */
static bool segments_meet(struct arb_vec2 a, struct arb_vec2 b, struct arb_vec2 c,
                          struct arb_vec2 d)
{
    double abc = cross(a, b, c), abd = cross(a, b, d), cda = cross(c, d, a), cdb = cross(c, d, b);
    if (((abc > 0.0) != (abd > 0.0)) && ((cda > 0.0) != (cdb > 0.0)) && abc != 0.0 && abd != 0.0 &&
        cda != 0.0 && cdb != 0.0) {
        return true;
    }
    return (abc == 0.0 && on_segment(a, b, c)) || (abd == 0.0 && on_segment(a, b, d)) ||
           (cda == 0.0 && on_segment(c, d, a)) || (cdb == 0.0 && on_segment(c, d, b));
}

static bool edges_cross(const struct arb_vec2 *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 2; k < count; k++) {
            bool neighbours = i == 0 && k == count - 1;
            if (!neighbours &&
                segments_meet(points[i], points[i + 1], points[k], points[(k + 1) % count])) {
                return true;
            }
        }
    }
    return false;
}

static double twice_area(const struct arb_vec2 *points, size_t count)
{
    double area = 0.0;
    for (size_t i = 1; i + 1 < count; i++) {
        area += cross(points[0], points[i], points[i + 1]);
    }
    return area;
}

static bool is_convex(const struct arb_vec2 *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (corner_height(points[i], points[(i + 1) % count], points[(i + 2) % count]) <
            MAP_FLAT_M) {
            return false;
        }
    }
    return true;
}

/* ---- emitting ---- */

/* A triangle too thin for a polygon: its longest side, thick enough to cover it. */
static void add_sliver(struct map_shapes *shapes, const struct arb_vec2 *p)
{
    int longest = 0;
    for (int i = 1; i < 3; i++) {
        if (distance(p[i], p[(i + 1) % 3]) > distance(p[longest], p[(longest + 1) % 3])) {
            longest = i;
        }
    }
    struct arb_vec2 a = p[longest], b = p[(longest + 1) % 3], c = p[(longest + 2) % 3];
    double height = fabs(corner_height(a, c, b));
    struct arb_shape shape = {.type = ARB_SHAPE_CAPSULE, .count = 2, .points = {a, b}};
    shape.radius = height > 0.01 ? (float)height : 0.01F;
    if (!arb_geometry_shape_valid(&shape)) {
        shape = (struct arb_shape){.type = ARB_SHAPE_CIRCLE, .count = 1, .points = {a}};
        shape.radius = 0.02F;
    }
    map_add_shape(shapes, &shape);
}

/* Convex and counter-clockwise; more than 8 corners are halved. */
static void add_convex(struct map_shapes *shapes, const struct arb_vec2 *points, size_t count)
{
    if (count <= ARB_SHAPE_POINTS_MAX) {
        struct arb_shape shape = {.type = ARB_SHAPE_POLYGON, .count = (uint8_t)count};
        memcpy(shape.points, points, count * sizeof points[0]);
        if (arb_geometry_shape_valid(&shape)) {
            map_add_shape(shapes, &shape);
            return;
        }
        if (count == 3) {
            add_sliver(shapes, points);
            return;
        }
    }
    size_t half = count / 2;
    struct arb_vec2 *rest = arb_mem_alloc((count - half + 1) * sizeof rest[0]);
    memcpy(rest, points + half, (count - half) * sizeof rest[0]);
    rest[count - half] = points[0];
    add_convex(shapes, points, half + 1);
    add_convex(shapes, rest, count - half + 1);
    arb_mem_free(rest);
}

/* ---- triangles ---- */

struct piece {
    uint16_t count; /* 0: joined into another */
    uint16_t corner[ARB_SHAPE_POINTS_MAX];
};

/* What is left of the outline: a ring of corners, each with the slenderness of its ear, 0: no ear.
 */
struct cutter {
    const struct arb_vec2 *points;
    uint16_t next[MAP_POLYGON_POINTS_MAX], previous[MAP_POLYGON_POINTS_MAX];
    double quality[MAP_POLYGON_POINTS_MAX];
    struct piece pieces[MAP_POLYGON_POINTS_MAX];
    size_t piece_count;
};

static bool in_triangle(struct arb_vec2 a, struct arb_vec2 b, struct arb_vec2 c, struct arb_vec2 p)
{
    return cross(a, b, p) >= 0.0 && cross(b, c, p) >= 0.0 && cross(c, a, p) >= 0.0;
}

/* Height over longest side of the ear at i; 0 when the corner is none: it turns right or holds
 * another corner. */
static double ear_quality(const struct cutter *cutter, uint16_t i)
{
    uint16_t before = cutter->previous[i], after = cutter->next[i];
    const struct arb_vec2 *p = cutter->points;
    struct arb_vec2 a = p[before], b = p[i], c = p[after];
    double area = cross(a, b, c);
    if (area <= 0.0) {
        return 0.0;
    }
    for (uint16_t k = cutter->next[after]; k != before; k = cutter->next[k]) {
        if (in_triangle(a, b, c, p[k])) {
            return 0.0;
        }
    }
    double longest = fmax(distance(a, b), fmax(distance(b, c), distance(c, a)));
    return area / (longest * longest);
}

static void judge_all(struct cutter *cutter, uint16_t first, size_t left)
{
    for (uint16_t i = first; left > 0; left--, i = cutter->next[i]) {
        cutter->quality[i] = ear_quality(cutter, i);
    }
}

static uint16_t best_ear(const struct cutter *cutter, uint16_t first, size_t left)
{
    uint16_t best = first;
    for (uint16_t i = first; left > 0; left--, i = cutter->next[i]) {
        if (cutter->quality[i] > cutter->quality[best]) {
            best = i;
        }
    }
    return best;
}

/* False when no ear is found: the outline is not simple. */
static bool cut_ears(struct cutter *cutter, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cutter->next[i] = (uint16_t)((i + 1) % count);
        cutter->previous[i] = (uint16_t)((i + count - 1) % count);
    }
    uint16_t first = 0;
    judge_all(cutter, first, count);
    for (size_t left = count; left >= 3; left--) {
        uint16_t ear = best_ear(cutter, first, left);
        if (cutter->quality[ear] <= 0.0) {
            judge_all(cutter, first, left);
            ear = best_ear(cutter, first, left);
            if (cutter->quality[ear] <= 0.0) {
                return false;
            }
        }
        uint16_t before = cutter->previous[ear], after = cutter->next[ear];
        cutter->pieces[cutter->piece_count++] = (struct piece){3, {before, ear, after}};
        cutter->next[before] = after;
        cutter->previous[after] = before;
        first = before;
        if (left > 3) {
            cutter->quality[before] = ear_quality(cutter, before);
            cutter->quality[after] = ear_quality(cutter, after);
        }
    }
    return true;
}

/* ---- joining ---- */

/* The piece that has the edge from -> to, and where in it. */
static struct piece *find_edge(struct cutter *cutter, uint16_t from, uint16_t to, int *at)
{
    for (size_t i = 0; i < cutter->piece_count; i++) {
        struct piece *piece = &cutter->pieces[i];
        for (int k = 0; k < piece->count; k++) {
            if (piece->corner[k] == from && piece->corner[(k + 1) % piece->count] == to) {
                *at = k;
                return piece;
            }
        }
    }
    return NULL;
}

static bool piece_is_convex(const struct cutter *cutter, const struct piece *piece)
{
    struct arb_vec2 points[ARB_SHAPE_POINTS_MAX];
    for (int i = 0; i < piece->count; i++) {
        points[i] = cutter->points[piece->corner[i]];
    }
    return is_convex(points, piece->count);
}

/* Joins the two pieces at the diagonal from -> to, when the result is one that can be emitted. */
static void join_at(struct cutter *cutter, uint16_t from, uint16_t to)
{
    int at = 0, back = 0;
    struct piece *one = find_edge(cutter, from, to, &at);
    struct piece *other = find_edge(cutter, to, from, &back);
    if (one == NULL || other == NULL || one->count + other->count - 2 > ARB_SHAPE_POINTS_MAX) {
        return;
    }
    struct piece joined = {0};
    for (int i = 0; i < one->count; i++) { /* to ... from, all the way round */
        joined.corner[joined.count++] = one->corner[(at + 1 + i) % one->count];
    }
    for (int i = 2; i < other->count; i++) { /* between from and to */
        joined.corner[joined.count++] = other->corner[(back + i) % other->count];
    }
    if (piece_is_convex(cutter, &joined)) {
        *one = joined;
        other->count = 0;
    }
}

/* The last triangle has no diagonal of its own: each other was cut off along before -> after. */
static void join_pieces(struct cutter *cutter)
{
    size_t triangles = cutter->piece_count;
    struct piece *cut = arb_mem_alloc(triangles * sizeof cut[0]);
    memcpy(cut, cutter->pieces, triangles * sizeof cut[0]);
    for (size_t i = 0; i + 1 < triangles; i++) {
        join_at(cutter, cut[i].corner[2], cut[i].corner[0]);
    }
    arb_mem_free(cut);
}

static bool add_concave(struct map_shapes *shapes, const struct arb_vec2 *points, size_t count)
{
    struct cutter *cutter = arb_mem_alloc(sizeof *cutter);
    cutter->points = points;
    bool ok = cut_ears(cutter, count);
    if (ok) {
        join_pieces(cutter);
    }
    for (size_t i = 0; ok && i < cutter->piece_count; i++) {
        const struct piece *piece = &cutter->pieces[i];
        struct arb_vec2 corners[ARB_SHAPE_POINTS_MAX];
        for (int k = 0; k < piece->count; k++) {
            corners[k] = points[piece->corner[k]];
        }
        if (piece->count > 0) {
            add_convex(shapes, corners, piece->count);
        }
    }
    arb_mem_free(cutter);
    return ok;
}

enum map_outline map_add_polygon(struct map_shapes *shapes, struct arb_vec2 *points, size_t count)
{
    ARB_ASSERT(count <= MAP_POLYGON_POINTS_MAX);
    count = map_simplify(points, count);
    if (count < 3) {
        return MAP_OUTLINE_THIN;
    }
    if (edges_cross(points, count)) {
        return MAP_OUTLINE_CROSSED;
    }
    if (twice_area(points, count) < 0.0) {
        for (size_t i = 0; i < count / 2; i++) {
            struct arb_vec2 swapped = points[i];
            points[i] = points[count - 1 - i];
            points[count - 1 - i] = swapped;
        }
    }
    if (is_convex(points, count)) {
        add_convex(shapes, points, count);
        return MAP_OUTLINE_OK;
    }
    return add_concave(shapes, points, count) ? MAP_OUTLINE_OK : MAP_OUTLINE_CROSSED;
}

void map_turn(double degrees, double *sine, double *cosine)
{
    double quarters = floor(degrees / 90.0 + 0.5);
    double x = (degrees - 90.0 * quarters) * (3.14159265358979323846 / 180.0);
    double s = 0.0, c = 0.0, term = 1.0;
    for (int i = 1; i <= 20; i++) { /* Taylor; |x| <= pi / 4, the last term is below 1e-20 */
        c += i % 2 == 1 ? term : 0.0;
        s += i % 2 == 0 ? term : 0.0;
        term = term * x / (double)i;
        if (i % 2 == 0) {
            term = -term;
        }
    }
    int turns = (int)(quarters - 4.0 * floor(quarters / 4.0));
    const double sines[4] = {s, c, -s, -c}, cosines[4] = {c, -s, -c, s};
    *sine = sines[turns];
    *cosine = cosines[turns];
}
