/* The journal of the daemon's match (journal.*): between the match, whose ticks become records, and
 * the thread that writes them. Tick thread only, like the log that it writes to.
 */
#ifndef LOOP_JOURNAL_H
#define LOOP_JOURNAL_H

#include "server/config/config.h"
#include "server/loop/loop_resume.h"
#include "server/loop/loop_writer.h"
#include "server/match/match_journal.h"

struct loop_journal;

/* *out NULL when none is configured. The file is there when it returns, and the thread runs.
 * `resumed`: instead goes on with that file (NULL: a new one).
 * ARB_FILES, ARB_MEMORY or ARB_CONFIG with one sentence in `error` (of CONFIG_ERROR_BYTES). */
enum arb_result loop_journal_open(struct loop_journal **out, const struct config *config,
                                  struct match *match, const struct loop_resumed *resumed,
                                  struct arb_arena *arena, char *error);

/* Whether it could be made, for --check-config: nothing is left there. ARB_FILES with one sentence
 * in `error` (of CONFIG_ERROR_BYTES). */
enum arb_result loop_journal_check(const struct config *config, char *error);

/* After each tick. NULL: nothing. */
void loop_journal_tick(struct loop_journal *journal, struct match *match);

/* What leaves the match waits for it to be in the file, but not for ever. False: it is not. */
bool loop_journal_settle(struct loop_journal *journal);

/* Something with that key has left for good. NULL: nothing. */
void loop_journal_sent(struct loop_journal *journal, const char *key);

/* Writes the rest, and tells the log what became of it. NULL: nothing. */
void loop_journal_close(struct loop_journal *journal);

#endif
