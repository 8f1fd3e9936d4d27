#include "tests/support/driven.h"

#include "shared/base/arb_assert.h"

uint64_t driven_now_ns(const struct driven *driven)
{
    return sim_now_us(driven->sim) * 1000;
}

struct arb_carrier *driven_path(struct driven *driven)
{
    struct sim *sim = driven->sim;
    driven->carrier =
        arb_simnet_connect(sim_network(sim), sim_server_carrier(sim), driven->up, driven->down);
    return driven->carrier;
}

void driven_connect(struct driven *driven, const struct arbiter_config *config)
{
    struct arbiter_config defaults;
    arbiter_config_default(&defaults);
    driven->client = arbiter_client_create(config != NULL ? config : &defaults);
    bool began =
        driven->client != NULL &&
        arb_client_connect_carrier(driven->client, driven_path(driven), driven_now_ns(driven));
    ARB_ASSERT(began);
}

void driven_set_links(struct driven *driven, struct arb_link up, struct arb_link down)
{
    driven->up = up;
    driven->down = down;
    arb_simnet_set_links(driven->carrier, up, down);
}

static void note_news(struct driven *driven)
{
    for (uint32_t i = 0; i < driven->view.event_count; i++) {
        if (driven->view.events[i].kind == ARBITER_EVENT_LINE && driven->news_count < DRIVEN_NEWS) {
            driven->news[driven->news_count++] = driven->view.events[i];
        }
    }
}

void driven_frame(struct driven *driven)
{
    struct arbiter_input input = {.move_x = 127};
    sim_run_us(driven->sim, DRIVEN_FRAME_US);
    arbiter_client_input(driven->client, &input);
    arbiter_client_poll(driven->client, driven_now_ns(driven));
    arbiter_client_sample(driven->client, driven_now_ns(driven), &driven->view);
    note_news(driven);
}

void driven_play(struct driven *driven, double seconds)
{
    uint64_t end_us = sim_now_us(driven->sim) + (uint64_t)(seconds * 1e6);
    while (sim_now_us(driven->sim) < end_us) {
        driven_frame(driven);
    }
}

struct arbiter_statistics driven_figures(const struct driven *driven)
{
    struct arbiter_statistics out;
    arbiter_client_statistics(driven->client, &out);
    return out;
}

const struct replicate_counts *driven_sent(const struct driven *driven)
{
    ARB_ASSERT(driven->view.own_slot != ARBITER_NO_SLOT);
    return replicate_counts(match_replicate(sim_match(driven->sim)), driven->view.own_slot);
}
