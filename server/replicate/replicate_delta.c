/* One snapshot as a difference to its baseline. What one entity needs since one of its states is
 * the same for every client that holds that state: it is made once per frame, when the first of
 * them needs it, and copied into each stream. */
#include "server/replicate/replicate_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/view/arb_drawn.h"

#include <string.h>

void replicate_delta_create(struct replicate *replicate, struct arb_arena *arena)
{
    const struct replicate_config *config = &replicate->config;
    uint32_t entities = config->entity_capacity;
    replicate->spots = arb_arena_take_array(arena, entities, sizeof *replicate->spots);
    replicate->stills = arb_arena_take_array(arena, entities, sizeof *replicate->stills);
    replicate->records = arb_arena_take_array(arena, entities, sizeof *replicate->records);
    replicate->entering_capacity =
        arb_entities_bytes_max(config->schema, entities, config->point_capacity) + 8;
    replicate->entering.bytes = arb_arena_take(arena, replicate->entering_capacity + 8);
    /* A few states of each entity at their longest; more are rare, and cost no more than being made
     * anew. */
    enum { STATES = 4 };
    uint32_t points =
        config->point_capacity < ARB_BODY_POINTS_MAX ? config->point_capacity : ARB_BODY_POINTS_MAX;
    size_t longest = arb_delta_record_bits_max(config->schema, points) / 8 + 1;
    replicate->updates_capacity = STATES * replicate->entering_capacity + longest;
    replicate->updates.bytes = arb_arena_take(arena, replicate->updates_capacity + 8);
    replicate->made =
        arb_arena_take_array(arena, (size_t)entities * REPLICATE_AGES, sizeof *replicate->made);
    for (uint32_t i = 0; i <= REPLICATE_AGES; i++) {
        replicate->places[i].of_id = arb_arena_take_array(arena, entities, sizeof(uint16_t));
    }
    for (uint8_t kind = 0; kind < config->schema->kind_count; kind++) {
        replicate->unchanged[kind] =
            arb_delta_shorten(config->schema, kind, replicate->updates.bytes, 0, 0);
    }
    replicate->old_ticks = REPLICATE_OLD_SNAPSHOTS * config->interval_ticks;
    replicate->too_old_ticks = REPLICATE_TOO_OLD_SNAPSHOTS * config->interval_ticks;
    uint32_t ticks = REPLICATE_AGES * config->interval_ticks;
    replicate->age_of_ticks = arb_arena_take(arena, ticks + 1);
    for (uint32_t i = 0; i <= ticks; i++) {
        replicate->age_of_ticks[i] = (uint8_t)(i / config->interval_ticks);
    }
}

/* ---- a new frame ---- */

static void forget_updates(struct replicate *replicate)
{
    replicate->stamp++;
    arb_bits_write_begin(&replicate->updates, replicate->updates.bytes,
                         replicate->updates_capacity);
}

static struct replicate_places *places_of(struct replicate *replicate, arb_tick tick)
{
    arb_tick snapshot = tick / (arb_tick)replicate->config.interval_ticks;
    return &replicate->places[snapshot % (REPLICATE_AGES + 1)];
}

/* How long this state has been published without a change, of what has no body; in ticks, not more
 * than any baseline is old. What lies on the ground is most of what many see, and takes no look at
 * old frames by that. */
static uint16_t look_at_still(struct replicate *replicate, const struct arb_published *entity,
                              arb_tick tick)
{
    struct replicate_still *still = &replicate->stills[entity->key.id];
    bool has_body = entity->body_count > 0;
    bool is_same = still->since <= tick && still->generation == entity->key.generation &&
                   still->kind == entity->kind && !has_body && !still->has_body &&
                   memcmp(still->q, entity->q, sizeof still->q) == 0;
    if (!is_same) {
        still->since = tick;
        still->generation = entity->key.generation;
        still->kind = entity->kind;
        still->has_body = has_body;
        memcpy(still->q, entity->q, sizeof still->q);
        return 0;
    }
    return (uint16_t)(tick - still->since < UINT16_MAX ? tick - still->since : UINT16_MAX);
}

