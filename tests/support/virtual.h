/* A whole match under virtual time in one thread: the real server parts (sessions, scheduler's
 * arithmetic, match) and real client libraries over the simulated network. The same options give
 * the same run, bit for bit.
 */
#ifndef VIRTUAL_H
#define VIRTUAL_H

#include "server/config/config.h"
#include "server/loop/scheduler.h"
#include "server/match/match.h"
#include "server/net/net.h"
#include "shared/client/arbiter_client.h"
#include "shared/transport/arb_net.h"
#include "tools/bots/bot.h"

struct virtual_options {
    const char *config_file; /* configuration, NULL: defaults only */
    const char *const *sets; /* "path=value" texts */
    size_t set_count;
    uint32_t clients;
    uint64_t seed;
    struct arb_link up, down; /* of every client, each direction */
    const char *policy;       /* of the bots: "aim", "wander", "idle", "replay:FILE" */
    uint32_t frames_per_s;    /* of the clients; 0: 60 */
    /* After each tick; NULL: none. */
    void (*after_tick)(void *user, struct match *match);
    void *user;
};

struct virtual_match;

/* Asserts when the configuration or map cannot be used. */
struct virtual_match *virtual_create(const struct virtual_options *options);
void virtual_destroy(struct virtual_match *run);

/* Goes on until `ticks` more ticks were run, or the match has ended. */
void virtual_run_ticks(struct virtual_match *run, uint64_t ticks);
/* Goes on until the match has ended (asserts after `limit_ticks`). */
void virtual_run_to_end(struct virtual_match *run, uint64_t limit_ticks);

struct match *virtual_server_match(struct virtual_match *run);
struct net *virtual_server_net(struct virtual_match *run);
struct bot *virtual_bot(struct virtual_match *run, uint32_t index);
struct arbiter_client *virtual_client(struct virtual_match *run, uint32_t index);
uint32_t virtual_client_count(const struct virtual_match *run);
const struct rules *virtual_rules(const struct virtual_match *run);
/* The mode's numbers. */
const void *virtual_params(const struct virtual_match *run);
const struct arb_geometry *virtual_geometry(const struct virtual_match *run);
struct arb_simnet *virtual_network(struct virtual_match *run);
/* The server's endpoint: a stranger's target. */
struct arb_carrier *virtual_server_carrier(struct virtual_match *run);
uint64_t virtual_now_us(const struct virtual_match *run);
void virtual_set_links(struct virtual_match *run, uint32_t client, struct arb_link up,
                       struct arb_link down);

#endif
