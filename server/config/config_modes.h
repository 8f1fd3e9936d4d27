/* The option rows of all modes, for whoever loads a configuration: config itself gets them handed
 * in, so that it depends on no mode. Called by main, the tools and the tests' scenes.
 */
#ifndef CONFIG_MODES_H
#define CONFIG_MODES_H

#include "server/config/config.h"
#include "server/rules/rules.h"
#include "shared/base/arb_assert.h"

/* In the order of rules_modes, so that config->mode_params goes by rules_index; returns how many.
 */
static inline size_t config_modes_fill(struct config_mode modes[CONFIG_MODES_MAX])
{
    ARB_ASSERT(rules_mode_count <= CONFIG_MODES_MAX);
    for (size_t i = 0; i < rules_mode_count; i++) {
        const struct rules *rules = rules_modes[i];
        modes[i] = (struct config_mode){rules->name, rules->options, rules->option_count,
                                        rules->params_bytes};
    }
    return rules_mode_count;
}

#endif
