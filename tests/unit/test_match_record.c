/* server/match: what a tick takes from outside, and that it is enough to run the tick again. */
#include "server/match/match_codec.h"
#include "server/match/match_internal.h"
#include "shared/base/arb_rng.h"
#include "tests/unit/match_rig.h"

TestSuite(match_record, .init = defaults, .fini = close_match);

/* A second match of the same numbers, without a network. */
static struct arb_arena other_arena;
static struct match *other;
static struct match_codec *writes, *reads;
static struct match_record decoded;
static uint8_t bytes[65536];

static void open_other(void)
{
    static const uint8_t id[16] = {1, 2, 3};
    arb_arena_init(&other_arena);
    other = match_create(&other_arena, &config, &probe, NULL, &map, geometry, id, NULL);
    struct match_record_capacity capacity = match_record_capacity(other);
    writes = match_codec_create(&other_arena, &capacity);
    reads = match_codec_create(&other_arena, &capacity);
    match_record_create(&decoded, &other_arena, &capacity);
    arb_arena_seal(&other_arena);
}

static void close_other(void)
{
    match_destroy(other);
    arb_arena_free(&other_arena);
}

/* The other one plays what the bytes give back; now and then both begin anew. */
static size_t tick_both(void)
{
    tick();
    const struct match_record *record = match_record(match);
    if (record->tick % 100 == 0) {
        match_codec_reset(writes);
        match_codec_reset(reads);
    }
    size_t size = match_record_encode(writes, record, bytes, sizeof bytes);
    cr_assert_gt(size, 0);
    enum arb_decode reason = match_record_decode(reads, record->tick, bytes, size, &decoded);
    cr_assert_eq(reason, ARB_DECODE_OK, "tick %llu: %s", (unsigned long long)record->tick,
                 arb_decode_text(reason));
    match_play(other, &decoded);
    tick_run(other, TICK_RERUN);
    cr_assert_eq(match_checksum(other), match_checksum(match), "tick %llu",
                 (unsigned long long)match_tick(match));
    return size;
}

/* Packets as a bad network and a bad client send them: early, late, far too late, doubled. */
static void say_anything(struct arb_rng *rng, uint16_t session, uint16_t slot, uint32_t *sequence,
                         arb_tick *target)
{
    const struct world_player *line = &match_world(match)->players[slot];
    struct arb_input_packet *inputs =
        packet(session, (uint8_t)(line->control - arb_rng_below(rng, 9) / 8));
    uint32_t count = 1 + arb_rng_below(rng, 2);
    arb_tick now = match_tick(match);
    for (uint32_t i = 0; i < count; i++) {
        /* Falls behind by and by, and then is ahead again. */
        *target += 1;
        if (*target + 35 < now) *target = now + arb_rng_below(rng, 5);
        if (*target > now + 28) break;
        struct arb_input *input = add_input(inputs, ++*sequence, *target);
        input->buttons = (uint16_t)arb_rng_below(rng, 4);
        input->edges = (uint16_t)(arb_rng_below(rng, 5) == 0);
        input->move_x = (int8_t)arb_rng_below(rng, 256);
        input->aim = (uint16_t)arb_rng_below(rng, 65536);
        input->muzzle_fraction = (uint8_t)arb_rng_below(rng, 256);
    }
}

Test(match_record, another_match_that_plays_the_records_has_the_same_states_and_figures)
{
    shot_range = 20;
    config.input_hold_ticks = 4;
    open_match();
    open_other();
    struct arb_rng rng;
    arb_rng_seed(&rng, 7, 1);
    uint32_t sequence[3] = {0};
    arb_tick target[3] = {0};
    uint64_t late = 0, stale = 0, inputs = 0, views = 0;
    for (uint32_t i = 0; i < 2000; i++) {
        for (uint16_t session = 0; session < 3; session++) {
            uint16_t slot = match->slot_of_session[session];
            const struct match_seat *seat = &match->seats[slot];
            bool here = seat->seated && seat->has_session && seat->session.index == session;
            if (!here && arb_rng_below(&rng, 30) == 0) {
                say(PORT_JOIN, session);
                sequence[session] = 0;
                target[session] = match_tick(match);
            } else if (here && arb_rng_below(&rng, 300) == 0) {
                say(PORT_LEAVE, session);
            } else if (here && arb_rng_below(&rng, 8) > 2) {
                say_anything(&rng, session, slot, &sequence[session], &target[session]);
            }
        }
        if (i == 1990) match_abort(match, ARB_END_ABORTED);
        tick_both();
        late += match_record(match)->late_count;
        stale += match_record(match)->stale_count;
        inputs += match_record(match)->input_count;
        views += match_record(match)->view_count;
    }
    cr_expect(late > 50 && stale > 5 && inputs > 500 && views > 50, "%llu %llu %llu %llu",
              (unsigned long long)late, (unsigned long long)stale, (unsigned long long)inputs,
              (unsigned long long)views);
    cr_expect(match_decided(other) && match_ended(other));
    cr_expect_eq(
        memcmp(match_fairness(other), match_fairness(match), sizeof(struct match_fairness)), 0);
    static struct match_result result, again;
    match_get_result(match, &result);
    match_get_result(other, &again);
    cr_expect_gt(result.player_count, 3);
    cr_expect_eq(again.player_count, result.player_count);
    cr_expect_eq(again.end_reason, ARB_END_ABORTED);
    cr_expect_eq(memcmp(again.players, result.players, sizeof result.players), 0);
    close_other();
}

