/* Late inputs that act in their own tick: the worked cases of spec/determinism.md. `late` names the
 * match that got them late, `early` one that knew all from the start: whatever is settled must be
 * the same to the bit. */
#include "server/match/match_rollback.h"
#include "server/match/match_past.h"
#include "server/match/rollback_internal.h"
#include "tests/unit/match_rig.h"

enum { WINDOW = 6, TICKS = 400 };

static uint64_t reached[TICKS]; /* checksum of S[i] in the course that is being played */
static uint64_t expected[TICKS];

static void open_window(int32_t window)
{
    config.rollback_window_ticks = window;
    open_match();
}

TestSuite(match_rollback, .init = defaults, .fini = close_match);

/* What the player does in that tick: another direction each time, now and then a press. */
static void fill(struct arb_input *input, arb_tick tick)
{
    input->move_x = (int8_t)(tick * 37);
    input->move_y = (int8_t)(tick * 11);
    input->aim = (uint16_t)(tick * 977);
    input->buttons = tick % 5 == 0 ? ARB_BUTTON_USE : 0;
    input->edges = input->buttons;
}

/* Sequence n is of the n-th tick since `first_target`. */
static arb_tick first_target;

static struct arb_input *say_input(struct arb_input_packet *into, arb_tick target)
{
    struct arb_input *input = add_input(into, (arb_sequence)(target - first_target + 1), target);
    fill(input, target);
    return input;
}

static void note(void)
{
    arb_tick settled = match_settled(match);
    arb_tick oldest = match_past_oldest(match->past);
    for (arb_tick tick = oldest; tick <= settled; tick++) {
        uint64_t sum = match_past_checksum(match->past, tick);
        cr_assert(reached[tick] == 0 || reached[tick] == sum, "S[%llu] was settled",
                  (unsigned long long)tick);
        reached[tick] = sum;
    }
}

static void step(void)
{
    tick();
    note();
}

static void begin(void)
{
    memset(reached, 0, sizeof reached);
    join_live();
    note();
    first_target = match_tick(match);
}

/* The course that knows all from the start, up to S[first_target + ticks]. */
static void play_early(uint32_t ticks)
{
    open_window(WINDOW);
    begin();
    for (uint32_t i = 0; i < ticks; i++) {
        say_input(packet(0, player(0)->control), match_tick(match));
        step();
    }
    memcpy(expected, reached, sizeof expected);
    close_match();
    defaults();
}

static void expect_early(void)
{
    arb_tick settled = match_settled(match);
    cr_assert_gt(settled, first_target);
    for (arb_tick tick = first_target; tick <= settled; tick++) {
        cr_assert_neq(expected[tick], 0);
        cr_assert_eq(reached[tick], expected[tick], "S[%llu]", (unsigned long long)tick);
    }
}

/* A packet of the inputs for those ticks. */
static void send(arb_tick first, arb_tick last)
{
    struct arb_input_packet *into = packet(0, player(0)->control);
    for (arb_tick target = first; target <= last; target++) {
        say_input(into, target);
    }
}

Test(match_rollback, a_late_input_leads_to_the_course_that_knew_it_from_the_start)
{
    play_early(40);
    open_window(WINDOW);
    begin();
    for (uint32_t i = 0; i < 40; i++) {
        arb_tick now = match_tick(match);
        if (i == 16) send(now - 4, now); /* with what was lost */
        if (i < 12 || i > 16) send(now, now);
        step();
        if (i == 14) cr_assert_eq(match_settled(match), first_target + 12, "S[12] is sure");
    }
    struct match_rollback_counts counts = match_rollback_counts(match);
    cr_assert_eq(counts.merged, 4);
    cr_assert_eq(counts.reruns, 1, "one for all that came late in one tick");
    cr_assert_eq(counts.rerun_ticks, 4);
    cr_assert_eq(counts.lengths[4], 1);
    cr_assert_eq(match_rollback_length(&counts, 99), 4);
    cr_assert_eq(match_settled(match), match_tick(match), "all that was sent is there");
    cr_assert_eq(counts.refused, 0);
    cr_assert_eq(player(0)->starved_ticks, 0);
    expect_early();
}

