/* The narrow phase: exact swept tests of the candidates, and the sorted list. */
#include "server/collide/collide.h"

#include "server/collide/collide_internal.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/move/arb_convex.h"

#include <string.h>

/* ---- exact tests ---- */

static const struct arb_convex origin_point = {.count = 1};

/* A point that goes from `from` to `to` against a core rounded by `radius`: first touch. Both ends
 * are tested by distance, so that touching exactly at an end does not hang on the rounding of a
 * cast. */
static bool touches(const struct arb_convex *core, float radius, struct arb_vec2 from,
                    struct arb_vec2 to, float *fraction)
{
    struct arb_vec2 normal;
    *fraction = 0.0F;
    if (arb_convex_distance(core, from, &normal) <= radius) {
        return true;
    }
    if (arb_convex_cast(core, radius, from, arb_vec2_sub(to, from), fraction)) {
        return true;
    }
    *fraction = 1.0F;
    return arb_convex_distance(core, to, &normal) <= radius;
}

static struct arb_vec2 place_of(const struct world_entity *entity)
{
    return (struct arb_vec2){entity->x, entity->y};
}

static struct arb_vec2 previous_of(const struct world_entity *entity)
{
    return (struct arb_vec2){entity->previous_x, entity->previous_y};
}

/* Both move: the mover goes past the other, which stands at the origin. */
static bool circles_touch(const struct world_entity *mover, const struct world_entity *other,
                          float *fraction)
{
    return touches(&origin_point, mover->radius + other->radius,
                   arb_vec2_sub(previous_of(mover), previous_of(other)),
                   arb_vec2_sub(place_of(mover), place_of(other)), fraction);
}

/* ---- contacts ---- */

struct search {
    struct collide *collide;
    const struct world *world;
    const struct world_entity *mover;
    uint32_t mover_id;
    b2AABB box; /* of the mover's way */
    uint32_t count;
};

static struct arb_key key_of(const struct world *world, uint32_t id)
{
    return (struct arb_key){(uint16_t)id, world->entities[id].generation};
}

static void add_found(struct search *search, const struct collide_contact *contact)
{
    ARB_ASSERT(search->count < 2 * search->collide->entity_capacity);
    search->collide->found[search->count++] = *contact;
}

static void try_circle(struct search *search, uint32_t id)
{
    const struct collide_kind *kinds = search->collide->kinds;
    const struct world_entity *other = &search->world->entities[id];
    bool asks_back = (kinds[other->kind].mask & kinds[search->mover->kind].category) != 0;
    if (id == search->mover_id || (asks_back && id < search->mover_id)) {
        return; /* the lower key has reported it, or will */
    }
    struct collide_contact contact = {.mover = key_of(search->world, search->mover_id),
                                      .other = key_of(search->world, id),
                                      .part = COLLIDE_CIRCLE};
    if (circles_touch(search->mover, other, &contact.fraction)) {
        add_found(search, &contact);
    }
}

static bool earlier(const struct collide_contact *a, const struct collide_contact *b)
{
    return a->fraction != b->fraction ? a->fraction < b->fraction : a->segment < b->segment;
}

/* One contact per body: the pieces of one come as separate leaves. */
static void add_earliest(struct search *search, const struct collide_contact *contact)
{
    for (uint32_t i = 0; i < search->count; i++) {
        struct collide_contact *known = &search->collide->found[i];
        if (known->part == COLLIDE_BODY && known->other.id == contact->other.id) {
            if (earlier(contact, known)) {
                *known = *contact;
            }
            return;
        }
    }
    add_found(search, contact);
}

static void try_chunk(struct search *search, uint32_t body, uint32_t chunk)
{
    uint32_t owner_id = search->world->bodies[body].entity;
    if (owner_id == search->mover_id) {
        return;
    }
    const struct world_entity *owner = &search->world->entities[owner_id];
    float radius = search->collide->kinds[owner->kind].body_radius;
    struct collide_contact contact = {.mover = key_of(search->world, search->mover_id),
                                      .other = key_of(search->world, owner_id),
                                      .part = COLLIDE_BODY};
    for (uint32_t i = 0; i < COLLIDE_CHUNK; i++) {
        uint32_t place = chunk * COLLIDE_CHUNK + i, segment;
        struct arb_vec2 a, b;
        if (place >= search->collide->body_points ||
            !collide_segment(search->world, body, place, &segment, &a, &b) ||
            collide_boxes_apart(search->box, collide_circle_box(a, b, radius))) {
            continue;
        }
        struct arb_convex capsule;
        arb_convex_from_capsule(&capsule, a, b, radius);
        if (touches(&capsule, radius + search->mover->radius, previous_of(search->mover),
                    place_of(search->mover), &contact.fraction)) {
            contact.segment = (uint16_t)segment;
            add_earliest(search, &contact);
        }
    }
}

