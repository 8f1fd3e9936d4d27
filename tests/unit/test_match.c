/* server/match: inputs to ticks, joins and leaves, phases, announcements; with a mode that only
 * walks. */
#include "server/match/match_internal.h"
#include "shared/base/arb_math.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- a mode that only walks ---- */

static bool end_early;
static float spawn_gap;

static void probe_move_params(const void *params, uint32_t tick_rate, struct arb_move_params *out)
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

static void probe_capacity(const void *params, const struct map *map, uint32_t max_players,
                           struct world_capacity *out)
{
    (void)params;
    (void)map;
    out->entities = (uint16_t)(2 * max_players);
}

static void probe_collide_kinds(const void *params, struct collide_kind kinds[ARB_KINDS_MAX])
{
    (void)params;
    (void)kinds;
}

static void probe_rewind_kinds(const void *params, struct rewind_kind kinds[ARB_KINDS_MAX])
{
    (void)params;
    (void)kinds;
}

static void probe_spawn(struct rules_context *context, uint16_t slot)
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

static void probe_round_begin(struct rules_context *context)
{
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        if (context->world->players[slot].presence == WORLD_PRESENT) {
            probe_spawn(context, slot);
        }
    }
}

static void probe_player_left(struct rules_context *context, uint16_t slot)
{
    world_remove(context->world, context->world->players[slot].controlled);
    rules_bind(context, slot, ARB_KEY_NONE);
}

static void probe_round_end(struct rules_context *context)
{
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        if (!arb_key_is_none(context->world->players[slot].controlled)) {
            probe_player_left(context, slot);
        }
    }
}

/* The newest shot as the engine hands it to the mode; it meets nothing. */
static struct rewind_ray shot_ray;

static void probe_shoot(struct rules_context *context, struct rules_shot *shot)
{
    (void)context;
    shot_ray = shot->rays[0];
    shot->pellet_count = 0;
}

static void probe_moved(struct rules_context *context, const struct rules_moved *moved)
{
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        /* What the tests look at: how many shots left. */
        context->world->players[slot].values[0] += moved[slot].stepped && moved[slot].report.fired;
    }
}

static void probe_shots(struct rules_context *context, const struct rules_shot *shots,
                        uint32_t count)
{
    (void)context;
    (void)shots;
    (void)count;
}

static void probe_contacts(struct rules_context *context, const struct collide_contact *contacts,
                           uint32_t count)
{
    (void)context;
    (void)contacts;
    (void)count;
}

static void probe_update(struct rules_context *context)
{
    context->world->head->ended_early = end_early;
}

static void probe_publish(const struct rules_context *context, const struct world_entity *entity,
                          int32_t out[ARB_KIND_FIELDS_MAX])
{
    (void)context;
    out[ARB_CHARACTER_OWNER] = entity->owner + 1;
    out[ARB_CHARACTER_X] = arb_quantise(entity->x, 1.0F / 512, -(1 << 22), 1 << 22);
    out[ARB_CHARACTER_Y] = arb_quantise(entity->y, 1.0F / 512, -(1 << 22), 1 << 22);
}

static int probe_rank(const struct world_player *a, const struct world_player *b)
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
    struct arb_chunk chunk;
    uint8_t payload[ARB_MESSAGE_BYTES_MAX];
} sent[SENT];
static uint32_t sent_count;
static int refused_with[8];

static bool port_take(void *owner, struct port_message *out)
{
    (void)owner;
    if (taken == queued) {
        queued = taken = 0;
        return false;
    }
    *out = queue[taken++];
    return true;
}

static void port_put(void *owner, struct port_session session, uint8_t channel,
                     const uint8_t *bytes, size_t size)
{
    (void)owner;
    (void)channel;
    cr_assert_lt(sent_count, SENT);
    sent[sent_count].session = session.index;
    sent[sent_count].type = bytes[0];
    if (bytes[0] == ARB_MESSAGE_EVENT) {
        cr_assert_eq(arb_event_decode(bytes, size, &sent[sent_count].event), ARB_DECODE_OK);
    }
    if (bytes[0] == ARB_MESSAGE_SNAPSHOT) {
        struct arb_chunk *chunk = &sent[sent_count].chunk;
        cr_assert_eq(arb_chunk_decode(bytes, size, chunk), ARB_DECODE_OK);
        memcpy(sent[sent_count].payload, chunk->payload, chunk->payload_bytes);
    }
    sent_count++;
}

