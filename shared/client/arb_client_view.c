/* What is drawn now: the others in the past, between the two states of each that are nearest around
 * the drawn time; the own player ahead, predicted (spec/client.md, spec/lag-compensation.md "What
 * the client sends"). No smoothing but the own player's offset: what is drawn of the others is what
 * the server's rewind computes. */
#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

/* ---- the own player ---- */

void arb_client_own_shown(const struct arbiter_client *client, struct arb_predict_shown *shown)
{
    struct arb_input now = arb_client_input_now(client);
    arb_predict_show(&client->predict, client->clocks.input.at, &now, shown);
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

static float value(const struct arb_kind *kind, const struct arb_published *state, int index)
{
    const struct arb_kind_field *field = &kind->fields[index];
    if (index == kind->heading && field->bits == 16) {
        return arb_turn16_to_angle((uint16_t)state->q[index]);
    }
    float shown = arb_dequantise(state->q[index], field->unit);
    return index == kind->heading ? arb_angle_wrap(shown) : shown;
}

static float value_or_0(const struct arb_kind *kind, const struct arb_published *state, int index)
{
    return index < 0 ? 0.0F : value(kind, state, index);
}

static struct arb_vec2 position(const struct arb_kind *kind, const struct arb_published *state)
{
    return (struct arb_vec2){value(kind, state, kind->x), value(kind, state, kind->y)};
}

static struct arb_vec2 velocity(const struct arb_kind *kind, const struct arb_published *state)
{
    return (struct arb_vec2){value_or_0(kind, state, kind->vx), value_or_0(kind, state, kind->vy)};
}

static void put_field(struct arbiter_entity *out, int index, float shown)
{
    if (index >= 0) {
        out->fields[index] = shown;
    }
}

/* Everything but place and shape; the drawn place goes into the values as well. */
static void put_state(struct arbiter_entity *out, const struct arb_kind *kind,
                      const struct arb_published *state, struct arb_vec2 at, struct arb_vec2 speed,
                      float heading)
{
    out->key = arb_key_order(state->key);
    out->kind = state->kind;
    out->field_count = kind->field_count;
    for (int i = 0; i < kind->field_count; i++) {
        out->fields[i] = value(kind, state, i);
    }
    int32_t owner = kind->owner < 0 ? 0 : state->q[kind->owner];
    out->owner = owner > 0 ? (uint16_t)(owner - 1) : ARBITER_NO_SLOT;
    out->jump = kind->jump < 0 ? 0 : (uint32_t)state->q[kind->jump];
    out->x = at.x;
    out->y = at.y;
    out->vx = speed.x;
    out->vy = speed.y;
    out->heading = heading;
    put_field(out, kind->x, at.x);
    put_field(out, kind->y, at.y);
    put_field(out, kind->vx, speed.x);
    put_field(out, kind->vy, speed.y);
    put_field(out, kind->heading, heading);
}

/* ---- bodies ---- */

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

/* The usual case: both have as many points, so each meets its own. */
static void lerp_points(struct arbiter_point *out, const struct arb_point *a,
                        const struct arb_point *b, uint32_t count, float unit, float t)
{
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 from = {arb_dequantise(a[i].x, unit), arb_dequantise(a[i].y, unit)};
        struct arb_vec2 to = {arb_dequantise(b[i].x, unit), arb_dequantise(b[i].y, unit)};
        struct arb_vec2 point = arb_move_lerp(from, to, t);
        out[i] = (struct arbiter_point){point.x, point.y};
    }
}

