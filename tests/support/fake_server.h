/* A server of one player for tests of the client library: the real transport over the simulated
 * network, the real codecs and the real own-player step, but a world of the test's own. It says
 * what it is told to, also what no server says. Virtual time in microseconds.
 */
#ifndef FAKE_SERVER_H
#define FAKE_SERVER_H

#include "shared/client/arbiter_client_internal.h"
#include "shared/transport/arb_net.h"

enum {
    FAKE_LOG = 1 << 15,
    FAKE_MOVERS_MAX = 64,
    FAKE_BODY = 9,
    FAKE_OWN_ID = 40,
    FAKE_SENT = 64, /* snapshots that a later one may be coded against */
};

/* A snapshot as the client has it once it is committed. */
struct fake_sent {
    uint16_t id;
    struct arb_frame frame; /* into the arrays below; no entities: nothing was sent yet */
    struct arb_published entities[FAKE_MOVERS_MAX + 1];
    struct arb_held_entry entries[FAKE_MOVERS_MAX + 1];
    struct arb_point points[(FAKE_MOVERS_MAX + 1) * FAKE_BODY];
    struct arb_key controlled;
    bool has_own;
    struct arb_own own;
    struct arb_own_part part;
};

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
    /* Changes each message on its way out, at most ARB_NET_MESSAGE_MAX bytes; NULL: as it is. */
    void (*spoil)(void *spoiler, uint8_t *bytes, size_t *size);
    void *spoiler;
    bool joined, refuse_version, silent, hold_snapshots;
    bool no_character, wrong_map_hash;
    bool first_mover_gone;
    bool only_full; /* no baselines */
    bool withhold;  /* makes snapshots and sends none of them */
    uint32_t thin;  /* others are left out of all but one in so many snapshots; 0: of none */
    struct fake_sent sent[FAKE_SENT]; /* by id */
    bool has_acked;
    uint16_t acked;           /* id of the newest that the client has committed */
    uint64_t deltas, updates; /* snapshots with a baseline, updates in them */
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

/* For fake_server.c, and for tests that lie in the client's name. */
void fake_send_snapshot(struct fake_server *fake, arb_tick published);
void fake_acknowledge(struct fake_server *fake, uint16_t id);
/* Whether snapshot `snapshot` leaves out what it need not: an entity that is not new. */
bool fake_leaves_out(const struct fake_server *fake, uint16_t snapshot, struct arb_key key);

/* Where mover `index` is at published tick `tick`, exact. */
struct arb_vec2 fake_mover(uint32_t index, arb_tick tick);

/* Runs server and client until `until_us`; the client polls and samples `frames_per_s` times a
 * second, `frame` is called after each sample (NULL: not). */
typedef void (*fake_frame)(void *user, struct arbiter_client *client,
                           const struct arbiter_view *view);
void fake_run(struct fake_server *fake, struct arbiter_client *client, uint64_t until_us,
              uint32_t frames_per_s, fake_frame frame, void *user);

#endif
