/* From a match to the records of its journal. */
#include "server/match/match_journal.h"

#include "server/match/match_codec.h"
#include "server/match/match_internal.h"
#include "server/match/match_rollback.h"
#include "server/match/match_save.h"
#include "shared/base/arb_assert.h"

#include <string.h>

/* Most that a tick may take; more is a gap. Untouched memory costs nothing. */
enum { RECORD_BYTES = 1 << 20, TAIL_BYTES = 64, TRY_AGAIN_TICKS = 600 };

struct match_journal {
    struct match_journal_sink sink;
    struct match_journal_counts counts;
    struct match_codec *codec;
    uint32_t keyframe_ticks, tick_rate;
    uint8_t *record;          /* [RECORD_BYTES] */
    uint8_t *keyframe;        /* [keyframe_bytes] */
    uint32_t keyframe_bytes;  /* most that one may take */
    uint32_t newest_keyframe; /* bytes of the newest that was saved; 0: none yet */
    struct match_result *result;
    uint8_t *end;
    arb_tick next;      /* S[next] is what the records lead to */
    bool is_gap;        /* ticks from `next` on are missing */
    arb_tick gap_ticks; /* of them, those that are counted already */
    char sent[MATCH_JOURNAL_SENT_MAX][JOURNAL_KEY_BYTES_MAX + 1]; /* not written yet */
    uint32_t sent_count;
};

struct match_journal *match_journal_create(struct arb_arena *arena, const struct match *match,
                                           uint32_t keyframe_ticks,
                                           const struct match_journal_sink *sink)
{
    struct match_journal *journal = arb_arena_take(arena, sizeof *journal);
    struct match_record_capacity capacity = match_record_capacity(match);
    journal->sink = *sink;
    journal->codec = match_codec_create(arena, &capacity);
    journal->keyframe_ticks = keyframe_ticks;
    journal->tick_rate = (uint32_t)match->config.tick_rate;
    journal->record = arb_arena_take(arena, RECORD_BYTES);
    journal->keyframe_bytes = match_save_bytes(match, MATCH_SAVE_WHOLE);
    journal->keyframe = arb_arena_take(arena, journal->keyframe_bytes);
    journal->result = arb_arena_take(arena, sizeof *journal->result);
    journal->end =
        arb_arena_take(arena, MATCH_JOURNAL_END_BYTES + MATCH_LINES_MAX * MATCH_JOURNAL_LINE_BYTES);
    journal->next = match_tick(match);
    return journal;
}

size_t match_journal_keyframe_bytes(const struct match *match)
{
    return match_save_bytes(match, MATCH_SAVE_WHOLE);
}

struct match_journal_counts match_journal_counts(const struct match_journal *journal)
{
    return journal->counts;
}

struct journal_head match_journal_head(const struct match *match)
{
    struct journal_head head = {
        .schema = MATCH_SAVE_VERSION,
        .tick_rate = (uint32_t)match->config.tick_rate,
        .seed = match->config.seed.value,
        .first_tick = match->first_tick,
        .map_hash = arb_geometry_hash(match->geometry),
        .mode = match->rules->name,
    };
    memcpy(head.match_id, match->match_id, sizeof head.match_id);
    return head;
}

static bool put(struct match_journal *journal, const struct journal_record *records, uint32_t count)
{
    if (!journal->sink.put(journal->sink.owner, records, count)) return false;
    for (uint32_t i = 0; i < count; i++)
        journal->counts.bytes += records[i].size;
    return true;
}

static bool is_too_large(const struct match_journal *journal, size_t bytes)
{
    return journal->sink.most > 0 && bytes > journal->sink.most;
}

/* False: it would never be taken, and nobody has to ask. */
static bool save(struct match_journal *journal, struct match *match, arb_tick tick,
                 struct journal_record *out)
{
    uint32_t size = match_save_settled(match, tick, MATCH_SAVE_WHOLE, journal->keyframe,
                                       journal->keyframe_bytes);
    journal->newest_keyframe = size;
    *out = (struct journal_record){
        .kind = JOURNAL_KEYFRAME, .tick = tick, .bytes = journal->keyframe, .size = size};
    bool too_large = is_too_large(journal, size + TAIL_BYTES);
    journal->counts.too_large += too_large;
    return !too_large;
}

