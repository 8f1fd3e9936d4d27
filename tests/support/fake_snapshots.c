/* The snapshots of the fake server: everything in view as a difference to the newest snapshot that
 * the client has acknowledged. */
#include "tests/support/fake_server.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/proto/arb_delta.h"

#include <string.h>

static void publish(struct arb_published *out, struct arb_point *points, bool serpent,
                    struct arb_key key, uint16_t owner, struct arb_vec2 at, struct arb_vec2 speed,
                    float heading, uint8_t jump, uint32_t *point_count)
{
    int32_t x = arb_quantise(at.x, 1.0F / 512.0F, -(1 << 21), (1 << 21) - 1);
    int32_t y = arb_quantise(at.y, 1.0F / 512.0F, -(1 << 21), (1 << 21) - 1);
    memset(out, 0, sizeof *out);
    out->key = key;
    if (serpent) {
        out->kind = ARB_SERPENT_HEAD;
        out->q[ARB_HEAD_OWNER] = owner;
        out->q[ARB_HEAD_X] = x;
        out->q[ARB_HEAD_Y] = y;
        out->q[ARB_HEAD_HEADING] = arb_angle_to_turn16(heading);
        out->q[ARB_HEAD_JUMP] = jump;
        out->body_first = *point_count;
        out->body_count = FAKE_BODY;
        for (int32_t i = 0; i < FAKE_BODY; i++) {
            points[(*point_count)++] = (struct arb_point){x - 128 * i, y};
        }
        return;
    }
    out->kind = ARB_ARENA_CHARACTER;
    out->q[ARB_CHARACTER_OWNER] = owner;
    out->q[ARB_CHARACTER_X] = x;
    out->q[ARB_CHARACTER_Y] = y;
    out->q[ARB_CHARACTER_VX] = arb_quantise(speed.x, 1.0F / 64.0F, -8192, 8191);
    out->q[ARB_CHARACTER_VY] = arb_quantise(speed.y, 1.0F / 64.0F, -8192, 8191);
    out->q[ARB_CHARACTER_HEADING] = (int32_t)arb_angle_to_turn(heading, ARB_CHARACTER_TURN_BITS);
    out->q[ARB_CHARACTER_HEALTH] = 100;
    out->q[ARB_CHARACTER_JUMP] = jump;
}

/* ---- what there is ---- */

static void publish_all(const struct fake_server *fake, struct fake_sent *out)
{
    bool serpent = fake->options.serpent;
    bool own_done = fake->no_character;
    for (uint32_t i = 0; i <= fake->options.movers; i++) {
        struct arb_key key = {(uint16_t)(30 + i + (i >= FAKE_OWN_ID - 30)), 1};
        if (!own_done && (key.id > FAKE_OWN_ID || i == fake->options.movers)) {
            publish(&out->entities[out->frame.entity_count++], out->points, serpent, fake->key, 1,
                    (struct arb_vec2){fake->own.x, fake->own.y},
                    (struct arb_vec2){fake->own.vx, fake->own.vy}, fake->own.heading, fake->jump,
                    &out->frame.point_count);
            own_done = true;
        }
        if (i < fake->options.movers && !(i == 0 && fake->first_mover_gone)) {
            publish(&out->entities[out->frame.entity_count++], out->points, serpent, key, 0,
                    fake_mover(i, out->frame.tick), (struct arb_vec2){3.0F, 0.0F}, 0.0F,
                    (uint8_t)((out->frame.tick + 37 * i) / 1200), &out->frame.point_count);
        }
    }
}

bool fake_leaves_out(const struct fake_server *fake, uint16_t snapshot, struct arb_key key)
{
    return fake->thin > 1 && key.id != FAKE_OWN_ID && (snapshot + key.id) % fake->thin != 0;
}

/* ---- against a baseline ---- */

/* The state of the baseline stays: into `to`, which is of the same entity. */
static void carry(struct fake_sent *sent, uint32_t to, const struct fake_sent *base, uint32_t from)
{
    const struct arb_published *held = &base->entities[from];
    struct arb_point *body = sent->points + sent->entities[to].body_first;
    ARB_ASSERT(held->body_count == sent->entities[to].body_count);
    uint32_t first = sent->entities[to].body_first;
    memcpy(body, base->points + held->body_first, held->body_count * sizeof *body);
    sent->entities[to] = *held;
    sent->entities[to].body_first = first;
    sent->entries[to].age =
        (uint16_t)(base->entries[from].age + (sent->frame.tick - base->frame.tick));
}

static void write_update(struct fake_server *fake, struct arb_delta_writer *writer,
                         const struct arb_delta_rule *rule, const struct arb_delta_state *from,
                         const struct arb_delta_state *to)
{
    uint8_t bytes[1024];
    struct arb_bit_writer record;
    arb_bits_write_begin(&record, bytes, sizeof bytes);
    uint8_t kind = to->entity->kind;
    if (!arb_delta_record(rule, from, to, &record)) {
        arb_delta_unchanged(writer, kind);
        return;
    }
    bool fits = arb_delta_update(writer, kind, bytes, 0, record.bit);
    ARB_ASSERT(fits);
    fake->updates++;
}

