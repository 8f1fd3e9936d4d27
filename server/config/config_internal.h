/* What the files of this folder share: the option table, reading and printing one option, error
 * texts. For this folder and its tests.
 */
#ifndef CONFIG_INTERNAL_H
#define CONFIG_INTERNAL_H

#include "server/config/config.h"
#include "server/config/json_internal.h"
#include "server/config/option.h"

enum {
    CONFIG_FILE_BYTES_MAX = 1024 * 1024,
    MAP_FILE_BYTES_MAX = 16 * 1024 * 1024,
    OPTION_PATH_BYTES = 96,
    OPTION_TEXT_BYTES = 400,
};

/* Rows of everything but the modes; offsets are in struct config. */
extern const struct option config_options[];
extern const size_t config_option_count;

/* Where a text came from, for errors. */
struct config_source {
    const char *name;        /* file, "environment ARBITER_NET_PORT", "--set net.port" */
    const char *path;        /* option path of the whole text; "": its root */
    const struct json *json; /* NULL: no text (defaults) */
    bool file;               /* has lines and columns worth telling */
};

/* Where the value in effect came from. */
struct config_origin {
    char name[CONFIG_PATH_BYTES + 16]; /* of the source; "": the default */
    uint32_t line, column;             /* 0: not a file */
};

/* One option of the whole configuration. */
struct config_row {
    const struct option *option;
    void *base; /* the struct that its offset is in */
    struct config_origin origin;
};

/* All rows: the table's, then each mode's. */
struct config_rows {
    struct config_row *list;
    size_t count;
    const struct config_mode *modes;
    size_t mode_count;
};

struct config_row *config_find_row(const struct config_rows *rows, const char *path);
/* What may be otherwise in another process that goes on with a match. */
bool config_is_of_process(const char *path);
/* Length of "match" in "match.seed". Options have exactly one dot (asserted). */
size_t option_section_length(const char *path);
static inline const char *option_key(const char *path)
{
    return path + option_section_length(path) + 1;
}

/* ---- errors: one line ---- */

/* "<source>:<line>:<column>: <path>: <text>"; offsets are of the source's text. Always returns
 * false. */
bool config_fail(struct config_error *error, const struct config_source *source,
                 size_t place_offset, size_t path_offset, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* At a node's value. */
bool config_fail_node(struct config_error *error, const struct config_source *source,
                      const cJSON *node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* At a member's key. */
bool config_fail_key(struct config_error *error, const struct config_source *source,
                     const cJSON *node, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* What json_parse refused. */
bool config_fail_json(struct config_error *error, const struct config_source *source,
                      const char *text, const struct json_error *cause);
/* What the node is, as its author wrote it: "70000.5", "\"x\"", "an object". */
void config_show(const struct json *json, const cJSON *node, char *out, size_t out_bytes);

/* ---- files ---- */

/* Whole file, at most `most` bytes; freed with arb_mem_free. False with one line in the error: it
 * does not exist, is too large (told from its size, nothing is read), cannot be read. */
bool config_read_file(const char *path, size_t most, char **text, size_t *bytes,
                      struct config_error *error);

/* ---- one option ---- */

struct option_reader {
    const struct config_source *source;
    const struct config_mode *modes;
    size_t mode_count;
    struct config_error *error;
};

/* Checks the node against the row and stores it in base; on failure nothing of `base` is changed
 * but a list's items. Nothing can be wrong with a default: asserted. */
bool option_read(const struct option_reader *reader, const struct option *row, void *base,
                 const cJSON *node);
void option_set_default(const struct option *row, void *base, const struct config_mode *modes,
                        size_t mode_count);
/* "an integer from 20 to 128 (Hz)" */
void option_allowed(const struct option *row, const struct config_mode *modes, size_t mode_count,
                    char out[OPTION_TEXT_BYTES]);
/* Value as JSON that option_read reads back to the same bits. */
void option_print(const struct option *row, const void *base, int indent, FILE *out);
/* The index-th choice of "a|b|c": its length, 0 when there is none. */
size_t option_choice(const char *choices, size_t index, const char **name);
/* Shortest decimal that reads back to the same float. */
void option_float_text(float value, char text[32]);
void option_double_text(double value, char text[32]);
/* ARBITER_NET_PORT of net.port. */
void option_environment_name(const char *path, char name[OPTION_PATH_BYTES]);
void option_print_string(const char *text, FILE *out);

/* Relations between options; false with the error at the option to blame. */
bool config_check_relations(struct config *config, struct config_error *error);
bool config_check_map_file(const struct config *config, struct config_error *error);

#endif
