/* First views in turns: whoever comes, or begins somewhere, is shown everything around him anew,
 * which costs several times what a snapshot costs otherwise. When a crowd begins in one tick, that
 * tick would be late; so only so many begin to see with each snapshot, and the others get theirs
 * some snapshots later instead: who has waited longest first, then by slot, in which players stand
 * in the order of joining. What is not sent meanwhile is like a snapshot that was lost on its way:
 * nobody depends on it. */
#include "server/match/match_internal.h"

/* A quarter of all places, so that the last of a full house waits for three snapshots. */
enum { FIRST_VIEWS_LEAST = 64, FIRST_VIEWS_PARTS = FIRST_VIEWS_WAITS_MAX + 1 };

uint32_t first_views_room(uint32_t players)
{
    uint32_t part = (players + FIRST_VIEWS_PARTS - 1) / FIRST_VIEWS_PARTS;
    return part > FIRST_VIEWS_LEAST ? part : FIRST_VIEWS_LEAST;
}

/* Its newest snapshot was of another character, or there is none. Who died sees on from where he
 * was. */
static bool is_first(const struct match *match, uint16_t slot)
{
    const struct match_seat *seat = &match->seats[slot];
    struct arb_key controlled = match->world.players[slot].controlled;
    return !seat->has_view ||
           (!arb_key_is_none(controlled) && !arb_key_equal(controlled, seat->view_of));
}

void first_views_begin(struct match *match)
{
    struct first_views *views = &match->first_views;
    uint32_t waiting[FIRST_VIEWS_WAITS_MAX + 1] = {0};
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (!match_is_welcomed(match, slot) || !is_first(match, slot)) continue;
        waiting[match->seats[slot].view_waits]++;
    }
    uint32_t room = first_views_room(match->world.head->player_capacity);
    for (uint32_t waits = FIRST_VIEWS_WAITS_MAX + 1; waits-- > 0;) {
        views->room[waits] = waiting[waits] < room ? waiting[waits] : room;
        room -= views->room[waits];
    }
}

bool first_views_may_send(struct match *match, uint16_t slot)
{
    struct match_seat *seat = &match->seats[slot];
    if (is_first(match, slot)) {
        uint32_t *room = &match->first_views.room[seat->view_waits];
        if (*room == 0) {
            if (seat->view_waits < FIRST_VIEWS_WAITS_MAX) seat->view_waits++;
            return false;
        }
        --*room;
    }
    seat->has_view = true;
    seat->view_of = match->world.players[slot].controlled;
    seat->view_waits = 0;
    return true;
}
