#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

#define U16_MAX 65535.0
#define U32_MAX 4294967295.0

static const struct arb_field hello_rows[] = {
    ARB_FIELD(arb_hello, version, U16, 16, 0, U16_MAX, "protocol version of the client"),
    ARB_FIELD(arb_hello, schema_hash, U64, 64, 0, 0, "schema hash of the client"),
    ARB_FIELD(arb_hello, name, TEXT, 0, 0, 0, "player's name, as shown to others"),
    ARB_FIELD(arb_hello, role, U8, 1, ARB_ROLE_PLAYER, ARB_ROLE_SPECTATOR,
              "0 player, 1 spectator: no character"),
    ARB_FIELD(arb_hello, resume, U8, 1, 0, 1, "1: comes back as the player of the token"),
    ARB_FIELD(arb_hello, token, BYTES, 0, 0, 0, "of a WELCOME; zeros without resume"),
};
const struct arb_fields arb_hello_fields = ARB_FIELDS("HELLO", hello_rows);

static const struct arb_field refused_rows[] = {
    ARB_FIELD(arb_refused, reason, U8, 8, ARB_REFUSED_VERSION, ARB_REFUSED_REPLACED,
              "table Refusals"),
    ARB_FIELD(arb_refused, server_version, U16, 16, 0, U16_MAX, "protocol version of the server"),
    ARB_FIELD(arb_refused, client_version, U16, 16, 0, U16_MAX, "as the HELLO said; 0: none came"),
    ARB_FIELD(arb_refused, server_hash, U64, 64, 0, 0, "schema hash of the server"),
    ARB_FIELD(arb_refused, client_hash, U64, 64, 0, 0, "as the HELLO said; 0: none came"),
};
const struct arb_fields arb_refused_fields = ARB_FIELDS("REFUSED", refused_rows);

static const struct arb_field ping_rows[] = {
    ARB_FIELD(arb_ping, sequence, U16, 16, 0, U16_MAX, "any number; the answer repeats it"),
};
const struct arb_fields arb_ping_fields = ARB_FIELDS("PING", ping_rows);

static const struct arb_field pong_rows[] = {
    ARB_FIELD(arb_pong, sequence, U16, 16, 0, U16_MAX, "of the ping"),
    ARB_FIELD(arb_pong, tick, U32, 32, 0, U32_MAX,
              "low 32 bits of the tick whose step came next when this was sent"),
    ARB_FIELD(arb_pong, fraction, U16, 16, 0, U16_MAX,
              "1/65536 tick that had passed towards that step"),
    ARB_FIELD(arb_pong, wait_us, U32, 32, 0, U32_MAX,
              "microseconds from the ping's arrival to sending this"),
};
const struct arb_fields arb_pong_fields = ARB_FIELDS("PONG", pong_rows);

static const struct arb_field spectate_rows[] = {
    ARB_FIELD(arb_spectate, number, U16, 16, 0, U16_MAX,
              "+1 each; what comes after a newer one is only an acknowledgement"),
    ARB_FIELD(arb_spectate, has_ack, U8, 1, 0, 1, "a snapshot was committed"),
    ARB_FIELD(arb_spectate, ack_snapshot, U16, 16, 0, U16_MAX,
              "low 16 bits of the newest committed snapshot's id"),
    ARB_FIELD(arb_spectate, ack_mask, U32, 32, 0, U32_MAX,
              "bit i: snapshot ack_snapshot - 1 - i was committed too"),
    ARB_FIELD(arb_spectate, follow, U16, 16, 0, U16_MAX,
              "player to follow, or the next one that is there; 65535: free camera"),
    ARB_FIELD(arb_spectate, x, F32, 32, -4096.0, 4096.0, "m, where the free camera looks"),
    ARB_FIELD(arb_spectate, y, F32, 32, -4096.0, 4096.0, "m"),
};
const struct arb_fields arb_spectate_fields = ARB_FIELDS("SPECTATE", spectate_rows);

