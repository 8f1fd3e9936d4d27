/* Which entities go first when not all fit (spec/replication.md "Snapshots"): weight times
 * snapshots waited. What did not fit keeps its waiting, so its priority rises above every other in
 * the end and none starves. Without a baseline nothing waits: the client then sees what matters
 * most, the same with each snapshot, until it has acknowledged one. */
#include "server/replicate/replicate_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* Nearer is more often. Things that somebody steers count more than things that lie there. */
static const struct {
    float within_m;
    uint32_t steered, lying;
} weight_rows[] = {
    {8.0F, REPLICATE_WEIGHT_MAX, 5},
    {16.0F, 6, 3},
    {32.0F, 3, 2},
};

static float distance_squared(const struct replicate_job *job, uint32_t place)
{
    const struct replicate_spot *spot = &job->replicate->spots[job->visible[place]];
    float dx = spot->x - job->eye.x;
    float dy = spot->y - job->eye.y;
    return dx * dx + dy * dy;
}

static uint32_t weight_of(const struct replicate_job *job, uint32_t place)
{
    const struct replicate *replicate = job->replicate;
    uint8_t kind = (uint8_t)replicate->spots[job->visible[place]].kind;
    bool steered = replicate->config.schema->kinds[kind].owner >= 0;
    float distance = distance_squared(job, place);
    for (size_t i = 0; i < sizeof weight_rows / sizeof weight_rows[0]; i++) {
        if (distance <= weight_rows[i].within_m * weight_rows[i].within_m) {
            return steered ? weight_rows[i].steered : weight_rows[i].lying;
        }
    }
    return 1;
}

/* ---- rates by distance ---- */

static void set_all(uint64_t *set, uint32_t count)
{
    memset(set, 0xFF, ((size_t)count / 64 + 1) * sizeof *set);
}

/* The turns of a client's far entities are spread over its snapshots by their ids. */
void replicate_find_due(const struct replicate_job *job)
{
    const struct replicate *replicate = job->replicate;
    float far = replicate->config.far_m * replicate->config.far_m;
    uint32_t every = replicate->config.far_every;
    uint32_t id = job->state->newest + 1;
    set_all(replicate->due, job->count);
    if (!(far > 0.0F) || every < 2) return;
    for (uint32_t place = 0; place < job->count; place++) {
        if (distance_squared(job, place) <= far) continue;
        struct arb_key key = replicate->frame->entities[job->visible[place]].key;
        if ((id + key.id) % every == 0 || arb_key_equal(key, job->head.controlled)) continue;
        replicate->due[place / 64] &= ~(UINT64_C(1) << (place % 64));
    }
}

/* ---- how long each has waited ---- */

/* Snapshots since the entity was last carried, or since it is in view; renews the track. */
static uint32_t waited(const struct replicate_job *job, uint32_t place)
{
    struct arb_key key = job->replicate->frame->entities[job->visible[place]].key;
    struct replicate_track *track = &job->state->tracks[key.id];
    uint32_t id = job->state->newest + 1;
    /* Seen for this id already when the snapshot was held back before. */
    bool known =
        track->generation == key.generation && (track->seen == id || track->seen + 1 == id);
    if (!known) {
        track->since = id - 1;
        track->generation = key.generation;
    }
    track->seen = id;
    /* Snapshots that carried all touch no track. */
    uint32_t since = track->since > job->state->whole ? track->since : job->state->whole;
    return id - since;
}

/* What an entity is to this snapshot besides what it costs. */
struct claim {
    uint32_t place;
    uint32_t wait; /* snapshots */
    uint32_t age;  /* snapshots, of the state that the baseline has; 0: it has none */
};

/* Must go first, whatever it is and where. */
static bool is_overdue(const struct replicate_job *job, const struct claim *claim)
{
    /* What carried it since then was lost, or this baseline lacks it. */
    bool lost = claim->age >= REPLICATE_OLD_SNAPSHOTS &&
                claim->wait > job->state->newest + 1 - job->base_id;
    return claim->wait >= REPLICATE_STARVING_SNAPSHOTS || lost;
}

