/* A journal played in a match that nobody is connected to: tick by tick, each checksum compared,
 * and each keyframe against the state that was reached (spec/determinism.md "Replay and journal").
 * Takes any file: what cannot be is refused with a reason, and the match stays what it was.
 */
#ifndef MATCH_REPLAY_H
#define MATCH_REPLAY_H

#include "server/journal/journal.h"
#include "server/match/match.h"
#include "server/match/match_record.h"

/* name, text */
#define MATCH_REPLAY_MAP(X)                                                                        \
    X(TICK, "a tick was run")                                                                      \
    X(KEYFRAME, "a keyframe was reached")                                                          \
    X(GAP, "ticks are missing")                                                                    \
    X(END, "the result was reached")                                                               \
    X(SENT, "something had left the match for good")                                               \
    X(DIVERGED, "the state is not the recorded one")                                               \
    X(REFUSED, "a record is none that a match of this kind makes")                                 \
    X(STOPPED, "the journal ends")

enum match_replay_status {
#define X(name, text) MATCH_REPLAY_##name,
    MATCH_REPLAY_MAP(X)
#undef X
};

enum { MATCH_REPLAY_TEXT_BYTES = 256 };

struct match_replay_step {
    enum match_replay_status status;
    arb_tick tick;              /* TICK, or DIVERGED in one: its step; else S[tick] */
    uint64_t recorded, reached; /* TICK, DIVERGED: checksums, of `checksum_bits` */
    unsigned checksum_bits;
    enum journal_status journal;        /* STOPPED: why */
    const struct match_record *record;  /* TICK, or DIVERGED in one: what it took in; valid until
                                           the next step */
    const struct match_result *result;  /* END: as recorded */
    char text[MATCH_REPLAY_TEXT_BYTES]; /* DIVERGED, REFUSED: a sentence; SENT: its key */
};

struct match_replay;

/* `other`: a second match of the same numbers, into which keyframes are put to be compared; NULL:
 * they are not. All are the caller's and outlive it. The matches are as created. */
struct match_replay *match_replay_create(struct arb_arena *arena, struct match *match,
                                         struct match *other, struct journal_reader *reader);

/* The next record, and what came of it. After DIVERGED it goes on; after REFUSED and STOPPED there
 * is nothing to go on with, unless a journal that is being written has grown. */
void match_replay_next(struct match_replay *replay, struct match_replay_step *step);

/* The next record without playing it: the match stays where it is, nothing is compared, a keyframe
 * is not looked into. GAP: `recorded` ticks are missing. Not mixed with match_replay_next. */
void match_replay_read(struct match_replay *replay, struct match_replay_step *step);

/* To the newest keyframe up to S[tick]: the match is in that state then. False: there is none, and
 * nothing has changed; or it cannot be restored, which the text says. */
bool match_replay_seek(struct match_replay *replay, arb_tick tick,
                       char text[MATCH_REPLAY_TEXT_BYTES]);

#endif
