#include "tests/support/proto_samples.h"

#include <string.h>

static const struct arb_field own_rows[] = {
    ARB_FIELD(proto_sample_own, x, F32, 32, -4096, 4096, "m"),
    ARB_FIELD(proto_sample_own, vx, F32, 32, -65536, 65536, "m/s"),
    ARB_FIELD(proto_sample_own, heading, F32, 32, -3.2, 3.2, "rad"),
    ARB_FIELD(proto_sample_own, magazine, U16, 10, 0, 1000, "rounds"),
    ARB_FIELD(proto_sample_own, lean, I8, 5, -16, 15, "a small signed number"),
    ARB_FIELD(proto_sample_own, boost, U8, 1, 0, 1, "a flag"),
    ARB_FIELD(proto_sample_own, push, I16, 16, -32768, 32767, "a signed number"),
    ARB_FIELD(proto_sample_own, drift, I32, 32, -2147483648.0, 2147483647.0, "a signed number"),
};
const struct arb_fields proto_sample_own_fields = ARB_FIELDS("own", own_rows);

static const struct arb_field param_rows[] = {
    ARB_FIELD(proto_sample_params, mover, U8, 8, 0, 2, "mover"),
    ARB_FIELD(proto_sample_params, rate, U16, 16, 20, 128, "Hz"),
    ARB_FIELD(proto_sample_params, speed, F32, 32, 0, 1000, "m/s"),
    ARB_FIELD(proto_sample_params, rounds[0], U16, 16, 0, 65535, "rounds"),
    ARB_FIELD(proto_sample_params, rounds[1], U16, 16, 0, 65535, "rounds"),
    ARB_FIELD(proto_sample_params, rounds[2], U16, 16, 0, 65535, "rounds"),
};
const struct arb_fields proto_sample_param_fields = ARB_FIELDS("parameters", param_rows);

/* ---- messages that are one table ---- */

#define TABLE_MESSAGE(member, TYPE)                                                                \
    static size_t member##_encode(const struct proto_decoded *message, uint8_t *bytes,             \
                                  size_t capacity)                                                 \
    {                                                                                              \
        return arb_message_encode(ARB_MESSAGE_##TYPE, &arb_##member##_fields, &message->member,    \
                                  bytes, capacity);                                                \
    }                                                                                              \
    static enum arb_decode member##_decode(const uint8_t *bytes, size_t size,                      \
                                           struct proto_decoded *out)                              \
    {                                                                                              \
        return arb_message_decode(ARB_MESSAGE_##TYPE, &arb_##member##_fields, bytes, size,         \
                                  &out->member);                                                   \
    }                                                                                              \
    static bool member##_equal(const struct proto_decoded *a, const struct proto_decoded *b)       \
    {                                                                                              \
        return memcmp(&a->member, &b->member, sizeof a->member) == 0;                              \
    }

TABLE_MESSAGE(hello, HELLO)
TABLE_MESSAGE(refused, REFUSED)
TABLE_MESSAGE(ping, PING)
TABLE_MESSAGE(pong, PONG)
TABLE_MESSAGE(spectate, SPECTATE)
TABLE_MESSAGE(counts, COUNTS)
TABLE_MESSAGE(late, LATE)

static void hello_fill(struct proto_decoded *out)
{
    out->hello.version = 0x1234;
    out->hello.schema_hash = 0x0123456789ABCDEFULL;
    strcpy(out->hello.name, "Zo\xC3\xAB \xF0\x9F\x90\x8D");
    out->hello.role = ARB_ROLE_SPECTATOR;
    out->hello.resume = 1;
    for (uint32_t i = 0; i < ARB_TOKEN_BYTES; i++) {
        out->hello.token[i] = (uint8_t)(0x3C + i);
    }
}

static void refused_fill(struct proto_decoded *out)
{
    out->refused.reason = ARB_REFUSED_KICKED;
    out->refused.server_version = 0x8001;
    out->refused.client_version = 0x7FFE;
    out->refused.server_hash = 0xFEDCBA9876543210ULL;
    out->refused.client_hash = 0x8000000000000001ULL;
}

static void ping_fill(struct proto_decoded *out)
{
    out->ping.sequence = 0xFFF1;
}

static void pong_fill(struct proto_decoded *out)
{
    out->pong = (struct arb_pong){0xFFF1, 0xFFFFFFF0, 0x8765, 1234567};
}

