#include "server/interest/interest_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* Rounding in the exact test must not find what the cells missed: cells are taken a hair wider than
 * the disc. */
#define REACH_SLACK_M 1e-6

static double square(double v)
{
    return v * v;
}

static size_t words_of(uint32_t bits)
{
    return ((size_t)bits + 63) / 64;
}

struct interest *interest_create(struct arb_arena *arena, const struct interest_config *config)
{
    ARB_ASSERT(config->cell_m > 0.0F);
    ARB_ASSERT(config->enter_m > 0.0F && config->enter_m <= config->retain_m);
    ARB_ASSERT(config->entity_capacity > 0 && config->entity_capacity <= UINT16_MAX);
    struct interest *interest = arb_arena_take(arena, sizeof *interest);
    interest->config = *config;
    for (uint32_t kind = 0; kind < config->schema->kind_count; kind++) {
        double radius = (double)config->radius_of_kind[kind];
        interest->reaches[0][kind] = (double)config->enter_m + radius;
        interest->reaches[1][kind] = (double)config->retain_m + radius;
        for (int i = 0; i < 2; i++) {
            interest->limits[i][kind] = square(interest->reaches[i][kind]);
        }
    }
    interest_grid_create(&interest->grid, arena, config);
    uint32_t entities = config->entity_capacity;
    interest->orders = arb_arena_take_array(arena, entities, sizeof *interest->orders);
    interest->born = arb_arena_take_array(arena, entities, sizeof *interest->born);
    interest->places = arb_arena_take_array(arena, entities, sizeof *interest->places);
    interest->visible = arb_arena_take_array(arena, entities, sizeof *interest->visible);
    interest->found = arb_arena_take_array(arena, words_of(entities), sizeof *interest->found);
    interest->newborn = arb_arena_take_array(arena, words_of(entities), sizeof *interest->newborn);
    interest->version = 1;
    interest->viewers =
        arb_arena_take_array(arena, config->viewer_capacity, sizeof *interest->viewers);
    for (uint32_t i = 0; i < config->viewer_capacity; i++) {
        interest->viewers[i].seen =
            arb_arena_take_array(arena, words_of(entities), sizeof(uint64_t));
    }
    return interest;
}

static uint64_t bit_of(const uint64_t *set, uint32_t index)
{
    return set[index / 64] >> (index % 64) & 1;
}

static void add_bit(uint64_t *set, uint32_t index)
{
    set[index / 64] |= UINT64_C(1) << (index % 64);
}

/* Sets are of ids, so an entity that comes or goes moves nobody else. Who has another's id came
 * after whatever was seen of that id. */
static void take_keys(struct interest *interest, const struct arb_frame *frame)
{
    uint32_t next = interest->version + 1;
    uint32_t above = 0;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        struct arb_key key = frame->entities[i].key;
        ARB_ASSERT(key.id >= above && key.id < interest->config.entity_capacity);
        above = key.id + 1U;
        interest->places[key.id] = (uint16_t)i;
        if (interest->orders[key.id] == arb_key_order(key)) continue;
        interest->orders[key.id] = arb_key_order(key);
        interest->born[key.id] = next;
        if (interest->version != next) {
            memset(interest->newborn, 0,
                   words_of(interest->config.entity_capacity) * sizeof *interest->newborn);
        }
        add_bit(interest->newborn, key.id);
        interest->version = next;
    }
    size_t words = words_of(above);
    if (words > interest->words) interest->words = words;
}

void interest_build(struct interest *interest, const struct arb_frame *frame)
{
    ARB_ASSERT(frame->entity_count <= interest->config.entity_capacity);
    ARB_ASSERT(frame->point_count <= interest->config.point_capacity);
    take_keys(interest, frame);
    interest->frame = frame;
    interest_grid_build(&interest->grid, &interest->config, frame);
}

/* A body counts when any of its points does. Most of its runs are clearly in or out. */
__attribute__((noinline)) static bool touches(const struct interest *interest,
                                              const struct grid_entry *entry, uint64_t seen,
                                              double x, double y)
{
    const struct grid_run *run = &interest->grid.runs[entry->run - 1];
    double reach = interest->reaches[seen][entry->kind];
    double from_middle = square((double)entry->x - x) + square((double)entry->y - y);
    double run_reach = (double)run->reach;
    if (from_middle > square(reach + run_reach)) return false;
    if (reach > run_reach && from_middle < square(reach - run_reach)) return true;
    double limit = interest->limits[seen][entry->kind];
    const struct arb_point *points = &interest->frame->points[run->first];
    float unit = interest->grid.unit_of_kind[entry->kind];
    bool in = false;
    for (uint32_t i = 0; i < run->count; i++) {
        double dx = (double)((float)points[i].x * unit) - x;
        double dy = (double)((float)points[i].y * unit) - y;
        in = in || dx * dx + dy * dy <= limit;
    }
    return in;
}

