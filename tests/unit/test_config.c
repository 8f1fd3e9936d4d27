#define _GNU_SOURCE
#include "tests/unit/config_rig.h"

#include "server/config/config_internal.h"
#include "server/rules/arena_internal.h"
#include "shared/proto/arb_proto.h"

#include <math.h>

static struct config config;
static struct arb_arena arena;

static void set_up(void)
{
    arb_arena_init(&arena);
}

static void tear_down(void)
{
    arb_arena_free(&arena);
    rig_clean();
}

TestSuite(config, .init = set_up, .fini = tear_down);

static enum arb_result load(const char *text)
{
    return rig_load_bytes(&config, &arena, text, strlen(text));
}

/* Text, and how the message begins. Lines are counted from 1, columns too. */
static const char *const bad_files[][2] = {
    {"[]", "c.json:1:1: an array is not allowed; allowed: an object of sections"},
    {"{\"match\": {\"map\": \"m.tmj\"}", "c.json:1:27: match: the text ends too early"},
    {"{\n  \"mtach\": {}}", "c.json:2:3: mtach: unknown section; allowed: match, net, auth,"},
    {"{\"match\": []}", "c.json:1:11: match: an array is not allowed; allowed: an object with"},
    {"{\"match\": {\"tick_rat\": 60}}", "c.json:1:12: match.tick_rat: unknown key; allowed: mode,"},
    {"{\"match\": {\"Tick_rate\": 60}}", "c.json:1:12: match.Tick_rate: unknown key"},
    {"{\"match\": {\"tick_rate\": 60,\n \"tick_rate\": 60}}",
     "c.json:2:2: match.tick_rate: the key \"tick_rate\" is there twice"},
    {"{\"net\": {},\n\"net\": {}}", "c.json:2:1: net: the key \"net\" is there twice"},
    {"{\"match\": {\"tick_rate\": \"60\"}}", "c.json:1:25: match.tick_rate: \"60\" is not allowed; "
                                             "allowed: an integer from 20 to 128 (Hz)"},
    {"{\"match\": {\"tick_rate\": 60.0}}", "c.json:1:25: match.tick_rate: 60.0 is not allowed"},
    {"{\"match\": {\"tick_rate\": 6e1}}", "c.json:1:25: match.tick_rate: 6e1 is not allowed"},
    {"{\"match\": {\"tick_rate\": 19}}", "c.json:1:25: match.tick_rate: 19 is not allowed"},
    {"{\"match\": {\"tick_rate\": 129}}", "c.json:1:25: match.tick_rate: 129 is not allowed"},
    {"{\"match\": {\"tick_rate\": null}}", "c.json:1:25: match.tick_rate: null is not allowed"},
    {"{\"net\": {\"port\": 4294967296}}", "c.json:1:18: net.port: 4294967296 is not allowed"},
    {"{\"net\": {\"port\": 70000.5}}", "c.json:1:18: net.port: 70000.5 is not allowed"},
    {"{\"net\": {\"port\": 1e999}}", "c.json:1:18: net.port: 1e999 is not allowed"},
    {"{\"net\": {\"port\": NaN}}", "c.json:1:18: net.port: NaN"},
    {"{\"interest\": {\"cell_m\": 1e999}}", "c.json:1:25: interest.cell_m: 1e999 is not allowed"},
    {"{\"interest\": {\"cell_m\": 0.999}}",
     "c.json:1:25: interest.cell_m: 0.999 is not allowed; allowed: a number from 1 to 1000 (m)"},
    {"{\"auth\": {\"open_anywhere\": 1}}",
     "c.json:1:28: auth.open_anywhere: 1 is not allowed; allowed: true or false"},
    {"{\"match\": {\"mode\": \"chess\"}}",
     "c.json:1:20: match.mode: \"chess\" is not allowed; allowed: \"arena\", \"serpent\""},
    {"{\"log\": {\"level\": \"INFO\"}}",
     "c.json:1:19: log.level: \"INFO\" is not allowed; allowed: \"error\", \"warn\", \"info\", "
     "\"debug\""},
    {"{\"net\": {\"address\": "
     "\"1234567890123456789012345678901234567890123456789012345678901234\"}}",
     "c.json:1:21: net.address: \"1234567890123456789012345678901234567890...\" is not allowed; "
     "allowed: a string of at most 63 bytes"},
    {"{\"net\": {\"address\": \"x\\u0000y\"}}", "c.json:1:23: net.address: a string cannot hold"},
    {"{\"net\": {\"address\": \"\xff\"}}", "c.json:1:22: net.address: not UTF-8"},
    {"{\"match\": {\"seed\": 18446744073709551616}}",
     "c.json:1:20: match.seed: 18446744073709551616 is not allowed; allowed: an integer from 0"},
    {"{\"match\": {\"seed\": -1}}", "c.json:1:20: match.seed: -1 is not allowed"},
    {"{\"match\": {\"seed\": \"x\"}}", "c.json:1:20: match.seed: \"x\" is not allowed"},
    {"{\"debug\": {\"first_tick\": 0}}",
     "c.json:1:26: debug.first_tick: 0 is not allowed; allowed: an integer from 1 to "
     "9007199254740992,"},
    {"{\"debug\": {\"first_tick\": 9007199254740993}}",
     "c.json:1:26: debug.first_tick: 9007199254740993 is not allowed"},
    {"{\"snapshot\": {\"chunk_payload_bytes\": 1184}}",
     "c.json:1:38: snapshot.chunk_payload_bytes: 1184 is not allowed"},
    {"{\"arena\": {\"weapons\": [{}, {\"damge\": 1}]}}",
     "c.json:1:29: arena.weapons[1].damge: unknown key; allowed: name, kind, range_m,"},
    {"{\"arena\": {\"weapons\": [{}, {\"damage\": -1}]}}",
     "c.json:1:39: arena.weapons[1].damage: -1 is not allowed; allowed: an integer from 0 to 1000"},
    {"{\"arena\": {\"weapons\": [{}, {}, {}, {}, {}, {}, {}]}}",
     "c.json:1:23: arena.weapons: an array is not allowed; allowed: an array of 0 to 6 objects"},
    {"{\"arena\": {\"hit_shapes\": []}}", "c.json:1:26: arena.hit_shapes: an array is not allowed"},
    {"{\"arena\": {\"weapons\": [7]}}", "c.json:1:24: arena.weapons[0]: 7 is not allowed"},
    /* relations: at the option that somebody set */
    {"{\"match\": {\"map\": \"m.tmj\", \"max_players\": 4, \"min_players\": 5}}",
     "c.json:1:61: match.min_players (5) is above match.max_players (4)"},
    {"{\"match\": {\"map\": \"m.tmj\", \"max_players\": 1}}",
     "c.json:1:43: match.max_players: match.min_players (2) is above match.max_players (1)"},
    {"{\"match\": {\"map\": \"m.tmj\", \"teams\": 1}}",
     "c.json:1:37: match.teams: 1 is not allowed; allowed: 0 or 2"},
    {"{\"match\": {\"map\": \"m.tmj\"}, \"interest\": {\"enter_m\": 38}}",
     "c.json:1:53: interest.enter_m (38) is not below interest.retain_m (38)"},
    {"{\"match\": {\"map\": \"m.tmj\"}, \"net\": {\"address\": \"localhost\"}}",
     "c.json:1:48: net.address: \"localhost\" is no address; allowed: a numeric IPv4 or IPv6"},
    {"{\"match\": {\"map\": \"m.tmj\"}, \"net\": {\"address\": \"0.0.0.0\"}}",
     "c.json:1:48: net.address: auth.mode open lets anyone play who reaches 0.0.0.0; allowed:"},
    {"{\"match\": {\"map\": \"m.tmj\"}, \"net\": {\"max_sessions\": 8}}",
     "c.json:1:53: net.max_sessions (8) is below match.max_players (16)"},
    {"{\"match\": {\"map\": \"m.tmj\", \"result_path\": \"x\"}, \"debug\": {\"rewind_trace\": "
     "\"x\"}}",
     "c.json:1:75: debug.rewind_trace: is match.result_path as well; allowed: a file of its own"},
    {"{\"match\": {\"map\": \"m.tmj\", \"result_path\": \"x\"}, \"journal\": {\"path\": \"x\"}}",
     "c.json:1:69: journal.path: is match.result_path or debug.rewind_trace as well; allowed: a "
     "file of its own"},
    {"{}", "default: match.map: is missing; allowed: path of a Tiled map"},
    {"{\"match\":\n {\"map\": \"none.tmj\"}}", "c.json:2:10: match.map: cannot open "},
};

