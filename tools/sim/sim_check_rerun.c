/* rerun: a second match gets what each tick took in (late presses, commands, inputs), runs stages 2
 * to 8 of the same tick, and must have the same checksum: a tick is a function of state, commands
 * and inputs (spec/determinism.md). */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

static void refuse(void *owner, struct port_session session, enum arb_refusal reason)
{
    (void)owner;
    (void)session;
    (void)reason;
}

struct sim_rerun *sim_rerun_create(struct sim_checks *checks)
{
    static const uint8_t match_id[16] = {'s', 'i', 'm', 'u', 'l', 'a', 't', 'e', 'd'};
    struct sim *sim = checks->sim;
    struct sim_rerun *rerun = arb_mem_alloc(sizeof *rerun);
    const struct match_port port = {.refuse = refuse};
    struct match_config config = sim->config.match;
    config.spectator_max = 0; /* whoever watched: nothing is otherwise */
    arb_arena_init(&rerun->arena);
    rerun->match = match_create(&rerun->arena, &config, sim_rules(sim), sim_params(sim), &sim->map,
                                sim->geometry, match_id, &port);
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

static void feed(struct sim_rerun *rerun)
{
    for (uint32_t i = 0; i < rerun->late_count; i++) {
        match_feed_late(rerun->match, rerun->late[i].slot, &rerun->late[i].input,
                        rerun->late[i].control);
    }
    for (uint32_t i = 0; i < rerun->command_count; i++) {
        match_feed_command(rerun->match, &rerun->commands[i]);
    }
    for (uint32_t i = 0; i < rerun->input_count; i++) {
        match_feed_input(rerun->match, rerun->inputs[i].slot, &rerun->inputs[i].input,
                         rerun->inputs[i].control);
    }
    rerun->late_count = rerun->command_count = rerun->input_count = 0;
}

void sim_rerun_look(struct sim_checks *checks)
{
    struct sim_rerun *rerun = checks->rerun;
    feed(rerun);
    tick_run(rerun->match, TICK_RERUN);
    if (match_checksum(rerun->match) == match_checksum(checks->sim->match) || rerun->broken) return;
    rerun->broken = true;
    sim_violated(checks, SIM_INVARIANT_rerun, "checksum %016llx, run again %016llx",
                 (unsigned long long)match_checksum(checks->sim->match),
                 (unsigned long long)match_checksum(rerun->match));
}
