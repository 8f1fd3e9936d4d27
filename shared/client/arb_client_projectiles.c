#include "shared/client/arb_client_projectiles.h"

#include "shared/base/arb_math.h"
#include "shared/client/arbiter_client_internal.h"
#include "shared/view/arb_drawn.h"

#include <string.h>

static const struct arb_kind *kind_of(const struct arbiter_client *client)
{
    return &client->match.schema->kinds[ARB_ARENA_PROJECTILE];
}

static arb_fine fine_of(arb_tick tick)
{
    return (arb_fine)tick * ARB_FINE_TICK;
}

/* ---- ends ---- */

/* Actions come again: after 2^16 inputs, and with the next player in the slot. What ended before
 * `start` was another one. */
static arb_fine impact_of(const struct arbiter_client *client, const struct arb_published *state,
                          arb_fine start)
{
    for (uint32_t i = 0; i < ARB_CLIENT_IMPACTS; i++) {
        const struct arb_impact *impact = &client->projectiles.impacts[i];
        if (impact->at != 0 && impact->at >= start &&
            impact->slot + 1 == state->q[ARB_PROJECTILE_OWNER] &&
            impact->action == state->q[ARB_PROJECTILE_ACTION] &&
            impact->pellet == state->q[ARB_PROJECTILE_PELLET]) {
            return impact->at;
        }
    }
    return INT64_MAX;
}

static arb_fine flight_end(const struct arbiter_client *client, const struct arb_path *path,
                           int32_t weapon)
{
    const struct arb_client_match *match = &client->match;
    if (weapon >= match->params.weapon_count || match->params.weapons[weapon].projectiles == 0) {
        return INT64_MAX;
    }
    return path->start + arb_path_flight(path, &match->params.weapons[weapon],
                                         match->params.tick_rate, match->geometry);
}

bool arb_client_projectile_ended(const struct arbiter_client *client,
                                 const struct arb_published *state, arb_tick tick, arb_fine at)
{
    struct arb_path path = arb_published_path(kind_of(client), state, tick);
    return at >= impact_of(client, state, path.start) ||
           at >= flight_end(client, &path, state->q[ARB_PROJECTILE_WEAPON]);
}

/* ---- the own ones, ahead of the server ---- */

/* Muzzle of the input: on the way from the place of the tick before to that of its own. */
static struct arb_vec2 muzzle(const struct arb_predict *predict, const struct arb_input *input)
{
    const struct arb_own *own = &predict->states[input->target_tick % ARB_PREDICT_TICKS];
    const struct arb_own *before = &predict->states[(input->target_tick - 1) % ARB_PREDICT_TICKS];
    if (input->target_tick <= predict->confirmed_tick) {
        before = own;
    }
    return arb_move_lerp((struct arb_vec2){before->x, before->y}, (struct arb_vec2){own->x, own->y},
                         (float)input->muzzle_fraction / 256.0F);
}

static void fill_state(const struct arbiter_client *client, struct arb_shadow *shadow,
                       const struct arb_input *input, uint8_t weapon, uint8_t pellet)
{
    int32_t *q = shadow->state.q;
    const struct arb_path *path = &shadow->path;
    const int32_t limit = 1 << 24;
    shadow->state.kind = ARB_ARENA_PROJECTILE;
    q[ARB_PROJECTILE_OWNER] = client->match.welcome.player_slot + 1;
    q[ARB_PROJECTILE_WEAPON] = weapon;
    q[ARB_PROJECTILE_X] = arb_quantise(path->origin.x, ARB_PATH_PLACE, -limit, limit);
    q[ARB_PROJECTILE_Y] = arb_quantise(path->origin.y, ARB_PATH_PLACE, -limit, limit);
    q[ARB_PROJECTILE_VX] = arb_quantise(path->velocity.x, ARB_PATH_SPEED, -limit, limit);
    q[ARB_PROJECTILE_VY] = arb_quantise(path->velocity.y, ARB_PATH_SPEED, -limit, limit);
    q[ARB_PROJECTILE_START] = (int32_t)(path->start / ARB_PATH_MOMENT & 0xFFFFFF);
    q[ARB_PROJECTILE_ACTION] = (int32_t)(input->sequence & 0xFFFFU);
    q[ARB_PROJECTILE_PELLET] = pellet;
}

