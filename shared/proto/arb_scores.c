/* SCORES: tick and count by the table, then the lines:
 *
 *   slot step (small) | score (small, folded) | kills (small) | deaths (small) | by nobody (small)
 */
#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

static const struct arb_field head_rows[] = {
    ARB_FIELD(arb_scores, tick, U32, 32, 0, 4294967295.0,
              "low 32 bits of the published tick whose lines these are"),
    ARB_FIELD(arb_scores, count, U16, 11, 1, ARB_SCORES_LINES_MAX, "lines that follow"),
};
const struct arb_fields arb_scores_fields = ARB_FIELDS("SCORES", head_rows);

const struct arb_small arb_small_score = {{4, 8, 14, 32}};
const struct arb_small arb_small_tally = {{0, 4, 8, 16}};

enum { COUNT_AT = 8 + 32, COUNT_BITS = 11 };

static void write_line(struct arb_bit_writer *writer, const struct arb_event_score *line,
                       uint32_t step)
{
    arb_small_write(writer, &arb_small_id, step);
    arb_small_write(writer, &arb_small_score, arb_fold(line->score));
    arb_small_write(writer, &arb_small_tally, line->kills);
    arb_small_write(writer, &arb_small_tally, line->deaths);
    arb_small_write(writer, &arb_small_tally, line->deaths_by_nobody);
}

size_t arb_scores_encode(uint32_t tick, const struct arb_event_score *lines, uint32_t count,
                         uint8_t *bytes, size_t capacity, uint32_t *used)
{
    ARB_ASSERT(count > 0);
    struct arb_bit_writer writer;
    struct arb_scores head = {.tick = tick, .count = 1};
    arb_message_begin(&writer, ARB_MESSAGE_SCORES, bytes, capacity);
    arb_fields_write(&writer, &arb_scores_fields, &head);
    uint32_t next = 0, written = 0;
    *used = 0;
    if (writer.full) return 0;
    while (written < count && written < ARB_SCORES_LINES_MAX) {
        const struct arb_event_score *line = &lines[written];
        ARB_ASSERT(line->slot >= next && line->slot < ARB_PLAYERS_MAX);
        size_t before = writer.bit;
        write_line(&writer, line, line->slot - next);
        if (writer.full) {
            arb_bits_write_undo(&writer, before);
            break;
        }
        next = line->slot + 1U;
        written++;
    }
    if (written == 0) return 0;
    arb_bits_rewrite(&writer, COUNT_AT, written, COUNT_BITS);
    *used = written;
    return arb_message_end(&writer);
}

static enum arb_decode read_line(struct arb_bit_reader *reader, uint32_t next,
                                 struct arb_event_score *line)
{
    uint32_t slot = next + arb_small_read(reader, &arb_small_id);
    line->slot = (uint16_t)slot;
    line->score = arb_unfold(arb_small_read(reader, &arb_small_score));
    line->kills = (uint16_t)arb_small_read(reader, &arb_small_tally);
    line->deaths = (uint16_t)arb_small_read(reader, &arb_small_tally);
    line->deaths_by_nobody = (uint16_t)arb_small_read(reader, &arb_small_tally);
    return slot < ARB_PLAYERS_MAX ? ARB_DECODE_OK : ARB_DECODE_RANGE;
}

enum arb_decode arb_scores_decode(const uint8_t *bytes, size_t size, struct arb_scores *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_SCORES, bytes, size);
    if (reason == ARB_DECODE_OK) {
        reason = arb_fields_read(&reader, &arb_scores_fields, out);
    }
    uint32_t next = 0;
    for (uint32_t i = 0; reason == ARB_DECODE_OK && !reader.ended && i < out->count; i++) {
        reason = read_line(&reader, next, &out->lines[i]);
        next = out->lines[i].slot + 1U;
    }
    return arb_message_close(&reader, reason);
}
