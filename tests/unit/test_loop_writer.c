/* server/loop: the file of a journal, and what a bad disk does to it and not to the tick. */
#define _GNU_SOURCE
#include "server/loop/loop_writer.h"
#include "server/journal/journal.h"
#include "shared/base/arb_mem.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { QUEUE = 64 * 1024, RATE = 60, FIRST = 1000, PATIENCE_MS = 300000 };

static char folder[] = "/tmp/arbiter_writer_XXXXXX", path[64];
static struct arb_arena arena;
static struct loop_writer *writer;
static char error[LOOP_WRITER_ERROR_BYTES];

/* ---- a disk that can be told what to do ---- */

static atomic_int refuse_with, syncs, most_bytes, refuse_sync_with;
static atomic_bool hangs; /* until it is told not to */
static atomic_int hanging;

static int64_t disk_write(void *owner, int fd, const void *bytes, size_t size, uint64_t offset)
{
    (void)owner;
    hanging++;
    while (hangs)
        usleep(1000);
    hanging--;
    if (refuse_with != 0) {
        /* In part, as a disk that becomes full. */
        ssize_t part = pwrite(fd, bytes, size / 2, (off_t)offset);
        (void)part;
        errno = refuse_with;
        return -1;
    }
    if (most_bytes > 0 && size > (size_t)most_bytes) size = (size_t)most_bytes;
    return pwrite(fd, bytes, size, (off_t)offset);
}

static int disk_sync(void *owner, int fd)
{
    (void)owner;
    (void)fd;
    syncs++;
    if (refuse_sync_with == 0) return 0;
    errno = refuse_sync_with;
    return -1;
}

static atomic_int troubles, recoveries;

static void on_trouble(void *owner, int number)
{
    (void)owner;
    if (number != 0) {
        troubles++;
    } else {
        recoveries++;
    }
}

static const struct journal_head head = {
    .tick_rate = RATE, .first_tick = FIRST, .build = "t", .mode = "m", .map = "p"};

static enum arb_result open_at(const char *where, int32_t sync)
{
    struct loop_writer_options options = {.path = where,
                                          .flush_ms = 20,
                                          .sync = sync,
                                          .queue_bytes = QUEUE,
                                          .io = {NULL, disk_write, disk_sync},
                                          .trouble = on_trouble};
    size_t size;
    uint8_t *bytes = journal_write_head(&head, &size);
    enum arb_result result = loop_writer_open(&writer, &options, bytes, size, FIRST, &arena, error);
    arb_mem_free(bytes);
    return result;
}

static void open_writer(int32_t sync)
{
    cr_assert_eq(open_at(path, sync), ARB_OK, "%s", error);
    cr_assert(loop_writer_start(writer));
}

static void setup(void)
{
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/journal", folder);
    arb_arena_init(&arena);
}

static void teardown(void)
{
    unlink(path);
    rmdir(folder);
    arb_arena_free(&arena);
}

TestSuite(loop_writer, .init = setup, .fini = teardown, .timeout = 1200);

static bool put_tick(arb_tick tick, size_t size)
{
    static uint8_t bytes[8192];
    memset(bytes, (int)(tick * 7), size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(bytes[i] + i * tick);
    struct journal_record record = {.kind = JOURNAL_TICK,
                                    .tick = tick,
                                    .bytes = bytes,
                                    .size = size,
                                    .checksum = tick,
                                    .checksum_bits = journal_is_whole(tick, RATE) ? 64 : 16};
    return loop_writer_put(writer, &record, 1);
}

static bool put_keyframe(arb_tick tick)
{
    struct journal_record record = {
        .kind = JOURNAL_KEYFRAME, .tick = tick, .bytes = (const uint8_t *)"state", .size = 5};
    return loop_writer_put(writer, &record, 1);
}

static uint64_t now_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000;
}

/* The suite's limit is the one against hanging. */
static void await(const atomic_int *number, int wanted)
{
    while (*number != wanted)
        usleep(1000);
}

/* ---- what is in the file ---- */

static size_t read_fd(void *owner, uint64_t offset, void *bytes, size_t count)
{
    ssize_t got = pread(*(int *)owner, bytes, count, (off_t)offset);
    return got > 0 ? (size_t)got : 0;
}

