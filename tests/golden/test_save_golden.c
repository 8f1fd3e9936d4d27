/* Saved matches are the same bytes with every compiler, level and processor. The hashes are over
 * whole blocks of scenes of one seed; a wanted change of the game or of what is saved renews them:
 *
 *     ARBITER_GOLDEN=print <build folder>/tests/golden_test_save_golden
 */
#include "server/match/match_save.h"
#include "shared/base/arb_hash.h"
#include "tests/scenes/scenes.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *name, uint32_t ticks, uint64_t golden)
{
    static struct scene_run run;
    const char *mode = getenv("ARBITER_GOLDEN");
    scene_open(&run, scene_find(name), 1);
    for (uint32_t i = 0; i < ticks; i++) {
        scene_step(&run);
    }
    uint32_t capacity = match_save_bytes(run.match, MATCH_SAVE_WHOLE);
    uint8_t *block = malloc(capacity);
    uint32_t size = match_save(run.match, MATCH_SAVE_WHOLE, block, capacity);
    uint64_t got = arb_hash(block, size, 0);
    if (mode != NULL && strcmp(mode, "print") == 0) {
        fprintf(stderr, "%s: 0x%016llXULL\n", name, (unsigned long long)got);
    } else {
        cr_expect_eq(got, golden, "%s: %016llX", name, (unsigned long long)got);
    }
    free(block);
    scene_close(&run);
}

Test(save_golden, fight16)
{
    expect("fight16", 1200, 0x7C9E4D34B8C2ECBAULL);
}

Test(save_golden, push16)
{
    expect("push16", 700, 0xA7BB4C9EA9AB0B09ULL);
}

Test(save_golden, serpent16)
{
    expect("serpent16", 1200, 0xB6D7E7CE3073885FULL);
}
