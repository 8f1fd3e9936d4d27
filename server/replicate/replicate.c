#include "server/replicate/replicate_internal.h"

#include "shared/base/arb_assert.h"

#include <stddef.h>
#include <string.h>

/* The most: of a chunk among others, when not all is confirmed. */
static uint32_t chunk_head_bytes(void)
{
    const uint8_t payload = 0;
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    struct arb_chunk chunk = {
        .header = {.confirmed_tick = 1, .chunk_count = 2}, .payload = &payload, .payload_bytes = 1};
    size_t size = arb_chunk_encode(&chunk, bytes, sizeof bytes);
    ARB_ASSERT(size > 1);
    return (uint32_t)size - 1;
}

/* Bytes that the longest own part, the own entity and the largest other one need. */
static size_t largest_need(const struct replicate_config *config)
{
    uint32_t points =
        config->point_capacity < ARB_BODY_POINTS_MAX ? config->point_capacity : ARB_BODY_POINTS_MAX;
    return sizeof(struct arb_own) + 2 * (arb_entity_bits_max(config->schema, points) / 8 + 32);
}

/* What a full bucket holds at least, so that no entity waits for ever. */
static uint32_t bucket_least(const struct replicate *replicate)
{
    const struct replicate_config *config = &replicate->config;
    size_t need = largest_need(config);
    size_t chunks = need / config->chunk_payload_bytes + 2;
    return (uint32_t)(need + REPLICATE_USEFUL_BYTES +
                      chunks * (replicate->chunk_head_bytes + REPLICATE_OVERHEAD_BYTES));
}

/* What is read for each snapshot lies beside that of the other clients, so that few pages have it;
 * what is as large as the worst needs, and mostly never touched, does not lie in between. */
static void create_clients(struct replicate *replicate, struct arb_arena *arena)
{
    const struct replicate_config *config = &replicate->config;
    size_t clients = config->client_capacity;
    replicate->clients = arb_arena_take_busy(arena, clients, sizeof *replicate->clients);
    replicate->shown = arb_arena_take_array(arena, clients, sizeof *replicate->shown);
    struct arb_own *owns =
        arb_arena_take_busy(arena, clients * REPLICATE_RING, sizeof(struct arb_own));
    struct arb_held_entry *entries =
        arb_arena_take_busy(arena, clients * REPLICATE_ENTRIES, sizeof(struct arb_held_entry));
    for (size_t i = 0; i < clients; i++) {
        struct replicate_state *state = &replicate->clients[i];
        state->owns = owns + i * REPLICATE_RING;
        state->entries = entries + i * REPLICATE_ENTRIES;
        state->tracks =
            arb_arena_take_array(arena, config->entity_capacity, sizeof(struct replicate_track));
        state->wide = arb_arena_take_array(arena, (size_t)REPLICATE_RING * config->entity_capacity,
                                           sizeof(struct arb_held_entry));
    }
}

struct replicate *replicate_create(struct arb_arena *arena, const struct replicate_config *config)
{
    ARB_ASSERT(config->chunk_payload_bytes > 0);
    ARB_ASSERT(config->chunk_payload_bytes <= ARB_CHUNK_PAYLOAD_MAX);
    ARB_ASSERT(config->entity_capacity <= UINT16_MAX);
    ARB_ASSERT(config->tick_rate > 0 && config->budget_bytes_per_s > 0);
    struct replicate *replicate = arb_arena_take(arena, sizeof *replicate);
    replicate->config = *config;
    replicate->rule = (struct arb_delta_rule){
        .schema = config->schema,
        .own_fields = arb_own_fields((enum arb_mover)config->schema->mover),
        .tick_rate = config->tick_rate,
    };
    replicate->chunk_head_bytes = chunk_head_bytes();
    replicate->depth_least = bucket_least(replicate);
    replicate_rate_create(replicate);
    replicate_delta_create(replicate, arena);
    replicate_copy_create(replicate, arena);
    replicate->stream_capacity = (size_t)ARB_CHUNKS_MAX * config->chunk_payload_bytes;
    replicate->stream = arb_arena_take(arena, replicate->stream_capacity + 8);
    replicate->message =
        arb_arena_take(arena, (size_t)ARB_CHUNK_HEAD_BYTES_MAX + config->chunk_payload_bytes + 8);
    replicate->parity = arb_arena_take(arena, config->chunk_payload_bytes);
    replicate_choice_create(replicate, arena);
    replicate->entries =
        arb_arena_take_array(arena, config->entity_capacity, sizeof *replicate->entries);
    replicate->enters = arb_arena_take_array(arena, config->entity_capacity, sizeof(uint32_t));
    create_clients(replicate, arena);
    return replicate;
}

