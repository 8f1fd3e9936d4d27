/* A server of one player for tests of the client library: the real transport over the simulated
 * network, the real codecs and the real own-player step, but a world of the test's own. It says
 * what it is told to, also what no server says. Virtual time in microseconds.
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include "shared/client/arbiter_client_internal.h"
#include "shared/transport/arb_net.h"

enum { FAKE_LOG = 1 << 15, FAKE_MOVERS_MAX = 64, FAKE_BODY = 9 };

struct fake_options {
    uint64_t seed;
    struct arb_link up, down; /* of the client, each direction */
    bool serpent;
    uint32_t movers;         /* others, on straight lines */
    uint32_t interval_ticks; /* 0: 2 */
    uint32_t input_delay_ticks;
    uint16_t chunk_payload; /* 0: 1150 */
    arb_tick first_tick;
    bool walls; /* two, to slide along */
};

struct fake_server {
    struct fake_options options;
    struct arb_simnet *sim;
    struct arb_carrier *listener;
    struct arb_net *net;
    struct arb_geometry *geometry;
    struct arb_move_params params;
    const struct arb_schema *schema;
    uint64_t start_us;

    arb_tick tick; /* S[tick] */
    bool joined, refuse_version, silent, hold_snapshots;
    bool no_character, wrong_map_hash;
    bool first_mover_gone;
    struct arb_key key;
    uint8_t control;
    uint8_t jump;
    struct arb_own own;
    struct arb_own log[FAKE_LOG]; /* own after step t at t % FAKE_LOG */
    struct arb_input buffer[256];
    uint8_t buffer_control[256];
    struct arb_input last;
    arb_sequence newest, last_sequence;
    arb_tick newest_target;
    int32_t worst_lead;
    uint32_t starved, outside;
    uint16_t carried;
    struct arb_counts counts;
    uint16_t next_snapshot;
    uint32_t duplicate_sequences, target_gaps; /* must stay 0 but for a resync */
    uint32_t max_packet_inputs;
    uint64_t acks, bad_acks;     /* bad: names a snapshot that was never sent */
    struct arb_input last_press; /* newest input with an edge */
    uint16_t view_delay;         /* as the newest packet announced it, 1/16 tick */
};

struct fake_server *fake_create(const struct fake_options *options);
void fake_destroy(struct fake_server *fake);

/* A carrier for a client of this server. */
struct arb_carrier *fake_carrier(struct fake_server *fake);

/* To that moment: network, answers, ticks that are due. */
void fake_advance(struct fake_server *fake, uint64_t now_us);
uint64_t fake_now_ns(const struct fake_server *fake);

/* Sends bytes as they are to the client. */
void fake_send(struct fake_server *fake, uint8_t channel, const uint8_t *bytes, size_t size);
void fake_event(struct fake_server *fake, struct arb_event event);

/* Where mover `index` is at published tick `tick`, exact. */
struct arb_vec2 fake_mover(uint32_t index, arb_tick tick);

/* Runs server and client until `until_us`; the client polls and samples `frames_per_s` times a
 * second, `frame` is called after each sample (NULL: not). */
typedef void (*fake_frame)(void *user, struct arbiter_client *client,
                           const struct arbiter_view *view);
void fake_run(struct fake_server *fake, struct arbiter_client *client, uint64_t until_us,
              uint32_t frames_per_s, fake_frame frame, void *user);

#endif
