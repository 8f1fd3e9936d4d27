/* Bit streams of the wire: least significant bit first, fields of 1..64 bits, no alignment. The
 * writer fails softly when the buffer is full, the reader when the bytes end: both keep a flag that
 * is asked once at the end, so that codecs stay straight lines. Reading past the end gives zeros.
 */
#ifndef ARB_BITS_H
#define ARB_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arb_bit_writer {
    uint8_t *bytes; /* caller's */
    size_t capacity_bits;
    size_t bit; /* bits written so far */
    bool full;  /* something did not fit; nothing was written from then on */
};

struct arb_bit_reader {
    const uint8_t *bytes; /* caller's */
    size_t size_bits;
    size_t bit; /* bits read so far */
    bool ended; /* more was asked for than there is */
};

/* `bytes` must hold `capacity` bytes; they need not be zeroed, and up to 8 after the last bit may
 * be overwritten. */
void arb_bits_write_begin(struct arb_bit_writer *writer, uint8_t *bytes, size_t capacity);

/* The low `bits` (0..64) of value; higher ones must be 0. */
void arb_bits_write(struct arb_bit_writer *writer, uint64_t value, unsigned bits);

/* The same for at most 56 bits, for the few places where a call is what costs. */
static inline void arb_bits_write_short(struct arb_bit_writer *writer, uint64_t value,
                                        unsigned bits)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    size_t first = writer->bit / 8;
    if (!writer->full && writer->capacity_bits / 8 > first + 8) {
        unsigned used = (unsigned)(writer->bit % 8);
        uint8_t *at = writer->bytes + first;
        uint64_t word = (at[0] & ((1U << used) - 1U)) | value << used;
        memcpy(at, &word, sizeof word);
        writer->bit += bits;
        return;
    }
#endif
    arb_bits_write(writer, value, bits);
}

/* Two's complement in `bits` (1..64). */
void arb_bits_write_signed(struct arb_bit_writer *writer, int64_t value, unsigned bits);

/* The 32 bits of the float as they are. */
void arb_bits_write_float(struct arb_bit_writer *writer, float value);

/* `count` bytes, not aligned. */
void arb_bits_write_bytes(struct arb_bit_writer *writer, const void *bytes, size_t count);

/* Copies `bits` bits that start at bit `from` of `source`: all of them or, when they do not fit,
 * none. */
void arb_bits_write_copy(struct arb_bit_writer *writer, const uint8_t *source, size_t from,
                         size_t bits);

/* Replaces `bits` bits written earlier, from bit `at` on; all of them lie before writer->bit. For
 * counts that are known only at the end. */
void arb_bits_rewrite(struct arb_bit_writer *writer, size_t at, uint64_t value, unsigned bits);

/* Goes back to an earlier writer->bit, also after something did not fit. */
void arb_bits_write_undo(struct arb_bit_writer *writer, size_t bit);

/* Zeroes the rest of the last byte; returns the number of bytes in use. */
size_t arb_bits_write_end(struct arb_bit_writer *writer);

void arb_bits_read_begin(struct arb_bit_reader *reader, const uint8_t *bytes, size_t size);
uint64_t arb_bits_read(struct arb_bit_reader *reader, unsigned bits);

/* The same for 1 to 56 bits, for the few places where a call is what costs. */
static inline uint64_t arb_bits_read_short(struct arb_bit_reader *reader, unsigned bits)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    bool is_there = !reader->ended && reader->size_bits - reader->bit >= bits;
    if (is_there && reader->size_bits >= 64 && reader->size_bits % 8 == 0) {
        /* What is among the last 8 bytes is taken from these, so that nothing behind is read. */
        size_t first = reader->bit / 8, last = reader->size_bits / 8 - 8;
        size_t at = first < last ? first : last;
        uint64_t word;
        memcpy(&word, reader->bytes + at, sizeof word);
        word >>= reader->bit - 8 * at;
        reader->bit += bits;
        return word & ((UINT64_C(1) << bits) - 1);
    }
#endif
    return arb_bits_read(reader, bits);
}

int64_t arb_bits_read_signed(struct arb_bit_reader *reader, unsigned bits);

/* Any bit pattern, also not finite: the caller checks. */
float arb_bits_read_float(struct arb_bit_reader *reader);
void arb_bits_read_bytes(struct arb_bit_reader *reader, void *bytes, size_t count);

/* True when all was there, at most 7 bits are left, and these are zero: the end of a well-formed
 * message. */
bool arb_bits_read_end(const struct arb_bit_reader *reader);

#endif