static struct replicate_state *state_of(const struct replicate *replicate, uint16_t client)
{
    ARB_ASSERT(client < replicate->config.client_capacity);
    return &replicate->clients[client];
}

static void add_counts(struct replicate_counts *to, const struct replicate_counts *from)
{
    to->snapshots += from->snapshots;
    to->chunks += from->chunks;
    to->bytes += from->bytes;
    to->full += from->full;
    to->deferred += from->deferred;
    to->dropped += from->dropped;
    to->held += from->held;
    to->slowed += from->slowed;
    to->bad_acks += from->bad_acks;
    to->reduced += from->reduced;
    to->parities += from->parities;
}

struct replicate_counts replicate_totals(const struct replicate *replicate)
{
    struct replicate_counts totals = replicate->left;
    for (uint32_t i = 0; i < replicate->config.client_capacity; i++) {
        add_counts(&totals, &replicate->clients[i].counts);
    }
    return totals;
}

void replicate_reset(struct replicate *replicate, uint16_t client)
{
    struct replicate_state *state = state_of(replicate, client);
    add_counts(&replicate->left, &state->counts);
    struct replicate_track *tracks = state->tracks;
    /* Nobody was there yet: all is 0, and untouched memory costs nothing. */
    if (state->started) memset(tracks, 0, replicate->config.entity_capacity * sizeof *tracks);
    *state = (struct replicate_state){
        .tracks = tracks, .owns = state->owns, .entries = state->entries, .wide = state->wide};
    replicate_rate_reset(replicate, state);
    state->credit = replicate_rate_depth(replicate, state);
}

void replicate_distrust(struct replicate *replicate, arb_tick from, arb_tick to)
{
    for (uint32_t client = 0; client < replicate->config.client_capacity; client++) {
        struct replicate_state *state = &replicate->clients[client];
        for (uint32_t i = 0; state->started && i < REPLICATE_RING; i++) {
            struct replicate_sent *sent = &state->sent[i];
            if (sent->id != 0 && sent->tick >= from && sent->tick <= to) sent->astray = true;
        }
    }
}

/* ---- acknowledgements ---- */

const struct replicate_sent *replicate_sent(const struct replicate *replicate, uint16_t client,
                                            uint32_t id)
{
    const struct replicate_sent *sent = &state_of(replicate, client)->sent[id % REPLICATE_RING];
    return id != 0 && sent->id == id ? sent : NULL;
}

uint32_t replicate_newest_sent(const struct replicate *replicate, uint16_t client)
{
    return state_of(replicate, client)->newest;
}

uint32_t replicate_newest_acked(const struct replicate *replicate, uint16_t client)
{
    return state_of(replicate, client)->newest_acked;
}

/* False: never sent. Older than the ring is of no use any more and no offence. */
static bool ack_one(struct replicate_state *state, uint64_t id)
{
    if (id == 0 || id > state->newest) return false;
    /* Also what is forgotten: the round trip is longer than the ring, but there is somebody. */
    if (id > state->newest_heard) {
        state->newest_heard = (uint32_t)id;
        state->in_vain = 0;
    }
    struct replicate_sent *sent = &state->sent[id % REPLICATE_RING];
    if (sent->id == (uint32_t)id) {
        sent->acked = true;
        if (sent->id > state->newest_acked) state->newest_acked = sent->id;
    }
    return true;
}