static void spectate_fill(struct proto_decoded *out)
{
    out->spectate = (struct arb_spectate){.number = 0xFFF2,
                                          .ack_snapshot = 0x8004,
                                          .has_ack = 1,
                                          .ack_mask = 0xC0000005,
                                          .follow = 1023,
                                          .x = -4096.0F,
                                          .y = 12.375F};
}

static void counts_fill(struct proto_decoded *out)
{
    struct arb_counts *counts = &out->counts;
    *counts = (struct arb_counts){.ticks = 0x80000001,
                                  .inputs_consumed = 2,
                                  .inputs_starved = 3,
                                  .inputs_late = 4,
                                  .inputs_duplicate = 5,
                                  .inputs_refused = 0xFFFFFFFF};
    for (uint32_t i = 0; i < ARB_BUTTON_COUNT; i++) {
        counts->edges[i] = 0x01010101U * (i + 1);
    }
}

static void late_fill(struct proto_decoded *out)
{
    out->late = (struct arb_late){0xFFFFFFF4, 0x8102};
}

static void scores_fill(struct proto_decoded *out)
{
    static const struct arb_event_score lines[] = {{0, 7, 0, 1, 0},
                                                   {1, -1, 16, 0, 65535},
                                                   {40, -8192, 1, 255, 3},
                                                   {1023, INT32_MIN, 65535, 2, 1}};
    out->scores.tick = 0xFFFFFFF8;
    out->scores.count = 4;
    memcpy(out->scores.lines, lines, sizeof lines);
}

static size_t scores_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    const struct arb_scores *scores = &message->scores;
    uint32_t used = 0;
    size_t size =
        arb_scores_encode(scores->tick, scores->lines, scores->count, bytes, capacity, &used);
    return used == scores->count ? size : 0;
}

static enum arb_decode scores_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_scores_decode(bytes, size, &out->scores);
}

static bool scores_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    bool same = a->scores.tick == b->scores.tick && a->scores.count == b->scores.count;
    for (uint32_t i = 0; same && i < a->scores.count; i++) {
        const struct arb_event_score *p = &a->scores.lines[i];
        const struct arb_event_score *q = &b->scores.lines[i];
        same = p->slot == q->slot && p->score == q->score && p->kills == q->kills &&
               p->deaths == q->deaths && p->deaths_by_nobody == q->deaths_by_nobody;
    }
    return same;
}

/* ---- events ---- */

static size_t event_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    return arb_event_encode(&message->event, bytes, capacity);
}

static enum arb_decode event_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_event_decode(bytes, size, &out->event);
}

static bool event_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    return memcmp(&a->event, &b->event, sizeof a->event) == 0;
}

static void event_start(struct proto_decoded *out, enum arb_event_kind kind)
{
    memset(&out->event, 0, sizeof out->event);
    out->event.tick = 0xFFFFFFF8;
    out->event.kind = (uint8_t)kind;
}

static void events_fill(struct proto_decoded *out)
{
    static const uint32_t ticks[] = {0xFFFFFFF8, 0xFFFFFFF8, 0xFFFFFFFF, 300, 65000};
    memset(&out->events, 0, sizeof out->events);
    out->events.tick = ticks[0];
    out->events.count = 5;
    for (int i = 0; i < 5; i++) {
        out->events.list[i].tick = ticks[i];
    }
    out->events.list[0].kind = ARB_EVENT_PLAYER;
    out->events.list[0].player =
        (struct arb_event_player){.slot = 9, .present = 1, .team = 1, .player_id = 77, .name = "Z"};
    out->events.list[1].kind = ARB_EVENT_DEATH;
    out->events.list[1].death = (struct arb_event_death){{5, 6}, 7, 8, ARB_CAUSE_BODY};
    out->events.list[2].kind = ARB_EVENT_PHASE;
    out->events.list[2].phase = (struct arb_event_phase){ARB_PHASE_LIVE, 1, 0x10000};
    out->events.list[3].kind = ARB_EVENT_IMPACT;
    out->events.list[3].impact = (struct arb_event_impact){3, 4, 5, 6, 7.5F, -8.0F};
    out->events.list[4].kind = ARB_EVENT_RESULT;
    out->events.list[4].result = (struct arb_event_result){ARB_END_SCORE, 1, 2};
}

static size_t events_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    uint32_t used = 0;
    size_t size =
        arb_events_encode(message->events.list, message->events.count, bytes, capacity, &used);
    return used == message->events.count ? size : 0;
}

static enum arb_decode events_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_events_decode(bytes, size, &out->events);
}

static bool events_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    return a->events.count == b->events.count &&
           memcmp(a->events.list, b->events.list, a->events.count * sizeof a->events.list[0]) == 0;
}

