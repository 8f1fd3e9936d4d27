/* Who is who, and when each invariant is looked at. */
#include "tools/sim/sim_cheat.h"
#include "tools/sim/sim_checks.h"
#include "tools/sim/sim_rewind.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    STREAM_CHECKS = 800,
    CLOSE_LOOK_EVERY = 12, /* ticks, on average */
};

void sim_violated(struct sim_checks *checks, enum sim_invariant invariant, const char *format, ...)
{
    checks->violations[invariant]++;
    if (checks->first_text[0] != '\0') return;
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    checks->first_tick = checks->sim->ticks;
    snprintf(checks->first_text, sizeof checks->first_text, "%s: tick %llu: %s",
             sim_invariant_name(invariant), (unsigned long long)match_tick(checks->sim->match),
             text);
}

uint64_t sim_violations(const struct sim *sim, enum sim_invariant invariant)
{
    return sim->checks == NULL ? 0 : sim->checks->violations[invariant];
}

uint64_t sim_violation_count(const struct sim *sim)
{
    uint64_t count = 0;
    for (int i = 0; i < SIM_INVARIANTS; i++) {
        count += sim_violations(sim, (enum sim_invariant)i);
    }
    return count;
}

uint64_t sim_first_violation(const struct sim *sim, const char **text)
{
    *text = sim->checks == NULL ? "" : sim->checks->first_text;
    return sim->checks == NULL ? 0 : sim->checks->first_tick;
}

/* ---- life ---- */

struct sim_checks *sim_checks_create(struct sim *sim)
{
    struct sim_checks *checks = arb_mem_alloc(sizeof *checks);
    checks->sim = sim;
    arb_rng_seed(&checks->rng, sim->options.seed, STREAM_CHECKS);
    return checks;
}

static void take_room(struct sim_checks *checks)
{
    struct sim *sim = checks->sim;
    const struct world_head *head = match_world(sim->match)->head;
    checks->players = head->player_capacity;
    checks->entities = head->entity_capacity;
    checks->points = (uint32_t)head->body_capacity * head->body_points;
    for (uint32_t i = 0; i < SIM_ARCHIVE_FRAMES; i++) {
        struct sim_published *published = &checks->archive[i];
        published->frame.entities =
            arb_mem_calloc(checks->entities, sizeof *published->frame.entities);
        published->frame.points =
            arb_mem_calloc(checks->points + 1U, sizeof *published->frame.points);
        published->own = arb_mem_calloc(checks->players, sizeof *published->own);
    }
    uint32_t seats = checks->players + sim->options.spectators;
    checks->seats = arb_mem_calloc(seats, sizeof *checks->seats);
    for (uint32_t slot = 0; slot < seats; slot++) {
        checks->seats[slot].keys = arb_mem_calloc(SIM_SIGHT_KEYS, sizeof(uint32_t));
        checks->seats[slot].near = arb_mem_calloc(checks->entities, sizeof(uint32_t));
    }
    checks->sessions = arb_mem_calloc(sim->sessions, sizeof *checks->sessions);
    for (uint32_t i = 0; i < sim->sessions; i++) {
        checks->sessions[i].events = arb_mem_calloc(SIM_EVENTS, sizeof(struct arbiter_event));
        checks->sessions[i].news =
            arb_mem_calloc(SIM_EVENT_KINDS * SIM_EVENT_PLACES, sizeof(uint64_t));
    }
    checks->clients = sim->player_count;
    checks->witnesses = arb_mem_calloc(sim->player_count, sizeof *checks->witnesses);
    for (uint32_t i = 0; i < sim->player_count; i++) {
        checks->witnesses[i].generations = arb_mem_calloc(checks->entities, sizeof(uint16_t));
        checks->witnesses[i].waits = arb_mem_calloc(checks->entities, sizeof(struct sim_wait));
    }
    checks->expected = arb_mem_calloc(checks->entities, sizeof *checks->expected);
}

