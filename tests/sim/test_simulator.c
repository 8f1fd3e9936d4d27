/* The simulator itself: the same seed gives the same report, each invariant notices what breaks it,
 * each fault happens and is survived, a failing run gets smaller. */
#define _GNU_SOURCE
#include "shared/base/arb_mem.h"
#include "tools/sim/sim_checks.h"
#include "tools/sim/sim_command.h"
#include "tools/sim/sim_rewind.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"
#define SERPENT ARBITER_SOURCE_DIR "/config/serpent.json"

static struct sim_command command_for(const char *config, uint64_t seed)
{
    return (struct sim_command){.config = config,
                                .clients = 8,
                                .profile = "bad",
                                .seed = seed,
                                .ticks = 900,
                                .faults = (1U << SIM_FAULTS) - 1,
                                .frames_per_s = 60,
                                .policies = {"aim"}};
}

/* ---- going back ---- */

Test(simulator, a_match_that_goes_back_in_each_tick_runs_the_same_course_and_takes_no_other)
{
    static const char *const configs[] = {ARENA, SERPENT};
    for (size_t i = 0; i < 2; i++) {
        uint64_t checksums[2];
        for (uint32_t back = 0; back < 2; back++) {
            struct sim_command command = command_for(configs[i], 31);
            char *text = NULL;
            size_t size = 0;
            FILE *out = open_memstream(&text, &size);
            command.synctest_ticks = back * 9;
            struct sim_outcome outcome = sim_command_run(&command, out, false);
            fclose(out);
            cr_assert_eq(outcome.status, SIM_EXIT_CLEAN, "%s", text);
            checksums[back] = strtoull(strstr(text, "\"checksum\":\"") + 12, NULL, 16);
            free(text);
        }
        cr_assert_eq(checksums[0], checksums[1], "whoever looks on changes nothing");
    }
}

/* ---- the report ---- */

static char *report_of(const struct sim_command *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    struct sim_outcome outcome = sim_command_run(command, out, false);
    fclose(out);
    cr_assert_eq(outcome.status, SIM_EXIT_CLEAN, "seed %llu: %s", (unsigned long long)command->seed,
                 text);
    return text;
}

static void compare_reports(const char *config)
{
    struct sim_command command = command_for(config, 5);
    char *first = report_of(&command);
    char *again = report_of(&command);
    cr_assert_str_eq(first, again);
    command.seed++;
    char *other = report_of(&command);
    cr_assert_str_neq(strstr(first, "\"checksum\""), strstr(other, "\"checksum\""));
    free(first);
    free(again);
    free(other);
}

Test(simulator, the_same_seed_gives_the_same_report_in_arena)
{
    compare_reports(ARENA);
}

Test(simulator, the_same_seed_gives_the_same_report_in_serpent)
{
    compare_reports(SERPENT);
}

Test(simulator, ticks_begin_near_their_ends_in_some_seeds)
{
    bool near31 = false, near32 = false;
    for (uint64_t seed = 0; seed < 24; seed++) {
        struct sim_command command = command_for(ARENA, seed);
        command.ticks = 1;
        command.faults = 0;
        char *text = report_of(&command);
        uint64_t first = strtoull(strstr(text, "\"first_tick\":") + 13, NULL, 10);
        near31 |= first < UINT64_C(1) << 31 && first + 3600 > UINT64_C(1) << 31;
        near32 |= first < UINT64_C(1) << 32 && first + 3600 > UINT64_C(1) << 32;
        free(text);
    }
    cr_assert(near31 && near32);
}

/* ---- invariants ---- */

/* What a plant gets: after each tick, the simulator's inside. */
struct plant {
    enum sim_invariant invariant;
    void (*break_it)(struct sim *sim);
    struct sim *sim;
};

static struct sim_published *newest(struct sim *sim)
{
    return &sim->checks->archive[(sim->checks->archive_count - 1) % SIM_ARCHIVE_FRAMES];
}

static void plant_entity_life(struct sim *sim)
{
    struct sim_seat *seat = &sim->checks->seats[0];
    seat->sights[(seat->sight_count - 1) % SIM_ARCHIVE_FRAMES].count = 0;
}

static void plant_entity_state(struct sim *sim)
{
    newest(sim)->frame.entities[0].q[ARB_CHARACTER_VX]++;
}

