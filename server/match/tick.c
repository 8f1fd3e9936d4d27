/* The tick. Stages 2 to 8 are a pure function of the state, the commands and one input per player;
 * 1 and 9 reach the network through the port (spec/simulation.md "Stages of tick t"). During the
 * stages head->tick is t: the state was S[t] and becomes S[t+1], which is published as tick t. */
#include "server/match/match_past.h"
#include "server/match/rollback_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

/* ---- stage 1: receive ---- */

static uint16_t slot_of(const struct match *match, struct port_session session)
{
    ARB_ASSERT(session.index < MATCH_SESSIONS_MAX);
    uint16_t slot = match->slot_of_session[session.index];
    const struct match_seat *seat = &match->seats[slot];
    bool here = match_is_heard(match, slot) && seat->session.index == session.index &&
                seat->session.epoch == session.epoch;
    return here ? slot : ARB_NO_SLOT;
}

static void queue_command(struct match *match, const struct match_command *command)
{
    ARB_ASSERT(match->command_count < match->command_capacity);
    match->commands[match->command_count++] = *command;
}

/* A session that leaves before its join was carried out: neither happens. */
static void cancel_join(struct match *match, struct port_session session)
{
    for (uint32_t i = 0; i < match->command_count; i++) {
        struct match_command *command = &match->commands[i];
        bool comes = command->type == MATCH_COMMAND_JOIN || command->type == MATCH_COMMAND_RETURN;
        if (comes && command->session.index == session.index &&
            command->session.epoch == session.epoch) {
            /* The others stay in order of arrival: places are given in it. */
            uint32_t behind = --match->command_count - i;
            memmove(command, command + 1, behind * sizeof *command);
            return;
        }
    }
}

static bool ends_session(const struct port_message *message)
{
    return message->type == PORT_LEAVE || message->type == PORT_LOST;
}

static void stage_receive(struct match *match)
{
    struct port_message message;
    arb_tick now = match->world.head->tick;
    returns_expire(match);
    while (match->command_count < match->command_capacity &&
           match->port.take(match->port.owner, &message)) {
        uint16_t slot = slot_of(match, message.session);
        if (message.type == PORT_SPECTATE) {
            spectators_wish(match, message.session, &message.spectate);
        } else if (message.type == PORT_JOIN && message.role == ARB_ROLE_SPECTATOR) {
            spectators_join(match, &message);
        } else if (ends_session(&message) && spectators_leave(match, message.session)) {
            continue;
        } else if (message.type == PORT_JOIN) {
            struct match_command command = returns_command(match, &message);
            queue_command(match, &command);
        } else if (ends_session(&message) && slot != ARB_NO_SLOT) {
            returns_end_session(match, slot, message.type == PORT_LOST);
        } else if (ends_session(&message)) {
            cancel_join(match, message.session);
        } else if (message.type == PORT_INPUTS && slot != ARB_NO_SLOT) {
            replicate_expect_ack(match->replicate, slot, message.inputs.ack_snapshot);
            inputs_expect_packet(match, slot);
            /* The acknowledgements first: the views of its inputs are drawn from them. */
            if (message.inputs.has_ack) {
                replicate_ack(match->replicate, slot, message.inputs.ack_snapshot,
                              message.inputs.ack_mask, now);
            }
            views_packet(match, slot, &message.inputs, now);
            inputs_add(match, slot, &message.inputs, now);
        }
    }
    if (match->rollback != NULL) rollback_run(match);
}

/* ---- stage 2: begin ---- */

static void stage_begin(struct match *match)
{
    match->events.count = 0;
    match->shot_count = 0;
    match->contact_count = 0;
    match->flights.count = 0;
    match->flights.landing_count = 0;
}

/* ---- stage 3: inputs ---- */

static void stage_inputs(struct match *match)
{
    inputs_late(match);
    life_commands(match);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        inputs_expect(match, slot);
        if (match->seats[slot].seated && match->seats[slot].has_session) {
            inputs_take(match, slot, match->world.head->tick);
        }
    }
}

/* ---- stage 4: move ---- */

/* Another character begins no path at the place of the one before, even where no tick lies between
 * them. */
