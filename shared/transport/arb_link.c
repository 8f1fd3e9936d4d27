#include "shared/transport/arb_link.h"

#include "shared/base/arb_assert.h"

enum { MILLION = 1000000 };

/* ---- draws ---- */

/* Uniform in 0..bound-1 from exactly one draw. */
static uint64_t draw_below(struct arb_rng *rng, uint64_t bound)
{
    return arb_rng_next(rng) * bound >> 32;
}

/* One datagram's draws, taken before anything is decided. */
struct draws {
    uint32_t loss;
    bool is_doubled, is_reordered;
    int64_t jitter_us[2];
    uint32_t corrupt[2];
};

static int64_t draw_jitter(struct arb_link_state *state)
{
    const struct arb_link *link = &state->link;
    if (link->jitter_table == NULL) {
        return (int64_t)draw_below(&state->rng, (uint64_t)link->jitter_us + 1);
    }
    int64_t value = link->jitter_table->value[draw_below(&state->rng, ARB_JITTER_VALUES)];
    return value * link->jitter_us / ARB_JITTER_SIGMA;
}

static uint32_t draw_corrupt(struct arb_link_state *state)
{
    bool hits = draw_below(&state->flips, MILLION) < state->link.corrupt_ppm;
    uint32_t which = arb_rng_next(&state->flips) | 1;
    return hits ? which : 0;
}

static struct draws draw_all(struct arb_link_state *state)
{
    struct draws draws;
    draws.loss = arb_rng_next(&state->rng);
    draws.is_doubled = draw_below(&state->rng, MILLION) < state->link.duplicate_ppm;
    draws.is_reordered = draw_below(&state->rng, MILLION) < state->link.reorder_ppm;
    draws.jitter_us[0] = draw_jitter(state);
    draws.jitter_us[1] = draw_jitter(state);
    draws.corrupt[0] = draw_corrupt(state);
    draws.corrupt[1] = draw_corrupt(state);
    return draws;
}

/* ---- losses ---- */

/* Gilbert-Elliott with all lost in the bad state: it is left with probability 1 / burst and entered
 * with loss / (burst * (1 - loss)), so that its share of the datagrams is `loss`. Both
 * probabilities in 2^-32. */
static bool is_lost_in_burst(struct arb_link_state *state, uint32_t draw)
{
    uint64_t loss = state->link.loss_ppm, burst = state->link.burst_milli;
    if (state->in_burst) {
        state->in_burst = draw >= (1000ULL << 32) / burst;
    } else {
        state->in_burst = draw < (loss << 32) * 1000 / (burst * (MILLION - loss));
    }
    return state->in_burst;
}

static bool is_lost(struct arb_link_state *state, uint32_t draw)
{
    const struct arb_link *link = &state->link;
    if (link->loss_ppm >= MILLION) return true;
    if (link->burst_milli == 0) {
        state->in_burst = false;
        return (uint64_t)draw * MILLION >> 32 < link->loss_ppm;
    }
    return is_lost_in_burst(state, draw);
}

/* ---- traces ---- */

static bool has_opportunities(const struct arb_link *link)
{
    return link->trace != NULL && link->trace->delay_us == NULL;
}

static uint64_t period_us(const struct arb_trace *trace)
{
    return trace->period_ms * 1000ULL;
}

static uint64_t opportunity_us(const struct arb_trace *trace, uint64_t opportunity)
{
    return opportunity / trace->count * period_us(trace) +
           trace->time_ms[opportunity % trace->count] * 1000ULL;
}

/* The first at or after that moment of the trace. */
static uint64_t opportunity_from(const struct arb_trace *trace, uint64_t trace_us)
{
    uint64_t pass = trace_us / period_us(trace);
    uint64_t in_pass_us = trace_us % period_us(trace);
    if (in_pass_us == 0 && pass > 0) {
        /* The end of one pass is the begin of the next; the end's opportunities come first. */
        pass--;
        in_pass_us = period_us(trace);
    }
    uint32_t low = 0, high = trace->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->time_ms[middle] * 1000ULL >= in_pass_us) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return pass * trace->count + low;
}

/* The table's row at that moment; none for a list of opportunities. */
static bool row_at(const struct arb_link *link, uint64_t now_us, uint32_t *row)
{
    const struct arb_trace *trace = link->trace;
    if (trace == NULL || trace->delay_us == NULL) return false;
    uint64_t in_pass_us = (now_us + link->trace_offset_us) % period_us(trace);
    uint32_t low = 0, high = trace->count; /* the row is in [low, high) */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (trace->time_ms[middle] * 1000ULL <= in_pass_us) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *row = low;
    return true;
}

/* ---- the queue in front of rate or trace ---- */

static void begin_queue(struct arb_link_state *state, uint64_t now_us)
{
    state->free_us = now_us;
    state->opportunity = 0;
    state->opportunity_left = ARB_TRACE_BYTES;
}

static uint64_t fill_opportunities(struct arb_link_state *state, uint64_t now_us, uint64_t bytes)
{
    const struct arb_trace *trace = state->link.trace;
    uint64_t offset_us = state->link.trace_offset_us;
    uint64_t first = opportunity_from(trace, now_us + offset_us);
    if (state->opportunity < first) {
        /* What nobody used is gone. */
        state->opportunity = first;
        state->opportunity_left = ARB_TRACE_BYTES;
    }
    while (bytes > state->opportunity_left) {
        bytes -= state->opportunity_left;
        state->opportunity++;
        state->opportunity_left = ARB_TRACE_BYTES;
    }
    state->opportunity_left -= (uint32_t)bytes;
    return opportunity_us(trace, state->opportunity) - offset_us;
}

