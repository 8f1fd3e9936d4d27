/* What it costs to save a match and to go back to it, per scene. Prints a line per scene: bytes of
 * the state and of a whole block, and what each of the four ways takes, the median of many rounds
 * between which the match goes on.
 *
 * usage: bench_save [scene|all [rounds [seed]]]
 */
#define _GNU_SOURCE
#include "server/loop/clock.h"
#include "server/match/match_save.h"
#include "tests/bench/bench.h"
#include "tests/scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>

enum { WARM_TICKS = 300, ROUNDS_MAX = 1 << 16 };
enum way { SAVE_STATE, GO_BACK, SAVE_WHOLE, RESTORE, WAYS };

static uint32_t taken[WAYS][ROUNDS_MAX]; /* ns */

static uint32_t since(uint64_t begin)
{
    return (uint32_t)(loop_now_ns() - begin);
}

static void measure(const struct scene *scene, uint32_t rounds, uint64_t seed)
{
    static struct scene_run run;
    struct match_save_error error;
    scene_open(&run, scene, seed);
    for (uint32_t i = 0; i < WARM_TICKS; i++) {
        scene_step(&run);
    }
    uint32_t state_capacity = match_save_bytes(run.match, MATCH_SAVE_STATE);
    uint32_t whole_capacity = match_save_bytes(run.match, MATCH_SAVE_WHOLE);
    uint8_t *state = malloc(state_capacity), *whole = malloc(whole_capacity);
    uint32_t state_bytes = 0, whole_bytes = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint64_t begin = loop_now_ns();
        state_bytes = match_save(run.match, MATCH_SAVE_STATE, state, state_capacity);
        taken[SAVE_STATE][i] = since(begin);
        scene_step(&run);
        begin = loop_now_ns();
        match_go_back(run.match, state);
        taken[GO_BACK][i] = since(begin);
        scene_step(&run);
        begin = loop_now_ns();
        whole_bytes = match_save(run.match, MATCH_SAVE_WHOLE, whole, whole_capacity);
        taken[SAVE_WHOLE][i] = since(begin);
        begin = loop_now_ns();
        if (match_restore(run.match, whole, whole_bytes, &error) != ARB_OK) abort();
        taken[RESTORE][i] = since(begin);
    }
    for (uint32_t way = 0; way < WAYS; way++) {
        qsort(taken[way], rounds, sizeof taken[way][0], bench_ascending);
    }
    printf(
        "%-12s seed %llu state_bytes %u save_us %.1f go_back_us %.1f whole_bytes %u save_us %.1f "
        "restore_us %.1f\n",
        scene->name, (unsigned long long)seed, state_bytes, taken[SAVE_STATE][rounds / 2] / 1e3,
        taken[GO_BACK][rounds / 2] / 1e3, whole_bytes, taken[SAVE_WHOLE][rounds / 2] / 1e3,
        taken[RESTORE][rounds / 2] / 1e3);
    free(state);
    free(whole);
    scene_close(&run);
}

int main(int argc, char **argv)
{
    return scene_bench(argc, argv, 2000, ROUNDS_MAX, measure);
}
