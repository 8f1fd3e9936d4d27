/* The configured mode, and what can be said of a configuration before anything is started. Called
 * by main, the daemon, and the thread that reads it again.
 */
#ifndef LOOP_CHECK_H
#define LOOP_CHECK_H

#include "server/config/config.h"
#include "server/rules/rules.h"

enum { LOOP_ERROR_BYTES = CONFIG_ERROR_BYTES };

/* Of a configuration that was loaded. */
const struct rules *loop_rules(const struct config *config);
const void *loop_params(const struct config *config);

/* Loads the configured map and checks it, and the mode's numbers against it; starts nothing. Memory
 * from the arena. ARB_CONFIG with one line in `error`. */
enum arb_result loop_check(const struct config *config, struct arb_arena *arena, struct map *map,
                           char error[LOOP_ERROR_BYTES]);
/* The second half of that, of a map that is loaded already. */
enum arb_result loop_check_loaded(const struct config *config, const struct map *map,
                                  char error[LOOP_ERROR_BYTES]);

/* Whether the files that a match writes can be written; leaves none and changes none. ARB_FILES
 * with one line in `error`. loop_serve asks by itself. `resumed`: the journal goes on, and none is
 * made. */
enum arb_result loop_check_files(const struct config *config, bool resumed,
                                 char error[LOOP_ERROR_BYTES]);

#endif
