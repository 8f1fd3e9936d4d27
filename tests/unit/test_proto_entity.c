/* Full records of entities, as they stand in a stream for one that enters, and frames by key. */
#include "shared/proto/arb_delta.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ENTITIES = 60, POINTS = 512, BYTES = 32768 };

static struct arb_published entities[ENTITIES];
static struct arb_point points[POINTS];
static struct arb_frame frame;
static uint8_t bytes[BYTES];

static void start(void)
{
    memset(entities, 0, sizeof entities);
    memset(points, 0, sizeof points);
    frame = (struct arb_frame){.entities = entities, .points = points};
}

/* A smooth body: points 0.25 m apart on a circle of 2 m, in 1/512 m. */
static void smooth_body(uint16_t count)
{
    frame.entity_count = 1;
    entities[0] =
        (struct arb_published){.key = {1, 1}, .kind = ARB_SERPENT_HEAD, .body_count = count};
    double x = 1024.0;
    double y = 0.0;
    for (int i = 0; i < count; i++) {
        points[i] = (struct arb_point){(int32_t)x, (int32_t)y};
        double turned = x * 0.9921976672 - y * 0.1246747334; /* by 0.125 rad */
        y = x * 0.1246747334 + y * 0.9921976672;
        x = turned;
    }
    frame.point_count = count;
}

Test(proto_entity, a_smooth_body_costs_little_more_than_two_bytes_a_point, .init = start)
{
    smooth_body(200);
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_entity_encode(&arb_schema_serpent, &frame, &entities[0], &writer);
    cr_assert_leq(writer.bit, 200 * 18 + 240, "%zu bits", writer.bit);
    cr_assert_leq(writer.bit, arb_entity_bits_max(&arb_schema_serpent, 200));
}

Test(proto_entity, records_of_a_frame_take_no_more_than_is_said, .init = start)
{
    smooth_body(50);
    for (uint32_t i = 1; i < 5; i++) {
        entities[i] = (struct arb_published){
            .key = {(uint16_t)(i + 1), 1}, .kind = ARB_SERPENT_FOOD, .q = {(int32_t)i, -7, 9}};
        frame.entity_count++;
    }
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    for (uint32_t i = 0; i < frame.entity_count; i++) {
        arb_entity_encode(&arb_schema_serpent, &frame, &entities[i], &writer);
    }
    cr_expect_leq(arb_bits_write_end(&writer), arb_entities_bytes_max(&arb_schema_serpent, 5, 50));
}

Test(proto_entity, found_by_key_and_not_by_another_generation, .init = start)
{
    for (uint32_t i = 0; i < ENTITIES; i++) {
        entities[i].key = (struct arb_key){(uint16_t)(i * i), (uint16_t)(i % 7 + 1)};
        frame.entity_count++;
    }
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
