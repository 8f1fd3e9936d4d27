/* The people: each a client with a bot, a clock and a rhythm of frames. Whoever loses the
 * connection without wanting to tries again soon. */
#include "tools/sim/sim_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"
#include "tools/net/profile.h"
#include "tools/sim/sim_cheat.h"

#include <stdio.h>

enum { STREAM_PLAYERS = 1000, REJOIN_US = 500000, REFUSED_REJOIN_US = 3000000 };

static bool open_policies(struct sim *sim, struct config_error *error)
{
    const char *const *texts = sim->options.policies;
    for (; texts[sim->policy_count] != NULL; sim->policy_count++) {
        struct bot_policy *policy =
            bot_policy_create(texts[sim->policy_count], error->text, sizeof error->text);
        if (policy == NULL) return false;
        sim->policies[sim->policy_count] = policy;
    }
    ARB_ASSERT(sim->policy_count > 0);
    return true;
}

bool sim_players_open(struct sim *sim, struct config_error *error)
{
    const struct sim_options *options = &sim->options;
    if (!open_policies(sim, error)) return false;
    bool storms = (options->faults >> SIM_FAULT_STORM & 1) != 0;
    uint32_t lasting = options->clients + options->spectators;
    sim->player_count = lasting + (storms ? SIM_SPARE_PLAYERS : 0);
    sim->players = arb_mem_calloc(sim->player_count, sizeof *sim->players);
    for (uint32_t i = 0; i < sim->player_count; i++) {
        struct sim_player *player = &sim->players[i];
        player->index = i;
        player->bot = bot_create(sim->policies[i % sim->policy_count], options->seed, i);
        player->frame_us = player->join_us = player->leave_us = SIM_NEVER;
        player->is_spectator = i >= options->clients && i < lasting;
        player->is_spare = i >= lasting;
        if (player->is_spectator) bot_spectate(player->bot);
        player->settled = true;
        player->links[0] = options->up;
        player->links[1] = options->down;
        arb_rng_seed(&player->rng, options->seed, STREAM_PLAYERS + i);
    }
    sim->cheater = sim_cheater_create(options->cheat, options->seed);
    if (sim->cheater != NULL) bot_set_hands(sim->players[0].bot, sim_cheater_hands, sim->cheater);
    return true;
}

void sim_players_close(struct sim *sim)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        arbiter_client_destroy(sim->players[i].client);
        bot_destroy(sim->players[i].bot);
    }
    sim_cheater_destroy(sim->cheater);
    for (uint32_t i = 0; i < sim->policy_count; i++) {
        bot_policy_destroy(sim->policies[i]);
    }
    arb_mem_free(sim->players);
    sim->player_count = 0;
}

struct arb_carrier *sim_player_carrier(const struct sim_player *player)
{
    bool has_net = player->client != NULL && player->client->net != NULL;
    return has_net ? arb_net_carrier(player->client->net) : NULL;
}

/* ---- links ---- */

static void worsen(const struct sim *sim, const struct sim_player *player, struct arb_link *link)
{
    if (sim->now_us < player->duplicate_until_us) link->duplicate_ppm += 250000;
    if (sim->now_us < player->corrupt_until_us) link->corrupt_ppm += 60000;
}

static void links_now(const struct sim *sim, const struct sim_player *player,
                      struct arb_link links[2])
{
    links[0] = player->links[0];
    links[1] = player->links[1];
    if (sim->options.profile != NULL) {
        profile_links_at(sim->options.profile, player->index, sim->now_us, &links[0], &links[1]);
    }
    worsen(sim, player, &links[0]);
    worsen(sim, player, &links[1]);
}

void sim_player_set_links(struct sim *sim, struct sim_player *player)
{
    struct arb_carrier *carrier = sim_player_carrier(player);
    if (carrier == NULL) return;
    struct arb_link links[2];
    links_now(sim, player, links);
    arb_simnet_set_links(carrier, links[0], links[1]);
    arb_simnet_block(carrier, sim->now_us < player->block_until_us[0],
                     sim->now_us < player->block_until_us[1]);
}

/* ---- coming and going ---- */

static void keep_token(struct sim_player *player)
{
    if (player->client != NULL && arbiter_client_token(player->client, player->token)) {
        player->has_token = true;
    }
}

/* Two times of three as the player that it was, where it was one. */
static void connect_now(struct sim *sim, struct sim_player *player)
{
    keep_token(player);
    sim_player_settle(sim, player);
    sim_checks_connection(sim, player);
    struct arb_link links[2];
    links_now(sim, player, links);
    struct arb_carrier *carrier =
        arb_simnet_connect(sim->network, sim->carrier, links[0], links[1]);
    player->connection++;
    player->is_orphan = false;
    player->settled = false;
    player->join_us = SIM_NEVER;
    player->frame_us = sim->now_us;
    sim->totals.connections++;
    uint64_t now_ns = sim_clock_ns(&player->clock, sim->now_us);
    bool resumes = player->has_token && (player->connection + player->index) % 3 != 0;
    bool begun = resumes ? arb_client_resume_carrier(player->client, carrier, player->token, now_ns)
                         : arb_client_connect_carrier(player->client, carrier, now_ns);
    ARB_ASSERT(begun);
    sim_player_set_links(sim, player);
}

