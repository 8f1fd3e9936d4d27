/* What each client holds: the entries of its newest sent snapshots, packed one behind the other in
 * a ring of their own. Its first part is enough where some dozens are in view, and lies beside
 * those of the other clients: of a thousand the page tables alone would not stay in the caches.
 * Behind it is room for the largest frames of all, of which places are used again from the start as
 * soon as they are free, so that only what is in view takes memory. */
#include "server/replicate/replicate_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* No remembered snapshot has entries within first..first + count. */
static bool is_free(const struct replicate_state *state, size_t first, uint32_t count)
{
    uint32_t begin = (uint32_t)first, end = begin + count, met = 0;
    for (uint32_t i = 0; i < REPLICATE_RING; i++) {
        met |= (uint32_t)(end > state->firsts[i]) & (uint32_t)(state->ends[i] > begin);
    }
    return met == 0;
}

static void forget(struct replicate_state *state, uint32_t place)
{
    state->sent[place].id = 0;
    state->firsts[place] = 0;
    state->ends[place] = 0;
}

/* Behind all that is remembered in the large part. */
static size_t top_of(const struct replicate_state *state)
{
    uint32_t top = REPLICATE_ENTRIES;
    for (uint32_t i = 0; i < REPLICATE_RING; i++) {
        top = state->ends[i] > top ? state->ends[i] : top;
    }
    return top;
}

/* Where `count` entries fit, `capacity` when nowhere. In the first part always behind the newest
 * there, after its end from its start: so it is full only when what is remembered fills it. In the
 * large one at the start, else behind the newest there, else behind all. */
static size_t find_place(const struct replicate_state *state, size_t capacity, uint32_t count)
{
    size_t behind = state->behind + count <= REPLICATE_ENTRIES ? state->behind : 0;
    if (count <= REPLICATE_ENTRIES && is_free(state, behind, count)) return behind;
    if (is_free(state, REPLICATE_ENTRIES, count)) return REPLICATE_ENTRIES;
    behind = state->behind_wide;
    if (behind >= REPLICATE_ENTRIES && behind + count <= capacity &&
        is_free(state, behind, count)) {
        return behind;
    }
    size_t top = top_of(state);
    return top + count <= capacity ? top : capacity;
}

struct arb_held_entry *replicate_remember(const struct replicate *replicate,
                                          struct replicate_state *state, uint32_t count,
                                          arb_tick tick)
{
    size_t capacity =
        REPLICATE_ENTRIES + (size_t)REPLICATE_RING * replicate->config.entity_capacity;
    ARB_ASSERT(count <= replicate->config.entity_capacity);
    uint32_t id = state->newest + 1;
    uint32_t oldest = id; /* its place in the ring: the one that is 64 older, then newer ones */
    size_t first;
    do {
        forget(state, oldest++ % REPLICATE_RING);
        first = find_place(state, capacity, count);
    } while (first == capacity);
    state->newest = id;
    state->sent[id % REPLICATE_RING] = (struct replicate_sent){
        .id = id, .entity_count = count, .first = (uint32_t)first, .tick = tick};
    state->firsts[id % REPLICATE_RING] = (uint32_t)first;
    state->ends[id % REPLICATE_RING] = (uint32_t)first + count;
    *(first < REPLICATE_ENTRIES ? &state->behind : &state->behind_wide) = (uint32_t)first + count;
    return replicate_entries(state, first);
}

uint32_t replicate_held(const struct replicate *replicate, uint16_t client, uint16_t held,
                        struct arb_held *out)
{
    ARB_ASSERT(client < replicate->config.client_capacity);
    const struct replicate_state *state = &replicate->clients[client];
    /* One ring ahead of zero, as in replicate_ack. */
    uint64_t bias = UINT64_C(1) << 16;
    uint64_t wide = arb_widen16(held, state->newest + bias);
    uint32_t asked = wide > bias ? (uint32_t)(wide - bias) : 0;
    uint32_t last = asked < state->newest_acked ? asked : state->newest_acked;
    uint32_t first = last > ARB_HELD_FRAMES ? last - ARB_HELD_FRAMES + 1 : 1;
    out->count = 0;
    for (uint32_t id = first; id <= last; id++) {
        const struct replicate_sent *sent = &state->sent[id % REPLICATE_RING];
        if (sent->id != id || !sent->acked) continue;
        out->frames[out->count++] =
            (struct arb_held_frame){.tick = sent->tick,
                                    .id = id,
                                    .count = sent->entity_count,
                                    .entries = replicate_entries(state, sent->first)};
    }
    bool known = out->count > 0 && out->frames[out->count - 1].id == asked;
    return known ? asked : 0;
}

void replicate_note_shown(struct replicate *replicate, uint16_t client,
                          const struct arb_held_entry *entries, uint32_t count)
{
    struct replicate_shown *shown = &replicate->shown[client];
    memset(shown, 0, sizeof *shown);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = entries[i].key.id;
        shown->ids[id / 64 % REPLICATE_SHOWN_WORDS] |= UINT64_C(1) << id % 64;
    }
}

static bool names(const struct replicate_state *state, const struct replicate_sent *sent,
                  struct arb_key key)
{
    const struct arb_held_entry *entries = replicate_entries(state, sent->first);
    uint32_t low = 0, high = sent->entity_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (arb_key_order(entries[middle].key) < arb_key_order(key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < sent->entity_count && arb_key_equal(entries[low].key, key);
}

bool replicate_shows(const struct replicate *replicate, uint16_t client, struct arb_key key)
{
    ARB_ASSERT(client < replicate->config.client_capacity);
    const struct replicate_state *state = &replicate->clients[client];
    const struct replicate_shown *shown = &replicate->shown[client];
    if ((shown->ids[key.id / 64 % REPLICATE_SHOWN_WORDS] >> key.id % 64 & 1) == 0) {
        return false;
    }
    const struct replicate_sent *sent = replicate_sent(replicate, client, state->newest);
    return sent != NULL && names(state, sent, key);
}

bool replicate_showed(const struct replicate *replicate, uint16_t client, struct arb_key key,
                      arb_tick before)
{
    ARB_ASSERT(client < replicate->config.client_capacity);
    const struct replicate_state *state = &replicate->clients[client];
    for (uint32_t id = state->newest; id != 0; id--) {
        const struct replicate_sent *sent = replicate_sent(replicate, client, id);
        if (sent == NULL) return false;
        if (sent->tick >= before) continue;
        /* Mostly the newest, of which the ids alone say no. */
        return id == state->newest ? replicate_shows(replicate, client, key)
                                   : names(state, sent, key);
    }
    return false;
}
