/* The serpent mode: heads that never stop, bodies that kill. Here its table, boost, score; deaths,
 * food, spawns and checks have files of their own.
 *
 * Order within a tick, and the ties it decides (by moment of touch and player slot, never by entity
 * or contact order):
 * 1. Boost: its price for this step, and whether the next one has it.
 * 2. Deaths, all of the tick together (serpent_death.c).
 * 3. The living eat: a piece goes to who touched it first, the lower slot of two at the same
 * moment.
 * 4. Respawns by slot, food, the score limit. */
#include "server/rules/rules_internal.h"
#include "server/rules/serpent_internal.h"

#include "shared/base/arb_math.h"

enum { CATEGORY_HEAD = 1, CATEGORY_FOOD = 2 };

/* ---- numbers for the engine ---- */

static void serpent_move_params(const void *data, uint32_t tick_rate, struct arb_move_params *out)
{
    const struct serpent_params *params = data;
    *out = (struct arb_move_params){
        .mover = ARB_MOVER_SERPENT,
        .tick_rate = (uint16_t)tick_rate,
        .radius = params->head_radius_m,
        .base_speed = params->base_speed,
        .boost_speed = params->boost_speed,
        .turn_rate = params->turn_rate,
    };
}

static void serpent_collide_kinds(const void *data, struct collide_kind kinds[ARB_KINDS_MAX])
{
    const struct serpent_params *params = data;
    kinds[ARB_SERPENT_HEAD] = (struct collide_kind){
        .category = CATEGORY_HEAD,
        .mask = CATEGORY_HEAD | CATEGORY_FOOD,
        .body_mask = CATEGORY_HEAD,
        .body_radius = params->body_radius_m,
    };
    kinds[ARB_SERPENT_FOOD] = (struct collide_kind){.category = CATEGORY_FOOD};
}

/* Nobody shoots here. */
static void serpent_rewind_kinds(const void *data, struct rewind_kind kinds[ARB_KINDS_MAX])
{
    (void)data;
    kinds[ARB_SERPENT_HEAD].count = 0;
    kinds[ARB_SERPENT_FOOD].count = 0;
}

/* ---- round, joins, leaves ---- */

static void begin_player(struct rules_context *context, uint16_t slot)
{
    if (!serpent_spawn(context, slot)) {
        rules_respawn_after(context, slot, 0);
    }
}

static void serpent_player_joined(struct rules_context *context, uint16_t slot)
{
    rules_crowd_clear(context->crowd);
    begin_player(context, slot);
}

/* Leaving is a death by nobody, and leaves no food. */
static void serpent_player_left(struct rules_context *context, uint16_t slot)
{
    context->world->players[slot].respawn_tick = 0;
    if (serpent_head(context->world, slot) != NULL) {
        rules_kill(context, slot, ARB_NO_SLOT, ARB_CAUSE_LEFT);
    }
}

static void serpent_round_begin(struct rules_context *context)
{
    struct world *world = context->world;
    memset(world->rules, 0, world->head->rules_bytes);
    rules_crowd_clear(context->crowd);
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        if (world->players[slot].presence == WORLD_PRESENT) {
            begin_player(context, slot);
        }
    }
    serpent_food_begin(context);
}

static void serpent_round_end(struct rules_context *context)
{
    rules_clear(context);
    memset(context->world->rules, 0, context->world->head->rules_bytes);
}

/* ---- stage 7 ---- */

void serpent_score(struct rules_context *context, uint16_t slot, int32_t eaten)
{
    struct world *world = context->world;
    struct world_player *player = &world->players[slot];
    const struct serpent_params *params = serpent_params(context);
    int32_t score = player->score + eaten;
    if (params->score == SERPENT_SCORE_LENGTH) {
        float length = serpent_body(world, serpent_head(world, slot))->length;
        int32_t metres = arb_quantise(length - 0.5F, 1.0F, 0, INT32_MAX); /* whole ones */
        score = metres > player->score ? metres : player->score;
    }
    if (score != player->score) {
        player->score = score;
        rules_emit_score(context, slot);
    }
}

static struct arb_vec2 tail_of(const struct world *world, const struct world_entity *head)
{
    struct arb_vec2 at = {head->x, head->y};
    uint32_t count = world_body_count(world, head->body);
    return count > 0 ? world_body_point(world, head->body, count - 1, at) : at;
}

/* The step that was just made had boost: it costs length, and the tail turns into food. */
static void pay_boost(struct rules_context *context, struct world_entity *head)
{
    const struct serpent_params *params = serpent_params(context);
    struct world_body *body = serpent_body(context->world, head);
    float cost = params->boost_cost / (float)context->tick_rate;
    float lost = rules_float(head->values[HEAD_LOST]) + cost;
    world_body_set_length(context->world, head->body,
                          body->length > cost ? body->length - cost : 0.0F);
    if (params->boost_drop_m > 0.0F && lost >= params->boost_drop_m) {
        lost -= params->boost_drop_m;
        serpent_food_leave(context, tail_of(context->world, head), params->food_value);
    }
    head->values[HEAD_LOST] = rules_bits(lost);
}

