/* A picture of a match in a terminal: the map, the players as characters, the scoreboard. Without a
 * terminal a line each second. Drawn on stderr, so that the report has stdout for itself.
 */
#ifndef BOTS_WATCH_H
#define BOTS_WATCH_H

#include "tools/bots/bot.h"

struct watch;

struct watch *watch_create(void);
/* Puts the terminal back. Accepts NULL. */
void watch_destroy(struct watch *watch);

/* Draws at most ten times a second (a line once a second). `views` are the newest of all clients of
 * this process, `count` of them: what any of them sees is shown. */
void watch_frame(struct watch *watch, const struct arbiter_client *client,
                 const struct arbiter_view *const *views, uint32_t count, uint64_t now_ns);

#endif