/* The last of HELD ticks in which the same is held. */
static bool in_stretch(arb_tick target)
{
    enum { HELD = 12 };
    return (target - first_target) % (2 * HELD) < HELD;
}

/* Now all the time another direction and now the same; only a press now and then in the former. */
static void say_held(struct arb_input_packet *into, arb_tick target)
{
    struct arb_input *input = say_input(into, target);
    if (!in_stretch(target)) return;
    input->move_x = 127;
    input->move_y = (int8_t)((target - first_target) / 24);
    input->aim = 5;
    input->buttons = input->edges = 0;
}

/* In which of `latest` ticks an input comes: by chance. Returns those that were assumed. */
static uint64_t play_held(uint64_t seed, arb_tick latest)
{
    uint64_t state = seed;
    bool due[TICKS] = {false};
    config.input_hold_ticks = 3; /* soon let go of */
    open_window(WINDOW);
    begin();
    for (uint32_t i = 0; i < 150; i++) {
        arb_tick now = match_tick(match);
        due[i] = true;
        for (uint32_t old = i; old + latest > i && old <= i; old--) {
            state = state * 6364136223846793005U + 1442695040888963407U;
            bool comes = latest == 1 || old + latest == i + 1 || state >> 62 == 0;
            if (!due[old] || !comes) continue;
            due[old] = false;
            say_held(packet(0, player(0)->control), now - (i - old));
        }
        step();
        char text[256];
        cr_assert(match_repeats(match, WINDOW, text, sizeof text), "%s", text);
    }
    struct match_rollback_counts counts = match_rollback_counts(match);
    cr_assert_eq(counts.refused, 0);
    return counts.assumed;
}

Test(match_rollback, late_inputs_that_were_assumed_lead_to_the_course_that_knew_them)
{
    play_held(0, 1);
    memcpy(expected, reached, sizeof expected);
    uint64_t assumed = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        close_match();
        defaults();
        assumed += play_held(seed, WINDOW);
        expect_early();
        cr_assert_gt(match_rollback_counts(match).reruns, 5, "others change something");
    }
    cr_assert_gt(assumed, 100);
}

Test(match_rollback, what_differs_from_the_assumed_in_one_point_is_run_again)
{
    for (int what = 0; what < 7; what++) {
        config.input_hold_ticks = what == 6 ? 3 : 30;
        open_window(WINDOW);
        begin();
        for (uint32_t i = 0; i < 20; i++) {
            arb_tick now = match_tick(match);
            if (i == 14) {
                struct arb_input *input = say_input(packet(0, player(0)->control), now - 4);
                input->move_x = 100 + (what == 1);
                input->move_y = what == 2;
                input->aim = what == 3;
                input->buttons = what == 4 ? ARB_BUTTON_USE : 0;
                input->edges = what == 5 ? ARB_BUTTON_USE : 0;
            } else if (i < 10) {
                struct arb_input *input = say_input(packet(0, player(0)->control), now);
                input->move_x = 100;
                input->move_y = 0;
                input->aim = input->buttons = input->edges = 0;
            }
            step();
        }
        cr_assert_eq(match_rollback_counts(match).merged, 1);
        /* What had been let go of in the last of the ticks is held on in it. */
        cr_expect_eq(match_rollback_counts(match).assumed, what == 0 || what == 6, "%d", what);
        cr_expect_eq(match_rollback_counts(match).rerun_ticks, what == 0 ? 0 : what == 6 ? 1 : 4);
        close_match();
        defaults();
    }
}

