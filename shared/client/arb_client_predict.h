/* Prediction of the own player and its correction (spec/client.md "Prediction", "Correction"). From
 * the newest confirmed state the unacknowledged inputs are applied again with the server's own
 * step, so that an undisturbed prediction equals the server's result bit for bit. Knows no network.
 *
 * State of tick t here: the published one, after step t.
 */
#ifndef ARB_CLIENT_PREDICT_H
#define ARB_CLIENT_PREDICT_H

#include "shared/client/arb_client_time.h"
#include "shared/move/arb_move.h"

/* ---- correction: drawn = logical + offset ---- */

struct arb_correction_limits {
    float half_life_ms, tolerance_m, hard_snap_m;
};

/* The offset that keeps what was drawn in place over a new logical one: none up to the tolerance
 * and beyond the hard-snap distance (it jumps). */
struct arb_vec2 arb_correction_offset(struct arb_vec2 drawn, struct arb_vec2 logical,
                                      const struct arb_correction_limits *limits);

/* offset * 0.5^(passed / half life), the same in one step as in many. */
struct arb_vec2 arb_correction_fade(struct arb_vec2 offset, uint64_t passed_ns, float half_life_ms);

/* ---- prediction ---- */

enum { ARB_PREDICT_TICKS = 256 }; /* inputs and states kept */

struct arb_pending {
    struct arb_input input; /* sequence 0: empty */
    arb_fine lead;          /* of the input clock when it was made */
    uint8_t control;        /* control number under which it was made */
};

struct arb_predict {
    const struct arb_move_params *params;
    const struct arb_geometry *geometry;
    struct arb_pending pending[ARB_PREDICT_TICKS]; /* of sequence s at s % 256 */
    arb_sequence at_tick[ARB_PREDICT_TICKS];       /* sequence of the input for tick t at t % 256 */
    arb_sequence newest;                           /* made; 0: none */
    arb_sequence acknowledged; /* newest that the server has consumed or found late */
    arb_tick newest_tick;      /* target of the newest */
    bool has_state;            /* there is a character */
    uint8_t control;           /* of the confirmed state */
    arb_tick confirmed_tick;
    arb_tick predicted_tick;                  /* newest state held, >= confirmed_tick */
    struct arb_own states[ARB_PREDICT_TICKS]; /* of tick t at t % 256, confirmed..predicted */
    struct arb_input held[ARB_PREDICT_TICKS]; /* what steered that tick: goes on where none came */
    uint8_t fired[ARB_PREDICT_TICKS]; /* in the step to that state: weapon + 1; 0: no shot left */
};

/* Empties it; params and geometry live as long as it is used. */
void arb_predict_reset(struct arb_predict *predict, const struct arb_move_params *params,
                       const struct arb_geometry *geometry);

/* A new input, sequence = newest + 1, target above the newest's; predicts up to its tick. */
void arb_predict_input(struct arb_predict *predict, const struct arb_pending *pending);

/* The input for tick t, or NULL. */
const struct arb_pending *arb_predict_at(const struct arb_predict *predict, arb_tick tick);

/* The weapon, + 1, from which a shot left in the step to the predicted state of that tick; 0: none
 * did, or nothing is predicted for it. */
uint8_t arb_predict_fired(const struct arb_predict *predict, arb_tick tick);

/* Inputs that are sent again are those after the acknowledged one, at most so many as are kept. */
uint32_t arb_predict_unacknowledged(const struct arb_predict *predict);

/* Forgets all inputs, not the sequence: after a jump of the input clock. */
void arb_predict_drop_inputs(struct arb_predict *predict);

/* There is no character, or no longer. */
void arb_predict_no_state(struct arb_predict *predict);

enum arb_predict_verdict {
    ARB_PREDICT_SAME,
    ARB_PREDICT_DIFFERS, /* all after it was predicted anew */
    ARB_PREDICT_UNKNOWN, /* nothing had been predicted for that tick */
};

/* The server's word: state of `tick`, control number, newest sequence it has consumed. */
enum arb_predict_verdict arb_predict_confirm(struct arb_predict *predict, arb_tick tick,
                                             const struct arb_own *own, uint8_t control,
                                             arb_sequence consumed);

/* The server's word for a client that does not predict: what it has consumed, as of `tick`. */
void arb_predict_acknowledge(struct arb_predict *predict, arb_tick tick, arb_sequence consumed);

/* What the own player looks like `at` on the input clock: between the state of tick floor(at) - 1
 * and that of floor(at), which `now` steers if no input was made for it yet. */
struct arb_predict_shown {
    struct arb_vec2 position;
    struct arb_vec2 velocity;
    float heading;
    struct arb_own state; /* the newer of the two */
};
void arb_predict_show(const struct arb_predict *predict, arb_fine at, const struct arb_input *now,
                      struct arb_predict_shown *shown);

#endif
