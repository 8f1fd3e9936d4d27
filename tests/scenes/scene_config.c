#include "tests/scenes/scene_config.h"

#include "server/config/config_modes.h"
#include "shared/base/arb_assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *scene_configure(struct config *config, struct arb_arena *arena, const char *mode,
                      const char *const *sets, uint64_t seed)
{
    struct config_mode modes[CONFIG_MODES_MAX];
    size_t mode_count = config_modes_fill(modes);
    struct config_error error;
    char mode_set[64];
    snprintf(mode_set, sizeof mode_set, "match.mode=%s", mode);
    /* The map is the scene's own; the loader only wants to see some file that can be read. */
    const char *all[SCENE_SETS_MAX + 2] = {mode_set, "match.map=/proc/self/exe"};
    size_t count = 2;
    for (size_t i = 0; sets != NULL && sets[i] != NULL; i++) {
        ARB_ASSERT(i < SCENE_SETS_MAX);
        all[count++] = sets[i];
    }
    enum arb_result result =
        config_load(config, arena, modes, mode_count, NULL, NULL, all, count, NULL, &error);
    if (result != ARB_OK) {
        fprintf(stderr, "scene: %s\n", error.text);
        abort();
    }
    config->match.seed.value = seed;
    config->match.seed.set = 1;
    return config->mode_params[rules_index(mode)];
}
