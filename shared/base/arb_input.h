/* One input of one player for one tick: an intent, never a result (spec/simulation.md "Movement").
 * Both ends hold it in this form; the wire form is in shared/proto.
 */
#ifndef ARB_INPUT_H
#define ARB_INPUT_H

#include "shared/base/arb_types.h"

/* bit, name in recordings and documents */
#define ARB_BUTTON_MAP(X)                                                                          \
    X(0, FIRE, "fire")                                                                             \
    X(1, USE, "use")                                                                               \
    X(2, DASH, "dash")                                                                             \
    X(3, RELOAD, "reload")

enum arb_button {
#define X(bit, name, text) ARB_BUTTON_##name = 1 << (bit),
    ARB_BUTTON_MAP(X)
#undef X
    /* `serpent` reads the fire bit as boost; bits 4..15 belong to the mode. */
    ARB_BUTTON_BOOST = ARB_BUTTON_FIRE,
};

enum { ARB_BUTTON_COUNT = 16 };

/* What the client drew when the input was made: it stood between two published ticks, 1/256 of the
 * way per step; past the newest, from == to and `fraction` counts ticks beyond in 1/256
 * (spec/lag-compensation.md). */
struct arb_view {
    arb_tick from_tick; /* published tick; 0 with to_tick 0: nothing drawn yet */
    arb_tick to_tick;   /* published tick, >= from_tick */
    uint16_t
        fraction;  /* 1/256; 0..256 while from < to, up to 65535 (extrapolation) while from == to */
    uint16_t held; /* low 16 bits of the newest snapshot id that was committed at that moment */
    uint16_t reserved[2]; /* 0: the struct is part of the state, which has no padding */
};

struct arb_input {
    arb_tick target_tick;  /* the tick t whose step consumes it (S[t] -> S[t+1]) */
    struct arb_view view;  /* meaningful when fire is held or pressed */
    arb_sequence sequence; /* 0: no input (nothing came from this player yet) */
    uint16_t buttons;      /* held, bit = enum arb_button */
    uint16_t edges; /* pressed since the previous input; a subset is not implied in `buttons` */
    int8_t move_x, move_y;   /* intent, -127..127 (-128 is read as -127) */
    uint16_t aim;            /* 1/65536 turn counter-clockwise from +x */
    uint8_t muzzle_fraction; /* 1/256 of a tick between the previous and this input's place; 0:
                                previous */
    uint8_t reserved[3];     /* 0 */
};

/* An axis of the intent as it is meant: as far to one side as to the other. */
static inline int8_t arb_input_axis(int8_t move)
{
    return move == -128 ? -127 : move;
}

_Static_assert(sizeof(struct arb_input) == 48, "no padding: inputs are part of the state");

#endif
