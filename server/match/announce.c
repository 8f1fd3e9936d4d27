/* Reliable messages of stage 9: of each tick that is settled now the welcome of a new session, then
 * its events in the order in which they happened; then scores and counts, of each receiver in its
 * turn. */
#include "server/match/match_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

enum { COUNTS_EVERY_S = 1, WELCOME_FIXED_BYTES = 1024, SHAPE_BYTES = 8 + 8 * ARB_SHAPE_POINTS_MAX };

size_t announce_scratch_bytes(const struct arb_geometry *geometry)
{
    return WELCOME_FIXED_BYTES + SHAPE_BYTES * arb_geometry_shape_count(geometry);
}

static void put(struct match *match, uint16_t slot, const uint8_t *bytes, size_t size)
{
    const struct match_seat *seat = &match->seats[slot];
    ARB_ASSERT(size > 0);
    if (match_is_welcomed(match, slot)) {
        match->port.put(match->port.owner, seat->session, PORT_CHANNEL_RELIABLE, bytes, size);
        replicate_spend(match->replicate, slot, size);
    }
}

static void put_event(struct match *match, uint16_t slot, const struct arb_event *event)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    put(match, slot, bytes, arb_event_encode(event, bytes, sizeof bytes));
}

static uint8_t presence_of(const struct world_player *player)
{
    return player->presence == WORLD_PRESENT ? ARB_PRESENCE_THERE
           : player->presence == WORLD_AWAY  ? ARB_PRESENCE_AWAY
                                             : ARB_PRESENCE_LEFT;
}

struct arb_event announce_player_event(const struct match *match, uint16_t slot)
{
    const struct world_player *player = &match->world.players[slot];
    struct arb_event event = {.kind = ARB_EVENT_PLAYER};
    event.player.slot = slot;
    event.player.present = presence_of(player);
    event.player.team = player->team;
    event.player.player_id = player->player_id;
    memcpy(event.player.name, player->name, sizeof event.player.name);
    return event;
}

void announce_player(struct match *match, uint16_t slot, uint16_t to)
{
    struct arb_event event = announce_player_event(match, slot);
    rules_emit(&match->context, to, ARB_NO_SLOT, &event);
}

/* The shapes are the geometry's own array in order; proto wants them contiguous. */
size_t announce_welcome(const struct match *match, uint16_t slot, uint32_t tick)
{
    struct arb_welcome welcome = {
        .player_id = slot != ARB_NO_SLOT ? match->world.players[slot].player_id : 0,
        .player_slot = slot,
        .player_capacity = match->world.head->player_capacity,
        .tick = tick,
        .tick_rate = (uint16_t)match->config.tick_rate,
        .snapshot_interval_ticks = (uint8_t)match->config.snapshot_interval_ticks,
        .input_delay_ticks = (uint8_t)match->config.input_delay_ticks,
        .input_buffer_ticks = (uint8_t)match->config.input_buffer_ticks,
        .map_hash = arb_geometry_hash(match->geometry),
        .bounds = arb_geometry_bounds(match->geometry),
        .shape_count = (uint32_t)arb_geometry_shape_count(match->geometry),
        .params = &match->move,
    };
    if (welcome.shape_count > 0) {
        welcome.shapes = arb_geometry_shape(match->geometry, 0);
    }
    if (slot != ARB_NO_SLOT) {
        memcpy(welcome.token, match->tokens[match->seats[slot].session.index],
               sizeof welcome.token);
    }
    memcpy(welcome.match_id, match->match_id, sizeof welcome.match_id);
    strncpy(welcome.mode, match->rules->name, sizeof welcome.mode - 1);
    return arb_welcome_encode(&welcome, &arb_move_param_fields, match->scratch,
                              match->scratch_bytes);
}

/* ---- scores ---- */

static void look_at_scores(struct match *match, const struct match_outcome *outcome)
{
    scores_begin(&match->scores);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct match_outcome_line *line = &outcome->lines[slot];
        if (line->player_id != 0) scores_set(&match->scores, line->player_id, &line->score);
    }
}

static void put_scores(struct match *match, uint16_t slot)
{
    struct match_seat *seat = &match->seats[slot];
    if (!seat->seated || !seat->has_session) return;
    uint32_t tick = (uint32_t)(match->world.head->tick - 1);
    uint32_t count = scores_since(&match->scores, seat->scores_told, tick);
    for (uint32_t i = 0; i < count; i++) {
        size_t size;
        const uint8_t *bytes = scores_message(&match->scores, i, &size);
        put(match, slot, bytes, size);
    }
    seat->scores_told = match->scores.newest;
}

