/* A player of the fake server: a client that walks about, and remembers what it predicted.
 */
#ifndef FAKE_PLAYER_H
#define FAKE_PLAYER_H

#include "shared/base/arb_rng.h"
#include "tests/support/fake_server.h"

/* A client with the default configuration, connecting. */
struct arbiter_client *fake_join(struct fake_server *fake);
struct arbiter_statistics fake_figures(const struct arbiter_client *client);

struct walker {
    struct fake_server *fake;
    struct arb_rng rng;
    uint32_t frames;
    struct arbiter_input input;
    struct arb_own *newest; /* prediction of each tick when it was first made, FAKE_LOG */
    bool *made;
    float worst_offset;
};

struct walker walker_open(struct fake_server *fake, uint64_t seed);
void walker_close(struct walker *walker);

/* A frame, for fake_run: other controls each fifth of a second. */
void walker_walk(void *user, struct arbiter_client *client, const struct arbiter_view *view);

/* Ticks that the server computed otherwise than they had been predicted when first shown. */
uint32_t walker_mispredicted(const struct walker *walker, arb_tick from);

#endif
