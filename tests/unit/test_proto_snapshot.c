#include "shared/proto/arb_proto.h"

#include "shared/base/arb_rng.h"
#include "tests/support/proto_samples.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ENTITIES = 60, POINTS = 4000, BYTES = 32768 };

static struct arb_published entities[ENTITIES];
static struct arb_point points[POINTS];
static struct arb_frame frame;
static uint32_t order[ENTITIES];
static uint8_t bytes[BYTES];

static struct arb_published out_entities[ENTITIES];
static struct arb_point out_points[POINTS];
static struct arb_frame out;
static struct arb_own_part own_part;
static struct proto_sample_own own;
static bool has_own;

static int32_t random_value(struct arb_rng *rng, const struct arb_kind_field *field)
{
    uint32_t value = arb_rng_next(rng) >> (32 - field->bits);
    return field->is_signed ? (int32_t)value - (1 << (field->bits - 1)) : (int32_t)value;
}

/* A path as a head leaves it: small steps, sometimes a jump. */
static void random_body(struct arb_rng *rng, struct arb_published *entity)
{
    entity->body_first = frame.point_count;
    entity->body_count = (uint16_t)arb_rng_below(rng, 120);
    struct arb_point at = {0, 0};
    for (uint32_t i = 0; i < entity->body_count; i++) {
        int32_t reach = arb_rng_below(rng, 20) == 0 ? 2000000 : 150;
        at.x += (int32_t)arb_rng_below(rng, (uint32_t)reach) - reach / 2;
        at.y += (int32_t)arb_rng_below(rng, (uint32_t)reach) - reach / 2;
        at.x = at.x < -2097152 ? -2097152 : at.x > 2097151 ? 2097151 : at.x;
        at.y = at.y < -2097152 ? -2097152 : at.y > 2097151 ? 2097151 : at.y;
        points[frame.point_count++] = at;
    }
}

static void random_frame(const struct arb_schema *schema, struct arb_rng *rng, uint32_t count)
{
    frame = (struct arb_frame){.entities = entities, .points = points};
    uint16_t id = (uint16_t)arb_rng_below(rng, 3);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_published *entity = &entities[frame.entity_count];
        memset(entity, 0, sizeof *entity);
        entity->key = (struct arb_key){id, (uint16_t)(arb_rng_below(rng, 300) + 1)};
        entity->kind = (uint8_t)arb_rng_below(rng, schema->kind_count);
        const struct arb_kind *kind = &schema->kinds[entity->kind];
        for (int f = 0; f < kind->field_count; f++) {
            entity->q[f] = random_value(rng, &kind->fields[f]);
        }
        if (kind->has_body && frame.point_count < POINTS - 128) {
            random_body(rng, entity);
        }
        order[frame.entity_count++] = i;
        id = (uint16_t)(id + 1 + arb_rng_below(rng, i % 10 == 0 ? 900 : 3));
    }
}

static enum arb_decode decode(const struct arb_schema *schema, size_t size)
{
    out = (struct arb_frame){.entities = out_entities, .points = out_points};
    return arb_snapshot_decode(schema, &proto_sample_own_fields, bytes, size, &out, ENTITIES,
                               POINTS, &own, &own_part, &has_own);
}

static bool same_frame(uint32_t count)
{
    bool same = out.entity_count == count;
    for (uint32_t i = 0; i < count && same; i++) {
        const struct arb_published *a = &entities[i];
        const struct arb_published *b = &out_entities[i];
        same = arb_key_equal(a->key, b->key) && a->kind == b->kind &&
               memcmp(a->q, b->q, sizeof a->q) == 0 && a->body_count == b->body_count &&
               memcmp(points + a->body_first, out_points + b->body_first,
                      a->body_count * sizeof points[0]) == 0;
    }
    return same;
}

static const struct arb_schema *const schemas[] = {&arb_schema_arena, &arb_schema_serpent};

Test(proto_snapshot, random_frames_round_trip_and_shared_records_give_the_same_stream)
{
    static uint8_t shared_bytes[BYTES];
    static uint8_t record_bytes[BYTES];
    uint32_t first_bit[ENTITIES + 1];
    struct arb_rng rng;
    arb_rng_seed(&rng, 11, 1);
    for (int run = 0; run < 400; run++) {
        const struct arb_schema *schema = schemas[run % 2];
        random_frame(schema, &rng, arb_rng_below(&rng, ENTITIES + 1));
        uint32_t fitted = 0;
        size_t size = arb_snapshot_encode(schema, NULL, NULL, &frame, order, frame.entity_count,
                                          bytes, sizeof bytes, &fitted);
        cr_assert_eq(fitted, frame.entity_count);
        cr_assert_eq(decode(schema, size), ARB_DECODE_OK);
        cr_assert(same_frame(frame.entity_count));
        cr_assert_not(has_own);

        struct arb_records records = {record_bytes, sizeof record_bytes, first_bit};
        cr_assert_leq(arb_records_bytes_max(schema, ENTITIES, POINTS), sizeof record_bytes);
        cr_assert(arb_records_encode(schema, &frame, &records));
        struct arb_snapshot_writer writer;
        arb_snapshot_begin(&writer, NULL, NULL, shared_bytes, sizeof shared_bytes);
        for (uint32_t i = 0; i < frame.entity_count; i++) {
            cr_assert(arb_snapshot_add(&writer, entities[i].key, &records, i));
        }
        cr_assert_eq(arb_snapshot_end(&writer), size);
        cr_assert_eq(memcmp(bytes, shared_bytes, size), 0);
    }
}

