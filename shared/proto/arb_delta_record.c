/* The record of an update, bit by bit (PROTOCOL.md "Update"):
 *
 *   [speed: vx vy] | place: x y | [turn: heading] | other 1 [per field: changed 1 (difference)] |
 *   [body: same 1 or added | count | explicit | points]
 *
 * The place is told against where the two velocities lead; everything is a difference modulo the
 * field's range, so that every record decodes to values in range. Of a body only what is new is
 * told: points never move, but for the last, where the length cuts the trail.
 */
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

const struct arb_step arb_step_speed = {{0, 8, 10}};
const struct arb_step arb_step_place = {{0, 2, 9}};
const struct arb_step arb_step_moved = {{8, 10, 12}};
const struct arb_step arb_step_turn = {{0, 9, 13}};
const struct arb_step arb_step_other = {{1, 4, 8}};
const struct arb_step arb_step_count = {{0, 1, 4}};
const struct arb_step arb_step_cut = {{0, 1, 4}};
const struct arb_small arb_small_added = {{1, 2, 4, 10}};
const struct arb_small arb_small_explicit = {{1, 2, 4, 10}};

enum {
    COUNT_BITS = 11,       /* of a difference of two counts of points */
    CUT_FRACTION_BITS = 8, /* 1/256 of a stretch */
    CUT_NEAR = 1 << 3,     /* beyond this a point does not lie on the stretch */
    CUT_STRETCH_MAX = 1 << 20,
};

_Static_assert(ARB_BODY_POINTS_MAX < 1 << (COUNT_BITS - 1), "differences of counts fit");

static int64_t floor_div(int64_t value, int64_t by)
{
    int64_t quotient = value / by;
    return quotient - (value % by < 0);
}

/* How often the unit of the place goes into that of the velocity. */
static int64_t unit_ratio(const struct arb_kind *kind)
{
    return arb_quantise(kind->fields[kind->vx].unit, kind->fields[kind->x].unit, 1, 1 << 16);
}

int64_t arb_delta_expected(const struct arb_delta_rule *rule, const struct arb_kind *kind,
                           const int32_t from[ARB_KIND_FIELDS_MAX], int32_t velocity_now, bool is_y,
                           uint32_t ticks)
{
    int64_t at = from[is_y ? kind->y : kind->x];
    if (kind->vx < 0 || ticks == 0) return at;
    /* The velocity goes evenly from the one to the other, and moves before it is published: the sum
     * over the ticks, doubled. */
    int64_t before = from[is_y ? kind->vy : kind->vx];
    int64_t twice = before * ((int64_t)ticks - 1) + (int64_t)velocity_now * ((int64_t)ticks + 1);
    int64_t rate = rule->tick_rate;
    return at + floor_div(twice * unit_ratio(kind) + rate, 2 * rate);
}

/* What a field holds of a value, modulo its range. */
static int32_t into_field(const struct arb_kind_field *field, int64_t value)
{
    if (field->is_signed) return arb_wrap(value, field->bits);
    return (int32_t)((uint64_t)value & (((uint64_t)1 << field->bits) - 1));
}

static uint32_t folded(const struct arb_kind_field *field, int64_t now, int64_t expected)
{
    return arb_fold(arb_wrap(now - expected, field->bits));
}

/* A kind without a velocity is expected where it was: then its steps are longer. */
static const struct arb_step *place_code(const struct arb_kind *kind)
{
    return kind->vx >= 0 ? &arb_step_place : &arb_step_moved;
}

static bool is_other(const struct arb_kind *kind, int field)
{
    return field != kind->x && field != kind->y && field != kind->vx && field != kind->vy &&
           field != kind->heading;
}

/* ---- encode ---- */

