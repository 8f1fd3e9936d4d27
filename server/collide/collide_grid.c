/* The broad phase: the circles' ways in this tick and the bodies in pieces, sorted by cells of a
 * grid. A part's box may be larger than what it stands for, never smaller; which parts a query
 * names never decides a result.
 *
 * Each part lies in one cell, that of its middle, and a query looks as far as the largest part
 * reaches. So that a few large ones do not widen all queries, they are kept apart and asked each
 * time. The plane of cells is folded onto a square of buckets, as in server/interest. */
#include "server/collide/collide_internal.h"

#include "shared/base/arb_assert.h"

#include <float.h>
#include <string.h>

#define EXACT 0.001F  /* m, around every box: rounding hides nothing from the coarse test */
#define SLACK 0.01F   /* m, much more than the middle of a box is rounded by */
#define CELL_MIN 1.0F /* m */

enum {
    SHIFT_MIN = 2,
    SHIFT_MAX = 8,
    CELL_EXTENTS = 4, /* sides of a cell in halves of the mean part */
};

b2AABB collide_circle_box(struct arb_vec2 from, struct arb_vec2 to, float radius)
{
    float grow = radius + EXACT;
    return (b2AABB){
        {(from.x < to.x ? from.x : to.x) - grow, (from.y < to.y ? from.y : to.y) - grow},
        {(from.x > to.x ? from.x : to.x) + grow, (from.y > to.y ? from.y : to.y) + grow}};
}

/* ---- parts ---- */

static void add_part(struct collide *collide, b2AABB box, uint32_t bit, uint32_t data)
{
    float across = (box.upperBound.x - box.lowerBound.x) * 0.5F;
    float along = (box.upperBound.y - box.lowerBound.y) * 0.5F;
    float half = across > along ? across : along;
    struct collide_grid *grid = &collide->grid;
    ARB_ASSERT(grid->part_count < grid->capacity);
    collide->halves[grid->part_count] = half;
    grid->parts[grid->part_count++] = (struct collide_leaf){box, bit, data};
    grid->half_sum += half;
}

static void add_circle(struct collide *collide, const struct world_entity *entity, uint32_t id)
{
    if ((entity->flags & WORLD_ENTITY_REMOVED) != 0 || collide->kinds[entity->kind].category == 0) {
        return;
    }
    b2AABB box = collide_circle_box((struct arb_vec2){entity->previous_x, entity->previous_y},
                                    (struct arb_vec2){entity->x, entity->y}, entity->radius);
    add_part(collide, box, collide_bit(entity->kind, COLLIDE_CIRCLE), id);
}

/* ---- bodies ---- */

bool collide_segment(const struct world *world, uint32_t body, uint32_t place, uint32_t *segment,
                     struct arb_vec2 *a, struct arb_vec2 *b)
{
    const struct world_body *trail = &world->bodies[body];
    uint32_t capacity = world->head->body_points;
    uint32_t index = place >= trail->first ? place - trail->first : place + capacity - trail->first;
    if (index >= trail->count) {
        return false;
    }
    const struct world_entity *owner = &world->entities[trail->entity];
    struct arb_vec2 head = {owner->x, owner->y};
    *segment = index;
    *a = index == 0 ? head : world_body_point(world, (uint16_t)body, index - 1, head);
    *b = world_body_point(world, (uint16_t)body, index, head);
    return true;
}

static b2AABB joined(b2AABB box, struct arb_vec2 point)
{
    return (b2AABB){{point.x < box.lowerBound.x ? point.x : box.lowerBound.x,
                     point.y < box.lowerBound.y ? point.y : box.lowerBound.y},
                    {point.x > box.upperBound.x ? point.x : box.upperBound.x,
                     point.y > box.upperBound.y ? point.y : box.upperBound.y}};
}

/* Around the segments that end in the chunk. They are taken whole, not cut at the body's length:
 * that may grow without a new point. */