void arb_client_projectiles_fire(struct arbiter_client *client, const struct arb_pending *pending)
{
    const struct arb_predict *predict = &client->predict;
    const struct arb_input *input = &pending->input;
    struct arb_client_projectiles *projectiles = &client->projectiles;
    uint8_t fired = arb_predict_fired(predict, input->target_tick);
    if (fired == 0 || input->view.to_tick == 0) {
        return;
    }
    const struct arb_weapon_step *weapon = &client->match.params.weapons[fired - 1];
    const struct arb_own *own = &predict->states[input->target_tick % ARB_PREDICT_TICKS];
    for (uint8_t i = 0; i < weapon->projectiles; i++) {
        struct arb_shadow *shadow =
            &projectiles->shadows[projectiles->next_shadow++ % ARB_CLIENT_PROJECTILES];
        projectiles->shadow_count += shadow->stage == ARB_SHADOW_FREE;
        memset(shadow, 0, sizeof *shadow);
        shadow->stage = ARB_SHADOW_PREDICTED;
        shadow->path =
            arb_path_launch(weapon, muzzle(predict, input), arb_move_direction(own->heading), i,
                            arb_view_at(&input->view));
        shadow->end = flight_end(client, &shadow->path, fired - 1);
        shadow->target_tick = input->target_tick;
        fill_state(client, shadow, input, (uint8_t)(fired - 1), i);
        client->statistics.projectiles_predicted++;
    }
}

static bool same_action(const struct arb_published *a, const struct arb_published *b)
{
    return a->kind == b->kind && a->q[ARB_PROJECTILE_OWNER] == b->q[ARB_PROJECTILE_OWNER] &&
           a->q[ARB_PROJECTILE_ACTION] == b->q[ARB_PROJECTILE_ACTION] &&
           a->q[ARB_PROJECTILE_PELLET] == b->q[ARB_PROJECTILE_PELLET];
}

static void confirm(struct arbiter_client *client, struct arb_shadow *shadow)
{
    if (shadow->stage == ARB_SHADOW_PREDICTED) {
        shadow->stage = ARB_SHADOW_CONFIRMED;
        client->statistics.projectiles_confirmed++;
    }
}

void arb_client_projectiles_commit(struct arbiter_client *client)
{
    const struct arb_frame *frame = &arb_history_newest(&client->snapshots.history)->frame;
    for (uint32_t s = 0; s < ARB_CLIENT_PROJECTILES; s++) {
        struct arb_shadow *shadow = &client->projectiles.shadows[s];
        bool waits = shadow->stage == ARB_SHADOW_PREDICTED && frame->tick >= shadow->target_tick;
        for (uint32_t i = 0; waits && i < frame->entity_count; i++) {
            if (same_action(&frame->entities[i], &shadow->state)) {
                confirm(client, shadow);
                shadow->key = frame->entities[i].key;
                shadow->seen_tick = frame->tick;
                waits = false;
            }
        }
    }
}

void arb_client_projectiles_impact(struct arbiter_client *client, uint16_t slot, uint16_t action,
                                   uint8_t pellet, uint32_t moment, arb_tick near)
{
    struct arb_client_projectiles *projectiles = &client->projectiles;
    int64_t now = (int64_t)(near * (ARB_FINE_TICK / ARB_PATH_MOMENT));
    arb_fine at = (now + (int32_t)(moment - (uint32_t)now)) * ARB_PATH_MOMENT;
    struct arb_impact *impact =
        &projectiles->impacts[projectiles->next_impact++ % ARB_CLIENT_IMPACTS];
    *impact = (struct arb_impact){slot, action, pellet, at};
    for (uint32_t i = 0; i < ARB_CLIENT_PROJECTILES; i++) {
        struct arb_shadow *shadow = &projectiles->shadows[i];
        if (shadow->stage == ARB_SHADOW_PREDICTED &&
            impact_of(client, &shadow->state, shadow->path.start) == at) {
            confirm(client, shadow);
        }
    }
}

/* ---- drawing ---- */

