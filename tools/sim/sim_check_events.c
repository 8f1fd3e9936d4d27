/* events: what the server put to a session, against what its client told, one by one; and that the
 * server put nothing twice. */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_hash.h"

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
    case ARB_EVENT_IMPACT:
        out.a = event->impact.shooter_slot;
        out.b = event->impact.action;
        out.c = event->impact.pellet;
        out.x = event->impact.x;
        out.y = event->impact.y;
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

/* ---- put once ---- */

/* Whom or what it is about, of its kind. Of hits there are those by the session's own player, by
 * victim, and those that it took, by shooter. */
static uint32_t place_of(const struct sim_session *session, const struct arb_event *event)
{
    uint16_t slot = 0;
    switch ((enum arb_event_kind)event->kind) {
    case ARB_EVENT_PLAYER:
        slot = event->player.slot;
        break;
    case ARB_EVENT_DEATH:
        slot = event->death.victim_slot;
        break;
    case ARB_EVENT_SCORE:
        slot = event->score.slot;
        break;
    case ARB_EVENT_HIT:
        slot = event->hit.shooter_slot == session->slot ? event->hit.victim_slot
                                                        : ARB_PLAYERS_MAX + event->hit.shooter_slot;
        break;
    case ARB_EVENT_IMPACT:
        slot = event->impact.shooter_slot;
        break;
    case ARB_EVENT_REBIND:
    case ARB_EVENT_PHASE:
    case ARB_EVENT_RESULT:
        break;
    }
    return slot % SIM_EVENT_PLACES;
}

/* Every event but a hit says what is otherwise from now on, a death whose: so two of a kind about
 * the same that follow each other differ, whatever their ticks. Hits may be alike: the projectiles
 * of one shot arrive side by side. */
static void check_news(struct sim_checks *checks, struct sim_session *session,
                       const struct arb_event *event)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    struct arb_event content = *event;
    content.tick = 0;
    size_t size = arb_event_encode(&content, bytes, sizeof bytes);
    if (event->kind == ARB_EVENT_HIT) return;
    uint64_t news = arb_hash(bytes, size, 1);
    uint64_t *newest = &session->news[event->kind * SIM_EVENT_PLACES + place_of(session, event)];
    if (*newest == news) {
        sim_violated(checks, SIM_INVARIANT_events, "slot %u was put an event of kind %u twice",
                     session->slot, event->kind);
    }
    *newest = news;
    /* Another player in that slot begins with a line of its own. */
    if (event->kind == ARB_EVENT_PLAYER) {
        session->news[ARB_EVENT_SCORE * SIM_EVENT_PLACES + place_of(session, event)] = 0;
    }
}

/* ---- put and told ---- */

static void note_put(struct sim_checks *checks, struct sim_session *session,
                     const struct arb_event *event)
{
    arb_tick now = match_tick(checks->sim->match);
    arb_tick tick = now + (arb_tick)(int64_t)(int32_t)(event->tick - (uint32_t)now);
    if (session->slot >= checks->players && !sim_spectator_may_know(checks, tick)) {
        sim_violated(checks, SIM_INVARIANT_events, "a spectator was put an event of tick %llu",
                     (unsigned long long)tick);
    }
    session->events[session->put++ % SIM_EVENTS] = told_form(event, tick);
}

/* A message of lines is told line by line. */
static bool note_scores(struct sim_checks *checks, struct sim_session *session,
                        const uint8_t *bytes, size_t size)
{
    struct arb_scores scores;
    if (arb_scores_decode(bytes, size, &scores) != ARB_DECODE_OK) return false;
    struct arb_event event = {.tick = scores.tick, .kind = ARB_EVENT_SCORE};
    for (uint32_t i = 0; i < scores.count; i++) {
        event.score = scores.lines[i];
        note_put(checks, session, &event);
    }
    return true;
}

static bool note_event(struct sim_checks *checks, struct sim_session *session, const uint8_t *bytes,
                       size_t size)
{
    struct arb_event event;
    if (arb_event_decode(bytes, size, &event) != ARB_DECODE_OK) return false;
    check_news(checks, session, &event);
    note_put(checks, session, &event);
    return true;
}

static bool note_events(struct sim_checks *checks, struct sim_session *session,
                        const uint8_t *bytes, size_t size)
{
    struct arb_events events;
    if (arb_events_decode(bytes, size, &events) != ARB_DECODE_OK) return false;
    for (uint32_t i = 0; i < events.count; i++) {
        check_news(checks, session, &events.list[i]);
        note_put(checks, session, &events.list[i]);
    }
    return true;
}

void sim_events_put(struct sim_checks *checks, struct port_session id, const uint8_t *bytes,
                    size_t size)
{
    struct sim_session *session = &checks->sessions[id.index];
    if (session->player_id == 0 || session->id.epoch != id.epoch) return;
    int type = arb_message_type(bytes, size);
    bool good = type == ARB_MESSAGE_SCORES   ? note_scores(checks, session, bytes, size)
                : type == ARB_MESSAGE_EVENTS ? note_events(checks, session, bytes, size)
                : type == ARB_MESSAGE_EVENT  ? note_event(checks, session, bytes, size)
                                             : true;
    if (!good) {
        sim_violated(checks, SIM_INVARIANT_events, "slot %u was put an event that does not decode",
                     session->slot);
    }
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
        if (view->events[i].kind == ARBITER_EVENT_LINE) continue; /* its own, no server's */
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