void replicate_delta_begin(struct replicate *replicate)
{
    const struct arb_frame *frame = replicate->frame;
    const struct arb_schema *schema = replicate->config.schema;
    struct replicate_places *places = places_of(replicate, frame->tick);
    places->tick = frame->tick;
    for (uint32_t i = 0; i < frame->entity_count; i++) {
        const struct arb_published *entity = &frame->entities[i];
        const struct arb_kind *kind = &schema->kinds[entity->kind];
        struct arb_vec2 at =
            arb_published_position(kind, entity, frame->tick, replicate->config.tick_rate);
        ARB_ASSERT(entity->key.id < replicate->config.entity_capacity);
        places->of_id[entity->key.id] = (uint16_t)i;
        replicate->spots[i] =
            (struct replicate_spot){.order = arb_key_order(entity->key),
                                    .x = at.x,
                                    .y = at.y,
                                    .kind = entity->kind,
                                    .is_steered = kind->owner >= 0,
                                    .still_ticks = look_at_still(replicate, entity, frame->tick)};
    }
    replicate->frames_begun++;
    arb_bits_write_begin(&replicate->entering, replicate->entering.bytes,
                         replicate->entering_capacity);
    forget_updates(replicate);
}

/* ---- enters ---- */

const struct replicate_enter *replicate_enter_of(struct replicate *replicate, uint32_t index)
{
    struct replicate_enter *record = &replicate->records[index];
    if (record->frame != replicate->frames_begun) {
        const struct arb_frame *frame = replicate->frame;
        size_t first = replicate->entering.bit;
        arb_entity_encode(replicate->config.schema, frame, &frame->entities[index],
                          &replicate->entering);
        ARB_ASSERT(!replicate->entering.full);
        *record = (struct replicate_enter){.frame = replicate->frames_begun,
                                           .first_bit = (uint32_t)first,
                                           .bits = (uint32_t)(replicate->entering.bit - first)};
    }
    return record;
}

/* ---- updates ---- */

/* An entity as of a published frame. */
static struct arb_delta_state state_at(struct replicate *replicate, struct arb_key key,
                                       arb_tick tick)
{
    const struct arb_frame *frame = replicate_frame(replicate, tick);
    ARB_ASSERT(frame != NULL);
    const struct replicate_places *places = places_of(replicate, tick);
    uint32_t at = places->tick == tick ? places->of_id[key.id] : UINT32_MAX;
    const struct arb_published *entity = NULL;
    if (at < frame->entity_count && arb_key_equal(frame->entities[at].key, key)) {
        entity = &frame->entities[at];
    } else {
        entity = arb_frame_find(frame, key);
    }
    ARB_ASSERT(entity != NULL);
    return (struct arb_delta_state){entity, frame->points, tick};
}

static void make(struct replicate *replicate, struct replicate_update *update, uint32_t index,
                 uint32_t ticks)
{
    const struct arb_frame *frame = replicate->frame;
    struct arb_delta_state to = {&frame->entities[index], frame->points, frame->tick};
    struct arb_delta_state from = state_at(replicate, to.entity->key, frame->tick - ticks);
    size_t first = replicate->updates.bit;
    arb_delta_record(&replicate->rule, &from, &to, &replicate->updates);
    if (replicate->updates.full) {
        forget_updates(replicate);
        first = 0;
        arb_delta_record(&replicate->rule, &from, &to, &replicate->updates);
        ARB_ASSERT(!replicate->updates.full);
    }
    size_t bits = replicate->updates.bit - first;
    ARB_ASSERT(bits <= UINT16_MAX);
    struct arb_delta_short made = arb_delta_shorten(replicate->config.schema, to.entity->kind,
                                                    replicate->updates.bytes, first, bits);
    *update = (struct replicate_update){.code = made.count > 0 ? made.bits : first,
                                        .stamp = replicate->stamp,
                                        .bits = (uint16_t)bits,
                                        .short_bits = made.count};
    /* A short one lives in its code; others may have the room. */
    if (made.count > 0) arb_bits_write_undo(&replicate->updates, first);
}

static inline uint32_t age_of(const struct replicate *replicate, uint32_t ticks)
{
    ARB_ASSERT(ticks <= REPLICATE_AGES * replicate->config.interval_ticks);
    return replicate->age_of_ticks[ticks];
}