/* When the last of these bytes has left the queue. */
static uint64_t leave_queue_us(struct arb_link_state *state, uint64_t now_us, uint64_t bytes)
{
    if (has_opportunities(&state->link)) return fill_opportunities(state, now_us, bytes);
    uint64_t rate = state->link.rate_kbps;
    if (rate == 0) return now_us;
    uint64_t start_us = state->free_us > now_us ? state->free_us : now_us;
    state->free_us = start_us + (bytes * 8000 + rate - 1) / rate;
    return state->free_us;
}

uint64_t arb_link_waiting_bytes(const struct arb_link_state *state, uint64_t now_us)
{
    const struct arb_link *link = &state->link;
    if (has_opportunities(link)) {
        /* From the next opportunity to the one being filled, none has room left. */
        uint64_t next = opportunity_from(link->trace, now_us + link->trace_offset_us + 1);
        if (state->opportunity < next) return 0;
        return (state->opportunity - next + 1) * ARB_TRACE_BYTES - state->opportunity_left;
    }
    return state->free_us > now_us ? (state->free_us - now_us) * link->rate_kbps / 8000 : 0;
}

static bool has_room(const struct arb_link_state *state, uint64_t now_us, uint64_t bytes)
{
    const struct arb_link *link = &state->link;
    if (link->rate_kbps == 0 && !has_opportunities(link)) return true;
    uint64_t limit = link->queue_bytes > 0 ? link->queue_bytes : ARB_LINK_QUEUE_BYTES;
    return arb_link_waiting_bytes(state, now_us) + bytes <= limit;
}

/* ---- the link ---- */

static void check(const struct arb_link *link)
{
    ARB_ASSERT(link->delay_us <= ARB_LINK_TIME_MAX_US);
    ARB_ASSERT(link->jitter_us <= ARB_LINK_TIME_MAX_US);
    ARB_ASSERT(link->burst_milli == 0 || link->burst_milli >= 1000);
    const struct arb_trace *trace = link->trace;
    if (trace == NULL) return;
    ARB_ASSERT(trace->count > 0);
    ARB_ASSERT(trace->period_ms > 0);
    ARB_ASSERT(trace->delay_us != NULL || trace->time_ms[trace->count - 1] == trace->period_ms);
}

void arb_link_start(struct arb_link_state *state, struct arb_link link, uint64_t seed,
                    uint64_t stream)
{
    check(&link);
    *state = (struct arb_link_state){.link = link};
    arb_rng_seed(&state->rng, seed, stream);
    arb_rng_seed(&state->flips, ~seed, stream);
    begin_queue(state, 0);
}

void arb_link_set(struct arb_link_state *state, struct arb_link link, uint64_t now_us)
{
    check(&link);
    const struct arb_link *old = &state->link;
    bool same_pace = old->rate_kbps == link.rate_kbps && old->trace == link.trace &&
                     old->trace_offset_us == link.trace_offset_us;
    uint64_t waiting = arb_link_waiting_bytes(state, now_us);
    state->link = link;
    if (same_pace) return;
    begin_queue(state, now_us);
    leave_queue_us(state, now_us, waiting);
}

void arb_link_block(struct arb_link_state *state, bool is_blocked)
{
    state->is_blocked = is_blocked;
}

static uint64_t later(uint64_t from_us, int64_t by_us)
{
    return by_us > 0 ? from_us + (uint64_t)by_us : from_us;
}

/* Due time of the first copy. */
static uint64_t due_us(struct arb_link_state *state, const struct draws *draws, uint64_t sent_us,
                       uint64_t delay_us)
{
    int64_t after_us = (int64_t)delay_us + draws->jitter_us[0];
    if (draws->is_reordered) return later(sent_us, after_us + draws->jitter_us[1]);
    uint64_t due = later(sent_us, after_us);
    if (due < state->last_us) due = state->last_us;
    state->last_us = due;
    return due;
}

int arb_link_send(struct arb_link_state *state, uint64_t now_us, size_t size,
                  struct arb_link_delivery out[2], struct arb_link_counters *counters)
{
    struct draws draws = draw_all(state);
    bool lost = is_lost(state, draws.loss);
    if (state->is_blocked) {
        counters->blocked++;
        return 0;
    }
    uint64_t bytes = size + ARB_LINK_HEADERS_BYTES;
    if (!has_room(state, now_us, bytes)) {
        counters->queue_full++;
        return 0;
    }
    uint64_t sent_us = leave_queue_us(state, now_us, bytes);
    uint64_t delay_us = state->link.delay_us;
    uint32_t row;
    if (row_at(&state->link, now_us, &row)) {
        delay_us += state->link.trace->delay_us[row];
        lost |= state->link.trace->lost[row] != 0;
    }
    if (lost) {
        counters->lost++;
        return 0;
    }
    int copies = draws.is_doubled ? 2 : 1;
    out[0] = (struct arb_link_delivery){due_us(state, &draws, sent_us, delay_us), draws.corrupt[0]};
    int64_t behind_us = draws.jitter_us[1];
    out[1] = (struct arb_link_delivery){
        out[0].deliver_us + (uint64_t)(behind_us < 0 ? -behind_us : behind_us), draws.corrupt[1]};
    counters->reordered += draws.is_reordered;
    counters->duplicated += draws.is_doubled;
    for (int i = 0; i < copies; i++) {
        counters->corrupted += out[i].corrupt != 0;
    }
    return copies;
}

void arb_link_corrupt(uint32_t corrupt, uint8_t *bytes, size_t size)
{
    struct arb_rng rng;
    ARB_ASSERT(corrupt != 0);
    ARB_ASSERT(size > 0);
    arb_rng_seed(&rng, corrupt, 0);
    uint64_t bit = draw_below(&rng, size * 8);
    uint64_t end = bit + 1 + draw_below(&rng, 8);
    for (; bit < end && bit < size * 8; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
}
