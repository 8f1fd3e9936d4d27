/* How a match ended: a copy that leaves the match, for whoever writes it down. Plain data; a leaf
 * header, so that a reader of results does not see the live match.
 */
#ifndef MATCH_RESULT_H
#define MATCH_RESULT_H

#include "server/match/match_fairness.h"
#include "server/match/match_views.h"
#include "shared/base/arb_types.h"
#include "shared/proto/arb_proto.h"

/* Players who may ever have played in one match: those who left keep their line, so with fewer
 * slots than that the difference is how often a slot may be given to somebody else. */
enum { MATCH_LINES_MAX = 8 * ARB_PLAYERS_MAX };

enum { MATCH_ID_BYTES = 16, MATCH_ID_TEXT_BYTES = 2 * MATCH_ID_BYTES + 1 };

/* Digits of base 16, as logs, files and results name a match. */
static inline void match_id_text(const uint8_t id[MATCH_ID_BYTES], char text[MATCH_ID_TEXT_BYTES])
{
    for (int i = 0; i < MATCH_ID_BYTES; i++) {
        text[2 * i] = "0123456789abcdef"[id[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
    }
    text[2 * MATCH_ID_BYTES] = '\0';
}

/* One line per player who ever played. */
struct match_result_player {
    uint64_t player_id;
    char name[ARB_NAME_BYTES];
    uint8_t team;
    int32_t score;
    uint32_t kills, deaths, deaths_by_nobody;
};

struct match_result {
    uint8_t match_id[16];
    char mode[ARB_NAME_BYTES];
    uint64_t seed;
    arb_tick ticks; /* ticks run */
    enum arb_end_reason end_reason;
    uint64_t checksum;
    struct match_fairness fairness;
    struct match_view_counts views; /* of all players together */
    uint32_t player_count;
    struct match_result_player players[MATCH_LINES_MAX]; /* in order of player id */
};

#endif
