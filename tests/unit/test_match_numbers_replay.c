/* server/match: a change of numbers of the game in a journal, as it was written and as nobody wrote
 * it. */
#include "server/match/match_journal.h"
#include "server/match/match_numbers.h"
#include "server/match/match_replay.h"
#include "tests/unit/journal_rig.h"

#include <math.h>
#include <stdio.h>

struct numbered_params {
    int32_t lives;
    float pull;
};

static const struct option numbered_options[] = {
    {"probe.lives", OPTION_INT, OPTION_AT(struct numbered_params, lives), 1, 9, "3",
     .reload = true},
    {"probe.pull", OPTION_NUMBER, OPTION_AT(struct numbered_params, pull), 0, 2, "1",
     .reload = true},
};
static const struct numbered_params params = {3, 1.0F};

static bool numbered_check(const void *data, uint32_t tick_rate, uint32_t max_players,
                           const struct map *on, char *error, size_t error_bytes)
{
    const struct numbered_params *numbers = data;
    (void)tick_rate;
    (void)max_players;
    (void)on;
    snprintf(error, error_bytes, "probe.pull is too strong for probe.lives");
    return numbers->lives < 9 || numbers->pull < 2.0F;
}

static struct rules numbered;
static struct match_journal *journal;
static struct arb_arena own;

static struct match *make(void)
{
    static const uint8_t id[16] = {1, 2, 3};
    return match_create(&own, &config, &numbered, &params, &map, geometry, id, &port);
}

static void open_all(void)
{
    defaults();
    arb_arena_init(&own);
    numbered = probe;
    numbered.options = numbered_options;
    numbered.option_count = 2;
    numbered.params_bytes = sizeof params;
    numbered.check = numbered_check;
    geometry = arb_geometry_create(NULL, 0, map.bounds);
    match = make();
    begin_file(match);
    journal = match_journal_create(&own, match, 0, &memory_sink);
}

static void close_all(void)
{
    match_destroy(match);
    arb_geometry_destroy(geometry);
    free_file();
    arb_arena_free(&own);
}

TestSuite(match_numbers_replay, .init = open_all, .fini = close_all);

static uint32_t bits_of(float value)
{
    uint32_t out;
    memcpy(&out, &value, sizeof out);
    return out;
}

static void pass(uint32_t ticks)
{
    for (uint32_t i = 0; i < ticks; i++) {
        tick();
        match_journal_tick(journal, match);
    }
}

/* The match's own numbers are good; what the file says of them is `lives` and `pull`. */
static void write_reload(uint32_t lives, uint32_t pull)
{
    pass(5);
    match_reload(match, (const uint32_t[]){4, bits_of(0.5F)});
    tick();
    match->record.numbers[0] = lives;
    match->record.numbers[1] = pull;
    match_journal_tick(journal, match);
    pass(5);
    flush_block();
}

static struct match_replay_step replay(struct match *played)
{
    enum journal_status status;
    struct match_replay_step step;
    struct journal_reader *reader = journal_open(&memory_source, &status);
    cr_assert_not_null(reader);
    struct match_replay *replaying = match_replay_create(&own, played, NULL, reader);
    do {
        match_replay_next(replaying, &step);
    } while (step.status < MATCH_REPLAY_DIVERGED);
    journal_close(reader);
    return step;
}

Test(match_numbers_replay, a_change_is_played_at_its_tick)
{
    struct match *played = make();
    write_reload(4, bits_of(0.5F));
    struct match_replay_step step = replay(played);
    cr_assert_eq(step.status, MATCH_REPLAY_STOPPED, "%s", step.text);
    cr_expect_eq(match_checksum(played), match_checksum(match));
    cr_expect_eq(match_numbers(played)[0], 4);
    match_destroy(played);
}

Test(match_numbers_replay, numbers_that_no_configuration_could_have_are_refused)
{
    static const struct {
        uint32_t lives;
        float pull;
        const char *says;
    } bad[] = {{0, 1.0F, "probe.lives is out of its bounds"},
               {10, 1.0F, "probe.lives is out of its bounds"},
               {4, NAN, "probe.pull is out of its bounds"},
               {4, -1.0F, "probe.pull is out of its bounds"},
               {9, 2.0F, "too strong"}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct match *played = make();
        write_reload(bad[i].lives, bits_of(bad[i].pull));
        struct match_replay_step step = replay(played);
        cr_assert_eq(step.status, MATCH_REPLAY_REFUSED);
        cr_expect_not_null(strstr(step.text, bad[i].says), "%s", step.text);
        cr_expect_eq(step.tick, 6, "the tick that it was to be in");
        cr_expect_eq(match_numbers(played)[0], 3, "nothing has changed");
        match_destroy(played);
        close_all();
        open_all();
    }
}

/* The tick of the change itself is in no file. */
Test(match_numbers_replay, a_keyframe_brings_what_is_in_force)
{
    struct match *played = make();
    pass(3);
    disk_is_full = true;
    pass(1);
    match_reload(match, (const uint32_t[]){4, bits_of(0.5F)});
    pass(2);
    disk_is_full = false;
    pass(3);
    flush_block();
    struct match_replay_step step = replay(played);
    cr_assert_eq(step.status, MATCH_REPLAY_STOPPED, "%s", step.text);
    cr_expect_eq(match_checksum(played), match_checksum(match));
    cr_expect_eq(match_numbers(played)[0], 4);
    match_destroy(played);
}
