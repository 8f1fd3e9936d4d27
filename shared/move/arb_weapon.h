/* The weapon in hand: part of the own-player step, so that a client predicts its own shots and
 * rounds. Internal to shared/move.
 */
#ifndef ARB_WEAPON_H
#define ARB_WEAPON_H

#include "shared/move/arb_move.h"

/* One tick, once: running timers, then switch (`use`), reload, trigger. A switch breaks a reload
 * off and keeps the fire interval, so that switching never fires faster. */
void arb_weapon_step(struct arb_own *own, const struct arb_input *input,
                     const struct arb_move_params *params, struct arb_move_report *report);

#endif
