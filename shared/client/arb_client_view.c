/* What is drawn now: the others in the past, by the rules of shared/view, which the server's rewind
 * computes with as well; the own player ahead, predicted (spec/client.md, spec/lag-compensation.md
 * "What the client sends"). Nothing is smoothed but by the own player's offset. */
#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/view/arb_drawn.h"

#include <string.h>

/* ---- the own player ---- */

void arb_client_own_shown(const struct arbiter_client *client, struct arb_predict_shown *shown)
{
    struct arb_input now = arb_client_input_now(client);
    /* As finely as an input can say it: a shot begins where the player was drawn. */
    arb_fine at = client->clocks.input.at & ~(arb_fine)(ARB_FINE_TICK / 256 - 1);
    arb_predict_show(&client->predict, at, &now, shown);
}

struct arb_vec2 arb_client_offset(const struct arbiter_client *client, uint64_t now_ns)
{
    const struct arb_client_drawing *drawing = &client->drawing;
    uint64_t passed = now_ns > drawing->offset_ns ? now_ns - drawing->offset_ns : 0;
    return arb_correction_fade(drawing->offset, passed, client->config.correction_half_life_ms);
}

void arb_client_offset_set(struct arbiter_client *client, struct arb_vec2 offset)
{
    client->drawing.offset = offset;
    client->drawing.offset_ns = client->now_ns;
}

/* ---- values ---- */

static void put_field(struct arbiter_entity *out, int index, float shown)
{
    if (index >= 0) {
        out->fields[index] = shown;
    }
}

/* All of them, those included that the kind has not: 0 times 0. A loop of fixed length over two
 * arrays apart is what compilers do four at a time. */
static void put_fields(float *restrict out, const int32_t *restrict q, const float *restrict units)
{
    for (int i = 0; i < ARB_KIND_FIELDS_MAX; i++) {
        out[i] = arb_dequantise(q[i], units[i]);
    }
}

/* All members; the caller says more where it is the own one or has a body. The drawn place goes
 * into the values as well. */
static inline void put_state(const struct arbiter_client *client, struct arbiter_entity *out,
                             const struct arb_published *state, const struct arb_drawn *drawn,
                             enum arbiter_drawn how)
{
    const struct arb_kind *kind = &client->match.schema->kinds[state->kind];
    out->key = arb_key_order(state->key);
    out->kind = state->kind;
    out->drawn = (uint8_t)how;
    out->is_own = false;
    out->field_count = kind->field_count;
    out->point_count = 0;
    out->points = NULL;
    /* What is drawn otherwise than published is put over them below, heading included. */
    put_fields(out->fields, state->q, client->match.units[state->kind]);
    int32_t owner = kind->owner < 0 ? 0 : state->q[kind->owner];
    out->owner = owner > 0 ? (uint16_t)(owner - 1) : ARBITER_NO_SLOT;
    out->jump = kind->jump < 0 ? 0 : (uint32_t)state->q[kind->jump];
    out->x = drawn->position.x;
    out->y = drawn->position.y;
    out->vx = drawn->velocity.x;
    out->vy = drawn->velocity.y;
    out->heading = drawn->heading;
    put_field(out, kind->x, out->x);
    put_field(out, kind->y, out->y);
    put_field(out, kind->vx, out->vx);
    put_field(out, kind->vy, out->vy);
    put_field(out, kind->heading, out->heading);
    if (kind->has_path) {
        out->heading = arb_move_angle(drawn->velocity);
    }
}

bool arbiter_client_newest(const struct arbiter_client *client, uint32_t key,
                           struct arbiter_point *place)
{
    struct arb_frame frame;
    if (!client->match.known || !arb_client_frame(client, &frame)) {
        return false;
    }
    for (uint32_t i = 0; i < frame.entity_count; i++) {
        const struct arb_published *state = &frame.entities[i];
        const struct arb_kind *kind = &client->match.schema->kinds[state->kind];
        if (arb_key_order(state->key) == key && !kind->has_path) {
            *place = (struct arbiter_point){arb_published_value(kind, state, kind->x),
                                            arb_published_value(kind, state, kind->y)};
            return true;
        }
    }
    return false;
}

/* ---- bodies ---- */

/* One of the two states that an entity is drawn from. */
struct side {
    const struct arb_published *state;
    const struct arb_point *points; /* of its body */
};

static struct side side_at(const struct arb_history *history, uint32_t frame, uint32_t entry)
{
    const struct arb_history_slot *slot = arb_history_at(history, frame);
    const struct arb_published *state = &slot->frame.entities[entry];
    return (struct side){state, slot->frame.points + state->body_first};
}

