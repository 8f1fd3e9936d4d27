/* The few value types that every part names. Words are the specification's (spec/README.md). */
#ifndef ARB_TYPES_H
#define ARB_TYPES_H

#include <stdbool.h>
#include <stdint.h>

/* The integer tick: the only time of a match. 64 bits inside, the low 32 (or 16) on the wire,
 * widened against the newest known tick. Say at each place whether it names S[t] (the state before
 * the inputs of tick t) or a published tick (the state after step t, which is S[t+1]). */
typedef uint64_t arb_tick;

/* A moment between ticks, in 1/65536 tick. */
typedef int64_t arb_fine;
enum { ARB_FINE_TICK = 65536 };

/* Sequence of an input: counted per session from 1; 0 means none. Low 16 bits on the wire. */
typedef uint32_t arb_sequence;

/* Entity key. The generation grows at each reuse of the id, starts at 1 and skips 0; generation 0
 * is "none". */
struct arb_key {
    uint16_t id;
    uint16_t generation;
};

/* Metres (x right, y up), or a direction without unit. */
struct arb_vec2 {
    float x, y;
};

#define ARB_KEY_NONE ((struct arb_key){0, 0})

static inline bool arb_key_is_none(struct arb_key key)
{
    return key.generation == 0;
}

static inline bool arb_key_equal(struct arb_key a, struct arb_key b)
{
    return a.id == b.id && a.generation == b.generation;
}

/* Total order by id, then generation: the order of every list of entities. */
static inline uint32_t arb_key_order(struct arb_key key)
{
    return (uint32_t)key.id << 16 | key.generation;
}

static inline struct arb_key arb_key_of_order(uint32_t order)
{
    return (struct arb_key){(uint16_t)(order >> 16), (uint16_t)order};
}

/* Widen the low 16 or 32 bits of a tick or sequence against a reference: the value nearest to
 * `near`. */
static inline uint64_t arb_widen16(uint16_t low, uint64_t near)
{
    int16_t step = (int16_t)(uint16_t)(low - (uint16_t)near);
    return near + (uint64_t)(int64_t)step;
}

static inline uint64_t arb_widen32(uint32_t low, uint64_t near)
{
    int32_t step = (int32_t)(low - (uint32_t)near);
    return near + (uint64_t)(int64_t)step;
}

/* Wrap-safe "a is newer than b" of 16-bit wire values. */
static inline bool arb_newer16(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b) > 0;
}

#endif
