/* debug.rewind_trace: the file of shots. */
#define _GNU_SOURCE
#include "server/ops/rewind_trace.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];
static struct arb_arena arena;
static char error[OPS_ERROR_BYTES];
static const struct arb_shape shapes[2] = {
    {ARB_SHAPE_CIRCLE, 1, 2, {{1, 2}}},
    {ARB_SHAPE_POLYGON, 3, 0.25F, {{0, 0}, {1, 0}, {0, 1}}},
};
static const uint8_t id[16] = {0xAB};

static void setup(void)
{
    snprintf(path, sizeof path, "/tmp/trace-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    arb_arena_init(&arena);
}

static void teardown(void)
{
    unlink(path);
    arb_arena_free(&arena);
}

TestSuite(ops_trace, .init = setup, .fini = teardown);

static struct ops_trace *open_trace(void)
{
    struct ops_trace *trace = NULL;
    struct ops_trace_head head = {.match_id = id,
                                  .mode = "arena",
                                  .map = "a\"b",
                                  .tick_rate = 60,
                                  .max_rewind_ms = 500,
                                  .bounds = {{-50, -40}, {50, 40}},
                                  .shapes = shapes,
                                  .shape_count = 2};
    cr_assert_eq(ops_trace_open(&trace, path, &head, &arena, error), ARB_OK, "%s", error);
    arb_arena_seal(&arena);
    return trace;
}

static void put(struct ops_trace *trace, arb_tick tick)
{
    struct match_shot *shot = ops_trace_place(trace);
    cr_assert_not_null(shot);
    *shot = (struct match_shot){.tick = tick, .newest = tick - 1, .verdict = "honoured"};
    ops_trace_commit(trace);
}

/* As large as one can be: everything at its bound, floats at their longest. */
static void put_full(struct ops_trace *trace)
{
    struct match_shot *shot = ops_trace_place(trace);
    const float longest = -1.23456789e-38F;
    struct match_shot_outline outline = {.there = true, .count = MATCH_SHOT_SHAPES};
    outline.centre = (struct arb_vec2){longest, longest};
    for (int i = 0; i < MATCH_SHOT_SHAPES; i++) {
        outline.shapes[i] =
            (struct match_shot_shape){outline.centre, outline.centre, longest, UINT8_MAX};
    }
    *shot = (struct match_shot){.tick = UINT64_MAX,
                                .newest = UINT64_MAX,
                                .sequence = UINT32_MAX,
                                .verdict = "honoured",
                                .ray_count = MATCH_SHOT_RAYS,
                                .flight_count = MATCH_SHOT_RAYS,
                                .landing_count = MATCH_SHOT_LANDINGS,
                                .landings_left_out = UINT32_MAX,
                                .candidate_count = MATCH_SHOT_CANDIDATES};
    memset(shot->name, '\x01', sizeof shot->name - 1);
    for (int i = 0; i < MATCH_SHOT_RAYS; i++) {
        struct match_shot_ray *ray = &shot->rays[i];
        ray->direction = outline.centre;
        ray->range = ray->reach = longest;
        ray->hit_count = MATCH_SHOT_HITS;
        for (int h = 0; h < MATCH_SHOT_HITS; h++) {
            ray->hits[h] = (struct match_shot_hit){
                {UINT16_MAX, UINT16_MAX}, UINT8_MAX, longest, outline.centre};
        }
    }
    for (int i = 0; i < MATCH_SHOT_RAYS; i++) {
        shot->flights[i] = (struct match_shot_flight){
            UINT8_MAX, longest, outline.centre, outline.centre, UINT64_MAX, UINT64_MAX, UINT64_MAX,
        };
    }
    for (int i = 0; i < MATCH_SHOT_LANDINGS; i++) {
        shot->landings[i] = (struct match_shot_landing){
            UINT8_MAX,  {UINT16_MAX, UINT16_MAX}, UINT8_MAX,      false, false,
            UINT64_MAX, outline.centre,           outline.centre,
        };
    }
    for (int i = 0; i < MATCH_SHOT_CANDIDATES; i++) {
        shot->candidates[i] = (struct match_shot_candidate){
            {UINT16_MAX, UINT16_MAX}, ARB_NO_SLOT, true, UINT32_MAX, outline, outline};
    }
    ops_trace_commit(trace);
}

static char *next_line(FILE *file)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t read = getline(&line, &room, file);
    return read > 0 && line[read - 1] == '\n' ? line : NULL;
}

Test(ops_trace, the_first_line_is_the_match_and_its_map)
{
    ops_trace_close(open_trace());
    FILE *file = fopen(path, "r");
    char *line = next_line(file);
    cr_assert_str_eq(line,
                     "{\"trace\":\"arbiter rewind\",\"version\":2,\"match_id\":"
                     "\"ab000000000000000000000000000000\",\"mode\":\"arena\",\"map\":\"a\\\"b\","
                     "\"tick_rate\":60,\"max_rewind_ms\":500,\"bounds\":[[-50,-40],[50,40]],"
                     "\"shapes\":[{\"type\":\"circle\",\"points\":[[1,2]],\"radius\":2},"
                     "{\"type\":\"polygon\",\"points\":[[0,0],[1,0],[0,1]],\"radius\":0.25}]}\n");
    cr_assert_null(next_line(file));
    fclose(file);
    struct stat found;
    cr_assert_eq(stat(path, &found), 0);
}

