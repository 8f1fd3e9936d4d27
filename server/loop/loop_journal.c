#define _GNU_SOURCE
#include "server/loop/loop_journal.h"

#include "server/ops/log.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_SPARE_BYTES = 256 * 1024, /* beside two keyframes: a minute of ten players and more */
    SETTLE_MS = 2000,
    CLOSE_MS = 5000,
    UNTOLD = -1,
};

struct loop_journal {
    struct loop_writer *writer;
    struct match_journal *records;
    char path[CONFIG_PATH_BYTES + 32];
    /* Of the writer's thread, for the log: errno, 0: over, UNTOLD: nothing new. */
    atomic_int trouble;
    uint64_t gaps; /* told so far */
    bool told_too_large;
};

static void on_trouble(void *owner, int number)
{
    struct loop_journal *journal = owner;
    atomic_store(&journal->trouble, number);
}

/* %m in the configured name is the match id. */
static enum arb_result name_file(char *out, size_t size, const char *configured,
                                 const uint8_t match_id[16], char *error)
{
    char id[MATCH_ID_TEXT_BYTES];
    size_t used = 0;
    match_id_text(match_id, id);
    for (const char *c = configured; *c != '\0'; c++) {
        bool is_id = c[0] == '%' && c[1] == 'm';
        size_t bytes = is_id ? strlen(id) : 1;
        if (used + bytes >= size) {
            snprintf(error, CONFIG_ERROR_BYTES,
                     "journal.path: longer than %zu bytes with the match id for each %%m",
                     size - 1);
            return ARB_FILES;
        }
        memcpy(out + used, is_id ? id : c, bytes);
        used += bytes;
        if (is_id) c++;
    }
    out[used] = '\0';
    return ARB_OK;
}

/* Head of the file as bytes, for arb_mem_free. */
static enum arb_result make_head(const struct config *config, const struct match *match,
                                 uint8_t **bytes, size_t *size, char *error)
{
    struct journal_head head = match_journal_head(match);
    struct config_error found;
    char *map_text = NULL, *config_text = NULL;
    size_t map_bytes = 0, config_bytes = 0;
    enum arb_result result = map_read(config->map_path, &map_text, &map_bytes, &found);
    if (result != ARB_OK) {
        memcpy(error, found.text, sizeof found.text);
        return result;
    }
    FILE *out = open_memstream(&config_text, &config_bytes);
    if (out != NULL) {
        config_print_loaded(config, out);
        fclose(out);
    }
    head.build = "arbiterd " ARBITER_VERSION ", compiler " __VERSION__;
    head.map = config->map;
    head.map_text = map_text;
    head.map_bytes = map_bytes;
    head.config_text = config_text;
    head.config_bytes = config_bytes;
    *bytes = config_text != NULL ? journal_write_head(&head, size) : NULL;
    arb_mem_free(map_text);
    free(config_text);
    if (*bytes != NULL) return ARB_OK;
    snprintf(error, CONFIG_ERROR_BYTES, "journal.path: there is no memory for its head");
    return ARB_MEMORY;
}

static enum arb_result open_writer(struct loop_journal *journal, const struct config *config,
                                   const struct match *match, const struct loop_resumed *resumed,
                                   size_t queue_bytes, struct arb_arena *arena, char *error)
{
    uint8_t *head = NULL;
    size_t head_bytes = 0;
    enum arb_result result = ARB_OK;
    if (resumed == NULL) result = make_head(config, match, &head, &head_bytes, error);
    if (result != ARB_OK) return result;
    struct loop_writer_options options = {.path = journal->path,
                                          .flush_ms = (uint32_t)config->journal.flush_ms,
                                          .sync = config->journal.fsync,
                                          .queue_bytes = queue_bytes,
                                          .trouble = on_trouble,
                                          .owner = journal};
    if (resumed != NULL) {
        options.go_on_fd = resumed->fd;
        options.go_on_bytes = resumed->bytes;
        options.go_on_key = resumed->file_key;
    }
    result = loop_writer_open(&journal->writer, &options, head, head_bytes, match_tick(match),
                              arena, error);
    arb_mem_free(head);
    if (result != ARB_OK) return result;
    if (loop_writer_start(journal->writer)) return ARB_OK;
    loop_writer_close(journal->writer, 0);
    snprintf(error, CONFIG_ERROR_BYTES, "journal.path: no thread is to be had for it");
    return ARB_MEMORY;
}

enum arb_result loop_journal_check(const struct config *config, char *error)
{
    static const uint8_t any_id[16];
    char path[sizeof((struct loop_journal *)0)->path];
    enum arb_result result = name_file(path, sizeof path, config->journal.path, any_id, error);
    if (result != ARB_OK) return result;
    return loop_writer_check(path, error);
}

