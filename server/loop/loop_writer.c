#define _GNU_SOURCE
#include "server/loop/loop_writer.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MODE = 0600, PLACE_BYTES = 16, MILLION = 1000000 };

/* In front of each record in the queue. size 0: the queue goes on at its beginning. */
struct place {
    arb_tick tick;
    uint32_t size;
    uint32_t kind;
};
_Static_assert(sizeof(struct place) == PLACE_BYTES, "copied as it is");

struct loop_writer {
    struct loop_writer_options options;
    int fd;
    uint64_t file_key;
    struct journal_packer *packer;
    uint8_t *queue;    /* [queue_bytes] ring; a record is never cut by its end */
    size_t head, tail; /* next to be written, next free; under the lock */
    size_t used;
    uint8_t *plain; /* [queue_bytes], of the thread: the block in the making */
    size_t plain_bytes;
    arb_tick plain_tick;                   /* of its first record */
    uint32_t plain_kinds;                  /* bit per kind in it */
    uint32_t plain_ticks, plain_keyframes; /* records in it */
    arb_tick taken_tick;                   /* S[tick] that it leads to */
    const uint8_t *block;                  /* packed, not written yet; NULL: none */
    size_t block_bytes, block_written;
    uint64_t end;                 /* of the file, after the last whole block */
    uint64_t puts, writes_wanted; /* records put; of those, what somebody waits for */
    uint64_t taken, done;         /* records taken from the queue; those in the file */
    arb_tick durable;
    struct loop_writer_counts counts;
    pthread_mutex_t lock;
    pthread_cond_t wake, progress;
    pthread_t thread;
    bool threaded, stopping;
};

/* ---- the system ---- */

static int64_t system_write(void *owner, int fd, const void *bytes, size_t size, uint64_t offset)
{
    (void)owner;
    return pwrite(fd, bytes, size, (off_t)offset);
}

static int system_sync(void *owner, int fd)
{
    (void)owner;
    return fdatasync(fd);
}

/* Trouble is told when it begins and when it is over. */
static void note(struct loop_writer *writer, int number)
{
    pthread_mutex_lock(&writer->lock);
    bool told = (writer->counts.error != 0) == (number != 0);
    writer->counts.error = number;
    writer->counts.failures += number != 0;
    pthread_mutex_unlock(&writer->lock);
    if (!told && writer->options.trouble != NULL) {
        writer->options.trouble(writer->options.owner, number);
    }
}

/* From `*done` on; false: the system refused, and another time it may not. */
static bool write_on(struct loop_writer *writer, const uint8_t *bytes, size_t size, size_t *done)
{
    const struct loop_writer_io *io = &writer->options.io;
    while (*done < size) {
        int64_t got =
            io->write(io->owner, writer->fd, bytes + *done, size - *done, writer->end + *done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            note(writer, got < 0 ? errno : EIO);
            return false;
        }
        *done += (size_t)got;
    }
    return true;
}

/* ---- the queue ---- */

static size_t placed(size_t size)
{
    return PLACE_BYTES + (size + PLACE_BYTES - 1) / PLACE_BYTES * PLACE_BYTES;
}

/* Room in one piece, once the end of the ring is given up where it is too short. */
static bool fits(const struct loop_writer *writer, size_t bytes)
{
    size_t to_end = writer->options.queue_bytes - writer->tail;
    size_t free = writer->options.queue_bytes - writer->used;
    return bytes <= to_end ? bytes <= free : to_end + bytes <= free;
}

bool loop_writer_has_room(void *owner, size_t bytes)
{
    struct loop_writer *writer = owner;
    pthread_mutex_lock(&writer->lock);
    bool room = fits(writer, placed(bytes) + PLACE_BYTES);
    pthread_mutex_unlock(&writer->lock);
    return room;
}

/* As put_one asks for it, of a ring that begins at its beginning. */
size_t loop_writer_most(const struct loop_writer *writer)
{
    return writer->options.queue_bytes - 3U * PLACE_BYTES - JOURNAL_TAG_BYTES_MAX - 10U;
}

static void write_place(struct loop_writer *writer, const struct place *place)
{
    memcpy(writer->queue + writer->tail, place, sizeof *place);
}

