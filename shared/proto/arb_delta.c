/* The stream of a snapshot, bit by bit (PROTOCOL.md "Snapshot stream"):
 *
 *   own 1 [own part] | same control 1 (key 32) | code per entity of the baseline [record] |
 *   1 [key | record] ... 0
 */
#include "shared/proto/arb_delta.h"

#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

/* What is said of an entity of the baseline. */
enum said { SAID_UPDATE, SAID_UNCHANGED, SAID_LEFT_OUT, SAID_GONE };

/* Who is steered moves most of the time, what lies there hardly ever. */
static bool is_lying(const struct arb_schema *schema, uint8_t kind)
{
    ARB_ASSERT(kind < schema->kind_count);
    return schema->kinds[kind].owner < 0;
}

/* ---- writing ---- */

bool arb_delta_begin(struct arb_delta_writer *writer, const struct arb_delta_rule *rule,
                     const struct arb_delta_head *head, const struct arb_delta_head *base,
                     uint32_t ticks, uint32_t base_count, uint8_t *bytes, size_t capacity)
{
    ARB_ASSERT(base != NULL || base_count == 0);
    *writer = (struct arb_delta_writer){.schema = rule->schema, .left = base_count};
    struct arb_bit_writer *bits = &writer->bits;
    arb_bits_write_begin(bits, bytes, capacity);
    arb_bits_write(bits, head->own != NULL, 1);
    if (head->own != NULL) {
        arb_delta_own_write(bits, rule, head->own, base != NULL ? base->own : NULL, ticks);
    }
    struct arb_key before = base != NULL ? base->controlled : ARB_KEY_NONE;
    bool same = arb_key_equal(head->controlled, before);
    arb_bits_write(bits, same, 1);
    if (!same) {
        arb_bits_write(bits, head->controlled.id, 16);
        arb_bits_write(bits, head->controlled.generation, 16);
    }
    size_t least = (size_t)ARB_DELTA_CODE_BITS * base_count + ARB_DELTA_END_BITS;
    return !bits->full && bits->capacity_bits - bits->bit >= least;
}

size_t arb_delta_room(const struct arb_delta_writer *writer)
{
    size_t reserved = (size_t)ARB_DELTA_CODE_BITS * writer->left + ARB_DELTA_END_BITS;
    return writer->bits.capacity_bits - writer->bits.bit - reserved;
}

/* Returns how many bits. */
static unsigned code_of(const struct arb_schema *schema, uint8_t kind, enum said what,
                        uint64_t *code)
{
    static const uint8_t codes[] = {1, 2, 4, 0}; /* 1; 0, 1; 0, 0, 1; 0, 0, 0 */
    static const uint8_t bits[] = {1, 2, 3, 3};
    unsigned rank = 0;
    switch (what) {
    case SAID_UPDATE:
    case SAID_UNCHANGED:
        rank = (what == SAID_UNCHANGED) == is_lying(schema, kind) ? 0 : 1;
        break;
    case SAID_LEFT_OUT:
        rank = 2;
        break;
    case SAID_GONE:
        rank = 3;
        break;
    }
    *code = codes[rank];
    return bits[rank];
}

static void say(struct arb_delta_writer *writer, uint8_t kind, enum said what)
{
    ARB_ASSERT(writer->left > 0 && writer->entered == 0);
    writer->left--;
    uint64_t code;
    unsigned bits = code_of(writer->schema, kind, what, &code);
    arb_bits_write(&writer->bits, code, bits);
    ARB_ASSERT(!writer->bits.full);
}

struct arb_delta_short arb_delta_shorten(const struct arb_schema *schema, uint8_t kind,
                                         const uint8_t *bytes, size_t first_bit, size_t bits)
{
    uint64_t code;
    unsigned count = code_of(schema, kind, bits > 0 ? SAID_UPDATE : SAID_UNCHANGED, &code);
    if (bits + count > ARB_DELTA_SHORT_BITS) return (struct arb_delta_short){0, 0};
    struct arb_bit_reader reader = {bytes, first_bit + bits, first_bit, false};
    code |= arb_bits_read(&reader, (unsigned)bits) << count;
    return (struct arb_delta_short){code, (uint8_t)(bits + count)};
}

