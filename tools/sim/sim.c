#include "tools/sim/sim_internal.h"

#include "server/config/config_modes.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <string.h>

enum {
    SERVER_POLL_US = 1000, /* how soon a readable socket is read */
    START_US = 1000000,
    SPARE_SESSIONS = 16,
    BAD_MESSAGES_MAX = 32, /* as arbiterd */
};

/* Streams of the seed; players take those from STREAM_PLAYERS on. */
enum { STREAM_CLOCKS = 900, STREAM_TOKENS };

const char *sim_fault_name(enum sim_fault fault)
{
    static const char *const names[] = {
#define X(name, text, doc) #text,
        SIM_FAULT_MAP(X)
#undef X
    };
    return names[fault];
}

const char *sim_fault_text(enum sim_fault fault)
{
    static const char *const texts[] = {
#define X(name, text, doc) doc,
        SIM_FAULT_MAP(X)
#undef X
    };
    return texts[fault];
}

const char *sim_invariant_name(enum sim_invariant invariant)
{
    static const char *const names[] = {
#define X(name, text) #name,
        SIM_INVARIANT_MAP(X)
#undef X
    };
    return names[invariant];
}

const char *sim_invariant_text(enum sim_invariant invariant)
{
    static const char *const texts[] = {
#define X(name, text) text,
        SIM_INVARIANT_MAP(X)
#undef X
    };
    return texts[invariant];
}

/* ---- start ---- */

static bool load(struct sim *sim, struct config_error *error)
{
    struct config_mode modes[CONFIG_MODES_MAX];
    char *no_environment[] = {NULL};
    size_t mode_count = config_modes_fill(modes);
    if (config_load(&sim->config, &sim->arena, modes, mode_count, sim->options.config_file,
                    no_environment, sim->options.sets, sim->options.set_count, NULL,
                    error) != ARB_OK ||
        map_load(&sim->map, &sim->arena, sim->config.map_path, error) != ARB_OK) {
        return false;
    }
    char sentence[CONFIG_ERROR_BYTES];
    if (sim_rules(sim)->check(sim_params(sim), (uint32_t)sim->config.match.tick_rate,
                              (uint32_t)sim->config.match.max_players, &sim->map, sentence,
                              sizeof sentence)) {
        return true;
    }
    config_explain(&sim->config, sentence, error);
    return false;
}

/* Everybody's clock began at another time, up to 50 days ago; for one in three the milliseconds
 * pass 2^32 soon. */
static void set_clocks(struct sim *sim)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, sim->options.seed, STREAM_CLOCKS);
    for (uint32_t i = 0; i <= sim->player_count; i++) {
        struct sim_clock *clock = i == 0 ? &sim->server_clock : &sim->players[i - 1].clock;
        *clock = (struct sim_clock){.local_ns = sim->now_us * 1000, .at_us = sim->now_us};
        if (sim->options.own_clocks) {
            bool is_near = arb_rng_below(&rng, 3) == 0;
            uint64_t ms = 1 + arb_rng_below(&rng, is_near ? 30000 : UINT32_MAX);
            clock->local_ns = ((UINT64_C(1) << 32) - ms) * 1000000 + arb_rng_below(&rng, 1000000);
        }
    }
}

static const uint8_t match_id[16] = {'s', 'i', 'm', 'u', 'l', 'a', 't', 'e', 'd'};

static bool open_trace(struct sim *sim, struct config_error *error)
{
    char sentence[OPS_ERROR_BYTES];
    if (loop_trace_open(&sim->trace, &sim->config, &sim->map, match_id, &sim->arena, sentence) ==
        ARB_OK) {
        return true;
    }
    config_explain(&sim->config, sentence, error);
    return false;
}

static void draw_token(void *owner, uint8_t *bytes, size_t count)
{
    struct sim *sim = owner;
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)arb_rng_next(&sim->tokens);
    }
}