/* Of the acknowledgements in `said` (bit i: id - i), those that were not there before. */
static uint64_t new_acks(struct replicate_state *state, uint64_t id, uint64_t said)
{
    bool newer = id > state->noted;
    uint64_t step = newer ? id - state->noted : state->noted - id;
    if (step >= 64) {
        if (newer) state->noted_mask = said;
        if (newer) state->noted = id;
        return said;
    }
    uint64_t known = newer ? state->noted_mask << step : state->noted_mask >> step;
    state->noted_mask = newer ? known | said : state->noted_mask | said << step;
    if (newer) state->noted = id;
    return said & ~known;
}

void replicate_expect_ack(const struct replicate *replicate, uint16_t client, uint16_t snapshot)
{
    const struct replicate_state *state = state_of(replicate, client);
    __builtin_prefetch(&state->newest, 1);
    __builtin_prefetch(&state->rate, 1);
    __builtin_prefetch(&state->noted, 1);
    __builtin_prefetch(&state->counts.bad_acks);
    __builtin_prefetch(&state->sent[snapshot % REPLICATE_RING], 1);
}

/* Each packet repeats what the ones before it said: only what is new looks into the ring. */
void replicate_ack(struct replicate *replicate, uint16_t client, uint16_t snapshot, uint32_t mask,
                   arb_tick now)
{
    struct replicate_state *state = state_of(replicate, client);
    uint32_t before = state->newest_acked;
    /* One ring ahead of zero, so that ids just after the start widen to something before it. */
    uint64_t bias = UINT64_C(1) << 16;
    uint64_t id = arb_widen16(snapshot, state->newest + bias);
    uint64_t fresh = (uint64_t)mask << 1 | 1;
    /* What was never sent is not noted: it may be sent yet, and is an offence each time. */
    uint64_t real = id > bias ? id - bias : 0;
    bool real_ones = real > 0 && real <= state->newest && (real >= 64 || fresh >> real == 0);
    if (real_ones) fresh = new_acks(state, real, fresh);
    bool good = true;
    for (; fresh != 0; fresh &= fresh - 1) {
        uint64_t older = id - (uint64_t)__builtin_ctzll(fresh);
        good = older > bias && ack_one(state, older - bias) && good;
    }
    if (!good) state->counts.bad_acks++;
    if (state->newest_acked == before) return;
    arb_tick sent = state->sent[state->newest_acked % REPLICATE_RING].tick;
    replicate_rate_acked(replicate, state, now > sent ? (uint32_t)(now - sent) : 0, now);
}

/* ---- budget ---- */

static void refill(const struct replicate *replicate, struct replicate_state *state, arb_tick tick)
{
    int64_t budget = state->rate.bytes_per_s;
    int64_t depth = replicate_rate_depth(replicate, state);
    if (state->started && tick > state->refilled) {
        arb_tick ticks = tick - state->refilled;
        arb_tick second = replicate->config.tick_rate;
        state->credit += budget * (int64_t)(ticks < second ? ticks : second);
    }
    if (state->credit > depth) state->credit = depth;
    state->refilled = tick;
    state->started = true;
}

static void spend(const struct replicate *replicate, struct replicate_state *state, size_t bytes)
{
    int64_t rate = replicate->config.tick_rate;
    /* A long message (the welcome of a large map) silences the snapshots for a second at most. */
    int64_t lowest = -(int64_t)state->rate.bytes_per_s * rate;
    state->credit -= (int64_t)(bytes + REPLICATE_OVERHEAD_BYTES) * rate;
    if (state->credit < lowest) state->credit = lowest;
}

void replicate_spend(struct replicate *replicate, uint16_t client, size_t bytes)
{
    spend(replicate, state_of(replicate, client), bytes);
}

/* Bytes of stream that the credit carries, with the heads of its chunks. */
static size_t stream_bytes(const struct replicate *replicate, const struct replicate_state *state)
{
    if (state->credit <= 0) return 0;
    size_t credit = (size_t)(state->credit / (int64_t)replicate->config.tick_rate);
    size_t payload = replicate->config.chunk_payload_bytes;
    size_t head = replicate->chunk_head_bytes + (size_t)REPLICATE_OVERHEAD_BYTES;
    size_t full = credit / (head + payload);
    size_t rest = credit % (head + payload);
    size_t bytes = full * payload + (rest > head ? rest - head : 0);
    return bytes < replicate->stream_capacity ? bytes : replicate->stream_capacity;
}

