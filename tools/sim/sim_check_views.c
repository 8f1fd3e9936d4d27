/* views, progress: what a client draws goes forward, and goes on. */
#include "tools/sim/sim_checks.h"

enum {
    HEARD_US = 6000000,
    /* Not connected: a lost CONNECT is repeated after 1, 2, 4, ... s, then it begins anew. */
    CONNECTED_US = 30000000,
    OVERRUN_US = 15000000, /* after the server lost time, clocks find the new one */
};

bool sim_clocks_astray(const struct sim *sim, const struct sim_player *player)
{
    return sim->now_us < player->disturbed_us ||
           (sim->overrun_us != 0 && sim->now_us < sim->overrun_us + OVERRUN_US);
}

/* How far the picture goes: past the newest snapshot it soon stands still. */
static arb_fine picture_at(const struct arbiter_client *client)
{
    arb_tick carried_on = 2 * (arb_tick)client->match.welcome.snapshot_interval_ticks;
    arb_fine end = (arb_fine)(client->snapshots.tick + carried_on) * ARB_FINE_TICK;
    return client->clocks.view.at < end ? client->clocks.view.at : end;
}

/* Back only by a jump, and that only after a stall of seconds, here, there or between; or where the
 * picture has stood still, to what comes after it: nobody sees that. What is drawn is the clock's
 * time in 256ths of the way between two states: that much coarser it may be.
 */
void sim_views_look(struct sim_checks *checks, struct sim_player *player,
                    const struct arbiter_view *view)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    const struct arb_slew *clock = &player->client->clocks.view;
    if (player->client->net == NULL || !clock->running || view->time.to_tick == 0) return;
    arb_fine bound = 2 * (arb_fine)player->client->config.resync_ticks * ARB_FINE_TICK;
    arb_fine back = witness->view_at - clock->at;
    /* The jump is from where it would have been, and a frame may be long. */
    uint32_t rate = (uint32_t)checks->sim->config.match.tick_rate;
    arb_fine passed = arb_fine_from_ns((checks->sim->now_us - witness->view_us) * 1000, rate);
    bool jumped = sim_clocks_astray(checks->sim, player) && back + passed > bound / 2;
    if (back > 0 && !jumped && clock->at < witness->pictured) {
        sim_violated(checks, SIM_INVARIANT_views, "client %u: its view went back by %g ticks",
                     player->index, (double)back / ARB_FINE_TICK);
    }
    uint64_t span = view->time.to_tick - view->time.from_tick;
    uint64_t drawn = view->time.from_tick * 256 + view->time.fraction * (span > 0 ? span : 1);
    if (back <= 0 && drawn + span < witness->drawn) {
        sim_violated(checks, SIM_INVARIANT_views, "client %u draws %llu/256 after %llu/256",
                     player->index, (unsigned long long)drawn, (unsigned long long)witness->drawn);
    }
    witness->view_at = clock->at;
    witness->pictured = picture_at(player->client);
    witness->view_us = checks->sim->now_us;
    witness->drawn = drawn;
}

/* A safety that is kept by doing nothing is none: an undisturbed client hears of the world. */
void sim_progress_look(struct sim_checks *checks, struct sim_player *player)
{
    struct sim *sim = checks->sim;
    struct sim_witness *witness = &checks->witnesses[player->index];
    struct arbiter_disconnect_info info;
    arbiter_client_disconnect_info(player->client, &info);
    bool refused = info.reason == ARBITER_REASON_FULL || info.reason == ARBITER_REASON_ENDED;
    if (player->is_spare || refused || sim->now_us < player->disturbed_us ||
        match_ended(sim->match)) {
        witness->heard_us = sim->now_us;
        return;
    }
    bool connected = player->client->connection == ARBITER_CONNECTED;
    uint64_t limit_us = connected ? HEARD_US : CONNECTED_US;
    if (player->is_spectator) {
        limit_us += (uint64_t)sim->config.match.spectator_delay_s * 1000000;
    }
    if (sim->now_us > witness->heard_us + limit_us) {
        sim_violated(checks, SIM_INVARIANT_progress, "client %u heard nothing for %u s",
                     player->index, (unsigned)(limit_us / 1000000));
        witness->heard_us = sim->now_us;
    }
    /* Before the welcome an attempt may fail: so few datagrams go then that one burst of losses
     * takes all of five seconds. It begins anew, within the limit above. */
    bool is_lost = player->client->connection == ARBITER_OFFLINE && witness->known &&
                   info.reason != ARBITER_REASON_ASKED;
    if (is_lost) {
        sim_violated(checks, SIM_INVARIANT_progress, "client %u lost its connection: %s",
                     player->index, info.text);
    }
}