enum arb_result loop_journal_open(struct loop_journal **out, const struct config *config,
                                  struct match *match, const struct loop_resumed *resumed,
                                  struct arb_arena *arena, char *error)
{
    *out = NULL;
    if (config->journal.path[0] == '\0') return ARB_OK;
    struct loop_journal *journal = arb_arena_take(arena, sizeof *journal);
    struct journal_head head = match_journal_head(match);
    atomic_init(&journal->trouble, UNTOLD);
    enum arb_result result = ARB_OK;
    if (resumed != NULL) {
        snprintf(journal->path, sizeof journal->path, "%s", resumed->path);
    } else {
        result = name_file(journal->path, sizeof journal->path, config->journal.path, head.match_id,
                           error);
    }
    if (result != ARB_OK) return result;
    size_t queue_bytes = 2 * match_journal_keyframe_bytes(match) + QUEUE_SPARE_BYTES;
    if (queue_bytes > JOURNAL_PLAIN_BYTES_MAX) queue_bytes = JOURNAL_PLAIN_BYTES_MAX;
    result = open_writer(journal, config, match, resumed, queue_bytes, arena, error);
    if (result != ARB_OK) return result;
    struct match_journal_sink sink = {journal->writer, loop_writer_put, loop_writer_has_room,
                                      loop_writer_most(journal->writer)};
    uint32_t keyframe_ticks =
        (uint32_t)config->journal.keyframe_s * (uint32_t)config->match.tick_rate;
    journal->records = match_journal_create(arena, match, keyframe_ticks, &sink);
    if (resumed != NULL) match_journal_go_on(journal->records, match, resumed->ended);
    *out = journal;
    return ARB_OK;
}

/* Once when it begins and once when it is over, however long it lasts. */
static void tell(struct loop_journal *journal)
{
    int number = atomic_exchange(&journal->trouble, UNTOLD);
    if (number > 0) {
        ops_log(OPS_ERROR, "journal_trouble", OPS_TEXT("path", journal->path),
                OPS_TEXT("error", strerror(number)));
    } else if (number == 0) {
        ops_log(OPS_INFO, "journal_recovered", OPS_TEXT("path", journal->path));
    }
    struct match_journal_counts counts = match_journal_counts(journal->records);
    uint64_t gaps = counts.gaps;
    if (counts.too_large > 0 && !journal->told_too_large) {
        journal->told_too_large = true;
        ops_log(OPS_ERROR, "journal_too_large",
                OPS_TEXT("text", "a keyframe of this match is larger than the journal's queue: "
                                 "none is written while that is so, and behind a gap nothing"),
                OPS_UINT("most_bytes", loop_writer_most(journal->writer)));
    }
    if (gaps > journal->gaps) {
        journal->gaps = gaps;
        ops_log(OPS_WARN, "journal_gap", OPS_UINT("gaps", gaps));
    }
}

void loop_journal_tick(struct loop_journal *journal, struct match *match)
{
    if (journal == NULL) return;
    match_journal_tick(journal->records, match);
    tell(journal);
}

bool loop_journal_settle(struct loop_journal *journal)
{
    return journal == NULL || loop_writer_wait(journal->writer, SETTLE_MS);
}

void loop_journal_sent(struct loop_journal *journal, const char *key)
{
    if (journal == NULL) return;
    match_journal_sent(journal->records, key);
    loop_writer_wait(journal->writer, SETTLE_MS);
}

void loop_journal_close(struct loop_journal *journal)
{
    if (journal == NULL) return;
    struct loop_writer_counts file = loop_writer_close(journal->writer, CLOSE_MS);
    struct match_journal_counts records = match_journal_counts(journal->records);
    /* What was handed over and is in no block of the file is missing like what never was. */
    uint64_t missing_ticks = records.missing_ticks + (records.ticks - file.ticks);
    bool good = file.error == 0 && !file.abandoned && records.gaps == 0 && missing_ticks == 0;
    ops_log(good ? OPS_INFO : OPS_WARN, "journal", OPS_TEXT("path", journal->path),
            OPS_UINT("ticks", file.ticks), OPS_UINT("bytes", file.bytes),
            OPS_UINT("blocks", file.blocks), OPS_UINT("keyframes", file.keyframes),
            OPS_UINT("gaps", records.gaps), OPS_UINT("missing_ticks", missing_ticks),
            OPS_UINT("failures", file.failures),
            OPS_TEXT("error", file.abandoned    ? "the disk took too long"
                              : file.error != 0 ? strerror(file.error)
                                                : ""));
}