static void record_origin(struct match *match, uint16_t slot)
{
    const struct world_player *player = &match->world.players[slot];
    if (match->origin_control[slot] != player->control) {
        match->origin_control[slot] = player->control;
        rewind_drop_origins(match->rewind, slot);
    }
    if (match->consumed[slot]) {
        rewind_record_origin(match->rewind, slot, match->applied[slot].sequence,
                             match->world.head->tick,
                             (struct arb_vec2){player->own.x, player->own.y});
    }
}

static void move_player(struct match *match, uint16_t slot)
{
    struct world *world = &match->world;
    struct world_player *player = &world->players[slot];
    struct rules_moved *moved = &match->moved[slot];
    struct world_entity *entity = world_find(world, player->controlled);
    moved->stepped = entity != NULL;
    if (entity == NULL) {
        return;
    }
    moved->buttons = match->applied[slot].buttons;
    moved->edges = match->applied[slot].edges;
    struct arb_own *own = &player->own;
    entity->previous_x = own->x;
    entity->previous_y = own->y;
    arb_move_step(own, &match->applied[slot], &match->move, match->geometry, &moved->report);
    entity->x = own->x;
    entity->y = own->y;
    entity->vx = own->vx;
    entity->vy = own->vy;
    entity->heading = own->heading;
    if (entity->body != WORLD_NO_BODY) {
        world_body_advance(world, entity->body,
                           (struct arb_vec2){entity->previous_x, entity->previous_y},
                           (struct arb_vec2){entity->x, entity->y});
    }
    record_origin(match, slot);
}

static void stage_move(struct match *match)
{
    enum { AHEAD = 4 }; /* players */
    uint16_t players = match->world.head->player_capacity;
    for (uint16_t slot = 0; slot < players; slot++) {
        if (slot + AHEAD < players) {
            uint16_t next = (uint16_t)(slot + AHEAD);
            __builtin_prefetch(&match->world.entities[match->world.players[next].controlled.id], 1);
            rewind_expect_origin(match->rewind, next, match->applied[next].sequence);
        }
        move_player(match, slot);
    }
}

/* ---- stage 5: collide ---- */

static void stage_collide(struct match *match)
{
    if (match->world.head->phase == ARB_PHASE_LIVE) {
        collide_refit(match->collide, &match->world);
        match->contacts = collide_contacts(match->collide, &match->world, &match->contact_count);
    }
}

/* ---- stage 6: fire ---- */

/* A press that was carried over keeps its own aim; the present origin is right for it. */
static struct arb_vec2 shot_direction(const struct match *match, uint16_t slot)
{
    const struct world_player *player = &match->world.players[slot];
    float angle = match->shot_edges_carried[slot] ? arb_turn16_to_angle(player->carried_aim)
                                                  : player->own.heading;
    return arb_move_direction(angle);
}

/* False: an input without a record, from the present place. */
static bool shot_origin(const struct match *match, uint16_t slot, struct arb_vec2 *origin)
{
    const struct world_player *player = &match->world.players[slot];
    const struct arb_input *input = &match->applied[slot];
    *origin = (struct arb_vec2){player->own.x, player->own.y};
    return !match->consumed[slot] || match->shot_edges_carried[slot] ||
           rewind_origin(match->rewind, slot, input->sequence, input->muzzle_fraction, origin);
}

/* The late press of before keeps its own view. */
static void find_past(struct match *match, uint16_t slot, struct rules_shot *shot,
                      struct view_past *past)
{
    const struct match_seat *seat = &match->seats[slot];
    bool carried = match->shot_edges_carried[slot] != 0;
    const struct match_record_input *entry = carried ? &seat->carried : &seat->taken;
    shot->claimed = entry->claimed;
    shot->verdict = entry->verdict;
    shot->late = carried;
    shot->repeated = !match->consumed[slot];
    views_past(match, slot,
               carried ? &match->world.players[slot].carried_view : &match->applied[slot].view,
               past);
    shot->slow = past->slow;
}

/* Its client knows the shot by the input that it made for it: the late one of a press that was
 * carried over, and where none came the one that should have. */
