#define _GNU_SOURCE
#include "tools/replay/replay.h"

#include "server/config/config_modes.h"
#include "server/match/match_save.h"
#include "server/rules/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ERROR_BYTES = CONFIG_ERROR_BYTES };

static enum arb_result fail(const struct replay *replay, enum arb_result result, char *error,
                            const char *what)
{
    snprintf(error, ERROR_BYTES, "%.200s: %.800s", replay->path, what);
    return result;
}

static enum arb_result open_reader(struct replay *replay, char *error)
{
    replay->file.fd = open(replay->path, O_RDONLY | O_CLOEXEC);
    if (replay->file.fd < 0) return fail(replay, ARB_FILES, error, strerror(errno));
    struct journal_source source = journal_file_source(&replay->file);
    enum journal_status status;
    replay->reader = journal_open(&source, &status);
    if (replay->reader == NULL) {
        return fail(replay, status == JOURNAL_READ_MEMORY ? ARB_MEMORY : ARB_DATA, error,
                    journal_status_text(status));
    }
    replay->head = journal_reader_head(replay->reader);
    return ARB_OK;
}

static enum arb_result load(struct replay *replay, char *error)
{
    const struct journal_head *head = replay->head;
    struct config_error found;
    struct config_mode *modes =
        arb_arena_take_array(&replay->arena, CONFIG_MODES_MAX, sizeof *modes);
    size_t mode_count = config_modes_fill(modes);
    if (head->schema != MATCH_SAVE_VERSION) {
        return fail(replay, ARB_DATA, error, "its states are of another version");
    }
    enum arb_result result = config_load_text(&replay->config, &replay->arena, modes, mode_count,
                                              "configuration in the journal", head->config_text,
                                              head->config_bytes, &found);
    if (result == ARB_OK) {
        result = map_load_text(&replay->map, &replay->arena, "map in the journal", head->map_text,
                               head->map_bytes, &found);
    }
    if (result != ARB_OK) return fail(replay, ARB_DATA, error, found.text);
    replay->config.match.seed = (struct option_seed){.value = head->seed, .set = 1};
    return ARB_OK;
}

struct match *replay_match(struct replay *replay)
{
    size_t mode = rules_index(replay->config.mode);
    struct match_config numbers = replay->config.match;
    numbers.spectator_max = 0; /* whoever watched: nothing is otherwise */
    return match_create(&replay->arena, &numbers, rules_modes[mode],
                        replay->config.mode_params[mode], &replay->map, replay->geometry,
                        replay->head->match_id, NULL);
}

static enum arb_result open_match(struct replay *replay, char *error)
{
    const struct journal_head *head = replay->head;
    size_t mode = rules_index(replay->config.mode);
    char sentence[ERROR_BYTES / 2];
    if (!rules_modes[mode]->check(
            replay->config.mode_params[mode], (uint32_t)replay->config.match.tick_rate,
            (uint32_t)replay->config.match.max_players, &replay->map, sentence, sizeof sentence)) {
        return fail(replay, ARB_DATA, error, sentence);
    }
    if (head->tick_rate != (uint32_t)replay->config.match.tick_rate) {
        return fail(replay, ARB_DATA, error, "its head and its configuration do not agree");
    }
    replay->geometry =
        arb_geometry_create(replay->map.shapes, replay->map.shape_count, replay->map.bounds);
    if (arb_geometry_hash(replay->geometry) != head->map_hash) {
        return fail(replay, ARB_DATA, error, "its map is not the one that was played on");
    }
    replay->match = replay_match(replay);
    replay->other = replay_match(replay);
    replay->steps =
        match_replay_create(&replay->arena, replay->match, replay->other, replay->reader);
    return ARB_OK;
}

enum arb_result replay_open(struct replay *out, const char *path)
{
    char error[ERROR_BYTES];
    memset(out, 0, sizeof *out);
    out->path = path;
    out->file = (struct journal_file){.fd = -1, .limit = UINT64_MAX};
    arb_arena_init(&out->arena);
    enum arb_result result = open_reader(out, error);
    if (result == ARB_OK) result = load(out, error);
    if (result == ARB_OK) result = open_match(out, error);
    if (result == ARB_OK) return ARB_OK;
    fprintf(stderr, "arbiter-replay: %s\n", error);
    replay_close(out);
    return result;
}

void replay_close(struct replay *replay)
{
    if (replay->match != NULL) match_destroy(replay->match);
    if (replay->other != NULL) match_destroy(replay->other);
    if (replay->geometry != NULL) arb_geometry_destroy(replay->geometry);
    journal_close(replay->reader);
    if (replay->file.fd >= 0) close(replay->file.fd);
    arb_arena_free(&replay->arena);
}

/* ---- texts ---- */

void replay_print_string(const char *text, FILE *out)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(out, "\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7F) {
            fprintf(out, "\\u%04x", (unsigned)*c);
        } else {
            fputc(*c, out);
        }
    }
    fputc('"', out);
}

bool replay_is_whole(const struct match_replay_step *step)
{
    return step->status == MATCH_REPLAY_STOPPED && step->journal == JOURNAL_READ_FINISHED;
}

void replay_print_end(const struct replay *replay, const struct match_replay_step *step, FILE *out)
{
    fprintf(out, "%s: good up to tick %" PRIu64 ": ", replay->path, step->tick);
    if (step->status == MATCH_REPLAY_STOPPED) {
        fprintf(out, "%s\n", journal_status_text(step->journal));
    } else {
        fprintf(out, "%s\n", step->text);
    }
}

enum arb_result replay_seek(const char *path, arb_tick tick, FILE *out)
{
    struct replay replay;
    char text[MATCH_REPLAY_TEXT_BYTES];
    enum arb_result result = replay_open(&replay, path);
    if (result != ARB_OK) return result;
    struct match_replay_step step = {.status = MATCH_REPLAY_TICK};
    if (!match_replay_seek(replay.steps, tick, text) && text[0] != '\0') {
        fprintf(stderr, "arbiter-replay: %s: %s\n", path, text);
        replay_close(&replay);
        return ARB_DATA;
    }
    while (match_tick(replay.match) < tick && step.status < MATCH_REPLAY_DIVERGED) {
        match_replay_next(replay.steps, &step);
    }
    if (match_tick(replay.match) == tick && step.status < MATCH_REPLAY_DIVERGED) {
        const struct world *world = match_world(replay.match);
        fprintf(out, "tick %" PRIu64 ", checksum %016" PRIx64 ", %u entities\n", tick,
                match_checksum(replay.match), world->head->entity_count);
    } else if (step.status < MATCH_REPLAY_DIVERGED || replay_is_whole(&step)) {
        fprintf(stderr, "arbiter-replay: %s: tick %" PRIu64 " is not in it: ", path, tick);
        if (tick >= replay.head->first_tick && tick < match_tick(replay.match)) {
            fprintf(stderr, "it lies in a gap up to tick %" PRIu64 "\n", match_tick(replay.match));
        } else if (tick < replay.head->first_tick) {
            fprintf(stderr, "it begins with %" PRIu64 "\n", replay.head->first_tick);
        } else {
            fprintf(stderr, "it ends with %" PRIu64 "\n", match_tick(replay.match));
        }
        result = ARB_DATA;
    } else {
        replay_print_end(&replay, &step, stderr);
        result = step.status == MATCH_REPLAY_DIVERGED ? ARB_NO_RESULT : ARB_DATA;
    }
    replay_close(&replay);
    return result;
}