/* ---- events ---- */

static void put_news(struct match *match, struct news *news, uint16_t slot, uint64_t told)
{
    while (told < news->newest) {
        const uint8_t *bytes;
        size_t size;
        told = news_message(news, told, &bytes, &size);
        put(match, slot, bytes, size);
    }
}

/* All that this session was not told of yet. One that is being welcomed is told what it led to. */
static void catch_up(struct match *match, uint16_t slot)
{
    struct match_seat *seat = &match->seats[slot];
    if (!seat->seated || !seat->has_session || seat->needs_welcome) return;
    /* One that a played record seated has no session that was told anything. */
    uint64_t all = match->news.told_to_all;
    put_news(match, &match->news, slot, seat->news_told > all ? seat->news_told : all);
    seat->news_told = match->news.newest;
}

static void catch_up_all(struct match *match)
{
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        catch_up(match, slot);
    }
    news_all_told(&match->news);
}

/* What earlier events said, as it stands at the end of this tick: so a new session skips this
 * tick's announcements to everyone. The same for all who come in this tick. */
static void list_standing(struct match *match, const struct match_outcome *outcome)
{
    news_all_told(&match->standing);
    for (uint16_t other = 0; other < match->world.head->player_capacity; other++) {
        if (outcome->lines[other].player_id == 0) continue;
        struct arb_event event = outcome_player(match, outcome, other);
        news_add(&match->standing, &event);
    }
}

static void put_standing(struct match *match, const struct match_outcome *outcome, uint16_t slot)
{
    uint32_t tick = (uint32_t)outcome->tick;
    put_news(match, &match->standing, slot, match->standing.told_to_all);
    match->seats[slot].scores_told = 0;
    put_scores(match, slot);
    put_event(match, slot,
              &(struct arb_event){.kind = ARB_EVENT_PHASE, .tick = tick, .phase = outcome->phase});
    /* Whoever comes back may have missed it, and is in no list of this tick's either. */
    if (!outcome->decided) return;
    put_event(
        match, slot,
        &(struct arb_event){.kind = ARB_EVENT_RESULT, .tick = tick, .result = outcome->result});
}

/* As of what was sent before that tick's snapshots: who learns of one of the two only with them
 * draws it from them on. */
static bool is_shown(const struct match *match, uint16_t slot, const struct rules_event *event,
                     arb_tick tick)
{
    for (uint32_t i = 0; i < RULES_EVENT_KEYS; i++) {
        if (!arb_key_is_none(event->about[i]) &&
            replicate_showed(match->replicate, slot, event->about[i], tick)) {
            return true;
        }
    }
    return false;
}

/* Places of things go to those who see the things: nobody learns from an event what the snapshots
 * keep from him, beyond his radius or behind a wall. */
static void put_where_shown(struct match *match, const struct rules_event *event, arb_tick tick)
{
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        bool there = match->seats[slot].seated && !match->seats[slot].needs_welcome;
        if (there && (slot == event->to || is_shown(match, slot, event, tick))) {
            put_event(match, slot, &event->event);
        }
    }
}

/* Who came in that tick or before, and was not welcomed yet. Later ones have no part in what it
 * tells. */
static bool is_new(const struct match *match, const struct match_outcome *outcome, uint16_t slot)
{
    const struct match_seat *seat = &match->seats[slot];
    return seat->needs_welcome && seat->since <= outcome->tick;
}

static void welcome_new(struct match *match, const struct match_outcome *outcome)
{
    bool is_listed = false;
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (!match->seats[slot].seated || !is_new(match, outcome, slot)) continue;
        if (!is_listed) list_standing(match, outcome);
        is_listed = true;
        uint32_t tick = (uint32_t)match->world.head->tick;
        put(match, slot, match->scratch, announce_welcome(match, slot, tick));
        memset(match->tokens[match->seats[slot].session.index], 0, ARB_TOKEN_BYTES);
        put_standing(match, outcome, slot);
    }
}

static bool is_turn(const struct match *match, uint16_t slot)
{
    return news_is_turn(match->present, (uint32_t)match->config.tick_rate,
                        (uint32_t)match->config.snapshot_interval_ticks,
                        match->world.head->tick - 1, slot);
}

/* Whoever is told of all lines in this tick needs no word of its own one. */
static bool is_told_anyway(const struct match *match, const struct rules_event *event)
{
    return event->event.kind == ARB_EVENT_SCORE &&
           (match->seats[event->to].needs_welcome || is_turn(match, event->to));
}

