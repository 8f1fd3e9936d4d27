/* Score lines: told in turns, the newest of each, and all of them before a phase ends. */
#include "server/match/match.h"
#include "server/match/news.h"
#include "server/match/scores.h"
#include "shared/base/arb_rng.h"
#include "tests/unit/match_rig.h"

TestSuite(match_scores, .init = defaults, .fini = close_match);

/* ---- which lines a receiver is due ---- */

enum { PLAYERS = 300, RECEIVERS = 40, TICKS = 2000 };

struct receiver {
    uint32_t told;
    struct arb_event_score lines[PLAYERS];
};

static struct arb_event_score truth[PLAYERS];
static uint64_t ids[PLAYERS];
static struct receiver receivers[RECEIVERS];

static uint32_t hear(struct scores *scores, struct receiver *receiver, uint32_t tick)
{
    uint32_t lines = 0, count = scores_since(scores, receiver->told, tick);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_scores message;
        size_t size;
        const uint8_t *bytes = scores_message(scores, i, &size);
        cr_assert_eq(arb_scores_decode(bytes, size, &message), ARB_DECODE_OK);
        cr_assert_eq(message.tick, tick);
        for (uint32_t line = 0; line < message.count; line++) {
            receiver->lines[message.lines[line].slot] = message.lines[line];
        }
        lines += message.count;
    }
    receiver->told = scores->newest;
    return lines;
}

static void change_some(struct scores *scores, struct arb_rng *rng)
{
    scores_begin(scores);
    for (uint32_t n = arb_rng_below(rng, 6); n > 0; n--) {
        uint16_t slot = (uint16_t)arb_rng_below(rng, PLAYERS);
        if (arb_rng_below(rng, 20) == 0) {
            /* Another player, of whom all are told before, and whose line may be as the old one. */
            ids[slot]++;
            bool same = arb_rng_below(rng, 2) == 0;
            if (!same) truth[slot] = (struct arb_event_score){.slot = slot};
            for (int i = 0; i < RECEIVERS; i++) {
                receivers[i].lines[slot] = (struct arb_event_score){.slot = slot};
            }
        } else {
            truth[slot].score += (int32_t)arb_rng_below(rng, 100000) - 50000;
            truth[slot].kills = (uint16_t)(truth[slot].kills + arb_rng_below(rng, 3));
            truth[slot].deaths++;
        }
    }
    for (uint16_t slot = 0; slot < PLAYERS; slot++) {
        scores_set(scores, ids[slot], &truth[slot]);
    }
}

static void check_all(const struct receiver *receiver)
{
    for (uint32_t slot = 0; slot < PLAYERS; slot++) {
        cr_assert_eq(receiver->lines[slot].score, truth[slot].score, "slot %u", slot);
        cr_assert_eq(receiver->lines[slot].kills, truth[slot].kills);
        cr_assert_eq(receiver->lines[slot].deaths, truth[slot].deaths);
    }
}

Test(match_scores, each_receiver_has_all_newest_lines_after_its_turn)
{
    struct arb_rng rng;
    struct scores scores;
    arb_rng_seed(&rng, 7, 1);
    arb_arena_init(&arena);
    scores_create(&scores, &arena, PLAYERS);
    for (uint16_t slot = 0; slot < PLAYERS; slot++) {
        truth[slot].slot = slot;
        ids[slot] = 1;
    }
    uint64_t lines = 0;
    for (uint32_t tick = 1; tick < TICKS; tick++) {
        change_some(&scores, &rng);
        for (uint32_t i = 0; i < RECEIVERS; i++) {
            if (!news_is_turn(PLAYERS, 60, 2, tick, i)) continue;
            lines += hear(&scores, &receivers[i], tick);
            check_all(&receivers[i]);
        }
    }
    cr_assert_lt(lines, (uint64_t)RECEIVERS * TICKS * 5 / 2, "no more than the changes");
    struct receiver late = {0};
    hear(&scores, &late, TICKS);
    check_all(&late);
    cr_assert_eq(hear(&scores, &late, TICKS), 0, "nothing twice");
    arb_arena_free(&arena);
}

