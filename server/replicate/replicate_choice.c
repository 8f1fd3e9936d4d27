/* Which entities go first when not all fit (spec/replication.md "Snapshots"): weight times
 * snapshots waited. What did not fit keeps its waiting, so its rank rises above every other in the
 * end and none starves. Without a baseline nothing waits: the client then sees what matters most,
 * the same with each snapshot, until it has acknowledged one.
 *
 * A crowd of a thousand around each of a thousand clients is where this counts, so it is linear:
 * ranks are small numbers, so that a chain of places per rank orders them, and what an entity costs
 * is asked only until the datagram is full. */
#include "server/replicate/replicate_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

enum {
    RANK_OWN = 255,
    /* Below: those that are overdue, by how long. Then the product of weight and waiting. */
    RANK_OVERDUE = REPLICATE_WEIGHT_MAX * REPLICATE_STARVING_SNAPSHOTS,
    RANKS = 256,
    NOBODY = UINT16_MAX, /* ends a chain; there are fewer places */
};

void replicate_choice_create(struct replicate *replicate, struct arb_arena *arena)
{
    uint32_t entities = replicate->config.entity_capacity;
    replicate->state_ticks = arb_arena_take_array(arena, entities, sizeof *replicate->state_ticks);
    replicate->base_places = arb_arena_take_array(arena, entities, sizeof *replicate->base_places);
    replicate->gone = arb_arena_take_array(arena, entities, sizeof *replicate->gone);
    replicate->leaving = arb_arena_take_array(arena, entities, sizeof *replicate->leaving);
    replicate->behind = arb_arena_take_array(arena, entities, sizeof *replicate->behind);
    replicate->due = arb_arena_take_array(arena, entities / 64 + 1, sizeof *replicate->due);
    replicate->chosen = arb_arena_take_array(arena, entities / 64 + 1, sizeof *replicate->chosen);
}

/* Nearer is more often: within 8, 16 and 32 m. Things that somebody steers count more than things
 * that lie there. By the square of the distance in steps of 64 m^2, so that no branch is needed:
 * how far somebody is from somebody else is as random as it can be. */
enum { RINGS = 17, RINGS_ROW = 32 };
#define RING_M2 64.0F
static const uint8_t ring_weights[2][RINGS_ROW] = {
    {5, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}, /* lying */
    {REPLICATE_WEIGHT_MAX, 6, 6, 6, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 1},
};

static inline float distance_squared(const struct replicate_spot *spot, struct arb_vec2 eye)
{
    float dx = spot->x - eye.x;
    float dy = spot->y - eye.y;
    return dx * dx + dy * dy;
}

static inline uint32_t weight_of(const struct replicate_spot *spot, struct arb_vec2 eye)
{
    uint32_t ring = (uint32_t)(int32_t)(distance_squared(spot, eye) * (1.0F / RING_M2));
    return ring_weights[spot->is_steered][ring < RINGS ? ring : RINGS - 1];
}

/* ---- rates by distance ---- */

static void set_all(uint64_t *set, uint32_t count)
{
    memset(set, 0xFF, ((size_t)count / 64 + 1) * sizeof *set);
}

/* The turns of a client's far entities are spread over its snapshots by their ids. */
void replicate_find_due(const struct replicate_job *job)
{
    struct replicate *replicate = job->replicate;
    float far = replicate->config.far_m * replicate->config.far_m;
    uint32_t every = replicate->config.far_every;
    uint32_t id = job->state->newest + 1;
    set_all(replicate->due, job->count);
    replicate->all_due = !(far > 0.0F) || every < 2;
    if (replicate->all_due) return;
    for (uint32_t place = 0; place < job->count; place++) {
        if (distance_squared(&replicate->spots[job->visible[place]], job->eye) <= far) continue;
        struct arb_key key = replicate->frame->entities[job->visible[place]].key;
        if ((id + key.id) % every == 0 || arb_key_equal(key, job->head.controlled)) continue;
        replicate->due[place / 64] &= ~(UINT64_C(1) << (place % 64));
    }
}

/* ---- how long each has waited ---- */

/* Snapshots since the entity was last carried, or since it is in view; renews the track. `id` is
 * this snapshot's, `whole` that of the last which carried all and touched no track. */
static inline uint32_t waited(struct replicate_track *track, struct arb_key key, uint32_t id,
                              uint32_t whole)
{
    /* Seen for this id already when the snapshot was held back before. */
    if (track->generation != key.generation || id - track->seen > 1) {
        track->since = id - 1;
        track->generation = key.generation;
    }
    track->seen = id;
    return id - (track->since > whole ? track->since : whole);
}

static inline uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline bool is_overdue(uint32_t rank)
{
    return rank > RANK_OVERDUE && rank < RANK_OWN;
}

/* ---- ranks and the order by them ---- */

static inline void choose_place(uint64_t *set, uint32_t place)
{
    set[place / 64] |= UINT64_C(1) << (place % 64);
}

