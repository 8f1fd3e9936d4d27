#include "server/replicate/replicate.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ENTITIES = 256, POINTS = 2048, STREAM = 64 * 1150, RATE = 60, INTERVAL = 2 };

#define UNIT (1.0F / 512.0F)

/* A dot of 12 bytes with its key, and a snake with a body. */
static const struct arb_kind_field dot_fields[] = {
    {"x", 24, 1, UNIT, "m"},
    {"y", 24, 1, UNIT, "m"},
    {"a", 20, 0, 1.0F, ""},
    {"b", 20, 0, 1.0F, ""},
};
static const struct arb_kind kinds[] = {
    {"dot", dot_fields, 4, 0, 0, 1, -1, -1, -1, -1, 2},
    {"snake", dot_fields, 4, 1, 0, 1, -1, -1, -1, -1, 2},
};
static const struct arb_schema schema = {"test", kinds, 2, ARB_MOVER_NONE};

static struct scene {
    struct arb_arena arena;
    struct replicate *replicate;
    struct match_port port;
    struct arb_frame frame;
    struct arb_published entities[ENTITIES];
    struct arb_point points[POINTS];
    uint32_t visible[ENTITIES];
    struct replicate_client client;
    struct arb_own own;
    /* What came through the port since the last send. */
    uint32_t chunks;
    size_t bytes; /* with 12 bytes for each message, as the budget counts */
    struct arb_snapshot_header header;
    uint8_t stream[STREAM];
    size_t stream_size;
    /* Decoded. */
    struct arb_frame got;
    struct arb_published got_entities[ENTITIES];
    struct arb_point got_points[POINTS];
    struct arb_own got_own;
    struct arb_own_part got_part;
    bool got_has_own;
} scene;

static void port_put(void *owner, struct port_session session, uint8_t channel,
                     const uint8_t *bytes, size_t size)
{
    struct scene *to = owner;
    struct arb_chunk chunk;
    cr_assert_eq(channel, PORT_CHANNEL_UNSEQUENCED);
    cr_assert_eq(session.index, 5);
    cr_assert_eq(session.epoch, 77);
    cr_assert_eq(arb_chunk_decode(bytes, size, &chunk), ARB_DECODE_OK);
    cr_assert_eq(chunk.header.chunk_index, to->chunks);
    memcpy(to->stream + to->stream_size, chunk.payload, chunk.payload_bytes);
    to->stream_size += chunk.payload_bytes;
    to->header = chunk.header;
    to->bytes += size + 12;
    to->chunks++;
}

static void open_scene(const struct arb_schema *with, uint32_t budget, uint32_t payload)
{
    memset(&scene, 0, sizeof scene);
    arb_arena_init(&scene.arena);
    scene.replicate =
        replicate_create(&scene.arena, &(struct replicate_config){.schema = with,
                                                                  .client_capacity = 4,
                                                                  .tick_rate = RATE,
                                                                  .interval_ticks = INTERVAL,
                                                                  .chunk_payload_bytes = payload,
                                                                  .budget_bytes_per_s = budget,
                                                                  .entity_capacity = ENTITIES,
                                                                  .point_capacity = POINTS});
    replicate_reset(scene.replicate, 3);
    scene.port = (struct match_port){.owner = &scene, .put = port_put};
    scene.frame =
        (struct arb_frame){.tick = 1000, .entities = scene.entities, .points = scene.points};
    scene.client = (struct replicate_client){
        .session = {5, 77}, .client = 3, .last_sequence = 0x12345, .buffer_ticks = 3, .control = 9};
}

static void close_scene(void)
{
    arb_arena_free(&scene.arena);
}

