/* State in its defined form: every byte of a struct has a row, so a copy is the form wherever
 * memory is little-endian. */
#include "shared/base/arb_form.h"

#include "shared/base/arb_assert.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint32_t width_of(const struct arb_field *field)
{
    static const uint8_t widths[] = {
        [ARB_FIELD_U8] = 1,    [ARB_FIELD_U16] = 2,  [ARB_FIELD_U32] = 4,
        [ARB_FIELD_U64] = 8,   [ARB_FIELD_I8] = 1,   [ARB_FIELD_I16] = 2,
        [ARB_FIELD_I32] = 4,   [ARB_FIELD_F32] = 4,  [ARB_FIELD_KEY] = 2, /* id, then generation */
        [ARB_FIELD_BYTES] = 1, [ARB_FIELD_TEXT] = 1,
    };
    return widths[field->type];
}

uint32_t arb_form_bytes(const struct arb_fields *fields)
{
    const struct arb_field *last = &fields->rows[fields->count - 1];
    return (uint32_t)last->offset + last->size;
}

bool arb_form_covers(const struct arb_fields *fields, size_t bytes)
{
    size_t at = 0;
    for (size_t i = 0; i < fields->count; i++) {
        const struct arb_field *field = &fields->rows[i];
        if (field->offset != at || field->size % width_of(field) != 0) return false;
        at += field->size;
    }
    return at == bytes;
}

/* ---- copying ---- */

static uint64_t value_in_memory(const uint8_t *at, uint32_t width)
{
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (width) {
    case 2:
        memcpy(&two, at, sizeof two);
        return two;
    case 4:
        memcpy(&four, at, sizeof four);
        return four;
    case 8:
        memcpy(&eight, at, sizeof eight);
        return eight;
    default:
        return *at;
    }
}

