/* The file of a journal, and the thread that writes it (design.md, idea 5). The tick thread puts
 * records into a bounded queue and never waits; the thread gathers them for flush_ms, compresses
 * them into a block and writes it. A disk that is full, slow or gone costs the tick nothing: the
 * block is tried again until it goes, the queue fills up meanwhile, and what finds it full is told
 * so. The file is never overwritten, and whole after each block.
 */
#ifndef LOOP_WRITER_H
#define LOOP_WRITER_H

#include "server/journal/journal.h"
#include "shared/base/arb_arena.h"
#include "shared/base/arb_result.h"

/* The choices of journal.fsync. */
enum loop_writer_sync { LOOP_WRITER_NEVER, LOOP_WRITER_KEYFRAME, LOOP_WRITER_FLUSH };

/* What the thread asks of the system; tests have slower and worse ones. */
struct loop_writer_io {
    void *owner;
    /* As pwrite and fdatasync: -1 with errno. */
    int64_t (*write)(void *owner, int fd, const void *bytes, size_t size, uint64_t offset);
    int (*sync)(void *owner, int fd);
};

struct loop_writer_options {
    const char *path;
    /* To go on with a file, where loop_writer_open gets no head: open, locked, the writer's from
     * now on; so many of its bytes stay, what is behind them is cut off. */
    int go_on_fd;
    uint64_t go_on_bytes, go_on_key;
    uint32_t flush_ms;
    int32_t sync; /* enum loop_writer_sync */
    size_t queue_bytes;
    struct loop_writer_io io; /* all NULL: the system's */
    /* By the thread, once for each beginning and each end of trouble: errno, 0: it goes again.
     * NULL: nobody is told. */
    void (*trouble)(void *owner, int number);
    void *owner;
};

enum { LOOP_WRITER_ERROR_BYTES = 512 };

struct loop_writer;

/* Whether such a file could be made, without leaving one. ARB_FILES with one sentence. */
enum arb_result loop_writer_check(const char *path, char error[LOOP_WRITER_ERROR_BYTES]);

/* Makes the file, readable by its owner alone and locked; one that is there already is refused.
 * Writes the head (NULL: goes on with a file). ARB_FILES or ARB_MEMORY with one sentence in
 * `error`. The queue from the arena, which nobody frees once a close was abandoned. */
enum arb_result loop_writer_open(struct loop_writer **out,
                                 const struct loop_writer_options *options, const uint8_t *head,
                                 size_t head_bytes, arb_tick first_tick, struct arb_arena *arena,
                                 char error[LOOP_WRITER_ERROR_BYTES]);
/* False: no thread is to be had. */
bool loop_writer_start(struct loop_writer *writer);

/* Tick thread; as struct match_journal_sink wants them, `writer` the owner. */
bool loop_writer_put(void *writer, const struct journal_record *records, uint32_t count);
bool loop_writer_has_room(void *writer, size_t bytes);
/* Bytes of a record that an empty queue takes. */
size_t loop_writer_most(const struct loop_writer *writer);

/* S[tick] is reached by what is in the file, and on the disk as far as `sync` says. */
arb_tick loop_writer_durable(struct loop_writer *writer);
/* Asks for what was put so far to be written now, and waits for it so long. False: it was not. */
bool loop_writer_wait(struct loop_writer *writer, uint32_t timeout_ms);

struct loop_writer_counts {
    uint64_t blocks, bytes;    /* of the file, with its head */
    uint64_t ticks, keyframes; /* records in it, of those that were put */
    uint64_t failures;         /* writes and syncs that the system refused */
    int error;                 /* errno of the newest failure while it lasts; 0: none */
    bool abandoned; /* the disk took longer than the close waited: the file may end early */
};

/* Writes what waits, for at most so long, and closes the file. NULL: nothing. */
struct loop_writer_counts loop_writer_close(struct loop_writer *writer, uint32_t timeout_ms);

#endif
