/* Creation of a match from its numbers, and what is asked of it from outside. */
#include "server/match/match.h"

#include "server/match/match_past.h"
#include "server/match/rollback_internal.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

enum { CONTACTS_PER_ENTITY = 4 };

/* Radius r of interest's exact test: what of a kind reaches farthest from its place or from a point
 * of its body. */
static float reach_of(const struct collide_kind *collide, const struct rewind_kind *rewind)
{
    float reach = collide->body_radius;
    for (uint8_t i = 0; i < rewind->count; i++) {
        const struct rewind_shape *shape = &rewind->shapes[i];
        float a = arb_vec2_length(shape->a);
        float b = arb_vec2_length(shape->b);
        float farthest = (a > b ? a : b) + shape->radius;
        reach = farthest > reach ? farthest : reach;
    }
    return reach;
}

/* Ticks whose states and records are kept: with a window one more than it, of which the journal is
 * told when it is settled. */
static uint32_t back_ticks(const struct match_config *config)
{
    int32_t window = config->rollback_window_ticks > 0 ? config->rollback_window_ticks + 1 : 0;
    return (uint32_t)(window > config->back_ticks ? window : config->back_ticks);
}

static void create_parts(struct match *match, struct arb_arena *arena,
                         const struct world_capacity *capacity, const void *params)
{
    const struct match_config *config = &match->config;
    const struct rules *rules = match->rules;
    struct collide_kind collide_kinds[ARB_KINDS_MAX] = {0};
    struct rewind_kind rewind_kinds[ARB_KINDS_MAX] = {0};
    uint32_t points = (uint32_t)capacity->bodies * capacity->body_points;
    rules->collide_kinds(params, collide_kinds);
    rules->rewind_kinds(params, rewind_kinds);
    match->collide = collide_create(arena, collide_kinds, rules->schema->kind_count, capacity,
                                    CONTACTS_PER_ENTITY * capacity->entities);
    match->rewind =
        rewind_create(arena,
                      &(struct rewind_config){
                          .schema = rules->schema,
                          .kinds = rewind_kinds,
                          .tick_rate = (uint32_t)config->tick_rate,
                          .max_rewind_ms = (uint32_t)config->lagcomp.max_rewind_ms,
                          .window_ticks = (uint32_t)config->rollback_window_ticks,
                          .back_ticks = back_ticks(config),
                          .snapshot_interval_ticks = (uint32_t)config->snapshot_interval_ticks,
                          .entity_capacity = capacity->entities,
                          .point_capacity = points,
                          .player_capacity = capacity->players,
                      },
                      match->geometry);
    struct interest_config interest = {.schema = rules->schema,
                                       .tick_rate = (uint32_t)config->tick_rate,
                                       .cell_m = config->interest_cell_m,
                                       .enter_m = config->interest_enter_m,
                                       .retain_m = config->interest_retain_m,
                                       .viewer_capacity =
                                           capacity->players + spectators_viewers(config),
                                       .entity_capacity = capacity->entities,
                                       .point_capacity = points};
    for (uint8_t kind = 0; kind < rules->schema->kind_count; kind++) {
        interest.radius_of_kind[kind] = reach_of(&collide_kinds[kind], &rewind_kinds[kind]);
    }
    match->interest = interest_create(arena, &interest);
    if (config->interest_line_of_sight) {
        match->sight = interest_sight_create(arena, &(struct interest_sight_config){
                                                        .schema = rules->schema,
                                                        .geometry = match->geometry,
                                                        .margin_m = config->interest_sight_margin_m,
                                                        .tick_rate = (uint32_t)config->tick_rate,
                                                        .viewer_capacity = capacity->players,
                                                        .entity_capacity = capacity->entities,
                                                    });
    }
    struct replicate_config replicate = {
        .schema = rules->schema,
        .rewind = match->rewind,
        .client_capacity = capacity->players + spectators_clients(config),
        .tick_rate = (uint32_t)config->tick_rate,
        .interval_ticks = (uint32_t)config->snapshot_interval_ticks,
        .chunk_payload_bytes = (uint32_t)config->snapshot_chunk_payload_bytes,
        .budget_bytes_per_s = (uint32_t)config->snapshot_budget_bytes_per_s,
        .entity_capacity = capacity->entities,
        .point_capacity = points,
        .far_m = config->snapshot_far_m,
        .far_every = (uint32_t)config->snapshot_far_every,
        .parity = config->snapshot_parity};
    match->rollback = rollback_create(match, arena, capacity->entities, points);
    if (match->rollback != NULL) {
        replicate.frames = (struct replicate_frames){rollback_sent, match->rollback};
    }
    match->replicate = replicate_create(arena, &replicate);
    match->spectators = spectators_create(match, arena, &interest, &replicate);
}

