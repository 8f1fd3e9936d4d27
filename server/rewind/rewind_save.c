/* Published frames as bytes. Each frame is a list of steps from the one before: so many entities
 * are the same, this one has these fields changed, this one is gone, this one is new. Most of a
 * match stands still or moves in two fields, and what is left compresses well. All integers are of
 * variable length, 7 bits a byte, the low ones first; differences are folded so that small ones of
 * either sign are short. */
#include "server/rewind/rewind_save.h"

#include "server/rewind/rewind_internal.h"
#include "shared/base/arb_assert.h"

#include <string.h>

/* Low two bits of a step's first byte; SAME has how many (1..63) above, 0 ends the frame. */
enum step { STEP_SAME, STEP_CHANGED, STEP_GONE, STEP_NEW };
enum { SAME_MOST = 63, VARINT_BYTES = 5 };

/* ---- origins ---- */

#define RECORD(member, kind, low, high) ARB_FORM(rewind_record, member, kind, low, high)
static const struct arb_field record_rows[] = {
    RECORD(tick, U64, 0, 0),
    RECORD(origin, F32, -8192, 8192),
    RECORD(previous, F32, -8192, 8192),
    RECORD(sequence, U32, 0, 0),
    ARB_FORM_ZERO(rewind_record, reserved, U32),
};
static const struct arb_fields record_form = ARB_FIELDS("origin", record_rows);

struct arb_form_part rewind_origins(const struct rewind *rewind)
{
    return (struct arb_form_part){"origins", &record_form, rewind->config.player_capacity,
                                  rewind->last};
}

void rewind_origins_changed(struct rewind *rewind)
{
    size_t count = (size_t)rewind->config.player_capacity * rewind->samples;
    memset(rewind->records, 0, count * sizeof rewind->records[0]);
    for (uint32_t slot = 0; slot < rewind->config.player_capacity; slot++) {
        const struct rewind_record *last = &rewind->last[slot];
        rewind->records[(size_t)slot * rewind->samples + last->sequence % rewind->samples] = *last;
    }
}

bool rewind_origins_check(const struct arb_form_part *part)
{
    for (uint32_t i = 0; i < part->count; i++) {
        const struct rewind_record *record = (const struct rewind_record *)part->memory + i;
        if (arb_form_check(part->fields, record) != NULL) return false;
    }
    return true;
}

/* ---- writing ---- */

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

static void put_step(struct writer *writer, enum step step, uint32_t count)
{
    *writer->at++ = (uint8_t)((uint32_t)step | count << 2);
}

/* 0, -1, 1, -2 become 0, 1, 2, 3. */
static uint32_t fold(int32_t from, int32_t to)
{
    uint32_t difference = (uint32_t)to - (uint32_t)from;
    return difference << 1 ^ (0U - (difference >> 31));
}

static int32_t unfold(int32_t from, uint32_t folded)
{
    uint32_t difference = folded >> 1 ^ (0U - (folded & 1));
    return (int32_t)((uint32_t)from + difference);
}

static void put_points(struct writer *writer, const struct arb_frame *frame,
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

static void put_new(struct writer *writer, const struct arb_schema *schema,
                    const struct arb_frame *frame, const struct arb_published *entity)
{
    const struct arb_kind *kind = &schema->kinds[entity->kind];
    put_step(writer, STEP_NEW, 0);
    put_number(writer, entity->key.id);
    put_number(writer, entity->key.generation);
    put_number(writer, entity->kind);
    for (uint32_t i = 0; i < kind->field_count; i++) {
        put_number(writer, fold(0, entity->q[i]));
    }
    if (kind->has_body) put_points(writer, frame, entity);
}

static uint32_t changed_fields(const struct arb_kind *kind, const struct arb_published *before,
                               const struct arb_published *entity)
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < kind->field_count; i++) {
        mask |= (uint32_t)(before->q[i] != entity->q[i]) << i;
    }
    return mask;
}

static void put_changed(struct writer *writer, const struct arb_kind *kind, uint32_t mask,
                        const struct arb_frame *frame, const struct arb_published *before,
                        const struct arb_published *entity)
{
    put_step(writer, STEP_CHANGED, 0);
    put_number(writer, mask);
    for (uint32_t i = 0; i < kind->field_count; i++) {
        if (mask >> i & 1) put_number(writer, fold(before->q[i], entity->q[i]));
    }
    if (kind->has_body) put_points(writer, frame, entity);
}

static void put_same(struct writer *writer, uint32_t *same)
{
    for (; *same > 0; *same -= *same < SAME_MOST ? *same : SAME_MOST) {
        put_step(writer, STEP_SAME, *same < SAME_MOST ? *same : SAME_MOST);
    }
}

