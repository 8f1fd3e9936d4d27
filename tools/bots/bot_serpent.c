/* A serpent: goes for food, and turns away from walls and bodies in time. */
#include "tools/bots/bot_internal.h"

#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

#include <stddef.h>

#define PI 3.14159265F

enum { OBSTACLES_MAX = 512, DIRECTIONS = 13, THINK_FRAMES = 3 };

struct obstacles {
    struct arb_vec2 points[OBSTACLES_MAX]; /* relative to the own head */
    uint32_t count;
};

/* Everything of others that could be met within `reach`. */
static void collect(const struct bot *bot, float reach, struct obstacles *obstacles)
{
    obstacles->count = 0;
    for (uint32_t i = 0; i < bot->view.entity_count; i++) {
        const struct arbiter_entity *entity = &bot->view.entities[i];
        if (entity->is_own || entity->kind != bot->tables.head) {
            continue;
        }
        for (uint32_t p = 0; p < entity->point_count && obstacles->count < OBSTACLES_MAX; p++) {
            struct arb_vec2 delta = {entity->points[p].x - bot->view.own.x,
                                     entity->points[p].y - bot->view.own.y};
            if (arb_vec2_dot(delta, delta) < reach * reach) {
                obstacles->points[obstacles->count++] = delta;
            }
        }
    }
}

/* Free way in that direction, at most `reach`. */
static float free_way(const struct bot *bot, const struct arbiter_client *client,
                      const struct obstacles *obstacles, float angle, float reach)
{
    struct arb_vec2 direction = arb_move_direction(angle);
    float way = reach;
    float fraction = 1.0F;
    if (arbiter_client_ray(client, bot->view.own.x, bot->view.own.y, direction.x * reach,
                           direction.y * reach, &fraction)) {
        way = fraction * reach - bot->tables.rules.radius;
    }
    float width = 3.0F * bot->tables.rules.radius;
    for (uint32_t i = 0; i < obstacles->count; i++) {
        float along = arb_vec2_dot(obstacles->points[i], direction);
        float aside = direction.x * obstacles->points[i].y - direction.y * obstacles->points[i].x;
        if (along > 0.0F && along - width < way && aside < width && aside > -width) {
            way = along - width;
        }
    }
    return way;
}

static const struct arbiter_entity *nearest_food(const struct bot *bot)
{
    const struct arbiter_entity *best = NULL;
    float best_square = 15.0F * 15.0F;
    for (uint32_t i = 0; i < bot->view.entity_count; i++) {
        const struct arbiter_entity *entity = &bot->view.entities[i];
        struct arb_vec2 delta = {entity->x - bot->view.own.x, entity->y - bot->view.own.y};
        float square = arb_vec2_dot(delta, delta);
        if (entity->kind == bot->tables.food && square < best_square) {
            best = entity;
            best_square = square;
        }
    }
    return best;
}

static float wish(struct bot *bot)
{
    const struct arbiter_entity *food =
        bot->policy->behaviour == BOT_AIM ? nearest_food(bot) : NULL;
    if (food != NULL) {
        return arb_move_angle(
            (struct arb_vec2){food->x - bot->view.own.x, food->y - bot->view.own.y});
    }
    if (bot->frames >= bot->keep_until) {
        bot->keep_until = bot->frames + 60 + arb_rng_below(&bot->rng, 120);
        bot->course = arb_rng_range(&bot->rng, -PI, PI);
    }
    return bot->course;
}

static float difference(float a, float b)
{
    return arb_angle_wrap(a - b);
}

/* The direction that is free far enough and nearest to the wish; when none is, the freest. */
static float choose(const struct bot *bot, const struct arbiter_client *client, float wanted)
{
    float speed = bot->tables.rules.base_speed;
    float turning = bot->tables.rules.turn_rate > 0.1F ? speed / bot->tables.rules.turn_rate : 1.0F;
    float reach = speed * 0.6F + 3.0F * turning;
    struct obstacles obstacles;
    collect(bot, reach, &obstacles);
    float heading = bot->view.own.heading;
    float best_angle = heading;
    float best_score = -1e9F;
    for (int i = -DIRECTIONS / 2; i <= DIRECTIONS / 2 + 1; i++) {
        float angle = i > DIRECTIONS / 2 ? wanted : heading + (float)i * (PI / 8.0F);
        float off = difference(angle, wanted);
        float turn = difference(angle, heading);
        float way = free_way(bot, client, &obstacles, angle, reach);
        float score = 4.0F * way / reach - (off < 0.0F ? -off : off) * 0.5F -
                      (turn < 0.0F ? -turn : turn) * 0.1F;
        if (score > best_score) {
            best_score = score;
            best_angle = angle;
        }
    }
    return best_angle;
}

void bot_play_serpent(struct bot *bot, const struct arbiter_client *client)
{
    if ((bot->frames + bot->index) % THINK_FRAMES == 0) {
        float turn = difference(choose(bot, client, wish(bot)), bot->view.own.heading);
        bot->input.move_x = turn > 0.06F ? -127 : turn < -0.06F ? 127 : 0;
    }
    bot->input.move_y = 0;
    /* A short boost now and then: the mode decides whether it is granted. */
    bool boost = bot->policy->behaviour == BOT_AIM && (bot->frames + 37 * bot->index) % 400 < 30;
    bot->input.buttons = boost ? ARBITER_BUTTON_FIRE : 0;
}
