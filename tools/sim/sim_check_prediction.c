/* prediction, corrections. The first: the client's state of a tick that it predicted from the
 * server's word of an earlier one, against the server's own result of that tick. Only where nothing
 * else had a hand in it since that word: no input was missing, nothing from outside changed the own
 * state, the character is the same, and the client did not forget inputs after a stall. */
#include "tools/sim/sim_checks.h"

#include <string.h>

/* What this tick did to the player besides its own step. */
static void note_disturbance(struct sim_seat *seat, const struct world_player *player,
                             arb_tick published, bool corrected)
{
    bool touched =
        corrected || !seat->had_input || player->outside_changes != seat->outside_changes ||
        player->control != seat->control || !arb_key_equal(player->controlled, seat->controlled);
    if (touched) seat->disturbed_tick = published;
    seat->outside_changes = player->outside_changes;
    seat->controlled = player->controlled;
    seat->control = player->control;
}

static void check_prediction(struct sim_checks *checks, const struct sim_player *player,
                             arb_tick published)
{
    const struct sim_seat *seat = sim_seat_of(checks, player);
    if (seat == NULL || player->client == NULL || player->client->net == NULL) return;
    const struct arb_predict *predict = &player->client->predict;
    const struct sim_witness *witness = &checks->witnesses[player->index];
    arb_tick confirmed = predict->confirmed_tick + witness->base;
    struct arb_own predicted;
    if (arb_key_is_none(seat->controlled) || predict->control != seat->control ||
        seat->disturbed_tick > confirmed || witness->forgotten_tick > confirmed ||
        !arb_client_predicted(player->client, published - witness->base, &predicted)) {
        return;
    }
    const struct world *world = match_world(checks->sim->match);
    const struct arb_own *own = &world->players[witness->slot].own;
    if (memcmp(&predicted, own, sizeof *own) != 0) {
        sim_violated(checks, SIM_INVARIANT_prediction,
                     "client %u predicted (%.9g, %.9g) from tick %llu, the server has (%.9g, %.9g)",
                     player->index, (double)predicted.x, (double)predicted.y,
                     (unsigned long long)confirmed, (double)own->x, (double)own->y);
    }
}

void sim_prediction_look(struct sim_checks *checks)
{
    const struct world *world = match_world(checks->sim->match);
    arb_tick published = world->head->tick - 1;
    uint64_t reruns = match_rollback_counts(checks->sim->match).reruns;
    for (uint16_t slot = 0; slot < checks->players; slot++) {
        struct sim_seat *seat = &checks->seats[slot];
        if (!seat->seated) continue;
        note_disturbance(seat, &world->players[slot], published, reruns != checks->reruns);
    }
    checks->reruns = reruns;
    for (uint32_t i = 0; i < checks->sim->player_count; i++) {
        check_prediction(checks, &checks->sim->players[i], published);
    }
}

void sim_corrections_look(struct sim_checks *checks, const struct sim_player *player)
{
    struct sim_witness *witness = &checks->witnesses[player->index];
    const struct arbiter_corrections *corrections = &player->client->statistics.corrections;
    if (corrections->count != witness->corrections) {
        sim_violated(checks, SIM_INVARIANT_corrections,
                     "client %u corrected its prediction of tick %llu for no known cause",
                     player->index,
                     (unsigned long long)(player->client->snapshots.tick + witness->base));
    }
    witness->corrections = corrections->count;
}