void arb_delta_unchanged(struct arb_delta_writer *writer, uint8_t kind)
{
    say(writer, kind, SAID_UNCHANGED);
}

/* Of all kinds the same: 0, 0, 1 again and again, that is 4 in each octal digit. */
#define LEFT_OUT_MANY UINT64_C(0444444444444444444)

void arb_delta_left_out(struct arb_delta_writer *writer, uint32_t count)
{
    enum { AT_ONCE = ARB_DELTA_SHORT_BITS / ARB_DELTA_CODE_BITS };
    ARB_ASSERT(count <= writer->left && writer->entered == 0);
    writer->left -= count;
    while (count > 0) {
        uint32_t some = count < AT_ONCE ? count : AT_ONCE;
        unsigned bits = some * ARB_DELTA_CODE_BITS;
        arb_bits_write_short(&writer->bits, LEFT_OUT_MANY & ((UINT64_C(1) << bits) - 1), bits);
        count -= some;
    }
    ARB_ASSERT(!writer->bits.full);
}

void arb_delta_gone(struct arb_delta_writer *writer, uint8_t kind)
{
    say(writer, kind, SAID_GONE);
}

bool arb_delta_update(struct arb_delta_writer *writer, uint8_t kind, const uint8_t *bytes,
                      size_t first_bit, size_t bits)
{
    if (bits > arb_delta_room(writer)) return false;
    say(writer, kind, SAID_UPDATE);
    arb_bits_write_copy(&writer->bits, bytes, first_bit, bits);
    ARB_ASSERT(!writer->bits.full);
    return true;
}

bool arb_delta_enter(struct arb_delta_writer *writer, struct arb_key key, const uint8_t *bytes,
                     size_t first_bit, size_t bits)
{
    ARB_ASSERT(writer->left == 0);
    size_t start = writer->bits.bit;
    size_t room = arb_delta_room(writer);
    arb_bits_write(&writer->bits, 1, 1);
    arb_key_write(&writer->bits, writer->entered == 0, writer->last, key);
    arb_bits_write_copy(&writer->bits, bytes, first_bit, bits);
    if (writer->bits.full || writer->bits.bit - start > room) {
        arb_bits_write_undo(&writer->bits, start);
        return false;
    }
    writer->last = key;
    writer->entered++;
    return true;
}

size_t arb_delta_end(struct arb_delta_writer *writer)
{
    ARB_ASSERT(writer->left == 0);
    arb_bits_write(&writer->bits, 0, ARB_DELTA_END_BITS);
    ARB_ASSERT(!writer->bits.full);
    return arb_bits_write_end(&writer->bits);
}

/* ---- reading ---- */

struct job {
    struct arb_bit_reader reader;
    const struct arb_delta_rule *rule;
    const struct arb_delta_base *base;
    struct arb_delta_out *out;
    arb_tick tick;
};

static enum said read_said(struct job *job, uint8_t kind)
{
    bool lying = is_lying(job->rule->schema, kind);
    if (arb_bits_read(&job->reader, 1) != 0) return lying ? SAID_UNCHANGED : SAID_UPDATE;
    if (arb_bits_read(&job->reader, 1) != 0) return lying ? SAID_UPDATE : SAID_UNCHANGED;
    return arb_bits_read(&job->reader, 1) != 0 ? SAID_LEFT_OUT : SAID_GONE;
}

static struct arb_delta_kind_account *account_of(const struct job *job, uint8_t kind)
{
    struct arb_delta_account *account = job->out->account;
    return account == NULL ? NULL : &account->kinds[kind];
}

