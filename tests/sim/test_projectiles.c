/* Projectiles over a bad line: what a client draws its own ones to touch is what the server lets
 * them hit, and the predicted one and the entity are the same. The bots aim at what they see; a
 * flight is followed on its client's screen, piece by piece, and compared with the server's word.
 */
#include "server/match/match_internal.h"
#include "server/rules/arena_internal.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"
#include "shared/client/arbiter_client_internal.h"
#include "shared/move/arb_move.h"
#include "shared/view/arb_drawn.h"
#include "tests/support/virtual.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define FLIES                                                                                      \
    "\"kind\":\"projectile\",\"damage\":60,\"damage_far\":60,\"projectile_speed\":18,"             \
    "\"projectile_radius_m\":0.15,\"interval_ms\":300,\"automatic\":true"

enum { PLAYERS = 4, FLIGHTS = 4096, SUBTICK = ARB_FINE_TICK / 8 };

#define RADIUS (0.5F + 0.15F)
#define DOUBTFUL 0.0005F /* m: so near to the rim the sums of two formulas may differ */

/* One projectile, as its client drew it and as the server flew it. */
struct flight {
    uint16_t slot, action;
    struct arb_path path, server_path;
    arb_fine end;
    arb_fine seen_to; /* how far it was followed on the screen */
    bool fired;       /* by the server */
    bool touches;     /* somebody, on the screen */
    bool hits;        /* by the server's word */
    bool odd;         /* part of its way was drawn over a lost snapshot, or past the newest */
    bool done;
    float nearest; /* m, to the rim, of all that it passed */
    arb_fine touch_at, hit_at;
};

static struct flight flights[FLIGHTS];
static uint32_t flight_count;
static uint32_t drawn_twice, drawn_once;
static struct sim *run;

static struct flight *flight_of(uint16_t slot, uint16_t action)
{
    for (uint32_t i = flight_count; i-- > 0;) {
        if (flights[i].slot == slot && flights[i].action == action) {
            return &flights[i];
        }
    }
    return NULL;
}

/* ---- the server's side ---- */

static void note_shots(const struct match *match)
{
    arb_tick newest = rewind_newest(match->rewind)->tick - 1; /* as the tick just run saw it */
    arb_fine oldest = ((arb_fine)newest - match->context.catchup_ticks) * ARB_FINE_TICK;
    for (uint32_t i = 0; i < match->shot_count; i++) {
        const struct rules_shot *shot = &match->shots[i];
        struct flight *flight = flight_of(shot->slot, (uint16_t)shot->sequence);
        arb_fine at = arb_view_at(&shot->rays[0].view);
        if (flight != NULL && shot->projectile_count > 0 && at >= oldest) {
            flight->fired = true;
            flight->server_path =
                arb_path_launch(&match->move.weapons[shot->weapon], shot->rays[0].origin,
                                shot->rays[0].direction, 0, at);
        }
    }
}

static void note_impacts(const struct match *match)
{
    for (uint32_t i = 0; i < match->events.count; i++) {
        const struct arb_event *event = &match->events.list[i].event;
        if (event->kind == ARB_EVENT_IMPACT) {
            struct flight *flight = flight_of(event->impact.shooter_slot, event->impact.action);
            int64_t now = (int64_t)match->world.head->tick * 256;
            if (flight != NULL) {
                flight->hits = true;
                flight->hit_at =
                    (now + (int32_t)(event->impact.moment - (uint32_t)now)) * ARB_PATH_MOMENT;
            }
        }
    }
}

/* ---- the screen's side ---- */

static void note_predicted(const struct arbiter_client *client)
{
    uint32_t in_use = 0;
    for (uint32_t i = 0; i < ARB_CLIENT_PROJECTILES; i++) {
        const struct arb_shadow *shadow = &client->projectiles.shadows[i];
        in_use += shadow->stage != ARB_SHADOW_FREE;
        uint16_t slot = client->match.welcome.player_slot;
        uint16_t action = (uint16_t)shadow->state.q[ARB_PROJECTILE_ACTION];
        if (shadow->stage == ARB_SHADOW_PREDICTED && flight_of(slot, action) == NULL &&
            flight_count < FLIGHTS) {
            flights[flight_count++] = (struct flight){.slot = slot,
                                                      .action = action,
                                                      .path = shadow->path,
                                                      .end = shadow->end,
                                                      .seen_to = shadow->path.start,
                                                      .nearest = INFINITY};
        }
    }
    cr_assert_eq(client->projectiles.shadow_count, in_use, "none of them is passed over");
}

/* The predicted one and its entity are never both on the screen. */
static void note_doubles(const struct arbiter_client *client)
{
    const struct arb_client_drawing *drawing = &client->drawing;
    for (uint32_t i = 0; i < drawing->entity_count; i++) {
        const struct arbiter_entity *a = &drawing->entities[i];
        drawn_once += a->kind == ARB_ARENA_PROJECTILE;
        for (uint32_t k = i + 1; k < drawing->entity_count; k++) {
            const struct arbiter_entity *b = &drawing->entities[k];
            drawn_twice += a->kind == ARB_ARENA_PROJECTILE && b->kind == a->kind &&
                           a->owner == b->owner &&
                           memcmp(&a->fields[ARB_PROJECTILE_ACTION],
                                  &b->fields[ARB_PROJECTILE_ACTION], 2 * sizeof a->fields[0]) == 0;
        }
    }
}

