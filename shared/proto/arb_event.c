#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

#define U16_MAX 65535.0
#define U32_MAX 4294967295.0

static const struct arb_field head_rows[] = {
    ARB_FIELD(arb_event, tick, U32, 32, 0, U32_MAX,
              "low 32 bits of the published tick it belongs to"),
    ARB_FIELD(arb_event, kind, U8, 8, 0, 255, "table Events; an unknown one is refused"),
};
const struct arb_fields arb_event_head_fields = ARB_FIELDS("EVENT", head_rows);

static const struct arb_field player_rows[] = {
    ARB_FIELD(arb_event_player, slot, U16, 16, 0, ARB_PLAYERS_MAX - 1, "slot"),
    ARB_FIELD(arb_event_player, present, U8, 2, ARB_PRESENCE_LEFT, ARB_PRESENCE_AWAY,
              "1 joined, there or back, 0 left, 2 connection lost, place kept"),
    ARB_FIELD(arb_event_player, team, U8, 8, 0, 255, "team; 0: none"),
    ARB_FIELD(arb_event_player, player_id, U64, 64, 0, 0, "player"),
    ARB_FIELD(arb_event_player, name, TEXT, 0, 0, 0, "name"),
};
const struct arb_fields arb_event_player_fields = ARB_FIELDS("EVENT PLAYER", player_rows);

static const struct arb_field rebind_rows[] = {
    ARB_FIELD(arb_event_rebind, key, KEY, 32, 0, 0, "entity controlled from now on; 0, 0: none"),
    ARB_FIELD(arb_event_rebind, control, U8, 8, 0, 255, "control number from now on"),
};
const struct arb_fields arb_event_rebind_fields = ARB_FIELDS("EVENT REBIND", rebind_rows);

static const struct arb_field death_rows[] = {
    ARB_FIELD(arb_event_death, victim, KEY, 32, 0, 0, "character that died"),
    ARB_FIELD(arb_event_death, victim_slot, U16, 16, 0, U16_MAX, "its player; 65535: nobody's"),
    ARB_FIELD(arb_event_death, killer_slot, U16, 16, 0, U16_MAX, "whose kill; 65535: nobody's"),
    ARB_FIELD(arb_event_death, cause, U8, 8, ARB_CAUSE_SHOT, ARB_CAUSE_LEFT,
              "0 shot, 1 wall, 2 head, 3 body, 4 left the match"),
};
const struct arb_fields arb_event_death_fields = ARB_FIELDS("EVENT DEATH", death_rows);

static const struct arb_field hit_rows[] = {
    ARB_FIELD(arb_event_hit, victim, KEY, 32, 0, 0, "character that was hit"),
    ARB_FIELD(arb_event_hit, shooter_slot, U16, 16, 0, U16_MAX, "who shot; 65535: nobody"),
    ARB_FIELD(arb_event_hit, victim_slot, U16, 16, 0, U16_MAX, "whose character; 65535: nobody's"),
    ARB_FIELD(arb_event_hit, damage, U16, 16, 0, U16_MAX, "points"),
    ARB_FIELD(arb_event_hit, part, U8, 8, 0, 255, "part of the character"),
    ARB_FIELD(arb_event_hit, x, F32, 32, -4096.0, 4096.0, "m, where it hit"),
    ARB_FIELD(arb_event_hit, y, F32, 32, -4096.0, 4096.0, "m"),
};
const struct arb_fields arb_event_hit_fields = ARB_FIELDS("EVENT HIT", hit_rows);

