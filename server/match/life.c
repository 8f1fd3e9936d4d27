/* Who is there, and the phases of a match: waiting, countdown, live, result, then the next round or
 * the end (spec/simulation.md "Game rules"). The mode gives meaning to a round; when it begins and
 * ends is decided here. */
#include "server/match/match_internal.h"
#include "server/match/match_rollback.h"

#include "shared/base/arb_assert.h"

#include <string.h>

static arb_tick seconds(const struct match *match, int32_t s)
{
    return (arb_tick)s * (arb_tick)match->config.tick_rate;
}

/* ---- joins and leaves ---- */

/* Nobody has it, and its last character has ended. Of whoever leaves in this tick that happens in
 * stage 7, whether there is one depends on inputs that may yet come. */
static bool is_free(const struct match *match, uint16_t slot)
{
    const struct world_player *player = &match->world.players[slot];
    for (uint32_t i = 0; i < match->left_count; i++) {
        if (match->left[i] == slot) return false;
    }
    bool nobody = player->presence == WORLD_ABSENT || player->presence == WORLD_LEFT;
    return nobody && !match->seats[slot].seated && arb_key_is_none(player->controlled);
}

static uint16_t slot_with(const struct match *match, enum world_presence presence)
{
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (match->world.players[slot].presence == presence && is_free(match, slot)) return slot;
    }
    return ARB_NO_SLOT;
}

/* The lowest slot that nobody used, else that of someone who left. */
static uint16_t free_slot(const struct match *match)
{
    if (match->decided) return ARB_NO_SLOT;
    uint16_t slot = slot_with(match, WORLD_ABSENT);
    return slot != ARB_NO_SLOT ? slot : slot_with(match, WORLD_LEFT);
}

/* A tick that is run again gives the place that it gave: whoever was told so is there. */
static uint16_t recorded_slot(const struct match *match, const struct match_command *command)
{
    bool good = command->slot != ARB_NO_SLOT && is_free(match, command->slot);
    return good ? command->slot : ARB_NO_SLOT;
}

/* The line of a player who left goes to the archive. False: it has no room. */
static bool clear_slot(struct match *match, uint16_t slot)
{
    const struct world_player *line = &match->world.players[slot];
    if (line->presence != WORLD_LEFT) return true;
    if (match->archive_count == match->archive_capacity) return false;
    match->archive[match->archive_count++] = *line;
    match->archive_hash = match_archive_hash_add(match->archive_hash, line);
    return true;
}

/* The smaller team, the first on a tie. */
static uint8_t team_for(const struct match *match)
{
    if (match->config.teams == 0 || !match->rules->teams) {
        return 0;
    }
    uint32_t members[3] = {0};
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct world_player *player = &match->world.players[slot];
        if (player->presence == WORLD_PRESENT || player->presence == WORLD_AWAY) {
            members[player->team]++;
        }
    }
    return members[2] < members[1] ? 2 : 1;
}

/* Nobody is told anything by another run of a tick. */
static void refuse(struct match *match, struct port_session session, enum arb_refusal reason)
{
    if (session.index != UINT16_MAX && !match->plays) {
        match->port.refuse(match->port.owner, session, reason);
    }
}

/* What is of the session and not of the state: another run of this tick leaves it alone. Nothing of
 * an earlier session, of whichever player, is left in the seat. */
static void begin_session(struct match *match, uint16_t slot, struct port_session session)
{
    struct match_seat *seat = &match->seats[slot];
    seat->needs_welcome = seat->has_session;
    seat->has_view = false;
    seat->view_waits = 0;
    seat->detached = false;
    seat->session = session;
    seat->since = match->world.head->tick;
    views_reset(match, slot);
    inputs_reset(&seat->buffer);
    interest_forget(match->interest, slot);
    if (match->sight != NULL) interest_sight_forget(match->sight, slot);
    replicate_reset(match->replicate, slot);
    if (seat->has_session) {
        match->slot_of_session[session.index] = slot;
    }
}

