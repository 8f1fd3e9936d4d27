/* What victims have of lag compensation: mercy before a shot is resolved, figures after it. The
 * figures are no state: nothing of the match reads them. */
#include "server/match/match_internal.h"

#include "server/rewind/rewind_flight.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

/* ---- figures ---- */

static void count_ms(struct match_histogram *histogram, uint32_t ms)
{
    uint32_t bucket = ms / FAIRNESS_BUCKET_MS;
    histogram->counts[bucket < FAIRNESS_BUCKETS ? bucket : FAIRNESS_BUCKETS - 1]++;
    histogram->count++;
    histogram->max_ms = ms > histogram->max_ms ? ms : histogram->max_ms;
}

arb_fine fairness_rewound(const struct match *match, arb_fine at)
{
    arb_fine ticks = (arb_fine)rewind_newest(match->rewind)->tick * ARB_FINE_TICK - at;
    return ticks > 0 ? ticks : 0;
}

static uint32_t rewound_ms(const struct match *match, arb_fine at)
{
    return (uint32_t)(fairness_rewound(match, at) * 1000 /
                      ((arb_fine)match->config.tick_rate * ARB_FINE_TICK));
}

static void count_shot(struct match *match, uint32_t ms, bool slow)
{
    struct match_fairness *fairness = &match->fairness;
    count_ms(&fairness->rewound_shots, ms);
    if (slow) {
        fairness->slow_shots++;
        fairness->slow_rewound_ms += ms;
    }
}

static bool is_counted(const struct rules_shot *shot, uint32_t pellet, uint32_t hit)
{
    struct arb_key victim = shot->pellets[pellet].hits[hit].victim;
    for (uint32_t p = 0; p < pellet; p++) {
        for (uint32_t h = 0; h < shot->pellets[p].hit_count; h++) {
            if (arb_key_equal(shot->pellets[p].hits[h].victim, victim)) {
                return true;
            }
        }
    }
    return false;
}

static void count_hit(struct match *match, struct arb_key victim, struct arb_vec2 origin,
                      struct arb_view view, uint32_t ms)
{
    uint32_t ticks = rewind_cover_ticks(match->rewind, victim, origin, view, UINT32_MAX);
    count_ms(&match->fairness.rewound_hits, ms);
    count_ms(&match->fairness.cover_hits, ticks * 1000 / (uint32_t)match->config.tick_rate);
}

void fairness_count(struct match *match, const struct rules_shot *shot)
{
    const struct rewind_ray *ray = &shot->rays[0];
    if (shot->pellet_count == 0) {
        return;
    }
    uint32_t ms = rewound_ms(match, arb_view_at(&ray->view));
    count_shot(match, ms, shot->slow);
    for (uint32_t p = 0; p < shot->pellet_count; p++) {
        match->fairness.spared += shot->pellets[p].spared;
        for (uint32_t h = 0; h < shot->pellets[p].hit_count; h++) {
            if (!is_counted(shot, p, h)) {
                count_hit(match, shot->pellets[p].hits[h].victim, ray->origin, ray->view, ms);
            }
        }
    }
}

/* Seen coming by everybody: nothing of it is rewound, whatever its shooter's line. */
static void count_hit_of_present(struct match *match)
{
    count_ms(&match->fairness.rewound_hits, 0);
    count_ms(&match->fairness.cover_hits, 0);
}

void fairness_count_flights(struct match *match)
{
    const struct rules_flights *flights = &match->flights;
    bool may_be_slow = match->config.lagcomp.projectile_catchup_ms >= FAIRNESS_SLOW_MS;
    for (uint32_t i = 0; i < flights->count; i++) {
        const struct rules_flight *flight = &flights->list[i];
        const struct rules_shot *shot = &match->shots[flight->shot];
        match->fairness.spared += flight->spared;
        views_count_unseen(match, shot->slot, flight->unseen);
        if (i == 0 || flight->shot != flights->list[i - 1].shot) {
            count_shot(match, rewound_ms(match, flight->path.start), shot->slow && may_be_slow);
        }
    }
    for (uint32_t i = 0; i < flights->landing_count; i++) {
        const struct rules_landing *landing = &flights->landings[i];
        if (landing->rewound) {
            count_hit(match, landing->victim, landing->origin,
                      rewind_flight_past(match->rewind, NULL, landing->at).view,
                      rewound_ms(match, landing->at));
        } else {
            count_hit_of_present(match);
        }
    }
}

/* ---- mercy ---- */

/* Ascending by key: insertion, because few have one at a time. */
static void add_shelter(struct match *match, struct rewind_shelter shelter)
{
    uint32_t at = match->shelter_count++;
    for (; at > 0; at--) {
        if (arb_key_order(match->shelters[at - 1].key) < arb_key_order(shelter.key)) {
            break;
        }
        match->shelters[at] = match->shelters[at - 1];
    }
    match->shelters[at] = shelter;
}

void fairness_begin(struct match *match)
{
    match->shelter_count = 0;
    if (!match->config.lagcomp.abilities_win || match->rules->evades == NULL) {
        return;
    }
    for (uint16_t slot = 0; slot < match->world.head->player_capacity; slot++) {
        struct rewind_shelter shelter = {.key = match->world.players[slot].controlled};
        if (match->moved[slot].stepped &&
            match->rules->evades(&match->context, slot, &shelter.since)) {
            add_shelter(match, shelter);
        }
    }
}

/* A cover of n ticks is longer than the grace from the first n on with n / rate > grace. */
static uint32_t grace_ticks(const struct match *match)
{
    uint32_t ms = (uint32_t)match->config.lagcomp.cover_grace_ms;
    return ms == 0 ? 0 : ms * (uint32_t)match->config.tick_rate / 1000 + 1;
}

const struct rewind_mercy *fairness_mercy(struct match *match, struct arb_vec2 origin)
{
    uint32_t cover = grace_ticks(match);
    if (cover == 0 && match->shelter_count == 0) {
        return NULL;
    }
    struct rewind_mercy *mercy = &match->mercies[match->shot_count];
    *mercy = (struct rewind_mercy){.origin = origin,
                                   .cover_ticks = cover,
                                   .shelters = match->shelters,
                                   .shelter_count = match->shelter_count};
    return mercy;
}
