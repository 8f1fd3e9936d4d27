/* rewind_error, rewind_decision, rewind_applied: what the shooter saw is what is hit. Each frame of
 * a client is remembered as it was drawn, by the view that names it; when the server resolves a
 * shot, the drawn shapes are compared with where the server puts them, and who is hit is found
 * again by arithmetic of this file along the rays that the server drew. */
#include "tools/sim/sim_cheat.h"
#include "tools/sim/sim_rewind.h"

#include "shared/base/arb_mem.h"
#include "shared/move/arb_move.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    OTHERS = 24,      /* characters of a picture, on average; more: fewer pictures are kept */
    MANY_SHOTS = 8,   /* over which the applied rewind is looked at */
    LONG_WAY_MS = 60, /* from the picture to its shot: shorter, and no rewind is told from one */
    NO_TEAM = -1,
};

const char *sim_shot_name(enum sim_shot shot)
{
    static const char *const names[] = {
#define X(name, text) #name,
        SIM_SHOT_MAP(X)
#undef X
    };
    return names[shot];
}

/* ---- life ---- */

static int8_t team_field(const struct arb_kind *kind)
{
    for (int8_t i = 0; i < kind->field_count; i++) {
        if (strcmp(kind->fields[i].name, "team") == 0) return i;
    }
    return NO_TEAM;
}

struct sim_rewind *sim_rewind_create(struct sim_checks *checks)
{
    struct sim *sim = checks->sim;
    const struct rules *rules = sim_rules(sim);
    struct sim_rewind *rewind = arb_mem_alloc(sizeof *rewind);
    rewind->shoots = rules->shoot != NULL;
    rewind->most_ms = (double)sim->config.match.lagcomp.max_rewind_ms;
    rules->rewind_kinds(sim_params(sim), rewind->kinds);
    for (uint8_t i = 0; i < rules->schema->kind_count; i++) {
        rewind->team_fields[i] = team_field(&rules->schema->kinds[i]);
    }
    rewind->slots = arb_mem_calloc(checks->players, sizeof *rewind->slots);
    rewind->eyes = arb_mem_calloc(sim->player_count, sizeof *rewind->eyes);
    for (uint32_t i = 0; rewind->shoots && i < sim->player_count; i++) {
        rewind->eyes[i].drawn =
            arb_mem_calloc((size_t)SIM_PICTURES * OTHERS, sizeof *rewind->eyes[i].drawn);
    }
    return rewind;
}

void sim_rewind_destroy(struct sim_checks *checks)
{
    struct sim_rewind *rewind = checks->rewind;
    if (rewind == NULL) return;
    for (uint32_t i = 0; i < checks->clients; i++) {
        arb_mem_free(rewind->eyes[i].drawn);
    }
    arb_mem_free(rewind->eyes);
    arb_mem_free(rewind->slots);
    arb_mem_free(rewind);
}

void sim_rewind_connection(struct sim_checks *checks, const struct sim_player *player)
{
    struct sim_eye *eye = &checks->rewind->eyes[player->index];
    eye->picture_count = eye->drawn_count = 0;
}

/* ---- the client's side: pictures ---- */

static struct sim_drawn *drawn_at(const struct sim_eye *eye, uint64_t index)
{
    return &eye->drawn[index % ((uint64_t)SIM_PICTURES * OTHERS)];
}

/* What the own character stood between when it was drawn. */
static void note_own(struct sim_picture *picture, const struct arbiter_client *client,
                     const struct sim_witness *witness)
{
    if (!client->predict.has_state) return;
    struct arb_predict_shown shown;
    struct arb_own before;
    arb_client_own_shown(client, &shown);
    arb_tick tick = (arb_tick)(client->clocks.input.at / ARB_FINE_TICK);
    if (tick == 0 || !arb_client_predicted(client, tick - 1, &before)) return;
    picture->own_tick = tick + witness->base;
    picture->own = shown.position;
    picture->own_before = (struct arb_vec2){before.x, before.y};
    picture->own_after = (struct arb_vec2){shown.state.x, shown.state.y};
}