/* Those that are overdue are above UINT32_MAX / 2. */
static uint32_t priority_of(const struct replicate_job *job, const struct claim *claim)
{
    const struct arb_frame *frame = job->replicate->frame;
    struct arb_key key = frame->entities[job->visible[claim->place]].key;
    if (arb_key_equal(key, job->head.controlled)) return UINT32_MAX;
    if (job->base_id == 0) return weight_of(job, claim->place);
    const uint32_t most = UINT32_MAX / (4 * REPLICATE_WEIGHT_MAX);
    uint32_t wait = claim->wait < most ? claim->wait : most;
    if (is_overdue(job, claim)) {
        return UINT32_MAX / 2 + (wait > claim->age ? wait : claim->age);
    }
    return weight_of(job, claim->place) * wait;
}

static bool is_starving(uint32_t priority)
{
    return priority > UINT32_MAX / 2 && priority < UINT32_MAX;
}

/* ---- a heap with the highest priority first, ties by place (= by key) ---- */

static bool before(const struct replicate_candidate *a, const struct replicate_candidate *b)
{
    return a->priority > b->priority || (a->priority == b->priority && a->place < b->place);
}

static void sift_down(struct replicate_candidate *heap, uint32_t count, uint32_t at)
{
    struct replicate_candidate moving = heap[at];
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && before(&heap[child + 1], &heap[child])) child++;
        if (!before(&heap[child], &moving)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moving;
}

static struct replicate_candidate pop(struct replicate_candidate *heap, uint32_t *count)
{
    struct replicate_candidate top = heap[0];
    heap[0] = heap[--*count];
    if (*count > 0) sift_down(heap, *count, 0);
    return top;
}

static void choose_place(uint64_t *set, uint32_t place)
{
    set[place / 64] |= UINT64_C(1) << (place % 64);
}

/* What the place would cost: the update of an entity that the baseline has (`old`), else its enter.
 */
static uint32_t cost_of(const struct replicate_job *job, uint32_t index,
                        const struct arb_held_entry *old)
{
    struct replicate *replicate = job->replicate;
    if (old != NULL) return replicate_update(replicate, index, job->base_ticks + old->age)->bits;
    const uint32_t *first_bit = &replicate->records.first_bit[index];
    return first_bit[1] - first_bit[0] + ARB_DELTA_ENTER_BITS_MAX;
}

static void list_place(const struct replicate_job *job, uint32_t place,
                       const struct arb_held_entry *old, uint32_t *count)
{
    struct replicate *replicate = job->replicate;
    struct claim claim = {.place = place};
    if (job->base_id != 0) claim.wait = waited(job, place);
    if (old != NULL) claim.age = replicate->age_of_ticks[job->base_ticks + old->age];
    if (old != NULL && !replicate_bit(replicate->due, place) && !is_overdue(job, &claim)) return;
    replicate->bits[place] = cost_of(job, job->visible[place], old);
    if (replicate->bits[place] == 0) {
        choose_place(replicate->chosen, place);
    } else {
        replicate->heap[(*count)++] = (struct replicate_candidate){priority_of(job, &claim), place};
    }
}

/* All that cost something, with what they cost, into the heap; what is unchanged is chosen at once.
 * Returns how many are in it. */
static uint32_t list_candidates(const struct replicate_job *job)
{
    struct replicate *replicate = job->replicate;
    const struct arb_held_entry *old = job->base_entries;
    const struct arb_held_entry *end = old + job->base_count;
    uint32_t count = 0;
    for (uint32_t place = 0; place < job->count; place++) {
        uint32_t order = replicate->spots[job->visible[place]].order;
        while (old < end && arb_key_order(old->key) < order) {
            old++;
        }
        bool has = old < end && arb_key_order(old->key) == order;
        list_place(job, place, has ? old : NULL, &count);
    }
    for (uint32_t i = count / 2; i > 0; i--) {
        sift_down(replicate->heap, count, i - 1);
    }
    return count;
}