static void event_player_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_PLAYER);
    out->event.player.slot = 1023;
    out->event.player.present = 1;
    out->event.player.team = 2;
    out->event.player.player_id = 0xF123456789ABCDEFULL;
    strcpy(out->event.player.name, "0123456789012345678901234567890");
}

static void event_rebind_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_REBIND);
    out->event.rebind.key = (struct arb_key){42, 0x8003};
    out->event.rebind.control = 255;
}

static void event_death_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_DEATH);
    out->event.death.victim = (struct arb_key){0xFFFF, 4};
    out->event.death.victim_slot = 7;
    out->event.death.killer_slot = ARB_NO_SLOT;
    out->event.death.cause = ARB_CAUSE_LEFT;
}

static void event_hit_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_HIT);
    out->event.hit.victim = (struct arb_key){3, 9};
    out->event.hit.shooter_slot = 1;
    out->event.hit.victim_slot = 300;
    out->event.hit.damage = 999;
    out->event.hit.part = 1;
    out->event.hit.x = -4096.0F;
    out->event.hit.y = 0.1F;
}

static void event_impact_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_IMPACT);
    out->event.impact.shooter_slot = 1;
    out->event.impact.action = 65000;
    out->event.impact.pellet = 15;
    out->event.impact.moment = 0xFFFFFF00U;
    out->event.impact.x = 12.5F;
    out->event.impact.y = -0.1F;
}

static void event_score_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_SCORE);
    out->event.score.slot = 5;
    out->event.score.score = -70000;
    out->event.score.kills = 65535;
    out->event.score.deaths = 3;
    out->event.score.deaths_by_nobody = 2;
}

static void event_phase_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_PHASE);
    out->event.phase.phase = ARB_PHASE_ENDED;
    out->event.phase.round = 9;
    out->event.phase.end_tick = 0x80000000;
}

static void event_result_fill(struct proto_decoded *out)
{
    event_start(out, ARB_EVENT_RESULT);
    out->event.result.reason = ARB_END_EMPTY;
    out->event.result.winner_slot = 12;
    out->event.result.winner_team = 2;
}

/* ---- parts and chunks ---- */

static const uint8_t payload[] = {0x00, 0xFF, 0x10, 0x80, 0x07};

static void part_fill(struct proto_decoded *out)
{
    out->part = (struct arb_part){0xFFFF, 3, 1000, sizeof payload, payload};
}

static size_t part_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    return arb_part_encode(&message->part, bytes, capacity);
}

static enum arb_decode part_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_part_decode(bytes, size, &out->part);
}

static bool part_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    return a->part.message == b->part.message && a->part.index == b->part.index &&
           a->part.count == b->part.count && a->part.size == b->part.size &&
           memcmp(a->part.bytes, b->part.bytes, a->part.size) == 0;
}

static void chunk_fill(struct proto_decoded *out)
{
    out->chunk = (struct arb_chunk){{.id = 0xFFF0,
                                     .tick = 0x1002,
                                     .confirmed_tick = 0x1001,
                                     .last_sequence = 0x8000,
                                     .buffer_ticks = -3,
                                     .control = 200,
                                     .chunk_index = 62,
                                     .chunk_count = 64,
                                     .baseline = 63},
                                    payload,
                                    sizeof payload};
}

static void parity_fill(struct proto_decoded *out)
{
    chunk_fill(out);
    out->chunk.header.chunk_index = out->chunk.header.chunk_count = 63;
    out->chunk.header.last_bytes = sizeof payload - 1;
}

static size_t chunk_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    return arb_chunk_encode(&message->chunk, bytes, capacity);
}

static enum arb_decode chunk_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_chunk_decode(bytes, size, &out->chunk);
}

static bool chunk_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    const struct arb_snapshot_header *p = &a->chunk.header;
    const struct arb_snapshot_header *q = &b->chunk.header;
    return p->id == q->id && p->tick == q->tick && p->confirmed_tick == q->confirmed_tick &&
           p->last_sequence == q->last_sequence && p->buffer_ticks == q->buffer_ticks &&
           p->control == q->control && p->chunk_index == q->chunk_index &&
           p->chunk_count == q->chunk_count && p->baseline == q->baseline &&
           p->last_bytes == q->last_bytes && a->chunk.payload_bytes == b->chunk.payload_bytes &&
           memcmp(a->chunk.payload, b->chunk.payload, a->chunk.payload_bytes) == 0;
}

/* ---- inputs ---- */