static uint16_t action_of(const struct match *match, uint16_t slot)
{
    const struct world_player *player = &match->world.players[slot];
    if (match->shot_edges_carried[slot] != 0) {
        return player->carried_action;
    }
    return (uint16_t)(player->last.sequence + (match->consumed[slot] ? 0 : player->hold_ticks));
}

/* Its view was refused: rays meet nobody, and what would fly does not leave. */
static bool meets_nobody(const struct match *match, const struct view_past *past)
{
    struct arb_view present = rewind_present(match->rewind);
    return past->pairs != NULL && past->pair_count == 0 &&
           memcmp(&past->view, &present, sizeof present) == 0;
}

static void fire_player(struct match *match, uint16_t slot)
{
    const struct world_player *player = &match->world.players[slot];
    struct rules_shot *shot = &match->shots[match->shot_count];
    memset(shot, 0, offsetof(struct rules_shot, pellets));
    shot->slot = slot;
    shot->shooter = player->controlled;
    shot->weapon = player->own.weapon;
    shot->sequence = match->applied[slot].sequence;
    shot->action = action_of(match, slot);
    struct view_past past;
    find_past(match, slot, shot, &past);
    struct rewind_ray base = {
        .shooter = player->controlled,
        .shooter_team = player->team,
        .direction = shot_direction(match, slot),
        .view = past.view,
        .pairs = past.pairs,
        .pair_count = past.pair_count,
        .later = past.later,
    };
    bool origin_known = shot_origin(match, slot, &base.origin);
    base.mercy = fairness_mercy(match, base.origin);
    for (uint32_t i = 0; i < RULES_PELLETS_MAX; i++) {
        shot->rays[i] = base;
    }
    match->rules->shoot(&match->context, shot);
    if (meets_nobody(match, &past)) {
        shot->projectile_count = 0;
    }
    ARB_ASSERT(shot->pellet_count <= RULES_PELLETS_MAX);
    rewind_resolve_shots(match->rewind, shot->rays, shot->pellet_count, shot->pellets);
    views_count_shot(match, slot, shot, origin_known);
    fairness_count(match, shot);
    match->shot_count++;
}

/* In order of slot: all of this tick's shots are resolved before any of them has an effect, so
 * whoever is killed by one of them still fires the shot that had left (trades happen). */
static void stage_fire(struct match *match)
{
    if (match->rules->shoot == NULL || rewind_newest(match->rewind) == NULL) {
        return;
    }
    fairness_begin(match);
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        if (match->moved[slot].stepped && match->moved[slot].report.fired) {
            fire_player(match, slot);
        }
    }
    const struct match_observer *observer = &match->observer;
    if (observer->shots != NULL && match->shot_count > 0) {
        observer->shots(observer->owner, match->shots, match->shot_count);
    }
}

/* ---- stage 7: rules ---- */

static void look_at_flights(struct match *match)
{
    const struct match_observer *observer = &match->observer;
    fairness_count_flights(match);
    if (observer->flown != NULL && match->flights.count > 0) {
        observer->flown(observer->owner, match->shots, &match->flights);
    }
}

static void stage_rules(struct match *match)
{
    struct world *world = &match->world;
    bool was_live = world->head->phase == ARB_PHASE_LIVE;
    life_begin_rules(match);
    if (was_live && world->head->phase == ARB_PHASE_LIVE) {
        const struct rules *rules = match->rules;
        rules->moved(&match->context, match->moved);
        rules->shots(&match->context, match->shots, match->shot_count);
        look_at_flights(match);
        rules->contacts(&match->context, match->contacts, match->contact_count);
        rules->update(&match->context);
    }
    life_end_rules(match);
    world_settle(world);
}

/* ---- stage 8: commit ---- */

static void publish_body(struct match *match, const struct world_entity *entity, float unit,
                         struct arb_frame *frame, struct arb_published *out)
{
    const struct world *world = &match->world;
    struct arb_vec2 points[ARB_BODY_POINTS_MAX];
    uint32_t count =
        world_body_points(world, entity->body, (struct arb_vec2){entity->x, entity->y}, points);
    out->body_first = frame->point_count;
    out->body_count = (uint16_t)count;
    struct arb_point *quantised = &frame->points[frame->point_count];
    for (uint32_t i = 0; i < count; i++) {
        quantised[i] =
            (struct arb_point){arb_quantise(points[i].x, unit, INT32_MIN / 2, INT32_MAX / 2),
                               arb_quantise(points[i].y, unit, INT32_MIN / 2, INT32_MAX / 2)};
    }
    frame->point_count += count;
}