/* The update of an entity that the baseline has, else its enter. */
static uint32_t cost_of(const struct replicate_job *job, uint32_t place)
{
    struct replicate *replicate = job->replicate;
    uint32_t index = job->visible[place];
    uint32_t ticks = replicate->state_ticks[place];
    if (ticks > 0) return replicate_update_bits(replicate, index, ticks);
    return replicate_enter_of(replicate, index)->bits + ARB_DELTA_ENTER_BITS_MAX;
}

/* What the ranks of one snapshot have in common, in registers. */
struct ranking {
    struct arb_vec2 eye;
    uint32_t id, whole, base_lag; /* snapshot ids; since the baseline */
    uint32_t own;                 /* key order */
    uint32_t old_ticks;
    const uint8_t *age_of_ticks;
    bool has_base;
};

/* `ticks` since the state that the baseline has; 0: it has none. Overdue is who must go first,
 * whatever it is and where: it waited too long; or its state is old, and what carried it since then
 * was lost, or this baseline lacks it. */
static inline uint32_t rank_of(const struct ranking *ranking, const struct replicate_spot *spot,
                               struct replicate_track *tracks, uint32_t ticks, bool is_due)
{
    if (spot->order == ranking->own) return RANK_OWN;
    uint32_t weight = weight_of(spot, ranking->eye);
    if (!ranking->has_base) return weight;
    struct arb_key key = arb_key_of_order(spot->order);
    uint32_t wait = waited(&tracks[key.id], key, ranking->id, ranking->whole);
    bool lost = ticks >= ranking->old_ticks && wait > ranking->base_lag;
    if (wait >= REPLICATE_STARVING_SNAPSHOTS || lost) {
        uint32_t age = ranking->age_of_ticks[ticks];
        return lesser(RANK_OVERDUE + (wait > age ? wait : age), RANK_OWN - 1);
    }
    /* Rates: its turn comes. */
    return ticks == 0 || is_due ? weight * wait : 0;
}

static struct ranking ranking_of(const struct replicate_job *job)
{
    uint32_t id = job->state->newest + 1;
    return (struct ranking){.eye = job->eye,
                            .id = id,
                            .whole = job->state->whole,
                            .base_lag = id - job->base_id,
                            .own = arb_key_order(job->head.controlled),
                            .old_ticks = job->replicate->old_ticks,
                            .age_of_ticks = job->replicate->age_of_ticks,
                            .has_base = job->base_id != 0};
}

/* Finds out what the baseline has of each place, and what is gone. Both lists ascend by key. */
static void match_base(const struct replicate_job *job)
{
    struct replicate *replicate = job->replicate;
    const struct replicate_spot *spots = replicate->spots;
    const struct arb_held_entry *base = job->base_entries;
    const uint32_t *visible = job->visible;
    uint16_t *state_ticks = replicate->state_ticks;
    uint16_t *base_places = replicate->base_places;
    uint32_t at = 0, gone = 0, most = 0, base_ticks = job->base_ticks;
    uint32_t count = job->count, base_count = job->base_count;
    uint32_t next = base_count > 0 ? arb_key_order(base[0].key) : UINT32_MAX; /* above all keys */
    for (uint32_t place = 0; place < count; place++) {
        uint32_t order = spots[visible[place]].order;
        while (next < order) {
            replicate->gone[gone++] = (uint16_t)at++;
            next = at < base_count ? arb_key_order(base[at].key) : UINT32_MAX;
        }
        uint32_t ticks = 0;
        base_places[place] = (uint16_t)at;
        if (next == order) {
            ticks = base_ticks + base[at++].age;
            next = at < base_count ? arb_key_order(base[at].key) : UINT32_MAX;
        }
        state_ticks[place] = (uint16_t)ticks;
        most = ticks > most ? ticks : most;
    }
    while (at < base_count) {
        replicate->gone[gone++] = (uint16_t)at++;
    }
    replicate->gone_count = gone;
    replicate->most_ticks = most;
}

/* The places of one rank hang together, ascending, that is by key; the choice goes down the ranks.
 * What did not fit was passed for good. */
struct choice {
    uint16_t first[RANKS];
    uint32_t count; /* that need something */
    uint32_t rank;  /* where the choice stands */
    uint32_t place; /* NOBODY: at the next rank */
};

static uint32_t next_place(const struct replicate *replicate, struct choice *choice)
{
    while (choice->place == NOBODY) {
        if (choice->rank <= 1) return NOBODY;
        choice->place = choice->first[--choice->rank];
    }
    uint32_t place = choice->place;
    choice->place = replicate->behind[place];
    return place;
}

static void go_to_top(struct choice *choice)
{
    choice->rank = RANKS;
    choice->place = NOBODY;
}

/* From the last place on, since each goes to the front of its chain. What lies there unchanged is
 * chosen at once and needs no rank. */