static bool put_one(struct loop_writer *writer, const struct journal_record *record)
{
    size_t most = record->size + JOURNAL_TAG_BYTES_MAX + 10;
    size_t bytes = placed(most);
    if (!fits(writer, bytes)) return false;
    size_t to_end = writer->options.queue_bytes - writer->tail;
    if (bytes > to_end) {
        write_place(writer, &(struct place){0});
        writer->used += to_end;
        writer->tail = 0;
    }
    size_t size = journal_put(record, writer->queue + writer->tail + PLACE_BYTES, most);
    ARB_ASSERT(size > 0);
    write_place(writer, &(struct place){record->tick, (uint32_t)size, (uint32_t)record->kind});
    bytes = placed(size);
    writer->tail = (writer->tail + bytes) % writer->options.queue_bytes;
    writer->used += bytes;
    writer->puts++;
    return true;
}

/* What somebody waits for, or what fills the queue, is written at once. */
static bool is_urgent(const struct loop_writer *writer)
{
    return writer->stopping || writer->writes_wanted > writer->done ||
           writer->used > writer->options.queue_bytes / 2;
}

bool loop_writer_put(void *owner, const struct journal_record *records, uint32_t count)
{
    struct loop_writer *writer = owner;
    pthread_mutex_lock(&writer->lock);
    size_t tail = writer->tail, used = writer->used;
    uint64_t puts = writer->puts;
    bool all = true;
    for (uint32_t i = 0; all && i < count; i++)
        all = put_one(writer, &records[i]);
    if (!all) {
        writer->tail = tail;
        writer->used = used;
        writer->puts = puts;
    }
    if (is_urgent(writer)) pthread_cond_signal(&writer->wake);
    pthread_mutex_unlock(&writer->lock);
    return all;
}

/* ---- the thread ---- */

/* The next record that waits goes into the block. False: there is none, or it begins another. */
static bool take(struct loop_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool waits = writer->taken < writer->puts;
    pthread_mutex_unlock(&writer->lock);
    if (!waits) return false;
    /* What was put is nobody else's until `head` has passed it. */
    struct place place;
    memcpy(&place, writer->queue + writer->head, sizeof place);
    size_t skipped = 0;
    if (place.size == 0) {
        skipped = writer->options.queue_bytes - writer->head;
        memcpy(&place, writer->queue, sizeof place);
    }
    size_t at = skipped > 0 ? 0 : writer->head;
    bool begins = writer->plain_bytes == 0;
    if (!begins && (place.kind == JOURNAL_KEYFRAME ||
                    writer->plain_bytes + place.size > writer->options.queue_bytes)) {
        return false;
    }
    if (begins) writer->plain_tick = place.tick;
    memcpy(writer->plain + writer->plain_bytes, writer->queue + at + PLACE_BYTES, place.size);
    writer->plain_bytes += place.size;
    writer->plain_kinds |= 1U << place.kind;
    writer->plain_ticks += place.kind == JOURNAL_TICK;
    writer->plain_keyframes += place.kind == JOURNAL_KEYFRAME;
    writer->taken_tick = place.kind == JOURNAL_TICK ? place.tick + 1 : place.tick;
    pthread_mutex_lock(&writer->lock);
    writer->used -= skipped + placed(place.size);
    writer->head = (at + placed(place.size)) % writer->options.queue_bytes;
    writer->taken++;
    /* Empty: from the beginning again, so that a queue that is never full is never all touched. */
    if (writer->used == 0) writer->head = writer->tail = 0;
    pthread_mutex_unlock(&writer->lock);
    return true;
}

static bool is_synced(const struct loop_writer *writer)
{
    uint32_t anchors = 1U << JOURNAL_KEYFRAME | 1U << JOURNAL_END | 1U << JOURNAL_SENT;
    return writer->options.sync == LOOP_WRITER_FLUSH ||
           (writer->options.sync == LOOP_WRITER_KEYFRAME && (writer->plain_kinds & anchors) != 0);
}

