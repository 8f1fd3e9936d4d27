/* server/match: a process that ends in the middle of a match, and another one that goes on. */
#include "server/match/match_journal.h"
#include "server/match/match_replay.h"
#include "server/match/match_save.h"
#include "shared/base/arb_rng.h"
#include "tests/unit/journal_rig.h"

enum { KEYFRAME_TICKS = 200, PLAYERS = 3, GRACE_S = 2 };

static struct arb_arena own; /* of journal, replay and the matches behind the first */
static struct match_journal *journal;
static struct arb_rng rng;

static void setup(void)
{
    defaults();
    config.duration_s = 20;
    config.result_s = 2;
    config.rejoin_grace_s = GRACE_S;
    shot_range = 20;
}

static void open_all(void)
{
    open_match();
    arb_arena_init(&own);
    arb_rng_seed(&rng, 5, 2);
    begin_file(match);
    journal = match_journal_create(&own, match, KEYFRAME_TICKS, &memory_sink);
}

static void close_all(void)
{
    if (match == NULL) return;
    free_file();
    close_match();
    arb_arena_free(&own);
}

TestSuite(match_resume, .init = setup, .fini = close_all);

static void say_join(uint16_t session, uint8_t token, bool resume)
{
    say(PORT_JOIN, session);
    queue[queued - 1].resume = resume;
    memset(queue[queued - 1].token, token, ARB_TOKEN_BYTES);
    memset(queue[queued - 1].token_hash, 0x80 | token, PORT_TOKEN_HASH_BYTES);
}

static void play(uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        for (uint16_t slot = 0; slot < PLAYERS; slot++) {
            const struct match_seat *seat = &match->seats[slot];
            if (!seat->seated || seat->detached || player(slot)->presence != WORLD_PRESENT) {
                continue;
            }
            arb_tick target = match_tick(match) + 2;
            struct arb_input *input = add_input(packet(seat->session.index, player(slot)->control),
                                                (arb_sequence)target, target);
            input->move_x = (int8_t)arb_rng_below(&rng, 256);
            input->aim = (uint16_t)arb_rng_below(&rng, 65536);
            input->buttons = (uint16_t)(arb_rng_below(&rng, 8) == 0);
        }
        tick();
        match_journal_tick(journal, match);
    }
}

static struct match *copy(void)
{
    static const uint8_t id[16] = {1, 2, 3};
    return match_create(&own, &config, &probe, NULL, &map, geometry, id, &port);
}

/* All that is in the file, from its beginning, with each keyframe compared. */
static struct match *verify(bool *ended, bool *handed)
{
    enum journal_status status;
    struct journal_reader *reader = journal_open(&memory_source, &status);
    struct match *other = copy(), *reached = copy();
    struct match_replay *replay = match_replay_create(&own, reached, other, reader);
    struct match_replay_step step;
    *ended = *handed = false;
    do {
        match_replay_next(replay, &step);
        *ended = *ended || step.status == MATCH_REPLAY_END;
        *handed = *handed || (step.status == MATCH_REPLAY_SENT && strcmp(step.text, "result") == 0);
    } while (step.status < MATCH_REPLAY_DIVERGED);
    cr_assert_eq(step.status, MATCH_REPLAY_STOPPED, "%s", step.text);
    cr_assert_eq(step.journal, JOURNAL_READ_FINISHED);
    journal_close(reader);
    match_destroy(other);
    return reached;
}

/* The process ends here: what had not been written is lost. Another one goes on. */
static arb_tick die_and_resume(void)
{
    bool ended, handed;
    plain_size = plain_records = 0;
    struct match *next = verify(&ended, &handed);
    match_destroy(match);
    match = next;
    queued = taken = sent_count = 0;
    match_detach(match);
    journal = match_journal_create(&own, match, KEYFRAME_TICKS, &memory_sink);
    match_journal_go_on(journal, match, ended);
    return match_tick(match);
}

static void join_all(void)
{
    for (uint16_t i = 0; i < PLAYERS; i++)
        say_join(i, (uint8_t)(7 + i), false);
    play(1);
}

Test(match_resume, everybody_is_away_with_what_it_had_and_who_comes_back_has_it_again)
{
    open_all();
    join_all();
    play(333);
    flush_block();
    arb_tick written = match_tick(match);
    uint64_t checksum = match_checksum(match);
    struct world_player before = *player(1);
    play(7); /* lost */
    cr_assert_eq(die_and_resume(), written);
    cr_expect_eq(match_checksum(match), checksum);
    play(1);
    for (uint16_t slot = 0; slot < PLAYERS; slot++)
        cr_expect_eq(player(slot)->presence, WORLD_AWAY);
    say_join(40, 8, true);
    play(1);
    cr_expect_eq(player(1)->presence, WORLD_PRESENT);
    cr_expect_eq(player(1)->player_id, before.player_id);
    cr_expect_eq(player(1)->score, before.score);
    cr_expect(arb_key_equal(player(1)->controlled, before.controlled), "the same character");
    cr_expect_eq(sent_welcome.token[0], 8);
    play(GRACE_S * 60);
    cr_expect_eq(player(0)->presence, WORLD_LEFT, "the grace is over");
    cr_expect_eq(player(1)->presence, WORLD_PRESENT);
}

Test(match_resume, the_file_leads_through_many_deaths_to_the_one_result)
{
    bool ended, handed;
    open_all();
    join_all();
    while (!match_decided(match)) {
        play(1 + arb_rng_below(&rng, 150));
        if (arb_rng_below(&rng, 2) == 0) flush_block();
        play(arb_rng_below(&rng, 9));
        if (match_decided(match)) break;
        die_and_resume();
        for (uint16_t i = 0; i < PLAYERS; i++)
            say_join((uint16_t)(arb_rng_below(&rng, 50) * 4 + i), (uint8_t)(7 + i), true);
    }
    flush_block();
    struct match_result first, second;
    match_get_result(match, &first);
    die_and_resume();
    cr_assert(match_decided(match));
    match_journal_sent(journal, "result");
    play(30);
    flush_block();
    die_and_resume();
    match_get_result(match, &second);
    cr_expect_eq(first.ticks, second.ticks);
    cr_expect_eq(first.checksum, second.checksum);
    cr_expect_eq(memcmp(&first.fairness, &second.fairness, sizeof first.fairness), 0);
    /* What was claimed is counted when it arrives, which is nowhere written down. */
    cr_expect_eq(first.views.shots, second.views.shots);
    cr_expect_eq(first.player_count, second.player_count);
    cr_expect_eq(memcmp(&first.players, &second.players, sizeof first.players), 0);
    play(10);
    flush_block();
    match_destroy(verify(&ended, &handed));
    cr_expect(ended);
    cr_expect(handed);
}

Test(match_resume, a_grace_that_was_running_goes_on_where_it_was)
{
    open_all();
    join_all();
    play(50);
    say(PORT_LOST, 2);
    play(60);
    cr_assert_eq(player(2)->presence, WORLD_AWAY);
    flush_block();
    die_and_resume();
    play(GRACE_S * 60 - 62);
    cr_expect_eq(player(2)->presence, WORLD_AWAY);
    play(4);
    cr_expect_eq(player(2)->presence, WORLD_LEFT);
    cr_expect_eq(player(0)->presence, WORLD_AWAY);
}

Test(match_resume, without_a_grace_everybody_has_left)
{
    config.rejoin_grace_s = 0;
    open_all();
    join_all();
    play(50);
    flush_block();
    die_and_resume();
    play(1);
    for (uint16_t slot = 0; slot < PLAYERS; slot++)
        cr_expect_eq(player(slot)->presence, WORLD_LEFT);
}
