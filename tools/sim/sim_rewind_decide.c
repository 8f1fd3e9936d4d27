/* Who is hit, found again: plain arithmetic in doubles over the shapes that the client drew, with
 * nothing of the code that is checked but the ray and the client's own map. */
#include "tools/sim/sim_rewind.h"

#include "shared/move/arb_move.h"

#include <math.h>
#include <string.h>

/* Floats of the server against doubles here: nearer to an edge than this nobody can say. */
#define EDGE_M 1e-4
#define EDGE_PER_M 1e-6

struct sim_spot sim_spot_of(struct arb_vec2 point)
{
    return (struct sim_spot){(double)point.x, (double)point.y};
}

double sim_spot_distance(struct sim_spot a, struct sim_spot b)
{
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y));
}

struct sim_spot sim_spot_placed(struct arb_vec2 point, struct sim_spot at, struct arb_vec2 facing)
{
    double x = (double)point.x, y = (double)point.y;
    double cos = (double)facing.x, sin = (double)facing.y;
    return (struct sim_spot){at.x + x * cos - y * sin, at.y + x * sin + y * cos};
}

static double to_segment(struct sim_spot p, struct sim_spot a, struct sim_spot b)
{
    double dx = b.x - a.x, dy = b.y - a.y;
    double length2 = dx * dx + dy * dy;
    double t = length2 > 0.0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length2 : 0.0;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return sim_spot_distance(p, (struct sim_spot){a.x + t * dx, a.y + t * dy});
}

static bool crosses(struct sim_spot a, struct sim_spot b, struct sim_spot c, struct sim_spot d)
{
    double abc = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    double abd = (b.x - a.x) * (d.y - a.y) - (b.y - a.y) * (d.x - a.x);
    double cda = (d.x - c.x) * (a.y - c.y) - (d.y - c.y) * (a.x - c.x);
    double cdb = (d.x - c.x) * (b.y - c.y) - (d.y - c.y) * (b.x - c.x);
    return abc * abd < 0.0 && cda * cdb < 0.0;
}

static double between_segments(struct sim_spot a, struct sim_spot b, struct sim_spot c,
                               struct sim_spot d)
{
    if (crosses(a, b, c, d)) return 0.0;
    double least = to_segment(a, c, d);
    double others[3] = {to_segment(b, c, d), to_segment(c, a, b), to_segment(d, a, b)};
    for (int i = 0; i < 3; i++) {
        least = others[i] < least ? others[i] : least;
    }
    return least;
}

struct line {
    struct sim_spot from, to, direction; /* direction of length 1 */
    double length;
};

/* First t in 0..length at which the line is in the circle; SIM_NEVER_MET: it never is. */
static double into_circle(const struct line *line, struct sim_spot centre, double radius)
{
    double x = line->from.x - centre.x, y = line->from.y - centre.y;
    double along = x * line->direction.x + y * line->direction.y;
    double outside = x * x + y * y - radius * radius;
    double root = along * along - outside;
    if (outside <= 0.0) return 0.0;
    if (root < 0.0) return SIM_NEVER_MET;
    double t = -along - sqrt(root);
    return t >= 0.0 ? t : SIM_NEVER_MET;
}

/* The long sides of a capsule. */
static double into_sides(const struct line *line, struct sim_spot a, struct sim_spot b,
                         double radius)
{
    double length = sim_spot_distance(a, b), nearest = SIM_NEVER_MET;
    if (!(length > 0.0)) return SIM_NEVER_MET;
    double ux = (b.x - a.x) / length, uy = (b.y - a.y) / length;
    double across = line->direction.x * -uy + line->direction.y * ux;
    double start = (line->from.x - a.x) * -uy + (line->from.y - a.y) * ux;
    for (int side = -1; side <= 1; side += 2) {
        double t = across != 0.0 ? (side * radius - start) / across : SIM_NEVER_MET;
        double along = (line->from.x + t * line->direction.x - a.x) * ux +
                       (line->from.y + t * line->direction.y - a.y) * uy;
        bool there = t >= 0.0 && along >= 0.0 && along <= length;
        if (there && t < nearest) nearest = t;
    }
    return nearest;
}

static double into_shape(const struct line *line, struct sim_spot a, struct sim_spot b,
                         double radius)
{
    if (to_segment(line->from, a, b) <= radius) return 0.0;
    double t = into_circle(line, a, radius);
    double other = into_circle(line, b, radius);
    double sides = into_sides(line, a, b, radius);
    t = other < t ? other : t;
    return sides < t ? sides : t;
}

double sim_rewind_meets(struct sim_spot from, struct sim_spot direction, struct sim_spot a,
                        struct sim_spot b, double radius)
{
    struct line line = {.from = from, .direction = direction};
    return into_shape(&line, a, b, radius);
}

