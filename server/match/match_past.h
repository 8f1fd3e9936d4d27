/* The last ticks of a match, kept so that it can go back and run them again: S[t] of each, and what
 * each took from outside. Owns both rings; the match itself knows nothing of it. Called by whoever
 * runs the ticks, between them (spec/determinism.md).
 */
#ifndef MATCH_PAST_H
#define MATCH_PAST_H

#include "server/match/match_record.h"
#include "server/match/match_save.h"

struct match_past;

/* Keeps `ticks` (1..config.back_ticks of the match). Memory from the arena. */
struct match_past *match_past_create(struct arb_arena *arena, const struct match *match,
                                     uint32_t ticks);

/* After each live tick. */
void match_past_keep(struct match_past *past, const struct match *match);

/* Ticks that can be run again: as many as were kept, `ticks` at most. */
uint32_t match_past_length(const struct match_past *past);

/* Synctest (as GGPO's): goes back as far as is kept, runs the same ticks again, and compares the
 * state after each with the one that was kept. The match is where it was; nobody is told anything,
 * no figure counts twice. False: the course was another one; `text` says which tick and field, and
 * the match is not to be gone on with. */
bool match_past_repeats(struct match_past *past, struct match *match, char *text, size_t size);

#endif
