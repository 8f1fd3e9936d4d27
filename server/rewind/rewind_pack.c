/* Writing published frames. */
#include "server/rewind/rewind_pack.h"

#include "server/rewind/rewind_save.h"
#include "shared/base/arb_assert.h"

#include <string.h>

/* ---- creation ---- */

static void set_bounds(struct rewind_pack *pack, const struct arb_schema *schema)
{
    memset(pack->beyond, 0xFF, sizeof pack->beyond); /* what a kind has not is 0 */
    for (uint32_t k = 0; k < schema->kind_count; k++) {
        const struct arb_kind *kind = &schema->kinds[k];
        pack->columns = kind->field_count > pack->columns ? kind->field_count : pack->columns;
        pack->bodies = pack->bodies || kind->has_body;
        for (uint32_t i = 0; i < kind->field_count; i++) {
            const struct arb_kind_field *field = &kind->fields[i];
            ARB_ASSERT(field->bits >= 1 && field->bits <= 31);
            pack->bias[k][i] = field->is_signed ? UINT32_C(1) << (field->bits - 1) : 0;
            pack->beyond[k][i] = ~((UINT32_C(1) << field->bits) - 1);
        }
    }
}

void rewind_pack_create(struct rewind *rewind, struct arb_arena *arena)
{
    struct rewind_pack *pack = arb_arena_take(arena, sizeof *pack);
    set_bounds(pack, rewind->config.schema);
    pack->stride =
        (rewind->config.entity_capacity + REWIND_LANES - 1) / REWIND_LANES * REWIND_LANES;
    for (uint32_t i = 0; i < 2; i++) {
        struct rewind_side *side = &pack->sides[i];
        size_t values = (size_t)pack->columns * pack->stride;
        side->values = arb_arena_take_array(arena, values, sizeof side->values[0]);
        side->beyond = arb_arena_take_array(arena, values, sizeof side->beyond[0]);
        side->names = arb_arena_take_array(arena, pack->stride, sizeof side->names[0]);
    }
    pack->was = arb_arena_take_array(arena, pack->stride, sizeof pack->was[0]);
    pack->changes = arb_arena_take_array(arena, (size_t)pack->stride * ARB_KIND_FIELDS_MAX,
                                         sizeof pack->changes[0]);
    rewind->pack = pack;
}

/* ---- numbers ---- */

struct writer {
    uint8_t *at;
};

static void put_number(struct writer *writer, uint32_t value)
{
    while (value >= 0x80) {
        *writer->at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *writer->at++ = (uint8_t)value;
}

static uint32_t fold(int32_t from, int32_t to)
{
    return rewind_fold((uint32_t)to - (uint32_t)from);
}

/* ---- the list ---- */

static void put_same(struct writer *writer, uint32_t *same)
{
    while (*same > 0) {
        uint32_t count = *same < REWIND_SAME_MOST ? *same : REWIND_SAME_MOST;
        *writer->at++ = (uint8_t)(REWIND_SAME | count << 2);
        *same -= count;
    }
}

static void put_new(struct writer *writer, const struct arb_schema *schema,
                    const struct arb_published *entity)
{
    *writer->at++ = REWIND_NEW;
    put_number(writer, entity->key.id);
    put_number(writer, entity->key.generation);
    put_number(writer, entity->kind);
    for (uint32_t i = 0; i < schema->kinds[entity->kind].field_count; i++) {
        put_number(writer, fold(0, entity->q[i]));
    }
}

static bool is_same(const struct arb_published *a, const struct arb_published *b)
{
    return arb_key_equal(a->key, b->key) && a->kind == b->kind;
}

/* And where each entity was before. */
static void put_list(struct writer *writer, const struct arb_schema *schema,
                     const struct arb_frame *before, const struct arb_frame *frame,
                     const struct arb_published **was)
{
    uint32_t old = 0, same = 0;
    uint32_t olds = before == NULL ? 0 : before->entity_count;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        const struct arb_published *entity = &frame->entities[i];
        uint32_t order = arb_key_order(entity->key);
        while (old < olds && arb_key_order(before->entities[old].key) < order) {
            put_same(writer, &same);
            *writer->at++ = REWIND_GONE;
            old++;
        }
        if (old < olds && is_same(&before->entities[old], entity)) {
            was[i] = &before->entities[old++];
            same++;
        } else {
            was[i] = entity;
            put_same(writer, &same);
            put_new(writer, schema, entity);
        }
    }
    if (old < olds) put_same(writer, &same);
    for (; old < olds; old++) {
        *writer->at++ = REWIND_GONE;
    }
    *writer->at++ = 0;
}

/* ---- columns ---- */

/* All lanes of a row, whatever its kind has: the compiler makes four steps of them. `any` gets the
 * bits of all folded changes, so it says how many bytes the widest needs. */