Test(proto_snapshot, the_first_entities_are_a_valid_stream_when_not_all_fit)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 12, 1);
    random_frame(&arb_schema_serpent, &rng, 20);
    static uint8_t whole[BYTES];
    uint32_t fitted = 0;
    size_t size = arb_snapshot_encode(&arb_schema_serpent, NULL, NULL, &frame, order, 20, whole,
                                      sizeof whole, &fitted);
    for (size_t room = 2; room < size; room += 7) {
        cr_assert_eq(arb_snapshot_encode(&arb_schema_serpent, NULL, NULL, &frame, order, 20, bytes,
                                         room, &fitted),
                     0);
        cr_assert_lt(fitted, 20);
        uint32_t again = 0;
        size_t part = arb_snapshot_encode(&arb_schema_serpent, NULL, NULL, &frame, order, fitted,
                                          bytes, room, &again);
        cr_assert_gt(part, 0);
        cr_assert_eq(again, fitted);
        cr_assert_eq(decode(&arb_schema_serpent, part), ARB_DECODE_OK);
        cr_assert(same_frame(fitted));
    }
}

Test(proto_snapshot, what_does_not_fit_is_left_out_and_smaller_ones_may_follow)
{
    frame = (struct arb_frame){.entities = entities, .points = points, .point_count = 500};
    memset(points, 0, sizeof points);
    for (uint32_t i = 0; i < 3; i++) {
        memset(&entities[i], 0, sizeof entities[i]);
        entities[i].key = (struct arb_key){(uint16_t)(10 + i), 1};
        entities[i].kind = i == 1 ? ARB_SERPENT_HEAD : ARB_SERPENT_FOOD;
        entities[i].body_count = i == 1 ? 500 : 0;
    }
    frame.entity_count = 3;
    static uint8_t record_bytes[BYTES];
    uint32_t first_bit[4];
    struct arb_records records = {record_bytes, sizeof record_bytes, first_bit};
    cr_assert(arb_records_encode(&arb_schema_serpent, &frame, &records));
    struct arb_snapshot_writer writer;
    arb_snapshot_begin(&writer, NULL, NULL, bytes, 40);
    cr_assert(arb_snapshot_add(&writer, entities[0].key, &records, 0));
    cr_assert_not(arb_snapshot_add(&writer, entities[1].key, &records, 1));
    cr_assert(arb_snapshot_add(&writer, entities[2].key, &records, 2));
    cr_assert_eq(decode(&arb_schema_serpent, arb_snapshot_end(&writer)), ARB_DECODE_OK);
    cr_assert_eq(out.entity_count, 2);
    cr_assert_eq(out.entities[1].key.id, 12);
}

Test(proto_snapshot, an_own_part_that_does_not_fit_leaves_no_stream)
{
    struct arb_own_part part = {1, 2, &own};
    for (size_t room = 0; room < 20; room++) {
        struct arb_snapshot_writer writer;
        arb_snapshot_begin(&writer, &proto_sample_own_fields, &part, bytes, room);
        cr_assert_eq(arb_snapshot_end(&writer), 0);
    }
}

Test(proto_snapshot, counts_of_the_own_part_wrap_at_16_bits)
{
    struct arb_own_part part = {0x12345, 0xFFFF0001, &own};
    frame = (struct arb_frame){.entities = entities, .points = points};
    uint32_t fitted = 0;
    size_t size = arb_snapshot_encode(&arb_schema_arena, &proto_sample_own_fields, &part, &frame,
                                      order, 0, bytes, sizeof bytes, &fitted);
    cr_assert_eq(decode(&arb_schema_arena, size), ARB_DECODE_OK);
    cr_assert(has_own);
    cr_assert_eq(own_part.starved_ticks, 0x2345);
    cr_assert_eq(own_part.outside_changes, 1);
}

/* A stream with two foods whose keys are written by hand. */
static size_t two_foods(unsigned id_step, uint16_t generation)
{
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 0, 1);
    arb_bits_write(&writer, 2, 14);
    for (int i = 0; i < 2; i++) {
        arb_bits_write(&writer, 3, 2);
        arb_bits_write(&writer, i == 0 ? 42 : id_step, 16);
        arb_bits_write(&writer, 3, 2);
        arb_bits_write(&writer, generation, 16);
        arb_bits_write(&writer, ARB_SERPENT_FOOD, 1);
        arb_bits_write(&writer, 0, 52);
    }
    return arb_bits_write_end(&writer);
}