Test(match_rollback, a_late_input_that_was_assumed_moves_nobody_and_is_still_the_real_one)
{
    open_window(WINDOW);
    begin();
    uint8_t control = player(0)->control;
    float before = 0;
    for (uint32_t i = 0; i < 20; i++) {
        arb_tick now = match_tick(match);
        bool late = i == 14;
        struct arb_input_packet *into = i < 10 || i >= 14 ? packet(0, control) : NULL;
        for (arb_tick target = late ? now - 4 : now; into != NULL && target <= now; target++) {
            struct arb_input *input =
                add_input(into, (arb_sequence)(target - first_target + 1), target);
            input->move_x = 127; /* all the time */
        }
        if (late) before = player(0)->own.x;
        tick();
        if (!late) continue;
        cr_assert_float_eq(player(0)->own.x - before, 0.1F, 1e-4F, "one step");
        cr_assert_eq(player(0)->starved_ticks, 0);
        cr_assert_eq(player(0)->last_sequence, 15);
    }
    cr_assert_eq(match_rollback_counts(match).merged, 4);
    cr_assert_eq(match_rollback_counts(match).assumed, 4);
    cr_assert_eq(match_rollback_counts(match).reruns, 0, "nothing is run again");
}

Test(match_rollback, order_of_arrival_and_repetition_change_nothing)
{
    play_early(60);
    open_window(WINDOW);
    begin();
    struct arb_counts before = counts(0);
    for (uint32_t i = 0; i < 60; i++) {
        arb_tick now = match_tick(match);
        arb_tick pair = i / 2 * 2; /* swapped two by two, one ahead and one too late */
        arb_tick first = first_target + pair;
        if (i % 2 == 0) send(first + 1, first + 1);
        if (i % 2 == 1) send(first, first);
        if (i % 7 == 3) send(first, first + 1); /* both, once more or early */
        (void)now;
        step();
    }
    step();
    expect_early();
    cr_assert_eq(counts(0).edges[1] - before.edges[1], 12, "each fifth tick's press, once");
    cr_assert_gt(counts(0).inputs_duplicate, before.inputs_duplicate);
}

Test(match_rollback, late_by_the_window_acts_and_by_one_more_is_refused)
{
    for (arb_tick late = WINDOW; late <= WINDOW + 1; late++) {
        bool acts = late == WINDOW;
        play_early(40);
        open_window(WINDOW);
        begin();
        for (uint32_t i = 0; i < 40; i++) {
            arb_tick now = match_tick(match);
            if (i == 20 + late) send(now - late, now - late);
            if (i != 20) {
                /* Those behind it wait for nobody. */
                send(now, now);
            }
            step();
        }
        struct match_rollback_counts got = match_rollback_counts(match);
        cr_assert_eq(got.merged, acts);
        cr_assert_eq(got.reruns, acts);
        cr_assert_eq(player(0)->starved_ticks, !acts, "which the client is told");
        if (acts) expect_early();
        if (!acts) {
            cr_assert_neq(reached[first_target + 39], expected[first_target + 39]);
            cr_assert_geq(counts(0).inputs_duplicate, 1, "it was passed over");
        }
        close_match();
        defaults();
    }
}

Test(match_rollback, inputs_that_are_all_late_are_refused_beyond_the_window_and_their_presses_kept)
{
    open_window(WINDOW);
    begin();
    for (uint32_t i = 0; i < 30; i++) {
        arb_tick now = match_tick(match);
        if (i > WINDOW) send(now - WINDOW - 1, now - WINDOW - 1);
        step();
    }
    cr_assert_eq(match_rollback_counts(match).merged, 0);
    cr_assert_gt(match_rollback_counts(match).refused, 20);
    cr_assert_eq(counts(0).inputs_late, match_rollback_counts(match).refused);
    cr_assert_neq(player(0)->carried_edges, 0);
    cr_assert_eq(match_settled(match), match_tick(match) - WINDOW);
}

