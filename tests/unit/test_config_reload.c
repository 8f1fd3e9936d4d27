/* server/config: what may differ in a configuration that is read again while a match runs. */
#define _GNU_SOURCE
#include "tests/unit/config_rig.h"

#include "server/config/config_internal.h"

static struct arb_arena arena;
static struct config running, next;

static void set_up(void)
{
    arb_arena_init(&arena);
}

static void tear_down(void)
{
    arb_arena_free(&arena);
    rig_clean();
}

TestSuite(config_reload, .init = set_up, .fini = tear_down);

static const char before[] = "{\"match\": {\"map\": \"m.tmj\", \"seed\": 7},\n"
                             " \"arena\": {\"health\": 90, \"weapons\": [{\"name\": \"a\"}]}}";

static bool may_become(const char *text, bool resumed)
{
    cr_assert_eq(rig_load_bytes(&running, &arena, before, strlen(before)), ARB_OK, "%s",
                 rig_error.text);
    cr_assert_eq(rig_load_bytes(&next, &arena, text, strlen(text)), ARB_OK, "%s: %s", text,
                 rig_error.text);
    rig_error.text[0] = '\0';
    return config_check_reload(&running, &next, resumed, &rig_error);
}

Test(config_reload, numbers_of_the_game_may_differ)
{
    static const char *const good[] = {
        before,
        "{\"match\": {\"map\": \"m.tmj\", \"seed\": 7}, \"arena\": {\"health\": 1, "
        "\"score_limit\": 5, \"team_damage\": true, \"pickup_respawn_s\": 2.5,"
        "\"weapons\": [{\"name\": \"a\", \"damage\": 99, \"spread\": \"triangular\"}]}}",
        /* The seed was drawn, or given: it is not asked for anew. */
        "{\"match\": {\"map\": \"m.tmj\"}, \"arena\": {\"health\": 90, \"weapons\": [{\"name\": "
        "\"a\"}]}}",
        /* Nobody plays serpent here. */
        "{\"match\": {\"map\": \"m.tmj\", \"seed\": 7}, \"serpent\": {\"turn_rate\": 1},"
        "\"arena\": {\"health\": 90, \"weapons\": [{\"name\": \"a\"}]}}",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        cr_expect(may_become(good[i], false), "%s: %s", good[i], rig_error.text);
    }
}

Test(config_reload, any_other_option_is_refused_with_its_place_and_what_it_was)
{
    static const char *const bad[][2] = {
        {"{\"match\": {\"map\": \"m.tmj\", \"seed\": 8}}",
         "c.json:1:36: match.seed is \"8\", the match runs with \"7\": this option needs a new "
         "match"},
        {"{\"match\": {\"map\": \"m.tmj\", \"tick_rate\": 30}}",
         "c.json:1:41: match.tick_rate is 30, the match runs with 60: this option needs"},
        {"{\"match\": {\"map\": \"m.tmj\", \"mode\": \"serpent\"}}",
         "c.json:1:36: match.mode is \"serpent\", the match runs with \"arena\""},
        {"{\"match\": {\"map\": \"m.tmj\"}, \"net\": {\"port\": 1}}",
         "c.json:1:45: net.port is 1, the match runs with 40000"},
        {"{\"match\": {\"map\": \"m.tmj\"},\n\"arena\": {\"max_speed\": 6.5}}",
         "c.json:2:24: arena.max_speed is 6.5, the match runs with 6"},
        {"{\"match\": {\"map\": \"m.tmj\"}, \"arena\": {\"weapons\": [{\"name\": \"b\"}]}}",
         "c.json:1:50: arena.weapons[0].name is \"b\", the match runs with \"a\""},
        {"{\"match\": {\"map\": \"m.tmj\"}, \"arena\": {\"weapons\": [{\"name\": \"a\", "
         "\"interval_ms\": 9}]}}",
         "c.json:1:50: arena.weapons[0].interval_ms is 9, the match runs with 200"},
        {"{\"match\": {\"map\": \"m.tmj\"}, \"arena\": {\"weapons\": []}}",
         "c.json:1:50: arena.weapons is a list of another length, the match runs with its own"},
        {"{\"match\": {\"map\": \"m.tmj\"}}", "default: arena.weapons is a list of another length"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cr_assert_not(may_become(bad[i][0], false), "%s", bad[i][0]);
        cr_expect(rig_begins(rig_text(), bad[i][1]), "%s", rig_error.text);
        cr_expect_not_null(strstr(rig_error.text, "config/README.md"));
    }
}

Test(config_reload, of_a_resumed_match_the_process_may_be_another)
{
    const char *text = "{\"match\": {\"map\": \"m.tmj\", \"seed\": 7}, \"net\": {\"port\": 5},"
                       "\"journal\": {\"path\": \"x\"}, \"arena\": {\"health\": 80, \"weapons\": "
                       "[{\"name\": \"a\"}]}}";
    cr_expect(may_become(text, true), "%s", rig_error.text);
    cr_expect_not(may_become(text, false));
    cr_expect_not(may_become("{\"match\": {\"map\": \"m.tmj\", \"rounds\": 5}}", true));
}

/* Whatever a client is told or a shape is made by stays; each row of a mode says so itself. */
Test(config_reload, rows_that_may_change_are_plain_numbers)
{
    uint32_t found = 0;
    for (size_t m = 0; m < RIG_MODES; m++) {
        for (size_t i = 0; i < rig_modes[m].option_count; i++) {
            const struct option *row = &rig_modes[m].options[i];
            if (!row->reload) continue;
            cr_expect(row->type == OPTION_BOOL || row->type == OPTION_INT ||
                          row->type == OPTION_NUMBER || row->type == OPTION_CHOICE,
                      "%s", row->path);
            found++;
        }
    }
    for (size_t i = 0; i < config_option_count; i++) {
        cr_expect_not(config_options[i].reload, "%s is no number of a mode",
                      config_options[i].path);
    }
    cr_expect_gt(found, 20);
}
