/* The codec's parts that its files share: structs by their tables, small values, the end of a
 * message. For shared/proto and its tests only.
 */
#ifndef ARB_PROTO_INTERNAL_H
#define ARB_PROTO_INTERNAL_H

#include "shared/base/arb_bits.h"
#include "shared/proto/arb_delta.h"

/* Writes the struct at `from` by its table. A value outside its row is our mistake (asserted). */
void arb_fields_write(struct arb_bit_writer *writer, const struct arb_fields *fields,
                      const void *from);

/* Reads into the struct at `to`; members without a row stay as they are. ARB_DECODE_SHORT or _RANGE
 * on failure. */
enum arb_decode arb_fields_read(struct arb_bit_reader *reader, const struct arb_fields *fields,
                                void *to);

/* Elements of a row's member: more than 1 for arrays of numbers. */
size_t arb_field_elements(const struct arb_field *field);
bool arb_field_is_signed(uint8_t type);
/* One number of that type at `at`. */
int64_t arb_field_load(uint8_t type, const uint8_t *at);
void arb_field_store(uint8_t type, uint8_t *at, int64_t value);
/* Whether the row permits it. */
bool arb_field_holds(const struct arb_field *field, int64_t value);
bool arb_field_holds_float(const struct arb_field *field, float value);

/* A small value: 2 bits name one of four widths (ascending), then that many bits. The smallest that
 * holds it is written; the largest must hold every value of the caller. */
struct arb_small {
    uint8_t widths[4];
};
/* The form of a value, for writing it together with others: its bits, and as result how many. */
unsigned arb_small_code(const struct arb_small *code, uint32_t value, uint64_t *bits);
void arb_small_write(struct arb_bit_writer *writer, const struct arb_small *code, uint32_t value);
uint32_t arb_small_read(struct arb_bit_reader *reader, const struct arb_small *code);

/* A signed difference as a value without sign, small ones first: 0, -1, 1, -2, ... */
static inline uint32_t arb_fold(int32_t difference)
{
    uint32_t doubled = (uint32_t)difference << 1;
    return difference < 0 ? ~doubled : doubled;
}

static inline int32_t arb_unfold(uint32_t folded)
{
    uint32_t half = folded >> 1;
    return (int32_t)((folded & 1) != 0 ? ~half : half);
}

/* The low `bits` (1..32) of a value, read as a signed number. */
static inline int32_t arb_wrap(int64_t value, unsigned bits)
{
    uint32_t low = (uint32_t)((uint64_t)value << (32 - bits));
    int32_t wrapped = (int32_t)low;
    return wrapped >> (32 - bits);
}

/* A folded difference of a value of `bits` bits: 2 bits name one of three widths (ascending, `bits`
 * where that is less) or, as the fourth, `bits`. */
struct arb_step {
    uint8_t widths[3];
};
void arb_step_write(struct arb_bit_writer *writer, const struct arb_step *code, unsigned bits,
                    uint32_t folded);
uint32_t arb_step_read(struct arb_bit_reader *reader, const struct arb_step *code, unsigned bits);
/* Two of them under one width. */
void arb_steps_write(struct arb_bit_writer *writer, const struct arb_step *code, unsigned bits,
                     uint32_t a, uint32_t b);
void arb_steps_read(struct arb_bit_reader *reader, const struct arb_step *code, unsigned bits,
                    uint32_t *a, uint32_t *b);

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
extern const struct arb_fields arb_welcome_fields, arb_part_fields, arb_scores_fields,
    arb_events_fields, arb_snapshot_header_fields, arb_event_head_fields;

#define X(value, name, suffix, text) extern const struct arb_fields arb_event_##suffix##_fields;
ARB_EVENT_MAP(X)
#undef X

/* ---- what full records and updates share ---- */

/* Whether `bits` (1..63) hold it as a signed number. */
bool arb_fits(int64_t value, unsigned bits);
/* Bits of the number of a kind. */
unsigned arb_kind_bits(const struct arb_schema *schema);
void arb_value_write(struct arb_bit_writer *writer, const struct arb_kind_field *field, int32_t q);
int32_t arb_value_read(struct arb_bit_reader *reader, const struct arb_kind_field *field);

/* A body's points one after the other, each against the straight continuation of the two before. */
struct arb_trail {
    const struct arb_kind_field *field; /* of x */
    int64_t x, y;                       /* the point before */
    int64_t step_x, step_y;             /* from the one before that */
};
enum { ARB_TRAIL_POINT_EXTRA_BITS = 2 + 2 * 3 }; /* a point costs 2 * bits of x more at most */
void arb_trail_write(struct arb_bit_writer *writer, struct arb_trail *trail,
                     struct arb_point point);
/* False: not within the field. */
bool arb_trail_read(struct arb_bit_reader *reader, struct arb_trail *trail,
                    struct arb_point *point);

void arb_key_write(struct arb_bit_writer *writer, bool first, struct arb_key last,
                   struct arb_key key);
enum arb_decode arb_key_read(struct arb_bit_reader *reader, bool first, struct arb_key last,
                             struct arb_key *out);

/* What arb_entity_encode wrote, into *entity (zeroed but for its key) and at the end of the frame's
 * points. */
enum arb_decode arb_entity_read(struct arb_bit_reader *reader, const struct arb_schema *schema,
                                struct arb_frame *frame, uint32_t point_capacity,
                                struct arb_published *entity);

/* ---- parts of the stream (arb_delta.c) ---- */

/* The record of an update, as arb_delta_record wrote it, from `from` to `tick`: into *entity, whose
 * key and kind stand, and at the end of the frame's points. account NULL: nobody counts. */
enum arb_decode arb_delta_record_read(struct arb_bit_reader *reader,
                                      const struct arb_delta_rule *rule,
                                      const struct arb_delta_state *from, arb_tick tick,
                                      struct arb_frame *frame, uint32_t point_capacity,
                                      struct arb_published *entity,
                                      struct arb_delta_kind_account *account);
/* Where x (y) of that kind is expected `ticks` after `from`, when its velocity is known already. */
int64_t arb_delta_expected(const struct arb_delta_rule *rule, const struct arb_kind *kind,
                           const int32_t from[ARB_KIND_FIELDS_MAX], int32_t velocity_now, bool is_y,
                           uint32_t ticks);

/* Own state, `ticks` after `base` (NULL: after all zeros). */
void arb_delta_own_write(struct arb_bit_writer *writer, const struct arb_delta_rule *rule,
                         const struct arb_own_part *own, const struct arb_own_part *base,
                         uint32_t ticks);
/* own->own is the caller's struct. */
enum arb_decode arb_delta_own_read(struct arb_bit_reader *reader, const struct arb_delta_rule *rule,
                                   const struct arb_own_part *base, uint32_t ticks,
                                   struct arb_own_part *own, void *state);

/* Every table of the protocol that this module owns, in the order of PROTOCOL.md. */
extern const struct arb_fields *const arb_proto_tables[];
extern const size_t arb_proto_table_count;

/* Widths of the small values (PROTOCOL.md "Small values"). */
extern const struct arb_small arb_small_id, arb_small_generation, arb_small_points, arb_small_gap,
    arb_small_delay, arb_small_held, arb_small_added, arb_small_explicit, arb_small_counts,
    arb_small_score, arb_small_tally;

/* Widths of the differences (PROTOCOL.md "Differences"). */
extern const struct arb_step arb_step_speed, arb_step_place, arb_step_moved, arb_step_turn,
    arb_step_other, arb_step_count, arb_step_cut, arb_step_float, arb_step_own;

#endif