Test(match_rollback, settled_never_goes_back_and_is_never_older_than_the_window)
{
    open_window(WINDOW);
    begin();
    arb_tick before = 0;
    for (uint32_t i = 0; i < 200; i++) {
        arb_tick now = match_tick(match);
        if (i % 13 < 7) send(now - (i % 13 == 0 ? WINDOW : 0), now);
        step();
        cr_assert_geq(match_settled(match), before);
        cr_assert_geq(match_settled(match) + WINDOW, match_tick(match));
        cr_assert_leq(match_settled(match), match_tick(match));
        before = match_settled(match);
    }
}

Test(match_rollback, without_a_window_all_is_settled_and_nothing_is_kept)
{
    open_window(0);
    join_live();
    cr_assert_null(match->past);
    cr_assert_eq(match_settled(match), match_tick(match));
    cr_assert_eq(match_rollback_counts(match).ticks, 0);
}

/* ---- what leaves the match ---- */

/* The first tick in which player 0 lets go of the button. */
static bool is_let_go(struct world_player *player)
{
    bool holds = (match->applied[0].buttons & ARB_BUTTON_DASH) != 0;
    if (player->values[1] != 0 || player->last.sequence <= 3 || holds) return false;
    player->values[1] = 1;
    return true;
}

/* Player 1 dies in it. */
static void die_when_let_go(struct rules_context *context)
{
    if (is_let_go(&context->world->players[0])) rules_kill(context, 1, 0, ARB_CAUSE_SHOT);
}

static uint32_t told(uint8_t kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        count += sent[i].type == ARB_MESSAGE_EVENT && sent[i].event.kind == kind;
    }
    return count;
}

/* Held from input 1 on; in the lost one of tick `lost`, and from `until` on, not. */
static void hold(arb_tick target, arb_tick until)
{
    struct arb_input_packet *into = packet(0, player(0)->control);
    struct arb_input *input = say_input(into, target);
    input->buttons = target < until ? ARB_BUTTON_DASH : 0;
    input->edges = 0;
}

Test(match_rollback, a_death_of_a_discarded_run_is_never_told)
{
    config.input_hold_ticks = 1; /* what is held is let go of soon */
    probe_hook = die_when_let_go;
    open_window(WINDOW);
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    first_target = match_tick(match);
    bool died = false;
    for (uint32_t i = 0; i < 30; i++) {
        arb_tick now = match_tick(match);
        packet(1, player(1)->control);
        if (i == 14) {
            for (arb_tick late = 4; late > 0; late--) {
                hold(now - late, TICKS);
            }
        }
        if (i < 10 || i >= 14) hold(now, TICKS);
        tick();
        died = died || player(1)->deaths > 0;
        cr_assert_eq(told(ARB_EVENT_DEATH), 0);
    }
    cr_assert(died, "as it had seemed");
    cr_assert_eq(player(1)->deaths, 0);
}

Test(match_rollback, a_death_is_told_once_and_when_it_is_settled)
{
    probe_hook = die_when_let_go;
    open_window(WINDOW);
    say(PORT_JOIN, 0);
    say(PORT_JOIN, 1);
    tick();
    first_target = match_tick(match);
    uint32_t deaths = 0;
    for (uint32_t i = 0; i < 40; i++) {
        arb_tick now = match_tick(match);
        if (i < 20) hold(now, first_target + 10); /* the other one is never heard of */
        tick();
        deaths += told(ARB_EVENT_DEATH);
        bool due = match_settled(match) > first_target + 10;
        cr_assert_eq(deaths, due ? 2 : 0, "to both, in tick %u", i);
        cr_assert(player(1)->deaths == (i >= 10), "and happens at once");
    }
}

static void decide_when_let_go(struct rules_context *context)
{
    end_early = is_let_go(&context->world->players[0]);
}

/* Three come while the match seems to be decided, for two places; then nothing is heard of player 0
 * any more, or what it had held all the time. */