static const struct arb_field impact_rows[] = {
    ARB_FIELD(arb_event_impact, shooter_slot, U16, 16, 0, ARB_PLAYERS_MAX - 1, "who fired"),
    ARB_FIELD(arb_event_impact, action, U16, 16, 0, U16_MAX,
              "low bits of the sequence of the input that fired"),
    ARB_FIELD(arb_event_impact, pellet, U8, 4, 0, 15, "which one of its shot"),
    ARB_FIELD(arb_event_impact, moment, U32, 32, 0, U32_MAX,
              "when in the drawn world, 1/256 tick, low 32 bits"),
    ARB_FIELD(arb_event_impact, x, F32, 32, -4096.0, 4096.0, "m, its centre then"),
    ARB_FIELD(arb_event_impact, y, F32, 32, -4096.0, 4096.0, "m"),
};
const struct arb_fields arb_event_impact_fields = ARB_FIELDS("EVENT IMPACT", impact_rows);

static const struct arb_field score_rows[] = {
    ARB_FIELD(arb_event_score, slot, U16, 16, 0, ARB_PLAYERS_MAX - 1, "slot"),
    ARB_FIELD(arb_event_score, score, I32, 32, -2147483648.0, 2147483647.0, "score"),
    ARB_FIELD(arb_event_score, kills, U16, 16, 0, U16_MAX, "kills"),
    ARB_FIELD(arb_event_score, deaths, U16, 16, 0, U16_MAX, "deaths, all causes"),
    ARB_FIELD(arb_event_score, deaths_by_nobody, U16, 16, 0, U16_MAX,
              "of them, those that are nobody's kill"),
};
const struct arb_fields arb_event_score_fields = ARB_FIELDS("EVENT SCORE", score_rows);

static const struct arb_field phase_rows[] = {
    ARB_FIELD(arb_event_phase, phase, U8, 8, ARB_PHASE_WAITING, ARB_PHASE_ENDED,
              "0 waiting, 1 countdown, 2 live, 3 result, 4 ended"),
    ARB_FIELD(arb_event_phase, round, U8, 8, 0, 255, "round, from 1"),
    ARB_FIELD(arb_event_phase, end_tick, U32, 32, 0, U32_MAX,
              "low 32 bits of the tick at which it ends; 0: open"),
};
const struct arb_fields arb_event_phase_fields = ARB_FIELDS("EVENT PHASE", phase_rows);

static const struct arb_field result_rows[] = {
    ARB_FIELD(arb_event_result, reason, U8, 8, ARB_END_TIME, ARB_END_EMPTY,
              "0 time, 1 score, 2 aborted, 3 nobody, 4 empty"),
    ARB_FIELD(arb_event_result, winner_slot, U16, 16, 0, U16_MAX, "65535: a draw"),
    ARB_FIELD(arb_event_result, winner_team, U8, 8, 0, 255, "0: none"),
};
const struct arb_fields arb_event_result_fields = ARB_FIELDS("EVENT RESULT", result_rows);

const char *arb_end_reason_text(enum arb_end_reason reason)
{
    static const char *const texts[] = {
        [ARB_END_TIME] = "time",     [ARB_END_SCORE] = "score", [ARB_END_ABORTED] = "aborted",
        [ARB_END_NOBODY] = "nobody", [ARB_END_EMPTY] = "empty",
    };
    ARB_ASSERT((size_t)reason < sizeof texts / sizeof texts[0]);
    return texts[reason];
}

const struct arb_fields *arb_event_fields(uint8_t kind)
{
    switch (kind) {
#define X(value, name, suffix, text)                                                               \
    case ARB_EVENT_##name:                                                                         \
        return &arb_event_##suffix##_fields;
        ARB_EVENT_MAP(X)
#undef X
    default:
        return NULL;
    }
}

/* The kinds' structs share one place. */
static size_t kind_offset(void)
{
    return offsetof(struct arb_event, player);
}

size_t arb_event_encode(const struct arb_event *event, uint8_t *bytes, size_t capacity)
{
    const struct arb_fields *fields = arb_event_fields(event->kind);
    ARB_ASSERT(fields != NULL);
    struct arb_bit_writer writer;
    arb_message_begin(&writer, ARB_MESSAGE_EVENT, bytes, capacity);
    arb_fields_write(&writer, &arb_event_head_fields, event);
    arb_fields_write(&writer, fields, (const uint8_t *)event + kind_offset());
    return arb_message_end(&writer);
}

