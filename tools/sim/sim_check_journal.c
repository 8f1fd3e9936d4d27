/* journal: a share of the runs writes its journal, into memory, with a sink that is full now and
 * then; at the end the file is played by a match of its own and must lead to the same states, gaps
 * and keyframes included (spec/determinism.md "Replay and journal"). */
#define _GNU_SOURCE
#include "tools/sim/sim_checks.h"

#include "server/match/match_journal.h"
#include "server/match/match_replay.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STREAM_JOURNAL = 801,
    RUNS_OF_FOUR = 1, /* this many of four seeds */
    FILE_BYTES = 256 << 20,
    PLAIN_BYTES = 32 << 20, /* a keyframe fits, of matches full of projectiles too */
    BLOCK_RECORDS = 30,
    KEYFRAME_S = 7,
    FULL_EVERY = 3000, /* ticks, on average */
    FULL_TICKS = 100,  /* at most */
};

struct sim_journal {
    struct arb_arena arena;
    struct arb_rng rng;
    struct match_journal *records;
    struct journal_packer *packer;
    uint64_t key;
    uint8_t *file; /* [FILE_BYTES]; untouched memory costs nothing */
    size_t file_bytes;
    uint8_t *plain; /* [PLAIN_BYTES]: the block in the making */
    size_t plain_bytes;
    uint32_t plain_records;
    arb_tick plain_tick;
    uint32_t full_ticks; /* so long yet it takes nothing */
    bool overflown;
    arb_tick killed_tick; /* S[that] was reached when its process was killed */
    arb_tick lost_most;   /* so many ticks of it may be in no block yet */
};

static void end_block(struct sim_journal *journal)
{
    if (journal->plain_bytes == 0) return;
    size_t size;
    const uint8_t *block = journal_pack(journal->packer, journal->key, journal->plain_tick,
                                        journal->plain, journal->plain_bytes, &size);
    if (journal->file_bytes + size > FILE_BYTES) {
        journal->overflown = true;
    } else {
        memcpy(journal->file + journal->file_bytes, block, size);
        journal->file_bytes += size;
    }
    journal->plain_bytes = 0;
    journal->plain_records = 0;
}

static bool put(void *owner, const struct journal_record *records, uint32_t count)
{
    struct sim_journal *journal = owner;
    if (journal->full_ticks > 0) return false;
    for (uint32_t i = 0; i < count; i++) {
        bool full = journal->plain_records == BLOCK_RECORDS ||
                    journal->plain_bytes + records[i].size + 64 > PLAIN_BYTES;
        if (records[i].kind == JOURNAL_KEYFRAME || full) end_block(journal);
        if (journal->plain_bytes == 0) journal->plain_tick = records[i].tick;
        journal->plain_bytes += journal_put(&records[i], journal->plain + journal->plain_bytes,
                                            PLAIN_BYTES - journal->plain_bytes);
        journal->plain_records++;
    }
    return true;
}

static bool has_room(void *owner, size_t bytes)
{
    const struct sim_journal *journal = owner;
    return journal->full_ticks == 0 && bytes + 64 < PLAIN_BYTES;
}

static size_t read_back(void *owner, uint64_t offset, void *bytes, size_t count)
{
    const struct sim_journal *journal = owner;
    if (offset >= journal->file_bytes) return 0;
    size_t left = journal->file_bytes - (size_t)offset;
    size_t there = left < count ? left : count;
    memcpy(bytes, journal->file + offset, there);
    return there;
}

static void write_head(struct sim_journal *journal, const struct sim *sim)
{
    struct journal_head head = match_journal_head(sim->match);
    struct config_error error;
    char *map_text = NULL, *config_text = NULL;
    FILE *out = open_memstream(&config_text, &head.config_bytes);
    ARB_ASSERT(out != NULL);
    config_print_loaded(&sim->config, out);
    fclose(out);
    /* The run has loaded it. */
    enum arb_result result = map_read(sim->config.map_path, &map_text, &head.map_bytes, &error);
    ARB_ASSERT(result == ARB_OK);
    head.build = "simulator";
    head.map = sim->config.map;
    head.map_text = map_text;
    head.config_text = config_text;
    uint8_t *bytes = journal_write_head(&head, &journal->file_bytes);
    arb_mem_free(map_text);
    free(config_text);
    memcpy(journal->file, bytes, journal->file_bytes);
    journal->key = journal_file_key(bytes, journal->file_bytes);
    arb_mem_free(bytes);
}

