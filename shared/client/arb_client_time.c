#include "shared/client/arb_client_time.h"

#include <string.h>

enum { NS_PER_S = 1000000000 };

arb_fine arb_fine_from_ns(uint64_t ns, uint32_t rate)
{
    uint64_t seconds = ns / NS_PER_S;
    uint64_t rest = ns % NS_PER_S;
    uint64_t per_second = (uint64_t)rate * ARB_FINE_TICK;
    return (arb_fine)(seconds * per_second + rest * per_second / NS_PER_S);
}

arb_fine arb_fine_from_ms(uint32_t ms, uint32_t rate)
{
    return (arb_fine)((uint64_t)ms * rate * ARB_FINE_TICK / 1000);
}

void arb_time_sync_reset(struct arb_time_sync *sync, uint32_t rate)
{
    memset(sync, 0, sizeof *sync);
    sync->rate = rate;
}

/* ceil(rtt * rate / 2) in whole ticks. */
static arb_fine one_way(uint64_t rtt_ns, uint32_t rate)
{
    uint64_t ticks = (rtt_ns * rate + 2ULL * NS_PER_S - 1) / (2ULL * NS_PER_S);
    return (arb_fine)(ticks * ARB_FINE_TICK);
}

/* Whether a server that stands at `latest` at most cannot be where the samples say. It loses time
 * when it stalls and never gains any, so only that direction is proof; less than a quarter of a
 * second may be ticks that it is about to catch up with. */
static bool has_lost_time(const struct arb_time_sync *sync, arb_fine latest, uint64_t now_ns)
{
    const struct arb_time_sample *best = arb_time_sync_best(sync);
    arb_fine estimate = 0;
    if (!arb_time_sync_estimate(sync, now_ns, &estimate)) {
        return false;
    }
    arb_fine slack = (arb_fine)sync->rate * ARB_FINE_TICK / 4;
    return estimate - one_way(best->rtt_ns, sync->rate) > latest + slack;
}

void arb_time_sync_add(struct arb_time_sync *sync, arb_fine answered, uint64_t wait_ns,
                       uint64_t sent_ns, uint64_t received_ns)
{
    uint64_t passed = received_ns > sent_ns ? received_ns - sent_ns : 0;
    uint64_t wait = wait_ns < passed ? wait_ns : passed;
    if (has_lost_time(sync, answered + arb_fine_from_ns(passed - wait, sync->rate), received_ns)) {
        sync->count = 0;
    }
    struct arb_time_sample *sample = &sync->samples[sync->count % ARB_TIME_SAMPLES];
    sample->rtt_ns = passed - wait;
    sample->received_ns = received_ns;
    sample->at_receipt = answered + one_way(sample->rtt_ns, sync->rate);
    sync->count++;
}

const struct arb_time_sample *arb_time_sync_best(const struct arb_time_sync *sync)
{
    uint32_t held = sync->count < ARB_TIME_SAMPLES ? sync->count : ARB_TIME_SAMPLES;
    const struct arb_time_sample *best = NULL;
    for (uint32_t age = 1; age <= held; age++) {
        const struct arb_time_sample *sample =
            &sync->samples[(sync->count - age) % ARB_TIME_SAMPLES];
        if (best == NULL || sample->rtt_ns < best->rtt_ns) {
            best = sample;
        }
    }
    return best;
}

arb_fine arb_time_sync_one_way(const struct arb_time_sync *sync)
{
    const struct arb_time_sample *best = arb_time_sync_best(sync);
    return best == NULL ? 0 : one_way(best->rtt_ns, sync->rate);
}

bool arb_time_sync_estimate(const struct arb_time_sync *sync, uint64_t now_ns, arb_fine *out)
{
    const struct arb_time_sample *best = arb_time_sync_best(sync);
    if (best == NULL) {
        return false;
    }
    *out = now_ns >= best->received_ns
               ? best->at_receipt + arb_fine_from_ns(now_ns - best->received_ns, sync->rate)
               : best->at_receipt - arb_fine_from_ns(best->received_ns - now_ns, sync->rate);
    return true;
}

/* An error is made good within about a quarter of a second, within the limit of the rate. */
static arb_fine correction(arb_fine error, arb_fine passed, uint32_t rate, uint32_t percent)
{
    arb_fine quarter_second = (arb_fine)rate * ARB_FINE_TICK / 4;
    arb_fine bound = passed * (arb_fine)percent / 100;
    if (passed >= quarter_second) {
        passed = quarter_second;
    }
    arb_fine wanted = error * passed / quarter_second;
    return wanted > bound ? bound : wanted < -bound ? -bound : wanted;
}

bool arb_slew_advance(struct arb_slew *slew, uint64_t now_ns, uint32_t rate, arb_fine target,
                      struct arb_slew_limits limits)
{
    if (!slew->running) {
        *slew = (struct arb_slew){true, target, now_ns};
        return false;
    }
    if (now_ns <= slew->now_ns) {
        return false;
    }
    arb_fine passed = arb_fine_from_ns(now_ns - slew->now_ns, rate);
    arb_fine straight = slew->at + passed;
    arb_fine error = target - straight;
    slew->now_ns = now_ns;
    if (error > limits.jump || error < -limits.jump) {
        slew->at = target;
        return true;
    }
    slew->at = straight + correction(error, passed, rate, limits.percent);
    return false;
}

arb_fine arb_slew_at(const struct arb_slew *slew, uint64_t ns, uint32_t rate)
{
    return ns >= slew->now_ns ? slew->at + arb_fine_from_ns(ns - slew->now_ns, rate)
                              : slew->at - arb_fine_from_ns(slew->now_ns - ns, rate);
}