Test(match_scores, a_full_board_at_its_widest_has_room)
{
    static struct receiver receiver;
    static struct scores scores;
    arb_arena_init(&arena);
    scores_create(&scores, &arena, PLAYERS);
    scores_begin(&scores);
    for (uint16_t slot = 0; slot < PLAYERS; slot++) {
        truth[slot] = (struct arb_event_score){slot, INT32_MIN, 65535, 65535, 65535};
        scores_set(&scores, slot + 1U, &truth[slot]);
    }
    cr_assert_eq(hear(&scores, &receiver, 9), PLAYERS);
    check_all(&receiver);
    arb_arena_free(&arena);
}

Test(match_scores, turns_are_a_tick_for_few_and_a_second_with_a_snapshot_for_a_thousand)
{
    static const struct {
        uint32_t present, rate, interval, every;
    } rows[] = {{0, 60, 1, 1},     {0, 60, 3, 1},     {16, 60, 2, 1},   {17, 60, 1, 2},
                {17, 60, 2, 2},    {64, 60, 2, 4},    {64, 60, 6, 6},   {1000, 60, 1, 60},
                {1000, 60, 2, 60}, {1000, 60, 3, 60}, {1000, 20, 1, 20}};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (uint32_t index = 0; index < 100; index++) {
            uint32_t due = 0;
            for (arb_tick tick = 1001; tick < 1001 + rows[row].every; tick++) {
                bool is_turn = news_is_turn(rows[row].present, rows[row].rate, rows[row].interval,
                                            tick, index);
                due += is_turn;
                if (rows[row].every == 1 || !is_turn) continue;
                cr_assert_eq(tick % rows[row].interval, 0, "row %zu", row);
            }
            cr_assert_eq(due, 1, "row %zu", row);
        }
    }
}

/* ---- the match ---- */

static const struct arb_event_score *told_line(uint32_t at, uint16_t session, uint16_t slot)
{
    if (sent[at].session != session || sent[at].type != ARB_MESSAGE_SCORES) return NULL;
    for (uint32_t i = 0; i < sent[at].scores.count; i++) {
        if (sent[at].scores.lines[i].slot == slot) return &sent[at].scores.lines[i];
    }
    return NULL;
}

/* The newest line of the slot that the session was told of in this tick; -1: none. */
static int32_t heard(uint16_t session, uint16_t slot, bool *by_event)
{
    int32_t score = -1;
    *by_event = false;
    for (uint32_t i = 0; i < sent_count; i++) {
        const struct arb_event_score *line = told_line(i, session, slot);
        if (line != NULL) score = line->score;
        if (sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
            sent[i].event.kind == ARB_EVENT_SCORE && sent[i].event.score.slot == slot) {
            *by_event = true;
            score = sent[i].event.score.score;
        }
    }
    return score;
}

static void open_with(int32_t players)
{
    config.max_players = players;
    open_match();
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    while ((int32_t)match_present_count(match) < players) {
        match_add_player(match, "other");
        tick();
    }
}

Test(match_scores, few_are_told_of_each_change_in_its_tick)
{
    bool by_event;
    open_with(4);
    scoring_slot = 0;
    for (int i = 0; i < 50; i++) {
        tick();
        cr_assert_eq(heard(0, 0, &by_event), player(0)->score);
        cr_assert_not(by_event, "not twice");
        cr_assert_eq(heard(1, 0, &by_event), player(0)->score);
        cr_assert_not(by_event);
    }
}

Test(match_scores, a_crowd_is_told_of_the_own_line_at_once_and_of_others_in_turn)
{
    enum { CROWD = 80, EVERY = 4 }; /* each fifth tick, but with a snapshot */
    bool by_event;
    open_with(CROWD);
    scoring_slot = 0;
    uint32_t events = 0, others = 0;
    for (int i = 0; i < 10 * EVERY; i++) {
        tick();
        cr_assert_eq(heard(0, 0, &by_event), player(0)->score);
        events += by_event;
        int32_t score = heard(1, 0, &by_event);
        cr_assert_not(by_event);
        cr_assert(score == -1 || score == player(0)->score);
        others += score != -1;
    }
    cr_assert_eq(events, 10 * (EVERY - 1));
    cr_assert_eq(others, 10);
}

