/* server/journal: what was written comes back, and whatever else is in a file is refused. */
#include "server/journal/journal.h"
#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

enum { FILE_BYTES = 1 << 20, BLOCKS = 12, RECORDS = 20, RATE = 60 };
#define FIRST UINT64_C(0xFFFFFFF0)

static uint8_t file[FILE_BYTES];
static size_t file_bytes, head_bytes;
static size_t block_ends[BLOCKS];
static arb_tick block_ticks[BLOCKS]; /* reached by then */
static uint64_t key;
static struct arb_rng rng;
static const char config_text[] = "{\"match\": {}}", map_text[] = "{\"layers\": []}";

static const struct journal_head head = {.schema = 3,
                                         .tick_rate = RATE,
                                         .seed = UINT64_C(0x8000000000000001),
                                         .first_tick = FIRST,
                                         .map_hash = 77,
                                         .match_id = {1, 2, 3, 255},
                                         .build = "test",
                                         .mode = "arena",
                                         .map = "maps/one.tmj",
                                         .config_text = config_text,
                                         .config_bytes = sizeof config_text - 1,
                                         .map_text = map_text,
                                         .map_bytes = sizeof map_text - 1};

static size_t read_file(void *owner, uint64_t offset, void *bytes, size_t count)
{
    const size_t *size = owner;
    if (offset >= *size) return 0;
    size_t there = *size - offset < count ? *size - (size_t)offset : count;
    memcpy(bytes, file + offset, there);
    return there;
}

static struct journal_reader *open_file(enum journal_status *status)
{
    static struct journal_source source = {&file_bytes, read_file};
    return journal_open(&source, status);
}

/* ---- a file ---- */

/* What a record of that tick is, again and again the same. */
static size_t bytes_of(arb_tick tick, uint8_t *out)
{
    struct arb_rng own;
    arb_rng_seed(&own, tick, 1);
    size_t size = arb_rng_below(&own, 60);
    for (size_t i = 0; i < size; i++)
        out[i] = (uint8_t)arb_rng_below(&own, 7);
    return size;
}

static uint64_t sum_of(arb_tick tick)
{
    return arb_hash(&tick, sizeof tick, 5);
}

static struct journal_record tick_record(arb_tick tick, uint8_t *bytes)
{
    unsigned bits = journal_is_whole(tick, RATE) ? 64 : 16;
    return (struct journal_record){.kind = JOURNAL_TICK,
                                   .tick = tick,
                                   .bytes = bytes,
                                   .size = bytes_of(tick, bytes),
                                   .checksum = sum_of(tick),
                                   .checksum_bits = bits};
}

static uint64_t masked(uint64_t sum, unsigned bits)
{
    return bits == 64 ? sum : sum & 0xFFFF;
}

/* The third block begins with a keyframe, the fifth with a gap of 7 and the last ends the match. */
static void write_file(void)
{
    static uint8_t plain[65536], bytes[64];
    struct journal_packer *packer = journal_packer_create(sizeof plain);
    uint8_t *written = journal_write_head(&head, &head_bytes);
    cr_assert(packer != NULL && written != NULL);
    memcpy(file, written, head_bytes);
    file_bytes = head_bytes;
    key = journal_file_key(written, head_bytes);
    arb_mem_free(written);
    arb_tick tick = FIRST;
    for (int block = 0; block < BLOCKS; block++) {
        size_t used = 0;
        arb_tick first = tick;
        if (block == 2 || block == 7) {
            struct journal_record keyframe = {
                .kind = JOURNAL_KEYFRAME, .bytes = (const uint8_t *)"state", .size = 5};
            used += journal_put(&keyframe, plain + used, sizeof plain - used);
        }
        if (block == 4) {
            struct journal_record gap = {.kind = JOURNAL_GAP, .tick = tick, .resume = tick + 7};
            used += journal_put(&gap, plain + used, sizeof plain - used);
            tick += 7;
        }
        for (int i = 0; i < RECORDS; i++, tick++) {
            struct journal_record record = tick_record(tick, bytes);
            used += journal_put(&record, plain + used, sizeof plain - used);
        }
        if (block == BLOCKS - 1) {
            struct journal_record end = {
                .kind = JOURNAL_END, .bytes = (const uint8_t *)"won", .size = 3};
            used += journal_put(&end, plain + used, sizeof plain - used);
        }
        size_t size;
        const uint8_t *packed = journal_pack(packer, key, first, plain, used, &size);
        memcpy(file + file_bytes, packed, size);
        file_bytes += size;
        block_ends[block] = file_bytes;
        block_ticks[block] = tick;
    }
    journal_packer_destroy(packer);
    arb_rng_seed(&rng, 3, 9);
}

