#include "shared/base/arb_bits.h"

#include "shared/base/arb_assert.h"

#include <string.h>

void arb_bits_write_begin(struct arb_bit_writer *writer, uint8_t *bytes, size_t capacity)
{
    *writer = (struct arb_bit_writer){bytes, capacity * 8, 0, false};
}

/* The wire is little-endian; only there the order of the processor's bytes is asked for. */
static uint64_t to_wire_order(uint64_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

static uint64_t load64(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return to_wire_order(word);
}

static void store64(uint8_t *bytes, uint64_t word)
{
    word = to_wire_order(word);
    memcpy(bytes, &word, sizeof word);
}

/* The last bytes of a buffer, where a whole word would reach over its end. */
static void put_slowly(uint8_t *bytes, size_t bit, uint64_t value, unsigned bits)
{
    while (bits > 0) {
        uint8_t *byte = &bytes[bit / 8];
        unsigned used = (unsigned)(bit % 8);
        unsigned step = 8 - used < bits ? 8 - used : bits;
        unsigned keep = *byte & ((1U << used) - 1U);
        *byte = (uint8_t)(keep | ((unsigned)(value & ((1U << step) - 1U)) << used));
        value >>= step;
        bits -= step;
        bit += step;
    }
}

void arb_bits_write(struct arb_bit_writer *writer, uint64_t value, unsigned bits)
{
    ARB_ASSERT(bits <= 64);
    ARB_ASSERT(bits == 64 || value >> bits == 0);
    if (writer->full || writer->capacity_bits - writer->bit < bits) {
        writer->full = true;
        return;
    }
    size_t first = writer->bit / 8;
    unsigned used = (unsigned)(writer->bit % 8);
    if (writer->capacity_bits / 8 - first > 8) {
        uint8_t *at = writer->bytes + first;
        uint64_t keep = at[0] & ((1U << used) - 1U);
        store64(at, keep | value << used);
        /* Shifted in two steps: a shift by 64 is undefined. */
        at[8] = (uint8_t)(value >> 1 >> (63 - used));
    } else {
        put_slowly(writer->bytes, writer->bit, value, bits);
    }
    writer->bit += bits;
}

void arb_bits_rewrite(struct arb_bit_writer *writer, size_t at, uint64_t value, unsigned bits)
{
    ARB_ASSERT(bits == 64 || value >> bits == 0);
    ARB_ASSERT(at <= writer->bit && writer->bit - at >= bits);
    for (unsigned i = 0; i < bits; i++) {
        uint8_t *byte = &writer->bytes[(at + i) / 8];
        unsigned mask = 1U << ((at + i) % 8);
        *byte = (uint8_t)(value >> i & 1 ? *byte | mask : *byte & ~mask);
    }
}

void arb_bits_write_undo(struct arb_bit_writer *writer, size_t bit)
{
    ARB_ASSERT(bit <= writer->bit);
    writer->bit = bit;
    writer->full = false;
}

void arb_bits_write_signed(struct arb_bit_writer *writer, int64_t value, unsigned bits)
{
    ARB_ASSERT(bits >= 1 && bits <= 64);
    ARB_ASSERT(bits == 64 ||
               (value >= -((int64_t)1 << (bits - 1)) && value < (int64_t)1 << (bits - 1)));
    uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    arb_bits_write(writer, (uint64_t)value & mask, bits);
}

void arb_bits_write_float(struct arb_bit_writer *writer, float value)
{
    uint32_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    arb_bits_write(writer, pattern, 32);
}

void arb_bits_write_bytes(struct arb_bit_writer *writer, const void *bytes, size_t count)
{
    const uint8_t *source = bytes;
    for (size_t i = 0; i < count; i++) {
        arb_bits_write(writer, source[i], 8);
    }
}

/* Whole words, as many as both buffers surely hold; what would be read back between two of them
 * stays in a register. Returns the bits copied. */
static size_t copy_words(struct arb_bit_writer *writer, const uint8_t *source, size_t from,
                         size_t bits)
{
    const uint8_t *next = source + from / 8;
    unsigned shift = (unsigned)(from % 8);
    uint8_t *at = writer->bytes + writer->bit / 8;
    unsigned used = (unsigned)(writer->bit % 8);
    size_t words = bits / 64;
    uint64_t carry = *at & ((1U << used) - 1U);
    for (size_t i = 0; i < words; i++) {
        uint64_t word = load64(next) >> shift;
        if (shift > 0) word |= (uint64_t)next[8] << (64 - shift);
        store64(at, carry | word << used);
        carry = word >> 1 >> (63 - used);
        next += 8;
        at += 8;
    }
    if (used > 0) *at = (uint8_t)carry;
    writer->bit += words * 64;
    return words * 64;
}

void arb_bits_write_copy(struct arb_bit_writer *writer, const uint8_t *source, size_t from,
                         size_t bits)
{
    if (writer->full || writer->capacity_bits - writer->bit < bits) {
        writer->full = true;
        return;
    }
    size_t copied = bits >= 64 ? copy_words(writer, source, from, bits) : 0;
    struct arb_bit_reader reader = {source, from + bits, from + copied, false};
    unsigned rest = (unsigned)(bits - copied);
    if (rest > 0) arb_bits_write(writer, arb_bits_read(&reader, rest), rest);
}

size_t arb_bits_write_end(struct arb_bit_writer *writer)
{
    size_t bytes = (writer->bit + 7) / 8;
    if (writer->bit % 8 != 0) {
        writer->bytes[bytes - 1] &= (uint8_t)((1U << (writer->bit % 8)) - 1U);
    }
    return bytes;
}

void arb_bits_read_begin(struct arb_bit_reader *reader, const uint8_t *bytes, size_t size)
{
    *reader = (struct arb_bit_reader){bytes, size * 8, 0, false};
}

static uint64_t get_slowly(const uint8_t *bytes, size_t bit, unsigned bits)
{
    uint64_t value = 0;
    unsigned got = 0;
    while (got < bits) {
        unsigned used = (unsigned)(bit % 8);
        unsigned step = 8 - used < bits - got ? 8 - used : bits - got;
        uint64_t part = ((unsigned)bytes[bit / 8] >> used) & ((1U << step) - 1U);
        value |= part << got;
        got += step;
        bit += step;
    }
    return value;
}

uint64_t arb_bits_read(struct arb_bit_reader *reader, unsigned bits)
{
    ARB_ASSERT(bits <= 64);
    if (reader->ended || reader->size_bits - reader->bit < bits) {
        reader->ended = true;
        return 0;
    }
    size_t first = reader->bit / 8;
    unsigned used = (unsigned)(reader->bit % 8);
    uint64_t value;
    if (reader->size_bits / 8 - first > 8) {
        const uint8_t *at = reader->bytes + first;
        value = load64(at) >> used | (uint64_t)at[8] << 1 << (63 - used);
        value &= bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    } else {
        value = get_slowly(reader->bytes, reader->bit, bits);
    }
    reader->bit += bits;
    return value;
}

int64_t arb_bits_read_signed(struct arb_bit_reader *reader, unsigned bits)
{
    ARB_ASSERT(bits >= 1 && bits <= 64);
    uint64_t value = arb_bits_read(reader, bits);
    if (bits < 64 && value >> (bits - 1) != 0) {
        value |= UINT64_MAX << bits;
    }
    return (int64_t)value;
}

float arb_bits_read_float(struct arb_bit_reader *reader)
{
    uint32_t pattern = (uint32_t)arb_bits_read(reader, 32);
    float value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

void arb_bits_read_bytes(struct arb_bit_reader *reader, void *bytes, size_t count)
{
    uint8_t *target = bytes;
    for (size_t i = 0; i < count; i++) {
        target[i] = (uint8_t)arb_bits_read(reader, 8);
    }
}

bool arb_bits_read_end(const struct arb_bit_reader *reader)
{
    size_t left = reader->size_bits - reader->bit;
    if (reader->ended || left > 7) {
        return false;
    }
    return left == 0 || reader->bytes[reader->bit / 8] >> (reader->bit % 8) == 0;
}
