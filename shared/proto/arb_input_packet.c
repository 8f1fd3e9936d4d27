/* INPUT, bit by bit (PROTOCOL.md "INPUT"):
 *
 *   type 8 | control 8 | has_ack 1 [ack 16 | all 1 (mask 32)] | view delay small | count 6
 *   [older 1 (6) | sequence 16 | tick 16 | input 1 | input 2 ...]
 *
 *   input: changed 1 [step 1 (16) | buttons 1 (..) | edges 1 (..) | move 1 (8 8) | aim 1 (..) |
 * muzzle 1 (8)] and with fire held or pressed: drawn 1 [same 1 (to 16, gap) | fraction 9 or 16 |
 * held 1 (distance behind ack)]
 */
#include "shared/base/arb_assert.h"
#include "shared/proto/arb_proto_internal.h"

#include <string.h>

enum {
    COUNT_BITS = 6,
    NARROW_BUTTONS = 4,   /* bits of the buttons that every mode has */
    NARROW_AIM = 11,      /* signed step, 5.6 degrees each way */
    WAITING_FRACTION = 9, /* 0..256 */
};

const struct arb_small arb_small_gap = {{2, 4, 8, 16}};
const struct arb_small arb_small_delay = {{0, 8, 12, 16}};
const struct arb_small arb_small_held = {{1, 4, 8, 16}};

static bool shoots(const struct arb_input *input)
{
    return ((input->buttons | input->edges) & ARB_BUTTON_FIRE) != 0;
}

static bool view_drawn(const struct arb_view *view)
{
    return view->from_tick != 0 || view->to_tick != 0;
}

/* ---- encode ---- */

static void write_buttons(struct arb_bit_writer *writer, uint16_t buttons)
{
    bool wide = buttons >> NARROW_BUTTONS != 0;
    arb_bits_write(writer, wide, 1);
    arb_bits_write(writer, buttons, wide ? 16 : NARROW_BUTTONS);
}

static void write_aim(struct arb_bit_writer *writer, uint16_t aim, uint16_t before)
{
    int16_t step = (int16_t)(uint16_t)(aim - before);
    bool near = step >= -(1 << (NARROW_AIM - 1)) && step < 1 << (NARROW_AIM - 1);
    arb_bits_write(writer, !near, 1);
    if (near) {
        arb_bits_write_signed(writer, step, NARROW_AIM);
    } else {
        arb_bits_write(writer, aim, 16);
    }
}

/* What a view's `held` is told against: it is seldom older than the ack by more than one. */
static uint16_t held_reference(const struct arb_input_packet *packet)
{
    return packet->has_ack != 0 ? packet->ack_snapshot : 0;
}

static void write_view(struct arb_bit_writer *writer, const struct arb_view *view,
                       const struct arb_view *before, uint16_t reference)
{
    bool drawn = view_drawn(view);
    arb_bits_write(writer, drawn, 1);
    if (!drawn) {
        return;
    }
    ARB_ASSERT(view->from_tick <= view->to_tick);
    arb_tick gap = view->to_tick - view->from_tick;
    ARB_ASSERT(gap <= UINT16_MAX);
    bool same = view_drawn(before) && view->from_tick == before->from_tick &&
                view->to_tick == before->to_tick;
    arb_bits_write(writer, same, 1);
    if (!same) {
        arb_bits_write(writer, (uint16_t)view->to_tick, 16);
        arb_small_write(writer, &arb_small_gap, (uint32_t)gap);
    }
    ARB_ASSERT(gap == 0 || view->fraction <= 256);
    arb_bits_write(writer, view->fraction, gap == 0 ? 16 : WAITING_FRACTION);
    bool same_held = view_drawn(before) && view->held == before->held;
    arb_bits_write(writer, same_held, 1);
    if (!same_held) {
        arb_small_write(writer, &arb_small_held, (uint16_t)(reference - view->held));
    }
}

static bool changed(const struct arb_input *input, const struct arb_input *before, arb_tick step)
{
    return step != 1 || input->edges != 0 || input->buttons != before->buttons ||
           arb_input_axis(input->move_x) != arb_input_axis(before->move_x) ||
           arb_input_axis(input->move_y) != arb_input_axis(before->move_y) ||
           input->aim != before->aim || input->muzzle_fraction != before->muzzle_fraction;
}

static void write_changes(struct arb_bit_writer *writer, const struct arb_input *input,
                          const struct arb_input *before, arb_tick step)
{
    arb_bits_write(writer, step != 1, 1);
    if (step != 1) {
        arb_bits_write(writer, step, 16);
    }
    arb_bits_write(writer, input->buttons != before->buttons, 1);
    if (input->buttons != before->buttons) {
        write_buttons(writer, input->buttons);
    }
    arb_bits_write(writer, input->edges != 0, 1);
    if (input->edges != 0) {
        write_buttons(writer, input->edges);
    }
    bool moved = arb_input_axis(input->move_x) != arb_input_axis(before->move_x) ||
                 arb_input_axis(input->move_y) != arb_input_axis(before->move_y);
    arb_bits_write(writer, moved, 1);
    if (moved) {
        arb_bits_write_signed(writer, arb_input_axis(input->move_x), 8);
        arb_bits_write_signed(writer, arb_input_axis(input->move_y), 8);
    }
    arb_bits_write(writer, input->aim != before->aim, 1);
    if (input->aim != before->aim) {
        write_aim(writer, input->aim, before->aim);
    }
    arb_bits_write(writer, input->muzzle_fraction != before->muzzle_fraction, 1);
    if (input->muzzle_fraction != before->muzzle_fraction) {
        arb_bits_write(writer, input->muzzle_fraction, 8);
    }
}

