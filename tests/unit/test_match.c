/* server/match: joins and leaves, phases, announcements. */
#include "server/match/match_internal.h"
#include "tests/unit/match_rig.h"

TestSuite(match, .init = defaults, .fini = close_match);

/* ---- life ---- */

Test(match, phases_follow_each_other_and_end_with_a_result)
{
    config.min_players = 2;
    config.countdown_s = 1;
    config.duration_s = 2;
    config.result_s = 1;
    config.rounds = 2;
    open_match();
    say(PORT_JOIN, 0);
    for (int i = 0; i < 10; i++) {
        tick();
    }
    cr_assert_eq(match_phase(match), ARB_PHASE_WAITING);
    say(PORT_JOIN, 1);
    uint32_t ticks_in[5] = {0};
    for (int i = 0; i < 2000 && !match_ended(match); i++) {
        tick();
        ticks_in[match_phase(match)]++;
        cr_assert_eq(match_decided(match), match_world(match)->head->round == 2 &&
                                               match_phase(match) >= ARB_PHASE_RESULT);
    }
    cr_assert_eq(ticks_in[ARB_PHASE_COUNTDOWN], 120);
    cr_assert_eq(match_world(match)->head->live_ticks, 240, "two rounds of two seconds");
    cr_assert_eq(ticks_in[ARB_PHASE_ENDED], 1);
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->player_count, 2);
    cr_assert_eq(result->end_reason, ARB_END_TIME);
    cr_assert_eq(result->players[0].player_id, 1);
    cr_assert_str_eq(result->players[1].name, "ada");
    cr_assert_eq(result->checksum, match->decided_checksum);
    free(result);
}

Test(match, the_mode_may_end_a_round_early)
{
    open_match();
    join_live();
    end_early = true;
    tick();
    cr_assert(match_decided(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_SCORE);
    cr_assert(arb_key_is_none(player(0)->controlled), "no character in the result phase");
    cr_assert_eq(match_world(match)->head->entity_count, 0);
}

Test(match, nobody_comes_and_the_match_ends)
{
    config.join_timeout_s = 2;
    open_match();
    for (int i = 0; i < 120; i++) {
        tick();
        cr_assert_not(match_ended(match));
    }
    tick();
    cr_assert(match_ended(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_NOBODY);
}

Test(match, everyone_leaves_and_the_match_ends_after_its_idle_time)
{
    config.idle_exit_s = 1;
    open_match();
    join_live();
    tick();
    say(PORT_LEAVE, 0);
    for (int i = 0; i < 60; i++) {
        tick();
        cr_assert_not(match_ended(match));
    }
    tick();
    cr_assert(match_ended(match));
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->end_reason, ARB_END_EMPTY);
    cr_assert_eq(result->player_count, 1, "who played has a line");
    free(result);
}

Test(match, an_abort_ends_it_at_the_next_tick)
{
    open_match();
    join_live();
    match_abort(match, ARB_END_ABORTED);
    tick();
    cr_assert(match_ended(match));
    cr_assert_eq(match_world(match)->head->end_reason, ARB_END_ABORTED);
}

Test(match, a_full_match_refuses_and_a_left_slot_keeps_its_line)
{
    config.max_players = 2;
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(refused_with[2], ARB_REFUSED_FULL);
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match_world(match)->head->entity_count, 1);
    say(PORT_JOIN, 3);
    tick();
    cr_assert_eq(player(0)->player_id, 3);
    match_abort(match, ARB_END_ABORTED);
    tick();
    tick();
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->player_count, 3, "all who ever played");
    for (uint32_t i = 0; i < 3; i++) {
        cr_assert_eq(result->players[i].player_id, i + 1);
    }
    free(result);
    say(PORT_JOIN, 4);
    tick();
    cr_assert_eq(refused_with[4], ARB_REFUSED_ENDED);
}