static void write_motion(struct arb_bit_writer *writer, const struct arb_delta_rule *rule,
                         const struct arb_kind *kind, const int32_t *from, const int32_t *to,
                         uint32_t ticks)
{
    int32_t vx = 0, vy = 0;
    if (kind->vx >= 0) {
        const struct arb_kind_field *field = &kind->fields[kind->vx];
        vx = to[kind->vx];
        vy = to[kind->vy];
        arb_steps_write(writer, &arb_step_speed, field->bits, folded(field, vx, from[kind->vx]),
                        folded(field, vy, from[kind->vy]));
    }
    const struct arb_kind_field *field = &kind->fields[kind->x];
    int64_t x = arb_delta_expected(rule, kind, from, vx, false, ticks);
    int64_t y = arb_delta_expected(rule, kind, from, vy, true, ticks);
    arb_steps_write(writer, place_code(kind), field->bits, folded(field, to[kind->x], x),
                    folded(field, to[kind->y], y));
    if (kind->heading >= 0) {
        field = &kind->fields[kind->heading];
        arb_step_write(writer, &arb_step_turn, field->bits,
                       folded(field, to[kind->heading], from[kind->heading]));
    }
}

static void write_others(struct arb_bit_writer *writer, const struct arb_kind *kind,
                         const int32_t *from, const int32_t *to)
{
    bool any = false;
    for (int i = 0; i < kind->field_count; i++) {
        any = any || (is_other(kind, i) && from[i] != to[i]);
    }
    arb_bits_write(writer, any, 1);
    for (int i = 0; i < kind->field_count && any; i++) {
        if (!is_other(kind, i)) continue;
        arb_bits_write(writer, from[i] != to[i], 1);
        if (from[i] != to[i]) {
            const struct arb_kind_field *field = &kind->fields[i];
            arb_step_write(writer, &arb_step_other, field->bits, folded(field, to[i], from[i]));
        }
    }
}

/* How a body came from another: `added` points in front, then `kept` of its own from the first on,
 * then others. */
struct change {
    uint32_t added, kept, others;
};

static bool same_point(struct arb_point a, struct arb_point b)
{
    return a.x == b.x && a.y == b.y;
}

static struct change find_change(const struct arb_point *from, uint32_t from_count,
                                 const struct arb_point *to, uint32_t to_count)
{
    uint32_t added = 0;
    while (from_count > 0 && added < to_count && !same_point(to[added], from[0])) {
        added++;
    }
    uint32_t kept = 0;
    while (kept < from_count && added + kept < to_count &&
           same_point(to[added + kept], from[kept])) {
        kept++;
    }
    if (kept == 0) added = 0;
    return (struct change){added, kept, to_count - added - kept};
}

/* A trail that goes on behind points[last] of a body, away from the head. */
static struct arb_trail trail_behind(const struct arb_kind_field *field,
                                     const struct arb_point *points, uint32_t last)
{
    struct arb_trail trail = {.field = field, .x = points[last].x, .y = points[last].y};
    if (last > 0) {
        trail.step_x = trail.x - points[last - 1].x;
        trail.step_y = trail.y - points[last - 1].y;
    }
    return trail;
}

/* The same in front of the head. */
static struct arb_trail trail_ahead(const struct arb_kind_field *field,
                                    const struct arb_point *points, uint32_t count)
{
    struct arb_trail trail = {.field = field, .x = points[0].x, .y = points[0].y};
    if (count > 1) {
        trail.step_x = trail.x - points[1].x;
        trail.step_y = trail.y - points[1].y;
    }
    return trail;
}

static int64_t on_stretch(int64_t from, int64_t to, uint32_t fraction)
{
    return from + floor_div((to - from) * (int64_t)fraction + (1 << (CUT_FRACTION_BITS - 1)),
                            1 << CUT_FRACTION_BITS);
}

/* The fraction of the stretch from `a` to `b` at which `point` lies. False: not on it. */
static bool find_cut(struct arb_point a, struct arb_point b, struct arb_point point,
                     uint32_t *fraction)
{
    int64_t x = (int64_t)b.x - a.x, y = (int64_t)b.y - a.y;
    int64_t px = (int64_t)point.x - a.x, py = (int64_t)point.y - a.y;
    int64_t far = CUT_STRETCH_MAX;
    if (x < -far || x > far || y < -far || y > far || px < -far || px > far || py < -far ||
        py > far || (x == 0 && y == 0)) {
        return false;
    }
    int64_t part = floor_div((x * px + y * py) * (1 << CUT_FRACTION_BITS), x * x + y * y);
    *fraction = (uint32_t)(part < 0 ? 0 : part > 255 ? 255 : part);
    int64_t off_x = point.x - on_stretch(a.x, b.x, *fraction);
    int64_t off_y = point.y - on_stretch(a.y, b.y, *fraction);
    return off_x >= -CUT_NEAR && off_x < CUT_NEAR && off_y >= -CUT_NEAR && off_y < CUT_NEAR;
}

