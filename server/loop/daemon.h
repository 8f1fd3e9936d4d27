/* One match process from its configuration to its exit: puts map, match, sessions and loop
 * together, in the order in which they can fail. Called by main only.
 */
#ifndef LOOP_DAEMON_H
#define LOOP_DAEMON_H

#include "server/loop/loop_check.h"
#include "server/loop/loop_reload.h"
#include "server/loop/loop_resume.h"

enum { LOOP_SYNCTEST_MAX = 120 };

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
