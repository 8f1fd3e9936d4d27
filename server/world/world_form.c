/* The state as parts of a saved block: the one list of what it consists of. Bounds are what no
 * state ever leaves; what belongs together is checked in world_check.c. */
#include "server/world/world.h"

#define PLACE 8192.0 /* m: beyond any place that a valid map leads to */
#define SPEED 65536.0
#define ANGLE 3.1415928

/* No character says more than this of itself; of a mover that has less, the rest is 0. */
#define OWN(member, kind, low, high) ARB_FORM(world_player, own.member, kind, low, high)
#define INPUT(member, kind) ARB_FORM(world_player, last.member, kind, 0, 0)
#define VIEW(view, member, kind) ARB_FORM(world_player, view.member, kind, 0, 0)
#define VIEW_ROWS(view)                                                                            \
    VIEW(view, from_tick, U64), VIEW(view, to_tick, U64), VIEW(view, fraction, U16),               \
        VIEW(view, held, U16), ARB_FORM_ZERO(world_player, view.reserved, U16)

#define HEAD(member, kind) ARB_FORM(world_head, member, kind, 0, 0)
static const struct arb_field head_rows[] = {
    HEAD(schema_version, U32),
    HEAD(block_bytes, U32),
    HEAD(tick, U64),
    HEAD(seed, U64),
    ARB_FORM(world_head, streams[WORLD_STREAM_SPAWN], U64, 0, 0),
    ARB_FORM(world_head, streams[WORLD_STREAM_COMBAT], U64, 0, 0),
    ARB_FORM(world_head, streams[WORLD_STREAM_LOOT], U64, 0, 0),
    HEAD(phase_end_tick, U64),
    HEAD(live_from_tick, U64),
    HEAD(next_player_id, U64),
    HEAD(free_first, U32),
    HEAD(free_count, U32),
    HEAD(entity_count, U32),
    HEAD(player_capacity, U16),
    HEAD(entity_capacity, U16),
    HEAD(body_capacity, U16),
    HEAD(body_points, U16),
    HEAD(rules_bytes, U32),
    ARB_FORM(world_head, phase, U8, 0, ARB_PHASE_ENDED),
    HEAD(round, U8),
    ARB_FORM(world_head, end_reason, U8, 0, 15),
    ARB_FORM(world_head, ended_early, U8, 0, 1),
    HEAD(live_ticks, U32),
    ARB_FORM_ZERO(world_head, removed_count, U32), /* within a tick only */
    ARB_FORM_ZERO(world_head, reserved, U32),
};

#define PLAYER(member, kind) ARB_FORM(world_player, member, kind, 0, 0)
static const struct arb_field player_rows[] = {
    PLAYER(player_id, U64),
    PLAYER(name, TEXT),
    OWN(x, F32, -PLACE, PLACE),
    OWN(y, F32, -PLACE, PLACE),
    OWN(vx, F32, -SPEED, SPEED),
    OWN(vy, F32, -SPEED, SPEED),
    OWN(heading, F32, -ANGLE, ANGLE),
    OWN(dash_x, F32, -1.001, 1.001),
    OWN(dash_y, F32, -1.001, 1.001),
    OWN(dash_ticks, U16, 0, 0),
    OWN(dash_cooldown, U16, 0, 0),
    OWN(fire_cooldown, U16, 0, 0),
    OWN(reload_ticks, U16, 0, 0),
    OWN(magazine, U16, 0, 0),
    OWN(reserve, U16, 0, 0),
    OWN(weapon, U8, 0, ARB_WEAPONS_MAX - 1),
    OWN(weapons, U8, 0, (1 << ARB_WEAPONS_MAX) - 1),
    OWN(boost, U8, 0, 1),
    ARB_FORM_ZERO(world_player, own.reserved, U8),
    INPUT(target_tick, U64),
    VIEW_ROWS(last.view),
    INPUT(sequence, U32),
    INPUT(buttons, U16),
    INPUT(edges, U16),
    INPUT(move_x, I8),
    INPUT(move_y, I8),
    INPUT(aim, U16),
    INPUT(muzzle_fraction, U8),
    ARB_FORM_ZERO(world_player, last.reserved, U8),
    VIEW_ROWS(carried_view),
    PLAYER(respawn_tick, U64),
    PLAYER(controlled, KEY),
    PLAYER(last_sequence, U32),
    PLAYER(hold_ticks, U32),
    PLAYER(starved_ticks, U32),
    PLAYER(outside_changes, U32),
    PLAYER(score, I32),
    PLAYER(kills, U16),
    PLAYER(deaths, U16),
    PLAYER(deaths_by_nobody, U16),
    PLAYER(carried_edges, U16),
    PLAYER(carried_aim, U16),
    PLAYER(carried_action, U16),
    ARB_FORM(world_player, presence, U8, 0, WORLD_AWAY),
    ARB_FORM(world_player, team, U8, 0, 2),
    PLAYER(control, U8),
    ARB_FORM_ZERO(world_player, reserved, U8),
    PLAYER(values, I32),
};

