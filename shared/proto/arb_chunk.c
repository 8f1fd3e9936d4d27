#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

static const struct arb_field header_rows[] = {
    ARB_FIELD(arb_snapshot_header, id, U16, 16, 0, 65535,
              "low 16 bits of the snapshot id, +1 each"),
    ARB_FIELD(arb_snapshot_header, tick, U16, 16, 0, 65535, "low 16 bits of the published tick"),
    ARB_FIELD(arb_snapshot_header, baseline, U8, 6, 0, ARB_BASELINE_DISTANCE_MAX,
              "how many ids before this its baseline is; 0: it has none"),
    ARB_FIELD(arb_snapshot_header, last_sequence, U16, 16, 0, 65535,
              "low 16 bits of this client's newest input that was consumed"),
    ARB_FIELD(
        arb_snapshot_header, buffer_ticks, I8, 8, -128, 127,
        "worst lead of the inputs since the last snapshot, ticks; negative: late; 127: none came"),
    ARB_FIELD(arb_snapshot_header, control, U8, 8, 0, 255, "control number"),
};
const struct arb_fields arb_snapshot_header_fields = ARB_FIELDS("SNAPSHOT", header_rows);

/* Behind the table, then the next whole byte: late 1 [ticks 16] | split 1 [index 6 | count - 1 6
 * [parity: bytes of the last chunk 13]] */
enum { LATE_BITS = 16, CHUNK_BITS = 6, LAST_BITS = 13 };
_Static_assert(ARB_CHUNK_PAYLOAD_MAX < 1 << LAST_BITS, "the last chunk's bytes fit");
_Static_assert(ARB_CHUNKS_MAX == 1 << CHUNK_BITS, "index and count - 1 fit");

/* The table's rows side by side. Each snapshot of each client has one, and a walk through the rows
 * took a quarter of what a copied snapshot costs. */
static void write_rows(struct arb_bit_writer *writer, const struct arb_snapshot_header *header)
{
    ARB_ASSERT(header->baseline <= ARB_BASELINE_DISTANCE_MAX);
    uint64_t rows = header->id | (uint64_t)header->tick << 16 | (uint64_t)header->baseline << 32 |
                    (uint64_t)header->last_sequence << 38 |
                    (uint64_t)(uint8_t)header->buffer_ticks << 54;
    arb_bits_write(writer, rows, 62);
    arb_bits_write(writer, header->control, 8);
}

static void write_header(struct arb_bit_writer *writer, const struct arb_snapshot_header *header)
{
    write_rows(writer, header);
    uint16_t late = (uint16_t)(header->tick - header->confirmed_tick);
    arb_bits_write(writer, late != 0, 1);
    if (late != 0) {
        arb_bits_write(writer, late, LATE_BITS);
    }
    arb_bits_write(writer, header->chunk_count > 1, 1);
    if (header->chunk_count > 1) {
        arb_bits_write(writer, header->chunk_index, CHUNK_BITS);
        arb_bits_write(writer, header->chunk_count - 1U, CHUNK_BITS);
    }
    if (arb_chunk_is_parity(header)) {
        arb_bits_write(writer, header->last_bytes, LAST_BITS);
    }
}

size_t arb_chunk_encode(const struct arb_chunk *chunk, uint8_t *bytes, size_t capacity)
{
    bool is_parity = arb_chunk_is_parity(&chunk->header);
    ARB_ASSERT(is_parity || chunk->header.chunk_index < chunk->header.chunk_count);
    ARB_ASSERT(chunk->header.chunk_count <= ARB_CHUNKS_MAX - is_parity);
    ARB_ASSERT(chunk->payload_bytes > 0 && chunk->payload_bytes <= ARB_CHUNK_PAYLOAD_MAX);
    struct arb_bit_writer writer;
    arb_message_begin(&writer, ARB_MESSAGE_SNAPSHOT, bytes, capacity);
    write_header(&writer, &chunk->header);
    size_t head = arb_message_end(&writer);
    if (head == 0 || capacity - head < chunk->payload_bytes) {
        return 0;
    }
    ARB_ASSERT(head <= ARB_CHUNK_HEAD_BYTES_MAX);
    memcpy(bytes + head, chunk->payload, chunk->payload_bytes);
    return head + chunk->payload_bytes;
}

static enum arb_decode read_header(struct arb_bit_reader *reader,
                                   struct arb_snapshot_header *header)
{
    *header = (struct arb_snapshot_header){.chunk_count = 1};
    enum arb_decode reason = arb_fields_read(reader, &arb_snapshot_header_fields, header);
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    uint16_t late = 0;
    if (arb_bits_read(reader, 1) != 0) {
        late = (uint16_t)arb_bits_read(reader, LATE_BITS);
        reason = late == 0 ? ARB_DECODE_RANGE : reason;
    }
    header->confirmed_tick = (uint16_t)(header->tick - late);
    if (arb_bits_read(reader, 1) != 0) {
        header->chunk_index = (uint8_t)arb_bits_read(reader, CHUNK_BITS);
        header->chunk_count = (uint8_t)(arb_bits_read(reader, CHUNK_BITS) + 1);
        reason = header->chunk_count == 1 ? ARB_DECODE_RANGE : reason;
    }
    if (arb_chunk_is_parity(header)) {
        header->last_bytes = (uint16_t)arb_bits_read(reader, LAST_BITS);
    }
    unsigned padding = (unsigned)(-reader->bit % 8);
    return arb_bits_read(reader, padding) != 0 ? ARB_DECODE_RANGE : reason;
}