Test(config, bad_files_are_refused_with_place_path_and_what_is_allowed)
{
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        cr_expect_eq(load(bad_files[i][0]), ARB_CONFIG, "%s", bad_files[i][0]);
        cr_expect(rig_begins(rig_text(), bad_files[i][1]), "%s gives\n%s instead of\n%s",
                  bad_files[i][0], rig_text(), bad_files[i][1]);
        cr_expect_null(strchr(rig_error.text, '\n'));
    }
}

static enum arb_result load_with(const char *file, char *const *environment, size_t count,
                                 const char *const *sets)
{
    return config_load(&config, &arena, rig_modes, RIG_MODES, file, environment, sets, count, NULL,
                       &rig_error);
}

/* What a journal holds of a configuration. */
static char *print_loaded(void)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    config_print_loaded(&config, out);
    fclose(out);
    return text;
}

Test(config, what_is_in_effect_can_be_loaded_from_its_text_without_the_map)
{
    cr_assert_eq(load("{\"match\": {\"map\": \"m.tmj\", \"seed\": 9, \"duration_s\": 77}}"),
                 ARB_OK);
    char *before = print_loaded();
    cr_assert_eq(config_load_text(&config, &arena, rig_modes, RIG_MODES, "text", before,
                                  strlen(before), &rig_error),
                 ARB_OK, "%s", rig_error.text);
    char *after = print_loaded();
    cr_expect_str_eq(after, before);
    cr_expect_eq(config.match.duration_s, 77);
    cr_expect_eq(config_load_text(&config, &arena, rig_modes, RIG_MODES, "text", "{\"x\": 1}", 8,
                                  &rig_error),
                 ARB_CONFIG);
    cr_expect(rig_begins(rig_error.text, "text:1:2: x: unknown section"), "%s", rig_error.text);
    free(before);
    free(after);
}

