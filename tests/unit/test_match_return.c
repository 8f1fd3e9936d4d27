#define _GNU_SOURCE
/* server/match: a player whose session is lost, and comes back or does not (spec/client.md
 * "Reconnect"). */
#include "server/match/match_internal.h"
#include "tests/unit/match_rig.h"

static void grace(void)
{
    defaults();
    config.rejoin_grace_s = 5;
}

TestSuite(match_return, .init = grace, .fini = close_match);

static void say_join(uint16_t session, uint8_t token, bool resume)
{
    say(PORT_JOIN, session);
    queue[queued - 1].resume = resume;
    memset(queue[queued - 1].token, token, ARB_TOKEN_BYTES);
    memset(queue[queued - 1].token_hash, 0x80 | token, PORT_TOKEN_HASH_BYTES);
}

/* Of session 0, with token 7: walks to the right. */
static void join_walking(void)
{
    open_match();
    say_join(0, 7, false);
    tick();
    struct arb_input *input =
        add_input(packet(0, player(0)->control), 1, match_world(match)->head->tick);
    input->move_x = 127;
    input->buttons = ARB_BUTTON_USE;
    tick();
    cr_assert_gt(player(0)->own.vx, 0.0F);
}

static uint32_t events_to(uint16_t session, enum arb_event_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        count += sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
                 sent[i].event.kind == kind;
    }
    return count;
}

static uint32_t sent_to(uint16_t session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        count += sent[i].session == session;
    }
    return count;
}

static uint8_t presence_told(uint16_t session)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
            sent[i].event.kind == ARB_EVENT_PLAYER && sent[i].event.player.slot == 0) {
            return sent[i].event.player.present;
        }
    }
    return 0xFF;
}

Test(match_return, the_welcome_of_each_player_tells_its_own_token_and_nothing_keeps_it)
{
    uint8_t token[ARB_TOKEN_BYTES];
    open_match();
    for (uint8_t i = 0; i < 2; i++) {
        say_join(i, (uint8_t)(7 + i), false);
        tick();
        memset(token, 7 + i, sizeof token);
        cr_assert_arr_eq(sent_welcome.token, token, sizeof token);
        memset(token, 0, sizeof token);
        cr_assert_arr_eq(match->tokens[i], token, sizeof token);
    }
    /* Neither the state nor what belongs to the seat. */
    memset(token, 7, sizeof token);
    const struct world *world = match_world(match);
    cr_assert_null(memmem(world->block, world->head->block_bytes, token, sizeof token));
    cr_assert_null(memmem(match->seats, 4 * sizeof *match->seats, token, sizeof token));
}

Test(match_return, a_lost_player_stays_holds_its_input_and_then_nothing)
{
    config.input_hold_ticks = 10;
    join_walking();
    say_join(1, 8, false);
    tick();
    struct arb_key key = player(0)->controlled;
    say(PORT_LOST, 0);
    tick();
    cr_assert_eq(player(0)->presence, WORLD_AWAY);
    cr_assert_eq(presence_told(1), ARB_PRESENCE_AWAY);
    cr_assert_eq(sent_to(0), 0);
    cr_assert_eq(match_present_count(match), 2);
    cr_assert_gt(player(0)->own.vx, 0.0F, "held");
    for (int i = 0; i < 60; i++) {
        tick();
        cr_assert_eq(sent_to(0), 0);
    }
    cr_assert_float_eq(player(0)->own.vx, 0.0F, 1e-6F, "let go");
    cr_assert(arb_key_equal(player(0)->controlled, key));
}

Test(match_return, who_shows_the_token_is_the_same_player_from_a_whole_snapshot)
{
    join_walking();
    match->world.players[0].score = 12;
    struct world_player before = *player(0);
    say(PORT_LOST, 0);
    for (int i = 0; i < 20; i++) {
        tick();
    }
    float x = player(0)->own.x;
    say_join(2, 7, true);
    tick();
    cr_assert_eq(refused_with[2], 0);
    cr_assert_eq(player(0)->presence, WORLD_PRESENT);
    cr_assert_eq(player(0)->score, 12);
    cr_assert_eq(player(0)->player_id, before.player_id);
    cr_assert(arb_key_equal(player(0)->controlled, before.controlled));
    cr_assert_geq(player(0)->own.x, x, "where it was, not where it began");
    cr_assert_eq(player(0)->control, (uint8_t)(before.control + 1));
    cr_assert_eq(sent_welcome.player_slot, 0);
    cr_assert_eq(sent_welcome.player_id, before.player_id);
    cr_assert_eq(sent_welcome.token[0], 7, "the same token");
    cr_assert_eq(events_to(2, ARB_EVENT_REBIND), 1);
    uint32_t chunks = 0;
    for (int i = 0; i < 2; i++) {
        chunks += sent_count > 0 && sent[sent_count - 1].type == ARB_MESSAGE_SNAPSHOT;
        if (chunks > 0) break;
        tick();
    }
    cr_assert_eq(sent[sent_count - 1].chunk.header.baseline, 0);
    cr_assert_eq(sent[sent_count - 1].chunk.header.last_sequence, 0);
    cr_assert_eq(match_world(match)->head->next_player_id, 2);
    cr_assert_eq(match_present_count(match), 1);
}