static void open_net(struct sim *sim, uint64_t now_ns)
{
    const struct arb_link direct = {0};
    sim->sessions = sim->config.net.max_sessions > 0
                        ? (uint32_t)sim->config.net.max_sessions
                        : (uint32_t)sim->config.match.max_players +
                              (uint32_t)sim->config.match.spectator_max + SPARE_SESSIONS;
    sim->carrier = arb_simnet_open(sim->network, direct, direct);
    struct arb_net *transport =
        arb_net_create(sim->carrier,
                       &(struct arb_net_options){.peer_capacity = sim->sessions,
                                                 .seed = (uint32_t)sim->options.seed,
                                                 .full_queue_data = ARB_REFUSED_KICKED,
                                                 .no_place_data = ARB_REFUSED_FULL,
                                                 .clock_start_ms = (uint32_t)(now_ns / 1000000)},
                       now_ns);
    ARB_ASSERT(transport != NULL);
    sim->net =
        net_create(&sim->life,
                   &(struct net_config){
                       .session_capacity = sim->sessions,
                       .messages_per_tick = (uint32_t)sim->config.net.messages_per_tick,
                       .bad_messages_max = BAD_MESSAGES_MAX,
                       .hello_timeout_ms = (uint32_t)sim->config.auth.timeout_ms,
                       .tick_rate = (uint32_t)sim->config.match.tick_rate,
                       .player_joins_per_tick = (uint32_t)sim->config.match.max_players,
                       .spectator_delay_ticks = match_spectator_delay_ticks(&sim->config.match),
                       .random = draw_token,
                       .random_owner = sim,
                   },
                   transport);
    sim->port = net_port(sim->net);
}

void sim_server_open(struct sim *sim, uint64_t begin_us)
{
    uint64_t begin_ns = sim_clock_ns(&sim->server_clock, begin_us);
    arb_arena_init(&sim->life);
    open_net(sim, sim_clock_ns(&sim->server_clock, sim->now_us));
    struct match_port port = sim->checks != NULL ? sim_checks_port(sim) : sim->port;
    sim->match = match_create(&sim->life, &sim->config.match, sim_rules(sim), sim_params(sim),
                              &sim->map, sim->geometry, match_id, &port);
    arb_arena_seal(&sim->life);
    scheduler_start(&sim->scheduler, begin_ns, (uint32_t)sim->config.match.tick_rate,
                    (uint32_t)sim->config.match.max_catchup_ticks);
}

void sim_server_kill(struct sim *sim)
{
    sim->totals.bytes_down += arb_net_counters(net_transport(sim->net))->bytes_out;
    sim->totals.dropped_ticks += sim->scheduler.dropped_ticks;
    match_destroy(sim->match);
    net_destroy(sim->net);
    sim->match = NULL;
    sim->net = NULL;
    arb_arena_free(&sim->life);
}

static void open_server(struct sim *sim)
{
    arb_rng_seed(&sim->tokens, sim->options.seed, STREAM_TOKENS);
    sim->config.match.seed = (struct option_seed){sim->options.seed, 1};
    sim->config.match.back_ticks = (int32_t)sim->options.synctest_ticks;
    if (sim->options.check) sim->checks = sim_checks_create(sim);
    sim_server_open(sim, sim->now_us);
    sim->first_tick = match_tick(sim->match);
    arb_arena_seal(&sim->arena);
}

struct sim *sim_create(const struct sim_options *options, struct config_error *error)
{
    struct sim *sim = arb_mem_alloc(sizeof *sim);
    sim->options = *options;
    if (sim->options.frames_per_s == 0) sim->options.frames_per_s = 60;
    arb_arena_init(&sim->arena);
    if (!load(sim, error) || !open_trace(sim, error) || !sim_players_open(sim, error)) {
        sim_destroy(sim);
        return NULL;
    }
    sim->geometry = arb_geometry_create(sim->map.shapes, sim->map.shape_count, sim->map.bounds);
    sim->network = arb_simnet_create(options->seed);
    sim->now_us = START_US;
    sim->server_poll_us = START_US;
    sim->links_us = START_US;
    arb_simnet_advance(sim->network, sim->now_us);
    set_clocks(sim);
    open_server(sim);
    sim_faults_open(sim);
    if (sim->checks != NULL) sim_checks_begin(sim);
    for (uint32_t i = 0; i < options->clients + options->spectators; i++) {
        sim->players[i].join_us = sim->now_us;
        sim_player_run(sim, &sim->players[i]);
    }
    return sim;
}

