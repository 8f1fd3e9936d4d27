/* server/match: a match, its journal, and the match that plays it. */
#include "server/match/match_journal.h"
#include "server/match/match_replay.h"
#include "shared/base/arb_rng.h"
#include "tests/unit/journal_rig.h"

enum { TICKS = 1500, KEYFRAME_TICKS = 200 };

static struct arb_arena own; /* of journal and replay */
static struct match_journal *journal;
static struct match *copies[2];
static struct journal_reader *reader;
static struct arb_rng rng;

static void setup(void)
{
    defaults();
    config.duration_s = 20;
    config.result_s = 2;
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
    for (int i = 0; i < 2; i++) {
        if (copies[i] != NULL) match_destroy(copies[i]);
        copies[i] = NULL;
    }
    journal_close(reader);
    reader = NULL;
    free_file();
    close_match();
    arb_arena_free(&own);
}

TestSuite(match_journal, .init = setup, .fini = close_all);

static void say_something(void)
{
    for (uint16_t session = 0; session < 3; session++) {
        uint16_t slot = match->slot_of_session[session];
        const struct match_seat *seat = &match->seats[slot];
        bool here = seat->seated && seat->has_session && seat->session.index == session;
        if (!here) {
            if (arb_rng_below(&rng, 20) == 0) say(PORT_JOIN, session);
            continue;
        }
        if (arb_rng_below(&rng, 400) == 0) say(PORT_LEAVE, session);
        if (arb_rng_below(&rng, 10) == 0) continue;
        arb_tick target = match_tick(match) + 2;
        struct arb_input *input =
            add_input(packet(session, player(slot)->control), (arb_sequence)target, target);
        input->move_x = (int8_t)arb_rng_below(&rng, 256);
        input->move_y = (int8_t)arb_rng_below(&rng, 256);
        input->aim = (uint16_t)arb_rng_below(&rng, 65536);
        input->buttons = (uint16_t)(arb_rng_below(&rng, 8) == 0);
    }
}

static void play(uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        say_something();
        tick();
        match_journal_tick(journal, match);
    }
    flush_block();
}

static struct match *copy_of(const struct match_config *numbers)
{
    static const uint8_t id[16] = {1, 2, 3};
    return match_create(&own, numbers, &probe, NULL, &map, geometry, id, NULL);
}

static struct match_replay *replay_of(const struct match_config *numbers)
{
    enum journal_status status;
    journal_close(reader);
    reader = journal_open(&memory_source, &status);
    cr_assert_not_null(reader, "%s", journal_status_text(status));
    for (int i = 0; i < 2; i++) {
        if (copies[i] != NULL) match_destroy(copies[i]);
        copies[i] = copy_of(numbers);
    }
    return match_replay_create(&own, copies[0], copies[1], reader);
}

/* How often each status came before anything that is not as recorded; `last` has that or the end.
 */
static void verify(struct match_replay *replay, uint32_t counts[8], struct match_replay_step *last)
{
    memset(counts, 0, 8 * sizeof counts[0]);
    do {
        match_replay_next(replay, last);
        counts[last->status]++;
    } while (last->status < MATCH_REPLAY_DIVERGED);
}

static void expect_good_to(const struct match_replay_step *last, arb_tick tick)
{
    cr_assert_eq(last->status, MATCH_REPLAY_STOPPED, "%s", last->text);
    cr_expect_eq(last->journal, JOURNAL_READ_FINISHED, "%s", journal_status_text(last->journal));
    cr_expect_eq(last->tick, tick);
}

