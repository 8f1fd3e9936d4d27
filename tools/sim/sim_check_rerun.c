/* rerun: a second match plays the record of each tick and must have the same checksum: a tick is a
 * function of state, commands and inputs (spec/determinism.md). */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

struct sim_rerun *sim_rerun_create(struct sim_checks *checks)
{
    static const uint8_t match_id[16] = {'s', 'i', 'm', 'u', 'l', 'a', 't', 'e', 'd'};
    struct sim *sim = checks->sim;
    struct sim_rerun *rerun = arb_mem_alloc(sizeof *rerun);
    struct match_config config = sim->config.match;
    config.spectator_max = 0; /* whoever watched: nothing is otherwise */
    arb_arena_init(&rerun->arena);
    rerun->match = match_create(&rerun->arena, &config, sim_rules(sim), sim_params(sim), &sim->map,
                                sim->geometry, match_id, NULL);
    arb_arena_seal(&rerun->arena);
    return rerun;
}

void sim_rerun_destroy(struct sim_rerun *rerun)
{
    if (rerun == NULL) return;
    match_destroy(rerun->match);
    arb_arena_free(&rerun->arena);
    arb_mem_free(rerun);
}

void sim_rerun_look(struct sim_checks *checks)
{
    struct sim_rerun *rerun = checks->rerun;
    match_play(rerun->match, match_record(checks->sim->match));
    tick_run(rerun->match, TICK_RERUN);
    if (match_checksum(rerun->match) == match_checksum(checks->sim->match) || rerun->broken) return;
    rerun->broken = true;
    sim_violated(checks, SIM_INVARIANT_rerun, "checksum %016llx, run again %016llx",
                 (unsigned long long)match_checksum(checks->sim->match),
                 (unsigned long long)match_checksum(rerun->match));
}
