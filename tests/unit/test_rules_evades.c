/* The arena's word on who gets out of the way of rewound shots (lagcomp.abilities_win). */
#include "server/rules/rules.h"
#include "tests/scenes/stage.h"

#include <criterion/criterion.h>

Test(rules_evades, a_dash_is_known_by_the_tick_of_its_first_step)
{
    static struct stage stage;
    static const char *const sets[] = {"arena.dash_ms=150", NULL};
    stage_open(&stage, "arena", sets, 2);
    stage_add_spawn(&stage, 10, 10, 0);
    stage_add_spawn(&stage, 30, 30, 0);
    stage_start(&stage);
    stage_pass(&stage, 20);
    arb_tick now = stage.world.head->tick, since;
    struct arb_own *own = &stage.world.players[1].own;
    cr_assert_eq(stage.move.dash_ticks, 9);
    cr_assert_not(stage.rules->evades(&stage.context, 1, &since), "it does not dash");
    for (uint16_t gone = 0; gone < 9; gone++) {
        own->dash_ticks = (uint16_t)(9 - gone);
        cr_assert(stage.rules->evades(&stage.context, 1, &since));
        cr_assert_eq(since, now - gone);
    }
    cr_assert_not(stage.rules->evades(&stage.context, 0, &since));
    stage_close(&stage);
}
