/* Snapshots for clients that look with the same eye and hold the same baseline: word for word the
 * same but for their head, so the stream is encoded for the first of them and copied for the
 * others. All that it was made from is compared. Two baselines are the same when they have the same
 * number: each snapshot that is encoded gets one of its own, unless it leaves its client with the
 * very same as another one of this tick did its. */
#include "server/replicate/replicate_internal.h"

#include <string.h>

void replicate_copy_create(struct replicate *replicate, struct arb_arena *arena)
{
    const struct replicate_config *config = &replicate->config;
    for (uint32_t i = 0; i < REPLICATE_COPIES; i++) {
        struct replicate_copy *copy = &replicate->copies[i];
        copy->stream = arb_arena_take(arena, (size_t)config->chunk_payload_bytes + 8);
        copy->entries = arb_arena_take_array(arena, config->entity_capacity, sizeof *copy->entries);
    }
}

void replicate_copy_begin(struct replicate *replicate)
{
    for (uint32_t i = 0; i < REPLICATE_COPIES; i++) {
        replicate->copies[i].visible = NULL;
    }
}

/* Far entities have their turns by the snapshot's id. */
static uint32_t turn_of(const struct replicate_job *job)
{
    const struct replicate_config *config = &job->replicate->config;
    bool matters = config->far_m > 0.0F && config->far_every > 1;
    return matters ? (job->state->newest + 1) % config->far_every : 0;
}

static bool is_shared(const struct replicate_job *job)
{
    return job->client->shares_view && job->head.own == NULL;
}

static bool is_same(const struct replicate_copy *copy, const struct replicate_job *job)
{
    return copy->visible == job->visible && copy->base_content == job->base_content &&
           copy->count == job->count && copy->turn == turn_of(job) && copy->eye.x == job->eye.x &&
           copy->eye.y == job->eye.y && arb_key_equal(copy->controlled, job->head.controlled);
}

bool replicate_copy_find(struct replicate_job *job, struct replicate_pass *pass)
{
    struct replicate *replicate = job->replicate;
    if (!is_shared(job)) return false;
    for (uint32_t i = 0; i < REPLICATE_COPIES; i++) {
        const struct replicate_copy *copy = &replicate->copies[i];
        if (!is_same(copy, job)) continue;
        if (copy->pass.bytes > replicate_one_datagram(job)) return false;
        *pass = copy->pass;
        job->content = copy->content;
        memcpy(replicate->stream, copy->stream, copy->pass.bytes);
        memcpy(replicate->entries, copy->entries, copy->pass.entity_count * sizeof *copy->entries);
        return true;
    }
    return false;
}

/* Whoever came at another time, or lost another snapshot, holds the same again from here. */
static void meet_others(struct replicate_job *job, const struct replicate_pass *pass)
{
    const struct replicate *replicate = job->replicate;
    for (uint32_t i = 0; i < REPLICATE_COPIES; i++) {
        const struct replicate_copy *copy = &replicate->copies[i];
        if (copy->visible == job->visible && copy->pass.entity_count == pass->entity_count &&
            arb_key_equal(copy->controlled, job->head.controlled) &&
            memcmp(copy->entries, replicate->entries, pass->entity_count * sizeof *copy->entries) ==
                0) {
            job->content = copy->content;
            return;
        }
    }
}

void replicate_copy_keep(struct replicate_job *job, const struct replicate_pass *pass)
{
    struct replicate *replicate = job->replicate;
    if (!is_shared(job)) return;
    meet_others(job, pass);
    struct replicate_copy *copy = &replicate->copies[replicate->next_copy++ % REPLICATE_COPIES];
    copy->visible = job->visible;
    copy->count = job->count;
    copy->eye = job->eye;
    copy->turn = turn_of(job);
    copy->controlled = job->head.controlled;
    copy->base_content = job->base_content;
    copy->content = job->content;
    copy->pass = *pass;
    memcpy(copy->stream, replicate->stream, pass->bytes);
    memcpy(copy->entries, replicate->entries, pass->entity_count * sizeof *copy->entries);
}
