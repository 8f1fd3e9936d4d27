/* rewind_error for projectiles: while one is caught up, its shooter's client has drawn on. Whatever
 * it drew meanwhile is compared with where the server puts the characters at those moments: what
 * the client's view decided must be the same, what the server assumes of snapshots that may be lost
 * is only measured. */
#include "tools/sim/sim_rewind.h"

#include "server/rewind/rewind_flight.h"

static const struct rewind_pair *pair_of(const struct rewind_ray *ray, struct arb_key key)
{
    for (uint32_t i = 0; i < ray->pair_count; i++) {
        if (arb_key_equal(ray->pairs[i].key, key)) return &ray->pairs[i];
    }
    return NULL;
}

/* Until then, whatever comes, the client draws it between these two states; or, if it had none, not
 * at all. With one state alone the next snapshot may have come to be drawn. */
static arb_fine certain_until(const struct rewind *rewind, const struct rewind_ray *ray,
                              struct arb_key key)
{
    const struct rewind_pair *pair = pair_of(ray, key);
    if (pair != NULL) {
        return pair->to_tick > pair->from_tick ? (arb_fine)pair->to_tick * ARB_FINE_TICK : 0;
    }
    bool between = ray->view.from_tick < ray->view.to_tick;
    return between ? rewind_flight_held_until(rewind, &ray->view) : 0;
}

static struct rewind_past past_of(const struct rewind *rewind, const struct rewind_ray *ray,
                                  struct arb_view view)
{
    return (struct rewind_past){.shooter = ARB_KEY_NONE,
                                .view = view,
                                .pairs = ray->pairs,
                                .pair_count = ray->pair_count,
                                .pairs_until = rewind_flight_held_until(rewind, &ray->view)};
}

static void compare(struct sim_checks *checks, uint32_t client, const struct rewind_ray *ray,
                    const struct sim_picture *picture, const struct sim_drawn *drawn)
{
    struct sim_rewind_flights *figures = &checks->rewind->figures.flights;
    const struct rewind *rewind = match_rewind(checks->sim->match);
    arb_fine at = arb_view_at(&picture->view);
    bool certain = at < certain_until(rewind, ray, drawn->key);
    /* What is assumed is asked as a flight does: between the snapshots that there were. */
    struct rewind_past past =
        past_of(rewind, ray, certain ? picture->view : rewind_flight_view(rewind, at));
    struct rewind_place place;
    rewind_places(rewind, &past, &drawn->key, 1, &place);
    double error = sim_spot_distance(sim_spot_of(drawn->position), sim_spot_of(place.position));
    if (certain) {
        figures->certain++;
        if (place.there && error == 0.0) return;
        if (error > figures->certain_max_m) figures->certain_max_m = error;
        sim_violated(checks, SIM_INVARIANT_rewind_error,
                     "client %u drew (%u, %u) %g m from where its projectile passes it at %g",
                     client, drawn->key.id, drawn->key.generation, place.there ? error : -1.0,
                     (double)at / ARB_FINE_TICK);
        return;
    }
    figures->assumed++;
    figures->assumed_missing += !place.there;
    if (!place.there) return;
    figures->assumed_sum_m += error;
    if (error > figures->assumed_max_m) figures->assumed_max_m = error;
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
