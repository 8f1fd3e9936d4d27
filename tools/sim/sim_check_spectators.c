/* Spectators among the invariants: who is who (they have no player's id, so their names say it),
 * and what they may be shown. Their seats lie behind the players'. That nothing is newer than
 * spectator.delay_s allows is part of entity_state and events. */
#include "tools/sim/sim_checks.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* No player's. */
#define SPECTATOR_IDS (UINT64_C(1) << 63)

static struct sim_seat *seat_with(struct sim_checks *checks, struct port_session session)
{
    for (uint32_t i = 0; i < checks->sim->options.spectators; i++) {
        struct sim_seat *seat = &checks->seats[checks->players + i];
        if (seat->seated && seat->session.index == session.index &&
            seat->session.epoch == session.epoch) {
            return seat;
        }
    }
    return NULL;
}

struct sim_seat *sim_seat_of_sight(struct sim_checks *checks, const struct match_sight *sight)
{
    return sight->slot != ARB_NO_SLOT ? &checks->seats[sight->slot]
                                      : seat_with(checks, sight->session);
}

uint16_t sim_spectator_seat(const struct sim_checks *checks, const struct sim_player *player)
{
    ARB_ASSERT(player->is_spectator);
    return (uint16_t)(checks->players + player->index - checks->sim->options.clients);
}

static const struct sim_player *named(const struct sim *sim, const char *name)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        const struct sim_player *player = &sim->players[i];
        if (player->is_spectator && player->client != NULL &&
            strcmp(player->client->config.name, name) == 0) {
            return player;
        }
    }
    return NULL; /* gone before its HELLO was read */
}

void sim_spectator_joins(struct sim_checks *checks, const struct port_message *message)
{
    const struct sim_player *player = named(checks->sim, message->name);
    if (player == NULL) return;
    uint16_t place = sim_spectator_seat(checks, player);
    sim_take_seat(checks, place, message->session, SPECTATOR_IDS + ++checks->spectator_joins);
}

void sim_spectator_leaves(struct sim_checks *checks, struct port_session session)
{
    struct sim_seat *seat = seat_with(checks, session);
    if (seat != NULL) seat->seated = false;
}

/* The newest published tick of which a spectator may hear; wraps below 0. */
bool sim_spectator_may_know(const struct sim_checks *checks, arb_tick tick)
{
    arb_tick published = match_tick(checks->sim->match) - 1;
    arb_tick newest = published - match_spectator_delay_ticks(&checks->sim->config.match);
    return (int64_t)(newest - tick) >= 0;
}