static void bare_ack_fill(struct proto_decoded *out)
{
    memset(&out->input, 0, sizeof out->input);
    out->input.control = 9;
    out->input.ack_snapshot = 0xFFFE;
    out->input.has_ack = 1;
    out->input.ack_mask = 0xA0000001;
    out->input.view_delay = 0x8001;
}

static struct arb_input input_after(const struct arb_input *before, arb_tick step)
{
    struct arb_input input = *before;
    input.sequence++;
    input.target_tick += step;
    input.edges = 0;
    return input;
}

/* Sequences and ticks wrap their 16 bits on the way; all fields differ somewhere. */
static void input_fill(struct proto_decoded *out)
{
    struct arb_input_packet *packet = &out->input;
    memset(packet, 0, sizeof *packet);
    *packet = (struct arb_input_packet){.control = 255,
                                        .ack_snapshot = 3,
                                        .has_ack = 1,
                                        .ack_mask = UINT32_MAX,
                                        .view_delay = 100,
                                        .count = 8,
                                        .older_count = 3};
    struct arb_input *in = packet->inputs;
    in[0] = (struct arb_input){
        .sequence = 0xFFFD,
        .target_tick = 0x1FFFC,
        .buttons = ARB_BUTTON_FIRE | 0x8000,
        .edges = ARB_BUTTON_FIRE | ARB_BUTTON_DASH,
        .move_x = -100,
        .move_y = 127,
        .aim = 65500,
        .muzzle_fraction = 128,
        .view = {.from_tick = 0x1FFE0, .to_tick = 0x1FFE2, .fraction = 256, .held = 0xFFFE}};
    in[1] = input_after(&in[0], 1);
    in[1].view.fraction = 17;
    in[2] = input_after(&in[1], 1);
    in[2].aim = 36;
    in[2].view =
        (struct arb_view){.from_tick = 0x1FFE2, .to_tick = 0x1FFE2, .fraction = 1000, .held = 3};
    in[3] = input_after(&in[2], 500);
    in[3].buttons = ARB_BUTTON_RELOAD;
    in[3].move_x = 5;
    in[3].view = (struct arb_view){0};
    in[4] = input_after(&in[3], 1);
    in[5] = input_after(&in[4], 1);
    in[5].edges = 0x1000;
    in[5].muzzle_fraction = 0;
    in[6] = input_after(&in[5], 1);
    in[6].edges = ARB_BUTTON_FIRE;
    in[6].aim = 30000;
    in[7] = input_after(&in[6], 1);
    in[7].edges = ARB_BUTTON_FIRE;
    in[7].view =
        (struct arb_view){.from_tick = 0x1FC00, .to_tick = 0x20010, .fraction = 1, .held = 4};
}

static size_t input_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    return arb_input_packet_encode(&message->input, bytes, capacity);
}

static enum arb_decode input_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_input_packet_decode(bytes, size, PROTO_SAMPLE_NEAR_SEQUENCE, PROTO_SAMPLE_NEAR_TICK,
                                   &out->input);
}

static bool input_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    return memcmp(&a->input, &b->input, sizeof a->input) == 0;
}

/* ---- welcome ---- */

static const struct arb_shape sample_shapes[] = {
    {ARB_SHAPE_CIRCLE, 1, 0.5F, {{1.5F, -2.5F}}},
    {ARB_SHAPE_CAPSULE, 2, 0.25F, {{-4096.0F, 4096.0F}, {3.0F, 0.1F}}},
    {ARB_SHAPE_POLYGON, 3, 0.0F, {{0, 0}, {1, 0}, {0, 1}}},
    {ARB_SHAPE_POLYGON,
     8,
     0.125F,
     {{10, 1}, {11, 1}, {12, 2}, {12, 3}, {11, 4}, {10, 4}, {9, 3}, {9, 2}}},
};

static void welcome_fill(struct proto_decoded *out)
{
    struct arb_welcome *welcome = &out->welcome;
    memset(welcome, 0, sizeof *welcome);
    strcpy(welcome->mode, "arena");
    for (uint8_t i = 0; i < 16; i++) {
        welcome->match_id[i] = (uint8_t)(0xF0 + i);
        welcome->token[i] = (uint8_t)(0x90 + i);
    }
    welcome->player_id = 0x8000000000000005ULL;
    welcome->player_slot = 15;
    welcome->player_capacity = 16;
    welcome->tick = 0xFFFFFF00;
    welcome->tick_rate = 60;
    welcome->snapshot_interval_ticks = 2;
    welcome->input_delay_ticks = 3;
    welcome->input_buffer_ticks = 30;
    welcome->map_hash = 0xABCDEF0123456789ULL;
    welcome->bounds = (struct arb_bounds){{-4096, -20}, {20.5F, 4096}};
    welcome->shape_count = sizeof sample_shapes / sizeof sample_shapes[0];
    welcome->shapes = sample_shapes;
    out->params = (struct proto_sample_params){2, 128, 12.75F, {1, 30, 65535}};
    welcome->params = &out->params;
}

