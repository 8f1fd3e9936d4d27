/* Who stands where while places to begin at are chosen: a grid over the characters of one moment,
 * so that a place knows its nearest ones without a look at everybody. Not state: whoever chooses
 * places fills it from the world, and what it answers is what a look at everybody would answer.
 * Never moves anybody, and knows nothing of teams or bodies.
 *
 * A mode clears it when stage 7 has moved or ended anybody, fills it before the first choice after
 * that and adds whoever begins.
 */
#ifndef RULES_CROWD_H
#define RULES_CROWD_H

#include "server/rules/rules.h"

/* Nobody is in it, and it is not filled. */
void rules_crowd_clear(struct rules_crowd *crowd);
/* Everybody who is there was added since it was cleared. */
void rules_crowd_set_filled(struct rules_crowd *crowd);
bool rules_crowd_is_filled(const struct rules_crowd *crowd);

/* Adds the character of that slot, once more when it begins anew; no part of it is farther than
 * `reach` (m) from `at`. */
void rules_crowd_add(struct rules_crowd *crowd, uint16_t slot, struct arb_vec2 at, float reach);

/* A question to each who may matter: returns from which distance on (m) nobody matters any more. */
typedef float rules_crowd_look(void *asker, uint16_t slot);

/* Asks about all characters that have a part within `enough` (m, may be INFINITY) of the place,
 * nearer ones mostly first, and about some others; what `look` returns becomes the new distance. */
void rules_crowd_around(struct rules_crowd *crowd, struct arb_vec2 at, float enough,
                        rules_crowd_look *look, void *asker);

#endif