/* Quantised once, at one instant, after everything moved: the published frame is also the hitbox
 * sample. */
static void publish(struct match *match)
{
    const struct world *world = &match->world;
    struct arb_frame *frame = rewind_begin_frame(match->rewind, world->head->tick);
    frame->entity_count = 0;
    frame->point_count = 0;
    for (uint32_t id = 0, seen = 0; seen < world->head->entity_count; id++) {
        ARB_ASSERT(id < world->head->entity_capacity);
        const struct world_entity *entity = &world->entities[id];
        if (!entity->alive) {
            continue;
        }
        seen++;
        const struct arb_kind *kind = &match->rules->schema->kinds[entity->kind];
        struct arb_published *out = &frame->entities[frame->entity_count++];
        memset(out, 0, sizeof *out);
        out->key = world_key(world, entity);
        out->kind = entity->kind;
        match->rules->publish(&match->context, entity, out->q);
        if (entity->body != WORLD_NO_BODY) {
            publish_body(match, entity, kind->fields[kind->x].unit, frame, out);
        }
    }
    rewind_commit(match->rewind);
}

/* Per team, the keys that its members always see: team mates' characters and what is marked always
 * relevant; ascending, because entities are. */
static void list_always(struct match *match)
{
    const struct world *world = &match->world;
    memset(match->always_count, 0, sizeof match->always_count);
    for (uint32_t id = 0, seen = 0; seen < world->head->entity_count; id++) {
        const struct world_entity *entity = &world->entities[id];
        if (!entity->alive) continue;
        seen++;
        bool marked = (entity->flags & WORLD_ENTITY_ALWAYS_RELEVANT) != 0;
        bool of_player = entity->owner != ARB_NO_SLOT;
        for (uint32_t team = 0; team < MATCH_TEAMS; team++) {
            if (marked || (of_player && team != 0 && entity->team == team)) {
                match->always[team][match->always_count[team]++] = world_key(world, entity);
            }
        }
    }
}

/* What delayed spectators will be shown of a tick that is run again. */
static void keep_scene_again(struct match *match)
{
    const struct arb_frame *frame = rewind_newest(match->rewind);
    if (match->spectators == NULL || match->spectators->delay == 0 ||
        frame->tick < match->announced) {
        return;
    }
    list_always(match);
    spectators_keep(match, frame);
}

static void stage_commit(struct match *match)
{
    struct world_head *head = match->world.head;
    publish(match);
    for (uint32_t i = 0; i < match->events.count; i++) {
        match->events.list[i].event.tick = (uint32_t)head->tick;
    }
    head->tick++;
    match->checksum = match_state_checksum(match);
    if (match->decided && match->decided_ticks == 0) {
        match->decided_ticks = head->tick - match->first_tick;
        match->decided_checksum = match->checksum;
    }
    if (match->rollback == NULL) return;
    outcome_note(match);
    if (match->plays) keep_scene_again(match);
}

static void keep_past(struct match *match)
{
    if (match->past != NULL) match_past_keep(match->past, match);
    if (match->rollback != NULL) {
        rollback_settle(match);
    } else {
        outcome_note(match);
    }
}

/* ---- stage 9: replicate ---- */

uint32_t match_merge_key(const struct arb_key *keys, uint32_t count, struct arb_key key,
                         struct arb_key *out)
{
    bool due = !arb_key_is_none(key);
    uint32_t own = arb_key_order(key), used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t order = arb_key_order(keys[i]);
        if (due && own <= order) {
            due = false;
            if (own < order) out[used++] = key;
        }
        out[used++] = keys[i];
    }
    if (due) out[used++] = key;
    return used;
}

/* The list of the viewer's team with its own character in its place. */
static const struct arb_key *always_of(struct match *match, uint16_t slot, uint32_t *count)
{
    const struct world_player *player = &match->world.players[slot];
    *count = match_merge_key(match->always[player->team], match->always_count[player->team],
                             player->controlled, match->always_mine);
    return match->always_mine;
}

