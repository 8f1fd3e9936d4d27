#include "tests/scenes/scene_config.h"

#include "shared/base/arb_assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t mode_rows(struct config_mode *rows)
{
    ARB_ASSERT(rules_mode_count <= CONFIG_MODES_MAX);
    for (size_t i = 0; i < rules_mode_count; i++) {
        const struct rules *rules = rules_modes[i];
        rows[i] = (struct config_mode){rules->name, rules->options, rules->option_count,
                                       rules->params_bytes};
    }
    return rules_mode_count;
}

void *scene_configure(struct config *config, struct arb_arena *arena, const char *mode,
                      const char *const *sets, uint64_t seed)
{
    struct config_mode modes[CONFIG_MODES_MAX];
    size_t mode_count = mode_rows(modes);
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
    for (size_t i = 0; i < rules_mode_count; i++) {
        if (strcmp(rules_modes[i]->name, mode) == 0) {
            return config->mode_params[i];
        }
    }
    abort();
}