enum arb_decode arb_event_decode(const uint8_t *bytes, size_t size, struct arb_event *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_EVENT, bytes, size);
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    memset(out, 0, sizeof *out);
    reason = arb_fields_read(&reader, &arb_event_head_fields, out);
    if (reason == ARB_DECODE_OK) {
        const struct arb_fields *fields = arb_event_fields(out->kind);
        reason = fields == NULL ? ARB_DECODE_RANGE
                                : arb_fields_read(&reader, fields, (uint8_t *)out + kind_offset());
    }
    return arb_message_close(&reader, reason);
}

/* ---- EVENTS ---- */

static const struct arb_field events_rows[] = {
    ARB_FIELD(arb_events, tick, U32, 32, 0, U32_MAX,
              "low 32 bits of the published tick that the first belongs to"),
    ARB_FIELD(arb_events, count, U16, 8, 1, ARB_EVENTS_MAX, "events that follow"),
};
const struct arb_fields arb_events_fields = ARB_FIELDS("EVENTS", events_rows);

enum { COUNT_AT = 8 + 32, COUNT_BITS = 8, KIND_BITS = 8 };

static void write_one(struct arb_bit_writer *writer, const struct arb_event *event, uint32_t before)
{
    const struct arb_fields *fields = arb_event_fields(event->kind);
    ARB_ASSERT(fields != NULL);
    ARB_ASSERT(event->tick - before <= UINT16_MAX);
    arb_small_write(writer, &arb_small_id, event->tick - before);
    arb_bits_write(writer, event->kind, KIND_BITS);
    arb_fields_write(writer, fields, (const uint8_t *)event + kind_offset());
}

size_t arb_events_encode(const struct arb_event *list, uint32_t count, uint8_t *bytes,
                         size_t capacity, uint32_t *used)
{
    ARB_ASSERT(count > 0);
    struct arb_bit_writer writer;
    struct arb_events head = {.tick = list[0].tick, .count = 1};
    arb_message_begin(&writer, ARB_MESSAGE_EVENTS, bytes, capacity);
    arb_fields_write(&writer, &arb_events_fields, &head);
    uint32_t written = 0;
    *used = 0;
    if (writer.full) return 0;
    while (written < count && written < ARB_EVENTS_MAX) {
        size_t before = writer.bit;
        write_one(&writer, &list[written], written > 0 ? list[written - 1].tick : list[0].tick);
        if (writer.full) {
            arb_bits_write_undo(&writer, before);
            break;
        }
        written++;
    }
    if (written == 0) return 0;
    arb_bits_rewrite(&writer, COUNT_AT, written, COUNT_BITS);
    *used = written;
    return arb_message_end(&writer);
}

static enum arb_decode read_one(struct arb_bit_reader *reader, uint32_t before,
                                struct arb_event *event)
{
    memset(event, 0, sizeof *event);
    event->tick = before + arb_small_read(reader, &arb_small_id);
    event->kind = (uint8_t)arb_bits_read(reader, KIND_BITS);
    const struct arb_fields *fields = arb_event_fields(event->kind);
    return fields == NULL ? ARB_DECODE_RANGE
                          : arb_fields_read(reader, fields, (uint8_t *)event + kind_offset());
}

enum arb_decode arb_events_decode(const uint8_t *bytes, size_t size, struct arb_events *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_EVENTS, bytes, size);
    if (reason == ARB_DECODE_OK) {
        reason = arb_fields_read(&reader, &arb_events_fields, out);
    }
    for (uint32_t i = 0; reason == ARB_DECODE_OK && !reader.ended && i < out->count; i++) {
        reason = read_one(&reader, i > 0 ? out->list[i - 1].tick : out->tick, &out->list[i]);
    }
    return arb_message_close(&reader, reason);
}
