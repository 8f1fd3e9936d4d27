/* The stream of a snapshot (PROTOCOL.md "Snapshot stream"): own part, then everything in view as a
 * difference to a baseline, which is an earlier snapshot that the client has acknowledged: each of
 * its entities is unchanged, left out for now, updated or gone, and then come the new ones. Without
 * a baseline all are new. Knows neither budgets nor who has acknowledged what: server/replicate
 * chooses and writes, shared/client reads (spec/replication.md "Snapshots").
 */
#ifndef ARB_DELTA_H
#define ARB_DELTA_H

#include "shared/proto/arb_proto.h"

/* What both ends know of the match. */
struct arb_delta_rule {
    const struct arb_schema *schema;
    const struct arb_fields *own_fields; /* of the mode's mover, NULL: it has none */
    uint32_t tick_rate;                  /* Hz, of the welcome */
};

/* A snapshot as its receiver committed it. */
struct arb_delta_base {
    arb_tick tick;
    const struct arb_frame *frame;        /* everything in view, states left out included */
    const struct arb_held_entry *entries; /* [frame->entity_count], beside frame->entities */
    struct arb_key controlled;            /* or none */
    const struct arb_own_part *own;       /* NULL without a character */
};

/* What streams consisted of, in bits, as their reader counts it: the sum of all `*bits` of a kind
 * and of own_bits is what the streams had, but for what ends them. */
struct arb_delta_account {
    uint64_t streams, own_bits; /* own part and controlled key */
    struct arb_delta_kind_account {
        uint64_t unchanged, left_out, gone, updates, enters;
        uint64_t said_bits;                       /* which of these: one code for each entity */
        uint64_t enter_bits;                      /* keys and full records */
        uint64_t field_bits[ARB_KIND_FIELDS_MAX]; /* of updates; x has y's, vx has vy's */
        uint64_t mask_bits; /* of updates: whether any field beside the motion changed */
        uint64_t body_bits; /* of updates */
    } kinds[ARB_KINDS_MAX];
};

/* What a stream says. Arrays are the caller's. */
struct arb_delta_out {
    struct arb_frame *frame;        /* becomes everything in view; frame->tick is left alone */
    struct arb_held_entry *entries; /* [entity_capacity], beside frame->entities */
    uint32_t entity_capacity, point_capacity;
    void *own; /* members without a row are left alone: zero it before */
    struct arb_own_part own_part;
    bool has_own;
    struct arb_key controlled;
    /* Added to, also by a stream that does not decode; or NULL. */
    struct arb_delta_account *account;
};

/* `tick`: the snapshot's published tick. base NULL: the stream needs none. All checks of
 * spec/replication.md "Chunks": every record decodes, no key twice, values in range, bodies whole,
 * nothing updated that the baseline lacks, not older than the baseline. `out` shares no array with
 * `base`. */
enum arb_decode arb_delta_decode(const struct arb_delta_rule *rule, const uint8_t *bytes,
                                 size_t size, arb_tick tick, const struct arb_delta_base *base,
                                 struct arb_delta_out *out);

/* ---- writing ---- */

/* One state of an entity. */
struct arb_delta_state {
    const struct arb_published *entity;
    const struct arb_point *points; /* of the frame it stands in */
    arb_tick tick;                  /* published tick of that frame */
};

/* Appends the record of an update of one entity (same key) between two states, from->tick <=
 * to->tick: the same for every client that holds `from`. False: all values and the body are equal,
 * nothing was written; the entity is "unchanged". */
bool arb_delta_record(const struct arb_delta_rule *rule, const struct arb_delta_state *from,
                      const struct arb_delta_state *to, struct arb_bit_writer *writer);
/* Bits that no record exceeds whose entity has a body of `points` points now. */
size_t arb_delta_record_bits_max(const struct arb_schema *schema, uint32_t points);