static void count_said(struct arb_delta_kind_account *account, enum said said, size_t bits)
{
    account->said_bits += bits;
    account->updates += said == SAID_UPDATE;
    account->unchanged += said == SAID_UNCHANGED;
    account->left_out += said == SAID_LEFT_OUT;
    account->gone += said == SAID_GONE;
}

static enum arb_decode read_head(struct job *job)
{
    struct arb_delta_out *out = job->out;
    const struct arb_delta_base *base = job->base;
    out->own_part = (struct arb_own_part){0, 0, out->own};
    out->has_own = arb_bits_read(&job->reader, 1) != 0;
    if (out->has_own) {
        if (job->rule->own_fields == NULL) return ARB_DECODE_RANGE;
        uint32_t ticks = base != NULL ? (uint32_t)(job->tick - base->tick) : 0;
        enum arb_decode reason =
            arb_delta_own_read(&job->reader, job->rule, base != NULL ? base->own : NULL, ticks,
                               &out->own_part, out->own);
        if (reason != ARB_DECODE_OK) return reason;
    }
    out->controlled = base != NULL ? base->controlled : ARB_KEY_NONE;
    if (arb_bits_read(&job->reader, 1) == 0) {
        out->controlled.id = (uint16_t)arb_bits_read(&job->reader, 16);
        out->controlled.generation = (uint16_t)arb_bits_read(&job->reader, 16);
    }
    return ARB_DECODE_OK;
}

/* The place of the next entity of the result; NULL: the receiver holds no more. */
static struct arb_published *next_place(struct job *job, struct arb_key key, uint16_t age)
{
    struct arb_delta_out *out = job->out;
    struct arb_frame *frame = out->frame;
    if (frame->entity_count == out->entity_capacity || frame->entity_count == ARB_ENTITIES_MAX) {
        return NULL;
    }
    out->entries[frame->entity_count] = (struct arb_held_entry){.key = key, .age = age};
    struct arb_published *entity = &frame->entities[frame->entity_count++];
    *entity = (struct arb_published){.key = key};
    return entity;
}

/* Takes over a state of the baseline as it is. */
static enum arb_decode keep(struct job *job, const struct arb_published *from, uint16_t age)
{
    struct arb_frame *frame = job->out->frame;
    struct arb_published *entity = next_place(job, from->key, age);
    if (entity == NULL || from->body_count > job->out->point_capacity - frame->point_count) {
        return ARB_DECODE_RANGE;
    }
    *entity = *from;
    if (from->body_count > 0) {
        entity->body_first = frame->point_count;
        memcpy(frame->points + frame->point_count, job->base->frame->points + from->body_first,
               from->body_count * sizeof *frame->points);
        frame->point_count += from->body_count;
    }
    return ARB_DECODE_OK;
}

static enum arb_decode read_known(struct job *job, uint32_t index)
{
    const struct arb_delta_base *base = job->base;
    const struct arb_published *from = &base->frame->entities[index];
    uint64_t age = job->tick - base->tick + base->entries[index].age;
    size_t before = job->reader.bit;
    enum said said = read_said(job, from->kind);
    struct arb_delta_kind_account *account = account_of(job, from->kind);
    if (account != NULL) count_said(account, said, job->reader.bit - before);
    if (said == SAID_GONE) return ARB_DECODE_OK;
    if (said == SAID_UNCHANGED) return keep(job, from, 0);
    if (age > UINT16_MAX || base->entries[index].age > base->tick) return ARB_DECODE_RANGE;
    if (said == SAID_LEFT_OUT) return keep(job, from, (uint16_t)age);
    struct arb_delta_state state = {from, base->frame->points, job->tick - age};
    struct arb_published *entity = next_place(job, from->key, 0);
    if (entity == NULL) return ARB_DECODE_RANGE;
    entity->kind = from->kind;
    return arb_delta_record_read(&job->reader, job->rule, &state, job->tick, job->out->frame,
                                 job->out->point_capacity, entity, account);
}

