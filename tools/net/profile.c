#include "tools/net/profile_internal.h"

#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"

#include <string.h>

enum {
    KNOT_US = 10 * 1000 * 1000, /* a link wanders in straight lines between moments so far apart */
    MOBILE_TRACE_MS = 300 * 1000,
};

/* ---- the ones with a name ---- */

/* Each way; the round trips are twice the delay (tools/net/README.md). */
static const struct {
    const char *name;
    struct arb_link link;
    uint32_t drift_ppm;
} named[] = {
    {"lan", {.delay_us = 250, .jitter_us = 100}, 0},
    {"good", {.delay_us = 15000, .jitter_us = 2000, .loss_ppm = 1000}, 100000},
    {"average", {.delay_us = 40000, .jitter_us = 10000, .loss_ppm = 10000}, 150000},
    {"bad",
     {.delay_us = 80000,
      .jitter_us = 40000,
      .loss_ppm = 50000,
      .burst_milli = 3000,
      .duplicate_ppm = 10000,
      .reorder_ppm = 20000},
     200000},
    {"mobile", {.delay_us = PROFILE_MOBILE_DELAY_US}, 100000},
};

static void generate(struct profile *profile)
{
    trace_generate(&profile->up.trace, TRACE_UP, MOBILE_TRACE_MS, profile->seed);
    trace_generate(&profile->down.trace, TRACE_DOWN, MOBILE_TRACE_MS, profile->seed);
    profile->up.link.trace = &profile->up.trace.link;
    profile->down.link.trace = &profile->down.trace.link;
}

static bool fill_named(struct profile *profile)
{
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        if (strcmp(profile->name, named[i].name) != 0) continue;
        profile->up.link = profile->down.link = named[i].link;
        profile->up.drift_ppm = profile->down.drift_ppm = named[i].drift_ppm;
        if (strcmp(profile->name, "mobile") == 0) generate(profile);
        return true;
    }
    return false;
}

enum arb_result profile_load(const char *name_or_file, uint64_t seed, struct profile **out,
                             struct profile_error *error)
{
    struct profile *profile = arb_mem_alloc(sizeof *profile);
    size_t name_bytes = strlen(name_or_file) + 1;
    profile->seed = seed;
    profile->name = arb_mem_alloc(name_bytes);
    memcpy(profile->name, name_or_file, name_bytes);
    *out = profile;
    if (fill_named(profile) || profile_read(profile, error)) return ARB_OK;
    profile_free(profile);
    *out = NULL;
    return ARB_DATA;
}

static void free_side(struct profile_side *side)
{
    trace_free(&side->trace);
    arb_mem_free(side->jitter_table);
}

void profile_free(struct profile *profile)
{
    if (profile == NULL) return;
    free_side(&profile->up);
    free_side(&profile->down);
    arb_mem_free(profile->name);
    arb_mem_free(profile);
}

const char *profile_name(const struct profile *profile)
{
    return profile->name;
}

/* ---- change within a match ---- */

struct drift {
    uint64_t hash; /* of seed, client and direction */
    uint32_t most_ppm;
    uint64_t knot, into_us;
};

/* Of a million; uniform within +-most at each knot. */
static int64_t knot_ppm(const struct drift *drift, uint64_t what, uint64_t knot)
{
    uint64_t draw = arb_hash_mix(arb_hash_mix(drift->hash, what), knot) >> 32;
    return (int64_t)(draw * (2ULL * drift->most_ppm + 1) >> 32) - (int64_t)drift->most_ppm;
}

static uint32_t wander(const struct drift *drift, uint64_t what, uint32_t middle)
{
    if (drift->most_ppm == 0) return middle;
    int64_t from = knot_ppm(drift, what, drift->knot);
    int64_t to = knot_ppm(drift, what, drift->knot + 1);
    int64_t by_ppm = from + (to - from) * (int64_t)drift->into_us / KNOT_US;
    return (uint32_t)(middle * (PROFILE_MILLION + by_ppm) / PROFILE_MILLION);
}

static struct arb_link link_at(const struct profile *profile, const struct profile_side *side,
                               uint32_t client, uint64_t time_us)
{
    uint64_t of_client = arb_hash_mix(profile->seed, client);
    uint64_t step_us = time_us - time_us % PROFILE_STEP_US;
    struct drift drift = {
        .hash = arb_hash_mix(of_client, side == &profile->up ? 1 : 2),
        .most_ppm = side->drift_ppm,
        .knot = step_us / KNOT_US,
        .into_us = step_us % KNOT_US,
    };
    struct arb_link link = side->link;
    link.delay_us = wander(&drift, 1, link.delay_us);
    link.jitter_us = wander(&drift, 2, link.jitter_us);
    link.loss_ppm = wander(&drift, 3, link.loss_ppm);
    if (link.loss_ppm > PROFILE_MILLION) link.loss_ppm = PROFILE_MILLION;
    /* Up and down may have been recorded together, so a client is at one place in both. */
    if (link.trace != NULL && client > 0) {
        link.trace_offset_us = of_client % (link.trace->period_ms * 1000ULL);
    }
    return link;
}

void profile_links_at(const struct profile *profile, uint32_t client, uint64_t time_us,
                      struct arb_link *up, struct arb_link *down)
{
    *up = link_at(profile, &profile->up, client, time_us);
    *down = link_at(profile, &profile->down, client, time_us);
}
