/* The inside of the simulator, for its folder and its tests. A step of sim.c is: whoever wants to
 * do something first does it (a fault, the server, a client's frame), at equal times in this order.
 */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

#include "server/loop/loop_trace.h"
#include "server/loop/scheduler.h"
#include "server/rules/rules.h"
#include "shared/base/arb_rng.h"
#include "shared/client/arbiter_client_internal.h"
#include "tools/sim/sim.h"
#include "tools/sim/sim_clock.h"

#define SIM_NEVER UINT64_MAX
#define SIM_SECOND_US UINT64_C(1000000)

enum {
    SIM_SPARE_PLAYERS = 6, /* beside the clients, for storms */
    SIM_STRANGERS_MAX = 48,
    SIM_LINKS_US = 250 * 1000, /* between two looks at what the links are like */
};

struct sim_player {
    uint32_t index;
    struct arbiter_client *client; /* NULL: away */
    struct bot *bot;
    struct sim_clock clock;
    struct arb_rng rng;  /* of its frames */
    uint32_t connection; /* +1 for each that it began; 0: none yet */
    bool has_token;      /* of its newest welcome; it may be worth nothing any more */
    uint8_t token[ARBITER_TOKEN_BYTES];
    uint64_t frame_us; /* the next frame; SIM_NEVER while away */
    uint64_t join_us;  /* begins a connection then; SIM_NEVER: no wish */
    uint64_t leave_us; /* leaves then (storms) */
    bool leaves_politely;
    bool is_spare, is_spectator;
    bool is_orphan;        /* its connection is to a server that is no more */
    bool settled;          /* the figures of its newest connection are in the totals */
    uint64_t disturbed_us; /* until then a fault keeps it from what it would do */
    /* faults of its links */
    uint64_t block_until_us[2]; /* up, down */
    uint64_t duplicate_until_us, corrupt_until_us;
    struct arb_link links[2]; /* up, down, without a profile */
};

struct sim_stranger {
    struct arb_net *net; /* NULL: none */
    bool greets;         /* finishes the connect, and says nothing */
    uint64_t due_us;     /* when it reads next */
    uint64_t end_us;     /* when it is gone */
};

struct sim_faults {
    struct arb_rng rng[SIM_FAULTS];
    uint64_t next_us[SIM_FAULTS]; /* SIM_NEVER: not asked for */
    struct sim_stranger strangers[SIM_STRANGERS_MAX];
};

struct sim_checks;

struct sim {
    struct sim_options options;
    struct arb_arena arena;
    struct arb_arena life; /* of the server's process */
    struct config config;
    struct map map;
    struct arb_geometry *geometry;
    struct arb_simnet *network;

    struct arb_carrier *carrier; /* the server's */
    struct net *net;
    struct match *match;
    struct match_port port; /* of net; the match has one that the checks look through */
    struct scheduler scheduler;
    struct sim_clock server_clock;
    uint64_t server_poll_us;
    uint64_t server_busy_us; /* it does nothing until then */
    uint64_t overrun_us;     /* when it was late last, 0: never */
    uint32_t sessions;
    struct arb_rng tokens; /* what the net draws resume tokens from */

    struct bot_policy *policies[SIM_POLICIES_MAX];
    uint32_t policy_count;
    struct sim_player *players;  /* clients, then spectators, then spare players */
    struct sim_cheater *cheater; /* client 0; NULL: honest */
    uint32_t player_count;
    uint64_t links_us; /* when the links are looked up next */

    struct sim_faults faults;
    struct sim_checks *checks; /* NULL: nobody looks */
    struct ops_trace *trace;   /* written by the checks; NULL: not asked for */
    struct sim_totals totals;
    uint64_t now_us;
    uint64_t ticks;
    arb_tick first_tick;
};

/* sim.c */
/* A process of the server: sessions and match as created, and when its ticks begin. */
void sim_server_open(struct sim *sim, uint64_t begin_us);
/* Without a word to anybody. */
void sim_server_kill(struct sim *sim);
/* sim_crash.c: the fault of that name. False: there is no journal to resume from. */
bool sim_crash(struct sim *sim, struct arb_rng *rng);
/* sim_player.c */
bool sim_players_open(struct sim *sim, struct config_error *error);
void sim_players_close(struct sim *sim);
uint64_t sim_player_next_us(const struct sim_player *player);
/* A frame, or whatever else is due. */
void sim_player_run(struct sim *sim, struct sim_player *player);
/* Its carrier; NULL while there is no connection. */
struct arb_carrier *sim_player_carrier(const struct sim_player *player);
/* Gone without a word; join_us says when it comes back. */
void sim_player_vanish(struct sim *sim, struct sim_player *player, uint64_t join_us);
/* The same client at another address. */
void sim_player_reconnect(struct sim *sim, struct sim_player *player);
/* Its links as profile and faults want them now. */
void sim_player_set_links(struct sim *sim, struct sim_player *player);
/* Its newest connection's figures into the totals. */
void sim_player_settle(struct sim *sim, struct sim_player *player);

/* sim_fault.c */
void sim_faults_open(struct sim *sim);
void sim_faults_close(struct sim *sim);
uint64_t sim_faults_next_us(const struct sim *sim);
void sim_faults_run(struct sim *sim);

/* sim_check.c */
struct sim_checks *sim_checks_create(struct sim *sim);
/* The match was created: looks at it from now on. */
void sim_checks_begin(struct sim *sim);
/* The same of a match that goes on in another process: what was found stays, who is who and what
 * was published is new. */
void sim_checks_again(struct sim *sim);
void sim_checks_destroy(struct sim_checks *checks);
/* The port through which the checks see what goes in and out. */
struct match_port sim_checks_port(struct sim *sim);
/* The server, or that client, has its turn. Without checks, as the next: nothing. */
void sim_checks_turn(struct sim *sim, const struct sim_player *player);
void sim_checks_after_server(struct sim *sim);
void sim_checks_after_tick(struct sim *sim);
void sim_checks_finish(struct sim *sim);
void sim_checks_after_frame(struct sim *sim, struct sim_player *player,
                            const struct arbiter_view *view);
/* A connection begins, or the client is about to be no more. Without checks: nothing. */
void sim_checks_connection(struct sim *sim, struct sim_player *player);

#endif
