/* A match that another process began and did not finish, from its journal: the state that the file
 * leads to, played in the match that goes on (spec/determinism.md "Replay and journal"). Before the
 * loop begins; the file is changed by loop_writer alone.
 */
#ifndef LOOP_RESUME_H
#define LOOP_RESUME_H

#include "server/config/config.h"
#include "server/journal/journal.h"
#include "server/match/match.h"

struct loop_resume {
    const char *path;
    int fd;
    struct journal_reader *reader; /* NULL: nothing is resumed */
    const struct journal_head *head;
    bool ended; /* the result is in the file */
};

/* Opens the journal and checks that it is of this configuration and map. ARB_FILES, ARB_DATA or
 * ARB_CONFIG with one sentence in `error` (of CONFIG_ERROR_BYTES). */
enum arb_result loop_resume_open(struct loop_resume *out, const char *path,
                                 const struct config *config, const struct rules *rules,
                                 const void *params, const struct map *map, struct arb_arena *arena,
                                 char *error);

/* Plays it to its last good block, from the newest keyframe; then nobody is connected. */
enum arb_result loop_resume_play(struct loop_resume *resume, struct match *match,
                                 struct arb_arena *arena, char *error);

/* Nothing when nothing is open. */
void loop_resume_close(struct loop_resume *resume);

#endif