/* ---- one snapshot ---- */

void replicate_begin(struct replicate *replicate, const struct arb_frame *frame)
{
    ARB_ASSERT(frame == replicate_frame(replicate, frame->tick));
    ARB_ASSERT(frame->tick % replicate->config.interval_ticks == 0);
    ARB_ASSERT(frame->entity_count <= replicate->config.entity_capacity);
    ARB_ASSERT(frame->point_count <= replicate->config.point_capacity);
    replicate->frame = frame;
    replicate_delta_begin(replicate);
    replicate_copy_begin(replicate);
}

static int8_t lead_of(int32_t ticks)
{
    return (int8_t)(ticks < INT8_MIN ? INT8_MIN : ticks > INT8_MAX ? INT8_MAX : ticks);
}

static void put_chunk(const struct replicate_job *job, const struct arb_chunk *chunk,
                      const struct match_port *port)
{
    struct replicate *replicate = job->replicate;
    size_t capacity = (size_t)ARB_CHUNK_HEAD_BYTES_MAX + replicate->config.chunk_payload_bytes;
    size_t bytes = arb_chunk_encode(chunk, replicate->message, capacity);
    ARB_ASSERT(bytes > 0);
    port->put(port->owner, job->client->session, PORT_CHANNEL_UNSEQUENCED, replicate->message,
              bytes);
    spend(replicate, job->state, bytes);
    job->state->counts.bytes += bytes;
    job->state->counts.chunks++;
}

/* All chunks of a stream of `size` bytes combined: whoever misses one has it from the others. */
static void put_parity(const struct replicate_job *job, struct arb_chunk *chunk, size_t size,
                       const struct match_port *port)
{
    const struct replicate *replicate = job->replicate;
    size_t payload = replicate->config.chunk_payload_bytes;
    memset(replicate->parity, 0, payload);
    for (size_t i = 0; i < size; i++) {
        replicate->parity[i % payload] ^= replicate->stream[i];
    }
    chunk->header.chunk_index = chunk->header.chunk_count;
    chunk->header.last_bytes = (uint16_t)((size - 1) % payload + 1);
    chunk->payload = replicate->parity;
    chunk->payload_bytes = (uint16_t)payload;
    put_chunk(job, chunk, port);
    job->state->counts.parities++;
}

static void put_chunks(const struct replicate_job *job, arb_tick confirmed_tick, size_t size,
                       const struct match_port *port)
{
    struct replicate *replicate = job->replicate;
    const struct replicate_client *client = job->client;
    size_t payload = replicate->config.chunk_payload_bytes;
    size_t count = (size + payload - 1) / payload;
    ARB_ASSERT(count > 0 && count <= ARB_CHUNKS_MAX);
    struct arb_chunk chunk = {
        .header =
            {
                .id = (uint16_t)job->state->newest,
                .tick = (uint16_t)replicate->frame->tick,
                .confirmed_tick = (uint16_t)confirmed_tick,
                .last_sequence = (uint16_t)client->last_sequence,
                .buffer_ticks = lead_of(client->buffer_ticks),
                .control = client->control,
                .baseline = (uint8_t)(job->base_id != 0 ? job->state->newest - job->base_id : 0),
                .chunk_count = (uint8_t)count,
            },
    };
    for (size_t i = 0; i < count; i++) {
        size_t rest = size - i * payload;
        chunk.header.chunk_index = (uint8_t)i;
        chunk.payload = replicate->stream + i * payload;
        chunk.payload_bytes = (uint16_t)(rest < payload ? rest : payload);
        put_chunk(job, &chunk, port);
    }
    if (replicate->config.parity && count > 1 && count < ARB_CHUNKS_MAX) {
        put_parity(job, &chunk, size, port);
    }
    job->state->counts.snapshots++;
}

/* ---- clients that acknowledge nothing of use ---- */

bool replicate_in_vain(const struct replicate *replicate, uint16_t client)
{
    return state_of(replicate, client)->in_vain >= REPLICATE_PATIENCE * REPLICATE_PATIENCE_ROUNDS;
}

