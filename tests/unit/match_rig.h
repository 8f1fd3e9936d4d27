/* Rig of the tests of server/match: a mode that only walks, a port that records, and a match of
 * both. Each test runs in a process of its own (Criterion), so statics are enough.
 */
#ifndef MATCH_RIG_H
#define MATCH_RIG_H

#include "server/match/match_internal.h"
#include "shared/base/arb_math.h"
#include "shared/proto/arb_delta.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- a mode that only walks ---- */

static bool end_early;
static uint16_t scoring_slot = ARB_NO_SLOT; /* gains a point in each live tick */
static uint16_t dying_slot = ARB_NO_SLOT;   /* dies in the next live tick */
static float spawn_gap;

static inline void probe_move_params(const void *params, uint32_t tick_rate,
                                     struct arb_move_params *out)
{
    (void)params;
    *out = (struct arb_move_params){.mover = ARB_MOVER_ARENA,
                                    .tick_rate = (uint16_t)tick_rate,
                                    .radius = 0.4F,
                                    .max_speed = 6.0F,
                                    .acceleration = 60.0F,
                                    .friction = 30.0F,
                                    .weapon_count = 1};
    out->weapons[0] = (struct arb_weapon_step){.interval_ticks = 1};
}

static inline void probe_capacity(const void *params, const struct map *map, uint32_t max_players,
                                  struct world_capacity *out)
{
    (void)params;
    (void)map;
    out->entities = (uint16_t)(2 * max_players);
}

static inline void probe_collide_kinds(const void *params, struct collide_kind kinds[ARB_KINDS_MAX])
{
    (void)params;
    (void)kinds;
}

static inline void probe_rewind_kinds(const void *params, struct rewind_kind kinds[ARB_KINDS_MAX])
{
    (void)params;
    kinds[ARB_ARENA_CHARACTER] =
        (struct rewind_kind){.shapes = {{{0, 0}, {0, 0}, 0.4F, 0}}, .count = 1};
}

static inline void probe_spawn(struct rules_context *context, uint16_t slot)
{
    struct arb_key key = world_spawn(context->world, ARB_ARENA_CHARACTER);
    struct world_entity *entity = world_find(context->world, key);
    entity->owner = slot;
    entity->team = context->world->players[slot].team;
    entity->radius = 0.4F;
    rules_bind(context, slot, key);
    struct arb_own *own = &context->world->players[slot].own;
    own->x = spawn_gap * (float)slot - 40.0F;
    own->weapons = 1;
    entity->x = own->x;
    entity->previous_x = own->x;
}

static inline void probe_round_begin(struct rules_context *context)
{
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        if (context->world->players[slot].presence == WORLD_PRESENT) {
            probe_spawn(context, slot);
        }
    }
}

static inline void probe_player_left(struct rules_context *context, uint16_t slot)
{
    world_remove(context->world, context->world->players[slot].controlled);
    rules_bind(context, slot, ARB_KEY_NONE);
}

static inline void probe_round_end(struct rules_context *context)
{
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        if (!arb_key_is_none(context->world->players[slot].controlled)) {
            probe_player_left(context, slot);
        }
    }
}

/* The newest shot as the engine hands it to the mode; without a range it meets nothing. */
static struct rewind_ray shot_ray;
static float shot_range;

static inline void probe_shoot(struct rules_context *context, struct rules_shot *shot)
{
    (void)context;
    shot->rays[0].range = shot_range;
    shot_ray = shot->rays[0];
    shot->pellet_count = shot_range > 0.0F;
    shot->projectile_count = 1;
}

/* Who is in an ability that gets it out of the way, and since when it shows. */
static uint16_t evading_slot;
static arb_tick evading_since;

static inline bool probe_evades(const struct rules_context *context, uint16_t slot, arb_tick *since)
{
    (void)context;
    *since = evading_since;
    return slot == evading_slot;
}

static inline void probe_moved(struct rules_context *context, const struct rules_moved *moved)
{
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        /* What the tests look at: how many shots left. */
        context->world->players[slot].values[0] += moved[slot].stepped && moved[slot].report.fired;
    }
}

/* This tick's, as the mode gets them in stage 7; of a tick without one, those of before. */
static struct rules_shot shots_seen[8];
static uint32_t shots_count;

/* What else a test's mode does in stage 7. */
static void (*probe_hook)(struct rules_context *context);

static inline void probe_shots(struct rules_context *context, const struct rules_shot *shots,
                               uint32_t count)
{
    if (probe_hook != NULL) {
        probe_hook(context);
    }
    shots_count = count;
    for (uint32_t i = 0; i < count; i++) {
        shots_seen[i] = shots[i];
    }
}

