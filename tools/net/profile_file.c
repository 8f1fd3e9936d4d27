/* A profile file: strict JSON, one row per key. */
#include "tools/net/profile_internal.h"

#include "server/config/json.h"
#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <string.h>

enum {
    FILE_BYTES_MAX = 1024 * 1024,
    PATH_BYTES_MAX = 4096,
    ALLOWED_BYTES = 256,
};

enum kind {
    KIND_NUMBER, /* stored times `factor` */
    KIND_BURST,  /* the same; 0, or at least 1 */
    KIND_INTEGER,
    KIND_TRACE,
    KIND_JITTER_TABLE,
};

struct row {
    const char *key;
    enum kind kind;
    double low, high, factor;
    size_t offset; /* of a uint32_t in struct profile_side */
};

#define AT(member) offsetof(struct profile_side, member)
static const struct row rows[] = {
    {"delay_ms", KIND_NUMBER, 0, 10000, 1000, AT(link.delay_us)},
    {"jitter_ms", KIND_NUMBER, 0, 10000, 1000, AT(link.jitter_us)},
    {"loss", KIND_NUMBER, 0, 1, PROFILE_MILLION, AT(link.loss_ppm)},
    {"burst", KIND_BURST, 0, 1000, 1000, AT(link.burst_milli)},
    {"duplicate", KIND_NUMBER, 0, 1, PROFILE_MILLION, AT(link.duplicate_ppm)},
    {"reorder", KIND_NUMBER, 0, 1, PROFILE_MILLION, AT(link.reorder_ppm)},
    {"rate_kbps", KIND_INTEGER, 0, 10000000, 1, AT(link.rate_kbps)},
    {"queue_bytes", KIND_INTEGER, 0, 1000000000, 1, AT(link.queue_bytes)},
    {"trace", KIND_TRACE, 0, 0, 0, 0},
    {"corrupt", KIND_NUMBER, 0, 1, PROFILE_MILLION, AT(link.corrupt_ppm)},
    {"jitter_table", KIND_JITTER_TABLE, 0, 0, 0, 0},
    {"drift", KIND_NUMBER, 0, PROFILE_DRIFT_MAX_PPM / 1e6, PROFILE_MILLION, AT(drift_ppm)},
};
#undef AT

enum { ROWS = sizeof rows / sizeof rows[0] };

struct reader {
    const char *file;
    const struct json *json;
    struct profile_error *error;
};

/* ---- errors ---- */

static bool fail_at(const struct reader *reader, size_t offset, const cJSON *node, const char *what,
                    const char *more)
{
    char path[JSON_PATH_BYTES];
    struct json_place place = json_place(reader->json->text, offset);
    json_path(reader->json, json_mark_of(reader->json, node)->value, path);
    return profile_fail(reader->error, reader->file, place.line, place.column, "%s%s%s%s", path,
                        path[0] != 0 ? ": " : "", what, more);
}

static bool fail_value(const struct reader *reader, const cJSON *node, const char *what,
                       const char *more)
{
    return fail_at(reader, json_mark_of(reader->json, node)->value, node, what, more);
}

static bool fail_key(const struct reader *reader, const cJSON *node, const char *what,
                     const char *more)
{
    return fail_at(reader, json_mark_of(reader->json, node)->key, node, what, more);
}

static bool fail_unknown(const struct reader *reader, const cJSON *node)
{
    char allowed[ALLOWED_BYTES] = "";
    for (size_t i = 0; i < ROWS; i++) {
        size_t used = strlen(allowed);
        snprintf(allowed + used, sizeof allowed - used, "%s%s", i > 0 ? ", " : "", rows[i].key);
    }
    return fail_key(reader, node, "unknown key; allowed: ", allowed);
}

/* ---- values ---- */

static bool fail_range(const struct reader *reader, const cJSON *node, const struct row *row)
{
    char what[ALLOWED_BYTES];
    if (row->kind == KIND_BURST) {
        snprintf(what, sizeof what, "is out of range; allowed: 0, or 1 to %.15g", row->high);
    } else {
        snprintf(what, sizeof what, "is out of range; allowed: %.15g to %.15g", row->low,
                 row->high);
    }
    return fail_value(reader, node, what, "");
}

static bool read_number(const struct reader *reader, const cJSON *node, const struct row *row,
                        struct profile_side *side)
{
    double value = 0;
    int64_t whole = 0;
    enum json_number found;
    if (row->kind == KIND_INTEGER) {
        found = json_read_i64(reader->json, node, &whole);
        value = (double)whole;
    } else {
        found = json_read_double(reader->json, node, &value);
    }
    if (found == JSON_NUMBER_NONE) {
        return fail_value(reader, node,
                          row->kind == KIND_INTEGER ? "wants a whole number" : "wants a number",
                          "");
    }
    bool between = row->kind == KIND_BURST && value > 0 && value < 1;
    if (found == JSON_NUMBER_TOO_BIG || value < row->low || value > row->high || between) {
        return fail_range(reader, node, row);
    }
    uint32_t stored = (uint32_t)(value * row->factor + 0.5);
    memcpy((char *)side + row->offset, &stored, sizeof stored);
    return true;
}

