/* Published frames as bytes: between rewind_pack.c, which writes them, rewind_unpack.c, which reads
 * them, and rewind_save.c. Each frame is told as what differs from the one before:
 *
 *     the list    steps: so many entities stay, one is gone, one is new; 0 ends it, and all that
 *                 were not named stay. Almost every frame: one 0.
 *     widths      2 bits per column, a column being field i of every entity: 0, 1, 2 or 4 bytes
 *     columns     each value's difference to the frame before, two's complement of that width,
 *                 little-endian, in the order of the list
 *     bodies      of the entities whose kind has one: how many points, each as the way from the
 *                 one before
 *
 * Columns because a restored match believes nothing: all values of a column are added and compared
 * with their bounds at once, 16 lanes at a time, without a branch. Numbers of lists and bodies are
 * of variable length, 7 bits a byte, the low ones first; what may be negative is folded, so that
 * small ones of either sign are short.
 */
#ifndef REWIND_PACK_H
#define REWIND_PACK_H

#include "server/rewind/rewind_internal.h"

/* Low two bits of a step's first byte; SAME has how many (1..63) above. */
enum rewind_step { REWIND_SAME, REWIND_GONE, REWIND_NEW };

enum {
    REWIND_SAME_MOST = 63,
    REWIND_NUMBER_BYTES = 5, /* of 32 bits */
    REWIND_LANES = 16,
};

struct rewind_name {
    struct arb_key key;
    uint8_t kind;
};

/* The entities of one frame while it is read. Column c of entity i is at c * stride + i. Places
 * from `count` to the next multiple of the lanes are 0. */
struct rewind_side {
    uint32_t count;
    uint32_t *values; /* q plus the bias of its field: the least that it may be is 0 */
    uint32_t *beyond; /* the bits that no such value has */
    struct rewind_name *names;
};

struct rewind_pack {
    uint32_t columns; /* as many as the kind with most fields has */
    uint32_t stride;
    bool bodies; /* some kind has one */
    uint32_t bias[ARB_KINDS_MAX][ARB_KIND_FIELDS_MAX];
    uint32_t beyond[ARB_KINDS_MAX][ARB_KIND_FIELDS_MAX];
    struct rewind_side sides[2]; /* the frame, and the one before while the list is read */

    /* Writing: each entity's state of the frame before, its own where it is new, and the
     * differences, [stride][ARB_KIND_FIELDS_MAX]. */
    const struct arb_published **was;
    uint32_t *changes;
};

void rewind_pack_create(struct rewind *rewind, struct arb_arena *arena);

static inline uint32_t rewind_width_bytes(const struct rewind_pack *pack)
{
    return (pack->columns * 2 + 7) / 8;
}

/* 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint32_t rewind_fold(uint32_t difference)
{
    return difference << 1 ^ (0U - (difference >> 31));
}

static inline uint32_t rewind_unfold(uint32_t folded)
{
    return folded >> 1 ^ (0U - (folded & 1));
}

#endif
