/* The working rate of each client: what its path carries, at most what is configured.
 *
 * A path that is sent more than it carries puts the rest into a queue first, and acknowledgements
 * come ever later. So their age above the least of the last seconds is what counts: once it stays
 * above REPLICATE_QUEUE_MS over a whole round, the rate goes down by a quarter, by half when it is
 * far above; then the queue empties. Losses alone say little, radio loses without any queue:
 * only when more than half are lost the path is taken for one that has hardly a queue,
 * and the rate goes down to about a quarter at most.
 * While all is well and the rate is what holds something back, it rises slowly.
 *
 * A round is what it takes until REPLICATE_ROUND acknowledgements came of snapshots that were sent
 * after the last change: what a change did is seen before the next one. A path that became longer
 * for good looks like a queue until the least age is forgotten, 10 to 20 s later. */
#include "server/replicate/replicate_internal.h"

enum {
    REPLICATE_QUEUE_MS = 100,
    REPLICATE_ROUND = 4, /* snapshots */
    REPLICATE_WINDOW_S = 10,
    REPLICATE_GROWTH = 128, /* steps from nothing to the whole budget */
    REPLICATE_COUNTED = 32, /* losses are counted among so many */
    REPLICATE_ARRIVED = 16, /* of which so many should arrive */
};

void replicate_rate_create(struct replicate *replicate)
{
    const struct replicate_config *config = &replicate->config;
    replicate->queue_ticks = REPLICATE_QUEUE_MS * config->tick_rate / 1000;
    replicate->window_ticks = REPLICATE_WINDOW_S * config->tick_rate;
    uint32_t datagram =
        config->chunk_payload_bytes + replicate->chunk_head_bytes + REPLICATE_OVERHEAD_BYTES;
    replicate->datagrams_rate = datagram * config->tick_rate / config->interval_ticks;
}

void replicate_rate_reset(const struct replicate *replicate, struct replicate_state *state)
{
    state->rate = (struct replicate_rate){.bytes_per_s = replicate->config.budget_bytes_per_s};
    state->counts.rate_bytes_per_s = state->rate.bytes_per_s;
}

/* An eighth of a second: more would be a burst that queues build up from. */
int64_t replicate_rate_depth(const struct replicate *replicate, const struct replicate_state *state)
{
    uint32_t depth = state->rate.bytes_per_s / 8;
    uint32_t least = replicate->depth_least;
    return (int64_t)(depth > least ? depth : least) * (int64_t)replicate->config.tick_rate;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Two windows, so that the least is always that of one whole window at least. */
static uint32_t least_age(const struct replicate *replicate, struct replicate_rate *rate,
                          uint32_t age, arb_tick now)
{
    if (rate->window == 0) {
        rate->window = now;
        rate->least[0] = rate->least[1] = age;
    } else if (now - rate->window >= replicate->window_ticks) {
        rate->window = now;
        rate->least[1] = rate->least[0];
        rate->least[0] = age;
    }
    if (age < rate->least[0]) rate->least[0] = age;
    return lesser(rate->least[0], rate->least[1]);
}

/* Once per REPLICATE_COUNTED snapshots. */
static bool loses_most(struct replicate_state *state)
{
    struct replicate_rate *rate = &state->rate;
    uint32_t newest = state->newest_acked;
    if (newest < rate->counted_to + REPLICATE_COUNTED) return false;
    rate->counted_to = newest;
    uint32_t arrived = 0;
    for (uint32_t id = newest - REPLICATE_COUNTED + 1; id <= newest; id++) {
        const struct replicate_sent *sent = &state->sent[id % REPLICATE_RING];
        /* Forgotten already: then the ring was too small, not the path. */
        arrived += sent->id != id || sent->acked;
    }
    return arrived < REPLICATE_ARRIVED;
}

static void reduce(const struct replicate *replicate, struct replicate_state *state,
                   uint32_t quarters, uint32_t lowest)
{
    struct replicate_rate *rate = &state->rate;
    /* What is above a datagram with each snapshot is hardly ever used. */
    uint32_t used = lesser(rate->bytes_per_s, replicate->datagrams_rate);
    uint32_t to = (uint32_t)((uint64_t)used * quarters / 4);
    if (to < lowest) to = lowest;
    if (to >= rate->bytes_per_s) return;
    rate->bytes_per_s = to;
    rate->counted_to = state->newest;
    state->counts.reduced++;
}

static void raise_rate(const struct replicate *replicate, struct replicate_rate *rate)
{
    uint32_t most = replicate->config.budget_bytes_per_s;
    uint32_t step = most / REPLICATE_GROWTH + 1;
    rate->bytes_per_s = most - rate->bytes_per_s > step ? rate->bytes_per_s + step : most;
}

void replicate_rate_acked(const struct replicate *replicate, struct replicate_state *state,
                          uint32_t age, arb_tick now)
{
    struct replicate_rate *rate = &state->rate;
    uint32_t least = least_age(replicate, rate, age, now);
    if (state->newest_acked < rate->round_from) return;
    if (rate->round_samples == 0 || age < rate->round_least) rate->round_least = age;
    if (++rate->round_samples < REPLICATE_ROUND) return;
    uint32_t queue = rate->round_least > least ? rate->round_least - least : 0;
    bool loses = loses_most(state);
    if (queue > replicate->queue_ticks) {
        uint32_t quarters = queue > 2 * replicate->queue_ticks ? 2 : 3;
        reduce(replicate, state, quarters, REPLICATE_RATE_LEAST);
    } else if (loses) {
        uint32_t most = lesser(replicate->config.budget_bytes_per_s, replicate->datagrams_rate);
        reduce(replicate, state, 3, most / 4 + REPLICATE_RATE_LEAST / 2);
    } else if (rate->is_short) {
        raise_rate(replicate, rate);
    }
    state->counts.rate_bytes_per_s = rate->bytes_per_s;
    rate->round_from = state->newest + 1;
    rate->round_samples = 0;
    rate->is_short = false;
}
