/* Which entities go first when not all fit (spec/replication.md "Snapshots"): weight times
 * snapshots waited. What did not fit keeps its waiting, so its priority rises above every other in
 * the end and none starves. */
#include "server/replicate/replicate_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

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

static uint32_t weight_of(const struct replicate_job *job, const struct arb_published *entity)
{
    const struct arb_kind *kind = &job->replicate->config.schema->kinds[entity->kind];
    float x = arb_dequantise(entity->q[kind->x], kind->fields[kind->x].unit);
    float y = arb_dequantise(entity->q[kind->y], kind->fields[kind->y].unit);
    float distance = arb_vec2_distance((struct arb_vec2){x, y}, job->eye);
    for (size_t i = 0; i < sizeof weight_rows / sizeof weight_rows[0]; i++) {
        if (distance <= weight_rows[i].within_m) {
            return kind->owner >= 0 ? weight_rows[i].steered : weight_rows[i].lying;
        }
    }
    return 1;
}

uint32_t replicate_priority(const struct replicate_job *job, uint32_t place)
{
    const struct arb_published *entity = &job->replicate->frame->entities[job->visible[place]];
    if (arb_key_equal(entity->key, job->client->controlled)) return UINT32_MAX;
    uint32_t waited = job->state->newest + 1 - job->state->tracks[entity->key.id].since;
    uint32_t most = UINT32_MAX / (2 * REPLICATE_WEIGHT_MAX);
    return weight_of(job, entity) * (waited < most ? waited : most);
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

static bool is_chosen(const struct replicate *replicate, uint32_t place)
{
    return (replicate->chosen[place / 64] >> (place % 64) & 1) != 0;
}

/* All that is not chosen yet. */
static uint32_t fill_heap(const struct replicate_job *job)
{
    struct replicate_candidate *heap = job->replicate->heap;
    uint32_t count = 0;
    for (uint32_t place = 0; place < job->count; place++) {
        if (is_chosen(job->replicate, place)) continue;
        heap[count++] = (struct replicate_candidate){replicate_priority(job, place), place};
    }
    for (uint32_t i = count / 2; i > 0; i--) {
        sift_down(heap, count, i - 1);
    }
    return count;
}

static uint32_t record_bits(const struct replicate_job *job, uint32_t place)
{
    const uint32_t *first_bit = &job->replicate->records.first_bit[job->visible[place]];
    return first_bit[1] - first_bit[0] + ARB_SNAPSHOT_KEY_BITS_MAX;
}

/* An entity that has waited too long for room goes before everything else, if need be with a pause
 * of the stream: the bucket fills up to what the largest entity needs. */
static bool is_starving(const struct replicate_job *job, uint32_t place)
{
    struct arb_key key = job->replicate->frame->entities[job->visible[place]].key;
    uint32_t waited = job->state->newest + 1 - job->state->tracks[key.id].since;
    return waited > REPLICATE_STARVING_SNAPSHOTS;
}

enum { MISSES_MAX = 16 }; /* smaller ones further down are tried so often, then it is full */

/* Chooses by priority into `bits_left`; returns how many were added. *hold: the foremost beside the
 * own entity starves and does not fit. */
static uint32_t choose(const struct replicate_job *job, size_t bits_left, bool *hold)
{
    struct replicate *replicate = job->replicate;
    uint32_t waiting = fill_heap(job);
    uint32_t added = 0;
    uint32_t misses = 0;
    bool foremost = true;
    *hold = false;
    while (waiting > 0 && misses < MISSES_MAX) {
        struct replicate_candidate top = pop(replicate->heap, &waiting);
        uint32_t bits = record_bits(job, top.place);
        if (bits <= bits_left) {
            bits_left -= bits;
            replicate->chosen[top.place / 64] |= UINT64_C(1) << (top.place % 64);
            added++;
        } else {
            misses++;
            *hold = *hold || (foremost && is_starving(job, top.place));
        }
        foremost = foremost && top.priority == UINT32_MAX;
    }
    return added;
}

/* The stream of what is chosen; always fits. *bits_left is what is still free. */
static size_t encode(const struct replicate_job *job, size_t *bits_left)
{
    struct replicate *replicate = job->replicate;
    struct arb_snapshot_writer writer;
    arb_snapshot_begin(&writer, replicate->own_fields, job->own, replicate->stream, job->capacity);
    for (uint32_t place = 0; place < job->count; place++) {
        if (!is_chosen(replicate, place)) continue;
        uint32_t index = job->visible[place];
        struct arb_key key = replicate->frame->entities[index].key;
        bool fits = arb_snapshot_add(&writer, key, &replicate->records, index);
        ARB_ASSERT(fits);
    }
    *bits_left = job->capacity * 8 - writer.bits.bit;
    return arb_snapshot_end(&writer);
}

size_t replicate_encode_chosen(const struct replicate_job *job, uint32_t *chosen_count)
{
    struct replicate *replicate = job->replicate;
    /* A full bucket will not get fuller: then what fits goes. */
    bool may_wait = job->state->credit < replicate->depth;
    if (may_wait && job->capacity < REPLICATE_USEFUL_BYTES) return 0;
    memset(replicate->chosen, 0, ((size_t)job->count / 64 + 1) * sizeof(uint64_t));
    size_t bits_left = 0;
    size_t size = encode(job, &bits_left);
    if (size == 0) return 0; /* not even the own part */
    bool hold;
    uint32_t added = choose(job, bits_left, &hold);
    if (hold && may_wait) return 0;
    *chosen_count = 0;
    /* Keys were counted at their longest: further rounds fill what they did not need. */
    while (added > 0) {
        *chosen_count += added;
        size = encode(job, &bits_left);
        added = choose(job, bits_left, &hold);
    }
    return size;
}
