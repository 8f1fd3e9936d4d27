/* The shapes that a shot is tested against, for whoever draws or writes them down. */
#include "server/rewind/rewind_internal.h"

static bool find(const struct rewind_query *query, struct arb_key key, struct rewind_stance *stance)
{
    const struct rewind_past *past = &query->past;
    if (past->pairs == NULL) {
        bool unseen;
        return rewind_query_stance(query, key.id, stance, &unseen) &&
               arb_key_equal(stance->state->key, key);
    }
    for (uint32_t i = 0; i < past->pair_count; i++) {
        if (arb_key_equal(past->pairs[i].key, key)) {
            return rewind_stance_of(query->rewind, &past->pairs[i], query->at, stance);
        }
    }
    return false;
}

bool rewind_outline(const struct rewind *rewind, const struct rewind_past *past, struct arb_key key,
                    struct rewind_outline *out)
{
    struct rewind_query query;
    struct rewind_stance stance;
    if (key.id >= rewind->config.entity_capacity || !rewind_query_begin(&query, rewind, past) ||
        !find(&query, key, &stance)) {
        return false;
    }
    out->centre = stance.position;
    out->count = (uint8_t)rewind_query_shapes(&query, &stance, out->shapes);
    return true;
}