/* For one like the newest: the most that one may take is many times that, and more than any queue
 * where a thousand play. The saving is spared while a disk is full; of a state that was too large
 * for any queue, for a while. */
static bool has_room(const struct match_journal *journal, const struct match *match)
{
    size_t bytes = (size_t)journal->newest_keyframe + TAIL_BYTES;
    if (is_too_large(journal, bytes)) return match_tick(match) % TRY_AGAIN_TICKS == 0;
    return journal->sink.has_room(journal->sink.owner, bytes);
}

/* The newest state that is settled bridges what is missing. */
static void end_gap(struct match_journal *journal, struct match *match)
{
    arb_tick settled = match_settled(match);
    journal->counts.missing_ticks += settled - journal->next - journal->gap_ticks;
    journal->gap_ticks = settled - journal->next;
    if (!has_room(journal, match)) return;
    struct journal_record records[2] = {
        {.kind = JOURNAL_GAP, .tick = journal->next, .resume = settled}};
    if (!save(journal, match, settled, &records[1]) || !put(journal, records, 2)) return;
    match_codec_reset(journal->codec);
    journal->counts.keyframes++;
    journal->next = settled;
    journal->is_gap = false;
    journal->gap_ticks = 0;
}

static void begin_gap(struct match_journal *journal, struct match *match)
{
    journal->counts.gaps++;
    journal->is_gap = true;
    end_gap(journal, match);
}

static void put_keyframe(struct match_journal *journal, struct match *match)
{
    struct journal_record record;
    if (!has_room(journal, match)) return; /* the next one then */
    if (!save(journal, match, journal->next, &record) || !put(journal, &record, 1)) return;
    match_codec_reset(journal->codec);
    journal->counts.keyframes++;
}

void match_journal_go_on(struct match_journal *journal, struct match *match, bool ended)
{
    journal->counts.ended = ended;
    put_keyframe(journal, match);
    /* Without it nothing that follows could be read. */
    journal->is_gap = journal->counts.keyframes == 0;
    journal->counts.gaps += journal->is_gap;
}

static void put_end(struct match_journal *journal, const struct match *match)
{
    match_get_result(match, journal->result);
    struct journal_record record = {.kind = JOURNAL_END,
                                    .tick = journal->next,
                                    .bytes = journal->end,
                                    .size =
                                        match_journal_end_encode(journal->result, journal->end)};
    journal->counts.ended = put(journal, &record, 1);
}

/* In order; what has no room waits for the next tick. */
static void put_sent(struct match_journal *journal)
{
    uint32_t written = 0;
    while (written < journal->sent_count) {
        const char *key = journal->sent[written];
        struct journal_record record = {.kind = JOURNAL_SENT,
                                        .tick = journal->next,
                                        .bytes = (const uint8_t *)key,
                                        .size = strlen(key)};
        if (!put(journal, &record, 1)) break;
        written++;
    }
    journal->sent_count -= written;
    memmove(journal->sent[0], journal->sent[written],
            journal->sent_count * sizeof journal->sent[0]);
}

/* False: it has no room. */
static bool put_tick(struct match_journal *journal, const struct match *match)
{
    const struct match_record *taken = match_settled_record(match, journal->next);
    size_t size = match_record_encode(journal->codec, taken, journal->record, RECORD_BYTES);
    struct journal_record record = {
        .kind = JOURNAL_TICK,
        .tick = taken->tick,
        .bytes = journal->record,
        .size = size,
        .checksum = match_settled_checksum(match, taken->tick + 1),
        .checksum_bits = journal_is_whole(taken->tick, journal->tick_rate) ? 64 : 16};
    if (size == 0 || !put(journal, &record, 1)) return false;
    journal->next++;
    journal->counts.ticks++;
    if (size > journal->counts.largest_bytes) journal->counts.largest_bytes = (uint32_t)size;
    return true;
}