static enum arb_result resume(const char *set, char *const *environment)
{
    static const char text[] = "{\"match\": {\"map\": \"m.tmj\", \"duration_s\": 77}, "
                               "\"net\": {\"port\": 5}}";
    return config_load_resumed(&config, &arena, rig_modes, RIG_MODES, "text", text, sizeof text - 1,
                               environment, &set, set != NULL, &rig_error);
}

Test(config, a_match_that_is_resumed_takes_anew_what_is_of_the_process_and_nothing_else)
{
    char *environment[] = {"ARBITER_NET_PORT=7", "ARBITER_MATCH_DURATION_S=9", NULL};
    cr_assert_eq(resume("log.level=debug", environment), ARB_OK, "%s", rig_error.text);
    cr_expect_eq(config.net.port, 7);
    cr_expect_eq(config.match.duration_s, 77, "containers give the whole environment again");
    cr_assert_eq(resume("match.result_path=other.json", NULL), ARB_OK, "%s", rig_error.text);
    cr_expect_eq(config.net.port, 5);
    cr_expect_str_eq(config.result_path, "other.json");
    cr_expect_eq(resume("match.duration_s=9", NULL), ARB_CONFIG);
    cr_expect(strstr(rig_error.text, "goes on with its own numbers") != NULL, "%s", rig_error.text);
    cr_expect_eq(resume("journal.path=x", NULL), ARB_CONFIG, "it is the file itself");
}