/* S[tick] that the file leads to; *end: how it ends. */
static arb_tick read_back(enum journal_status *end, uint32_t *gaps)
{
    int fd = open(path, O_RDONLY);
    struct journal_source source = {&fd, read_fd};
    struct journal_reader *reader = journal_open(&source, end);
    cr_assert_not_null(reader, "%s", journal_status_text(*end));
    struct journal_record record;
    *gaps = 0;
    while ((*end = journal_next(reader, &record)) == JOURNAL_READ_OK) {
        *gaps += record.kind == JOURNAL_GAP;
        if (record.kind == JOURNAL_TICK) cr_assert_eq(record.checksum, record.tick & 0xFFFF);
    }
    arb_tick reached = journal_good_tick(reader);
    journal_close(reader);
    close(fd);
    return reached;
}

static void expect_file(arb_tick reached)
{
    enum journal_status end;
    uint32_t gaps;
    cr_expect_eq(read_back(&end, &gaps), reached);
    cr_expect_eq(end, JOURNAL_READ_FINISHED, "%s", journal_status_text(end));
    cr_expect_eq(gaps, 0);
}

Test(loop_writer, everything_that_was_put_is_in_the_file_in_blocks)
{
    open_writer(LOOP_WRITER_NEVER);
    arb_tick tick = FIRST;
    for (; tick < FIRST + 3000; tick++) {
        if (tick % 500 == 0 && tick > FIRST) cr_assert(put_keyframe(tick));
        while (!put_tick(tick, tick % 50))
            usleep(1000);
    }
    struct loop_writer_counts counts = loop_writer_close(writer, PATIENCE_MS);
    cr_expect_eq(counts.error, 0);
    cr_expect_not(counts.abandoned);
    cr_expect_geq(counts.blocks, 6, "a keyframe begins one");
    cr_expect_eq(syncs, 0);
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq((uint64_t)status.st_size, counts.bytes);
    cr_expect_eq(status.st_mode & 0777, 0600);
    expect_file(tick);
}

Test(loop_writer, it_is_in_the_file_within_the_flush_time_and_at_once_for_whoever_waits)
{
    open_writer(LOOP_WRITER_FLUSH);
    cr_assert(put_tick(FIRST, 10));
    while (loop_writer_durable(writer) != FIRST + 1)
        usleep(1000);
    cr_expect_geq(syncs, 1);
    expect_file(FIRST + 1);
    cr_assert(put_tick(FIRST + 1, 10));
    cr_expect(loop_writer_wait(writer, PATIENCE_MS));
    cr_expect_eq(loop_writer_durable(writer), FIRST + 2);
    loop_writer_close(writer, PATIENCE_MS);
    expect_file(FIRST + 2);
}

Test(loop_writer, syncs_are_as_often_as_asked_for)
{
    open_writer(LOOP_WRITER_KEYFRAME);
    cr_assert(put_tick(FIRST, 10));
    cr_assert(loop_writer_wait(writer, PATIENCE_MS));
    cr_expect_eq(syncs, 0);
    cr_assert(put_keyframe(FIRST + 1));
    cr_assert(loop_writer_wait(writer, PATIENCE_MS));
    cr_expect_eq(syncs, 1);
    loop_writer_close(writer, PATIENCE_MS);
}

Test(loop_writer, writes_in_pieces_are_one_block)
{
    most_bytes = 7;
    open_writer(LOOP_WRITER_FLUSH);
    for (arb_tick tick = FIRST; tick < FIRST + 100; tick++)
        cr_assert(put_tick(tick, 40));
    loop_writer_close(writer, PATIENCE_MS);
    expect_file(FIRST + 100);
}

/* The queue takes what it can hold; the tick is told that it cannot, and never waits: the disk
 * takes nothing before the tick says so. A put that waited for a moment only would do so in all of
 * some. */
