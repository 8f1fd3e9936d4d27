/* Where a new serpent begins: away from heads and bodies, with a free way before it. How far each
 * place is from the nearest of them is the room beyond the wanted clearance. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include "shared/base/arb_math.h"

#include <math.h>

/* Everybody who has a serpent, before the first choice of a tick. */
static void fill_crowd(const struct rules_context *context)
{
    const struct world *world = context->world;
    if (rules_crowd_is_filled(context->crowd)) return;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        const struct world_entity *head = serpent_head(world, slot);
        if (head == NULL) continue;
        struct arb_vec2 at = {head->x, head->y};
        rules_crowd_add(context->crowd, slot, at, serpent_body(world, head)->length);
    }
    rules_crowd_set_filled(context->crowd);
}

/* One who looks for room. */
struct serpent_look {
    const struct world *world;
    struct arb_vec2 at;
    float nearest; /* m, to a part of the middle line of any so far */
    float least;   /* m; so near the place is no better than another one */
};

/* What is farther away than the nearest with all of its length is not looked at closely. */
static float look_at_serpent(void *asker, uint16_t other)
{
    struct serpent_look *look = asker;
    const struct world *world = look->world;
    const struct world_entity *head = serpent_head(world, other);
    struct arb_vec2 centre = {head->x, head->y};
    float distance = arb_vec2_distance(look->at, centre);
    if (distance - serpent_body(world, head)->length > look->nearest) return look->nearest;
    look->nearest = fminf(look->nearest, distance);
    uint32_t count = world_body_count(world, head->body);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 point = world_body_point(world, head->body, i, centre);
        look->nearest = fminf(look->nearest, arb_vec2_distance(look->at, point));
    }
    return look->nearest <= look->least ? -INFINITY : look->nearest;
}

float serpent_room(const struct rules_context *context, uint16_t slot, struct arb_vec2 at,
                   float least)
{
    (void)slot; /* has none yet */
    float wanted = serpent_params(context)->spawn_clearance_m;
    struct serpent_look look = {
        .world = context->world, .at = at, .nearest = INFINITY, .least = least};
    fill_crowd(context);
    rules_crowd_around(context->crowd, at, INFINITY, look_at_serpent, &look);
    return look.nearest - wanted;
}

/* The heading with the longest way without walls among random ones, or the first that has enough.
 */
static float free_heading(const struct rules_context *context, struct arb_vec2 at)
{
    const struct serpent_params *params = serpent_params(context);
    struct arb_rng *rng = world_stream(context->world, WORLD_STREAM_SPAWN);
    float best = 0.0F, best_way = -1.0F;
    for (int32_t i = 0; i < params->spawn_candidates; i++) {
        float heading = arb_rng_range(rng, -ARB_PI, ARB_PI);
        struct arb_vec2 way = arb_vec2_scale(arb_move_direction(heading), params->spawn_ahead_m);
        float fraction = 1.0F;
        bool touches =
            arb_geometry_sweep(context->geometry, params->head_radius_m, at, way, &fraction);
        if (!touches) {
            return heading;
        }
        if (fraction > best_way) {
            best_way = fraction;
            best = heading;
        }
    }
    return best;
}

bool serpent_spawn(struct rules_context *context, uint16_t slot)
{
    struct world *world = context->world;
    const struct serpent_params *params = serpent_params(context);
    struct arb_hull hull = {.radius = params->head_radius_m};
    struct rules_spawn spawn = {slot, hull, (uint32_t)params->spawn_candidates, serpent_room};
    struct arb_vec2 at;
    if (!rules_spawn_point(context, &spawn, &at)) {
        return false;
    }
    struct arb_key key = world_spawn(world, ARB_SERPENT_HEAD);
    struct world_entity *head = world_find(world, key);
    if (head == NULL) {
        return false;
    }
    head->body = world_body_create(world, key, params->body_spacing_m, params->start_length_m);
    if (head->body == WORLD_NO_BODY) {
        world_remove(world, key);
        return false;
    }
    struct world_player *player = &world->players[slot];
    rules_bind(context, slot, key);
    player->respawn_tick = 0;
    player->own.x = at.x;
    player->own.y = at.y;
    player->own.heading = free_heading(context, at);

    head->owner = slot;
    head->team = player->team;
    head->x = head->previous_x = at.x;
    head->y = head->previous_y = at.y;
    head->heading = player->own.heading;
    head->radius = params->head_radius_m;
    if (rules_crowd_is_filled(context->crowd)) {
        rules_crowd_add(context->crowd, slot, at, serpent_body(world, head)->length);
    }
    serpent_score(context, slot, 0);
    return true;
}
