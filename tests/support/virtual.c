#include "tests/support/virtual.h"

#include "server/rules/rules.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"
#include "shared/client/arbiter_client_internal.h"

#include <stdio.h>

enum {
    SERVER_POLL_US = 1000, /* how soon a readable socket is read */
    START_US = 1000000,
    SPARE_SESSIONS = 16,
};

struct virtual_player {
    struct arbiter_client *client;
    struct bot *bot;
    struct arb_carrier *carrier; /* the client's */
    uint64_t next_us;
};

struct virtual_match {
    struct virtual_options options;
    struct arb_arena arena;
    struct config config;
    struct map map;
    struct arb_geometry *geometry;
    struct arb_simnet *network;
    struct arb_carrier *carrier;
    struct net *net;
    struct match *match;
    struct scheduler scheduler;
    struct bot_policy *policy;
    struct virtual_player *players;
    uint64_t now_us;
    uint64_t server_poll_us;
};

static void load(struct virtual_match *run)
{
    struct config_mode modes[CONFIG_MODES_MAX];
    struct config_error error;
    char *no_environment[] = {NULL};
    ARB_ASSERT(rules_mode_count <= CONFIG_MODES_MAX);
    for (size_t i = 0; i < rules_mode_count; i++) {
        modes[i] = (struct config_mode){rules_modes[i]->name, rules_modes[i]->options,
                                        rules_modes[i]->option_count, rules_modes[i]->params_bytes};
    }
    enum arb_result result =
        config_load(&run->config, &run->arena, modes, rules_mode_count, run->options.config_file,
                    no_environment, run->options.sets, run->options.set_count, NULL, &error);
    if (result == ARB_OK) {
        result = map_load(&run->map, &run->arena, run->config.map_path, &error);
    }
    if (result != ARB_OK) {
        fprintf(stderr, "%s\n", error.text);
    }
    ARB_ASSERT(result == ARB_OK);
}

const struct rules *virtual_rules(const struct virtual_match *run)
{
    return rules_find(run->config.mode);
}

const void *virtual_params(const struct virtual_match *run)
{
    const void *params = NULL;
    for (size_t i = 0; i < rules_mode_count; i++) {
        if (rules_modes[i] == virtual_rules(run)) params = run->config.mode_params[i];
    }
    return params;
}

static void open_server(struct virtual_match *run)
{
    static const uint8_t match_id[16] = {'v', 'i', 'r', 't', 'u', 'a', 'l'};
    const struct arb_link direct = {0};
    uint32_t sessions = (uint32_t)run->config.match.max_players + SPARE_SESSIONS;
    uint64_t now_ns = run->now_us * 1000;
    run->carrier = arb_simnet_open(run->network, direct, direct);
    struct arb_net *transport = arb_net_create(
        run->carrier,
        &(struct arb_net_options){.peer_capacity = sessions, .seed = (uint32_t)run->options.seed},
        now_ns);
    run->net = net_create(
        &run->arena,
        &(struct net_config){.session_capacity = sessions,
                             .messages_per_tick = (uint32_t)run->config.net.messages_per_tick,
                             .bad_messages_max = 32,
                             .hello_timeout_ms = 5000},
        transport);
    const struct rules *rules = rules_find(run->config.mode);
    const void *params = virtual_params(run);
    char error[256];
    bool good =
        rules->check(params, (uint32_t)run->config.match.tick_rate,
                     (uint32_t)run->config.match.max_players, &run->map, error, sizeof error);
    if (!good) fprintf(stderr, "%s\n", error);
    ARB_ASSERT(good);
    run->config.match.seed = (struct option_seed){run->options.seed, 1};
    struct match_port port = net_port(run->net);
    run->match = match_create(&run->arena, &run->config.match, rules, params, &run->map,
                              run->geometry, match_id, &port);
    arb_arena_seal(&run->arena);
    scheduler_start(&run->scheduler, now_ns, (uint32_t)run->config.match.tick_rate,
                    (uint32_t)run->config.match.max_catchup_ticks);
}

static uint64_t frame_us(const struct virtual_match *run)
{
    return 1000000 / run->options.frames_per_s;
}

static void open_clients(struct virtual_match *run)
{
    char error[256] = "";
    run->policy = bot_policy_create(run->options.policy, error, sizeof error);
    if (run->policy == NULL) fprintf(stderr, "%s\n", error);
    ARB_ASSERT(run->policy != NULL);
    run->players = arb_mem_calloc(run->options.clients, sizeof *run->players);
    for (uint32_t i = 0; i < run->options.clients; i++) {
        struct virtual_player *player = &run->players[i];
        struct arbiter_config config;
        arbiter_config_default(&config);
        player->bot = bot_create(run->policy, run->options.seed, i);
        bot_configure(player->bot, &config);
        player->client = arbiter_client_create(&config);
        player->carrier =
            arb_simnet_connect(run->network, run->carrier, run->options.up, run->options.down);
        /* Spread over the frame, as the clients of different people are. */
        player->next_us = run->now_us + frame_us(run) * i / run->options.clients;
        bool begun =
            arb_client_connect_carrier(player->client, player->carrier, run->now_us * 1000);
        ARB_ASSERT(begun);
    }
}