/* The slot given; ARB_NO_SLOT: refused. */
static uint16_t join(struct match *match, const struct match_command *command)
{
    struct world *world = &match->world;
    bool has_session = command->session.index != UINT16_MAX;
    uint16_t slot = match->plays ? recorded_slot(match, command) : free_slot(match);
    if (slot == ARB_NO_SLOT || !clear_slot(match, slot)) {
        match->joins_refused++;
        refuse(match, command->session, match->decided ? ARB_REFUSED_ENDED : ARB_REFUSED_FULL);
        return ARB_NO_SLOT;
    }
    struct world_player *player = &world->players[slot];
    uint8_t control = player->control;
    memset(player, 0, sizeof *player);
    player->player_id = world->head->next_player_id++;
    memcpy(player->name, command->name, sizeof player->name);
    player->name[sizeof player->name - 1] = '\0';
    player->team = team_for(match);
    player->presence = WORLD_PRESENT;
    player->control = (uint8_t)(control + 1);

    struct match_seat *seat = &match->seats[slot];
    seat->seated = true;
    seat->has_session = has_session;
    seat->played = false;
    memcpy(seat->token_hash, command->token_hash, sizeof seat->token_hash);
    memset(&seat->counts, 0, sizeof seat->counts);
    memset(&seat->view_counts, 0, sizeof seat->view_counts);
    rewind_drop_origins(match->rewind, slot);
    if (!match->plays) {
        begin_session(match, slot, command->session);
        seat->eye.x = 0.5F * (match->map->bounds.low.x + match->map->bounds.high.x);
        seat->eye.y = 0.5F * (match->map->bounds.low.y + match->map->bounds.high.y);
    }
    match->joined[match->joined_count++] = slot;
    match->present++;
    match->anybody_came = true;
    announce_player(match, slot, ARB_NO_SLOT);
    return slot;
}

static void leave(struct match *match, uint16_t slot)
{
    struct world_player *player = &match->world.players[slot];
    struct match_seat *seat = &match->seats[slot];
    if (!seat->seated) {
        return;
    }
    seat->seated = false;
    seat->has_session = false;
    /* Its character ends in stage 7; until then nothing of its last input is done again. */
    match->applied[slot] = (struct arb_input){.target_tick = match->world.head->tick};
    match->consumed[slot] = false;
    match->shot_edges_carried[slot] = 0;
    match->present--;
    match->left[match->left_count++] = slot;
    /* Who never saw a live tick leaves no line in the result. */
    player->presence = seat->played ? WORLD_LEFT : WORLD_ABSENT;
    announce_player(match, slot, ARB_NO_SLOT);
}

/* The player stays as it is, its character too: the inputs are missing, so it holds the last one
 * and then nothing. */
static void go_away(struct match *match, uint16_t slot)
{
    struct match_seat *seat = &match->seats[slot];
    struct world_player *player = &match->world.players[slot];
    if (!seat->seated || player->presence == WORLD_AWAY) {
        return;
    }
    seat->away_until = match->world.head->tick + seconds(match, match->config.rejoin_grace_s);
    player->presence = WORLD_AWAY;
    announce_player(match, slot, ARB_NO_SLOT);
}

/* The same player on another session: what it has stays, what the earlier session said is gone, so
 * that sequences can begin anew. */
static void rebind(struct match *match, uint16_t slot)
{
    struct world_player *player = &match->world.players[slot];
    bool was_away = player->presence == WORLD_AWAY;
    player->presence = WORLD_PRESENT;
    player->control++;
    memset(&player->last, 0, sizeof player->last);
    memset(&player->carried_view, 0, sizeof player->carried_view);
    player->last_sequence = 0;
    player->hold_ticks = 0;
    player->carried_edges = player->carried_aim = player->carried_action = 0;
    rewind_drop_origins(match->rewind, slot);
    struct arb_event event = {.kind = ARB_EVENT_REBIND};
    event.rebind = (struct arb_event_rebind){player->controlled, player->control};
    rules_emit(&match->context, slot, ARB_NO_SLOT, &event);
    if (was_away) announce_player(match, slot, ARB_NO_SLOT);
}

