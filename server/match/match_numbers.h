/* The numbers of the game that may change while a match runs: the mode's options that are marked
 * `reload` in its table, as one list of 32-bit values in the order of the table, those of a list's
 * items item by item (spec/operations.md "admin actions", spec/determinism.md "Replay"). A change
 * is a command of a tick: it stands in the tick's record with all of the list, and the list is part
 * of S[t]. Nothing that a client predicts with, and nothing that memory or a shape was made by, is
 * among them. Called by whoever reads a configuration again, by replay and by save and restore.
 */
#ifndef MATCH_NUMBERS_H
#define MATCH_NUMBERS_H

#include "server/match/match.h"

enum { MATCH_NUMBERS_MAX = 256, MATCH_NUMBER_NAME_BYTES = 96, MATCH_NUMBERS_ERROR_BYTES = 512 };

/* How many there are of a mode with those params; the number of items of a list does not change. */
uint32_t match_numbers_count(const struct rules *rules, const void *params);

/* Out of the mode's params into out[match_numbers_count]: bool as 0 or 1, integers and choices as
 * they are, floats as their bits. */
void match_numbers_of(const struct rules *rules, const void *params, uint32_t *out);

/* Of this match: how many, those that are in force, in S[match_tick]. */
uint32_t match_number_count(const struct match *match);
const uint32_t *match_numbers(const struct match *match);

/* "arena.weapons[1].damage", and a value of it as JSON writes it: 24.5, true, "uniform". */
void match_number_name(const struct match *match, uint32_t index,
                       char out[MATCH_NUMBER_NAME_BYTES]);
void match_number_text(const struct match *match, uint32_t index, uint32_t value,
                       char out[MATCH_NUMBER_NAME_BYTES]);

/* Whether they may be in force: each within the bounds of its row, all of them together as the mode
 * asks for. Any list, from outside too. False with one sentence. */
bool match_numbers_check(struct match *match, const uint32_t *numbers,
                         char error[MATCH_NUMBERS_ERROR_BYTES]);

/* They are in force from the next live tick on, as a command of it; of several before that tick the
 * last. Copied; match_numbers_check holds (its bounds are asserted). */
void match_reload(struct match *match, const uint32_t *numbers);

#endif