static void port_refuse(void *owner, struct port_session session, enum arb_refusal reason)
{
    (void)owner;
    refused_with[session.index] = (int)reason;
}

static void port_flush(void *owner)
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

static void defaults(void)
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
        .interest_cell_m = 10,
        .interest_enter_m = 30,
        .interest_retain_m = 36,
    };
    end_early = false;
    spawn_gap = 2.0F;
}

static void open_match(void)
{
    static const uint8_t id[16] = {1, 2, 3};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(NULL, 0, map.bounds);
    queued = taken = sent_count = 0;
    memset(refused_with, 0, sizeof refused_with);
    match = match_create(&arena, &config, &probe, NULL, &map, geometry, id, &port);
    arb_arena_seal(&arena);
}

static void close_match(void)
{
    if (match != NULL) {
        match_destroy(match);
        arb_geometry_destroy(geometry);
        arb_arena_free(&arena);
        match = NULL;
    }
}

TestSuite(match, .init = defaults, .fini = close_match);

static void tick(void)
{
    sent_count = 0;
    tick_run(match, TICK_LIVE);
}

static void say(enum port_message_type type, uint16_t session)
{
    queue[queued] = (struct port_message){.type = type, .session = {session, 1}};
    strcpy(queue[queued].name, "ada");
    queued++;
}

static struct arb_input_packet *packet(uint16_t session, uint8_t control)
{
    queue[queued] = (struct port_message){.type = PORT_INPUTS, .session = {session, 1}};
    queue[queued].inputs.control = control;
    return &queue[queued++].inputs;
}

static struct arb_input *add_input(struct arb_input_packet *inputs, arb_sequence sequence,
                                   arb_tick target)
{
    struct arb_input *input = &inputs->inputs[inputs->count++];
    *input = (struct arb_input){.sequence = sequence, .target_tick = target};
    return input;
}

static const struct world_player *player(uint16_t slot)
{
    return &match_world(match)->players[slot];
}

static void join_live(void)
{
    say(PORT_JOIN, 0);
    tick();
    cr_assert_eq(match_phase(match), ARB_PHASE_LIVE);
    cr_assert_not(arb_key_is_none(player(0)->controlled));
}

static struct arb_counts counts(uint16_t slot)
{
    struct arb_counts out;
    match_get_counts(match, slot, &out);
    return out;
}

/* ---- inputs ---- */

/* Runs 30 ticks of the same walk, its inputs in packets as `arrange` says; returns the checksum. */
static uint64_t walk(int arrangement)
{
    open_match();
    join_live();
    arb_tick first = match_tick(match);
    float last_x = player(0)->own.x;
    for (uint32_t i = 0; i < 30; i++) {
        arb_tick now = match_tick(match);
        if (arrangement == 0 || i % 3 == 0) {
            uint32_t bundle = arrangement == 0 ? 1 : 3;
            struct arb_input_packet *inputs = packet(0, player(0)->control);
            for (uint32_t k = 0; k < bundle; k++) {
                add_input(inputs, i + k + 1, now + k)->move_x = 127;
            }
            if (arrangement == 2) { /* again, and an older one after it */
                queue[queued] = queue[queued - 1];
                queued++;
            }
        }
        tick();
        cr_assert(player(0)->own.x > last_x, "moves evenly, however packets come");
        last_x = player(0)->own.x;
    }
    cr_assert_eq(counts(0).inputs_consumed, 30);
    cr_assert_eq(counts(0).inputs_starved, 0);
    cr_assert_eq(counts(0).inputs_duplicate, arrangement == 2 ? 30 : 0);
    cr_assert_eq(counts(0).inputs_refused, 0);
    cr_assert_eq(match_tick(match), first + 30);
    uint64_t checksum = match_checksum(match);
    close_match();
    return checksum;
}