/* The hot loops. Seen before: the retain radius counts, else the enter radius. Bits are set by
 * arithmetic, since whether something is in is as random as a branch can be. */
static void test_some(const struct interest *interest, uint32_t first, uint32_t end,
                      const uint64_t *restrict seen, uint64_t *restrict found, double x, double y)
{
    const struct grid_entry *entries = interest->grid.entries;
    for (uint32_t i = first; i < end; i++) {
        const struct grid_entry *entry = &entries[i];
        uint32_t index = entry->id;
        if (entry->run != 0) {
            bool known = bit_of(found, index) != 0;
            if (!known && touches(interest, entry, bit_of(seen, index), x, y)) {
                add_bit(found, index);
            }
            continue;
        }
        double limit = interest->limits[bit_of(seen, index)][entry->kind];
        double dx = (double)entry->x - x;
        double dy = (double)entry->y - y;
        found[index / 64] |= (uint64_t)(dx * dx + dy * dy <= limit) << (index % 64);
    }
}

/* The same for a crowd, in which neighbours in a cell are neighbours in the set: bits are gathered
 * by words. */
__attribute__((noinline)) static void test_crowd(const struct interest *interest, uint32_t first,
                                                 uint32_t end, const uint64_t *restrict seen,
                                                 uint64_t *restrict found, double x, double y)
{
    const struct grid_entry *entries = interest->grid.entries;
    uint32_t word = 0;
    uint64_t bits = 0, before = seen[0];
    for (uint32_t i = first; i < end; i++) {
        const struct grid_entry *entry = &entries[i];
        uint32_t index = entry->id;
        if (index / 64 != word) {
            found[word] |= bits;
            bits = 0;
            word = index / 64;
            before = seen[word];
        }
        uint64_t was_seen = before >> (index % 64) & 1;
        if (entry->run != 0) {
            bool known = (bits >> (index % 64) & 1) != 0;
            bool in = known || touches(interest, entry, was_seen, x, y);
            bits |= (uint64_t)in << (index % 64);
            continue;
        }
        double limit = interest->limits[was_seen][entry->kind];
        double dx = (double)entry->x - x;
        double dy = (double)entry->y - y;
        bits |= (uint64_t)(dx * dx + dy * dy <= limit) << (index % 64);
    }
    found[word] |= bits;
}

static inline uint32_t test_entries(const struct interest *interest, uint32_t first, uint32_t end,
                                    const uint64_t *seen, double x, double y)
{
    enum { CROWD = 64 };
    if (end - first < CROWD) {
        test_some(interest, first, end, seen, interest->found, x, y);
    } else {
        test_crowd(interest, first, end, seen, interest->found, x, y);
    }
    return end - first;
}

/* Rows of the grid are contiguous, so a disc is a few straight scans. Returns the candidates. */
static uint32_t search(const struct interest *interest, const uint64_t *seen, double x, double y)
{
    const struct interest_grid *grid = &interest->grid;
    if (grid->entry_count <= GRID_FEW) {
        return test_entries(interest, 0, grid->entry_count, seen, x, y);
    }
    double reach = (double)interest->config.retain_m + REACH_SLACK_M;
    struct grid_span across = interest_grid_reach(grid, x - reach, x + reach);
    struct grid_span along = interest_grid_reach(grid, y - reach, y + reach);
    uint32_t until_wrap = grid->mask + 1 - across.first;
    uint32_t straight = across.count < until_wrap ? across.count : until_wrap;
    uint32_t candidates = 0;
    for (uint32_t i = 0; i < along.count; i++) {
        uint32_t row = ((along.first + i) & grid->mask) << grid->shift;
        const uint32_t *starts = &grid->starts[row];
        candidates += test_entries(interest, starts[across.first], starts[across.first + straight],
                                   seen, x, y);
        if (straight < across.count) {
            candidates +=
                test_entries(interest, starts[0], starts[across.count - straight], seen, x, y);
        }
    }
    return candidates;
}

