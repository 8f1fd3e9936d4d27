/* Records and the blocks that hold them. */
#include "server/journal/journal_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"

#include <string.h>
#include <zstd.h>

const char *journal_kind_text(enum journal_kind kind)
{
    switch (kind) {
#define X(value, name, text)                                                                       \
    case JOURNAL_##name:                                                                           \
        return #name;
        JOURNAL_KIND_MAP(X)
#undef X
    }
    return "?";
}

size_t journal_put_number(uint8_t *out, uint64_t value)
{
    size_t used = 0;
    while (value >= 0x80) {
        out[used++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[used++] = (uint8_t)value;
    return used;
}

size_t journal_get_number(const uint8_t *bytes, size_t size, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < size && i < 10; i++) {
        uint64_t part = bytes[i] & 0x7FU;
        if (i == 9 && part > 1) return 0;
        *value |= part << 7 * i;
        if ((bytes[i] & 0x80U) == 0) return i + 1;
    }
    return 0;
}

/* ---- records ---- */

/* What follows a record's own bytes. */
static size_t put_tail(const struct journal_record *record, uint8_t *out)
{
    switch (record->kind) {
    case JOURNAL_TICK:
        ARB_ASSERT(record->checksum_bits <= 64);
        journal_put_le(out, record->checksum, record->checksum_bits / 8);
        return record->checksum_bits / 8;
    case JOURNAL_GAP:
        return journal_put_number(out, record->resume - record->tick);
    case JOURNAL_KEYFRAME:
    case JOURNAL_END:
    case JOURNAL_SENT:
        break;
    }
    return 0;
}

size_t journal_put(const struct journal_record *record, uint8_t *out, size_t capacity)
{
    uint8_t tail[10], tag[10];
    size_t tail_bytes = put_tail(record, tail);
    size_t length = record->size + tail_bytes;
    size_t tag_bytes =
        journal_put_number(tag, (uint64_t)length << JOURNAL_KIND_BITS | (unsigned)record->kind);
    ARB_ASSERT(length < JOURNAL_PLAIN_BYTES_MAX && tag_bytes <= JOURNAL_TAG_BYTES_MAX);
    if (tag_bytes + length > capacity) return 0;
    memcpy(out, tag, tag_bytes);
    if (record->size > 0) memcpy(out + tag_bytes, record->bytes, record->size);
    memcpy(out + tag_bytes + record->size, tail, tail_bytes);
    return tag_bytes + length;
}

/* ---- blocks ---- */

struct journal_packer {
    ZSTD_CCtx *zstd;
    uint8_t *block; /* head and packed bytes */
    size_t capacity;
};

struct journal_packer *journal_packer_create(size_t plain_bytes_max)
{
    ARB_ASSERT(plain_bytes_max <= JOURNAL_PLAIN_BYTES_MAX);
    struct journal_packer *packer = arb_mem_alloc(sizeof *packer);
    packer->capacity = ZSTD_compressBound(plain_bytes_max);
    packer->block = arb_mem_malloc(JOURNAL_BLOCK_HEAD_BYTES + packer->capacity);
    packer->zstd = ZSTD_createCCtx();
    if (packer->block == NULL || packer->zstd == NULL) {
        journal_packer_destroy(packer);
        return NULL;
    }
    return packer;
}

void journal_packer_destroy(struct journal_packer *packer)
{
    if (packer == NULL) return;
    ZSTD_freeCCtx(packer->zstd);
    arb_mem_free(packer->block);
    arb_mem_free(packer);
}

uint64_t journal_block_sum(uint64_t file_key, const uint8_t *head, const uint8_t *packed,
                           size_t packed_bytes)
{
    return arb_hash(packed, packed_bytes, arb_hash(head, 12, file_key));
}

const uint8_t *journal_pack(struct journal_packer *packer, uint64_t file_key, arb_tick tick,
                            const uint8_t *plain, size_t plain_bytes, size_t *size)
{
    uint8_t *head = packer->block;
    uint8_t *packed = head + JOURNAL_BLOCK_HEAD_BYTES;
    ARB_ASSERT(plain_bytes > 0);
    size_t bytes = ZSTD_compressCCtx(packer->zstd, packed, packer->capacity, plain, plain_bytes,
                                     JOURNAL_LEVEL);
    ARB_ASSERT(!ZSTD_isError(bytes)); /* there is room for whatever comes out */
    bool keyframe = (plain[0] & 7U) == JOURNAL_KEYFRAME;
    journal_put_le(head, bytes, 4);
    journal_put_le(head + 4, plain_bytes | (keyframe ? JOURNAL_KEYFRAME_FLAG : 0), 4);
    journal_put_le(head + 8, (uint32_t)tick, 4);
    journal_put_le(head + 12, journal_block_sum(file_key, head, packed, bytes), 8);
    *size = JOURNAL_BLOCK_HEAD_BYTES + bytes;
    return packer->block;
}
