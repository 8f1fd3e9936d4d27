/* Whole matches of every scene (tests/scenes), checksum by checksum: the same on every compiler,
 * level of optimisation and processor that runs this, or there is no determinism. Shots meet the
 * past, between two ticks of it. Renew: ARBITER_RENEW=1 ctest --test-dir build/debug -R
 * golden/match_ticks
 */
#include "server/match/match.h"
#include "tests/scenes/scenes.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN ARBITER_SOURCE_DIR "/tests/golden/match_ticks.txt"

/* A processor that is emulated plays about fifty times slower: the crowd is for benches. */
enum { TICKS = 1200, LINE_EVERY = 120, PLAYERS_MAX = 64, PAST_TICKS = 9 };

static FILE *golden;
static bool renew;

static void check_line(const struct scene_run *run)
{
    char line[128], expected[128];
    const struct world_head *head = match_world(run->match)->head;
    snprintf(line, sizeof line, "%s %" PRIu64 " %016" PRIx64 " %u entities\n", run->scene->name,
             head->tick, match_checksum(run->match), head->entity_count);
    if (renew) {
        fputs(line, golden);
    } else {
        cr_assert_not_null(fgets(expected, sizeof expected, golden), "no line for: %s", line);
        cr_assert_str_eq(line, expected);
    }
}

/* Each sees the others a little later than the one before. */
static void look_back(struct scene_run *run)
{
    const struct arb_frame *newest = rewind_newest(match_rewind(run->match));
    if (newest == NULL || run->ticks < 2 * PAST_TICKS) {
        return;
    }
    for (uint16_t slot = 0; slot < run->scene->players; slot++) {
        arb_tick to = newest->tick - slot % PAST_TICKS;
        run->inputs[slot].view = (struct arb_view){
            .from_tick = to - 2, .to_tick = to, .fraction = (uint16_t)(slot * 37 % 257)};
        match_set_input(run->match, slot, &run->inputs[slot]);
    }
}

Test(match_golden, every_scene_goes_the_way_it_always_went)
{
    renew = getenv("ARBITER_RENEW") != NULL;
    golden = fopen(GOLDEN, renew ? "wb" : "rb");
    cr_assert_not_null(golden, "%s", GOLDEN);
    for (size_t i = 0; i < scene_count; i++) {
        static struct scene_run run;
        if (scenes[i].players > PLAYERS_MAX) {
            continue;
        }
        scene_open(&run, &scenes[i], 1);
        for (uint32_t tick = 1; tick <= TICKS; tick++) {
            scene_give_inputs(&run);
            look_back(&run);
            tick_run(run.match, TICK_RERUN);
            if (tick % LINE_EVERY == 0) {
                check_line(&run);
            }
        }
        scene_close(&run);
    }
    char rest[8];
    cr_assert(renew || fgets(rest, sizeof rest, golden) == NULL, "more lines than scenes");
    fclose(golden);
}