Test(match, a_slot_is_not_given_away_in_the_tick_in_which_its_character_still_stands)
{
    config.max_players = 1;
    open_match();
    join_live();
    tick();
    say(PORT_LEAVE, 0);
    say(PORT_JOIN, 1);
    tick();
    cr_assert_eq(refused_with[1], ARB_REFUSED_FULL);
    cr_assert_eq(match_world(match)->head->entity_count, 0);
}

Test(match, a_slot_is_given_away_until_the_result_has_no_line_left)
{
    config.max_players = 1;
    config.idle_exit_s = 10;
    config.duration_s = 3600;
    open_match();
    for (uint32_t i = 0; i <= MATCH_LINES_MAX; i++) {
        say(PORT_JOIN, 0);
        tick();
        cr_assert_eq(refused_with[0], i < MATCH_LINES_MAX ? 0 : ARB_REFUSED_FULL);
        tick();
        say(PORT_LEAVE, 0);
        tick();
    }
    match_abort(match, ARB_END_ABORTED);
    tick();
    struct match_result *result = malloc(sizeof *result);
    match_get_result(match, result);
    cr_assert_eq(result->player_count, MATCH_LINES_MAX);
    cr_assert_eq(result->players[MATCH_LINES_MAX - 1].player_id, MATCH_LINES_MAX);
    free(result);
}

/* The winner that everyone is told of. */
static uint16_t winner_of(int32_t a, int32_t b, int32_t c)
{
    uint16_t winner = 0;
    uint32_t told = 0;
    open_match();
    for (uint16_t session = 0; session < 3; session++) {
        say(PORT_JOIN, session);
    }
    tick();
    tick();
    match->world.players[0].score = a;
    match->world.players[1].score = b;
    match->world.players[2].score = c;
    match_abort(match, ARB_END_ABORTED);
    tick();
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_EVENT && sent[i].event.kind == ARB_EVENT_RESULT) {
            winner = sent[i].event.result.winner_slot;
            told++;
        }
    }
    cr_assert_eq(told, 3);
    close_match();
    return winner;
}

Test(match, the_best_wins_and_of_equals_nobody)
{
    static const struct {
        int32_t scores[3];
        uint16_t winner;
    } rows[] = {
        {{3, 1, 1}, 0},           {{1, 3, 2}, 1},           {{1, 1, 3}, 2},
        {{3, 3, 1}, ARB_NO_SLOT}, {{3, 1, 3}, ARB_NO_SLOT}, {{0, 2, 2}, ARB_NO_SLOT},
        {{0, 0, 0}, ARB_NO_SLOT}, {{2, 2, 3}, 2},           {{-1, -2, -2}, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int32_t *scores = rows[i].scores;
        cr_assert_eq(winner_of(scores[0], scores[1], scores[2]), rows[i].winner, "row %zu", i);
    }
}

Test(match, the_points_of_those_who_left_are_their_teams)
{
    config.teams = 2;
    config.max_players = 2;
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    match->world.players[0].score = 9;
    match->world.players[1].score = 5;
    uint8_t team = player(0)->team;
    tick();
    say(PORT_LEAVE, 0);
    tick();
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(player(0)->player_id, 3, "the slot is somebody else's");
    match_abort(match, ARB_END_ABORTED);
    tick();
    uint32_t told = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_EVENT && sent[i].event.kind == ARB_EVENT_RESULT) {
            cr_assert_eq(sent[i].event.result.winner_team, team);
            told++;
        }
    }
    cr_assert_eq(told, 2);
}

Test(match, teams_are_filled_evenly)
{
    config.teams = 2;
    open_match();
    for (uint16_t i = 0; i < 4; i++) {
        say(PORT_JOIN, i);
    }
    tick();
    cr_assert_eq(player(0)->team + player(1)->team, 3);
    cr_assert_eq(player(2)->team + player(3)->team, 3);
}

static uint32_t entities_in_snapshot_of(uint16_t session)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session != session || sent[i].type != ARB_MESSAGE_SNAPSHOT) continue;
        return sent_snapshot(i).frame->entity_count;
    }
    return 0;
}

