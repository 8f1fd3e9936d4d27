/* Claimed views in which everybody stands still: nothing new came, or so the client says
 * (spec/lag-compensation.md "Validation"). */
#include "server/match/match_internal.h"
#include "server/replicate/replicate_internal.h"
#include "tests/unit/views_rig.h"

TestSuite(match_views_frozen, .init = setup, .fini = close_match);

/* The view of the honest time, drawn as if nothing had come after its frame `back` from the newest.
 */
static void freeze(struct arb_input *input, uint32_t back)
{
    struct arb_held held = held_then();
    held.count -= back;
    arb_held_find(&held, drawn_at(), &input->view);
}

static arb_tick ticks_before(const struct arb_view *view)
{
    return match_tick(match) - 2 - view->from_tick;
}

/* It has told of newer snapshots, and aims at where those of before froze. */
Test(match_views_frozen, who_has_told_of_a_snapshot_does_not_draw_as_if_it_had_not_come)
{
    static const struct {
        uint32_t back;
        enum match_view_verdict verdict;
    } rows[] = {{0, MATCH_VIEW_HONOURED},
                {3, MATCH_VIEW_HONOURED}, /* a frame of its own of 100 ms */
                {5, MATCH_VIEW_NOT_SENT},
                {12, MATCH_VIEW_NOT_SENT},
                {40, MATCH_VIEW_NOT_SENT}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        client.delay = ARB_FINE_TICK;
        open_live();
        warm_up(120);
        freeze(say_input(ARB_BUTTON_FIRE), rows[i].back);
        uneven(1.0F);
        run_tick();
        run_tick();
        cr_expect_eq(claims(rows[i].verdict), 1, "%u back", rows[i].back);
        cr_expect_lt(ticks_before(&shot_ray.view), 16, "%u back", rows[i].back);
        close_match();
    }
    open_live();
}

/* So many ticks without another acknowledgement, then a shot at what it holds since. */
static void fire_after_silence(uint32_t ticks)
{
    struct arb_held held = held_then();
    for (uint32_t n = 0; n < ticks; n++) {
        client.got = held;
        say_input(0);
        run_tick();
    }
    client.got = held;
    say_input(ARB_BUTTON_FIRE);
}

/* Nothing new came, or it says so: what it draws is as old as its newest snapshot, but for what
 * others are carried on past it. */
Test(match_views_frozen, what_stands_frozen_grows_too_old)
{
    static const struct {
        uint32_t silence; /* ticks */
        enum match_view_verdict verdict;
    } rows[] = {{10, MATCH_VIEW_HONOURED},
                {24, MATCH_VIEW_HONOURED},
                {32, MATCH_VIEW_TOO_OLD},
                {90, MATCH_VIEW_TOO_OLD}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        open_live();
        warm_up(60);
        fire_after_silence(rows[i].silence);
        uneven(2.0F);
        run_tick();
        run_tick();
        bool honoured = rows[i].verdict == MATCH_VIEW_HONOURED;
        cr_expect_eq(claims(rows[i].verdict), 1, "%u ticks", rows[i].silence);
        cr_expect_eq(shot_ray.pairs != NULL, honoured, "%u ticks", rows[i].silence);
        cr_expect_leq(ticks_before(&shot_ray.view), 30 + 4, "max_rewind_ms, and carried on");
        close_match();
    }
    open_live();
}

/* A link that delivers inputs evenly is not silent for long in the other direction. */
Test(match_views_frozen, others_stand_for_no_longer_than_the_link_of_the_inputs_explains)
{
    static const struct {
        int32_t tick_rate;
        float deviation;  /* ticks, of its inputs */
        uint32_t silence; /* ticks */
        enum match_view_verdict verdict;
    } rows[] = {{60, 0.0F, 2, MATCH_VIEW_HONOURED},  {60, 0.0F, 10, MATCH_VIEW_FROZEN},
                {60, 0.25F, 10, MATCH_VIEW_FROZEN},  {60, 0.75F, 16, MATCH_VIEW_HONOURED},
                {60, 0.75F, 24, MATCH_VIEW_FROZEN},  {60, 2.0F, 24, MATCH_VIEW_HONOURED},
                {128, 0.75F, 16, MATCH_VIEW_FROZEN}, {128, 1.5F, 24, MATCH_VIEW_HONOURED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        config.tick_rate = rows[i].tick_rate;
        open_live();
        warm_up(60);
        fire_after_silence(rows[i].silence);
        /* What this input adds to it. */
        uneven(rows[i].deviation * 16.0F / 15.0F);
        run_tick();
        run_tick();
        cr_expect_eq(claims(rows[i].verdict), 1, "row %zu", i);
        bool honoured = rows[i].verdict == MATCH_VIEW_HONOURED;
        cr_expect_eq(ticks_before(&shot_ray.view) > 0, honoured, "row %zu: else the present", i);
        close_match();
    }
    open_live();
}

/* So while inputs are missing as well. */
Test(match_views_frozen, held_fire_meets_nobody_who_is_frozen_for_too_long)
{
    client.down = client.up = 6;
    open_live();
    warm_up(60);
    say_input(ARB_BUTTON_FIRE)->edges = 0;
    match->move.weapons[0].automatic = 1;
    for (int i = 0; i < 29; i++) {
        run_tick();
        cr_expect(shots_count == 0 || ticks_before(&shot_ray.view) <= 30 + 4, "tick %d", i);
    }
    cr_expect_null(shot_ray.pairs, "the present in the end");
}

/* As long ago as max_rewind_ms allows, and then of the oldest state that a client has. */
Test(match_views_frozen, a_view_of_states_that_are_no_longer_remembered_is_too_old)
{
    static const struct {
        int32_t tick_rate, interval;
        uint32_t way; /* ticks, in each direction */
        uint16_t age; /* ticks, of one state in the view */
        enum match_view_verdict verdict;
    } rows[] = {{60, 2, 3, 95, MATCH_VIEW_HONOURED},    {60, 2, 3, 127, MATCH_VIEW_TOO_OLD},
                {20, 1, 2, 47, MATCH_VIEW_HONOURED},    {20, 2, 2, 95, MATCH_VIEW_HONOURED},
                {20, 3, 1, 143, MATCH_VIEW_HONOURED},   {60, 1, 12, 47, MATCH_VIEW_HONOURED},
                {60, 2, 12, 95, MATCH_VIEW_HONOURED},   {60, 3, 11, 143, MATCH_VIEW_HONOURED},
                {128, 1, 29, 47, MATCH_VIEW_HONOURED},  {128, 2, 28, 95, MATCH_VIEW_HONOURED},
                {128, 3, 28, 143, MATCH_VIEW_HONOURED}, {128, 1, 29, 62, MATCH_VIEW_TOO_OLD}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        setup();
        config.tick_rate = rows[i].tick_rate;
        config.snapshot_interval_ticks = rows[i].interval;
        client.down = client.up = rows[i].way;
        open_live();
        warm_up(260);
        const struct arb_input *input = say_input(ARB_BUTTON_FIRE);
        struct replicate_state *state = &match->replicate->clients[0];
        uint32_t id = input->view.held;
        while (state->sent[id % REPLICATE_RING].tick > input->view.from_tick)
            id--;
        state->entries[state->sent[id % REPLICATE_RING].first].age = rows[i].age;
        run_tick();
        cr_expect_eq(claims(rows[i].verdict), 1, "%d Hz, every %d, %u ticks", rows[i].tick_rate,
                     rows[i].interval, rows[i].age);
        close_match();
    }
    open_live();
}
