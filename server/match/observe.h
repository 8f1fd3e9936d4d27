/* What a tick takes in and gives out, for whoever checks it. Never changes the match that is
 * observed.
 */
#ifndef MATCH_OBSERVE_H
#define MATCH_OBSERVE_H

#include "server/match/match.h"
#include "server/match/match_record.h"
#include "server/match/match_shot.h"

/* One client's snapshot before it is encoded. */
struct match_sight {
    struct port_session session;
    uint16_t slot; /* ARB_NO_SLOT: a spectator's */
    const struct arb_frame *frame;
    struct arb_vec2 eye;  /* m, centre of its interest */
    const uint32_t *near; /* by distance: indices into frame->entities, ascending */
    uint32_t near_count;
    const uint32_t *visible; /* of them, what is not hidden behind walls; the same where that is no
                                matter */
    uint32_t count;
};

/* Called in the tick, in the order in which it happens; a NULL is not called. What is pointed to is
 * valid during the call. */
struct match_observer {
    void *owner;
    /* Stage 3, but of those that are too late for anything stage 1: an input came after its tick;
     * it may carry presses over. */
    void (*late)(void *owner, uint16_t slot, const struct arb_input *input, uint8_t control);
    /* Stage 3: a command was carried out. `slot` is whom it was about, ARB_NO_SLOT: nobody, it was
     * refused or came too late. */
    void (*command)(void *owner, const struct match_command *command, uint16_t slot);
    /* Stage 3: for each player with a session the input that was there for this tick (NULL: none),
     * the control number it was made under, and what the step gets. */
    void (*input)(void *owner, uint16_t slot, const struct arb_input *input, uint8_t control,
                  const struct arb_input *applied);
    /* Stage 6: this tick's shots, resolved. */
    void (*shots)(void *owner, const struct rules_shot *shots, uint32_t count);
    /* Stage 7: what left of this tick's shots flies, caught up to the present. */
    void (*flown)(void *owner, const struct rules_shot *shots, const struct rules_flights *flights);
    /* Stage 9. */
    void (*snapshot)(void *owner, const struct match_sight *sight);
};

/* Copied; NULL: nobody looks. Once before the first tick. */
void match_observe(struct match *match, const struct match_observer *observer);

/* For the observers of shots and of what flew, during that call: one shot as a copy, with everybody
 * near its rays or flights, now or then. Looks at every entity: not for a match that nobody debugs.
 */
void match_record_shot(const struct match *match, const struct rules_shot *shot,
                       struct match_shot *out);

#endif
