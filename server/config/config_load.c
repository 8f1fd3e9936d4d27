/* The layers, in order: defaults, file, environment, --set; then the relations. */
#include "server/config/config_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <string.h>

/* Of one load. */
struct loader {
    struct config *config;
    struct config_rows *rows;
    struct config_error *error;
    bool resumes; /* the match's numbers are what they were */
};

/* ---- rows ---- */

static void add_rows(struct config_rows *rows, const struct option *options, size_t count,
                     void *base)
{
    for (size_t i = 0; i < count; i++) {
        rows->list[rows->count++] = (struct config_row){.option = &options[i], .base = base};
    }
}

static struct config_rows *gather_rows(struct config *config, struct arb_arena *arena,
                                       const struct config_mode *modes, size_t mode_count)
{
    size_t count = config_option_count;
    for (size_t i = 0; i < mode_count; i++) {
        count += modes[i].option_count;
    }
    struct config_rows *rows = arb_arena_take(arena, sizeof *rows);
    rows->list = arb_arena_take_array(arena, count, sizeof rows->list[0]);
    struct config_mode *kept = arb_arena_take_array(arena, mode_count, sizeof kept[0]);
    memcpy(kept, modes, mode_count * sizeof kept[0]);
    rows->modes = kept;
    rows->mode_count = mode_count;
    add_rows(rows, config_options, config_option_count, config);
    for (size_t i = 0; i < mode_count; i++) {
        config->mode_params[i] = arb_arena_take(arena, modes[i].params_bytes);
        add_rows(rows, modes[i].options, modes[i].option_count, config->mode_params[i]);
    }
    return rows;
}

struct config_row *config_find_row(const struct config_rows *rows, const char *path)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (strcmp(rows->list[i].option->path, path) == 0) {
            return &rows->list[i];
        }
    }
    return NULL;
}

static bool in_section(const char *path, const char *section)
{
    size_t length = option_section_length(path);
    return strlen(section) == length && memcmp(path, section, length) == 0;
}

/* Keys of that section, or with NULL all sections: "a, b, c". False: there is no such section. */
static bool list_keys(const struct config_rows *rows, const char *section, char *out, size_t size)
{
    size_t used = 0, before = 0;
    const char *previous = "";
    out[0] = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const char *path = rows->list[i].option->path;
        size_t length = option_section_length(path);
        const char *name = section != NULL ? option_key(path) : path;
        int name_length = section != NULL ? (int)strlen(name) : (int)length;
        bool repeated = section == NULL && length == before && memcmp(path, previous, length) == 0;
        previous = path;
        before = length;
        if ((section != NULL && !in_section(path, section)) || repeated || used + 8 >= size) {
            continue;
        }
        int written =
            snprintf(out + used, size - used, "%s%.*s", used > 0 ? ", " : "", name_length, name);
        used += written > 0 ? (size_t)written : 0;
    }
    return out[0] != 0;
}

/* ---- one value ---- */

static void note_origin(struct config_row *row, const struct config_source *source,
                        const cJSON *node)
{
    snprintf(row->origin.name, sizeof row->origin.name, "%s", source->name);
    if (source->file) {
        const struct json_mark *mark = json_mark_of(source->json, node);
        struct json_place place = json_place(source->json->text, mark->value);
        row->origin.line = place.line;
        row->origin.column = place.column;
    } else {
        row->origin.line = row->origin.column = 0;
    }
}

static bool set_row(struct loader *loader, const struct config_source *source,
                    struct config_row *row, const cJSON *node)
{
    struct option_reader reader = {source, loader->rows->modes, loader->rows->mode_count,
                                   loader->error};
    if (!option_read(&reader, row->option, row->base, node)) {
        return false;
    }
    note_origin(row, source, node);
    return true;
}

/* ---- the file ---- */

