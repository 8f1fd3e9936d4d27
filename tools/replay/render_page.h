/* The page of arbiter-replay render, in front of and behind its numbers. It loads nothing: no
 * address stands in it.
 */
#ifndef RENDER_PAGE_H
#define RENDER_PAGE_H

#include "tools/replay/replay.h"

extern const char render_page_before[], render_page_after[];

/* As replay_print_string, and nothing in it ends a script. */
void replay_print_html(const char *text, FILE *out);

#endif
