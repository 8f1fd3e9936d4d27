/* What arbiter-bots says of its traffic: sums over clients, and what they are divided by. */
#include "shared/client/arbiter_client_internal.h"
#include "tools/bots/report.h"

#include <cjson/cJSON.h>
#include <criterion/criterion.h>

enum { CLIENTS = 3 };

static const uint64_t second_ns = 1000000000;
static struct arbiter_client *clients[CLIENTS];
static cJSON *totals;

/* Two in one match, who heard the server for 4 s and 6 s; the third is in none. */
static void open_clients(void)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i] = arbiter_client_create(&config);
        cr_assert_not_null(clients[i]);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct arb_client_account *account = &clients[i]->account;
        clients[i]->schema = &arb_schema_arena;
        account->first_ns = (7 + i) * second_ns;
        account->last_ns = account->first_ns + (4 + 2 * i) * second_ns;
        struct arb_delta_kind_account *kind = &account->streams.kinds[ARB_ARENA_CHARACTER];
        *kind = (struct arb_delta_kind_account){.updates = 10,
                                                .said_bits = 500,
                                                .enter_bits = 1500,
                                                .mask_bits = 700,
                                                .body_bits = 300};
        kind->field_bits[ARB_CHARACTER_X] = 600;
        kind->field_bits[ARB_CHARACTER_HEADING] = 400;
        account->streams.kinds[ARB_ARENA_PICKUP].said_bits = 40;
        account->types[ARB_MESSAGE_SNAPSHOT].messages = 5;
        account->types[ARB_MESSAGE_SNAPSHOT].bytes = 100;
    }
    clients[2]->account.streams.kinds[ARB_ARENA_CHARACTER].said_bits = 1000000;
    totals = cJSON_CreateObject();
}

static void close_clients(void)
{
    cJSON_Delete(totals);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        arbiter_client_destroy(clients[i]);
    }
}

TestSuite(bots_report, .init = open_clients, .fini = close_clients);

static double number(const char *a, const char *b, const char *c, const char *d)
{
    const char *const path[] = {a, b, c, d};
    const cJSON *at = totals;
    for (int i = 0; i < 4 && path[i] != NULL; i++) {
        at = cJSON_GetObjectItemCaseSensitive(at, path[i]);
        cr_assert_not_null(at, "%s", path[i]);
    }
    return at->valuedouble;
}

/* 2 * 4,000 bits in 10 s of clients: 100 bytes for each second of each of them. */
Test(bots_report, bytes_per_s_are_all_bits_of_a_kind_by_second_and_client)
{
    report_traffic(totals, clients, CLIENTS);
    cr_expect_float_eq(number("snapshot_streams", "kinds", "character", "bytes_per_s"), 100.0,
                       1e-9);
    cr_expect_float_eq(number("snapshot_streams", "kinds", "pickup", "bytes_per_s"), 1.0, 1e-9);
    cr_expect_eq(number("snapshot_streams", "kinds", "projectile", "bytes_per_s"), 0.0);
    cr_expect_eq(number("snapshot_streams", "kinds", "character", "updates"), 20.0);
    cr_expect_eq(number("messages_down", "SNAPSHOT", "messages", NULL), 10.0);
    cr_expect_eq(number("messages_down", "SNAPSHOT", "bytes", NULL), 200.0);
}

Test(bots_report, nobody_who_heard_anything_is_no_division)
{
    for (uint32_t i = 0; i < 2; i++) {
        clients[i]->account.last_ns = clients[i]->account.first_ns;
    }
    report_traffic(totals, clients, CLIENTS);
    cr_expect_eq(number("snapshot_streams", "kinds", "character", "bytes_per_s"), 0.0);
}