Test(match, packets_bundled_or_doubled_give_the_same_state)
{
    uint64_t single = walk(0);
    cr_assert_eq(walk(1), single);
    cr_assert_eq(walk(2), single);
}

Test(match, a_missing_input_repeats_what_is_held_but_no_press_and_ends_after_the_hold)
{
    config.input_hold_ticks = 5;
    open_match();
    join_live();
    struct arb_input *input = add_input(packet(0, player(0)->control), 1, match_tick(match));
    input->move_x = 127;
    input->buttons = input->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(player(0)->values[0], 1, "one press, one shot");
    for (int i = 0; i < 5; i++) {
        float before = player(0)->own.vx;
        tick();
        cr_assert(player(0)->own.vx >= before, "goes on for the hold");
    }
    tick();
    cr_assert(player(0)->own.vx < 6.0F, "then lets go");
    cr_assert_eq(player(0)->values[0], 1, "a press does not repeat");
    cr_assert_eq(counts(0).inputs_starved, 6);
    cr_assert_eq(counts(0).edges[0], 1);
    cr_assert_eq(player(0)->starved_ticks, 6);
}

Test(match, nothing_is_starved_before_the_first_input)
{
    open_match();
    join_live();
    for (int i = 0; i < 10; i++) {
        tick();
    }
    cr_assert_eq(counts(0).inputs_starved, 0);
}

Test(match, a_late_press_goes_once_into_the_next_input)
{
    open_match();
    join_live();
    add_input(packet(0, player(0)->control), 1, match_tick(match));
    tick();
    tick();
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    struct arb_input *late = add_input(inputs, 2, match_tick(match) - 1);
    late->edges = ARB_BUTTON_FIRE;
    late->aim = 16384;
    add_input(inputs, 3, match_tick(match));
    tick();
    cr_assert_eq(counts(0).inputs_late, 1);
    cr_assert_eq(counts(0).edges[0], 1);
    cr_assert_eq(player(0)->values[0], 1, "the shot leaves");
    cr_assert_eq(player(0)->carried_edges, 0);
    cr_assert_eq(player(0)->last_sequence, 3);
    add_input(packet(0, player(0)->control), 4, match_tick(match));
    tick();
    cr_assert_eq(player(0)->values[0], 1, "once");
}

Test(match, a_carried_shot_keeps_its_aim_and_starts_where_the_player_is)
{
    open_match();
    join_live();
    add_input(packet(0, player(0)->control), 1, match_tick(match));
    tick();
    tick();
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    struct arb_input *late = add_input(inputs, 2, match_tick(match) - 1);
    late->edges = ARB_BUTTON_FIRE;
    late->aim = 16384;
    struct arb_input *next = add_input(inputs, 3, match_tick(match));
    next->move_x = 127;
    tick();
    cr_assert_float_eq(shot_ray.direction.y, 1.0F, 1e-6, "the aim of the press");
    cr_assert_eq(shot_ray.origin.x, player(0)->own.x, "the present place, after the move");
}

Test(match, a_shot_starts_between_the_places_of_its_own_input_and_the_one_before)
{
    open_match();
    join_live();
    float places[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct arb_input *input =
            add_input(packet(0, player(0)->control), i + 1, match_tick(match));
        input->move_x = 127;
        input->edges = i == 2 ? ARB_BUTTON_FIRE : 0;
        input->muzzle_fraction = 64;
        input->aim = 32768;
        tick();
        places[i] = player(0)->own.x;
    }
    cr_assert_lt(places[1], places[2]);
    cr_assert_float_eq(shot_ray.origin.x, places[1] + 0.25F * (places[2] - places[1]), 1e-5);
    cr_assert_float_eq(shot_ray.direction.x, -1.0F, 1e-6);
    arb_tick published = match_tick(match) - 2;
    cr_assert(shot_ray.view.from_tick == published && shot_ray.view.to_tick == published,
              "the newest frame that there was at stage 6");
}