static inline const struct replicate_update *update_of(struct replicate *replicate, uint32_t index,
                                                       uint32_t ticks)
{
    uint32_t age = age_of(replicate, ticks);
    ARB_ASSERT(age > 0);
    struct replicate_update *update =
        &replicate->made[(size_t)(age - 1) * replicate->config.entity_capacity + index];
    if (update->stamp != replicate->stamp) make(replicate, update, index, ticks);
    return update;
}

uint32_t replicate_update_bits(struct replicate *replicate, uint32_t index, uint32_t ticks)
{
    bool is_still = ticks <= replicate->spots[index].still_ticks;
    return is_still ? 0 : update_of(replicate, index, ticks)->bits;
}

/* ---- the baseline ---- */

void replicate_choose_base(struct replicate_job *job)
{
    const struct replicate *replicate = job->replicate;
    const struct replicate_state *state = job->state;
    arb_tick now = replicate->frame->tick;
    uint32_t id = state->newest_acked;
    const struct replicate_sent *sent = &state->sent[id % REPLICATE_RING];
    if (id == 0 || sent->id != id || sent->astray || state->newest + 1 - id >= REPLICATE_RING)
        return;
    if (now - sent->oldest_tick > (arb_tick)REPLICATE_AGES * replicate->config.interval_ticks ||
        replicate_frame(replicate, sent->oldest_tick) == NULL) {
        return;
    }
    job->base_id = id;
    job->base_content = sent->content;
    job->base_count = sent->entity_count;
    job->base_tick = sent->tick;
    job->base_ticks = (uint32_t)(now - sent->tick);
    job->base_entries = replicate_entries(state, sent->first);
}

void replicate_open_base(struct replicate_job *job)
{
    if (job->base_id == 0) return;
    uint32_t place = job->base_id % REPLICATE_RING;
    const struct replicate_said *said = &job->state->said[place];
    job->base_own =
        (struct arb_own_part){said->starved_ticks, said->outside_changes, &job->state->owns[place]};
    job->base_head =
        (struct arb_delta_head){said->controlled, said->has_own ? &job->base_own : NULL};
    const struct replicate_places *places = places_of(job->replicate, job->base_tick);
    job->base_frame = replicate_frame(job->replicate, job->base_tick);
    if (job->base_frame != NULL && places->tick == job->base_tick) job->base_of_id = places->of_id;
    /* Written some snapshots ago, a thousand clients back. */
    for (uint32_t i = 0; i < job->base_count; i += 64 / sizeof *job->base_entries) {
        __builtin_prefetch(&job->base_entries[i]);
    }
}

/* ---- the stream ---- */

struct stream {
    const struct replicate_job *job;
    struct arb_delta_writer writer;
    struct replicate_pass *pass;
    struct arb_held_entry *entry;       /* the next one */
    uint32_t said;                      /* of the baseline, by a part */
    uint64_t renewed[ARB_KINDS_MAX][2]; /* [0] unchanged, [1] updated: RENEWED_ONE each, and their
                                           bits */
};

#define RENEWED_ONE (UINT64_C(1) << 32)

static uint8_t kind_of_gone(const struct replicate_job *job, const struct arb_held_entry *entry)
{
    arb_tick tick = job->replicate->frame->tick - job->base_ticks - entry->age;
    return state_at(job->replicate, entry->key, tick).entity->kind;
}

static void say_gone(struct stream *stream, const struct arb_held_entry *entry)
{
    uint8_t kind = kind_of_gone(stream->job, entry);
    arb_delta_gone(&stream->writer, kind);
    stream->pass->traffic.kinds[kind].gone++;
}

static inline void keep(struct stream *stream, struct arb_key key, uint32_t age)
{
    *stream->entry++ = (struct arb_held_entry){.key = key, .age = (uint16_t)age};
    if (age > stream->pass->oldest) stream->pass->oldest = age;
}

/* Of an entity that the baseline has and that is still in view; its state there is `ticks` old.
 * False: it does not fit. */
