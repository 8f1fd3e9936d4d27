/* From the player's hands to the wire: presses are collected between two inputs, the input clock
 * says when the next input is due, each packet repeats what is not acknowledged. */
#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"

#include <string.h>

/* Without inputs the snapshots are acknowledged this often. */
enum { BARE_ACK_NS = 100000000 };

uint16_t arbiter_aim(float angle)
{
    return arb_angle_to_turn16(angle);
}

void arbiter_client_input(struct arbiter_client *client, const struct arbiter_input *input)
{
    struct arb_client_controls *controls = &client->controls;
    uint16_t pressed = (uint16_t)(input->buttons & ~controls->now.buttons);
    controls->collected |= pressed;
    if ((pressed & ARB_BUTTON_FIRE) != 0 && !controls->fire_caught) {
        controls->fire_caught = true;
        controls->fire_aim = input->aim;
        controls->fire_view = controls->drawn;
        controls->fire_fraction = controls->drawn_fraction;
    }
    controls->now = *input;
}

struct arb_input arb_client_input_now(const struct arbiter_client *client)
{
    const struct arb_client_controls *controls = &client->controls;
    return (struct arb_input){
        .view = controls->drawn,
        .buttons = controls->now.buttons,
        .edges = controls->collected,
        .move_x = arb_input_axis(controls->now.move_x),
        .move_y = arb_input_axis(controls->now.move_y),
        .aim = controls->fire_caught ? controls->fire_aim : controls->now.aim,
        .muzzle_fraction = controls->drawn_fraction,
    };
}

/* What the caller's tick function makes of it: a press is then what was not held before. One that
 * is over is held for this tick, so that who records it has it as well. */
static void ask_caller(struct arbiter_client *client, struct arb_input *input)
{
    struct arb_client_controls *controls = &client->controls;
    struct arbiter_input io = controls->now;
    io.buttons |= controls->collected;
    client->config.on_tick(client->config.on_tick_user, input->target_tick, &io);
    input->buttons = io.buttons;
    input->move_x = arb_input_axis(io.move_x);
    input->move_y = arb_input_axis(io.move_y);
    if (!controls->fire_caught) {
        input->aim = io.aim;
    }
    input->edges |= (uint16_t)(io.buttons & ~controls->held_before);
}

static void count_edges(struct arbiter_client *client, const struct arb_input *input)
{
    if (input->target_tick > client->controls.edges_until) {
        return;
    }
    for (int bit = 0; bit < ARBITER_BUTTONS; bit++) {
        client->statistics.edges_sent[bit] += (uint64_t)(input->edges >> bit & 1);
    }
}

static void make_one(struct arbiter_client *client, arb_tick target)
{
    struct arb_client_controls *controls = &client->controls;
    const struct arb_client_clocks *clocks = &client->clocks;
    struct arb_pending pending = {
        .input = arb_client_input_now(client),
        .lead = clocks->input.at - clocks->server.at,
        .control = client->snapshots.header.control,
    };
    pending.input.sequence = client->predict.newest + 1;
    pending.input.target_tick = target;
    if (controls->fire_caught) {
        pending.input.view = controls->fire_view;
        pending.input.muzzle_fraction = controls->fire_fraction;
    }
    if (client->config.on_tick != NULL) {
        ask_caller(client, &pending.input);
    }
    count_edges(client, &pending.input);
    controls->held_before = pending.input.buttons;
    controls->collected = 0;
    controls->fire_caught = false;
    client->statistics.inputs_sent++;
    arb_predict_input(&client->predict, &pending);
    arb_client_projectiles_fire(client, &pending);
}

/* What the others are drawn later than the network makes them, in 1/16 tick: the server adds the
 * round trip that it measures, and so expects the views that this client will name. */
