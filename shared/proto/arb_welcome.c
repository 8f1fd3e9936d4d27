#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

#define WORLD_LOW (-4096.0)
#define WORLD_HIGH 4096.0

static const struct arb_field welcome_rows[] = {
    ARB_FIELD(arb_welcome, mode, TEXT, 0, 0, 0, "name of the mode: picks schema and mover"),
    ARB_FIELD(arb_welcome, match_id, BYTES, 0, 0, 0, "random number of the match"),
    ARB_FIELD(arb_welcome, token, BYTES, 0, 0, 0,
              "resume token of this player, a secret; zeros: a spectator"),
    ARB_FIELD(arb_welcome, player_id, U64, 64, 0, 0, "this player; 0: a spectator"),
    ARB_FIELD(arb_welcome, player_slot, U16, 16, 0, 65535.0,
              "this player's slot, below player_capacity; 65535: a spectator"),
    ARB_FIELD(arb_welcome, player_capacity, U16, 16, 1, ARB_PLAYERS_MAX, "slots of the match"),
    ARB_FIELD(arb_welcome, tick, U32, 32, 0, 4294967295.0,
              "low 32 bits of the tick that came next"),
    ARB_FIELD(arb_welcome, tick_rate, U16, 16, 20, 128, "ticks per second"),
    ARB_FIELD(arb_welcome, snapshot_interval_ticks, U8, 8, 1, 255,
              "ticks from snapshot to snapshot"),
    ARB_FIELD(arb_welcome, input_delay_ticks, U8, 8, 0, 255, "rule of the match: announced delay"),
    ARB_FIELD(arb_welcome, input_buffer_ticks, U8, 8, 1, 255,
              "inputs further ahead than this are dropped"),
    ARB_FIELD(arb_welcome, map_hash, U64, 64, 0, 0, "hash over bounds and shapes"),
    ARB_FIELD(arb_welcome, bounds.low.x, F32, 32, WORLD_LOW, WORLD_HIGH,
              "m, the world's rectangle"),
    ARB_FIELD(arb_welcome, bounds.low.y, F32, 32, WORLD_LOW, WORLD_HIGH, "m"),
    ARB_FIELD(arb_welcome, bounds.high.x, F32, 32, WORLD_LOW, WORLD_HIGH, "m, over bounds.low.x"),
    ARB_FIELD(arb_welcome, bounds.high.y, F32, 32, WORLD_LOW, WORLD_HIGH, "m, over bounds.low.y"),
    ARB_FIELD(arb_welcome, shape_count, U32, 32, 0, 4294967295.0, "shapes that follow"),
};
const struct arb_fields arb_welcome_fields = ARB_FIELDS("WELCOME", welcome_rows);

/* Points that a type must have: circle 1, capsule 2, polygon 3 to 8. */
static bool shape_count_valid(uint8_t type, uint8_t count)
{
    switch (type) {
    case ARB_SHAPE_CIRCLE:
        return count == 1;
    case ARB_SHAPE_CAPSULE:
        return count == 2;
    case ARB_SHAPE_POLYGON:
        return count >= 3 && count <= ARB_SHAPE_POINTS_MAX;
    default:
        return false;
    }
}

/* Not finite compares false. */
static bool in_world(float value)
{
    return (double)value >= WORLD_LOW && (double)value <= WORLD_HIGH;
}

static bool radius_valid(uint8_t type, float radius)
{
    bool positive = radius > 0.0F || (type == ARB_SHAPE_POLYGON && radius >= 0.0F);
    return positive && (double)radius <= WORLD_HIGH;
}

static void write_shape(struct arb_bit_writer *writer, const struct arb_shape *shape)
{
    ARB_ASSERT(shape_count_valid(shape->type, shape->count));
    ARB_ASSERT(radius_valid(shape->type, shape->radius));
    arb_bits_write(writer, shape->type, 8);
    arb_bits_write(writer, shape->count, 8);
    arb_bits_write_float(writer, shape->radius);
    for (int i = 0; i < shape->count; i++) {
        ARB_ASSERT(in_world(shape->points[i].x) && in_world(shape->points[i].y));
        arb_bits_write_float(writer, shape->points[i].x);
        arb_bits_write_float(writer, shape->points[i].y);
    }
}

static bool read_shape(struct arb_bit_reader *reader, struct arb_shape *shape)
{
    memset(shape, 0, sizeof *shape);
    shape->type = (uint8_t)arb_bits_read(reader, 8);
    shape->count = (uint8_t)arb_bits_read(reader, 8);
    shape->radius = arb_bits_read_float(reader);
    if (!shape_count_valid(shape->type, shape->count) ||
        !radius_valid(shape->type, shape->radius)) {
        return false;
    }
    bool good = true;
    for (int i = 0; i < shape->count; i++) {
        shape->points[i].x = arb_bits_read_float(reader);
        shape->points[i].y = arb_bits_read_float(reader);
        good = good && in_world(shape->points[i].x) && in_world(shape->points[i].y);
    }
    return good;
}

size_t arb_welcome_encode(const struct arb_welcome *welcome, const struct arb_fields *param_fields,
                          uint8_t *bytes, size_t capacity)
{
    if (capacity > ARB_LONG_MESSAGE_BYTES_MAX) {
        capacity = ARB_LONG_MESSAGE_BYTES_MAX;
    }
    struct arb_bit_writer writer;
    arb_message_begin(&writer, ARB_MESSAGE_WELCOME, bytes, capacity);
    arb_fields_write(&writer, &arb_welcome_fields, welcome);
    for (uint32_t i = 0; i < welcome->shape_count && !writer.full; i++) {
        write_shape(&writer, &welcome->shapes[i]);
    }
    arb_fields_write(&writer, param_fields, welcome->params);
    return arb_message_end(&writer);
}

static enum arb_decode read_shapes(struct arb_bit_reader *reader, uint32_t count,
                                   struct arb_shape *shapes, size_t shape_capacity)
{
    if (count > shape_capacity) {
        return ARB_DECODE_RANGE;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool good = read_shape(reader, &shapes[i]);
        if (reader->ended) {
            return ARB_DECODE_SHORT;
        }
        if (!good) {
            return ARB_DECODE_RANGE;
        }
    }
    return ARB_DECODE_OK;
}

static bool relations_valid(const struct arb_welcome *welcome)
{
    return welcome->bounds.low.x < welcome->bounds.high.x &&
           welcome->bounds.low.y < welcome->bounds.high.y &&
           (welcome->player_slot < welcome->player_capacity || welcome->player_slot == ARB_NO_SLOT);
}

enum arb_decode arb_welcome_decode(const uint8_t *bytes, size_t size,
                                   const struct arb_fields *param_fields, struct arb_shape *shapes,
                                   size_t shape_capacity, void *params, struct arb_welcome *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_WELCOME, bytes, size);
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    memset(out, 0, sizeof *out);
    reason = arb_fields_read(&reader, &arb_welcome_fields, out);
    if (reason == ARB_DECODE_OK && !relations_valid(out)) {
        reason = ARB_DECODE_RANGE;
    }
    if (reason == ARB_DECODE_OK) {
        reason = read_shapes(&reader, out->shape_count, shapes, shape_capacity);
    }
    if (reason == ARB_DECODE_OK) {
        reason = arb_fields_read(&reader, param_fields, params);
    }
    out->shapes = shapes;
    out->params = params;
    return arb_message_close(&reader, reason);
}
