/* Keys and full records of entities, bit by bit (PROTOCOL.md "Snapshot stream"):
 *
 *   key:    id step (small) | generation (small)
 *   record: kind | fields by the kind's table | body [count (small) | first x y | point ...]
 *   point:  width 2 | dx | dy, against the straight continuation of the two points before
 */
#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

const struct arb_small arb_small_id = {{1, 4, 8, 16}};
const struct arb_small arb_small_generation = {{2, 4, 8, 16}};
const struct arb_small arb_small_points = {{4, 6, 8, 10}};

_Static_assert(ARB_BODY_POINTS_MAX < 1 << 10, "the count of points fits its widest form");

unsigned arb_kind_bits(const struct arb_schema *schema)
{
    unsigned bits = 0;
    while ((schema->kind_count - 1U) >> bits != 0) {
        bits++;
    }
    return bits;
}

/* Widths of a point's step, by its 2 bits; the widest holds every step between points of the
 * field's width. */
static unsigned step_bits(unsigned point_bits, unsigned width)
{
    static const uint8_t narrow[3] = {3, 8, 12};
    return width < 3 ? narrow[width] : point_bits + 3;
}

bool arb_fits(int64_t value, unsigned bits)
{
    return value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1);
}

/* ---- encode ---- */

void arb_value_write(struct arb_bit_writer *writer, const struct arb_kind_field *field, int32_t q)
{
    if (field->is_signed) {
        arb_bits_write_signed(writer, q, field->bits);
    } else {
        arb_bits_write(writer, (uint64_t)(int64_t)q, field->bits);
    }
}

void arb_trail_write(struct arb_bit_writer *writer, struct arb_trail *trail, struct arb_point point)
{
    int64_t x = point.x - trail->x;
    int64_t y = point.y - trail->y;
    int64_t dx = x - trail->step_x;
    int64_t dy = y - trail->step_y;
    unsigned point_bits = trail->field->bits;
    unsigned width = 0;
    while (width < 3 && (!arb_fits(dx, step_bits(point_bits, width)) ||
                         !arb_fits(dy, step_bits(point_bits, width)))) {
        width++;
    }
    unsigned bits = step_bits(point_bits, width);
    uint64_t mask = ((uint64_t)1 << bits) - 1;
    arb_bits_write(writer, width | ((uint64_t)dx & mask) << 2, 2 + bits);
    arb_bits_write(writer, (uint64_t)dy & mask, bits);
    *trail = (struct arb_trail){trail->field, point.x, point.y, x, y};
}

static void write_body(struct arb_bit_writer *writer, const struct arb_kind_field *field,
                       const struct arb_point *points, uint32_t count)
{
    ARB_ASSERT(count <= ARB_BODY_POINTS_MAX);
    arb_small_write(writer, &arb_small_points, count);
    if (count == 0) {
        return;
    }
    arb_value_write(writer, field, points[0].x);
    arb_value_write(writer, field, points[0].y);
    struct arb_trail trail = {.field = field, .x = points[0].x, .y = points[0].y};
    for (uint32_t i = 1; i < count; i++) {
        arb_trail_write(writer, &trail, points[i]);
    }
}

void arb_entity_encode(const struct arb_schema *schema, const struct arb_frame *frame,
                       const struct arb_published *entity, struct arb_bit_writer *writer)
{
    ARB_ASSERT(entity->kind < schema->kind_count);
    const struct arb_kind *kind = &schema->kinds[entity->kind];
    arb_bits_write(writer, entity->kind, arb_kind_bits(schema));
    for (int i = 0; i < kind->field_count; i++) {
        arb_value_write(writer, &kind->fields[i], entity->q[i]);
    }
    if (kind->has_body) {
        ARB_ASSERT(entity->body_first <= frame->point_count &&
                   frame->point_count - entity->body_first >= entity->body_count);
        write_body(writer, &kind->fields[kind->x], frame->points + entity->body_first,
                   entity->body_count);
    }
}

size_t arb_entity_bits_max(const struct arb_schema *schema, uint32_t points)
{
    size_t worst = 0;
    for (int k = 0; k < schema->kind_count; k++) {
        const struct arb_kind *kind = &schema->kinds[k];
        size_t bits = arb_kind_bits(schema);
        for (int i = 0; i < kind->field_count; i++) {
            bits += kind->fields[i].bits;
        }
        if (kind->has_body) {
            unsigned point_bits = kind->fields[kind->x].bits;
            bits += 12 + points * (2 * (size_t)point_bits + ARB_TRAIL_POINT_EXTRA_BITS);
        }
        worst = bits > worst ? bits : worst;
    }
    return worst;
}