#define ENTITY(member, kind, low, high) ARB_FORM(world_entity, member, kind, low, high)
static const struct arb_field entity_rows[] = {
    ENTITY(x, F32, -PLACE, PLACE),
    ENTITY(y, F32, -PLACE, PLACE),
    ENTITY(previous_x, F32, -PLACE, PLACE),
    ENTITY(previous_y, F32, -PLACE, PLACE),
    ENTITY(vx, F32, -SPEED, SPEED),
    ENTITY(vy, F32, -SPEED, SPEED),
    ENTITY(heading, F32, -ANGLE, ANGLE),
    ENTITY(radius, F32, 0, PLACE),
    ENTITY(generation, U16, 0, 0),
    ENTITY(owner, U16, 0, 0),
    ENTITY(body, U16, 0, 0),
    ENTITY(alive, U8, 0, 1),
    ENTITY(kind, U8, 0, 0),
    ENTITY(flags, U8, 0, WORLD_ENTITY_ALWAYS_RELEVANT),
    ENTITY(team, U8, 0, 2),
    ENTITY(jump, U8, 0, 0),
    ARB_FORM_ZERO(world_entity, reserved, U8),
    ENTITY(born_tick, U32, 0, 0),
    ENTITY(values, I32, 0, 0),
};

struct free_id {
    uint16_t id;
};
static const struct arb_field free_id_rows[] = {ARB_FORM(free_id, id, U16, 0, 0)};

#define BODY(member, kind, low, high) ARB_FORM(world_body, member, kind, low, high)
static const struct arb_field body_rows[] = {
    BODY(first, U16, 0, 0),       BODY(count, U16, 0, 0),
    BODY(entity, U16, 0, 0),      BODY(used, U16, 0, 1),
    BODY(along, F32, 0, PLACE),   BODY(length, F32, 0, 1e6),
    BODY(spacing, F32, 0, PLACE), ARB_FORM_ZERO(world_body, reserved, F32),
};

static const struct arb_field point_rows[] = {
    ARB_FORM(arb_vec2, x, F32, -PLACE, PLACE),
    ARB_FORM(arb_vec2, y, F32, -PLACE, PLACE),
};

static const struct arb_fields head_form = ARB_FIELDS("world", head_rows);
static const struct arb_fields player_form = ARB_FIELDS("player", player_rows);
static const struct arb_fields entity_form = ARB_FIELDS("entity", entity_rows);
static const struct arb_fields free_id_form = ARB_FIELDS("free id", free_id_rows);
static const struct arb_fields body_form = ARB_FIELDS("body", body_rows);
static const struct arb_fields point_form = ARB_FIELDS("point", point_rows);

const struct arb_fields *world_player_fields(void)
{
    return &player_form;
}

uint32_t world_parts(const struct world *world, struct arb_form_part parts[WORLD_PARTS])
{
    const struct world_head *head = world->head;
    uint32_t points = (uint32_t)head->body_capacity * head->body_points, count = 0;
    parts[count++] = (struct arb_form_part){"world", &head_form, 1, world->head};
    parts[count++] =
        (struct arb_form_part){"players", &player_form, head->player_capacity, world->players};
    parts[count++] =
        (struct arb_form_part){"entities", &entity_form, head->entity_capacity, world->entities};
    parts[count++] =
        (struct arb_form_part){"free_ids", &free_id_form, head->entity_capacity, world->free_ids};
    parts[count++] =
        (struct arb_form_part){"bodies", &body_form, head->body_capacity, world->bodies};
    parts[count++] = (struct arb_form_part){"points", &point_form, points, world->points};
    for (uint32_t i = 0; i < world->rules_part_count; i++) {
        parts[count++] = world->rules_parts[i];
    }
    return count;
}
