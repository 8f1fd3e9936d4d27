#include "shared/base/arb_bits.h"

#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { BUFFER = 512 };

/* What the wire says, one bit at a time: least significant bit first. */
static unsigned bit_at(const uint8_t *bytes, size_t bit)
{
    return (unsigned)bytes[bit / 8] >> (bit % 8) & 1U;
}

Test(base_bits, lowest_bit_comes_first_without_alignment)
{
    uint8_t bytes[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 5, 3);      /* 101 */
    arb_bits_write(&writer, 0x1A5, 10); /* 01 1010 0101 */
    cr_assert_eq(arb_bits_write_end(&writer), 2);
    cr_assert_eq(bytes[0], 0x2D); /* 00101 101 */
    cr_assert_eq(bytes[1], 0x0D); /* 000 01101 */
}

Test(base_bits, every_width_at_every_offset_reads_back)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 7, 1);
    for (unsigned offset = 0; offset < 70; offset++) {
        for (unsigned bits = 1; bits <= 64; bits++) {
            uint64_t value = (uint64_t)arb_rng_next(&rng) << 32 | arb_rng_next(&rng);
            value = bits == 64 ? value : value & (((uint64_t)1 << bits) - 1);
            uint8_t bytes[40];
            memset(bytes, 0xA5, sizeof bytes);
            struct arb_bit_writer writer;
            /* The buffer ends at the last bit: the fast way must not reach over it. */
            size_t size = (offset + bits + 7) / 8;
            arb_bits_write_begin(&writer, bytes, size);
            for (unsigned i = 0; i < offset; i++) {
                arb_bits_write(&writer, i & 1, 1);
            }
            arb_bits_write(&writer, value, bits);
            cr_assert_eq(arb_bits_write_end(&writer), size);
            cr_assert_eq(bytes[size], 0xA5, "offset %u bits %u: wrote beyond", offset, bits);
            for (unsigned i = 0; i < bits; i++) {
                cr_assert_eq(bit_at(bytes, offset + i), value >> i & 1);
            }
            struct arb_bit_reader reader;
            arb_bits_read_begin(&reader, bytes, size);
            for (unsigned i = 0; i < offset; i++) {
                cr_assert_eq(arb_bits_read(&reader, 1), i & 1);
            }
            struct arb_bit_reader other = reader;
            cr_assert_eq(arb_bits_read(&reader, bits), value, "offset %u bits %u", offset, bits);
            cr_assert(arb_bits_read_end(&reader));
            if (bits > 56) continue;
            cr_assert_eq(arb_bits_read_short(&other, bits), value);
            cr_assert_eq(other.bit, reader.bit);
            cr_assert_eq(arb_bits_read_short(&other, 8), 0);
            cr_assert(other.ended);
            cr_assert_eq(arb_bits_read_short(&other, 1), 0);
        }
    }
}

Test(base_bits, random_fields_read_back)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 20, 2);
    for (int run = 0; run < 500; run++) {
        uint64_t values[64];
        unsigned widths[64];
        uint8_t bytes[BUFFER];
        struct arb_bit_writer writer;
        arb_bits_write_begin(&writer, bytes, sizeof bytes);
        for (int i = 0; i < 64; i++) {
            widths[i] = arb_rng_below(&rng, 64) + 1;
            values[i] = (uint64_t)arb_rng_next(&rng) << 32 | arb_rng_next(&rng);
            values[i] &= UINT64_MAX >> (64 - widths[i]);
            arb_bits_write(&writer, values[i], widths[i]);
        }
        size_t size = arb_bits_write_end(&writer);
        struct arb_bit_reader reader;
        arb_bits_read_begin(&reader, bytes, size);
        for (int i = 0; i < 64; i++) {
            cr_assert_eq(arb_bits_read(&reader, widths[i]), values[i]);
        }
        cr_assert(arb_bits_read_end(&reader));
    }
}

Test(base_bits, signed_values_keep_their_sign_at_the_ends)
{
    uint8_t bytes[BUFFER];
    for (unsigned bits = 1; bits <= 64; bits++) {
        int64_t low = bits == 64 ? INT64_MIN : -((int64_t)1 << (bits - 1));
        int64_t high = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1;
        struct arb_bit_writer writer;
        arb_bits_write_begin(&writer, bytes, sizeof bytes);
        arb_bits_write_signed(&writer, low, bits);
        arb_bits_write_signed(&writer, high, bits);
        arb_bits_write_signed(&writer, -1, bits);
        size_t size = arb_bits_write_end(&writer);
        struct arb_bit_reader reader;
        arb_bits_read_begin(&reader, bytes, size);
        cr_assert_eq(arb_bits_read_signed(&reader, bits), low);
        cr_assert_eq(arb_bits_read_signed(&reader, bits), high);
        cr_assert_eq(arb_bits_read_signed(&reader, bits), -1);
    }
}

Test(base_bits, floats_travel_as_they_are)
{
    static const float values[] = {0.0F, -0.0F, 1.0F, 0.1F, -4096.0F, 1e-40F, INFINITY};
    uint8_t bytes[BUFFER];
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 1, 1);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        arb_bits_write_float(&writer, values[i]);
    }
    struct arb_bit_reader reader;
    arb_bits_read_begin(&reader, bytes, arb_bits_write_end(&writer));
    arb_bits_read(&reader, 1);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        float value = arb_bits_read_float(&reader);
        cr_assert_eq(memcmp(&value, &values[i], sizeof value), 0);
    }
}