/* Says of each entity of the baseline what became of it. */
static void write_known(struct fake_server *fake, struct arb_delta_writer *writer,
                        const struct arb_delta_rule *rule, struct fake_sent *sent,
                        const struct fake_sent *base)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < base->frame.entity_count; i++) {
        const struct arb_published *held = &base->entities[i];
        while (at < sent->frame.entity_count && sent->entities[at].key.id < held->key.id) {
            at++;
        }
        if (at == sent->frame.entity_count || !arb_key_equal(sent->entities[at].key, held->key)) {
            arb_delta_gone(writer, held->kind);
        } else if (fake_leaves_out(fake, sent->id, held->key)) {
            arb_delta_left_out(writer, 1);
            carry(sent, at, base, i);
        } else {
            struct arb_delta_state from = {held, base->points,
                                           base->frame.tick - base->entries[i].age};
            struct arb_delta_state to = {&sent->entities[at], sent->points, sent->frame.tick};
            write_update(fake, writer, rule, &from, &to);
        }
    }
}

static void write_new(const struct fake_server *fake, struct arb_delta_writer *writer,
                      const struct fake_sent *sent, const struct fake_sent *base)
{
    for (uint32_t i = 0; i < sent->frame.entity_count; i++) {
        struct arb_key key = sent->entities[i].key;
        if (base != NULL && arb_frame_find(&base->frame, key) != NULL) {
            continue;
        }
        uint8_t bytes[1024];
        struct arb_bit_writer record;
        arb_bits_write_begin(&record, bytes, sizeof bytes);
        arb_entity_encode(fake->schema, &sent->frame, &sent->entities[i], &record);
        bool fits = arb_delta_enter(writer, key, bytes, 0, record.bit);
        ARB_ASSERT(fits);
    }
}

static const struct fake_sent *baseline(const struct fake_server *fake)
{
    bool usable = fake->has_acked && !fake->only_full &&
                  (uint16_t)(fake->next_snapshot - fake->acked) < FAKE_SENT;
    return usable ? &fake->sent[fake->acked % FAKE_SENT] : NULL;
}

static size_t encode(struct fake_server *fake, struct fake_sent *sent, const struct fake_sent *base,
                     uint8_t *stream, size_t capacity)
{
    struct arb_delta_rule rule = {fake->schema, arb_own_fields((enum arb_mover)fake->params.mover),
                                  fake->params.tick_rate};
    struct arb_own_part part = {fake->starved, fake->outside, &sent->own};
    struct arb_own_part base_part = {0};
    struct arb_delta_head head = {sent->controlled, sent->has_own ? &part : NULL};
    struct arb_delta_head base_head = {0};
    struct arb_delta_writer writer;
    sent->part = part;
    if (base != NULL) {
        base_part = base->part;
        base_head = (struct arb_delta_head){base->controlled, base->has_own ? &base_part : NULL};
    }
    bool begun = arb_delta_begin(&writer, &rule, &head, base == NULL ? NULL : &base_head,
                                 base == NULL ? 0 : (uint32_t)(sent->frame.tick - base->frame.tick),
                                 base == NULL ? 0 : base->frame.entity_count, stream, capacity);
    ARB_ASSERT(begun);
    if (base != NULL) {
        write_known(fake, &writer, &rule, sent, base);
    }
    write_new(fake, &writer, sent, base);
    return arb_delta_end(&writer);
}

/* ---- sending ---- */

static void send_chunks(struct fake_server *fake, const struct fake_sent *sent, uint8_t back,
                        const uint8_t *stream, size_t size)
{
    uint32_t payload = fake->options.chunk_payload;
    uint32_t count = (uint32_t)((size + payload - 1) / payload);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
        size_t left = size - (size_t)i * payload;
        struct arb_chunk chunk = {
            .header = {.id = sent->id,
                       .tick = (uint16_t)sent->frame.tick,
                       .confirmed_tick = (uint16_t)sent->frame.tick,
                       .baseline = back,
                       .last_sequence = (uint16_t)fake->last_sequence,
                       .buffer_ticks = (int8_t)fake->worst_lead,
                       .control = fake->control,
                       .chunk_index = (uint8_t)i,
                       .chunk_count = (uint8_t)count},
            .payload = stream + (size_t)i * payload,
            .payload_bytes = (uint16_t)(left < payload ? left : payload),
        };
        size_t chunk_size = arb_chunk_encode(&chunk, bytes, sizeof bytes);
        ARB_ASSERT(chunk_size > 0);
        fake_send(fake, ARB_NET_CHANNEL_UNSEQUENCED, bytes, chunk_size);
    }
}

void fake_send_snapshot(struct fake_server *fake, arb_tick published)
{
    static uint8_t stream[65536];
    const struct fake_sent *base = baseline(fake);
    struct fake_sent *sent = &fake->sent[fake->next_snapshot % FAKE_SENT];
    memset(sent, 0, sizeof *sent);
    sent->id = fake->next_snapshot++;
    sent->frame =
        (struct arb_frame){.tick = published, .entities = sent->entities, .points = sent->points};
    sent->has_own = !fake->no_character;
    sent->controlled = fake->no_character ? ARB_KEY_NONE : fake->key;
    sent->own = fake->own;
    publish_all(fake, sent);
    for (uint32_t i = 0; i < sent->frame.entity_count; i++) {
        sent->entries[i].key = sent->entities[i].key;
    }
    size_t size = encode(fake, sent, base, stream, sizeof stream);
    ARB_ASSERT(size > 0);
    if (fake->withhold) {
        return;
    }
    uint8_t back = base == NULL ? 0 : (uint8_t)(sent->id - base->id);
    send_chunks(fake, sent, back, stream, size);
    fake->deltas += back != 0;
    fake->worst_lead = ARB_CLIENT_NO_MEASURE;
}

void fake_acknowledge(struct fake_server *fake, uint16_t id)
{
    if (!fake->has_acked || arb_newer16(id, fake->acked)) {
        fake->has_acked = true;
        fake->acked = id;
    }
}
