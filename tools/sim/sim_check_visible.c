/* visible_sets: what interest says a player sees, against a search of all entities, with nothing
 * but the published frame and the set of the snapshot before (spec/replication.md "Interest"). On a
 * sample of the ticks: it costs entities times players. */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_math.h"
#include "shared/view/arb_drawn.h"

static float reach_of(const struct collide_kind *collide, const struct rewind_kind *rewind)
{
    float reach = collide->body_radius;
    for (uint8_t i = 0; i < rewind->count; i++) {
        const struct rewind_shape *shape = &rewind->shapes[i];
        float ends[2] = {arb_vec2_length(shape->a), arb_vec2_length(shape->b)};
        for (int end = 0; end < 2; end++) {
            if (ends[end] + shape->radius > reach) reach = ends[end] + shape->radius;
        }
    }
    return reach;
}

void sim_visible_begin(struct sim_checks *checks)
{
    struct collide_kind collide[ARB_KINDS_MAX] = {0};
    struct rewind_kind rewind[ARB_KINDS_MAX] = {0};
    const struct rules *rules = sim_rules(checks->sim);
    rules->collide_kinds(sim_params(checks->sim), collide);
    rules->rewind_kinds(sim_params(checks->sim), rewind);
    for (uint8_t kind = 0; kind < rules->schema->kind_count; kind++) {
        checks->reach_of_kind[kind] = reach_of(&collide[kind], &rewind[kind]);
    }
}

/* Was it near at the snapshot before? Both lists ascend, so `at` only goes on. */
static bool was_near(const struct sim_seat *seat, uint32_t order, uint32_t *at)
{
    while (*at < seat->near_count && seat->near[*at] < order) {
        (*at)++;
    }
    return *at < seat->near_count && seat->near[*at] == order;
}

static bool within(const struct arb_point *point, float unit, struct arb_vec2 eye, double radius)
{
    double dx = (double)((float)point->x * unit) - (double)eye.x;
    double dy = (double)((float)point->y * unit) - (double)eye.y;
    return dx * dx + dy * dy <= radius * radius;
}

static bool is_near(const struct sim_checks *checks, const struct match_sight *sight,
                    const struct arb_published *entity, bool seen)
{
    const struct match_config *config = &checks->sim->config.match;
    const struct arb_kind *kind = &sim_rules(checks->sim)->schema->kinds[entity->kind];
    float unit = kind->fields[kind->x].unit;
    double radius = (double)(seen ? config->interest_retain_m : config->interest_enter_m) +
                    (double)checks->reach_of_kind[entity->kind];
    struct arb_vec2 at =
        arb_published_position(kind, entity, sight->frame->tick, (uint32_t)config->tick_rate);
    double dx = (double)at.x - (double)sight->eye.x, dy = (double)at.y - (double)sight->eye.y;
    bool near = dx * dx + dy * dy <= radius * radius;
    for (uint32_t i = 0; i < entity->body_count && !near; i++) {
        near = within(&sight->frame->points[entity->body_first + i], unit, sight->eye, radius);
    }
    return near;
}

/* The own character, what a mode marks for everybody, and the characters of one's team. */
static bool is_always(const struct sim_checks *checks, uint16_t slot, struct arb_key key)
{
    const struct world *world = match_world(checks->sim->match);
    const struct world_player *viewer = &world->players[slot];
    const struct world_entity *entity = &world->entities[key.id];
    return arb_key_equal(viewer->controlled, key) ||
           (entity->flags & WORLD_ENTITY_ALWAYS_RELEVANT) != 0 ||
           (viewer->team != 0 && entity->owner != ARB_NO_SLOT && entity->team == viewer->team);
}

static void look_at_near(struct sim_checks *checks, const struct match_sight *sight)
{
    const struct sim_seat *seat = &checks->seats[sight->slot];
    uint32_t near_at = 0, count = 0;
    for (uint32_t i = 0; i < sight->frame->entity_count; i++) {
        const struct arb_published *entity = &sight->frame->entities[i];
        bool before = was_near(seat, arb_key_order(entity->key), &near_at);
        if (is_always(checks, sight->slot, entity->key) || is_near(checks, sight, entity, before)) {
            checks->expected[count++] = i;
        }
    }
    bool same = count == sight->near_count;
    for (uint32_t i = 0; i < count && same; i++) {
        same = checks->expected[i] == sight->near[i];
    }
    if (!same) {
        sim_violated(checks, SIM_INVARIANT_visible_sets,
                     "slot %u at (%g, %g) has %u entities near it, a search finds %u", sight->slot,
                     (double)sight->eye.x, (double)sight->eye.y, sight->near_count, count);
    }
}

/* Hidden is only a character of somebody else that no straight line from the eye reaches. */
static bool may_be_hidden(const struct sim_checks *checks, const struct match_sight *sight,
                          const struct arb_published *entity)
{
    const struct arb_kind *kind = &sim_rules(checks->sim)->schema->kinds[entity->kind];
    if (kind->owner < 0 || is_always(checks, sight->slot, entity->key)) return false;
    float unit = kind->fields[kind->x].unit;
    struct arb_vec2 way = {(float)entity->q[kind->x] * unit - sight->eye.x,
                           (float)entity->q[kind->y] * unit - sight->eye.y};
    float fraction;
    return arb_geometry_ray(checks->sim->geometry, sight->eye, way, &fraction);
}

static void look_at_hidden(struct sim_checks *checks, const struct match_sight *sight)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < sight->near_count; i++) {
        if (shown < sight->count && sight->visible[shown] == sight->near[i]) {
            shown++;
            continue;
        }
        const struct arb_published *entity = &sight->frame->entities[sight->near[i]];
        if (!may_be_hidden(checks, sight, entity)) {
            sim_violated(checks, SIM_INVARIANT_visible_sets,
                         "slot %u at (%g, %g) is not shown (%u, %u), which it sees", sight->slot,
                         (double)sight->eye.x, (double)sight->eye.y, entity->key.id,
                         entity->key.generation);
        }
    }
    if (shown != sight->count) {
        sim_violated(checks, SIM_INVARIANT_visible_sets, "slot %u is shown what is not near",
                     sight->slot);
    }
}

/* Those who follow the same player share a set, which is older than each one's: all within the
 * enter radius is in it, nothing beyond the other. */
static void look_at_watched(struct sim_checks *checks, const struct match_sight *sight)
{
    uint32_t shown = 0;
    for (uint32_t i = 0; i < sight->frame->entity_count; i++) {
        const struct arb_published *entity = &sight->frame->entities[i];
        bool is_in = shown < sight->count && sight->visible[shown] == i;
        shown += is_in;
        if (!is_near(checks, sight, entity, is_in) == is_in) {
            sim_violated(checks, SIM_INVARIANT_visible_sets,
                         "a spectator at (%g, %g) is %sshown (%u, %u)", (double)sight->eye.x,
                         (double)sight->eye.y, is_in ? "" : "not ", entity->key.id,
                         entity->key.generation);
        }
    }
}

void sim_visible_look(struct sim_checks *checks, const struct match_sight *sight)
{
    struct sim_seat *seat = sim_seat_of_sight(checks, sight);
    if (seat == NULL) return;
    if (sight->slot == ARB_NO_SLOT) {
        if (checks->close_look) look_at_watched(checks, sight);
    } else if (checks->close_look) {
        look_at_near(checks, sight);
        look_at_hidden(checks, sight);
    }
    seat->near_count = sight->near_count;
    for (uint32_t i = 0; i < sight->near_count; i++) {
        seat->near[i] = arb_key_order(sight->frame->entities[sight->near[i]].key);
    }
}
