/* The shapes that a shot is tested against, for whoever draws or writes them down. */
#include "server/rewind/rewind_internal.h"

bool rewind_outline(const struct rewind *rewind, const struct rewind_past *past, struct arb_key key,
                    struct rewind_outline *out)
{
    struct rewind_query query;
    struct rewind_stance stance;
    if (!rewind_query_begin(&query, rewind, past) || !rewind_query_key(&query, key, &stance)) {
        return false;
    }
    out->centre = stance.position;
    out->count = (uint8_t)rewind_query_shapes(&query, &stance, out->shapes);
    return true;
}
