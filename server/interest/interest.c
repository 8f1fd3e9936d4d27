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
    ARB_ASSERT(config->entity_capacity > 0);
    struct interest *interest = arb_arena_take(arena, sizeof *interest);
    interest->config = *config;
    for (uint32_t kind = 0; kind < config->schema->kind_count; kind++) {
        double radius = (double)config->radius_of_kind[kind];
        interest->enter_squared[kind] = square((double)config->enter_m + radius);
        interest->retain_squared[kind] = square((double)config->retain_m + radius);
    }
    interest_grid_create(&interest->grid, arena, config);
    size_t words = words_of(config->entity_capacity);
    interest->near = arb_arena_take_array(arena, words, sizeof *interest->near);
    interest->far = arb_arena_take_array(arena, words, sizeof *interest->far);
    interest->viewers =
        arb_arena_take_array(arena, config->viewer_capacity, sizeof *interest->viewers);
    for (uint32_t i = 0; i < config->viewer_capacity; i++) {
        struct interest_viewer *viewer = &interest->viewers[i];
        viewer->keys = arb_arena_take_array(arena, config->entity_capacity, sizeof(uint32_t));
        viewer->indices = arb_arena_take_array(arena, config->entity_capacity, sizeof(uint32_t));
    }
    return interest;
}

void interest_build(struct interest *interest, const struct arb_frame *frame)
{
    ARB_ASSERT(frame->entity_count <= interest->config.entity_capacity);
    ARB_ASSERT(frame->point_count <= interest->config.point_capacity);
    interest->frame = frame;
    interest_grid_build(&interest->grid, &interest->config, frame);
}

static bool has_bit(const uint64_t *set, uint32_t index)
{
    return (set[index / 64] >> (index % 64) & 1) != 0;
}

static void add_bit(uint64_t *set, uint32_t index)
{
    set[index / 64] |= UINT64_C(1) << (index % 64);
}

/* A body counts when any of its points does. */
static void test_points(struct interest *interest, const struct grid_entry *entry, double x,
                        double y)
{
    const struct grid_run *run = &interest->grid.runs[entry->run - 1];
    uint32_t kind = entry->kind;
    double enter_squared = interest->enter_squared[kind];
    double retain_squared = interest->retain_squared[kind];
    float unit = interest->grid.unit_of_kind[kind];
    const struct arb_point *points = &interest->frame->points[run->first];
    for (uint32_t i = 0; i < run->count; i++) {
        double dx = (double)((float)points[i].x * unit) - x;
        double dy = (double)((float)points[i].y * unit) - y;
        double squared = dx * dx + dy * dy;
        if (squared <= enter_squared) {
            add_bit(interest->near, entry->entity);
            return;
        }
        if (squared <= retain_squared) add_bit(interest->far, entry->entity);
    }
}

static void test_entries(struct interest *interest, uint32_t first, uint32_t end, double x,
                         double y)
{
    for (uint32_t i = first; i < end; i++) {
        const struct grid_entry *entry = &interest->grid.entries[i];
        if (entry->run != 0) {
            if (!has_bit(interest->near, entry->entity)) test_points(interest, entry, x, y);
            continue;
        }
        double dx = (double)entry->x - x;
        double dy = (double)entry->y - y;
        double squared = dx * dx + dy * dy;
        if (squared <= interest->retain_squared[entry->kind]) {
            add_bit(interest->far, entry->entity);
            if (squared <= interest->enter_squared[entry->kind]) {
                add_bit(interest->near, entry->entity);
            }
        }
    }
    interest->candidates += end - first;
}

/* Fills the sets near (inside the enter radius) and far (inside the retain radius). Rows of the
 * grid are contiguous, so a disc is a few straight scans. */
static void search(struct interest *interest, double x, double y)
{
    const struct interest_grid *grid = &interest->grid;
    double reach = (double)interest->config.retain_m + REACH_SLACK_M;
    struct grid_span across = interest_grid_span(grid, x - reach, x + reach);
    struct grid_span along = interest_grid_span(grid, y - reach, y + reach);
    for (uint32_t i = 0; i < along.count; i++) {
        uint32_t row = ((along.first + i) & grid->mask) << grid->shift;
        uint32_t until_wrap = grid->mask + 1 - across.first;
        uint32_t straight = across.count < until_wrap ? across.count : until_wrap;
        const uint32_t *starts = &grid->starts[row];
        test_entries(interest, starts[across.first], starts[across.first + straight], x, y);
        test_entries(interest, starts[0], starts[across.count - straight], x, y);
    }
}

/* Index of the first entity of the frame at or after `from` whose key is not below `order`. */
static uint32_t lower_bound(const struct arb_frame *frame, uint32_t from, uint32_t order)
{
    uint32_t low = from;
    uint32_t high = frame->entity_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (arb_key_order(frame->entities[middle].key) < order) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void add_always(struct interest *interest, const struct arb_key *always, uint32_t count)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t order = arb_key_order(always[i]);
        ARB_ASSERT(i == 0 || arb_key_order(always[i - 1]) < order);
        from = lower_bound(interest->frame, from, order);
        if (from == interest->frame->entity_count) return;
        if (arb_key_order(interest->frame->entities[from].key) == order) {
            add_bit(interest->near, from);
        }
    }
}

/* Walks the found entities in the order of their keys beside the keys seen before: near ones are
 * in, far ones stay in. */
static uint32_t choose(struct interest *interest, struct interest_viewer *viewer)
{
    size_t words = words_of(interest->frame->entity_count);
    uint32_t seen = 0;
    uint32_t kept = 0;
    for (size_t word = 0; word < words; word++) {
        uint64_t found = interest->near[word] | interest->far[word];
        while (found != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(found);
            found &= found - 1;
            uint32_t index = (uint32_t)word * 64 + bit;
            uint32_t order = arb_key_order(interest->frame->entities[index].key);
            while (seen < viewer->count && viewer->keys[seen] < order) {
                seen++;
            }
            bool before = seen < viewer->count && viewer->keys[seen] == order;
            if (before || has_bit(interest->near, index)) viewer->indices[kept++] = index;
        }
    }
    return kept;
}

const uint32_t *interest_update(struct interest *interest, uint32_t viewer_index,
                                struct arb_vec2 centre, const struct arb_key *always,
                                uint32_t always_count, uint32_t *count)
{
    ARB_ASSERT(viewer_index < interest->config.viewer_capacity);
    ARB_ASSERT(interest->frame != NULL);
    struct interest_viewer *viewer = &interest->viewers[viewer_index];
    size_t bytes = words_of(interest->frame->entity_count) * sizeof(uint64_t);
    memset(interest->near, 0, bytes);
    memset(interest->far, 0, bytes);
    search(interest, (double)centre.x, (double)centre.y);
    add_always(interest, always, always_count);
    viewer->count = choose(interest, viewer);
    for (uint32_t i = 0; i < viewer->count; i++) {
        viewer->keys[i] = arb_key_order(interest->frame->entities[viewer->indices[i]].key);
    }
    *count = viewer->count;
    return viewer->indices;
}

void interest_forget(struct interest *interest, uint32_t viewer)
{
    ARB_ASSERT(viewer < interest->config.viewer_capacity);
    interest->viewers[viewer].count = 0;
}

uint64_t interest_candidates(const struct interest *interest)
{
    return interest->candidates;
}