Test(match, while_inputs_are_missing_the_view_moves_on_up_to_the_newest_published)
{
    open_match();
    join_live();
    arb_tick now = match_tick(match);
    struct arb_input *input = add_input(packet(0, player(0)->control), 1, now);
    input->buttons = ARB_BUTTON_FIRE;
    input->view = (struct arb_view){.from_tick = now - 1, .to_tick = now};
    tick();
    tick();
    cr_assert_eq(match->applied[0].view.to_tick, now, "published as the newest by now");
    tick();
    cr_assert_eq(match->applied[0].view.to_tick, now + 1);
    cr_assert_eq(match->applied[0].view.from_tick, now);
}

Test(match, of_two_late_presses_of_a_button_the_first_is_carried)
{
    open_match();
    join_live();
    add_input(packet(0, player(0)->control), 1, match_tick(match));
    for (int i = 0; i < 3; i++) {
        tick();
    }
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    for (uint32_t i = 0; i < 2; i++) {
        struct arb_input *late = add_input(inputs, i + 2, match_tick(match) - 2 + i);
        late->edges = ARB_BUTTON_FIRE;
        late->aim = (uint16_t)(16384 * (i + 1));
    }
    tick();
    cr_assert_eq(player(0)->carried_edges, ARB_BUTTON_FIRE);
    cr_assert_eq(player(0)->carried_aim, 16384);
    cr_assert_eq(counts(0).inputs_late, 2);
    cr_assert_eq(counts(0).inputs_refused, 1, "the second");
    add_input(packet(0, player(0)->control), 4, match_tick(match));
    tick();
    cr_assert_eq(player(0)->values[0], 1, "one shot");
}

Test(match, a_press_later_than_the_buffer_is_long_is_dropped)
{
    open_match();
    join_live();
    for (int i = 0; i < 40; i++) {
        tick();
    }
    add_input(packet(0, player(0)->control), 1, match_tick(match) - 31)->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(counts(0).inputs_late, 1);
    cr_assert_eq(counts(0).edges[0], 0);
    cr_assert_eq(player(0)->carried_edges, 0);
    cr_assert_eq(player(0)->last_sequence, 1, "the client need not send it again");
    add_input(packet(0, player(0)->control), 2, match_tick(match) - 30)->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(counts(0).edges[0], 1, "late by as much as the buffer is long");
    cr_assert_eq(player(0)->carried_edges, ARB_BUTTON_FIRE);
}

Test(match, inputs_too_far_ahead_are_refused_and_may_come_again)
{
    open_match();
    join_live();
    arb_tick target = match_tick(match) + 31;
    add_input(packet(0, player(0)->control), 1, target);
    tick();
    cr_assert_eq(counts(0).inputs_refused, 1);
    add_input(packet(0, player(0)->control), 1, target);
    for (int i = 0; i < 31; i++) {
        tick();
    }
    cr_assert_eq(counts(0).inputs_consumed, 1);
}

/* A character that ends and the next one that begins in the same stage 7. */
static void swap_character(struct rules_context *context)
{
    probe_player_left(context, 0);
    probe_spawn(context, 0);
    struct arb_own *own = &context->world->players[0].own;
    own->x = 20.0F;
    world_find(context->world, context->world->players[0].controlled)->x = 20.0F;
}

Test(match, no_muzzle_lies_between_two_characters)
{
    open_match();
    join_live();
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1) {
            swap_character(&match->context);
        }
        add_input(packet(0, player(0)->control), i + 1, match_tick(match));
        tick();
    }
    struct arb_vec2 origin;
    cr_assert_not(rewind_origin(match_rewind(match), 0, 1, 255, &origin), "of the one before");
    cr_assert(rewind_origin(match_rewind(match), 0, 2, 0, &origin));
    cr_assert_float_eq(origin.x, 20.0F, 1e-6);
}

Test(match, one_input_a_tick_whatever_a_client_sends)
{
    open_match();
    join_live();
    arb_tick now = match_tick(match);
    add_input(packet(0, player(0)->control), 1, now)->move_x = 127;
    add_input(packet(0, player(0)->control), 2, now)->move_x = 127;
    add_input(packet(0, player(0)->control), 3, now)->move_x = 127;
    tick();
    cr_assert_eq(counts(0).inputs_consumed, 1);
    cr_assert_eq(counts(0).inputs_refused, 2);
}