/* Room for `count` points of one body; fewer when the room ends. */
static struct arbiter_point *take_points(struct arbiter_client *client, uint32_t *count)
{
    struct arb_client_drawing *drawing = &client->drawing;
    uint32_t left = client->config.max_points - drawing->point_count;
    *count = *count < left ? *count : left;
    struct arbiter_point *points = drawing->points + drawing->point_count;
    drawing->point_count += *count;
    return points;
}

/* Point `index` of `of` evenly spread ones along a body of `count` points: matched by
 * i / (n - 1), 0 for n = 1, not by index. */
static struct arb_vec2 body_point(const struct arb_point *points, uint32_t count, float unit,
                                  uint32_t index, uint32_t of)
{
    uint32_t place = of > 1 ? index * (count - 1) / (of - 1) : 0;
    uint32_t rest = of > 1 ? index * (count - 1) % (of - 1) : 0;
    struct arb_vec2 a = {arb_dequantise(points[place].x, unit),
                         arb_dequantise(points[place].y, unit)};
    if (rest == 0) {
        return a;
    }
    struct arb_vec2 b = {arb_dequantise(points[place + 1].x, unit),
                         arb_dequantise(points[place + 1].y, unit)};
    return arb_move_lerp(a, b, (float)rest / (float)(of - 1));
}

_Static_assert(sizeof(struct arb_point) == 2 * sizeof(int32_t) &&
                   sizeof(struct arbiter_point) == 2 * sizeof(float),
               "two coordinates, one after the other");

/* arb_move_lerp of bodies of as many points, so that each meets its own: the usual case. Compilers
 * take plain numbers four at a time where they see that there are so many. */
static void lerp_body(float *restrict out, const int32_t *restrict a, const int32_t *restrict b,
                      size_t coordinates, float unit, float t)
{
    size_t fours = coordinates & ~(size_t)3;
    for (size_t i = 0; i < fours; i++) {
        float from = arb_dequantise(a[i], unit);
        out[i] = from + (arb_dequantise(b[i], unit) - from) * t;
    }
    for (size_t i = fours; i < coordinates; i++) {
        float from = arb_dequantise(a[i], unit);
        out[i] = from + (arb_dequantise(b[i], unit) - from) * t;
    }
}

/* `to` NULL: the body of `from` alone. */
static void put_body(struct arbiter_client *client, struct arbiter_entity *out,
                     const struct arb_kind *kind, const struct side *from, const struct side *to,
                     float t)
{
    uint32_t from_count = from->state->body_count;
    uint32_t to_count = to == NULL ? 0 : to->state->body_count;
    uint32_t wanted = from_count > to_count ? from_count : to_count;
    if (from_count == 0) {
        return;
    }
    uint32_t count = wanted;
    float unit = kind->fields[kind->x].unit;
    struct arbiter_point *points = take_points(client, &count);
    out->points = points;
    out->point_count = count;
    if (to_count == from_count || to_count == 0) {
        const struct arb_point *other = to_count == 0 ? from->points : to->points;
        lerp_body((float *)points, (const int32_t *)from->points, (const int32_t *)other,
                  2 * (size_t)count, unit, t);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 a = body_point(from->points, from_count, unit, i, wanted);
        struct arb_vec2 b = body_point(to->points, to_count, unit, i, wanted);
        struct arb_vec2 point = arb_move_lerp(a, b, t);
        points[i] = (struct arbiter_point){point.x, point.y};
    }
}

/* The way that the prediction went since the server's word, then the server's path, cut where it
 * has the length of the server's body. */
