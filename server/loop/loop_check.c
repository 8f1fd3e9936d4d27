#include "server/loop/loop_check.h"

#include "server/loop/loop_journal.h"
#include "server/ops/result.h"
#include "server/ops/rewind_trace.h"
#include "shared/base/arb_assert.h"

#include <stdio.h>
#include <string.h>

static size_t mode_of(const struct config *config)
{
    size_t mode = rules_index(config->mode);
    ARB_ASSERT(mode < rules_mode_count); /* match.mode is a choice among them */
    return mode;
}

const struct rules *loop_rules(const struct config *config)
{
    return rules_modes[mode_of(config)];
}

const void *loop_params(const struct config *config)
{
    return config->mode_params[mode_of(config)];
}

/* What the mode says of its numbers and of the map, and whether it has the teams that are asked
 * for. */
static bool check_mode(const struct config *config, const struct map *map, char *sentence,
                       size_t sentence_bytes)
{
    const struct rules *rules = loop_rules(config);
    if (config->match.teams != 0 && !rules->teams) {
        snprintf(sentence, sentence_bytes, "match.teams is %d: mode %s has no teams; allowed: 0",
                 config->match.teams, rules->name);
        return false;
    }
    return rules->check(loop_params(config), (uint32_t)config->match.tick_rate,
                        (uint32_t)config->match.max_players, map, sentence, sentence_bytes);
}

enum arb_result loop_check(const struct config *config, struct arb_arena *arena, struct map *map,
                           char error[LOOP_ERROR_BYTES])
{
    struct config_error found;
    enum arb_result result = map_load(map, arena, config->map_path, &found);
    if (result == ARB_OK) return loop_check_loaded(config, map, error);
    memcpy(error, found.text, sizeof found.text);
    return result;
}

enum arb_result loop_check_loaded(const struct config *config, const struct map *map,
                                  char error[LOOP_ERROR_BYTES])
{
    struct config_error found;
    char sentence[LOOP_ERROR_BYTES / 2];
    if (check_mode(config, map, sentence, sizeof sentence)) return ARB_OK;
    config_explain(config, sentence, &found);
    memcpy(error, found.text, sizeof found.text);
    return ARB_CONFIG;
}

enum arb_result loop_check_files(const struct config *config, bool resumed,
                                 char error[LOOP_ERROR_BYTES])
{
    enum arb_result result = ARB_OK;
    if (config->result_path[0] != '\0') result = ops_result_check(config->result_path, error);
    if (result == ARB_OK && config->rewind_trace[0] != '\0') {
        result = ops_trace_check(config->rewind_trace, error);
    }
    if (result == ARB_OK && config->journal.path[0] != '\0' && !resumed) {
        result = loop_journal_check(config, error);
    }
    return result;
}