static size_t welcome_encode(const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    return arb_welcome_encode(&message->welcome, &proto_sample_param_fields, bytes, capacity);
}

static enum arb_decode welcome_decode(const uint8_t *bytes, size_t size, struct proto_decoded *out)
{
    return arb_welcome_decode(bytes, size, &proto_sample_param_fields, out->shapes,
                              sizeof out->shapes / sizeof out->shapes[0], &out->params,
                              &out->welcome);
}

static bool welcome_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    struct arb_welcome left = a->welcome;
    struct arb_welcome right = b->welcome;
    bool rest = left.shape_count == right.shape_count &&
                memcmp(left.shapes, right.shapes, left.shape_count * sizeof *left.shapes) == 0 &&
                memcmp(left.params, right.params, sizeof(struct proto_sample_params)) == 0;
    left.shapes = right.shapes = NULL;
    left.params = right.params = NULL;
    return rest && memcmp(&left, &right, sizeof left) == 0;
}

/* ---- snapshot streams ---- */

/* The baseline of the streams that have one; its first states are old ones. */
struct baseline {
    struct arb_frame frame;
    struct arb_published entities[8];
    struct arb_point points[16];
    struct arb_held_entry entries[8];
    struct proto_sample_own own;
    struct arb_own_part part;
    struct arb_delta_base base;
};

static struct arb_published *add_known(struct baseline *known, struct arb_key key, uint8_t kind,
                                       uint16_t age)
{
    struct arb_published *entity = &known->entities[known->frame.entity_count];
    *entity = (struct arb_published){.key = key, .kind = kind};
    known->entries[known->frame.entity_count++] = (struct arb_held_entry){.key = key, .age = age};
    return entity;
}

static void known_start(struct baseline *known)
{
    memset(known, 0, sizeof *known);
    known->frame = (struct arb_frame){.entities = known->entities, .points = known->points};
    known->own =
        (struct proto_sample_own){-4096.0F, 8.3F, 1.5F, {1, 1000, 511, 3}, 15, 0, -7, 1999999999};
    known->part = (struct arb_own_part){0xFFFE, 0x7001, &known->own};
    known->base = (struct arb_delta_base){
        PROTO_SAMPLE_NEAR_TICK - 6, &known->frame, known->entries, {3, 1}, &known->part};
}

static const struct arb_delta_base *arena_base(void)
{
    static struct baseline known;
    known_start(&known);
    static const int32_t moving[] = {1024, 15, -2097000, 2097151, -300, 8191, 4062, 1023, 3, 254};
    memcpy(add_known(&known, (struct arb_key){0, 1}, ARB_ARENA_CHARACTER, 5)->q, moving,
           sizeof moving);
    static const int32_t standing[] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 10};
    memcpy(add_known(&known, (struct arb_key){1, 0xFFFF}, ARB_ARENA_CHARACTER, 0)->q, standing,
           sizeof standing);
    add_known(&known, (struct arb_key){2, 7}, ARB_ARENA_CHARACTER, 1);
    memcpy(add_known(&known, (struct arb_key){4, 1}, ARB_ARENA_CHARACTER, 2)->q, standing,
           sizeof standing);
    add_known(&known, (struct arb_key){0xFFFF, 300}, ARB_ARENA_PICKUP, 0);
    return &known.base;
}

static const struct arb_delta_base *serpent_base(void)
{
    static struct baseline known;
    known_start(&known);
    struct arb_published *head = add_known(&known, (struct arb_key){7, 2}, ARB_SERPENT_HEAD, 0);
    memcpy(head->q, (int32_t[]){3, 400, -510, 16000, 0, 65534, 4},
           ARB_HEAD_FIELDS * sizeof head->q[0]);
    static const struct arb_point body[] = {{256, -512}, {0, -512}, {-250, -490}, {-420, -310}};
    memcpy(known.points, body, sizeof body);
    head->body_count = sizeof body / sizeof body[0];
    known.frame.point_count = head->body_count;
    add_known(&known, (struct arb_key){8, 2}, ARB_SERPENT_HEAD, 3)->q[ARB_HEAD_X] = 8;
    add_known(&known, (struct arb_key){300, 69}, ARB_SERPENT_FOOD, 0);
    add_known(&known, (struct arb_key){301, 1}, ARB_SERPENT_FOOD, 0)->q[ARB_FOOD_VALUE] = 5;
    add_known(&known, (struct arb_key){302, 1}, ARB_SERPENT_FOOD, 9)->q[ARB_FOOD_VALUE] = 6;
    return &known.base;
}