static void write_head(struct arb_bit_writer *writer, const struct arb_input_packet *packet)
{
    arb_bits_write(writer, packet->control, 8);
    arb_bits_write(writer, packet->has_ack != 0, 1);
    if (packet->has_ack != 0) {
        arb_bits_write(writer, packet->ack_snapshot, 16);
        bool all = packet->ack_mask == UINT32_MAX;
        arb_bits_write(writer, all, 1);
        if (!all) {
            arb_bits_write(writer, packet->ack_mask, 32);
        }
    }
    arb_small_write(writer, &arb_small_delay, packet->view_delay);
    arb_bits_write(writer, packet->count, COUNT_BITS);
    if (packet->count > 0) {
        arb_bits_write(writer, packet->older_count != 0, 1);
        if (packet->older_count != 0) {
            arb_bits_write(writer, packet->older_count, COUNT_BITS);
        }
    }
}

size_t arb_input_packet_encode(const struct arb_input_packet *packet, uint8_t *bytes,
                               size_t capacity)
{
    ARB_ASSERT(packet->count <= ARB_INPUTS_PER_PACKET_MAX);
    ARB_ASSERT(packet->older_count <= packet->count);
    struct arb_bit_writer writer;
    arb_message_begin(&writer, ARB_MESSAGE_INPUT, bytes, capacity);
    write_head(&writer, packet);
    struct arb_input before = {0};
    for (int i = 0; i < packet->count; i++) {
        const struct arb_input *input = &packet->inputs[i];
        arb_tick step = 1;
        if (i == 0) {
            arb_bits_write(&writer, (uint16_t)input->sequence, 16);
            arb_bits_write(&writer, (uint16_t)input->target_tick, 16);
        } else {
            ARB_ASSERT(input->sequence == before.sequence + 1);
            ARB_ASSERT(input->target_tick > before.target_tick);
            step = input->target_tick - before.target_tick;
        }
        if (step > UINT16_MAX) {
            return 0;
        }
        bool change = changed(input, &before, step);
        arb_bits_write(&writer, change, 1);
        if (change) {
            write_changes(&writer, input, &before, step);
        }
        if (shoots(input)) {
            write_view(&writer, &input->view, &before.view, held_reference(packet));
        }
        struct arb_view view = shoots(input) ? input->view : before.view;
        before = *input;
        before.view = view;
    }
    return arb_message_end(&writer);
}

/* ---- decode ---- */

static uint16_t read_buttons(struct arb_bit_reader *reader)
{
    bool wide = arb_bits_read_short(reader, 1) != 0;
    return (uint16_t)arb_bits_read_short(reader, wide ? 16 : NARROW_BUTTONS);
}

static uint16_t read_aim(struct arb_bit_reader *reader, uint16_t before)
{
    if (arb_bits_read_short(reader, 1) != 0) {
        return (uint16_t)arb_bits_read_short(reader, 16);
    }
    return (uint16_t)(before + arb_bits_read_signed(reader, NARROW_AIM));
}

/* The view goes in place of the one before. */
static enum arb_decode read_view(struct arb_bit_reader *reader, arb_tick near_tick,
                                 uint16_t reference, struct arb_view *view)
{
    bool after_another = view_drawn(view);
    if (arb_bits_read_short(reader, 1) == 0) {
        memset(view, 0, sizeof *view);
        return ARB_DECODE_OK;
    }
    if (arb_bits_read_short(reader, 1) == 0) {
        uint16_t to = (uint16_t)arb_bits_read_short(reader, 16);
        uint32_t gap = arb_small_read(reader, &arb_small_gap);
        if (!arb_tick_widen16(to, near_tick, &view->to_tick) || gap > view->to_tick) {
            return ARB_DECODE_RANGE;
        }
        view->from_tick = view->to_tick - gap;
    }
    if (!view_drawn(view)) {
        return ARB_DECODE_RANGE;
    }
    bool between = view->from_tick < view->to_tick;
    view->fraction = (uint16_t)arb_bits_read_short(reader, between ? WAITING_FRACTION : 16);
    if (between && view->fraction > 256) {
        return ARB_DECODE_RANGE;
    }
    if (arb_bits_read_short(reader, 1) == 0) {
        view->held = (uint16_t)(reference - arb_small_read(reader, &arb_small_held));
        return ARB_DECODE_OK;
    }
    return after_another ? ARB_DECODE_OK : ARB_DECODE_RANGE;
}