struct hits {
    struct {
        uint32_t key;
        uint8_t part;
        double distance;
    } list[REWIND_HITS_MAX + 1];
    uint32_t count, most;
    bool unsure; /* something stood so near to an edge that arithmetic decides */
};

static void insert(struct hits *hits, uint32_t key, uint8_t part, double distance)
{
    uint32_t at = hits->count;
    while (at > 0 && (hits->list[at - 1].distance > distance ||
                      (hits->list[at - 1].distance == distance && hits->list[at - 1].key > key))) {
        at--;
    }
    memmove(&hits->list[at + 1], &hits->list[at], (hits->count - at) * sizeof hits->list[0]);
    hits->list[at].key = key;
    hits->list[at].part = part;
    hits->list[at].distance = distance;
    if (hits->count < hits->most) hits->count++;
}

static void try_drawn(const struct rewind_kind *kind, const struct sim_drawn *drawn,
                      const struct line *line, struct hits *hits)
{
    struct arb_vec2 facing = arb_move_direction(drawn->heading);
    double edge = EDGE_M + EDGE_PER_M * (fabs(line->from.x) + fabs(line->from.y));
    double nearest = SIM_NEVER_MET;
    uint8_t part = 0;
    for (uint8_t i = 0; i < kind->count; i++) {
        const struct rewind_shape *shape = &kind->shapes[i];
        struct sim_spot a = sim_spot_placed(shape->a, sim_spot_of(drawn->position), facing);
        struct sim_spot b = sim_spot_placed(shape->b, sim_spot_of(drawn->position), facing);
        double gap = between_segments(line->from, line->to, a, b) - (double)shape->radius;
        double t = into_shape(line, a, b, (double)shape->radius);
        hits->unsure |= fabs(gap) < edge || (t < SIM_NEVER_MET && fabs(t - line->length) < edge) ||
                        (t < SIM_NEVER_MET && nearest < SIM_NEVER_MET && fabs(t - nearest) < edge);
        if (t <= line->length && t < nearest) {
            nearest = t;
            part = shape->part;
        }
    }
    if (nearest == SIM_NEVER_MET) return;
    for (uint32_t i = 0; i < hits->count; i++) {
        hits->unsure |= fabs(hits->list[i].distance - nearest) < edge;
    }
    insert(hits, arb_key_order(drawn->key), part, nearest);
}

/* As far as the client's own map lets it go. */
static struct line line_of(const struct arbiter_client *client, const struct rewind_ray *ray)
{
    struct line line = {.from = sim_spot_of(ray->origin),
                        .direction = sim_spot_of(ray->direction),
                        .length = (double)ray->range};
    float part = 1.0F;
    if (arbiter_client_ray(client, ray->origin.x, ray->origin.y, ray->direction.x * ray->range,
                           ray->direction.y * ray->range, &part)) {
        line.length *= (double)part;
    }
    line.to = (struct sim_spot){line.from.x + line.direction.x * line.length,
                                line.from.y + line.direction.y * line.length};
    return line;
}

static bool decided_alike(const struct hits *hits, const struct rewind_shot *shot)
{
    if (hits->count != shot->hit_count) return false;
    for (uint32_t i = 0; i < hits->count; i++) {
        if (hits->list[i].key != arb_key_order(shot->hits[i].victim) ||
            hits->list[i].part != shot->hits[i].part) {
            return false;
        }
    }
    return true;
}

void sim_rewind_decide(struct sim_checks *checks, uint32_t client, const struct sim_picture *seen,
                       const struct rewind_ray *ray, const struct rewind_shot *shot)
{
    struct sim_rewind *rewind = checks->rewind;
    const struct sim_eye *eye = &rewind->eyes[client];
    if (shot->spared > 0) return; /* who is in cover, or gets out of the way: the server's to say */
    struct line line = line_of(checks->sim->players[client].client, ray);
    struct hits hits = {.most = (uint32_t)ray->pierce + 1};
    if (hits.most > REWIND_HITS_MAX) hits.most = REWIND_HITS_MAX;
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct sim_drawn *drawn = sim_drawn_of(eye, seen, i);
        bool spared =
            arb_key_equal(drawn->key, ray->shooter) ||
            (ray->team_filter && ray->shooter_team != 0 && drawn->team == ray->shooter_team);
        if (!spared) try_drawn(&rewind->kinds[drawn->kind], drawn, &line, &hits);
    }
    rewind->figures.rays++;
    rewind->figures.hits += hits.count > 0;
    if (decided_alike(&hits, shot)) return;
    if (hits.unsure) {
        rewind->figures.unsure++;
        return;
    }
    rewind->figures.differing++;
    sim_violated(checks, SIM_INVARIANT_rewind_decision,
                 "client %u would hit %u with what it drew, the server hits %u; first %#x and %#x",
                 client, hits.count, shot->hit_count, hits.count > 0 ? hits.list[0].key : 0,
                 shot->hit_count > 0 ? arb_key_order(shot->hits[0].victim) : 0);
}