/* The part of a snapshot that is no list. */
struct arb_delta_head {
    struct arb_key controlled;      /* or none */
    const struct arb_own_part *own; /* NULL without a character */
};

enum {
    /* Of an entity of the baseline; arb_delta_begin sets them aside, so no snapshot lacks room to
     * say of each that it is unchanged, left out or gone. */
    ARB_DELTA_CODE_BITS = 3,
    ARB_DELTA_END_BITS = 1, /* of a stream */
    /* Of an entity that enters, on top of its record (arb_entity_encode). */
    ARB_DELTA_ENTER_BITS_MAX = 1 + ARB_KEY_BITS_MAX,
};

struct arb_delta_writer {
    const struct arb_schema *schema;
    struct arb_bit_writer bits;
    uint32_t left;    /* entities of the baseline that nothing was said of yet */
    uint32_t entered; /* so far */
    struct arb_key last;
};

/* `base` NULL: without a baseline, then base_count is 0; else what the baseline said and the ticks
 * since then. base_count: its entities. False: `capacity` bytes are too few for the own part and
 * the least that can be said of base_count entities; nothing else may be called then. */
bool arb_delta_begin(struct arb_delta_writer *writer, const struct arb_delta_rule *rule,
                     const struct arb_delta_head *head, const struct arb_delta_head *base,
                     uint32_t ticks, uint32_t base_count, uint8_t *bytes, size_t capacity);

/* Bits that updates and enters may still cost: an update its record, an enter its record and
 * ARB_DELTA_ENTER_BITS_MAX at most. */
size_t arb_delta_room(const struct arb_delta_writer *writer);

/* Exactly one for each entity of the baseline, in its order; `kind` is the entity's. These always
 * fit. Unchanged: equal to the baseline's state as of this tick. Left out: the client keeps that
 * state, and its age grows; said of `count` entities in a row, whatever their kinds. */
void arb_delta_unchanged(struct arb_delta_writer *writer, uint8_t kind);
void arb_delta_left_out(struct arb_delta_writer *writer, uint32_t count);
void arb_delta_gone(struct arb_delta_writer *writer, uint8_t kind);
/* The record is `bits` bits from bit `first_bit` of `bytes`, written by arb_delta_record. False: it
 * does not fit, say something else of this entity. */
bool arb_delta_update(struct arb_delta_writer *writer, uint8_t kind, const uint8_t *bytes,
                      size_t first_bit, size_t bits);

/* The same, made once and then said to many: the code of an update with its record, or of
 * "unchanged" when there is none (bits 0). `count` 0: longer than ARB_DELTA_SHORT_BITS, then only
 * arb_delta_update says it. */
struct arb_delta_short {
    uint64_t bits;
    uint8_t count;
};
enum { ARB_DELTA_SHORT_BITS = 56 };
struct arb_delta_short arb_delta_shorten(const struct arb_schema *schema, uint8_t kind,
                                         const uint8_t *bytes, size_t first_bit, size_t bits);

/* False: it does not fit, say something else of this entity. */
static inline bool arb_delta_say_short(struct arb_delta_writer *writer, uint64_t bits,
                                       unsigned count)
{
    /* What the others and the end are sure of; left is over 0 here. */
    size_t reserved = (size_t)ARB_DELTA_CODE_BITS * (writer->left - 1) + ARB_DELTA_END_BITS;
    if (writer->bits.bit + count + reserved > writer->bits.capacity_bits) return false;
    writer->left--;
    arb_bits_write_short(&writer->bits, bits, count);
    return true;
}

/* Then those that the baseline lacks, ascending; an id of the baseline only when its entity was
 * said to be gone. The record is arb_entity_encode's. False: it does not fit, others may. */
bool arb_delta_enter(struct arb_delta_writer *writer, struct arb_key key, const uint8_t *bytes,
                     size_t first_bit, size_t bits);

/* Bytes used, over 0. */
size_t arb_delta_end(struct arb_delta_writer *writer);

#endif