static void note_entity(struct sim_rewind *rewind, struct sim_eye *eye,
                        const struct arbiter_entity *entity)
{
    int8_t team = rewind->team_fields[entity->kind];
    *drawn_at(eye, eye->drawn_count++) =
        (struct sim_drawn){.key = {(uint16_t)(entity->key >> 16), (uint16_t)entity->key},
                           .kind = entity->kind,
                           .how = entity->drawn,
                           .team = team < 0 ? 0 : (uint8_t)entity->fields[team],
                           .position = {entity->x, entity->y},
                           .velocity = {entity->vx, entity->vy},
                           .heading = entity->heading};
}

void sim_rewind_look(struct sim_checks *checks, const struct sim_player *player,
                     const struct arbiter_view *view)
{
    struct sim_rewind *rewind = checks->rewind;
    const struct sim_witness *witness = &checks->witnesses[player->index];
    const struct arbiter_client *client = player->client;
    struct arb_view key = client->controls.drawn;
    if (!rewind->shoots || !witness->known || client->net == NULL || key.to_tick == 0) return;
    struct sim_eye *eye = &rewind->eyes[player->index];
    struct sim_picture *picture = &eye->pictures[eye->picture_count++ % SIM_PICTURES];
    key.from_tick += witness->base;
    key.to_tick += witness->base;
    *picture = (struct sim_picture){
        .view = key, .at_tick = match_tick(checks->sim->match), .first = eye->drawn_count};
    note_own(picture, client, witness);
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        if (!entity->is_own && rewind->kinds[entity->kind].count > 0) {
            note_entity(rewind, eye, entity);
        }
    }
    picture->count = (uint32_t)(eye->drawn_count - picture->first);
}

const struct sim_picture *sim_picture_back(const struct sim_eye *eye, uint64_t back)
{
    const struct sim_picture *picture = &eye->pictures[(eye->picture_count - back) % SIM_PICTURES];
    bool kept = eye->drawn_count - picture->first <= (uint64_t)SIM_PICTURES * OTHERS;
    return kept ? picture : NULL;
}

const struct sim_picture *sim_picture_of(const struct sim_eye *eye, const struct arb_view *view)
{
    uint64_t kept = eye->picture_count < SIM_PICTURES ? eye->picture_count : SIM_PICTURES;
    for (uint64_t back = 1; back <= kept; back++) {
        const struct sim_picture *picture = sim_picture_back(eye, back);
        if (picture == NULL) return NULL;
        if (memcmp(&picture->view, view, sizeof *view) == 0) return picture;
    }
    return NULL;
}

struct sim_drawn *sim_drawn_of(const struct sim_eye *eye, const struct sim_picture *picture,
                               uint32_t index)
{
    return drawn_at(eye, picture->first + index);
}

/* ---- shapes ---- */

/* The furthest that any point of its shapes lies from where it was drawn. */
static double shape_error(const struct rewind_kind *kind, const struct sim_drawn *drawn,
                          struct arb_vec2 position, float heading)
{
    double worst = 0.0;
    bool same = position.x == drawn->position.x && position.y == drawn->position.y &&
                heading == drawn->heading;
    if (same) return 0.0;
    struct arb_vec2 was = arb_move_direction(drawn->heading), is = arb_move_direction(heading);
    for (uint8_t i = 0; i < kind->count; i++) {
        const struct arb_vec2 ends[2] = {kind->shapes[i].a, kind->shapes[i].b};
        for (int end = 0; end < 2; end++) {
            struct sim_spot a = sim_spot_placed(ends[end], sim_spot_of(drawn->position), was);
            struct sim_spot b = sim_spot_placed(ends[end], sim_spot_of(position), is);
            double error = sim_spot_distance(a, b);
            worst = error > worst ? error : worst;
        }
    }
    return worst;
}