static void create_arrays(struct match *match, struct arb_arena *arena, uint16_t players)
{
    uint32_t entities = match->world.head->entity_capacity;
    for (uint32_t team = 0; team < MATCH_TEAMS; team++) {
        match->always[team] = arb_arena_take_array(arena, entities, sizeof match->always[team][0]);
    }
    match->always_mine = arb_arena_take_array(arena, entities + 1, sizeof match->always_mine[0]);
    match->seats = arb_arena_take_array(arena, players, sizeof match->seats[0]);
    match->applied = arb_arena_take_array(arena, players, sizeof match->applied[0]);
    match->consumed = arb_arena_take_array(arena, players, sizeof match->consumed[0]);
    match->origin_control = arb_arena_take_array(arena, players, sizeof match->origin_control[0]);
    match->shot_edges_carried =
        arb_arena_take_array(arena, players, sizeof match->shot_edges_carried[0]);
    match->moved = arb_arena_take_array(arena, players, sizeof match->moved[0]);
    match->shots = arb_arena_take_array(arena, players, sizeof match->shots[0]);
    match->mercies = arb_arena_take_array(arena, players, sizeof match->mercies[0]);
    match->shelters = arb_arena_take_array(arena, players, sizeof match->shelters[0]);
    /* In one tick every slot can be left and asked for again; what is more waits for the next one.
     */
    match->command_capacity = 2U * players;
    match->commands =
        arb_arena_take_array(arena, match->command_capacity, sizeof match->commands[0]);
    match->record_capacity = match_record_capacity(match);
    match_record_create(&match->record, arena, &match->record_capacity);
    uint32_t commands = match->record_capacity.commands;
    match->joined = arb_arena_take_array(arena, commands, sizeof match->joined[0]);
    match->left = arb_arena_take_array(arena, commands, sizeof match->left[0]);
    scores_create(&match->scores, arena, players);
    news_create(&match->news, arena, match_news_capacity(players));
    news_create(&match->standing, arena, players);
    match->events.capacity = rules_events_capacity(players);
    match->events.list =
        arb_arena_take_array(arena, match->events.capacity, sizeof match->events.list[0]);
    rules_flights_create(&match->flights, arena, players);
    match->archive_capacity = MATCH_LINES_MAX - players;
    match->archive = arb_arena_take_array(arena, match->archive_capacity, sizeof match->archive[0]);
    uint32_t size = (uint32_t)match->config.input_buffer_ticks + 1;
    for (uint16_t slot = 0; slot < players; slot++) {
        struct input_buffer *buffer = &match->seats[slot].buffer;
        buffer->size = size;
        buffer->entries = arb_arena_take_array(arena, size, sizeof buffer->entries[0]);
        inputs_reset(buffer);
    }
    views_create(match, arena);
}

struct match *match_create(struct arb_arena *arena, const struct match_config *config,
                           const struct rules *rules, const void *params, const struct map *map,
                           const struct arb_geometry *geometry, const uint8_t match_id[16],
                           const struct match_port *port)
{
    ARB_ASSERT(config->seed.set);
    struct match *match = arb_arena_take(arena, sizeof *match);
    match->config = *config;
    match->rules = rules;
    match->map = map;
    match->geometry = geometry;
    if (port != NULL) {
        match->port = *port;
    }
    memcpy(match->match_id, match_id, sizeof match->match_id);
    match->fairness.max_rewind_ms = (uint32_t)config->lagcomp.max_rewind_ms;
    numbers_create(match, arena, params);
    rules->move_params(params, (uint32_t)config->tick_rate, &match->move);

    struct world_capacity capacity = {.players = (uint16_t)config->max_players};
    rules->capacity(params, map, (uint32_t)config->max_players, &capacity);
    match->first_tick = config->first_tick.set ? config->first_tick.value : 1;
    world_create(&match->world, arena, &capacity, config->seed.value, match->first_tick);
    ARB_ASSERT(rules->state != NULL || capacity.rules_bytes == 0);
    if (rules->state != NULL) {
        struct arb_form_part parts[WORLD_RULES_PARTS];
        uint32_t count = rules->state(params, map, capacity.players, parts);
        world_set_rules_parts(&match->world, parts, count);
    }
    create_arrays(match, arena, capacity.players);
    outcome_create(match, arena);
    create_parts(match, arena, &capacity, params);
    match->scratch_bytes = announce_scratch_bytes(geometry);
    match->scratch = arb_arena_take(arena, match->scratch_bytes);
    match->configuration_hash = match_configuration_hash(config, rules, params, map);
    match_save_create(match, arena);
    if (back_ticks(config) > 0) match->past = match_past_create(arena, match, back_ticks(config));
    match->context = (struct rules_context){
        .world = &match->world,
        .params = match->numbers.params,
        .map = map,
        .geometry = geometry,
        .move = &match->move,
        .collide = match->collide,
        .rewind = match->rewind,
        .tick_rate = (uint32_t)config->tick_rate,
        .catchup_ticks = arb_ms_to_ticks((uint32_t)config->lagcomp.projectile_catchup_ms,
                                         (uint32_t)config->tick_rate),
        .events = &match->events,
        .flights = &match->flights,
        .crowd = rules_crowd_create(arena, capacity.players),
    };
    return match;
}