Test(config, defaults_are_those_of_the_specification)
{
    cr_assert_eq(load("{\"match\": {\"map\": \"m.tmj\"}}"), ARB_OK, "%s", rig_error.text);
    cr_assert_eq(config.match.tick_rate, 60);
    cr_assert_eq(config.match.max_catchup_ticks, 5);
    cr_assert_eq(config.match.input_buffer_ticks, 30);
    cr_assert_eq(config.match.input_hold_ticks, 30);
    cr_assert_eq(config.match.snapshot_interval_ticks, 2);
    cr_assert_eq(config.match.snapshot_chunk_payload_bytes, 1150);
    cr_assert_eq(config.match.snapshot_budget_bytes_per_s, 65536);
    cr_assert_str_eq(config.net.address, "127.0.0.1");
    cr_assert_not(config.auth.open_anywhere);
    cr_assert_eq(config.match.seed.set, 0);
    cr_assert_eq(config.match.first_tick.set, 0);
    const struct arena_params *params = config.mode_params[0];
    cr_assert_eq(params->max_speed, 6.0F);
    cr_assert_eq(params->weapon_count, 5);
    cr_assert_eq(params->hit_shapes[0].radius, 0.5F, "an item's missing keys have their defaults");
}

Test(config, later_layers_win)
{
    rig_write("m.tmj", rig_map, sizeof rig_map - 1);
    const char *text = "{\"match\": {\"map\": \"m.tmj\", \"tick_rate\": 30, \"duration_s\": 30, "
                       "\"rounds\": 3}}";
    const char *file = rig_write("c.json", text, strlen(text));
    char rate[] = "ARBITER_MATCH_TICK_RATE=40", duration[] = "ARBITER_MATCH_DURATION_S=40";
    char *environment[] = {rate, duration, NULL};
    const char *const sets[] = {"match.duration_s=50"};
    cr_assert_eq(load_with(file, environment, 1, sets), ARB_OK, "%s", rig_error.text);
    cr_assert_eq(config.match.rounds, 3);
    cr_assert_eq(config.match.tick_rate, 40);
    cr_assert_eq(config.match.duration_s, 50);
}

Test(config, texts_need_no_quotes_in_environment_and_set)
{
    rig_write("m.tmj", rig_map, sizeof rig_map - 1);
    char map[128], level[] = "ARBITER_LOG_LEVEL=debug", six[] = "ARBITER_NET_ADDRESS=\"::1\"";
    snprintf(map, sizeof map, "ARBITER_MATCH_MAP=%s", rig_path);
    char *environment[] = {map, level, six, NULL};
    const char *const sets[] = {
        "match.mode=serpent",
        "match.result_path=a \"b\" = c\\d",
        "match.seed=18446744073709551615",
        "auth.open_anywhere=true",
        "serpent.base_speed=7.25",
        "arena.weapons=[{\"name\": \"x\", \"damage\": 7}]",
    };
    cr_assert_eq(load_with(NULL, environment, 6, sets), ARB_OK, "%s", rig_error.text);
    cr_assert_str_eq(config.mode, "serpent");
    cr_assert_str_eq(config.result_path, "a \"b\" = c\\d");
    cr_assert_eq(config.log.level, 3);
    cr_assert_str_eq(config.net.address, "::1");
    cr_assert_eq(config.match.seed.value, UINT64_MAX);
    cr_assert_eq(((struct serpent_params *)config.mode_params[1])->base_speed, 7.25F);
    const struct arena_params *params = config.mode_params[0];
    cr_assert_eq(params->weapon_count, 1);
    cr_assert_eq(params->weapons[0].damage, 7);
    cr_assert_str_eq(config.map_path, config.map);
}