static inline void probe_contacts(struct rules_context *context,
                                  const struct collide_contact *contacts, uint32_t count)
{
    (void)context;
    (void)contacts;
    (void)count;
}

static inline void probe_update(struct rules_context *context)
{
    context->world->head->ended_early = end_early;
    if (scoring_slot != ARB_NO_SLOT) {
        context->world->players[scoring_slot].score++;
        rules_emit_score(context, scoring_slot);
    }
    if (dying_slot != ARB_NO_SLOT) {
        rules_kill(context, dying_slot, ARB_NO_SLOT, ARB_CAUSE_WALL);
        dying_slot = ARB_NO_SLOT;
    }
}

static inline void probe_publish(const struct rules_context *context,
                                 const struct world_entity *entity,
                                 int32_t out[ARB_KIND_FIELDS_MAX])
{
    (void)context;
    out[ARB_CHARACTER_OWNER] = entity->owner + 1;
    out[ARB_CHARACTER_X] = arb_quantise(entity->x, 1.0F / 512, -(1 << 22), 1 << 22);
    out[ARB_CHARACTER_Y] = arb_quantise(entity->y, 1.0F / 512, -(1 << 22), 1 << 22);
}

static inline int probe_rank(const struct world_player *a, const struct world_player *b)
{
    return a->score > b->score ? -1 : a->score < b->score ? 1 : 0;
}

static const struct rules probe = {
    .name = "probe",
    .schema = &arb_schema_arena,
    .teams = true,
    .move_params = probe_move_params,
    .capacity = probe_capacity,
    .collide_kinds = probe_collide_kinds,
    .rewind_kinds = probe_rewind_kinds,
    .round_begin = probe_round_begin,
    .round_end = probe_round_end,
    .player_joined = probe_spawn,
    .player_left = probe_player_left,
    .shoot = probe_shoot,
    .evades = probe_evades,
    .moved = probe_moved,
    .shots = probe_shots,
    .contacts = probe_contacts,
    .update = probe_update,
    .publish = probe_publish,
    .rank = probe_rank,
};

/* ---- a port that records ---- */

enum { QUEUE = 64, SENT = 4096 };
static struct port_message queue[QUEUE];
static uint32_t queued, taken;
static struct {
    uint16_t session;
    uint8_t type;
    struct arb_event event;
    struct arb_scores scores;
    struct arb_late late;
    struct arb_chunk chunk;
    uint8_t payload[ARB_MESSAGE_BYTES_MAX];
} sent[SENT];
static uint32_t sent_count;
static struct arb_welcome sent_welcome; /* the newest, without shapes and numbers */
static int refused_with[8];

static inline bool port_take(void *owner, struct port_message *out)
{
    (void)owner;
    if (taken == queued) {
        queued = taken = 0;
        return false;
    }
    *out = queue[taken++];
    return true;
}

/* As if each event had come in a message of its own. */
static inline void port_put_events(struct port_session session, const uint8_t *bytes, size_t size)
{
    static struct arb_events events;
    cr_assert_eq(arb_events_decode(bytes, size, &events), ARB_DECODE_OK);
    for (uint32_t i = 0; i < events.count; i++) {
        cr_assert_lt(sent_count, SENT);
        sent[sent_count].session = session.index;
        sent[sent_count].type = ARB_MESSAGE_EVENT;
        sent[sent_count++].event = events.list[i];
    }
}

static inline void port_put(void *owner, struct port_session session, uint8_t channel,
                            const uint8_t *bytes, size_t size)
{
    if (bytes[0] == ARB_MESSAGE_EVENTS) {
        port_put_events(session, bytes, size);
        return;
    }
    (void)owner;
    (void)channel;
    cr_assert_lt(sent_count, SENT);
    sent[sent_count].session = session.index;
    sent[sent_count].type = bytes[0];
    if (bytes[0] == ARB_MESSAGE_EVENT) {
        cr_assert_eq(arb_event_decode(bytes, size, &sent[sent_count].event), ARB_DECODE_OK);
    }
    if (bytes[0] == ARB_MESSAGE_LATE) {
        cr_assert_eq(arb_message_decode(ARB_MESSAGE_LATE, &arb_late_fields, bytes, size,
                                        &sent[sent_count].late),
                     ARB_DECODE_OK);
    }
    if (bytes[0] == ARB_MESSAGE_SCORES) {
        cr_assert_eq(arb_scores_decode(bytes, size, &sent[sent_count].scores), ARB_DECODE_OK);
    }
    if (bytes[0] == ARB_MESSAGE_WELCOME) {
        static struct arb_move_params params;
        static struct arb_shape shapes[8];
        cr_assert_eq(arb_welcome_decode(bytes, size, &arb_move_param_fields, shapes, 8, &params,
                                        &sent_welcome),
                     ARB_DECODE_OK);
    }
    if (bytes[0] == ARB_MESSAGE_SNAPSHOT) {
        struct arb_chunk *chunk = &sent[sent_count].chunk;
        cr_assert_eq(arb_chunk_decode(bytes, size, chunk), ARB_DECODE_OK);
        memcpy(sent[sent_count].payload, chunk->payload, chunk->payload_bytes);
    }
    sent_count++;
}

