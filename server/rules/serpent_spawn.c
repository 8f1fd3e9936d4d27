/* Where a new serpent begins: away from heads and bodies, with a free way before it. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include "shared/base/arb_math.h"

#include <math.h>

/* Distance to the nearest part of that serpent's middle line; what is `enough` away anyway is not
 * looked at closely. */
static float distance_to(const struct world *world, const struct world_entity *head,
                         struct arb_vec2 at, float enough)
{
    struct arb_vec2 centre = {head->x, head->y};
    float nearest = arb_vec2_distance(at, centre);
    const struct world_body *body = serpent_body(world, head);
    if (nearest - body->length >= enough) {
        return nearest - body->length; /* no part of it can be nearer */
    }
    uint32_t count = world_body_count(world, head->body);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 point = world_body_point(world, head->body, i, centre);
        nearest = fminf(nearest, arb_vec2_distance(at, point));
    }
    return nearest;
}

/* Room beyond the wanted clearance. */
static float serpent_room(const struct rules_context *context, uint16_t slot, struct arb_vec2 at)
{
    const struct world *world = context->world;
    float wanted = serpent_params(context)->spawn_clearance_m;
    float room = INFINITY;
    for (uint16_t other = 0; other < world->head->player_capacity; other++) {
        const struct world_entity *head = serpent_head(world, other);
        if (head != NULL && other != slot) {
            room = fminf(room, distance_to(world, head, at, room + wanted) - wanted);
        }
    }
    return room;
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
    serpent_score(context, slot, 0);
    return true;
}