Test(match_return, sequences_begin_anew_and_nothing_of_the_old_session_is_done)
{
    join_walking();
    tick();
    arb_tick now = match_world(match)->head->tick;
    struct arb_input *late = add_input(packet(0, player(0)->control), 2, now - 1);
    late->edges = ARB_BUTTON_DASH; /* waits for the next input */
    tick();
    cr_assert_neq(player(0)->carried_edges, 0);
    say(PORT_LOST, 0);
    say_join(2, 7, true);
    tick();
    cr_assert_eq(player(0)->carried_edges, 0);
    cr_assert_eq(player(0)->last_sequence, 0);
    cr_assert_eq(match->applied[0].move_x, 0);
    cr_assert_eq(match->applied[0].buttons, 0, "nothing held of before");
    struct arb_input *first =
        add_input(packet(2, player(0)->control), 1, match_world(match)->head->tick);
    first->move_y = 127;
    tick();
    cr_assert_eq(match->applied[0].move_y, 127);
    cr_assert_eq(player(0)->last_sequence, 1);
    cr_assert_eq(counts(0).inputs_consumed, 1, "of this session");
}

Test(match_return, the_grace_ends_in_its_tick)
{
    join_walking();
    say(PORT_LOST, 0);
    tick();
    for (int i = 0; i < 5 * 60 - 1; i++) {
        tick();
        cr_assert_eq(player(0)->presence, WORLD_AWAY, "tick %d", i);
    }
    tick();
    cr_assert_eq(player(0)->presence, WORLD_LEFT);
    cr_assert(arb_key_is_none(player(0)->controlled));
    say_join(2, 7, true);
    tick();
    cr_assert_eq(refused_with[2], ARB_REFUSED_TOKEN);
    cr_assert_eq(match_present_count(match), 0);
    cr_assert_eq(match_world(match)->head->next_player_id, 2, "nobody has joined instead");
}

Test(match_return, a_goodbye_or_no_grace_ends_it_at_once)
{
    join_walking();
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(player(0)->presence, WORLD_LEFT);
    close_match();
    config.rejoin_grace_s = 0;
    join_walking();
    say(PORT_LOST, 0);
    tick();
    cr_assert_eq(player(0)->presence, WORLD_LEFT);
    say_join(2, 7, true);
    tick();
    cr_assert_eq(refused_with[2], ARB_REFUSED_TOKEN);
}

Test(match_return, a_wrong_token_is_refused_and_changes_nothing)
{
    join_walking();
    say(PORT_LOST, 0);
    tick();
    say_join(2, 8, true);
    uint64_t refused = match_drops(match).joins;
    tick();
    cr_assert_eq(refused_with[2], ARB_REFUSED_TOKEN);
    cr_assert_eq(match_drops(match).joins, refused + 1);
    cr_assert_eq(player(0)->presence, WORLD_AWAY);
    cr_assert_eq(sent_to(2), 0);
    /* A spectator has none. */
    say_join(3, 7, true);
    queue[queued - 1].role = ARB_ROLE_SPECTATOR;
    tick();
    cr_assert_eq(refused_with[3], ARB_REFUSED_TOKEN);
    cr_assert_eq(player(0)->presence, WORLD_AWAY);
}

Test(match_return, a_newer_session_takes_over_and_the_older_is_told)
{
    join_walking();
    struct arb_key key = player(0)->controlled;
    say_join(2, 7, true);
    tick();
    cr_assert_eq(refused_with[0], ARB_REFUSED_REPLACED);
    cr_assert_eq(player(0)->presence, WORLD_PRESENT);
    cr_assert(match->seats[0].has_session);
    cr_assert_eq(match->seats[0].session.index, 2);
    add_input(packet(0, player(0)->control), 9, match_world(match)->head->tick)->move_x = 127;
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match->applied[0].move_x, 0, "the older one steers no more");
    cr_assert(arb_key_equal(player(0)->controlled, key));
    cr_assert_eq(player(0)->presence, WORLD_PRESENT);
    cr_assert_eq(match_present_count(match), 1);
}

