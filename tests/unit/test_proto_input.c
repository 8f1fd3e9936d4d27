#include "shared/proto/arb_proto.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arb_input_packet packet;
static struct arb_input_packet decoded;
static uint8_t bytes[ARB_MESSAGE_BYTES_MAX];

/* `count` inputs that hold what the first one says. */
static void hold(uint8_t count, arb_sequence sequence, arb_tick tick, struct arb_input first)
{
    memset(&packet, 0, sizeof packet);
    packet.count = count;
    for (uint8_t i = 0; i < count; i++) {
        packet.inputs[i] = first;
        packet.inputs[i].sequence = sequence + i;
        packet.inputs[i].target_tick = tick + i;
    }
}

static enum arb_decode round_trip(arb_sequence near_sequence, arb_tick near_tick)
{
    size_t size = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    cr_assert_gt(size, 0);
    return arb_input_packet_decode(bytes, size, near_sequence, near_tick, &decoded);
}

Test(proto_input, an_unchanged_input_costs_one_bit)
{
    struct arb_input held = {.buttons = ARB_BUTTON_USE, .move_x = 127, .aim = 40000};
    hold(1, 10, 100, held);
    size_t one = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    hold(32, 10, 100, held);
    size_t many = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    cr_assert_leq(many, one + 4, "31 bits more");
    cr_assert_eq(round_trip(10, 100), ARB_DECODE_OK);
    cr_assert_eq(memcmp(&packet, &decoded, sizeof packet), 0);
}

Test(proto_input, the_view_travels_only_with_fire)
{
    struct arb_view view = {.from_tick = 90, .to_tick = 92, .fraction = 7, .held = 40};
    hold(1, 1, 100, (struct arb_input){.buttons = ARB_BUTTON_USE, .view = view});
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[0].view.to_tick, 0);
    hold(1, 1, 100, (struct arb_input){.edges = ARB_BUTTON_FIRE, .view = view});
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[0].view.to_tick, 92, "pressed and released within the tick");
    hold(1, 1, 100, (struct arb_input){.buttons = ARB_BUTTON_FIRE, .view = view});
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[0].view.from_tick, 90);
    cr_assert_eq(decoded.inputs[0].view.fraction, 7);
    cr_assert_eq(decoded.inputs[0].view.held, 40);
}

Test(proto_input, an_input_before_anything_was_drawn_has_no_view)
{
    hold(2, 1, 100, (struct arb_input){.buttons = ARB_BUTTON_FIRE});
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(memcmp(&packet, &decoded, sizeof packet), 0);
}

Test(proto_input, minus_128_is_read_as_minus_127)
{
    hold(2, 1, 100, (struct arb_input){.move_x = -128, .move_y = -128});
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[1].move_x, -127);
    cr_assert_eq(decoded.inputs[1].move_y, -127);
}

Test(proto_input, sequences_and_ticks_widen_to_the_nearest_from_any_start)
{
    static const uint64_t starts[] = {1, 0x7FF0, 0xFFF0, 0x7FFFFFF0, 0xFFFFFFF0 - 64};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (uint64_t step = 0; step < 40; step++) {
            uint64_t first = starts[i] + step;
            struct arb_input held = {.buttons = ARB_BUTTON_FIRE,
                                     .view = {.from_tick = first, .to_tick = first + 2}};
            hold(8, (arb_sequence)first, first + 3, held);
            uint64_t near = first > 20 ? first - 20 : 0;
            cr_assert_eq(round_trip((arb_sequence)near, near), ARB_DECODE_OK);
            cr_assert_eq(memcmp(&packet, &decoded, sizeof packet), 0);
        }
    }
}

Test(proto_input, ticks_beyond_32_bits_widen)
{
    arb_tick first = 0xFFFFFFF0;
    hold(32, 5, first, (struct arb_input){.aim = 1});
    cr_assert_eq(round_trip(1, first + 16), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[31].target_tick, 0x10000000FULL);
}