static void change_row(const int32_t *restrict was, const int32_t *restrict now,
                       uint32_t *restrict changes, uint32_t *restrict any)
{
    for (uint32_t i = 0; i < ARB_KIND_FIELDS_MAX; i++) {
        changes[i] = (uint32_t)now[i] - (uint32_t)was[i];
        any[i] |= rewind_fold(changes[i]);
    }
}

static void put_column(struct writer *writer, const uint32_t *changes, uint32_t count,
                       uint32_t width)
{
    uint8_t *at = writer->at;
    for (uint32_t i = 0; i < count; i++, changes += ARB_KIND_FIELDS_MAX) {
        uint32_t value = *changes;
        *at++ = (uint8_t)value;
        if (width == 1) continue;
        *at++ = (uint8_t)(value >> 8);
        if (width == 2) continue;
        *at++ = (uint8_t)(value >> 16);
        *at++ = (uint8_t)(value >> 24);
    }
    writer->at = at;
}

static void put_columns(struct writer *writer, const struct rewind_pack *pack,
                        const struct arb_frame *frame)
{
    uint32_t any[ARB_KIND_FIELDS_MAX] = {0}, widths = 0;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        change_row(pack->was[i]->q, frame->entities[i].q,
                   pack->changes + (size_t)i * ARB_KIND_FIELDS_MAX, any);
    }
    for (uint32_t i = 0; i < pack->columns; i++) {
        uint32_t code = any[i] == 0 ? 0 : any[i] <= UINT8_MAX ? 1 : any[i] <= UINT16_MAX ? 2 : 3;
        widths |= code << (2 * i);
    }
    for (uint32_t i = 0; i < rewind_width_bytes(pack); i++) {
        *writer->at++ = (uint8_t)(widths >> (8 * i));
    }
    for (uint32_t i = 0; i < pack->columns; i++) {
        switch (widths >> (2 * i) & 3) {
        case 0:
            break;
        case 1:
            put_column(writer, pack->changes + i, frame->entity_count, 1);
            break;
        case 2:
            put_column(writer, pack->changes + i, frame->entity_count, 2);
            break;
        default:
            put_column(writer, pack->changes + i, frame->entity_count, 4);
            break;
        }
    }
}

/* ---- bodies ---- */

static void put_body(struct writer *writer, const struct arb_frame *frame,
                     const struct arb_published *entity)
{
    struct arb_point before = {0, 0};
    put_number(writer, entity->body_count);
    for (uint32_t i = 0; i < entity->body_count; i++) {
        const struct arb_point *point = &frame->points[entity->body_first + i];
        put_number(writer, fold(before.x, point->x));
        put_number(writer, fold(before.y, point->y));
        before = *point;
    }
}

static void put_bodies(struct writer *writer, const struct arb_schema *schema,
                       const struct arb_frame *frame)
{
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        const struct arb_published *entity = &frame->entities[i];
        if (schema->kinds[entity->kind].has_body) put_body(writer, frame, entity);
    }
}

/* ---- frames ---- */

static uint32_t held_frames(const struct rewind *rewind)
{
    ARB_ASSERT(!rewind->open);
    return rewind->committed < rewind->frame_count ? (uint32_t)rewind->committed
                                                   : rewind->frame_count;
}

uint32_t rewind_frames_bytes(const struct rewind *rewind)
{
    const struct rewind_pack *pack = rewind->pack;
    /* Gone, new with all its fields, and 4 bytes in each column; a body's count. */
    uint64_t entity = 1 + 1 + (uint64_t)(3 + pack->columns) * REWIND_NUMBER_BYTES +
                      (uint64_t)pack->columns * 4 + (pack->bodies ? REWIND_NUMBER_BYTES : 0);
    uint64_t frame = rewind->config.entity_capacity * entity +
                     (uint64_t)rewind->config.point_capacity * 2 * REWIND_NUMBER_BYTES + 1 +
                     rewind_width_bytes(pack);
    uint64_t bytes = rewind->frame_count * frame + REWIND_NUMBER_BYTES;
    ARB_ASSERT(bytes <= UINT32_MAX);
    return (uint32_t)bytes;
}

uint32_t rewind_put_frames(const struct rewind *rewind, uint8_t *out)
{
    struct writer writer = {out};
    const struct arb_schema *schema = rewind->config.schema;
    const struct rewind_pack *pack = rewind->pack;
    uint32_t held = held_frames(rewind);
    const struct arb_frame *before = NULL;
    put_number(&writer, held);
    for (uint32_t i = held; i > 0; i--) {
        const struct arb_frame *frame = rewind_frame(rewind, rewind->newest - (i - 1));
        put_list(&writer, schema, before, frame, pack->was);
        put_columns(&writer, pack, frame);
        if (pack->bodies) put_bodies(&writer, schema, frame);
        before = frame;
    }
    return (uint32_t)(writer.at - out);
}
