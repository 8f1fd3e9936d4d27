#include "shared/view/arb_drawn.h"

#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"

/* rad (-pi, pi]: the steps of a turn, of which the upper half is to the right. */
static inline float heading_of(const struct arb_kind *kind, const struct arb_published *state)
{
    if (kind->heading < 0) {
        return 0.0F;
    }
    const struct arb_kind_field *field = &kind->fields[kind->heading];
    int32_t turn = state->q[kind->heading];
    int32_t whole = 1 << field->bits;
    return arb_dequantise(turn > whole / 2 ? turn - whole : turn, field->unit);
}

float arb_published_value(const struct arb_kind *kind, const struct arb_published *state, int index)
{
    if (index < 0) {
        return 0.0F;
    }
    if (index == kind->heading) {
        return heading_of(kind, state);
    }
    return arb_dequantise(state->q[index], kind->fields[index].unit);
}

/* arb_published_value of what is no angle. */
static inline float length_of(const struct arb_kind *kind, const struct arb_published *state,
                              int index)
{
    return index < 0 ? 0.0F : arb_dequantise(state->q[index], kind->fields[index].unit);
}

static inline struct arb_vec2 position_of(const struct arb_kind *kind,
                                          const struct arb_published *state)
{
    return (struct arb_vec2){length_of(kind, state, kind->x), length_of(kind, state, kind->y)};
}

static inline struct arb_vec2 velocity_of(const struct arb_kind *kind,
                                          const struct arb_published *state)
{
    return (struct arb_vec2){length_of(kind, state, kind->vx), length_of(kind, state, kind->vy)};
}

/* The start is never ahead of a tick that has the entity; of the moments that its low bits may
 * mean, the newest one. */
static arb_fine start_of(const struct arb_kind *kind, const struct arb_published *state,
                         arb_tick tick)
{
    uint64_t moments = tick * (ARB_FINE_TICK / ARB_PATH_MOMENT);
    uint64_t mask = (UINT64_C(1) << kind->fields[kind->start].bits) - 1;
    uint64_t passed = (moments - (uint64_t)state->q[kind->start]) & mask;
    return (arb_fine)(moments - passed) * ARB_PATH_MOMENT;
}

struct arb_path arb_published_path(const struct arb_kind *kind, const struct arb_published *state,
                                   arb_tick tick)
{
    return (struct arb_path){
        .origin = position_of(kind, state),
        .velocity = velocity_of(kind, state),
        .start = start_of(kind, state, tick),
    };
}

struct arb_vec2 arb_published_position(const struct arb_kind *kind,
                                       const struct arb_published *state, arb_tick tick,
                                       uint32_t tick_rate)
{
    if (!kind->has_path) {
        return position_of(kind, state);
    }
    struct arb_path path = arb_published_path(kind, state, tick);
    return arb_path_at(&path, tick_rate, (arb_fine)tick * ARB_FINE_TICK);
}

/* A jump lies between the two: the earlier state holds until the later tick. */
static bool jumped(const struct arb_kind *kind, const struct arb_drawn_pair *pair)
{
    return kind->jump >= 0 && pair->from->q[kind->jump] != pair->to->q[kind->jump];
}

static bool blends(const struct arb_kind *kind, const struct arb_drawn_pair *pair)
{
    return pair->to != NULL && pair->to->kind == pair->from->kind && !jumped(kind, pair);
}

/* Of two that blend. */
static float part_of(const struct arb_drawn_pair *pair)
{
    arb_fine start = (arb_fine)pair->from_tick * ARB_FINE_TICK;
    arb_fine span = (arb_fine)(pair->to_tick - pair->from_tick) * ARB_FINE_TICK;
    return (float)(pair->at - start) / (float)span;
}

float arb_drawn_part(const struct arb_kind *kind, const struct arb_drawn_pair *pair)
{
    return blends(kind, pair) ? part_of(pair) : 0.0F;
}

/* Ticks past the one state there is. */
static float ticks_beyond(const struct arb_drawn_pair *pair)
{
    if (pair->to != NULL) {
        return 0.0F;
    }
    return (float)(pair->at - (arb_fine)pair->from_tick * ARB_FINE_TICK) / (float)ARB_FINE_TICK;
}

enum arb_drawn_how arb_drawn_how(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                                 const struct arb_drawn_rule *rule)
{
    float ticks = ticks_beyond(pair);
    if (ticks <= 0.0F) {
        return ARB_DRAWN_BETWEEN;
    }
    if (kind->has_path) {
        return ARB_DRAWN_BEYOND; /* its path has no end that would freeze it */
    }
    bool beyond =
        !kind->has_body && ticks <= (float)arb_move_extrapolation_cap(rule->interval_ticks);
    return beyond ? ARB_DRAWN_BEYOND : ARB_DRAWN_FROZEN;
}

/* A long body keeps its last shape, head included. */
struct arb_vec2 arb_drawn_position(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                                   const struct arb_drawn_rule *rule)
{
    if (kind->has_path) {
        struct arb_path path = arb_published_path(kind, pair->from, pair->from_tick);
        return arb_path_at(&path, rule->tick_rate, pair->at);
    }
    struct arb_vec2 from = position_of(kind, pair->from);
    if (blends(kind, pair)) {
        return arb_move_lerp(from, position_of(kind, pair->to), arb_drawn_part(kind, pair));
    }
    float ticks = ticks_beyond(pair);
    if (ticks <= 0.0F || kind->has_body) {
        return from;
    }
    return arb_move_extrapolate(from, velocity_of(kind, pair->from), ticks, rule->interval_ticks,
                                rule->tick_rate);
}

float arb_drawn_heading(const struct arb_kind *kind, const struct arb_drawn_pair *pair)
{
    float from = heading_of(kind, pair->from);
    if (!blends(kind, pair)) {
        return from;
    }
    return arb_move_lerp_angle(from, heading_of(kind, pair->to), arb_drawn_part(kind, pair));
}

struct arb_vec2 arb_drawn_velocity(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                                   const struct arb_drawn_rule *rule)
{
    if (blends(kind, pair)) {
        return arb_move_lerp(velocity_of(kind, pair->from), velocity_of(kind, pair->to),
                             arb_drawn_part(kind, pair));
    }
    bool frozen = arb_drawn_how(kind, pair, rule) == ARB_DRAWN_FROZEN;
    return frozen ? (struct arb_vec2){0.0F, 0.0F} : velocity_of(kind, pair->from);
}

/* The usual case is worked out in one go; whatever stands alone or flies, one by one. */
void arb_drawn_all(const struct arb_kind *kind, const struct arb_drawn_pair *pair,
                   const struct arb_drawn_rule *rule, struct arb_drawn *out)
{
    if (kind->has_path || !blends(kind, pair)) {
        out->how = arb_drawn_how(kind, pair, rule);
        out->part = arb_drawn_part(kind, pair);
        out->heading = arb_drawn_heading(kind, pair);
        out->position = arb_drawn_position(kind, pair, rule);
        out->velocity = arb_drawn_velocity(kind, pair, rule);
        return;
    }
    const struct arb_published *from = pair->from, *to = pair->to;
    float part = part_of(pair);
    out->how = ARB_DRAWN_BETWEEN;
    out->part = part;
    out->position = arb_move_lerp(position_of(kind, from), position_of(kind, to), part);
    out->velocity = arb_move_lerp(velocity_of(kind, from), velocity_of(kind, to), part);
    out->heading = heading_of(kind, from);
    if (kind->heading >= 0 && from->q[kind->heading] != to->q[kind->heading]) {
        out->heading = arb_move_lerp_angle(out->heading, heading_of(kind, to), part);
    }
}
