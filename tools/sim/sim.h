/* A whole match under virtual time in one thread: the real server parts (sessions, the scheduler's
 * arithmetic, match) and real client libraries with bots over the simulated network. The server and
 * each client have a clock and a rhythm of their own. Sockets, clocks, random numbers and files are
 * reached through seams only, so the same options give the same run, bit for bit, on every machine.
 * With `check` the invariants are watched while it runs. Used by arbiter-sim and by tests.
 */
#ifndef SIM_H
#define SIM_H

#include "server/config/config.h"
#include "server/match/match.h"
#include "server/net/net.h"
#include "shared/client/arbiter_client.h"
#include "shared/transport/arb_net.h"
#include "tools/bots/bot.h"

#include <stdio.h>

struct profile;

/* bit, name, text */
#define SIM_FAULT_MAP(X)                                                                           \
    X(VANISH, vanish,                                                                              \
      "a client is gone without a word and comes back later, mostly by its resume token")          \
    X(STALL, stall, "a client is not polled for up to seconds")                                    \
    X(MOVE, move, "a client's address changes: its connection ends, it connects again")            \
    X(CLOCK, clock, "a client's clock runs up to 1 % fast or slow")                                \
    X(OVERRUN, overrun, "the server is late by up to half a second")                               \
    X(DUPLICATE, duplicate, "many datagrams of a client arrive twice, for seconds")                \
    X(CORRUPT, corrupt, "many datagrams of a client arrive damaged, for seconds")                  \
    X(HALF_OPEN, half_open, "strangers connect and never finish")                                  \
    X(PARTITION, partition, "one direction of a client is dead for up to 20 seconds")              \
    X(STORM, storm, "more clients join and leave at once, some without a word")                    \
    X(RELOAD, reload, "numbers of the game change while it is played")                             \
    X(CRASH, crash, "the server is killed and resumes from its journal, clients by their tokens")

enum sim_fault {
#define X(name, text, doc) SIM_FAULT_##name,
    SIM_FAULT_MAP(X)
#undef X
        SIM_FAULTS
};

/* What `all` means: after a crash nobody is undisturbed for half a minute, and much goes
 * unchecked. */
#define SIM_FAULTS_ALL (((1U << SIM_FAULTS) - 1) & ~(1U << SIM_FAULT_CRASH))

/* name, text */
#define SIM_INVARIANT_MAP(X)                                                                       \
    X(entity_life, "no client has an entity before it entered its view or after it left")          \
    X(entity_state, "what a client has of a tick is what the server published of it")              \
    X(own_state, "the own state in a snapshot is the server's, bit for bit")                       \
    X(prediction, "an undisturbed prediction equals the server's result, bit for bit")             \
    X(corrections, "every correction of a prediction has a cause that is known")                   \
    X(inputs, "each input is applied at most once, in order, on its tick, as it was made")         \
    X(edges, "a press is neither doubled nor lost while its input came in time")                   \
    X(visible_sets, "who sees what equals a search of everything")                                 \
    X(events, "every reliable event exactly once, in order")                                       \
    X(protocol, "nobody gets what cannot be decoded, or comes in the wrong place")                 \
    X(rerun, "the same ticks run again give the same checksums")                                   \
    X(journal, "the journal of the match leads to the same states")                                \
    X(synctest, "going back and running the same ticks again leads to the same state")             \
    X(memory, "the server takes no memory, a client to connect and after a stall")                 \
    X(scores, "kills and deaths add up")                                                           \
    X(views, "what a client draws only goes forward")                                              \
    X(progress, "a client that nothing disturbs is connected and hears of the world")              \
    X(rewind_error, "a shot finds everyone where its client drew them, to the bit")                \
    X(rewind_decision, "who is hit is who is hit in what the client drew")                         \
    X(rewind_applied, "shots that were long under way are rewound")

enum sim_invariant {
#define X(name, text) SIM_INVARIANT_##name,
    SIM_INVARIANT_MAP(X)
#undef X
        SIM_INVARIANTS
};

/* name, text: how client 0 lies about what it saw when it fired */
#define SIM_CHEAT_MAP(X)                                                                           \
    X(none, "not at all")                                                                          \
    X(honest, "it fires as the others of this list do, and aims as `recent`, but tells the truth") \
    X(random, "a picture of the last second")                                                      \
    X(old, "the oldest picture of the last second in which an enemy is in sight")                  \
    X(recent, "the newest picture of the last second in which an enemy is in sight")               \
    X(alternating, "an old one and the true one in turns")                                         \
    X(future, "what has not been drawn yet")                                                       \
    X(stall, "an old one, and it stalls and bursts")                                               \
    X(lag, "an old one while it acknowledges late, the newest in sight while it does not")         \
    X(held, "the true moment, but without the newest snapshots where that shows an enemy")         \
    X(freeze, "as if no snapshot had come since an enemy was in sight")                            \
    X(ahead, "as `recent`, and its inputs are 300 ms early")

enum sim_cheat {
#define X(name, text) SIM_CHEAT_##name,
    SIM_CHEAT_MAP(X)
#undef X
        SIM_CHEATS
};
const char *sim_cheat_name(enum sim_cheat cheat);

const char *sim_fault_name(enum sim_fault fault);
const char *sim_fault_text(enum sim_fault fault);
const char *sim_invariant_name(enum sim_invariant invariant);
const char *sim_invariant_text(enum sim_invariant invariant);