void sim_checks_destroy(struct sim_checks *checks)
{
    if (checks == NULL) return;
    for (uint32_t i = 0; i < SIM_ARCHIVE_FRAMES; i++) {
        arb_mem_free(checks->archive[i].frame.entities);
        arb_mem_free(checks->archive[i].frame.points);
        arb_mem_free(checks->archive[i].own);
    }
    uint32_t seats = checks->seats == NULL ? 0 : checks->players + checks->sim->options.spectators;
    for (uint32_t slot = 0; slot < seats; slot++) {
        arb_mem_free(checks->seats[slot].keys);
        arb_mem_free(checks->seats[slot].near);
    }
    for (uint32_t i = 0; checks->sessions != NULL && i < checks->sim->sessions; i++) {
        arb_mem_free(checks->sessions[i].events);
        arb_mem_free(checks->sessions[i].news);
    }
    for (uint32_t i = 0; checks->witnesses != NULL && i < checks->clients; i++) {
        arb_mem_free(checks->witnesses[i].generations);
        arb_mem_free(checks->witnesses[i].waits);
    }
    arb_mem_free(checks->seats);
    arb_mem_free(checks->sessions);
    arb_mem_free(checks->witnesses);
    arb_mem_free(checks->expected);
    sim_rerun_destroy(checks->rerun);
    sim_journal_destroy(checks->journal);
    sim_rewind_destroy(checks);
    arb_mem_free(checks);
}

/* ---- what the match shows ---- */

static void on_late(void *owner, uint16_t slot, const struct arb_input *input, uint8_t control)
{
    struct sim_checks *checks = owner;
    sim_inputs_late(checks, slot, input, control);
}

void sim_take_seat(struct sim_checks *checks, uint16_t place, struct port_session id,
                   uint64_t player_id)
{
    struct sim_seat *seat = &checks->seats[place];
    uint32_t *keys = seat->keys;
    uint32_t *near = seat->near;
    memset(seat, 0, sizeof *seat);
    seat->keys = keys;
    seat->near = near;
    seat->seated = true;
    seat->session = id;
    seat->player_id = player_id;
    seat->joined_tick = match_tick(checks->sim->match);
    seat->disturbed_tick = seat->joined_tick;
    /* The earlier session of somebody who came back: what it was put is not for the new one. */
    for (uint32_t i = 0; i < checks->sim->sessions; i++) {
        if (checks->sessions[i].player_id == player_id) checks->sessions[i].player_id = 0;
    }
    struct sim_session *session = &checks->sessions[id.index];
    session->id = id;
    session->player_id = player_id;
    session->slot = place;
    session->put = 0;
    memset(session->news, 0, SIM_EVENT_KINDS * SIM_EVENT_PLACES * sizeof session->news[0]);
}

static void on_join(struct sim_checks *checks, const struct match_command *command, uint16_t slot)
{
    const struct world_player *player = &match_world(checks->sim->match)->players[slot];
    if (command->type == MATCH_COMMAND_JOIN) sim_scores_join(checks, slot);
    sim_take_seat(checks, slot, command->session, player->player_id);
    checks->seats[slot].control = player->control;
}

static void on_command(void *owner, const struct match_command *command, uint16_t slot)
{
    struct sim_checks *checks = owner;
    if (slot == ARB_NO_SLOT) return;
    if (command->type == MATCH_COMMAND_JOIN || command->type == MATCH_COMMAND_RETURN) {
        on_join(checks, command, slot);
        checks->sim->totals.returns += command->type == MATCH_COMMAND_RETURN;
    } else if (command->type == MATCH_COMMAND_LEAVE) {
        checks->seats[slot].seated = false;
    }
}

static void on_input(void *owner, uint16_t slot, const struct arb_input *input, uint8_t control,
                     const struct arb_input *applied)
{
    struct sim_checks *checks = owner;
    sim_rewind_input(checks, slot, input, applied);
    sim_inputs_applied(checks, slot, input, control, applied);
}

static void on_shots(void *owner, const struct rules_shot *shots, uint32_t count)
{
    struct sim_checks *checks = owner;
    checks->sim->totals.shots += count;
    sim_rewind_shots(checks, shots, count);
    if (checks->sim->trace == NULL) return;
    loop_trace_shots(checks->sim->trace, checks->sim->match, shots, count);
    ops_trace_drain(checks->sim->trace);
}