void match_destroy(struct match *match)
{
    rewind_destroy(match->rewind);
}

arb_tick match_tick(const struct match *match)
{
    return match->world.head->tick;
}

uint64_t match_checksum(const struct match *match)
{
    return match->checksum;
}

enum arb_phase match_phase(const struct match *match)
{
    return (enum arb_phase)match->world.head->phase;
}

bool match_decided(const struct match *match)
{
    return match->decided && match->decided_ticks != 0 &&
           match->decided_tick < match_settled(match);
}

bool match_ended(const struct match *match)
{
    return match->world.head->phase == ARB_PHASE_ENDED && match->ended_tick < match_settled(match);
}

void match_was_late(struct match *match, uint32_t late_ms)
{
    match->late_ms = late_ms > match->late_ms ? late_ms : match->late_ms;
}

void match_abort(struct match *match, enum arb_end_reason reason)
{
    match->abort_asked = true;
    match->abort_reason = (uint8_t)reason;
}

const struct world *match_world(const struct match *match)
{
    return &match->world;
}

const struct rewind *match_rewind(const struct match *match)
{
    return match->rewind;
}

const struct replicate *match_replicate(const struct match *match)
{
    return match->replicate;
}

uint32_t match_present_count(const struct match *match)
{
    return match->present;
}

void match_add_player(struct match *match, const char *name)
{
    ARB_ASSERT(match->command_count < match->command_capacity);
    struct match_command *command = &match->commands[match->command_count++];
    *command = (struct match_command){.type = MATCH_COMMAND_JOIN, .session = {UINT16_MAX, 0}};
    strncpy(command->name, name, sizeof command->name - 1);
}

void match_set_input(struct match *match, uint16_t slot, const struct arb_input *input)
{
    ARB_ASSERT(slot < match->world.head->player_capacity);
    match->applied[slot] = *input;
}

void match_observe(struct match *match, const struct match_observer *observer)
{
    match->observer = observer != NULL ? *observer : (struct match_observer){0};
}

static void result_player(struct match_result *out, const struct world_player *player)
{
    out->players[out->player_count] = (struct match_result_player){
        .player_id = player->player_id,
        .team = player->team,
        .score = player->score,
        .kills = player->kills,
        .deaths = player->deaths,
        .deaths_by_nobody = player->deaths_by_nobody,
    };
    memcpy(out->players[out->player_count].name, player->name, sizeof player->name);
    out->player_count++;
}

/* Insertion sort: the archive is nearly in order, and this runs once. */
static void sort_by_id(struct match_result *out)
{
    for (uint32_t i = 1; i < out->player_count; i++) {
        struct match_result_player moving = out->players[i];
        uint32_t at = i;
        while (at > 0 && out->players[at - 1].player_id > moving.player_id) {
            out->players[at] = out->players[at - 1];
            at--;
        }
        out->players[at] = moving;
    }
}

void match_get_result(const struct match *match, struct match_result *out)
{
    ARB_ASSERT(match_decided(match));
    memset(out, 0, sizeof *out);
    memcpy(out->match_id, match->match_id, sizeof out->match_id);
    strncpy(out->mode, match->rules->name, sizeof out->mode - 1);
    out->seed = match->config.seed.value;
    out->ticks = match->decided_ticks;
    out->end_reason = (enum arb_end_reason)match->world.head->end_reason;
    out->checksum = match->decided_checksum;
    out->fairness = match->fairness;
    out->views = match->view_totals;
    for (uint32_t i = 0; i < match->archive_count; i++) {
        result_player(out, &match->archive[i]);
    }
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        const struct world_player *player = &match->world.players[slot];
        bool stays = player->presence == WORLD_PRESENT || player->presence == WORLD_AWAY;
        bool played = player->presence == WORLD_LEFT || (stays && match->seats[slot].played);
        if (played) {
            result_player(out, player);
        }
    }
    sort_by_id(out);
}

const struct match_fairness *match_fairness(const struct match *match)
{
    return &match->fairness;
}

struct match_drops match_drops(const struct match *match)
{
    return (struct match_drops){
        .events = match->events.dropped,
        .contacts = collide_dropped(match->collide),
        .joins = match->joins_refused,
        .spectators = match->spectators_refused,
        .spectator_events = match->spectators != NULL ? match->spectators->events_dropped : 0,
    };
}

void match_get_counts(const struct match *match, uint16_t slot, struct arb_counts *out)
{
    ARB_ASSERT(slot < match->world.head->player_capacity);
    *out = match->seats[slot].counts;
}
