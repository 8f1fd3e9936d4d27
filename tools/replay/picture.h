/* One shot as an SVG picture (spec/lag-compensation.md "Seeing it"): where everybody near was on
 * the server when it was resolved (blue), where the shooter saw them (red), the ray (white), the
 * hit (yellow), the map (grey).
 */
#ifndef REPLAY_PICTURE_H
#define REPLAY_PICTURE_H

#include "tools/replay/shots.h"

#include <stdio.h>

/* Whether it could be written is for the caller to ask of `out`. */
void picture_print(const struct shots_head *head, const struct shot *shot, FILE *out);

/* The moment that a view shows, in ticks. */
double picture_view_at(const struct shots_view *view);
/* How far a candidate went from where the shooter saw it to where it was, m; 0 where it was not
 * there in one of both. */
double picture_moved(const struct shots_candidate *candidate);

#endif
