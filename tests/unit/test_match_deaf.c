/* server/match: a client that acknowledges nothing of what it is sent. */
#include "server/match/match_internal.h"
#include "tests/unit/match_rig.h"

TestSuite(match_deaf, .init = defaults, .fini = close_match);

static void acknowledge(uint16_t session, uint16_t id)
{
    struct arb_input_packet *inputs = packet(session, player(session)->control);
    inputs->has_ack = true;
    inputs->ack_snapshot = id;
}

/* Session 0 acknowledges what it gets. */
static void tick_of_both(bool deaf_one_speaks)
{
    queued = taken = 0;
    acknowledge(0, (uint16_t)replicate_newest_sent(match->replicate, 0));
    if (deaf_one_speaks) acknowledge(1, 60000); /* never sent */
    tick();
}

Test(match_deaf, who_acknowledges_nothing_is_told_and_leaves_and_the_others_play_on)
{
    config.duration_s = 600;
    open_match();
    join_live();
    say(PORT_JOIN, 1);
    tick();
    cr_assert_eq(player(1)->presence, WORLD_PRESENT);
    uint32_t ticks = 0;
    while (player(1)->presence == WORLD_PRESENT) {
        cr_assert_lt(ticks, 90U * 60U, "a minute or so");
        tick_of_both(ticks % 4 == 0);
        ticks++;
    }
    cr_assert_gt(ticks, 30U * 60U, "after %u ticks", ticks);
    cr_assert_eq(refused_with[1], ARB_REFUSED_PROTOCOL);
    cr_assert_eq(replicate_counts(match->replicate, 1)->full, 180);
    uint64_t before = replicate_counts(match->replicate, 0)->snapshots;
    for (int i = 0; i < 60; i++) {
        tick_of_both(false);
    }
    cr_assert_eq(player(0)->presence, WORLD_PRESENT);
    cr_assert_eq(replicate_counts(match->replicate, 0)->snapshots - before, 30);
    cr_assert_eq(replicate_counts(match->replicate, 0)->full, 1);
}