static struct arb_published *add(uint16_t id, uint8_t kind, float x, float y)
{
    scene.visible[scene.frame.entity_count] = scene.frame.entity_count;
    struct arb_published *entity = &scene.entities[scene.frame.entity_count++];
    *entity =
        (struct arb_published){.key = {id, 1}, .kind = kind, .body_first = scene.frame.point_count};
    entity->q[0] = arb_quantise(x, UNIT, -(1 << 23), (1 << 23) - 1);
    entity->q[1] = arb_quantise(y, UNIT, -(1 << 23), (1 << 23) - 1);
    entity->q[2] = id;
    return entity;
}

static void add_body(struct arb_published *entity, uint32_t points)
{
    for (uint32_t i = 0; i < points; i++) {
        int32_t zigzag = (int32_t)(i % 2) * 1000000;
        scene.points[scene.frame.point_count++] =
            (struct arb_point){entity->q[0] + zigzag, entity->q[1] - zigzag};
        entity->body_count++;
    }
}

/* Sends one snapshot and decodes what came; false: none was sent. */
static bool send(const struct arb_schema *with)
{
    scene.chunks = 0;
    scene.bytes = 0;
    scene.stream_size = 0;
    scene.frame.tick += INTERVAL;
    replicate_begin(scene.replicate, &scene.frame);
    replicate_send(scene.replicate, &scene.client, &scene.frame, scene.frame.tick - 1,
                   (struct arb_vec2){0.0F, 0.0F}, scene.visible, scene.frame.entity_count,
                   &scene.port);
    if (scene.chunks == 0) return false;
    cr_assert_eq(scene.header.chunk_count, scene.chunks);
    scene.got = (struct arb_frame){.entities = scene.got_entities, .points = scene.got_points};
    enum arb_decode reason = arb_snapshot_decode(
        with, arb_own_fields((enum arb_mover)with->mover), scene.stream, scene.stream_size,
        &scene.got, ENTITIES, POINTS, &scene.got_own, &scene.got_part, &scene.got_has_own);
    cr_assert_eq(reason, ARB_DECODE_OK);
    return true;
}

Test(replicate, header_says_what_the_match_knows)
{
    open_scene(&schema, 65536, 1150);
    scene.client.controlled = (struct arb_key){4, 2};
    add(7, 0, 1.0F, 2.0F);
    cr_assert(send(&schema));
    cr_assert_eq(scene.header.id, 1);
    cr_assert_eq(scene.header.tick, 1002);
    cr_assert_eq(scene.header.confirmed_tick, 1001);
    cr_assert_eq(scene.header.last_sequence, 0x2345);
    cr_assert_eq(scene.header.buffer_ticks, 3);
    cr_assert_eq(scene.header.control, 9);
    cr_assert(arb_key_equal(scene.header.controlled, scene.client.controlled));
    scene.client.buffer_ticks = -1000;
    cr_assert(send(&schema));
    cr_assert_eq(scene.header.id, 2);
    cr_assert_eq(scene.header.buffer_ticks, -128);
    close_scene();
}

Test(replicate, own_part_travels_exact)
{
    open_scene(&arb_schema_arena, 65536, 1150);
    scene.own = (struct arb_own){.x = 42.23F,
                                 .y = -0.1F,
                                 .vx = 1.0F / 3.0F,
                                 .heading = 1.5F,
                                 .fire_cooldown = 11,
                                 .magazine = {7, 3, 0, 1},
                                 .weapon = 1,
                                 .weapons = 3};
    scene.client.own = &scene.own;
    scene.client.starved_ticks = 12;
    scene.client.outside_changes = 65537;
    cr_assert(send(&arb_schema_arena));
    cr_assert(scene.got_has_own);
    cr_assert_eq(memcmp(&scene.got_own, &scene.own, sizeof scene.own), 0);
    cr_assert_eq(scene.got_part.starved_ticks, 12);
    cr_assert_eq(scene.got_part.outside_changes, 1);
    scene.client.own = NULL;
    cr_assert(send(&arb_schema_arena));
    cr_assert_not(scene.got_has_own);
    close_scene();
}

