/* server/match: first views when a crowd begins at once. */
#include "server/match/match_internal.h"
#include "shared/base/arb_rng.h"
#include "tests/unit/match_rig.h"

enum { CROWD = 300, ROOM = 75 };

/* Of the newest tick, and the characters that the snapshots so far were of. */
static uint32_t snapshots[CROWD];
static struct arb_key shown[CROWD];

static void count_put(void *owner, struct port_session session, uint8_t channel,
                      const uint8_t *bytes, size_t size)
{
    (void)owner;
    (void)channel;
    (void)size;
    if (bytes[0] == ARB_MESSAGE_SNAPSHOT) snapshots[session.index]++;
}

static const struct match_port counting = {NULL, port_take, count_put, port_refuse, port_flush};

static void tick_of_all(void)
{
    memset(snapshots, 0, sizeof snapshots);
    tick_run(match, TICK_LIVE);
    for (uint16_t slot = 0; slot < (uint16_t)config.max_players; slot++) {
        if (snapshots[slot] == 0) continue;
        uint32_t newest = replicate_newest_sent(match->replicate, slot);
        replicate_ack(match->replicate, slot, (uint16_t)newest, 0, match_tick(match) - 1);
    }
}

/* All have come and begin with the next tick. */
static void open_crowd(uint32_t players)
{
    static const uint8_t id[16] = {1};
    defaults();
    config.max_players = (int32_t)players;
    config.min_players = (int32_t)players;
    spawn_gap = 80.0F / (float)players;
    arb_arena_init(&arena);
    geometry = arb_geometry_create(NULL, 0, map.bounds);
    match = match_create(&arena, &config, &probe, NULL, &map, geometry, id, &counting);
    arb_arena_seal(&arena);
    for (uint16_t slot = 0; slot < players; slot++) {
        if (slot % QUEUE == QUEUE - 1) tick_of_all();
        if (slot == players - 1) break;
        say(PORT_JOIN, slot);
    }
    for (int i = 0; i < 16; i++) {
        tick_of_all();
    }
    cr_assert_eq(match_phase(match), ARB_PHASE_WAITING);
    say(PORT_JOIN, (uint16_t)(players - 1));
}

TestSuite(match_first_views, .fini = close_match);

/* One tick, and those after it that send nothing. */
static void next_snapshots(void)
{
    tick_of_all();
    while ((match_tick(match) - 1) % (arb_tick)config.snapshot_interval_ticks != 0) {
        tick_of_all();
    }
}

static uint32_t served(uint32_t players)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < players; i++) {
        cr_assert_leq(snapshots[i], 1);
        count += snapshots[i];
    }
    return count;
}

Test(match_first_views, come_in_order_of_joining_a_quarter_with_each_snapshot)
{
    cr_assert_eq(first_views_room(CROWD), ROOM);
    open_crowd(CROWD);
    next_snapshots();
    cr_assert_eq(match_phase(match), ARB_PHASE_LIVE);
    for (uint32_t turn = 1; turn <= FIRST_VIEWS_WAITS_MAX + 1; turn++) {
        for (uint32_t slot = 0; slot < CROWD; slot++) {
            cr_assert_eq(snapshots[slot], slot < turn * ROOM, "slot %u at turn %u", slot, turn);
        }
        next_snapshots();
    }
    cr_assert_eq(served(CROWD), CROWD);
}

Test(match_first_views, of_few_wait_for_nothing)
{
    open_crowd(64);
    next_snapshots();
    cr_assert_eq(match_phase(match), ARB_PHASE_LIVE);
    cr_assert_eq(served(64), 64);
}

static struct arb_rng rng;
static float share; /* of all, in each tick */

/* Many end and begin elsewhere in the same tick. */
static void swap_characters(struct rules_context *context)
{
    for (uint16_t slot = 0; slot < CROWD; slot++) {
        if (arb_rng_unit(&rng) >= share || context->world->head->free_count < 2) continue;
        probe_player_left(context, slot);
        probe_spawn(context, slot);
    }
}

/* However many begin again in each tick. */
Test(match_first_views, nobody_waits_for_more_than_three_snapshots)
{
    static uint32_t waits[CROWD];
    uint32_t longest = 0, most = 0;
    arb_rng_seed(&rng, 5, 5);
    open_crowd(CROWD);
    probe_hook = swap_characters;
    for (uint32_t turn = 0; turn < 120; turn++) {
        share = (float)(turn / 20) * 0.1F;
        next_snapshots();
        uint32_t first = 0;
        for (uint16_t slot = 0; slot < CROWD; slot++) {
            bool is_first = !arb_key_equal(shown[slot], player(slot)->controlled);
            cr_assert(is_first || snapshots[slot] == 1);
            waits[slot] = snapshots[slot] == 1 ? 0 : waits[slot] + 1;
            longest = waits[slot] > longest ? waits[slot] : longest;
            first += is_first && snapshots[slot] == 1;
            if (snapshots[slot] == 1) shown[slot] = player(slot)->controlled;
        }
        most = first > most ? first : most;
    }
    cr_assert_eq(longest, FIRST_VIEWS_WAITS_MAX);
    cr_assert_eq(most, ROOM);
}

Test(match_first_views, who_dies_sees_on_and_a_new_session_begins_anew)
{
    open_crowd(CROWD);
    for (int i = 0; i < 8; i++) {
        next_snapshots();
    }
    dying_slot = CROWD - 1;
    next_snapshots();
    cr_assert(arb_key_is_none(player(CROWD - 1)->controlled));
    cr_assert_eq(served(CROWD), CROWD);
    cr_assert(match->seats[CROWD - 1].has_view);
    say(PORT_LEAVE, CROWD - 1);
    next_snapshots();
    say(PORT_JOIN, CROWD - 1);
    next_snapshots();
    cr_assert_eq(snapshots[CROWD - 1], 1);
    cr_assert(arb_key_equal(match->seats[CROWD - 1].view_of, player(CROWD - 1)->controlled));
}