Test(match_scores, everybody_has_the_final_scores_before_the_result)
{
    open_with(80);
    scoring_slot = 1;
    for (int i = 0; i < 8; i++) {
        tick(); /* the last of them is nobody's turn */
    }
    match_abort(match, ARB_END_ABORTED);
    tick();
    for (uint16_t session = 0; session < 2; session++) {
        int32_t score = -1;
        bool has_result = false;
        for (uint32_t i = 0; i < sent_count; i++) {
            const struct arb_event_score *line = told_line(i, session, 1);
            if (line != NULL && !has_result) score = line->score;
            has_result |= sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
                          sent[i].event.kind == ARB_EVENT_RESULT;
        }
        cr_assert(has_result);
        cr_assert_eq(score, player(1)->score);
    }
}

static bool hears_death(uint16_t session, uint16_t victim)
{
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].session == session && sent[i].type == ARB_MESSAGE_EVENT &&
            sent[i].event.kind == ARB_EVENT_DEATH && sent[i].event.death.victim_slot == victim) {
            return true;
        }
    }
    return false;
}

/* Sessions 0 and 1 see each other, and not the one at the other end. */
Test(match_scores, a_death_is_told_at_once_to_who_sees_it_and_in_turn_to_others)
{
    enum { CROWD = 80, EVERY = 5, FAR_OFF = 79 };
    open_with(CROWD);
    for (int wait = 0; wait < EVERY; wait++) {
        for (int i = 0; i < 8 * EVERY + wait; i++) {
            tick();
        }
        uint16_t near = (uint16_t)(2 + wait), far = (uint16_t)(FAR_OFF - wait);
        dying_slot = near;
        tick();
        cr_assert(hears_death(0, near) && hears_death(1, near));
        dying_slot = far;
        int heard[2] = {0, 0};
        for (int i = 0; i < EVERY; i++) {
            tick();
            for (uint16_t session = 0; session < 2; session++) {
                heard[session] += hears_death(session, far);
            }
        }
        cr_assert_eq(heard[0], 1);
        cr_assert_eq(heard[1], 1);
    }
    dying_slot = 1;
    tick();
    cr_assert(hears_death(1, 1), "the own one");
}

/* The interval is one tick: as if there were no turns. */
Test(match_scores, few_are_told_of_every_death_in_its_tick)
{
    open_with(4);
    spawn_gap = 1.0F;
    for (int i = 0; i < 8; i++) {
        tick();
    }
    dying_slot = 3;
    tick();
    cr_assert(hears_death(0, 3) && hears_death(1, 3));
}

/* More than the ring has places for between two turns. */
Test(match_scores, when_the_ring_is_full_everybody_is_told_first)
{
    enum { CROWD = 80 };
    open_with(CROWD);
    uint32_t capacity = match->news.capacity;
    struct arb_event death = {.kind = ARB_EVENT_DEATH, .death = {{999, 1}, 9, 9, ARB_CAUSE_WALL}};
    match->news.told_to_all = match->news.newest;
    uint64_t before = match->seats[0].news_told = match->seats[1].news_told = match->news.newest;
    for (uint32_t i = 0; i < capacity; i++) {
        death.tick = (uint32_t)match_tick(match);
        news_add(&match->news, &death);
    }
    cr_assert(news_is_full(&match->news));
    sent_count = 0;
    dying_slot = 50;
    tick_run(match, TICK_LIVE);
    cr_assert_geq(match->seats[0].news_told, before + capacity);
    cr_assert_eq(match->news.newest, before + capacity + 1);
    uint32_t told = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        told += sent[i].session == 0 && sent[i].type == ARB_MESSAGE_EVENT &&
                sent[i].event.kind == ARB_EVENT_DEATH;
    }
    cr_assert_geq(told, capacity);
}

Test(match_scores, whoever_comes_is_told_of_the_lines_that_are_not_zeros)
{
    bool by_event;
    open_with(4);
    match->world.players[1].score = 7;
    say(PORT_LEAVE, 1);
    tick();
    say(PORT_JOIN, 2);
    tick();
    cr_assert_eq(player(1)->player_id, 5, "the slot is somebody else's");
    cr_assert_eq(heard(2, 1, &by_event), 0, "the line of who left is no more");
    match->world.players[2].score = 3;
    say(PORT_LEAVE, 0);
    tick();
    say(PORT_JOIN, 3);
    tick();
    cr_assert_eq(heard(3, 2, &by_event), 3);
    cr_assert_eq(heard(3, 3, &by_event), -1);
}