TestSuite(journal, .init = write_file);

/* Reads on to the end of what is good; every tick that comes must be as it was written. */
static enum journal_status read_all(struct journal_reader *reader, uint32_t *kinds)
{
    struct journal_record record;
    uint8_t bytes[64];
    enum journal_status status;
    while ((status = journal_next(reader, &record)) == JOURNAL_READ_OK) {
        cr_assert(record.kind >= JOURNAL_TICK && record.kind <= JOURNAL_END);
        if (kinds != NULL) kinds[record.kind]++;
        if (record.kind != JOURNAL_TICK) continue;
        struct journal_record expected = tick_record(record.tick, bytes);
        cr_assert_eq(record.size, expected.size);
        cr_assert(record.size == 0 || memcmp(record.bytes, bytes, record.size) == 0);
        cr_assert_eq(record.checksum_bits, expected.checksum_bits);
        cr_assert_eq(record.checksum, masked(expected.checksum, expected.checksum_bits));
    }
    return status;
}

Test(journal, what_was_written_comes_back)
{
    enum journal_status status;
    struct journal_reader *reader = open_file(&status);
    cr_assert_eq(status, JOURNAL_READ_OK);
    const struct journal_head *read = journal_reader_head(reader);
    cr_expect_eq(read->schema, head.schema);
    cr_expect_eq(read->seed, head.seed);
    cr_expect_eq(read->first_tick, head.first_tick);
    cr_expect_eq(read->map_hash, head.map_hash);
    cr_expect_eq(memcmp(read->match_id, head.match_id, 16), 0);
    cr_expect_str_eq(read->build, "test");
    cr_expect_str_eq(read->mode, "arena");
    cr_expect_str_eq(read->map, "maps/one.tmj");
    cr_assert_eq(read->config_bytes, head.config_bytes);
    cr_expect_eq(memcmp(read->config_text, config_text, head.config_bytes), 0);
    cr_assert_eq(read->map_bytes, head.map_bytes);
    cr_expect_eq(memcmp(read->map_text, map_text, head.map_bytes), 0);
    uint32_t kinds[8] = {0};
    cr_expect_eq(read_all(reader, kinds), JOURNAL_READ_FINISHED);
    cr_expect_eq(kinds[JOURNAL_TICK], BLOCKS * RECORDS);
    cr_expect_eq(kinds[JOURNAL_KEYFRAME], 2);
    cr_expect_eq(kinds[JOURNAL_GAP], 1);
    cr_expect_eq(kinds[JOURNAL_END], 1);
    cr_expect_eq(journal_good_tick(reader), FIRST + BLOCKS * RECORDS + 7);
    cr_expect_eq(journal_good_bytes(reader), file_bytes);
    cr_expect_eq(journal_block_count(reader), BLOCKS);
    journal_close(reader);
}

Test(journal, cut_anywhere_all_whole_blocks_are_read)
{
    for (size_t size = 0; size < block_ends[BLOCKS - 1]; size++) {
        file_bytes = size;
        enum journal_status status;
        struct journal_reader *reader = open_file(&status);
        if (size < head_bytes) {
            cr_assert_null(reader);
            cr_assert(status == JOURNAL_READ_CUT ||
                      (size == 0 && status == JOURNAL_READ_NO_JOURNAL));
            continue;
        }
        cr_assert_not_null(reader);
        int whole = 0;
        while (block_ends[whole] <= size)
            whole++;
        size_t end = whole > 0 ? block_ends[whole - 1] : head_bytes;
        status = read_all(reader, NULL);
        cr_assert_eq(status, size == end ? JOURNAL_READ_FINISHED : JOURNAL_READ_CUT,
                     "%zu bytes: %s", size, journal_status_text(status));
        cr_assert_eq(journal_good_tick(reader), whole > 0 ? block_ticks[whole - 1] : FIRST);
        cr_assert_eq(journal_good_bytes(reader), end);
        journal_close(reader);
    }
}