static bool is_joined(const struct match *match, uint16_t slot)
{
    for (uint32_t i = 0; i < match->joined_count; i++) {
        if (match->joined[i] == slot) return true;
    }
    return false;
}

/* The slot; ARB_NO_SLOT: refused. A session that the player still has is told and ended. */
static uint16_t come_back(struct match *match, const struct match_command *command)
{
    uint16_t slot = command->slot;
    struct match_seat *seat = slot != ARB_NO_SLOT ? &match->seats[slot] : NULL;
    if (seat == NULL || !seat->seated ||
        memcmp(seat->token_hash, command->token_hash, sizeof seat->token_hash) != 0) {
        match->joins_refused++;
        refuse(match, command->session, ARB_REFUSED_TOKEN);
        return ARB_NO_SLOT;
    }
    const struct world_player *player = &match->world.players[slot];
    if (player->presence != WORLD_AWAY) refuse(match, seat->session, ARB_REFUSED_REPLACED);
    memset(&seat->counts, 0, sizeof seat->counts);
    memset(&seat->view_counts, 0, sizeof seat->view_counts);
    if (!match->plays) {
        begin_session(match, slot, command->session);
    }
    rebind(match, slot);
    /* Away in the tick in which all others got a character, and so without one. */
    if (arb_key_is_none(player->controlled) && player->respawn_tick == 0 &&
        !is_joined(match, slot)) {
        match->joined[match->joined_count++] = slot;
    }
    return slot;
}

/* Places that whoever comes would find, were the match not decided. */
static uint32_t free_places(const struct match *match)
{
    uint32_t count = 0;
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        enum world_presence presence = (enum world_presence)match->world.players[slot].presence;
        bool nobody = presence == WORLD_ABSENT || presence == WORLD_LEFT;
        count += nobody && is_free(match, slot);
    }
    return count;
}

/* While a late input may yet undo the decision, nobody is let in or refused because of it: whoever
 * would find a place waits. What waits is no more than there are players, so that there is room for
 * what else a tick brings. */
static uint32_t waiting_places(const struct match *match)
{
    bool open = match->decided && !match_decided(match);
    return open ? free_places(match) : 0;
}

/* What has waited for this tick goes into its record, which is what is carried out. */
static void record_commands(struct match *match)
{
    uint32_t places = waiting_places(match), waiting = 0;
    for (uint32_t i = 0; i < match->command_count; i++) {
        if (match->commands[i].type == MATCH_COMMAND_JOIN && waiting < places) {
            match->commands[waiting++] = match->commands[i];
        } else {
            record_command(match, &match->commands[i]);
        }
    }
    match->command_count = waiting;
    if (match->numbers.is_asked) {
        match->numbers.is_asked = false;
        record_reload(match, match->numbers.asked);
    }
    if (match->abort_asked) {
        match->abort_asked = false;
        record_command(match, &(struct match_command){.type = MATCH_COMMAND_ABORT,
                                                      .reason = match->abort_reason});
    }
}

/* Whom it was about. */
static uint16_t carry_out(struct match *match, const struct match_command *command)
{
    switch (command->type) {
    case MATCH_COMMAND_JOIN:
        return join(match, command);
    case MATCH_COMMAND_LEAVE:
        leave(match, command->slot);
        return command->slot;
    case MATCH_COMMAND_AWAY:
        go_away(match, command->slot);
        return command->slot;
    case MATCH_COMMAND_RETURN:
        return come_back(match, command);
    case MATCH_COMMAND_ABORT:
        match->aborts = true;
        match->abort_reason = command->reason;
        break;
    case MATCH_COMMAND_RELOAD:
        numbers_apply(match, match->record.numbers);
        break;
    case MATCH_COMMAND_TYPES:
        break;
    }
    return ARB_NO_SLOT;
}