enum { SIM_POLICIES_MAX = 32 };

struct sim_options {
    const char *config_file; /* configuration, NULL: defaults only */
    const char *const *sets; /* "path=value" texts */
    size_t set_count;
    uint32_t clients;
    uint32_t spectators; /* beside them, at most spectator.max */
    uint64_t seed;
    const struct profile *profile; /* the clients' links; NULL: `up` and `down` */
    struct arb_link up, down;      /* of every client, each direction */
    /* Of the bots: "aim", "wander", "idle", "replay:FILE"; NULL behind the last. Client i takes the
     * one of i mod their number. */
    const char *policies[SIM_POLICIES_MAX + 1];
    uint32_t frames_per_s;    /* of the clients; 0: 60 */
    uint32_t frame_jitter_us; /* a frame is late by up to so much */
    bool fixed_interpolation;
    uint32_t interpolation_ms; /* when fixed */
    uint32_t faults;           /* bit per enum sim_fault */
    enum sim_cheat cheat;      /* of client 0 */
    bool check;                /* watch the invariants */
    uint32_t synctest_ticks;   /* with check: each tick is run again from so many before; 0: not */
    bool journal;              /* with check: for sim_write_journal */
    bool own_clocks;           /* the clocks begin at times of their own, not together */
    /* After each tick; NULL: none. */
    void (*after_tick)(void *user, struct match *match);
    void *user;
};

struct sim;

/* NULL with a text in `error` when configuration, map or policy cannot be used. */
struct sim *sim_create(const struct sim_options *options, struct config_error *error);
void sim_destroy(struct sim *sim);

/* Goes on until `ticks` more ticks were run, or the match has ended. */
void sim_run_ticks(struct sim *sim, uint64_t ticks);
/* Goes on for so long: what was said last still travels. */
void sim_run_us(struct sim *sim, uint64_t us);
/* After sim_settle, with options.journal: the journal of the match. False: it could not. */
bool sim_write_journal(const struct sim *sim, FILE *out);
/* Until the match has ended (asserts after `limit_ticks`), and two seconds more. */
void sim_run_to_end(struct sim *sim, uint64_t limit_ticks);

uint64_t sim_ticks(const struct sim *sim); /* run so far */
uint64_t sim_now_us(const struct sim *sim);

uint64_t sim_violations(const struct sim *sim, enum sim_invariant invariant);
uint64_t sim_violation_count(const struct sim *sim);
/* Ticks run when the first was found, and what it was; 0 and "": none. */
uint64_t sim_first_violation(const struct sim *sim, const char **text);

/* The match's checksum after the newest tick, and the number of its first tick. */
uint64_t sim_checksum(const struct sim *sim);
arb_tick sim_first_tick(const struct sim *sim);
const struct arb_simnet_counters *sim_network_counters(const struct sim *sim);

/* Sums over all clients and connections so far; those of connections that go on are in after
 * sim_settle. */
struct sim_totals {
    uint64_t connections, connections_lost;
    uint64_t returns;        /* of players to their place, by resume token; only with check */
    uint64_t corrections;    /* without a known cause */
    double correction_sum_m; /* of those */
    float correction_max_m;  /* of those */
    uint64_t corrections_outside, corrections_starved, corrections_jumped;
    double outside_sum_m; /* of those from outside */
    float outside_max_m;
    uint64_t shots;                               /* that left */
    uint64_t inputs, inputs_starved, inputs_late; /* as the server took them */
    /* Frames with something to draw, and of these the ones with a snapshot before and one after. */
    uint64_t frames_drawn, frames_between;
    double interpolation_sum_ms; /* of the delays that connections had at their end */
    uint64_t interpolations;
    uint64_t client_ticks;     /* players present, summed over ticks */
    uint64_t bytes_down;       /* UDP payload that the server sent */
    uint64_t dropped_ticks;    /* by the server's scheduler */
    uint64_t frames_unchecked; /* of clients; older than what is kept to compare with */
    uint64_t faults[SIM_FAULTS];
};
void sim_get_totals(const struct sim *sim, struct sim_totals *out);
/* Once, at the end: also plays the journal of the run, if it wrote one. */
void sim_settle(struct sim *sim);

struct match *sim_match(struct sim *sim);
struct net *sim_net(struct sim *sim);
uint32_t sim_client_count(const struct sim *sim);
/* NULL while that client is away. */
struct arbiter_client *sim_client(struct sim *sim, uint32_t index);
struct bot *sim_bot(struct sim *sim, uint32_t index);
/* The same of spectators, from 0. */
struct arbiter_client *sim_spectator(struct sim *sim, uint32_t index);
struct bot *sim_spectator_bot(struct sim *sim, uint32_t index);
const struct rules *sim_rules(const struct sim *sim);
const void *sim_params(const struct sim *sim); /* the mode's numbers */
const struct config *sim_config(const struct sim *sim);
const struct arb_geometry *sim_geometry(const struct sim *sim);
struct arb_simnet *sim_network(struct sim *sim);
/* The server's endpoint: a stranger's target. */
struct arb_carrier *sim_server_carrier(struct sim *sim);
/* Without a profile. */
void sim_set_links(struct sim *sim, uint32_t client, struct arb_link up, struct arb_link down);

#endif