static void begin_records(struct sim_journal *journal, const struct sim *sim)
{
    uint32_t keyframe_ticks = KEYFRAME_S * (uint32_t)sim->config.match.tick_rate;
    journal->records =
        match_journal_create(&journal->arena, sim->match, keyframe_ticks,
                             &(struct match_journal_sink){journal, put, has_room, 0});
}

void sim_journal_begin(struct sim_checks *checks)
{
    struct sim *sim = checks->sim;
    bool crashes = (sim->options.faults >> SIM_FAULT_CRASH & 1) != 0;
    if (checks->journal != NULL) return; /* it goes on */
    if (!sim->options.journal && !crashes && sim->options.seed % 4 != RUNS_OF_FOUR) return;
    struct sim_journal *journal = arb_mem_alloc(sizeof *journal);
    arb_arena_init(&journal->arena);
    arb_rng_seed(&journal->rng, sim->options.seed, STREAM_JOURNAL);
    journal->file = arb_mem_calloc(1, FILE_BYTES);
    journal->plain = arb_mem_calloc(1, PLAIN_BYTES);
    journal->packer = journal_packer_create(PLAIN_BYTES);
    write_head(journal, sim);
    begin_records(journal, sim);
    checks->journal = journal;
}

void sim_journal_look(struct sim_checks *checks)
{
    struct sim_journal *journal = checks->journal;
    if (journal == NULL) return;
    match_journal_tick(journal->records, checks->sim->match);
    if (journal->full_ticks > 0) {
        journal->full_ticks--;
    } else if (arb_rng_below(&journal->rng, FULL_EVERY) == 0 && !checks->sim->options.journal) {
        journal->full_ticks = 1 + arb_rng_below(&journal->rng, FULL_TICKS);
    }
}

/* Up to what is not as it was written, or the end. */
static void play(struct sim_checks *checks, struct match_replay *replay, const struct match *played)
{
    const struct match *match = checks->sim->match;
    struct match_replay_step step;
    do {
        match_replay_next(replay, &step);
    } while (step.status < MATCH_REPLAY_DIVERGED);
    bool whole = step.status == MATCH_REPLAY_STOPPED && step.journal == JOURNAL_READ_FINISHED;
    if (!whole) {
        sim_violated(checks, SIM_INVARIANT_journal, "played again, at %llu: %s",
                     (unsigned long long)step.tick,
                     step.text[0] != '\0' ? step.text : journal_status_text(step.journal));
    } else if (checks->journal->full_ticks == 0 &&
               match_checksum(played) != match_settled_checksum(match, match_settled(match))) {
        sim_violated(checks, SIM_INVARIANT_journal, "played again it ends at tick %llu, not %llu",
                     (unsigned long long)match_tick(played),
                     (unsigned long long)match_settled(match));
    }
}

static struct match *match_of(struct sim_checks *checks, struct arb_arena *arena)
{
    static const uint8_t match_id[16];
    struct sim *sim = checks->sim;
    struct match_config config = sim->config.match;
    config.spectator_max = 0;
    return match_create(arena, &config, sim_rules(sim), sim_params(sim), &sim->map, sim->geometry,
                        match_id, NULL);
}

