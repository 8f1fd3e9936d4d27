/* A replicate with its rewind, and a client that decodes what it sends and holds the frames, for
 * the tests of server/replicate. */
#ifndef REPLICATE_RIG_H
#define REPLICATE_RIG_H

#include "server/replicate/replicate.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "shared/proto/arb_delta.h"

#include <criterion/criterion.h>
#include <string.h>

enum {
    RIG_ENTITIES = 256,
    RIG_POINTS = 2048,
    RIG_STREAM = 64 * 1150,
    RIG_RATE = 60,
    RIG_INTERVAL = 2,
    RIG_CLIENT = 3
};

#define RIG_UNIT (1.0F / 512.0F)

/* A dot, a snake with a body, and a box that lies there. */
static const struct arb_kind_field rig_dot_fields[] = {
    {"x", 24, 1, RIG_UNIT, "m"},
    {"y", 24, 1, RIG_UNIT, "m"},
    {"a", 20, 0, 1.0F, ""},
    {"b", 20, 0, 1.0F, ""},
};
static const struct arb_kind rig_kinds[] = {
    {"dot", rig_dot_fields, 4, 0, 0, 1, -1, -1, -1, -1, 2, 0, 0},
    {"snake", rig_dot_fields, 4, 1, 0, 1, -1, -1, -1, -1, 2, 0, 0},
    {"box", rig_dot_fields, 4, 0, 0, 1, -1, -1, -1, -1, -1, 0, 0},
};
static const struct arb_schema rig_schema = {"test", rig_kinds, 3, ARB_MOVER_NONE};

/* A frame as the client committed it. */
struct rig_held {
    uint32_t id; /* 0: none */
    struct arb_frame frame;
    struct arb_published entities[RIG_ENTITIES];
    struct arb_point points[RIG_POINTS];
    struct arb_held_entry entries[RIG_ENTITIES];
    struct arb_key controlled;
    bool has_own;
    struct arb_own own;
    struct arb_own_part own_part;
};

static struct rig {
    struct arb_arena arena;
    const struct arb_schema *schema;
    struct rewind *rewind;
    struct replicate *replicate;
    struct match_port port;
    /* The world: published at the next rig_tick. */
    struct arb_frame frame;
    struct arb_published entities[RIG_ENTITIES];
    struct arb_point points[RIG_POINTS];
    bool hidden[RIG_ENTITIES]; /* by place: not in view */
    struct replicate_client client;
    struct arb_own own;
    struct arb_vec2 eye;
    bool mute;  /* acknowledges nothing by itself */
    bool other; /* before it, another client is served that acknowledges later */
    /* What came through the port since the last send. */
    uint32_t chunks, parities;
    uint8_t parity[ARB_MESSAGE_BYTES_MAX];
    uint32_t parity_bytes;
    struct arb_snapshot_header parity_header;
    size_t bytes; /* with 12 bytes for each message, as the budget counts */
    struct arb_snapshot_header header;
    uint8_t stream[RIG_STREAM];
    size_t stream_size;
    /* What the client has: the newest, and all by id modulo. */
    const struct rig_held *got;
    struct rig_held held[ARB_HELD_FRAMES];
} rig;

static inline void rig_put(void *owner, struct port_session session, uint8_t channel,
                           const uint8_t *bytes, size_t size)
{
    struct rig *to = owner;
    struct arb_chunk chunk;
    cr_assert_eq(channel, PORT_CHANNEL_UNSEQUENCED);
    cr_assert_eq(session.index, 5);
    cr_assert_eq(session.epoch, 77);
    cr_assert_eq(arb_chunk_decode(bytes, size, &chunk), ARB_DECODE_OK);
    if (arb_chunk_is_parity(&chunk.header)) {
        memcpy(to->parity, chunk.payload, chunk.payload_bytes);
        to->parity_bytes = chunk.payload_bytes;
        to->parity_header = chunk.header;
        to->parities++;
        to->bytes += size + 12;
        return;
    }
    cr_assert_eq(chunk.header.chunk_index, to->chunks);
    memcpy(to->stream + to->stream_size, chunk.payload, chunk.payload_bytes);
    to->stream_size += chunk.payload_bytes;
    to->header = chunk.header;
    to->bytes += size + 12;
    to->chunks++;
}

struct rig_options {
    const struct arb_schema *schema;
    uint32_t budget, payload;
    float far_m;
    uint32_t far_every;
    bool parity;
};

