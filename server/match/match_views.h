/* What became of the views that clients claimed for their shots, as counts: plain data; a leaf
 * header, so that a reader of metrics does not see the live match (spec/lag-compensation.md
 * "Validation").
 */
#ifndef MATCH_VIEWS_H
#define MATCH_VIEWS_H

#include <stdint.h>

/* name, text. One verdict for each claim: the first that holds, in this order; HONOURED if none. */
#define MATCH_VIEW_MAP(X)                                                                          \
    X(HONOURED, "honoured")     /* resolved as claimed */                                          \
    X(NOT_SENT, "not_sent")     /* frames not sent, not acknowledged by that packet, not such as   \
                                   stand side by side, or without what was acknowledged before */  \
    X(FUTURE, "future")         /* after the server's present */                                   \
    X(TOO_OLD, "too_old")       /* more than max_rewind_ms, or of states no longer remembered */   \
    X(BACKWARD, "backward")     /* before that of an input before it, or after one behind it; what \
                                   these got in place of their claims is held against nobody */    \
    X(FROZEN, "frozen")         /* others stood in it for longer than its link was ever silent */  \
    X(RATE, "rate")             /* expected only if its delay, or the lag of its views behind      \
                                   their inputs, might change so fast */                           \
    X(UNEXPECTED, "unexpected") /* outside of view_tolerance_ms around what was expected */

enum match_view_verdict {
#define X(name, text) MATCH_VIEW_##name,
    MATCH_VIEW_MAP(X)
#undef X
        MATCH_VIEW_VERDICTS
};

struct match_view_counts {
    uint64_t claims[MATCH_VIEW_VERDICTS]; /* inputs with fire that may still shoot, by verdict */
    uint64_t late;                        /* of them, those that came after their tick */
    uint64_t shots;                       /* that left */
    uint64_t unseen; /* characters that shots would have met, but the client did not hold */
    uint64_t unknown_origins; /* shots of inputs that have no origin record; the present one was
                                 taken */
};

/* Static text. */
const char *match_view_verdict_text(enum match_view_verdict verdict);

#endif
