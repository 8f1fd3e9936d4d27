#define _GNU_SOURCE
#include "server/loop/loop_reload.h"

#include "server/loop/loop_check.h"
#include "server/match/match_numbers.h"
#include "server/ops/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum state { IDLE, READING, READ };
enum { CHANGES_BYTES = 400 };

struct loop_reload {
    const struct loop_reload_source *source;
    const struct config *running;
    const struct map *map;
    bool resumed;
    bool again;       /* asked for once more while a thread reads */
    atomic_int state; /* enum state; what follows is the thread's in READING, else the ticks' */
    bool is_good;
    char error[LOOP_ERROR_BYTES];
    uint32_t numbers[MATCH_NUMBERS_MAX];
};

struct loop_reload *loop_reload_create(struct arb_arena *arena,
                                       const struct loop_reload_source *source,
                                       const struct config *running, const struct map *map,
                                       bool resumed)
{
    struct loop_reload *reload = arb_arena_take(arena, sizeof *reload);
    reload->source = source;
    reload->running = running;
    reload->map = map;
    reload->resumed = resumed;
    atomic_init(&reload->state, IDLE);
    return reload;
}

/* ---- the thread ---- */

static bool fail(struct loop_reload *reload, const char *what)
{
    snprintf(reload->error, sizeof reload->error, "%.300s: %s", reload->source->file, what);
    return false;
}

static void take_numbers(struct loop_reload *reload, const struct config *next)
{
    match_numbers_of(loop_rules(next), loop_params(next), reload->numbers);
}

/* A pipe would be waited for. */
static bool is_regular(struct loop_reload *reload)
{
    struct stat about;
    if (stat(reload->source->file, &about) != 0) return fail(reload, strerror(errno));
    return S_ISREG(about.st_mode) || fail(reload, "it is no regular file");
}

static bool read_again(struct loop_reload *reload, struct config *next, struct arb_arena *arena)
{
    const struct loop_reload_source *source = reload->source;
    struct config_error found;
    if (!is_regular(reload)) return false;
    bool good =
        config_load(next, arena, source->modes, source->mode_count, source->file,
                    source->environment, source->sets, source->set_count, NULL, &found) == ARB_OK &&
        config_check_reload(reload->running, next, reload->resumed, &found);
    if (!good) {
        memcpy(reload->error, found.text, sizeof found.text);
        return false;
    }
    if (loop_check_loaded(next, reload->map, reload->error) != ARB_OK) return false;
    take_numbers(reload, next);
    return true;
}

static void *run_reading(void *argument)
{
    struct loop_reload *reload = argument;
    struct config next;
    struct arb_arena arena;
    arb_arena_init(&arena);
    reload->is_good = read_again(reload, &next, &arena);
    arb_arena_free(&arena);
    atomic_store(&reload->state, READ);
    return NULL;
}

/* ---- between ticks ---- */

static void refused(const char *text)
{
    ops_log(OPS_ERROR, "reload_refused", OPS_TEXT("text", text));
}

/* Signals are the tick thread's. Nobody waits for the thread: it may hang in the system. */
static bool start(struct loop_reload *reload)
{
    sigset_t all, before;
    pthread_attr_t detached;
    pthread_t thread;
    sigfillset(&all);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    atomic_store(&reload->state, READING);
    bool started = pthread_create(&thread, &detached, run_reading, reload) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    if (!started) atomic_store(&reload->state, IDLE);
    return started;
}

void loop_reload_begin(struct loop_reload *reload)
{
    if (reload->source->file == NULL) {
        refused("there is no configuration file to read again: neither --config nor --reload "
                "named one");
        return;
    }
    reload->again = atomic_load(&reload->state) != IDLE;
    if (!reload->again && !start(reload)) refused("no thread is to be had for reading");
}

/* "arena.health: 100 to 50, ..."; how many there are. */
static uint32_t tell_changes(const struct match *match, const uint32_t *numbers,
                             char out[CHANGES_BYTES])
{
    const uint32_t *before = match_numbers(match);
    uint32_t changed = 0;
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < match_number_count(match); i++) {
        char name[MATCH_NUMBER_NAME_BYTES], from[MATCH_NUMBER_NAME_BYTES];
        char to[MATCH_NUMBER_NAME_BYTES];
        if (before[i] == numbers[i]) continue;
        changed++;
        match_number_name(match, i, name);
        match_number_text(match, i, before[i], from);
        match_number_text(match, i, numbers[i], to);
        if (used < CHANGES_BYTES) {
            used += (size_t)snprintf(out + used, CHANGES_BYTES - used, "%s%s: %s to %s",
                                     used > 0 ? ", " : "", name, from, to);
        }
    }
    return changed;
}

static void take(struct loop_reload *reload, struct match *match)
{
    char changes[CHANGES_BYTES];
    if (!reload->is_good) {
        refused(reload->error);
        return;
    }
    uint32_t changed = tell_changes(match, reload->numbers, changes);
    if (changed > 0) match_reload(match, reload->numbers);
    ops_log(OPS_INFO, "reloaded", OPS_TEXT("path", reload->source->file),
            OPS_UINT("tick", match_tick(match)), OPS_UINT("changed", changed),
            OPS_TEXT("text", changes));
}

void loop_reload_look(struct loop_reload *reload, struct match *match)
{
    if (atomic_load(&reload->state) != READ) return;
    take(reload, match);
    atomic_store(&reload->state, IDLE);
    if (reload->again) loop_reload_begin(reload);
}
