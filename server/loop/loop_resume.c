#define _GNU_SOURCE
#include "server/loop/loop_resume.h"

#include "server/journal/journal_file.h"
#include "server/loop/loop_effects.h"
#include "server/match/match_replay.h"
#include "server/match/match_save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct loop_resume {
    struct journal_file file;
    struct journal_reader *reader;
    struct loop_resumed resumed;
};

static enum arb_result fail(const struct loop_resume *resume, enum arb_result result, char *error,
                            const char *what)
{
    snprintf(error, CONFIG_ERROR_BYTES, "--resume: %.200s: %.400s", resume->resumed.path, what);
    return result;
}

static enum arb_result open_file(struct loop_resume *resume, char *error)
{
    resume->file.fd = open(resume->resumed.path, O_RDWR | O_CLOEXEC);
    if (resume->file.fd < 0) return fail(resume, ARB_FILES, error, strerror(errno));
    if (flock(resume->file.fd, LOCK_EX | LOCK_NB) != 0) {
        return fail(resume, ARB_FILES, error,
                    errno == EWOULDBLOCK ? "another process has this match" : strerror(errno));
    }
    struct stat about;
    if (fstat(resume->file.fd, &about) != 0) return fail(resume, ARB_FILES, error, strerror(errno));
    resume->file.limit = (uint64_t)about.st_size;
    return ARB_OK;
}

static enum arb_result open_reader(struct loop_resume *resume, char *error)
{
    journal_close(resume->reader);
    enum journal_status status;
    struct journal_source source = journal_file_source(&resume->file);
    resume->reader = journal_open(&source, &status);
    if (resume->reader != NULL) return ARB_OK;
    return fail(resume, status == JOURNAL_READ_MEMORY ? ARB_MEMORY : ARB_DATA, error,
                journal_status_text(status));
}

static enum arb_result find_end(struct loop_resume *resume, char *error)
{
    uint64_t size = resume->file.limit;
    enum journal_status status = journal_find_end(resume->reader, &resume->file.limit);
    if (status == JOURNAL_READ_MEMORY) {
        return fail(resume, ARB_MEMORY, error, journal_status_text(status));
    }
    resume->resumed.bytes = resume->file.limit;
    resume->resumed.torn_bytes = size - resume->file.limit;
    return ARB_OK;
}

static enum arb_result load(struct loop_resume *resume, const struct loop_resume_options *options,
                            struct config *config, struct map *map, struct arb_arena *arena,
                            char *error)
{
    const struct journal_head *head = journal_reader_head(resume->reader);
    struct config_error found;
    if (head->schema != MATCH_SAVE_VERSION) {
        return fail(resume, ARB_DATA, error, "its states are of another version of arbiterd");
    }
    enum arb_result result =
        config_load_resumed(config, arena, options->modes, options->mode_count,
                            "configuration in the journal", head->config_text, head->config_bytes,
                            options->environment, options->sets, options->set_count, &found);
    if (result == ARB_OK) {
        result = map_load_text(map, arena, "map in the journal", head->map_text, head->map_bytes,
                               &found);
    }
    if (result != ARB_OK) {
        memcpy(error, found.text, sizeof found.text);
        return result;
    }
    config->match.seed = (struct option_seed){.value = head->seed, .set = 1};
    snprintf(config->journal.path, sizeof config->journal.path, "%s", resume->resumed.path);
    return ARB_OK;
}

enum arb_result loop_resume_open(struct loop_resume **out,
                                 const struct loop_resume_options *options, struct config *config,
                                 struct map *map, struct arb_arena *arena, char *error)
{
    struct loop_resume *resume = arb_arena_take(arena, sizeof *resume);
    *out = resume;
    resume->file.fd = -1;
    resume->resumed.path = options->path;
    enum arb_result result = open_file(resume, error);
    if (result == ARB_OK) result = open_reader(resume, error);
    if (result == ARB_OK) result = find_end(resume, error);
    if (result == ARB_OK) result = open_reader(resume, error); /* up to there */
    if (result == ARB_OK) result = load(resume, options, config, map, arena, error);
    return result;
}

const struct journal_head *loop_resume_head(const struct loop_resume *resume)
{
    return journal_reader_head(resume->reader);
}

/* What stands in front of the newest keyframe is read only for what was sent. */
static enum arb_result note_past(struct loop_resume *resume, struct arb_arena *arena, char *error)
{
    struct journal_record record;
    struct journal_ledger *ledger = journal_ledger_create(arena, LOOP_EFFECTS_MAX);
    resume->resumed.ledger = ledger;
    while (journal_next(resume->reader, &record) == JOURNAL_READ_OK) {
        if (record.kind == JOURNAL_END) resume->resumed.ended = true;
        bool is_key = record.size > 0 && record.size <= JOURNAL_KEY_BYTES_MAX;
        if (record.kind != JOURNAL_SENT || !is_key) continue;
        if (!journal_ledger_add(ledger, (const char *)record.bytes, record.size)) {
            return fail(resume, ARB_DATA, error, "more has left this match than can be known");
        }
    }
    return ARB_OK;
}

enum arb_result loop_resume_play(struct loop_resume *resume, struct match *match,
                                 struct arb_arena *arena, char *error)
{
    char text[MATCH_REPLAY_TEXT_BYTES];
    struct match_replay_step step;
    enum arb_result result = note_past(resume, arena, error);
    if (result == ARB_OK) result = open_reader(resume, error);
    if (result != ARB_OK) return result;
    struct match_replay *replay = match_replay_create(arena, match, NULL, resume->reader);
    if (!match_replay_seek(replay, UINT64_MAX, text) && text[0] != '\0') {
        return fail(resume, ARB_DATA, error, text);
    }
    resume->resumed.from = match_tick(match);
    do {
        match_replay_next(replay, &step);
    } while (step.status < MATCH_REPLAY_DIVERGED);
    if (step.status != MATCH_REPLAY_STOPPED) return fail(resume, ARB_DATA, error, step.text);
    resume->resumed.tick = match_tick(match);
    match_detach(match);
    return ARB_OK;
}

struct loop_resumed loop_resume_take(struct loop_resume *resume)
{
    resume->resumed.fd = resume->file.fd;
    resume->resumed.file_key = journal_reader_key(resume->reader);
    resume->file.fd = -1;
    return resume->resumed;
}

void loop_resume_close(struct loop_resume *resume)
{
    if (resume == NULL) return;
    journal_close(resume->reader);
    resume->reader = NULL;
    if (resume->file.fd >= 0) close(resume->file.fd);
}
