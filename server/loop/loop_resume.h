/* A match that another process began and did not end: from its journal to the state that it had
 * reached (spec/determinism.md "Resume"). Before the loop runs, so it may read files and take its
 * time. Only one process goes on with a file: it is locked as long as one has it open.
 */
#ifndef LOOP_RESUME_H
#define LOOP_RESUME_H

#include "server/config/config.h"
#include "server/journal/journal.h"
#include "server/journal/ledger.h"
#include "server/match/match.h"

/* The key under which a match's result is sent (JOURNAL.md, SENT). */
#define LOOP_RESULT_KEY "result"

/* Where the command line and the environment come in. */
struct loop_resume_options {
    const char *path;
    const struct config_mode *modes;
    size_t mode_count;
    char *const *environment; /* what is of the process may be given anew (config_load_resumed) */
    const char *const *sets;
    size_t set_count;
};

struct loop_resume;

/* Configuration and map as the file has them; the map as loaded, not checked. ARB_FILES, ARB_DATA,
 * ARB_CONFIG or ARB_MEMORY with one sentence in `error` (of CONFIG_ERROR_BYTES). The journal is not
 * written to by anything here. */
enum arb_result loop_resume_open(struct loop_resume **out,
                                 const struct loop_resume_options *options, struct config *config,
                                 struct map *map, struct arb_arena *arena, char *error);
const struct journal_head *loop_resume_head(const struct loop_resume *resume);

/* Plays the file to the end of what is good of it, in a match as created with its numbers. The
 * whole of it: from the newest keyframe on each tick's checksum is compared. */
enum arb_result loop_resume_play(struct loop_resume *resume, struct match *match,
                                 struct arb_arena *arena, char *error);

/* After loop_resume_play. */
struct loop_resumed {
    const char *path;
    int fd;            /* open and locked; of whoever asked for it from then on */
    uint64_t file_key; /* journal_file_key */
    uint64_t bytes;    /* of the file that are good; those behind are of no use */
    uint64_t torn_bytes;
    arb_tick from, tick; /* S[from] was the keyframe or the first tick; S[tick] is reached */
    bool ended;          /* the result is in the file */
    struct journal_ledger *ledger; /* what has left the match, by key */
};
struct loop_resumed loop_resume_take(struct loop_resume *resume);

/* NULL: nothing. */
void loop_resume_close(struct loop_resume *resume);

#endif