static void send_snapshot(struct match *match, uint16_t slot, const struct arb_frame *frame)
{
    struct match_seat *seat = &match->seats[slot];
    const struct world_player *player = &match->world.players[slot];
    bool has_character = !arb_key_is_none(player->controlled);
    if (has_character) {
        seat->eye = (struct arb_vec2){player->own.x, player->own.y};
    }
    uint32_t always_count, near_count;
    const struct arb_key *always = always_of(match, slot, &always_count);
    const uint32_t *near =
        interest_update(match->interest, slot, seat->eye, always, always_count, &near_count);
    const uint32_t *visible = near;
    uint32_t count = near_count;
    if (match->sight != NULL) {
        visible = interest_sight_cull(match->sight, slot, seat->eye, frame, near, near_count,
                                      always, always_count, &count);
    }
    if (match->observer.snapshot != NULL) {
        struct match_sight sight = {.session = seat->session,
                                    .slot = slot,
                                    .frame = frame,
                                    .eye = seat->eye,
                                    .near = near,
                                    .near_count = near_count,
                                    .visible = visible,
                                    .count = count};
        match->observer.snapshot(match->observer.owner, &sight);
    }
    struct replicate_client client = {
        .session = seat->session,
        .client = slot,
        .own = has_character ? &player->own : NULL,
        .controlled = player->controlled,
        .control = player->control,
        .starved_ticks = player->starved_ticks,
        .outside_changes = player->outside_changes,
        .last_sequence = player->last_sequence,
        .buffer_ticks = seat->buffer.worst_lead,
    };
    replicate_send(match->replicate, &client, frame, match_settled(match) - 1, seat->eye, visible,
                   count, &match->port);
    seat->buffer.worst_lead = MATCH_NO_LEAD;
}

/* Who acknowledges nothing of what it is sent is told, and away with the next tick. */
static void cut_deaf(struct match *match, uint16_t slot)
{
    if (match->command_count == match->command_capacity) return; /* in a later one then */
    match->port.refuse(match->port.owner, match->seats[slot].session, ARB_REFUSED_PROTOCOL);
    returns_end_session(match, slot, true);
}

static void stage_replicate(struct match *match)
{
    announce(match);
    const struct arb_frame *frame = rewind_newest(match->rewind);
    if (frame->tick % (arb_tick)match->config.snapshot_interval_ticks == 0) {
        if (match->rollback != NULL) frame = rollback_send(match);
        list_always(match);
        interest_build(match->interest, frame);
        replicate_begin(match->replicate, frame);
        first_views_begin(match);
        for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
            if (match_is_welcomed(match, slot)) {
                uint16_t next[] = {(uint16_t)(slot + 1), (uint16_t)(slot + 2),
                                   (uint16_t)(slot + 3)};
                replicate_expect(match->replicate, next);
                if (!first_views_may_send(match, slot)) continue;
                send_snapshot(match, slot, frame);
                if (replicate_in_vain(match->replicate, slot)) cut_deaf(match, slot);
            }
        }
    }
    spectators_publish(match, frame);
    match->port.flush(match->port.owner);
}

/* ---- the tick ---- */

/* Behind a restore, or ticks that were played, nothing of before is there to go back to. */
static void begin_live(struct match *match)
{
    arb_tick now = match->world.head->tick;
    if (match->rollback != NULL) {
        rollback_begin(match);
    } else {
        match->announced = now;
    }
    if (match->past != NULL && match_past_newest(match->past) != now) {
        match_past_begin(match->past, match);
    }
}

void tick_run(struct match *match, enum tick_mode mode)
{
    ARB_ASSERT(!match->plays || mode == TICK_RERUN);
    record_begin(match);
    if (mode == TICK_LIVE) {
        begin_live(match);
        stage_receive(match);
    }
    stage_begin(match);
    stage_inputs(match);
    stage_move(match);
    stage_collide(match);
    stage_fire(match);
    stage_rules(match);
    stage_commit(match);
    if (mode == TICK_LIVE) {
        keep_past(match);
        stage_replicate(match);
    }
    match->plays = false;
}