/* The first point behind the kept ones: mostly the trail's end, cut between two old points. */
static void write_cut(struct arb_bit_writer *writer, const struct arb_kind_field *field,
                      struct arb_trail *trail, struct arb_point after, struct arb_point point)
{
    struct arb_point last = {(int32_t)trail->x, (int32_t)trail->y};
    uint32_t fraction = 0;
    bool cut = find_cut(last, after, point, &fraction);
    arb_bits_write(writer, cut, 1);
    if (!cut) {
        arb_trail_write(writer, trail, point);
        return;
    }
    arb_bits_write(writer, fraction, CUT_FRACTION_BITS);
    arb_steps_write(writer, &arb_step_cut, field->bits,
                    folded(field, point.x, on_stretch(last.x, after.x, fraction)),
                    folded(field, point.y, on_stretch(last.y, after.y, fraction)));
    *trail = (struct arb_trail){field, point.x, point.y, (int64_t)point.x - last.x,
                                (int64_t)point.y - last.y};
}

static void write_points(struct arb_bit_writer *writer, const struct arb_kind_field *field,
                         const struct arb_point *from, uint32_t from_count,
                         const struct arb_point *to, const struct change *change)
{
    struct arb_trail trail = {.field = field};
    if (change->added > 0) trail = trail_ahead(field, from, from_count);
    for (uint32_t i = change->added; i > 0; i--) {
        arb_trail_write(writer, &trail, to[i - 1]);
    }
    if (change->others == 0) return;
    uint32_t first = change->added + change->kept;
    if (first == 0) {
        arb_value_write(writer, field, to[0].x);
        arb_value_write(writer, field, to[0].y);
        trail = trail_behind(field, to, 0);
    } else {
        trail = trail_behind(field, to, first - 1);
        if (change->kept < from_count) {
            write_cut(writer, field, &trail, from[change->kept], to[first]);
        } else {
            arb_trail_write(writer, &trail, to[first]);
        }
    }
    for (uint32_t i = 1; i < change->others; i++) {
        arb_trail_write(writer, &trail, to[first + i]);
    }
}

static bool same_body(const struct arb_delta_state *from, const struct arb_delta_state *to)
{
    uint32_t count = to->entity->body_count;
    return from->entity->body_count == count &&
           (count == 0 ||
            memcmp(from->points + from->entity->body_first, to->points + to->entity->body_first,
                   count * sizeof *to->points) == 0);
}

static void write_body(struct arb_bit_writer *writer, const struct arb_kind *kind,
                       const struct arb_delta_state *from, const struct arb_delta_state *to)
{
    bool same = same_body(from, to);
    arb_bits_write(writer, same, 1);
    if (same) return;
    uint32_t from_count = from->entity->body_count, to_count = to->entity->body_count;
    ARB_ASSERT(to_count <= ARB_BODY_POINTS_MAX);
    const struct arb_point *from_points = from->points + from->entity->body_first;
    const struct arb_point *to_points = to->points + to->entity->body_first;
    struct change change = find_change(from_points, from_count, to_points, to_count);
    arb_small_write(writer, &arb_small_added, change.added);
    arb_step_write(writer, &arb_step_count, COUNT_BITS,
                   arb_fold((int32_t)to_count - (int32_t)from_count));
    arb_small_write(writer, &arb_small_explicit, change.others);
    write_points(writer, &kind->fields[kind->x], from_points, from_count, to_points, &change);
}