/* ---- places ---- */

static struct rewind_past past_of(const struct rewind_ray *ray)
{
    return (struct rewind_past){.shooter = ARB_KEY_NONE,
                                .view = ray->view,
                                .pairs = ray->pairs,
                                .pair_count = ray->pair_count};
}

static struct rewind_place place_of(const struct sim_checks *checks, const struct rewind_ray *ray,
                                    struct arb_key key)
{
    struct rewind_past past = past_of(ray);
    struct rewind_place place;
    rewind_places(match_rewind(checks->sim->match), &past, &key, 1, &place);
    return place;
}

/* Drawn from other states than those of the view's own two frames: it was left out of a snapshot.
 */
static bool is_deferred(const struct rewind_ray *ray, struct arb_key key)
{
    for (uint32_t i = 0; ray->pairs != NULL && i < ray->pair_count; i++) {
        const struct rewind_pair *pair = &ray->pairs[i];
        if (arb_key_equal(pair->key, key)) {
            return pair->from_tick != ray->view.from_tick ||
                   (pair->to_tick != pair->from_tick && pair->to_tick != ray->view.to_tick);
        }
    }
    return false;
}

/* Pickups and the like are in the pairs as well, and the player's own earlier character, whose
 * death is shown at once. */
static bool is_target(const struct sim_checks *checks, const struct rewind_pair *pair,
                      uint16_t shooter)
{
    const struct arb_frame *frame = rewind_frame(match_rewind(checks->sim->match), pair->from_tick);
    const struct arb_published *state = frame == NULL ? NULL : arb_frame_find(frame, pair->key);
    if (state == NULL) return true;
    const struct arb_kind *kind = &sim_rules(checks->sim)->schema->kinds[state->kind];
    bool own = kind->owner >= 0 && state->q[kind->owner] == shooter + 1;
    return !own && checks->rewind->kinds[state->kind].count > 0;
}

/* Ticks that the server's place is ahead of the drawn one, along its motion. */
static void note_signed(struct sim_rewind *rewind, const struct sim_drawn *drawn,
                        struct arb_vec2 position, double tick_rate)
{
    double vx = (double)drawn->velocity.x, vy = (double)drawn->velocity.y;
    double speed2 = vx * vx + vy * vy;
    if (speed2 < 0.25) return;
    double dx = (double)position.x - (double)drawn->position.x;
    double dy = (double)position.y - (double)drawn->position.y;
    rewind->figures.signed_ticks += (dx * vx + dy * vy) / speed2 * tick_rate;
    rewind->figures.moving++;
}

static void compare_drawn(struct sim_checks *checks, uint32_t client, const struct rewind_ray *ray,
                          const struct sim_drawn *drawn)
{
    struct sim_rewind *rewind = checks->rewind;
    struct sim_rewind_figures *figures = &rewind->figures;
    struct rewind_place place = place_of(checks, ray, drawn->key);
    figures->compared++;
    figures->deferred += is_deferred(ray, drawn->key);
    figures->how[drawn->how < SIM_DRAWN_WAYS ? drawn->how : 0]++;
    if (!place.there) {
        figures->drawn_only++;
        sim_violated(checks, SIM_INVARIANT_rewind_error,
                     "client %u drew (%u, %u) at %llu..%llu + %u, the server says it did not",
                     client, drawn->key.id, drawn->key.generation,
                     (unsigned long long)ray->view.from_tick, (unsigned long long)ray->view.to_tick,
                     ray->view.fraction);
        return;
    }
    double error = shape_error(&rewind->kinds[drawn->kind], drawn, place.position, place.heading);
    figures->error_sum_m += error;
    if (error > figures->error_max_m) figures->error_max_m = error;
    note_signed(rewind, drawn, place.position, (double)checks->sim->config.match.tick_rate);
    if (error > 0.0) {
        figures->errors++;
        sim_violated(checks, SIM_INVARIANT_rewind_error,
                     "client %u drew (%u, %u) at %llu..%llu + %u held %u %g m from where the "
                     "server has it",
                     client, drawn->key.id, drawn->key.generation,
                     (unsigned long long)ray->view.from_tick, (unsigned long long)ray->view.to_tick,
                     ray->view.fraction, ray->view.held, error);
    }
}