static void on_flown(void *owner, const struct rules_shot *shots,
                     const struct rules_flights *flights)
{
    struct sim_checks *checks = owner;
    sim_rewind_flown(checks, shots, flights);
    if (checks->sim->trace == NULL) return;
    loop_trace_flown(checks->sim->trace, checks->sim->match, shots, flights);
    ops_trace_drain(checks->sim->trace);
}

static void on_snapshot(void *owner, const struct match_sight *sight)
{
    struct sim_checks *checks = owner;
    sim_visible_look(checks, sight);
    sim_frames_sight(checks, sight);
}

void sim_checks_begin(struct sim *sim)
{
    struct sim_checks *checks = sim->checks;
    take_room(checks);
    sim_visible_begin(checks);
    checks->rerun = sim_rerun_create(checks);
    sim_journal_begin(checks);
    checks->rewind = sim_rewind_create(checks);
    match_observe(sim->match, &(struct match_observer){.owner = checks,
                                                       .late = on_late,
                                                       .command = on_command,
                                                       .input = on_input,
                                                       .shots = on_shots,
                                                       .flown = on_flown,
                                                       .snapshot = on_snapshot});
}

void sim_checks_again(struct sim *sim)
{
    struct sim_checks *old = sim->checks, *checks = sim_checks_create(sim);
    memcpy(checks->violations, old->violations, sizeof checks->violations);
    memcpy(checks->first_text, old->first_text, sizeof checks->first_text);
    checks->first_tick = old->first_tick;
    checks->rng = old->rng;
    checks->spectator_joins = old->spectator_joins;
    checks->journal = old->journal;
    old->journal = NULL;
    sim->checks = checks;
    sim_checks_begin(sim);
    checks->rewind->figures = old->rewind->figures;
    sim_checks_destroy(old);
    sim_rerun_follow(checks);
    sim_scores_again(checks);
    for (uint32_t i = 0; i < sim->player_count; i++) {
        sim_checks_connection(sim, &sim->players[i]);
        checks->witnesses[i].heard_us = sim->now_us;
        sim->players[i].is_orphan = sim->players[i].client != NULL;
    }
}

/* ---- what passes the port ---- */

static bool is_of_client(const struct sim_checks *checks, uint32_t client,
                         struct port_session session)
{
    const struct sim_session *known = &checks->sessions[session.index];
    const struct sim_witness *witness = &checks->witnesses[client];
    return witness->known && known->id.epoch == session.epoch &&
           known->player_id == witness->player_id;
}

static bool port_take(void *owner, struct port_message *out)
{
    struct sim *sim = owner;
    if (!sim->port.take(sim->port.owner, out)) return false;
    if (out->type == PORT_INPUTS && sim->cheater != NULL &&
        is_of_client(sim->checks, 0, out->session)) {
        sim_cheater_packet(sim->cheater, &out->inputs);
    }
    if (out->type == PORT_INPUTS) sim_inputs_taken(sim->checks, out);
    if (out->type == PORT_JOIN && out->role == ARB_ROLE_SPECTATOR) {
        sim_spectator_joins(sim->checks, out);
    }
    bool ends = out->type == PORT_LEAVE || out->type == PORT_LOST;
    if (ends) sim_spectator_leaves(sim->checks, out->session);
    return true;
}

static void port_put(void *owner, struct port_session session, uint8_t channel,
                     const uint8_t *bytes, size_t size)
{
    struct sim *sim = owner;
    if (channel == PORT_CHANNEL_RELIABLE) sim_events_put(sim->checks, session, bytes, size);
    sim->port.put(sim->port.owner, session, channel, bytes, size);
}

static void port_refuse(void *owner, struct port_session session, enum arb_refusal reason)
{
    struct sim *sim = owner;
    sim_spectator_leaves(sim->checks, session);
    sim->port.refuse(sim->port.owner, session, reason);
}

static void port_flush(void *owner)
{
    struct sim *sim = owner;
    sim->port.flush(sim->port.owner);
}

struct match_port sim_checks_port(struct sim *sim)
{
    return (struct match_port){sim, port_take, port_put, port_refuse, port_flush};
}

/* ---- who is who ---- */

