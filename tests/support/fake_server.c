#include "tests/support/fake_server.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"

#include <string.h>

enum { FIRST_SNAPSHOT = 0xFFF0, TICK_RATE = 60, STEP_US = 500 };

struct arb_vec2 fake_mover(uint32_t index, arb_tick tick)
{
    /* 3 m/s along x, from one side to the other and then from the start again (a jump). */
    float along = (float)((tick + 37 * index) % 1200) * (3.0F / 60.0F);
    return (struct arb_vec2){along - 30.0F, (float)index - 20.0F};
}

static struct arb_move_params make_params(bool serpent)
{
    struct arb_move_params params;
    memset(&params, 0, sizeof params);
    params.mover = serpent ? ARB_MOVER_SERPENT : ARB_MOVER_ARENA;
    params.tick_rate = TICK_RATE;
    params.radius = 0.4F;
    params.max_speed = 6.0F;
    params.acceleration = 60.0F;
    params.friction = 40.0F;
    params.dash_speed = 15.0F;
    params.dash_ticks = 8;
    params.dash_cooldown_ticks = 60;
    params.base_speed = 5.0F;
    params.boost_speed = 8.0F;
    params.turn_rate = ARB_PI;
    params.weapon_count = serpent ? 0 : 1;
    params.weapons[0] = (struct arb_weapon_step){
        .interval_ticks = 8, .magazine = 12, .reload_ticks = 60, .automatic = 1};
    return params;
}

struct fake_server *fake_create(const struct fake_options *options)
{
    struct fake_server *fake = arb_mem_alloc(sizeof *fake);
    struct arb_bounds bounds = {{-40.0F, -40.0F}, {40.0F, 40.0F}};
    struct arb_shape walls[2] = {
        {ARB_SHAPE_CAPSULE, 2, 0.5F, {{-10.0F, 3.0F}, {10.0F, 4.0F}}},
        {ARB_SHAPE_POLYGON,
         4,
         0.0F,
         {{-12.0F, -9.0F}, {12.0F, -9.0F}, {12.0F, -4.0F}, {-12.0F, -4.0F}}},
    };
    fake->options = *options;
    if (fake->options.interval_ticks == 0) {
        fake->options.interval_ticks = 2;
    }
    if (fake->options.chunk_payload == 0) {
        fake->options.chunk_payload = 1150;
    }
    fake->schema = options->serpent ? &arb_schema_serpent : &arb_schema_arena;
    fake->params = make_params(options->serpent);
    fake->geometry = arb_geometry_create(walls, options->walls ? 2 : 0, bounds);
    fake->sim = arb_simnet_create(options->seed);
    struct arb_link free_link = {0};
    fake->listener = arb_simnet_open(fake->sim, free_link, free_link);
    struct arb_net_options net = {.peer_capacity = 4, .seed = 7};
    fake->net = arb_net_create(fake->listener, &net, 0);
    fake->tick = options->first_tick;
    fake->key = (struct arb_key){FAKE_OWN_ID, 1};
    fake->control = 1;
    fake->worst_lead = ARB_CLIENT_NO_MEASURE;
    fake->own.magazine[0] = 12;
    fake->own.reserve[0] = 500;
    fake->own.weapons = 1;
    if (options->serpent) {
        memset(fake->own.magazine, 0, sizeof fake->own.magazine);
        memset(fake->own.reserve, 0, sizeof fake->own.reserve);
        fake->own.weapons = 0;
    }
    fake->next_snapshot = FIRST_SNAPSHOT;
    return fake;
}

void fake_destroy(struct fake_server *fake)
{
    arb_net_destroy(fake->net);
    arb_simnet_destroy(fake->sim);
    arb_geometry_destroy(fake->geometry);
    arb_mem_free(fake);
}

struct arb_carrier *fake_carrier(struct fake_server *fake)
{
    return arb_simnet_connect(fake->sim, fake->listener, fake->options.up, fake->options.down);
}

uint64_t fake_now_ns(const struct fake_server *fake)
{
    return arb_simnet_now_us(fake->sim) * 1000;
}

void fake_send(struct fake_server *fake, uint8_t channel, const uint8_t *bytes, size_t size)
{
    uint8_t spoiled[ARB_NET_MESSAGE_MAX];
    if (fake->spoil != NULL) {
        ARB_ASSERT(size <= sizeof spoiled);
        memcpy(spoiled, bytes, size);
        fake->spoil(fake->spoiler, spoiled, &size);
        bytes = spoiled;
    }
    arb_net_send(fake->net, 0, channel, bytes, size);
}

void fake_event(struct fake_server *fake, struct arb_event event)
{
    uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
    size_t size = arb_event_encode(&event, bytes, sizeof bytes);
    ARB_ASSERT(size > 0);
    fake_send(fake, ARB_NET_CHANNEL_RELIABLE, bytes, size);
}

/* ---- join ---- */