Test(match_return, the_end_of_the_older_session_in_the_same_tick_is_none_of_the_newer)
{
    static const enum port_message_type ends[] = {PORT_LOST, PORT_LEAVE};
    for (uint32_t i = 0; i < 2; i++) {
        config.rejoin_grace_s = i == 0 ? 5 : 0;
        join_walking();
        struct arb_key key = player(0)->controlled;
        say_join(2, 7, true);
        say(ends[i], 0);
        tick();
        cr_assert_eq(refused_with[2], 0);
        cr_assert_eq(player(0)->presence, WORLD_PRESENT);
        cr_assert_eq(match->seats[0].session.index, 2);
        cr_assert(arb_key_equal(player(0)->controlled, key));
        close_match();
    }
}

Test(match_return, of_two_sessions_in_one_tick_the_last_has_the_player)
{
    join_walking();
    say(PORT_LOST, 0);
    tick();
    say_join(1, 7, true);
    say_join(2, 7, true);
    tick();
    cr_assert_eq(refused_with[1], ARB_REFUSED_REPLACED);
    cr_assert_eq(refused_with[2], 0);
    cr_assert_eq(match->seats[0].session.index, 2);
    cr_assert_eq(match->joined_count, 0, "it has its character");
}

Test(match_return, whoever_is_away_gets_no_character_and_one_when_it_is_back)
{
    config.countdown_s = 1;
    open_match();
    say_join(0, 7, false);
    say_join(1, 8, false);
    tick();
    cr_assert_eq(match_phase(match), ARB_PHASE_COUNTDOWN);
    say(PORT_LOST, 0);
    while (match_phase(match) != ARB_PHASE_LIVE) {
        tick();
    }
    cr_assert(arb_key_is_none(player(0)->controlled));
    cr_assert_not(arb_key_is_none(player(1)->controlled));
    say_join(2, 7, true);
    tick();
    cr_assert_not(arb_key_is_none(player(0)->controlled));
}

Test(match_return, a_match_of_players_who_are_all_away_goes_on_until_the_grace_is_over)
{
    config.idle_exit_s = 1;
    join_walking();
    say(PORT_LOST, 0);
    for (int i = 0; i < 5 * 60; i++) {
        tick();
    }
    cr_assert_eq(match_phase(match), ARB_PHASE_LIVE);
    for (int i = 0; i < 62; i++) {
        tick();
    }
    cr_assert_eq(match_phase(match), ARB_PHASE_ENDED);
}

Test(match_return, the_result_has_one_line_over_reconnects)
{
    static struct match_result result;
    config.duration_s = 1;
    join_walking();
    match->world.players[0].score = 3;
    say(PORT_LOST, 0);
    tick();
    say_join(2, 7, true);
    tick();
    say(PORT_LOST, 2);
    while (!match_decided(match)) {
        tick();
    }
    match_get_result(match, &result);
    cr_assert_eq(result.player_count, 1);
    cr_assert_eq(result.players[0].score, 3);
}

/* In the result phase, and in the tick that decides: the tick's own event is for those who were
 * there before. */
Test(match_return, whoever_comes_back_after_the_decision_or_in_its_tick_is_told_the_result)
{
    config.result_s = 10;
    config.max_players = 2;
    open_match();
    for (uint8_t i = 0; i < 2; i++)
        say_join(i, (uint8_t)(7 + i), false);
    scoring_slot = 1;
    tick();
    for (uint16_t i = 0; i < 2; i++)
        say(PORT_LOST, i);
    tick();
    end_early = true;
    say_join(2, 7, true);
    tick();
    cr_assert(match_decided(match));
    cr_expect_eq(events_to(2, ARB_EVENT_RESULT), 1, "in its tick");
    tick();
    cr_expect_eq(events_to(2, ARB_EVENT_RESULT), 0, "once");
    say_join(3, 8, true);
    tick();
    cr_assert_eq(events_to(3, ARB_EVENT_RESULT), 1, "after it");
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type != ARB_MESSAGE_EVENT || sent[i].event.kind != ARB_EVENT_RESULT) continue;
        cr_expect_eq(sent[i].event.result.reason, ARB_END_SCORE);
        cr_expect_eq(sent[i].event.result.winner_slot, 1);
    }
}

Test(match_return, a_late_step_is_told_to_all_at_most_ten_times_a_second)
{
    open_match();
    say_join(0, 7, false);
    tick();
    uint32_t told = 0;
    for (int i = 0; i < 60; i++) {
        match_was_late(match, 40);
        tick();
        for (uint32_t at = 0; at < sent_count; at++) {
            told += sent[at].type == ARB_MESSAGE_LATE;
        }
    }
    cr_assert_geq(told, 9);
    cr_assert_leq(told, 10);
    for (int i = 0; i < 10; i++) {
        tick();
    }
    tick();
    for (uint32_t at = 0; at < sent_count; at++) {
        cr_assert_neq(sent[at].type, ARB_MESSAGE_LATE);
    }
}