void sim_journal_finish(struct sim_checks *checks)
{
    struct sim_journal *journal = checks->journal;
    if (journal == NULL) return;
    struct arb_arena arena;
    arb_arena_init(&arena);
    end_block(journal);
    struct journal_source source = {journal, read_back};
    enum journal_status status;
    struct journal_reader *reader = journal_open(&source, &status);
    if (reader == NULL || journal->overflown) {
        sim_violated(checks, SIM_INVARIANT_journal, "cannot be read: %s",
                     journal->overflown ? "it is too long" : journal_status_text(status));
    } else {
        struct match *played = match_of(checks, &arena), *other = match_of(checks, &arena);
        play(checks, match_replay_create(&arena, played, other, reader), played);
        match_destroy(played);
        match_destroy(other);
    }
    journal_close(reader);
    arb_arena_free(&arena);
}

/* ---- killed and resumed ---- */

void sim_journal_cut(struct sim_checks *checks, struct arb_rng *rng)
{
    struct sim_journal *journal = checks->journal;
    size_t whole = journal->file_bytes;
    bool had_gaps = match_journal_counts(journal->records).gaps > 0;
    journal->killed_tick = match_tick(checks->sim->match);
    journal->lost_most = had_gaps ? FULL_TICKS + 2 * BLOCK_RECORDS : BLOCK_RECORDS;
    end_block(journal);
    uint32_t torn = (uint32_t)(journal->file_bytes - whole);
    journal->file_bytes = whole + (torn > 0 ? arb_rng_below(rng, torn) : 0);
    journal->full_ticks = 0;
}

static struct journal_reader *open_to_resume(struct sim_journal *journal)
{
    struct journal_source source = {journal, read_back};
    enum journal_status status;
    struct journal_reader *reader = journal_open(&source, &status);
    ARB_ASSERT(reader != NULL); /* the head was written as a whole */
    uint64_t bytes;
    journal_find_end(reader, &bytes);
    journal_close(reader);
    journal->file_bytes = (size_t)bytes;
    return journal_open(&source, &status);
}

static bool has_result(struct sim_journal *journal)
{
    struct journal_source source = {journal, read_back};
    enum journal_status status;
    struct journal_record record;
    struct journal_reader *reader = journal_open(&source, &status);
    bool found = false;
    while (journal_next(reader, &record) == JOURNAL_READ_OK)
        found = found || record.kind == JOURNAL_END;
    journal_close(reader);
    return found;
}

void sim_journal_resume(struct sim_checks *checks)
{
    struct sim_journal *journal = checks->journal;
    struct match *match = checks->sim->match;
    char text[MATCH_REPLAY_TEXT_BYTES];
    struct match_replay_step step = {.status = MATCH_REPLAY_STOPPED};
    struct arb_arena arena;
    arb_arena_init(&arena);
    struct journal_reader *reader = open_to_resume(journal);
    struct match_replay *replay = match_replay_create(&arena, match, NULL, reader);
    bool begun = match_replay_seek(replay, UINT64_MAX, text) || text[0] == '\0';
    while (begun && (match_replay_next(replay, &step), step.status < MATCH_REPLAY_DIVERGED)) {
    }
    if (!begun || step.status != MATCH_REPLAY_STOPPED) {
        sim_violated(checks, SIM_INVARIANT_journal, "cannot be resumed: %s",
                     begun ? step.text : text);
    } else if (match_tick(match) + journal->lost_most +
                   (arb_tick)checks->sim->config.match.rollback_window_ticks <
               journal->killed_tick) {
        sim_violated(checks, SIM_INVARIANT_journal, "resumed at tick %llu, killed at %llu",
                     (unsigned long long)match_tick(match),
                     (unsigned long long)journal->killed_tick);
    }
    journal_close(reader);
    arb_arena_free(&arena);
    begin_records(journal, checks->sim);
    match_journal_go_on(journal->records, match, has_result(journal));
}

bool sim_write_journal(const struct sim *sim, FILE *out)
{
    const struct sim_journal *journal = sim->checks->journal;
    return fwrite(journal->file, journal->file_bytes, 1, out) == 1;
}

void sim_journal_destroy(struct sim_journal *journal)
{
    if (journal == NULL) return;
    journal_packer_destroy(journal->packer);
    arb_mem_free(journal->file);
    arb_mem_free(journal->plain);
    arb_arena_free(&journal->arena);
    arb_mem_free(journal);
}