Test(replicate, only_what_is_visible_is_sent)
{
    open_scene(&schema, 65536, 1150);
    add(1, 0, 1.0F, 0.0F);
    add(2, 0, 2.0F, 0.0F);
    add(9, 0, 3.0F, 0.0F);
    scene.visible[0] = 1;
    scene.frame.tick += INTERVAL;
    replicate_begin(scene.replicate, &scene.frame);
    replicate_send(scene.replicate, &scene.client, &scene.frame, 0, (struct arb_vec2){0.0F, 0.0F},
                   scene.visible, 1, &scene.port);
    scene.got = (struct arb_frame){.entities = scene.got_entities, .points = scene.got_points};
    cr_assert_eq(arb_snapshot_decode(&schema, NULL, scene.stream, scene.stream_size, &scene.got,
                                     ENTITIES, POINTS, &scene.got_own, &scene.got_part,
                                     &scene.got_has_own),
                 ARB_DECODE_OK);
    cr_assert_eq(scene.got.entity_count, 1);
    cr_assert_eq(scene.got_entities[0].key.id, 2);
    cr_assert_eq(scene.got_entities[0].q[2], 2);
    close_scene();
}

Test(replicate, large_snapshot_is_cut_into_chunks)
{
    open_scene(&schema, 1000000, 100);
    for (uint16_t i = 0; i < 200; i++) {
        add((uint16_t)(i + 1), 0, (float)i, 0.0F);
    }
    cr_assert(send(&schema));
    cr_assert_eq(scene.chunks, (scene.stream_size + 99) / 100);
    cr_assert_gt(scene.chunks, 20);
    cr_assert_eq(scene.got.entity_count, 200);
    const struct replicate_counts *counts = replicate_counts(scene.replicate, 3);
    cr_assert_eq(counts->snapshots, 1);
    cr_assert_eq(counts->chunks, scene.chunks);
    cr_assert_eq(counts->bytes + (uint64_t)scene.chunks * 12, scene.bytes);
    cr_assert_eq(counts->deferred, 0);
    close_scene();
}

/* Sends `snapshots` and returns the longest gap (in snapshots) of any entity; *bytes is what was
 * sent. */
static uint32_t longest_wait(uint32_t snapshots, uint64_t *bytes)
{
    uint32_t last[ENTITIES] = {0};
    uint32_t longest = 0;
    *bytes = 0;
    for (uint32_t n = 1; n <= snapshots; n++) {
        cr_assert(send(&schema));
        *bytes += scene.bytes;
        for (uint32_t i = 0; i < scene.got.entity_count; i++) {
            uint32_t *at = &last[scene.got_entities[i].key.id];
            if (n - *at > longest) longest = n - *at;
            *at = n;
        }
    }
    for (uint32_t i = 0; i < scene.frame.entity_count; i++) {
        uint32_t waiting = snapshots - last[scene.entities[i].key.id];
        if (waiting > longest) longest = waiting;
    }
    return longest;
}

/* 50 entities of 12 bytes and what keys may need at most, with the heads of the one chunk. */
#define SHORT_BUDGET ((616 + 17 + 12) * (RATE / INTERVAL))