static bool read_section(struct loader *loader, const struct config_source *source,
                         const cJSON *section)
{
    char allowed[CONFIG_ERROR_BYTES];
    if (!list_keys(loader->rows, section->string, allowed, sizeof allowed)) {
        list_keys(loader->rows, NULL, allowed, sizeof allowed);
        return config_fail_key(loader->error, source, section, "unknown section; allowed: %s",
                               allowed);
    }
    if (!cJSON_IsObject(section)) {
        char shown[96];
        config_show(source->json, section, shown, sizeof shown);
        return config_fail_node(loader->error, source, section,
                                "%s is not allowed; allowed: an object with %s", shown, allowed);
    }
    for (const cJSON *child = section->child; child != NULL; child = child->next) {
        char path[OPTION_PATH_BYTES];
        int length = snprintf(path, sizeof path, "%s.%s", section->string, child->string);
        struct config_row *row =
            length < (int)sizeof path ? config_find_row(loader->rows, path) : NULL;
        if (row == NULL) {
            return config_fail_key(loader->error, source, child, "unknown key; allowed: %s",
                                   allowed);
        }
        if (!set_row(loader, source, row, child)) {
            return false;
        }
    }
    return true;
}

static bool read_root(struct loader *loader, const struct config_source *source)
{
    const cJSON *root = source->json->root;
    if (!cJSON_IsObject(root)) {
        char shown[96];
        config_show(source->json, root, shown, sizeof shown);
        return config_fail_node(loader->error, source, root,
                                "%s is not allowed; allowed: an object of sections", shown);
    }
    for (const cJSON *section = root->child; section != NULL; section = section->next) {
        if (!read_section(loader, source, section)) {
            return false;
        }
    }
    return true;
}

static bool read_text(struct loader *loader, const char *file, const char *text, size_t bytes)
{
    struct json json;
    struct json_error cause;
    struct config_source source = {.name = file, .path = "", .json = &json, .file = true};
    bool ok = json_parse(&json, text, bytes, &cause);
    if (ok) {
        ok = read_root(loader, &source);
        json_free(&json);
    } else {
        config_fail_json(loader->error, &source, text, &cause);
    }
    return ok;
}

static bool read_file(struct loader *loader, const char *file)
{
    char *text;
    size_t bytes;
    if (!config_read_file(file, CONFIG_FILE_BYTES_MAX, &text, &bytes, loader->error)) {
        return false;
    }
    bool ok = read_text(loader, file, text, bytes);
    arb_mem_free(text);
    return ok;
}

/* ---- environment and --set ---- */

/* A text without quotes is meant as a string where the option is one. */
static bool needs_quotes(const struct option *option, const char *value)
{
    bool text = option->type == OPTION_STRING || option->type == OPTION_CHOICE ||
                option->type == OPTION_MODE;
    return text && value[0] != '"';
}

/* Escaped as JSON; bytes that are no UTF-8 stay, for the scanner to refuse. Freed with
 * arb_mem_free. */
static char *quoted(const char *value)
{
    char *out = arb_mem_alloc(6 * strlen(value) + 3);
    char *at = out;
    *at++ = '"';
    for (; *value != 0; value++) {
        unsigned char c = (unsigned char)*value;
        if (c < 0x20) {
            at += snprintf(at, 7, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') {
                *at++ = '\\';
            }
            *at++ = (char)c;
        }
    }
    *at = '"';
    return out;
}

static bool set_text(struct loader *loader, const char *source_name, struct config_row *row,
                     const char *value)
{
    struct json json;
    struct json_error cause;
    struct config_source source = {.name = source_name, .path = row->option->path, .json = &json};
    if (strlen(value) > CONFIG_FILE_BYTES_MAX) {
        source.json = NULL;
        return config_fail(loader->error, &source, 0, 0, "is too large; allowed: at most %d bytes",
                           CONFIG_FILE_BYTES_MAX);
    }
    char *made = needs_quotes(row->option, value) ? quoted(value) : NULL;
    const char *text = made != NULL ? made : value;
    bool ok = json_parse(&json, text, strlen(text), &cause);
    if (ok) {
        ok = set_row(loader, &source, row, json.root);
        json_free(&json);
    } else {
        char allowed[OPTION_TEXT_BYTES], shown[96];
        option_allowed(row->option, loader->rows->modes, loader->rows->mode_count, allowed);
        json_quote(shown, sizeof shown, value, 40);
        source.json = NULL;
        config_fail(loader->error, &source, 0, 0, "%s is no value: %s; allowed: %s", shown,
                    cause.what, allowed);
    }
    arb_mem_free(made);
    return ok;
}