size_t arb_entities_bytes_max(const struct arb_schema *schema, uint32_t entity_capacity,
                              uint32_t point_capacity)
{
    size_t fixed = arb_entity_bits_max(schema, 0);
    size_t point = arb_entity_bits_max(schema, 1) - fixed;
    return (entity_capacity * fixed + point_capacity * point) / 8 + 1;
}

void arb_key_write(struct arb_bit_writer *writer, bool first, struct arb_key last,
                   struct arb_key key)
{
    ARB_ASSERT(!arb_key_is_none(key));
    ARB_ASSERT(first || key.id > last.id);
    uint64_t id;
    uint64_t generation;
    unsigned id_bits = arb_small_code(&arb_small_id, (uint32_t)(key.id - last.id), &id);
    unsigned generation_bits = arb_small_code(&arb_small_generation, key.generation, &generation);
    arb_bits_write(writer, id | generation << id_bits, id_bits + generation_bits);
}

/* ---- decode ---- */

int32_t arb_value_read(struct arb_bit_reader *reader, const struct arb_kind_field *field)
{
    return field->is_signed ? (int32_t)arb_bits_read_signed(reader, field->bits)
                            : (int32_t)arb_bits_read(reader, field->bits);
}

bool arb_trail_read(struct arb_bit_reader *reader, struct arb_trail *trail, struct arb_point *point)
{
    unsigned bits = step_bits(trail->field->bits, (unsigned)arb_bits_read(reader, 2));
    trail->step_x += arb_bits_read_signed(reader, bits);
    trail->step_y += arb_bits_read_signed(reader, bits);
    trail->x += trail->step_x;
    trail->y += trail->step_y;
    if (!arb_fits(trail->x, trail->field->bits) || !arb_fits(trail->y, trail->field->bits)) {
        return false;
    }
    *point = (struct arb_point){(int32_t)trail->x, (int32_t)trail->y};
    return true;
}

static bool read_points(struct arb_bit_reader *reader, const struct arb_kind_field *field,
                        struct arb_point *points, uint32_t count)
{
    points[0].x = arb_value_read(reader, field);
    points[0].y = arb_value_read(reader, field);
    struct arb_trail trail = {.field = field, .x = points[0].x, .y = points[0].y};
    for (uint32_t i = 1; i < count; i++) {
        if (!arb_trail_read(reader, &trail, &points[i])) {
            return false;
        }
    }
    return true;
}

static enum arb_decode read_body(struct arb_bit_reader *reader, const struct arb_kind_field *field,
                                 struct arb_frame *frame, uint32_t point_capacity,
                                 struct arb_published *entity)
{
    uint32_t count = arb_small_read(reader, &arb_small_points);
    if (count > ARB_BODY_POINTS_MAX || count > point_capacity - frame->point_count) {
        return ARB_DECODE_RANGE;
    }
    entity->body_first = frame->point_count;
    entity->body_count = (uint16_t)count;
    if (count > 0 && !read_points(reader, field, frame->points + frame->point_count, count)) {
        return ARB_DECODE_RANGE;
    }
    frame->point_count += count;
    return ARB_DECODE_OK;
}

enum arb_decode arb_key_read(struct arb_bit_reader *reader, bool first, struct arb_key last,
                             struct arb_key *out)
{
    uint32_t step = arb_small_read(reader, &arb_small_id);
    out->generation = (uint16_t)arb_small_read(reader, &arb_small_generation);
    if (step > (uint32_t)(UINT16_MAX - last.id) || (step == 0 && !first)) {
        return ARB_DECODE_ORDER;
    }
    out->id = (uint16_t)(last.id + step);
    return arb_key_is_none(*out) ? ARB_DECODE_RANGE : ARB_DECODE_OK;
}

enum arb_decode arb_entity_read(struct arb_bit_reader *reader, const struct arb_schema *schema,
                                struct arb_frame *frame, uint32_t point_capacity,
                                struct arb_published *entity)
{
    entity->kind = (uint8_t)arb_bits_read(reader, arb_kind_bits(schema));
    if (entity->kind >= schema->kind_count) {
        return ARB_DECODE_RANGE;
    }
    const struct arb_kind *kind = &schema->kinds[entity->kind];
    for (int i = 0; i < kind->field_count; i++) {
        entity->q[i] = arb_value_read(reader, &kind->fields[i]);
    }
    return kind->has_body ? read_body(reader, &kind->fields[kind->x], frame, point_capacity, entity)
                          : ARB_DECODE_OK;
}