static void send_welcome(struct fake_server *fake)
{
    static uint8_t bytes[65536];
    struct arb_welcome welcome = {
        .player_id = 1,
        .player_capacity = 8,
        .tick = (uint32_t)fake->tick,
        .tick_rate = TICK_RATE,
        .snapshot_interval_ticks = (uint8_t)fake->options.interval_ticks,
        .input_delay_ticks = (uint8_t)fake->options.input_delay_ticks,
        .input_buffer_ticks = 30,
        .map_hash = arb_geometry_hash(fake->geometry) + fake->wrong_map_hash,
        .bounds = arb_geometry_bounds(fake->geometry),
        .shape_count = (uint32_t)arb_geometry_shape_count(fake->geometry),
        .shapes = arb_geometry_shape_count(fake->geometry) > 0
                      ? arb_geometry_shape(fake->geometry, 0)
                      : NULL,
        .params = &fake->params,
    };
    strncpy(welcome.mode, fake->schema->name, sizeof welcome.mode - 1);
    size_t size = arb_welcome_encode(&welcome, &arb_move_param_fields, bytes, sizeof bytes);
    ARB_ASSERT(size > 0);
    for (uint16_t i = 0; i < arb_part_count(size); i++) {
        uint8_t datagram[ARB_MESSAGE_BYTES_MAX];
        struct arb_part part = arb_part_cut(bytes, size, 0, i);
        size_t part_size = arb_part_encode(&part, datagram, sizeof datagram);
        fake_send(fake, ARB_NET_CHANNEL_RELIABLE, datagram, part_size);
    }
    fake->joined = true;
}

static void send_refusal(struct fake_server *fake, const struct arb_hello *hello)
{
    uint8_t bytes[64];
    struct arb_refused refused = {ARB_REFUSED_VERSION, 77, hello->version, 0xABCD,
                                  hello->schema_hash};
    size_t size =
        arb_message_encode(ARB_MESSAGE_REFUSED, &arb_refused_fields, &refused, bytes, sizeof bytes);
    fake_send(fake, ARB_NET_CHANNEL_RELIABLE, bytes, size);
    arb_net_disconnect(fake->net, 0, ARB_REFUSED_VERSION);
}

/* ---- inputs ---- */

static void take_inputs(struct fake_server *fake, const struct arb_input_packet *packet)
{
    fake->acks += packet->has_ack;
    fake->view_delay = packet->view_delay;
    if (packet->has_ack) {
        fake_acknowledge(fake, packet->ack_snapshot);
    }
    for (uint32_t i = 0; packet->has_ack && i < 32; i++) {
        uint16_t age = (uint16_t)(packet->ack_snapshot - 1 - i - FIRST_SNAPSHOT);
        fake->bad_acks += (packet->ack_mask >> i & 1) != 0 && age >= 0x8000;
    }
    if (packet->count > fake->max_packet_inputs) {
        fake->max_packet_inputs = packet->count;
    }
    for (uint32_t i = 0; i < packet->count; i++) {
        const struct arb_input *input = &packet->inputs[i];
        if (input->sequence <= fake->newest) {
            fake->counts.inputs_duplicate++;
            continue;
        }
        if (fake->newest != 0 && input->target_tick != fake->newest_target + 1) {
            fake->target_gaps++;
        }
        fake->duplicate_sequences += fake->newest != 0 && input->target_tick <= fake->newest_target;
        fake->newest = input->sequence;
        fake->newest_target = input->target_tick;
        if (input->edges != 0) {
            fake->last_press = *input;
        }
        int64_t lead = (int64_t)(input->target_tick - fake->tick);
        int32_t bounded = lead < -128 ? -128 : lead > 126 ? 126 : (int32_t)lead;
        fake->worst_lead = bounded < fake->worst_lead ? bounded : fake->worst_lead;
        for (int bit = 0; bit < ARB_BUTTON_COUNT; bit++) {
            fake->counts.edges[bit] += (uint32_t)(input->edges >> bit & 1);
        }
        if (lead < 0) {
            fake->counts.inputs_late++;
            fake->carried |= input->edges;
            if (input->sequence > fake->last_sequence) {
                fake->last_sequence = input->sequence;
            }
            continue;
        }
        fake->buffer[input->target_tick % 256] = *input;
        fake->buffer_control[input->target_tick % 256] =
            (uint8_t)(packet->control - (i < packet->older_count ? 1 : 0));
    }
}