static void own_fill(struct proto_decoded *out)
{
    out->own = (struct proto_sample_own){-4095.9F, 7.3F, 3.1F,   {1, 1000, 512, 3},
                                         -16,      1,    -32768, 2000000000};
    out->own_part = (struct arb_own_part){0xFFFF, 0x8001, &out->own};
    out->has_own = true;
}

static struct arb_published *add_entity(struct proto_decoded *out, struct arb_key key, uint8_t kind,
                                        uint16_t age)
{
    struct arb_published *entity = &out->entities[out->frame.entity_count];
    memset(entity, 0, sizeof *entity);
    entity->key = key;
    entity->kind = kind;
    out->entries[out->frame.entity_count++] = (struct arb_held_entry){.key = key, .age = age};
    return entity;
}

static void frame_start(struct proto_decoded *out)
{
    out->frame = (struct arb_frame){.tick = 77, .entities = out->entities, .points = out->points};
    out->has_own = false;
    out->own_part = (struct arb_own_part){0, 0, &out->own};
    out->controlled = (struct arb_key){3, 1};
}

static void arena_fill(struct proto_decoded *out)
{
    frame_start(out);
    own_fill(out);
    out->controlled = (struct arb_key){0xFFFF, 0x8001};
    struct arb_published *a = add_entity(out, (struct arb_key){0, 1}, ARB_ARENA_CHARACTER, 0);
    memcpy(a->q, (int32_t[]){1024, 15, -2097152, 2097151, -8192, 8191, 4095, 1023, 3, 255},
           ARB_CHARACTER_FIELDS * sizeof a->q[0]);
    struct arb_published *b = add_entity(out, (struct arb_key){1, 0xFFFF}, ARB_ARENA_CHARACTER, 0);
    memcpy(b->q, (int32_t[]){1, 2, 3, 4, 5, 6, 7, 8, 1, 10}, ARB_CHARACTER_FIELDS * sizeof b->q[0]);
    struct arb_published *c = add_entity(out, (struct arb_key){0xFFFF, 300}, ARB_ARENA_PICKUP, 0);
    memcpy(c->q, (int32_t[]){2, 1023, -1, 1}, ARB_PICKUP_FIELDS * sizeof c->q[0]);
}

/* Updated, unchanged, gone, entered, left out, and a pickup that changed. */
static void arena_delta_fill(struct proto_decoded *out)
{
    arena_fill(out);
    struct arb_published pickup = out->entities[--out->frame.entity_count];
    struct arb_published *entered = add_entity(out, (struct arb_key){3, 1}, ARB_ARENA_CHARACTER, 0);
    memcpy(entered->q, out->entities[0].q, sizeof entered->q);
    struct arb_published *left_out =
        add_entity(out, (struct arb_key){4, 1}, ARB_ARENA_CHARACTER, 8);
    memcpy(left_out->q, out->entities[1].q, sizeof left_out->q);
    *add_entity(out, pickup.key, pickup.kind, 0) = pickup;
}

static void serpent_fill(struct proto_decoded *out)
{
    frame_start(out);
    struct arb_published *head = add_entity(out, (struct arb_key){7, 2}, ARB_SERPENT_HEAD, 0);
    memcpy(head->q, (int32_t[]){3, 512, -512, 16384, 1, 65535, 4},
           ARB_HEAD_FIELDS * sizeof head->q[0]);
    /* Straight, a bend, a jump from one end of the world to the other: every width of a step. */
    static const struct arb_point body[] = {{512, -512},         {256, -512},        {0, -512},
                                            {-250, -490},        {-400, -300},       {-1400, 900},
                                            {2097151, -2097152}, {-2097152, 2097151}};
    head->body_count = sizeof body / sizeof body[0];
    memcpy(out->points, body, sizeof body);
    struct arb_published *bare = add_entity(out, (struct arb_key){8, 2}, ARB_SERPENT_HEAD, 0);
    bare->q[ARB_HEAD_X] = 9;
    bare->body_first = head->body_count;
    struct arb_published *food = add_entity(out, (struct arb_key){300, 70}, ARB_SERPENT_FOOD, 0);
    memcpy(food->q, (int32_t[]){255, 1, -1}, ARB_FOOD_FIELDS * sizeof food->q[0]);
    out->frame.point_count = head->body_count;
}

