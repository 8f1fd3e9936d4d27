/* A real client that a test drives frame by frame, beside the bots of a simulated match: for what
 * the simulator's own players do not do. It comes to the server over links of its own.
 */
#ifndef DRIVEN_H
#define DRIVEN_H

#include "server/replicate/replicate.h"
#include "tests/support/virtual.h"
#include "tools/sim/sim_internal.h"

enum { DRIVEN_FRAME_US = 16667, DRIVEN_NEWS = 64 };

struct driven {
    struct sim *sim; /* the test's */
    struct arb_link up, down;
    struct arbiter_client *client;
    struct arb_carrier *carrier;            /* of the newest connection; the client's */
    struct arbiter_view view;               /* of the newest frame */
    struct arbiter_event news[DRIVEN_NEWS]; /* ARBITER_EVENT_LINE, the first ones */
    uint32_t news_count;
};

uint64_t driven_now_ns(const struct driven *driven);
/* A new endpoint of the network with these links, for a connect. */
struct arb_carrier *driven_path(struct driven *driven);
/* Creates the client and begins a connection; asserts when it cannot. `config` NULL: defaults. */
void driven_connect(struct driven *driven, const struct arbiter_config *config);
/* From now on; what is under way keeps its times. */
void driven_set_links(struct driven *driven, struct arb_link up, struct arb_link down);
/* The match goes on for a frame, then one of the client: it walks to the right. */
void driven_frame(struct driven *driven);
void driven_play(struct driven *driven, double seconds);
struct arbiter_statistics driven_figures(const struct driven *driven);
/* What the server counts of its snapshots; asserts that it plays. */
const struct replicate_counts *driven_sent(const struct driven *driven);

#endif
