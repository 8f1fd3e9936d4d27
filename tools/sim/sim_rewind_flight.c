/* rewind_error for projectiles: while one is caught up, its shooter's client has drawn on. Whatever
 * it drew meanwhile is compared with where the server puts the characters at those moments: what
 * the client's view decided must be the same. Between later snapshots that it held it is the same
 * as well, but of characters that one of these left out or no longer showed; what the server
 * assumes of snapshots that may be lost is only measured. */
#include "tools/sim/sim_rewind.h"

#include "server/rewind/rewind_flight.h"

static const struct rewind_pair *pair_of(const struct rewind_ray *ray, struct arb_key key)
{
    for (uint32_t i = 0; i < ray->pair_count; i++) {
        if (arb_key_equal(ray->pairs[i].key, key)) return &ray->pairs[i];
    }
    return NULL;
}

/* Until then, whatever comes, the client draws it between the two states that it held, or, if it
 * had none, not at all. With one state alone the next snapshot may have come to be drawn; and
 * beyond the view's later frame that one may have the very state that the frame before had left
 * out. */
static arb_fine certain_until(const struct rewind_ray *ray, struct arb_key key)
{
    const struct rewind_pair *pair = pair_of(ray, key);
    bool alone = pair != NULL && pair->to_tick == pair->from_tick;
    bool between = ray->view.from_tick < ray->view.to_tick;
    return between && !alone ? (arb_fine)ray->view.to_tick * ARB_FINE_TICK : 0;
}

/* The newest snapshot that it held. */
static arb_fine known_until(const struct sim *sim, const struct rewind_ray *ray)
{
    arb_tick tick = ray->view.to_tick;
    for (uint64_t left = ray->later; left != 0; left >>= 1) {
        tick += (arb_tick)sim->config.match.snapshot_interval_ticks;
    }
    return (arb_fine)tick * ARB_FINE_TICK;
}

static void note(struct sim_rewind_places *places, bool there, double error)
{
    places->count++;
    places->missing += !there;
    if (!there) return;
    places->errors += error > 0.0;
    places->sum_m += error;
    if (error > places->max_m) places->max_m = error;
}

static void compare(struct sim_checks *checks, uint32_t client, const struct rewind_ray *ray,
                    const struct sim_picture *picture, const struct sim_drawn *drawn)
{
    struct sim_rewind_flights *figures = &checks->rewind->figures.flights;
    const struct rewind *rewind = match_rewind(checks->sim->match);
    struct rewind_seen seen = rewind_flight_seen(ray);
    arb_fine at = arb_view_at(&picture->view);
    struct rewind_past past = rewind_flight_past(rewind, &seen, at);
    bool certain = at < certain_until(ray, drawn->key);
    if (certain) past.view = picture->view; /* the exact moment */
    struct rewind_place place;
    rewind_places(rewind, &past, &drawn->key, 1, &place);
    double error = sim_spot_distance(sim_spot_of(drawn->position), sim_spot_of(place.position));
    note(certain                              ? &figures->certain
         : at < known_until(checks->sim, ray) ? &figures->held
                                              : &figures->assumed,
         place.there, error);
    if (!certain || (place.there && error == 0.0)) return;
    sim_violated(checks, SIM_INVARIANT_rewind_error,
                 "client %u drew (%u, %u) %g m from where its projectile passes it at %g", client,
                 drawn->key.id, drawn->key.generation, place.there ? error : -1.0,
                 (double)at / ARB_FINE_TICK);
}

void sim_rewind_flight(struct sim_checks *checks, uint32_t client, const struct sim_picture *seen,
                       const struct rewind_ray *ray, const struct rules_flight *flight)
{
    const struct sim_eye *eye = &checks->rewind->eyes[client];
    arb_fine first = arb_view_at(&seen->view);
    uint64_t kept = eye->picture_count < SIM_PICTURES ? eye->picture_count : SIM_PICTURES;
    checks->rewind->figures.flights.launches++;
    for (uint64_t back = 1; back <= kept; back++) {
        const struct sim_picture *picture = sim_picture_back(eye, back);
        if (picture == NULL || picture == seen) return;
        arb_fine at = arb_view_at(&picture->view);
        if (at <= first || at < flight->path.start || at >= flight->to) continue;
        checks->rewind->figures.flights.pictures++;
        for (uint32_t i = 0; i < picture->count; i++) {
            compare(checks, client, ray, picture, sim_drawn_of(eye, picture, i));
        }
    }
}