static bool write_block(struct loop_writer *writer)
{
    const struct loop_writer_io *io = &writer->options.io;
    if (writer->block == NULL) {
        writer->block = journal_pack(writer->packer, writer->file_key, writer->plain_tick,
                                     writer->plain, writer->plain_bytes, &writer->block_bytes);
        writer->block_written = 0;
    }
    if (!write_on(writer, writer->block, writer->block_bytes, &writer->block_written)) return false;
    if (is_synced(writer) && io->sync(io->owner, writer->fd) != 0) {
        note(writer, errno);
        writer->block_written = 0; /* what the disk has of it is unknown */
        return false;
    }
    note(writer, 0);
    pthread_mutex_lock(&writer->lock);
    writer->end += writer->block_bytes;
    writer->counts.blocks++;
    writer->counts.bytes = writer->end;
    writer->counts.ticks += writer->plain_ticks;
    writer->counts.keyframes += writer->plain_keyframes;
    writer->done = writer->taken;
    writer->durable = writer->taken_tick;
    pthread_cond_broadcast(&writer->progress);
    pthread_mutex_unlock(&writer->lock);
    writer->block = NULL;
    writer->plain_bytes = 0;
    writer->plain_kinds = 0;
    writer->plain_ticks = writer->plain_keyframes = 0;
    return true;
}

/* All that waits; false: the disk does not take it now. */
static bool write_all(struct loop_writer *writer)
{
    while (true) {
        /* A block that was refused is the same when it is tried again. */
        while (writer->block == NULL && take(writer)) {
        }
        if (writer->plain_bytes == 0) return true;
        if (!write_block(writer)) return false;
    }
}

static struct timespec in_ms(uint32_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t ns = (uint64_t)at.tv_nsec + (uint64_t)ms * MILLION;
    at.tv_sec += (time_t)(ns / 1000000000U);
    at.tv_nsec = (long)(ns % 1000000000U);
    return at;
}

/* Until it is time to write; false: for the last time. */
static bool wait_for_more(struct loop_writer *writer, bool refused)
{
    pthread_mutex_lock(&writer->lock);
    struct timespec until = in_ms(writer->options.flush_ms);
    int status = 0;
    while (status == 0 && !writer->stopping && (refused || !is_urgent(writer))) {
        status = pthread_cond_timedwait(&writer->wake, &writer->lock, &until);
    }
    bool goes_on = !writer->stopping;
    pthread_mutex_unlock(&writer->lock);
    return goes_on;
}

static void *run_writer(void *argument)
{
    struct loop_writer *writer = argument;
    bool refused = false;
    while (wait_for_more(writer, refused))
        refused = !write_all(writer);
    write_all(writer);
    pthread_mutex_lock(&writer->lock);
    writer->threaded = false;
    pthread_cond_broadcast(&writer->progress);
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

/* Signals are the tick thread's; a file that may not grow further is an error like any other. */
bool loop_writer_start(struct loop_writer *writer)
{
    sigset_t all, before;
    sigfillset(&all);
    signal(SIGXFSZ, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    writer->threaded = true;
    bool started = pthread_create(&writer->thread, NULL, run_writer, writer) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) writer->threaded = false;
    return started;
}

arb_tick loop_writer_durable(struct loop_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    arb_tick tick = writer->durable;
    pthread_mutex_unlock(&writer->lock);
    return tick;
}

bool loop_writer_wait(struct loop_writer *writer, uint32_t timeout_ms)
{
    struct timespec until = in_ms(timeout_ms);
    int status = 0;
    pthread_mutex_lock(&writer->lock);
    uint64_t wanted = writer->puts;
    writer->writes_wanted = wanted;
    pthread_cond_signal(&writer->wake);
    while (status == 0 && writer->threaded && writer->done < wanted) {
        status = pthread_cond_timedwait(&writer->progress, &writer->lock, &until);
    }
    bool written = writer->done >= wanted;
    pthread_mutex_unlock(&writer->lock);
    return written;
}

/* ---- life ---- */

static enum arb_result fail(char *error, const char *path, const char *what, int number)
{
    snprintf(error, LOOP_WRITER_ERROR_BYTES, "journal.path: %s: %s: %s", path, what,
             strerror(number));
    return ARB_FILES;
}

static void release(struct loop_writer *writer)
{
    close(writer->fd);
    journal_packer_destroy(writer->packer);
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->wake);
    pthread_cond_destroy(&writer->progress);
}

