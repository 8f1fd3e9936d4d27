#define _GNU_SOURCE
#include "server/ops/rewind_trace.h"

#include "server/ops/text.h"

#include "shared/base/arb_assert.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A shot with all its rays, hits and candidates is about half of that. */
enum { LINE_BYTES = 131072, FILE_MODE = 0600 };

struct ops_trace {
    int fd;
    int error;
    struct match_shot *shots; /* [OPS_TRACE_SHOTS] ring: taken % OPS_TRACE_SHOTS is the oldest */
    uint64_t put, taken;      /* under the lock while a thread runs */
    uint64_t dropped;         /* of the tick thread */
    uint64_t written;         /* of whoever writes */
    char *line;               /* [LINE_BYTES], of whoever writes */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool threaded, stopping;
};

/* ---- text: nine digits give every float back exactly ---- */

static void print_float(struct ops_text *text, const char *before, float value)
{
    ops_text_print(text, "%s%.9g", before, (double)value);
}

static void print_point(struct ops_text *text, const char *before, struct arb_vec2 point)
{
    ops_text_print(text, "%s[%.9g,%.9g]", before, (double)point.x, (double)point.y);
}

static void print_key(struct ops_text *text, const char *before, struct arb_key key)
{
    ops_text_print(text, "%s[%u,%u]", before, (unsigned)key.id, (unsigned)key.generation);
}

static void print_shape(struct ops_text *text, const struct arb_shape *shape)
{
    static const char *const types[] = {[ARB_SHAPE_CIRCLE] = "circle",
                                        [ARB_SHAPE_CAPSULE] = "capsule",
                                        [ARB_SHAPE_POLYGON] = "polygon"};
    ops_text_print(text, "{\"type\":\"%s\",\"points\":[", types[shape->type]);
    for (uint8_t i = 0; i < shape->count; i++) {
        print_point(text, i == 0 ? "" : ",", shape->points[i]);
    }
    print_float(text, "],\"radius\":", shape->radius);
    ops_text_print(text, "}");
}

static void print_view(struct ops_text *text, const char *name, const struct arb_view *view)
{
    ops_text_print(
        text, ",\"%s\":{\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"fraction\":%u,\"held\":%u}", name,
        view->from_tick, view->to_tick, (unsigned)view->fraction, (unsigned)view->held);
}

static void print_ray(struct ops_text *text, const struct match_shot_ray *ray)
{
    print_point(text, "{\"direction\":", ray->direction);
    print_float(text, ",\"range\":", ray->range);
    print_float(text, ",\"reach\":", ray->reach);
    ops_text_print(text, ",\"hits\":[");
    for (uint8_t i = 0; i < ray->hit_count; i++) {
        const struct match_shot_hit *hit = &ray->hits[i];
        print_key(text, i == 0 ? "{\"key\":" : ",{\"key\":", hit->victim);
        ops_text_print(text, ",\"part\":%u", (unsigned)hit->part);
        print_float(text, ",\"distance\":", hit->distance);
        print_point(text, ",\"point\":", hit->point);
        ops_text_print(text, "}");
    }
    ops_text_print(text, "]}");
}

/* Moments are integers, so that nothing of a large tick is rounded. */
static void print_flight(struct ops_text *text, const struct match_shot_flight *flight)
{
    ops_text_print(text, "{\"pellet\":%u", (unsigned)flight->pellet);
    print_float(text, ",\"radius\":", flight->radius);
    print_point(text, ",\"origin\":", flight->origin);
    print_point(text, ",\"velocity\":", flight->velocity);
    ops_text_print(text, ",\"from\":%" PRIu64 ",\"to\":%" PRIu64 ",\"present\":%" PRIu64 "}",
                   flight->from, flight->to, flight->present);
}

static void print_landing(struct ops_text *text, const struct match_shot_landing *landing)
{
    ops_text_print(text, "{\"flight\":%u", (unsigned)landing->flight);
    print_key(text, ",\"key\":", landing->victim);
    ops_text_print(text, ",\"part\":%u,\"blast\":%s,\"rewound\":%s,\"at\":%" PRIu64,
                   (unsigned)landing->part, landing->blast ? "true" : "false",
                   landing->rewound ? "true" : "false", landing->at);
    print_point(text, ",\"centre\":", landing->centre);
    print_point(text, ",\"point\":", landing->point);
    ops_text_print(text, "}");
}

static void print_flights(struct ops_text *text, const struct match_shot *shot)
{
    ops_text_print(text, ",\"flights\":[");
    for (uint8_t i = 0; i < shot->flight_count; i++) {
        ops_text_print(text, i == 0 ? "" : ",");
        print_flight(text, &shot->flights[i]);
    }
    ops_text_print(text, "],\"landings\":[");
    for (uint8_t i = 0; i < shot->landing_count; i++) {
        ops_text_print(text, i == 0 ? "" : ",");
        print_landing(text, &shot->landings[i]);
    }
    ops_text_print(text, "],\"landings_left_out\":%u", shot->landings_left_out);
}

