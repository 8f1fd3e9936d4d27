/* What is counted of a match in which ticks are run again: whoever goes on from a keyframe counts
 * what the process before it did, and a late shot counts as one that was there in time. */
#include "server/match/match_fairness.h"
#include "server/match/match_past.h"
#include "server/match/match_rollback.h"
#include "server/match/match_save.h"
#include "tests/unit/views_rig.h"

enum { WINDOW = 6, PLAYED = 90, LOST = 4 };

static void setup_window(void)
{
    setup();
    client.wait = 0;
    config.rollback_window_ticks = WINDOW;
}

static void open_shooting(void)
{
    open_match();
    match->move.weapons[0].automatic = 1;
    join_live();
}

TestSuite(match_rollback_figures, .init = setup_window, .fini = close_match);

/* All that ticks count, and no more. */
struct figures {
    struct match_fairness fairness;
    struct match_view_counts views;
    struct arb_counts counts;
};

static struct figures figures(void)
{
    struct figures out = {*match_fairness(match), match_view_totals(match), counts(0)};
    memset(out.views.claims, 0, sizeof out.views.claims); /* when they come */
    out.views.late = 0;
    out.counts.inputs_duplicate = 0;
    return out;
}

static void expect_same(const struct figures *a, const struct figures *b)
{
    cr_expect_eq(a->views.shots, b->views.shots, "%llu shots, %llu",
                 (unsigned long long)a->views.shots, (unsigned long long)b->views.shots);
    cr_expect_eq(a->counts.ticks, b->counts.ticks, "%u ticks, %u", a->counts.ticks,
                 b->counts.ticks);
    cr_expect_eq(a->counts.inputs_consumed, b->counts.inputs_consumed);
    cr_expect_eq(a->counts.inputs_starved, b->counts.inputs_starved);
    for (int bit = 0; bit < ARB_BUTTON_COUNT; bit++)
        cr_expect_eq(a->counts.edges[bit], b->counts.edges[bit]);
    cr_expect_eq(memcmp(&a->fairness, &b->fairness, sizeof a->fairness), 0);
}

/* Fires in each tick; of eight inputs the last LOST come together with the first of the next. */
static void play(bool late)
{
    static struct arb_input kept[LOST];
    uint32_t count = 0;
    for (uint32_t i = 0; i < PLAYED; i++) {
        struct arb_input *input =
            say_input(i % 3 == 0 ? ARB_BUTTON_FIRE | ARB_BUTTON_USE : ARB_BUTTON_FIRE);
        struct arb_input_packet *into = &queue[queued - 1].inputs;
        if (late && i % 8 >= 8 - LOST) {
            kept[count++] = *input;
            queued--;
        } else if (count > 0) {
            into->inputs[count] = *input;
            memcpy(into->inputs, kept, count * sizeof kept[0]);
            into->count = (uint8_t)(count + 1);
            count = 0;
        }
        run_tick();
    }
}

Test(match_rollback_figures, who_goes_on_from_a_settled_tick_counts_what_was_counted)
{
    static uint8_t block[16 << 20];
    struct match_record records[WINDOW + 1];
    struct match_save_error error;
    struct arb_arena copies;
    open_shooting();
    warm_up(60);
    play(true);
    /* Four are missing, and of these the first one comes late. */
    struct arb_input first = *say_input(ARB_BUTTON_FIRE | ARB_BUTTON_USE);
    queued--;
    for (uint32_t i = 0; i < LOST; i++)
        run_tick();
    packet(0, player(0)->control)->count = 1;
    queue[queued - 1].inputs.inputs[0] = first;
    run_tick();
    arb_tick now = match_tick(match), from = match_settled(match);
    cr_assert_eq(from, first.target_tick + 1);
    struct figures live = figures();
    uint32_t bytes = match_save_settled(match, from, MATCH_SAVE_WHOLE, block, sizeof block);
    struct figures after = figures();
    expect_same(&after, &live);
    arb_arena_init(&copies);
    struct match_record_capacity capacity = match_record_capacity(match);
    for (uint32_t i = 0; i < now - from; i++) {
        match_record_create(&records[i], &copies, &capacity);
        match_record_copy(&records[i], match_past_record(match->past, from + i));
    }
    close_match();

    open_shooting();
    cr_assert_eq(match_restore(match, block, bytes, &error), ARB_OK, "%s", error.text);
    for (uint32_t i = 0; i < now - from; i++) {
        match_play(match, &records[i]);
        tick_run(match, TICK_RERUN);
    }
    struct figures resumed = figures();
    expect_same(&resumed, &live);
    arb_arena_free(&copies);
}

Test(match_rollback_figures, a_late_shot_counts_as_one_that_was_there)
{
    open_shooting();
    warm_up(60);
    play(false);
    run_tick();
    struct figures early = figures();
    close_match();
    setup_window();
    open_shooting();
    warm_up(60);
    play(true);
    run_tick();
    struct figures late = figures();
    cr_assert_gt(match_rollback_counts(match).reruns, 5);
    cr_assert_gt(late.views.shots, 80);
    expect_same(&late, &early);
}