Test(match_journal, a_whole_match_is_played_again_to_the_bit)
{
    open_all();
    play(TICKS);
    cr_assert(match_ended(match));
    struct match_journal_counts counts = match_journal_counts(journal);
    cr_expect(counts.ended);
    cr_expect_eq(counts.gaps, 0);
    cr_expect_eq(counts.ticks, TICKS);
    cr_expect_eq(counts.keyframes, TICKS / KEYFRAME_TICKS);
    struct match_replay *replay = replay_of(&config);
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay, seen, &last);
    expect_good_to(&last, match_tick(match));
    cr_expect_eq(seen[MATCH_REPLAY_TICK], TICKS);
    cr_expect_eq(seen[MATCH_REPLAY_KEYFRAME], TICKS / KEYFRAME_TICKS);
    cr_expect_eq(seen[MATCH_REPLAY_END], 1);
    cr_expect_eq(match_checksum(copies[0]), match_checksum(match));
}

Test(match_journal, while_there_is_no_room_ticks_are_missing_and_a_keyframe_goes_on)
{
    open_all();
    play(250);
    disk_is_full = true;
    play(70);
    cr_expect_eq(match_journal_counts(journal).gaps, 1);
    disk_is_full = false;
    play(300);
    struct match_journal_counts counts = match_journal_counts(journal);
    cr_expect_eq(counts.gaps, 1);
    cr_expect_eq(counts.ticks, 250 + 299, "the tick that ends the gap is in its keyframe");
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay_of(&config), seen, &last);
    expect_good_to(&last, match_tick(match));
    cr_expect_eq(seen[MATCH_REPLAY_GAP], 1);
    cr_expect_eq(seen[MATCH_REPLAY_TICK], counts.ticks);
    cr_expect_eq(match_checksum(copies[0]), match_checksum(match));
}

static bool has_room_for_small_ones(void *owner, size_t bytes)
{
    const size_t *room = owner;
    return bytes <= *room;
}

/* The most that one may take is more than a whole queue where a thousand may play. */
Test(match_journal, keyframes_need_room_for_what_they_are_and_not_for_the_most_that_they_may_be)
{
    open_all();
    size_t room = match_journal_keyframe_bytes(match) / 2;
    struct match_journal_sink sink = {&room, memory_put, has_room_for_small_ones, 0};
    journal = match_journal_create(&own, match, KEYFRAME_TICKS, &sink);
    play(450);
    cr_expect_eq(match_journal_counts(journal).keyframes, 2);
    disk_is_full = true;
    play(10);
    disk_is_full = false;
    play(1);
    cr_expect_eq(match_journal_counts(journal).keyframes, 3, "the end of a gap");
    room = 0;
    play(200);
    cr_expect_eq(match_journal_counts(journal).keyframes, 3, "none where nothing has room");
}

/* In the order in which they left, up to a few. */
Test(match_journal, what_left_in_a_gap_is_written_behind_it)
{
    open_all();
    play(50);
    match_journal_sent(journal, "before");
    play(10);
    disk_is_full = true;
    play(5);
    match_journal_sent(journal, "one");
    match_journal_sent(journal, "two");
    play(5);
    for (int i = 0; i < MATCH_JOURNAL_SENT_MAX; i++)
        match_journal_sent(journal, "more");
    disk_is_full = false;
    play(20);
    flush_block();
    static const char *const expected[] = {"before", "one", "two", "more"};
    enum journal_status status;
    struct journal_record record;
    uint32_t sent_keys = 0;
    reader = journal_open(&memory_source, &status);
    while (journal_next(reader, &record) == JOURNAL_READ_OK) {
        if (record.kind != JOURNAL_SENT) continue;
        const char *key = expected[sent_keys < 3 ? sent_keys : 3];
        cr_expect(record.size == strlen(key) && memcmp(record.bytes, key, record.size) == 0);
        sent_keys++;
    }
    cr_expect_eq(sent_keys, 1 + MATCH_JOURNAL_SENT_MAX);
}