Test(proto_input, what_would_lie_before_the_first_is_refused)
{
    hold(1, 65535, 5, (struct arb_input){0});
    cr_assert_eq(round_trip(1, 5), ARB_DECODE_RANGE, "sequence -1");
    hold(1, 65536, 5, (struct arb_input){0});
    cr_assert_eq(round_trip(1, 5), ARB_DECODE_RANGE, "sequence 0");
    hold(1, 1, 65530, (struct arb_input){0});
    cr_assert_eq(round_trip(1, 5), ARB_DECODE_RANGE, "tick -6");
    hold(1, 1, 5,
         (struct arb_input){.buttons = ARB_BUTTON_FIRE,
                            .view = {.from_tick = 65530, .to_tick = 65535}});
    cr_assert_eq(round_trip(1, 5), ARB_DECODE_RANGE, "view before 0");
    hold(2, 0xFFFFFFFE, 5, (struct arb_input){0});
    cr_assert_eq(round_trip(0xFFFFFFF0, 5), ARB_DECODE_RANGE, "sequences end");
}

Test(proto_input, a_press_that_holds_on_is_one_edge)
{
    hold(3, 1, 100, (struct arb_input){.buttons = ARB_BUTTON_DASH});
    packet.inputs[0].edges = ARB_BUTTON_DASH;
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[0].edges, ARB_BUTTON_DASH);
    cr_assert_eq(decoded.inputs[1].edges, 0);
    cr_assert_eq(decoded.inputs[2].edges, 0);
    cr_assert_eq(decoded.inputs[2].buttons, ARB_BUTTON_DASH);
}

Test(proto_input, resynchronised_ticks_may_jump_ahead_by_65535)
{
    hold(2, 1, 100, (struct arb_input){0});
    packet.inputs[1].target_tick = 100 + 65535;
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(decoded.inputs[1].target_tick, 100 + 65535);
    packet.inputs[1].target_tick++;
    cr_assert_eq(arb_input_packet_encode(&packet, bytes, sizeof bytes), 0);
}

Test(proto_input, inputs_of_an_earlier_control_number_are_marked)
{
    for (uint8_t older = 0; older <= 3; older++) {
        hold(3, 1, 100, (struct arb_input){.aim = 5});
        packet.older_count = older;
        cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
        cr_assert_eq(decoded.older_count, older);
    }
    size_t size = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    /* Bits: type 8, control 8, ack 1, delay 2, count 6, flag 1: the number begins at bit 26. */
    bytes[3] = (uint8_t)((bytes[3] & 3) | 4 << 2);
    cr_assert_eq(arb_input_packet_decode(bytes, size, 1, 100, &decoded), ARB_DECODE_RANGE);
    bytes[3] &= 3;
    cr_assert_eq(arb_input_packet_decode(bytes, size, 1, 100, &decoded), ARB_DECODE_RANGE);
}

Test(proto_input, the_largest_packet_fits_a_datagram)
{
    memset(&packet, 0, sizeof packet);
    packet.count = ARB_INPUTS_PER_PACKET_MAX;
    packet.has_ack = 1;
    for (uint32_t i = 0; i < packet.count; i++) {
        packet.inputs[i] =
            (struct arb_input){.sequence = i + 1,
                               .target_tick = 1000 + 2 * i,
                               .buttons = i % 2 == 0 ? 0xFFFF : 0xAAAB,
                               .edges = 0xFFFF,
                               .move_x = i % 2 == 0 ? 1 : -1,
                               .aim = (uint16_t)(i * 30000),
                               .muzzle_fraction = (uint8_t)i,
                               .view = {.from_tick = 700, .to_tick = 990 - i, .fraction = 256}};
    }
    cr_assert_eq(round_trip(1, 1000), ARB_DECODE_OK);
    cr_assert_eq(memcmp(&packet, &decoded, sizeof packet), 0);
}

/* Bits that the packet of two inputs with these `held` takes, and that it comes back as it was. */
static size_t bits_with_held(uint16_t ack, uint16_t first, uint16_t second)
{
    struct arb_view view = {.from_tick = 90, .to_tick = 92, .fraction = 7};
    hold(2, 1, 100, (struct arb_input){.buttons = ARB_BUTTON_FIRE, .view = view});
    packet.has_ack = 1;
    packet.ack_snapshot = ack;
    packet.inputs[0].view.held = first;
    packet.inputs[1].view.held = second;
    cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
    cr_assert_eq(memcmp(&packet, &decoded, sizeof packet), 0);
    return arb_input_packet_encode(&packet, bytes, sizeof bytes);
}