Test(loop_writer, a_full_disk_costs_no_tick_and_the_file_goes_on_when_there_is_room)
{
    open_writer(LOOP_WRITER_FLUSH);
    for (arb_tick tick = FIRST; tick < FIRST + 10; tick++)
        cr_assert(put_tick(tick, 100));
    cr_assert(loop_writer_wait(writer, PATIENCE_MS));
    refuse_with = ENOSPC;
    arb_tick tick = FIRST + 10;
    for (; put_tick(tick, 4000); tick++)
        cr_assert_lt(tick, FIRST + 1000, "the queue is bounded");
    cr_expect_gt(tick, FIRST + 20);
    await(&troubles, 1);
    while (put_tick(tick, 4000)) /* what the writer took of the queue meanwhile */
        tick++;
    uint64_t shortest_us = UINT64_MAX;
    for (int i = 0; i < 100 && shortest_us > 1000; i++) {
        uint64_t before = now_us();
        cr_expect_not(put_tick(tick, 4000));
        uint64_t passed = now_us() - before;
        shortest_us = passed < shortest_us ? passed : shortest_us;
    }
    cr_expect_leq(shortest_us, 1000);
    cr_expect_not(loop_writer_has_room(writer, 5000));
    cr_expect_not(loop_writer_wait(writer, 100));
    cr_expect_eq(troubles, 1, "told once");
    cr_expect_eq(loop_writer_durable(writer), FIRST + 10);
    refuse_with = 0;
    cr_assert(loop_writer_wait(writer, PATIENCE_MS));
    cr_expect_eq(recoveries, 1);
    cr_expect(loop_writer_has_room(writer, 5000));
    struct journal_record gap = {.kind = JOURNAL_GAP, .tick = tick, .resume = tick + 5};
    cr_assert(loop_writer_put(writer, &gap, 1));
    cr_assert(put_keyframe(tick + 5));
    cr_assert(put_tick(tick + 5, 10));
    struct loop_writer_counts counts = loop_writer_close(writer, PATIENCE_MS);
    cr_expect_gt(counts.failures, 0);
    cr_expect_eq(counts.error, 0);
    enum journal_status end;
    uint32_t gaps;
    cr_expect_eq(read_back(&end, &gaps), tick + 6);
    cr_expect_eq(end, JOURNAL_READ_FINISHED);
    cr_expect_eq(gaps, 1);
}

Test(loop_writer, what_never_went_as_a_whole_is_not_left_in_part)
{
    open_writer(LOOP_WRITER_FLUSH);
    cr_assert(put_tick(FIRST, 100));
    cr_assert(loop_writer_wait(writer, PATIENCE_MS));
    refuse_with = EIO;
    cr_assert(put_tick(FIRST + 1, 3000));
    cr_expect_not(loop_writer_wait(writer, 200));
    struct loop_writer_counts counts = loop_writer_close(writer, PATIENCE_MS);
    cr_expect_eq(counts.error, EIO);
    cr_expect_eq(counts.ticks, 1, "the other one was put, and is not there");
    expect_file(FIRST + 1);
}

Test(loop_writer, an_empty_queue_takes_a_record_of_the_most_bytes_and_none_of_more)
{
    static uint8_t bytes[QUEUE];
    open_writer(LOOP_WRITER_NEVER);
    size_t most = loop_writer_most(writer);
    struct journal_record record = {
        .kind = JOURNAL_KEYFRAME, .tick = FIRST, .bytes = bytes, .size = most};
    cr_assert(loop_writer_has_room(writer, most));
    cr_assert(loop_writer_put(writer, &record, 1));
    cr_assert(loop_writer_wait(writer, PATIENCE_MS));
    record.size = QUEUE - 16;
    cr_expect_not(loop_writer_put(writer, &record, 1));
    struct loop_writer_counts counts = loop_writer_close(writer, PATIENCE_MS);
    cr_expect_eq(counts.keyframes, 1);
    expect_file(FIRST);
}

Test(loop_writer, what_the_disk_did_not_confirm_is_not_durable)
{
    refuse_sync_with = EIO;
    open_writer(LOOP_WRITER_FLUSH);
    cr_assert(put_tick(FIRST, 100));
    cr_expect_not(loop_writer_wait(writer, 200));
    cr_expect_eq(loop_writer_durable(writer), FIRST);
    refuse_sync_with = 0;
    cr_expect(loop_writer_wait(writer, PATIENCE_MS));
    loop_writer_close(writer, PATIENCE_MS);
    expect_file(FIRST + 1);
}

