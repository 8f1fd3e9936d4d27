#define _GNU_SOURCE
#include "server/loop/loop_resume.h"

#include "server/match/match_journal.h"
#include "server/match/match_replay.h"
#include "server/match/match_save.h"
#include "server/ops/log.h"
#include "server/rules/rules.h"

#include "shared/move/arb_geometry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static size_t read_file(void *owner, uint64_t offset, void *bytes, size_t count)
{
    const struct loop_resume *resume = owner;
    uint8_t *out = bytes;
    size_t done = 0;
    while (done < count) {
        ssize_t got = pread(resume->fd, out + done, count - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

static enum arb_result fail(const struct loop_resume *resume, enum arb_result result, char *error,
                            const char *what)
{
    snprintf(error, CONFIG_ERROR_BYTES, "%.200s: cannot be resumed: %.700s", resume->path, what);
    return result;
}

/* Of what a state depends on and does not hold; the texts may differ in the rest. */
static enum arb_result check_numbers(struct loop_resume *resume, const struct config *config,
                                     const struct rules *rules, const void *params,
                                     const struct map *map, struct arb_arena *arena, char *error)
{
    const struct journal_head *head = resume->head;
    struct config_error found;
    struct config *recorded = arb_arena_take(arena, sizeof *recorded);
    struct config_mode *modes = arb_arena_take_array(arena, rules_mode_count, sizeof *modes);
    size_t mode = 0;
    for (size_t i = 0; i < rules_mode_count; i++) {
        modes[i] = (struct config_mode){rules_modes[i]->name, rules_modes[i]->options,
                                        rules_modes[i]->option_count, rules_modes[i]->params_bytes};
        if (rules_modes[i] == rules) mode = i;
    }
    enum arb_result result =
        config_load_text(recorded, arena, modes, rules_mode_count, "configuration in the journal",
                         head->config_text, head->config_bytes, &found);
    if (result != ARB_OK) return fail(resume, ARB_DATA, error, found.text);
    struct match_config ours = config->match;
    ours.seed = recorded->match.seed = (struct option_seed){.value = head->seed, .set = 1};
    uint64_t a = match_configuration_hash(&ours, rules, params, map);
    uint64_t b =
        match_configuration_hash(&recorded->match, rules, recorded->mode_params[mode], map);
    bool same = strcmp(recorded->mode, config->mode) == 0 && a == b;
    return same ? ARB_OK : fail(resume, ARB_CONFIG, error, "it is of another configuration");
}

enum arb_result loop_resume_open(struct loop_resume *out, const char *path,
                                 const struct config *config, const struct rules *rules,
                                 const void *params, const struct map *map, struct arb_arena *arena,
                                 char *error)
{
    *out = (struct loop_resume){.path = path};
    out->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (out->fd < 0) return fail(out, ARB_FILES, error, strerror(errno));
    struct journal_source source = {out, read_file};
    enum journal_status status;
    out->reader = journal_open(&source, &status);
    if (out->reader == NULL) return fail(out, ARB_DATA, error, journal_status_text(status));
    out->head = journal_reader_head(out->reader);
    if (out->head->schema != MATCH_SAVE_VERSION) {
        return fail(out, ARB_DATA, error, "its states are of another version");
    }
    return check_numbers(out, config, rules, params, map, arena, error);
}

enum arb_result loop_resume_play(struct loop_resume *resume, struct match *match,
                                 struct arb_arena *arena, char *error)
{
    char text[MATCH_REPLAY_TEXT_BYTES];
    struct match_replay_step step;
    struct match_replay *replay = match_replay_create(arena, match, NULL, resume->reader);
    struct journal_head now = match_journal_head(match);
    if (now.map_hash != resume->head->map_hash || now.first_tick != resume->head->first_tick) {
        return fail(resume, ARB_CONFIG, error, "it is of another map or first tick");
    }
    /* No keyframe yet: from the first tick. */
    if (!match_replay_seek(replay, UINT64_MAX, text) && text[0] != '\0') {
        return fail(resume, ARB_DATA, error, text);
    }
    do {
        match_replay_next(replay, &step);
        resume->ended |= step.status == MATCH_REPLAY_END;
    } while (step.status < MATCH_REPLAY_DIVERGED);
    if (step.status != MATCH_REPLAY_STOPPED) return fail(resume, ARB_DATA, error, step.text);
    if (match_tick(match) != journal_good_tick(resume->reader)) {
        return fail(resume, ARB_DATA, error, "its last ticks are missing");
    }
    match_detach(match);
    ops_log(OPS_INFO, "resumed", OPS_TEXT("path", resume->path),
            OPS_UINT("tick", match_tick(match)), OPS_UINT("players", match_present_count(match)),
            OPS_TEXT("journal", journal_status_text(step.journal)));
    return ARB_OK;
}

void loop_resume_close(struct loop_resume *resume)
{
    if (resume->reader == NULL) return;
    journal_close(resume->reader);
    close(resume->fd);
    resume->reader = NULL;
}
