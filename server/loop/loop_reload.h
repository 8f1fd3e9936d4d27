/* The configuration is read again while the match runs (SIGHUP; spec/operations.md): by a thread of
 * its own, since a file may be slow, on a disk that hangs even for ever. It is checked as a whole
 * there; the tick thread only takes the numbers of the game that came out of it, and tells the log.
 * What is wrong changes nothing. Tick thread only, but for the reading.
 */
#ifndef LOOP_RELOAD_H
#define LOOP_RELOAD_H

#include "server/config/config.h"
#include "server/match/match.h"

/* Where the configuration comes from, as at the start; all of it outlives the process's match. */
struct loop_reload_source {
    const char *file; /* NULL: there is none, and a reload is refused */
    const struct config_mode *modes;
    size_t mode_count;
    char *const *environment;
    const char *const *sets;
    size_t set_count;
};

struct loop_reload;

/* `running` and `map` are what the match was made from; `resumed`: from its journal. Nothing of it
 * is freed at an end, for a thread that hangs may yet use it. */
struct loop_reload *loop_reload_create(struct arb_arena *arena,
                                       const struct loop_reload_source *source,
                                       const struct config *running, const struct map *map,
                                       bool resumed);

/* Begins to read; while that goes on, once more when it is done, since the file may have changed
 * under it. */
void loop_reload_begin(struct loop_reload *reload);

/* Between two ticks, after each: what was read is asked for in the match's next tick. */
void loop_reload_look(struct loop_reload *reload, struct match *match);

#endif
