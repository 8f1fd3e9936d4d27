/* Projectiles on the screen (spec/lag-compensation.md "More than rays", spec/client.md). All of
 * them fly on the drawn time: one is where its path says at the moment that is drawn of everybody
 * else, so what it is seen to touch is what the server lets it meet. The own ones fly from the
 * moment of the press, before the server knows of it, along the path that the server will give
 * them; later the entity takes over, found by the action id. Never decides whom one hits.
 */
#ifndef ARB_CLIENT_PROJECTILES_H
#define ARB_CLIENT_PROJECTILES_H

#include "shared/base/arb_types.h"
#include "shared/move/arb_path.h"
#include "shared/proto/arb_schema.h"

enum { ARB_CLIENT_PROJECTILES = 64, ARB_CLIENT_IMPACTS = 64 };

enum arb_shadow_stage {
    ARB_SHADOW_FREE = 0,
    ARB_SHADOW_PREDICTED, /* the server has not told of it */
    ARB_SHADOW_CONFIRMED, /* it has; the drawn time has not reached the entity */
    ARB_SHADOW_HANDED,    /* the entity is drawn; what was off fades */
};

/* An own projectile as it was predicted. */
struct arb_shadow {
    enum arb_shadow_stage stage;
    struct arb_published state; /* as the entity will be; key none */
    struct arb_path path;
    arb_fine end;           /* of its flight */
    arb_tick target_tick;   /* in which the server fires it */
    struct arb_key key;     /* of its entity, from ARB_SHADOW_CONFIRMED on */
    arb_tick seen_tick;     /* of the snapshot that had it first */
    struct arb_vec2 offset; /* m, of what is drawn from the entity's path */
    uint64_t offset_ns;     /* when it was that */
};

/* Where one ended at a character, by the server's word. */
struct arb_impact {
    uint16_t slot, action;
    uint8_t pellet;
    arb_fine at; /* 0: none */
};

struct arb_client_projectiles {
    struct arb_shadow shadows[ARB_CLIENT_PROJECTILES];
    uint32_t next_shadow;
    uint32_t shadow_count; /* of those that are not free */
    struct arb_impact impacts[ARB_CLIENT_IMPACTS];
    uint32_t next_impact;
};

struct arbiter_client;
struct arb_held_place;
struct arb_pending;

/* An input was made and predicted: if it fired projectiles, they fly. */
void arb_client_projectiles_fire(struct arbiter_client *client, const struct arb_pending *pending);
/* A snapshot was committed. */
void arb_client_projectiles_commit(struct arbiter_client *client);
/* At once, not when the drawn time reaches the event: its moment is earlier. `near`: the event's
 * tick. */
void arb_client_projectiles_impact(struct arbiter_client *client, uint16_t slot, uint16_t action,
                                   uint8_t pellet, uint32_t moment, arb_tick near);
/* Draws the predicted ones, and forgets those that the server does not tell of. */
void arb_client_projectiles_draw(struct arbiter_client *client, const struct arb_held_place *place);
/* An entity with a path, as of `tick`, has ended before the drawn time. */
bool arb_client_projectile_ended(const struct arbiter_client *client,
                                 const struct arb_published *state, arb_tick tick, arb_fine at);
/* What is added to its place, m. */
struct arb_vec2 arb_client_projectile_offset(const struct arbiter_client *client,
                                             struct arb_key key);

#endif
