#define _GNU_SOURCE
#include "tools/replay/shots.h"

#include "server/config/json.h"
#include "shared/base/arb_mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES_MAX = 64 * 1024 * 1024, VERSION = 2, FIELD_BYTES = 96 };

/* Further than any world, so that a picture can be computed. */
#define PLACE_MAX 1e6

struct shots {
    const char *path;
    FILE *file;
    char *line;
    size_t room;
    uint64_t number; /* of the line */
    bool cut;
    struct shots_head head;
};

/* One line under way. */
struct reader {
    const struct shots *shots;
    const struct json *json;
    char *error;
    bool failed; /* the first failure is told */
};

static void fail(struct reader *reader, const cJSON *node, const char *what)
{
    if (reader->failed) return;
    char path[JSON_PATH_BYTES] = "";
    if (node != NULL) json_path(reader->json, json_mark_of(reader->json, node)->value, path);
    snprintf(reader->error, SHOTS_ERROR_BYTES, "%s:%llu: %s%s%s", reader->shots->path,
             (unsigned long long)reader->shots->number, path, path[0] != '\0' ? ": " : "", what);
    reader->failed = true;
}

/* ---- fields: after a failure all are empty ---- */

static const cJSON *member(struct reader *reader, const cJSON *object, const char *name)
{
    if (reader->failed) return NULL;
    const cJSON *node = cJSON_IsObject(object) ? json_member(object, name) : NULL;
    if (node == NULL) {
        char what[FIELD_BYTES];
        snprintf(what, sizeof what, "%s is missing", name);
        fail(reader, object, what);
    }
    return node;
}

static double number(struct reader *reader, const cJSON *node)
{
    double value = 0;
    if (reader->failed || node == NULL) return 0;
    if (json_read_double(reader->json, node, &value) != JSON_NUMBER_OK || fabs(value) > PLACE_MAX) {
        fail(reader, node, "not a number within a million");
        return 0;
    }
    return value;
}

static int64_t integer(struct reader *reader, const cJSON *node)
{
    int64_t value = 0;
    if (reader->failed || node == NULL) return 0;
    if (json_read_i64(reader->json, node, &value) != JSON_NUMBER_OK) {
        fail(reader, node, "not an integer");
        return 0;
    }
    return value;
}

static bool boolean(struct reader *reader, const cJSON *node)
{
    if (!reader->failed && node != NULL && !cJSON_IsBool(node)) fail(reader, node, "not a boolean");
    return !reader->failed && cJSON_IsTrue(node);
}

static void text(struct reader *reader, const cJSON *node, char out[SHOT_NAME_BYTES])
{
    if (reader->failed || node == NULL) return;
    if (!cJSON_IsString(node)) {
        fail(reader, node, "not a string");
        return;
    }
    snprintf(out, SHOT_NAME_BYTES, "%s", node->valuestring);
}

/* The first item of an array of low..high items; NULL: empty, or not that. */
static const cJSON *items(struct reader *reader, const cJSON *node, size_t low, size_t high,
                          size_t *count)
{
    *count = 0;
    if (reader->failed || node == NULL) return NULL;
    size_t found = cJSON_IsArray(node) ? (size_t)cJSON_GetArraySize(node) : 0;
    if (!cJSON_IsArray(node) || found < low || found > high) {
        char what[FIELD_BYTES];
        snprintf(what, sizeof what, "not an array of %zu to %zu items", low, high);
        fail(reader, node, what);
        return NULL;
    }
    *count = found;
    return node->child;
}

static struct shots_point point(struct reader *reader, const cJSON *node)
{
    size_t count;
    const cJSON *x = items(reader, node, 2, 2, &count);
    if (x == NULL) return (struct shots_point){0, 0};
    double at = number(reader, x);
    return (struct shots_point){at, number(reader, x->next)};
}

static struct shots_key key(struct reader *reader, const cJSON *node)
{
    size_t count;
    const cJSON *id = items(reader, node, 2, 2, &count);
    if (id == NULL) return (struct shots_key){0, 0};
    int64_t value = integer(reader, id);
    return (struct shots_key){value, integer(reader, id->next)};
}

static double distance(struct reader *reader, const cJSON *node)
{
    double value = number(reader, node);
    if (value < 0) fail(reader, node, "is negative");
    return value;
}

/* ---- a shot ---- */

static struct shots_view read_view(struct reader *reader, const cJSON *node)
{
    struct shots_view view = {.from = integer(reader, member(reader, node, "from")),
                              .to = integer(reader, member(reader, node, "to"))};
    view.fraction = integer(reader, member(reader, node, "fraction"));
    return view;
}