static void put_own_body(struct arbiter_client *client, struct arbiter_entity *out,
                         const struct arb_kind *kind, const struct arb_frame *frame,
                         const struct arb_published *state, struct arb_vec2 offset)
{
    const struct arb_predict *predict = &client->predict;
    const struct arb_point *path = frame->points + state->body_first;
    float unit = kind->fields[kind->x].unit;
    arb_tick shown = (arb_tick)(client->clocks.input.at / ARB_FINE_TICK);
    arb_tick newest = shown > 0 ? shown - 1 : 0;
    newest = newest < predict->predicted_tick ? newest : predict->predicted_tick;
    uint32_t ahead =
        newest > predict->confirmed_tick ? (uint32_t)(newest - predict->confirmed_tick) : 0;
    uint32_t count = 1 + ahead + state->body_count;
    struct arbiter_point *points = take_points(client, &count);
    float left = 0.0F;
    for (uint32_t i = 1; i < state->body_count; i++) {
        struct arb_vec2 a = {(float)path[i - 1].x * unit, (float)path[i - 1].y * unit};
        struct arb_vec2 b = {(float)path[i].x * unit, (float)path[i].y * unit};
        left += arb_vec2_distance(a, b);
    }
    struct arb_vec2 last = {out->x, out->y};
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 point = last;
        if (i > 0 && i <= ahead) {
            const struct arb_own *own = &predict->states[(newest - (i - 1)) % ARB_PREDICT_TICKS];
            point = (struct arb_vec2){own->x + offset.x, own->y + offset.y};
        } else if (i > ahead) {
            const struct arb_point *server = &path[i - 1 - ahead];
            point = (struct arb_vec2){(float)server->x * unit, (float)server->y * unit};
        }
        float length = arb_vec2_distance(last, point);
        if (length > left) {
            point = arb_move_lerp(last, point, left / length);
        }
        points[used++] = (struct arbiter_point){point.x, point.y};
        if (length > left) {
            break;
        }
        left -= length;
        last = point;
    }
    out->points = points;
    out->point_count = used;
}

/* ---- one entity ---- */

/* For put_state to fill; NULL: no room. */
static struct arbiter_entity *next_entity(struct arbiter_client *client)
{
    struct arb_client_drawing *drawing = &client->drawing;
    if (drawing->entity_count == client->config.max_entities) {
        return NULL;
    }
    return &drawing->entities[drawing->entity_count++];
}

/* Of the own player, worked out once a sample. */
struct own_picture {
    struct arb_predict_shown shown;
    struct arb_vec2 offset;
};

static void draw_own(struct arbiter_client *client, const struct own_picture *own)
{
    const struct arb_history_slot *newest = arb_history_newest(&client->snapshots.history);
    const struct arb_published *state = arb_frame_find(&newest->frame, newest->controlled);
    struct arbiter_entity *out = state == NULL ? NULL : next_entity(client);
    if (out == NULL) {
        return;
    }
    const struct arb_kind *kind = &client->match.schema->kinds[state->kind];
    struct arb_drawn drawn = {.heading = own->shown.heading,
                              .position = arb_vec2_add(own->shown.position, own->offset),
                              .velocity = own->shown.velocity};
    put_state(client, out, state, &drawn, ARBITER_PREDICTED);
    out->is_own = true;
    if (state->body_count > 0) {
        put_own_body(client, out, kind, &newest->frame, state, own->offset);
    }
}

_Static_assert((int)ARBITER_INTERPOLATED == (int)ARB_DRAWN_BETWEEN &&
                   (int)ARBITER_EXTRAPOLATED == (int)ARB_DRAWN_BEYOND &&
                   (int)ARBITER_FROZEN == (int)ARB_DRAWN_FROZEN,
               "said as it is");

/* The own player's earlier characters are not drawn: the own death is shown at once. */
static bool is_own_past(const struct arbiter_client *client, const struct arb_published *state)
{
    const struct arb_kind *kind = &client->match.schema->kinds[state->kind];
    return kind->owner >= 0 && !kind->has_path &&
           state->q[kind->owner] == client->match.welcome.player_slot + 1;
}

/* Entry `entry` of the frame that the view stands in. */
static void draw_other(struct arbiter_client *client, const struct arb_held_place *place,
                       uint32_t entry)
{
    const struct arb_history *history = &client->snapshots.history;
    const struct arb_welcome *welcome = &client->match.welcome;
    struct arb_held_states states;
    arb_held_states_of(&history->held, place, entry, &states);
    struct side from = side_at(history, states.from_frame, states.from_entry);
    const struct arb_kind *kind = &client->match.schema->kinds[from.state->kind];
    bool gone = is_own_past(client, from.state) ||
                (kind->has_path &&
                 arb_client_projectile_ended(client, from.state, states.from_tick, place->at));
    struct arbiter_entity *out = gone ? NULL : next_entity(client);
    if (out == NULL) {
        return;
    }
    bool two = states.to_tick > states.from_tick;
    struct side to = two ? side_at(history, states.to_frame, states.to_entry) : from;
    struct arb_drawn_rule rule = {welcome->snapshot_interval_ticks, welcome->tick_rate};
    struct arb_drawn_pair pair = {from.state, two ? to.state : NULL, states.from_tick,
                                  states.to_tick, place->at};
    struct arb_drawn drawn;
    arb_drawn_all(kind, &pair, &rule, &drawn);
    if (kind->has_path) {
        struct arb_vec2 offset = arb_client_projectile_offset(client, from.state->key);
        drawn.position = arb_vec2_add(drawn.position, offset);
    }
    put_state(client, out, from.state, &drawn, (enum arbiter_drawn)drawn.how);
    if (kind->has_body) {
        put_body(client, out, kind, &from, drawn.part > 0.0F ? &to : NULL, drawn.part);
    }
}

