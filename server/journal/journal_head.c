/* The head of a file: what a stranger needs to play it. */
#include "server/journal/journal_internal.h"

#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"

#include <string.h>
#include <zstd.h>

enum { NUMBERS_BYTES = 4 + 4 + 8 + 8 + 8 + 16, LENGTHS_BYTES = 3 + 4 + 4 };

static uint8_t *put(uint8_t *out, const void *bytes, size_t size)
{
    if (size > 0) memcpy(out, bytes, size);
    return out + size;
}

static uint8_t *put_number(uint8_t *out, uint64_t value, size_t bytes)
{
    journal_put_le(out, value, bytes);
    return out + bytes;
}

static uint8_t *put_text(uint8_t *out, const char *text)
{
    size_t length = strlen(text);
    out = put_number(out, length, 1);
    return put(out, text, length);
}

static uint8_t *put_long(uint8_t *out, const char *text, size_t bytes)
{
    out = put_number(out, bytes, 4);
    return put(out, text, bytes);
}

static size_t plain_bytes(const struct journal_head *head)
{
    return NUMBERS_BYTES + LENGTHS_BYTES + strlen(head->build) + strlen(head->mode) +
           strlen(head->map) + head->config_bytes + head->map_bytes;
}

static bool is_writable(const struct journal_head *head)
{
    return strlen(head->build) <= JOURNAL_TEXT_BYTES_MAX &&
           strlen(head->mode) <= JOURNAL_TEXT_BYTES_MAX &&
           strlen(head->map) <= JOURNAL_TEXT_BYTES_MAX &&
           head->config_bytes <= JOURNAL_CONFIG_BYTES_MAX &&
           head->map_bytes <= JOURNAL_MAP_BYTES_MAX;
}

static void write_plain(const struct journal_head *head, uint8_t *out)
{
    out = put_number(out, head->schema, 4);
    out = put_number(out, head->tick_rate, 4);
    out = put_number(out, head->seed, 8);
    out = put_number(out, head->first_tick, 8);
    out = put_number(out, head->map_hash, 8);
    out = put(out, head->match_id, sizeof head->match_id);
    out = put_text(out, head->build);
    out = put_text(out, head->mode);
    out = put_text(out, head->map);
    out = put_long(out, head->config_text, head->config_bytes);
    put_long(out, head->map_text, head->map_bytes);
}

uint8_t *journal_write_head(const struct journal_head *head, size_t *size)
{
    if (!is_writable(head)) return NULL;
    size_t plain_size = plain_bytes(head);
    size_t bound = ZSTD_compressBound(plain_size);
    uint8_t *plain = arb_mem_alloc(plain_size);
    uint8_t *out = arb_mem_alloc(JOURNAL_HEAD_FIXED_BYTES + bound);
    write_plain(head, plain);
    size_t packed =
        ZSTD_compress(out + JOURNAL_HEAD_FIXED_BYTES, bound, plain, plain_size, JOURNAL_LEVEL);
    arb_mem_free(plain);
    if (ZSTD_isError(packed)) {
        arb_mem_free(out);
        return NULL;
    }
    memcpy(out, JOURNAL_MAGIC, JOURNAL_MAGIC_BYTES);
    journal_put_le(out + 8, JOURNAL_FORMAT, 4);
    journal_put_le(out + 12, packed, 4);
    journal_put_le(out + 16, plain_size, 4);
    uint64_t sum = arb_hash(out + JOURNAL_HEAD_FIXED_BYTES, packed, arb_hash(out, 20, 0));
    journal_put_le(out + 20, sum, 8);
    *size = JOURNAL_HEAD_FIXED_BYTES + packed;
    return out;
}

uint64_t journal_file_key(const uint8_t *head, size_t size)
{
    return arb_hash(head, size, JOURNAL_FORMAT);
}

/* ---- reading ---- */

struct cursor {
    const uint8_t *bytes;
    size_t left;
    bool is_short;
};

static const uint8_t *take(struct cursor *cursor, size_t count)
{
    static const uint8_t nothing[16];
    if (cursor->left < count) {
        cursor->is_short = true;
        cursor->left = 0;
        return nothing;
    }
    const uint8_t *at = cursor->bytes;
    cursor->bytes += count;
    cursor->left -= count;
    return at;
}

static uint64_t take_number(struct cursor *cursor, size_t bytes)
{
    return journal_get_le(take(cursor, bytes), bytes);
}

static size_t take_size(struct cursor *cursor, size_t bytes)
{
    return journal_get_size(take(cursor, bytes), bytes);
}

/* Into `text`, with a NUL. */
static const char *take_text(struct cursor *cursor, char *text)
{
    size_t length = take_size(cursor, 1);
    if (length > cursor->left) {
        cursor->is_short = true;
        length = 0;
    }
    memcpy(text, take(cursor, length), length);
    text[length] = '\0';
    return text;
}

static const char *take_long(struct cursor *cursor, size_t *bytes)
{
    *bytes = take_size(cursor, 4);
    if (*bytes > cursor->left) {
        cursor->is_short = true;
        *bytes = 0;
    }
    return (const char *)take(cursor, *bytes);
}

bool journal_parse_head(const uint8_t *plain, size_t size, char *texts, struct journal_head *out)
{
    struct cursor cursor = {plain, size, false};
    enum { ONE = JOURNAL_TEXT_BYTES_MAX + 1 };
    out->schema = (uint32_t)take_number(&cursor, 4);
    out->tick_rate = (uint32_t)take_number(&cursor, 4);
    out->seed = take_number(&cursor, 8);
    out->first_tick = take_number(&cursor, 8);
    out->map_hash = take_number(&cursor, 8);
    memcpy(out->match_id, take(&cursor, sizeof out->match_id), sizeof out->match_id);
    out->build = take_text(&cursor, texts);
    out->mode = take_text(&cursor, texts + ONE);
    out->map = take_text(&cursor, texts + 2 * ONE);
    out->config_text = take_long(&cursor, &out->config_bytes);
    out->map_text = take_long(&cursor, &out->map_bytes);
    return !cursor.is_short && cursor.left == 0 && out->tick_rate > 0 &&
           out->config_bytes <= JOURNAL_CONFIG_BYTES_MAX && out->map_bytes <= JOURNAL_MAP_BYTES_MAX;
}