/* Distance from the origin to the segment. */
static float to_segment(struct arb_vec2 a, struct arb_vec2 b)
{
    struct arb_vec2 way = arb_vec2_sub(b, a);
    float square = arb_vec2_dot(way, way);
    float part = square > 0.0F ? -arb_vec2_dot(a, way) / square : 0.0F;
    part = fminf(fmaxf(part, 0.0F), 1.0F);
    return arb_vec2_length(arb_vec2_mul_add(a, part, way));
}

/* One piece of the way against one character: both go straight within it. */
static void pass(struct flight *flight, const struct arb_kind *kind, struct arb_drawn_pair pair,
                 const struct arb_drawn_rule *rule, arb_fine from, arb_fine to)
{
    pair.at = from;
    struct arb_vec2 a = arb_vec2_sub(arb_path_at(&flight->path, rule->tick_rate, from),
                                     arb_drawn_position(kind, &pair, rule));
    pair.at = to;
    struct arb_vec2 b = arb_vec2_sub(arb_path_at(&flight->path, rule->tick_rate, to),
                                     arb_drawn_position(kind, &pair, rule));
    float gap = to_segment(a, b) - RADIUS;
    if (!flight->touches) {
        flight->nearest = fminf(flight->nearest, gap);
    }
    if (gap <= 0.0F && !flight->touches) {
        flight->touches = true;
        flight->touch_at = from;
    }
}

static void follow_piece(const struct arbiter_client *client, struct flight *flight, arb_fine from,
                         arb_fine to)
{
    const struct arb_history *history = &client->snapshots.history;
    uint32_t interval = client->match.welcome.snapshot_interval_ticks;
    struct arb_drawn_rule rule = {interval, client->match.welcome.tick_rate};
    struct arb_view view;
    struct arb_held_place place;
    if (!arb_held_find(&history->held, from, &view) ||
        !arb_held_place(&history->held, &view, &place) ||
        view.to_tick != view.from_tick + interval) {
        flight->odd = true;
        return;
    }
    for (uint32_t i = 0; i < history->held.frames[place.from].count; i++) {
        struct arb_held_states states;
        arb_held_states_of(&history->held, &place, i, &states);
        const struct arb_published *a =
            &arb_history_at(history, states.from_frame)->frame.entities[states.from_entry];
        bool two = states.to_tick > states.from_tick;
        const struct arb_published *b =
            two ? &arb_history_at(history, states.to_frame)->frame.entities[states.to_entry] : NULL;
        if (a->kind != ARB_ARENA_CHARACTER || a->q[ARB_CHARACTER_OWNER] == flight->slot + 1) {
            continue;
        }
        if (two && states.to_tick - states.from_tick != interval) {
            flight->odd = true; /* one of the two had no room in its snapshot */
        }
        struct arb_drawn_pair pair = {a, b, states.from_tick, states.to_tick, from};
        pass(flight, &arb_schema_arena.kinds[a->kind], pair, &rule, from, to);
    }
}

/* Up to what was on the screen in the newest frame. */
static void follow(const struct arbiter_client *client, struct flight *flight)
{
    const struct arb_view *drawn = &client->controls.drawn;
    arb_fine shown = arb_view_at(drawn);
    flight->odd |= drawn->from_tick == drawn->to_tick && drawn->fraction > 0;
    while (!flight->done && flight->seen_to < shown) {
        arb_fine next = (flight->seen_to / SUBTICK + 1) * SUBTICK;
        arb_fine to = next < flight->end ? next : flight->end;
        if (next > shown) {
            return;
        }
        if (flight->seen_to < to) {
            follow_piece(client, flight, flight->seen_to, to);
        }
        flight->seen_to = next;
        flight->done = next >= flight->end || flight->touches;
    }
}

static void after_tick(void *user, struct match *match)
{
    (void)user;
    if (run == NULL || rewind_newest(match->rewind) == NULL) {
        return;
    }
    for (uint32_t i = 0; i < PLAYERS; i++) {
        const struct arbiter_client *client = sim_client(run, i);
        if (client != NULL && client->match.known) {
            note_predicted(client);
            note_doubles(client);
        }
    }
    note_shots(match);
    note_impacts(match);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        const struct arbiter_client *client = sim_client(run, i);
        for (uint32_t f = 0; f < flight_count && client != NULL && client->match.known; f++) {
            if (!flights[f].done && flights[f].slot == client->match.welcome.player_slot) {
                follow(client, &flights[f]);
            }
        }
    }
}

/* ---- claims ---- */