/* Of the baseline's foods the first is gone for another of its id, one stays, one is left out. */
static void serpent_delta_fill(struct proto_decoded *out)
{
    serpent_fill(out);
    add_entity(out, (struct arb_key){301, 1}, ARB_SERPENT_FOOD, 0)->q[ARB_FOOD_VALUE] = 5;
    add_entity(out, (struct arb_key){302, 1}, ARB_SERPENT_FOOD, 15)->q[ARB_FOOD_VALUE] = 6;
}

static struct arb_delta_rule rule_of(const struct arb_schema *schema)
{
    return (struct arb_delta_rule){schema, &proto_sample_own_fields, PROTO_SAMPLE_TICK_RATE};
}

/* The same entity in what is sent; NULL: gone, or another one with its key. */
static const struct arb_published *still_there(const struct arb_frame *frame,
                                               const struct arb_published *known)
{
    const struct arb_published *entity = arb_frame_find(frame, known->key);
    return entity != NULL && entity->kind == known->kind ? entity : NULL;
}

static bool say_known(struct arb_delta_writer *writer, const struct arb_delta_rule *rule,
                      const struct arb_delta_base *base, uint32_t i,
                      const struct proto_decoded *message)
{
    const struct arb_published *known = &base->frame->entities[i];
    const struct arb_published *now = still_there(&message->frame, known);
    if (now == NULL) {
        arb_delta_gone(writer, known->kind);
        return true;
    }
    if (message->entries[now - message->entities].age > 0) {
        arb_delta_left_out(writer, 1);
        return true;
    }
    uint8_t record[PROTO_SAMPLE_BYTES_MAX];
    struct arb_bit_writer bits;
    arb_bits_write_begin(&bits, record, sizeof record);
    struct arb_delta_state from = {known, base->frame->points, base->tick - base->entries[i].age};
    struct arb_delta_state to = {now, message->points, PROTO_SAMPLE_NEAR_TICK};
    if (!arb_delta_record(rule, &from, &to, &bits)) {
        arb_delta_unchanged(writer, known->kind);
        return true;
    }
    return arb_delta_update(writer, known->kind, record, 0, bits.bit);
}

static bool is_known(const struct arb_delta_base *base, const struct arb_published *entity)
{
    const struct arb_published *known =
        base != NULL ? arb_frame_find(base->frame, entity->key) : NULL;
    return known != NULL && known->kind == entity->kind;
}

static size_t stream_encode(const struct arb_schema *schema, const struct arb_delta_base *base,
                            const struct proto_decoded *message, uint8_t *bytes, size_t capacity)
{
    struct arb_delta_rule rule = rule_of(schema);
    struct arb_delta_head head = {message->controlled,
                                  message->has_own ? &message->own_part : NULL};
    struct arb_delta_head before = {ARB_KEY_NONE, NULL};
    if (base != NULL) before = (struct arb_delta_head){base->controlled, base->own};
    struct arb_delta_writer writer;
    uint32_t known = base != NULL ? base->frame->entity_count : 0;
    uint32_t ticks = base != NULL ? (uint32_t)(PROTO_SAMPLE_NEAR_TICK - base->tick) : 0;
    bool good = arb_delta_begin(&writer, &rule, &head, base != NULL ? &before : NULL, ticks, known,
                                bytes, capacity);
    for (uint32_t i = 0; i < known && good; i++) {
        good = say_known(&writer, &rule, base, i, message);
    }
    for (uint32_t i = 0; i < message->frame.entity_count && good; i++) {
        const struct arb_published *entity = &message->entities[i];
        if (is_known(base, entity)) continue;
        uint8_t record[PROTO_SAMPLE_BYTES_MAX];
        struct arb_bit_writer bits;
        arb_bits_write_begin(&bits, record, sizeof record);
        arb_entity_encode(schema, &message->frame, entity, &bits);
        good = arb_delta_enter(&writer, entity->key, record, 0, bits.bit);
    }
    return good ? arb_delta_end(&writer) : 0;
}

static enum arb_decode stream_decode(const struct arb_schema *schema,
                                     const struct arb_delta_base *base, const uint8_t *bytes,
                                     size_t size, struct proto_decoded *out)
{
    struct arb_delta_rule rule = rule_of(schema);
    out->frame = (struct arb_frame){.entities = out->entities, .points = out->points};
    struct arb_delta_out into = {.frame = &out->frame,
                                 .entries = out->entries,
                                 .entity_capacity = PROTO_SAMPLE_ENTITIES_MAX,
                                 .point_capacity = PROTO_SAMPLE_POINTS_MAX,
                                 .own = &out->own};
    enum arb_decode reason =
        arb_delta_decode(&rule, bytes, size, PROTO_SAMPLE_NEAR_TICK, base, &into);
    out->own_part = into.own_part;
    out->has_own = into.has_own;
    out->controlled = into.controlled;
    return reason;
}