void sim_destroy(struct sim *sim)
{
    if (sim == NULL) return;
    sim_players_close(sim);
    if (sim->match != NULL) {
        sim_faults_close(sim);
        sim_checks_destroy(sim->checks);
        sim_server_kill(sim);
    }
    ops_trace_close(sim->trace);
    arb_simnet_destroy(sim->network);
    if (sim->geometry != NULL) arb_geometry_destroy(sim->geometry);
    arb_arena_free(&sim->arena);
    arb_mem_free(sim);
}

/* ---- the server ---- */

/* Read before each tick, as arbiterd does. */
static void receive(struct sim *sim)
{
    uint64_t now_ns = sim_clock_ns(&sim->server_clock, sim->now_us);
    net_receive(sim->net, now_ns, match_tick(sim->match),
                scheduler_fraction(&sim->scheduler, now_ns));
}

static uint64_t server_next_us(const struct sim *sim)
{
    uint64_t tick_us =
        sim_clock_when_us(&sim->server_clock, scheduler_deadline_ns(&sim->scheduler));
    uint64_t next_us = tick_us < sim->server_poll_us ? tick_us : sim->server_poll_us;
    return next_us > sim->server_busy_us ? next_us : sim->server_busy_us;
}

static void run_tick(struct sim *sim)
{
    receive(sim);
    tick_run(sim->match, TICK_LIVE);
    scheduler_ran(&sim->scheduler);
    sim->ticks++;
    sim->totals.client_ticks += match_present_count(sim->match);
    if (sim->checks != NULL) sim_checks_after_tick(sim);
    if (sim->options.after_tick != NULL) sim->options.after_tick(sim->options.user, sim->match);
}

static void run_server(struct sim *sim)
{
    sim->server_poll_us = sim->now_us + SERVER_POLL_US;
    uint64_t now_ns = sim_clock_ns(&sim->server_clock, sim->now_us);
    uint64_t deadline_ns = scheduler_deadline_ns(&sim->scheduler);
    uint64_t dropped = sim->scheduler.dropped_ticks;
    uint32_t due = scheduler_due(&sim->scheduler, now_ns);
    dropped = sim->scheduler.dropped_ticks - dropped;
    if (due > 1) match_was_late(sim->match, (uint32_t)((now_ns - deadline_ns) / 1000000));
    if (dropped > 0) match_time_dropped(sim->match, dropped);
    sim_checks_turn(sim, NULL);
    if (due == 0) receive(sim);
    for (uint32_t i = 0; i < due; i++) {
        run_tick(sim);
    }
    sim_checks_after_server(sim);
}

/* ---- the run ---- */

static void set_links(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        sim_player_set_links(sim, &sim->players[i]);
    }
    sim->links_us = sim->now_us + SIM_LINKS_US;
}

static void step(struct sim *sim)
{
    struct sim_player *player = NULL;
    uint64_t faults_us = sim_faults_next_us(sim);
    uint64_t server_us = server_next_us(sim);
    uint64_t at_us = faults_us < server_us ? faults_us : server_us;
    if (sim->links_us < at_us) at_us = sim->links_us;
    for (uint32_t i = 0; i < sim->player_count; i++) {
        uint64_t next_us = sim_player_next_us(&sim->players[i]);
        if (next_us < at_us) {
            player = &sim->players[i];
            at_us = next_us;
        }
    }
    if (at_us > sim->now_us) sim->now_us = at_us;
    arb_simnet_advance(sim->network, sim->now_us);
    if (player != NULL) {
        sim_player_run(sim, player);
    } else if (at_us == sim->links_us) {
        set_links(sim);
    } else if (at_us == faults_us) {
        sim_faults_run(sim);
    } else {
        run_server(sim);
    }
}