void arb_client_draw_shadow(struct arbiter_client *client, const struct arb_published *state,
                            struct arb_vec2 at, struct arb_vec2 speed)
{
    struct arbiter_entity *out = next_entity(client);
    if (out != NULL) {
        struct arb_drawn drawn = {.position = at, .velocity = speed};
        put_state(client, out, state, &drawn, ARBITER_PREDICTED);
    }
}

/* ---- all of them ---- */

/* `place` NULL: nothing of the others; `own` NULL: nothing of the own player. */
static void draw_all(struct arbiter_client *client, const struct arb_held_place *place,
                     const struct own_picture *own)
{
    const struct arb_history *history = &client->snapshots.history;
    const struct arb_history_slot *newest = arb_history_newest(history);
    bool has_own = own != NULL && newest != NULL;
    bool own_pending = has_own;
    if (place != NULL) {
        arb_client_projectiles_draw(client, place); /* without a key: before all others */
    }
    const struct arb_held_frame *frame = place == NULL ? NULL : &history->held.frames[place->from];
    for (uint32_t i = 0; frame != NULL && i < frame->count; i++) {
        struct arb_key key = frame->entries[i].key;
        if (own_pending && key.id >= newest->controlled.id) {
            draw_own(client, own);
            own_pending = false;
        }
        if (!has_own || !arb_key_equal(key, newest->controlled)) {
            draw_other(client, place, i);
        }
    }
    if (own_pending) {
        draw_own(client, own);
    }
}

/* ---- the sample ---- */

/* What the next inputs will say was on the screen. */
static void remember_drawn(struct arbiter_client *client, const struct arb_view *view)
{
    struct arb_client_controls *controls = &client->controls;
    controls->drawn = *view;
    controls->drawn_fraction =
        (uint8_t)((client->clocks.input.at & (ARB_FINE_TICK - 1)) / (ARB_FINE_TICK / 256));
}

/* Finds the view that this moment has; false: nothing is there to be drawn. */
static bool find_view(struct arbiter_client *client, struct arb_view *view,
                      struct arbiter_view *out)
{
    const struct arb_held *held = &client->snapshots.history.held;
    *view = (struct arb_view){0};
    if (!client->clocks.view.running || !arb_held_find(held, client->clocks.view.at, view)) {
        return false;
    }
    out->time = (struct arbiter_drawn_time){view->from_tick, view->to_tick, view->fraction};
    client->statistics.frozen_frames += view->from_tick == view->to_tick && view->fraction > 0;
    client->statistics.sampled_frames++;
    arb_client_line_drawn(client, view);
    return true;
}

static void sample_world(struct arbiter_client *client, const struct own_picture *own,
                         struct arbiter_view *out)
{
    struct arb_client_drawing *drawing = &client->drawing;
    const struct arb_held *held = &client->snapshots.history.held;
    struct arb_view view;
    struct arb_held_place place;
    bool anything = find_view(client, &view, out);
    if (anything) {
        bool found = arb_held_place(held, &view, &place);
        ARB_ASSERT(found);
    }
    drawing->entity_count = 0;
    drawing->point_count = 0;
    draw_all(client, anything ? &place : NULL, own);
    out->entities = drawing->entities;
    out->entity_count = drawing->entity_count;
    remember_drawn(client, &view);
}

static void sample_own(const struct arbiter_client *client, const struct own_picture *own,
                       struct arbiter_own *out)
{
    const struct arb_client_snapshots *snapshots = &client->snapshots;
    const struct arb_predict_shown *shown = &own->shown;
    out->exists = true;
    out->key = arb_key_order(snapshots->controlled);
    out->x = shown->position.x + own->offset.x;
    out->y = shown->position.y + own->offset.y;
    out->offset_x = own->offset.x;
    out->offset_y = own->offset.y;
    out->heading = shown->heading;
    out->vx = shown->velocity.x;
    out->vy = shown->velocity.y;
    out->confirmed_x = snapshots->own.x;
    out->confirmed_y = snapshots->own.y;
    out->confirmed_tick = snapshots->tick;
    out->weapon = shown->state.weapon;
    memcpy(out->magazine, shown->state.magazine, sizeof out->magazine);
    memcpy(out->reserve, shown->state.reserve, sizeof out->reserve);
    out->reload_ticks = shown->state.reload_ticks;
    out->boost = shown->state.boost != 0;
}