static void join_in_doubt(bool undone)
{
    config.input_hold_ticks = 1;
    config.result_s = 1;
    config.max_players = 3;
    probe_hook = decide_when_let_go;
    open_window(WINDOW);
    say(PORT_JOIN, 0);
    tick();
    first_target = match_tick(match);
    uint8_t control = player(0)->control;
    for (uint32_t i = 0; i < 14; i++) {
        if (i < 10) hold(match_tick(match), TICKS);
        tick();
    }
    cr_assert(match->decided && !match_decided(match));
    for (uint16_t session = 1; session <= 3; session++)
        say(PORT_JOIN, session);
    tick();
    cr_expect_eq(refused_with[1], 0);
    cr_expect_eq(refused_with[2], 0);
    cr_expect_eq(refused_with[3], ARB_REFUSED_ENDED, "there is no place in any case");
    cr_expect_eq(player(1)->presence, WORLD_ABSENT);
    say(PORT_LEAVE, 2);
    arb_tick now = match_tick(match);
    for (arb_tick target = now - 5; undone && target < now; target++) {
        hold(target, TICKS);
        queue[queued - 1].inputs.control = control; /* its character has not ended for it */
    }
    for (uint32_t i = 0; i < 2 * WINDOW; i++) {
        if (undone) {
            hold(match_tick(match), TICKS);
            queue[queued - 1].inputs.control = control;
        }
        tick();
    }
}

Test(match_rollback, who_comes_while_the_match_seems_decided_is_let_in_when_it_is_not)
{
    join_in_doubt(true);
    cr_expect_not(match->decided);
    cr_expect_eq(player(1)->presence, WORLD_PRESENT);
    cr_expect_eq(player(2)->presence, WORLD_ABSENT, "it went before it was let in");
    cr_expect_eq(refused_with[1], 0);
}

Test(match_rollback, who_comes_while_the_match_seems_decided_is_refused_when_it_is)
{
    join_in_doubt(false);
    cr_expect(match_decided(match));
    cr_expect_eq(player(1)->presence, WORLD_ABSENT);
    cr_expect_eq(refused_with[1], ARB_REFUSED_ENDED);
    cr_expect_eq(match->command_count, 0);
}

Test(match_rollback, the_result_waits_until_nothing_changes_it)
{
    config.duration_s = 1;
    config.result_s = 1;
    open_window(WINDOW);
    join_live();
    arb_tick decided = 0;
    while (!match_ended(match)) {
        tick();
        if (match->decided && decided == 0) decided = match->decided_tick;
        bool due = decided != 0 && match_settled(match) > decided;
        cr_assert_eq(match_decided(match), due);
        cr_assert_eq(told(ARB_EVENT_RESULT), due && match_settled(match) == decided + 1);
    }
    cr_assert_eq(match_tick(match) - 1, match->ended_tick + WINDOW);
}

Test(match_rollback, who_joins_is_welcomed_when_its_first_tick_is_settled)
{
    open_window(WINDOW);
    join_live();
    for (uint32_t i = 0; i < 10; i++)
        tick();
    say(PORT_JOIN, 1);
    for (uint32_t i = 0; i <= WINDOW; i++) {
        tick();
        bool welcomed = false, shown = false;
        for (uint32_t k = 0; k < sent_count; k++) {
            welcomed |= sent[k].session == 1 && sent[k].type == ARB_MESSAGE_WELCOME;
            shown |= sent[k].session == 1 && sent[k].type == ARB_MESSAGE_SNAPSHOT;
        }
        cr_assert_eq(welcomed, i == WINDOW);
        cr_assert(welcomed || !shown);
    }
}