static void read_hit(struct reader *reader, const cJSON *node, struct shots_hit *hit)
{
    hit->key = key(reader, member(reader, node, "key"));
    hit->part = integer(reader, member(reader, node, "part"));
    hit->distance = distance(reader, member(reader, node, "distance"));
    hit->point = point(reader, member(reader, node, "point"));
}

static void read_ray(struct reader *reader, const cJSON *node, struct shots_ray *ray)
{
    ray->direction = point(reader, member(reader, node, "direction"));
    ray->range = distance(reader, member(reader, node, "range"));
    ray->reach = distance(reader, member(reader, node, "reach"));
    const cJSON *hit = items(reader, member(reader, node, "hits"), 0, SHOT_HITS, &ray->hit_count);
    for (size_t i = 0; hit != NULL && !reader->failed; i++, hit = hit->next) {
        read_hit(reader, hit, &ray->hits[i]);
    }
}

static void read_flight(struct reader *reader, const cJSON *node, struct shots_flight *flight)
{
    flight->pellet = integer(reader, member(reader, node, "pellet"));
    flight->radius = distance(reader, member(reader, node, "radius"));
    flight->origin = point(reader, member(reader, node, "origin"));
    flight->velocity = point(reader, member(reader, node, "velocity"));
    flight->from = integer(reader, member(reader, node, "from"));
    flight->to = integer(reader, member(reader, node, "to"));
    flight->present = integer(reader, member(reader, node, "present"));
    bool good = flight->from >= 0 && flight->to >= flight->from &&
                flight->to - flight->from <= (int64_t)SHOT_FLIGHT_TICKS * SHOT_MOMENTS;
    if (!reader->failed && !good) fail(reader, node, "ends before it begins, or long after");
}

static void read_landing(struct reader *reader, const cJSON *node, size_t flights,
                         struct shots_landing *landing)
{
    const cJSON *flight = member(reader, node, "flight");
    landing->flight = integer(reader, flight);
    landing->key = key(reader, member(reader, node, "key"));
    landing->part = integer(reader, member(reader, node, "part"));
    landing->blast = boolean(reader, member(reader, node, "blast"));
    landing->rewound = boolean(reader, member(reader, node, "rewound"));
    landing->at = integer(reader, member(reader, node, "at"));
    landing->centre = point(reader, member(reader, node, "centre"));
    landing->point = point(reader, member(reader, node, "point"));
    bool known = landing->flight >= 0 && landing->flight < (int64_t)flights;
    if (!reader->failed && !known) fail(reader, flight, "not one of the flights");
}

static void read_flights(struct reader *reader, const cJSON *root, struct shot *shot)
{
    const cJSON *flight =
        items(reader, member(reader, root, "flights"), 0, SHOT_RAYS, &shot->flight_count);
    for (size_t i = 0; flight != NULL && !reader->failed; i++, flight = flight->next) {
        read_flight(reader, flight, &shot->flights[i]);
    }
    const cJSON *landing =
        items(reader, member(reader, root, "landings"), 0, SHOT_LANDINGS, &shot->landing_count);
    for (size_t i = 0; landing != NULL && !reader->failed; i++, landing = landing->next) {
        read_landing(reader, landing, shot->flight_count, &shot->landings[i]);
    }
}

static void read_outline(struct reader *reader, const cJSON *node, struct shots_outline *outline)
{
    if (node == NULL || cJSON_IsNull(node)) return;
    outline->there = true;
    outline->centre = point(reader, member(reader, node, "centre"));
    const cJSON *shape =
        items(reader, member(reader, node, "shapes"), 0, SHOT_SHAPES, &outline->count);
    for (size_t i = 0; shape != NULL && !reader->failed; i++, shape = shape->next) {
        outline->shapes[i].a = point(reader, member(reader, shape, "a"));
        outline->shapes[i].b = point(reader, member(reader, shape, "b"));
        outline->shapes[i].radius = distance(reader, member(reader, shape, "radius"));
    }
}

static void read_candidate(struct reader *reader, const cJSON *node,
                           struct shots_candidate *candidate)
{
    candidate->key = key(reader, member(reader, node, "key"));
    candidate->slot = integer(reader, member(reader, node, "slot"));
    candidate->cover_ms = distance(reader, member(reader, node, "cover_ms"));
    candidate->spared = boolean(reader, member(reader, node, "spared"));
    read_outline(reader, member(reader, node, "present"), &candidate->present);
    read_outline(reader, member(reader, node, "rewound"), &candidate->rewound);
}