struct virtual_match *virtual_create(const struct virtual_options *options)
{
    struct virtual_match *run = arb_mem_alloc(sizeof *run);
    run->options = *options;
    if (run->options.frames_per_s == 0) run->options.frames_per_s = 60;
    arb_arena_init(&run->arena);
    load(run);
    run->geometry = arb_geometry_create(run->map.shapes, run->map.shape_count, run->map.bounds);
    run->network = arb_simnet_create(options->seed);
    run->now_us = START_US;
    run->server_poll_us = START_US;
    arb_simnet_advance(run->network, run->now_us);
    open_server(run);
    open_clients(run);
    return run;
}

void virtual_destroy(struct virtual_match *run)
{
    for (uint32_t i = 0; i < run->options.clients; i++) {
        arbiter_client_destroy(run->players[i].client);
        bot_destroy(run->players[i].bot);
    }
    bot_policy_destroy(run->policy);
    match_destroy(run->match);
    net_destroy(run->net);
    arb_simnet_destroy(run->network);
    arb_geometry_destroy(run->geometry);
    arb_arena_free(&run->arena);
    arb_mem_free(run->players);
    arb_mem_free(run);
}

static void receive(struct virtual_match *run)
{
    uint64_t now_ns = run->now_us * 1000;
    net_receive(run->net, now_ns, match_tick(run->match),
                scheduler_fraction(&run->scheduler, now_ns));
}

/* Server first at equal times, then the clients in order: any order would do, but one. */
static uint64_t server_next_us(const struct virtual_match *run)
{
    uint64_t deadline_us = (scheduler_deadline_ns(&run->scheduler) + 999) / 1000;
    return deadline_us < run->server_poll_us ? deadline_us : run->server_poll_us;
}

static uint64_t step_server(struct virtual_match *run)
{
    receive(run);
    run->server_poll_us = run->now_us + SERVER_POLL_US;
    uint32_t due = scheduler_due(&run->scheduler, run->now_us * 1000);
    for (uint32_t i = 0; i < due; i++) {
        tick_run(run->match, TICK_LIVE);
        scheduler_ran(&run->scheduler);
        if (run->options.after_tick != NULL) {
            run->options.after_tick(run->options.user, run->match);
        }
    }
    return due;
}

/* The earliest of all that wants to happen; returns ticks run. */
static uint64_t step(struct virtual_match *run)
{
    struct virtual_player *next = NULL;
    uint64_t at = server_next_us(run);
    for (uint32_t i = 0; i < run->options.clients; i++) {
        if (run->players[i].next_us < at) {
            next = &run->players[i];
            at = next->next_us;
        }
    }
    run->now_us = at;
    arb_simnet_advance(run->network, at);
    if (next == NULL) {
        return step_server(run);
    }
    bot_frame(next->bot, next->client, run->now_us * 1000);
    next->next_us += frame_us(run);
    return 0;
}

void virtual_run_ticks(struct virtual_match *run, uint64_t ticks)
{
    for (uint64_t done = 0; done < ticks && !match_ended(run->match);) {
        done += step(run);
    }
}

void virtual_run_to_end(struct virtual_match *run, uint64_t limit_ticks)
{
    virtual_run_ticks(run, limit_ticks);
    ARB_ASSERT(match_ended(run->match));
    /* What was said last still travels. */
    uint64_t until = run->now_us + 2 * 1000000;
    while (run->now_us < until) {
        step(run);
    }
}

struct match *virtual_server_match(struct virtual_match *run)
{
    return run->match;
}

struct net *virtual_server_net(struct virtual_match *run)
{
    return run->net;
}

struct arbiter_client *virtual_client(struct virtual_match *run, uint32_t index)
{
    ARB_ASSERT(index < run->options.clients);
    return run->players[index].client;
}

struct bot *virtual_bot(struct virtual_match *run, uint32_t index)
{
    ARB_ASSERT(index < run->options.clients);
    return run->players[index].bot;
}

uint32_t virtual_client_count(const struct virtual_match *run)
{
    return run->options.clients;
}

const struct arb_geometry *virtual_geometry(const struct virtual_match *run)
{
    return run->geometry;
}

struct arb_simnet *virtual_network(struct virtual_match *run)
{
    return run->network;
}

struct arb_carrier *virtual_server_carrier(struct virtual_match *run)
{
    return run->carrier;
}

uint64_t virtual_now_us(const struct virtual_match *run)
{
    return run->now_us;
}

void virtual_set_links(struct virtual_match *run, uint32_t client, struct arb_link up,
                       struct arb_link down)
{
    arb_simnet_set_links(run->players[client].carrier, up, down);
}
