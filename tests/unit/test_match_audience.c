/* Events that name a place go to those who see what is there: nobody learns from one what the
 * snapshots keep from him. */
#include "server/match/match.h"
#include "tests/unit/match_rig.h"

/* In a row, 8 m apart: the victim, one beside it, one behind a wall from it, and one far away; the
 * shooter is the last one, and the victim is beyond its radius. */
enum { VICTIM, NEAR, BEHIND_WALL, FAR, SHOOTER, PLAYERS, SPECTATOR = PLAYERS };

static struct arb_key about[RULES_EVENT_KEYS];
static bool tells;

static void tell(struct rules_context *context)
{
    struct arb_event event = {.kind = ARB_EVENT_IMPACT};
    event.impact.shooter_slot = SHOOTER;
    event.impact.action = 77;
    if (tells) {
        rules_emit_about(context, SHOOTER, about[0], about[1], &event);
    }
}

static void open_scene(bool walls_hide, int32_t delay_s)
{
    static const uint8_t id[16] = {1};
    struct arb_shape wall = {
        ARB_SHAPE_POLYGON, 4, 0, {{-29, -40}, {-28, -40}, {-28, 40}, {-29, 40}}};
    defaults();
    config.max_players = PLAYERS;
    config.spectator_max = 1;
    config.spectator_delay_s = delay_s;
    config.interest_enter_m = 20;
    config.interest_retain_m = 22;
    config.interest_line_of_sight = walls_hide;
    config.interest_sight_margin_m = 0.1F;
    spawn_gap = 8;
    arb_arena_init(&arena);
    geometry = arb_geometry_create(&wall, 1, map.bounds);
    match = match_create(&arena, &config, &probe, NULL, &map, geometry, id, &port);
    probe_hook = tell;
    tells = false;
    memset(about, 0, sizeof about);
    for (uint16_t i = 0; i < PLAYERS; i++) {
        say(PORT_JOIN, i);
    }
    say(PORT_JOIN, SPECTATOR);
    queue[queued - 1].role = ARB_ROLE_SPECTATOR;
    for (int i = 0; i < 30; i++) {
        tick();
    }
    cr_assert_eq(player(FAR)->own.x, -16);
    about[1] = player(VICTIM)->controlled;
}

/* Bits of the sessions that are told in the next tick, which must be once. */
static uint32_t told(void)
{
    uint32_t sessions = 0;
    tells = true;
    tick();
    tells = false;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_EVENT && sent[i].event.kind == ARB_EVENT_IMPACT) {
            cr_assert_eq(sessions & 1U << sent[i].session, 0, "session %u twice", sent[i].session);
            cr_assert_eq(sent[i].event.impact.action, 77);
            sessions |= 1U << sent[i].session;
        }
    }
    return sessions;
}

static uint32_t bit(uint16_t session)
{
    return 1U << session;
}

TestSuite(match_audience, .fini = close_match);

Test(match_audience, whoever_is_behind_a_wall_or_far_away_is_not_told)
{
    open_scene(true, 0);
    cr_expect_eq(told(), bit(VICTIM) | bit(NEAR) | bit(SHOOTER) | bit(SPECTATOR));
}

Test(match_audience, without_line_of_sight_the_radius_decides)
{
    open_scene(false, 0);
    cr_expect_eq(told(),
                 bit(VICTIM) | bit(NEAR) | bit(BEHIND_WALL) | bit(SHOOTER) | bit(SPECTATOR));
}

Test(match_audience, either_of_two_that_is_shown_is_enough)
{
    open_scene(true, 0);
    about[0] = player(FAR)->controlled;
    cr_expect_eq(told(), bit(VICTIM) | bit(NEAR) | bit(BEHIND_WALL) | bit(FAR) | bit(SHOOTER) |
                             bit(SPECTATOR));
    about[1] = ARB_KEY_NONE;
    cr_expect_eq(told(), bit(BEHIND_WALL) | bit(FAR) | bit(SHOOTER) | bit(SPECTATOR));
}

Test(match_audience, another_generation_of_the_id_is_nobody_who_was_shown)
{
    open_scene(true, 0);
    about[1].generation++;
    cr_expect_eq(told(), bit(SHOOTER) | bit(SPECTATOR));
}

Test(match_audience, a_session_that_has_been_shown_nothing_yet_is_told_nothing)
{
    open_scene(true, 0);
    say(PORT_LEAVE, NEAR);
    tick();
    say(PORT_JOIN, NEAR);
    cr_expect_eq(told(), bit(VICTIM) | bit(SHOOTER) | bit(SPECTATOR));
}

Test(match_audience, spectators_are_told_with_their_delay)
{
    open_scene(true, 1);
    cr_expect_eq(told() & bit(SPECTATOR), 0);
    uint32_t later = 0;
    for (int i = 0; i < 60; i++) {
        tick();
        for (uint32_t k = 0; k < sent_count; k++) {
            later += sent[k].type == ARB_MESSAGE_EVENT && sent[k].session == SPECTATOR &&
                     sent[k].event.kind == ARB_EVENT_IMPACT;
        }
    }
    cr_expect_eq(later, 1);
}