static enum arb_decode read_changes(struct arb_bit_reader *reader, struct arb_input *input,
                                    bool first, uint32_t *step)
{
    if (arb_bits_read_short(reader, 1) != 0) {
        *step = (uint32_t)arb_bits_read_short(reader, 16);
        if (*step == 0 || first) {
            return ARB_DECODE_ORDER;
        }
    }
    if (arb_bits_read_short(reader, 1) != 0) {
        input->buttons = read_buttons(reader);
    }
    if (arb_bits_read_short(reader, 1) != 0) {
        input->edges = read_buttons(reader);
    }
    if (arb_bits_read_short(reader, 1) != 0) {
        input->move_x = arb_input_axis((int8_t)arb_bits_read_signed(reader, 8));
        input->move_y = arb_input_axis((int8_t)arb_bits_read_signed(reader, 8));
    }
    if (arb_bits_read_short(reader, 1) != 0) {
        input->aim = read_aim(reader, input->aim);
    }
    if (arb_bits_read_short(reader, 1) != 0) {
        input->muzzle_fraction = (uint8_t)arb_bits_read_short(reader, 8);
    }
    return ARB_DECODE_OK;
}

/* `running` is the input before, with the newest view, and becomes this one. */
static enum arb_decode read_input(struct arb_bit_reader *reader, bool first, arb_tick near_tick,
                                  uint16_t reference, struct arb_input *running,
                                  struct arb_input *out)
{
    uint32_t step = 1;
    running->edges = 0;
    if (arb_bits_read_short(reader, 1) != 0) {
        enum arb_decode reason = read_changes(reader, running, first, &step);
        if (reason != ARB_DECODE_OK) {
            return reason;
        }
    }
    if (!first) {
        running->sequence++;
        running->target_tick += step;
    }
    if (!shoots(running)) {
        *out = *running;
        memset(&out->view, 0, sizeof out->view);
        return ARB_DECODE_OK;
    }
    enum arb_decode reason = read_view(reader, near_tick, reference, &running->view);
    *out = *running;
    return reason;
}

static enum arb_decode read_head(struct arb_bit_reader *reader, struct arb_input_packet *out)
{
    out->control = (uint8_t)arb_bits_read_short(reader, 8);
    out->has_ack = (uint8_t)arb_bits_read_short(reader, 1);
    if (out->has_ack != 0) {
        out->ack_snapshot = (uint16_t)arb_bits_read_short(reader, 16);
        bool all = arb_bits_read_short(reader, 1) != 0;
        out->ack_mask = all ? UINT32_MAX : (uint32_t)arb_bits_read_short(reader, 32);
    }
    out->view_delay = (uint16_t)arb_small_read(reader, &arb_small_delay);
    out->count = (uint8_t)arb_bits_read_short(reader, COUNT_BITS);
    if (out->count > ARB_INPUTS_PER_PACKET_MAX) {
        return ARB_DECODE_RANGE;
    }
    if (out->count > 0 && arb_bits_read_short(reader, 1) != 0) {
        out->older_count = (uint8_t)arb_bits_read_short(reader, COUNT_BITS);
        if (out->older_count == 0 || out->older_count > out->count) {
            return ARB_DECODE_RANGE;
        }
    }
    return ARB_DECODE_OK;
}

/* Sequences count from 1 and end at 2^32 - 1, two years of play. */
static bool widen_sequence(uint16_t low, arb_sequence near, uint8_t count, arb_sequence *out)
{
    arb_tick wide = 0;
    if (!arb_tick_widen16(low, near, &wide) || wide == 0 || wide > UINT32_MAX - count) {
        return false;
    }
    *out = (arb_sequence)wide;
    return true;
}

static enum arb_decode read_inputs(struct arb_bit_reader *reader, arb_sequence near_sequence,
                                   arb_tick near_tick, struct arb_input_packet *out)
{
    struct arb_input running = {0};
    uint16_t sequence = (uint16_t)arb_bits_read_short(reader, 16);
    uint16_t tick = (uint16_t)arb_bits_read_short(reader, 16);
    if (!widen_sequence(sequence, near_sequence, out->count, &running.sequence) ||
        !arb_tick_widen16(tick, near_tick, &running.target_tick)) {
        return ARB_DECODE_RANGE;
    }
    for (int i = 0; i < out->count; i++) {
        enum arb_decode reason =
            read_input(reader, i == 0, near_tick, held_reference(out), &running, &out->inputs[i]);
        if (reason != ARB_DECODE_OK) {
            return reason;
        }
    }
    return ARB_DECODE_OK;
}

enum arb_decode arb_input_packet_decode(const uint8_t *bytes, size_t size,
                                        arb_sequence near_sequence, arb_tick near_tick,
                                        struct arb_input_packet *out)
{
    struct arb_bit_reader reader;
    enum arb_decode reason = arb_message_open(&reader, ARB_MESSAGE_INPUT, bytes, size);
    if (reason != ARB_DECODE_OK) {
        return reason;
    }
    memset(out, 0, sizeof *out);
    reason = read_head(&reader, out);
    if (reason == ARB_DECODE_OK && out->count > 0) {
        reason = read_inputs(&reader, near_sequence, near_tick, out);
    }
    return arb_message_close(&reader, reason);
}