static void step_boost(struct rules_context *context, uint16_t slot,
                       const struct rules_moved *moved)
{
    struct world_player *player = &context->world->players[slot];
    struct world_entity *head = serpent_head(context->world, slot);
    if (player->own.boost) {
        pay_boost(context, head);
    }
    bool wanted = (moved->buttons & ARB_BUTTON_BOOST) != 0;
    float length = serpent_body(context->world, head)->length;
    uint8_t granted = wanted && length > serpent_params(context)->boost_min_length_m;
    if (granted != player->own.boost) {
        player->own.boost = granted;
        player->outside_changes++; /* the grant is not the button's: no client predicts it */
    }
}

static void serpent_moved(struct rules_context *context, const struct rules_moved *moved)
{
    struct world *world = context->world;
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        struct world_entity *head = serpent_head(world, slot);
        if (!moved[slot].stepped || head == NULL) {
            continue;
        }
        const struct arb_move_report *report = &moved[slot].report;
        head->values[HEAD_WALL] =
            report->touched_static ? rules_bits(report->touch_fraction) + 1 : 0;
        step_boost(context, slot, &moved[slot]);
    }
}

/* Nobody shoots here. */
static void serpent_shots(struct rules_context *context, const struct rules_shot *shots,
                          uint32_t count)
{
    (void)context;
    (void)shots;
    (void)count;
}

static void serpent_contacts(struct rules_context *context, const struct collide_contact *contacts,
                             uint32_t count)
{
    serpent_deaths(context, contacts, count);
    serpent_eat(context, contacts, count);
}

static bool limit_reached(const struct rules_context *context)
{
    int32_t limit = serpent_params(context)->score_limit;
    for (uint16_t slot = 0; slot < context->world->head->player_capacity && limit > 0; slot++) {
        if (context->world->players[slot].score >= limit) {
            return true;
        }
    }
    return false;
}

static void serpent_update(struct rules_context *context)
{
    struct world *world = context->world;
    rules_crowd_clear(context->crowd);
    for (uint16_t slot = 0; slot < world->head->player_capacity; slot++) {
        if (rules_respawn_due(context, slot)) {
            serpent_spawn(context, slot); /* else again in the next tick */
        }
    }
    serpent_food_update(context);
    if (limit_reached(context)) {
        world->head->ended_early = 1;
    }
}

/* ---- stage 8 ---- */

static void serpent_publish(const struct rules_context *context, const struct world_entity *entity,
                            int32_t out[ARB_KIND_FIELDS_MAX])
{
    const struct arb_kind *kind = &arb_schema_serpent.kinds[entity->kind];
    if (entity->kind == ARB_SERPENT_FOOD) {
        out[ARB_FOOD_VALUE] = entity->values[FOOD_VALUE];
        out[ARB_FOOD_X] = rules_quantise(kind, ARB_FOOD_X, entity->x);
        out[ARB_FOOD_Y] = rules_quantise(kind, ARB_FOOD_Y, entity->y);
        return;
    }
    out[ARB_HEAD_OWNER] = entity->owner + 1;
    out[ARB_HEAD_X] = rules_quantise(kind, ARB_HEAD_X, entity->x);
    out[ARB_HEAD_Y] = rules_quantise(kind, ARB_HEAD_Y, entity->y);
    out[ARB_HEAD_HEADING] = arb_angle_to_turn16(entity->heading);
    out[ARB_HEAD_BOOST] = context->world->players[entity->owner].own.boost;
    out[ARB_HEAD_LENGTH] =
        rules_quantise(kind, ARB_HEAD_LENGTH, serpent_body(context->world, entity)->length);
    out[ARB_HEAD_JUMP] = entity->jump;
}

const struct rules rules_serpent = {
    .name = "serpent",
    .schema = &arb_schema_serpent,
    .options = serpent_options,
    .option_count = SERPENT_OPTIONS,
    .params_bytes = sizeof(struct serpent_params),
    .teams = false,
    .check = serpent_check,
    .move_params = serpent_move_params,
    .capacity = serpent_capacity,
    .collide_kinds = serpent_collide_kinds,
    .rewind_kinds = serpent_rewind_kinds,
    .round_begin = serpent_round_begin,
    .round_end = serpent_round_end,
    .player_joined = serpent_player_joined,
    .player_left = serpent_player_left,
    .shoot = NULL,
    .moved = serpent_moved,
    .shots = serpent_shots,
    .contacts = serpent_contacts,
    .update = serpent_update,
    .publish = serpent_publish,
    .state = serpent_state_parts,
    .check_state = serpent_check_state,
    .rank = rules_rank,
};
