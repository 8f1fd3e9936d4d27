/* events: what the server put to a session, against what its client told, one by one. */
#include "tools/sim/sim_checks.h"

#include <string.h>

/* As a client tells it (shared/client/arbiter_client.h). */
static struct arbiter_event told_form(const struct arb_event *event, arb_tick tick)
{
    struct arbiter_event out = {.tick = tick, .kind = event->kind};
    switch ((enum arb_event_kind)event->kind) {
    case ARB_EVENT_PLAYER:
        out.a = event->player.slot;
        out.b = event->player.present;
        break;
    case ARB_EVENT_REBIND:
        out.key = arb_key_order(event->rebind.key);
        break;
    case ARB_EVENT_DEATH:
        out.key = arb_key_order(event->death.victim);
        out.a = event->death.victim_slot;
        out.b = event->death.killer_slot;
        out.c = event->death.cause;
        break;
    case ARB_EVENT_HIT:
        out.key = arb_key_order(event->hit.victim);
        out.a = event->hit.shooter_slot;
        out.b = event->hit.victim_slot;
        out.c = event->hit.damage;
        out.x = event->hit.x;
        out.y = event->hit.y;
        break;
    case ARB_EVENT_SCORE:
        out.a = event->score.slot;
        out.b = event->score.score;
        out.c = event->score.kills;
        break;
    case ARB_EVENT_PHASE:
        out.a = event->phase.phase;
        out.b = event->phase.round;
        break;
    case ARB_EVENT_RESULT:
        out.a = event->result.reason;
        out.b = event->result.winner_slot;
        out.c = event->result.winner_team;
        break;
    }
    return out;
}

void sim_events_put(struct sim_checks *checks, struct port_session id, const uint8_t *bytes,
                    size_t size)
{
    struct sim_session *session = &checks->sessions[id.index];
    struct arb_event event;
    if (session->player_id == 0 || session->id.epoch != id.epoch ||
        arb_message_type(bytes, size) != ARB_MESSAGE_EVENT) {
        return;
    }
    if (arb_event_decode(bytes, size, &event) != ARB_DECODE_OK) {
        sim_violated(checks, SIM_INVARIANT_events, "slot %u was put an event that does not decode",
                     session->slot);
        return;
    }
    arb_tick tick = arb_widen32(event.tick, match_tick(checks->sim->match));
    session->events[session->put++ % SIM_EVENTS] = told_form(&event, tick);
}

/* The told one counts ticks from `base`. */
static bool same_event(const struct arbiter_event *a, const struct arbiter_event *b, arb_tick base)
{
    return a->tick + base == b->tick && a->kind == b->kind && a->key == b->key && a->a == b->a &&
           a->b == b->b && a->c == b->c && memcmp(&a->x, &b->x, sizeof a->x) == 0 &&
           memcmp(&a->y, &b->y, sizeof a->y) == 0;
}

/* Events that a client had no room for are not told; it counts them, and they are the oldest. */
void sim_events_look(struct sim_checks *checks, struct sim_player *player,
                     const struct arbiter_view *view)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    if (!witness->known) return;
    uint64_t lost = player->client->statistics.events_lost;
    witness->told += lost - witness->lost;
    witness->lost = lost;
    if (witness->session == UINT16_MAX) return;
    const struct sim_session *session = &checks->sessions[witness->session];
    for (uint32_t i = 0; i < view->event_count; i++) {
        uint64_t at = witness->told++;
        if (at >= session->put) {
            sim_violated(checks, SIM_INVARIANT_events,
                         "client %u tells an event that was never put", player->index);
        } else if (session->put - at <= SIM_EVENTS &&
                   !same_event(&view->events[i], &session->events[at % SIM_EVENTS],
                               witness->base)) {
            sim_violated(checks, SIM_INVARIANT_events,
                         "client %u tells a kind %u of tick %llu where a kind %u of %llu was put",
                         player->index, view->events[i].kind,
                         (unsigned long long)view->events[i].tick,
                         session->events[at % SIM_EVENTS].kind,
                         (unsigned long long)session->events[at % SIM_EVENTS].tick);
        }
    }
}
