/* debug.rewind_trace: each resolved shot as a line of JSON, after a first line with the match and
 * its static geometry (the format: README.md beside this; spec/lag-compensation.md "Seeing it").
 * Shots are copied in the tick, into a bounded queue, and become text and reach the file outside of
 * it: in a thread of its own, or in ops_trace_drain where there is none. What finds the queue full
 * is counted, never waited for. Allocates nothing after ops_trace_open. Shows everything of
 * everybody: only for a file that the operator asked for.
 */
#ifndef OPS_REWIND_TRACE_H
#define OPS_REWIND_TRACE_H

#include "server/match/match_shot.h"
#include "server/ops/result.h"
#include "shared/base/arb_arena.h"
#include "shared/base/arb_shape.h"

#include <stddef.h>

enum { OPS_TRACE_SHOTS = 128 /* that wait to be written */ };

/* The first line; read by ops_trace_open only. */
struct ops_trace_head {
    const uint8_t *match_id; /* [16] */
    const char *mode, *map;
    uint32_t tick_rate;
    uint32_t max_rewind_ms;
    struct arb_bounds bounds;
    const struct arb_shape *shapes; /* [shape_count] */
    size_t shape_count;
};

struct ops_trace;

/* Whether it can be opened for writing; leaves no new file, and an old one as it is. ARB_FILES with
 * one sentence in `error`. */
enum arb_result ops_trace_check(const char *path, char error[OPS_ERROR_BYTES]);

/* Makes or empties the file, readable by its owner alone, and writes the first line. ARB_FILES with
 * one sentence in `error`. Memory from the arena; the file until ops_trace_close. */
enum arb_result ops_trace_open(struct ops_trace **out, const char *path,
                               const struct ops_trace_head *head, struct arb_arena *arena,
                               char error[OPS_ERROR_BYTES]);

/* From now on a thread writes. False: there is none to be had. */
bool ops_trace_start(struct ops_trace *trace);

/* Tick thread: the place for the next shot, to be filled and committed; NULL: no room, counted. */
struct match_shot *ops_trace_place(struct ops_trace *trace);
void ops_trace_commit(struct ops_trace *trace);

/* Writes all that waits. Only without a thread. */
void ops_trace_drain(struct ops_trace *trace);

struct ops_trace_counts {
    uint64_t written, dropped;
    int error; /* errno of the write that failed, after which nothing more is written; 0: none */
};

/* Ends the thread, writes the rest, closes the file. NULL: nothing. */
struct ops_trace_counts ops_trace_close(struct ops_trace *trace);

#endif
