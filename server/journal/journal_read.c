/* Reading, of anything: each length is checked before memory is taken for it, each block before it
 * is believed, and what was read stays good whatever comes after it. */
#include "server/journal/journal_internal.h"

#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"

#include <string.h>
#include <zstd.h>

struct journal_reader {
    struct journal_source source;
    struct journal_head head;
    char texts[JOURNAL_HEAD_TEXTS];
    uint8_t *head_plain;
    uint64_t key;
    uint64_t offset; /* of the next block */
    uint64_t blocks;
    arb_tick next;              /* of the next record */
    enum journal_status broken; /* a block was bad: nothing after it counts */
    bool fresh;                 /* the next record is the first of its block */
    uint8_t *packed, *plain;
    size_t packed_capacity, plain_capacity;
    size_t plain_bytes, at;
    ZSTD_DCtx *zstd;
};

const char *journal_status_text(enum journal_status status)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JOURNAL_STATUS_MAP(X)
#undef X
    };
    return texts[status];
}

/* The whole of `count` bytes. */
static bool read_at(const struct journal_source *source, uint64_t offset, void *bytes, size_t count)
{
    return source->read(source->owner, offset, bytes, count) == count;
}

static bool make_room(uint8_t **buffer, size_t *capacity, size_t bytes)
{
    if (bytes <= *capacity) return true;
    uint8_t *larger = arb_mem_realloc(*buffer, bytes);
    if (larger == NULL) return false;
    *buffer = larger;
    *capacity = bytes;
    return true;
}

/* Exactly so many bytes, or it is no good. */
static bool unpack(ZSTD_DCtx *zstd, uint8_t *plain, size_t plain_bytes, const uint8_t *packed,
                   size_t packed_bytes)
{
    size_t bytes = ZSTD_decompressDCtx(zstd, plain, plain_bytes, packed, packed_bytes);
    return !ZSTD_isError(bytes) && bytes == plain_bytes;
}

/* ---- head ---- */

static enum journal_status unpack_head(struct journal_reader *reader, const uint8_t *fixed,
                                       size_t packed_bytes, size_t plain_bytes)
{
    size_t whole = JOURNAL_HEAD_FIXED_BYTES + packed_bytes;
    if (!make_room(&reader->packed, &reader->packed_capacity, whole)) return JOURNAL_READ_MEMORY;
    uint8_t *packed = reader->packed + JOURNAL_HEAD_FIXED_BYTES;
    memcpy(reader->packed, fixed, JOURNAL_HEAD_FIXED_BYTES);
    if (!read_at(&reader->source, JOURNAL_HEAD_FIXED_BYTES, packed, packed_bytes)) {
        return JOURNAL_READ_CUT;
    }
    if (arb_hash(packed, packed_bytes, arb_hash(fixed, 20, 0)) != journal_get_le(fixed + 20, 8)) {
        return JOURNAL_READ_BAD_HEAD;
    }
    reader->head_plain = arb_mem_malloc(plain_bytes);
    if (reader->head_plain == NULL) return JOURNAL_READ_MEMORY;
    if (!unpack(reader->zstd, reader->head_plain, plain_bytes, packed, packed_bytes) ||
        !journal_parse_head(reader->head_plain, plain_bytes, reader->texts, &reader->head)) {
        return JOURNAL_READ_BAD_HEAD;
    }
    reader->key = journal_file_key(reader->packed, whole);
    reader->offset = whole;
    reader->next = reader->head.first_tick;
    return JOURNAL_READ_OK;
}

static enum journal_status read_head(struct journal_reader *reader)
{
    uint8_t fixed[JOURNAL_HEAD_FIXED_BYTES] = {0};
    size_t got = reader->source.read(reader->source.owner, 0, fixed, sizeof fixed);
    size_t compared = got < JOURNAL_MAGIC_BYTES ? got : JOURNAL_MAGIC_BYTES;
    if (got == 0 || memcmp(fixed, JOURNAL_MAGIC, compared) != 0) return JOURNAL_READ_NO_JOURNAL;
    if (got >= 12 && journal_get_le(fixed + 8, 4) != JOURNAL_FORMAT) return JOURNAL_READ_VERSION;
    if (got < sizeof fixed) return JOURNAL_READ_CUT;
    size_t packed_bytes = journal_get_size(fixed + 12, 4),
           plain_bytes = journal_get_size(fixed + 16, 4);
    if (packed_bytes == 0 || plain_bytes == 0 || plain_bytes > JOURNAL_HEAD_PLAIN_MAX ||
        packed_bytes > ZSTD_COMPRESSBOUND(JOURNAL_HEAD_PLAIN_MAX)) {
        return JOURNAL_READ_BAD_HEAD;
    }
    return unpack_head(reader, fixed, packed_bytes, plain_bytes);
}

