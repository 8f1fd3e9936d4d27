/* The walk over the mode's rows that finds the numbers, and the match's own list of them. */
#include "server/match/match_numbers.h"

#include "server/match/match_internal.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- where they are ---- */

/* Where one of them stands in the params. */
struct place {
    const struct option *row;
    const struct option *list; /* that the row is of; NULL: none */
    uint32_t item;
    size_t offset;
};

struct places {
    struct place list[MATCH_NUMBERS_MAX];
    uint32_t count;
};

static void add(struct places *places, const struct option *row, const struct option *list,
                uint32_t item, size_t base)
{
    ARB_ASSERT(places->count < MATCH_NUMBERS_MAX);
    places->list[places->count++] = (struct place){row, list, item, base + row->offset};
}

static void add_list(struct places *places, const struct option *list, const uint8_t *params)
{
    int32_t items;
    memcpy(&items, params + list->count_offset, sizeof items);
    for (int32_t item = 0; item < items; item++) {
        size_t base = list->offset + (size_t)item * list->item_bytes;
        for (size_t i = 0; i < list->item_count; i++) {
            if (list->items[i].reload) add(places, &list->items[i], list, (uint32_t)item, base);
        }
    }
}

static void find(struct places *places, const struct rules *rules, const void *params)
{
    places->count = 0;
    for (size_t i = 0; i < rules->option_count; i++) {
        const struct option *row = &rules->options[i];
        if (row->type == OPTION_LIST) add_list(places, row, params);
        if (row->reload) add(places, row, NULL, 0, 0);
    }
}

/* ---- one value ---- */

static uint32_t get(const struct place *place, const uint8_t *params)
{
    uint32_t value;
    bool yes;
    if (place->row->type == OPTION_BOOL) {
        memcpy(&yes, params + place->offset, sizeof yes);
        return yes;
    }
    ARB_ASSERT(place->row->size == sizeof value);
    memcpy(&value, params + place->offset, sizeof value);
    return value;
}

static void set(const struct place *place, uint8_t *params, uint32_t value)
{
    bool yes = value != 0;
    if (place->row->type == OPTION_BOOL) {
        memcpy(params + place->offset, &yes, sizeof yes);
    } else {
        memcpy(params + place->offset, &value, sizeof value);
    }
}

static float as_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Length of the choice of that index; 0: there is none. */
static size_t choice_of(const char *choices, uint32_t index, const char **name)
{
    for (; index > 0 && choices != NULL; index--) {
        choices = strchr(choices, '|');
        choices += choices != NULL;
    }
    *name = choices;
    return choices != NULL ? strcspn(choices, "|") : 0;
}

/* Bounds are stored as the option's own value would be, so that one at its bound is within it. */
static bool is_within(const struct option *row, uint32_t value)
{
    const char *name;
    int32_t integer = (int32_t)value;
    float number = as_float(value);
    switch ((enum option_type)row->type) {
    case OPTION_BOOL:
        return value <= 1;
    case OPTION_INT:
        return integer >= (int32_t)row->low && integer <= (int32_t)row->high;
    case OPTION_NUMBER:
        return number >= (float)row->low && number <= (float)row->high;
    case OPTION_CHOICE:
        return value <= UINT16_MAX && choice_of(row->choices, value, &name) > 0;
    case OPTION_STRING:
    case OPTION_MODE:
    case OPTION_SEED:
    case OPTION_LIST:
        break;
    }
    return false;
}

/* ---- of a mode ---- */

uint32_t match_numbers_count(const struct rules *rules, const void *params)
{
    struct places places;
    find(&places, rules, params);
    return places.count;
}

void match_numbers_of(const struct rules *rules, const void *params, uint32_t *out)
{
    struct places places;
    find(&places, rules, params);
    for (uint32_t i = 0; i < places.count; i++)
        out[i] = get(&places.list[i], params);
}

static void name_of(const struct place *place, char out[MATCH_NUMBER_NAME_BYTES])
{
    if (place->list == NULL) {
        snprintf(out, MATCH_NUMBER_NAME_BYTES, "%s", place->row->path);
    } else {
        snprintf(out, MATCH_NUMBER_NAME_BYTES, "%s[%" PRIu32 "].%s", place->list->path, place->item,
                 place->row->path);
    }
}

/* ---- of a match ---- */

uint32_t match_number_count(const struct match *match)
{
    return match->numbers.count;
}

const uint32_t *match_numbers(const struct match *match)
{
    return match->numbers.list;
}

void match_number_name(const struct match *match, uint32_t index, char out[MATCH_NUMBER_NAME_BYTES])
{
    struct places places;
    find(&places, match->rules, match->numbers.params);
    ARB_ASSERT(index < places.count);
    name_of(&places.list[index], out);
}

