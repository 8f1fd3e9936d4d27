/* A shooter: goes about, turns on the nearest enemy whom no wall hides, strafes and fires. */
#include "tools/bots/bot_internal.h"

#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

#include <stddef.h>

#define PI 3.14159265F

static const float too_near_m = 4.0F;
static const float too_far_m = 9.0F;
static const float wall_ahead_m = 2.0F;

static bool is_blocked(const struct arbiter_client *client, struct arb_vec2 from,
                       struct arb_vec2 delta)
{
    float fraction = 0.0F;
    return arbiter_client_ray(client, from.x, from.y, delta.x, delta.y, &fraction);
}

static uint8_t own_team(const struct bot *bot)
{
    for (uint32_t i = 0; i < bot->view.player_count; i++) {
        if (bot->view.players[i].slot == bot->view.own_slot) {
            return bot->view.players[i].team;
        }
    }
    return 0;
}

static bool is_enemy(const struct bot *bot, const struct arbiter_entity *entity, uint8_t team)
{
    if (entity->is_own || entity->kind != bot->tables.character) {
        return false;
    }
    return team == 0 || bot->tables.team < 0 || entity->fields[bot->tables.team] != (float)team;
}

/* The nearest one in sight; else NULL, and *hidden is the nearest that is not. */
static const struct arbiter_entity *find_enemy(const struct bot *bot,
                                               const struct arbiter_client *client,
                                               const struct arbiter_entity **hidden)
{
    const struct arbiter_entity *best = NULL;
    struct arb_vec2 own = {bot->view.own.x, bot->view.own.y};
    float best_distance = 1e9F;
    float hidden_distance = 1e9F;
    uint8_t team = own_team(bot);
    *hidden = NULL;
    for (uint32_t i = 0; i < bot->view.entity_count; i++) {
        const struct arbiter_entity *entity = &bot->view.entities[i];
        if (!is_enemy(bot, entity, team)) {
            continue;
        }
        struct arb_vec2 delta = {entity->x - own.x, entity->y - own.y};
        float distance = arb_vec2_length(delta);
        if (distance < best_distance && !is_blocked(client, own, delta)) {
            best = entity;
            best_distance = distance;
        } else if (distance < hidden_distance) {
            *hidden = entity;
            hidden_distance = distance;
        }
    }
    return best;
}

static void move_along(struct bot *bot, float angle)
{
    struct arb_vec2 direction = arb_move_direction(angle);
    bot->input.move_x = (int8_t)arb_quantise(direction.x, 1.0F / 127.0F, -127, 127);
    bot->input.move_y = (int8_t)arb_quantise(direction.y, 1.0F / 127.0F, -127, 127);
}

/* Turns the course away from a wall ahead, the nearest free direction first. */
static void avoid_walls(struct bot *bot, const struct arbiter_client *client)
{
    struct arb_vec2 own = {bot->view.own.x, bot->view.own.y};
    for (int turn = 0; turn < 12; turn++) {
        float side = turn % 2 == 0 ? (float)bot->strafe : -(float)bot->strafe;
        float angle = bot->course + side * (float)((turn + 1) / 2) * (PI / 6.0F);
        struct arb_vec2 ahead = arb_vec2_scale(arb_move_direction(angle), wall_ahead_m);
        if (!is_blocked(client, own, ahead)) {
            bot->course = arb_angle_wrap(angle);
            return;
        }
    }
}

static bool may_change(struct bot *bot, uint32_t least, uint32_t more)
{
    if (bot->frames < bot->keep_until) {
        return false;
    }
    bot->keep_until = bot->frames + least + arb_rng_below(&bot->rng, more);
    return true;
}

static void wander(struct bot *bot, const struct arbiter_client *client,
                   const struct arbiter_entity *towards)
{
    if (may_change(bot, 40, 80)) {
        bot->course = arb_rng_range(&bot->rng, -PI, PI);
        bot->strafe = (int8_t)-bot->strafe;
        if (towards != NULL && arb_rng_below(&bot->rng, 3) != 0) {
            struct arb_vec2 delta = {towards->x - bot->view.own.x, towards->y - bot->view.own.y};
            bot->course = arb_move_angle(delta);
        }
    }
    avoid_walls(bot, client);
    move_along(bot, bot->course);
    bot->input.aim = arbiter_aim(bot->course);
    bot->input.buttons = 0;
}

/* Held for five frames of seven: weapons that fire once a press do so, too. */
static uint16_t trigger(const struct bot *bot)
{
    return bot->frames % 7 < 5 ? ARBITER_BUTTON_FIRE : 0;
}

static void fight(struct bot *bot, const struct arbiter_client *client,
                  const struct arbiter_entity *enemy)
{
    struct arb_vec2 delta = {enemy->x - bot->view.own.x, enemy->y - bot->view.own.y};
    float distance = arb_vec2_length(delta);
    float angle = arb_move_angle(delta);
    bool dash = false;
    if (may_change(bot, 20, 50)) {
        bot->strafe = arb_rng_below(&bot->rng, 2) == 0 ? -1 : 1;
        dash = arb_rng_below(&bot->rng, 6) == 0;
    }
    float lean = distance > too_far_m ? PI / 5.0F : distance < too_near_m ? PI * 0.7F : PI / 2.0F;
    bot->course = arb_angle_wrap(angle + (float)bot->strafe * lean);
    avoid_walls(bot, client);
    move_along(bot, bot->course);
    bot->input.aim = arbiter_aim(angle);
    bot->input.buttons = (uint16_t)(trigger(bot) | (dash ? ARBITER_BUTTON_DASH : 0));
}

void bot_play_arena(struct bot *bot, const struct arbiter_client *client)
{
    const struct arbiter_entity *hidden = NULL;
    const struct arbiter_entity *enemy = NULL;
    if (bot->policy->behaviour == BOT_AIM) {
        enemy = find_enemy(bot, client, &hidden);
    }
    if (enemy != NULL) {
        fight(bot, client, enemy);
    } else {
        wander(bot, client, hidden);
    }
}
