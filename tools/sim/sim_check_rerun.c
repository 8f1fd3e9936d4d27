/* rerun: a second match plays the record of each tick, as its bytes give it back, and must have the
 * same checksum: a tick is a function of state, commands and inputs (spec/determinism.md).
 * synctest: the match itself goes back some ticks and runs them again. */
#include "tools/sim/sim_checks.h"

#include "server/match/match_save.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

enum { RECORD_BYTES = 1 << 20 };

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
    struct match_record_capacity capacity = match_record_capacity(rerun->match);
    match_record_create(&rerun->record, &rerun->arena, &capacity);
    rerun->writes = match_codec_create(&rerun->arena, &capacity);
    rerun->reads = match_codec_create(&rerun->arena, &capacity);
    rerun->bytes = arb_arena_take(&rerun->arena, RECORD_BYTES);
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

void sim_rerun_follow(struct sim_checks *checks)
{
    const struct match *match = checks->sim->match;
    struct match_save_error error;
    uint32_t bytes = match_save_bytes(match, MATCH_SAVE_WHOLE);
    uint8_t *block = arb_mem_alloc(bytes);
    bytes = match_save(match, MATCH_SAVE_WHOLE, block, bytes);
    if (match_restore(checks->rerun->match, block, bytes, &error) != ARB_OK) {
        sim_violated(checks, SIM_INVARIANT_rerun, "a state is refused: %s", error.text);
    }
    arb_mem_free(block);
}

void sim_rerun_look(struct sim_checks *checks)
{
    struct sim_rerun *rerun = checks->rerun;
    const struct match_record *record = match_record(checks->sim->match);
    size_t size = match_record_encode(rerun->writes, record, rerun->bytes, RECORD_BYTES);
    enum arb_decode reason =
        match_record_decode(rerun->reads, record->tick, rerun->bytes, size, &rerun->record);
    if (size == 0 || reason != ARB_DECODE_OK) {
        sim_violated(checks, SIM_INVARIANT_rerun, "a record of %zu bytes is refused: %s", size,
                     arb_decode_text(reason));
        return;
    }
    match_play(rerun->match, &rerun->record);
    tick_run(rerun->match, TICK_RERUN);
    if (match_checksum(rerun->match) == match_checksum(checks->sim->match) || rerun->broken) return;
    rerun->broken = true;
    sim_violated(checks, SIM_INVARIANT_rerun, "checksum %016llx, run again %016llx",
                 (unsigned long long)match_checksum(checks->sim->match),
                 (unsigned long long)match_checksum(rerun->match));
}

/* ---- synctest ---- */

struct sim_synctest *sim_synctest_create(struct sim_checks *checks)
{
    const struct sim *sim = checks->sim;
    if (sim->options.synctest_ticks == 0) return NULL;
    struct sim_synctest *synctest = arb_mem_alloc(sizeof *synctest);
    arb_arena_init(&synctest->arena);
    synctest->past = match_past_create(&synctest->arena, sim->match, sim->options.synctest_ticks);
    arb_arena_seal(&synctest->arena);
    return synctest;
}

void sim_synctest_destroy(struct sim_synctest *synctest)
{
    if (synctest == NULL) return;
    arb_arena_free(&synctest->arena);
    arb_mem_free(synctest);
}

void sim_synctest_look(struct sim_checks *checks)
{
    struct sim_synctest *synctest = checks->synctest;
    char text[256];
    if (synctest == NULL || synctest->broken) return;
    match_past_keep(synctest->past, checks->sim->match);
    if (match_past_repeats(synctest->past, checks->sim->match, text, sizeof text)) return;
    synctest->broken = true;
    sim_violated(checks, SIM_INVARIANT_synctest, "%s", text);
}