Test(match_record, it_tells_commands_inputs_and_late_presses_as_they_came)
{
    open_match();
    say(PORT_JOIN, 0);
    tick();
    const struct match_record *record = match_record(match);
    cr_assert_eq(record->tick, match_tick(match) - 1);
    cr_assert_eq(record->command_count, 1);
    cr_expect_eq(record->commands[0].type, MATCH_COMMAND_JOIN);
    cr_expect_str_eq(record->commands[0].name, "ada");
    cr_expect_eq(record->input_count, 0);
    for (int i = 0; i < 40; i++)
        tick();

    struct arb_input_packet *inputs = packet(0, player(0)->control);
    arb_tick now = match_tick(match);
    add_input(inputs, 1, now - 33);
    add_input(inputs, 2, now - 31);
    add_input(inputs, 3, now - 30)->edges = ARB_BUTTON_FIRE;
    add_input(inputs, 4, now)->move_x = 5;
    tick();
    cr_assert_eq(record->command_count, 0);
    cr_assert_eq(record->stale_count, 1);
    cr_expect_eq(record->stale[0].count, 2);
    cr_expect_eq(record->stale[0].newest, 2);
    cr_assert_eq(record->late_count, 1);
    cr_expect_eq(record->late[0].input.sequence, 3);
    cr_expect_eq(record->late[0].verdict, MATCH_VIEW_NOT_SENT);
    cr_assert_eq(record->input_count, 1);
    cr_expect_eq(record->inputs[0].input.sequence, 4);
    cr_expect_eq(record->inputs[0].input.move_x, 5);
    cr_expect_eq(counts(0).inputs_late, 3);
    cr_assert_eq(record->view_count, 1, "the late press left with it");

    say(PORT_LEAVE, 0);
    match_abort(match, ARB_END_ABORTED);
    tick();
    cr_assert_eq(record->command_count, 2);
    cr_expect_eq(record->commands[0].type, MATCH_COMMAND_LEAVE);
    cr_expect_eq(record->commands[1].type, MATCH_COMMAND_ABORT);
    tick();
    cr_expect_eq(record->command_count, 0);
}

Test(match_record, a_played_tick_leaves_alone_what_waits_of_sessions)
{
    open_match();
    join_live();
    struct arb_input_packet *inputs = packet(0, player(0)->control);
    for (arb_sequence i = 1; i <= 3; i++) {
        add_input(inputs, i, match_tick(match) + i)->move_x = 127;
    }
    tick();
    /* A join of that very session, in a tick that is played: another seat, the session's stays. */
    struct match_command join = {
        .type = MATCH_COMMAND_JOIN, .session = {0, 1}, .slot = 1, .name = "eve"};
    struct match_record record = {.tick = match_tick(match), .commands = &join, .command_count = 1};
    match_play(match, &record);
    tick_run(match, TICK_RERUN);
    cr_expect_eq(player(1)->presence, WORLD_PRESENT);
    cr_expect_eq(player(0)->last.sequence, 0, "nothing was played of it");
    cr_expect_eq(match_record(match)->input_count, 0);
    tick();
    cr_expect_eq(player(0)->last.sequence, 2);
    add_input(packet(0, player(0)->control), 4, match_tick(match) + 1)->move_x = 127;
    tick();
    tick();
    cr_expect_eq(player(0)->last.sequence, 4);
}

Test(match_record, a_played_join_that_is_refused_tells_nobody)
{
    config.max_players = 1;
    open_match();
    join_live();
    struct match_command join = {.type = MATCH_COMMAND_JOIN, .session = {3, 1}, .name = "eve"};
    struct match_record record = {.tick = match_tick(match), .commands = &join, .command_count = 1};
    refused_with[3] = -1;
    match_play(match, &record);
    tick_run(match, TICK_RERUN);
    cr_expect_eq(refused_with[3], -1);
    cr_expect_eq(match_drops(match).joins, 1);
}