bool arb_delta_record(const struct arb_delta_rule *rule, const struct arb_delta_state *from,
                      const struct arb_delta_state *to, struct arb_bit_writer *writer)
{
    const struct arb_published *a = from->entity, *b = to->entity;
    ARB_ASSERT(arb_key_equal(a->key, b->key) && a->kind == b->kind);
    ARB_ASSERT(from->tick <= to->tick && to->tick - from->tick <= UINT16_MAX);
    const struct arb_kind *kind = &rule->schema->kinds[b->kind];
    if (memcmp(a->q, b->q, sizeof a->q) == 0 && same_body(from, to)) return false;
    write_motion(writer, rule, kind, a->q, b->q, (uint32_t)(to->tick - from->tick));
    write_others(writer, kind, a->q, b->q);
    if (kind->has_body) write_body(writer, kind, from, to);
    return true;
}

size_t arb_delta_record_bits_max(const struct arb_schema *schema, uint32_t points)
{
    size_t worst = 0;
    for (int k = 0; k < schema->kind_count; k++) {
        const struct arb_kind *kind = &schema->kinds[k];
        size_t bits = 1;
        for (int i = 0; i < kind->field_count; i++) {
            bits += 3U + kind->fields[i].bits; /* changed, selector, difference */
        }
        if (kind->has_body) {
            size_t point = 2U * kind->fields[kind->x].bits + ARB_TRAIL_POINT_EXTRA_BITS;
            bits += 1 + 3 * (2 + COUNT_BITS) + 1 + CUT_FRACTION_BITS + points * point;
        }
        worst = bits > worst ? bits : worst;
    }
    return worst;
}

/* ---- decode ---- */

/* What was read since `before` goes to one part of the account. */
static void charge(struct arb_delta_kind_account *account, const struct arb_bit_reader *reader,
                   int field, size_t *before)
{
    if (account != NULL) account->field_bits[field] += reader->bit - *before;
    *before = reader->bit;
}

static void read_motion(struct arb_bit_reader *reader, const struct arb_delta_rule *rule,
                        const struct arb_kind *kind, const int32_t *from, uint32_t ticks,
                        int32_t *to, struct arb_delta_kind_account *account)
{
    size_t before = reader->bit;
    uint32_t a, b;
    int32_t vx = 0, vy = 0;
    if (kind->vx >= 0) {
        const struct arb_kind_field *field = &kind->fields[kind->vx];
        arb_steps_read(reader, &arb_step_speed, field->bits, &a, &b);
        vx = to[kind->vx] = into_field(field, (int64_t)from[kind->vx] + arb_unfold(a));
        vy = to[kind->vy] = into_field(field, (int64_t)from[kind->vy] + arb_unfold(b));
        charge(account, reader, kind->vx, &before);
    }
    const struct arb_kind_field *field = &kind->fields[kind->x];
    int64_t x = arb_delta_expected(rule, kind, from, vx, false, ticks);
    int64_t y = arb_delta_expected(rule, kind, from, vy, true, ticks);
    arb_steps_read(reader, place_code(kind), field->bits, &a, &b);
    to[kind->x] = into_field(field, x + arb_unfold(a));
    to[kind->y] = into_field(field, y + arb_unfold(b));
    charge(account, reader, kind->x, &before);
    if (kind->heading >= 0) {
        field = &kind->fields[kind->heading];
        a = arb_step_read(reader, &arb_step_turn, field->bits);
        to[kind->heading] = into_field(field, (int64_t)from[kind->heading] + arb_unfold(a));
        charge(account, reader, kind->heading, &before);
    }
}

static void read_others(struct arb_bit_reader *reader, const struct arb_kind *kind,
                        const int32_t *from, int32_t *to, struct arb_delta_kind_account *account)
{
    bool any = arb_bits_read(reader, 1) != 0;
    if (account != NULL) account->mask_bits++;
    size_t before = reader->bit;
    for (int i = 0; i < kind->field_count; i++) {
        if (!is_other(kind, i)) continue;
        const struct arb_kind_field *field = &kind->fields[i];
        to[i] = from[i];
        if (any && arb_bits_read(reader, 1) != 0) {
            uint32_t difference = arb_step_read(reader, &arb_step_other, field->bits);
            to[i] = into_field(field, (int64_t)from[i] + arb_unfold(difference));
        }
        charge(account, reader, i, &before);
    }
}

