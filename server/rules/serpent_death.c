/* Who dies in a tick of the serpent mode, and by whom. Three things end a serpent: a wall, a head,
 * a body that is not its own.
 *
 * The written rule. What happened in the tick is judged in order of the moment of touch (the
 * fraction of the tick's motion):
 * - Who died at an earlier moment takes no part any more: neither its head nor its body kills at a
 *   later one, in this tick or after.
 * - What happens at the same moment happens together: both die, and each can be the other's death.
 * - Two heads that meet both die, whatever their length, each by the other. In such a tick the
 * touch of the one's head with the other's body is part of that meeting and counts for nothing
 * more: bodies stand where the tick ended, so the faster of two would be blamed by chance.
 * - Head at body: the head's owner dies by the body's owner. Head at wall: by nobody.
 * - One that dies of several things at one moment dies by a body rather than a head rather than a
 *   wall, and of several killers by the one in the lowest slot.
 * Nothing of this depends on the order of contacts or entities. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include "shared/base/arb_math.h"

struct fate {
    uint16_t killer;
    uint8_t cause; /* enum arb_cause */
    bool dies;
};

struct verdicts {
    struct rules_context *context;
    const struct collide_contact *contacts;
    uint32_t count;
    struct fate fates[ARB_PLAYERS_MAX]; /* by slot, of the moment that is judged */
};

/* Lower decides. */
static int weight(uint8_t cause)
{
    return cause == ARB_CAUSE_BODY ? 0 : cause == ARB_CAUSE_HEAD ? 1 : 2;
}

static void doom(struct verdicts *verdicts, uint16_t victim, uint16_t killer, uint8_t cause)
{
    struct fate *fate = &verdicts->fates[victim];
    int order = weight(cause) - weight(fate->cause);
    if (!fate->dies || order < 0 || (order == 0 && killer < fate->killer)) {
        *fate = (struct fate){killer, cause, true};
    }
}

static const struct world_entity *live_head(const struct verdicts *verdicts, struct arb_key key)
{
    const struct world_entity *entity = world_find(verdicts->context->world, key);
    return entity != NULL && entity->kind == ARB_SERPENT_HEAD ? entity : NULL;
}

static bool heads_met(const struct verdicts *verdicts, struct arb_key a, struct arb_key b)
{
    for (uint32_t i = 0; i < verdicts->count; i++) {
        const struct collide_contact *contact = &verdicts->contacts[i];
        bool same = (arb_key_equal(contact->mover, a) && arb_key_equal(contact->other, b)) ||
                    (arb_key_equal(contact->mover, b) && arb_key_equal(contact->other, a));
        if (same && contact->part == COLLIDE_CIRCLE) {
            return true;
        }
    }
    return false;
}

/* A contact that kills, among the living. */
static bool kills(const struct verdicts *verdicts, const struct collide_contact *contact)
{
    if (live_head(verdicts, contact->mover) == NULL ||
        live_head(verdicts, contact->other) == NULL) {
        return false;
    }
    return contact->part == COLLIDE_CIRCLE || !heads_met(verdicts, contact->mover, contact->other);
}

/* Moment at which the head reaches a wall, 2 (later than all) if it does not. */
static float wall_moment(const struct verdicts *verdicts, uint16_t slot)
{
    const struct world_entity *head = serpent_head(verdicts->context->world, slot);
    bool touches = head != NULL && head->values[HEAD_WALL] != 0;
    return touches ? rules_float(head->values[HEAD_WALL] - 1) : 2.0F;
}

/* The earliest moment at which one of the living dies; 2: none does. */
static float next_moment(const struct verdicts *verdicts)
{
    float moment = 2.0F;
    for (uint16_t slot = 0; slot < verdicts->context->world->head->player_capacity; slot++) {
        float wall = wall_moment(verdicts, slot);
        moment = wall < moment ? wall : moment;
    }
    for (uint32_t i = 0; i < verdicts->count; i++) {
        const struct collide_contact *contact = &verdicts->contacts[i];
        if (contact->fraction < moment && kills(verdicts, contact)) {
            moment = contact->fraction;
        }
    }
    return moment;
}

/* All that happens up to that moment, which is the earliest left. */
static void judge(struct verdicts *verdicts, float moment)
{
    const struct world *world = verdicts->context->world;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        verdicts->fates[slot] = (struct fate){0};
        if (wall_moment(verdicts, slot) <= moment) {
            doom(verdicts, slot, ARB_NO_SLOT, ARB_CAUSE_WALL);
        }
    }
    for (uint32_t i = 0; i < verdicts->count; i++) {
        const struct collide_contact *contact = &verdicts->contacts[i];
        if (contact->fraction > moment || !kills(verdicts, contact)) {
            continue;
        }
        uint16_t mover = live_head(verdicts, contact->mover)->owner;
        uint16_t other = live_head(verdicts, contact->other)->owner;
        if (contact->part == COLLIDE_BODY) {
            doom(verdicts, mover, other, ARB_CAUSE_BODY);
        } else {
            doom(verdicts, mover, other, ARB_CAUSE_HEAD);
            doom(verdicts, other, mover, ARB_CAUSE_HEAD);
        }
    }
}

/* The dead turn into food along their body. */
static void leave_remains(struct rules_context *context, const struct world_entity *head)
{
    const struct serpent_params *params = serpent_params(context);
    if (params->death_food_spacing_m <= 0.0F) {
        return;
    }
    struct arb_vec2 at = {head->x, head->y};
    uint32_t count = world_body_count(context->world, head->body);
    uint32_t stride = (uint32_t)arb_quantise(params->death_food_spacing_m / params->body_spacing_m,
                                             1.0F, 1, ARB_BODY_POINTS_MAX);
    for (uint32_t i = 0; i < count; i += stride) {
        serpent_food_leave(context, world_body_point(context->world, head->body, i, at),
                           params->death_food_value);
    }
}

static void carry_out(struct verdicts *verdicts)
{
    struct rules_context *context = verdicts->context;
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        const struct fate *fate = &verdicts->fates[slot];
        if (fate->dies) {
            leave_remains(context, serpent_head(context->world, slot));
            rules_kill(context, slot, fate->killer, (enum arb_cause)fate->cause);
            rules_respawn_after(context, slot, serpent_params(context)->respawn_ms);
        }
    }
}

void serpent_deaths(struct rules_context *context, const struct collide_contact *contacts,
                    uint32_t count)
{
    struct verdicts verdicts = {.context = context, .contacts = contacts, .count = count};
    for (float moment = next_moment(&verdicts); moment <= 1.0F; moment = next_moment(&verdicts)) {
        judge(&verdicts, moment);
        carry_out(&verdicts);
    }
    for (uint16_t slot = 0; slot < context->world->head->player_capacity; slot++) {
        struct world_entity *head = serpent_head(context->world, slot);
        if (head != NULL) {
            head->values[HEAD_WALL] = 0;
        }
    }
}