Test(base_bits, a_full_writer_stays_full_and_writes_nothing_more)
{
    uint8_t bytes[3] = {0, 0, 0x77};
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, 2);
    arb_bits_write(&writer, 0x3FF, 10);
    arb_bits_write(&writer, 0, 7);
    cr_assert(writer.full);
    arb_bits_write(&writer, 1, 1);
    cr_assert(writer.full);
    cr_assert_eq(writer.bit, 10);
    cr_assert_eq(bytes[2], 0x77);
}

Test(base_bits, undo_goes_back_also_after_full)
{
    uint8_t bytes[2];
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, 2);
    arb_bits_write(&writer, 0x155, 9);
    arb_bits_write(&writer, 0, 8);
    cr_assert(writer.full);
    arb_bits_write_undo(&writer, 4);
    arb_bits_write(&writer, 0xF, 4);
    cr_assert_not(writer.full);
    cr_assert_eq(arb_bits_write_end(&writer), 1);
    cr_assert_eq(bytes[0], 0xF5);
}

Test(base_bits, rewrite_changes_only_its_bits)
{
    uint8_t bytes[BUFFER];
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 0x7FF, 11);
    arb_bits_write(&writer, 0, 14);
    arb_bits_write(&writer, 0x1FFF, 13);
    arb_bits_rewrite(&writer, 11, 0x2A55, 14);
    struct arb_bit_reader reader;
    arb_bits_read_begin(&reader, bytes, arb_bits_write_end(&writer));
    cr_assert_eq(arb_bits_read(&reader, 11), 0x7FF);
    cr_assert_eq(arb_bits_read(&reader, 14), 0x2A55);
    cr_assert_eq(arb_bits_read(&reader, 13), 0x1FFF);
}

Test(base_bits, copies_from_any_bit_to_any_bit)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 5, 3);
    uint8_t source[64];
    for (size_t i = 0; i < sizeof source; i++) {
        source[i] = (uint8_t)arb_rng_next(&rng);
    }
    for (unsigned run = 0; run < 2000; run++) {
        size_t from = arb_rng_below(&rng, 200);
        size_t bits = arb_rng_below(&rng, 300);
        unsigned offset = arb_rng_below(&rng, 20);
        uint8_t bytes[64];
        memset(bytes, 0xA5, sizeof bytes);
        /* Every second time there is just room enough. */
        size_t room = run % 2 == 0 ? sizeof bytes : (offset + bits + 7) / 8;
        struct arb_bit_writer writer;
        arb_bits_write_begin(&writer, bytes, room);
        arb_bits_write(&writer, 0, offset);
        arb_bits_write_copy(&writer, source, from, bits);
        cr_assert(room == sizeof bytes || bytes[room] == 0xA5, "wrote beyond");
        cr_assert_eq(writer.bit, offset + bits);
        for (size_t i = 0; i < bits; i++) {
            cr_assert_eq(bit_at(bytes, offset + i), bit_at(source, from + i));
        }
    }
}

Test(base_bits, a_copy_that_does_not_fit_writes_nothing)
{
    const uint8_t source[32] = {1};
    uint8_t bytes[16] = {0x55};
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, 0, 3);
    arb_bits_write_copy(&writer, source, 0, 126);
    cr_assert(writer.full);
    cr_assert_eq(writer.bit, 3);
    arb_bits_write_undo(&writer, 3);
    arb_bits_write_copy(&writer, source, 0, 125);
    cr_assert_not(writer.full);
    cr_assert_eq(bytes[0], 8);
}

Test(base_bits, reading_past_the_end_gives_zeros_and_is_remembered)
{
    const uint8_t bytes[2] = {0xFF, 0xFF};
    struct arb_bit_reader reader;
    arb_bits_read_begin(&reader, bytes, 2);
    cr_assert_eq(arb_bits_read(&reader, 10), 0x3FF);
    cr_assert_eq(arb_bits_read(&reader, 7), 0);
    cr_assert(reader.ended);
    cr_assert_eq(arb_bits_read(&reader, 1), 0, "nothing is read after the end");
    cr_assert_not(arb_bits_read_end(&reader));
}

Test(base_bits, a_message_ends_with_less_than_a_byte_of_zeros)
{
    const uint8_t good[2] = {0xFF, 0x01};
    const uint8_t bad[2] = {0xFF, 0x81};
    struct arb_bit_reader reader;
    arb_bits_read_begin(&reader, good, 2);
    arb_bits_read(&reader, 9);
    cr_assert(arb_bits_read_end(&reader));
    arb_bits_read_begin(&reader, bad, 2);
    arb_bits_read(&reader, 9);
    cr_assert_not(arb_bits_read_end(&reader), "filled with ones");
    arb_bits_read_begin(&reader, good, 2);
    arb_bits_read(&reader, 8);
    cr_assert_not(arb_bits_read_end(&reader), "a whole byte is left");
}