static b2AABB chunk_box(const struct collide *collide, const struct world *world, uint32_t body,
                        uint32_t chunk)
{
    const struct world_body *trail = &world->bodies[body];
    const struct world_entity *owner = &world->entities[trail->entity];
    const struct arb_vec2 *points = &world->points[(size_t)body * collide->body_points];
    uint32_t end = (chunk + 1) * COLLIDE_CHUNK, capacity = collide->body_points;
    float grow = collide->kinds[owner->kind].body_radius + EXACT;
    b2AABB box = {{FLT_MAX, FLT_MAX}, {-FLT_MAX, -FLT_MAX}};
    for (uint32_t place = chunk * COLLIDE_CHUNK; place < end && place < capacity; place++) {
        uint32_t index =
            place >= trail->first ? place - trail->first : place + capacity - trail->first;
        if (index >= trail->count) {
            continue;
        }
        uint32_t before = place > 0 ? place - 1 : capacity - 1;
        struct arb_vec2 nearer =
            index == 0 ? (struct arb_vec2){owner->x, owner->y} : points[before];
        box = joined(joined(box, nearer), points[place]);
    }
    return (b2AABB){{box.lowerBound.x - grow, box.lowerBound.y - grow},
                    {box.upperBound.x + grow, box.upperBound.y + grow}};
}

/* How many of the body's points, from the newest on, are not where they were when its boxes were
 * made. */
static uint32_t new_points(const struct collide *collide, const struct collide_trail *trail,
                           struct arb_key key, const struct world_body *now)
{
    uint32_t capacity = collide->body_points;
    uint32_t pushed = (trail->first + capacity - now->first) % capacity;
    bool follows = arb_key_equal(trail->key, key) && now->count <= trail->count + pushed &&
                   pushed <= now->count;
    return follows ? pushed : now->count;
}

/* Points of a body stay at their ring places: the boxes of new points change, and that of the one
 * that was the first before, whose segment now ends elsewhere. The others may be too large by the
 * points that the body has lost. */
static void add_trail(struct collide *collide, const struct world *world, uint32_t body)
{
    const struct world_body *now = &world->bodies[body];
    struct collide_trail *trail = &collide->trails[body];
    const struct world_entity *owner = now->used ? &world->entities[now->entity] : NULL;
    if (owner == NULL || !owner->alive || (owner->flags & WORLD_ENTITY_REMOVED) ||
        collide->kinds[owner->kind].category == 0) {
        trail->key = ARB_KEY_NONE;
        return;
    }
    struct arb_key key = world_key(world, owner);
    uint32_t renewed = new_points(collide, trail, key, now) + 1;
    *trail = (struct collide_trail){.key = key, .first = now->first, .count = now->count};
    b2AABB *boxes = &collide->chunk_boxes[(size_t)body * collide->chunk_count];
    uint32_t bit = collide_bit(owner->kind, COLLIDE_BODY);
    for (uint32_t index = 0; index < now->count;) {
        uint32_t place = now->first + index;
        place -= place >= collide->body_points ? collide->body_points : 0;
        uint32_t chunk = place / COLLIDE_CHUNK;
        if (index < renewed) {
            boxes[chunk] = chunk_box(collide, world, body, chunk);
        }
        /* A ring that is full comes back to the chunk it began in. */
        uint32_t end = (chunk + 1) * COLLIDE_CHUNK;
        end = end < collide->body_points ? end : collide->body_points;
        bool again = index > 0 && chunk == now->first / COLLIDE_CHUNK;
        if (!again) add_part(collide, boxes[chunk], bit, collide_chunk_data(body, chunk));
        index += end - place;
    }
}

/* Bodies lie far apart in memory, and of most only the newest points are looked at. */
static void fetch_trail(const struct collide *collide, const struct world *world, uint32_t body)
{
    if (body >= collide->body_capacity || !world->bodies[body].used) return;
    uint32_t first = world->bodies[body].first;
    size_t chunk = (size_t)body * collide->chunk_count + first / COLLIDE_CHUNK;
    __builtin_prefetch(&world->points[(size_t)body * collide->body_points + first]);
    __builtin_prefetch(&collide->chunk_boxes[chunk], 1);
}

/* ---- the sort ---- */

/* Without a call: the cast cuts towards zero, below zero that is one too high. */
static int32_t cell_of(const struct collide_grid *grid, float v)
{
    float cells = v * grid->cells_per_m;
    int32_t cut = (int32_t)cells;
    return cut - (cells < (float)cut ? 1 : 0);
}