static inline bool renew(struct stream *stream, uint32_t index, uint32_t ticks)
{
    struct replicate *replicate = stream->job->replicate;
    const struct replicate_spot *spot = &replicate->spots[index];
    uint8_t kind = spot->kind;
    if (ticks <= spot->still_ticks) {
        const struct arb_delta_short *unchanged = &replicate->unchanged[kind];
        stream->renewed[kind][0] += RENEWED_ONE;
        return arb_delta_say_short(&stream->writer, unchanged->bits, unchanged->count);
    }
    const struct replicate_update *update = update_of(replicate, index, ticks);
    stream->renewed[kind][update->bits > 0] += RENEWED_ONE | update->bits;
    if (update->short_bits > 0) {
        return arb_delta_say_short(&stream->writer, update->code, update->short_bits);
    }
    return arb_delta_update(&stream->writer, kind, replicate->updates.bytes, (size_t)update->code,
                            update->bits);
}

static void add_renewed(struct stream *stream)
{
    struct replicate_pass *pass = stream->pass;
    for (uint32_t kind = 0; kind < ARB_KINDS_MAX; kind++) {
        struct replicate_kind_traffic *traffic = &pass->traffic.kinds[kind];
        traffic->unchanged = stream->renewed[kind][0] / RENEWED_ONE;
        traffic->updates = stream->renewed[kind][1] / RENEWED_ONE;
        traffic->update_bits = stream->renewed[kind][1] % RENEWED_ONE;
        pass->spent += (size_t)traffic->update_bits;
    }
}

static void drop(struct stream *stream, uint8_t kind)
{
    arb_delta_gone(&stream->writer, kind);
    stream->pass->traffic.kinds[kind].gone++;
    stream->pass->dropped++;
}

/* Its turn comes later, unless its state becomes too old by then. */
static void leave_out(struct stream *stream, uint32_t index, struct arb_key key, uint32_t ticks)
{
    uint8_t kind = stream->job->replicate->spots[index].kind;
    if (ticks >= stream->job->replicate->too_old_ticks) {
        drop(stream, kind);
        return;
    }
    arb_delta_left_out(&stream->writer, 1);
    stream->pass->traffic.kinds[kind].left_out++;
    keep(stream, key, ticks);
}

static bool enter_all(struct stream *stream, uint32_t count)
{
    struct replicate *replicate = stream->job->replicate;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t index = stream->job->visible[replicate->enters[i]];
        const struct replicate_enter *record = replicate_enter_of(replicate, index);
        struct arb_key key = arb_key_of_order(replicate->spots[index].order);
        size_t before = stream->writer.bits.bit;
        if (!arb_delta_enter(&stream->writer, key, replicate->entering.bytes, record->first_bit,
                             record->bits)) {
            return false;
        }
        struct replicate_kind_traffic *traffic =
            &stream->pass->traffic.kinds[replicate->spots[index].kind];
        stream->pass->spent += stream->writer.bits.bit - before;
        traffic->enters++;
        traffic->enter_bits += stream->writer.bits.bit - before;
    }
    stream->pass->enters = count;
    return true;
}

enum { NEAR_AHEAD = 3, AHEAD = 6, FAR_AHEAD = 12 }; /* places */

/* Most states are as old as the baseline, and what they need was made for other clients: all over
 * tables larger than the caches. Which of them tells the spot, which comes before. */
static inline void fetch_ahead(const struct replicate_job *job, uint32_t place)
{
    const struct replicate *replicate = job->replicate;
    if (place + FAR_AHEAD < job->count) {
        __builtin_prefetch(&replicate->spots[job->visible[place + FAR_AHEAD]]);
    }
    if (job->base_id == 0 || place + AHEAD >= job->count) return;
    uint32_t index = job->visible[place + AHEAD];
    if (job->base_ticks <= replicate->spots[index].still_ticks) return;
    size_t row =
        (size_t)(age_of(replicate, job->base_ticks) - 1) * replicate->config.entity_capacity;
    __builtin_prefetch(&replicate->made[row + index]);
}

/* One that was not made yet reads the state in the baseline's frame. */
static inline void fetch_old_state(const struct replicate_job *job, uint32_t place)
{
    const struct replicate *replicate = job->replicate;
    if (job->base_of_id == NULL || place + NEAR_AHEAD >= job->count) return;
    uint32_t index = job->visible[place + NEAR_AHEAD];
    const struct replicate_spot *spot = &replicate->spots[index];
    if (job->base_ticks <= spot->still_ticks) return;
    size_t row =
        (size_t)(age_of(replicate, job->base_ticks) - 1) * replicate->config.entity_capacity;
    if (replicate->made[row + index].stamp == replicate->stamp) return;
    uint32_t at = job->base_of_id[arb_key_of_order(spot->order).id];
    __builtin_prefetch(&job->base_frame->entities[at]);
}

