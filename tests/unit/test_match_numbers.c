/* server/match: numbers of the game that change in a running match, at a tick that everybody who
 * plays the records changes them at. */
#include "server/match/match_codec.h"
#include "server/match/match_internal.h"
#include "server/match/match_past.h"
#include "server/match/match_save.h"
#include "tests/scenes/scenes.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char *const weapons[] = {
    "arena.weapons=[{\"name\":\"rifle\",\"start\":true,\"damage\":30,\"damage_far\":10,"
    "\"interval_ms\":150},{\"name\":\"rocket\",\"kind\":\"projectile\",\"start\":true,"
    "\"damage\":40,\"projectile_speed\":9,\"interval_ms\":300,\"blast_m\":3,\"blast_damage\":60}]",
    "arena.respawn_ms=700", NULL};
static const struct scene brawl = {"brawl", "arena", "", 12, 24, 1.0F / 60, 12, 6, weapons};
static const struct scene garden = {"garden", "serpent", "", 8, 40, 1.0F / 200, 12, 2, NULL};

static struct scene_run run, other;
static uint32_t wanted[MATCH_NUMBERS_MAX];
static char text[MATCH_NUMBERS_ERROR_BYTES], name[MATCH_NUMBER_NAME_BYTES];

static uint32_t find(const struct match *match, const char *path)
{
    for (uint32_t i = 0; i < match_number_count(match); i++) {
        match_number_name(match, i, name);
        if (strcmp(name, path) == 0) return i;
    }
    cr_assert_fail("%s is none of them", path);
    return 0;
}

static void want(struct match *match, const char *path, uint32_t value)
{
    wanted[find(match, path)] = value;
}

static void begin(const struct match *match)
{
    memcpy(wanted, match_numbers(match), match_number_count(match) * sizeof wanted[0]);
}