struct journal_reader *journal_open(const struct journal_source *source,
                                    enum journal_status *status)
{
    struct journal_reader *reader = arb_mem_alloc(sizeof *reader);
    reader->source = *source;
    reader->zstd = ZSTD_createDCtx();
    *status = reader->zstd != NULL ? read_head(reader) : JOURNAL_READ_MEMORY;
    if (*status == JOURNAL_READ_OK) return reader;
    journal_close(reader);
    return NULL;
}

void journal_close(struct journal_reader *reader)
{
    if (reader == NULL) return;
    ZSTD_freeDCtx(reader->zstd);
    arb_mem_free(reader->head_plain);
    arb_mem_free(reader->packed);
    arb_mem_free(reader->plain);
    arb_mem_free(reader);
}

const struct journal_head *journal_reader_head(const struct journal_reader *reader)
{
    return &reader->head;
}

uint64_t journal_reader_key(const struct journal_reader *reader)
{
    return reader->key;
}

arb_tick journal_good_tick(const struct journal_reader *reader)
{
    return reader->next;
}

uint64_t journal_good_bytes(const struct journal_reader *reader)
{
    return reader->offset;
}

uint64_t journal_block_count(const struct journal_reader *reader)
{
    return reader->blocks;
}

/* ---- blocks ---- */

struct block_head {
    uint8_t bytes[JOURNAL_BLOCK_HEAD_BYTES];
    size_t packed_bytes, plain_bytes;
    bool keyframe;
    uint32_t tick; /* low bits */
};

static enum journal_status read_block_head(const struct journal_reader *reader, uint64_t offset,
                                           struct block_head *out)
{
    size_t got = reader->source.read(reader->source.owner, offset, out->bytes, sizeof out->bytes);
    if (got == 0) return JOURNAL_READ_FINISHED;
    if (got < sizeof out->bytes) return JOURNAL_READ_CUT;
    uint32_t plain = (uint32_t)journal_get_le(out->bytes + 4, 4);
    out->packed_bytes = journal_get_size(out->bytes, 4);
    out->plain_bytes = plain & ~JOURNAL_KEYFRAME_FLAG;
    out->keyframe = (plain & JOURNAL_KEYFRAME_FLAG) != 0;
    out->tick = (uint32_t)journal_get_le(out->bytes + 8, 4);
    if (out->packed_bytes == 0 || out->plain_bytes == 0) return JOURNAL_READ_BAD_BLOCK;
    bool fits = out->plain_bytes <= JOURNAL_PLAIN_BYTES_MAX &&
                out->packed_bytes <= ZSTD_COMPRESSBOUND(out->plain_bytes);
    return fits ? JOURNAL_READ_OK : JOURNAL_READ_TOO_LARGE;
}

/* Into reader->packed, and believed, before memory is taken for what the bytes say they become. */
static enum journal_status read_packed(struct journal_reader *reader, uint64_t offset,
                                       struct block_head *head)
{
    enum journal_status status = read_block_head(reader, offset, head);
    if (status != JOURNAL_READ_OK) return status;
    /* A length that is wrong reaches beyond the end mostly: nothing is taken for it then. */
    uint8_t last;
    uint64_t begin = offset + JOURNAL_BLOCK_HEAD_BYTES;
    if (!read_at(&reader->source, begin + head->packed_bytes - 1, &last, 1)) {
        return JOURNAL_READ_CUT;
    }
    if (!make_room(&reader->packed, &reader->packed_capacity, head->packed_bytes)) {
        return JOURNAL_READ_MEMORY;
    }
    if (!read_at(&reader->source, begin, reader->packed, head->packed_bytes)) {
        return JOURNAL_READ_CUT;
    }
    uint64_t sum = journal_block_sum(reader->key, head->bytes, reader->packed, head->packed_bytes);
    return sum == journal_get_le(head->bytes + 12, 8) ? JOURNAL_READ_OK : JOURNAL_READ_BAD_BLOCK;
}

static enum journal_status load_block(struct journal_reader *reader)
{
    struct block_head head;
    enum journal_status status = read_packed(reader, reader->offset, &head);
    if (status != JOURNAL_READ_OK) return status;
    if (head.tick != (uint32_t)reader->next) return JOURNAL_READ_BAD_ORDER;
    if (!make_room(&reader->plain, &reader->plain_capacity, head.plain_bytes)) {
        return JOURNAL_READ_MEMORY;
    }
    if (!unpack(reader->zstd, reader->plain, head.plain_bytes, reader->packed, head.packed_bytes)) {
        return JOURNAL_READ_BAD_BLOCK;
    }
    reader->plain_bytes = head.plain_bytes;
    reader->at = 0;
    reader->fresh = true;
    reader->offset += JOURNAL_BLOCK_HEAD_BYTES + head.packed_bytes;
    reader->blocks++;
    return JOURNAL_READ_OK;
}

