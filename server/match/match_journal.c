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
    char sent[MATCH_JOURNAL_SENT_MAX][MATCH_JOURNAL_KEY_BYTES_MAX + 1]; /* not written yet */
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
    ARB_ASSERT(size > 0 && size <= MATCH_JOURNAL_KEY_BYTES_MAX);
    /* What is left out here is sent again at worst, under the same key. */
    if (journal->sent_count == MATCH_JOURNAL_SENT_MAX) return;
    memcpy(journal->sent[journal->sent_count++], key, size + 1);
    if (!journal->is_gap) put_sent(journal);
}

/* ---- the result ---- */

static uint8_t *put_le(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
    return out + bytes;
}

static const uint8_t *get_le(const uint8_t *bytes, size_t count, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++)
        *value |= (uint64_t)bytes[i] << 8 * i;
    return bytes + count;
}

size_t match_journal_end_encode(const struct match_result *result, uint8_t *out)
{
    uint8_t *at = put_le(out, (uint64_t)result->end_reason, 1);
    at = put_le(at, result->ticks, 8);
    at = put_le(at, result->checksum, 8);
    at = put_le(at, result->player_count, 4);
    for (uint32_t i = 0; i < result->player_count; i++) {
        const struct match_result_player *line = &result->players[i];
        at = put_le(at, line->player_id, 8);
        at = put_le(at, line->team, 2);
        at = put_le(at, (uint32_t)line->score, 4);
        at = put_le(at, line->kills, 4);
        at = put_le(at, line->deaths, 4);
        at = put_le(at, line->deaths_by_nobody, 4);
        memcpy(at, line->name, sizeof line->name);
        at += sizeof line->name;
    }
    return (size_t)(at - out);
}

static const uint8_t *get_line(const uint8_t *at, struct match_result_player *line)
{
    uint64_t values[6];
    static const uint8_t widths[6] = {8, 2, 4, 4, 4, 4};
    for (int i = 0; i < 6; i++)
        at = get_le(at, widths[i], &values[i]);
    line->player_id = values[0];
    line->team = (uint8_t)values[1];
    line->score = (int32_t)(uint32_t)values[2];
    line->kills = (uint32_t)values[3];
    line->deaths = (uint32_t)values[4];
    line->deaths_by_nobody = (uint32_t)values[5];
    memcpy(line->name, at, sizeof line->name);
    return at + sizeof line->name;
}

bool match_journal_end_decode(const uint8_t *bytes, size_t size, struct match_result *out)
{
    uint64_t reason, count;
    memset(out, 0, sizeof *out);
    if (size < MATCH_JOURNAL_END_BYTES) return false;
    const uint8_t *at = get_le(bytes, 1, &reason);
    at = get_le(at, 8, &out->ticks);
    at = get_le(at, 8, &out->checksum);
    at = get_le(at, 4, &count);
    if (reason > ARB_END_EMPTY || count > MATCH_LINES_MAX ||
        size != MATCH_JOURNAL_END_BYTES + count * MATCH_JOURNAL_LINE_BYTES) {
        return false;
    }
    out->end_reason = (enum arb_end_reason)reason;
    out->player_count = (uint32_t)count;
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        at = get_line(at, &out->players[i]);
        good = good && arb_proto_name_valid(out->players[i].name);
    }
    return good;
}
