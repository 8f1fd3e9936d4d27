/* memory, scores, protocol. */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_mem.h"

enum { POOLED_US = 250000 }; /* the stall that an endpoint's pools are enough for (arb_net.c) */

/* Match, sessions, clients, ENet and Box2D together; what is on its way through the simulated
 * network is none of theirs. */
static uint64_t taken_since(struct sim_checks *checks)
{
    uint64_t allocated = arb_mem_count() - sim_network_counters(checks->sim)->allocations;
    uint64_t taken = allocated - checks->allocated;
    checks->allocated = allocated;
    return taken;
}

static uint32_t stage_of(const struct arbiter_client *client)
{
    return 2 * (uint32_t)client->connection + client->match.known;
}

void sim_memory_begin(struct sim_checks *checks, const struct sim_player *player)
{
    taken_since(checks);
    if (player != NULL) checks->memory_stage = stage_of(player->client);
}

/* The server has all that it ever needs before its first tick, whoever comes and whatever waits. */
void sim_memory_server(struct sim_checks *checks)
{
    uint64_t taken = taken_since(checks);
    if (taken > 0) {
        sim_violated(checks, SIM_INVARIANT_memory, "%llu allocations of the server",
                     (unsigned long long)taken);
    }
}

/* A client takes memory only when its connection comes to another stage, and in the first poll
 * after a pause that is longer than its pools are made for, when all that came meanwhile is there
 * at once. */
void sim_memory_client(struct sim_checks *checks, const struct sim_player *player)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    uint64_t taken = taken_since(checks);
    uint64_t pause_us = checks->sim->now_us - witness->frame_us;
    witness->frame_us = checks->sim->now_us;
    if (taken > 0 && stage_of(player->client) == checks->memory_stage && pause_us < POOLED_US) {
        sim_violated(checks, SIM_INVARIANT_memory, "%llu allocations of client %u",
                     (unsigned long long)taken, player->index);
    }
}

/* The line of who was in that slot before counts on. */
void sim_scores_join(struct sim_checks *checks, uint16_t slot)
{
    const struct sim_seat *seat = &checks->seats[slot];
    checks->gone_kills += seat->kills;
    checks->gone_deaths += seat->deaths;
    checks->gone_by_nobody += seat->by_nobody;
}

/* Whoever dies is one player's kill, or nobody's. */
void sim_scores_look(struct sim_checks *checks)
{
    const struct world *world = match_world(checks->sim->match);
    uint64_t kills = checks->gone_kills, deaths = checks->gone_deaths;
    uint64_t by_nobody = checks->gone_by_nobody;
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        const struct world_player *player = &world->players[slot];
        struct sim_seat *seat = &checks->seats[slot];
        seat->kills = player->kills;
        seat->deaths = player->deaths;
        seat->by_nobody = player->deaths_by_nobody;
        kills += seat->kills;
        deaths += seat->deaths;
        by_nobody += seat->by_nobody;
    }
    if (kills + by_nobody != deaths) {
        sim_violated(checks, SIM_INVARIANT_scores, "%llu kills and %llu by nobody, %llu deaths",
                     (unsigned long long)kills, (unsigned long long)by_nobody,
                     (unsigned long long)deaths);
    }
}

/* The lines of those who left and whose slot was given away are not shown by a match: what is there
 * says how much is in them. */
void sim_scores_again(struct sim_checks *checks)
{
    const struct world *world = match_world(checks->sim->match);
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        const struct world_player *player = &world->players[slot];
        checks->gone_kills += player->deaths;
        checks->gone_deaths += player->kills + player->deaths_by_nobody;
    }
    sim_scores_look(checks);
}

/* Strangers say nothing that counts here: the transport drops it before. */
void sim_protocol_look(struct sim_checks *checks)
{
    const struct net_counters *counters = net_counters(checks->sim->net);
    uint64_t refused = counters->versions_refused + counters->cut_offenders;
    for (int i = 0; i < ARB_DECODE_REASONS; i++) {
        refused += counters->refused[i];
    }
    if (refused != checks->refused) {
        sim_violated(checks, SIM_INVARIANT_protocol, "the server refused %llu messages",
                     (unsigned long long)(refused - checks->refused));
    }
    checks->refused = refused;
}

void sim_protocol_client(struct sim_checks *checks, const struct sim_player *player)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    const struct arbiter_statistics *statistics = &player->client->statistics;
    uint64_t bad =
        statistics->bad_messages + statistics->bad_snapshots + statistics->snapshots_undecodable;
    if (bad != witness->bad) {
        sim_violated(checks, SIM_INVARIANT_protocol, "client %u refused %llu messages",
                     player->index, (unsigned long long)(bad - witness->bad));
    }
    witness->bad = bad;
}
