/* rerun: a second match plays the record of each tick, as its bytes give it back, and must have the
 * same checksum: a tick is a function of state, commands and inputs (spec/determinism.md).
 * synctest: the match itself goes back some ticks and runs them again. */
#include "tools/sim/sim_checks.h"

#include "server/match/match_save.h"
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

static bool play_again(struct sim_checks *checks, const struct match_record *record)
{
    struct sim_rerun *rerun = checks->rerun;
    size_t size = match_record_encode(rerun->writes, record, rerun->bytes, RECORD_BYTES);
    enum arb_decode reason =
        match_record_decode(rerun->reads, record->tick, rerun->bytes, size, &rerun->record);
    if (size == 0 || reason != ARB_DECODE_OK) {
        sim_violated(checks, SIM_INVARIANT_rerun, "a record of %zu bytes is refused: %s", size,
                     arb_decode_text(reason));
        return false;
    }
    match_play(rerun->match, &rerun->record);
    tick_run(rerun->match, TICK_RERUN);
    return true;
}

/* All that is settled, which never had to go back. */
void sim_rerun_look(struct sim_checks *checks)
{
    struct sim_rerun *rerun = checks->rerun;
    const struct match *match = checks->sim->match;
    while (match_tick(rerun->match) < match_settled(match) && !rerun->broken) {
        arb_tick tick = match_tick(rerun->match);
        if (!play_again(checks, match_settled_record(match, tick))) return;
        uint64_t settled = match_settled_checksum(match, tick + 1);
        if (match_checksum(rerun->match) == settled) continue;
        rerun->broken = true;
        sim_violated(checks, SIM_INVARIANT_rerun, "checksum %016llx of S[%llu], run again %016llx",
                     (unsigned long long)settled, (unsigned long long)tick + 1,
                     (unsigned long long)match_checksum(rerun->match));
    }
}

/* ---- synctest ---- */

void sim_synctest_look(struct sim_checks *checks)
{
    struct sim *sim = checks->sim;
    char text[256];
    if (sim->options.synctest_ticks == 0 || checks->synctest_broken) return;
    if (match_repeats(sim->match, sim->options.synctest_ticks, text, sizeof text)) return;
    checks->synctest_broken = true; /* the match is on another course */
    sim_violated(checks, SIM_INVARIANT_synctest, "%s", text);
}
