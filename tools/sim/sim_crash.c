/* crash: the server's process is killed, as by kill -9, and another one goes on with the match from
 * what the journal has: no goodbye, no part of the block that was in the making, new sessions at a
 * new address. Clients find out by themselves, and come back by their resume tokens. */
#include "tools/sim/sim_checks.h"

bool sim_crash(struct sim *sim, struct arb_rng *rng)
{
    enum { LEAST_US = 50000, MOST_US = 3000000 };
    if (sim->checks == NULL || sim->checks->journal == NULL) return false;
    uint64_t begin_us = sim->now_us + LEAST_US + arb_rng_below(rng, MOST_US - LEAST_US);
    sim_journal_cut(sim->checks, rng);
    sim_server_kill(sim);
    sim_server_open(sim, begin_us);
    sim_journal_resume(sim->checks);
    sim_checks_again(sim);
    match_detach(sim->match);
    sim->server_poll_us = sim->server_busy_us = sim->overrun_us = begin_us;
    return true;
}