/* The result behind the tick that decided it, which may have been settled with others. */
static void put_what_is_due(struct match_journal *journal, struct match *match)
{
    if (match_decided(match) && match->decided_tick < journal->next && !journal->counts.ended) {
        put_end(journal, match);
    }
    put_sent(journal);
    if (journal->keyframe_ticks > 0 && journal->next % journal->keyframe_ticks == 0) {
        put_keyframe(journal, match);
    }
}

void match_journal_tick(struct match_journal *journal, struct match *match)
{
    if (journal->is_gap) {
        end_gap(journal, match);
        if (!journal->is_gap) put_what_is_due(journal, match);
        return;
    }
    while (!journal->is_gap && journal->next < match_settled(match)) {
        if (!put_tick(journal, match)) begin_gap(journal, match);
        if (!journal->is_gap) put_what_is_due(journal, match);
    }
}

void match_journal_sent(struct match_journal *journal, const char *key)
{
    size_t size = strlen(key);
    ARB_ASSERT(size > 0 && size <= JOURNAL_KEY_BYTES_MAX);
    /* What is left out here is sent again at worst, under the same key. */
    if (journal->sent_count == MATCH_JOURNAL_SENT_MAX) return;
    memcpy(journal->sent[journal->sent_count++], key, size + 1);
    if (!journal->is_gap) put_sent(journal);
}

/* ---- the result ---- */

size_t match_journal_end_encode(const struct match_result *result, uint8_t *out)
{
    size_t size = MATCH_JOURNAL_END_BYTES + result->player_count * (size_t)MATCH_JOURNAL_LINE_BYTES;
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, out, size);
    arb_bits_write(&writer, (uint64_t)result->end_reason, 8);
    arb_bits_write(&writer, result->ticks, 64);
    arb_bits_write(&writer, result->checksum, 64);
    arb_bits_write(&writer, result->player_count, 32);
    for (uint32_t i = 0; i < result->player_count; i++) {
        const struct match_result_player *line = &result->players[i];
        arb_bits_write(&writer, line->player_id, 64);
        arb_bits_write(&writer, line->team, 16);
        arb_bits_write_signed(&writer, line->score, 32);
        arb_bits_write(&writer, line->kills, 32);
        arb_bits_write(&writer, line->deaths, 32);
        arb_bits_write(&writer, line->deaths_by_nobody, 32);
        arb_bits_write_bytes(&writer, line->name, sizeof line->name);
    }
    ARB_ASSERT(!writer.full && writer.bit == 8 * size);
    return arb_bits_write_end(&writer);
}

static void read_line(struct arb_bit_reader *reader, struct match_result_player *line)
{
    line->player_id = arb_bits_read(reader, 64);
    line->team = (uint8_t)arb_bits_read(reader, 16);
    line->score = (int32_t)arb_bits_read_signed(reader, 32);
    line->kills = (uint32_t)arb_bits_read(reader, 32);
    line->deaths = (uint32_t)arb_bits_read(reader, 32);
    line->deaths_by_nobody = (uint32_t)arb_bits_read(reader, 32);
    arb_bits_read_bytes(reader, line->name, sizeof line->name);
}

bool match_journal_end_decode(const uint8_t *bytes, size_t size, struct match_result *out)
{
    struct arb_bit_reader reader;
    memset(out, 0, sizeof *out);
    if (size < MATCH_JOURNAL_END_BYTES) return false;
    arb_bits_read_begin(&reader, bytes, size);
    uint64_t reason = arb_bits_read(&reader, 8);
    out->ticks = arb_bits_read(&reader, 64);
    out->checksum = arb_bits_read(&reader, 64);
    uint64_t count = arb_bits_read(&reader, 32);
    if (reason > ARB_END_EMPTY || count > MATCH_LINES_MAX ||
        size != MATCH_JOURNAL_END_BYTES + count * MATCH_JOURNAL_LINE_BYTES) {
        return false;
    }
    out->end_reason = (enum arb_end_reason)reason;
    out->player_count = (uint32_t)count;
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        read_line(&reader, &out->players[i]);
        good = good && arb_proto_name_valid(out->players[i].name);
    }
    return good;
}
