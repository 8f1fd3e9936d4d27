/* Bodies: the path that a head travelled, in evenly spaced points (spec/simulation.md "Movement").
 */
#include "server/world/world.h"

#include "server/world/world_internal.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

static struct arb_vec2 *body_points(const struct world *world, uint16_t body)
{
    return &world->points[(size_t)body * world->head->body_points];
}

static struct world_body *body_at(const struct world *world, uint16_t body)
{
    ARB_ASSERT(body < world->head->body_capacity && world->bodies[body].used);
    return &world->bodies[body];
}

static struct arb_vec2 *ring_point(const struct world *world, uint16_t body, uint32_t index)
{
    const struct world_body *b = &world->bodies[body];
    return &body_points(world, body)[(b->first + index) % world->head->body_points];
}

uint16_t world_body_create(struct world *world, struct arb_key head, float spacing, float length)
{
    ARB_ASSERT(spacing > 0.0F && length >= 0.0F);
    for (uint16_t i = 0; i < world->head->body_capacity; i++) {
        struct world_body *body = &world->bodies[i];
        if (!body->used) {
            *body = (struct world_body){
                .entity = head.id, .used = 1, .length = length, .spacing = spacing};
            return i;
        }
    }
    return WORLD_NO_BODY;
}

void world_body_free(struct world *world, uint16_t body)
{
    struct world_body *b = body_at(world, body);
    memset(body_points(world, body), 0, world->head->body_points * sizeof(struct arb_vec2));
    memset(b, 0, sizeof *b);
}

static void push_point(struct world *world, uint16_t body, struct arb_vec2 point)
{
    struct world_body *b = &world->bodies[body];
    uint16_t capacity = world->head->body_points;
    if (b->count == capacity) {
        b->count--; /* the oldest gives way: capacity bounds the length (rules->capacity) */
    }
    b->first = (uint16_t)((b->first + capacity - 1) % capacity);
    b->count++;
    *ring_point(world, body, 0) = point;
}

/* Points behind the first one at or past the length are no longer part of the body. */
static void cut_tail(struct world *world, uint16_t body)
{
    struct world_body *b = &world->bodies[body];
    while (b->count >= 2 && b->along + (float)(b->count - 2) * b->spacing >= b->length) {
        *ring_point(world, body, (uint32_t)b->count - 1) = (struct arb_vec2){0, 0};
        b->count--;
    }
}

void world_body_advance(struct world *world, uint16_t body, struct arb_vec2 from,
                        struct arb_vec2 to)
{
    struct world_body *b = body_at(world, body);
    ARB_ASSERT(world->head->body_points >= 2);
    if (b->count == 0) {
        push_point(world, body, from);
    }
    float step = arb_vec2_distance(from, to);
    float done = 0.0F; /* of this step */
    while (step - done >= b->spacing - b->along) {
        done += b->spacing - b->along;
        b->along = 0.0F;
        push_point(world, body, arb_vec2_mul_add(from, done / step, arb_vec2_sub(to, from)));
    }
    b->along += step - done;
    cut_tail(world, body);
}

void world_body_set_length(struct world *world, uint16_t body, float length)
{
    ARB_ASSERT(length >= 0.0F);
    body_at(world, body)->length = length;
    cut_tail(world, body);
}

uint32_t world_body_count(const struct world *world, uint16_t body)
{
    return body_at(world, body)->count;
}

struct arb_vec2 world_body_point(const struct world *world, uint16_t body, uint32_t index,
                                 struct arb_vec2 head)
{
    const struct world_body *b = body_at(world, body);
    ARB_ASSERT(index < b->count);
    struct arb_vec2 point = *ring_point(world, body, index);
    float at = b->along + (float)index * b->spacing; /* m behind the head, along the path */
    if (at <= b->length) {
        return point;
    }
    struct arb_vec2 nearer = index == 0 ? head : *ring_point(world, body, index - 1);
    float gap = index == 0 ? b->along : b->spacing;
    float keep = (b->length - (at - gap)) / gap; /* 0..1 of the last stretch */
    return arb_vec2_mul_add(nearer, keep, arb_vec2_sub(point, nearer));
}

uint32_t world_body_points(const struct world *world, uint16_t body, struct arb_vec2 head,
                           struct arb_vec2 points[ARB_BODY_POINTS_MAX])
{
    const struct world_body *b = body_at(world, body);
    const struct arb_vec2 *ring = body_points(world, body);
    uint32_t until_wrap = (uint32_t)world->head->body_points - b->first;
    uint32_t straight = b->count < until_wrap ? b->count : until_wrap;
    memcpy(points, ring + b->first, straight * sizeof *points);
    memcpy(points + straight, ring, (b->count - straight) * sizeof *points);
    /* Only the last ones can lie past the length. */
    for (uint32_t i = b->count; i-- > 0;) {
        if (b->along + (float)i * b->spacing <= b->length) break;
        points[i] = world_body_point(world, body, i, head);
    }
    return b->count;
}
