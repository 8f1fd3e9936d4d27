/* What a client held besides its view when it fired something that flies: the snapshots after it,
 * on which the rest of the flight will be drawn. */
#include "server/match/match.h"
#include "tests/unit/views_rig.h"

static uint32_t lost_id;

/* The snapshot of that id never reached the client: from then on it draws and tells without it. */
static void lose(void)
{
    uint32_t last = client.got.count - 1;
    lost_id = client.got.frames[last].id;
    client.got.count--;
}

static struct arb_view shoot_without_lost(uint16_t buttons)
{
    struct arb_input *input = say_input(buttons);
    struct arb_input_packet *out = &queue[queued - 1].inputs;
    uint32_t back = (uint32_t)out->ack_snapshot - lost_id;
    if (lost_id != 0 && back >= 1 && back <= 32) {
        out->ack_mask &= ~(1U << (back - 1));
    }
    struct arb_view view = input->view;
    run_tick();
    return view;
}

static void open_with(uint8_t projectiles)
{
    setup();
    client.delay = 12 * ARB_FINE_TICK;
    client.wait = 0;
    lost_id = 0;
    open_live();
    match->move.weapons[0].projectiles = projectiles;
    warm_up(80);
}

TestSuite(match_views_later, .fini = close_match);

Test(match_views_later, a_launch_knows_which_snapshots_after_its_view_were_held)
{
    uint64_t with_holes = 0;
    for (uint32_t since = 0; since < 16; since++) {
        open_with(1);
        while (match_tick(match) % 2 != 0) {
            shoot_without_lost(0);
        }
        lose();
        arb_tick lost_tick = match_tick(match) - 1;
        for (uint32_t i = 0; i < since; i++) {
            shoot_without_lost(0);
        }
        struct arb_held held = held_then();
        struct arb_view view = shoot_without_lost(ARB_BUTTON_FIRE);
        cr_assert(memcmp(&shot_ray.view, &view, sizeof view) == 0, "honoured, %u", since);
        uint64_t expected = 0;
        for (uint32_t i = 0; i < held.count; i++) {
            arb_tick tick = held.frames[i].tick;
            expected |= tick > view.to_tick ? UINT64_C(1) << ((tick - view.to_tick) / 2 - 1) : 0;
        }
        cr_expect_gt(expected, 7, "the delay spans several");
        cr_expect_eq(shot_ray.later, expected, "%u: %llx", since,
                     (unsigned long long)shot_ray.later);
        bool within = lost_tick > view.to_tick && lost_tick < held.frames[held.count - 1].tick;
        with_holes += within && (expected & (expected + 1)) != 0;
        close_match();
    }
    cr_expect_gt(with_holes, 3);
}

Test(match_views_later, a_ray_asks_for_none_of_it)
{
    open_with(0);
    shoot_without_lost(ARB_BUTTON_FIRE);
    cr_expect_gt(shot_ray.pair_count, 0);
    cr_expect_eq(shot_ray.later, 0);
}

Test(match_views_later, it_is_in_the_record_of_the_tick)
{
    open_with(1);
    shoot_without_lost(ARB_BUTTON_FIRE);
    const struct match_record *record = match_record(match);
    cr_assert_eq(record->view_count, 1);
    cr_expect_gt(shot_ray.later, 0);
    cr_expect_eq(record->views[0].later, shot_ray.later);
}
