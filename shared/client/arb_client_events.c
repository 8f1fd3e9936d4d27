/* Reliable events wait until the drawn world reaches their tick, then they change the scoreboard
 * and are told with the next sample, in order. */
#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_mem.h"

#include <string.h>

/* ---- what an event changes ---- */

static struct arbiter_player *line_of(struct arbiter_client *client, uint16_t slot)
{
    struct arb_client_board *board = &client->board;
    if (slot >= board->capacity) {
        return NULL;
    }
    if (!board->known[slot]) {
        board->known[slot] = true;
        memset(&board->players[slot], 0, sizeof board->players[slot]);
        board->players[slot].slot = slot;
    }
    return &board->players[slot];
}

static void apply_player(struct arbiter_client *client, const struct arb_event_player *event)
{
    struct arbiter_player *line = line_of(client, event->slot);
    if (line == NULL) {
        return;
    }
    if (line->player_id != event->player_id) {
        *line = (struct arbiter_player){.slot = event->slot, .player_id = event->player_id};
    }
    line->present = event->present != ARB_PRESENCE_LEFT;
    line->away = event->present == ARB_PRESENCE_AWAY;
    line->team = event->team;
    memcpy(line->name, event->name, sizeof line->name);
}

static void apply_score(struct arbiter_client *client, const struct arb_event_score *event)
{
    struct arbiter_player *line = line_of(client, event->slot);
    if (line != NULL) {
        line->score = event->score;
        line->kills = event->kills;
        line->deaths = event->deaths;
        line->deaths_by_nobody = event->deaths_by_nobody;
    }
}

static void apply(struct arbiter_client *client, const struct arb_event *event, arb_tick tick)
{
    struct arb_client_board *board = &client->board;
    switch ((enum arb_event_kind)event->kind) {
    case ARB_EVENT_PLAYER:
        apply_player(client, &event->player);
        break;
    case ARB_EVENT_SCORE:
        apply_score(client, &event->score);
        break;
    case ARB_EVENT_PHASE:
        board->phase = (enum arbiter_match_phase)event->phase.phase;
        board->round = event->phase.round;
        board->phase_end_tick =
            event->phase.end_tick == 0 ? 0 : arb_widen32(event->phase.end_tick, tick);
        break;
    case ARB_EVENT_RESULT:
        board->has_result = true;
        board->result = event->result;
        break;
    case ARB_EVENT_DEATH:
    case ARB_EVENT_REBIND:
    case ARB_EVENT_HIT:
    case ARB_EVENT_IMPACT:
        break;
    }
}

/* ---- the queue ---- */

void arb_client_events_make(struct arbiter_client *client, uint32_t capacity)
{
    struct arb_client_events *events = &client->events;
    size_t each = sizeof *events->ring + sizeof *events->ticks + sizeof *events->out;
    uint8_t *block = arb_mem_alloc(capacity * each + ARB_CLIENT_NEWS * sizeof *events->out);
    events->capacity = capacity;
    events->ticks = (arb_tick *)(void *)block;
    events->ring = (struct arb_event *)(void *)(events->ticks + capacity);
    events->out = (struct arbiter_event *)(void *)(events->ring + capacity);
}

void arb_client_events_free(struct arbiter_client *client)
{
    arb_mem_free(client->events.ticks);
    memset(&client->events, 0, sizeof client->events);
}

static struct arb_event *queued(struct arb_client_events *events, uint32_t index)
{
    return &events->ring[(events->first + index) % events->capacity];
}

static void apply_next(struct arbiter_client *client)
{
    struct arb_client_events *events = &client->events;
    uint32_t place = (events->first + events->due) % events->capacity;
    apply(client, &events->ring[place], events->ticks[place]);
    events->due++;
}

/* Nobody sampled for long: the oldest is applied, but no longer told. */
static void drop_oldest(struct arbiter_client *client)
{
    struct arb_client_events *events = &client->events;
    if (events->due == 0) {
        apply_next(client);
    }
    events->first = (events->first + 1) % events->capacity;
    events->due--;
    events->count--;
    client->statistics.events_lost++;
}