static void plant_own_state(struct sim *sim)
{
    newest(sim)->own[0].own.fire_cooldown++;
}

static void plant_prediction(struct sim *sim)
{
    struct arb_predict *predict = &sim->players[0].client->predict;
    predict->states[predict->predicted_tick % ARB_PREDICT_TICKS].x += 1e-6F;
}

static void plant_corrections(struct sim *sim)
{
    sim->players[0].client->statistics.corrections.count++;
}

static void plant_inputs(struct sim *sim)
{
    struct sim_witness *witness = &sim->checks->witnesses[0];
    witness->made[witness->newest % SIM_MADE].aim++;
}

static void plant_edges(struct sim *sim)
{
    sim->checks->seats[0].carried ^= ARB_BUTTON_DASH;
}

static void plant_visible_sets(struct sim *sim)
{
    sim->checks->reach_of_kind[ARB_ARENA_CHARACTER] = 20.0F;
}

static void plant_events(struct sim *sim)
{
    struct sim_session *session = &sim->checks->sessions[0];
    if (session->put > 0) session->events[(session->put - 1) % SIM_EVENTS].a++;
}

static void plant_protocol(struct sim *sim)
{
    sim->players[0].client->statistics.bad_messages++;
}

static void plant_rerun(struct sim *sim)
{
    match_world(sim->checks->rerun->match)->players[0].score++;
}

/* What no record says. */
static void plant_journal(struct sim *sim)
{
    match_world(sim->match)->players[0].score++;
}

static void plant_synctest(struct sim *sim)
{
    match_world(sim->match)->players[0].values[0]++;
}

static void plant_memory(struct sim *sim)
{
    (void)sim;
    arb_mem_free(arb_mem_alloc(8));
}

static void plant_scores(struct sim *sim)
{
    match_world(sim->match)->players[0].deaths++;
}

static void plant_views(struct sim *sim)
{
    sim->players[0].client->clocks.view.at -= ARB_FINE_TICK;
}

static void plant_progress(struct sim *sim)
{
    struct arb_carrier *carrier = sim_player_carrier(&sim->players[0]);
    if (carrier != NULL) arb_simnet_block(carrier, true, true);
}

/* The characters of each client's newest picture. */
static void move_pictures(struct sim *sim, float by)
{
    struct sim_rewind *rewind = sim->checks->rewind;
    for (uint32_t i = 0; i < sim->player_count; i++) {
        struct sim_eye *eye = &rewind->eyes[i];
        if (eye->picture_count == 0) continue;
        const struct sim_picture *picture = &eye->pictures[(eye->picture_count - 1) % SIM_PICTURES];
        for (uint32_t at = 0; at < picture->count; at++) {
            sim_drawn_of(eye, picture, at)->position.x += by;
        }
    }
}

static void plant_rewind_error(struct sim *sim)
{
    move_pictures(sim, 1e-5F);
}

static void plant_rewind_decision(struct sim *sim)
{
    move_pictures(sim, 3.0F);
}

static void plant_rewind_applied(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        for (uint32_t at = 0; at < SIM_PICTURES; at++) {
            sim->checks->rewind->eyes[i].pictures[at].at_tick -= 12;
        }
    }
}

static struct plant plants[] = {
#define X(name, text) {SIM_INVARIANT_##name, plant_##name, NULL},
    SIM_INVARIANT_MAP(X)
#undef X
};

static void after_tick(void *user, struct match *match)
{
    struct plant *plant = user;
    (void)match;
    if (sim_ticks(plant->sim) >= 600) plant->break_it(plant->sim);
}

static struct sim *start(struct plant *plant, void (*hook)(void *user, struct match *match))
{
    static const char *const sets[] = {"match.min_players=4", "match.countdown_s=0"};
    struct config_error error;
    bool goes_back = plant != NULL && plant->invariant == SIM_INVARIANT_synctest;
    struct sim *sim = sim_create(&(struct sim_options){.config_file = ARENA,
                                                       .sets = sets,
                                                       .set_count = 2,
                                                       .clients = 4,
                                                       .seed = 9,
                                                       .up = {.delay_us = 15000},
                                                       .down = {.delay_us = 15000},
                                                       .policies = {"aim"},
                                                       .check = true,
                                                       .synctest_ticks = goes_back ? 4 : 0,
                                                       .after_tick = hook,
                                                       .user = plant},
                                 &error);
    cr_assert_not_null(sim, "%s", error.text);
    if (plant != NULL) plant->sim = sim;
    return sim;
}