/* The longer full snapshots have no effect, the rarer they are, down to one a second. */
static bool is_slowed(const struct replicate_job *job)
{
    const struct replicate_state *state = job->state;
    if (job->base_id != 0 || state->unanswered < REPLICATE_PATIENCE) return false;
    uint32_t rounds = state->unanswered / REPLICATE_PATIENCE;
    if (rounds > REPLICATE_PATIENCE_ROUNDS) rounds = REPLICATE_PATIENCE_ROUNDS;
    const struct replicate_config *config = &job->replicate->config;
    arb_tick gap = (arb_tick)config->interval_ticks << rounds;
    if (gap > config->tick_rate) gap = config->tick_rate;
    return job->replicate->frame->tick - state->unanswered_tick < gap;
}

/* ---- sending ---- */

static void add_traffic(struct replicate_traffic *to, const struct replicate_traffic *from,
                        uint32_t kinds)
{
    to->snapshots += from->snapshots;
    to->stream_bits += from->stream_bits;
    to->own_bits += from->own_bits;
    for (uint32_t i = 0; i < kinds; i++) {
        struct replicate_kind_traffic *sum = &to->kinds[i];
        const struct replicate_kind_traffic *one = &from->kinds[i];
        sum->unchanged += one->unchanged;
        sum->left_out += one->left_out;
        sum->gone += one->gone;
        sum->updates += one->updates;
        sum->update_bits += one->update_bits;
        sum->enters += one->enters;
        sum->enter_bits += one->enter_bits;
    }
}

/* Only snapshots that did not carry all look at the tracks. */
static void mark_carried(const struct replicate_job *job, bool whole)
{
    struct replicate_state *state = job->state;
    if (whole) {
        state->whole = state->newest;
        return;
    }
    if (job->base_id == 0) return;
    const struct replicate *replicate = job->replicate;
    for (uint32_t word = 0; word < (job->count + 63) / 64; word++) {
        for (uint64_t left = replicate->chosen[word]; left != 0; left &= left - 1) {
            uint32_t place = word * 64 + (uint32_t)__builtin_ctzll(left);
            uint32_t index = job->visible[place];
            state->tracks[replicate->frame->entities[index].key.id].since = state->newest;
        }
    }
}

/* Enters the snapshot into the ring and forgets the waiting of what it carries. */
static void record(const struct replicate_job *job, const struct replicate_pass *pass, bool whole)
{
    struct replicate *replicate = job->replicate;
    struct replicate_state *state = job->state;
    arb_tick tick = replicate->frame->tick;
    struct arb_held_entry *entries = replicate_remember(replicate, state, pass->entity_count, tick);
    memcpy(entries, replicate->entries, pass->entity_count * sizeof *entries);
    replicate_note_shown(replicate, job->client->client, entries, pass->entity_count);
    uint32_t place = state->newest % REPLICATE_RING;
    state->sent[place].oldest_tick = tick - pass->oldest;
    state->sent[place].content = job->content;
    const struct replicate_client *client = job->client;
    struct replicate_said *said = &state->said[place];
    said->starved_ticks = client->starved_ticks;
    said->outside_changes = client->outside_changes;
    said->controlled = client->controlled;
    said->has_own = job->head.own != NULL;
    if (said->has_own) state->owns[place] = *client->own;
    mark_carried(job, whole);
    if (job->base_id != 0) {
        state->unanswered = state->in_vain = 0;
    } else {
        state->unanswered++;
        state->in_vain++;
        state->unanswered_tick = tick;
        state->counts.full++;
    }
    state->counts.dropped += pass->dropped;
    add_traffic(&replicate->traffic, &pass->traffic, replicate->config.schema->kind_count);
}

enum { CROWD_PARTS = 4 }; /* more than a quarter waits */

/* All that is due, in one datagram. False: it does not fit. */
static bool make_whole(struct replicate_job *job, struct replicate_pass *pass)
{
    struct replicate *replicate = job->replicate;
    if (replicate_copy_find(job, pass)) return true;
    replicate_open_base(job);
    job->content = ++replicate->contents;
    replicate_find_due(job);
    /* A crowd does not fit; what it costs to find out is better spent on choosing. */
    if (job->state->is_crowded ||
        !replicate_encode_whole(job, replicate->due, replicate_one_datagram(job), pass)) {
        return false;
    }
    replicate_copy_keep(job, pass);
    return true;
}