/* ---- the muzzle ---- */

/* Where the own character was drawn against where the shot begins; only while it stood between the
 * two places that the server has as well, and the frame lay in the tick of the input. */
static void compare_muzzle(struct sim_checks *checks, uint32_t client,
                           const struct sim_picture *seen, const struct rules_shot *shot)
{
    struct sim_rewind_figures *figures = &checks->rewind->figures;
    const struct sim_rewind_slot *slot = &checks->rewind->slots[shot->slot];
    const struct arb_own *own = &match_world(checks->sim->match)->players[shot->slot].own;
    bool same = slot->followed && seen->own_tick == match_tick(checks->sim->match) &&
                seen->own_before.x == slot->before.x && seen->own_before.y == slot->before.y &&
                seen->own_after.x == own->x && seen->own_after.y == own->y;
    if (!same) return;
    double error = sim_spot_distance(sim_spot_of(seen->own), sim_spot_of(shot->rays[0].origin));
    figures->muzzles++;
    if (error > figures->muzzle_max_m) figures->muzzle_max_m = error;
    if (error > 0.0) {
        sim_violated(checks, SIM_INVARIANT_rewind_error,
                     "client %u drew its muzzle %g m from where its shot began", client, error);
    }
}

/* ---- the server's side: shots ---- */

void sim_rewind_input(struct sim_checks *checks, uint16_t slot, const struct arb_input *input,
                      const struct arb_input *applied)
{
    struct sim_rewind_slot *here = &checks->rewind->slots[slot];
    const struct world_player *player = &match_world(checks->sim->match)->players[slot];
    arb_tick now = match_tick(checks->sim->match);
    bool fires = (applied->edges & ARB_BUTTON_FIRE) != 0;
    here->claims = input != NULL;
    /* As it arrived: what the match has made of the view since is what is looked at. */
    if (input != NULL) here->claimed = checks->seats[slot].waiting[now % SIM_WAITING].input.view;
    here->carried = (checks->seats[slot].carried & ARB_BUTTON_FIRE) != 0;
    here->followed = input != NULL && here->input_tick + 1 == now;
    if (input != NULL) here->input_tick = now;
    here->before = (struct arb_vec2){player->own.x, player->own.y};
    if (checks->rewind->shoots && fires && arb_key_is_none(player->controlled)) {
        checks->rewind->figures.dead++;
    }
}

static enum sim_shot kind_of(const struct sim_checks *checks, const struct rules_shot *shot)
{
    const struct sim_rewind_slot *slot = &checks->rewind->slots[shot->slot];
    struct arb_view applied = shot->rays[0].view;
    if (checks->rewind->most_ms <= 0.0) return SIM_SHOT_off;
    if (slot->carried) return SIM_SHOT_late;
    if (!slot->claims) return SIM_SHOT_starved;
    if (slot->claimed.to_tick == 0) return SIM_SHOT_blank;
    return memcmp(&applied, &slot->claimed, sizeof applied) == 0 ? SIM_SHOT_honoured
                                                                 : SIM_SHOT_clamped;
}

/* A shot is rewound by about as much as its picture is old when it is resolved, and that is at
 * least the way from here to there: what does nothing of the kind is switched off. */
