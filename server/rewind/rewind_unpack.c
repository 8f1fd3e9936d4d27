/* Reading published frames: nothing that comes is believed. The same code reads twice, first beside
 * the rings, then into them, so what was checked is what is taken over. */
#include "server/rewind/rewind_pack.h"

#include "server/rewind/rewind_save.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_form.h"

#include <string.h>

struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static uint32_t get_number(struct reader *reader)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 7 * REWIND_NUMBER_BYTES; shift += 7) {
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

/* ---- the list ---- */

/* Room at the end of `side` for `count` more, the first of them of that key. */
static bool has_room(const struct rewind_side *side, uint32_t capacity, uint32_t count,
                     struct arb_key first)
{
    return count <= capacity - side->count &&
           (side->count == 0 || side->names[side->count - 1].key.id < first.id);
}

/* `count` entities from `old` on, as they were. */
static void keep(struct reader *reader, const struct rewind *rewind, const struct rewind_side *from,
                 uint32_t old, uint32_t count, struct rewind_side *to)
{
    const struct rewind_pack *pack = rewind->pack;
    if (count == 0) return;
    if (!has_room(to, rewind->config.entity_capacity, count, from->names[old].key)) {
        reader->bad = true;
        return;
    }
    for (uint32_t c = 0; c < pack->columns; c++) {
        size_t column = (size_t)c * pack->stride, bytes = count * sizeof from->values[0];
        memcpy(to->values + column + to->count, from->values + column + old, bytes);
        memcpy(to->beyond + column + to->count, from->beyond + column + old, bytes);
    }
    memcpy(to->names + to->count, from->names + old, count * sizeof from->names[0]);
    to->count += count;
}

static void get_new(struct reader *reader, const struct rewind *rewind, struct rewind_side *to)
{
    const struct rewind_pack *pack = rewind->pack;
    uint32_t capacity = rewind->config.entity_capacity;
    uint32_t id = get_number(reader), generation = get_number(reader), kind = get_number(reader);
    struct arb_key key = {(uint16_t)id, (uint16_t)generation};
    if (id >= capacity || generation > UINT16_MAX || kind >= rewind->config.schema->kind_count ||
        arb_key_is_none(key) || !has_room(to, capacity, 1, key)) {
        reader->bad = true;
        return;
    }
    uint32_t place = to->count++;
    to->names[place] = (struct rewind_name){.key = key, .kind = (uint8_t)kind};
    for (uint32_t c = 0; c < pack->columns; c++) {
        bool has = c < rewind->config.schema->kinds[kind].field_count;
        uint32_t value = pack->bias[kind][c] + (has ? rewind_unfold(get_number(reader)) : 0);
        uint32_t beyond = pack->beyond[kind][c];
        reader->bad |= (value & beyond) != 0;
        to->values[(size_t)c * pack->stride + place] = value;
        to->beyond[(size_t)c * pack->stride + place] = beyond;
    }
}

/* So that whole groups of lanes may be added and compared. */
static void clear_rest(const struct rewind_pack *pack, struct rewind_side *side)
{
    uint32_t rest = (0U - side->count) % REWIND_LANES;
    for (uint32_t c = 0; c < pack->columns; c++) {
        size_t end = (size_t)c * pack->stride + side->count;
        memset(side->values + end, 0, rest * sizeof side->values[0]);
        memset(side->beyond + end, 0, rest * sizeof side->beyond[0]);
    }
}

/* sides[0] becomes the entities of the next frame, with the values that they had. False: they are
 * those of the frame before. */
static bool get_list(struct reader *reader, struct rewind *rewind)
{
    struct rewind_pack *pack = rewind->pack;
    struct rewind_side from = pack->sides[0], to = pack->sides[1];
    uint32_t old = 0, count, step;
    if (reader->at < reader->end && *reader->at == 0) {
        reader->at++;
        return false;
    }
    to.count = 0;
    while (!reader->bad) {
        uint32_t first = reader->at < reader->end ? *reader->at++ : REWIND_GONE | 4U;
        if (first == 0) break;
        step = first & 3;
        count = step == REWIND_SAME ? first >> 2 : step == REWIND_GONE ? 1 : 0;
        reader->bad |= (step != REWIND_SAME && first >> 2 != 0) || step > REWIND_NEW ||
                       count > from.count - old;
        if (reader->bad) break;
        if (step == REWIND_NEW) get_new(reader, rewind, &to);
        if (step == REWIND_SAME) keep(reader, rewind, &from, old, count, &to);
        old += count;
    }
    if (!reader->bad) keep(reader, rewind, &from, old, from.count - old, &to);
    clear_rest(pack, &to);
    pack->sides[0] = to;
    pack->sides[1] = from;
    return true;
}

/* ---- columns ---- */

/* One group of lanes: no branch, and only as many as the compiler knows, so that it needs no rest
 * of a loop. */
static inline void add_lanes(uint32_t *restrict values, const uint32_t *restrict beyond,
                             const int32_t *restrict changes, uint32_t wrong[restrict 4])
{
    for (uint32_t i = 0; i < REWIND_LANES; i += 4) {
        for (uint32_t k = 0; k < 4; k++) {
            values[i + k] += (uint32_t)changes[i + k];
            wrong[k] |= values[i + k] & beyond[i + k];
        }
    }
}

static inline void widen_lanes(const uint8_t *restrict bytes, uint32_t width,
                               int32_t *restrict changes)
{
    if (width == 1) {
        int8_t narrow[REWIND_LANES];
        memcpy(narrow, bytes, sizeof narrow);
        for (uint32_t i = 0; i < REWIND_LANES; i++) {
            changes[i] = narrow[i];
        }
    } else if (width == 2) {
        int16_t narrow[REWIND_LANES];
        arb_form_get_i16(bytes, REWIND_LANES, narrow);
        for (uint32_t i = 0; i < REWIND_LANES; i++) {
            changes[i] = narrow[i];
        }
    } else {
        arb_form_get_i32(bytes, REWIND_LANES, changes);
    }
}

static inline void add_column(struct reader *reader, uint32_t *values, const uint32_t *beyond,
                              uint32_t count, uint32_t width)
{
    int32_t changes[REWIND_LANES];
    uint32_t wrong[4] = {0};
    if ((size_t)(reader->end - reader->at) < (size_t)count * width) {
        reader->bad = true;
        return;
    }
    uint32_t i = 0;
    for (; i + REWIND_LANES <= count; i += REWIND_LANES) {
        widen_lanes(reader->at + (size_t)i * width, width, changes);
        add_lanes(values + i, beyond + i, changes, wrong);
    }
    if (i < count) {
        uint8_t last[REWIND_LANES * 4] = {0};
        memcpy(last, reader->at + (size_t)i * width, (size_t)(count - i) * width);
        widen_lanes(last, width, changes);
        add_lanes(values + i, beyond + i, changes, wrong);
    }
    reader->bad |= (wrong[0] | wrong[1] | wrong[2] | wrong[3]) != 0;
    reader->at += (size_t)count * width;
}

/* Which columns changed. */
static uint32_t get_columns(struct reader *reader, const struct rewind_pack *pack)
{
    const struct rewind_side *side = &pack->sides[0];
    uint32_t widths = 0, changed = 0;
    for (uint32_t i = 0; i < rewind_width_bytes(pack); i++) {
        widths |= (reader->at < reader->end ? (uint32_t)*reader->at++ : UINT8_MAX) << (8 * i);
    }
    reader->bad |= pack->columns < ARB_KIND_FIELDS_MAX && widths >> (2 * pack->columns) != 0;
    for (uint32_t c = 0; c < pack->columns && !reader->bad; c++) {
        uint32_t *values = side->values + (size_t)c * pack->stride;
        const uint32_t *beyond = side->beyond + (size_t)c * pack->stride;
        changed |= (uint32_t)((widths >> (2 * c) & 3) != 0) << c;
        switch (widths >> (2 * c) & 3) {
        case 0:
            break;
        case 1:
            add_column(reader, values, beyond, side->count, 1);
            break;
        case 2:
            add_column(reader, values, beyond, side->count, 2);
            break;
        default:
            add_column(reader, values, beyond, side->count, 4);
            break;
        }
    }
    return changed;
}

/* ---- frames ---- */

static void put_rows(const struct rewind *rewind, struct arb_frame *frame)
{
    const struct rewind_pack *pack = rewind->pack;
    const struct rewind_side *side = &pack->sides[0];
    frame->entity_count = side->count;
    for (uint32_t i = 0; i < side->count; i++) {
        struct arb_published *entity = &frame->entities[i];
        const struct rewind_name *name = &side->names[i];
        const uint32_t *bias = pack->bias[name->kind], *values = side->values + i;
        uint32_t fields = rewind->config.schema->kinds[name->kind].field_count;
        *entity = (struct arb_published){.key = name->key, .kind = name->kind};
        for (uint32_t c = 0; c < fields; c++) {
            entity->q[c] = (int32_t)(values[(size_t)c * pack->stride] - bias[c]);
        }
    }
}

/* One column, q: that of the first entity. By fours: the loop's own work is as much as that of a
 * value. */
static void put_values(const uint32_t *values, uint32_t bias, uint32_t count, int32_t *q)
{
    enum { NEXT = sizeof(struct arb_published) / sizeof *q };
    for (; count >= 4; count -= 4, values += 4, q += 4 * NEXT) {
        q[0] = (int32_t)(values[0] - bias);
        q[NEXT] = (int32_t)(values[1] - bias);
        q[2 * NEXT] = (int32_t)(values[2] - bias);
        q[3 * NEXT] = (int32_t)(values[3] - bias);
    }
    for (; count > 0; count--, values++, q += NEXT) {
        *q = (int32_t)(*values - bias);
    }
}

/* The same entities as in the frame before: all is copied at once but what changed. */
static void put_changes(const struct rewind *rewind, uint32_t changed,
                        const struct arb_frame *before, struct arb_frame *frame)
{
    const struct rewind_pack *pack = rewind->pack;
    const struct rewind_side *side = &pack->sides[0];
    frame->entity_count = side->count;
    memcpy(frame->entities, before->entities, side->count * sizeof frame->entities[0]);
    for (uint32_t first = 0, end; first < side->count; first = end) {
        uint8_t kind = side->names[first].kind;
        for (end = first + 1; end < side->count && side->names[end].kind == kind;) {
            end++;
        }
        for (uint32_t c = 0; c < pack->columns; c++) {
            if ((changed >> c & 1) == 0) continue;
            put_values(side->values + (size_t)c * pack->stride + first, pack->bias[kind][c],
                       end - first, &frame->entities[first].q[c]);
        }
    }
}

/* frame NULL: only read. `points`: those that the frame has so far. */
static void get_body(struct reader *reader, const struct rewind *rewind, struct arb_frame *frame,
                     uint32_t place, uint32_t *points)
{
    uint32_t count = get_number(reader), x = 0, y = 0;
    if (count > ARB_BODY_POINTS_MAX || count > rewind->config.point_capacity - *points) {
        reader->bad = true;
        return;
    }
    if (frame != NULL) {
        frame->entities[place].body_count = (uint16_t)count;
        frame->entities[place].body_first = *points;
    }
    for (uint32_t i = 0; i < count; i++) {
        x += rewind_unfold(get_number(reader));
        y += rewind_unfold(get_number(reader));
        if (frame != NULL) frame->points[*points + i] = (struct arb_point){(int32_t)x, (int32_t)y};
    }
    *points += count;
}

static void get_bodies(struct reader *reader, const struct rewind *rewind, struct arb_frame *frame)
{
    const struct rewind_side *side = &rewind->pack->sides[0];
    uint32_t points = 0;
    for (uint32_t i = 0; i < side->count && !reader->bad; i++) {
        if (rewind->config.schema->kinds[side->names[i].kind].has_body) {
            get_body(reader, rewind, frame, i, &points);
        }
    }
    if (frame != NULL) frame->point_count = points;
}

/* The next frame, into `frame` unless that is NULL; `before`: the last one there, or NULL. */
static void get_frame(struct reader *reader, struct rewind *rewind, const struct arb_frame *before,
                      struct arb_frame *frame)
{
    bool others = get_list(reader, rewind);
    uint32_t changed = reader->bad ? 0 : get_columns(reader, rewind->pack);
    if (reader->bad) return;
    if (frame != NULL && (others || before == NULL)) put_rows(rewind, frame);
    if (frame != NULL && !others && before != NULL) put_changes(rewind, changed, before, frame);
    if (rewind->pack->bodies) get_bodies(reader, rewind, frame);
}

bool rewind_check_frames(struct rewind *rewind, const uint8_t *bytes, uint32_t count,
                         arb_tick newest)
{
    struct reader reader = {.at = bytes, .end = bytes + count};
    uint32_t held = get_number(&reader);
    if (held > rewind->frame_count || held > newest + 1) return false;
    rewind->pack->sides[0].count = 0;
    for (uint32_t i = 0; i < held && !reader.bad; i++) {
        get_frame(&reader, rewind, NULL, NULL);
    }
    return !reader.bad && reader.at == reader.end;
}

void rewind_get_frames(struct rewind *rewind, const uint8_t *bytes, uint32_t count, arb_tick newest)
{
    struct reader reader = {.at = bytes, .end = bytes + count};
    uint32_t held = get_number(&reader);
    const struct arb_frame *before = NULL;
    rewind->open = false;
    rewind->pack->sides[0].count = 0;
    for (uint32_t i = held; i > 0; i--) {
        arb_tick tick = newest - (i - 1);
        struct arb_frame *frame = &rewind->frames[tick % rewind->ring_count];
        frame->tick = tick;
        frame->point_count = 0;
        get_frame(&reader, rewind, before, frame);
        ARB_ASSERT(!reader.bad);
        before = frame;
    }
    rewind->committed = held;
    rewind->newest = held > 0 ? newest : 0;
    rewind_bounds_fill(rewind);
}
