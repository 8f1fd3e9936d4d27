/* How far shots were rewound, and how long victims had been in cover when hit: plain data; a leaf
 * header, so that a reader of results does not see the live match (spec/lag-compensation.md "More
 * than rays", "Validation").
 */
#ifndef MATCH_FAIRNESS_H
#define MATCH_FAIRNESS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FAIRNESS_BUCKET_MS = 10,
    FAIRNESS_BUCKETS = 72, /* the last one holds whatever is more */
    FAIRNESS_SLOW_MS = 100 /* round trip from which on rewind must show */
};

struct match_histogram {
    uint64_t
        counts[FAIRNESS_BUCKETS]; /* bucket i: from i * FAIRNESS_BUCKET_MS on, below the next */
    uint64_t count;
    uint32_t max_ms;
};

/* Of the shots of players. A hit is a victim of a shot, whatever pellets; of what flies, a victim
 * of each projectile. One that is hit once the projectile is caught up was not rewound: 0, in both.
 */
struct match_fairness {
    /* From the newest published tick back to the view; of projectiles to where they left. */
    struct match_histogram rewound_shots;
    struct match_histogram rewound_hits;
    struct match_histogram cover_hits; /* of the victim, as seen from where the shot came from */
    uint64_t spared;                   /* would-be hits that cover or an ability won over */
    /* Of players of a round trip of FAIRNESS_SLOW_MS or more; projectiles only where they may leave
     * as far back. */
    uint64_t slow_shots;
    uint64_t slow_rewound_ms; /* their sum */
    uint32_t max_rewind_ms;   /* as configured */
};

/* The upper end of the bucket that holds it, at most the maximum; 0 without any. */
static inline uint32_t match_histogram_ms(const struct match_histogram *histogram,
                                          uint32_t permille)
{
    uint64_t wanted = (histogram->count * permille + 999) / 1000, sum = 0;
    for (uint32_t i = 0; i + 1 < FAIRNESS_BUCKETS && histogram->count > 0; i++) {
        uint32_t end = (i + 1) * FAIRNESS_BUCKET_MS;
        sum += histogram->counts[i];
        if (sum >= wanted) {
            return end < histogram->max_ms ? end : histogram->max_ms;
        }
    }
    return histogram->max_ms;
}

/* Compensation is configured, players of long round trips have shot, and next to nothing was
 * rewound: something switched it off unnoticed. */
static inline bool match_fairness_idle(const struct match_fairness *fairness)
{
    enum { ENOUGH_SHOTS = 10, ABOUT_ZERO_MS = 20 };
    uint64_t least = fairness->max_rewind_ms / 2;
    least = least < ABOUT_ZERO_MS ? least : ABOUT_ZERO_MS;
    return fairness->slow_shots >= ENOUGH_SHOTS &&
           fairness->slow_rewound_ms < least * fairness->slow_shots;
}

#endif