Test(simulator, each_invariant_notices_what_breaks_it)
{
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct plant *plant = &plants[i];
        struct sim *sim = start(plant, after_tick);
        const char *text;
        sim_run_ticks(sim, 599);
        cr_assert_eq(sim_violation_count(sim), 0, "before anything was broken");
        sim_run_ticks(sim, 1000);
        sim_settle(sim);
        cr_assert_gt(sim_violations(sim, plant->invariant), 0, "%s",
                     sim_invariant_name(plant->invariant));
        cr_assert_geq(sim_first_violation(sim, &text), 600);
        cr_assert_neq(text[0], '\0');
        sim_destroy(sim);
    }
}

/* The client cannot know: it tells both, in order. */
static void put_phase_again(void *user, struct match *match)
{
    const struct plant *plant = user;
    const struct world_head *head = match_world(match)->head;
    if (sim_ticks(plant->sim) != 600) return;
    struct arb_event event = {.tick = (uint32_t)head->tick, .kind = ARB_EVENT_PHASE};
    event.phase =
        (struct arb_event_phase){head->phase, head->round, (uint32_t)head->phase_end_tick};
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size = arb_event_encode(&event, bytes, sizeof bytes);
    struct match_port port = sim_checks_port(plant->sim);
    port.put(port.owner, plant->sim->checks->seats[0].session, PORT_CHANNEL_RELIABLE, bytes, size);
}

Test(simulator, an_event_that_the_match_puts_twice_is_noticed)
{
    struct plant plant = {.invariant = SIM_INVARIANT_events};
    struct sim *sim = start(&plant, put_phase_again);
    sim_run_ticks(sim, 599);
    cr_assert_eq(sim_violation_count(sim), 0);
    sim_run_ticks(sim, 120);
    cr_assert_eq(sim_violations(sim, SIM_INVARIANT_events), 1);
    cr_assert_eq(sim_violation_count(sim), 1);
    sim_destroy(sim);
}

/* The plant of each_invariant_notices_what_breaks_it takes the server's turn. */
Test(simulator, a_client_takes_memory_in_a_frame_only_after_a_pause)
{
    struct sim *sim = start(NULL, NULL);
    sim_run_ticks(sim, 599);
    struct sim_player *player = &sim->players[0];
    struct sim_witness *witness = &sim->checks->witnesses[0];
    static const uint64_t pauses_us[] = {16667, 249999, 250000};
    for (size_t i = 0; i < sizeof pauses_us / sizeof pauses_us[0]; i++) {
        witness->frame_us = sim->now_us - pauses_us[i];
        sim_checks_turn(sim, player);
        arb_mem_free(arb_mem_alloc(8));
        sim_memory_client(sim->checks, player);
    }
    cr_assert_eq(sim_violations(sim, SIM_INVARIANT_memory), 2);
    sim_destroy(sim);
}

/* Silence first, and then the end. */
Test(simulator, a_connection_that_ends_without_a_fault_is_noticed)
{
    struct plant plant = {.invariant = SIM_INVARIANT_progress, .break_it = plant_progress};
    struct sim *sim = start(&plant, after_tick);
    sim_run_ticks(sim, 599 + 8 * 60);
    cr_assert_eq(sim_violations(sim, SIM_INVARIANT_progress), 1);
    sim_run_ticks(sim, 3 * 60);
    cr_assert_eq(sim_violations(sim, SIM_INVARIANT_progress), 2);
    sim_destroy(sim);
}

Test(simulator, nothing_is_violated_where_nothing_is_broken)
{
    struct sim *sim = start(NULL, NULL);
    sim_run_ticks(sim, 1600);
    const char *text;
    sim_first_violation(sim, &text);
    cr_assert_eq(sim_violation_count(sim), 0, "%s", text);
    sim_destroy(sim);
}

static double bytes_of(const char *report)
{
    const char *found = strstr(report, "\"bytes_per_second_per_client\":");
    cr_assert_not_null(found);
    return strtod(strchr(found, ':') + 1, NULL);
}

