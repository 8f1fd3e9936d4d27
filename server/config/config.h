/* The configuration of a process: option table, strict JSON, environment, --set, printing, schema;
 * and the map file (map_load). Starts nothing. Errors carry file, line, column, JSON path and what
 * is allowed.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "server/match/match_config.h"
#include "server/world/map.h"
#include "shared/base/arb_arena.h"
#include "shared/base/arb_result.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    CONFIG_ERROR_BYTES = 1024,
    CONFIG_PATH_BYTES = 256,
    CONFIG_MODES_MAX = 8,
    CONFIG_SESSIONS_MAX = 3000, /* net.max_sessions: what the transport has places for */
};

struct config {
    char mode[32];               /* match.mode */
    char map[CONFIG_PATH_BYTES]; /* match.map as given: relative to the configuration file's folder
                                  */
    char map_path[CONFIG_PATH_BYTES];     /* resolved */
    char result_path[CONFIG_PATH_BYTES];  /* match.result_path; "": none is written */
    char rewind_trace[CONFIG_PATH_BYTES]; /* debug.rewind_trace; "": none */
    struct match_config match;
    struct {
        char address[64];     /* numeric */
        int32_t port;         /* 0: any free one */
        int32_t max_sessions; /* 0: players, spectators and 16 more */
        int32_t messages_per_tick;
    } net;
    struct {
        int32_t mode; /* CHOICE open */
        bool open_anywhere;
        int32_t timeout_ms;
    } auth;
    struct {
        int32_t level;  /* CHOICE error|warn|info|debug */
        int32_t format; /* CHOICE auto|json|plain */
    } log;
    struct {
        char path[CONFIG_PATH_BYTES]; /* "": none is written */
        int32_t flush_ms;
        int32_t fsync; /* CHOICE never|keyframe|flush */
        int32_t keyframe_s;
    } journal;
    struct {
        int32_t grace_s; /* shutdown.grace_s */
        int32_t on_term; /* CHOICE finish|abort */
    } shutdown;
    void *mode_params[CONFIG_MODES_MAX]; /* parallel to rules_modes (server/rules) */
    const struct config_rows *rows;      /* where each value came from, for config_explain */
};

struct config_error {
    char text[CONFIG_ERROR_BYTES]; /* one line: file:line:column: path: what; allowed: ... */
};

/* Modes' option rows are handed in, so that config includes no rules. */
struct config_mode {
    const char *name;
    const struct option *options;
    size_t option_count;
    size_t params_bytes;
};

/* Defaults, then the file (NULL: none), then the environment ARBITER_SECTION_KEY, then the --set
 * texts "path=value". Warnings (unknown ARBITER_*) go through `warn` (may be NULL). Mode params
 * come from the arena. */
enum arb_result config_load(struct config *config, struct arb_arena *arena,
                            const struct config_mode *modes, size_t mode_count, const char *file,
                            char *const *environment, const char *const *sets, size_t set_count,
                            void (*warn)(const char *text), struct config_error *error);

/* The same from a text that config_print wrote, called `name` in errors: no environment, and the
 * map's file is not looked for. */
enum arb_result config_load_text(struct config *config, struct arb_arena *arena,
                                 const struct config_mode *modes, size_t mode_count,
                                 const char *name, const char *text, size_t bytes,
                                 struct config_error *error);

/* The same for a match that goes on in another process: then the environment and the --set texts,
 * for what is of the process and not of the match. A --set of the match's is refused, of the
 * environment it is left out. */
enum arb_result config_load_resumed(struct config *config, struct arb_arena *arena,
                                    const struct config_mode *modes, size_t mode_count,
                                    const char *name, const char *text, size_t bytes,
                                    char *const *environment, const char *const *sets,
                                    size_t set_count, struct config_error *error);

/* Whether a match that runs with the one configuration may go on with the other, loaded with the
 * same modes: only options that are marked `reload` differ, or are of modes that are not played.
 * `resumed`: what is of the process was not taken from a file, and is not compared. False with the
 * first other option in the error. */
bool config_check_reload(const struct config *running, const struct config *next, bool resumed,
                         struct config_error *error);

/* Puts a place in front of a sentence of somebody else's check (rules->check): that of the first
 * option whose path the sentence names, or the map's file when it names none. */
void config_explain(const struct config *config, const char *sentence, struct config_error *error);

/* Effective configuration as JSON that config_load reads back to the same. */
void config_print(const struct config *config, const struct config_mode *modes, size_t mode_count,
                  FILE *out);
/* The same with the modes that it was loaded with. */
void config_print_loaded(const struct config *config, FILE *out);
/* JSON Schema (2020-12) from the same table. */
void config_print_schema(const struct config_mode *modes, size_t mode_count, FILE *out);
/* Markdown table of all options, for config/README.md (a test compares). */
void config_print_options(const struct config_mode *modes, size_t mode_count, FILE *out);

/* Loads a Tiled map (.tmj). All memory from the arena. Errors name layer and object,
 * file:line:column. */
enum arb_result map_load(struct map *map, struct arb_arena *arena, const char *path,
                         struct config_error *error);
/* The same from the file's text, called `name` in errors. */
enum arb_result map_load_text(struct map *map, struct arb_arena *arena, const char *name,
                              const char *text, size_t bytes, struct config_error *error);
/* The file's text, for arb_mem_free. */
enum arb_result map_read(const char *path, char **text, size_t *bytes, struct config_error *error);

#endif
