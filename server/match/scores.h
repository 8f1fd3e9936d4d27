/* Who has been told which score lines. With a thousand players an event to everybody for each
 * change is a million messages a minute; so lines that changed go out together, the newest of each,
 * to each receiver every so many ticks, and to all before a phase or the match ends.
 *
 * Owns what the lines were when it looked last and when each changed; what a receiver was told is
 * one number that the receiver keeps. Called by stage 9 (announce.c, spectators.c). Never part of
 * the state.
 */
#ifndef MATCH_SCORES_H
#define MATCH_SCORES_H

#include "shared/base/arb_arena.h"
#include "shared/proto/arb_proto.h"

struct scores {
    uint16_t players;
    struct arb_event_score *lines; /* [players] as they were looked at last */
    uint64_t *player_ids;          /* [players] whose line it is; 0: nobody's yet */
    uint32_t *changed;             /* [players] stamp of its newest change; 0: never told of */
    uint32_t newest;               /* stamp; counts the ticks in which something changed */
    bool is_open;                  /* changes belong to the stamp `newest` */
    /* The messages of what changed after `made_after`, as of `made_newest`. */
    uint32_t made_after, made_newest, made_tick;
    uint32_t message_count, message_capacity;
    uint8_t *messages;           /* [message_capacity][ARB_MESSAGE_BYTES_MAX] */
    uint16_t *sizes;             /* [message_capacity] */
    struct arb_event_score *due; /* [players] scratch */
};

void scores_create(struct scores *scores, struct arb_arena *arena, uint16_t players);

/* Changes from here on are newer than what anybody was told. Once a tick, before scores_set. */
void scores_begin(struct scores *scores);
/* The line of that player in its slot is this one. */
void scores_set(struct scores *scores, uint64_t player_id, const struct arb_event_score *line);

/* Messages with all lines that changed after stamp `told` (0: all that ever did), of published tick
 * `tick`; returns how many. scores_message gives them until the next call. The receiver was then
 * told up to `scores->newest`. */
uint32_t scores_since(struct scores *scores, uint32_t told, uint32_t tick);
const uint8_t *scores_message(const struct scores *scores, uint32_t index, size_t *size);

#endif
