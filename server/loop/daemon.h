/* One match process from its configuration to its exit: puts map, match, sessions and loop
 * together, in the order in which they can fail. Called by main only.
 */
#ifndef LOOP_DAEMON_H
#define LOOP_DAEMON_H

#include "server/config/config.h"
#include "server/loop/loop_reload.h"
#include "server/loop/loop_resume.h"

enum { LOOP_ERROR_BYTES = CONFIG_ERROR_BYTES, LOOP_SYNCTEST_MAX = 120 };

/* Loads the configured map and checks it, and the mode's numbers against it; starts nothing. Memory
 * from the arena. ARB_CONFIG with one line in `error`. */
enum arb_result loop_check(const struct config *config, struct arb_arena *arena, struct map *map,
                           char error[LOOP_ERROR_BYTES]);

/* Whether the files that a match writes can be written; leaves none and changes none. ARB_FILES
 * with one line in `error`. loop_serve asks by itself. `resumed`: the journal goes on, and none is
 * made. */
enum arb_result loop_check_files(const struct config *config, bool resumed,
                                 char error[LOOP_ERROR_BYTES]);

/* The second half of that, of a map that is loaded already. */
enum arb_result loop_check_loaded(const struct config *config, const struct map *map,
                                  char error[LOOP_ERROR_BYTES]);

/* What is asked of one process and is no option. */
struct loop_serving {
    uint64_t started_ns;              /* when main began (loop_now_ns) */
    uint32_t synctest_ticks;          /* each tick is run again from so many before; 0: not */
    struct loop_resume *resume;       /* goes on with that match; NULL: begins one */
    struct loop_reload_source reload; /* what SIGHUP reads */
};

/* Plays the match to its end. `map` from loop_check. ARB_OK: ended with its result; otherwise one
 * line in `error` (ARB_NO_RESULT: the grace was over before). The arena is sealed when the loop
 * begins. */
enum arb_result loop_serve(const struct config *config, struct arb_arena *arena,
                           const struct map *map, const struct loop_serving *serving,
                           char error[LOOP_ERROR_BYTES]);

#endif