/* ---- choosing ---- */

enum { MISSES_MAX = 16 }; /* smaller ones further down are tried so often, then it is full */

/* Chooses by priority into `bits_left`; returns how many. *waiting of the heap stay in it, those
 * that did not fit are put aside for good. */
static uint32_t choose(const struct replicate_job *job, size_t bits_left, uint32_t *waiting)
{
    struct replicate *replicate = job->replicate;
    uint32_t added = 0;
    uint32_t misses = 0;
    while (*waiting > 0 && misses < MISSES_MAX) {
        struct replicate_candidate top = pop(replicate->heap, waiting);
        uint32_t bits = replicate->bits[top.place];
        if (bits <= bits_left) {
            bits_left -= bits;
            choose_place(replicate->chosen, top.place);
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

/* Bits that updates and enters may have in `capacity` bytes of stream. False: not even the own part
 * fits. */
static bool room_in(const struct replicate_job *job, size_t capacity, size_t *room)
{
    struct replicate *replicate = job->replicate;
    struct arb_delta_writer writer;
    bool fits = arb_delta_begin(&writer, &replicate->rule, &job->head,
                                job->base_id != 0 ? &job->base_head : NULL, job->base_ticks,
                                job->base_count, replicate->stream, capacity);
    *room = fits ? arb_delta_room(&writer) : 0;
    return fits;
}

/* What goes before all others and does not wait for a better moment: the own entity, and the
 * foremost of the others. */
static uint32_t foremost_bits(const struct replicate *replicate, uint32_t waiting, bool *starving)
{
    uint32_t bits = 0;
    *starving = false;
    if (waiting == 0) return 0;
    const struct replicate_candidate *heap = replicate->heap;
    const struct replicate_candidate *top = &heap[0];
    if (top->priority == UINT32_MAX) {
        bits = replicate->bits[top->place];
        top = waiting > 1 ? &heap[1] : NULL;
        if (waiting > 2 && before(&heap[2], &heap[1])) top = &heap[2];
    }
    if (top == NULL) return bits;
    *starving = is_starving(top->priority);
    return bits + replicate->bits[top->place];
}

/* Bytes of stream for this snapshot: one datagram, more when the foremost does not fit it. 0: it
 * should wait for more credit. */
static size_t size_for(const struct replicate_job *job, uint32_t waiting, bool may_wait)
{
    bool starving;
    uint32_t foremost = foremost_bits(job->replicate, waiting, &starving);
    size_t payload = job->replicate->config.chunk_payload_bytes;
    size_t capacity = replicate_one_datagram(job);
    size_t room;
    while (!room_in(job, capacity, &room) || room < foremost) {
        if (capacity == job->capacity) return starving && may_wait ? 0 : capacity;
        capacity = capacity + payload < job->capacity ? capacity + payload : job->capacity;
    }
    return capacity;
}

bool replicate_encode_chosen(const struct replicate_job *job, struct replicate_pass *pass,
                             uint32_t *deferred)
{
    struct replicate *replicate = job->replicate;
    /* A full bucket will not get fuller: then what fits goes. */
    bool may_wait = job->state->credit < replicate->depth;
    if (may_wait && job->capacity < REPLICATE_USEFUL_BYTES) return false;
    memset(replicate->chosen, 0, ((size_t)job->count / 64 + 1) * sizeof(uint64_t));
    uint32_t waiting = list_candidates(job);
    size_t capacity = size_for(job, waiting, may_wait);
    size_t room;
    if (!room_in(job, capacity, &room)) return false;
    *deferred = waiting;
    uint32_t added = choose(job, room, &waiting);
    do {
        *deferred -= added;
        bool fits = replicate_encode(job, replicate->chosen, false, capacity, pass);
        ARB_ASSERT(fits);
        /* Keys of those who enter were counted at their longest: once more for what is left. */
        added = pass->enters > 0 ? choose(job, room - pass->spent, &waiting) : 0;
    } while (added > 0);
    return true;
}
