/* What every question to the past begins with: which states count for whom. */
#include "server/rewind/rewind_internal.h"

#include "shared/base/arb_math.h"
#include "shared/move/arb_move.h"
#include "shared/view/arb_held.h"

bool rewind_query_begin(struct rewind_query *query, const struct rewind *rewind,
                        const struct rewind_past *past)
{
    query->rewind = rewind;
    query->past = *past;
    if (!rewind_moment_of(rewind, past->view, &query->moment)) {
        return false;
    }
    query->at = arb_view_at(&past->view);
    /* The tree holds the bounds of the newest `samples` frames at least. */
    arb_tick newest = rewind_newest(rewind)->tick;
    query->sure = newest >= rewind->samples ? newest - rewind->samples + 1 : 0;
    query->any_older = false;
    for (uint32_t i = 0; past->pairs != NULL && i < past->pair_count; i++) {
        query->any_older |= past->pairs[i].from_tick < query->sure;
    }
    return true;
}

static const struct rewind_pair *find_pair(const struct rewind_past *past, uint16_t id)
{
    uint32_t low = 0, high = past->pair_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (past->pairs[middle].key.id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low < past->pair_count && past->pairs[low].key.id == id;
    return found ? &past->pairs[low] : NULL;
}

/* A client that held two states around its view drew a line from one to the other, whatever came
 * in between later; of the others it learned with the next snapshot. */
static bool is_over(const struct rewind_query *query, const struct rewind_pair *pair)
{
    arb_fine until = query->past.pairs_until;
    if (until != 0 && pair != NULL && pair->to_tick > pair->from_tick) {
        until = (arb_fine)pair->to_tick * ARB_FINE_TICK;
    }
    return until != 0 && query->at >= until;
}

bool rewind_query_stance(const struct rewind_query *query, uint16_t id,
                         struct rewind_stance *stance, bool *unseen)
{
    *unseen = false;
    const struct rewind_pair *pair = query->past.pairs == NULL ? NULL : find_pair(&query->past, id);
    if (query->past.pairs == NULL || is_over(query, pair)) {
        return rewind_stance_at(query->rewind, &query->moment, id, stance);
    }
    if (pair != NULL && pair->from_tick < query->sure) {
        return false;
    }
    if (pair != NULL && rewind_stance_of(query->rewind, pair, query->at, stance)) {
        return true;
    }
    *unseen = true;
    return rewind_stance_at(query->rewind, &query->moment, id, stance) &&
           (pair == NULL || !arb_key_equal(pair->key, stance->state->key));
}

bool rewind_query_key(const struct rewind_query *query, struct arb_key key,
                      struct rewind_stance *stance)
{
    if (key.id >= query->rewind->config.entity_capacity) {
        return false;
    }
    const struct rewind_pair *pair =
        query->past.pairs == NULL ? NULL : find_pair(&query->past, key.id);
    bool there = query->past.pairs == NULL || is_over(query, pair)
                     ? rewind_stance_at(query->rewind, &query->moment, key.id, stance)
                     : pair != NULL && rewind_stance_of(query->rewind, pair, query->at, stance);
    return there && arb_key_equal(stance->state->key, key);
}

bool rewind_query_older(const struct rewind_query *query, uint32_t index,
                        struct rewind_stance *stance)
{
    const struct rewind_pair *pair = &query->past.pairs[index];
    return pair->from_tick < query->sure && !is_over(query, pair) &&
           rewind_stance_of(query->rewind, pair, query->at, stance);
}

bool rewind_query_spares(const struct rewind_query *query, const struct arb_published *state)
{
    const struct rewind_past *past = &query->past;
    int8_t team = query->rewind->facts[state->kind].team;
    return arb_key_equal(state->key, past->shooter) ||
           (past->team_filter && past->shooter_team != 0 && team != REWIND_NO_TEAM &&
            state->q[team] == past->shooter_team);
}

static struct arb_vec2 placed(struct arb_vec2 point, struct arb_vec2 direction,
                              struct arb_vec2 centre)
{
    struct arb_vec2 turned = {point.x * direction.x - point.y * direction.y,
                              point.x * direction.y + point.y * direction.x};
    return arb_vec2_add(centre, turned);
}

uint32_t rewind_query_shapes(const struct rewind_query *query, const struct rewind_stance *stance,
                             struct rewind_shape out[REWIND_SHAPES_MAX])
{
    const struct rewind *rewind = query->rewind;
    const struct rewind_kind *kind = &rewind->kinds[stance->state->kind];
    struct arb_vec2 direction = {1, 0};
    if (!rewind->facts[stance->state->kind].centred) {
        direction = arb_move_direction(rewind_stance_heading(rewind, stance));
    }
    for (uint8_t i = 0; i < kind->count; i++) {
        out[i] = kind->shapes[i];
        out[i].a = placed(kind->shapes[i].a, direction, stance->position);
        out[i].b = placed(kind->shapes[i].b, direction, stance->position);
    }
    return kind->count;
}

static bool comes_before(const struct rewind_hit *a, const struct rewind_hit *b)
{
    return a->distance != b->distance ? a->distance < b->distance
                                      : arb_key_order(a->victim) < arb_key_order(b->victim);
}

uint32_t rewind_hit_insert(struct rewind_hit *hits, uint32_t count, uint32_t most,
                           const struct rewind_hit *hit)
{
    uint32_t at = count;
    if (count == most) {
        if (!comes_before(hit, &hits[most - 1])) {
            return count;
        }
        at--;
    } else {
        count++;
    }
    for (; at > 0 && comes_before(hit, &hits[at - 1]); at--) {
        hits[at] = hits[at - 1];
    }
    hits[at] = *hit;
    return count;
}

void rewind_places(const struct rewind *rewind, const struct rewind_past *past,
                   const struct arb_key *keys, uint32_t count, struct rewind_place *out)
{
    struct rewind_query query;
    bool any = rewind_query_begin(&query, rewind, past);
    for (uint32_t i = 0; i < count; i++) {
        struct rewind_stance stance;
        out[i] = (struct rewind_place){0};
        if (any && rewind_query_key(&query, keys[i], &stance)) {
            out[i] = (struct rewind_place){true, stance.position,
                                           rewind_stance_heading(rewind, &stance)};
        }
    }
}
