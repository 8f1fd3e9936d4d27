#define _GNU_SOURCE
#include "server/ops/log.h"
#include "server/ops/result.h"
#include "server/ops/text.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text ---- */

Test(ops_text, strings_are_json_whatever_they_hold)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"", "\"\""},
        {"Ada", "\"Ada\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
        {"Zo\xc3\xab \xe2\x82\xac \xf0\x9f\x90\x8d",
         "\"Zo\xc3\xab \xe2\x82\xac \xf0\x9f\x90\x8d\""},
        {"\xff\xc3", "\"\\ufffd\\ufffd\""},
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* overlong */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* surrogate */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* beyond U+10FFFF */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char bytes[128];
        struct ops_text text;
        ops_text_begin(&text, bytes, sizeof bytes);
        ops_text_string(&text, rows[i].in);
        cr_assert_str_eq(bytes, rows[i].out, "row %zu: %s", i, bytes);
    }
}

Test(ops_text, what_does_not_fit_adds_nothing)
{
    char bytes[8];
    struct ops_text text;
    ops_text_begin(&text, bytes, sizeof bytes);
    ops_text_print(&text, "1234");
    ops_text_print(&text, "5678");
    cr_assert(text.full);
    cr_assert_str_eq(bytes, "1234");
    ops_text_undo(&text, 4);
    ops_text_print(&text, "567");
    cr_assert_str_eq(bytes, "1234567");
}

/* ---- log ---- */

static uint64_t wall;

static uint64_t fake_wall(void)
{
    return wall;
}

static int pipe_ends[2];

static void open_log(enum ops_level level, enum ops_log_format format)
{
    wall = UINT64_C(1796000000) * 1000000000 + 123456789;
    cr_assert_eq(pipe2(pipe_ends, O_NONBLOCK), 0);
    ops_log_open(&(struct ops_log_options){
        .fd = pipe_ends[1], .level = level, .format = format, .wall_ns = fake_wall});
}