static uint32_t bucket_of(const struct collide_grid *grid, const b2AABB *box)
{
    float x = (box->lowerBound.x + box->upperBound.x) * 0.5F;
    float y = (box->lowerBound.y + box->upperBound.y) * 0.5F;
    return ((uint32_t)cell_of(grid, y) & grid->mask) << grid->shift |
           ((uint32_t)cell_of(grid, x) & grid->mask);
}

/* Cells and buckets follow from the parts: about two buckets for each. */
static void choose_cells(struct collide_grid *grid)
{
    float count = (float)(grid->part_count > 0 ? grid->part_count : 1);
    float cell_m = grid->half_sum / count * CELL_EXTENTS;
    cell_m = cell_m > CELL_MIN ? cell_m : CELL_MIN;
    grid->cells_per_m = 1.0F / cell_m;
    grid->half_limit = cell_m;
    grid->shift = SHIFT_MIN;
    while (grid->shift < SHIFT_MAX && (1U << (2 * grid->shift)) < 2 * grid->part_count) {
        grid->shift++;
    }
    grid->mask = (1U << grid->shift) - 1;
}

/* A large one goes into the bucket behind the last. */
static void count_parts(struct collide *collide)
{
    struct collide_grid *grid = &collide->grid;
    uint32_t buckets = 1U << (2 * grid->shift);
    memset(grid->starts, 0, ((size_t)buckets + 2) * sizeof grid->starts[0]);
    grid->half_most = 0.0F;
    for (uint32_t i = 0; i < grid->part_count; i++) {
        float half = collide->halves[i];
        bool is_large = half > grid->half_limit;
        if (!is_large && half > grid->half_most) grid->half_most = half;
        uint32_t bucket = is_large ? buckets : bucket_of(grid, &grid->parts[i].box);
        collide->buckets[i] = bucket;
        grid->starts[bucket]++;
    }
}

static void sort_parts(struct collide *collide)
{
    struct collide_grid *grid = &collide->grid;
    choose_cells(grid);
    count_parts(collide);
    uint32_t sum = 0, buckets = (1U << (2 * grid->shift)) + 1;
    for (uint32_t i = 0; i < buckets; i++) {
        sum += grid->starts[i];
        grid->starts[i] = sum;
    }
    grid->starts[buckets] = sum;
    for (uint32_t i = grid->part_count; i-- > 0;) {
        grid->sorted[--grid->starts[collide->buckets[i]]] = grid->parts[i];
    }
}

void collide_refit(struct collide *collide, const struct world *world)
{
    ARB_ASSERT(world->head->entity_capacity == collide->entity_capacity);
    collide->grid.part_count = 0;
    collide->grid.half_sum = 0.0F;
    for (uint32_t id = 0, seen = 0; seen < world->head->entity_count; id++) {
        const struct world_entity *entity = &world->entities[id];
        if (entity->alive) {
            seen++;
            add_circle(collide, entity, id);
        }
    }
    enum { AHEAD = 6 }; /* bodies */
    for (uint32_t body = 0; body < collide->body_capacity; body++) {
        fetch_trail(collide, world, body + AHEAD);
        add_trail(collide, world, body);
    }
    sort_parts(collide);
}

/* ---- queries ---- */

struct span {
    uint32_t first, count; /* buckets of one axis, modulo the side */
};

static struct span span_of(const struct collide_grid *grid, float low, float high)
{
    float reach = grid->half_most + SLACK;
    int32_t first = cell_of(grid, low - reach), last = cell_of(grid, high + reach);
    uint32_t count = (uint32_t)(last - first) + 1;
    return (struct span){(uint32_t)first & grid->mask,
                         count <= grid->mask ? count : grid->mask + 1};
}

bool collide_boxes_apart(b2AABB a, b2AABB b)
{
    return a.lowerBound.x > b.upperBound.x || b.lowerBound.x > a.upperBound.x ||
           a.lowerBound.y > b.upperBound.y || b.lowerBound.y > a.upperBound.y;
}

static void look(const struct collide_grid *grid, uint32_t first, uint32_t end, b2AABB box,
                 uint32_t bits, collide_found *found, void *context)
{
    for (uint32_t i = first; i < end; i++) {
        const struct collide_leaf *part = &grid->sorted[i];
        if ((part->bit & bits) != 0 && !collide_boxes_apart(part->box, box)) {
            found(context, part);
        }
    }
}