/* The first ones, which nobody was ahead of. */
static void fetch_first(const struct replicate_job *job)
{
    for (uint32_t place = 0; place < FAR_AHEAD && place < job->count; place++) {
        __builtin_prefetch(&job->replicate->spots[job->visible[place]]);
    }
}

/* Both lists ascend by key, so they are walked side by side. False: something does not fit. */
static bool walk_whole(struct stream *stream, const uint64_t *due)
{
    const struct replicate_job *job = stream->job;
    struct replicate *replicate = job->replicate;
    const struct arb_held_entry *old = job->base_entries;
    const struct arb_held_entry *end = old != NULL ? old + job->base_count : NULL;
    uint32_t enters = 0;
    fetch_first(job);
    for (uint32_t place = 0; place < job->count; place++) {
        uint32_t index = job->visible[place];
        uint32_t order = replicate->spots[index].order;
        fetch_ahead(job, place);
        fetch_old_state(job, place);
        while (old < end && arb_key_order(old->key) < order) {
            say_gone(stream, old++);
        }
        if (old < end && arb_key_order(old->key) == order) {
            uint32_t ticks = job->base_ticks + old->age;
            /* Rates yield to an old state. */
            if (!replicate_bit(due, place) && ticks < replicate->old_ticks) {
                leave_out(stream, index, old->key, ticks);
            } else {
                keep(stream, old->key, 0);
                if (!renew(stream, index, ticks)) return false;
            }
            old++;
        } else {
            replicate->enters[enters++] = place;
            keep(stream, arb_key_of_order(order), 0);
        }
    }
    while (old < end) {
        say_gone(stream, old++);
    }
    return enter_all(stream, enters);
}

/* ---- a part, for crowds: nothing is done per entity that can be done for many ---- */

static void add_left_out(struct replicate_pass *pass, uint64_t lanes)
{
    for (uint32_t kind = 0; kind < ARB_KINDS_MAX; kind++) {
        pass->traffic.kinds[kind].left_out += lanes >> (8 * kind) & 0xFF;
    }
}

/* The entries of what the client holds then. */
static void keep_part(struct stream *stream)
{
    const struct replicate_job *job = stream->job;
    const struct replicate *replicate = job->replicate;
    const struct replicate_spot *spots = replicate->spots;
    const uint16_t *state_ticks = replicate->state_ticks;
    const uint32_t *visible = job->visible;
    struct arb_held_entry *entry = stream->entry;
    uint32_t too_old = replicate->too_old_ticks, oldest = 0;
    for (uint32_t first = 0; first < job->count; first += 64) {
        uint32_t end = job->count - first < 64 ? job->count : first + 64;
        uint64_t chosen = replicate->chosen[first / 64];
        uint64_t lanes = 0; /* left out by kind, eight bits each */
        for (uint32_t place = first; place < end; place++, chosen >>= 1) {
            const struct replicate_spot *spot = &spots[visible[place]];
            uint32_t ticks = state_ticks[place];
            uint32_t is_chosen = chosen & 1;
            uint32_t age = ticks < too_old ? ticks & (is_chosen - 1) : 0;
            uint32_t is_left_out = age > 0;
            *entry =
                (struct arb_held_entry){.key = arb_key_of_order(spot->order), .age = (uint16_t)age};
            entry += is_chosen | is_left_out;
            oldest = age > oldest ? age : oldest;
            lanes += (uint64_t)is_left_out << (8 * spot->kind);
        }
        add_left_out(stream->pass, lanes);
    }
    stream->entry = entry;
    stream->pass->oldest = oldest;
}

/* Those that leave, by their places in the baseline, ascending: what is gone and, rare, those whose
 * state became too old. */
struct leaving {
    const uint16_t *places;
    uint32_t count, next;
};