static void check_applied(struct sim_checks *checks, uint32_t client,
                          const struct sim_picture *seen, const struct rewind_ray *ray)
{
    struct sim_eye *eye = &checks->rewind->eyes[client];
    double tick_ms = 1000.0 / (double)checks->sim->config.match.tick_rate;
    arb_tick newest = match_tick(checks->sim->match) - 1;
    double at = (double)arb_view_at(&ray->view) / (double)ARB_FINE_TICK;
    double rewound_ms = ((double)newest - at) * tick_ms;
    double way_ms = (double)(match_tick(checks->sim->match) - seen->at_tick) * tick_ms;
    double most_ms = checks->rewind->most_ms;
    checks->rewind->figures.rewound_ms += rewound_ms;
    checks->rewind->figures.rewound++;
    if (way_ms < LONG_WAY_MS || sim_clocks_astray(checks->sim, &checks->sim->players[client])) {
        return;
    }
    eye->way_ms += way_ms < most_ms ? way_ms : most_ms;
    eye->rewound_ms += rewound_ms;
    if (++eye->far_shots < MANY_SHOTS) return;
    if (eye->rewound_ms < eye->way_ms / 4.0) {
        sim_violated(checks, SIM_INVARIANT_rewind_applied,
                     "client %u: shots %g ms after their pictures are rewound by %g ms", client,
                     eye->way_ms / MANY_SHOTS, eye->rewound_ms / MANY_SHOTS);
    }
    eye->way_ms = eye->rewound_ms = 0.0;
    eye->far_shots = 0;
}

/* Whom the server lets be hit, and the client did not draw. */
static void look_for_undrawn(struct sim_checks *checks, uint32_t client,
                             const struct sim_picture *seen, const struct rules_shot *shot)
{
    const struct sim_eye *eye = &checks->rewind->eyes[client];
    const struct rewind_ray *ray = &shot->rays[0];
    for (uint32_t i = 0; ray->pairs != NULL && i < ray->pair_count; i++) {
        struct arb_key key = ray->pairs[i].key;
        bool drawn = arb_key_equal(key, ray->shooter);
        for (uint32_t at = 0; at < seen->count && !drawn; at++) {
            drawn = arb_key_equal(key, sim_drawn_of(eye, seen, at)->key);
        }
        if (drawn || !is_target(checks, &ray->pairs[i], shot->slot)) continue;
        checks->rewind->figures.held_only++;
        sim_violated(checks, SIM_INVARIANT_rewind_error,
                     "client %u did not draw (%u, %u), the server says it did", client, key.id,
                     key.generation);
    }
}

static void compare_shot(struct sim_checks *checks, uint32_t client, const struct sim_picture *seen,
                         const struct rules_shot *shot)
{
    const struct sim_eye *eye = &checks->rewind->eyes[client];
    for (uint32_t i = 0; i < seen->count; i++) {
        compare_drawn(checks, client, &shot->rays[0], sim_drawn_of(eye, seen, i));
    }
    look_for_undrawn(checks, client, seen, shot);
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        sim_rewind_decide(checks, client, seen, &shot->rays[i], &shot->pellets[i]);
    }
    compare_muzzle(checks, client, seen, shot);
}

static void note_cheat(struct sim_rewind_figures *figures, const struct rules_shot *shot)
{
    bool hit = false;
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        hit |= shot->pellets[i].hit_count > 0;
    }
    figures->cheat_shots++;
    figures->cheat_hits += hit;
}

static bool is_as_sent(const struct sim_checks *checks, arb_tick tick)
{
    const struct sim_published *sent = sim_archive_at(checks, tick);
    const struct arb_frame *now = rewind_frame(match_rewind(checks->sim->match), tick);
    return sent == NULL || now == NULL ||
           (sent->frame.entity_count == now->entity_count &&
            memcmp(sent->frame.entities, now->entities,
                   now->entity_count * sizeof now->entities[0]) == 0);
}