static uint32_t bits(float value)
{
    uint32_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

/* Half the health, harmless rifles, quick respawns. */
static void reload(struct match *match, uint32_t health)
{
    begin(match);
    want(match, "arena.health", health);
    want(match, "arena.weapons[0].damage", 1);
    want(match, "arena.weapons[0].damage_far", 1);
    want(match, "arena.weapons[1].blast_m", bits(1.5F));
    want(match, "arena.respawn_ms", 100);
    cr_assert(match_numbers_check(match, wanted, text), "%s", text);
    match_reload(match, wanted);
}

static void step(struct scene_run *scene)
{
    scene_give_inputs(scene);
    for (uint32_t slot = 0; slot < scene->scene->players; slot++) {
        match_set_input(scene->match, (uint16_t)slot, &scene->inputs[slot]);
    }
    tick_run(scene->match, TICK_RERUN);
}

static void close_all(void)
{
    if (run.match != NULL) scene_close(&run);
    if (other.match != NULL) scene_close(&other);
}

TestSuite(match_numbers, .fini = close_all);

Test(match_numbers, they_are_in_the_order_of_the_table_and_named_by_it)
{
    scene_open(&run, &brawl, 3);
    cr_assert_eq(match_number_count(run.match), 13 + 2 * 13);
    match_number_name(run.match, 0, name);
    cr_expect_str_eq(name, "arena.health");
    match_number_text(run.match, 0, match_numbers(run.match)[0], text);
    cr_expect_str_eq(text, "100");
    uint32_t spread = find(run.match, "arena.weapons[1].spread");
    match_number_text(run.match, spread, 1, text);
    cr_expect_str_eq(text, "\"triangular\"");
    match_number_text(run.match, find(run.match, "arena.weapons[0].start"), 1, text);
    cr_expect_str_eq(text, "true");
    match_number_text(run.match, find(run.match, "arena.weapons[1].blast_m"), bits(1.5F), text);
    cr_expect_str_eq(text, "1.5");
}

Test(match_numbers, a_change_is_in_force_in_its_tick_and_not_before)
{
    scene_open(&run, &brawl, 3);
    for (int i = 0; i < 100; i++)
        step(&run);
    reload(run.match, 37);
    uint32_t health = find(run.match, "arena.health");
    cr_expect_eq(match_numbers(run.match)[health], 100);
    arb_tick tick = match_tick(run.match);
    step(&run);
    cr_expect_eq(match_numbers(run.match)[health], 37);
    const struct match_record *record = match_record(run.match);
    cr_assert_eq(record->tick, tick);
    cr_assert_eq(record->command_count, 1);
    cr_expect_eq(record->commands[0].type, MATCH_COMMAND_RELOAD);
    cr_expect_eq(record->numbers[health], 37);
    step(&run);
    cr_expect_eq(match_record(run.match)->number_count, 0);
    /* Whoever comes back from now on has so much. */
    bool seen = false;
    for (int i = 0; i < 3000 && !seen; i++) {
        step(&run);
        const struct world *world = match_world(run.match);
        for (uint32_t id = 0; id < world->head->entity_capacity; id++) {
            const struct world_entity *entity = &world->entities[id];
            seen = seen || (entity->alive && entity->kind == ARB_ARENA_CHARACTER &&
                            entity->values[0] == 37);
        }
    }
    cr_expect(seen, "somebody died of rockets and came back");
}

Test(match_numbers, of_several_before_a_tick_the_last_counts)
{
    scene_open(&run, &brawl, 3);
    step(&run);
    reload(run.match, 37);
    reload(run.match, 38);
    step(&run);
    cr_expect_eq(match_record(run.match)->command_count, 1);
    cr_expect_eq(match_numbers(run.match)[find(run.match, "arena.health")], 38);
}

Test(match_numbers, the_params_that_a_match_was_made_from_stay_as_they_are)
{
    scene_open(&run, &brawl, 3);
    uint32_t before[MATCH_NUMBERS_MAX], after[MATCH_NUMBERS_MAX];
    match_numbers_of(run.match->rules, run.params, before);
    reload(run.match, 37);
    step(&run);
    match_numbers_of(run.match->rules, run.params, after);
    cr_expect_arr_eq(before, after, match_number_count(run.match) * sizeof before[0]);
}

Test(match_numbers, a_match_that_plays_the_records_stays_the_same)
{
    static uint8_t bytes[1 << 16];
    struct match_record record;
    scene_open(&run, &brawl, 3);
    scene_open(&other, &brawl, 3);
    struct arb_arena arena;
    arb_arena_init(&arena);
    struct match_record_capacity capacity = match_record_capacity(run.match);
    struct match_codec *writes = match_codec_create(&arena, &capacity);
    struct match_codec *reads = match_codec_create(&arena, &capacity);
    match_record_create(&record, &arena, &capacity);
    uint64_t unchanged = 0;
    for (uint32_t i = 0; i < 900; i++) {
        if (i % 200 == 100) reload(run.match, 20 + i / 10);
        step(&run);
        size_t size = match_record_encode(writes, match_record(run.match), bytes, sizeof bytes);
        cr_assert_eq(match_record_decode(reads, match_tick(other.match), bytes, size, &record),
                     ARB_DECODE_OK);
        for (uint32_t slot = 0; slot < brawl.players; slot++) {
            match_set_input(other.match, (uint16_t)slot, &run.inputs[slot]);
        }
        match_play(other.match, &record);
        tick_run(other.match, TICK_RERUN);
        cr_assert_eq(match_checksum(run.match), match_checksum(other.match), "tick %u", i);
        unchanged = i == 99 ? match_checksum(run.match) : unchanged;
    }
    cr_expect_neq(unchanged, match_checksum(run.match));
    arb_arena_free(&arena);
}

/* The numbers are in S[t]: going back over a change takes it back, and running it again makes it
 * again. Bench's inputs are in no record, so they stay the same here. */
Test(match_numbers, ticks_around_a_change_run_again_as_they_were)
{
    enum { BACK = 20 };
    static const uint8_t id[16] = {1};
    struct arb_arena arena;
    arb_arena_init(&arena);
    scene_open(&run, &brawl, 3);
    struct match_config config = run.config.match;
    config.back_ticks = BACK;
    struct match *match = match_create(&arena, &config, run.match->rules, run.params, &run.map,
                                       run.geometry, id, NULL);
    scene_give_inputs(&run);
    for (uint32_t slot = 0; slot < brawl.players; slot++) {
        struct arb_input input = run.inputs[slot];
        input.buttons = input.edges = ARB_BUTTON_FIRE;
        match_add_player(match, "ada");
        match_set_input(match, (uint16_t)slot, &input);
    }
    for (uint32_t i = 0; i < 400; i++) {
        if (i % 50 == 30) reload(match, 20 + i / 10);
        tick_run(match, TICK_RERUN);
        if (i == 0) match_past_begin(match->past, match); /* with the players in their seats */
        if (i > 0) match_past_keep(match->past, match);
        cr_assert(match_repeats(match, BACK, text, sizeof text), "tick %u: %s", i, text);
        uint32_t health = match_numbers(match)[find(match, "arena.health")];
        cr_assert_eq(health, i < 30 ? 100 : 20 + ((i - 30) / 50 * 50 + 30) / 10, "tick %u", i);
    }
    match_destroy(match);
    arb_arena_free(&arena);
}

static uint8_t *save(const struct match *match, uint32_t *size)
{
    uint8_t *bytes = malloc(match_save_bytes(match, MATCH_SAVE_WHOLE));
    *size = match_save(match, MATCH_SAVE_WHOLE, bytes, match_save_bytes(match, MATCH_SAVE_WHOLE));
    return bytes;
}

Test(match_numbers, a_block_that_was_saved_after_a_change_brings_it_along)
{
    struct match_save_error error;
    uint32_t size;
    scene_open(&run, &brawl, 3);
    scene_open(&other, &brawl, 3);
    for (int i = 0; i < 300; i++) {
        if (i == 200) reload(run.match, 37);
        step(&run);
    }
    uint8_t *block = save(run.match, &size);
    cr_assert_eq(match_restore(other.match, block, size, &error), ARB_OK, "%s", error.text);
    cr_expect_eq(match_numbers(other.match)[find(run.match, "arena.health")], 37);
    other.rng = run.rng;
    other.ticks = run.ticks;
    memcpy(other.inputs, run.inputs, brawl.players * sizeof run.inputs[0]);
    for (int i = 0; i < 900; i++) {
        step(&run);
        step(&other);
        cr_assert_eq(match_checksum(run.match), match_checksum(other.match), "tick %d", i);
    }
    free(block);
}

/* Who has more health than health_max allows since a change is no reason to refuse a state. */
Test(match_numbers, a_state_of_before_fits_numbers_that_were_lowered)
{
    struct match_save_error error;
    uint32_t size;
    scene_open(&run, &brawl, 3);
    scene_open(&other, &brawl, 3);
    step(&run);
    begin(run.match);
    want(run.match, "arena.health", 5);
    want(run.match, "arena.health_max", 5);
    cr_assert(match_numbers_check(run.match, wanted, text), "%s", text);
    match_reload(run.match, wanted);
    step(&run);
    uint8_t *block = save(run.match, &size);
    cr_expect_eq(match_restore(other.match, block, size, &error), ARB_OK, "%s", error.text);
    free(block);
}

Test(match_numbers, what_no_option_may_be_is_refused)
{
    static const struct {
        const char *path;
        uint32_t value;
        const char *says;
    } bad[] = {
        {"arena.health", 0, "arena.health is out of its bounds"},
        {"arena.health", 1001, "arena.health is out of its bounds"},
        {"arena.kill_score", UINT32_C(0x80000000), "arena.kill_score is out of its bounds"},
        {"arena.team_damage", 2, "arena.team_damage is out of its bounds"},
        {"arena.weapons[0].spread", 2, "arena.weapons[0].spread is out of its bounds"},
        {"arena.weapons[0].spread", UINT32_MAX, "arena.weapons[0].spread is out of its bounds"},
        {"arena.weapons[1].blast_m", UINT32_C(0x7FC00000), "arena.weapons[1].blast_m is out of"},
        {"arena.weapons[1].blast_m", UINT32_C(0x7F800000), "arena.weapons[1].blast_m is out of"},
        {"arena.weapons[1].blast_m", UINT32_C(0xBF800000), "arena.weapons[1].blast_m is out of"},
        /* Each is within its bounds, all together are not what the mode can play. */
        {"arena.health", 101, "arena.health is 101: at most arena.health_max (100)"},
        {"arena.weapons[1].pierce", 1, "arena.weapons[1].pierce is 1: 0 for"},
    };
    scene_open(&run, &brawl, 3);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin(run.match);
        want(run.match, bad[i].path, bad[i].value);
        cr_assert_not(match_numbers_check(run.match, wanted, text), "%s", bad[i].path);
        cr_expect_eq(strncmp(text, bad[i].says, strlen(bad[i].says)), 0, "%s", text);
    }
    begin(run.match);
    cr_expect(match_numbers_check(run.match, wanted, text), "%s", text);
}

Test(match_numbers, serpents_have_some_too)
{
    scene_open(&run, &garden, 3);
    scene_open(&other, &garden, 3);
    cr_assert_eq(match_number_count(run.match), 16);
    uint64_t same = 0;
    for (int i = 0; i < 600; i++) {
        if (i == 100) {
            begin(run.match);
            want(run.match, "serpent.growth_m", bits(3.0F));
            want(run.match, "serpent.food_count", 20);
            cr_assert(match_numbers_check(run.match, wanted, text), "%s", text);
            match_reload(run.match, wanted);
        }
        step(&run);
        step(&other);
        same += match_checksum(run.match) == match_checksum(other.match);
    }
    cr_expect_eq(same, 100, "as without it up to its tick, and then never again");
}
