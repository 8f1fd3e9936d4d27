/* The one form in which state leaves memory: the rows of a field table in their order,
 * little-endian, without padding, the same bytes on every processor (spec/determinism.md). Saved
 * blocks, keyframes and the names of fields that differ are derived from the same rows. Here for
 * structs whose rows name every byte in the order of memory, so that where memory already is
 * little-endian it is copied. Knows no module's structs; never allocates.
 */
#ifndef ARB_FORM_H
#define ARB_FORM_H

#include "shared/base/arb_field.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { ARB_FORM_IS_MEMORY = 1 };
#else
enum { ARB_FORM_IS_MEMORY = 0 };
#endif

/* A row whose values are from low to high; a member that is an array has one row. Both 0: any
 * value, but floats are finite. */
#define ARB_FORM(type, member, kind, low, high) ARB_FIELD(type, member, kind, 0, low, high, "")
/* Bytes that are always 0. */
#define ARB_FORM_ZERO(type, member, kind) ARB_FIELD(type, member, kind, 0, 0, 0.5, "")

/* Many structs of one table, in memory. */
struct arb_form_part {
    const char *name; /* "players" */
    const struct arb_fields *fields;
    uint32_t count;
    void *memory; /* [count] structs of arb_form_bytes(fields) */
};

/* Of one struct. */
uint32_t arb_form_bytes(const struct arb_fields *fields);

/* True when the rows name each of the `bytes` of a struct once, in order: what all else here asks
 * for. For tests. */
bool arb_form_covers(const struct arb_fields *fields, size_t bytes);

/* The part's defined form into out, and back; returns its bytes, count * arb_form_bytes. `bytes`
 * need not be aligned. */
size_t arb_form_put(const struct arb_form_part *part, uint8_t *out);
size_t arb_form_get(const struct arb_form_part *part, const uint8_t *bytes);
/* What arb_form_put does where memory has another form. For tests on machines where it has not. */
size_t arb_form_put_each(const struct arb_form_part *part, uint8_t *out);

/* Plain arrays of numbers from their form: count * 2 and count * 4 bytes. */
static inline void arb_form_get_i16(const uint8_t *bytes, uint32_t count, int16_t *values)
{
    for (uint32_t i = 0; i < count && !ARB_FORM_IS_MEMORY; i++) {
        values[i] = (int16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8);
    }
    if (ARB_FORM_IS_MEMORY) memcpy(values, bytes, count * sizeof values[0]);
}

static inline void arb_form_get_i32(const uint8_t *bytes, uint32_t count, int32_t *values)
{
    for (uint32_t i = 0; i < count && !ARB_FORM_IS_MEMORY; i++) {
        values[i] = (int32_t)(bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                              (uint32_t)bytes[4 * i + 2] << 16 | (uint32_t)bytes[4 * i + 3] << 24);
    }
    if (ARB_FORM_IS_MEMORY) memcpy(values, bytes, count * sizeof values[0]);
}

/* The first row that holds a value out of its bounds; NULL: none. `one`: a struct in memory. */
const struct arb_field *arb_form_check(const struct arb_fields *fields, const void *one);

/* Whether all structs of the part are within their bounds. */
bool arb_form_check_all(const struct arb_form_part *part);

struct arb_form_place {
    const struct arb_form_part *part;
    uint32_t index; /* of the struct */
    const struct arb_field *field;
    uint32_t element; /* of a member that is an array */
    uint32_t elements;
};

/* Where the first byte that differs of two blocks lies, parts one after another. False: they are
 * equal. */
bool arb_form_difference(const struct arb_form_part *parts, uint32_t count, const uint8_t *a,
                         const uint8_t *b, struct arb_form_place *place);

/* "players[3].own.magazine[1]: 7, 8" into text; a and b as above. */
void arb_form_tell(const struct arb_form_part *parts, const struct arb_form_place *place,
                   const uint8_t *a, const uint8_t *b, char *text, size_t size);

#endif