void collide_query(const struct collide *collide, b2AABB box, uint32_t bits, collide_found *found,
                   void *context)
{
    const struct collide_grid *grid = &collide->grid;
    struct span across = span_of(grid, box.lowerBound.x, box.upperBound.x);
    struct span along = span_of(grid, box.lowerBound.y, box.upperBound.y);
    uint32_t until_wrap = grid->mask + 1 - across.first;
    uint32_t straight = across.count < until_wrap ? across.count : until_wrap;
    for (uint32_t i = 0; i < along.count; i++) {
        uint32_t row = ((along.first + i) & grid->mask) << grid->shift;
        const uint32_t *starts = &grid->starts[row];
        look(grid, starts[across.first], starts[across.first + straight], box, bits, found,
             context);
        if (straight < across.count) {
            look(grid, starts[0], starts[across.count - straight], box, bits, found, context);
        }
    }
    uint32_t buckets = 1U << (2 * grid->shift);
    look(grid, grid->starts[buckets], grid->starts[buckets + 1], box, bits, found, context);
}

uint32_t collide_wanted(const struct collide *collide, uint32_t circles, uint32_t bodies)
{
    uint32_t bits = 0;
    for (uint8_t kind = 0; kind < ARB_KINDS_MAX; kind++) {
        uint32_t category = collide->kinds[kind].category;
        bits |= (category & circles) != 0 ? collide_bit(kind, COLLIDE_CIRCLE) : 0;
        bits |= (category & bodies) != 0 ? collide_bit(kind, COLLIDE_BODY) : 0;
    }
    return bits;
}

/* ---- creation ---- */

void collide_forget_bodies(struct collide *collide)
{
    for (uint32_t body = 0; body < collide->body_capacity; body++) {
        collide->trails[body] = (struct collide_trail){.key = ARB_KEY_NONE};
    }
}

void collide_rebuild(struct collide *collide, const struct world *world)
{
    collide_forget_bodies(collide);
    collide_refit(collide, world);
}

struct collide *collide_create(struct arb_arena *arena, const struct collide_kind *kinds,
                               uint8_t kind_count, const struct world_capacity *capacity,
                               uint32_t contact_max)
{
    ARB_ASSERT(kind_count <= ARB_KINDS_MAX);
    struct collide *collide = arb_arena_take(arena, sizeof *collide);
    for (uint8_t i = 0; i < kind_count; i++) {
        collide->kinds[i] = kinds[i];
    }
    for (uint8_t i = 0; i < kind_count; i++) {
        collide->wanted[i] = collide_wanted(collide, kinds[i].mask, kinds[i].body_mask);
    }
    collide->contact_max = contact_max;
    collide->entity_capacity = capacity->entities;
    collide->body_capacity = capacity->bodies;
    collide->body_points = capacity->body_points;
    collide->chunk_count = (capacity->body_points + COLLIDE_CHUNK - 1U) / COLLIDE_CHUNK;
    size_t chunks = (size_t)capacity->bodies * collide->chunk_count;
    size_t parts = capacity->entities + chunks;
    struct collide_grid *grid = &collide->grid;
    grid->capacity = (uint32_t)parts;
    grid->parts = arb_arena_take_array(arena, parts, sizeof grid->parts[0]);
    grid->sorted = arb_arena_take_array(arena, parts, sizeof grid->sorted[0]);
    grid->starts =
        arb_arena_take_array(arena, ((size_t)1 << (2 * SHIFT_MAX)) + 2, sizeof grid->starts[0]);
    collide->halves = arb_arena_take_array(arena, parts, sizeof collide->halves[0]);
    collide->buckets = arb_arena_take_array(arena, parts, sizeof collide->buckets[0]);
    collide->trails = arb_arena_take_array(arena, capacity->bodies, sizeof collide->trails[0]);
    collide->chunk_boxes = arb_arena_take_array(arena, chunks, sizeof collide->chunk_boxes[0]);
    collide->contacts = arb_arena_take_array(arena, contact_max, sizeof collide->contacts[0]);
    collide->found =
        arb_arena_take_array(arena, 2 * (size_t)capacity->entities, sizeof collide->found[0]);
    collide->marks = arb_arena_take_array(arena, capacity->entities, sizeof collide->marks[0]);
    collide_forget_bodies(collide);
    return collide;
}
