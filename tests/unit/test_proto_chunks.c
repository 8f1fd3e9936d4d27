#include "shared/proto/arb_proto_internal.h"

#include <criterion/criterion.h>
#include <string.h>

enum { CHUNK_CAPACITY = 16 };

static uint8_t storage[ARB_CHUNKS_MAX * CHUNK_CAPACITY];
static uint8_t joined[ARB_CHUNKS_MAX * CHUNK_CAPACITY];
static struct arb_assembly assembly;

static void start(void)
{
    arb_assembly_init(&assembly, storage, joined, CHUNK_CAPACITY);
}

static struct arb_chunk chunk_of(uint16_t id, uint8_t index, uint8_t count, const char *text)
{
    return (struct arb_chunk){.header = {.id = id,
                                         .tick = id,
                                         .confirmed_tick = id,
                                         .chunk_index = index,
                                         .chunk_count = count},
                              .payload = (const uint8_t *)text,
                              .payload_bytes = (uint16_t)strlen(text)};
}

/* Adds a chunk; a complete group is committed at once. */
static enum arb_assembly_result add(uint16_t id, uint8_t index, uint8_t count, const char *text)
{
    struct arb_chunk chunk = chunk_of(id, index, count, text);
    enum arb_assembly_result result = arb_assembly_add(&assembly, &chunk);
    if (result == ARB_ASSEMBLY_COMPLETE) {
        arb_assembly_finish(&assembly, true);
    }
    return result;
}

static bool joined_is(const char *text)
{
    return assembly.size == strlen(text) && memcmp(joined, text, assembly.size) == 0;
}