static const char *logged(void)
{
    static char text[65536];
    ssize_t size = read(pipe_ends[0], text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    return text;
}

Test(ops_log, line_is_json_with_time_level_and_event)
{
    open_log(OPS_INFO, OPS_LOG_AUTO);
    ops_log(OPS_INFO, "ready", OPS_UINT("port", 7777), OPS_NUMBER("ready_ms", 3.25),
            OPS_TEXT("name", "a\"b"), OPS_INT("low", -5));
    cr_assert_str_eq(logged(), "{\"ts\":\"2026-11-30T00:53:20.123Z\",\"level\":\"info\","
                               "\"event\":\"ready\",\"port\":7777,\"ready_ms\":3.250,"
                               "\"name\":\"a\\\"b\",\"low\":-5}\n");
}

Test(ops_log, plain_form_for_people)
{
    open_log(OPS_INFO, OPS_LOG_PLAIN);
    ops_log(OPS_WARN, "configuration", OPS_TEXT("text", "x y"), OPS_UINT("n", 1));
    cr_assert_str_eq(logged(), "00:53:20.123 warn  configuration text=\"x y\" n=1\n");
}

Test(ops_log, levels_below_the_configured_one_are_silent)
{
    open_log(OPS_WARN, OPS_LOG_JSON);
    ops_log(OPS_INFO, "quiet", OPS_UINT("n", 1));
    ops_log(OPS_DEBUG, "quiet", OPS_UINT("n", 1));
    cr_assert_str_eq(logged(), "");
    ops_log(OPS_ERROR, "loud", OPS_UINT("n", 1));
    cr_assert_neq(logged()[0], '\0');
}

Test(ops_log, each_event_is_limited_per_second_and_says_what_it_left_out)
{
    open_log(OPS_INFO, OPS_LOG_JSON);
    for (int i = 0; i < OPS_LOG_PER_SECOND + 7; i++) {
        ops_log(OPS_INFO, "flood", OPS_INT("i", i));
    }
    ops_log(OPS_INFO, "other", OPS_INT("i", 0));
    const char *text = logged();
    int lines = 0;
    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    cr_assert_eq(lines, OPS_LOG_PER_SECOND + 1, "another event is not held back");
    wall += 1000000000;
    ops_log(OPS_INFO, "flood", OPS_INT("i", 99));
    cr_assert_not_null(strstr(logged(), "\"i\":99,\"suppressed\":7}"));
    ops_log(OPS_INFO, "flood", OPS_INT("i", 100));
    cr_assert_null(strstr(logged(), "suppressed"));
}

Test(ops_log, a_reader_that_does_not_read_costs_lines_not_time)
{
    open_log(OPS_INFO, OPS_LOG_JSON);
    cr_assert_eq(fcntl(pipe_ends[1], F_SETFL, 0), 0); /* blocking, as stderr is */
    char text[1001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 200; i++) {
        wall += 1000000000;
        ops_log(OPS_INFO, "large", OPS_TEXT("text", text));
    }
    cr_assert_gt(ops_log_dropped(), 100);
}

Test(ops_log, value_that_does_not_fit_is_left_out_whole)
{
    open_log(OPS_INFO, OPS_LOG_JSON);
    static char text[OPS_LOG_LINE_BYTES + 1];
    memset(text, 'x', sizeof text - 1);
    ops_log(OPS_INFO, "long", OPS_UINT("a", 1), OPS_TEXT("text", text), OPS_UINT("b", 2));
    cr_assert_not_null(strstr(logged(), "\"event\":\"long\",\"a\":1,\"b\":2}\n"));
}

/* ---- result file ---- */

static char folder[64];
static char path[128];
static char error[OPS_ERROR_BYTES];
static struct match_result result;

static void open_folder(void)
{
    strcpy(folder, "/tmp/arbiter-ops-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/result.json", folder);
    result = (struct match_result){.mode = "arena",
                                   .seed = UINT64_MAX,
                                   .ticks = 3600,
                                   .end_reason = ARB_END_TIME,
                                   .checksum = 0xABC,
                                   .player_count = 2};
    for (uint8_t i = 0; i < 16; i++) {
        result.match_id[i] = (uint8_t)(i * 17);
    }
    result.players[0] = (struct match_result_player){.player_id = 1,
                                                     .name = "Ada \"A\"",
                                                     .team = 1,
                                                     .score = -2,
                                                     .kills = 3,
                                                     .deaths = 4,
                                                     .deaths_by_nobody = 1};
    result.players[1] = (struct match_result_player){.player_id = UINT64_MAX, .name = "\xc3\xab"};
    result.fairness = (struct match_fairness){.spared = 5, .max_rewind_ms = 500};
    result.fairness.rewound_shots =
        (struct match_histogram){.counts = {[10] = 3, [25] = 1}, .count = 4, .max_ms = 250};
    result.fairness.cover_hits = (struct match_histogram){.counts = {1}, .count = 1};
    result.views = (struct match_view_counts){.late = 3, .unseen = 4};
    result.views.claims[MATCH_VIEW_HONOURED] = 9;
    result.views.claims[MATCH_VIEW_TOO_OLD] = 2;
}

static void close_folder(void)
{
    unlink(path);
    cr_assert_eq(rmdir(folder), 0, "nothing else was left behind");
}

static const char *content(void)
{
    static char text[65536];
    int fd = open(path, O_RDONLY);
    cr_assert_geq(fd, 0);
    ssize_t size = read(fd, text, sizeof text - 1);
    text[size > 0 ? size : 0] = '\0';
    close(fd);
    return text;
}

Test(ops_result, file_has_every_member_and_64_bits_as_strings)
{
    open_folder();
    cr_assert_eq(ops_result_write(path, &result, "maps/\"x\".tmj", error), ARB_OK);
    cr_assert_str_eq(
        content(),
        "{\"match_id\":\"00112233445566778899aabbccddeeff\",\"mode\":\"arena\","
        "\"map\":\"maps/\\\"x\\\".tmj\",\"seed\":\"18446744073709551615\",\"ticks\":3600,"
        "\"end_reason\":\"time\",\"players\":[\n"
        "{\"id\":\"1\",\"name\":\"Ada \\\"A\\\"\",\"team\":1,\"score\":-2,\"kills\":3,"
        "\"deaths\":4,\"deaths_by_nobody\":1},\n"
        "{\"id\":\"18446744073709551615\",\"name\":\"\xc3\xab\",\"team\":0,\"score\":0,"
        "\"kills\":0,\"deaths\":0,\"deaths_by_nobody\":0}\n"
        "],\"lagcomp\":{\"max_rewind_ms\":500,\"bucket_ms\":10,\n"
        "\"rewound_ms\":{\"count\":4,\"p50\":110,\"p90\":250,\"p99\":250,\"max\":250,"
        "\"counts\":[0,0,0,0,0,0,0,0,0,0,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]},\n"
        "\"rewound_hit_ms\":{\"count\":0,\"p50\":0,\"p90\":0,\"p99\":0,\"max\":0,\"counts\":[]},\n"
        "\"cover_hit_ms\":{\"count\":1,\"p50\":0,\"p90\":0,\"p99\":0,\"max\":0,\"counts\":[1]},\n"
        "\"claims\":{\"honoured\":9,\"not_sent\":0,\"future\":0,\"too_old\":2,\"backward\":0,"
        "\"frozen\":0,\"rate\":0,\"unexpected\":0},\"late\":3,\"unseen\":4,\"spared\":5},"
        "\"checksum\":\"0000000000000abc\"}\n");
    close_folder();
}

Test(ops_result, replaces_the_old_file_and_leaves_no_other)
{
    open_folder();
    cr_assert_eq(ops_result_check(path, error), ARB_OK);
    result.player_count = MATCH_LINES_MAX;
    cr_assert_eq(ops_result_write(path, &result, "m", error), ARB_OK);
    result.player_count = 0;
    cr_assert_eq(ops_result_write(path, &result, "m", error), ARB_OK);
    cr_assert_not_null(strstr(content(), "\"players\":[],\"lagcomp\":{"));
    close_folder();
}

Test(ops_result, where_it_cannot_be_written_is_told_with_the_reason)
{
    open_folder();
    char missing[160];
    snprintf(missing, sizeof missing, "%s/no/result.json", folder);
    cr_assert_eq(ops_result_check(missing, error), ARB_FILES);
    cr_assert_not_null(strstr(error, missing));
    cr_assert_not_null(strstr(error, "No such file or directory"));
    cr_assert_eq(ops_result_write(missing, &result, "m", error), ARB_FILES);
    cr_assert_eq(mkdir(path, 0700), 0);
    cr_assert_eq(ops_result_check(path, error), ARB_FILES, "a folder");
    cr_assert_eq(ops_result_write(path, &result, "m", error), ARB_FILES);
    cr_assert_eq(rmdir(path), 0);
    snprintf(missing, sizeof missing, "%s/", folder);
    cr_assert_eq(ops_result_check(missing, error), ARB_FILES, "no name");
    close_folder();
}

Test(ops_result, full_disk_is_an_error_and_the_old_file_stays)
{
    /* A file size limit stands for the full disk: the same short write. */
    open_folder();
    result.player_count = 0;
    cr_assert_eq(ops_result_write(path, &result, "old", error), ARB_OK);
    result.player_count = ARB_PLAYERS_MAX;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {1000, RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    enum arb_result got = ops_result_write(path, &result, "new", error);
    limit.rlim_cur = RLIM_INFINITY;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_eq(got, ARB_FILES);
    cr_assert_not_null(strstr(content(), "\"map\":\"old\""));
    close_folder();
}
