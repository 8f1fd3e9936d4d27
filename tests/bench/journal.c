/* A match of bots over the simulated network, written as a journal into memory and played again:
 * bytes a second by what they are, the tick thread's cost of a record beside that of its tick, what
 * the writer's thread packs, how much faster than real time it is played, and how long it takes to
 * get to a moment of it.
 *
 * usage: bench_journal [config [players [seconds [seed [policy]]]]]
 */
#define _GNU_SOURCE
#include "server/match/match_journal.h"
#include "server/match/match_replay.h"
#include "shared/base/arb_mem.h"
#include "shared/base/arb_rng.h"
#include "tests/bench/bench.h"
#include "tools/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 256 << 20, PLAIN_BYTES = 16 << 20, FLUSH_MS = 500, KEYFRAME_S = 60 };

static struct {
    struct arb_arena arena;
    struct match_journal *journal;
    struct journal_packer *packer;
    uint8_t *file, *plain;
    size_t file_bytes, plain_bytes;
    uint32_t plain_ticks;
    arb_tick plain_tick;
    uint64_t key, head_bytes, keyframe_bytes, put_ns, pack_ns, blocks;
    uint64_t live_ticks;
} bench;

static size_t end_block(void)
{
    if (bench.plain_bytes == 0) return 0;
    size_t size;
    uint64_t before = bench_cpu_ns();
    const uint8_t *block = journal_pack(bench.packer, bench.key, bench.plain_tick, bench.plain,
                                        bench.plain_bytes, &size);
    bench.pack_ns += bench_cpu_ns() - before;
    memcpy(bench.file + bench.file_bytes, block, size);
    bench.file_bytes += size;
    bench.blocks++;
    bench.plain_bytes = 0;
    bench.plain_ticks = 0;
    return size;
}

static bool put(void *owner, const struct journal_record *records, uint32_t count)
{
    (void)owner;
    for (uint32_t i = 0; i < count; i++) {
        if (records[i].kind == JOURNAL_KEYFRAME || bench.plain_ticks == 60 * FLUSH_MS / 1000) {
            end_block();
        }
        if (bench.plain_bytes == 0) bench.plain_tick = records[i].tick;
        bench.plain_bytes += journal_put(&records[i], bench.plain + bench.plain_bytes,
                                         PLAIN_BYTES - bench.plain_bytes);
        bench.plain_ticks++;
        if (records[i].kind == JOURNAL_KEYFRAME) bench.keyframe_bytes += end_block();
    }
    return true;
}

static bool has_room(void *owner, size_t bytes)
{
    (void)owner;
    (void)bytes;
    return true;
}

static size_t read_back(void *owner, uint64_t offset, void *bytes, size_t count)
{
    (void)owner;
    if (offset >= bench.file_bytes) return 0;
    size_t left = bench.file_bytes - (size_t)offset;
    size_t there = left < count ? left : count;
    memcpy(bytes, bench.file + offset, there);
    return there;
}

static void begin(const struct match *match)
{
    struct journal_head head = match_journal_head(match);
    head.build = "bench";
    head.map = head.config_text = head.map_text = "";
    uint8_t *bytes = journal_write_head(&head, &bench.file_bytes);
    memcpy(bench.file, bytes, bench.file_bytes);
    bench.key = journal_file_key(bytes, bench.file_bytes);
    bench.head_bytes = bench.file_bytes;
    arb_mem_free(bytes);
    struct match_journal_sink sink = {NULL, put, has_room, 0};
    bench.journal = match_journal_create(&bench.arena, match, KEYFRAME_S * 60, &sink);
}

/* What asking for the time twice costs by itself. */
static uint64_t clock_ns(void)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = bench_cpu_ns(), passed = bench_cpu_ns() - before;
        least = passed < least ? passed : least;
    }
    return least;
}

static void after_tick(void *user, struct match *match)
{
    (void)user;
    uint64_t before = bench_cpu_ns(), packed = bench.pack_ns;
    match_journal_tick(bench.journal, match);
    bench.put_ns += bench_cpu_ns() - before - (bench.pack_ns - packed);
    bench.live_ticks += match_phase(match) == ARB_PHASE_LIVE;
}

static struct match *match_of(const struct sim *sim, struct arb_arena *arena, const struct map *map)
{
    static const uint8_t match_id[16];
    struct match_config config = sim_config(sim)->match;
    config.spectator_max = 0;
    return match_create(arena, &config, sim_rules(sim), sim_params(sim), map, sim_geometry(sim),
                        match_id, NULL);
}

/* CPU seconds; a negative number: it is not as recorded. */
static double play_again(const struct sim *sim, const struct map *map, uint64_t *ticks)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    struct journal_source source = {NULL, read_back};
    enum journal_status status;
    struct journal_reader *reader = journal_open(&source, &status);
    struct match *match = match_of(sim, &arena, map), *other = match_of(sim, &arena, map);
    struct match_replay *replay = match_replay_create(&arena, match, other, reader);
    struct match_replay_step step;
    *ticks = 0;
    uint64_t before = bench_cpu_ns();
    do {
        match_replay_next(replay, &step);
        *ticks += step.status == MATCH_REPLAY_TICK;
    } while (step.status < MATCH_REPLAY_DIVERGED);
    double seconds = (double)(bench_cpu_ns() - before) * 1e-9;
    if (step.status != MATCH_REPLAY_STOPPED) printf("not as recorded: %s\n", step.text);
    bool good = step.status == MATCH_REPLAY_STOPPED && step.journal == JOURNAL_READ_FINISHED;
    match_destroy(match);
    match_destroy(other);
    journal_close(reader);
    arb_arena_free(&arena);
    return good ? seconds : -1.0;
}

