#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

/* Bytes of one element; 0 where the row's size says it. */
static const uint8_t type_bytes[] = {
    [ARB_FIELD_U8] = 1,  [ARB_FIELD_U16] = 2,   [ARB_FIELD_U32] = 4,  [ARB_FIELD_U64] = 8,
    [ARB_FIELD_I8] = 1,  [ARB_FIELD_I16] = 2,   [ARB_FIELD_I32] = 4,  [ARB_FIELD_F32] = 4,
    [ARB_FIELD_KEY] = 4, [ARB_FIELD_BYTES] = 0, [ARB_FIELD_TEXT] = 0,
};

size_t arb_field_elements(const struct arb_field *field)
{
    size_t bytes = type_bytes[field->type];
    if (bytes == 0) {
        return 1;
    }
    ARB_ASSERT(field->size % bytes == 0);
    return field->size / bytes;
}

bool arb_field_is_signed(uint8_t type)
{
    return type == ARB_FIELD_I8 || type == ARB_FIELD_I16 || type == ARB_FIELD_I32;
}

/* 64 bits have no range but their width: a double could not name their bounds. */
bool arb_field_holds(const struct arb_field *field, int64_t value)
{
    return field->type == ARB_FIELD_U64 ||
           ((double)value >= field->low && (double)value <= field->high);
}

/* Not finite compares false. */
bool arb_field_holds_float(const struct arb_field *field, float value)
{
    return (double)value >= field->low && (double)value <= field->high;
}

int64_t arb_field_load(uint8_t type, const uint8_t *at)
{
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;
    switch (type) {
    case ARB_FIELD_U8:
        return *at;
    case ARB_FIELD_I8:
        return (int8_t)*at;
    case ARB_FIELD_U16:
        memcpy(&u16, at, sizeof u16);
        return u16;
    case ARB_FIELD_I16:
        memcpy(&u16, at, sizeof u16);
        return (int16_t)u16;
    case ARB_FIELD_U32:
        memcpy(&u32, at, sizeof u32);
        return u32;
    case ARB_FIELD_I32:
        memcpy(&u32, at, sizeof u32);
        return (int32_t)u32;
    default:
        ARB_ASSERT(type == ARB_FIELD_U64);
        memcpy(&u64, at, sizeof u64);
        return (int64_t)u64;
    }
}

void arb_field_store(uint8_t type, uint8_t *at, int64_t value)
{
    uint64_t u64 = (uint64_t)value;
    uint32_t u32 = (uint32_t)u64;
    uint16_t u16 = (uint16_t)u64;
    switch (type_bytes[type]) {
    case 1:
        *at = (uint8_t)u64;
        break;
    case 2:
        memcpy(at, &u16, sizeof u16);
        break;
    case 4:
        memcpy(at, &u32, sizeof u32);
        break;
    default:
        memcpy(at, &u64, sizeof u64);
        break;
    }
}

static void write_number(struct arb_bit_writer *writer, const struct arb_field *field,
                         const uint8_t *at)
{
    int64_t value = arb_field_load(field->type, at);
    ARB_ASSERT(arb_field_holds(field, value));
    if (arb_field_is_signed(field->type)) {
        arb_bits_write_signed(writer, value, field->bits);
    } else {
        arb_bits_write(writer, (uint64_t)value, field->bits);
    }
}

static void write_text(struct arb_bit_writer *writer, const struct arb_field *field,
                       const char *text)
{
    const char *end = memchr(text, 0, field->size);
    ARB_ASSERT(end != NULL);
    size_t length = (size_t)(end - text);
    ARB_ASSERT(length <= 255);
    ARB_ASSERT(arb_proto_text_valid(text, length));
    arb_bits_write(writer, length, 8);
    arb_bits_write_bytes(writer, text, length);
}