static const char *const bad_texts[][2] = {
    {"net.port=x", "--set net.port: net.port: \"x\" is no value: expected a value"},
    {"net.port=", "--set net.port: net.port: \"\" is no value: the text ends too early"},
    {"net.port=70000",
     "--set net.port: net.port: 70000 is not allowed; allowed: an integer from 0"},
    {"net.port=1 2", "--set net.port: net.port: \"1 2\" is no value: text after the end"},
    {"net.prot=1", "--set: \"net.prot\": unknown option; allowed in net: address, port,"},
    {"nett.port=1", "--set: \"nett.port\": unknown option; allowed are sections: match, net,"},
    {"net=1", "--set: \"net\": unknown option"},
    {"log.level=loud", "--set log.level: log.level: \"loud\" is not allowed; allowed: \"error\""},
    {"net.address=\xff", "--set net.address: net.address: \"\\xff\" is no value: not UTF-8"},
    {"arena.weapons=[{\"damage\": -3}]",
     "--set arena.weapons: arena.weapons[0].damage: -3 is not allowed"},
    {"match.min_players=17", "--set match.min_players: match.min_players (17) is above"},
};

Test(config, a_bad_set_names_its_source)
{
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        cr_expect_eq(load_with(NULL, NULL, 1, &bad_texts[i][0]), ARB_CONFIG, "%s", bad_texts[i][0]);
        cr_expect(rig_begins(rig_error.text, bad_texts[i][1]), "%s gives\n%s", bad_texts[i][0],
                  rig_error.text);
    }
    const char *const no_value[] = {"net.port"};
    cr_assert_eq(load_with(NULL, NULL, 1, no_value), ARB_ARGUMENTS);
    cr_assert(
        rig_begins(rig_error.text, "--set: \"net.port\" has no =; allowed: section.key=value"));
}

static int warnings;
static char warned[256];

static void warn(const char *text)
{
    warnings++;
    snprintf(warned, sizeof warned, "%s", text);
}

Test(config, a_bad_variable_is_an_error_and_an_unknown_one_a_warning)
{
    rig_write("m.tmj", rig_map, sizeof rig_map - 1);
    char set[128], port[] = "ARBITER_NET_PORT=tcp://10.0.0.1:7777";
    snprintf(set, sizeof set, "match.map=%s", rig_path);
    const char *const sets[] = {set};
    char *bad[] = {port, NULL};
    cr_assert_eq(load_with(NULL, bad, 1, sets), ARB_CONFIG);
    cr_assert(rig_begins(rig_error.text, "environment ARBITER_NET_PORT: net.port: "), "%s",
              rig_error.text);

    char host[] = "ARBITER_SERVICE_HOST=10.0.0.1", other[] = "HOME=/root";
    char *unknown[] = {host, other, NULL};
    cr_assert_eq(config_load(&config, &arena, rig_modes, RIG_MODES, NULL, unknown, sets, 1, warn,
                             &rig_error),
                 ARB_OK, "%s", rig_error.text);
    cr_assert_eq(warnings, 1);
    cr_assert_str_eq(warned, "environment ARBITER_SERVICE_HOST: no option has this name, ignored");
}