void sim_run_ticks(struct sim *sim, uint64_t ticks)
{
    uint64_t end = sim->ticks + ticks;
    while (sim->ticks < end && !match_ended(sim->match)) {
        step(sim);
    }
}

void sim_run_us(struct sim *sim, uint64_t us)
{
    uint64_t end_us = sim->now_us + us;
    while (sim->now_us < end_us) {
        step(sim);
    }
}

void sim_run_to_end(struct sim *sim, uint64_t limit_ticks)
{
    sim_run_ticks(sim, limit_ticks);
    ARB_ASSERT(match_ended(sim->match));
    sim_run_us(sim, 2 * SIM_SECOND_US);
}

/* ---- what is asked ---- */

uint64_t sim_ticks(const struct sim *sim)
{
    return sim->ticks;
}

uint64_t sim_now_us(const struct sim *sim)
{
    return sim->now_us;
}

void sim_get_totals(const struct sim *sim, struct sim_totals *out)
{
    *out = sim->totals;
    out->bytes_down += arb_net_counters(net_transport(sim->net))->bytes_out;
    out->dropped_ticks += sim->scheduler.dropped_ticks;
}

void sim_settle(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        sim_player_settle(sim, &sim->players[i]);
    }
    sim_checks_finish(sim);
}

uint64_t sim_checksum(const struct sim *sim)
{
    return match_checksum(sim->match);
}

arb_tick sim_first_tick(const struct sim *sim)
{
    return sim->first_tick;
}

const struct arb_simnet_counters *sim_network_counters(const struct sim *sim)
{
    return arb_simnet_counters(sim->network);
}

struct match *sim_match(struct sim *sim)
{
    return sim->match;
}

struct net *sim_net(struct sim *sim)
{
    return sim->net;
}

uint32_t sim_client_count(const struct sim *sim)
{
    return sim->options.clients;
}

struct arbiter_client *sim_client(struct sim *sim, uint32_t index)
{
    ARB_ASSERT(index < sim->options.clients);
    return sim->players[index].client;
}

struct bot *sim_bot(struct sim *sim, uint32_t index)
{
    ARB_ASSERT(index < sim->options.clients);
    return sim->players[index].bot;
}

struct arbiter_client *sim_spectator(struct sim *sim, uint32_t index)
{
    ARB_ASSERT(index < sim->options.spectators);
    return sim->players[sim->options.clients + index].client;
}

struct bot *sim_spectator_bot(struct sim *sim, uint32_t index)
{
    ARB_ASSERT(index < sim->options.spectators);
    return sim->players[sim->options.clients + index].bot;
}

const struct rules *sim_rules(const struct sim *sim)
{
    return rules_find(sim->config.mode);
}

const void *sim_params(const struct sim *sim)
{
    return sim->config.mode_params[rules_index(sim->config.mode)];
}

const struct config *sim_config(const struct sim *sim)
{
    return &sim->config;
}

const struct arb_geometry *sim_geometry(const struct sim *sim)
{
    return sim->geometry;
}

struct arb_simnet *sim_network(struct sim *sim)
{
    return sim->network;
}

struct arb_carrier *sim_server_carrier(struct sim *sim)
{
    return sim->carrier;
}

void sim_set_links(struct sim *sim, uint32_t client, struct arb_link up, struct arb_link down)
{
    ARB_ASSERT(client < sim->options.clients);
    struct sim_player *player = &sim->players[client];
    player->links[0] = up;
    player->links[1] = down;
    sim_player_set_links(sim, player);
}