Test(proto_snapshot, one_key_twice_is_refused_in_whatever_chunks_it_came)
{
    cr_assert_eq(decode(&arb_schema_serpent, two_foods(1, 3)), ARB_DECODE_OK);
    cr_assert_eq(decode(&arb_schema_serpent, two_foods(0, 3)), ARB_DECODE_ORDER);
    cr_assert_eq(decode(&arb_schema_serpent, two_foods(65535, 3)), ARB_DECODE_ORDER,
                 "id overflows");
    cr_assert_eq(decode(&arb_schema_serpent, two_foods(1, 0)), ARB_DECODE_RANGE, "no generation");

    /* The key of chunk 0 again in chunk 2: the group is whole, but commits nothing. */
    size_t size = two_foods(0, 3);
    static uint8_t storage[ARB_CHUNKS_MAX * 16];
    static uint8_t joined[ARB_CHUNKS_MAX * 16];
    struct arb_assembly assembly;
    arb_assembly_init(&assembly, storage, joined, 16);
    for (uint8_t i = 0; i < 3; i++) {
        size_t first = i * 8U;
        struct arb_chunk chunk = {.header = {.id = 81, .chunk_index = i, .chunk_count = 3},
                                  .payload = bytes + first,
                                  .payload_bytes = (uint16_t)(i < 2 ? 8 : size - first)};
        enum arb_assembly_result result = arb_assembly_add(&assembly, &chunk);
        cr_assert_eq(result, i < 2 ? ARB_ASSEMBLY_WAITING : ARB_ASSEMBLY_COMPLETE);
    }
    memcpy(bytes, assembly.bytes, assembly.size);
    cr_assert_eq(decode(&arb_schema_serpent, assembly.size), ARB_DECODE_ORDER);
    arb_assembly_finish(&assembly, false);
    cr_assert_not(assembly.committed_any);
}

Test(proto_snapshot, more_than_the_receiver_holds_is_refused)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 13, 1);
    random_frame(&arb_schema_serpent, &rng, 40);
    uint32_t fitted = 0;
    size_t size = arb_snapshot_encode(&arb_schema_serpent, NULL, NULL, &frame, order, 40, bytes,
                                      sizeof bytes, &fitted);
    out = (struct arb_frame){.entities = out_entities, .points = out_points};
    cr_assert_eq(arb_snapshot_decode(&arb_schema_serpent, NULL, bytes, size, &out, 39, POINTS, &own,
                                     &own_part, &has_own),
                 ARB_DECODE_RANGE);
    cr_assert_eq(arb_snapshot_decode(&arb_schema_serpent, NULL, bytes, size, &out, 40,
                                     frame.point_count - 1, &own, &own_part, &has_own),
                 ARB_DECODE_RANGE);
    cr_assert_eq(arb_snapshot_decode(&arb_schema_serpent, NULL, bytes, size, &out, 40,
                                     frame.point_count, &own, &own_part, &has_own),
                 ARB_DECODE_OK);
}

/* A smooth body: points 0.25 m apart on a circle of 2 m, in 1/512 m. */
Test(proto_snapshot, a_smooth_body_costs_little_more_than_two_bytes_a_point)
{
    frame = (struct arb_frame){.entities = entities, .points = points, .entity_count = 1};
    memset(&entities[0], 0, sizeof entities[0]);
    entities[0].key = (struct arb_key){1, 1};
    entities[0].kind = ARB_SERPENT_HEAD;
    entities[0].body_count = 200;
    double x = 1024.0;
    double y = 0.0;
    for (int i = 0; i < 200; i++) {
        points[i] = (struct arb_point){(int32_t)x, (int32_t)y};
        double turned = x * 0.9921976672 - y * 0.1246747334; /* by 0.125 rad */
        y = x * 0.1246747334 + y * 0.9921976672;
        x = turned;
    }
    frame.point_count = 200;
    uint32_t fitted = 0;
    size_t size = arb_snapshot_encode(&arb_schema_serpent, NULL, NULL, &frame, order, 1, bytes,
                                      sizeof bytes, &fitted);
    cr_assert_gt(size, 0);
    cr_assert_leq(size, 200 * 9 / 4 + 30, "%zu bytes", size);
}

Test(proto_snapshot, found_by_key_and_not_by_another_generation)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 14, 1);
    random_frame(&arb_schema_arena, &rng, ENTITIES);
    for (uint32_t i = 0; i < ENTITIES; i++) {
        struct arb_key key = entities[i].key;
        cr_assert_eq(arb_frame_find(&frame, key), &entities[i]);
        key.generation++;
        cr_assert_null(arb_frame_find(&frame, key), "a later one");
        key.generation = (uint16_t)(entities[i].key.generation - 1);
        cr_assert_null(arb_frame_find(&frame, key), "an earlier one, or none");
    }
    frame.entity_count = 0;
    cr_assert_null(arb_frame_find(&frame, entities[0].key));
}