Test(match, inputs_of_another_control_number_steer_nothing_but_their_presses_count)
{
    open_match();
    join_live();
    uint8_t control = player(0)->control;
    struct arb_input *input = add_input(packet(0, (uint8_t)(control + 1)), 1, match_tick(match));
    input->move_x = 127;
    input->edges = input->buttons = ARB_BUTTON_FIRE;
    tick();
    cr_assert(player(0)->own.vx == 0.0F);
    cr_assert_eq(player(0)->values[0], 0);
    cr_assert_eq(counts(0).edges[0], 1);
    struct arb_input_packet *mixed = packet(0, control);
    add_input(mixed, 2, match_tick(match))->move_x = 127;
    add_input(mixed, 3, match_tick(match) + 1)->move_x = 127;
    mixed->older_count = 1;
    tick();
    cr_assert(player(0)->own.vx == 0.0F, "the older one is of an earlier control");
    tick();
    cr_assert(player(0)->own.vx > 0.0F);
}

Test(match, the_worst_lead_since_the_last_snapshot_is_told)
{
    open_match();
    join_live();
    if (match_tick(match) % 2 != 1) {
        tick(); /* the coming two ticks share one snapshot */
    }
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    add_input(inputs, 1, match_tick(match) + 5);
    add_input(inputs, 2, match_tick(match) + 6);
    tick();
    add_input(packet(0, player(0)->control), 3, match_tick(match) + 6);
    tick();
    bool told = false;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_SNAPSHOT) {
            cr_assert_eq(sent[i].chunk.header.buffer_ticks, 5);
            cr_assert(arb_key_equal(sent[i].chunk.header.controlled, player(0)->controlled));
            told = true;
        }
    }
    cr_assert(told);
    tick();
    tick();
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_SNAPSHOT) {
            cr_assert_eq(sent[i].chunk.header.buffer_ticks, MATCH_NO_LEAD, "none came since");
        }
    }
}

/* ---- life ---- */

Test(match, phases_follow_each_other_and_end_with_a_result)
{
    config.min_players = 2;
    config.countdown_s = 1;
    config.duration_s = 2;
    config.result_s = 1;
    config.rounds = 2;
    open_match();
    say(PORT_JOIN, 0);
    for (int i = 0; i < 10; i++) {
        tick();
    }
    cr_assert_eq(match_phase(match), ARB_PHASE_WAITING);
    say(PORT_JOIN, 1);
    uint32_t ticks_in[5] = {0};
    for (int i = 0; i < 2000 && !match_ended(match); i++) {
        tick();
        ticks_in[match_phase(match)]++;
        cr_assert_eq(match_decided(match), match_world(match)->head->round == 2 &&
                                               match_phase(match) >= ARB_PHASE_RESULT);
    }
    cr_assert_eq(ticks_in[ARB_PHASE_COUNTDOWN], 120);
    cr_assert_eq(match_world(match)->head->live_ticks, 240, "two rounds of two seconds");
    cr_assert_eq(ticks_in[ARB_PHASE_ENDED], 1);
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->player_count, 2);
    cr_assert_eq(result->end_reason, ARB_END_TIME);
    cr_assert_eq(result->players[0].player_id, 1);
    cr_assert_str_eq(result->players[1].name, "ada");
    cr_assert_eq(result->checksum, match->decided_checksum);
    free(result);
}

