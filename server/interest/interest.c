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
    interest->places = arb_arena_take_array(arena, UINT16_MAX + 1, sizeof *interest->places);
    interest->found = arb_arena_take_array(arena, words_of(entities), sizeof *interest->found);
    interest->viewers =
        arb_arena_take_array(arena, config->viewer_capacity, sizeof *interest->viewers);
    for (uint32_t i = 0; i < config->viewer_capacity; i++) {
        struct interest_viewer *viewer = &interest->viewers[i];
        viewer->keys = arb_arena_take_array(arena, entities, sizeof *viewer->keys);
        viewer->indices = arb_arena_take_array(arena, entities, sizeof *viewer->indices);
        viewer->seen = arb_arena_take_array(arena, words_of(entities), sizeof *viewer->seen);
    }
    return interest;
}

/* As long as no entity comes or goes, places in the frame stay, and so do the viewers' sets of
 * places. */
static void take_orders(struct interest *interest, const struct arb_frame *frame)
{
    bool same = interest->frame != NULL && interest->order_count == frame->entity_count;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        uint32_t order = arb_key_order(frame->entities[i].key);
        ARB_ASSERT(i == 0 || interest->orders[i - 1] < order);
        same = same && interest->orders[i] == order;
        interest->orders[i] = order;
    }
    interest->order_count = frame->entity_count;
    if (same) return;
    interest->version++;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        interest->places[frame->entities[i].key.id] = (uint16_t)i;
    }
}

void interest_build(struct interest *interest, const struct arb_frame *frame)
{
    ARB_ASSERT(frame->entity_count <= interest->config.entity_capacity);
    ARB_ASSERT(frame->point_count <= interest->config.point_capacity);
    take_orders(interest, frame);
    interest->frame = frame;
    interest_grid_build(&interest->grid, &interest->config, frame);
}

static uint64_t bit_of(const uint64_t *set, uint32_t index)
{
    return set[index / 64] >> (index % 64) & 1;
}

static void add_bit(uint64_t *set, uint32_t index)
{
    set[index / 64] |= UINT64_C(1) << (index % 64);
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
        uint32_t index = entry->entity;
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
        uint32_t index = entry->entity;
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

/* Adds the key's place to the set when the frame has it. */
static void add_key(const struct interest *interest, uint64_t *set, uint32_t order)
{
    uint32_t at = interest->places[arb_key_of_order(order).id];
    if (at < interest->order_count && interest->orders[at] == order) add_bit(set, at);
}

/* The set of places that this viewer saw, in terms of the newest frame. */
static const uint64_t *seen_places(const struct interest *interest, struct interest_viewer *viewer,
                                   size_t words)
{
    if (viewer->version == interest->version) return viewer->seen;
    memset(viewer->seen, 0, words * sizeof *viewer->seen);
    for (uint32_t i = 0; i < viewer->count; i++) {
        add_key(interest, viewer->seen, viewer->keys[i]);
    }
    return viewer->seen;
}

/* The places found, ascending, and their keys. */
static void list_found(const struct interest *interest, struct interest_viewer *viewer,
                       size_t words)
{
    uint32_t count = 0;
    for (size_t word = 0; word < words; word++) {
        for (uint64_t left = interest->found[word]; left != 0; left &= left - 1) {
            uint32_t index = (uint32_t)word * 64 + (uint32_t)__builtin_ctzll(left);
            viewer->indices[count] = index;
            viewer->keys[count] = interest->orders[index];
            count++;
        }
    }
    viewer->count = count;
}

const uint32_t *interest_update(struct interest *interest, uint32_t viewer_index,
                                struct arb_vec2 centre, const struct arb_key *always,
                                uint32_t always_count, uint32_t *count)
{
    ARB_ASSERT(viewer_index < interest->config.viewer_capacity);
    ARB_ASSERT(interest->frame != NULL);
    struct interest_viewer *viewer = &interest->viewers[viewer_index];
    size_t words = words_of(interest->order_count);
    const uint64_t *seen = seen_places(interest, viewer, words);
    memset(interest->found, 0, words * sizeof *interest->found);
    interest->candidates += search(interest, seen, (double)centre.x, (double)centre.y);
    for (uint32_t i = 0; i < always_count; i++) {
        uint32_t order = arb_key_order(always[i]);
        ARB_ASSERT(i == 0 || arb_key_order(always[i - 1]) < order);
        add_key(interest, interest->found, order);
    }
    list_found(interest, viewer, words);
    /* What was found is what was seen the next time. */
    uint64_t *found = interest->found;
    interest->found = viewer->seen;
    viewer->seen = found;
    viewer->version = interest->version;
    *count = viewer->count;
    return viewer->indices;
}

void interest_forget(struct interest *interest, uint32_t viewer)
{
    ARB_ASSERT(viewer < interest->config.viewer_capacity);
    interest->viewers[viewer].count = 0;
    interest->viewers[viewer].version = 0;
}

uint64_t interest_candidates(const struct interest *interest)
{
    return interest->candidates;
}
