#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

static const struct arb_field part_rows[] = {
    ARB_FIELD(arb_part, message, U16, 16, 0, 65535, "number of the long message, +1 each, wraps"),
    ARB_FIELD(arb_part, index, U16, 16, 0, ARB_PARTS_MAX - 1, "of this part, from 0, in order"),
    ARB_FIELD(arb_part, count, U16, 16, 1, ARB_PARTS_MAX, "parts of this message"),
};
const struct arb_fields arb_part_fields = ARB_FIELDS("PART", part_rows);

enum { PART_HEAD_BYTES = 7 }; /* type byte and the table */

_Static_assert(PART_HEAD_BYTES + ARB_PART_PAYLOAD_MAX <= ARB_MESSAGE_BYTES_MAX, "a part fits");

uint16_t arb_part_count(size_t size)
{
    ARB_ASSERT(size > 0 && size <= ARB_LONG_MESSAGE_BYTES_MAX);
    return (uint16_t)((size + ARB_PART_PAYLOAD_MAX - 1) / ARB_PART_PAYLOAD_MAX);
}

struct arb_part arb_part_cut(const uint8_t *bytes, size_t size, uint16_t message, uint16_t index)
{
    uint16_t count = arb_part_count(size);
    ARB_ASSERT(index < count);
    size_t first = (size_t)index * ARB_PART_PAYLOAD_MAX;
    size_t left = size - first;
    uint16_t part_size = left < ARB_PART_PAYLOAD_MAX ? (uint16_t)left : ARB_PART_PAYLOAD_MAX;
    return (struct arb_part){message, index, count, part_size, bytes + first};
}

size_t arb_part_encode(const struct arb_part *part, uint8_t *bytes, size_t capacity)
{
    ARB_ASSERT(part->index < part->count);
    ARB_ASSERT(part->size > 0 && part->size <= ARB_PART_PAYLOAD_MAX);
    struct arb_bit_writer writer;
    arb_message_begin(&writer, ARB_MESSAGE_PART, bytes, capacity);
    arb_fields_write(&writer, &arb_part_fields, part);
    if (writer.full || capacity - PART_HEAD_BYTES < part->size) {
        return 0;
    }
    memcpy(bytes + PART_HEAD_BYTES, part->bytes, part->size);
    return (size_t)PART_HEAD_BYTES + part->size;
}

enum arb_decode arb_part_decode(const uint8_t *bytes, size_t size, struct arb_part *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_PART, bytes, size);
    if (reason == ARB_DECODE_OK) {
        reason = arb_fields_read(&reader, &arb_part_fields, out);
    }
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    if (out->index >= out->count) {
        return ARB_DECODE_ORDER;
    }
    if (size == PART_HEAD_BYTES) {
        return ARB_DECODE_SHORT;
    }
    if (size - PART_HEAD_BYTES > ARB_PART_PAYLOAD_MAX) {
        return ARB_DECODE_LONG;
    }
    out->size = (uint16_t)(size - PART_HEAD_BYTES);
    out->bytes = bytes + PART_HEAD_BYTES;
    return ARB_DECODE_OK;
}

void arb_parts_init(struct arb_parts *parts, uint8_t *bytes, size_t capacity)
{
    *parts = (struct arb_parts){.bytes = bytes, .capacity = capacity};
}

/* The first part of the message after the newest, or the next one of it. */
static bool is_next(const struct arb_parts *parts, const struct arb_part *part)
{
    if (part->index != parts->next) {
        return false;
    }
    if (part->index > 0) {
        return part->message == parts->message && part->count == parts->count;
    }
    return !parts->started || part->message == (uint16_t)(parts->message + 1);
}

enum arb_parts_result arb_parts_add(struct arb_parts *parts, const struct arb_part *part)
{
    if (!is_next(parts, part)) {
        parts->next = 0;
        return ARB_PARTS_BROKEN;
    }
    if (part->index == 0) {
        parts->started = true;
        parts->message = part->message;
        parts->count = part->count;
        parts->size = 0;
    }
    if (parts->capacity - parts->size < part->size) {
        parts->next = 0;
        return ARB_PARTS_TOO_LONG;
    }
    memcpy(parts->bytes + parts->size, part->bytes, part->size);
    parts->size += part->size;
    parts->next = (uint16_t)(part->index + 1);
    if (parts->next < parts->count) {
        return ARB_PARTS_WAITING;
    }
    parts->next = 0;
    return ARB_PARTS_COMPLETE;
}