/* Of what the picture was drawn from, and of what came since. */
static bool is_corrected(const struct sim_checks *checks, const struct rewind_ray *ray)
{
    if (match_rollback_counts(checks->sim->match).reruns == 0) return false;
    for (uint32_t i = 0; ray->pairs != NULL && i < ray->pair_count; i++) {
        const struct rewind_pair *pair = &ray->pairs[i];
        if (!is_as_sent(checks, pair->from_tick) || !is_as_sent(checks, pair->to_tick)) return true;
    }
    for (arb_tick tick = ray->view.from_tick; tick < match_tick(checks->sim->match); tick++) {
        if (!is_as_sent(checks, tick)) return true;
    }
    return false;
}

static void look_at_shot(struct sim_checks *checks, const struct rules_shot *shot)
{
    struct sim_rewind_figures *figures = &checks->rewind->figures;
    enum sim_shot kind = kind_of(checks, shot);
    struct sim_seat *seat = &checks->seats[shot->slot];
    const struct sim_witness *witness = sim_witness_of(checks, seat);
    const struct sim_picture *seen = NULL;
    uint32_t client = witness == NULL ? 0 : (uint32_t)(witness - checks->witnesses);
    enum sim_cheat cheat = witness != NULL && client == 0 ? checks->sim->options.cheat : 0;
    if (cheat != SIM_CHEAT_none) note_cheat(figures, shot);
    if (cheat > SIM_CHEAT_honest) kind = SIM_SHOT_cheated;
    if (witness != NULL && (kind == SIM_SHOT_honoured || kind == SIM_SHOT_clamped)) {
        seen = sim_picture_of(&checks->rewind->eyes[client],
                              &checks->rewind->slots[shot->slot].claimed);
    }
    /* What was wrong with a claim may well put the present in its place. */
    if (seen != NULL && shot->verdict == MATCH_VIEW_HONOURED && checks->rewind->most_ms > 0.0)
        check_applied(checks, client, seen, &shot->rays[0]);
    if (kind == SIM_SHOT_honoured && seen == NULL) kind = SIM_SHOT_unwitnessed;
    if (kind == SIM_SHOT_honoured && is_corrected(checks, &shot->rays[0])) {
        kind = SIM_SHOT_corrected;
    }
    figures->shots[kind]++;
    for (uint8_t i = 0; i < shot->pellet_count; i++) {
        figures->unseen += shot->pellets[i].unseen;
    }
    if (kind == SIM_SHOT_honoured) compare_shot(checks, client, seen, shot);
}

void sim_rewind_shots(struct sim_checks *checks, const struct rules_shot *shots, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        look_at_shot(checks, &shots[i]);
    }
}

/* Of honest clients whose view was honoured, as compare_shot. */
void sim_rewind_flown(struct sim_checks *checks, const struct rules_shot *shots,
                      const struct rules_flights *flights)
{
    for (uint32_t i = 0; i < flights->count; i++) {
        const struct rules_shot *shot = &shots[flights->list[i].shot];
        const struct sim_witness *witness = sim_witness_of(checks, &checks->seats[shot->slot]);
        uint32_t client = witness == NULL ? 0 : (uint32_t)(witness - checks->witnesses);
        bool cheats = client == 0 && checks->sim->options.cheat > SIM_CHEAT_honest;
        if (witness == NULL || cheats || kind_of(checks, shot) != SIM_SHOT_honoured) continue;
        const struct sim_picture *seen = sim_picture_of(&checks->rewind->eyes[client],
                                                        &checks->rewind->slots[shot->slot].claimed);
        if (seen != NULL && !is_corrected(checks, &shot->rays[0])) {
            sim_rewind_flight(checks, client, seen, &shot->rays[0], &flights->list[i]);
        }
    }
}

/* ---- the report ---- */

static double mean(double sum, uint64_t count)
{
    return count == 0 ? 0.0 : sum / (double)count;
}