static void answer_ping(struct fake_server *fake, const struct arb_ping *ping, uint64_t received_ns,
                        uint64_t now_us)
{
    /* A tick that is due has not run yet: the whole of it has passed, no more. */
    uint64_t passed =
        (now_us - fake->start_us) * TICK_RATE - (fake->tick - fake->options.first_tick) * 1000000;
    uint64_t fraction = passed * 65536 / 1000000;
    uint8_t bytes[32];
    struct arb_pong pong = {
        .sequence = ping->sequence,
        .tick = (uint32_t)fake->tick,
        .fraction = (uint16_t)(fraction < 65535 ? fraction : 65535),
        .wait_us = (uint32_t)(now_us - received_ns / 1000),
    };
    size_t size =
        arb_message_encode(ARB_MESSAGE_PONG, &arb_pong_fields, &pong, bytes, sizeof bytes);
    fake_send(fake, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
}

static void take_message(struct fake_server *fake, const struct arb_net_event *event,
                         uint64_t now_us)
{
    union {
        struct arb_hello hello;
        struct arb_ping ping;
        struct arb_input_packet inputs;
    } message;
    switch (arb_message_type(event->bytes, event->size)) {
    case ARB_MESSAGE_HELLO:
        ARB_ASSERT(arb_message_decode(ARB_MESSAGE_HELLO, &arb_hello_fields, event->bytes,
                                      event->size, &message.hello) == ARB_DECODE_OK);
        if (fake->refuse_version) {
            send_refusal(fake, &message.hello);
        } else {
            send_welcome(fake);
        }
        break;
    case ARB_MESSAGE_PING:
        ARB_ASSERT(arb_message_decode(ARB_MESSAGE_PING, &arb_ping_fields, event->bytes, event->size,
                                      &message.ping) == ARB_DECODE_OK);
        answer_ping(fake, &message.ping, event->received_ns, now_us);
        break;
    case ARB_MESSAGE_INPUT:
        /* Who is told a wrong time sends inputs of it, which no server can widen. */
        if (arb_input_packet_decode(event->bytes, event->size, fake->newest, fake->tick,
                                    &message.inputs) == ARB_DECODE_OK) {
            take_inputs(fake, &message.inputs);
        } else {
            ARB_ASSERT(fake->spoil != NULL);
        }
        break;
    default:
        ARB_ASSERT(false);
    }
}

/* ---- ticks ---- */

static void make_neutral(struct arb_input *input)
{
    input->buttons = 0;
    input->edges = 0;
    input->move_x = 0;
    input->move_y = 0;
}

static void step_own(struct fake_server *fake)
{
    struct arb_input *held = &fake->buffer[fake->tick % 256];
    struct arb_input applied = fake->last;
    applied.edges = 0;
    if (held->sequence != 0 && held->target_tick == fake->tick) {
        applied = *held;
        if (fake->buffer_control[fake->tick % 256] != fake->control) {
            make_neutral(&applied);
        }
        fake->counts.inputs_consumed++;
        fake->last = applied;
        fake->last_sequence = applied.sequence;
        fake->outside += fake->carried != 0;
        applied.edges |= fake->carried;
        fake->carried = 0;
    } else if (fake->last.sequence != 0) {
        fake->starved++;
        fake->counts.inputs_starved++;
    }
    held->sequence = 0;
    struct arb_move_report report;
    if (!fake->no_character) {
        arb_move_step(&fake->own, &applied, &fake->params, fake->geometry, &report);
    }
    fake->log[fake->tick % FAKE_LOG] = fake->own;
}

static void step(struct fake_server *fake)
{
    step_own(fake);
    arb_tick published = fake->tick++;
    if (!fake->joined || fake->silent) {
        return;
    }
    if (published % fake->options.interval_ticks == 0 && !fake->hold_snapshots) {
        fake_send_snapshot(fake, published);
    }
    if (published % TICK_RATE == 0) {
        uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
        fake_send(fake, ARB_NET_CHANNEL_RELIABLE, bytes,
                  arb_message_encode(ARB_MESSAGE_COUNTS, &arb_counts_fields, &fake->counts, bytes,
                                     sizeof bytes));
    }
}

void fake_advance(struct fake_server *fake, uint64_t now_us)
{
    arb_simnet_advance(fake->sim, now_us);
    arb_net_service(fake->net, now_us * 1000);
    struct arb_net_event event;
    while (arb_net_next(fake->net, &event)) {
        if (event.type == ARB_NET_MESSAGE) {
            take_message(fake, &event, now_us);
        } else if (event.type == ARB_NET_DISCONNECTED) {
            fake->joined = false;
            fake->has_acked = false;
            fake->newest = 0;
            fake->last_sequence = 0;
            fake->last = (struct arb_input){0};
            memset(fake->buffer, 0, sizeof fake->buffer);
        }
    }
    /* Tick n runs at n + 1 periods, so that S[tick] and the fraction of a pong agree. */
    while ((fake->tick - fake->options.first_tick + 1) * 1000000 <=
           (now_us - fake->start_us) * TICK_RATE) {
        step(fake);
    }
    arb_net_flush(fake->net, now_us * 1000);
}

void fake_run(struct fake_server *fake, struct arbiter_client *client, uint64_t until_us,
              uint32_t frames_per_s, fake_frame frame, void *user)
{
    uint64_t now = arb_simnet_now_us(fake->sim);
    uint64_t period = 1000000 / frames_per_s;
    uint64_t next_frame = now + period;
    while (now < until_us) {
        now += STEP_US;
        fake_advance(fake, now);
        if (now < next_frame) {
            continue;
        }
        next_frame += period;
        struct arbiter_view view;
        arbiter_client_poll(client, now * 1000);
        arbiter_client_sample(client, now * 1000, &view);
        if (frame != NULL) {
            frame(user, client, &view);
        }
    }
}