static void read_shot(struct reader *reader, const cJSON *root, struct shot *shot)
{
    memset(shot, 0, sizeof *shot);
    shot->index = integer(reader, member(reader, root, "shot"));
    shot->tick = integer(reader, member(reader, root, "tick"));
    shot->newest = integer(reader, member(reader, root, "newest"));
    shot->slot = integer(reader, member(reader, root, "slot"));
    shot->sequence = integer(reader, member(reader, root, "sequence"));
    shot->weapon = integer(reader, member(reader, root, "weapon"));
    shot->left_out = integer(reader, member(reader, root, "left_out"));
    text(reader, member(reader, root, "name"), shot->name);
    text(reader, member(reader, root, "verdict"), shot->verdict);
    shot->shooter = key(reader, member(reader, root, "shooter"));
    shot->claimed = read_view(reader, member(reader, root, "claimed"));
    shot->applied = read_view(reader, member(reader, root, "applied"));
    shot->rewound_ms = number(reader, member(reader, root, "rewound_ms"));
    shot->origin = point(reader, member(reader, root, "origin"));
    const cJSON *ray = items(reader, member(reader, root, "rays"), 0, SHOT_RAYS, &shot->ray_count);
    for (size_t i = 0; ray != NULL && !reader->failed; i++, ray = ray->next) {
        read_ray(reader, ray, &shot->rays[i]);
    }
    read_flights(reader, root, shot);
    const cJSON *candidate = items(reader, member(reader, root, "candidates"), 0, SHOT_CANDIDATES,
                                   &shot->candidate_count);
    for (size_t i = 0; candidate != NULL && !reader->failed; i++, candidate = candidate->next) {
        read_candidate(reader, candidate, &shot->candidates[i]);
    }
}

/* ---- the first line ---- */

static void read_static(struct reader *reader, const cJSON *node, struct shots_static *shape)
{
    const cJSON *at =
        items(reader, member(reader, node, "points"), 1, STATIC_POINTS, &shape->count);
    for (size_t i = 0; at != NULL && !reader->failed; i++, at = at->next) {
        shape->points[i] = point(reader, at);
    }
    shape->radius = distance(reader, member(reader, node, "radius"));
}

static void read_head(struct reader *reader, const cJSON *root, struct shots_head *head)
{
    char name[SHOT_NAME_BYTES] = "";
    const cJSON *trace = cJSON_IsObject(root) ? json_member(root, "trace") : NULL;
    if (trace != NULL) text(reader, trace, name);
    if (strcmp(name, "arbiter rewind") != 0) {
        fail(reader, NULL, "not a file of debug.rewind_trace");
        return;
    }
    if (integer(reader, member(reader, root, "version")) != VERSION) {
        fail(reader, json_member(root, "version"), "not a version that this program reads: 2");
    }
    text(reader, member(reader, root, "mode"), head->mode);
    text(reader, member(reader, root, "map"), head->map);
    head->tick_rate = integer(reader, member(reader, root, "tick_rate"));
    if (!reader->failed && head->tick_rate < 1) {
        fail(reader, json_member(root, "tick_rate"), "not a tick rate");
    }
    size_t count;
    const cJSON *low = items(reader, member(reader, root, "bounds"), 2, 2, &count);
    if (low != NULL) {
        head->low = point(reader, low);
        head->high = point(reader, low->next);
    }
    const cJSON *shape =
        items(reader, member(reader, root, "shapes"), 0, JSON_VALUES_MAX, &head->shape_count);
    head->shapes = arb_mem_calloc(head->shape_count + 1, sizeof head->shapes[0]);
    for (size_t i = 0; shape != NULL && !reader->failed; i++, shape = shape->next) {
        read_static(reader, shape, &head->shapes[i]);
    }
}

/* ---- lines ---- */

/* Up to a line's end or the file's. ARB_DATA: LINE_BYTES_MAX are no line yet; a file of something
 * else must not become memory. */
static enum arb_result read_line(struct shots *shots, size_t *bytes)
{
    *bytes = 0;
    for (int byte = getc_unlocked(shots->file); byte != EOF; byte = getc_unlocked(shots->file)) {
        if (*bytes == LINE_BYTES_MAX) return ARB_DATA;
        if (*bytes == shots->room) {
            size_t room = shots->room == 0 ? 4096 : 2 * shots->room;
            char *line = arb_mem_realloc(shots->line, room);
            if (line == NULL) return ARB_MEMORY;
            shots->line = line;
            shots->room = room;
        }
        shots->line[(*bytes)++] = (char)byte;
        if (byte == '\n') break;
    }
    return ferror(shots->file) == 0 ? ARB_OK : ARB_FILES;
}