static inline void rig_open_with(const struct rig_options *options)
{
    memset(&rig, 0, sizeof rig);
    arb_arena_init(&rig.arena);
    rig.schema = options->schema;
    static const struct rewind_kind shapes[ARB_KINDS_MAX];
    rig.rewind = rewind_create(&rig.arena,
                               &(struct rewind_config){.schema = options->schema,
                                                       .kinds = shapes,
                                                       .tick_rate = RIG_RATE,
                                                       .snapshot_interval_ticks = RIG_INTERVAL,
                                                       .entity_capacity = RIG_ENTITIES,
                                                       .point_capacity = RIG_POINTS,
                                                       .player_capacity = 4},
                               NULL);
    rig.replicate = replicate_create(
        &rig.arena, &(struct replicate_config){.schema = options->schema,
                                               .rewind = rig.rewind,
                                               .client_capacity = 4,
                                               .tick_rate = RIG_RATE,
                                               .interval_ticks = RIG_INTERVAL,
                                               .chunk_payload_bytes = options->payload,
                                               .budget_bytes_per_s = options->budget,
                                               .entity_capacity = RIG_ENTITIES,
                                               .point_capacity = RIG_POINTS,
                                               .far_m = options->far_m,
                                               .far_every = options->far_every,
                                               .parity = options->parity});
    replicate_reset(rig.replicate, RIG_CLIENT);
    replicate_reset(rig.replicate, 1);
    rig.port = (struct match_port){.owner = &rig, .put = rig_put};
    rig.frame = (struct arb_frame){.tick = 1000, .entities = rig.entities, .points = rig.points};
    rig.client = (struct replicate_client){.session = {5, 77},
                                           .client = RIG_CLIENT,
                                           .last_sequence = 0x12345,
                                           .buffer_ticks = 3,
                                           .control = 9};
}

static inline void rig_open(const struct arb_schema *schema, uint32_t budget, uint32_t payload)
{
    rig_open_with(&(struct rig_options){.schema = schema, .budget = budget, .payload = payload});
}

static inline void rig_close(void)
{
    rewind_destroy(rig.rewind);
    arb_arena_free(&rig.arena);
}

static inline struct arb_published *rig_add(uint16_t id, uint8_t kind, float x, float y)
{
    struct arb_published *entity = &rig.entities[rig.frame.entity_count++];
    *entity =
        (struct arb_published){.key = {id, 1}, .kind = kind, .body_first = rig.frame.point_count};
    entity->q[0] = arb_quantise(x, RIG_UNIT, -(1 << 23), (1 << 23) - 1);
    entity->q[1] = arb_quantise(y, RIG_UNIT, -(1 << 23), (1 << 23) - 1);
    entity->q[2] = id;
    return entity;
}

static inline void rig_add_body(struct arb_published *entity, uint32_t points)
{
    for (uint32_t i = 0; i < points; i++) {
        int32_t zigzag = (int32_t)(i % 2) * 1000000;
        rig.points[rig.frame.point_count++] =
            (struct arb_point){entity->q[0] + zigzag, entity->q[1] - zigzag};
        entity->body_count++;
    }
}

/* Every dot has other values, as costly as can be. */
static inline void rig_shake(struct arb_rng *rng)
{
    for (uint32_t i = 0; i < rig.frame.entity_count; i++) {
        rig.entities[i].q[2] = (int32_t)arb_rng_below(rng, 1 << 20);
        rig.entities[i].q[3] = (int32_t)arb_rng_below(rng, 1 << 20);
    }
}

static inline void rig_publish(void)
{
    struct arb_frame *frame = rewind_begin_frame(rig.rewind, rig.frame.tick);
    frame->entity_count = rig.frame.entity_count;
    frame->point_count = rig.frame.point_count;
    memcpy(frame->entities, rig.entities, rig.frame.entity_count * sizeof *rig.entities);
    memcpy(frame->points, rig.points, rig.frame.point_count * sizeof *rig.points);
    rewind_commit(rig.rewind);
}

static inline void rig_put_nowhere(void *owner, struct port_session session, uint8_t channel,
                                   const uint8_t *bytes, size_t size)
{
    (void)owner, (void)session, (void)channel, (void)bytes, (void)size;
}

static inline void rig_serve_other(const struct arb_frame *frame, const uint32_t *visible,
                                   uint32_t count)
{
    enum { OTHER = 1, BEHIND = 5 };
    static const struct match_port nowhere = {.put = rig_put_nowhere};
    struct replicate_client client = {.client = OTHER};
    replicate_send(rig.replicate, &client, frame, frame->tick, rig.eye, visible, count, &nowhere);
    uint32_t newest = replicate_newest_sent(rig.replicate, OTHER);
    if (newest > BEHIND)
        replicate_ack(rig.replicate, OTHER, (uint16_t)(newest - BEHIND), 0, rig.frame.tick);
}