static uint16_t view_delay(const struct arbiter_client *client)
{
    const struct arb_client_clocks *clocks = &client->clocks;
    if (client->controls.drawn.to_tick == 0) {
        return 0;
    }
    arb_fine delay = clocks->server.at - arb_client_half_round_trip(client) - clocks->view.at;
    arb_fine steps = delay / (ARB_FINE_TICK / 16);
    return steps < 0 ? 0 : steps > UINT16_MAX ? UINT16_MAX : (uint16_t)steps;
}

static void send_packet(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_client_snapshots *snapshots = &client->snapshots;
    const struct arb_predict *predict = &client->predict;
    struct arb_input_packet packet = {
        .control = snapshots->header.control,
        .ack_snapshot = snapshots->header.id,
        .has_ack = snapshots->any,
        .ack_mask = (uint32_t)(snapshots->committed_mask >> 1),
        .view_delay = view_delay(client),
    };
    uint32_t count = arb_predict_unacknowledged(predict);
    packet.count = (uint8_t)(count < ARB_INPUTS_PER_PACKET_MAX ? count : ARB_INPUTS_PER_PACKET_MAX);
    for (uint32_t i = 0; i < packet.count; i++) {
        arb_sequence sequence = predict->newest - packet.count + 1 + i;
        const struct arb_pending *pending = &predict->pending[sequence % ARB_PREDICT_TICKS];
        ARB_ASSERT(pending->input.sequence == sequence);
        packet.inputs[i] = pending->input;
        if (pending->control != packet.control) {
            packet.older_count = (uint8_t)(i + 1);
        }
    }
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size = arb_input_packet_encode(&packet, bytes, sizeof bytes);
    if (size > 0 && arb_net_send(client->net, 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size)) {
        client->statistics.input_packets++;
    }
    client->controls.packet_ns = now_ns;
    snapshots->unacknowledged = false;
}

/* The input for tick t is complete, and made, when the clock has passed t, that is at t + 1. The
 * match's input delay moves the target on. */
static arb_tick due_target(const struct arbiter_client *client)
{
    arb_fine at = client->clocks.input.at;
    arb_fine passed = at > ARB_FINE_TICK ? at / ARB_FINE_TICK - 1 : 0;
    return (arb_tick)passed + client->match.welcome.input_delay_ticks;
}

/* The clock jumped over ticks, or back to ticks that inputs were already made for. What was sent
 * and is forgotten here may lie in the server's buffer or be under way to it: how far the buffer
 * reaches cannot be said here, where the server's present is known to half a round trip. Returns
 * the tick of the next input: none of the past, which snapshots may have told of already. */
static arb_tick forget_inputs(struct arbiter_client *client, arb_tick due)
{
    struct arb_client_snapshots *snapshots = &client->snapshots;
    struct arb_predict *predict = &client->predict;
    snapshots->forgotten = predict->newest;
    /* Of a second resync the newest target may be an earlier one. */
    if (predict->newest_tick > snapshots->forgotten_tick) {
        snapshots->forgotten_tick = predict->newest_tick;
    }
    arb_predict_drop_inputs(predict);
    return due > predict->newest_tick ? due : predict->newest_tick + 1;
}

void arb_client_inputs_make(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_predict *predict = &client->predict;
    if (!client->clocks.input.running || !client->snapshots.any) {
        return;
    }
    arb_tick due = due_target(client);
    arb_tick next = predict->newest_tick + 1;
    if (predict->newest == 0) {
        next = due;
    } else if (due > predict->newest_tick + client->config.resync_ticks) {
        /* A stall: what would have been pressed in it is past. */
        next = forget_inputs(client, due);
        client->statistics.resyncs++;
    } else if (predict->newest_tick > due + client->config.resync_ticks) {
        /* A stall of the server, which dropped the time: the ticks of these inputs are seconds
         * away. The clock has counted the resync. */
        next = forget_inputs(client, due);
    }
    bool made = false;
    for (; next <= due; next++) {
        make_one(client, next);
        made = true;
    }
    bool bare =
        client->snapshots.unacknowledged && now_ns - client->controls.packet_ns >= BARE_ACK_NS;
    if (made || bare) {
        send_packet(client, now_ns);
    }
}
