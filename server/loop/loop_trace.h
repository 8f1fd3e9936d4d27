/* Between a match and the file of its shots (debug.rewind_trace), for whoever runs a match: the
 * daemon and the simulator.
 */
#ifndef LOOP_TRACE_H
#define LOOP_TRACE_H

#include "server/config/config.h"
#include "server/match/observe.h"
#include "server/ops/rewind_trace.h"

/* *out NULL when none is configured. ARB_FILES with one sentence in `error`. */
enum arb_result loop_trace_open(struct ops_trace **out, const struct config *config,
                                const struct map *map, const uint8_t match_id[16],
                                struct arb_arena *arena, char error[OPS_ERROR_BYTES]);

/* For the observers of shots and of what flew; a shot of projectiles is complete with the second.
 */
void loop_trace_shots(struct ops_trace *trace, const struct match *match,
                      const struct rules_shot *shots, uint32_t count);
void loop_trace_flown(struct ops_trace *trace, const struct match *match,
                      const struct rules_shot *shots, const struct rules_flights *flights);

#endif