Test(journal, a_file_that_is_being_written_is_read_on_from_where_it_ended)
{
    size_t whole = file_bytes;
    file_bytes = block_ends[2] + 11;
    enum journal_status status;
    struct journal_reader *reader = open_file(&status);
    cr_expect_eq(read_all(reader, NULL), JOURNAL_READ_CUT);
    cr_expect_eq(journal_good_tick(reader), block_ticks[2]);
    file_bytes = block_ends[6];
    cr_expect_eq(read_all(reader, NULL), JOURNAL_READ_FINISHED);
    cr_expect_eq(journal_good_tick(reader), block_ticks[6]);
    file_bytes = whole;
    cr_expect_eq(read_all(reader, NULL), JOURNAL_READ_FINISHED);
    cr_expect_eq(journal_good_tick(reader), block_ticks[BLOCKS - 1]);
    journal_close(reader);
}

/* No bit can be flipped unnoticed, and what came before stays good. */
Test(journal, any_flipped_bit_is_noticed)
{
    for (size_t bit = 0; bit < file_bytes * 8; bit++) {
        file[bit / 8] ^= (uint8_t)(1U << bit % 8);
        enum journal_status status;
        struct journal_reader *reader = open_file(&status);
        if (bit / 8 < head_bytes) {
            cr_assert_null(reader, "bit %zu of the head", bit);
        } else {
            int before = 0;
            while (block_ends[before] <= bit / 8)
                before++;
            status = read_all(reader, NULL);
            cr_assert(status != JOURNAL_READ_OK && status != JOURNAL_READ_FINISHED, "bit %zu", bit);
            cr_assert_eq(journal_good_tick(reader), before > 0 ? block_ticks[before - 1] : FIRST);
            cr_assert_eq(journal_next(reader, &(struct journal_record){0}), status, "it stays so");
        }
        journal_close(reader);
        file[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}

Test(journal, another_version_is_named_and_anything_else_is_no_journal)
{
    enum journal_status status;
    file[8] = JOURNAL_FORMAT + 1;
    cr_expect_null(open_file(&status));
    cr_expect_eq(status, JOURNAL_READ_VERSION);
    file[8] = JOURNAL_FORMAT;
    file[0] = '{';
    cr_expect_null(open_file(&status));
    cr_expect_eq(status, JOURNAL_READ_NO_JOURNAL);
}

static size_t read_zeros(void *owner, uint64_t offset, void *bytes, size_t count)
{
    const size_t *size = owner;
    memset(bytes, 0, count);
    if (offset < *size) return read_file(owner, offset, bytes, count) > 0 ? count : 0;
    return offset + count <= UINT64_C(8) << 30 ? count : 0;
}

Test(journal, gigabytes_of_zeros_are_refused_at_the_first)
{
    static struct journal_source source = {&file_bytes, read_zeros};
    enum journal_status status;
    struct journal_reader *reader = journal_open(&source, &status);
    cr_assert_not_null(reader);
    cr_expect_eq(read_all(reader, NULL), JOURNAL_READ_BAD_BLOCK);
    cr_expect_eq(journal_good_tick(reader), block_ticks[BLOCKS - 1]);
    journal_close(reader);
    size_t nothing = 0;
    source.owner = &nothing;
    cr_expect_null(journal_open(&source, &status));
    cr_expect_eq(status, JOURNAL_READ_NO_JOURNAL);
}

/* ---- blocks that are whole and say what none says ---- */

static void put_number(uint8_t *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

/* The reader's answer to a first block with these lengths in its head and a right checksum. */
static enum journal_status answer(const uint8_t *packed, size_t packed_bytes, uint32_t says_packed,
                                  uint32_t says_plain, arb_tick tick)
{
    uint8_t *block = file + head_bytes;
    put_number(block, says_packed, 4);
    put_number(block + 4, says_plain, 4);
    put_number(block + 8, tick & UINT32_MAX, 4);
    memcpy(block + JOURNAL_BLOCK_HEAD_BYTES, packed, packed_bytes);
    put_number(block + 12, arb_hash(packed, packed_bytes, arb_hash(block, 12, key)), 8);
    file_bytes = head_bytes + JOURNAL_BLOCK_HEAD_BYTES + packed_bytes;
    enum journal_status status;
    struct journal_reader *reader = open_file(&status);
    cr_assert_not_null(reader);
    status = read_all(reader, NULL);
    cr_assert_eq(journal_good_tick(reader), FIRST);
    journal_close(reader);
    return status;
}

Test(journal, a_block_may_not_become_more_than_it_says)
{
    enum { BOMB = 32 << 20 };
    uint8_t *zeros = arb_mem_calloc(1, BOMB);
    static uint8_t packed[65536];
    size_t size = ZSTD_compress(packed, sizeof packed, zeros, BOMB, 1);
    cr_assert_not(ZSTD_isError(size));
    uint32_t packed_bytes = (uint32_t)size;
    cr_expect_eq(answer(packed, size, packed_bytes, 100, FIRST), JOURNAL_READ_TOO_LARGE);
    cr_expect_eq(answer(packed, size, packed_bytes, packed_bytes, FIRST), JOURNAL_READ_BAD_BLOCK);
    cr_expect_eq(answer(packed, size, packed_bytes, BOMB, FIRST), JOURNAL_READ_BAD_RECORD);
    cr_expect_eq(answer(packed, size, packed_bytes, (64 << 20) + 1, FIRST), JOURNAL_READ_TOO_LARGE);
    cr_expect_eq(answer(packed, size, UINT32_MAX, UINT32_MAX >> 1, FIRST), JOURNAL_READ_TOO_LARGE);
    cr_expect_eq(answer(packed, size, packed_bytes + 1, BOMB, FIRST), JOURNAL_READ_CUT);
    cr_expect_eq(answer(packed, size, packed_bytes, BOMB, FIRST + 1), JOURNAL_READ_BAD_ORDER);
    arb_mem_free(zeros);
}

Test(journal, any_records_are_refused_or_read)
{
    static uint8_t plain[512], packed[1024];
    uint32_t refused = 0;
    for (int round = 0; round < 20000; round++) {
        size_t size = 1 + arb_rng_below(&rng, 80);
        for (size_t i = 0; i < size; i++)
            plain[i] = (uint8_t)arb_rng_below(&rng, 256);
        if (arb_rng_below(&rng, 2) == 0) plain[0] = (uint8_t)(arb_rng_below(&rng, 30) << 3 | 1);
        size_t bytes = ZSTD_compress(packed, sizeof packed, plain, size, 1);
        uint8_t *block = file + head_bytes;
        put_number(block, bytes, 4);
        put_number(block + 4, size, 4);
        put_number(block + 8, FIRST, 4);
        memcpy(block + JOURNAL_BLOCK_HEAD_BYTES, packed, bytes);
        put_number(block + 12, arb_hash(packed, bytes, arb_hash(block, 12, key)), 8);
        file_bytes = head_bytes + JOURNAL_BLOCK_HEAD_BYTES + bytes;
        enum journal_status status;
        struct journal_reader *reader = open_file(&status);
        struct journal_record record;
        while ((status = journal_next(reader, &record)) == JOURNAL_READ_OK) {
            cr_assert_leq(record.size, size);
        }
        cr_assert(status == JOURNAL_READ_FINISHED || status == JOURNAL_READ_BAD_RECORD);
        refused += status == JOURNAL_READ_BAD_RECORD;
        journal_close(reader);
    }
    cr_expect_gt(refused, 1000);
}

Test(journal, blocks_of_another_file_or_order_do_not_belong)
{
    /* The second and third block change places. */
    static uint8_t copy[FILE_BYTES];
    size_t second = block_ends[1] - block_ends[0], third = block_ends[2] - block_ends[1];
    memcpy(copy, file, file_bytes);
    memcpy(file + block_ends[0], copy + block_ends[1], third);
    memcpy(file + block_ends[0] + third, copy + block_ends[0], second);
    enum journal_status status;
    struct journal_reader *reader = open_file(&status);
    cr_expect_eq(read_all(reader, NULL), JOURNAL_READ_BAD_ORDER);
    cr_expect_eq(journal_good_tick(reader), block_ticks[0]);
    journal_close(reader);
    /* The same blocks behind the head of another match. */
    struct journal_head other = head;
    other.match_id[5] = 1;
    size_t size;
    uint8_t *written = journal_write_head(&other, &size);
    memcpy(file, written, size);
    memcpy(file + size, copy + head_bytes, file_bytes - head_bytes);
    file_bytes += size - head_bytes;
    arb_mem_free(written);
    reader = open_file(&status);
    cr_expect_eq(read_all(reader, NULL), JOURNAL_READ_BAD_BLOCK);
    cr_expect_eq(journal_good_tick(reader), FIRST);
    journal_close(reader);
}

/* ---- seeking ---- */

Test(journal, seeking_finds_the_newest_keyframe_before)
{
    enum journal_status status;
    struct journal_reader *reader = open_file(&status);
    struct journal_record record;
    cr_expect_not(journal_seek(reader, block_ticks[1] - 1), "there is none so early");
    for (arb_tick tick = block_ticks[1]; tick < block_ticks[BLOCKS - 1]; tick += 9) {
        cr_assert(journal_seek(reader, tick));
        cr_assert_eq(journal_next(reader, &record), JOURNAL_READ_OK);
        cr_assert_eq(record.kind, JOURNAL_KEYFRAME);
        cr_assert_eq(record.tick, tick < block_ticks[6] ? block_ticks[1] : block_ticks[6]);
        cr_assert_eq(record.size, 5);
        cr_assert_eq(read_all(reader, NULL), JOURNAL_READ_FINISHED);
    }
    journal_close(reader);
}

Test(journal, seeking_passes_over_a_keyframe_that_is_cut_off_or_damaged)
{
    size_t whole = file_bytes, begin = block_ends[6], end = block_ends[7];
    for (size_t at = begin + JOURNAL_BLOCK_HEAD_BYTES; at <= end; at++) {
        enum journal_status status;
        struct journal_record record;
        bool is_damaged = at == end;
        if (is_damaged) {
            file_bytes = whole;
            file[end - 1] ^= 1;
        } else {
            file_bytes = at;
        }
        struct journal_reader *reader = open_file(&status);
        cr_assert(journal_seek(reader, UINT64_MAX));
        cr_assert_eq(journal_next(reader, &record), JOURNAL_READ_OK, "cut at %zu", at);
        cr_assert_eq(record.kind, JOURNAL_KEYFRAME);
        cr_assert_eq(record.tick, block_ticks[1]);
        status = read_all(reader, NULL);
        cr_expect_eq(status, is_damaged ? JOURNAL_READ_BAD_BLOCK : JOURNAL_READ_CUT);
        cr_expect_eq(journal_good_bytes(reader), begin);
        journal_close(reader);
    }
}

Test(journal, a_record_that_does_not_fit_is_told)
{
    uint8_t bytes[64], out[80];
    struct journal_record record = tick_record(FIRST + 3, bytes);
    size_t size = journal_put(&record, out, sizeof out);
    cr_assert_gt(size, record.size);
    for (size_t room = 0; room < size; room++)
        cr_assert_eq(journal_put(&record, out, room), 0);
}

/* Ticks behind a gap without a keyframe lead nowhere: nobody knows the state that they are of. */
Test(journal, whoever_goes_on_begins_where_the_file_leads_to_a_state)
{
    size_t whole = file_bytes;
    for (int block = 0; block < BLOCKS; block++) {
        for (int torn = 0; torn < 2; torn++) {
            enum journal_status status;
            uint64_t bytes = 0;
            file_bytes = block_ends[block] + (torn && block + 1 < BLOCKS ? 11 : 0);
            struct journal_reader *reader = open_file(&status);
            cr_assert_not_null(reader);
            status = journal_find_end(reader, &bytes);
            cr_expect_eq(status, file_bytes == block_ends[block] ? JOURNAL_READ_FINISHED
                                                                 : JOURNAL_READ_CUT);
            int last = block >= 4 && block < 7 ? 3 : block;
            cr_expect_eq(bytes, block_ends[last], "%d blocks", block + 1);
            journal_close(reader);
        }
    }
    file_bytes = whole;
}

/* A block of one byte for each record: 't' a tick, 'g' a gap, 'k' a keyframe, 'x' what is none. */
static void put_block(struct journal_packer *packer, const char *kinds, arb_tick *tick)
{
    static uint8_t plain[4096], bytes[64];
    size_t used = 0, size;
    arb_tick first = *tick;
    for (const char *kind = kinds; *kind != '\0'; kind++) {
        struct journal_record record = {.bytes = (const uint8_t *)"state", .size = 5};
        record.kind = *kind == 'k' ? JOURNAL_KEYFRAME : JOURNAL_END;
        if (*kind == 't') record = tick_record((*tick)++, bytes);
        if (*kind == 'g') {
            record =
                (struct journal_record){.kind = JOURNAL_GAP, .tick = *tick, .resume = *tick + 9};
            *tick += 9;
        }
        size_t begin = used;
        used += journal_put(&record, plain + used, sizeof plain - used);
        if (*kind == 'x') plain[begin] = (uint8_t)(plain[begin] | 7); /* a kind that is none */
    }
    const uint8_t *packed = journal_pack(packer, key, first, plain, used, &size);
    memcpy(file + file_bytes, packed, size);
    file_bytes += size;
}

Test(journal, nobody_goes_on_behind_a_bad_record_in_a_whole_block)
{
    static const struct {
        const char *blocks[4];
        int good; /* blocks */
        enum journal_status status;
    } cases[] = {
        {{"ttt", "tt"}, 2, JOURNAL_READ_FINISHED},
        {{"ttt", "tx"}, 1, JOURNAL_READ_BAD_RECORD},
        {{"ttt", "xt"}, 1, JOURNAL_READ_BAD_RECORD},
        {{"ttt", "x", "kt"}, 1, JOURNAL_READ_BAD_RECORD},
        {{"x"}, 0, JOURNAL_READ_BAD_RECORD},
        {{"ttt", "tk"}, 1, JOURNAL_READ_BAD_RECORD},
        {{"ttt", "tg"}, 1, JOURNAL_READ_FINISHED},
        {{"ttt", "tg", "ktt"}, 3, JOURNAL_READ_FINISHED},
        {{"ttt", "tg", "ktx"}, 1, JOURNAL_READ_BAD_RECORD},
        {{"ttt", "tg", "k", "x"}, 3, JOURNAL_READ_BAD_RECORD},
        {{"g", "ttt"}, 0, JOURNAL_READ_FINISHED},
    };
    struct journal_packer *packer = journal_packer_create(4096);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t ends[5] = {head_bytes}, bytes = 0;
        arb_tick tick = FIRST;
        file_bytes = head_bytes;
        for (int block = 0; block < 4 && cases[i].blocks[block] != NULL; block++) {
            put_block(packer, cases[i].blocks[block], &tick);
            ends[block + 1] = file_bytes;
        }
        enum journal_status status;
        struct journal_reader *reader = open_file(&status);
        cr_assert_not_null(reader);
        cr_expect_eq(journal_find_end(reader, &bytes), cases[i].status, "case %zu", i);
        cr_expect_eq(bytes, ends[cases[i].good], "case %zu", i);
        journal_close(reader);
    }
    journal_packer_destroy(packer);
}
