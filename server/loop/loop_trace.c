#include "server/loop/loop_trace.h"

enum arb_result loop_trace_open(struct ops_trace **out, const struct config *config,
                                const struct map *map, const uint8_t match_id[16],
                                struct arb_arena *arena, char error[OPS_ERROR_BYTES])
{
    *out = NULL;
    if (config->rewind_trace[0] == '\0') return ARB_OK;
    struct ops_trace_head head = {.match_id = match_id,
                                  .mode = config->mode,
                                  .map = config->map,
                                  .tick_rate = (uint32_t)config->match.tick_rate,
                                  .max_rewind_ms = (uint32_t)config->match.lagcomp.max_rewind_ms,
                                  .bounds = map->bounds,
                                  .shapes = map->shapes,
                                  .shape_count = map->shape_count};
    return ops_trace_open(out, config->rewind_trace, &head, arena, error);
}

static void put(struct ops_trace *trace, const struct match *match, const struct rules_shot *shot)
{
    struct match_shot *place = ops_trace_place(trace);
    if (place == NULL) return;
    match_record_shot(match, shot, place);
    ops_trace_commit(trace);
}

void loop_trace_shots(struct ops_trace *trace, const struct match *match,
                      const struct rules_shot *shots, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (shots[i].projectile_count == 0) put(trace, match, &shots[i]);
    }
}

/* Those of one shot stand side by side. */
void loop_trace_flown(struct ops_trace *trace, const struct match *match,
                      const struct rules_shot *shots, const struct rules_flights *flights)
{
    for (uint32_t i = 0; i < flights->count; i++) {
        uint32_t shot = flights->list[i].shot;
        if (i == 0 || shot != flights->list[i - 1].shot) put(trace, match, &shots[shot]);
    }
}