/* Told, and not tried in each tick: a state that is larger than any queue. */
Test(match_journal, keyframes_that_no_queue_can_hold_are_counted)
{
    open_all();
    struct match_journal_sink sink = memory_sink;
    sink.most = 200;
    journal = match_journal_create(&own, match, KEYFRAME_TICKS, &sink);
    play(450);
    struct match_journal_counts counts = match_journal_counts(journal);
    cr_expect_eq(counts.keyframes, 0);
    cr_expect_eq(counts.too_large, 1, "the next is tried when the state may have become smaller");
    cr_expect_eq(counts.ticks, 450, "ticks go on without");
    disk_is_full = true;
    play(1);
    disk_is_full = false;
    play(5);
    counts = match_journal_counts(journal);
    cr_expect_eq(counts.gaps, 1);
    cr_expect_eq(counts.missing_ticks, 6, "nothing leads on behind it");
    play(1200);
    cr_expect_leq(match_journal_counts(journal).too_large, 4);
}

/* Nothing that follows could be read: that is a gap like others, and told as one. */
Test(match_journal, a_file_that_is_gone_on_with_without_a_keyframe_has_a_gap)
{
    open_all();
    play(50);
    struct match_journal *next = match_journal_create(&own, match, KEYFRAME_TICKS, &memory_sink);
    disk_is_full = true;
    match_journal_go_on(next, match, false);
    cr_expect_eq(match_journal_counts(next).gaps, 1);
    cr_expect_eq(match_journal_counts(next).missing_ticks, 0);
    journal = next;
    play(3);
    disk_is_full = false;
    play(20);
    struct match_journal_counts counts = match_journal_counts(journal);
    cr_expect_eq(counts.gaps, 1);
    cr_expect_eq(counts.missing_ticks, 4);
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay_of(&config), seen, &last);
    expect_good_to(&last, match_tick(match));
    cr_expect_eq(seen[MATCH_REPLAY_GAP], 1);
}

Test(match_journal, a_result_that_came_in_a_gap_is_written_after_it)
{
    open_all();
    play(1100);
    disk_is_full = true;
    while (!match_decided(match))
        play(1);
    play(10);
    disk_is_full = false;
    play(10);
    cr_expect(match_journal_counts(journal).ended);
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay_of(&config), seen, &last);
    expect_good_to(&last, match_tick(match));
    cr_expect_eq(seen[MATCH_REPLAY_END], 1);
}

Test(match_journal, a_replay_may_begin_at_any_keyframe)
{
    open_all();
    play(1000);
    struct match_replay *replay = replay_of(&config);
    char text[MATCH_REPLAY_TEXT_BYTES];
    cr_expect_not(match_replay_seek(replay, KEYFRAME_TICKS - 1, text));
    for (arb_tick tick = 950; tick > KEYFRAME_TICKS; tick -= 150) {
        cr_assert(match_replay_seek(replay, tick, text), "%s", text);
        cr_expect_eq(match_tick(copies[0]), tick - tick % KEYFRAME_TICKS);
        uint32_t seen[8];
        struct match_replay_step last;
        verify(replay, seen, &last);
        expect_good_to(&last, match_tick(match));
        cr_expect_eq(match_checksum(copies[0]), match_checksum(match));
    }
}

Test(match_journal, the_first_tick_that_differs_is_named_and_what_differs_at_the_next_keyframe)
{
    open_all();
    play(500);
    struct match_replay *replay = replay_of(&config);
    struct match_replay_step step;
    for (int i = 0; i < 300; i++) {
        match_replay_next(replay, &step);
        cr_assert(step.status < MATCH_REPLAY_DIVERGED, "%s", step.text);
    }
    arb_tick tick = match_tick(copies[0]);
    copies[0]->world.players[0].score++;
    match_replay_next(replay, &step);
    cr_assert_eq(step.status, MATCH_REPLAY_DIVERGED);
    cr_expect_eq(step.tick, tick);
    cr_expect_neq(step.recorded, step.reached);
    cr_expect_not_null(strstr(step.text, "the checksum is"));
    bool named = false;
    do {
        match_replay_next(replay, &step);
        named |= step.status == MATCH_REPLAY_DIVERGED && strstr(step.text, "score") != NULL;
    } while (step.status != MATCH_REPLAY_STOPPED);
    cr_expect(named);
}