/* A whole line without its end; *end: there is none. */
static enum arb_result next_line(struct shots *shots, size_t *bytes, bool *end, char *error)
{
    enum arb_result result = read_line(shots, bytes);
    *end = result == ARB_OK && *bytes == 0;
    if (*end) return ARB_OK;
    shots->number++;
    if (result != ARB_OK) {
        snprintf(error, SHOTS_ERROR_BYTES, "%s:%llu: %s", shots->path,
                 (unsigned long long)shots->number,
                 result == ARB_DATA ? "longer than any shot" : strerror(errno));
        return result;
    }
    if (shots->line[*bytes - 1] != '\n') {
        shots->cut = true;
        *end = true;
        return ARB_OK;
    }
    (*bytes)--;
    return ARB_OK;
}

static bool parse_line(struct shots *shots, size_t bytes, struct json *json, struct reader *reader,
                       char *error)
{
    struct json_error found;
    *reader = (struct reader){.shots = shots, .json = json, .error = error};
    if (json_parse(json, shots->line, bytes, &found)) return true;
    snprintf(error, SHOTS_ERROR_BYTES, "%s:%llu:%zu: %s%s%s", shots->path,
             (unsigned long long)shots->number, found.offset + 1, found.path,
             found.path[0] != '\0' ? ": " : "", found.what);
    return false;
}

enum arb_result shots_next(struct shots *shots, struct shot *shot, bool *end,
                           char error[SHOTS_ERROR_BYTES])
{
    size_t bytes = 0;
    enum arb_result result = next_line(shots, &bytes, end, error);
    if (result != ARB_OK || *end) return result;
    struct json json;
    struct reader reader;
    if (!parse_line(shots, bytes, &json, &reader, error)) return ARB_DATA;
    read_shot(&reader, json.root, shot);
    json_free(&json);
    return reader.failed ? ARB_DATA : ARB_OK;
}

static enum arb_result open_head(struct shots *shots, char *error)
{
    bool end = false;
    size_t bytes = 0;
    enum arb_result result = next_line(shots, &bytes, &end, error);
    if (result != ARB_OK) return result;
    if (end) {
        snprintf(error, SHOTS_ERROR_BYTES, "%s: %s", shots->path,
                 shots->cut ? "ends within its first line" : "is empty");
        return ARB_DATA;
    }
    struct json json;
    struct reader reader;
    if (!parse_line(shots, bytes, &json, &reader, error)) return ARB_DATA;
    read_head(&reader, json.root, &shots->head);
    json_free(&json);
    return reader.failed ? ARB_DATA : ARB_OK;
}

enum arb_result shots_open(const char *path, struct shots **out, char error[SHOTS_ERROR_BYTES])
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(error, SHOTS_ERROR_BYTES, "%s: %s", path, strerror(errno));
        return ARB_FILES;
    }
    struct shots *shots = arb_mem_calloc(1, sizeof *shots);
    shots->path = path;
    shots->file = file;
    enum arb_result result = open_head(shots, error);
    if (result == ARB_OK) {
        *out = shots;
    } else {
        shots_close(shots);
    }
    return result;
}

void shots_close(struct shots *shots)
{
    if (shots == NULL) return;
    fclose(shots->file);
    arb_mem_free(shots->line);
    arb_mem_free(shots->head.shapes);
    arb_mem_free(shots);
}

const struct shots_head *shots_head(const struct shots *shots)
{
    return &shots->head;
}

bool shots_cut(const struct shots *shots)
{
    return shots->cut;
}

struct shots_point shot_flight_at(const struct shots_head *head, const struct shots_flight *flight,
                                  int64_t moment)
{
    double s = (double)(moment - flight->from) / SHOT_MOMENTS / (double)head->tick_rate;
    return (struct shots_point){flight->origin.x + s * flight->velocity.x,
                                flight->origin.y + s * flight->velocity.y};
}

const struct shots_candidate *shot_candidate(const struct shot *shot, struct shots_key wanted)
{
    for (size_t i = 0; i < shot->candidate_count; i++) {
        const struct shots_key *found = &shot->candidates[i].key;
        if (found->id == wanted.id && found->generation == wanted.generation) {
            return &shot->candidates[i];
        }
    }
    return NULL;
}