/* Whoever had a part in a death or sees it is told at once. */
static void hurry(struct match *match, const struct arb_event_death *death, arb_tick tick)
{
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (slot == death->victim_slot || slot == death->killer_slot ||
            replicate_showed(match->replicate, slot, death->victim, tick)) {
            catch_up(match, slot);
        }
    }
}

static void put_alone(struct match *match, const struct arb_event *event)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size = arb_event_encode(event, bytes, sizeof bytes);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct match_seat *seat = &match->seats[slot];
        if (seat->seated && !seat->needs_welcome) put(match, slot, bytes, size);
    }
}

/* Before a round ends everybody has the final scores, behind the players that they are of. */
static void put_to_all(struct match *match, const struct arb_event *event, arb_tick tick)
{
    bool at_once = news_cannot_wait(event);
    if (at_once && !news_comes_last(event)) {
        put_alone(match, event);
        return;
    }
    if (at_once || news_is_full(&match->news)) catch_up_all(match);
    for (uint16_t slot = 0; at_once && slot < match->world.head->player_capacity; slot++) {
        if (!match->seats[slot].needs_welcome) put_scores(match, slot);
    }
    news_add(&match->news, event);
    if (at_once) catch_up_all(match);
    if (event->kind == ARB_EVENT_DEATH) hurry(match, &event->death, tick);
}

/* True: the match was decided in this tick. */
static bool put_tick_events(struct match *match, const struct match_outcome *outcome)
{
    bool decided = false;
    for (uint32_t i = 0; i < outcome->event_count; i++) {
        const struct rules_event *event = &outcome->events[i];
        decided |= event->event.kind == ARB_EVENT_RESULT;
        if (rules_event_is_about_some(event)) {
            put_where_shown(match, event, outcome->tick);
        } else if (event->to == ARB_NO_SLOT) {
            put_to_all(match, &event->event, outcome->tick);
        } else if (!is_told_anyway(match, event)) {
            put_event(match, event->to, &event->event);
            if (event->also != ARB_NO_SLOT && event->also != event->to) {
                put_event(match, event->also, &event->event);
            }
        }
    }
    return decided;
}

/* Once a second, beside a snapshot and spread over the players; and once more, final, in the tick
 * that decided the match.
 */
static void put_counts(struct match *match, uint16_t slot, bool final)
{
    uint32_t every = COUNTS_EVERY_S * (uint32_t)match->config.tick_rate;
    uint32_t interval = (uint32_t)match->config.snapshot_interval_ticks;
    if (final || news_is_due(every, interval, match->world.head->tick - 1, slot)) {
        uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
        put(match, slot, bytes,
            arb_message_encode(ARB_MESSAGE_COUNTS, &arb_counts_fields, &match->seats[slot].counts,
                               bytes, sizeof bytes));
    }
}

/* Before what this tick publishes, so that who sees the world stand still knows already why. Of a
 * server that is late in every tick ten a second. */
static void put_late(struct match *match)
{
    arb_tick now = match->world.head->tick;
    if (match->late_ms == 0 || now - match->late_told < (arb_tick)match->config.tick_rate / 10) {
        return;
    }
    struct arb_late late = {
        .tick = (uint32_t)(now - 1),
        .late_ms = (uint16_t)(match->late_ms < UINT16_MAX ? match->late_ms : UINT16_MAX)};
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size =
        arb_message_encode(ARB_MESSAGE_LATE, &arb_late_fields, &late, bytes, sizeof bytes);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        put(match, slot, bytes, size);
    }
    spectators_put_late(match, &late);
    match->late_ms = 0;
    match->late_told = now;
}

/* True: the match was decided in it. */
static bool tell(struct match *match, const struct match_outcome *outcome)
{
    look_at_scores(match, outcome);
    welcome_new(match, outcome);
    put_late(match);
    bool decided = put_tick_events(match, outcome);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (!is_new(match, outcome, slot)) continue;
        match->seats[slot].news_told = match->news.newest;
        match->seats[slot].needs_welcome = false;
    }
    if (match->spectators != NULL) spectators_keep_events(match, outcome);
    return decided;
}

void announce(struct match *match)
{
    const struct match_outcome *outcome;
    bool decided_now = false;
    while ((outcome = outcome_next(match)) != NULL)
        decided_now |= tell(match, outcome);
    put_late(match);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (match->seats[slot].needs_welcome) continue;
        if (is_turn(match, slot)) {
            catch_up(match, slot);
            put_scores(match, slot);
        }
        put_counts(match, slot, decided_now);
    }
}