static struct leaving find_leaving(struct stream *stream)
{
    const struct replicate_job *job = stream->job;
    const struct replicate *replicate = job->replicate;
    const uint16_t *gone = replicate->gone;
    uint32_t gone_count = replicate->gone_count;
    if (replicate->most_ticks < replicate->too_old_ticks) {
        return (struct leaving){.places = gone, .count = gone_count};
    }
    uint32_t count = 0, taken = 0;
    for (uint32_t place = 0; place < job->count; place++) {
        if (replicate->state_ticks[place] < replicate->too_old_ticks ||
            replicate_bit(replicate->chosen, place)) {
            continue;
        }
        while (taken < gone_count && gone[taken] < replicate->base_places[place]) {
            replicate->leaving[count++] = gone[taken++];
        }
        replicate->leaving[count++] = replicate->base_places[place];
        stream->pass->dropped++;
    }
    while (taken < gone_count) {
        replicate->leaving[count++] = gone[taken++];
    }
    return (struct leaving){.places = replicate->leaving, .count = count};
}

/* Of the baseline's entities up to `until` only those that leave are worth a word. */
static void say_until(struct stream *stream, uint32_t until, struct leaving *leaving)
{
    while (leaving->next < leaving->count && leaving->places[leaving->next] < until) {
        uint32_t at = leaving->places[leaving->next++];
        arb_delta_left_out(&stream->writer, at - stream->said);
        say_gone(stream, &stream->job->base_entries[at]);
        stream->said = at + 1;
    }
    arb_delta_left_out(&stream->writer, until - stream->said);
    stream->said = until;
}

static bool walk_part(struct stream *stream)
{
    const struct replicate_job *job = stream->job;
    struct replicate *replicate = job->replicate;
    struct leaving leaving = find_leaving(stream);
    uint32_t enters = 0;
    keep_part(stream);
    for (uint32_t word = 0; word < (job->count + 63) / 64; word++) {
        for (uint64_t left = replicate->chosen[word]; left != 0; left &= left - 1) {
            uint32_t place = word * 64 + (uint32_t)__builtin_ctzll(left);
            uint32_t ticks = replicate->state_ticks[place];
            if (ticks == 0) {
                replicate->enters[enters++] = place;
                continue;
            }
            say_until(stream, replicate->base_places[place], &leaving);
            if (!renew(stream, job->visible[place], ticks)) return false;
            stream->said++;
        }
    }
    say_until(stream, job->base_count, &leaving);
    return enter_all(stream, enters);
}

/* ---- one stream ---- */

bool replicate_begin_stream(const struct replicate_job *job, size_t capacity,
                            struct arb_delta_writer *writer)
{
    struct replicate *replicate = job->replicate;
    return arb_delta_begin(writer, &replicate->rule, &job->head,
                           job->base_id != 0 ? &job->base_head : NULL, job->base_ticks,
                           job->base_count, replicate->stream, capacity);
}

static struct stream stream_of(const struct replicate_job *job,
                               const struct arb_delta_writer *writer, struct replicate_pass *pass)
{
    memset(pass, 0, sizeof *pass);
    pass->traffic.own_bits = writer->bits.bit;
    return (struct stream){
        .job = job, .writer = *writer, .pass = pass, .entry = job->replicate->entries};
}

static void end(struct stream *stream)
{
    struct replicate_pass *pass = stream->pass;
    add_renewed(stream);
    pass->bytes = arb_delta_end(&stream->writer);
    pass->entity_count = (uint32_t)(stream->entry - stream->job->replicate->entries);
    pass->traffic.stream_bits = stream->writer.bits.bit;
    pass->traffic.snapshots = 1;
}

bool replicate_encode_whole(const struct replicate_job *job, const uint64_t *due, size_t capacity,
                            struct replicate_pass *pass)
{
    struct arb_delta_writer writer;
    if (!replicate_begin_stream(job, capacity, &writer)) return false;
    struct stream stream = stream_of(job, &writer, pass);
    if (!walk_whole(&stream, due)) return false;
    end(&stream);
    return true;
}

bool replicate_encode_part(const struct replicate_job *job, const struct arb_delta_writer *begun,
                           struct replicate_pass *pass)
{
    struct stream stream = stream_of(job, begun, pass);
    if (!walk_part(&stream)) return false;
    end(&stream);
    return true;
}