/* It does not take the first before the last was put: who waited for it would wait for ever. */
Test(loop_writer, a_slow_disk_costs_no_tick)
{
    open_writer(LOOP_WRITER_FLUSH);
    hangs = true;
    cr_assert(put_tick(FIRST, 30));
    await(&hanging, 1);
    for (arb_tick tick = FIRST + 1; tick < FIRST + 100; tick++)
        cr_assert(put_tick(tick, 30));
    cr_expect_eq(loop_writer_durable(writer), FIRST);
    hangs = false;
    cr_expect(loop_writer_wait(writer, PATIENCE_MS));
    loop_writer_close(writer, PATIENCE_MS);
    expect_file(FIRST + 100);
}

Test(loop_writer, a_disk_that_hangs_is_left_behind)
{
    open_writer(LOOP_WRITER_FLUSH);
    hangs = true;
    cr_assert(put_tick(FIRST, 30));
    struct loop_writer_counts counts = loop_writer_close(writer, 100);
    cr_expect(counts.abandoned);
    await(&hanging, 1);
    hangs = false;
    static struct arb_arena its; /* it uses it until it ends, and nobody knows when */
    its = arena;
    arb_arena_init(&arena);
    cr_assert_gt(its.taken_bytes, 0);
}

Test(loop_writer, a_file_that_is_there_is_never_overwritten)
{
    FILE *there = fopen(path, "w");
    fputs("somebody's", there);
    fclose(there);
    cr_expect_eq(open_at(path, LOOP_WRITER_NEVER), ARB_FILES);
    cr_expect_not_null(strstr(error, "a journal is never overwritten"));
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    cr_expect_eq(status.st_size, 10);
    cr_expect_eq(open_at("/nowhere/journal", LOOP_WRITER_NEVER), ARB_FILES);
    cr_expect_str_eq(error,
                     "journal.path: /nowhere/journal: cannot write it: No such file or directory");
}

Test(loop_writer, a_disk_that_takes_no_head_gets_no_file)
{
    refuse_with = ENOSPC;
    cr_expect_eq(open_at(path, LOOP_WRITER_NEVER), ARB_FILES);
    cr_expect_neq(access(path, F_OK), 0);
}

Test(loop_writer, without_a_thread_all_is_written_at_the_close)
{
    cr_assert_eq(open_at(path, LOOP_WRITER_NEVER), ARB_OK);
    for (arb_tick tick = FIRST; tick < FIRST + 50; tick++)
        cr_assert(put_tick(tick, 40));
    loop_writer_close(writer, 0);
    expect_file(FIRST + 50);
}

Test(loop_writer, a_file_is_gone_on_with_behind_what_is_good_of_it)
{
    open_writer(LOOP_WRITER_FLUSH);
    for (arb_tick tick = FIRST; tick < FIRST + 100; tick++)
        cr_assert(put_tick(tick, 40));
    struct loop_writer_counts first = loop_writer_close(writer, PATIENCE_MS);
    size_t size;
    uint8_t *bytes = journal_write_head(&head, &size);
    int fd = open(path, O_RDWR);
    cr_assert_eq(pwrite(fd, "torn", 4, (off_t)first.bytes), 4);
    struct loop_writer_options options = {.path = path,
                                          .go_on_fd = fd,
                                          .go_on_bytes = first.bytes,
                                          .go_on_key = journal_file_key(bytes, size),
                                          .flush_ms = 20,
                                          .queue_bytes = QUEUE,
                                          .io = {NULL, disk_write, disk_sync}};
    arb_mem_free(bytes);
    cr_assert_eq(loop_writer_open(&writer, &options, NULL, 0, FIRST + 100, &arena, error), ARB_OK,
                 "%s", error);
    cr_assert(loop_writer_start(writer));
    cr_assert(put_keyframe(FIRST + 100));
    for (arb_tick tick = FIRST + 100; tick < FIRST + 150; tick++)
        cr_assert(put_tick(tick, 40));
    int other = open(path, O_RDWR);
    cr_expect_eq(flock(other, LOCK_EX | LOCK_NB), -1, "nobody else may");
    close(other);
    loop_writer_close(writer, PATIENCE_MS);
    expect_file(FIRST + 150);
}