/* Bots turn and shoot by what they see, so it is another match; but one with less to tell. */
Test(simulator, whoever_is_behind_walls_is_not_told_of_and_nobody_in_sight_is_left_out)
{
    struct sim_command command = command_for(ARENA, 77);
    command.clients = 16;
    command.ticks = 1800;
    char *open = report_of(&command);
    command.sets[0] = "interest.line_of_sight=true";
    command.set_count = 1;
    char *hidden = report_of(&command);
    cr_expect_lt(bytes_of(hidden), 0.95 * bytes_of(open));
    free(open);
    free(hidden);
}

/* Clients whose pictures go forward say so, in whatever order and however late their inputs come.
 */
Test(simulator, with_a_window_no_honest_shot_counts_as_one_that_goes_back)
{
    static const char *const profiles[] = {"bad", "mobile"};
    static const char *const windows[] = {"rollback.window_ticks=6", "rollback.window_ticks=30"};
    for (size_t i = 0; i < 4; i++) {
        struct sim_command command = command_for(ARENA, 5);
        command.clients = 16;
        command.ticks = 1200;
        command.profile = profiles[i / 2];
        command.faults = 0;
        command.sets[0] = windows[i % 2];
        command.set_count = 1;
        char *text = report_of(&command);
        cr_expect_null(strstr(text, "\"merged\":0,"), "none came late");
        cr_expect_null(strstr(text, "\"honoured\":0,"), "none shot");
        cr_expect_not_null(strstr(text, "\"backward\":0,"), "%s", text);
        free(text);
    }
}

/* ---- faults ---- */

Test(simulator, each_fault_happens_and_is_survived)
{
    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        struct sim_command command = command_for(fault % 2 == 0 ? ARENA : SERPENT, 40);
        char expected[64];
        command.profile = "good";
        command.faults = 1U << fault;
        command.ticks = fault == SIM_FAULT_CRASH ? 2600 : 1300;
        char *text = report_of(&command);
        snprintf(expected, sizeof expected, "\"faults\":{\"%s\":0}",
                 sim_fault_name((enum sim_fault)fault));
        cr_assert_null(strstr(text, expected), "%s never happened",
                       sim_fault_name((enum sim_fault)fault));
        free(text);
    }
}

/* Whoever was there when the server was killed is there again, and the file of both processes leads
 * to the end. */
Test(simulator, a_match_goes_on_after_each_crash)
{
    struct config_error error;
    for (uint64_t seed = 50; seed < 52; seed++) {
        struct sim_command command = command_for(seed % 2 == 0 ? ARENA : SERPENT, seed);
        struct sim *sim = sim_create(
            &(struct sim_options){
                .config_file = command.config,
                .clients = 6,
                .seed = seed,
                .up = {.delay_us = 30000},
                .down = {.delay_us = 30000},
                .policies = {"aim"},
                .faults = 1U << SIM_FAULT_CRASH,
                .check = true,
            },
            &error);
        cr_assert_not_null(sim, "%s", error.text);
        struct sim_totals totals = {0};
        const char *text = "";
        for (int i = 0; i < 90 && totals.faults[SIM_FAULT_CRASH] < 2; i++) {
            sim_run_ticks(sim, 60);
            sim_get_totals(sim, &totals);
        }
        sim_run_ticks(sim, 1500);
        sim_get_totals(sim, &totals);
        cr_expect_geq(totals.faults[SIM_FAULT_CRASH], 2);
        cr_expect_gt(totals.returns, 0);
        sim_settle(sim);
        cr_expect_eq(sim_violation_count(sim), 0, "%s", (sim_first_violation(sim, &text), text));
        sim_destroy(sim);
    }
}

/* ---- the command ---- */

static bool parse(struct sim_command *command, int count, char **words)
{
    char *argv[20] = {"arbiter-sim"};
    for (int i = 0; i < count; i++) {
        argv[i + 1] = words[i];
    }
    return sim_command_parse(command, count + 1, argv);
}

Test(simulator, the_printed_line_repeats_the_command)
{
    char *words[] = {
        "--config", "a b.json",    "--clients", "3",   "--seed", "18446744073709551615",
        "--faults", "stall,storm", "--fps",     "144", "--set",  "match.rounds=2",
        "--policy", "wander",      "--policy",  "aim"};
    struct sim_command command;
    cr_assert(parse(&command, 16, words));
    cr_assert_eq(command.faults, 1U << SIM_FAULT_STALL | 1U << SIM_FAULT_STORM);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    sim_command_print(&command, out);
    fclose(out);
    cr_assert_str_eq(text, "arbiter-sim --config 'a b.json' --set match.rounds=2 --clients 3 "
                           "--profile average --seed 18446744073709551615 --ticks 3600 "
                           "--faults stall,storm --fps 144 --policy wander --policy aim");
    free(text);
}