static void try_leaf(void *context, const struct collide_leaf *leaf)
{
    if (collide_is_chunk(leaf)) {
        try_chunk(context, leaf->data >> 16, leaf->data & 0xFFFF);
    } else {
        try_circle(context, leaf->data);
    }
}

static bool comes_before(const struct collide_contact *a, const struct collide_contact *b)
{
    uint32_t key_a = arb_key_order(a->other), key_b = arb_key_order(b->other);
    return key_a != key_b ? key_a < key_b : a->part < b->part;
}

/* Shell's sort: the C library's may allocate. No two are equal. */
static void sort(struct collide_contact *list, uint32_t count)
{
    static const uint32_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        uint32_t gap = gaps[g];
        for (uint32_t i = gap; i < count; i++) {
            struct collide_contact one = list[i];
            uint32_t at = i;
            for (; at >= gap && comes_before(&one, &list[at - gap]); at -= gap) {
                list[at] = list[at - gap];
            }
            list[at] = one;
        }
    }
}

const struct collide_contact *collide_contacts(struct collide *collide, const struct world *world,
                                               uint32_t *count)
{
    uint32_t total = 0, seen = 0;
    for (uint32_t id = 0; seen < world->head->entity_count; id++) {
        const struct world_entity *mover = &world->entities[id];
        if (!mover->alive) {
            continue;
        }
        seen++;
        uint32_t wanted = collide->wanted[mover->kind];
        if (wanted == 0 || (mover->flags & WORLD_ENTITY_REMOVED)) {
            continue;
        }
        struct search search = {.collide = collide, .world = world, .mover = mover, .mover_id = id};
        search.box = collide_circle_box(previous_of(mover), place_of(mover), mover->radius);
        collide_query(collide, search.box, wanted, try_leaf, &search);
        sort(collide->found, search.count);
        uint32_t room = collide->contact_max - total;
        uint32_t taken = search.count < room ? search.count : room;
        memcpy(&collide->contacts[total], collide->found, taken * sizeof collide->found[0]);
        total += taken;
        collide->dropped += search.count - taken;
    }
    *count = total;
    return collide->contacts;
}

uint64_t collide_dropped(const struct collide *collide)
{
    return collide->dropped;
}

/* ---- areas ---- */

struct area {
    struct collide *collide;
    const struct world *world;
    struct arb_vec2 centre;
    float radius;
};

static bool chunk_within(const struct area *area, uint32_t body, uint32_t chunk, float body_radius)
{
    for (uint32_t i = 0; i < COLLIDE_CHUNK; i++) {
        uint32_t place = chunk * COLLIDE_CHUNK + i, segment;
        struct arb_vec2 a, b, normal;
        if (place < area->collide->body_points &&
            collide_segment(area->world, body, place, &segment, &a, &b)) {
            struct arb_convex capsule;
            arb_convex_from_capsule(&capsule, a, b, body_radius);
            if (arb_convex_distance(&capsule, area->centre, &normal) <=
                area->radius + body_radius) {
                return true;
            }
        }
    }
    return false;
}

static void mark_leaf(void *context, const struct collide_leaf *leaf)
{
    struct area *area = context;
    uint32_t id = leaf->data;
    bool within;
    if (collide_is_chunk(leaf)) {
        uint32_t body = leaf->data >> 16;
        id = area->world->bodies[body].entity;
        float radius = area->collide->kinds[area->world->entities[id].kind].body_radius;
        within = chunk_within(area, body, leaf->data & 0xFFFF, radius);
    } else {
        const struct world_entity *entity = &area->world->entities[id];
        float reach = area->radius + entity->radius;
        within = arb_vec2_distance(area->centre, place_of(entity)) <= reach;
    }
    area->collide->marks[id] |= within;
}

uint32_t collide_overlap(struct collide *collide, const struct world *world, struct arb_vec2 centre,
                         float radius, uint32_t categories, struct arb_key *keys, uint32_t capacity)
{
    /* Asked between the stages too, when something has just been spawned or removed. */
    collide_refit(collide, world);
    memset(collide->marks, 0, collide->entity_capacity);
    struct area area = {.collide = collide, .world = world, .centre = centre, .radius = radius};
    collide_query(collide, collide_circle_box(centre, centre, radius),
                  collide_wanted(collide, categories, categories), mark_leaf, &area);
    uint32_t count = 0;
    for (uint32_t id = 0; id < collide->entity_capacity && count < capacity; id++) {
        if (collide->marks[id]) {
            keys[count++] = key_of(world, id);
        }
    }
    return count;
}
