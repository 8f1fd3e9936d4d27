/* The codec's parts that its files share: structs by their tables, small values, the end of a
 * message. For shared/proto and its tests only.
 */
#ifndef ARB_PROTO_INTERNAL_H
#define ARB_PROTO_INTERNAL_H

#include "shared/base/arb_bits.h"
#include "shared/proto/arb_proto.h"

/* Writes the struct at `from` by its table. A value outside its row is our mistake (asserted). */
void arb_fields_write(struct arb_bit_writer *writer, const struct arb_fields *fields,
                      const void *from);

/* Reads into the struct at `to`; members without a row stay as they are. ARB_DECODE_SHORT or _RANGE
 * on failure. */
enum arb_decode arb_fields_read(struct arb_bit_reader *reader, const struct arb_fields *fields,
                                void *to);

/* Elements of a row's member: more than 1 for arrays of numbers. */
size_t arb_field_elements(const struct arb_field *field);

/* A small value: 2 bits name one of four widths (ascending), then that many bits. The smallest that
 * holds it is written; the largest must hold every value of the caller. */
struct arb_small {
    uint8_t widths[4];
};
/* The form of a value, for writing it together with others: its bits, and as result how many. */
unsigned arb_small_code(const struct arb_small *code, uint32_t value, uint64_t *bits);
void arb_small_write(struct arb_bit_writer *writer, const struct arb_small *code, uint32_t value);
uint32_t arb_small_read(struct arb_bit_reader *reader, const struct arb_small *code);

/* Writes the type byte; the rest of the message follows. */
void arb_message_begin(struct arb_bit_writer *writer, enum arb_message_type type, uint8_t *bytes,
                       size_t capacity);
/* Bytes of the message, 0 when something did not fit. */
size_t arb_message_end(struct arb_bit_writer *writer);

/* Checks the type byte. */
enum arb_decode arb_message_open(struct arb_bit_reader *reader, enum arb_message_type type,
                                 const uint8_t *bytes, size_t size);
/* What a decoder returns at its end: `reason` when that is one already, else whether all was read
 * and the last byte is filled with zeros. What was read past the end wins: it explains every other
 * reason. */
enum arb_decode arb_message_close(const struct arb_bit_reader *reader, enum arb_decode reason);

/* Tick whose low 16 bits are given, the nearest to `near`. False: it would lie before 0. */
bool arb_tick_widen16(uint16_t low, arb_tick near, arb_tick *out);

/* Heads of the messages that are more than a table. */
extern const struct arb_fields arb_welcome_fields, arb_part_fields, arb_snapshot_header_fields,
    arb_own_part_fields, arb_event_head_fields;

#define X(value, name, suffix, text) extern const struct arb_fields arb_event_##suffix##_fields;
ARB_EVENT_MAP(X)
#undef X

/* Every table of the protocol that this module owns, in the order of PROTOCOL.md. */
extern const struct arb_fields *const arb_proto_tables[];
extern const size_t arb_proto_table_count;

/* Widths of the small values (PROTOCOL.md "Small values"). */
extern const struct arb_small arb_small_id, arb_small_generation, arb_small_points, arb_small_gap,
    arb_small_delay, arb_small_held;

#endif
