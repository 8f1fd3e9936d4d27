/* What a tick of the simulation costs (stages 2 to 8), per scene. Prints a line per run.
 *
 * usage: bench_tick [scene|all [ticks [seed [rate]]]]
 *
 * Without a rate ticks run back to back, in warm caches. With one (60) it sleeps between them as a
 * server does and counts CPU time: this is what compares with other loops at that rate. Under
 * callgrind, two runs of different lengths give the instructions per tick as the difference
 * (tests/bench/README.md).
 */
#define _GNU_SOURCE
#include "server/loop/clock.h"
#include "tests/bench/bench.h"
#include "tests/scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_TICKS = 120, SAMPLES_MAX = 1 << 20 };

static uint32_t samples[SAMPLES_MAX]; /* ns per tick */

static void measure(const struct scene *scene, uint32_t ticks, uint64_t seed, uint32_t rate)
{
    static struct scene_run run;
    scene_open(&run, scene, seed);
    for (uint32_t i = 0; i < WARM_TICKS; i++) {
        scene_step(&run);
    }
    uint64_t total_ns = 0, start_ns = loop_now_ns();
    for (uint32_t i = 0; i < ticks; i++) {
        if (rate > 0) {
            bench_sleep_until(start_ns + (uint64_t)i * 1000000000U / rate);
        }
        uint64_t begin = bench_cpu_ns();
        scene_step(&run);
        uint64_t taken = bench_cpu_ns() - begin;
        samples[i] = taken < UINT32_MAX ? (uint32_t)taken : UINT32_MAX;
        total_ns += taken;
    }
    qsort(samples, ticks, sizeof samples[0], bench_ascending);
    printf("%-12s seed %llu rate %u ticks %u mean_us %.2f median_us %.2f p99_us %.2f entities %u "
           "checksum %016llx\n",
           scene->name, (unsigned long long)seed, rate, ticks, (double)total_ns / ticks / 1e3,
           samples[ticks / 2] / 1e3, samples[ticks - 1 - ticks / 100] / 1e3,
           match_world(run.match)->head->entity_count,
           (unsigned long long)match_checksum(run.match));
    scene_close(&run);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "all";
    uint32_t ticks = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 3600;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    uint32_t rate = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
    ticks = ticks < 1 ? 1 : ticks > SAMPLES_MAX ? SAMPLES_MAX : ticks;
    bool any = false;
    for (size_t i = 0; i < scene_count; i++) {
        if (strcmp(name, "all") == 0 || strcmp(name, scenes[i].name) == 0) {
            measure(&scenes[i], ticks, seed, rate);
            any = true;
        }
    }
    if (!any) {
        fprintf(stderr, "usage: bench_tick [scene|all [ticks [seed [rate]]]]; scenes:\n");
        for (size_t i = 0; i < scene_count; i++) {
            fprintf(stderr, "  %-12s %s\n", scenes[i].name, scenes[i].doc);
        }
    }
    return any ? 0 : 64;
}