static enum arb_decode read_entered(struct job *job)
{
    struct arb_key last = ARB_KEY_NONE;
    bool first = true;
    size_t before = job->reader.bit;
    while (arb_bits_read(&job->reader, 1) != 0) {
        struct arb_key key;
        enum arb_decode reason = arb_key_read(&job->reader, first, last, &key);
        if (reason != ARB_DECODE_OK) return reason;
        struct arb_published *entity = next_place(job, key, 0);
        if (entity == NULL) return ARB_DECODE_RANGE;
        reason = arb_entity_read(&job->reader, job->rule->schema, job->out->frame,
                                 job->out->point_capacity, entity);
        if (reason != ARB_DECODE_OK) return reason;
        last = key;
        first = false;
        struct arb_delta_kind_account *account = account_of(job, entity->kind);
        if (account != NULL) {
            account->enters++;
            account->enter_bits += job->reader.bit - before;
            before = job->reader.bit;
        }
    }
    return ARB_DECODE_OK;
}

/* Brings the order into one: the first `known` and the rest are ascending by id each. False: an id
 * twice. Each circle of places that exchange their entities is turned by one. */
static bool merge(struct arb_delta_out *out, uint32_t known)
{
    uint16_t source[ARB_ENTITIES_MAX]; /* which entity belongs into a place */
    struct arb_published *entities = out->frame->entities;
    uint32_t count = out->frame->entity_count;
    uint32_t a = 0, b = known;
    for (uint32_t i = 0; i < count; i++) {
        bool both = a < known && b < count;
        if (both && entities[a].key.id == entities[b].key.id) return false;
        bool from_known = both ? entities[a].key.id < entities[b].key.id : a < known;
        source[i] = (uint16_t)(from_known ? a++ : b++);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct arb_published entity = entities[i];
        struct arb_held_entry entry = out->entries[i];
        uint32_t place = i;
        while (source[place] != i) {
            uint32_t from = source[place];
            entities[place] = entities[from];
            out->entries[place] = out->entries[from];
            source[place] = (uint16_t)place;
            place = from;
        }
        entities[place] = entity;
        out->entries[place] = entry;
        source[place] = (uint16_t)place;
    }
    return true;
}

static enum arb_decode read_stream(struct job *job)
{
    const struct arb_delta_base *base = job->base;
    if (base != NULL && job->tick < base->tick) return ARB_DECODE_ORDER;
    enum arb_decode reason = read_head(job);
    if (job->out->account != NULL) {
        job->out->account->streams++;
        job->out->account->own_bits += job->reader.bit;
    }
    uint32_t count = base != NULL ? base->frame->entity_count : 0;
    for (uint32_t i = 0; i < count && reason == ARB_DECODE_OK && !job->reader.ended; i++) {
        reason = read_known(job, i);
    }
    if (reason != ARB_DECODE_OK || job->reader.ended) return reason;
    uint32_t known = job->out->frame->entity_count;
    reason = read_entered(job);
    if (reason != ARB_DECODE_OK || job->reader.ended) return reason;
    bool mixed = known > 0 && known < job->out->frame->entity_count;
    return !mixed || merge(job->out, known) ? ARB_DECODE_OK : ARB_DECODE_ORDER;
}

enum arb_decode arb_delta_decode(const struct arb_delta_rule *rule, const uint8_t *bytes,
                                 size_t size, arb_tick tick, const struct arb_delta_base *base,
                                 struct arb_delta_out *out)
{
    ARB_ASSERT(base == NULL || base->frame != out->frame);
    struct job job = {.rule = rule, .base = base, .out = out, .tick = tick};
    arb_bits_read_begin(&job.reader, bytes, size);
    out->frame->entity_count = 0;
    out->frame->point_count = 0;
    enum arb_decode reason = read_stream(&job);
    return arb_message_close(&job.reader, reason);
}
