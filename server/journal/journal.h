/* The file of a match (JOURNAL.md): a head, then blocks of records, each compressed and checked by
 * itself, so that the file is whole after every block however it ends. Encoder and reader are pure:
 * bytes in, bytes out, no file, no thread, no clock. What a record says is the match's business
 * (server/match/match_journal.h); here it is a kind, a tick and bytes. The only place of zstd
 * (spec/determinism.md "Replay and journal"). The reader takes any bytes: it refuses with a reason,
 * and its memory is bounded.
 */
#ifndef JOURNAL_H
#define JOURNAL_H

#include "shared/base/arb_types.h"

#include <stddef.h>

enum {
    JOURNAL_FORMAT = 2,
    JOURNAL_CONFIG_BYTES_MAX = 2 << 20, /* an effective configuration is longer than its file */
    JOURNAL_MAP_BYTES_MAX = 16 << 20,
    JOURNAL_PLAIN_BYTES_MAX = 64 << 20, /* of a block */
    JOURNAL_TEXT_BYTES_MAX = 255,
    JOURNAL_TAG_BYTES_MAX = 5,
    JOURNAL_BLOCK_HEAD_BYTES = 20,
    JOURNAL_KEY_BYTES_MAX = 63, /* of SENT */
};

/* value, name, text */
#define JOURNAL_KIND_MAP(X)                                                                        \
    X(1, TICK, "what a tick took in, and the checksum after it")                                   \
    X(2, KEYFRAME, "the whole state before a tick")                                                \
    X(3, GAP, "ticks that were not written")                                                       \
    X(4, END, "the result is final")                                                               \
    X(5, SENT, "what cannot be taken back has left")

enum journal_kind {
#define X(value, name, text) JOURNAL_##name = value,
    JOURNAL_KIND_MAP(X)
#undef X
};
const char *journal_kind_text(enum journal_kind kind); /* "TICK" */

/* Texts need not end with NUL where a length stands beside them; all others are at most
 * JOURNAL_TEXT_BYTES_MAX long. */
struct journal_head {
    uint32_t schema; /* of the state */
    uint32_t tick_rate;
    uint64_t seed;
    arb_tick first_tick;
    uint64_t map_hash; /* of the static geometry as it was loaded */
    uint8_t match_id[16];
    const char *build, *mode, *map; /* map: its name as configured */
    const char *config_text;        /* effective configuration, JSON */
    size_t config_bytes;
    const char *map_text; /* the map's file */
    size_t map_bytes;
};

struct journal_record {
    enum journal_kind kind;
    arb_tick tick;   /* TICK: its step S[tick] -> S[tick + 1]; KEYFRAME: of S[tick]; GAP: the first
                        that is missing; END, SENT: of the state S[tick] that it is of */
    arb_tick resume; /* GAP: the next one that is there */
    const uint8_t *bytes; /* without checksum; of the reader, until it goes on */
    size_t size;
    uint64_t checksum; /* TICK: of S[tick + 1], its low `checksum_bits` */
    unsigned checksum_bits;
};

/* ---- writing ---- */

/* The head's bytes, by arb_mem_alloc; NULL: a text is too long. */
uint8_t *journal_write_head(const struct journal_head *head, size_t *size);
/* What the blocks of that file are checked with: of its whole head as written. */
uint64_t journal_file_key(const uint8_t *head, size_t size);

/* Whether the whole checksum goes with that tick, once a second; else its low 16 bits do. */
static inline bool journal_is_whole(arb_tick tick, uint32_t tick_rate)
{
    return tick % tick_rate == 0;
}

/* One record as it stands in a block: `record` but for `tick`, which follows from the place.
 * Returns the bytes used; 0: it does not fit. */
size_t journal_put(const struct journal_record *record, uint8_t *out, size_t capacity);

/* Compresses blocks; allocates at its creation. */
struct journal_packer;
/* Of blocks of at most that many plain bytes. NULL: out of memory. */
struct journal_packer *journal_packer_create(size_t plain_bytes_max);
void journal_packer_destroy(struct journal_packer *packer);
/* A block of whole records, the first of them of `tick`. The bytes are the packer's until the next
 * call. */
const uint8_t *journal_pack(struct journal_packer *packer, uint64_t file_key, arb_tick tick,
                            const uint8_t *plain, size_t plain_bytes, size_t *size);

/* ---- reading ---- */

/* name, text */
#define JOURNAL_STATUS_MAP(X)                                                                      \
    X(OK, "ok")                                                                                    \
    X(FINISHED, "the file ends here")                                                              \
    X(CUT, "the file ends in the middle of a block: it was cut off, or is being written")          \
    X(NO_JOURNAL, "it is no journal")                                                              \
    X(VERSION, "it is of another version of the format")                                           \
    X(BAD_HEAD, "its head is damaged")                                                             \
    X(BAD_BLOCK, "a block is damaged")                                                             \
    X(BAD_RECORD, "a block holds what no match writes")                                            \
    X(BAD_ORDER, "a block does not follow on the one before")                                      \
    X(TOO_LARGE, "a block says that it is larger than any may be")                                 \
    X(MEMORY, "out of memory")

enum journal_status {
#define X(name, text) JOURNAL_READ_##name,
    JOURNAL_STATUS_MAP(X)
#undef X
};
const char *journal_status_text(enum journal_status status);

/* Bytes of the file from `offset` on: how many there were, at most `count`. */
struct journal_source {
    void *owner;
    size_t (*read)(void *owner, uint64_t offset, void *bytes, size_t count);
};

struct journal_reader;

/* NULL with the reason in *status. */
struct journal_reader *journal_open(const struct journal_source *source,
                                    enum journal_status *status);
void journal_close(struct journal_reader *reader);
const struct journal_head *journal_reader_head(const struct journal_reader *reader);
/* For blocks that are put behind the good ones. */
uint64_t journal_reader_key(const struct journal_reader *reader);

/* The next record. Anything but OK: there is none; asked again it looks again, for a file that is
 * being written. */
enum journal_status journal_next(struct journal_reader *reader, struct journal_record *out);

/* To the newest whole keyframe of a tick up to that one: the next record is it. False: there is
 * none, and the reader stays where it is. Of the other blocks only the heads are looked at. */
bool journal_seek(struct journal_reader *reader, arb_tick tick);

/* All ticks before that one are good, or known to be missing: S[tick] is reached. */
arb_tick journal_good_tick(const struct journal_reader *reader);
/* So many bytes of the file are good: up to the end of the newest whole block. */
uint64_t journal_good_bytes(const struct journal_reader *reader);
uint64_t journal_block_count(const struct journal_reader *reader);

/* Reads to the end. So many bytes of the file lead to a state, for whoever goes on with it: up to
 * the end of its last whole block, or of one before when a gap begins there whose keyframe was
 * never written, or when a record in it is bad. Anything but MEMORY is an end like another. */
enum journal_status journal_find_end(struct journal_reader *reader, uint64_t *bytes);

#endif