static void play(struct arb_link link, uint64_t seed, uint64_t ticks, bool check)
{
    static const char *const sets[] = {
        "arena.weapons=[{\"name\":\"a\",\"start\":true," FLIES "},{\"name\":\"b\"," FLIES
        "},{\"name\":\"c\"," FLIES "},{\"name\":\"d\"," FLIES "}]",
        "match.map=maps/arena_duel.tmj",
        "match.min_players=4",
        "match.countdown_s=1",
        "arena.respawn_ms=500",
        "lagcomp.max_rewind_ms=700",
        "lagcomp.projectile_catchup_ms=700",
        "lagcomp.view_tolerance_ms=500",
    };
    flight_count = 0;
    drawn_once = drawn_twice = 0;
    run = NULL;
    run = virtual_create(&(struct sim_options){
        .config_file = ARBITER_SOURCE_DIR "/config/arena.json",
        .sets = sets,
        .set_count = sizeof sets / sizeof sets[0],
        .clients = PLAYERS,
        .seed = seed,
        .up = link,
        .down = link,
        .policies = {"aim"},
        .check = check,
        .after_tick = after_tick,
    });
    sim_run_ticks(run, ticks);
}

static void print_flight(const struct flight *flight)
{
    cr_log_error("slot %u action %u start %.3f: drawn %d at %.3f, server %d at %.3f, %.5f m",
                 flight->slot, flight->action, (double)flight->path.start / ARB_FINE_TICK,
                 flight->touches, (double)flight->touch_at / ARB_FINE_TICK, flight->hits,
                 (double)flight->hit_at / ARB_FINE_TICK, (double)flight->nearest);
}

static void compare(struct arb_link link, uint64_t seed, uint32_t least)
{
    uint32_t compared = 0, hits = 0, differ = 0, other_path = 0, odd = 0, unfired = 0, open = 0;
    uint32_t odd_differ = 0;
    play(link, seed, 5400, false);
    for (uint32_t i = 0; i < flight_count; i++) {
        const struct flight *flight = &flights[i];
        bool same_path = memcmp(&flight->path, &flight->server_path, sizeof flight->path) == 0;
        if (!flight->fired) {
            unfired++;
        } else if (!same_path) {
            other_path++;
        } else if (flight->odd) {
            odd++;
            odd_differ += flight->done && flight->touches != flight->hits;
        } else if (!flight->done || fabsf(flight->nearest) < DOUBTFUL) {
            open++;
        } else {
            compared++;
            hits += flight->hits;
            arb_fine apart = flight->hit_at - flight->touch_at;
            bool same = flight->touches == flight->hits &&
                        (!flight->hits || (apart >= -SUBTICK && apart <= SUBTICK));
            differ += !same;
            if (!same) {
                print_flight(flight);
            }
        }
    }
    cr_log_info(
        "%u flights: %u compared, %u of them hit, %u differ; %u with another path, %u drawn "
        "over a gap (%u differ), %u not fired or capped, %u open",
        flight_count, compared, hits, differ, other_path, odd, odd_differ, unfired, open);
    cr_expect_eq(differ, 0, "%u of %u differ", differ, compared);
    cr_expect_geq(compared, least, "%u of %u", compared, flight_count);
    cr_expect_geq(hits, least / 10, "%u of %u", hits, compared);
    sim_destroy(run);
    run = NULL;
}

Test(projectiles, what_they_are_drawn_to_touch_is_what_they_hit_on_an_average_line)
{
    compare((struct arb_link){.delay_us = 50000, .jitter_us = 10000, .loss_ppm = 10000}, 5, 300);
}

Test(projectiles, what_they_are_drawn_to_touch_is_what_they_hit_on_a_bad_line)
{
    compare((struct arb_link){.delay_us = 80000,
                              .jitter_us = 40000,
                              .loss_ppm = 50000,
                              .duplicate_ppm = 10000,
                              .reorder_ppm = 20000},
            6, 100);
}

/* Statistics of all clients: under loss, each that was fired is found again by its action id. */
Test(projectiles, a_predicted_one_is_found_in_what_the_server_tells)
{
    uint64_t predicted = 0, confirmed = 0, unconfirmed = 0;
    play((struct arb_link){.delay_us = 50000, .jitter_us = 5000, .loss_ppm = 50000}, 7, 3600, true);
    for (uint32_t i = 0; i < PLAYERS; i++) {
        struct arbiter_statistics statistics;
        arbiter_client_statistics(sim_client(run, i), &statistics);
        predicted += statistics.projectiles_predicted;
        confirmed += statistics.projectiles_confirmed;
        unconfirmed += statistics.projectiles_unconfirmed;
    }
    cr_log_info("%llu predicted, %llu confirmed, %llu not", (unsigned long long)predicted,
                (unsigned long long)confirmed, (unsigned long long)unconfirmed);
    const char *text;
    sim_first_violation(run, &text);
    cr_expect_eq(sim_violation_count(run), 0, "%s", text);
    cr_expect_gt(confirmed, 200);
    cr_expect_gt(drawn_once, 10000);
    cr_expect_eq(drawn_twice, 0);
    cr_expect_lt(unconfirmed, predicted / 20, "%llu of %llu", (unsigned long long)unconfirmed,
                 (unsigned long long)predicted);
    sim_destroy(run);
    run = NULL;
}