static void come(struct sim *sim, struct sim_player *player)
{
    if (player->client == NULL) {
        struct arbiter_config config;
        arbiter_config_default(&config);
        bot_configure(player->bot, &config);
        config.seed += UINT64_C(1000) * player->connection;
        if (sim->options.fixed_interpolation) {
            config.interpolation_min_ms = sim->options.interpolation_ms;
            config.interpolation_max_ms = sim->options.interpolation_ms;
        }
        if (player->index == 0) sim_cheater_configure(sim->cheater, &config);
        player->client = arbiter_client_create(&config);
        ARB_ASSERT(player->client != NULL);
    }
    connect_now(sim, player);
    /* Spread over the frame, as the clients of different people are. */
    uint64_t frame_us = SIM_SECOND_US / sim->options.frames_per_s;
    if (player->connection == 1) player->frame_us += frame_us * player->index / sim->player_count;
}

void sim_player_vanish(struct sim *sim, struct sim_player *player, uint64_t join_us)
{
    sim_player_settle(sim, player);
    sim_checks_connection(sim, player);
    keep_token(player);
    arbiter_client_destroy(player->client);
    player->client = NULL;
    player->frame_us = player->leave_us = SIM_NEVER;
    player->join_us = join_us;
}

void sim_player_reconnect(struct sim *sim, struct sim_player *player)
{
    if (player->client != NULL) connect_now(sim, player);
}

/* ---- frames ---- */

uint64_t sim_player_next_us(const struct sim_player *player)
{
    uint64_t next_us = player->frame_us;
    if (player->join_us < next_us) next_us = player->join_us;
    if (player->leave_us < next_us) next_us = player->leave_us;
    return next_us;
}

/* The frame after this one, on the player's own clock. */
static uint64_t next_frame_us(struct sim *sim, struct sim_player *player)
{
    uint64_t frame_ns = SIM_SECOND_US * 1000 / sim->options.frames_per_s;
    uint64_t late_us = 0;
    if (sim->options.frame_jitter_us > 0) {
        late_us = arb_rng_below(&player->rng, sim->options.frame_jitter_us + 1);
    }
    uint64_t now_ns = sim_clock_ns(&player->clock, sim->now_us);
    uint64_t phase_ns = frame_ns * player->index / sim->player_count;
    uint64_t begin_ns = (now_ns - phase_ns) / frame_ns * frame_ns;
    uint64_t next_us = sim_clock_when_us(&player->clock, begin_ns + frame_ns + phase_ns) + late_us;
    /* One that was late does not bring the next one too near. */
    return next_us > sim->now_us + frame_ns / 2000 ? next_us : next_us + frame_ns / 1000;
}

static void lost(struct sim *sim, struct sim_player *player)
{
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(player->client, &info);
    sim_player_settle(sim, player);
    if (info.reason == ARBITER_REASON_ASKED && player->is_spare) {
        sim_player_vanish(sim, player, SIM_NEVER);
        return;
    }
    bool too_late = info.reason == ARBITER_REASON_TOKEN;
    bool refused = info.reason == ARBITER_REASON_FULL || info.reason == ARBITER_REASON_ENDED;
    if (too_late) player->has_token = false;
    sim->totals.connections_lost += !refused && !too_late;
    player->frame_us = SIM_NEVER;
    player->join_us = sim->now_us + (refused ? REFUSED_REJOIN_US : REJOIN_US);
    if (match_ended(sim->match)) player->join_us = SIM_NEVER;
}

static void run_frame(struct sim *sim, struct sim_player *player)
{
    uint64_t now_ns = sim_clock_ns(&player->clock, sim->now_us);
    sim_checks_turn(sim, player);
    const struct arbiter_view *view = bot_frame(player->bot, player->client, now_ns);
    if (sim->checks != NULL && !player->is_orphan) sim_checks_after_frame(sim, player, view);
    player->frame_us = next_frame_us(sim, player);
    if (sim->cheater != NULL && player->index == 0) {
        player->frame_us += sim_cheater_claim(sim->cheater, player, view);
    }
    if (view->connection == ARBITER_OFFLINE) lost(sim, player);
}

static void leave(struct sim *sim, struct sim_player *player)
{
    player->leave_us = SIM_NEVER;
    if (player->client == NULL) return;
    if (player->leaves_politely) {
        arbiter_client_disconnect(player->client, sim_clock_ns(&player->clock, sim->now_us));
    } else {
        sim_player_vanish(sim, player, SIM_NEVER);
    }
}

void sim_player_run(struct sim *sim, struct sim_player *player)
{
    if (player->leave_us <= sim->now_us) {
        leave(sim, player);
    } else if (player->join_us <= sim->now_us) {
        come(sim, player);
    } else {
        run_frame(sim, player);
    }
}

/* ---- figures ---- */

void sim_player_settle(struct sim *sim, struct sim_player *player)
{
    if (player->settled || player->client == NULL) return;
    struct sim_totals *totals = &sim->totals;
    struct arbiter_statistics s;
    arbiter_client_statistics(player->client, &s);
    totals->corrections += s.corrections.count;
    totals->correction_sum_m += (double)s.corrections.mean_m * s.corrections.count;
    if (s.corrections.max_m > totals->correction_max_m) {
        totals->correction_max_m = s.corrections.max_m;
    }
    totals->corrections_outside += s.corrections.outside;
    totals->outside_sum_m += (double)s.corrections.outside_mean_m * s.corrections.outside;
    if (s.corrections.outside_max_m > totals->outside_max_m) {
        totals->outside_max_m = s.corrections.outside_max_m;
    }
    totals->corrections_starved += s.corrections.starved;
    totals->corrections_jumped += s.corrections.jumped;
    totals->frames_drawn += s.sampled_frames;
    totals->frames_between += s.sampled_frames - s.frozen_frames;
    totals->interpolation_sum_ms += (double)s.interpolation_ms;
    totals->interpolations++;
    player->settled = true;
}
