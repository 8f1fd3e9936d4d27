/* A journal opened for a look: its reader, and the match that its head describes, with its own
 * configuration and map: no other file is needed. One thread, memory of its own.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include "server/config/config.h"
#include "server/journal/journal_file.h"
#include "server/match/match_replay.h"
#include "shared/base/arb_result.h"
#include "shared/move/arb_geometry.h"

struct replay {
    const char *path;
    struct journal_file file;
    struct journal_reader *reader;
    const struct journal_head *head;
    struct arb_arena arena;
    struct config config;
    struct map map;
    struct arb_geometry *geometry;
    struct match *match, *other; /* other: for keyframes */
    struct match_replay *steps;
};

/* ARB_FILES, ARB_DATA, ARB_CONFIG or ARB_MEMORY with one sentence to the standard error; nothing is
 * open then. `path` outlives it. */
enum arb_result replay_open(struct replay *out, const char *path);
void replay_close(struct replay *replay);

/* Another match of the same numbers, of the replay's arena; the caller destroys it. */
struct match *replay_match(struct replay *replay);

/* That step found the end of a file that is good to its last byte. */
bool replay_is_whole(const struct match_replay_step *step);
/* "up to S[tick]: why it goes no further", of a step that stopped or was refused. */
void replay_print_end(const struct replay *replay, const struct match_replay_step *step, FILE *out);

/* What differs between two states, the likeliest cause first: inputs, random streams, which
 * entities there are, then fields. `here` and `there` name the two. Returns how many lines. */
uint32_t replay_print_differences(const struct match *a, const struct match *b, const char *here,
                                  const char *there, FILE *out);

/* A name as a JSON string: it is anybody's. */
void replay_print_string(const char *text, FILE *out);

/* The commands. Exit status by result: OK, ARB_NO_RESULT (something was found), DATA, FILES. */
enum arb_result replay_verify(const char *path, FILE *out);
enum arb_result replay_info(const char *path, FILE *out);
enum arb_result replay_export(const char *path, FILE *out);
enum arb_result replay_render(const char *path, FILE *out);
enum arb_result replay_diff(const char *a, const char *b, FILE *out);
enum arb_result replay_seek(const char *path, arb_tick tick, FILE *out);
enum arb_result replay_clip(const char *path, arb_tick from, arb_tick to, const char *clip,
                            FILE *out);

#endif
