/* The result file of a match (spec/operations.md "Life of a match process"): there as a whole or
 * not at all. Blocks on the disk, so it is written when the last tick has run.
 */
#ifndef OPS_RESULT_H
#define OPS_RESULT_H

#include "server/match/match_result.h"
#include "shared/base/arb_result.h"

enum { OPS_ERROR_BYTES = 512 };

/* Whether a file could be written there; leaves nothing behind. ARB_FILES with one sentence in
 * `error`. */
enum arb_result ops_result_check(const char *path, char error[OPS_ERROR_BYTES]);

/* Writes beside `path`, syncs, renames, syncs the folder. `map` as configured. ARB_FILES with one
 * sentence in `error`: then what was at `path` before is still there. */
enum arb_result ops_result_write(const char *path, const struct match_result *result,
                                 const char *map, char error[OPS_ERROR_BYTES]);

#endif
