/* How late a shot was for its victim: cover and abilities that the shooter did not see yet. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_math.h"
#include "shared/view/arb_held.h"

static bool is_covered(const struct rewind *rewind, const struct arb_published *state,
                       struct arb_vec2 origin)
{
    const struct arb_kind *kind = &rewind->config.schema->kinds[state->kind];
    struct arb_vec2 centre = {
        arb_dequantise(state->q[kind->x], kind->fields[kind->x].unit),
        arb_dequantise(state->q[kind->y], kind->fields[kind->y].unit),
    };
    float fraction;
    return arb_geometry_ray(rewind->geometry, origin, arb_vec2_sub(centre, origin), &fraction);
}

/* A frame at the view's moment or before shows nothing that the shooter did not know, so cover is
 * never longer than the shot was rewound. */
uint32_t rewind_cover_ticks(const struct rewind *rewind, struct arb_key victim,
                            struct arb_vec2 origin, struct arb_view view, uint32_t most)
{
    const struct arb_frame *newest = rewind_newest(rewind);
    arb_fine seen = arb_view_at(&view);
    uint32_t count = 0;
    while (count < most && newest != NULL && newest->tick >= count) {
        const struct arb_frame *frame = rewind_frame(rewind, newest->tick - count);
        if (frame == NULL || (arb_fine)frame->tick * ARB_FINE_TICK <= seen) {
            break;
        }
        const struct arb_published *state = arb_frame_find(frame, victim);
        if (state == NULL || !is_covered(rewind, state, origin)) {
            break;
        }
        count++;
    }
    return count;
}

static bool is_sheltered(const struct rewind_mercy *mercy, struct arb_key key, arb_fine seen)
{
    uint32_t low = 0, high = mercy->shelter_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (arb_key_order(mercy->shelters[middle].key) < arb_key_order(key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < mercy->shelter_count && arb_key_equal(mercy->shelters[low].key, key) &&
           seen < (arb_fine)mercy->shelters[low].since * ARB_FINE_TICK;
}

bool rewind_query_forgives(const struct rewind_query *query, struct arb_key key)
{
    const struct rewind_mercy *mercy = query->past.mercy;
    if (mercy == NULL) {
        return false;
    }
    return is_sheltered(mercy, key, query->at) ||
           (mercy->cover_ticks > 0 &&
            rewind_cover_ticks(query->rewind, key, mercy->origin, query->past.view,
                               mercy->cover_ticks) == mercy->cover_ticks);
}

bool rewind_forgives(const struct rewind *rewind, const struct rewind_past *past,
                     struct arb_key key)
{
    struct rewind_query query;
    return rewind_query_begin(&query, rewind, past) && rewind_query_forgives(&query, key);
}
