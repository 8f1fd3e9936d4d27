/* What published ticks have to tell, until they are settled (spec/replication.md: announcements
 * wait for the confirmed tick). Without a rollback window that is at once, and nothing is copied.
 */
#include "server/match/match_internal.h"
#include "server/match/match_rollback.h"

#include "shared/base/arb_assert.h"

#include <string.h>

void outcome_create(struct match *match, struct arb_arena *arena)
{
    uint32_t window = (uint32_t)match->config.rollback_window_ticks;
    uint32_t players = match->world.head->player_capacity;
    match->outcome_count = window + 1;
    match->outcomes = arb_arena_take_array(arena, window + 1, sizeof match->outcomes[0]);
    for (uint32_t i = 0; i <= window; i++) {
        struct match_outcome *outcome = &match->outcomes[i];
        outcome->lines = arb_arena_take_array(arena, players, sizeof outcome->lines[0]);
        if (window == 0) continue;
        outcome->players = arb_arena_take_array(arena, players, sizeof outcome->players[0]);
        outcome->kept =
            arb_arena_take_array(arena, match->events.capacity, sizeof outcome->kept[0]);
    }
}

static void note_lines(struct match_outcome *outcome, const struct match *match)
{
    const struct world *world = &match->world;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        struct match_outcome_line *line = &outcome->lines[slot];
        line->player_id = player->presence == WORLD_ABSENT ? 0 : player->player_id;
        line->score = (struct arb_event_score){slot, player->score, player->kills, player->deaths,
                                               player->deaths_by_nobody};
        if (outcome->players != NULL && line->player_id != 0) {
            outcome->players[slot] = announce_player_event(match, slot).player;
        }
    }
}

struct arb_event outcome_player(const struct match *match, const struct match_outcome *outcome,
                                uint16_t slot)
{
    struct arb_event event = {.kind = ARB_EVENT_PLAYER, .tick = (uint32_t)outcome->tick};
    event.player = outcome->players != NULL ? outcome->players[slot]
                                            : announce_player_event(match, slot).player;
    return event;
}

void outcome_note(struct match *match)
{
    const struct world_head *head = match->world.head;
    arb_tick tick = head->tick - 1;
    if (tick < match->announced) return; /* run again from farther back */
    struct match_outcome *outcome = &match->outcomes[tick % match->outcome_count];
    outcome->tick = tick;
    outcome->events = match->events.list;
    outcome->event_count = match->events.count;
    if (outcome->kept != NULL) {
        memcpy(outcome->kept, match->events.list, match->events.count * sizeof outcome->kept[0]);
        outcome->events = outcome->kept;
    }
    note_lines(outcome, match);
    outcome->phase =
        (struct arb_event_phase){head->phase, head->round, (uint32_t)head->phase_end_tick};
    outcome->decided = match->decided;
    if (match->decided) outcome->result = life_result(match).result;
}

const struct match_outcome *outcome_next(struct match *match)
{
    if (match->announced >= match_settled(match)) return NULL;
    const struct match_outcome *outcome = &match->outcomes[match->announced % match->outcome_count];
    ARB_ASSERT(outcome->tick == match->announced);
    match->announced++;
    return outcome;
}