static uint64_t value_in_form(const uint8_t *at, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

/* One struct; in place of equal bytes, each value by its arithmetic. */
static void put_one(const struct arb_fields *fields, const uint8_t *one, uint8_t *out)
{
    for (size_t i = 0; i < fields->count; i++) {
        const struct arb_field *field = &fields->rows[i];
        uint32_t width = width_of(field);
        for (uint32_t at = field->offset; at < (uint32_t)field->offset + field->size; at += width) {
            uint64_t value = value_in_memory(one + at, width);
            for (uint32_t byte = 0; byte < width; byte++) {
                out[at + byte] = (uint8_t)(value >> (8 * byte));
            }
        }
    }
}

size_t arb_form_put_each(const struct arb_form_part *part, uint8_t *out)
{
    uint32_t bytes = arb_form_bytes(part->fields);
    for (uint32_t i = 0; i < part->count; i++) {
        size_t at = (size_t)i * bytes;
        put_one(part->fields, (const uint8_t *)part->memory + at, out + at);
    }
    return (size_t)part->count * bytes;
}

size_t arb_form_put(const struct arb_form_part *part, uint8_t *out)
{
    size_t bytes = (size_t)part->count * arb_form_bytes(part->fields);
    if (!ARB_FORM_IS_MEMORY) return arb_form_put_each(part, out);
    if (bytes > 0) memcpy(out, part->memory, bytes);
    return bytes;
}

size_t arb_form_get(const struct arb_form_part *part, const uint8_t *bytes)
{
    size_t size = (size_t)part->count * arb_form_bytes(part->fields);
    if (size > 0) memcpy(part->memory, bytes, size);
    if (!ARB_FORM_IS_MEMORY) {
        /* Turning the bytes of each value round is its own inverse. */
        arb_form_put_each(part, part->memory);
    }
    return size;
}

/* ---- bounds ---- */

static double number_of(const struct arb_field *field, uint64_t value)
{
    float number;
    uint32_t bits = (uint32_t)value;
    switch (field->type) {
    case ARB_FIELD_I8:
        return (int8_t)value;
    case ARB_FIELD_I16:
        return (int16_t)value;
    case ARB_FIELD_I32:
        return (int32_t)value;
    case ARB_FIELD_F32:
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    default:
        return (double)value;
    }
}

struct limits {
    double low, high;
};

/* False: any value is good. */
static bool limits_of(const struct arb_field *field, struct limits *limits)
{
    *limits = (struct limits){field->low, field->high};
    if (field->low < field->high) return true;
    *limits = (struct limits){-(double)FLT_MAX, (double)FLT_MAX};
    return field->type == ARB_FIELD_F32;
}

/* Floats apart, they are most of what has limits; what is no number is never within. `next`: bytes
 * from one to the next. */
static bool floats_are_within(const uint8_t *at, uint32_t next, uint32_t count,
                              struct limits limits)
{
    bool within = true;
    for (uint32_t i = 0; i < count; i++, at += next) {
        float value;
        memcpy(&value, at, sizeof value);
        within &= (double)value >= limits.low;
        within &= (double)value <= limits.high;
    }
    return within;
}

/* The row's first element of `count` structs, `bytes` each. */
static bool are_within(const struct arb_field *field, const uint8_t *at, uint32_t bytes,
                       uint32_t count, struct limits limits)
{
    uint32_t width = width_of(field);
    if (field->type == ARB_FIELD_F32) return floats_are_within(at, bytes, count, limits);
    for (uint32_t i = 0; i < count; i++, at += bytes) {
        double number = number_of(field, value_in_memory(at, width));
        if (number < limits.low || number > limits.high) return false;
    }
    return true;
}

/* The first row out of its bounds in any of `count` structs. Row by row, as a row's kind and limits
 * cost more than its values. */
static const struct arb_field *check_rows(const struct arb_fields *fields, const uint8_t *memory,
                                          uint32_t bytes, uint32_t count)
{
    struct limits limits;
    for (size_t i = 0; i < fields->count; i++) {
        const struct arb_field *field = &fields->rows[i];
        if (!limits_of(field, &limits)) continue;
        for (uint32_t at = 0; at < field->size; at += width_of(field)) {
            if (!are_within(field, memory + field->offset + at, bytes, count, limits)) return field;
        }
    }
    return NULL;
}

const struct arb_field *arb_form_check(const struct arb_fields *fields, const void *one)
{
    return check_rows(fields, one, 0, 1);
}

/* Structs of floats that all have the same limits, which floats can name, are one long row. */
static bool is_even(const struct arb_fields *fields)
{
    struct limits first, limits;
    if (!limits_of(&fields->rows[0], &first)) return false;
    for (size_t i = 0; i < fields->count; i++) {
        limits_of(&fields->rows[i], &limits);
        if (fields->rows[i].type != ARB_FIELD_F32 || memcmp(&first, &limits, sizeof limits) != 0) {
            return false;
        }
    }
    return !(first.low < (double)(float)first.low || first.low > (double)(float)first.low ||
             first.high < (double)(float)first.high || first.high > (double)(float)first.high);
}

/* Four side by side: as many as the compiler compares at once. */
static bool row_is_within(const uint8_t *at, uint32_t count, float low, float high)
{
    enum { LANES = 4 };
    uint32_t wrong[LANES] = {0};
    float values[LANES] = {low, low, low, low};
    for (; count >= LANES; count -= LANES, at += sizeof values) {
        memcpy(values, at, sizeof values);
        for (uint32_t i = 0; i < LANES; i++) {
            wrong[i] |= (uint32_t)(values[i] >= low && values[i] <= high ? 0 : 1);
        }
    }
    memcpy(values, at, count * sizeof values[0]);
    for (uint32_t i = 0; i < count; i++) {
        wrong[i] |= (uint32_t)(values[i] >= low && values[i] <= high ? 0 : 1);
    }
    return (wrong[0] | wrong[1] | wrong[2] | wrong[3]) == 0;
}

bool arb_form_check_all(const struct arb_form_part *part)
{
    uint32_t bytes = arb_form_bytes(part->fields);
    if (is_even(part->fields)) {
        struct limits limits;
        limits_of(&part->fields->rows[0], &limits);
        return row_is_within(part->memory, part->count * (bytes / 4), (float)limits.low,
                             (float)limits.high);
    }
    return check_rows(part->fields, part->memory, bytes, part->count) == NULL;
}

/* ---- differences ---- */

static const struct arb_field *field_at(const struct arb_fields *fields, uint32_t offset)
{
    const struct arb_field *field = fields->rows;
    while (offset >= (uint32_t)field->offset + field->size) {
        field++;
    }
    return field;
}

bool arb_form_difference(const struct arb_form_part *parts, uint32_t count, const uint8_t *a,
                         const uint8_t *b, struct arb_form_place *place)
{
    size_t start = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = arb_form_bytes(parts[i].fields);
        size_t size = (size_t)parts[i].count * bytes, at = 0;
        if (size > 0 && memcmp(a + start, b + start, size) != 0) {
            while (a[start + at] == b[start + at]) {
                at++;
            }
            uint32_t offset = (uint32_t)(at % bytes);
            const struct arb_field *field = field_at(parts[i].fields, offset);
            *place = (struct arb_form_place){.part = &parts[i],
                                             .index = (uint32_t)(at / bytes),
                                             .field = field,
                                             .element = (offset - field->offset) / width_of(field),
                                             .elements = field->size / width_of(field)};
            return true;
        }
        start += size;
    }
    return false;
}

static void tell_value(const struct arb_field *field, uint64_t value, char *text, size_t size)
{
    if (field->type == ARB_FIELD_F32) {
        snprintf(text, size, "%.9g (0x%08" PRIx32 ")", number_of(field, value), (uint32_t)value);
    } else if (field->type == ARB_FIELD_I8 || field->type == ARB_FIELD_I16 ||
               field->type == ARB_FIELD_I32) {
        snprintf(text, size, "%.0f", number_of(field, value));
    } else {
        snprintf(text, size, "%" PRIu64, value);
    }
}

void arb_form_tell(const struct arb_form_part *parts, const struct arb_form_place *place,
                   const uint8_t *a, const uint8_t *b, char *text, size_t size)
{
    size_t start = 0;
    for (const struct arb_form_part *part = parts; part != place->part; part++) {
        start += (size_t)part->count * arb_form_bytes(part->fields);
    }
    const struct arb_field *field = place->field;
    uint32_t width = width_of(field);
    start += (size_t)place->index * arb_form_bytes(place->part->fields) + field->offset +
             (size_t)place->element * width;
    char first[48], second[48], element[16] = "";
    tell_value(field, value_in_form(a + start, width), first, sizeof first);
    tell_value(field, value_in_form(b + start, width), second, sizeof second);
    if (place->elements > 1) snprintf(element, sizeof element, "[%" PRIu32 "]", place->element);
    snprintf(text, size, "%s[%" PRIu32 "].%s%s: %s, %s", place->part->name, place->index,
             field->name, element, first, second);
}