static const struct arb_field counts_rows[] = {
    ARB_FIELD(arb_counts, ticks, U32, 32, 0, U32_MAX, "live ticks with this player present"),
    ARB_FIELD(arb_counts, inputs_consumed, U32, 32, 0, U32_MAX, "ticks whose input came in time"),
    ARB_FIELD(arb_counts, inputs_starved, U32, 32, 0, U32_MAX, "ticks without"),
    ARB_FIELD(arb_counts, inputs_late, U32, 32, 0, U32_MAX, "inputs that came after their tick"),
    ARB_FIELD(arb_counts, inputs_duplicate, U32, 32, 0, U32_MAX, "inputs that were known or older"),
    ARB_FIELD(arb_counts, inputs_refused, U32, 32, 0, U32_MAX,
              "inputs too far ahead, of another control number, or late with a press that waits"),
    ARB_FIELD(arb_counts, edges, U32, 32, 0, U32_MAX, "presses taken, by button bit"),
};
const struct arb_fields arb_counts_fields = ARB_FIELDS("COUNTS", counts_rows);

static const struct arb_field late_rows[] = {
    ARB_FIELD(arb_late, tick, U32, 32, 0, U32_MAX, "low 32 bits of the published tick of the step"),
    ARB_FIELD(arb_late, late_ms, U16, 16, 0, U16_MAX, "ms after its time; 65535: or more"),
};
const struct arb_fields arb_late_fields = ARB_FIELDS("LATE", late_rows);

const struct arb_fields *const arb_proto_tables[] = {
    &arb_hello_fields,        &arb_refused_fields,
    &arb_welcome_fields,      &arb_part_fields,
    &arb_ping_fields,         &arb_pong_fields,
    &arb_spectate_fields,     &arb_snapshot_header_fields,
    &arb_counts_fields,       &arb_late_fields,
    &arb_event_head_fields,   &arb_event_player_fields,
    &arb_event_rebind_fields, &arb_event_death_fields,
    &arb_event_hit_fields,    &arb_event_impact_fields,
    &arb_event_score_fields,  &arb_event_phase_fields,
    &arb_event_result_fields, &arb_scores_fields,
    &arb_events_fields,
};
const size_t arb_proto_table_count = sizeof arb_proto_tables / sizeof arb_proto_tables[0];

const char *arb_decode_text(enum arb_decode reason)
{
    static const char *const texts[ARB_DECODE_REASONS] = {
        [ARB_DECODE_OK] = "ok",
        [ARB_DECODE_EMPTY] = "empty message",
        [ARB_DECODE_UNKNOWN] = "unknown message type",
        [ARB_DECODE_SHORT] = "message ended early",
        [ARB_DECODE_LONG] = "bytes left over",
        [ARB_DECODE_RANGE] = "value out of range",
        [ARB_DECODE_ORDER] = "values out of order",
    };
    ARB_ASSERT((unsigned)reason < ARB_DECODE_REASONS);
    return texts[reason];
}

const char *arb_refusal_text(uint8_t reason)
{
    switch (reason) {
#define X(value, name, text)                                                                       \
    case ARB_REFUSED_##name:                                                                       \
        return text;
        ARB_REFUSAL_MAP(X)
#undef X
    default:
        return "unknown reason";
    }
}

#define X(value, name, sender, channel, text)                                                      \
    _Static_assert((value) > 0 && (value) < ARB_MESSAGE_TYPES, "arrays by type");
ARB_MESSAGE_MAP(X)
#undef X

const char *arb_message_name(int type)
{
    switch (type) {
#define X(value, name, sender, channel, text)                                                      \
    case ARB_MESSAGE_##name:                                                                       \
        return #name;
        ARB_MESSAGE_MAP(X)
#undef X
    default:
        return NULL;
    }
}

int arb_message_type(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return 0;
    }
    switch (bytes[0]) {
#define X(value, name, sender, channel, text) case ARB_MESSAGE_##name:
        ARB_MESSAGE_MAP(X)
#undef X
        return bytes[0];
    default:
        return 0;
    }
}

bool arb_hello_peek(const uint8_t *bytes, size_t size, uint16_t *version, uint64_t *schema_hash)
{
    if (size < 11 || bytes[0] != ARB_MESSAGE_HELLO) {
        return false;
    }
    struct arb_bit_reader reader;
    arb_bits_read_begin(&reader, bytes + 1, size - 1);
    *version = (uint16_t)arb_bits_read(&reader, 16);
    *schema_hash = arb_bits_read(&reader, 64);
    return true;
}

void arb_message_begin(struct arb_bit_writer *writer, enum arb_message_type type, uint8_t *bytes,
                       size_t capacity)
{
    arb_bits_write_begin(writer, bytes, capacity);
    arb_bits_write(writer, (uint64_t)type, 8);
}

size_t arb_message_end(struct arb_bit_writer *writer)
{
    return writer->full ? 0 : arb_bits_write_end(writer);
}