static void print_outline(struct ops_text *text, const char *name,
                          const struct match_shot_outline *outline)
{
    if (!outline->there) {
        ops_text_print(text, ",\"%s\":null", name);
        return;
    }
    ops_text_print(text, ",\"%s\":{", name);
    print_point(text, "\"centre\":", outline->centre);
    ops_text_print(text, ",\"shapes\":[");
    for (uint8_t i = 0; i < outline->count; i++) {
        const struct match_shot_shape *shape = &outline->shapes[i];
        print_point(text, i == 0 ? "{\"a\":" : ",{\"a\":", shape->a);
        print_point(text, ",\"b\":", shape->b);
        print_float(text, ",\"radius\":", shape->radius);
        ops_text_print(text, ",\"part\":%u}", (unsigned)shape->part);
    }
    ops_text_print(text, "]}");
}

/* -1: nobody's. */
static int slot_number(uint16_t slot)
{
    return slot == ARB_NO_SLOT ? -1 : (int)slot;
}

static void print_candidate(struct ops_text *text, const struct match_shot_candidate *candidate)
{
    print_key(text, "{\"key\":", candidate->key);
    ops_text_print(text, ",\"slot\":%d,\"cover_ms\":%u,\"spared\":%s", slot_number(candidate->slot),
                   candidate->cover_ms, candidate->spared ? "true" : "false");
    print_outline(text, "present", &candidate->present);
    print_outline(text, "rewound", &candidate->rewound);
    ops_text_print(text, "}");
}

static void print_shot(struct ops_text *text, uint64_t index, const struct match_shot *shot)
{
    ops_text_print(text, "{\"shot\":%" PRIu64 ",\"tick\":%" PRIu64 ",\"newest\":%" PRIu64, index,
                   shot->tick, shot->newest);
    ops_text_print(text, ",\"slot\":%d,\"name\":", slot_number(shot->slot));
    ops_text_string(text, shot->name);
    print_key(text, ",\"shooter\":", shot->shooter);
    ops_text_print(text, ",\"sequence\":%u,\"weapon\":%u", shot->sequence, (unsigned)shot->weapon);
    print_view(text, "claimed", &shot->claimed);
    print_view(text, "applied", &shot->applied);
    ops_text_print(text, ",\"verdict\":\"%s\",\"late\":%s,\"repeated\":%s", shot->verdict,
                   shot->late ? "true" : "false", shot->repeated ? "true" : "false");
    print_float(text, ",\"rewound_ms\":", shot->rewound_ms);
    print_point(text, ",\"origin\":", shot->origin);
    ops_text_print(text, ",\"rays\":[");
    for (uint8_t i = 0; i < shot->ray_count; i++) {
        ops_text_print(text, i == 0 ? "" : ",");
        print_ray(text, &shot->rays[i]);
    }
    ops_text_print(text, "]");
    print_flights(text, shot);
    ops_text_print(text, ",\"candidates\":[");
    for (uint8_t i = 0; i < shot->candidate_count; i++) {
        ops_text_print(text, i == 0 ? "" : ",");
        print_candidate(text, &shot->candidates[i]);
    }
    ops_text_print(text, "],\"left_out\":%u}\n", shot->candidates_left_out);
}

/* ---- the file ---- */

static void write_text(struct ops_trace *trace, const struct ops_text *text)
{
    ARB_ASSERT(!text->full);
    const char *bytes = text->bytes;
    size_t size = text->size;
    while (size > 0 && trace->error == 0) {
        ssize_t written = write(trace->fd, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            trace->error = written < 0 ? errno : EIO;
            return;
        }
        bytes += written;
        size -= (size_t)written;
    }
}

/* Shape by shape: a map may have many. */
static void write_head(struct ops_trace *trace, const struct ops_trace_head *head)
{
    struct ops_text text;
    ops_text_begin(&text, trace->line, LINE_BYTES);
    char id[MATCH_ID_TEXT_BYTES];
    match_id_text(head->match_id, id);
    ops_text_print(&text,
                   "{\"trace\":\"arbiter rewind\",\"version\":2,\"match_id\":\"%s\",\"mode\":", id);
    ops_text_string(&text, head->mode);
    ops_text_print(&text, ",\"map\":");
    ops_text_string(&text, head->map);
    ops_text_print(&text, ",\"tick_rate\":%u,\"max_rewind_ms\":%u", head->tick_rate,
                   head->max_rewind_ms);
    print_point(&text, ",\"bounds\":[", head->bounds.low);
    print_point(&text, ",", head->bounds.high);
    ops_text_print(&text, "],\"shapes\":[");
    for (size_t i = 0; i < head->shape_count; i++) {
        ops_text_print(&text, i == 0 ? "" : ",");
        print_shape(&text, &head->shapes[i]);
        write_text(trace, &text);
        ops_text_begin(&text, trace->line, LINE_BYTES);
    }
    ops_text_print(&text, "]}\n");
    write_text(trace, &text);
}

