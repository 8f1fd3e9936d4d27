/* Who stood where: from two published states to a place, by the formulas of drawing. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/view/arb_held.h"

static arb_tick clamp_tick(arb_tick tick, arb_tick low, arb_tick high)
{
    return tick < low ? low : tick > high ? high : tick;
}

bool rewind_moment_of(const struct rewind *rewind, struct arb_view view,
                      struct rewind_moment *moment)
{
    ARB_ASSERT(!rewind->open);
    const struct arb_frame *newest = rewind_newest(rewind);
    if (newest == NULL) {
        return false;
    }
    uint64_t held = rewind->committed < rewind->samples ? rewind->committed : rewind->samples;
    arb_tick oldest = newest->tick - (held - 1);
    bool is_pair = view.from_tick < view.to_tick;
    struct arb_view near = {.from_tick = clamp_tick(view.from_tick, oldest, newest->tick),
                            .fraction = view.fraction};
    near.to_tick = clamp_tick(view.to_tick, near.from_tick, newest->tick);
    if (is_pair) {
        bool still_two = near.from_tick < near.to_tick;
        near.fraction = !still_two ? 0 : view.fraction > 256 ? 256 : view.fraction;
    }
    moment->at = arb_view_at(&near);
    bool at_end = is_pair && near.fraction == 256;
    moment->from = rewind_frame(rewind, at_end ? near.to_tick : near.from_tick);
    moment->to =
        near.from_tick < near.to_tick && !at_end ? rewind_frame(rewind, near.to_tick) : NULL;
    return true;
}

/* Few entities come and go, so most stand in the guessed place. */
static const struct arb_published *find_id(const struct arb_frame *frame, uint16_t id,
                                           uint32_t guess)
{
    if (guess < frame->entity_count && frame->entities[guess].key.id == id) {
        return &frame->entities[guess];
    }
    uint32_t low = 0, high = frame->entity_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (frame->entities[middle].key.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < frame->entity_count && frame->entities[low].key.id == id;
    return found ? &frame->entities[low] : NULL;
}

static void place(const struct rewind *rewind, struct rewind_stance *stance)
{
    const struct arb_kind *kind = &rewind->config.schema->kinds[stance->state->kind];
    stance->position = arb_drawn_position(kind, &stance->drawn, &rewind->rule);
}

bool rewind_stance_at(const struct rewind *rewind, const struct rewind_moment *moment, uint16_t id,
                      struct rewind_stance *stance)
{
    uint32_t guess = rewind->leaves[id].index;
    const struct arb_published *from = find_id(moment->from, id, guess);
    if (from == NULL) {
        return false;
    }
    const struct arb_published *to = moment->to == NULL ? NULL : find_id(moment->to, id, guess);
    if (to != NULL && !arb_key_equal(from->key, to->key)) {
        to = NULL;
    }
    stance->state = from;
    stance->drawn =
        (struct arb_drawn_pair){.from = from,
                                .to = to,
                                .from_tick = moment->from->tick,
                                .to_tick = to == NULL ? moment->from->tick : moment->to->tick,
                                .at = moment->at};
    place(rewind, stance);
    return true;
}

/* NULL when that frame is not held, or lacks it. */
static const struct arb_published *state_of(const struct rewind *rewind, struct arb_key key,
                                            arb_tick tick)
{
    const struct arb_frame *frame = rewind_frame(rewind, tick);
    const struct arb_published *state =
        frame == NULL ? NULL : find_id(frame, key.id, rewind->leaves[key.id].index);
    return state != NULL && arb_key_equal(state->key, key) ? state : NULL;
}

bool rewind_stance_of(const struct rewind *rewind, const struct rewind_pair *pair, arb_fine at,
                      struct rewind_stance *stance)
{
    bool is_two = pair->to_tick > pair->from_tick;
    if (pair->key.id >= rewind->config.entity_capacity ||
        at < (arb_fine)pair->from_tick * ARB_FINE_TICK ||
        (is_two && at > (arb_fine)pair->to_tick * ARB_FINE_TICK)) {
        return false;
    }
    const struct arb_published *from = state_of(rewind, pair->key, pair->from_tick);
    const struct arb_published *to = is_two ? state_of(rewind, pair->key, pair->to_tick) : NULL;
    if (from == NULL || (is_two && to == NULL)) {
        return false;
    }
    stance->state = from;
    stance->drawn = (struct arb_drawn_pair){.from = from,
                                            .to = to,
                                            .from_tick = pair->from_tick,
                                            .to_tick = is_two ? pair->to_tick : pair->from_tick,
                                            .at = at};
    place(rewind, stance);
    return true;
}

float rewind_stance_heading(const struct rewind *rewind, const struct rewind_stance *stance)
{
    return arb_drawn_heading(&rewind->config.schema->kinds[stance->state->kind], &stance->drawn);
}

static void tell(const struct rewind *rewind, const struct rewind_stance *stance,
                 struct arb_vec2 *position, float *heading)
{
    *position = stance->position;
    if (heading != NULL) {
        *heading = rewind_stance_heading(rewind, stance);
    }
}

bool rewind_pose(const struct rewind *rewind, struct arb_key key, struct arb_view view,
                 struct arb_vec2 *position, float *heading)
{
    struct rewind_moment moment;
    struct rewind_stance stance;
    if (key.id >= rewind->config.entity_capacity || !rewind_moment_of(rewind, view, &moment) ||
        !rewind_stance_at(rewind, &moment, key.id, &stance) ||
        !arb_key_equal(stance.state->key, key)) {
        return false;
    }
    tell(rewind, &stance, position, heading);
    return true;
}

bool rewind_pose_of_pair(const struct rewind *rewind, const struct rewind_pair *pair,
                         struct arb_view view, struct arb_vec2 *position, float *heading)
{
    struct rewind_stance stance;
    if (rewind_newest(rewind) == NULL ||
        !rewind_stance_of(rewind, pair, arb_view_at(&view), &stance)) {
        return false;
    }
    tell(rewind, &stance, position, heading);
    return true;
}
