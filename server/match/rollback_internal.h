/* Rollback, for the stages of a tick. `match->rollback` is NULL without a window; all of these then
 * are not called, but where it is said. */
#ifndef ROLLBACK_INTERNAL_H
#define ROLLBACK_INTERNAL_H

#include "server/match/match_internal.h"
#include "server/match/match_rollback.h"

/* NULL without a window. After the match's past. */
struct rollback *rollback_create(struct match *match, struct arb_arena *arena, uint32_t entities,
                                 uint32_t points);

/* The match was put into another course: what is known of the newest ticks is not of it. */
void rollback_forget(struct match *match);
/* A live tick begins, before stage 1. */
void rollback_begin(struct match *match);
/* Whether an input for that tick, which is over, still acts in it. May be called without a
 * window. */
bool rollback_is_open(const struct match *match, uint16_t slot, arb_tick target);
/* Whether an input that comes behind a newer one of its session has its place: nothing is there
 * for its tick, and it lies between its neighbours. May be called without a window. */
bool rollback_has_gap(const struct match *match, uint16_t slot, const struct arb_input *input);
/* Of an open tick. */
void rollback_merge(struct match *match, uint16_t slot, const struct input_entry *entry);
/* rollback_assumed.c: late inputs that are what had been assumed. */
struct assumed;
struct assumed *assumed_create(struct match *match, struct arb_arena *arena);
void assumed_begin(struct assumed *assumed); /* a live tick */
/* One was merged, of that tick. */
void assumed_note(struct assumed *assumed, uint16_t slot, arb_tick target);
/* The oldest tick, `from` or later, in which one of them changes something; the present tick: none.
 * All that is kept of the ticks before is as if those inputs had been there in time, and without
 * any change so is the match. `count`: inputs of before that tick. */
arb_tick assumed_correct(struct assumed *assumed, struct match *match, arb_tick from,
                         uint32_t *count);

/* Of one that is not. May be called without a window. */
void rollback_refuse(struct match *match, uint16_t slot, arb_sequence sequence);
/* The end of stage 1: what is late is run again. */
void rollback_run(struct match *match);
/* After the commit of a live tick: what is settled now. */
void rollback_settle(struct match *match);

/* The frame of which this tick's snapshots are made: stays as it is sent, whatever is run again. */
const struct arb_frame *rollback_send(struct match *match);
/* For replicate: NULL: not of the newest snapshots. `owner`: struct rollback. */
const struct arb_frame *rollback_sent(const void *owner, arb_tick tick);

#endif