static enum arb_result fail(char *error, const char *path, const char *what, int number)
{
    snprintf(error, OPS_ERROR_BYTES, "debug.rewind_trace: %s: %s: %s", path, what,
             strerror(number));
    return ARB_FILES;
}

enum arb_result ops_trace_check(const char *path, char error[OPS_ERROR_BYTES])
{
    /* What is there already may be somebody's trace: it is neither emptied nor removed. */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    bool is_new = fd >= 0;
    if (!is_new && errno == EEXIST) fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return fail(error, path, "cannot write it", errno);
    close(fd);
    if (is_new) unlink(path);
    return ARB_OK;
}

enum arb_result ops_trace_open(struct ops_trace **out, const char *path,
                               const struct ops_trace_head *head, struct arb_arena *arena,
                               char error[OPS_ERROR_BYTES])
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, FILE_MODE);
    if (fd < 0) return fail(error, path, "cannot write it", errno);
    struct ops_trace *trace = arb_arena_take(arena, sizeof *trace);
    trace->fd = fd;
    trace->shots = arb_arena_take_array(arena, OPS_TRACE_SHOTS, sizeof trace->shots[0]);
    trace->line = arb_arena_take(arena, LINE_BYTES);
    pthread_mutex_init(&trace->lock, NULL);
    pthread_cond_init(&trace->wake, NULL);
    write_head(trace, head);
    if (trace->error != 0) {
        fail(error, path, "cannot write it", trace->error);
        ops_trace_close(trace);
        return ARB_FILES;
    }
    *out = trace;
    return ARB_OK;
}

/* ---- the queue ---- */

/* One shot that was put and not yet taken: nobody else touches it until `taken` passes it. */
static void write_shot(struct ops_trace *trace, uint64_t index)
{
    struct ops_text text;
    ops_text_begin(&text, trace->line, LINE_BYTES);
    print_shot(&text, index, &trace->shots[index % OPS_TRACE_SHOTS]);
    write_text(trace, &text);
    trace->written += trace->error == 0;
}

static void *run_writer(void *argument)
{
    struct ops_trace *trace = argument;
    pthread_mutex_lock(&trace->lock);
    while (trace->taken < trace->put || !trace->stopping) {
        if (trace->taken == trace->put) {
            pthread_cond_wait(&trace->wake, &trace->lock);
            continue;
        }
        uint64_t index = trace->taken;
        pthread_mutex_unlock(&trace->lock);
        write_shot(trace, index);
        pthread_mutex_lock(&trace->lock);
        trace->taken++;
    }
    pthread_mutex_unlock(&trace->lock);
    return NULL;
}

/* Signals are the tick thread's. */
bool ops_trace_start(struct ops_trace *trace)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    trace->threaded = pthread_create(&trace->thread, NULL, run_writer, trace) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return trace->threaded;
}

struct match_shot *ops_trace_place(struct ops_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    bool room = trace->put - trace->taken < OPS_TRACE_SHOTS;
    pthread_mutex_unlock(&trace->lock);
    if (!room) {
        trace->dropped++;
        return NULL;
    }
    return &trace->shots[trace->put % OPS_TRACE_SHOTS];
}

void ops_trace_commit(struct ops_trace *trace)
{
    pthread_mutex_lock(&trace->lock);
    trace->put++;
    pthread_cond_signal(&trace->wake);
    pthread_mutex_unlock(&trace->lock);
}

void ops_trace_drain(struct ops_trace *trace)
{
    ARB_ASSERT(!trace->threaded);
    for (; trace->taken < trace->put; trace->taken++) {
        write_shot(trace, trace->taken);
    }
}

struct ops_trace_counts ops_trace_close(struct ops_trace *trace)
{
    if (trace == NULL) return (struct ops_trace_counts){0};
    if (trace->threaded) {
        pthread_mutex_lock(&trace->lock);
        trace->stopping = true;
        pthread_cond_signal(&trace->wake);
        pthread_mutex_unlock(&trace->lock);
        pthread_join(trace->thread, NULL);
        trace->threaded = false;
    }
    ops_trace_drain(trace);
    if (close(trace->fd) != 0 && trace->error == 0) trace->error = errno;
    pthread_mutex_destroy(&trace->lock);
    pthread_cond_destroy(&trace->wake);
    return (struct ops_trace_counts){trace->written, trace->dropped, trace->error};
}
