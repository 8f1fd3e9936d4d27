/* A shooter and a victim who walks behind a wall: what tests of cover and of the figures of lag
 * compensation begin with. Beside match_rig.h, whose probe is the mode. */
#ifndef COVER_RIG_H
#define COVER_RIG_H

#include "tests/unit/match_rig.h"

enum { SHOOTER, VICTIM, STEPS = 30, BACK = 25 /* ticks ago: the view of the shot */ };

static uint32_t covered; /* newest ticks in which the victim's place was hidden */

/* The shooter at (-40, 0), the victim at (-32, 0); between them a wall that begins a metre above
 * the line of fire. */
static inline void open_with_wall(void)
{
    static const uint8_t id[16] = {1};
    struct arb_shape wall = {ARB_SHAPE_POLYGON, 4, 0, {{-34, 1}, {-33, 1}, {-33, 20}, {-34, 20}}};
    arb_arena_init(&arena);
    geometry = arb_geometry_create(&wall, 1, map.bounds);
    match = match_create(&arena, &config, &probe, NULL, &map, geometry, id, &port);
    match_add_player(match, "shooter");
    match_add_player(match, "victim");
    tick();
    tick();
    cr_assert_eq(player(SHOOTER)->own.x, -40);
    cr_assert_eq(player(VICTIM)->own.x, -32);
}

static inline void steer(uint16_t slot, int8_t move_y, struct arb_view view, uint16_t edges)
{
    static arb_sequence sequence;
    struct arb_input input = {.sequence = ++sequence,
                              .target_tick = match_tick(match),
                              .move_y = move_y,
                              .view = view,
                              .edges = edges};
    match_set_input(match, slot, &input);
}

/* The centre is hidden where the straight line meets the wall: at its far side the line has gone
 * seven eighths of the way. */
static inline bool is_hidden(void)
{
    return 0.875 * (double)player(VICTIM)->own.y > 1.0;
}

static inline void walk_behind_the_wall(void)
{
    for (int i = 0; i < STEPS; i++) {
        steer(VICTIM, 127, (struct arb_view){0}, 0);
        tick();
        covered = is_hidden() ? covered + 1 : 0;
    }
}

/* Behind the wall, and less than `most` ticks ago still to be seen. */
static inline void walk_into_cover(uint32_t most)
{
    open_with_wall();
    walk_behind_the_wall();
    cr_assert(covered > 3 && covered < most);
}

static inline uint32_t ms_of(uint32_t ticks)
{
    return ticks * 1000 / 60;
}

#endif
