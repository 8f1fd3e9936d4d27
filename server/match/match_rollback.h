/* Late inputs that act in their own tick all the same, within `rollback.window_ticks`
 * (spec/determinism.md "Late inputs"): the match goes back to before the oldest of them and runs
 * the ticks again, once per tick, however many came. What nothing can change any more is settled;
 * whatever leaves the match for good waits for that. Only the numbers of it, and what is settled,
 * are asked from outside.
 */
#ifndef MATCH_ROLLBACK_H
#define MATCH_ROLLBACK_H

#include "server/match/match.h"
#include "server/match/match_record.h"
#include "server/match/match_save.h"

enum { MATCH_WINDOW_MAX = 30 }; /* ticks */

/* S[tick]: no input that is still permitted changes it, or an earlier one. At least S[now - window]
 * and never less than before; without a window always the newest. */
arb_tick match_settled(const struct match *match);

/* Of ticks up to match_settled: as far back as it was at the end of the tick before the newest. */
const struct match_record *match_settled_record(const struct match *match, arb_tick tick);
uint64_t match_settled_checksum(const struct match *match, arb_tick tick); /* of S[tick] */
/* S[tick] as a block, as match_save does it; ticks may be run again for it. */
uint32_t match_save_settled(struct match *match, arb_tick tick, enum match_save_parts parts,
                            uint8_t *out, uint32_t capacity);

/* From now on late inputs take the match back by so many ticks at most, also where the window is
 * longer: those for earlier ticks are too late. What is settled stays as it is. */
void match_limit_rerun(struct match *match, uint32_t ticks);

struct match_rollback_counts {
    uint64_t ticks;   /* live ones */
    uint64_t merged;  /* late inputs that act in their own tick */
    uint64_t assumed; /* of them, those that were what had been assumed: nothing was run again */
    uint64_t refused; /* late inputs of before the window */
    uint64_t reruns;
    uint64_t rerun_ticks;
    uint64_t lengths[MATCH_WINDOW_MAX + 1]; /* reruns by how many ticks they ran */
    uint64_t astray; /* of reruns, those after which something that was sent had never existed */
    uint64_t short_ticks; /* whose limit was below the window */
};
/* All 0 without a window. */
struct match_rollback_counts match_rollback_counts(const struct match *match);
/* The length that so many per cent of all reruns do not exceed; 0: there were none. */
uint32_t match_rollback_length(const struct match_rollback_counts *counts, uint32_t percent);

#endif
