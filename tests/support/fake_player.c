#include "tests/support/fake_player.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"

#include <string.h>

struct arbiter_client *fake_join(struct fake_server *fake)
{
    struct arbiter_config config;
    arbiter_config_default(&config);
    struct arbiter_client *client = arbiter_client_create(&config);
    ARB_ASSERT(client != NULL);
    bool begun = arb_client_connect_carrier(client, fake_carrier(fake), fake_now_ns(fake));
    ARB_ASSERT(begun);
    return client;
}

struct arbiter_statistics fake_figures(const struct arbiter_client *client)
{
    struct arbiter_statistics statistics;
    arbiter_client_statistics(client, &statistics);
    return statistics;
}

struct walker walker_open(struct fake_server *fake, uint64_t seed)
{
    struct walker walker = {.fake = fake};
    arb_rng_seed(&walker.rng, seed, 1);
    walker.newest = arb_mem_alloc(FAKE_LOG * sizeof *walker.newest);
    walker.made = arb_mem_alloc(FAKE_LOG * sizeof *walker.made);
    return walker;
}

void walker_close(struct walker *walker)
{
    arb_mem_free(walker->newest);
    arb_mem_free(walker->made);
}

void walker_walk(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct walker *walker = user;
    if (walker->frames++ % 12 == 0) {
        walker->input.move_x = (int8_t)(arb_rng_below(&walker->rng, 255) - 127);
        walker->input.move_y = (int8_t)(arb_rng_below(&walker->rng, 255) - 127);
        walker->input.buttons = (uint16_t)arb_rng_below(&walker->rng, 16);
    }
    walker->input.aim = (uint16_t)(walker->input.aim + 300);
    arbiter_client_input(client, &walker->input);
    float offset = arb_vec2_length((struct arb_vec2){view->own.offset_x, view->own.offset_y});
    walker->worst_offset = offset > walker->worst_offset ? offset : walker->worst_offset;
    arb_tick tick = client->predict.predicted_tick;
    if (client->predict.has_state && tick == client->predict.newest_tick && tick < FAKE_LOG &&
        !walker->made[tick]) {
        walker->made[tick] = true;
        arb_client_predicted(client, tick, &walker->newest[tick]);
    }
}

uint32_t walker_mispredicted(const struct walker *walker, arb_tick from)
{
    uint32_t count = 0;
    for (arb_tick tick = from; tick + 1 < walker->fake->tick; tick++) {
        const struct arb_own *log = &walker->fake->log[tick];
        count += walker->made[tick] && memcmp(&walker->newest[tick], log, sizeof *log) != 0;
    }
    return count;
}
