/* The last ticks of a match, kept so that it can go back and run them again: S[t] of each, and what
 * each took from outside. Owns both rings; no tick reads them. The match has one when its
 * configuration asks for a synctest or a rollback window (spec/determinism.md).
 */
#ifndef MATCH_PAST_H
#define MATCH_PAST_H

#include "server/match/match_record.h"
#include "server/match/match_save.h"

struct match_past;

/* Keeps `ticks` (at least 1). Memory from the arena. */
struct match_past *match_past_create(struct arb_arena *arena, const struct match *match,
                                     uint32_t ticks);

/* Nothing is kept but S[t] as it is now: before the first live tick, and when others were run
 * meanwhile. */
void match_past_begin(struct match_past *past, const struct match *match);
/* The match was put into another course: nothing is kept. */
void match_past_forget(struct match_past *past);
/* In each live tick after its commit. */
void match_past_keep(struct match_past *past, const struct match *match);
/* An input that came late stands in the record of its tick now: the figures from there on. */
void match_past_merge(struct match_past *past, uint16_t slot, const struct arb_input *input);

/* States S[oldest] to S[newest] are kept; 0: none. */
arb_tick match_past_oldest(const struct match_past *past);
arb_tick match_past_newest(const struct match_past *past);
/* What `tick` took, from the oldest on; may be changed, if it is then run again. */
struct match_record *match_past_record(struct match_past *past, arb_tick tick);
/* The same of S[tick], as a block; `checksum`: its own. It may be changed to what a run of the
 * ticks before it would come to. */
uint8_t *match_past_state(struct match_past *past, arb_tick tick, uint64_t **checksum);
/* match_checksum of S[tick]. */
uint64_t match_past_checksum(const struct match_past *past, arb_tick tick);

/* Goes back to S[from] and runs the ticks up to the newest again, from their records; what is kept
 * of them is then what this run came to, and shots count as it has them. Nobody is told anything,
 * no figure counts twice. */
void match_past_run_again(struct match_past *past, struct match *match, arb_tick from);

/* S[tick] as a block, from the oldest on; returns its bytes, as match_save. Runs ticks again where
 * tick is not the newest. */
uint32_t match_past_save(struct match_past *past, struct match *match, arb_tick tick,
                         enum match_save_parts parts, uint8_t *out, uint32_t capacity);

/* Synctest (as GGPO's), between ticks, of a match with back_ticks: goes back by `ticks` of them, or
 * as far as is kept, runs the same ticks again, and compares the state after each with the one that
 * was kept. The match is where it was; nobody is told anything, no figure counts twice. False: the
 * course was another one; `text` says which tick and field, and the match is not to be gone on
 * with. */
bool match_repeats(struct match *match, uint32_t ticks, char *text, size_t size);

#endif