Test(simulator, clients_take_the_policies_in_turns)
{
    struct config_error error;
    struct sim *sim = sim_create(
        &(struct sim_options){
            .config_file = ARENA, .clients = 4, .seed = 3, .policies = {"idle", "wander"}},
        &error);
    cr_assert_not_null(sim, "%s", error.text);
    sim_run_ticks(sim, 600);
    const struct world *world = match_world(sim_match(sim));
    uint32_t moved = 0;
    for (uint32_t slot = 0; slot < 4; slot++) {
        const struct world_player *player = &world->players[slot];
        bool idle = strcmp(player->name, "bot01") == 0 || strcmp(player->name, "bot03") == 0;
        bool still = player->last.move_x == 0 && player->last.move_y == 0;
        cr_assert(still || !idle, "%s", player->name);
        moved += !still;
    }
    cr_assert_eq(moved, 2);
    sim_destroy(sim);
}

Test(simulator, what_it_does_not_understand_it_refuses)
{
    static char *const wrong[][2] = {
        {"--clients", "0"},    {"--clients", "-1"},           {"--seed", "x"},
        {"--ticks", "0"},      {"--faults", "fire"},          {"--faults", "stall,"},
        {"--faults", "crush"}, {"--report", "xml"},           {"--soak", "0"},
        {"--frames", "60"},    {"--interp-delay-ms", "later"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sim_command command;
        char *words[] = {wrong[i][0], wrong[i][1]};
        cr_assert_not(parse(&command, 2, words), "%s %s", words[0], words[1]);
    }
    struct sim_command command = command_for(ARENA, 1);
    command.profile = "worse";
    cr_assert_eq(sim_command_run(&command, NULL, true).status, SIM_EXIT_PROFILE);
    command = command_for("nowhere.json", 1);
    cr_assert_eq(sim_command_run(&command, NULL, true).status, SIM_EXIT_CONFIG);
    command = command_for(ARENA, 1);
    command.policies[0] = "fly";
    cr_assert_eq(sim_command_run(&command, NULL, true).status, SIM_EXIT_ARGUMENTS);
}

/* ---- shrinking ---- */

/* Fails with a partition, three clients and 77 ticks. */
static struct sim_outcome pretend(const struct sim_command *command)
{
    bool fails = (command->faults >> SIM_FAULT_PARTITION & 1) != 0 && command->clients >= 3 &&
                 command->ticks >= 77;
    return (struct sim_outcome){.status = fails ? SIM_EXIT_VIOLATION : SIM_EXIT_CLEAN,
                                .ticks = command->ticks};
}

Test(simulator, a_failing_run_is_made_as_small_as_it_fails)
{
    struct sim_command command = command_for(ARENA, 1);
    struct sim_command smallest = sim_shrink(&command, pretend);
    cr_assert_eq(smallest.faults, 1U << SIM_FAULT_PARTITION);
    cr_assert_eq(smallest.clients, 3);
    cr_assert_eq(smallest.ticks, 77);
    cr_assert_eq(smallest.seed, command.seed);
}

/* ---- clocks ---- */

Test(simulator, a_clock_shows_what_its_rate_says_and_finds_the_moment_again)
{
    static const int32_t rates[] = {0, 10000, -10000, 17, -17, SIM_CLOCK_PPM_MAX};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct sim_clock clock = {.local_ns = UINT64_C(4294967296) * 1000000, .at_us = 1000000};
        sim_clock_set_rate(&clock, 1000000, rates[i]);
        uint64_t day_us = UINT64_C(86400) * 1000000;
        uint64_t shown = sim_clock_ns(&clock, 1000000 + day_us) - clock.local_ns;
        cr_assert_eq(shown, day_us * 1000 + (uint64_t)((int64_t)day_us * rates[i] / 1000));
        for (uint64_t us = 1000000; us < 1003000; us += 7) {
            uint64_t ns = sim_clock_ns(&clock, us);
            cr_assert_eq(sim_clock_when_us(&clock, ns), us);
            cr_assert_eq(sim_clock_when_us(&clock, ns + 1), us + 1);
        }
    }
}
