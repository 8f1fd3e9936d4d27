/* Between the files of server/journal and their tests: places in the bytes (JOURNAL.md). */
#ifndef JOURNAL_INTERNAL_H
#define JOURNAL_INTERNAL_H

#include "server/journal/journal.h"

/* As PNG's: a transfer that changes line ends or stops at ^Z is noticed at once. */
#define JOURNAL_MAGIC "ARBJ\r\n\x1A\n"

enum {
    JOURNAL_MAGIC_BYTES = 8,
    JOURNAL_HEAD_FIXED_BYTES = 28, /* magic, format, packed bytes, plain bytes, checksum */
    JOURNAL_HEAD_PLAIN_MAX = JOURNAL_CONFIG_BYTES_MAX + JOURNAL_MAP_BYTES_MAX + 4096,
    JOURNAL_KIND_BITS = 3,
    JOURNAL_WHOLE_BYTES = 8, /* of a checksum */
    JOURNAL_SHORT_BYTES = 2,
    JOURNAL_LEVEL = 3, /* of zstd: higher ones gain little on bit-packed records */
};

#define JOURNAL_KEYFRAME_FLAG                                                                      \
    (UINT32_C(1) << 31) /* in a block's plain bytes: it begins with one                            \
                         */

static inline void journal_put_le(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

static inline uint64_t journal_get_le(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* Of at most 4 bytes: a length. */
static inline size_t journal_get_size(const uint8_t *bytes, size_t count)
{
    return (size_t)journal_get_le(bytes, count);
}

/* Seven bits a byte, the lowest first; the highest bit says that it goes on. Returns bytes used, at
 * most 10. */
size_t journal_put_number(uint8_t *out, uint64_t value);
/* Bytes used; 0: it does not end within `size`, or is longer than 64 bits. */
size_t journal_get_number(const uint8_t *bytes, size_t size, uint64_t *value);

/* Checksum of a block: of its head's other bytes and what follows, by the file's key. */
uint64_t journal_block_sum(uint64_t file_key, const uint8_t *head, const uint8_t *packed,
                           size_t packed_bytes);

/* What `plain` (of journal_write_head) says; texts point into it. False: it says nothing that a
 * head says. */
bool journal_parse_head(const uint8_t *plain, size_t size, char *texts, struct journal_head *out);
enum { JOURNAL_HEAD_TEXTS = 3 * (JOURNAL_TEXT_BYTES_MAX + 1) };

#endif