static void rank_all(const struct replicate_job *job, struct choice *choice)
{
    struct replicate *replicate = job->replicate;
    struct ranking ranking = ranking_of(job);
    struct replicate_track *tracks = job->state->tracks;
    const struct replicate_spot *spots = replicate->spots;
    const uint32_t *visible = job->visible;
    const uint16_t *state_ticks = replicate->state_ticks;
    const uint64_t *due = replicate->due;
    uint16_t *behind = replicate->behind;
    bool all_due = replicate->all_due;
    uint32_t ranked = 0;
    memset(choice->first, 0xFF, sizeof choice->first);
    for (uint32_t place = job->count; place-- > 0;) {
        const struct replicate_spot *spot = &spots[visible[place]];
        uint32_t ticks = state_ticks[place];
        bool is_due = all_due || replicate_bit(due, place);
        uint32_t rank = rank_of(&ranking, spot, tracks, ticks, is_due);
        if (!spot->is_steered && ticks > 0 && rank > 0 && cost_of(job, place) == 0) {
            choose_place(replicate->chosen, place);
            rank = 0;
        }
        behind[place] = choice->first[rank];
        choice->first[rank] = (uint16_t)place;
        ranked += rank > 0;
    }
    choice->count = ranked;
    go_to_top(choice);
}

/* ---- choosing ---- */

enum {
    MISSES_MAX = 16,  /* smaller ones further down are tried so often, then it is full */
    WORTH_BITS = 400, /* for less, no second attempt is made */
};

/* Chooses by rank into `bits_left`; returns how many. */
static uint32_t choose(const struct replicate_job *job, struct choice *choice, size_t bits_left)
{
    struct replicate *replicate = job->replicate;
    uint32_t added = 0;
    uint32_t misses = 0;
    while (misses < MISSES_MAX) {
        uint32_t place = next_place(replicate, choice);
        if (place == NOBODY) break;
        uint32_t bits = cost_of(job, place);
        if (bits <= bits_left) {
            bits_left -= bits;
            choose_place(replicate->chosen, place);
            added++;
        } else {
            misses++;
        }
    }
    return added;
}

size_t replicate_one_datagram(const struct replicate_job *job)
{
    size_t payload = job->replicate->config.chunk_payload_bytes;
    return job->capacity < payload ? job->capacity : payload;
}

/* The own part and the room behind it in `capacity` bytes of stream. False: not even the own part
 * fits. */
static bool begin(const struct replicate_job *job, size_t capacity, struct arb_delta_writer *writer,
                  size_t *room)
{
    bool fits = replicate_begin_stream(job, capacity, writer);
    *room = fits ? arb_delta_room(writer) : 0;
    return fits;
}

/* What goes before all others and does not wait for a better moment: the own entity, and the
 * foremost of the others. */
static uint32_t foremost_bits(const struct replicate_job *job, struct choice *choice,
                              bool *starving)
{
    const struct replicate *replicate = job->replicate;
    uint32_t bits = 0;
    *starving = false;
    for (uint32_t place; (place = next_place(replicate, choice)) != NOBODY;) {
        uint32_t cost = cost_of(job, place);
        bits += cost;
        if (cost == 0 || choice->rank == RANK_OWN) continue;
        *starving = is_overdue(choice->rank);
        break;
    }
    go_to_top(choice);
    return bits;
}

/* Begins the stream with as many bytes as this snapshot may have: one datagram, more when the
 * foremost does not fit it. False: it should wait for more credit. */
static bool begin_sized(const struct replicate_job *job, struct choice *choice, bool may_wait,
                        struct arb_delta_writer *writer, size_t *room)
{
    bool starving;
    uint32_t foremost = foremost_bits(job, choice, &starving);
    size_t payload = job->replicate->config.chunk_payload_bytes;
    size_t capacity = replicate_one_datagram(job);
    for (;;) {
        bool fits = begin(job, capacity, writer, room);
        if (fits && *room >= foremost) return true;
        if (capacity == job->capacity) return fits && !(starving && may_wait);
        capacity = capacity + payload < job->capacity ? capacity + payload : job->capacity;
    }
}

bool replicate_encode_chosen(const struct replicate_job *job, struct replicate_pass *pass,
                             uint32_t *deferred)
{
    struct replicate *replicate = job->replicate;
    /* A full bucket will not get fuller: then what fits goes. */
    bool may_wait = job->state->credit < replicate_rate_depth(replicate, job->state);
    if (may_wait && job->capacity < REPLICATE_USEFUL_BYTES) return false;
    memset(replicate->chosen, 0, ((size_t)job->count / 64 + 1) * sizeof(uint64_t));
    struct choice choice;
    match_base(job);
    rank_all(job, &choice);
    struct arb_delta_writer writer;
    size_t room;
    if (!begin_sized(job, &choice, may_wait, &writer, &room)) return false;
    *deferred = choice.count;
    uint32_t added = choose(job, &choice, room);
    do {
        *deferred -= added;
        bool fits = replicate_encode_part(job, &writer, pass);
        ARB_ASSERT(fits);
        /* Keys of those who enter were counted at their longest: once more for what is left, if it
           is worth it. */
        size_t left = room - pass->spent;
        added = left >= WORTH_BITS ? choose(job, &choice, left) : 0;
    } while (added > 0);
    return true;
}