static bool read_cut(struct arb_bit_reader *reader, const struct arb_kind_field *field,
                     struct arb_trail *trail, struct arb_point after, struct arb_point *point)
{
    if (arb_bits_read(reader, 1) == 0) return arb_trail_read(reader, trail, point);
    uint32_t fraction = (uint32_t)arb_bits_read(reader, CUT_FRACTION_BITS);
    uint32_t a, b;
    arb_steps_read(reader, &arb_step_cut, field->bits, &a, &b);
    point->x = into_field(field, on_stretch(trail->x, after.x, fraction) + arb_unfold(a));
    point->y = into_field(field, on_stretch(trail->y, after.y, fraction) + arb_unfold(b));
    *trail =
        (struct arb_trail){field, point->x, point->y, point->x - trail->x, point->y - trail->y};
    return true;
}

/* The mirror of write_points; the kept ones are copied. */
static bool read_points(struct arb_bit_reader *reader, const struct arb_kind_field *field,
                        const struct arb_point *from, uint32_t from_count,
                        const struct change *change, struct arb_point *to)
{
    struct arb_trail trail = {.field = field};
    if (change->added > 0) trail = trail_ahead(field, from, from_count);
    for (uint32_t i = change->added; i > 0; i--) {
        if (!arb_trail_read(reader, &trail, &to[i - 1])) return false;
    }
    uint32_t first = change->added + change->kept;
    if (change->kept > 0) memcpy(to + change->added, from, change->kept * sizeof *to);
    if (change->others == 0) return true;
    bool good = true;
    if (first == 0) {
        to[0].x = arb_value_read(reader, field);
        to[0].y = arb_value_read(reader, field);
        trail = trail_behind(field, to, 0);
    } else {
        trail = trail_behind(field, to, first - 1);
        good = change->kept < from_count
                   ? read_cut(reader, field, &trail, from[change->kept], &to[first])
                   : arb_trail_read(reader, &trail, &to[first]);
    }
    for (uint32_t i = 1; i < change->others && good; i++) {
        good = arb_trail_read(reader, &trail, &to[first + i]);
    }
    return good;
}

static enum arb_decode read_body(struct arb_bit_reader *reader, const struct arb_kind *kind,
                                 const struct arb_delta_state *from, struct arb_frame *frame,
                                 uint32_t point_capacity, struct arb_published *entity)
{
    uint32_t from_count = from->entity->body_count;
    struct change change = {0, from_count, 0};
    int64_t count = from_count;
    if (arb_bits_read(reader, 1) == 0) {
        change.added = arb_small_read(reader, &arb_small_added);
        count += arb_unfold(arb_step_read(reader, &arb_step_count, COUNT_BITS));
        change.others = arb_small_read(reader, &arb_small_explicit);
        int64_t kept = count - change.added - change.others;
        if (count > ARB_BODY_POINTS_MAX || kept < 0 || kept > from_count ||
            (kept == 0 && change.added > 0)) {
            return ARB_DECODE_RANGE;
        }
        change.kept = (uint32_t)kept;
    }
    if (count > (int64_t)(point_capacity - frame->point_count)) return ARB_DECODE_RANGE;
    entity->body_first = frame->point_count;
    entity->body_count = (uint16_t)count;
    frame->point_count += (uint32_t)count;
    bool good = read_points(reader, &kind->fields[kind->x], from->points + from->entity->body_first,
                            from_count, &change, frame->points + entity->body_first);
    return good ? ARB_DECODE_OK : ARB_DECODE_RANGE;
}

enum arb_decode arb_delta_record_read(struct arb_bit_reader *reader,
                                      const struct arb_delta_rule *rule,
                                      const struct arb_delta_state *from, arb_tick tick,
                                      struct arb_frame *frame, uint32_t point_capacity,
                                      struct arb_published *entity,
                                      struct arb_delta_kind_account *account)
{
    const struct arb_kind *kind = &rule->schema->kinds[entity->kind];
    const int32_t *q = from->entity->q;
    read_motion(reader, rule, kind, q, (uint32_t)(tick - from->tick), entity->q, account);
    read_others(reader, kind, q, entity->q, account);
    if (!kind->has_body) return ARB_DECODE_OK;
    size_t before = reader->bit;
    enum arb_decode reason = read_body(reader, kind, from, frame, point_capacity, entity);
    if (account != NULL) account->body_bits += reader->bit - before;
    return reason;
}