/* CPU seconds from an open reader to S[tick], by the newest keyframe before it. */
static double seek(const struct sim *sim, const struct map *map, arb_tick tick)
{
    struct arb_arena arena;
    arb_arena_init(&arena);
    struct journal_source source = {NULL, read_back};
    enum journal_status status;
    char text[MATCH_REPLAY_TEXT_BYTES];
    struct match_replay_step step;
    struct match *match = match_of(sim, &arena, map);
    uint64_t before = bench_cpu_ns();
    struct journal_reader *reader = journal_open(&source, &status);
    struct match_replay *replay = match_replay_create(&arena, match, NULL, reader);
    match_replay_seek(replay, tick, text);
    while (match_tick(match) < tick) {
        match_replay_next(replay, &step);
        if (step.status >= MATCH_REPLAY_DIVERGED) exit(1);
    }
    double seconds = (double)(bench_cpu_ns() - before) * 1e-9;
    match_destroy(match);
    journal_close(reader);
    arb_arena_free(&arena);
    return seconds;
}

/* To moments from all over the match; how far each is from its beginning, over what it took. */
static void report_seeks(const struct sim *sim, const struct map *map, uint64_t ticks)
{
    enum { SEEKS = 100, STREAM_SEEKS = 1 };
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, STREAM_SEEKS);
    double took_s = 0, worst_s = 0, way_s = 0;
    for (int i = 0; i < SEEKS; i++) {
        uint32_t way = arb_rng_below(&rng, (uint32_t)ticks);
        double once_s = seek(sim, map, sim_first_tick(sim) + way);
        took_s += once_s;
        way_s += (double)way / sim_config(sim)->match.tick_rate;
        if (once_s > worst_s) worst_s = once_s;
    }
    printf("sought: %.1f ms on average, %.1f at most; %.0f times real time\n", took_s / SEEKS * 1e3,
           worst_s * 1e3, way_s / took_s);
}

static void report(const struct sim *sim, const struct map *map)
{
    struct match_journal_counts counts = match_journal_counts(bench.journal);
    double seconds = (double)counts.ticks / sim_config(sim)->match.tick_rate;
    uint64_t played = 0;
    double least = -1.0;
    for (int round = 0; round < 5; round++) {
        double took = play_again(sim, map, &played);
        if (took < 0) exit(1);
        if (least < 0 || took < least) least = took;
    }
    double ticks = (double)counts.ticks;
    printf("%.0f s of play, %llu ticks live; %llu bytes after a head of %llu\n", seconds,
           (unsigned long long)bench.live_ticks,
           (unsigned long long)(bench.file_bytes - bench.head_bytes),
           (unsigned long long)bench.head_bytes);
    printf("bytes a second: %.0f in all, of them keyframes %.0f (%llu of them); records before "
           "zstd %.0f\n",
           (double)(bench.file_bytes - bench.head_bytes) / seconds,
           (double)bench.keyframe_bytes / seconds, (unsigned long long)counts.keyframes,
           (double)counts.bytes / seconds);
    printf("CPU of a tick: record %.2f us, keyframes in it; packing by the thread %.2f us\n",
           ((double)bench.put_ns / ticks - (double)clock_ns()) * 1e-3,
           (double)bench.pack_ns / ticks * 1e-3);
    printf("played again: %.2f us a tick, %.0f times real time (least of 5)\n",
           least / (double)played * 1e6, seconds / least);
    report_seeks(sim, map, played);
}

int main(int argc, char **argv)
{
    struct config_error error;
    struct map map;
    struct arb_arena arena;
    uint32_t seconds = argc > 3 ? (uint32_t)atoi(argv[3]) : 120;
    char duration[64];
    snprintf(duration, sizeof duration, "match.duration_s=%u", seconds + 60);
    const char *sets[] = {duration, "match.countdown_s=0"};
    struct sim_options options = {.config_file = argc > 1 ? argv[1] : "config/arena.json",
                                  .sets = sets,
                                  .set_count = 2,
                                  .clients = argc > 2 ? (uint32_t)atoi(argv[2]) : 10,
                                  .seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1,
                                  .policies = {argc > 5 ? argv[5] : "aim"},
                                  .frames_per_s = 60,
                                  .up = {.delay_us = 20000, .jitter_us = 3000},
                                  .down = {.delay_us = 20000, .jitter_us = 3000},
                                  .after_tick = after_tick};
    struct sim *sim = sim_create(&options, &error);
    arb_arena_init(&arena);
    arb_arena_init(&bench.arena);
    if (sim == NULL || map_load(&map, &arena, sim_config(sim)->map_path, &error) != ARB_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    bench.file = arb_mem_calloc(1, FILE_BYTES);
    bench.plain = arb_mem_calloc(1, PLAIN_BYTES);
    bench.packer = journal_packer_create(PLAIN_BYTES);
    begin(sim_match(sim));
    sim_run_ticks(sim, (uint64_t)seconds * 60);
    end_block();
    report(sim, &map);
    sim_destroy(sim);
    return 0;
}
