/* What a rollback costs: going back by 30 ticks and running them again, states and records kept
 * anew, per scene. Prints a line per scene: median, 99 of 100 and the longest of many, between
 * which the match goes on. The players' inputs stay as they are while ticks are run again.
 *
 * usage: bench_rollback [scene|all [rounds [seed]]]
 */
#define _GNU_SOURCE
#include "server/loop/clock.h"
#include "server/match/match_internal.h"
#include "server/match/match_past.h"
#include "server/match/match_rollback.h"
#include "tests/bench/bench.h"
#include "tests/scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_TICKS = 300, ROUNDS_MAX = 1 << 16 };

static uint32_t taken[ROUNDS_MAX]; /* ns */

static void step(struct scene_run *run, struct match *match, uint32_t players)
{
    scene_give_inputs(run);
    for (uint32_t slot = 0; slot < players; slot++) {
        match_set_input(match, (uint16_t)slot, &run->inputs[slot]);
    }
    tick_run(match, TICK_RERUN);
    match_past_keep(match->past, match);
}

static void measure(const struct scene *scene, uint32_t rounds, uint64_t seed)
{
    static const uint8_t id[16] = {1};
    static struct scene_run run;
    struct arb_arena arena;
    scene_open(&run, scene, seed);
    arb_arena_init(&arena);
    struct match_config config = run.config.match;
    config.back_ticks = MATCH_WINDOW_MAX;
    struct match *match = match_create(&arena, &config, run.match->rules, run.params, &run.map,
                                       run.geometry, id, NULL);
    for (uint32_t slot = 0; slot < scene->players; slot++)
        match_add_player(match, "ada");
    tick_run(match, TICK_RERUN);
    match_past_begin(match->past, match);
    for (uint32_t i = 0; i < WARM_TICKS; i++)
        step(&run, match, scene->players);
    for (uint32_t i = 0; i < rounds; i++) {
        step(&run, match, scene->players);
        uint64_t begin = loop_now_ns();
        match_past_run_again(match->past, match, match_tick(match) - MATCH_WINDOW_MAX);
        taken[i] = (uint32_t)(loop_now_ns() - begin);
    }
    qsort(taken, rounds, sizeof taken[0], bench_ascending);
    printf("%-12s seed %llu ticks %d p50_us %.0f p99_us %.0f max_us %.0f checksum %016llx\n",
           scene->name, (unsigned long long)seed, MATCH_WINDOW_MAX, taken[rounds / 2] / 1e3,
           taken[rounds - 1 - rounds / 100] / 1e3, taken[rounds - 1] / 1e3,
           (unsigned long long)match_checksum(match));
    match_destroy(match);
    arb_arena_free(&arena);
    scene_close(&run);
}

int main(int argc, char **argv)
{
    return scene_bench(argc, argv, 500, ROUNDS_MAX, measure);
}