Test(replicate, none_starves_with_equal_weights)
{
    open_scene(&schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint64_t bytes;
    uint32_t longest = longest_wait(300, &bytes);
    cr_assert(longest <= 4, "waited %u snapshots", longest);
    uint64_t allowed = (uint64_t)SHORT_BUDGET * 10 + SHORT_BUDGET;
    cr_assert(bytes <= allowed && bytes > allowed * 8 / 10, "%llu of %llu bytes",
              (unsigned long long)bytes, (unsigned long long)allowed);
    cr_assert_gt(replicate_counts(scene.replicate, 3)->deferred, 0);
    close_scene();
}

Test(replicate, none_starves_with_weights_ten_to_one_and_near_ones_come_more_often)
{
    open_scene(&schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        add((uint16_t)(i + 1), 0, i % 2 == 0 ? 1.0F : 100.0F, 0.0F);
    }
    uint64_t bytes;
    uint32_t longest = longest_wait(300, &bytes);
    cr_assert(longest <= 40, "waited %u snapshots", longest);
    uint32_t near = 0;
    uint32_t far = 0;
    for (int n = 0; n < 40; n++) {
        cr_assert(send(&schema));
        for (uint32_t i = 0; i < scene.got.entity_count; i++) {
            if (scene.got_entities[i].q[0] < 100 * 256)
                near++;
            else
                far++;
        }
    }
    cr_assert(near > 4 * far, "%u near, %u far", near, far);
    close_scene();
}

Test(replicate, own_entity_is_in_every_snapshot)
{
    open_scene(&schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        add((uint16_t)(i + 1), 0, i == 150 ? 100.0F : 1.0F, 0.0F);
    }
    scene.client.controlled = scene.entities[150].key;
    for (int n = 0; n < 100; n++) {
        cr_assert(send(&schema));
        cr_assert_not_null(arb_frame_find(&scene.got, scene.client.controlled));
    }
    close_scene();
}

Test(replicate, large_entity_gets_its_turn)
{
    open_scene(&schema, 3000, 1150); /* 100 bytes a snapshot; the body alone takes some 2,800 */
    add_body(add(1, 1, 100.0F, 0.0F), 400);
    for (uint16_t i = 1; i < 60; i++) {
        add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint32_t times = 0;
    uint32_t waited = 0;
    uint32_t longest = 0;
    for (int n = 0; n < 30 * 60; n++) {
        bool sent = send(&schema);
        waited += sent ? 1 : 0;
        if (sent && scene.got.entities[0].key.id == 1) {
            times++;
            if (waited > longest) longest = waited;
            waited = 0;
        }
    }
    cr_assert(times >= 10, "%u times in a minute", times);
    cr_assert(longest <= 64, "waited %u snapshots", longest);
    close_scene();
}

Test(replicate, short_budget_sends_fewer_but_useful_snapshots)
{
    open_scene(&schema, 3000, 1150);
    for (uint16_t i = 0; i < 60; i++) {
        add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint64_t bytes = 0;
    uint32_t sent = 0;
    while (send(&schema)) { /* the bucket is full at first */
    }
    uint64_t held = replicate_counts(scene.replicate, 3)->held;
    for (int n = 0; n < 300; n++) {
        if (!send(&schema)) continue;
        cr_assert_geq(scene.stream_size, 380, "%zu bytes", scene.stream_size);
        bytes += scene.bytes;
        sent++;
    }
    cr_assert(sent >= 50 && sent < 100, "%u snapshots", sent);
    cr_assert_leq(bytes, 3000 * 10 + 400);
    cr_assert_eq(replicate_counts(scene.replicate, 3)->held - held, 300 - sent);
    close_scene();
}

Test(replicate, events_are_paid_first)
{
    open_scene(&schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint64_t snapshots = 0;
    uint64_t events = 0;
    for (int n = 0; n < 300; n++) {
        replicate_spend(scene.replicate, 3, 200);
        events += 212;
        if (send(&schema)) snapshots += scene.bytes;
    }
    uint64_t allowed = (uint64_t)SHORT_BUDGET * 10;
    cr_assert_leq(snapshots + events, allowed + SHORT_BUDGET);
    cr_assert_geq(snapshots + events, allowed * 8 / 10);
    close_scene();
}

Test(replicate, long_message_silences_for_a_second_at_most)
{
    open_scene(&schema, 65536, 1150);
    add(1, 0, 1.0F, 0.0F);
    cr_assert(send(&schema));
    replicate_spend(scene.replicate, 3, 3000000);
    int silent = 0;
    while (!send(&schema)) {
        silent++;
        cr_assert_lt(silent, 40);
    }
    cr_assert_geq(silent, 29);
    close_scene();
}

Test(replicate, acknowledged_snapshots_are_marked_in_the_ring)
{
    open_scene(&schema, 65536, 1150);
    for (int n = 0; n < 80; n++) {
        cr_assert(send(&schema));
    }
    replicate_ack(scene.replicate, 3, 80, 0x80000005U); /* 80, 79, 77, 48 */
    static const struct {
        uint32_t id;
        bool acked;
    } rows[] = {{80, true}, {79, true}, {78, false}, {77, true}, {49, false}, {48, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct replicate_sent *sent = replicate_sent(scene.replicate, 3, rows[i].id);
        cr_assert_not_null(sent);
        cr_assert_eq(sent->acked, rows[i].acked, "snapshot %u", rows[i].id);
        cr_assert_eq(sent->tick, 1000 + INTERVAL * (arb_tick)rows[i].id);
    }
    cr_assert_null(replicate_sent(scene.replicate, 3, 16), "out of the ring");
    cr_assert_eq(replicate_newest_acked(scene.replicate, 3), 80);
    replicate_ack(scene.replicate, 3, 70, 0);
    cr_assert_eq(replicate_newest_acked(scene.replicate, 3), 80, "an older one changes nothing");
    replicate_ack(scene.replicate, 3, 3, 0);
    cr_assert_eq(replicate_counts(scene.replicate, 3)->bad_acks, 0);
    close_scene();
}

Test(replicate, acknowledging_what_was_never_sent_is_counted)
{
    open_scene(&schema, 65536, 1150);
    replicate_ack(scene.replicate, 3, 1, 0);
    replicate_ack(scene.replicate, 3, 0, 0);
    cr_assert(send(&schema));
    replicate_ack(scene.replicate, 3, 1, 1); /* 1 is right, 0 never was */
    replicate_ack(scene.replicate, 3, 2, 0);
    replicate_ack(scene.replicate, 3, 0xFFFF, 0xFFFFFFFFU);
    cr_assert_eq(replicate_counts(scene.replicate, 3)->bad_acks, 5);
    cr_assert_eq(replicate_newest_acked(scene.replicate, 3), 1);
    close_scene();
}

Test(replicate, ids_and_acknowledgements_go_over_the_wrap)
{
    open_scene(&schema, 65536, 1150);
    uint32_t id = 0;
    for (; id < 70000; id++) {
        cr_assert(send(&schema));
        cr_assert_eq(scene.header.id, (uint16_t)(id + 1));
        if (id % 7 == 0) {
            replicate_ack(scene.replicate, 3, scene.header.id, 0);
            cr_assert_eq(replicate_newest_acked(scene.replicate, 3), id + 1);
        }
    }
    cr_assert_eq(replicate_counts(scene.replicate, 3)->bad_acks, 0);
    close_scene();
}

Test(replicate, new_session_starts_afresh)
{
    open_scene(&schema, 65536, 1150);
    for (int n = 0; n < 5; n++) {
        cr_assert(send(&schema));
    }
    replicate_ack(scene.replicate, 3, 5, 0);
    replicate_reset(scene.replicate, 3);
    cr_assert_eq(replicate_newest_acked(scene.replicate, 3), 0);
    cr_assert_null(replicate_sent(scene.replicate, 3, 5));
    cr_assert(send(&schema));
    cr_assert_eq(scene.header.id, 1);
    cr_assert_eq(replicate_counts(scene.replicate, 3)->snapshots, 1);
    close_scene();
}

/* ---- what a client holds ---- */

Test(replicate, held_frames_are_the_acknowledged_ones_up_to_that_id)
{
    open_scene(&schema, 65536, 1150);
    add(1, 0, 1.0F, 0.0F);
    add(9, 0, 3.0F, 0.0F);
    for (int n = 0; n < 70; n++) {
        cr_assert(send(&schema));
        if (n == 9) add(12, 0, 3.0F, 0.0F);
        if (n != 67) replicate_ack(scene.replicate, 3, scene.header.id, 0);
    }
    static struct arb_held held;
    static const struct {
        uint16_t asked;
        uint32_t answer, count, first, last;
    } rows[] = {
        {70, 70, 63, 7, 70},                      /* all of the ring but 68 */
        {66, 66, 60, 7, 66},  {68, 0, 61, 7, 67}, /* 68 was never acknowledged */
        {8, 8, 2, 7, 8},      {6, 0, 0, 0, 0},    /* out of the ring */
        {71, 0, 63, 7, 70},                       /* never sent */
        {0xFFFF, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(replicate_held(scene.replicate, 3, rows[i].asked, &held), rows[i].answer,
                     "row %zu", i);
        cr_assert_eq(held.count, rows[i].count, "row %zu: %u", i, held.count);
        for (uint32_t f = 0; f < held.count; f++) {
            const struct arb_held_frame *frame = &held.frames[f];
            cr_assert(f == 0 || held.frames[f - 1].id < frame->id);
            cr_assert_neq(frame->id, 68);
            cr_assert_eq(frame->tick, 1000 + INTERVAL * (arb_tick)frame->id);
            cr_assert_eq(frame->count, frame->id <= 10 ? 2 : 3);
            cr_assert_eq(frame->entries[1].key.id, 9);
            cr_assert_eq(frame->entries[1].age, 0);
        }
        if (held.count == 0) continue;
        cr_assert_eq(held.frames[0].id, rows[i].first);
        cr_assert_eq(held.frames[held.count - 1].id, rows[i].last);
    }
    close_scene();
}

Test(replicate, held_ids_go_over_the_wrap)
{
    open_scene(&schema, 65536, 1150);
    static struct arb_held held;
    for (uint32_t id = 1; id < 66000; id++) {
        cr_assert(send(&schema));
        replicate_ack(scene.replicate, 3, scene.header.id, 0);
        if (id % 1000 > 70) continue;
        uint32_t asked = id > 5 ? id - 5 : id;
        cr_assert_eq(replicate_held(scene.replicate, 3, (uint16_t)asked, &held), asked);
    }
    close_scene();
}

Test(replicate, remembered_entries_take_no_more_room_than_what_is_in_view)
{
    open_scene(&schema, 1000000, 1150);
    static struct arb_held held;
    struct arb_rng rng;
    arb_rng_seed(&rng, 6, 6);
    const struct arb_held_entry *low = NULL;
    const struct arb_held_entry *high = NULL;
    uint32_t most = 0;
    for (uint16_t i = 0; i < 60; i++) {
        add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint32_t counts[REPLICATE_RING] = {0};
    for (uint32_t id = 1; id <= 5000; id++) {
        /* Grows and shrinks slowly, so that frames do not fit where older ones were. */
        uint32_t wave = id / 7 % 30;
        scene.frame.entity_count = 20 + wave + arb_rng_below(&rng, 3);
        if (scene.frame.entity_count > most) most = scene.frame.entity_count;
        counts[id % REPLICATE_RING] = scene.frame.entity_count;
        cr_assert(send(&schema));
        replicate_ack(scene.replicate, 3, scene.header.id, 0);
        cr_assert_eq(replicate_held(scene.replicate, 3, scene.header.id, &held), id);
        cr_assert_eq(held.count, id < REPLICATE_RING ? id : REPLICATE_RING);
        for (uint32_t f = 0; f < held.count; f++) {
            const struct arb_held_frame *frame = &held.frames[f];
            cr_assert_eq(frame->count, counts[frame->id % REPLICATE_RING]);
            for (uint32_t i = 0; i < frame->count; i++) {
                cr_assert_eq(frame->entries[i].key.id, i + 1);
            }
            const struct arb_held_entry *end = frame->entries + frame->count;
            low = low == NULL || frame->entries < low ? frame->entries : low;
            high = high == NULL || end > high ? end : high;
        }
    }
    cr_assert_leq(high - low, 2 * REPLICATE_RING * (ptrdiff_t)most);
    close_scene();
}