/* Of the blocks that begin before `limit`; 0: there is none. */
static uint64_t newest_keyframe(const struct journal_reader *reader, uint64_t first, uint64_t limit,
                                arb_tick tick, arb_tick *found_tick)
{
    uint64_t offset = first, found = 0;
    arb_tick at = reader->head.first_tick;
    struct block_head head;
    while (offset < limit && read_block_head(reader, offset, &head) == JOURNAL_READ_OK) {
        at = arb_widen32(head.tick, at);
        if (at > tick) break;
        if (head.keyframe) {
            found = offset;
            *found_tick = at;
        }
        offset += JOURNAL_BLOCK_HEAD_BYTES + head.packed_bytes;
    }
    return found;
}

/* A crash in the middle of a keyframe leaves the one before as the newest. */
bool journal_seek(struct journal_reader *reader, arb_tick tick)
{
    uint8_t lengths[4];
    if (!read_at(&reader->source, 12, lengths, sizeof lengths)) return false;
    uint64_t first = JOURNAL_HEAD_FIXED_BYTES + journal_get_le(lengths, sizeof lengths);
    arb_tick found_tick = 0;
    struct block_head head;
    uint64_t found = UINT64_MAX;
    do {
        found = newest_keyframe(reader, first, found, tick, &found_tick);
    } while (found != 0 && read_packed(reader, found, &head) != JOURNAL_READ_OK);
    if (found == 0) return false;
    reader->offset = found;
    reader->next = found_tick;
    reader->plain_bytes = reader->at = 0;
    reader->broken = JOURNAL_READ_OK;
    return true;
}

/* ---- records ---- */

static bool split_tick(struct journal_reader *reader, struct journal_record *out)
{
    bool whole = journal_is_whole(out->tick, reader->head.tick_rate);
    size_t sum = whole ? JOURNAL_WHOLE_BYTES : JOURNAL_SHORT_BYTES;
    if (out->size < sum) return false;
    out->size -= sum;
    out->checksum = journal_get_le(out->bytes + out->size, sum);
    out->checksum_bits = (unsigned)sum * 8;
    reader->next++;
    return true;
}

static bool split_gap(struct journal_reader *reader, struct journal_record *out)
{
    uint64_t missing;
    size_t used = journal_get_number(out->bytes, out->size, &missing);
    if (used == 0 || used != out->size || missing == 0 || missing > UINT32_MAX) return false;
    out->resume = out->tick + missing;
    out->size = 0;
    reader->next = out->resume;
    return true;
}

static bool split(struct journal_reader *reader, struct journal_record *out, bool first)
{
    switch (out->kind) {
    case JOURNAL_TICK:
        return split_tick(reader, out);
    case JOURNAL_GAP:
        return split_gap(reader, out);
    case JOURNAL_KEYFRAME:
        return first; /* so that it is found by the head of its block */
    case JOURNAL_END:
    case JOURNAL_SENT:
        return true;
    }
    return false;
}

static enum journal_status next_record(struct journal_reader *reader, struct journal_record *out)
{
    const uint8_t *bytes = reader->plain + reader->at;
    size_t left = reader->plain_bytes - reader->at;
    uint64_t tag;
    size_t used = journal_get_number(bytes, left, &tag);
    uint64_t length = tag >> JOURNAL_KIND_BITS;
    if (used == 0 || length > left - used) return JOURNAL_READ_BAD_RECORD;
    *out = (struct journal_record){.kind = (enum journal_kind)(tag & 7),
                                   .tick = reader->next,
                                   .bytes = bytes + used,
                                   .size = (size_t)length};
    if (!split(reader, out, reader->fresh)) return JOURNAL_READ_BAD_RECORD;
    reader->at += used + (size_t)length;
    reader->fresh = false;
    return JOURNAL_READ_OK;
}

enum journal_status journal_next(struct journal_reader *reader, struct journal_record *out)
{
    enum journal_status status = reader->broken;
    if (status == JOURNAL_READ_OK && reader->at == reader->plain_bytes) {
        status = load_block(reader);
    }
    if (status == JOURNAL_READ_OK) status = next_record(reader, out);
    /* What was cut off may still come; what is wrong stays so. */
    if (status != JOURNAL_READ_OK && status != JOURNAL_READ_FINISHED &&
        status != JOURNAL_READ_CUT) {
        reader->broken = status;
    }
    return status;
}

enum journal_status journal_find_end(struct journal_reader *reader, uint64_t *bytes)
{
    struct journal_record record;
    enum journal_status status;
    uint64_t good = journal_good_bytes(reader), before = good;
    uint64_t blocks = journal_block_count(reader);
    bool is_lost = false;
    while (true) {
        status = journal_next(reader, &record);
        if (journal_block_count(reader) != blocks) {
            blocks = journal_block_count(reader);
            if (!is_lost) good = before;
            before = journal_good_bytes(reader);
        }
        if (status != JOURNAL_READ_OK) break;
        if (record.kind == JOURNAL_GAP) is_lost = true;
        if (record.kind == JOURNAL_KEYFRAME) is_lost = false;
    }
    /* What is put behind a whole block with a bad record would never be read. */
    *bytes = is_lost || status == JOURNAL_READ_BAD_RECORD ? good : before;
    return status;
}
