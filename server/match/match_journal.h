/* The journal of a match, as records (server/journal/JOURNAL.md): after each tick what it took in
 * with the checksum of the state that came out, the whole state now and then, and the result. Where
 * they go is the sink's business: a bounded queue in front of a thread, or memory. When the sink
 * has no room the tick goes on; a gap is noted and a keyframe follows, as soon as there is room
 * again. Never waits, never allocates after its creation, never changes the course of the match.
 */
#ifndef MATCH_JOURNAL_H
#define MATCH_JOURNAL_H

#include "server/journal/journal.h"
#include "server/match/match.h"

struct match_journal_sink {
    void *owner;
    /* All of these or none, copied; false: there is no room. */
    bool (*put)(void *owner, const struct journal_record *records, uint32_t count);
    /* Whether so many bytes have room: asked, of what the newest keyframe took, before a
     * state is saved for nothing. */
    bool (*has_room)(void *owner, size_t bytes);
    size_t most; /* bytes of a record that it can hold when it is empty; 0: of any */
};

struct match_journal;

/* Before the first tick. A keyframe each `keyframe_ticks`; 0: only behind gaps. */
struct match_journal *match_journal_create(struct arb_arena *arena, const struct match *match,
                                           uint32_t keyframe_ticks,
                                           const struct match_journal_sink *sink);

/* Goes on in a file whose records lead to this state: a keyframe first. `ended`: the result is in
 * it already. Before the first tick. */
void match_journal_go_on(struct match_journal *journal, struct match *match, bool ended);

/* After each tick_run: what is settled now. */
void match_journal_tick(struct match_journal *journal, struct match *match);

/* Something that cannot be taken back has left the match: its key, so that whoever goes on with the
 * file does not send it again. In a gap it is written as soon as that has ended, of a few. */
enum { MATCH_JOURNAL_SENT_MAX = 8 };
void match_journal_sent(struct match_journal *journal, const char *key);

struct match_journal_counts {
    uint64_t ticks, keyframes;
    uint64_t gaps, missing_ticks;
    uint64_t too_large;     /* keyframes that the sink can never take; while the state is so large,
                               nothing follows on a gap */
    uint64_t bytes;         /* of records, before they are compressed */
    uint32_t largest_bytes; /* of a record of a tick */
    bool ended;             /* the result is in it */
};
struct match_journal_counts match_journal_counts(const struct match_journal *journal);

/* Most that a keyframe takes: what a sink should have room for, twice. */
size_t match_journal_keyframe_bytes(const struct match *match);

/* What the head of the file says of the match; the texts of configuration and map, and the build's,
 * are the caller's to add. */
struct journal_head match_journal_head(const struct match *match);

/* The record END: what of the result follows from the state. Returns the bytes; decoding: false
 * when they are none. */
enum { MATCH_JOURNAL_LINE_BYTES = 26 + ARB_NAME_BYTES, MATCH_JOURNAL_END_BYTES = 21 };
size_t match_journal_end_encode(const struct match_result *result, uint8_t *out);
bool match_journal_end_decode(const uint8_t *bytes, size_t size, struct match_result *out);

#endif