/* Processors drop what is to be fetched ahead from a page that they do not know at the moment: the
 * first of each page is read. Nobody waits for it. */
static void fetch(const void *from, size_t bytes)
{
    const char *at = from;
    (void)*(const volatile char *)at;
    for (size_t i = 64; i < bytes; i += 64) {
        __builtin_prefetch(at + i);
    }
}

static void fetch_entries(const struct replicate_state *state, const struct replicate_sent *sent)
{
    if (sent->entity_count > 0) {
        fetch(replicate_entries(state, sent->first), sent->entity_count * sizeof *state->entries);
    }
}

/* Spectators have none. */
static void fetch_own(const struct replicate_state *state, uint32_t place)
{
    if (state->said[place].has_own) fetch(&state->owns[place], sizeof *state->owns);
}

/* In three steps, since each tells where the next one looks, and none waits for what another one
 * has asked for. */
void replicate_expect(const struct replicate *replicate, const uint16_t *next)
{
    const struct replicate_state *clients = replicate->clients;
    uint32_t capacity = replicate->config.client_capacity;
    if (next[2] < capacity) {
        const struct replicate_state *state = &clients[next[2]];
        fetch(state, offsetof(struct replicate_state, sent));
    }
    if (next[1] < capacity) {
        const struct replicate_state *state = &clients[next[1]];
        uint32_t place = (state->newest + 1) % REPLICATE_RING;
        fetch(&state->sent[state->newest_acked % REPLICATE_RING], sizeof *state->sent);
        fetch(&state->sent[state->newest % REPLICATE_RING], sizeof *state->sent);
        fetch(&state->sent[place], sizeof *state->sent);
        fetch(&state->said[place], sizeof *state->said);
    }
    if (next[0] < capacity) {
        const struct replicate_state *state = &clients[next[0]];
        fetch_entries(state, &state->sent[state->newest_acked % REPLICATE_RING]);
        fetch_entries(state, &state->sent[state->newest % REPLICATE_RING]);
        fetch_own(state, state->newest_acked % REPLICATE_RING);
        fetch_own(state, (state->newest + 1) % REPLICATE_RING);
    }
}

void replicate_send(struct replicate *replicate, const struct replicate_client *client,
                    const struct arb_frame *frame, arb_tick confirmed_tick, struct arb_vec2 eye,
                    const uint32_t *visible, uint32_t count, const struct match_port *port)
{
    ARB_ASSERT(replicate->frame == frame);
    struct replicate_state *state = state_of(replicate, client->client);
    refill(replicate, state, frame->tick);
    struct arb_own_part own = {client->starved_ticks, client->outside_changes, client->own};
    bool has_own = client->own != NULL && replicate->rule.own_fields != NULL;
    struct replicate_job job = {
        .replicate = replicate,
        .state = state,
        .client = client,
        .eye = eye,
        .visible = visible,
        .count = count,
        .capacity = stream_bytes(replicate, state),
        .head = {client->controlled, has_own ? &own : NULL},
    };
    replicate_choose_base(&job);
    if (is_slowed(&job)) {
        state->counts.slowed++;
        return;
    }
    struct replicate_pass pass;
    uint32_t deferred = 0;
    bool whole = make_whole(&job, &pass);
    if (!whole) {
        if (job.capacity < replicate->config.chunk_payload_bytes) state->rate.is_short = true;
        if (!replicate_encode_chosen(&job, &pass, &deferred)) {
            state->counts.held++;
            return;
        }
        whole = deferred == 0;
    }
    state->is_crowded = deferred > count / CROWD_PARTS;
    state->counts.deferred += deferred;
    record(&job, &pass, whole);
    put_chunks(&job, confirmed_tick, pass.bytes, port);
}

const struct replicate_counts *replicate_counts(const struct replicate *replicate, uint16_t client)
{
    return &state_of(replicate, client)->counts;
}

const struct replicate_traffic *replicate_traffic(const struct replicate *replicate)
{
    return &replicate->traffic;
}