static struct config_row *find_variable(const struct config_rows *rows, const char *name,
                                        size_t length)
{
    for (size_t i = 0; i < rows->count; i++) {
        char wanted[OPTION_PATH_BYTES];
        option_environment_name(rows->list[i].option->path, wanted);
        if (strlen(wanted) == length && memcmp(wanted, name, length) == 0) {
            return &rows->list[i];
        }
    }
    return NULL;
}

bool config_is_of_process(const char *path)
{
    static const char *const sections[] = {"net", "auth", "log", "shutdown", "debug"};
    static const char *const paths[] = {"match.result_path", "journal.flush_ms", "journal.fsync",
                                        "journal.keyframe_s"};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (in_section(path, sections[i])) return true;
    }
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (strcmp(path, paths[i]) == 0) return true;
    }
    return false;
}

static bool read_environment(struct loader *loader, char *const *environment,
                             void (*warn)(const char *text))
{
    for (; environment != NULL && *environment != NULL; environment++) {
        const char *equals = strchr(*environment, '=');
        if (equals == NULL || strncmp(*environment, "ARBITER_", 8) != 0) {
            continue;
        }
        int length = (int)(equals - *environment);
        struct config_row *row = find_variable(loader->rows, *environment, (size_t)length);
        char name[CONFIG_PATH_BYTES];
        if (row == NULL) {
            snprintf(name, sizeof name, "environment %.*s: no option has this name, ignored",
                     length, *environment);
            if (warn != NULL) {
                warn(name);
            }
            continue;
        }
        if (loader->resumes && !config_is_of_process(row->option->path)) continue;
        snprintf(name, sizeof name, "environment %.*s", length, *environment);
        if (!set_text(loader, name, row, equals + 1)) {
            return false;
        }
    }
    return true;
}

static bool refuse_set_path(struct loader *loader, const char *path)
{
    char section[OPTION_PATH_BYTES], allowed[CONFIG_ERROR_BYTES], shown[96];
    snprintf(section, sizeof section, "%.*s", (int)strcspn(path, "."), path);
    bool known = list_keys(loader->rows, section, allowed, sizeof allowed);
    if (!known) {
        list_keys(loader->rows, NULL, allowed, sizeof allowed);
    }
    json_quote(shown, sizeof shown, path, 60);
    struct config_source source = {.name = "--set", .path = ""};
    return config_fail(loader->error, &source, 0, 0, "%s: unknown option; allowed %s %s: %s", shown,
                       known ? "in" : "are", known ? section : "sections", allowed);
}

static enum arb_result read_set(struct loader *loader, const char *set)
{
    const char *equals = strchr(set, '=');
    if (equals == NULL) {
        struct config_source source = {.name = "--set", .path = ""};
        char shown[96];
        json_quote(shown, sizeof shown, set, 60);
        config_fail(loader->error, &source, 0, 0, "%s has no =; allowed: section.key=value", shown);
        return ARB_ARGUMENTS;
    }
    char path[OPTION_PATH_BYTES];
    int length = snprintf(path, sizeof path, "%.*s", (int)(equals - set), set);
    struct config_row *row = length < (int)sizeof path ? config_find_row(loader->rows, path) : NULL;
    if (row == NULL) {
        refuse_set_path(loader, path);
        return ARB_CONFIG;
    }
    char name[CONFIG_PATH_BYTES];
    snprintf(name, sizeof name, "--set %s", path);
    if (loader->resumes && !config_is_of_process(path)) {
        struct config_source source = {.name = name, .path = ""};
        config_fail(loader->error, &source, 0, 0,
                    "a match that is resumed goes on with its own numbers; allowed: net.*, auth.*, "
                    "log.*, shutdown.*, debug.*, match.result_path, journal.flush_ms, "
                    "journal.fsync, journal.keyframe_s");
        return ARB_CONFIG;
    }
    return set_text(loader, name, row, equals + 1) ? ARB_OK : ARB_CONFIG;
}