static void put_body(struct arbiter_client *client, struct arbiter_entity *out,
                     const struct arb_kind *kind, const struct arb_history_pair *pair,
                     const struct arb_published *to, float t)
{
    uint32_t from_count = pair->from->body_count;
    uint32_t to_count = to == NULL ? 0 : to->body_count;
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
        lerp_points(points, pair->from_points, to_count == 0 ? pair->from_points : pair->to_points,
                    count, unit, t);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct arb_vec2 a = body_point(pair->from_points, from_count, unit, i, wanted);
        struct arb_vec2 b = body_point(pair->to_points, to_count, unit, i, wanted);
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

static float extrapolated_ticks(const struct arb_history_view *view, arb_tick from)
{
    return (float)(view->at - (arb_fine)from * ARB_FINE_TICK) / (float)ARB_FINE_TICK;
}

static void draw_beyond(struct arbiter_client *client, const struct arb_history_view *view,
                        const struct arb_history_pair *pair, struct arbiter_entity *out)
{
    const struct arb_client_match *match = &client->match;
    const struct arb_kind *kind = &match->schema->kinds[pair->from->kind];
    uint32_t interval = match->welcome.snapshot_interval_ticks;
    float ticks = extrapolated_ticks(view, pair->from_tick);
    float heading = value_or_0(kind, pair->from, kind->heading);
    struct arb_vec2 at = position(kind, pair->from);
    struct arb_vec2 speed = velocity(kind, pair->from);
    out->drawn = ticks > 0.0F ? ARBITER_EXTRAPOLATED : ARBITER_INTERPOLATED;
    if (kind->has_body && ticks > 0.0F) {
        out->drawn = ARBITER_FROZEN;
        speed = (struct arb_vec2){0.0F, 0.0F};
    } else if (ticks > 0.0F) {
        at = arb_move_extrapolate(at, speed, ticks, interval, match->welcome.tick_rate);
        if (ticks > (float)arb_move_extrapolation_cap(interval)) {
            out->drawn = ARBITER_FROZEN;
            speed = (struct arb_vec2){0.0F, 0.0F};
        }
    }
    put_state(out, kind, pair->from, at, speed, heading);
    put_body(client, out, kind, pair, NULL, 0.0F);
}

static void draw_between(struct arbiter_client *client, const struct arb_history_view *view,
                         const struct arb_history_pair *pair, struct arbiter_entity *out)
{
    const struct arb_kind *kind = &client->match.schema->kinds[pair->from->kind];
    const struct arb_published *from = pair->from;
    const struct arb_published *to = pair->to;
    bool jumped = kind->jump >= 0 && from->q[kind->jump] != to->q[kind->jump];
    arb_fine start = (arb_fine)pair->from_tick * ARB_FINE_TICK;
    arb_fine span = (arb_fine)(pair->to_tick - pair->from_tick) * ARB_FINE_TICK;
    float t = jumped ? 0.0F : (float)(view->at - start) / (float)span;
    out->drawn = ARBITER_INTERPOLATED;
    struct arb_vec2 at = arb_move_lerp(position(kind, from), position(kind, to), t);
    struct arb_vec2 speed = arb_move_lerp(velocity(kind, from), velocity(kind, to), t);
    float heading = arb_move_lerp_angle(value_or_0(kind, from, kind->heading),
                                        value_or_0(kind, to, kind->heading), t);
    put_state(out, kind, from, at, speed, heading);
    put_body(client, out, kind, pair, jumped ? NULL : to, t);
}

static struct arbiter_entity *next_entity(struct arbiter_client *client)
{
    struct arb_client_drawing *drawing = &client->drawing;
    if (drawing->entity_count == client->config.max_entities) {
        return NULL;
    }
    struct arbiter_entity *out = &drawing->entities[drawing->entity_count++];
    memset(out, 0, sizeof *out);
    return out;
}

static void draw_own(struct arbiter_client *client)
{
    const struct arb_client_snapshots *snapshots = &client->snapshots;
    struct arb_frame frame = arb_history_frame(&snapshots->history, snapshots->history.count - 1);
    const struct arb_published *state = arb_frame_find(&frame, snapshots->header.controlled);
    struct arbiter_entity *out = state == NULL ? NULL : next_entity(client);
    if (out == NULL) {
        return;
    }
    const struct arb_kind *kind = &client->match.schema->kinds[state->kind];
    struct arb_predict_shown shown;
    arb_client_own_shown(client, &shown);
    struct arb_vec2 offset = arb_client_offset(client, client->now_ns);
    put_state(out, kind, state, arb_vec2_add(shown.position, offset), shown.velocity,
              shown.heading);
    out->drawn = ARBITER_PREDICTED;
    out->is_own = true;
    if (state->body_count > 0) {
        put_own_body(client, out, kind, &frame, state, offset);
    }
}

/* ---- all of them ---- */

/* An entity that a short budget left out of a snapshot comes back with one of the next. Until then
 * it goes on as if the newest snapshot were late, a little longer than that. */
static uint32_t linger_ticks(const struct arbiter_client *client)
{
    uint32_t interval = client->match.welcome.snapshot_interval_ticks;
    return arb_move_extrapolation_cap(interval) + interval;
}

static bool died(const struct arb_client_drawing *drawing, struct arb_key key)
{
    uint32_t held = drawing->dead_count < ARB_CLIENT_DEAD ? drawing->dead_count : ARB_CLIENT_DEAD;
    for (uint32_t i = 0; i < held; i++) {
        if (drawing->dead[i] == arb_key_order(key)) {
            return true;
        }
    }
    return false;
}

/* The own player's earlier characters are not drawn: the own death is shown at once. */
static bool is_own_past(const struct arbiter_client *client, const struct arb_published *state)
{
    const struct arb_kind *kind = &client->match.schema->kinds[state->kind];
    return kind->owner >= 0 && state->q[kind->owner] == client->match.welcome.player_slot + 1;
}

static void draw_other(struct arbiter_client *client, const struct arb_history_view *view,
                       const struct arb_published *known, bool lingers)
{
    struct arb_history_pair pair;
    if (is_own_past(client, known) ||
        !arb_history_pair(&client->snapshots.history, view, known->key, linger_ticks(client),
                          &pair) ||
        (lingers && pair.to == NULL && died(&client->drawing, known->key))) {
        return;
    }
    struct arbiter_entity *out = next_entity(client);
    if (out == NULL) {
        return;
    }
    if (pair.to == NULL || pair.to->kind != pair.from->kind) {
        draw_beyond(client, view, &pair, out);
    } else {
        draw_between(client, view, &pair, out);
    }
}

/* Frames that are walked side by side, newest first, each by ascending id. */
struct walk {
    struct arb_frame frames[ARB_HISTORY_FRAMES];
    uint32_t next[ARB_HISTORY_FRAMES];
    uint32_t count;
};

static void walk_begin(const struct arbiter_client *client, const struct arb_history_view *view,
                       struct walk *walk)
{
    const struct arb_history *history = &client->snapshots.history;
    arb_fine linger = (arb_fine)linger_ticks(client) * ARB_FINE_TICK;
    walk->count = 0;
    for (uint32_t i = view->from + 1; i-- > 0;) {
        struct arb_frame frame = arb_history_frame(history, i);
        if (i < view->from && view->at - (arb_fine)frame.tick * ARB_FINE_TICK > linger) {
            break;
        }
        walk->frames[walk->count] = frame;
        walk->next[walk->count++] = 0;
    }
}

/* The newest state of the next id; its older states, of whatever generation, are passed. */
static const struct arb_published *walk_next(struct walk *walk, bool *lingers)
{
    const struct arb_published *best = NULL;
    for (uint32_t i = 0; i < walk->count; i++) {
        const struct arb_frame *frame = &walk->frames[i];
        if (walk->next[i] < frame->entity_count) {
            const struct arb_published *state = &frame->entities[walk->next[i]];
            if (best == NULL || state->key.id < best->key.id) {
                best = state;
                *lingers = i > 0;
            }
        }
    }
    for (uint32_t i = 0; i < walk->count && best != NULL; i++) {
        const struct arb_frame *frame = &walk->frames[i];
        if (walk->next[i] < frame->entity_count &&
            frame->entities[walk->next[i]].key.id == best->key.id) {
            walk->next[i]++;
        }
    }
    return best;
}

static void draw_all(struct arbiter_client *client, const struct arb_history_view *view,
                     bool anything)
{
    struct arb_key own = client->snapshots.header.controlled;
    bool own_pending = client->predict.has_state && client->snapshots.history.count > 0;
    struct walk walk = {.count = 0};
    if (anything) {
        walk_begin(client, view, &walk);
    }
    bool lingers = false;
    const struct arb_published *state;
    while ((state = walk_next(&walk, &lingers)) != NULL) {
        if (own_pending && state->key.id >= own.id) {
            draw_own(client);
            own_pending = false;
        }
        if (!client->predict.has_state || state->key.id != own.id) {
            draw_other(client, view, state, lingers);
        }
    }
    if (own_pending) {
        draw_own(client);
    }
}

/* ---- the sample ---- */

/* What the next inputs will say was on the screen. */
static void remember_drawn(struct arbiter_client *client, const struct arbiter_drawn_time *time)
{
    struct arb_client_controls *controls = &client->controls;
    controls->drawn = (struct arb_view){
        .from_tick = time->from_tick,
        .to_tick = time->to_tick,
        .fraction = (uint16_t)time->fraction,
    };
    controls->drawn_fraction =
        (uint8_t)((client->clocks.input.at & (ARB_FINE_TICK - 1)) / (ARB_FINE_TICK / 256));
}

static void sample_world(struct arbiter_client *client, struct arbiter_view *out)
{
    struct arb_client_drawing *drawing = &client->drawing;
    const struct arb_history *history = &client->snapshots.history;
    struct arb_history_view view = {0};
    bool anything =
        client->clocks.view.running && arb_history_find(history, client->clocks.view.at, &view);
    if (anything) {
        out->time.from_tick = arb_history_frame(history, view.from).tick;
        out->time.to_tick = arb_history_frame(history, view.to).tick;
        out->time.fraction = view.fraction;
        client->statistics.frozen_frames += view.from == view.to && view.fraction > 0;
        client->statistics.sampled_frames++;
    }
    drawing->entity_count = 0;
    drawing->point_count = 0;
    draw_all(client, &view, anything);
    out->entities = drawing->entities;
    out->entity_count = drawing->entity_count;
    remember_drawn(client, &out->time);
}

static void sample_own(const struct arbiter_client *client, struct arbiter_own *out)
{
    const struct arb_client_snapshots *snapshots = &client->snapshots;
    if (!client->predict.has_state) {
        return;
    }
    struct arb_predict_shown shown;
    arb_client_own_shown(client, &shown);
    struct arb_vec2 offset = arb_client_offset(client, client->now_ns);
    out->exists = true;
    out->key = arb_key_order(snapshots->header.controlled);
    out->x = shown.position.x + offset.x;
    out->y = shown.position.y + offset.y;
    out->offset_x = offset.x;
    out->offset_y = offset.y;
    out->heading = shown.heading;
    out->vx = shown.velocity.x;
    out->vy = shown.velocity.y;
    out->confirmed_x = snapshots->own.x;
    out->confirmed_y = snapshots->own.y;
    out->confirmed_tick = snapshots->tick;
    out->weapon = shown.state.weapon;
    memcpy(out->magazine, shown.state.magazine, sizeof out->magazine);
    memcpy(out->reserve, shown.state.reserve, sizeof out->reserve);
    out->reload_ticks = shown.state.reload_ticks;
    out->boost = shown.state.boost != 0;
}

_Static_assert((int)ARBITER_WEAPONS_MAX == (int)ARB_WEAPONS_MAX, "copied as a whole");
_Static_assert((int)ARBITER_FIELDS_MAX == (int)ARB_KIND_FIELDS_MAX, "a value for each field");
_Static_assert((int)ARBITER_NAME_BYTES == (int)ARB_NAME_BYTES, "copied as a whole");
_Static_assert((int)ARBITER_BUTTONS == (int)ARB_BUTTON_COUNT, "a count for each button");

static void sample_board(struct arbiter_client *client, struct arbiter_view *out)
{
    struct arb_client_board *board = &client->board;
    out->phase = board->phase;
    out->round = board->round;
    out->phase_end_tick = board->phase_end_tick;
    for (uint32_t slot = 0; slot < board->capacity; slot++) {
        if (board->known[slot]) {
            board->out[out->player_count++] = board->players[slot];
        }
    }
    out->players = board->out;
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
    return client->predict.has_state ? ARBITER_GAME_PLAYING : ARBITER_GAME_WAITING;
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
        sample_world(client, view);
        sample_own(client, &view->own);
    }
    sample_board(client, view);
    if (view->phase_end_tick != 0 && view->tick_rate != 0) {
        double left = (double)view->phase_end_tick - view->server_tick;
        view->phase_left_s = left > 0.0 ? left / (double)view->tick_rate : 0.0;
    }
    view->events = client->events.out;
    view->event_count = arb_client_events_take(client);
    view->connection = client->connection;
    view->game = game_now(client);
}