Test(match, the_mode_may_end_a_round_early)
{
    open_match();
    join_live();
    end_early = true;
    tick();
    cr_assert(match_decided(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_SCORE);
    cr_assert(arb_key_is_none(player(0)->controlled), "no character in the result phase");
    cr_assert_eq(match_world(match)->head->entity_count, 0);
}

Test(match, nobody_comes_and_the_match_ends)
{
    config.join_timeout_s = 2;
    open_match();
    for (int i = 0; i < 120; i++) {
        tick();
        cr_assert_not(match_ended(match));
    }
    tick();
    cr_assert(match_ended(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_NOBODY);
}

Test(match, everyone_leaves_and_the_match_ends_after_its_idle_time)
{
    config.idle_exit_s = 1;
    open_match();
    join_live();
    tick();
    say(PORT_LEAVE, 0);
    for (int i = 0; i < 60; i++) {
        tick();
        cr_assert_not(match_ended(match));
    }
    tick();
    cr_assert(match_ended(match));
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->end_reason, ARB_END_EMPTY);
    cr_assert_eq(result->player_count, 1, "who played has a line");
    free(result);
}

Test(match, an_abort_ends_it_at_the_next_tick)
{
    open_match();
    join_live();
    match_abort(match, ARB_END_ABORTED);
    tick();
    cr_assert(match_ended(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_ABORTED);
}

Test(match, a_full_match_refuses_and_a_left_slot_keeps_its_line)
{
    config.max_players = 2;
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(refused_with[2], ARB_REFUSED_FULL);
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match_world(match)->head->entity_count, 1);
    say(PORT_JOIN, 3);
    tick();
    cr_assert_eq(player(0)->player_id, 3);
    match_abort(match, ARB_END_ABORTED);
    tick();
    tick();
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->player_count, 3, "all who ever played");
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(result->players[i].player_id, i + 1);
    }
    free(result);
    say(PORT_JOIN, 4);
    tick();
    cr_assert_eq(refused_with[4], ARB_REFUSED_ENDED);
}

Test(match, a_slot_is_not_given_away_in_the_tick_in_which_its_character_still_stands)
{
    config.max_players = 1;
    open_match();
    join_live();
    tick();
    say(PORT_LEAVE, 0);
    say(PORT_JOIN, 1);
    tick();
    cr_assert_eq(refused_with[1], ARB_REFUSED_FULL);
    cr_assert_eq(match_world(match)->head->entity_count, 0);
}

Test(match, a_slot_is_given_away_until_the_result_has_no_line_left)
{
    config.max_players = 1;
    config.idle_exit_s = 10;
    config.duration_s = 3600;
    open_match();
    for (uint32_t i = 0; i <= MATCH_LINES_MAX; i++) {
        say(PORT_JOIN, 0);
        tick();
        cr_assert_eq(refused_with[0], i < MATCH_LINES_MAX ? 0 : ARB_REFUSED_FULL);
        tick();
        say(PORT_LEAVE, 0);
        tick();
    }
    match_abort(match, ARB_END_ABORTED);
    tick();
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->player_count, MATCH_LINES_MAX);
    cr_assert_eq(result->players[MATCH_LINES_MAX - 1].player_id, MATCH_LINES_MAX);
    free(result);
}

Test(match, the_points_of_those_who_left_are_their_teams)
{
    config.teams = 2;
    config.max_players = 2;
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    match->world.players[0].score = 9;
    match->world.players[1].score = 5;
    uint8_t team = player(0)->team;
    tick();
    say(PORT_LEAVE, 0);
    tick();
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(player(0)->player_id, 3, "the slot is somebody else's");
    match_abort(match, ARB_END_ABORTED);
    tick();
    uint32_t told = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_EVENT && sent[i].event.kind == ARB_EVENT_RESULT) {
            cr_assert_eq(sent[i].event.result.winner_team, team);
            told++;
        }
    }
    cr_assert_eq(told, 2);
}

Test(match, teams_are_filled_evenly)
{
    config.teams = 2;
    open_match();
    for (uint16_t i = 0; i < 4; i++) {
        say(PORT_JOIN, i);
    }
    tick();
    cr_assert_eq(player(0)->team + player(1)->team, 3);
    cr_assert_eq(player(2)->team + player(3)->team, 3);
}

static uint32_t entities_in_snapshot_of(uint16_t session)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session != session || sent[i].type != ARB_MESSAGE_SNAPSHOT) continue;
        static struct arb_published entities[16];
        static struct arb_point points[16];
        struct arb_frame frame = {.entities = entities, .points = points};
        struct arb_own own = {0};
        struct arb_own_part part = {0};
        bool has_own;
        cr_assert_eq(arb_snapshot_decode(&arb_schema_arena, arb_own_fields(ARB_MOVER_ARENA),
                                         sent[i].payload, sent[i].chunk.payload_bytes, &frame, 16,
                                         16, &own, &part, &has_own),
                     ARB_DECODE_OK);
        return frame.entity_count;
    }
    return 0;
}