/* The match's own account of what clients claimed. */
static void print_claims(FILE *out, const struct sim *sim)
{
    struct match_view_counts counts = match_view_totals(sim->match);
    fprintf(out, ",\"claims\":{");
    for (int i = 0; i < MATCH_VIEW_VERDICTS; i++) {
        fprintf(out, "%s\"%s\":%" PRIu64, i > 0 ? "," : "",
                match_view_verdict_text((enum match_view_verdict)i), counts.claims[i]);
    }
    fprintf(out, "}");
}

static void print_cheat(FILE *out, const struct sim *sim, const struct sim_rewind_figures *f)
{
    uint64_t presses, in_sight;
    sim_cheater_count(sim->cheater, &presses, &in_sight);
    fprintf(out,
            ",\"cheat\":{\"presses\":%" PRIu64 ",\"in_sight\":%" PRIu64 ",\"shots\":%" PRIu64
            ",\"hits\":%" PRIu64 "}",
            presses, in_sight, f->cheat_shots, f->cheat_hits);
}

static void print_places(FILE *out, const char *name, const struct sim_rewind_places *places)
{
    fprintf(out,
            ",\"%s\":{\"count\":%" PRIu64 ",\"missing\":%" PRIu64 ",\"errors\":%" PRIu64
            ",\"mean_error_m\":%.6g,\"max_error_m\":%.9g}",
            name, places->count, places->missing, places->errors,
            mean(places->sum_m, places->count - places->missing), places->max_m);
}

static void print_flights(FILE *out, const struct sim_rewind_flights *flights)
{
    fprintf(out, ",\"flights\":{\"launches\":%" PRIu64 ",\"pictures\":%" PRIu64, flights->launches,
            flights->pictures);
    print_places(out, "certain", &flights->certain);
    print_places(out, "held", &flights->held);
    print_places(out, "assumed", &flights->assumed);
    fprintf(out, "}");
}

void sim_rewind_print(FILE *out, const struct sim *sim)
{
    const struct sim_rewind_figures none = {0};
    const struct sim_rewind_figures *f =
        sim->checks == NULL ? &none : &sim->checks->rewind->figures;
    fprintf(out,
            "\"rewind\":{\"shots\":%" PRIu64 ",\"max_error_m\":%.9g,\"mean_error_m\":%.9g,"
            "\"signed_mean_ticks\":%.6g,\"decisions_differing\":%" PRIu64,
            f->shots[SIM_SHOT_honoured], f->error_max_m, mean(f->error_sum_m, f->compared),
            mean(f->signed_ticks, f->moving), f->differing);
    for (int i = SIM_SHOT_honoured + 1; i < SIM_SHOTS; i++) {
        fprintf(out, ",\"%s\":%" PRIu64, sim_shot_name((enum sim_shot)i), f->shots[i]);
    }
    print_claims(out, sim);
    if (sim->cheater != NULL) print_cheat(out, sim, f);
    fprintf(out,
            ",\"unseen\":%" PRIu64 ",\"dead\":%" PRIu64 ",\"rays\":%" PRIu64 ",\"hits\":%" PRIu64
            ",\"unsure\":%" PRIu64 ",\"compared\":%" PRIu64 ",\"extrapolated\":%" PRIu64
            ",\"frozen\":%" PRIu64 ",\"moving\":%" PRIu64 ",\"deferred\":%" PRIu64
            ",\"drawn_only\":%" PRIu64 ",\"held_only\":%" PRIu64
            ",\"mean_rewind_ms\":%.6g,\"muzzles\":%" PRIu64 ",\"muzzle_max_error_m\":%.9g",
            f->unseen, f->dead, f->rays, f->hits, f->unsure, f->compared,
            f->how[ARBITER_EXTRAPOLATED], f->how[ARBITER_FROZEN], f->moving, f->deferred,
            f->drawn_only, f->held_only, mean(f->rewound_ms, f->rewound), f->muzzles,
            f->muzzle_max_m);
    print_flights(out, &f->flights);
    fprintf(out, "},");
}