Test(ops_trace, a_new_file_is_its_owners_alone)
{
    unlink(path);
    ops_trace_close(open_trace());
    struct stat found;
    cr_assert_eq(stat(path, &found), 0);
    cr_assert_eq(found.st_mode & 0777, 0600);
}

Test(ops_trace, every_shot_fits_a_line_of_json)
{
    struct ops_trace *trace = open_trace();
    put_full(trace);
    ops_trace_drain(trace);
    struct ops_trace_counts counts = ops_trace_close(trace);
    cr_assert_eq(counts.written, 1);
    FILE *file = fopen(path, "r");
    free(next_line(file));
    char *line = next_line(file);
    cJSON *root = cJSON_Parse(line);
    cr_assert_not_null(root);
    const cJSON *rays = cJSON_GetObjectItem(root, "rays");
    cr_assert_eq(cJSON_GetArraySize(rays), MATCH_SHOT_RAYS);
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(root, "candidates")),
                 MATCH_SHOT_CANDIDATES);
    cr_assert_eq((float)cJSON_GetObjectItem(rays->child, "reach")->valuedouble, -1.23456789e-38F,
                 "floats come back as they were");
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(root, "flights")), MATCH_SHOT_RAYS);
    cr_assert_eq(cJSON_GetArraySize(cJSON_GetObjectItem(root, "landings")), MATCH_SHOT_LANDINGS);
    cJSON_Delete(root);
    cr_assert_not_null(strstr(line, "\"to\":18446744073709551615,"), "no moment is rounded");
    free(line);
    fclose(file);
}

Test(ops_trace, what_finds_no_room_is_counted_and_the_rest_is_there_in_order)
{
    struct ops_trace *trace = open_trace();
    for (arb_tick i = 0; i < OPS_TRACE_SHOTS; i++) {
        put(trace, 1000 + i);
    }
    cr_assert_null(ops_trace_place(trace));
    cr_assert_null(ops_trace_place(trace));
    ops_trace_drain(trace);
    put(trace, 5000);
    struct ops_trace_counts counts = ops_trace_close(trace);
    cr_assert_eq(counts.written, OPS_TRACE_SHOTS + 1);
    cr_assert_eq(counts.dropped, 2);
    cr_assert_eq(counts.error, 0);
    FILE *file = fopen(path, "r");
    free(next_line(file));
    for (int i = 0; i <= OPS_TRACE_SHOTS; i++) {
        char *line = next_line(file), begin[64];
        snprintf(begin, sizeof begin, "{\"shot\":%d,\"tick\":%d,", i,
                 i < OPS_TRACE_SHOTS ? 1000 + i : 5000);
        cr_assert(strncmp(line, begin, strlen(begin)) == 0, "%s", line);
        free(line);
    }
    fclose(file);
}

Test(ops_trace, a_thread_writes_all_that_was_put)
{
    struct ops_trace *trace = open_trace();
    cr_assert(ops_trace_start(trace));
    uint64_t put_count = 0;
    for (int i = 0; i < 2000; i++) {
        struct match_shot *shot = ops_trace_place(trace);
        if (shot == NULL) continue;
        *shot = (struct match_shot){.tick = (arb_tick)i, .verdict = "honoured"};
        ops_trace_commit(trace);
        put_count++;
    }
    struct ops_trace_counts counts = ops_trace_close(trace);
    cr_assert_eq(counts.written, put_count);
    cr_assert_eq(counts.written + counts.dropped, 2000);
    FILE *file = fopen(path, "r");
    uint64_t lines = 0;
    for (char *line = next_line(file); line != NULL; line = next_line(file)) {
        cJSON *root = cJSON_Parse(line);
        cr_assert_not_null(root, "%s", line);
        cJSON_Delete(root);
        free(line);
        lines++;
    }
    cr_assert_eq(lines, put_count + 1);
    fclose(file);
}

Test(ops_trace, a_file_that_cannot_be_written_is_named)
{
    struct ops_trace *trace = NULL;
    struct ops_trace_head head = {.match_id = id, .mode = "", .map = ""};
    cr_assert_eq(ops_trace_open(&trace, "/nowhere/trace", &head, &arena, error), ARB_FILES);
    cr_assert_null(trace);
    cr_assert_str_eq(error, "debug.rewind_trace: /nowhere/trace: cannot write it: No such file or "
                            "directory");
    cr_assert_eq(ops_trace_open(&trace, "/dev/full", &head, &arena, error), ARB_FILES);
    cr_assert_str_eq(error,
                     "debug.rewind_trace: /dev/full: cannot write it: No space left on device");
}