static void init_locks(struct loop_writer *writer)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->wake, &monotonic);
    pthread_cond_init(&writer->progress, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* As a whole or not at all. */
static int begin_file(struct loop_writer *writer, const uint8_t *head, size_t head_bytes)
{
    const struct loop_writer_options *options = &writer->options;
    size_t done = 0;
    if (writer->packer == NULL) return ENOMEM;
    if (head == NULL) {
        writer->file_key = options->go_on_key;
        writer->end = options->go_on_bytes;
        return ftruncate(writer->fd, (off_t)writer->end) == 0 ? 0 : errno;
    }
    writer->file_key = journal_file_key(head, head_bytes);
    if (!write_on(writer, head, head_bytes, &done)) return writer->counts.error;
    writer->end = head_bytes;
    return 0;
}

/* A new file: what is there already is never touched. */
static enum arb_result create(const char *path, int *fd, char *error)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    if (*fd >= 0) return ARB_OK;
    return fail(error, path, errno == EEXIST ? "a journal is never overwritten" : "cannot write it",
                errno);
}

enum arb_result loop_writer_check(const char *path, char error[LOOP_WRITER_ERROR_BYTES])
{
    int fd;
    enum arb_result result = create(path, &fd, error);
    if (result != ARB_OK) return result;
    close(fd);
    unlink(path);
    return ARB_OK;
}

enum arb_result loop_writer_open(struct loop_writer **out,
                                 const struct loop_writer_options *options, const uint8_t *head,
                                 size_t head_bytes, arb_tick first_tick, struct arb_arena *arena,
                                 char error[LOOP_WRITER_ERROR_BYTES])
{
    int fd = options->go_on_fd;
    enum arb_result result = head != NULL ? create(options->path, &fd, error) : ARB_OK;
    if (result != ARB_OK) return result;
    flock(fd, LOCK_EX | LOCK_NB); /* where that is not to be had, nobody else asks for it either */
    struct loop_writer *writer = arb_arena_take(arena, sizeof *writer);
    writer->options = *options;
    if (writer->options.io.write == NULL) writer->options.io.write = system_write;
    if (writer->options.io.sync == NULL) writer->options.io.sync = system_sync;
    writer->options.queue_bytes -= writer->options.queue_bytes % PLACE_BYTES;
    writer->fd = fd;
    writer->durable = writer->taken_tick = first_tick;
    writer->queue = arb_arena_take(arena, writer->options.queue_bytes);
    writer->plain = arb_arena_take(arena, writer->options.queue_bytes);
    init_locks(writer);
    writer->packer = journal_packer_create(writer->options.queue_bytes);
    int number = begin_file(writer, head, head_bytes);
    if (number != 0) {
        release(writer);
        if (head != NULL) unlink(options->path);
        return fail(error, options->path, "cannot write it", number);
    }
    writer->counts.bytes = writer->end;
    *out = writer;
    return ARB_OK;
}

struct loop_writer_counts loop_writer_close(struct loop_writer *writer, uint32_t timeout_ms)
{
    if (writer == NULL) return (struct loop_writer_counts){0};
    struct timespec until = in_ms(timeout_ms);
    int status = 0;
    pthread_mutex_lock(&writer->lock);
    bool started = writer->threaded;
    writer->stopping = true;
    pthread_cond_signal(&writer->wake);
    while (status == 0 && writer->threaded) {
        status = pthread_cond_timedwait(&writer->progress, &writer->lock, &until);
    }
    bool abandoned = writer->threaded;
    struct loop_writer_counts counts = writer->counts;
    pthread_mutex_unlock(&writer->lock);
    counts.abandoned = abandoned;
    if (abandoned) {
        /* It hangs in the system, and may go on at any time: nobody frees what it uses. */
        pthread_detach(writer->thread);
        return counts;
    }
    if (started) pthread_join(writer->thread, NULL);
    if (!started) write_all(writer);
    counts = writer->counts;
    /* A block that never went as a whole is not left behind in part. */
    if (writer->block != NULL && ftruncate(writer->fd, (off_t)writer->end) != 0) {
        counts.failures++;
    }
    release(writer);
    return counts;
}
