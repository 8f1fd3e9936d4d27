#include "server/interest/interest_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/view/arb_drawn.h"

#include <string.h>

/* Without a call: the cast cuts towards zero, below zero that is one too high. */
static int32_t floor_of(double v)
{
    int32_t cut = (int32_t)v;
    return cut - (v < (double)cut ? 1 : 0);
}

static int32_t cell_of(double v, double cell_m)
{
    return floor_of(v / cell_m);
}

int32_t interest_cell(float v, float cell_m)
{
    return cell_of((double)v, (double)cell_m);
}

static struct grid_span span_of(const struct interest_grid *grid, int32_t first, int32_t last)
{
    uint32_t count = (uint32_t)(last - first) + 1;
    return (struct grid_span){(uint32_t)first & grid->mask,
                              count <= grid->mask ? count : grid->mask + 1};
}

struct grid_span interest_grid_span(const struct interest_grid *grid, double low, double high)
{
    return span_of(grid, cell_of(low, grid->cell_m), cell_of(high, grid->cell_m));
}

struct grid_span interest_grid_reach(const struct interest_grid *grid, double low, double high)
{
    return span_of(grid, floor_of(low * grid->cells_per_m), floor_of(high * grid->cells_per_m));
}

static float position_unit(const struct arb_kind *kind)
{
    ARB_ASSERT(kind->x >= 0 && kind->y >= 0);
    ARB_ASSERT(kind->fields[kind->x].unit == kind->fields[kind->y].unit);
    return kind->fields[kind->x].unit;
}

/* Cells that a part of `extent_m` can touch: along one axis it begins anywhere in its first cell.
 */
static size_t cells_of_extent(double extent_m, double cell_m)
{
    size_t side = (size_t)(extent_m / cell_m) + 2;
    size_t most = (size_t)1 << GRID_SHIFT_MAX;
    return side < most ? side * side : most * most;
}

void interest_grid_create(struct interest_grid *grid, struct arb_arena *arena,
                          const struct interest_config *config)
{
    grid->cell_m = (double)config->cell_m;
    grid->cells_per_m = 1.0 / grid->cell_m;
    double radius = 0.0;
    for (uint32_t i = 0; i < config->schema->kind_count; i++) {
        const struct arb_kind *kind = &config->schema->kinds[i];
        grid->unit_of_kind[i] = position_unit(kind);
        double own = (double)config->radius_of_kind[i];
        if (own > radius) radius = own;
    }
    size_t entries =
        config->entity_capacity * cells_of_extent(2.0 * radius, grid->cell_m) +
        config->point_capacity * cells_of_extent(grid->cell_m + 2.0 * radius, grid->cell_m);
    ARB_ASSERT(entries <= UINT32_MAX && config->point_capacity < (1U << 24));
    grid->entry_capacity = (uint32_t)entries;
    grid->entries = arb_arena_take_array(arena, entries, sizeof *grid->entries);
    size_t parts = (size_t)config->entity_capacity + config->point_capacity;
    grid->parts = arb_arena_take_array(arena, parts, sizeof *grid->parts);
    grid->runs = arb_arena_take_array(arena, config->point_capacity, sizeof *grid->runs);
    size_t buckets = (size_t)1 << (2 * GRID_SHIFT_MAX);
    grid->starts = arb_arena_take_array(arena, buckets + 1, sizeof *grid->starts);
}

/* Counts the part into each of its buckets (first pass of the sort). */
static void add_part(struct interest_grid *grid, struct grid_entry entry, struct grid_span across,
                     struct grid_span along)
{
    grid->parts[grid->part_count++] = (struct grid_part){entry, across, along};
    for (uint32_t y = 0; y < along.count; y++) {
        uint32_t row = ((along.first + y) & grid->mask) << grid->shift;
        for (uint32_t x = 0; x < across.count; x++) {
            grid->starts[row + ((across.first + x) & grid->mask)]++;
        }
    }
}

struct box {
    int32_t low_x, low_y, high_x, high_y; /* in steps of the position */
};

static void grow(struct box *box, struct arb_point point)
{
    if (point.x < box->low_x) box->low_x = point.x;
    if (point.y < box->low_y) box->low_y = point.y;
    if (point.x > box->high_x) box->high_x = point.x;
    if (point.y > box->high_y) box->high_y = point.y;
}

/* Takes points from `first` on while they are few and close together; returns how many. */
static uint32_t take_run(const struct arb_point *points, uint32_t count, int64_t widest,
                         struct box *box)
{
    *box = (struct box){points[0].x, points[0].y, points[0].x, points[0].y};
    uint32_t most = count < GRID_RUN_POINTS ? count : GRID_RUN_POINTS;
    uint32_t taken = 1;
    while (taken < most) {
        struct box grown = *box;
        grow(&grown, points[taken]);
        if ((int64_t)grown.high_x - grown.low_x > widest ||
            (int64_t)grown.high_y - grown.low_y > widest) {
            break;
        }
        *box = grown;
        taken++;
    }
    return taken;
}