/* Four players 25 m apart, each sees 10 m. */
static uint32_t seen_from_afar(int32_t teams)
{
    config.teams = teams;
    config.interest_enter_m = 10;
    config.interest_retain_m = 12;
    spawn_gap = 25.0F;
    open_match();
    for (uint16_t i = 0; i < 4; i++) {
        say(PORT_JOIN, i);
    }
    uint32_t seen = 0;
    for (int i = 0; i < 4 && seen == 0; i++) {
        tick();
        seen = entities_in_snapshot_of(3);
    }
    close_match();
    return seen;
}

Test(match, team_mates_are_seen_from_anywhere_others_from_near)
{
    cr_assert_eq(seen_from_afar(0), 1, "itself");
    cr_assert_eq(seen_from_afar(2), 2, "itself and its mate");
}

/* ---- announcements ---- */

static uint32_t count_events(uint16_t session, enum arb_event_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        count += sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
                 sent[i].event.kind == kind;
    }
    return count;
}

Test(match, a_newcomer_gets_the_welcome_first_and_each_standing_fact_once)
{
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    cr_assert_eq(sent[0].type, ARB_MESSAGE_WELCOME);
    for (uint16_t session = 0; session < 2; session++) {
        cr_assert_eq(count_events(session, ARB_EVENT_PLAYER), 2);
        cr_assert_eq(count_events(session, ARB_EVENT_SCORE), 2);
        cr_assert_eq(count_events(session, ARB_EVENT_PHASE), 1);
        cr_assert_eq(count_events(session, ARB_EVENT_REBIND), 1);
    }
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(count_events(0, ARB_EVENT_PLAYER), 1, "the others hear of the newcomer");
    cr_assert_eq(count_events(2, ARB_EVENT_PLAYER), 3);
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_EVENT) {
            cr_assert_eq(sent[i].event.tick, (uint32_t)(match_tick(match) - 1),
                         "stamped with the published tick");
        }
    }
}

Test(match, whoever_leaves_does_nothing_again_in_that_tick)
{
    config.idle_exit_s = 10;
    open_match();
    join_live();
    struct arb_input *input = add_input(packet(0, player(0)->control), 1, match_tick(match));
    input->buttons = input->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(player(0)->values[0], 1);
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(player(0)->values[0], 1, "the press of the tick before is over");
}

Test(match, a_session_gone_before_its_tick_never_joined)
{
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match_present_count(match), 0);
    cr_assert_eq(sent_count, 0);
}

Test(match, places_are_given_in_order_of_arrival)
{
    open_match();
    for (uint16_t session = 0; session < 4; session++) {
        say(PORT_JOIN, session);
        queue[queued - 1].name[0] = (char)('a' + session);
    }
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match_present_count(match), 3);
    for (uint16_t slot = 0; slot < 3; slot++) {
        cr_assert_eq(player(slot)->name[0], 'b' + slot);
    }
}

/* ---- long time ---- */

Test(match, ticks_near_their_wraps_give_the_same_walk)
{
    struct arb_own reference = {0};
    const uint64_t firsts[] = {1, 1ULL << 24, (1ULL << 31) - 20, (1ULL << 32) - 20};
    for (size_t k = 0; k < sizeof firsts / sizeof firsts[0]; k++) {
        config.first_tick = (struct option_seed){firsts[k], 1};
        open_match();
        join_live();
        for (uint32_t i = 0; i < 60; i++) {
            struct arb_input *input =
                add_input(packet(0, player(0)->control), i + 1, match_tick(match));
            input->move_x = (int8_t)(i % 100);
            input->move_y = 50;
            tick();
        }
        if (k == 0) {
            reference = player(0)->own;
        }
        cr_assert(memcmp(&reference, &player(0)->own, sizeof reference) == 0);
        close_match();
    }
}