Test(proto_input, what_was_held_costs_bits_only_when_it_is_not_the_ack)
{
    size_t nearest = bits_with_held(1, 1, 1);
    cr_assert_eq(bits_with_held(1, 0, 0), nearest, "one behind");
    cr_assert_eq(bits_with_held(1, 0xFFFF, 0xFFFF), nearest + 1, "two behind, across the wrap");
    cr_assert_leq(bits_with_held(1, 0xFFFF, 1), nearest + 1);
    cr_assert_leq(bits_with_held(20, 21, 21), nearest + 2, "ahead of the ack: nobody honest");
}

Test(proto_input, every_view_delay_travels)
{
    static const uint16_t delays[] = {0, 1, 255, 256, 4095, 4096, 65535};
    for (size_t i = 0; i < sizeof delays / sizeof delays[0]; i++) {
        hold(1, 1, 100, (struct arb_input){.aim = 1});
        packet.view_delay = delays[i];
        cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
        cr_assert_eq(decoded.view_delay, delays[i]);
        packet.count = 0;
        memset(packet.inputs, 0, sizeof packet.inputs);
        cr_assert_eq(round_trip(1, 100), ARB_DECODE_OK);
        cr_assert_eq(decoded.view_delay, delays[i], "a bare acknowledgement has it too");
    }
}

/* Bits of a packet with one input, by hand: type, control, no ack, no delay, count 1, none older,
 * sequence 1, tick 9. */
static size_t by_hand(const char *input_bits)
{
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_bits_write(&writer, ARB_MESSAGE_INPUT, 8);
    arb_bits_write(&writer, 0, 9);
    arb_bits_write(&writer, 0, 2);
    arb_bits_write(&writer, 1, 6);
    arb_bits_write(&writer, 0, 1);
    arb_bits_write(&writer, 1, 16);
    arb_bits_write(&writer, 9, 16);
    for (const char *bit = input_bits; *bit != 0; bit++) {
        if (*bit != ' ') {
            arb_bits_write(&writer, *bit == '1', 1);
        }
    }
    return arb_bits_write_end(&writer);
}

Test(proto_input, forms_that_no_sender_writes_are_refused)
{
    static const struct {
        const char *bits;
        enum arb_decode expected;
    } cases[] = {
        {"0", ARB_DECODE_OK},
        {"1 1 1000000000000000 0 0 0 0 0", ARB_DECODE_ORDER},     /* a first input has no step */
        {"1 0 1 0 1000 0 0 0 0 0", ARB_DECODE_OK},                /* fire, nothing drawn */
        {"1 0 1 0 1000 0 0 0 0 1 1 000000000", ARB_DECODE_RANGE}, /* same view as none */
        /* to 2, gap 2, fraction 257 */
        {"1 0 1 0 1000 0 0 0 0 1 0 0100000000000000 00 01 100000001 0 00 0", ARB_DECODE_RANGE},
        {"1 0 1 0 1000 0 0 0 0 1 0 0100000000000000 00 01 000000001 0 00 0", ARB_DECODE_OK},
        /* held as in no view before */
        {"1 0 1 0 1000 0 0 0 0 1 0 0100000000000000 00 01 000000001 1", ARB_DECODE_RANGE},
        /* to 2, gap 3 */
        {"1 0 1 0 1000 0 0 0 0 1 0 0100000000000000 00 11 000000001 0 00 0", ARB_DECODE_RANGE},
        /* drawn, but at no tick */
        {"1 0 1 0 1000 0 0 0 0 1 0 0000000000000000 00 00 0000000000000000", ARB_DECODE_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = by_hand(cases[i].bits);
        cr_assert_eq(arb_input_packet_decode(bytes, size, 1, 9, &decoded), cases[i].expected,
                     "case %zu", i);
    }
    hold(1, 1, 9, (struct arb_input){0});
    size_t size = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    bytes[2] = (uint8_t)(33 << 3); /* the lower 5 bits of 33; the 6th is byte 3's lowest */
    bytes[3] |= 1;
    cr_assert_eq(arb_input_packet_decode(bytes, size, 1, 9, &decoded), ARB_DECODE_RANGE,
                 "33 inputs");
}