static void put_frame(struct writer *writer, const struct arb_schema *schema,
                      const struct arb_frame *before, const struct arb_frame *frame)
{
    uint32_t old = 0, same = 0;
    uint32_t olds = before == NULL ? 0 : before->entity_count;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        const struct arb_published *entity = &frame->entities[i];
        uint32_t order = arb_key_order(entity->key);
        while (old < olds && arb_key_order(before->entities[old].key) < order) {
            put_same(writer, &same);
            put_step(writer, STEP_GONE, 0);
            old++;
        }
        if (old == olds || !arb_key_equal(before->entities[old].key, entity->key) ||
            before->entities[old].kind != entity->kind) {
            put_same(writer, &same);
            put_new(writer, schema, frame, entity);
            continue;
        }
        const struct arb_kind *kind = &schema->kinds[entity->kind];
        const struct arb_published *was = &before->entities[old++];
        uint32_t mask = changed_fields(kind, was, entity);
        if (mask == 0 && !kind->has_body) {
            same++;
        } else {
            put_same(writer, &same);
            put_changed(writer, kind, mask, frame, was, entity);
        }
    }
    put_same(writer, &same);
    for (; old < olds; old++) {
        put_step(writer, STEP_GONE, 0);
    }
    put_step(writer, STEP_SAME, 0);
}

static uint32_t held_frames(const struct rewind *rewind)
{
    ARB_ASSERT(!rewind->open);
    return rewind->committed < rewind->frame_count ? (uint32_t)rewind->committed
                                                   : rewind->frame_count;
}

uint32_t rewind_frames_bytes(const struct rewind *rewind)
{
    enum { NEW_BYTES = 1 + (4 + ARB_KIND_FIELDS_MAX) * VARINT_BYTES };
    uint64_t frame = (uint64_t)rewind->config.entity_capacity * (NEW_BYTES + 1) +
                     (uint64_t)rewind->config.point_capacity * 2 * VARINT_BYTES + 1;
    uint64_t bytes = rewind->frame_count * frame + VARINT_BYTES;
    ARB_ASSERT(bytes <= UINT32_MAX);
    return (uint32_t)bytes;
}

uint32_t rewind_put_frames(const struct rewind *rewind, uint8_t *out)
{
    struct writer writer = {out};
    uint32_t held = held_frames(rewind);
    const struct arb_frame *before = NULL;
    put_number(&writer, held);
    for (uint32_t i = held; i > 0; i--) {
        const struct arb_frame *frame = rewind_frame(rewind, rewind->newest - (i - 1));
        put_frame(&writer, rewind->config.schema, before, frame);
        before = frame;
    }
    return (uint32_t)(writer.at - out);
}

/* ---- reading: nothing that comes is believed ---- */

struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static uint32_t get_number(struct reader *reader)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
        if (reader->at == reader->end) break;
        uint8_t byte = *reader->at++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            /* One way to write each number. */
            reader->bad |= value > UINT32_MAX || (byte == 0 && shift > 0);
            return (uint32_t)value;
        }
    }
    reader->bad = true;
    return 0;
}

static bool value_fits(const struct arb_kind_field *field, int32_t q)
{
    int64_t high = INT64_C(1) << (field->bits - (field->is_signed ? 1 : 0));
    return q < high && q >= (field->is_signed ? -high : 0);
}

static void get_field(struct reader *reader, const struct arb_kind *kind, uint32_t index,
                      int32_t *q)
{
    *q = unfold(*q, get_number(reader));
    reader->bad |= !value_fits(&kind->fields[index], *q);
}

static void get_points(struct reader *reader, const struct rewind_config *config,
                       struct arb_frame *frame, struct arb_published *entity)
{
    struct arb_point point = {0, 0};
    uint32_t count = get_number(reader);
    if (count > ARB_BODY_POINTS_MAX || count > config->point_capacity - frame->point_count) {
        reader->bad = true;
        return;
    }
    entity->body_count = (uint16_t)count;
    entity->body_first = frame->point_count;
    for (uint32_t i = 0; i < count; i++) {
        point.x = unfold(point.x, get_number(reader));
        point.y = unfold(point.y, get_number(reader));
        frame->points[frame->point_count++] = point;
    }
}

/* Room for one more, above the last key; NULL: bad. */
static struct arb_published *next_entity(struct reader *reader, const struct rewind_config *config,
                                         struct arb_frame *frame, struct arb_key key)
{
    const struct arb_published *last =
        frame->entity_count > 0 ? &frame->entities[frame->entity_count - 1] : NULL;
    reader->bad |= frame->entity_count == config->entity_capacity || arb_key_is_none(key) ||
                   key.id >= config->entity_capacity || (last != NULL && last->key.id >= key.id);
    return reader->bad ? NULL : &frame->entities[frame->entity_count++];
}