/* Adds the key when the frame has it. */
static void add_key(const struct interest *interest, uint64_t *set, struct arb_key key)
{
    const struct arb_frame *frame = interest->frame;
    if (key.id >= interest->config.entity_capacity) return;
    uint32_t at = interest->places[key.id];
    if (at < frame->entity_count && arb_key_equal(frame->entities[at].key, key)) {
        add_bit(set, key.id);
    }
}

/* What this viewer saw, without those whose ids others have by now. */
static const uint64_t *seen_ids(const struct interest *interest, struct interest_viewer *viewer)
{
    if (viewer->version == interest->version) return viewer->seen;
    if (viewer->version + 1 == interest->version) {
        for (size_t word = 0; word < interest->words; word++) {
            viewer->seen[word] &= ~interest->newborn[word];
        }
        return viewer->seen;
    }
    for (size_t word = 0; word < interest->words; word++) {
        for (uint64_t left = viewer->seen[word]; left != 0; left &= left - 1) {
            uint32_t id = (uint32_t)word * 64 + (uint32_t)__builtin_ctzll(left);
            if (interest->born[id] > viewer->version) viewer->seen[word] &= ~(left & -left);
        }
    }
    return viewer->seen;
}

/* Viewers are mostly asked in turn, and a thousand of them push each other out of the caches. */
static void expect(const struct interest *interest, uint32_t viewer_index)
{
    if (viewer_index >= interest->config.viewer_capacity) return;
    const uint64_t *seen = interest->viewers[viewer_index].seen;
    for (size_t word = 0; word < interest->words; word += 64 / sizeof *seen) {
        __builtin_prefetch(&seen[word], 1);
    }
}

static inline uint32_t list_word(const struct interest *interest, size_t word, uint32_t count)
{
    for (uint64_t left = interest->found[word]; left != 0; left &= left - 1) {
        uint32_t id = (uint32_t)word * 64 + (uint32_t)__builtin_ctzll(left);
        interest->visible[count++] = interest->places[id];
    }
    return count;
}

/* The ids found as places in the frame, ascending as they do. Of many words most are empty: which
 * have some is gathered first, since that is as random as a branch can be. */
static uint32_t list_found(const struct interest *interest)
{
    enum { FEW_WORDS = 32 };
    uint32_t count = 0;
    for (size_t word = 0; interest->words <= FEW_WORDS && word < interest->words; word++) {
        count = list_word(interest, word, count);
    }
    for (size_t first = 0; interest->words > FEW_WORDS && first < interest->words; first += 64) {
        const uint64_t *found = &interest->found[first];
        size_t words = interest->words - first < 64 ? interest->words - first : 64;
        uint64_t filled = 0;
        for (size_t word = 0; word < words; word++) {
            filled |= (uint64_t)(found[word] != 0) << word;
        }
        for (; filled != 0; filled &= filled - 1) {
            count = list_word(interest, first + (size_t)__builtin_ctzll(filled), count);
        }
    }
    return count;
}

const uint32_t *interest_update(struct interest *interest, uint32_t viewer_index,
                                struct arb_vec2 centre, const struct arb_key *always,
                                uint32_t always_count, uint32_t *count)
{
    ARB_ASSERT(viewer_index < interest->config.viewer_capacity);
    ARB_ASSERT(interest->frame != NULL);
    struct interest_viewer *viewer = &interest->viewers[viewer_index];
    expect(interest, viewer_index + 1);
    const uint64_t *seen = seen_ids(interest, viewer);
    memset(interest->found, 0, interest->words * sizeof *interest->found);
    interest->candidates += search(interest, seen, (double)centre.x, (double)centre.y);
    for (uint32_t i = 0; i < always_count; i++) {
        ARB_ASSERT(i == 0 || arb_key_order(always[i - 1]) < arb_key_order(always[i]));
        add_key(interest, interest->found, always[i]);
    }
    *count = list_found(interest);
    /* What was found is what was seen the next time. */
    uint64_t *found = interest->found;
    interest->found = viewer->seen;
    viewer->seen = found;
    viewer->version = interest->version;
    return interest->visible;
}

void interest_forget(struct interest *interest, uint32_t viewer)
{
    ARB_ASSERT(viewer < interest->config.viewer_capacity);
    interest->viewers[viewer].version = 0; /* everybody was born later */
}

uint64_t interest_candidates(const struct interest *interest)
{
    return interest->candidates;
}