/* Relative to the folder of the profile file. */
static bool join(const char *profile_file, const char *name, char path[PATH_BYTES_MAX])
{
    const char *slash = strrchr(profile_file, '/');
    int folder = slash == NULL || name[0] == '/' ? 0 : (int)(slash + 1 - profile_file);
    return snprintf(path, PATH_BYTES_MAX, "%.*s%s", folder, profile_file, name) < PATH_BYTES_MAX;
}

static bool read_side_file(const struct reader *reader, const cJSON *node, const struct row *row,
                           struct profile_side *side)
{
    char path[PATH_BYTES_MAX];
    struct profile_error cause;
    if (cJSON_IsNull(node)) return true;
    if (!cJSON_IsString(node)) return fail_value(reader, node, "wants the path of a file", "");
    if (node->valuestring[0] == 0 || !join(reader->file, node->valuestring, path)) {
        return fail_value(reader, node, "is no path of a file", "");
    }
    bool good;
    if (row->kind == KIND_TRACE) {
        good = trace_read(path, &side->trace, &cause);
        side->link.trace = good ? &side->trace.link : NULL;
    } else {
        side->jitter_table = arb_mem_alloc(sizeof *side->jitter_table);
        good = trace_read_jitter(path, side->jitter_table, &cause);
        side->link.jitter_table = side->jitter_table;
    }
    return good || fail_value(reader, node, cause.text, "");
}

/* ---- a direction ---- */

static const struct row *find_row(const char *key)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].key, key) == 0) return &rows[i];
    }
    return NULL;
}

/* What only the whole direction shows. */
static bool check_side(const struct reader *reader, const cJSON *node, struct profile_side *side)
{
    struct arb_link *link = &side->link;
    bool has_opportunities = link->trace != NULL && link->trace->delay_us == NULL;
    if (has_opportunities && link->rate_kbps > 0) {
        return fail_value(reader, json_member(node, "rate_kbps"),
                          "the trace already limits the rate", "");
    }
    if (has_opportunities && json_member(node, "delay_ms") == NULL) {
        link->delay_us = PROFILE_MOBILE_DELAY_US;
    }
    /* Beyond that, good states would be shorter than a datagram. */
    uint64_t burst = link->burst_milli, loss = link->loss_ppm;
    bool possible = loss == PROFILE_MILLION || loss * (burst + 1000) <= burst * PROFILE_MILLION;
    if (burst > 0 && !possible) {
        return fail_value(reader, json_member(node, "loss"),
                          "with bursts it is at most burst / (burst + 1), or 1", "");
    }
    return true;
}

static bool read_side(const struct reader *reader, const cJSON *node, struct profile_side *side)
{
    if (!cJSON_IsObject(node)) return fail_value(reader, node, "wants an object", "");
    for (const cJSON *child = node->child; child != NULL; child = child->next) {
        const struct row *row = find_row(child->string);
        if (row == NULL) return fail_unknown(reader, child);
        bool is_file = row->kind == KIND_TRACE || row->kind == KIND_JITTER_TABLE;
        if (is_file ? !read_side_file(reader, child, row, side)
                    : !read_number(reader, child, row, side)) {
            return false;
        }
    }
    return check_side(reader, node, side);
}

/* ---- the file ---- */

static bool read_root(const struct reader *reader, struct profile *profile)
{
    const cJSON *root = reader->json->root;
    if (!cJSON_IsObject(root)) return fail_value(reader, root, "wants an object", "");
    for (const cJSON *child = root->child; child != NULL; child = child->next) {
        if (strcmp(child->string, "up") != 0 && strcmp(child->string, "down") != 0) {
            return fail_key(reader, child, "unknown key; allowed: up, down", "");
        }
    }
    const cJSON *up = json_member(root, "up"), *down = json_member(root, "down");
    if (up == NULL || down == NULL) {
        return fail_value(reader, root, up == NULL ? "up" : "down", " is missing");
    }
    return read_side(reader, up, &profile->up) && read_side(reader, down, &profile->down);
}

static bool read_text(struct profile *profile, const char *text, size_t bytes,
                      struct profile_error *error)
{
    struct json json;
    struct json_error cause;
    if (!json_parse(&json, text, bytes, &cause)) {
        struct json_place place = json_place(text, cause.offset);
        return profile_fail(error, profile->name, place.line, place.column, "%s%s%s", cause.path,
                            cause.path[0] != 0 ? ": " : "", cause.what);
    }
    struct reader reader = {profile->name, &json, error};
    bool good = read_root(&reader, profile);
    json_free(&json);
    return good;
}

bool profile_read(struct profile *profile, struct profile_error *error)
{
    char *text;
    size_t bytes;
    struct profile_error cause;
    if (!profile_read_file(profile->name, FILE_BYTES_MAX, &text, &bytes, &cause)) {
        return profile_fail(error, cause.text, 0, 0,
                            "a profile is lan, good, average, bad, mobile or a file");
    }
    bool good = read_text(profile, text, bytes, error);
    arb_mem_free(text);
    return good;
}