struct sim_seat *sim_seat_of(struct sim_checks *checks, const struct sim_player *player)
{
    const struct sim_witness *witness = &checks->witnesses[player->index];
    if (!witness->known) return NULL;
    struct sim_seat *seat = &checks->seats[witness->slot];
    return seat->seated && seat->player_id == witness->player_id ? seat : NULL;
}

struct sim_witness *sim_witness_of(struct sim_checks *checks, const struct sim_seat *seat)
{
    for (uint32_t i = 0; i < checks->sim->player_count; i++) {
        struct sim_witness *witness = &checks->witnesses[i];
        if (witness->known && witness->player_id == seat->player_id) return witness;
    }
    return NULL;
}

void sim_checks_connection(struct sim *sim, struct sim_player *player)
{
    if (sim->checks == NULL) return;
    struct sim_witness *witness = &sim->checks->witnesses[player->index];
    uint16_t *generations = witness->generations;
    struct sim_wait *waits = witness->waits;
    uint64_t heard_us = witness->heard_us; /* trying again is not hearing */
    memset(witness, 0, sizeof *witness);
    memset(generations, 0, sim->checks->entities * sizeof *generations);
    memset(waits, 0, sim->checks->entities * sizeof *waits);
    witness->generations = generations;
    witness->waits = waits;
    witness->session = UINT16_MAX;
    witness->heard_us = player->connection == 0 ? sim->now_us : heard_us;
    sim_rewind_connection(sim->checks, player);
}

static void recognise(struct sim_checks *checks, struct sim_player *player)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    const struct arb_client_match *match = &player->client->match;
    if (!witness->known && match->known) {
        witness->known = true;
        witness->heard_us = checks->sim->now_us;
        witness->player_id = match->welcome.player_id;
        witness->slot = match->welcome.player_slot;
        if (player->is_spectator) {
            witness->slot = sim_spectator_seat(checks, player);
            witness->player_id = checks->seats[witness->slot].player_id;
        }
        /* A spectator's may lie before 0, and its own ticks then 2^32 higher: it all wraps. */
        arb_tick now = match_tick(checks->sim->match);
        int32_t off = (int32_t)(match->welcome.tick - (uint32_t)now);
        witness->base = now + (arb_tick)(int64_t)off - match->welcome.tick;
        for (uint32_t i = 0; i < checks->sim->sessions; i++) {
            if (checks->sessions[i].player_id == witness->player_id) witness->session = (uint16_t)i;
        }
    }
    /* The server has given the place away: what it put there since is not for this client. */
    if (witness->session != UINT16_MAX &&
        checks->sessions[witness->session].player_id != witness->player_id) {
        witness->session = UINT16_MAX;
    }
}

/* ---- when ---- */

void sim_checks_turn(struct sim *sim, const struct sim_player *player)
{
    if (sim->checks != NULL) sim_memory_begin(sim->checks, player);
}

void sim_checks_after_server(struct sim *sim)
{
    if (sim->checks != NULL) sim_memory_server(sim->checks);
}

void sim_checks_after_tick(struct sim *sim)
{
    struct sim_checks *checks = sim->checks;
    sim_frames_publish(checks);
    sim_rerun_look(checks);
    sim_journal_look(checks);
    sim_inputs_after_tick(checks);
    sim_prediction_look(checks);
    sim_scores_look(checks);
    sim_protocol_look(checks);
    if (checks->close_look) sim_inputs_look(checks);
    checks->close_look = arb_rng_below(&checks->rng, CLOSE_LOOK_EVERY) == 0;
    sim_synctest_look(checks);
}

void sim_checks_finish(struct sim *sim)
{
    if (sim->checks != NULL) sim_journal_finish(sim->checks);
}

void sim_checks_after_frame(struct sim *sim, struct sim_player *player,
                            const struct arbiter_view *view)
{
    struct sim_checks *checks = sim->checks;
    sim_memory_client(checks, player);
    recognise(checks, player);
    sim_frames_look(checks, player, view);
    sim_inputs_made(checks, player);
    sim_corrections_look(checks, player);
    sim_protocol_client(checks, player);
    sim_events_look(checks, player, view);
    sim_views_look(checks, player, view);
    if (!player->is_spectator) sim_rewind_look(checks, player, view);
    sim_progress_look(checks, player);
}
