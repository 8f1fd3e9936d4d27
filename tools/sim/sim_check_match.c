/* memory, scores, protocol. */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_mem.h"

/* Server, clients, ENet and Box2D together: what is taken is taken while somebody comes or goes. */
void sim_memory_look(struct sim_checks *checks)
{
    uint64_t allocated = arb_mem_count();
    uint64_t grown = allocated - checks->allocated;
    checks->allocated = allocated;
    if (grown > 0 && checks->sim->now_us > checks->sim->churn_us) {
        sim_violated(checks, SIM_INVARIANT_memory, "%llu allocations while nobody came or went",
                     (unsigned long long)grown);
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
    uint64_t bad = statistics->bad_messages + statistics->bad_snapshots;
    if (bad != witness->bad) {
        sim_violated(checks, SIM_INVARIANT_protocol, "client %u refused %llu messages",
                     player->index, (unsigned long long)(bad - witness->bad));
    }
    witness->bad = bad;
}