#define RUN_SLACK_M 0.01F /* much more than the floats of a box are rounded by */

static void add_body(struct interest_grid *grid, const struct arb_frame *frame, uint32_t index,
                     double radius)
{
    const struct arb_published *entity = &frame->entities[index];
    float unit = grid->unit_of_kind[entity->kind];
    int64_t widest = (int64_t)(grid->cell_m / (double)unit);
    uint32_t done = 0;
    while (done < entity->body_count) {
        uint32_t first = entity->body_first + done;
        struct box box;
        uint32_t count = take_run(&frame->points[first], entity->body_count - done, widest, &box);
        float middle_x = ((float)box.low_x + (float)box.high_x) * 0.5F * unit;
        float middle_y = ((float)box.low_y + (float)box.high_y) * 0.5F * unit;
        /* Half of both sides is more than half of the diagonal. */
        float half = ((float)(box.high_x - box.low_x) + (float)(box.high_y - box.low_y)) * 0.5F;
        grid->runs[grid->run_count++] = (struct grid_run){first, count, half * unit + RUN_SLACK_M};
        struct grid_entry entry = {middle_x, middle_y, entity->key.id, grid->run_count & 0xFFFFFFU,
                                   entity->kind};
        double low_x = (double)((float)box.low_x * unit) - radius;
        double low_y = (double)((float)box.low_y * unit) - radius;
        double high_x = (double)((float)box.high_x * unit) + radius;
        double high_y = (double)((float)box.high_y * unit) + radius;
        add_part(grid, entry, interest_grid_span(grid, low_x, high_x),
                 interest_grid_span(grid, low_y, high_y));
        done += count;
    }
}

static void add_entity(struct interest_grid *grid, const struct interest_config *config,
                       const struct arb_frame *frame, uint32_t index)
{
    const struct arb_published *entity = &frame->entities[index];
    const struct arb_kind *kind = &config->schema->kinds[entity->kind];
    double radius = (double)config->radius_of_kind[entity->kind];
    struct arb_vec2 at = arb_published_position(kind, entity, frame->tick, config->tick_rate);
    struct grid_entry entry = {at.x, at.y, entity->key.id, 0, entity->kind};
    add_part(grid, entry, interest_grid_span(grid, (double)at.x - radius, (double)at.x + radius),
             interest_grid_span(grid, (double)at.y - radius, (double)at.y + radius));
    if (entity->body_count > 0) add_body(grid, frame, index, radius);
}

/* Counts to ends of buckets; the second pass, going backwards, leaves the starts. */
static uint32_t sum_counts(struct interest_grid *grid)
{
    uint32_t buckets = 1U << (2 * grid->shift);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < buckets; i++) {
        sum += grid->starts[i];
        grid->starts[i] = sum;
    }
    grid->starts[buckets] = sum;
    return sum;
}

static void place_part(struct interest_grid *grid, const struct grid_part *part)
{
    for (uint32_t y = 0; y < part->along.count; y++) {
        uint32_t row = ((part->along.first + y) & grid->mask) << grid->shift;
        for (uint32_t x = 0; x < part->across.count; x++) {
            uint32_t bucket = row + ((part->across.first + x) & grid->mask);
            grid->entries[--grid->starts[bucket]] = part->entry;
        }
    }
}

/* About two buckets per part: work follows from the frame, not from the world's size. */
static uint32_t shift_for(const struct arb_frame *frame)
{
    uint32_t wanted = 2 * (frame->entity_count + frame->point_count / GRID_RUN_POINTS);
    uint32_t shift = GRID_SHIFT_MIN;
    while (shift < GRID_SHIFT_MAX && (1U << (2 * shift)) < wanted) {
        shift++;
    }
    return shift;
}

void interest_grid_build(struct interest_grid *grid, const struct interest_config *config,
                         const struct arb_frame *frame)
{
    grid->shift = shift_for(frame);
    grid->mask = (1U << grid->shift) - 1;
    grid->part_count = 0;
    grid->run_count = 0;
    memset(grid->starts, 0, (((size_t)1 << (2 * grid->shift)) + 1) * sizeof *grid->starts);
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        add_entity(grid, config, frame, i);
    }
    uint32_t entries = sum_counts(grid);
    ARB_ASSERT(entries <= grid->entry_capacity);
    grid->entry_count = entries;
    for (uint32_t i = grid->part_count; i > 0; i--) {
        place_part(grid, &grid->parts[i - 1]);
    }
}