void match_number_text(const struct match *match, uint32_t index, uint32_t value,
                       char out[MATCH_NUMBER_NAME_BYTES])
{
    struct places places;
    const char *name;
    find(&places, match->rules, match->numbers.params);
    ARB_ASSERT(index < places.count);
    const struct option *row = places.list[index].row;
    if (row->type == OPTION_BOOL) {
        snprintf(out, MATCH_NUMBER_NAME_BYTES, "%s", value != 0 ? "true" : "false");
    } else if (row->type == OPTION_NUMBER) {
        snprintf(out, MATCH_NUMBER_NAME_BYTES, "%.9g", (double)as_float(value));
    } else if (row->type == OPTION_CHOICE) {
        size_t length = choice_of(row->choices, value, &name);
        snprintf(out, MATCH_NUMBER_NAME_BYTES, "\"%.*s\"", (int)length, name);
    } else {
        snprintf(out, MATCH_NUMBER_NAME_BYTES, "%" PRId32, (int32_t)value);
    }
}

/* 0 as long as they are those of the configuration, so that a match without a reload has the
 * checksums that it would have without this. */
static uint32_t hash_of(const struct match_numbers *own, const uint32_t *numbers)
{
    uint64_t hash = 0;
    if (own->count == 0 || memcmp(numbers, own->configured, own->count * sizeof numbers[0]) == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < own->count; i++)
        hash = arb_hash_mix(hash, numbers[i]);
    return (uint32_t)hash | 1;
}

void numbers_create(struct match *match, struct arb_arena *arena, const void *params)
{
    struct match_numbers *own = &match->numbers;
    size_t bytes = match->rules->params_bytes;
    own->count = match_numbers_count(match->rules, params);
    own->list = arb_arena_take_array(arena, own->count, sizeof own->list[0]);
    own->configured = arb_arena_take_array(arena, own->count, sizeof own->list[0]);
    own->asked = arb_arena_take_array(arena, own->count, sizeof own->list[0]);
    own->params = arb_arena_take(arena, bytes);
    own->tried = arb_arena_take(arena, bytes);
    if (bytes > 0) memcpy(own->params, params, bytes);
    match_numbers_of(match->rules, params, own->list);
    match_numbers_of(match->rules, params, own->configured);
}

uint32_t numbers_hash(const struct match *match, const uint32_t *numbers)
{
    return hash_of(&match->numbers, numbers);
}

static void put_all(const struct match *match, const uint32_t *numbers, void *params)
{
    struct places places;
    find(&places, match->rules, params);
    ARB_ASSERT(places.count == match->numbers.count);
    for (uint32_t i = 0; i < places.count; i++)
        set(&places.list[i], params, numbers[i]);
}

const void *numbers_try(struct match *match, const uint32_t *numbers)
{
    struct match_numbers *own = &match->numbers;
    if (match->rules->params_bytes == 0) return own->params;
    memcpy(own->tried, own->params, match->rules->params_bytes);
    put_all(match, numbers, own->tried);
    return own->tried;
}

void numbers_apply(struct match *match, const uint32_t *numbers)
{
    struct match_numbers *own = &match->numbers;
    if (own->count == 0) return;
    memmove(own->list, numbers, own->count * sizeof own->list[0]);
    own->hash = hash_of(own, own->list);
    put_all(match, own->list, own->params);
}

/* The first that is out of the bounds of its row; NULL: none is. */
static const struct place *out_of_bounds(const struct places *places, const uint32_t *numbers)
{
    for (uint32_t i = 0; i < places->count; i++) {
        if (!is_within(places->list[i].row, numbers[i])) return &places->list[i];
    }
    return NULL;
}

bool match_numbers_check(struct match *match, const uint32_t *numbers,
                         char error[MATCH_NUMBERS_ERROR_BYTES])
{
    const struct rules *rules = match->rules;
    struct places places;
    find(&places, rules, match->numbers.params);
    const struct place *wrong = out_of_bounds(&places, numbers);
    if (wrong != NULL) {
        char name[MATCH_NUMBER_NAME_BYTES];
        name_of(wrong, name);
        snprintf(error, MATCH_NUMBERS_ERROR_BYTES, "%s is out of its bounds", name);
        return false;
    }
    if (rules->check == NULL) return true;
    return rules->check(numbers_try(match, numbers), (uint32_t)match->config.tick_rate,
                        (uint32_t)match->config.max_players, match->map, error,
                        MATCH_NUMBERS_ERROR_BYTES);
}

void match_reload(struct match *match, const uint32_t *numbers)
{
    struct match_numbers *own = &match->numbers;
    struct places places;
    find(&places, match->rules, own->params);
    ARB_ASSERT(own->count > 0);
    ARB_ASSERT(out_of_bounds(&places, numbers) == NULL);
    memcpy(own->asked, numbers, own->count * sizeof own->asked[0]);
    own->is_asked = true;
}
