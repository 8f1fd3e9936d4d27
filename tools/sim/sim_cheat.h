/* A hostile client: it lies about what it drew when it fired, and aims at what it claims to have
 * seen. Everything else about it is a real client, so its link is the honest one's. It fires in a
 * rhythm at the nearest enemy, hidden or not, so that being able to choose the past would pay: an
 * enemy behind cover was in sight a moment ago. Never reads what its client was not sent.
 */
#ifndef SIM_CHEAT_H
#define SIM_CHEAT_H

#include "tools/sim/sim.h"

struct sim_player;
struct sim_cheater;

/* NULL when nobody cheats. */
struct sim_cheater *sim_cheater_create(enum sim_cheat cheat, uint64_t seed);
void sim_cheater_destroy(struct sim_cheater *cheater);

/* Presses so far, and those of them with which an honest client would have hit: somebody was in
 * sight in what it really drew. */
void sim_cheater_count(const struct sim_cheater *cheater, uint64_t *presses, uint64_t *in_sight);

/* What it asks of its client from the start. NULL: nothing. */
void sim_cheater_configure(const struct sim_cheater *cheater, struct arbiter_config *config);

/* For bot_set_hands: the trigger. */
void sim_cheater_hands(void *user, const struct arbiter_view *view, struct arbiter_input *input);

/* After the frame: what the next inputs claim, and where they aim. Returns for how long its client
 * does nothing now, microseconds. */
uint64_t sim_cheater_claim(struct sim_cheater *cheater, struct sim_player *player,
                           const struct arbiter_view *view);

/* A packet of its client as it reaches the match: what it says of its delay, and what it
 * acknowledges. */
void sim_cheater_packet(struct sim_cheater *cheater, struct arb_input_packet *packet);

#endif