/* Four players 25 m apart, each sees 10 m. */
static uint32_t seen_from_afar(int32_t teams)
{
    config.teams = teams;
    config.interest_enter_m = 10;
    config.interest_retain_m = 12;
    spawn_gap = 25.0F;
    open_match();
    for (uint16_t i = 0; i < 4; i++) {
        say(PORT_JOIN, i);
    }
    uint32_t seen = 0;
    for (int i = 0; i < 4 && seen == 0; i++) {
        tick();
        seen = entities_in_snapshot_of(3);
    }
    close_match();
    return seen;
}

Test(match, team_mates_are_seen_from_anywhere_others_from_near)
{
    cr_assert_eq(seen_from_afar(0), 1, "itself");
    cr_assert_eq(seen_from_afar(2), 2, "itself and its mate");
}

/* ---- announcements ---- */

static uint32_t count_events(uint16_t session, enum arb_event_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        count += sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
                 sent[i].event.kind == kind;
    }
    return count;
}

Test(match, a_newcomer_gets_the_welcome_first_and_each_standing_fact_once)
{
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    cr_assert_eq(sent[0].type, ARB_MESSAGE_WELCOME);
    for (uint16_t session = 0; session < 2; session++) {
        cr_assert_eq(count_events(session, ARB_EVENT_PLAYER), 2);
        cr_assert_eq(count_events(session, ARB_EVENT_SCORE), 0, "all lines are zeros still");
        cr_assert_eq(count_events(session, ARB_EVENT_PHASE), 1);
        cr_assert_eq(count_events(session, ARB_EVENT_REBIND), 1);
    }
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(count_events(0, ARB_EVENT_PLAYER), 1, "the others hear of the newcomer");
    cr_assert_eq(count_events(2, ARB_EVENT_PLAYER), 3);
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type == ARB_MESSAGE_EVENT) {
            cr_assert_eq(sent[i].event.tick, (uint32_t)(match_tick(match) - 1),
                         "stamped with the published tick");
        }
    }
}

Test(match, whoever_leaves_does_nothing_again_in_that_tick)
{
    config.idle_exit_s = 10;
    open_match();
    join_live();
    struct arb_input *input = add_input(packet(0, player(0)->control), 1, match_tick(match));
    input->buttons = input->edges = ARB_BUTTON_FIRE;
    tick();
    cr_assert_eq(player(0)->values[0], 1);
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(player(0)->values[0], 1, "the press of the tick before is over");
}

Test(match, a_session_gone_before_its_tick_never_joined)
{
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match_present_count(match), 0);
    cr_assert_eq(sent_count, 0);
}

Test(match, places_are_given_in_order_of_arrival)
{
    open_match();
    for (uint16_t session = 0; session < 4; session++) {
        say(PORT_JOIN, session);
        queue[queued - 1].name[0] = (char)('a' + session);
    }
    say(PORT_LEAVE, 0);
    tick();
    cr_assert_eq(match_present_count(match), 3);
    for (uint16_t slot = 0; slot < 3; slot++) {
        cr_assert_eq(player(slot)->name[0], 'b' + slot);
    }
}

/* ---- long time ---- */

Test(match, ticks_near_their_wraps_give_the_same_walk)
{
    struct arb_own reference = {0};
    const uint64_t firsts[] = {1, 1ULL << 24, (1ULL << 31) - 20, (1ULL << 32) - 20};
    for (size_t k = 0; k < sizeof firsts / sizeof firsts[0]; k++) {
        config.first_tick = (struct option_seed){firsts[k], 1};
        open_match();
        join_live();
        for (uint32_t i = 0; i < 60; i++) {
            struct arb_input *input =
                add_input(packet(0, player(0)->control), i + 1, match_tick(match));
            input->move_x = (int8_t)(i % 100);
            input->move_y = 50;
            tick();
        }
        if (k == 0) {
            reference = player(0)->own;
        }
        cr_assert(memcmp(&reference, &player(0)->own, sizeof reference) == 0);
        close_match();
    }
}