/* What the snapshot at sent[index] says, when none before was acknowledged. */
static inline struct arb_delta_out sent_snapshot(uint32_t index)
{
    static struct arb_published entities[64];
    static struct arb_held_entry entries[64];
    static struct arb_point points[64];
    static struct arb_frame frame;
    static struct arb_own own;
    const struct arb_delta_rule rule = {&arb_schema_arena, arb_own_fields(ARB_MOVER_ARENA), 60};
    frame = (struct arb_frame){.entities = entities, .points = points};
    memset(&own, 0, sizeof own);
    struct arb_delta_out out = {.frame = &frame,
                                .entries = entries,
                                .entity_capacity = 64,
                                .point_capacity = 64,
                                .own = &own};
    cr_assert_eq(sent[index].chunk.header.baseline, 0);
    cr_assert_eq(arb_delta_decode(&rule, sent[index].payload, sent[index].chunk.payload_bytes,
                                  sent[index].chunk.header.tick, NULL, &out),
                 ARB_DECODE_OK);
    return out;
}

static inline void port_refuse(void *owner, struct port_session session, enum arb_refusal reason)
{
    (void)owner;
    refused_with[session.index] = (int)reason;
}

static inline void port_flush(void *owner)
{
    (void)owner;
}

static const struct match_port port = {NULL, port_take, port_put, port_refuse, port_flush};

/* ---- a match of it ---- */

static struct arb_arena arena;
static struct match *match;
static struct arb_geometry *geometry;
static struct map map = {.bounds = {{-50, -50}, {50, 50}}};
static struct match_config config;

static inline void defaults(void)
{
    config = (struct match_config){
        .tick_rate = 60,
        .max_players = 4,
        .min_players = 1,
        .duration_s = 100,
        .rounds = 1,
        .seed = {5, 1},
        .input_buffer_ticks = 30,
        .input_hold_ticks = 30,
        .snapshot_interval_ticks = 2,
        .snapshot_chunk_payload_bytes = 1150,
        .snapshot_budget_bytes_per_s = 65536,
        .lagcomp = {.max_rewind_ms = 500, .view_tolerance_ms = 100},
        .interest_cell_m = 10,
        .interest_enter_m = 30,
        .interest_retain_m = 36,
    };
    end_early = false;
    spawn_gap = 2.0F;
    shot_range = 0.0F;
    evading_slot = ARB_NO_SLOT;
    probe_hook = NULL;
}

static inline void open_match(void)
{
    static const uint8_t id[16] = {1, 2, 3};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(NULL, 0, map.bounds);
    queued = taken = sent_count = 0;
    memset(refused_with, 0, sizeof refused_with);
    match = match_create(&arena, &config, &probe, NULL, &map, geometry, id, &port);
    arb_arena_seal(&arena);
}

static inline void close_match(void)
{
    if (match != NULL) {
        match_destroy(match);
        arb_geometry_destroy(geometry);
        arb_arena_free(&arena);
        match = NULL;
    }
}

static inline void tick(void)
{
    sent_count = 0;
    tick_run(match, TICK_LIVE);
}

static inline void say(enum port_message_type type, uint16_t session)
{
    queue[queued] = (struct port_message){.type = type, .session = {session, 1}};
    strcpy(queue[queued].name, "ada");
    queued++;
}

static inline struct arb_input_packet *packet(uint16_t session, uint8_t control)
{
    queue[queued] = (struct port_message){.type = PORT_INPUTS, .session = {session, 1}};
    queue[queued].inputs.control = control;
    return &queue[queued++].inputs;
}

static inline struct arb_input *add_input(struct arb_input_packet *inputs, arb_sequence sequence,
                                          arb_tick target)
{
    struct arb_input *input = &inputs->inputs[inputs->count++];
    *input = (struct arb_input){.sequence = sequence, .target_tick = target};
    return input;
}

static inline const struct world_player *player(uint16_t slot)
{
    return &match_world(match)->players[slot];
}

static inline void join_live(void)
{
    say(PORT_JOIN, 0);
    tick();
    cr_assert_eq(match_phase(match), ARB_PHASE_LIVE);
    cr_assert_not(arb_key_is_none(player(0)->controlled));
}

static inline struct arb_counts counts(uint16_t slot)
{
    struct arb_counts out;
    match_get_counts(match, slot, &out);
    return out;
}

#endif
