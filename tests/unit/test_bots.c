/* Policies and recordings of the bots. */
#define _GNU_SOURCE
#include "tools/bots/bot.h"
#include "tools/bots/report.h"

#include <criterion/criterion.h>
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void write_recording(const char *text)
{
    strcpy(path, "/tmp/bots_recording_XXXXXX");
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
}

static struct bot_policy *load(const char *text, char *error, size_t error_bytes)
{
    char policy[80];
    write_recording(text);
    snprintf(policy, sizeof policy, "replay:%s", path);
    struct bot_policy *loaded = bot_policy_create(policy, error, error_bytes);
    unlink(path);
    return loaded;
}

Test(bots, policy_is_named_or_refused_with_a_reason)
{
    static const char *const good[] = {"aim", "wander", "idle"};
    char error[256];
    for (size_t i = 0; i < 3; i++) {
        struct bot_policy *policy = bot_policy_create(good[i], error, sizeof error);
        cr_assert_not_null(policy, "%s", good[i]);
        bot_policy_destroy(policy);
    }
    cr_assert_null(bot_policy_create("dance", error, sizeof error));
    cr_assert_not_null(strstr(error, "dance"));
    cr_assert_null(bot_policy_create("replay:/nowhere/file", error, sizeof error));
}

Test(bots, recording_is_fed_once_per_tick_from_the_first_live_tick_on)
{
    char error[256] = "";
    struct bot_policy *policy =
        load("{\"tick\":7,\"move\":[10,-127],\"aim\":65535,\"buttons\":[\"fire\"]}\n"
             "{\"tick\":8,\"move\":[0,0],\"aim\":1,\"buttons\":[\"boost\",\"dash\"]}\n"
             "{\"tick\":9,\"move\":[0,0],\"aim\":2,\"buttons\":[]}\n",
             error, sizeof error);
    cr_assert_not_null(policy, "%s", error);
    struct bot *bot = bot_create(policy, 1, 0);
    struct arbiter_config config;
    arbiter_config_default(&config);
    bot_configure(bot, &config);
    cr_assert_not_null(config.on_tick);
    struct arbiter_input input = {.buttons = 0xFFFF};
    config.on_tick(config.on_tick_user, 100, &input);
    cr_assert_eq(input.buttons, 0, "nothing before the match is live");
    cr_assert_eq(bot_counts(bot).replayed, 0);
    cr_assert_eq(bot_counts(bot).replay_length, 3);
    bot_destroy(bot);
    bot_policy_destroy(policy);
}

Test(bots, bad_recording_is_refused_with_its_line)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no record"},
        {"[]\n", ":1: is no JSON object"},
        {"{\"tick\":1,\"move\":[0,0],\"aim\":0,\"buttons\":[]}\n"
         "{\"tick\":3,\"move\":[0,0],\"aim\":0,\"buttons\":[]}\n",
         ":2: 'tick'"},
        {"{\"tick\":1.5,\"move\":[0,0],\"aim\":0,\"buttons\":[]}\n", "'tick'"},
        {"{\"tick\":1,\"move\":[0,300],\"aim\":0,\"buttons\":[]}\n", "'move'"},
        {"{\"tick\":1,\"move\":[0],\"aim\":0,\"buttons\":[]}\n", "'move'"},
        {"{\"tick\":1,\"move\":[0,0],\"aim\":65536,\"buttons\":[]}\n", "'aim'"},
        {"{\"tick\":1,\"move\":[0,0],\"aim\":0,\"buttons\":[\"jump\"]}\n", "'buttons'"},
        {"{\"tick\":1,\"move\":[0,0],\"aim\":0,\"buttons\":[\n", "no JSON object"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char error[256] = "";
        cr_assert_null(load(cases[i].text, error, sizeof error), "case %zu", i);
        cr_assert_not_null(strstr(error, cases[i].says), "case %zu: %s", i, error);
    }
}

Test(bots, report_is_json_with_a_line_per_client_and_totals)
{
    char error[256];
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct bot_policy *policy = bot_policy_create("idle", error, sizeof error);
    struct arbiter_client *clients[2];
    struct bot *bots[2];
    for (uint32_t i = 0; i < 2; i++) {
        clients[i] = arbiter_client_create(&config);
        bots[i] = bot_create(policy, 1, i);
    }
    FILE *file = tmpfile();
    report_print(file, clients, bots, 2, "serpent");
    static char text[16384];
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    cJSON *root = cJSON_Parse(text);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "clients");
    cr_assert_eq(cJSON_GetArraySize(list), 2);
    static const char *const names[] = {
        "id",         "ticks",       "inputs_sent", "inputs_consumed", "inputs_starved",
        "edges",      "edges_sent",  "rtt_ms",      "snapshots",       "bytes_up",
        "bytes_down", "corrections", "hits",        "kills",           "deaths",
        "score"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cr_assert(cJSON_HasObjectItem(cJSON_GetArrayItem(list, 1), names[i]), "%s", names[i]);
    }
    const cJSON *edges = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(list, 0), "edges");
    cr_assert(cJSON_HasObjectItem(edges, "boost") && !cJSON_HasObjectItem(edges, "fire"));
    const cJSON *totals = cJSON_GetObjectItemCaseSensitive(root, "totals");
    cr_assert(cJSON_HasObjectItem(totals, "corrections"));
    cJSON_Delete(root);
    for (uint32_t i = 0; i < 2; i++) {
        arbiter_client_destroy(clients[i]);
        bot_destroy(bots[i]);
    }
    bot_policy_destroy(policy);
}