_Static_assert((int)ARBITER_WEAPONS_MAX == (int)ARB_WEAPONS_MAX, "copied as a whole");
_Static_assert((int)ARBITER_FIELDS_MAX == (int)ARB_KIND_FIELDS_MAX, "a value for each field");
_Static_assert((int)ARBITER_NAME_BYTES == (int)ARB_NAME_BYTES, "copied as a whole");
_Static_assert((int)ARBITER_BUTTONS == (int)ARB_BUTTON_COUNT, "a count for each button");

static void sample_players(struct arbiter_client *client, struct arbiter_view *out)
{
    struct arb_client_board *board = &client->board;
    for (uint32_t slot = 0; slot < board->capacity; slot++) {
        if (board->known[slot]) {
            board->out[out->player_count++] = board->players[slot];
        }
    }
    out->players = board->out;
}

static void sample_match(const struct arbiter_client *client, struct arbiter_view *out)
{
    const struct arb_client_board *board = &client->board;
    out->phase = board->phase;
    out->round = board->round;
    out->phase_end_tick = board->phase_end_tick;
    out->has_result = board->has_result;
    out->result_winner = ARBITER_NO_SLOT;
    if (board->has_result) {
        out->result_reason = (enum arbiter_end)board->result.reason;
        out->result_winner = board->result.winner_slot;
        out->result_team = board->result.winner_team;
    }
}

static enum arbiter_game game_now(const struct arbiter_client *client)
{
    switch (client->connection) {
    case ARBITER_OFFLINE:
        return client->game;
    case ARBITER_CONNECTING:
    case ARBITER_JOINING:
        return ARBITER_GAME_JOINING;
    case ARBITER_CONNECTED:
    case ARBITER_DISCONNECTING:
        break;
    }
    if (client->board.phase == ARBITER_MATCH_RESULT || client->board.phase == ARBITER_MATCH_ENDED) {
        return ARBITER_GAME_RESULT;
    }
    if (client->config.spectate) {
        return ARBITER_GAME_SPECTATING;
    }
    return client->snapshots.has_own ? ARBITER_GAME_PLAYING : ARBITER_GAME_WAITING;
}

void arbiter_client_sample(struct arbiter_client *client, uint64_t now_ns,
                           struct arbiter_view *view)
{
    if (now_ns > client->now_ns) {
        client->now_ns = now_ns;
    }
    memset(view, 0, sizeof *view);
    view->own_slot = ARBITER_NO_SLOT;
    if (client->match.known) {
        arb_client_clocks_advance(client, client->now_ns);
        arb_client_events_due(client, false);
        view->own_slot = client->match.welcome.player_slot;
        view->tick_rate = client->match.welcome.tick_rate;
        view->server_tick = (double)client->clocks.server.at / (double)ARB_FINE_TICK;
        view->silent_ms = arb_line_silent_ms(&client->line, client->now_ns);
        bool has_own = client->predict.has_state;
        struct own_picture own;
        if (has_own) {
            arb_client_own_shown(client, &own.shown);
            own.offset = arb_client_offset(client, client->now_ns);
            sample_own(client, &own, &view->own);
        }
        sample_world(client, has_own ? &own : NULL, view);
        if (client->config.spectate) {
            view->followed_key = arb_key_order(client->snapshots.controlled);
        }
    }
    sample_players(client, view);
    sample_match(client, view);
    if (view->phase_end_tick != 0 && view->tick_rate != 0) {
        double left = (double)view->phase_end_tick - view->server_tick;
        view->phase_left_s = left > 0.0 ? left / (double)view->tick_rate : 0.0;
    }
    view->event_count = arb_client_events_take(client);
    view->events = client->events.told;
    view->connection = client->connection;
    view->game = game_now(client);
}

void arb_client_glance(struct arbiter_client *client, struct arbiter_view *view)
{
    *view = (struct arbiter_view){.own_slot = ARBITER_NO_SLOT};
    if (client->match.known) {
        struct arb_view drawn;
        view->own_slot = client->match.welcome.player_slot;
        view->tick_rate = client->match.welcome.tick_rate;
        find_view(client, &drawn, view);
        remember_drawn(client, &drawn);
    }
    sample_match(client, view);
    arb_client_events_take(client);
    view->connection = client->connection;
    view->game = game_now(client);
}