static bool in_frame(const struct arbiter_client *client, const struct arb_held_place *place,
                     struct arb_key key)
{
    const struct arb_frame *frame = &arb_history_at(&client->snapshots.history, place->from)->frame;
    return !arb_key_is_none(key) && arb_frame_find(frame, key) != NULL;
}

/* From here on the entity is drawn; it begins where the prediction was. */
static void hand_over(struct arbiter_client *client, struct arb_shadow *shadow,
                      const struct arb_held_place *place)
{
    const struct arb_history_slot *slot = arb_history_at(&client->snapshots.history, place->from);
    const struct arb_published *state = arb_frame_find(&slot->frame, shadow->key);
    struct arb_path path = arb_published_path(kind_of(client), state, slot->frame.tick);
    uint32_t rate = client->match.welcome.tick_rate;
    struct arb_correction_limits limits = {0, 0, client->config.hard_snap_m};
    shadow->offset = arb_correction_offset(arb_path_at(&shadow->path, rate, place->at),
                                           arb_path_at(&path, rate, place->at), &limits);
    shadow->offset_ns = client->now_ns;
    shadow->stage = ARB_SHADOW_HANDED;
}

struct arb_vec2 arb_client_projectile_offset(const struct arbiter_client *client,
                                             struct arb_key key)
{
    for (uint32_t i = 0; i < ARB_CLIENT_PROJECTILES; i++) {
        const struct arb_shadow *shadow = &client->projectiles.shadows[i];
        if (shadow->stage == ARB_SHADOW_HANDED && arb_key_equal(shadow->key, key)) {
            uint64_t passed =
                client->now_ns > shadow->offset_ns ? client->now_ns - shadow->offset_ns : 0;
            return arb_correction_fade(shadow->offset, passed,
                                       client->config.correction_half_life_ms);
        }
    }
    return (struct arb_vec2){0.0F, 0.0F};
}

/* Snapshots of the tick in which it was due have been drawn, and one more in case that one had no
 * room: it was not fired, or ended unseen. */
static bool is_overdue(const struct arbiter_client *client, const struct arb_shadow *shadow,
                       arb_fine at)
{
    arb_tick grace = 2 * client->match.welcome.snapshot_interval_ticks;
    arb_tick due = shadow->stage == ARB_SHADOW_CONFIRMED && shadow->seen_tick != 0
                       ? shadow->seen_tick
                       : shadow->target_tick;
    return at >= fine_of(due + grace);
}

/* False: nothing of it is to be drawn any more. */
static bool goes_on(struct arbiter_client *client, struct arb_shadow *shadow,
                    const struct arb_held_place *place)
{
    if (in_frame(client, place, shadow->key)) {
        if (shadow->stage == ARB_SHADOW_CONFIRMED) {
            hand_over(client, shadow, place);
        }
        return true;
    }
    if (shadow->stage == ARB_SHADOW_HANDED) {
        return false;
    }
    if (is_overdue(client, shadow, place->at)) {
        bool short_lived = shadow->end < fine_of(shadow->target_tick + 1);
        client->statistics.projectiles_unconfirmed +=
            shadow->stage == ARB_SHADOW_PREDICTED && !short_lived;
        return false;
    }
    return true;
}

void arb_client_projectiles_draw(struct arbiter_client *client, const struct arb_held_place *place)
{
    struct arb_client_projectiles *projectiles = &client->projectiles;
    for (uint32_t i = 0; projectiles->shadow_count > 0 && i < ARB_CLIENT_PROJECTILES; i++) {
        struct arb_shadow *shadow = &projectiles->shadows[i];
        if (shadow->stage == ARB_SHADOW_FREE) {
            continue;
        }
        if (!goes_on(client, shadow, place)) {
            shadow->stage = ARB_SHADOW_FREE;
            projectiles->shadow_count--;
        } else if (shadow->stage != ARB_SHADOW_HANDED && place->at >= shadow->path.start &&
                   place->at < shadow->end &&
                   place->at < impact_of(client, &shadow->state, shadow->path.start)) {
            arb_client_draw_shadow(
                client, &shadow->state,
                arb_path_at(&shadow->path, client->match.welcome.tick_rate, place->at),
                shadow->path.velocity);
        }
    }
}