/* ---- all of it ---- */

static bool resolve_map(struct config *config, const char *file, struct config_error *error)
{
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    int folder = slash != NULL && config->map[0] != '/' ? (int)(slash - file) + 1 : 0;
    int length = snprintf(config->map_path, sizeof config->map_path, "%.*s%s", folder,
                          file != NULL ? file : "", config->map);
    if (length < (int)sizeof config->map_path) {
        return true;
    }
    config_explain(config, "match.map is too long together with the configuration's folder", error);
    return false;
}

static struct loader begin(struct config *config, struct arb_arena *arena,
                           const struct config_mode *modes, size_t mode_count,
                           struct config_error *error)
{
    ARB_ASSERT(mode_count > 0 && mode_count <= CONFIG_MODES_MAX);
    memset(config, 0, sizeof *config);
    struct config_rows *rows = gather_rows(config, arena, modes, mode_count);
    config->rows = rows;
    for (size_t i = 0; i < rows->count; i++) {
        option_set_default(rows->list[i].option, rows->list[i].base, modes, mode_count);
    }
    return (struct loader){.config = config, .rows = rows, .error = error};
}

/* Environment and command line. */
static enum arb_result read_process(struct loader *loader, char *const *environment,
                                    const char *const *sets, size_t set_count,
                                    void (*warn)(const char *text))
{
    if (!read_environment(loader, environment, warn)) {
        return ARB_CONFIG;
    }
    for (size_t i = 0; i < set_count; i++) {
        enum arb_result result = read_set(loader, sets[i]);
        if (result != ARB_OK) {
            return result;
        }
    }
    return ARB_OK;
}

enum arb_result config_load(struct config *config, struct arb_arena *arena,
                            const struct config_mode *modes, size_t mode_count, const char *file,
                            char *const *environment, const char *const *sets, size_t set_count,
                            void (*warn)(const char *text), struct config_error *error)
{
    struct loader loader = begin(config, arena, modes, mode_count, error);
    if (file != NULL && !read_file(&loader, file)) {
        return ARB_CONFIG;
    }
    enum arb_result result = read_process(&loader, environment, sets, set_count, warn);
    if (result != ARB_OK) {
        return result;
    }
    if (!resolve_map(config, file, error) || !config_check_relations(config, error) ||
        !config_check_map_file(config, error)) {
        return ARB_CONFIG;
    }
    return ARB_OK;
}

enum arb_result config_load_text(struct config *config, struct arb_arena *arena,
                                 const struct config_mode *modes, size_t mode_count,
                                 const char *name, const char *text, size_t bytes,
                                 struct config_error *error)
{
    struct loader loader = begin(config, arena, modes, mode_count, error);
    bool ok = read_text(&loader, name, text, bytes) && config_check_relations(config, error);
    return ok ? ARB_OK : ARB_CONFIG;
}

enum arb_result config_load_resumed(struct config *config, struct arb_arena *arena,
                                    const struct config_mode *modes, size_t mode_count,
                                    const char *name, const char *text, size_t bytes,
                                    char *const *environment, const char *const *sets,
                                    size_t set_count, struct config_error *error)
{
    struct loader loader = begin(config, arena, modes, mode_count, error);
    loader.resumes = true;
    if (!read_text(&loader, name, text, bytes)) return ARB_CONFIG;
    enum arb_result result = read_process(&loader, environment, sets, set_count, NULL);
    if (result != ARB_OK) return result;
    return config_check_relations(config, error) ? ARB_OK : ARB_CONFIG;
}