static void write_field(struct arb_bit_writer *writer, const struct arb_field *field,
                        const uint8_t *at)
{
    struct arb_key key;
    float value;
    switch (field->type) {
    case ARB_FIELD_F32:
        memcpy(&value, at, sizeof value);
        ARB_ASSERT(arb_field_holds_float(field, value));
        arb_bits_write_float(writer, value);
        break;
    case ARB_FIELD_KEY:
        memcpy(&key, at, sizeof key);
        arb_bits_write(writer, key.id, 16);
        arb_bits_write(writer, key.generation, 16);
        break;
    case ARB_FIELD_BYTES:
        arb_bits_write_bytes(writer, at, field->size);
        break;
    case ARB_FIELD_TEXT:
        write_text(writer, field, (const char *)at);
        break;
    default:
        write_number(writer, field, at);
        break;
    }
}

void arb_fields_write(struct arb_bit_writer *writer, const struct arb_fields *fields,
                      const void *from)
{
    const uint8_t *base = from;
    for (size_t row = 0; row < fields->count; row++) {
        const struct arb_field *field = &fields->rows[row];
        size_t elements = arb_field_elements(field);
        for (size_t i = 0; i < elements; i++) {
            write_field(writer, field, base + field->offset + i * type_bytes[field->type]);
        }
    }
}

static bool read_number(struct arb_bit_reader *reader, const struct arb_field *field, uint8_t *at)
{
    int64_t value = arb_field_is_signed(field->type) ? arb_bits_read_signed(reader, field->bits)
                                                     : (int64_t)arb_bits_read(reader, field->bits);
    if (!arb_field_holds(field, value)) {
        return false;
    }
    arb_field_store(field->type, at, value);
    return true;
}

static bool read_text(struct arb_bit_reader *reader, const struct arb_field *field, char *text)
{
    size_t length = (size_t)arb_bits_read(reader, 8);
    if (length >= field->size) {
        return false;
    }
    memset(text, 0, field->size);
    arb_bits_read_bytes(reader, text, length);
    return arb_proto_text_valid(text, length);
}

static bool read_field(struct arb_bit_reader *reader, const struct arb_field *field, uint8_t *at)
{
    struct arb_key key;
    float value;
    switch (field->type) {
    case ARB_FIELD_F32:
        value = arb_bits_read_float(reader);
        memcpy(at, &value, sizeof value);
        return arb_field_holds_float(field, value);
    case ARB_FIELD_KEY:
        key.id = (uint16_t)arb_bits_read(reader, 16);
        key.generation = (uint16_t)arb_bits_read(reader, 16);
        memcpy(at, &key, sizeof key);
        return true;
    case ARB_FIELD_BYTES:
        arb_bits_read_bytes(reader, at, field->size);
        return true;
    case ARB_FIELD_TEXT:
        return read_text(reader, field, (char *)at);
    default:
        return read_number(reader, field, at);
    }
}

enum arb_decode arb_fields_read(struct arb_bit_reader *reader, const struct arb_fields *fields,
                                void *to)
{
    uint8_t *base = to;
    for (size_t row = 0; row < fields->count; row++) {
        const struct arb_field *field = &fields->rows[row];
        size_t elements = arb_field_elements(field);
        for (size_t i = 0; i < elements; i++) {
            bool good =
                read_field(reader, field, base + field->offset + i * type_bytes[field->type]);
            if (reader->ended) {
                return ARB_DECODE_SHORT;
            }
            if (!good) {
                return ARB_DECODE_RANGE;
            }
        }
    }
    return ARB_DECODE_OK;
}

static uint64_t hash_double(uint64_t hash, double value)
{
    uint64_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    return arb_hash_mix(hash, pattern);
}

uint64_t arb_proto_fields_hash(uint64_t hash, const struct arb_fields *fields)
{
    hash = arb_hash(fields->name, strlen(fields->name), hash);
    hash = arb_hash_mix(hash, fields->count);
    for (size_t row = 0; row < fields->count; row++) {
        const struct arb_field *field = &fields->rows[row];
        hash = arb_hash(field->name, strlen(field->name), hash);
        hash = arb_hash_mix(hash, field->type);
        hash = arb_hash_mix(hash, field->size);
        hash = arb_hash_mix(hash, field->bits);
        hash = hash_double(hash, field->low);
        hash = hash_double(hash, field->high);
    }
    return hash;
}
