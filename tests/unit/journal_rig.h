/* Rig of the tests of journals: a file in memory, as the writer's thread would make it.
 */
#ifndef JOURNAL_RIG_H
#define JOURNAL_RIG_H

#include "server/match/match_journal.h"
#include "server/match/match_replay.h"
#include "shared/base/arb_mem.h"
#include "tests/unit/match_rig.h"

enum { MEMORY_FILE = 16 << 20, MEMORY_PLAIN = 4 << 20, BLOCK_RECORDS = 20 };

static uint8_t *file_bytes;
static size_t file_size;
static uint8_t *plain;
static size_t plain_size;
static uint32_t plain_records;
static arb_tick plain_tick;
static uint64_t file_key;
static struct journal_packer *packer;
static bool disk_is_full;

static inline void flush_block(void)
{
    if (plain_size == 0) return;
    size_t size;
    const uint8_t *block = journal_pack(packer, file_key, plain_tick, plain, plain_size, &size);
    cr_assert_leq(file_size + size, MEMORY_FILE);
    memcpy(file_bytes + file_size, block, size);
    file_size += size;
    plain_size = 0;
    plain_records = 0;
}

static inline bool memory_put(void *owner, const struct journal_record *records, uint32_t count)
{
    (void)owner;
    if (disk_is_full) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind == JOURNAL_KEYFRAME || plain_records == BLOCK_RECORDS) flush_block();
        if (plain_size == 0) plain_tick = records[i].tick;
        size_t used = journal_put(&records[i], plain + plain_size, MEMORY_PLAIN - plain_size);
        cr_assert_gt(used, 0);
        plain_size += used;
        plain_records++;
    }
    return true;
}

static inline bool memory_has_room(void *owner, size_t bytes)
{
    (void)owner;
    (void)bytes;
    return !disk_is_full;
}

static inline size_t memory_read(void *owner, uint64_t offset, void *bytes, size_t count)
{
    (void)owner;
    if (offset >= file_size) return 0;
    size_t there = file_size - offset < count ? file_size - (size_t)offset : count;
    memcpy(bytes, file_bytes + offset, there);
    return there;
}

static const struct match_journal_sink memory_sink = {NULL, memory_put, memory_has_room, 0};
static const struct journal_source memory_source = {NULL, memory_read};

/* The head of `match`'s file. */
static inline void begin_file(const struct match *of)
{
    struct journal_head head = match_journal_head(of);
    head.build = "test";
    head.map = "none";
    head.config_text = head.map_text = "";
    file_bytes = arb_mem_alloc(MEMORY_FILE);
    plain = arb_mem_alloc(MEMORY_PLAIN);
    packer = journal_packer_create(MEMORY_PLAIN);
    uint8_t *bytes = journal_write_head(&head, &file_size);
    memcpy(file_bytes, bytes, file_size);
    file_key = journal_file_key(bytes, file_size);
    arb_mem_free(bytes);
    plain_size = plain_records = 0;
    disk_is_full = false;
}

static inline void free_file(void)
{
    journal_packer_destroy(packer);
    arb_mem_free(file_bytes);
    arb_mem_free(plain);
}

#endif