void life_commands(struct match *match)
{
    struct match_record *record = &match->record;
    match->joined_count = 0;
    match->left_count = 0;
    match->aborts = false;
    if (!match->plays) {
        record_commands(match);
    }
    for (uint32_t i = 0; i < record->command_count; i++) {
        struct match_command *command = &record->commands[i];
        uint16_t slot = carry_out(match, command);
        if (command->type == MATCH_COMMAND_JOIN) command->slot = slot;
        const struct match_observer *observer = &match->observer;
        if (observer->command != NULL) observer->command(observer->owner, command, slot);
    }
}

/* ---- phases ---- */

static void enter(struct match *match, enum arb_phase phase, arb_tick length)
{
    struct world_head *head = match->world.head;
    head->phase = (uint8_t)phase;
    head->phase_end_tick = length > 0 ? head->tick + length : 0;
    struct arb_event event = {.kind = ARB_EVENT_PHASE};
    event.phase.phase = head->phase;
    event.phase.round = head->round;
    event.phase.end_tick = (uint32_t)head->phase_end_tick;
    rules_emit(&match->context, ARB_NO_SLOT, ARB_NO_SLOT, &event);
}

static void begin_round(struct match *match)
{
    struct world_head *head = match->world.head;
    head->round++;
    head->ended_early = 0;
    if (head->live_from_tick == 0) {
        head->live_from_tick = head->tick;
    }
    enter(match, ARB_PHASE_LIVE, seconds(match, match->config.duration_s));
    match->rules->round_begin(&match->context);
}

uint16_t life_winner(const struct match *match)
{
    const struct world *world = &match->world;
    uint16_t best = ARB_NO_SLOT;
    bool tie = false;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_player *player = &world->players[slot];
        if (player->presence == WORLD_ABSENT) {
            continue;
        }
        int order = best == ARB_NO_SLOT ? -1 : match->rules->rank(player, &world->players[best]);
        if (order < 0) {
            best = slot;
            tie = false;
        } else if (order == 0) {
            tie = true;
        }
    }
    return tie ? ARB_NO_SLOT : best;
}

/* What a team's members won stays the team's when they have left. */
static uint8_t winning_team(const struct match *match)
{
    int64_t score[3] = {0};
    for (uint32_t i = 0; i < match->archive_count; i++) {
        score[match->archive[i].team] += match->archive[i].score;
    }
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        score[match->world.players[slot].team] += match->world.players[slot].score;
    }
    return score[1] == score[2] ? 0 : score[1] > score[2] ? 1 : 2;
}

struct arb_event life_result(const struct match *match)
{
    struct arb_event event = {.kind = ARB_EVENT_RESULT};
    event.result.reason = match->world.head->end_reason;
    event.result.winner_slot = life_winner(match);
    event.result.winner_team = match->config.teams != 0 ? winning_team(match) : 0;
    return event;
}

/* From here on the result is final: ticks, scores and checksum are those of this tick's commit. */
static void decide(struct match *match, enum arb_end_reason reason)
{
    if (match->decided) {
        return;
    }
    match->world.head->end_reason = (uint8_t)reason;
    match->decided = true;
    match->decided_tick = match->world.head->tick;
    struct arb_event event = life_result(match);
    rules_emit(&match->context, ARB_NO_SLOT, ARB_NO_SLOT, &event);
}

static void end_live(struct match *match, enum arb_end_reason reason, bool last)
{
    match->rules->round_end(&match->context);
    match->world.head->end_reason = (uint8_t)reason;
    if (last) {
        decide(match, reason);
    }
    enter(match, ARB_PHASE_RESULT, seconds(match, match->config.result_s));
}

static void enter_ended(struct match *match)
{
    match->ended_tick = match->world.head->tick;
    enter(match, ARB_PHASE_ENDED, 0);
}