enum arb_decode arb_message_open(struct arb_bit_reader *reader, enum arb_message_type type,
                                 const uint8_t *bytes, size_t size)
{
    arb_bits_read_begin(reader, bytes, size);
    if (size == 0) {
        return ARB_DECODE_EMPTY;
    }
    return arb_bits_read(reader, 8) == (uint64_t)type ? ARB_DECODE_OK : ARB_DECODE_UNKNOWN;
}

enum arb_decode arb_message_close(const struct arb_bit_reader *reader, enum arb_decode reason)
{
    if (reader->ended) {
        return ARB_DECODE_SHORT;
    }
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    if (reader->size_bits - reader->bit > 7) {
        return ARB_DECODE_LONG;
    }
    return arb_bits_read_end(reader) ? ARB_DECODE_OK : ARB_DECODE_RANGE;
}

bool arb_tick_widen16(uint16_t low, arb_tick near, arb_tick *out)
{
    int16_t step = (int16_t)(uint16_t)(low - (uint16_t)near);
    if (step < 0 && (arb_tick)(-(int32_t)step) > near) {
        return false;
    }
    *out = arb_widen16(low, near);
    return true;
}

unsigned arb_small_code(const struct arb_small *code, uint32_t value, uint64_t *bits)
{
    unsigned width = 0;
    while (width < 3 && value >> code->widths[width] != 0) {
        width++;
    }
    *bits = width | (uint64_t)value << 2;
    return 2U + code->widths[width];
}

void arb_small_write(struct arb_bit_writer *writer, const struct arb_small *code, uint32_t value)
{
    uint64_t bits;
    unsigned count = arb_small_code(code, value, &bits);
    arb_bits_write(writer, bits, count);
}

uint32_t arb_small_read(struct arb_bit_reader *reader, const struct arb_small *code)
{
    unsigned width = (unsigned)arb_bits_read(reader, 2);
    return (uint32_t)arb_bits_read(reader, code->widths[width]);
}

static unsigned step_width(const struct arb_step *code, unsigned selector, unsigned bits)
{
    return selector < 3 && code->widths[selector] < bits ? code->widths[selector] : bits;
}

static unsigned step_selector(const struct arb_step *code, unsigned bits, uint32_t folded)
{
    unsigned selector = 0;
    while (selector < 3 && (uint64_t)folded >> step_width(code, selector, bits) != 0) {
        selector++;
    }
    return selector;
}

void arb_step_write(struct arb_bit_writer *writer, const struct arb_step *code, unsigned bits,
                    uint32_t folded)
{
    unsigned selector = step_selector(code, bits, folded);
    arb_bits_write(writer, selector | (uint64_t)folded << 2, 2 + step_width(code, selector, bits));
}

uint32_t arb_step_read(struct arb_bit_reader *reader, const struct arb_step *code, unsigned bits)
{
    unsigned selector = (unsigned)arb_bits_read(reader, 2);
    return (uint32_t)arb_bits_read(reader, step_width(code, selector, bits));
}

void arb_steps_write(struct arb_bit_writer *writer, const struct arb_step *code, unsigned bits,
                     uint32_t a, uint32_t b)
{
    unsigned selector = step_selector(code, bits, a | b);
    unsigned width = step_width(code, selector, bits);
    arb_bits_write(writer, selector | (uint64_t)a << 2, 2 + width);
    arb_bits_write(writer, b, width);
}

void arb_steps_read(struct arb_bit_reader *reader, const struct arb_step *code, unsigned bits,
                    uint32_t *a, uint32_t *b)
{
    unsigned width = step_width(code, (unsigned)arb_bits_read(reader, 2), bits);
    *a = (uint32_t)arb_bits_read(reader, width);
    *b = (uint32_t)arb_bits_read(reader, width);
}

size_t arb_message_encode(enum arb_message_type type, const struct arb_fields *fields,
                          const void *message, uint8_t *bytes, size_t capacity)
{
    struct arb_bit_writer writer;
    arb_message_begin(&writer, type, bytes, capacity);
    arb_fields_write(&writer, fields, message);
    return arb_message_end(&writer);
}

enum arb_decode arb_message_decode(enum arb_message_type type, const struct arb_fields *fields,
                                   const uint8_t *bytes, size_t size, void *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, type, bytes, size);
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    return arb_message_close(&reader, arb_fields_read(&reader, fields, out));
}
