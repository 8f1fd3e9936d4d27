/* What was recorded of a path, read from files: Mahimahi's lists of delivery opportunities, plain
 * tables, and iproute2's delay distributions; or made by a generator. Owns the memory of what it
 * read. Called by the profiles and by tests. tools/net/README.md describes the files.
 */
#ifndef NET_TRACE_H
#define NET_TRACE_H

#include "shared/transport/arb_link.h"
#include "tools/net/profile_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TRACE_FILE_BYTES_MAX = 64 * 1024 * 1024,
    TRACE_TIME_MAX_MS = 24 * 3600 * 1000,
};

/* A trace and the memory that its pointers point to. */
struct trace {
    struct arb_trace link;
    uint32_t *time_ms, *delay_us;
    uint8_t *lost;
};

/* Lines of one number: opportunities; of three: time_ms delay_ms lost. False: `error` says where
 * and why, nothing is left allocated. */
bool trace_read(const char *path, struct trace *trace, struct profile_error *error);
/* Accepts an empty one. */
void trace_free(struct trace *trace);

bool trace_read_jitter(const char *path, struct arb_jitter_table *table,
                       struct profile_error *error);

enum trace_direction { TRACE_UP, TRACE_DOWN };

/* Opportunities of a phone on the move, `length_ms` long: rates that step up and down, and silences
 * of up to a second. Resembles recorded LTE links (README.md has the figures). */
void trace_generate(struct trace *trace, enum trace_direction direction, uint32_t length_ms,
                    uint64_t seed);

#endif
