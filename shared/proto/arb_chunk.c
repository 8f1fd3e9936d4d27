#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

static const struct arb_field header_rows[] = {
    ARB_FIELD(arb_snapshot_header, id, U16, 16, 0, 65535,
              "low 16 bits of the snapshot id, +1 each"),
    ARB_FIELD(arb_snapshot_header, tick, U16, 16, 0, 65535, "low 16 bits of the published tick"),
    ARB_FIELD(arb_snapshot_header, baseline, U8, 8, 0, ARB_BASELINE_DISTANCE_MAX,
              "how many ids before this its baseline is; 0: it has none"),
    ARB_FIELD(arb_snapshot_header, confirmed_tick, U16, 16, 0, 65535,
              "low 16 bits of the newest published tick that no late input can change"),
    ARB_FIELD(arb_snapshot_header, last_sequence, U16, 16, 0, 65535,
              "low 16 bits of this client's newest input that was consumed"),
    ARB_FIELD(
        arb_snapshot_header, buffer_ticks, I8, 8, -128, 127,
        "worst lead of the inputs since the last snapshot, ticks; negative: late; 127: none came"),
    ARB_FIELD(arb_snapshot_header, control, U8, 8, 0, 255, "control number"),
    ARB_FIELD(arb_snapshot_header, controlled, KEY, 32, 0, 0,
              "entity this client controls; 0, 0: none"),
    ARB_FIELD(arb_snapshot_header, chunk_index, U8, 8, 0, ARB_CHUNKS_MAX - 1,
              "of this chunk, from 0"),
    ARB_FIELD(arb_snapshot_header, chunk_count, U8, 8, 1, ARB_CHUNKS_MAX, "chunks of the snapshot"),
};
const struct arb_fields arb_snapshot_header_fields = ARB_FIELDS("SNAPSHOT", header_rows);

enum { CHUNK_HEAD_BYTES = 18 }; /* type byte and the table */

size_t arb_chunk_encode(const struct arb_chunk *chunk, uint8_t *bytes, size_t capacity)
{
    ARB_ASSERT(chunk->header.chunk_index < chunk->header.chunk_count);
    ARB_ASSERT(chunk->payload_bytes > 0 && chunk->payload_bytes <= ARB_CHUNK_PAYLOAD_MAX);
    struct arb_bit_writer writer;
    arb_message_begin(&writer, ARB_MESSAGE_SNAPSHOT, bytes, capacity);
    arb_fields_write(&writer, &arb_snapshot_header_fields, &chunk->header);
    if (writer.full || capacity - CHUNK_HEAD_BYTES < chunk->payload_bytes) {
        return 0;
    }
    memcpy(bytes + CHUNK_HEAD_BYTES, chunk->payload, chunk->payload_bytes);
    return (size_t)CHUNK_HEAD_BYTES + chunk->payload_bytes;
}

enum arb_decode arb_chunk_decode(const uint8_t *bytes, size_t size, struct arb_chunk *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_SNAPSHOT, bytes, size);
    if (reason == ARB_DECODE_OK) {
        memset(&out->header, 0, sizeof out->header);
        reason = arb_fields_read(&reader, &arb_snapshot_header_fields, &out->header);
    }
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    if (out->header.chunk_index >= out->header.chunk_count) {
        return ARB_DECODE_ORDER;
    }
    if (size == CHUNK_HEAD_BYTES) {
        return ARB_DECODE_SHORT;
    }
    if (size - CHUNK_HEAD_BYTES > ARB_CHUNK_PAYLOAD_MAX) {
        return ARB_DECODE_LONG;
    }
    out->payload = bytes + CHUNK_HEAD_BYTES;
    out->payload_bytes = (uint16_t)(size - CHUNK_HEAD_BYTES);
    return ARB_DECODE_OK;
}

/* ---- assembly ---- */

void arb_assembly_init(struct arb_assembly *assembly, uint8_t *storage, uint8_t *bytes,
                       uint32_t chunk_capacity)
{
    ARB_ASSERT(chunk_capacity > 0 && chunk_capacity <= ARB_CHUNK_PAYLOAD_MAX);
    *assembly =
        (struct arb_assembly){.chunk_capacity = chunk_capacity, .storage = storage, .bytes = bytes};
}

/* All but the index. */
static bool same_group(const struct arb_snapshot_header *a, const struct arb_snapshot_header *b)
{
    return a->id == b->id && a->tick == b->tick && a->confirmed_tick == b->confirmed_tick &&
           a->last_sequence == b->last_sequence && a->buffer_ticks == b->buffer_ticks &&
           a->control == b->control && arb_key_equal(a->controlled, b->controlled) &&
           a->baseline == b->baseline && a->chunk_count == b->chunk_count;
}

static bool is_stale(const struct arb_assembly *assembly, uint16_t id)
{
    if (assembly->committed_any && !arb_newer16(id, assembly->committed_id)) {
        return true;
    }
    if (!assembly->active || arb_newer16(id, assembly->header.id)) {
        return false;
    }
    return id != assembly->header.id || assembly->dead;
}

static enum arb_assembly_result kill_group(struct arb_assembly *assembly)
{
    assembly->dead = true;
    return ARB_ASSEMBLY_CONFLICT;
}

static void join_chunks(struct arb_assembly *assembly)
{
    assembly->size = 0;
    for (uint32_t i = 0; i < assembly->header.chunk_count; i++) {
        memcpy(assembly->bytes + assembly->size,
               assembly->storage + (size_t)i * assembly->chunk_capacity, assembly->chunk_size[i]);
        assembly->size += assembly->chunk_size[i];
    }
    assembly->complete = true;
}

enum arb_assembly_result arb_assembly_add(struct arb_assembly *assembly,
                                          const struct arb_chunk *chunk)
{
    const struct arb_snapshot_header *header = &chunk->header;
    ARB_ASSERT(!assembly->complete);
    ARB_ASSERT(header->chunk_index < header->chunk_count && header->chunk_count <= ARB_CHUNKS_MAX);
    if (is_stale(assembly, header->id)) {
        return ARB_ASSEMBLY_STALE;
    }
    if (!assembly->active || header->id != assembly->header.id) {
        assembly->header = *header;
        assembly->active = true;
        assembly->dead = false;
        assembly->present = 0;
    }
    if (!same_group(header, &assembly->header) || chunk->payload_bytes > assembly->chunk_capacity) {
        return kill_group(assembly);
    }
    uint64_t bit = (uint64_t)1 << header->chunk_index;
    uint8_t *place = assembly->storage + (size_t)header->chunk_index * assembly->chunk_capacity;
    if ((assembly->present & bit) != 0) {
        bool same = assembly->chunk_size[header->chunk_index] == chunk->payload_bytes &&
                    memcmp(place, chunk->payload, chunk->payload_bytes) == 0;
        return same ? ARB_ASSEMBLY_DUPLICATE : kill_group(assembly);
    }
    memcpy(place, chunk->payload, chunk->payload_bytes);
    assembly->chunk_size[header->chunk_index] = chunk->payload_bytes;
    assembly->present |= bit;
    if (assembly->present != UINT64_MAX >> (64 - header->chunk_count)) {
        return ARB_ASSEMBLY_WAITING;
    }
    join_chunks(assembly);
    return ARB_ASSEMBLY_COMPLETE;
}

void arb_assembly_finish(struct arb_assembly *assembly, bool committed)
{
    ARB_ASSERT(assembly->complete);
    assembly->complete = false;
    assembly->dead = true;
    if (committed) {
        assembly->committed_any = true;
        assembly->committed_id = assembly->header.id;
    }
}