static void get_new(struct reader *reader, const struct rewind_config *config,
                    struct arb_frame *frame)
{
    uint32_t id = get_number(reader), generation = get_number(reader), kind = get_number(reader);
    if (id > UINT16_MAX || generation > UINT16_MAX || kind >= config->schema->kind_count) {
        reader->bad = true;
        return;
    }
    struct arb_published *entity =
        next_entity(reader, config, frame, (struct arb_key){(uint16_t)id, (uint16_t)generation});
    if (entity == NULL) return;
    *entity =
        (struct arb_published){.key = {(uint16_t)id, (uint16_t)generation}, .kind = (uint8_t)kind};
    const struct arb_kind *described = &config->schema->kinds[kind];
    for (uint32_t i = 0; i < described->field_count; i++) {
        get_field(reader, described, i, &entity->q[i]);
    }
    if (described->has_body) get_points(reader, config, frame, entity);
}

/* The next of the frame before. */
static void get_kept(struct reader *reader, const struct rewind_config *config, bool changed,
                     const struct arb_published *was, struct arb_frame *frame)
{
    const struct arb_kind *kind = &config->schema->kinds[was->kind];
    uint32_t mask = changed ? get_number(reader) : 0;
    reader->bad |= mask >> kind->field_count != 0 || changed == (mask == 0 && !kind->has_body);
    struct arb_published *entity = next_entity(reader, config, frame, was->key);
    if (entity == NULL) return;
    *entity = *was;
    for (uint32_t i = 0; i < kind->field_count; i++) {
        if (mask >> i & 1) {
            get_field(reader, kind, i, &entity->q[i]);
            reader->bad |= entity->q[i] == was->q[i];
        }
    }
    if (kind->has_body) get_points(reader, config, frame, entity);
}

static void get_frame(struct reader *reader, const struct rewind_config *config,
                      const struct arb_frame *before, struct arb_frame *frame)
{
    uint32_t old = 0, olds = before == NULL ? 0 : before->entity_count;
    frame->entity_count = frame->point_count = 0;
    while (!reader->bad) {
        uint32_t first = reader->at < reader->end ? *reader->at++ : STEP_GONE | 4U;
        uint32_t count = first >> 2;
        enum step step = (enum step)(first & 3);
        if (first == STEP_SAME) break;
        reader->bad |= step != STEP_SAME && count != 0;
        count = step == STEP_SAME ? count : step == STEP_NEW ? 0 : 1;
        if (step == STEP_NEW) get_new(reader, config, frame);
        reader->bad |= count > olds - old;
        for (; count > 0 && !reader->bad; count--, old++) {
            if (step == STEP_GONE) continue;
            get_kept(reader, config, step == STEP_CHANGED, &before->entities[old], frame);
        }
    }
    reader->bad |= old != olds;
}

bool rewind_check_frames(struct rewind *rewind, const uint8_t *bytes, uint32_t count,
                         arb_tick newest)
{
    struct reader reader = {.at = bytes, .end = bytes + count};
    uint32_t held = get_number(&reader);
    if (held > rewind->frame_count || held > newest + 1) return false;
    for (uint32_t i = 0; i < held && !reader.bad; i++) {
        const struct arb_frame *before = i == 0 ? NULL : &rewind->loading[(i + 1) % 2];
        get_frame(&reader, &rewind->config, before, &rewind->loading[i % 2]);
    }
    return !reader.bad && reader.at == reader.end;
}

/* ---- taking over ---- */

void rewind_forget(struct rewind *rewind)
{
    rewind->open = false;
    rewind->committed = 0;
    rewind->newest = 0;
    rewind_bounds_forget(rewind);
}

void rewind_get_frames(struct rewind *rewind, const uint8_t *bytes, uint32_t count, arb_tick newest)
{
    struct reader reader = {.at = bytes, .end = bytes + count};
    uint32_t held = get_number(&reader);
    const struct arb_frame *before = NULL;
    rewind_forget(rewind);
    for (uint32_t i = held; i > 0; i--) {
        struct arb_frame *frame = rewind_begin_frame(rewind, newest - (i - 1));
        get_frame(&reader, &rewind->config, before, frame);
        ARB_ASSERT(!reader.bad);
        rewind_commit(rewind);
        before = frame;
    }
}

void rewind_go_back(struct rewind *rewind, arb_tick tick)
{
    if (rewind->committed == 0) return;
    uint64_t gone = rewind->newest + 1 - tick;
    ARB_ASSERT(!rewind->open && tick <= rewind->newest + 1 && gone <= rewind->committed);
    rewind->committed -= gone;
    rewind->newest = tick - 1;
}