Test(match_journal, a_journal_of_other_numbers_is_refused_at_its_keyframe)
{
    open_all();
    disk_is_full = true;
    play(10);
    disk_is_full = false;
    play(50);
    struct match_config other = config;
    other.duration_s++;
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay_of(&other), seen, &last);
    cr_expect_eq(last.status, MATCH_REPLAY_REFUSED);
}

Test(match_journal, a_journal_of_another_first_tick_is_refused_at_its_first)
{
    open_all();
    play(10);
    struct match_config other = config;
    other.first_tick = (struct option_seed){77, 1};
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay_of(&other), seen, &last);
    cr_expect_eq(last.status, MATCH_REPLAY_REFUSED);
    cr_expect_eq(seen[MATCH_REPLAY_TICK], 0);
}

/* As a process that resumes the match of another one: nobody is connected, all may come back. */
Test(match_journal, a_match_goes_on_from_its_journal_in_the_same_file)
{
    config.rejoin_grace_s = 1;
    open_all();
    play(450);
    cr_assert_gt(match_present_count(match), 0);
    struct match_replay *replay = replay_of(&config);
    char text[MATCH_REPLAY_TEXT_BYTES];
    cr_assert(match_replay_seek(replay, UINT64_MAX, text), "%s", text);
    struct match_replay_step step;
    do
        match_replay_next(replay, &step);
    while (step.status < MATCH_REPLAY_DIVERGED);
    cr_assert_eq(step.status, MATCH_REPLAY_STOPPED, "%s", step.text);
    struct match *resumed = copies[0];
    cr_assert_eq(match_checksum(resumed), match_checksum(match));
    match_detach(resumed);
    struct match_journal *further =
        match_journal_create(&own, resumed, KEYFRAME_TICKS, &memory_sink);
    match_journal_go_on(further, resumed, false);
    for (int i = 0; i < 100; i++) {
        tick_run(resumed, TICK_RERUN);
        match_journal_tick(further, resumed);
        for (uint16_t slot = 0; i == 0 && slot < 3; slot++) {
            const struct world_player *line = &match_world(resumed)->players[slot];
            cr_expect_neq(line->presence, WORLD_PRESENT, "slot %u is away", slot);
        }
    }
    flush_block();
    uint64_t checksum = match_checksum(resumed);
    arb_tick reached = match_tick(resumed);
    uint32_t seen[8];
    struct match_replay_step last;
    verify(replay_of(&config), seen, &last);
    expect_good_to(&last, reached);
    cr_expect_eq(match_checksum(copies[0]), checksum);
    cr_expect_eq(seen[MATCH_REPLAY_TICK], 550);
}

Test(match_journal, results_come_back_and_damaged_ones_do_not)
{
    static struct match_result result, back;
    static uint8_t bytes[4096];
    result = (struct match_result){
        .ticks = 12345, .end_reason = ARB_END_SCORE, .checksum = UINT64_MAX - 3, .player_count = 2};
    result.players[0] = (struct match_result_player){7, "ada", 1, -5, 2, 3, 4};
    result.players[1] = (struct match_result_player){UINT64_MAX, "eve", 0, 9, 0, 1, 0};
    size_t size = match_journal_end_encode(&result, bytes);
    cr_assert(match_journal_end_decode(bytes, size, &back));
    cr_expect_eq(memcmp(&result, &back, sizeof back), 0);
    for (size_t cut = 0; cut < size; cut++) {
        cr_assert_not(match_journal_end_decode(bytes, cut, &back));
    }
    uint8_t *name = bytes + MATCH_JOURNAL_END_BYTES + 26;
    cr_assert_eq(memcmp(name, "ada", 4), 0);
    *name = 0xFF;
    cr_expect_not(match_journal_end_decode(bytes, size, &back), "a name that no message has");
    *name = 'a';
    bytes[0] = 99;
    cr_expect_not(match_journal_end_decode(bytes, size, &back));
}
