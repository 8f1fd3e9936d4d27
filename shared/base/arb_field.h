/* Field tables: one row describes a member of a plain struct once. The codec, the schema hash,
 * PROTOCOL.md's check and (later) inspector and metrics are all derived from the rows, so none of
 * them can forget a member.
 */
#ifndef ARB_FIELD_H
#define ARB_FIELD_H

#include <stddef.h>
#include <stdint.h>

enum arb_field_type {
    ARB_FIELD_U8,
    ARB_FIELD_U16,
    ARB_FIELD_U32,
    ARB_FIELD_U64,
    ARB_FIELD_I8,
    ARB_FIELD_I16,
    ARB_FIELD_I32,
    ARB_FIELD_F32,   /* the 32 bits as they are; must be finite and within low..high */
    ARB_FIELD_KEY,   /* struct arb_key: 16 + 16 bits */
    ARB_FIELD_BYTES, /* `size` bytes */
    ARB_FIELD_TEXT,  /* NUL-terminated UTF-8 in `size` bytes; on the wire 8 bits of length and the
                        bytes */
};

struct arb_field {
    const char *name;
    uint16_t offset;  /* in the struct */
    uint16_t size;    /* of the member, bytes */
    uint8_t type;     /* enum arb_field_type */
    uint8_t bits;     /* on the wire, integers only */
    double low, high; /* permitted values, numbers only; the decoder refuses others */
    const char *doc;  /* unit and meaning, as PROTOCOL.md prints it */
};

struct arb_fields {
    const char *name;
    const struct arb_field *rows;
    size_t count;
};

/* One row of a table for `struct type`. */
#define ARB_FIELD(type, member, kind, wire_bits, low_value, high_value, text)                      \
    {                                                                                              \
#member, (uint16_t)offsetof(struct type, member),                                          \
            (uint16_t)sizeof(((struct type *)0)->member), ARB_FIELD_##kind, (wire_bits),           \
            (low_value), (high_value), (text)                                                      \
    }

#define ARB_FIELDS(table_name, rows_array)                                                         \
    {                                                                                              \
        (table_name), (rows_array), sizeof(rows_array) / sizeof((rows_array)[0])                   \
    }

#endif