#define STREAM(name, schema, base)                                                                 \
    static size_t name##_encode(const struct proto_decoded *message, uint8_t *bytes,               \
                                size_t capacity)                                                   \
    {                                                                                              \
        return stream_encode(schema, base, message, bytes, capacity);                              \
    }                                                                                              \
    static enum arb_decode name##_decode(const uint8_t *bytes, size_t size,                        \
                                         struct proto_decoded *out)                                \
    {                                                                                              \
        return stream_decode(schema, base, bytes, size, out);                                      \
    }

STREAM(arena, &arb_schema_arena, NULL)
STREAM(arena_delta, &arb_schema_arena, arena_base())
STREAM(serpent, &arb_schema_serpent, NULL)
STREAM(serpent_delta, &arb_schema_serpent, serpent_base())

static bool own_equal(const struct proto_sample_own *a, const struct proto_sample_own *b)
{
    return memcmp(&a->x, &b->x, sizeof a->x) == 0 && memcmp(&a->vx, &b->vx, sizeof a->vx) == 0 &&
           memcmp(&a->heading, &b->heading, sizeof a->heading) == 0 &&
           memcmp(a->magazine, b->magazine, sizeof a->magazine) == 0 && a->lean == b->lean &&
           a->boost == b->boost && a->push == b->push && a->drift == b->drift;
}

static bool entity_equal(const struct proto_decoded *a, const struct proto_decoded *b, uint32_t i)
{
    const struct arb_published *p = &a->entities[i];
    const struct arb_published *q = &b->entities[i];
    return arb_key_equal(p->key, q->key) && p->kind == q->kind &&
           a->entries[i].age == b->entries[i].age && p->body_count == q->body_count &&
           memcmp(p->q, q->q, sizeof p->q) == 0 &&
           memcmp(a->points + p->body_first, b->points + q->body_first,
                  p->body_count * sizeof *a->points) == 0;
}

static bool stream_equal(const struct proto_decoded *a, const struct proto_decoded *b)
{
    if (a->has_own != b->has_own || !arb_key_equal(a->controlled, b->controlled) ||
        a->frame.entity_count != b->frame.entity_count) {
        return false;
    }
    bool same = !a->has_own || (a->own_part.starved_ticks == b->own_part.starved_ticks &&
                                a->own_part.outside_changes == b->own_part.outside_changes &&
                                own_equal(&a->own, &b->own));
    for (uint32_t i = 0; i < a->frame.entity_count; i++) {
        same = same && entity_equal(a, b, i);
    }
    return same;
}

#define SAMPLE(name, codec, comparer)                                                              \
    {                                                                                              \
#name, name##_fill, codec##_encode, codec##_decode, comparer##_equal                       \
    }

const struct proto_sample proto_samples[] = {
    SAMPLE(hello, hello, hello),
    SAMPLE(refused, refused, refused),
    SAMPLE(welcome, welcome, welcome),
    SAMPLE(part, part, part),
    SAMPLE(ping, ping, ping),
    SAMPLE(pong, pong, pong),
    SAMPLE(spectate, spectate, spectate),
    SAMPLE(bare_ack, input, input),
    SAMPLE(input, input, input),
    SAMPLE(chunk, chunk, chunk),
    SAMPLE(parity, chunk, chunk),
    SAMPLE(arena, arena, stream),
    SAMPLE(arena_delta, arena_delta, stream),
    SAMPLE(serpent, serpent, stream),
    SAMPLE(serpent_delta, serpent_delta, stream),
    SAMPLE(counts, counts, counts),
    SAMPLE(late, late, late),
    SAMPLE(scores, scores, scores),
    SAMPLE(events, events, events),
    SAMPLE(event_player, event, event),
    SAMPLE(event_rebind, event, event),
    SAMPLE(event_death, event, event),
    SAMPLE(event_hit, event, event),
    SAMPLE(event_impact, event, event),
    SAMPLE(event_score, event, event),
    SAMPLE(event_phase, event, event),
    SAMPLE(event_result, event, event),
};
const size_t proto_sample_count = sizeof proto_samples / sizeof proto_samples[0];