static void end_match(struct match *match, enum arb_end_reason reason)
{
    if (match->world.head->phase == ARB_PHASE_LIVE) {
        match->rules->round_end(&match->context);
    }
    decide(match, reason);
    enter_ended(match);
}

/* Nobody came in time, or everybody left: true when the match is over. */
static bool ended_empty(struct match *match)
{
    struct world_head *head = match->world.head;
    if (match->present > 0) {
        match->empty_since = 0;
        return false;
    }
    if (!match->anybody_came) {
        arb_tick limit = seconds(match, match->config.join_timeout_s);
        if (limit == 0 || head->tick - match->first_tick < limit) {
            return false;
        }
        end_match(match, ARB_END_NOBODY);
        return true;
    }
    if (match->empty_since == 0) {
        match->empty_since = head->tick;
    }
    if (head->tick - match->empty_since < seconds(match, match->config.idle_exit_s)) {
        return false;
    }
    end_match(match, ARB_END_EMPTY);
    return true;
}

static bool phase_over(const struct match *match)
{
    const struct world_head *head = match->world.head;
    return head->phase_end_tick != 0 && head->tick >= head->phase_end_tick;
}

static void step_waiting(struct match *match)
{
    if (match->present < (uint32_t)match->config.min_players || match->present == 0) {
        return;
    }
    if (match->config.countdown_s > 0) {
        enter(match, ARB_PHASE_COUNTDOWN, seconds(match, match->config.countdown_s));
    } else {
        begin_round(match);
    }
}

static void step_countdown(struct match *match)
{
    if (match->present < (uint32_t)match->config.min_players) {
        enter(match, ARB_PHASE_WAITING, 0);
    } else if (phase_over(match)) {
        begin_round(match);
    }
}

static void step_result(struct match *match)
{
    if (match->world.head->phase_end_tick != 0 && !phase_over(match)) {
        return;
    }
    if (match->decided) {
        enter_ended(match);
    } else if (match->config.countdown_s > 0) {
        enter(match, ARB_PHASE_COUNTDOWN, seconds(match, match->config.countdown_s));
    } else {
        begin_round(match);
    }
}

void life_begin_rules(struct match *match)
{
    struct world_head *head = match->world.head;
    if (head->phase == ARB_PHASE_LIVE) {
        for (uint32_t i = 0; i < match->left_count; i++) {
            match->rules->player_left(&match->context, match->left[i]);
        }
    }
    if (head->phase == ARB_PHASE_ENDED) {
        return;
    }
    if (match->aborts) {
        end_match(match, (enum arb_end_reason)match->abort_reason);
        return;
    }
    if (ended_empty(match)) {
        return;
    }
    switch ((enum arb_phase)head->phase) {
    case ARB_PHASE_WAITING:
        step_waiting(match);
        break;
    case ARB_PHASE_COUNTDOWN:
        step_countdown(match);
        break;
    case ARB_PHASE_RESULT:
        step_result(match);
        break;
    case ARB_PHASE_LIVE:
    case ARB_PHASE_ENDED:
        break;
    }
}

void life_end_rules(struct match *match)
{
    struct world_head *head = match->world.head;
    if (head->phase != ARB_PHASE_LIVE) {
        return;
    }
    for (uint32_t i = 0; i < match->joined_count; i++) {
        uint16_t slot = match->joined[i];
        /* Who came in the tick that began the round got a character with everyone else. */
        if (arb_key_is_none(match->world.players[slot].controlled)) {
            match->rules->player_joined(&match->context, slot);
        }
    }
    head->live_ticks++;
    bool last = head->round >= match->config.rounds;
    /* Scores go on over the rounds, so a limit that is reached decides the match. */
    if (head->ended_early) {
        end_live(match, ARB_END_SCORE, true);
    } else if (head->phase_end_tick != 0 && head->tick + 1 >= head->phase_end_tick) {
        end_live(match, ARB_END_TIME, last);
    }
}