Test(config, open_play_beyond_loopback_needs_to_be_asked_for)
{
    static const struct {
        const char *address;
        bool loopback;
    } cases[] = {{"127.0.0.1", true},        {"127.9.8.7", true}, {"::1", true},
                 {"::ffff:127.0.0.1", true}, {"::", false},       {"0.0.0.0", false},
                 {"10.0.0.1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        const char *const format = "{\"match\":{\"map\":\"m.tmj\"},\"net\":{\"address\":\"%s\"},"
                                   "\"auth\":{\"open_anywhere\":%s}}";
        snprintf(text, sizeof text, format, cases[i].address, "false");
        cr_expect_eq(load(text) == ARB_OK, cases[i].loopback, "%s", cases[i].address);
        snprintf(text, sizeof text, format, cases[i].address, "true");
        cr_expect_eq(load(text), ARB_OK, "%s", cases[i].address);
    }
}

Test(config, a_map_is_found_beside_the_configuration)
{
    cr_assert_eq(load("{\"match\": {\"map\": \"./m.tmj\"}}"), ARB_OK);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%s/./m.tmj", rig_folder);
    cr_assert_str_eq(config.map_path, wanted);
    cr_assert_str_eq(config.map, "./m.tmj");
}

Test(config, files_that_cannot_be_configurations_are_refused_quickly)
{
    cr_assert_eq(load_with("/nowhere/c.json", NULL, 0, NULL), ARB_CONFIG);
    cr_assert(rig_begins(rig_error.text, "/nowhere/c.json: cannot be opened: No such file"));
    cr_assert_eq(load_with("/", NULL, 0, NULL), ARB_CONFIG);
    cr_assert_eq(load_with("/dev/zero", NULL, 0, NULL), ARB_CONFIG);
    cr_assert_str_eq(rig_error.text, "/dev/zero: is too large; allowed: at most 1048576 bytes");
    const char *big = rig_write("big", "", 0);
    cr_assert_eq(truncate(big, 100L * 1000 * 1000), 0);
    cr_assert_eq(load_with(big, NULL, 0, NULL), ARB_CONFIG);
    cr_assert_not_null(strstr(rig_error.text, "is too large; allowed: at most 1048576 bytes"));
}

Test(config, what_is_printed_reads_back_to_the_same)
{
    const char *text =
        "{\"match\": {\"map\": \"m.tmj\", \"seed\": 9007199254740993, \"result_path\": "
        "\"\\\"\\\\\\u00e4\\n\"}, \"interest\": {\"cell_m\": 1.1, \"enter_m\": 33.333332},"
        "\"log\": {\"level\": \"warn\"}, \"arena\": {\"weapons\": [{\"spread_rad\": 0.1, "
        "\"spread\": "
        "\"triangular\"}]}, \"serpent\": {\"turn_rate\": 0.1, \"growth_m\": 1e-7}}";
    cr_assert_eq(load(text), ARB_OK, "%s", rig_error.text);
    struct config first = config;
    char *printed = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&printed, &bytes);
    config_print(&first, rig_modes, RIG_MODES, out);
    fclose(out);
    cr_assert_eq(load_with(rig_write("printed.json", printed, bytes), NULL, 0, NULL), ARB_OK, "%s",
                 rig_error.text);
    cr_assert_eq(config.match.seed.value, 9007199254740993U);
    cr_assert_eq(memcmp(&config.match, &first.match, sizeof first.match), 0);
    cr_assert_eq(memcmp(config.mode_params[0], first.mode_params[0], rig_modes[0].params_bytes), 0);
    cr_assert_eq(memcmp(config.mode_params[1], first.mode_params[1], rig_modes[1].params_bytes), 0);
    size_t plain = offsetof(struct config, mode_params);
    cr_assert_eq(memcmp(&config, &first, plain), 0);
    free(printed);
}

Test(config, a_check_of_others_gets_the_place_of_the_option_it_names)
{
    cr_assert_eq(load("{\"match\": {\"map\": \"m.tmj\"},\n \"arena\": {\"health\": 200}}"), ARB_OK);
    config_explain(&config, "arena.health is 200: at most arena.health_max (100)", &rig_error);
    cr_assert_str_eq(rig_text(),
                     "c.json:2:22: arena.health is 200: at most arena.health_max (100)");
    config_explain(&config, "a weapon needs arena.health_max", &rig_error);
    cr_assert_str_eq(rig_error.text, "default: arena.health_max: a weapon needs arena.health_max");
    config_explain(&config, "pickup \"x\" has kind \"y\"", &rig_error);
    cr_assert_str_eq(rig_text(), "m.tmj: pickup \"x\" has kind \"y\"");
}
