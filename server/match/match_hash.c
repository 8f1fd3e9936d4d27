/* What a state depends on and does not hold, as one number: a block or a journal of another
 * configuration is refused instead of played wrong. Value by value, since structs have padding. */
#include "server/match/match_save.h"

#include "shared/base/arb_hash.h"

#include <string.h>

/* Numbers of the match that its ticks read. What only decides what is sent, or when a tick begins,
 * may differ. */
static uint64_t hash_numbers(const struct match_config *config)
{
    const struct match_lagcomp *lagcomp = &config->lagcomp;
    const int32_t numbers[] = {
        config->tick_rate,
        config->max_players,
        config->min_players,
        config->join_timeout_s,
        config->idle_exit_s,
        config->rejoin_grace_s,
        config->countdown_s,
        config->duration_s,
        config->result_s,
        config->rounds,
        config->teams,
        config->input_delay_ticks,
        config->input_buffer_ticks,
        config->input_hold_ticks,
        config->rollback_window_ticks,
        config->snapshot_interval_ticks,
        lagcomp->max_rewind_ms,
        lagcomp->view_source,
        lagcomp->cover_grace_ms,
        lagcomp->abilities_win,
        lagcomp->projectile_catchup_ms,
    };
    uint64_t hash = config->seed.value;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        hash = arb_hash_mix(hash, (uint32_t)numbers[i]);
    }
    return hash;
}

static uint64_t hash_float(uint64_t hash, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return arb_hash_mix(hash, bits);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return arb_hash_mix(hash, arb_hash(text, strlen(text), 0));
}

static uint64_t hash_options(uint64_t hash, const struct option *rows, size_t count,
                             const uint8_t *at);

static uint64_t hash_option(uint64_t hash, const struct option *row, const uint8_t *at)
{
    const uint8_t *value = at + row->offset;
    int32_t integer;
    float number;
    struct option_seed seed;
    hash = hash_text(hash, row->path);
    switch ((enum option_type)row->type) {
    case OPTION_BOOL:
        return arb_hash_mix(hash, *value);
    case OPTION_INT:
    case OPTION_CHOICE:
        memcpy(&integer, value, sizeof integer);
        return arb_hash_mix(hash, (uint32_t)integer);
    case OPTION_NUMBER:
        memcpy(&number, value, sizeof number);
        return hash_float(hash, number);
    case OPTION_STRING:
    case OPTION_MODE:
        return hash_text(hash, (const char *)value);
    case OPTION_SEED:
        memcpy(&seed, value, sizeof seed);
        return arb_hash_mix(arb_hash_mix(hash, seed.value), seed.set);
    case OPTION_LIST:
        memcpy(&integer, at + row->count_offset, sizeof integer);
        for (int32_t i = 0; i < integer; i++) {
            hash = hash_options(hash, row->items, row->item_count,
                                value + (size_t)i * row->item_bytes);
        }
        return arb_hash_mix(hash, (uint32_t)integer);
    }
    return hash;
}

static uint64_t hash_options(uint64_t hash, const struct option *rows, size_t count,
                             const uint8_t *at)
{
    for (size_t i = 0; i < count; i++) {
        hash = hash_option(hash, &rows[i], at);
    }
    return hash;
}

static uint64_t hash_places(uint64_t hash, const struct map_place *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct map_place *place = &places[i];
        hash = hash_float(hash_float(hash, place->low.x), place->low.y);
        hash = hash_float(hash_float(hash, place->high.x), place->high.y);
        hash = hash_text(hash, place->type);
        hash = arb_hash_mix(hash, (uint32_t)place->team);
        hash = arb_hash_mix(hash, (uint32_t)place->value);
        hash = hash_float(hash, place->respawn_s);
    }
    return arb_hash_mix(hash, count);
}

static uint64_t hash_map(uint64_t hash, const struct map *map)
{
    hash = hash_float(hash_float(hash, map->bounds.low.x), map->bounds.low.y);
    hash = hash_float(hash_float(hash, map->bounds.high.x), map->bounds.high.y);
    for (uint32_t i = 0; i < map->shape_count; i++) {
        const struct arb_shape *shape = &map->shapes[i];
        hash = arb_hash_mix(arb_hash_mix(hash, shape->type), shape->count);
        hash = hash_float(hash, shape->radius);
        for (uint8_t p = 0; p < shape->count; p++) {
            hash = hash_float(hash_float(hash, shape->points[p].x), shape->points[p].y);
        }
    }
    hash = arb_hash_mix(hash, map->shape_count);
    hash = hash_places(hash, map->spawns, map->spawn_count);
    return hash_places(hash, map->pickups, map->pickup_count);
}

uint64_t match_configuration_hash(const struct match_config *config, const struct rules *rules,
                                  const void *params, const struct map *map)
{
    uint64_t hash = hash_text(hash_numbers(config), rules->name);
    hash = hash_options(hash, rules->options, rules->option_count, params);
    return hash_map(hash, map);
}