enum arb_decode arb_chunk_decode(const uint8_t *bytes, size_t size, struct arb_chunk *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_SNAPSHOT, bytes, size);
    if (reason == ARB_DECODE_OK) {
        reason = read_header(&reader, &out->header);
    }
    size_t head = reader.bit / 8;
    if (reader.ended || (reason == ARB_DECODE_OK && head == size)) {
        return ARB_DECODE_SHORT;
    }
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    bool is_parity = arb_chunk_is_parity(&out->header);
    if (!is_parity && out->header.chunk_index >= out->header.chunk_count) {
        return ARB_DECODE_ORDER;
    }
    if (size - head > ARB_CHUNK_PAYLOAD_MAX) {
        return ARB_DECODE_LONG;
    }
    if (is_parity && (out->header.last_bytes == 0 || out->header.last_bytes > size - head)) {
        return ARB_DECODE_RANGE;
    }
    out->payload = bytes + head;
    out->payload_bytes = (uint16_t)(size - head);
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
           a->control == b->control && a->baseline == b->baseline &&
           a->chunk_count == b->chunk_count;
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

static uint8_t *place_of(const struct arb_assembly *assembly, uint32_t index)
{
    return assembly->storage + (size_t)index * assembly->chunk_capacity;
}

/* All but the last are as long as the parity. */
static bool fits_parity(const struct arb_assembly *assembly, uint32_t index)
{
    uint32_t count = assembly->header.chunk_count;
    uint16_t due = index + 1 == count ? assembly->last_bytes : assembly->chunk_size[count];
    return assembly->chunk_size[index] == due;
}

/* What is missing is the parity without the others; behind a shorter last one nothing is left. */
static bool repair(struct arb_assembly *assembly, uint32_t missing)
{
    uint32_t count = assembly->header.chunk_count;
    uint32_t bytes = assembly->chunk_size[count];
    uint8_t *place = place_of(assembly, missing);
    memcpy(place, place_of(assembly, count), bytes);
    for (uint32_t i = 0; i < count; i++) {
        if (i == missing) continue;
        if (!fits_parity(assembly, i)) return false;
        const uint8_t *other = place_of(assembly, i);
        for (uint32_t byte = 0; byte < assembly->chunk_size[i]; byte++) {
            place[byte] ^= other[byte];
        }
    }
    uint32_t size = missing + 1 == count ? assembly->last_bytes : bytes;
    for (uint32_t byte = size; byte < bytes; byte++) {
        if (place[byte] != 0) return false;
    }
    assembly->chunk_size[missing] = (uint16_t)size;
    return true;
}

/* The group has got a chunk more: is that all, or all but one that the parity tells? */
static enum arb_assembly_result look_at_group(struct arb_assembly *assembly)
{
    uint32_t count = assembly->header.chunk_count;
    uint64_t all = UINT64_MAX >> (64 - count);
    uint64_t missing = all & ~assembly->present;
    if (missing != 0) {
        bool has_parity = (assembly->present & ~all) != 0;
        if (!has_parity || (missing & (missing - 1)) != 0) return ARB_ASSEMBLY_WAITING;
        if (!repair(assembly, (uint32_t)__builtin_ctzll(missing))) return kill_group(assembly);
    }
    join_chunks(assembly);
    return ARB_ASSEMBLY_COMPLETE;
}

enum arb_assembly_result arb_assembly_add(struct arb_assembly *assembly,
                                          const struct arb_chunk *chunk)
{
    const struct arb_snapshot_header *header = &chunk->header;
    ARB_ASSERT(!assembly->complete);
    bool is_parity = arb_chunk_is_parity(header);
    ARB_ASSERT(is_parity || header->chunk_index < header->chunk_count);
    ARB_ASSERT(header->chunk_count <= ARB_CHUNKS_MAX - is_parity);
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
    uint8_t *place = place_of(assembly, header->chunk_index);
    if ((assembly->present & bit) != 0) {
        bool same = assembly->chunk_size[header->chunk_index] == chunk->payload_bytes &&
                    (!is_parity || assembly->last_bytes == header->last_bytes) &&
                    memcmp(place, chunk->payload, chunk->payload_bytes) == 0;
        return same ? ARB_ASSEMBLY_DUPLICATE : kill_group(assembly);
    }
    memcpy(place, chunk->payload, chunk->payload_bytes);
    assembly->chunk_size[header->chunk_index] = chunk->payload_bytes;
    assembly->present |= bit;
    if (is_parity) assembly->last_bytes = header->last_bytes;
    return look_at_group(assembly);
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