/* Presses that the server will not count in its last word are not counted here either. */
static void decide(struct arbiter_client *client, arb_tick tick)
{
    client->controls.edges_until = tick;
    const struct arb_predict *predict = &client->predict;
    for (arb_tick t = tick + 1; t <= predict->newest_tick && t - tick < ARB_PREDICT_TICKS; t++) {
        const struct arb_pending *pending = arb_predict_at(predict, t);
        for (int bit = 0; pending != NULL && bit < ARBITER_BUTTONS; bit++) {
            client->statistics.edges_sent[bit] -= (uint64_t)(pending->input.edges >> bit & 1);
        }
    }
}

static arb_tick add_event(struct arbiter_client *client, const struct arb_event *event)
{
    struct arb_client_events *events = &client->events;
    if (events->count == events->capacity) {
        drop_oldest(client);
    }
    /* Ordered: a tick before the newest one is a server's mistake that does no harm here. */
    arb_tick tick = arb_widen32(event->tick, events->newest);
    events->newest = tick > events->newest ? tick : events->newest;
    events->ticks[(events->first + events->count) % events->capacity] = tick;
    *queued(events, events->count) = *event;
    events->count++;
    return tick;
}

static void take_event(struct arbiter_client *client, const struct arb_event *event)
{
    arb_tick tick = add_event(client, event);
    if (event->kind == ARB_EVENT_RESULT) {
        decide(client, tick);
    } else if (event->kind == ARB_EVENT_IMPACT) {
        arb_client_projectiles_impact(client, event->impact.shooter_slot, event->impact.action,
                                      event->impact.pellet, event->impact.moment, tick);
    }
}

void arb_client_event(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_event event;
    if (arb_event_decode(bytes, size, &event) != ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    take_event(client, &event);
}

void arb_client_event_list(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_events events;
    if (arb_events_decode(bytes, size, &events) != ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    for (uint32_t i = 0; i < events.count; i++) {
        take_event(client, &events.list[i]);
    }
}

void arb_client_scores(struct arbiter_client *client, const uint8_t *bytes, size_t size)
{
    struct arb_scores scores;
    if (arb_scores_decode(bytes, size, &scores) != ARB_DECODE_OK) {
        arb_client_bad(client);
        return;
    }
    struct arb_event event = {.tick = scores.tick, .kind = ARB_EVENT_SCORE};
    for (uint32_t i = 0; i < scores.count; i++) {
        event.score = scores.lines[i];
        add_event(client, &event);
    }
}

void arb_client_events_due(struct arbiter_client *client, bool all)
{
    struct arb_client_events *events = &client->events;
    const struct arb_slew *view = &client->clocks.view;
    while (events->due < events->count) {
        arb_tick tick = events->ticks[(events->first + events->due) % events->capacity];
        bool reached = view->running && (arb_fine)tick * ARB_FINE_TICK <= view->at;
        if (!all && !reached) {
            return;
        }
        apply_next(client);
    }
}

static struct arbiter_event told(const struct arb_event *event, arb_tick tick)
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

uint32_t arb_client_events_take(struct arbiter_client *client)
{
    struct arb_client_events *events = &client->events;
    struct arbiter_event *out = events->capacity > 0 ? events->out : events->alone;
    uint32_t taken = events->due;
    for (uint32_t i = 0; i < taken; i++) {
        uint32_t place = (events->first + i) % events->capacity;
        out[i] = told(&events->ring[place], events->ticks[place]);
    }
    if (taken > 0) events->first = (events->first + taken) % events->capacity;
    events->count -= taken;
    events->due = 0;
    events->told = out;
    memcpy(out + taken, events->news, events->news_count * sizeof events->news[0]);
    taken += events->news_count;
    events->news_count = 0;
    return taken;
}
