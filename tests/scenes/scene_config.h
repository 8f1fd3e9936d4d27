/* Numbers of a mode for tests and benches: the defaults of the option tables, with changes in the
 * form of --set. */
#ifndef TESTS_SCENE_CONFIG_H
#define TESTS_SCENE_CONFIG_H

#include "server/config/config.h"
#include "server/rules/rules.h"

enum { SCENE_SETS_MAX = 32 };

/* Fills *config (seed set to `seed`) and returns the params of `mode`, both owned by the arena or
 * the caller. `sets` ends with NULL, or is NULL. Aborts with the loader's message when a set is
 * wrong. */
void *scene_configure(struct config *config, struct arb_arena *arena, const char *mode,
                      const char *const *sets, uint64_t seed);

#endif