Test(proto_chunks, snapshot_81_arriving_2_0_1_commits_once_at_the_third, .init = start)
{
    cr_assert_eq(add(81, 2, 3, "CC"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(81, 0, 3, "AAA"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(81, 1, 3, "B"), ARB_ASSEMBLY_COMPLETE);
    cr_assert(joined_is("AAABCC"));
    cr_assert_eq(assembly.committed_id, 81);
    cr_assert_eq(add(81, 1, 3, "B"), ARB_ASSEMBLY_STALE);
}

Test(proto_chunks, an_identical_duplicate_is_ignored, .init = start)
{
    cr_assert_eq(add(81, 1, 3, "B"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(81, 1, 3, "B"), ARB_ASSEMBLY_DUPLICATE);
    cr_assert_eq(add(81, 0, 3, "A"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(81, 2, 3, "C"), ARB_ASSEMBLY_COMPLETE);
    cr_assert(joined_is("ABC"));
}

Test(proto_chunks, other_bytes_at_the_same_index_kill_the_group, .init = start)
{
    add(81, 1, 3, "B");
    cr_assert_eq(add(81, 1, 3, "b"), ARB_ASSEMBLY_CONFLICT);
    cr_assert_eq(add(81, 0, 3, "A"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(81, 2, 3, "C"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(81, 1, 3, "B"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(82, 0, 1, "next"), ARB_ASSEMBLY_COMPLETE);
}

Test(proto_chunks, a_longer_or_shorter_duplicate_is_a_conflict, .init = start)
{
    add(81, 1, 3, "B");
    cr_assert_eq(add(81, 1, 3, "BB"), ARB_ASSEMBLY_CONFLICT);
}

Test(proto_chunks, other_metadata_kills_the_group)
{
    const struct arb_snapshot_header good = {
        .id = 81, .tick = 81, .confirmed_tick = 81, .chunk_index = 1, .chunk_count = 3};
    struct arb_snapshot_header others[7] = {good, good, good, good, good, good, good};
    others[0].tick = 82;
    others[1].confirmed_tick = 1;
    others[2].last_sequence = 1;
    others[3].buffer_ticks = -1;
    others[4].control = 1;
    others[5].baseline = 1;
    others[6].chunk_count = 4;
    for (int i = 0; i < 7; i++) {
        start();
        cr_assert_eq(add(81, 0, 3, "A"), ARB_ASSEMBLY_WAITING);
        struct arb_chunk chunk = chunk_of(81, 1, 3, "B");
        chunk.header = others[i];
        cr_assert_eq(arb_assembly_add(&assembly, &chunk), ARB_ASSEMBLY_CONFLICT, "%d", i);
        cr_assert_eq(add(81, 1, 3, "B"), ARB_ASSEMBLY_STALE);
    }
}

Test(proto_chunks, a_newer_snapshot_discards_an_unfinished_older_one, .init = start)
{
    add(81, 0, 2, "A");
    cr_assert_eq(add(82, 0, 2, "C"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(81, 1, 2, "B"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(82, 1, 2, "D"), ARB_ASSEMBLY_COMPLETE);
    cr_assert(joined_is("CD"));
}

Test(proto_chunks, nothing_not_newer_than_the_committed_one_is_taken, .init = start)
{
    cr_assert_eq(add(100, 0, 1, "x"), ARB_ASSEMBLY_COMPLETE);
    cr_assert_eq(add(100, 0, 1, "x"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(99, 0, 1, "x"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(101, 0, 1, "x"), ARB_ASSEMBLY_COMPLETE);
}

Test(proto_chunks, a_refused_group_is_dead_but_not_committed, .init = start)
{
    struct arb_chunk chunk = chunk_of(81, 0, 1, "bad");
    cr_assert_eq(arb_assembly_add(&assembly, &chunk), ARB_ASSEMBLY_COMPLETE);
    arb_assembly_finish(&assembly, false);
    cr_assert_not(assembly.committed_any);
    cr_assert_eq(add(81, 0, 1, "bad"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(80, 0, 1, "old"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(82, 0, 1, "good"), ARB_ASSEMBLY_COMPLETE);
}

Test(proto_chunks, ids_wrap_at_65535, .init = start)
{
    cr_assert_eq(add(65534, 0, 1, "a"), ARB_ASSEMBLY_COMPLETE);
    cr_assert_eq(add(65535, 0, 2, "b"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(0, 0, 2, "c"), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add(65535, 1, 2, "b"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(0, 1, 2, "d"), ARB_ASSEMBLY_COMPLETE);
    cr_assert_eq(add(65535, 0, 1, "b"), ARB_ASSEMBLY_STALE);
    cr_assert_eq(add(1, 0, 1, "e"), ARB_ASSEMBLY_COMPLETE);
}

/* 16 bits last 36 minutes at 30 a second: also after many one-chunk snapshots a group of many
 * assembles. */
Test(proto_chunks, many_chunks_assemble_after_40000_single_ones, .init = start)
{
    uint16_t id = 0xFFF0;
    for (int i = 0; i < 40000; i++) {
        cr_assert_eq(add(id++, 0, 1, "x"), ARB_ASSEMBLY_COMPLETE);
    }
    for (uint8_t index = 63; index > 0; index--) {
        cr_assert_eq(add(id, index, 64, "0123456789abcdef"), ARB_ASSEMBLY_WAITING);
    }
    cr_assert_eq(add(id, 0, 64, "0"), ARB_ASSEMBLY_COMPLETE);
    cr_assert_eq(assembly.size, 63 * 16 + 1);
}

Test(proto_chunks, a_chunk_beyond_the_receivers_room_kills_the_group, .init = start)
{
    cr_assert_eq(add(81, 0, 2, "0123456789abcdefg"), ARB_ASSEMBLY_CONFLICT);
    cr_assert_eq(add(81, 1, 2, "B"), ARB_ASSEMBLY_STALE);
}

Test(proto_chunks, payloads_up_to_8186_bytes_travel)
{
    static uint8_t payload[ARB_CHUNK_PAYLOAD_MAX];
    static uint8_t bytes[ARB_CHUNK_PAYLOAD_MAX + 64];
    struct arb_chunk chunk = chunk_of(1, 0, 1, "");
    chunk.payload = payload;
    chunk.payload_bytes = ARB_CHUNK_PAYLOAD_MAX;
    payload[8185] = 9;
    size_t size = arb_chunk_encode(&chunk, bytes, sizeof bytes);
    cr_assert_leq(size, ARB_CHUNK_HEAD_BYTES_MAX + 8186);
    struct arb_chunk out;
    cr_assert_eq(arb_chunk_decode(bytes, size, &out), ARB_DECODE_OK);
    cr_assert_eq(out.payload_bytes, 8186);
    cr_assert_eq(out.payload[8185], 9);
    cr_assert_eq(arb_chunk_decode(bytes, size + 1, &out), ARB_DECODE_LONG);
}

/* The header of one chunk by hand, behind the table. */
static enum arb_decode decode_tail(const char *bits)
{
    uint8_t bytes[64];
    struct arb_bit_writer writer;
    struct arb_snapshot_header header = {.id = 1, .tick = 5, .chunk_count = 1};
    arb_message_begin(&writer, ARB_MESSAGE_SNAPSHOT, bytes, sizeof bytes);
    arb_fields_write(&writer, &arb_snapshot_header_fields, &header);
    for (const char *bit = bits; *bit != 0; bit++) {
        if (*bit != ' ') arb_bits_write(&writer, *bit == '1', 1);
    }
    size_t head = arb_message_end(&writer);
    bytes[head] = 'p';
    struct arb_chunk chunk;
    return arb_chunk_decode(bytes, head + 1, &chunk);
}

Test(proto_chunks, heads_that_no_sender_writes_are_refused)
{
    static const struct {
        const char *bits;
        enum arb_decode expected;
    } cases[] = {
        {"0 0", ARB_DECODE_OK},
        {"1 1000000000000000 0", ARB_DECODE_OK},
        {"1 0000000000000000 0", ARB_DECODE_RANGE},            /* late by nothing */
        {"0 1 100000 100000", ARB_DECODE_OK},                  /* 1 of 2 */
        {"0 1 111111 111111", ARB_DECODE_OK},                  /* 63 of 64 */
        {"0 1 110000 100000", ARB_DECODE_ORDER},               /* 3 of 2 */
        {"0 1 010000 100000 1000000000000", ARB_DECODE_OK},    /* parity of 2 */
        {"0 1 010000 100000 0000000000000", ARB_DECODE_RANGE}, /* the last one is empty */
        {"0 1 010000 100000 0100000000000", ARB_DECODE_RANGE}, /* and longer than it */
        {"0 1 000000 000000", ARB_DECODE_RANGE},               /* 0 of 1 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(decode_tail(cases[i].bits), cases[i].expected, "case %zu", i);
    }
    uint8_t bytes[64];
    struct arb_chunk chunk = chunk_of(1, 1, 2, "p");
    size_t size = arb_chunk_encode(&chunk, bytes, sizeof bytes);
    bytes[size - 2] |= 0x80;
    cr_assert_eq(arb_chunk_decode(bytes, size, &chunk), ARB_DECODE_RANGE, "filled with ones");
    bytes[size - 2] &= 0x7F;
    cr_assert_eq(arb_chunk_decode(bytes, size - 1, &chunk), ARB_DECODE_SHORT, "no payload");
    cr_assert_eq(arb_chunk_decode(bytes, size - 2, &chunk), ARB_DECODE_SHORT);
}

Test(proto_chunks, the_head_of_a_whole_snapshot_of_a_confirmed_tick_is_short)
{
    uint8_t bytes[64];
    struct arb_chunk chunk = chunk_of(1, 0, 1, "p");
    size_t shortest = arb_chunk_encode(&chunk, bytes, sizeof bytes) - 1;
    cr_assert_eq(shortest, 10);
    chunk.header.confirmed_tick--;
    chunk.header.chunk_count = 64;
    cr_assert_leq(arb_chunk_encode(&chunk, bytes, sizeof bytes) - 1, ARB_CHUNK_HEAD_BYTES_MAX);
}

/* ---- parity ---- */

enum { PARITY_BYTES = 10, PARITY_CHUNKS = 4 };

/* A stream of three whole chunks and one of `last` bytes, and its parity behind them. */
struct parity_group {
    uint8_t stream[PARITY_BYTES * PARITY_CHUNKS];
    uint8_t parity[PARITY_BYTES];
    size_t size;
    struct arb_chunk chunks[PARITY_CHUNKS + 1];
};

static struct parity_group *group_of(uint16_t id, size_t last)
{
    static struct parity_group group;
    memset(&group, 0, sizeof group);
    group.size = PARITY_BYTES * (PARITY_CHUNKS - 1) + last;
    for (size_t i = 0; i < group.size; i++) {
        group.stream[i] = (uint8_t)(37 * i + 11);
        group.parity[i % PARITY_BYTES] ^= group.stream[i];
    }
    for (uint8_t i = 0; i <= PARITY_CHUNKS; i++) {
        struct arb_chunk *chunk = &group.chunks[i];
        chunk->header = (struct arb_snapshot_header){.id = id,
                                                     .tick = id,
                                                     .confirmed_tick = id,
                                                     .chunk_index = i,
                                                     .chunk_count = PARITY_CHUNKS};
        chunk->payload = group.stream + (size_t)i * PARITY_BYTES;
        chunk->payload_bytes = (uint16_t)(i + 1 == PARITY_CHUNKS ? last : PARITY_BYTES);
    }
    group.chunks[PARITY_CHUNKS].header.last_bytes = (uint16_t)last;
    group.chunks[PARITY_CHUNKS].payload = group.parity;
    group.chunks[PARITY_CHUNKS].payload_bytes = PARITY_BYTES;
    return &group;
}

/* Over the wire, as it would come. */
static enum arb_assembly_result add_chunk(const struct arb_chunk *chunk)
{
    uint8_t bytes[64];
    struct arb_chunk received;
    size_t size = arb_chunk_encode(chunk, bytes, sizeof bytes);
    cr_assert_gt(size, 0);
    cr_assert_eq(arb_chunk_decode(bytes, size, &received), ARB_DECODE_OK);
    return arb_assembly_add(&assembly, &received);
}

Test(proto_chunks, any_one_lost_chunk_is_made_up_for_by_the_parity, .init = start)
{
    uint16_t id = 1;
    for (size_t last = 1; last <= PARITY_BYTES; last++) {
        for (int lost = 0; lost <= PARITY_CHUNKS; lost++) {
            for (int first = 0; first <= PARITY_CHUNKS; first++, id++) {
                if (first == lost) continue;
                struct parity_group *group = group_of(id, last);
                int added = 0;
                enum arb_assembly_result result = ARB_ASSEMBLY_WAITING;
                for (int step = 0; step <= PARITY_CHUNKS; step++) {
                    int index = (first + step) % (PARITY_CHUNKS + 1);
                    if (index == lost) continue;
                    cr_assert_eq(result, ARB_ASSEMBLY_WAITING);
                    result = add_chunk(&group->chunks[index]);
                    added++;
                }
                cr_assert_eq(added, PARITY_CHUNKS);
                cr_assert_eq(result, ARB_ASSEMBLY_COMPLETE);
                cr_assert_eq(assembly.size, group->size);
                cr_assert_eq(memcmp(assembly.bytes, group->stream, group->size), 0);
                arb_assembly_finish(&assembly, true);
                cr_assert_eq(add_chunk(&group->chunks[first]), ARB_ASSEMBLY_STALE);
            }
        }
    }
}

Test(proto_chunks, two_lost_chunks_are_not_made_up_for, .init = start)
{
    struct parity_group *group = group_of(5, 3);
    cr_assert_eq(add_chunk(&group->chunks[4]), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add_chunk(&group->chunks[0]), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add_chunk(&group->chunks[4]), ARB_ASSEMBLY_DUPLICATE);
    cr_assert_eq(add_chunk(&group->chunks[0]), ARB_ASSEMBLY_DUPLICATE);
    cr_assert_eq(add_chunk(&group->chunks[3]), ARB_ASSEMBLY_WAITING);
    cr_assert_eq(add_chunk(&group->chunks[1]), ARB_ASSEMBLY_COMPLETE);
}

static void spoil(struct parity_group *group, int how)
{
    struct arb_chunk *parity = &group->chunks[PARITY_CHUNKS];
    switch (how) {
    case 0: /* of a longer last chunk than came */
        parity->header.last_bytes++;
        break;
    case 1: /* of shorter chunks than came */
        parity->payload_bytes--;
        break;
    case 2: /* a chunk in the middle is shorter */
        group->chunks[1].payload_bytes--;
        break;
    case 3: /* of another tick */
        parity->header.tick++;
        break;
    default: /* of other groups */
        parity->header.chunk_count--;
        parity->header.chunk_index--;
    }
}

Test(proto_chunks, a_parity_that_does_not_fit_kills_the_group, .init = start)
{
    for (int how = 0; how < 5; how++) {
        struct parity_group *group = group_of((uint16_t)(100 + how), 4);
        spoil(group, how);
        enum arb_assembly_result result = ARB_ASSEMBLY_WAITING;
        static const int order[] = {1, 3, 4, 2};
        for (int i = 0; i < 4 && result == ARB_ASSEMBLY_WAITING; i++) {
            result = add_chunk(&group->chunks[order[i]]);
        }
        cr_assert_eq(result, ARB_ASSEMBLY_CONFLICT, "way %d", how);
        cr_assert_eq(add_chunk(&group->chunks[0]), ARB_ASSEMBLY_STALE);
    }
}

Test(proto_chunks, what_is_left_behind_a_shorter_last_chunk_kills_the_group, .init = start)
{
    struct parity_group *group = group_of(9, 4);
    group->parity[7] ^= 1;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(add_chunk(&group->chunks[i]), ARB_ASSEMBLY_WAITING);
    }
    cr_assert_eq(add_chunk(&group->chunks[4]), ARB_ASSEMBLY_CONFLICT);
}

Test(proto_chunks, two_parities_that_differ_kill_the_group, .init = start)
{
    struct parity_group *group = group_of(9, 4);
    cr_assert_eq(add_chunk(&group->chunks[4]), ARB_ASSEMBLY_WAITING);
    group->chunks[4].header.last_bytes--;
    cr_assert_eq(add_chunk(&group->chunks[4]), ARB_ASSEMBLY_CONFLICT);
}

Test(proto_chunks, a_parity_says_how_long_the_last_chunk_is)
{
    uint8_t bytes[64];
    struct arb_chunk out;
    struct parity_group *group = group_of(9, 4);
    static const uint16_t bad[] = {0, PARITY_BYTES + 1};
    for (int i = 0; i < 2; i++) {
        group->chunks[4].header.last_bytes = bad[i];
        size_t size = arb_chunk_encode(&group->chunks[4], bytes, sizeof bytes);
        cr_assert_eq(arb_chunk_decode(bytes, size, &out), ARB_DECODE_RANGE);
    }
}