/* INTERVAL ticks later, one snapshot put into rig.stream, not decoded. False: none was sent. */
static inline bool rig_send_only(void)
{
    rig.chunks = rig.parities = 0;
    rig.bytes = 0;
    rig.stream_size = 0;
    for (int i = 0; i < RIG_INTERVAL; i++) {
        rig.frame.tick++;
        rig_publish();
    }
    uint32_t visible[RIG_ENTITIES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < rig.frame.entity_count; i++) {
        if (!rig.hidden[i]) visible[count++] = i;
    }
    const struct arb_frame *frame = rewind_newest(rig.rewind);
    replicate_begin(rig.replicate, frame);
    if (rig.other) rig_serve_other(frame, visible, count);
    replicate_send(rig.replicate, &rig.client, frame, frame->tick - 1, rig.eye, visible, count,
                   &rig.port);
    if (rig.chunks > 0) cr_assert_eq(rig.header.chunk_count, rig.chunks);
    return rig.chunks > 0;
}

/* The client takes what came: a stream against what it holds. */
static inline void rig_commit(void)
{
    uint32_t id = replicate_newest_sent(rig.replicate, RIG_CLIENT);
    cr_assert_eq(rig.header.id, (uint16_t)id);
    struct rig_held *to = &rig.held[id % ARB_HELD_FRAMES];
    to->id = id;
    to->frame =
        (struct arb_frame){.tick = rig.frame.tick, .entities = to->entities, .points = to->points};
    memset(&to->own, 0, sizeof to->own);
    struct arb_delta_base base = {0};
    if (rig.header.baseline != 0) {
        const struct rig_held *from = &rig.held[(id - rig.header.baseline) % ARB_HELD_FRAMES];
        cr_assert_eq(from->id, id - rig.header.baseline, "the client has the baseline");
        base = (struct arb_delta_base){.tick = from->frame.tick,
                                       .frame = &from->frame,
                                       .entries = from->entries,
                                       .controlled = from->controlled,
                                       .own = from->has_own ? &from->own_part : NULL};
    }
    struct arb_delta_out out = {.frame = &to->frame,
                                .entries = to->entries,
                                .entity_capacity = RIG_ENTITIES,
                                .point_capacity = RIG_POINTS,
                                .own = &to->own};
    struct arb_delta_rule rule = {rig.schema, arb_own_fields((enum arb_mover)rig.schema->mover),
                                  RIG_RATE};
    cr_assert_eq(arb_delta_decode(&rule, rig.stream, rig.stream_size, rig.frame.tick,
                                  rig.header.baseline != 0 ? &base : NULL, &out),
                 ARB_DECODE_OK);
    to->controlled = out.controlled;
    to->has_own = out.has_own;
    to->own_part = out.own_part;
    to->own_part.own = &to->own;
    rig.got = to;
}

/* Sends one snapshot; the client takes it and, unless mute, acknowledges at once. False: none was
 * sent. */
static inline bool rig_send(void)
{
    if (!rig_send_only()) return false;
    rig_commit();
    if (!rig.mute) replicate_ack(rig.replicate, RIG_CLIENT, rig.header.id, 0, rig.frame.tick);
    return true;
}

/* All that the client holds is what was published at the states' ticks, and the server knows it. */
static inline void rig_check_frame(const struct rig_held *got)
{
    uint32_t points = 0;
    for (uint32_t i = 0; i < got->frame.entity_count; i++) {
        const struct arb_published *entity = &got->entities[i];
        cr_assert(arb_key_equal(got->entries[i].key, entity->key));
        cr_assert(i == 0 || got->entities[i - 1].key.id < entity->key.id);
        const struct arb_frame *past =
            rewind_frame(rig.rewind, got->frame.tick - got->entries[i].age);
        cr_assert_not_null(past);
        const struct arb_published *then = arb_frame_find(past, entity->key);
        cr_assert_not_null(then);
        cr_assert_eq(memcmp(then->q, entity->q, sizeof entity->q), 0, "entity %u age %u",
                     entity->key.id, got->entries[i].age);
        cr_assert_eq(then->body_count, entity->body_count);
        points += entity->body_count;
        if (entity->body_count == 0) continue;
        cr_assert_eq(memcmp(past->points + then->body_first, got->points + entity->body_first,
                            entity->body_count * sizeof(struct arb_point)),
                     0);
    }
    cr_assert_eq(points, got->frame.point_count);
}

#endif
