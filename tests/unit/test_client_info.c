/* What a game asks beside the view, without a connection: what players type, who is who in a view.
 */
#include "shared/client/arbiter_client.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- HOST:PORT ---- */

Test(client_info, targets_are_split_into_host_and_port)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
    } rows[] = {
        {"127.0.0.1:40000", "127.0.0.1", 40000},
        {"play.example:1", "play.example", 1},
        {"[::1]:65535", "::1", 65535},
        {"::1:7", "::1", 7},
        {"a:007", "a", 7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char host[ARBITER_HOST_BYTES] = "";
        uint16_t port = 0;
        cr_assert(arbiter_parse_target(rows[i].text, host, &port), "%s", rows[i].text);
        cr_assert_str_eq(host, rows[i].host);
        cr_assert_eq(port, rows[i].port);
    }
}

Test(client_info, what_is_no_target_is_refused_and_nothing_written)
{
    static const char *const rows[] = {
        "",        "host", "host:",   "host:0",  "host:65536", "host:4294967297",
        ":1",      "[]:1", "host:-1", "host: 1", "host:1x",    "host:99999999999999999999",
        "host:+1",
    };
    char host[ARBITER_HOST_BYTES] = "kept";
    uint16_t port = 5;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_not(arbiter_parse_target(rows[i], host, &port), "%s", rows[i]);
    }
    cr_assert_str_eq(host, "kept");
    cr_assert_eq(port, 5);
}

Test(client_info, a_host_has_room_for_255_letters)
{
    char text[ARBITER_HOST_BYTES + 8], host[ARBITER_HOST_BYTES];
    uint16_t port = 0;
    memset(text, 'a', sizeof text);
    snprintf(text + ARBITER_HOST_BYTES, 3, ":1");
    cr_assert_not(arbiter_parse_target(text, host, &port));
    cr_assert(arbiter_parse_target(text + 1, host, &port));
    cr_assert_eq(strlen(host), ARBITER_HOST_BYTES - 1);
}

/* ---- in a view ---- */

static const struct arbiter_player players[] = {
    {.slot = 0, .score = 3}, {.slot = 2, .score = 9}, {.slot = 3, .score = -1},
    {.slot = 5, .score = 9}, {.slot = 6, .score = 4},
};
static const struct arbiter_entity entities[] = {{.key = 0}, {.key = 7}, {.key = 9}};
static const struct arbiter_view view = {
    .players = players, .player_count = 5, .entities = entities, .entity_count = 3};

Test(client_info, players_are_found_by_slot_and_entities_by_key)
{
    cr_assert_eq(arbiter_view_player(&view, 5), &players[3]);
    cr_assert_null(arbiter_view_player(&view, 1));
    cr_assert_null(arbiter_view_player(&view, ARBITER_NO_SLOT));
    cr_assert_eq(arbiter_view_entity(&view, 9), &entities[2]);
    cr_assert_null(arbiter_view_entity(&view, 8));
    cr_assert_null(arbiter_view_entity(&view, 0), "an own projectile that is predicted is not it");
}

Test(client_info, ranking_goes_by_score_and_equal_ones_by_slot)
{
    static const uint16_t order[] = {2, 5, 6, 0, 3};
    for (uint32_t capacity = 0; capacity < 8; capacity++) {
        const struct arbiter_player *best[8] = {NULL};
        uint32_t count = arbiter_view_ranking(&view, best, capacity);
        cr_assert_eq(count, capacity < 5 ? capacity : 5);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert_eq(best[i]->slot, order[i], "%u of %u", i, capacity);
        }
        cr_assert_null(best[count], "no more is written");
    }
}

Test(client_info, before_the_first_connection_there_is_nothing_to_rejoin)
{
    struct arbiter_config config;
    struct arbiter_disconnect_info info;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    cr_assert_not(arbiter_client_rejoin(client, 1));
    arbiter_client_disconnect_info(client, &info);
    cr_assert_eq(info.reason, ARBITER_REASON_ADDRESS);
    arbiter_client_destroy(client);
}