Test(match_rollback, inputs_of_before_the_session_act_on_nobody)
{
    open_window(WINDOW);
    join_live();
    for (uint32_t i = 0; i < 10; i++)
        tick();
    say(PORT_JOIN, 1);
    tick();
    arb_tick now = match_tick(match);
    first_target = now - 4;
    struct arb_input_packet *into = packet(1, player(1)->control);
    for (arb_tick target = now - 4; target < now; target++)
        say_input(into, target);
    tick();
    cr_assert_eq(match_rollback_counts(match).merged, 1, "that of its first tick");
    cr_assert_eq(match_rollback_counts(match).refused, 3);
}

/* ---- frames ---- */

Test(match_rollback, a_frame_stays_as_it_was_sent_and_the_past_is_corrected)
{
    open_window(WINDOW);
    begin();
    for (uint32_t i = 0; i < 20; i++) {
        arb_tick now = match_tick(match);
        if (i == 14) send(now - 4, now);
        if (i < 10 || i > 14) send(now, now);
        step();
    }
    uint32_t differ = 0, same = 0;
    for (arb_tick tick = first_target; tick < match_tick(match); tick++) {
        const struct arb_frame *as_sent = rollback_sent(match->rollback, tick);
        if (as_sent == NULL) continue;
        const struct arb_frame *corrected = rewind_frame(match_rewind(match), tick);
        bool equal = memcmp(as_sent->entities, corrected->entities,
                            corrected->entity_count * sizeof corrected->entities[0]) == 0;
        bool speculative = tick >= first_target + 10 && tick < first_target + 14;
        cr_assert(equal || speculative);
        differ += !equal;
        same += equal;
    }
    cr_assert_geq(differ, 1);
    cr_assert_gt(same, 4);
    cr_assert_eq(match_rollback_counts(match).astray, 0);
}

/* Something appears in it. */
static void appear_when_let_go(struct rules_context *context)
{
    struct world *world = context->world;
    if (!is_let_go(&world->players[0])) return;
    struct world_entity *entity = world_find(world, world_spawn(world, ARB_ARENA_CHARACTER));
    entity->owner = 1;
    entity->flags |= WORLD_ENTITY_ALWAYS_RELEVANT;
}

/* Baseline of the newest snapshot of session 0, in snapshots before it; 0: none. -1: there is no
 * snapshot. */
static int newest_baseline(uint16_t *id)
{
    int baseline = -1;
    for (uint32_t i = 0; i < sent_count; i++) {
        if (sent[i].type != ARB_MESSAGE_SNAPSHOT || sent[i].session != 0) continue;
        baseline = sent[i].chunk.header.baseline;
        *id = sent[i].chunk.header.id;
    }
    return baseline;
}

static void check_baselines(void (*hook)(struct rules_context *context), bool astray)
{
    config.input_hold_ticks = 1;
    config.snapshot_interval_ticks = 1;
    probe_hook = hook;
    open_window(WINDOW);
    say(PORT_JOIN, 0);
    tick();
    first_target = match_tick(match);
    uint16_t id = 0;
    newest_baseline(&id);
    for (uint32_t i = 0; i < 20; i++) {
        arb_tick now = match_tick(match);
        struct arb_input_packet *acks = packet(0, player(0)->control);
        acks->has_ack = true;
        acks->ack_snapshot = id;
        for (arb_tick late = 4; i == 14 && late > 0; late--)
            hold(now - late, TICKS);
        if (i < 10 || i >= 14) hold(now, TICKS);
        tick();
        int baseline = newest_baseline(&id);
        if (i < 9) continue; /* welcomed, and a first one acknowledged */
        cr_assert_eq(baseline == 0, astray && i == 14, "tick %u: %d", i, baseline);
    }
    cr_assert_eq(match_rollback_counts(match).reruns, 1);
    cr_assert_eq(match_rollback_counts(match).astray, astray);
}

Test(match_rollback, a_snapshot_that_named_what_has_never_been_is_no_baseline)
{
    check_baselines(appear_when_let_go, true);
}

Test(match_rollback, a_snapshot_that_was_only_wrong_still_is_one)
{
    check_baselines(NULL, false);
}
