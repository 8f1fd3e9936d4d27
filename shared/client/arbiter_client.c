#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_math.h"
#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <string.h>

enum { DISCONNECT_WAIT_NS = 1000000000, GAP_NS_MAX = 100000000 };

/* ---- configuration ---- */

void arbiter_config_default(struct arbiter_config *config)
{
    *config = (struct arbiter_config){
        .abi = ARBITER_CLIENT_ABI,
        .name = "player",
        .interpolation_min_ms = 0,
        .interpolation_max_ms = 250,
        .correction_half_life_ms = 60.0F,
        .correction_tolerance_m = 0.005F,
        .hard_snap_m = 2.0F,
        .lead_min_ticks = 0.0F,
        .lead_max_ticks = 60.0F,
        .spare_ticks = 1.0F,
        .resync_ticks = 15,
        .max_events_per_poll = 64,
        .max_bad_messages = 64,
        .max_entities = 1024,
        .max_points = 16384,
        .max_welcome_bytes = 1024 * 1024,
        .timeout_ms = 10000,
        .silence_ms = 500,
        .late_poll_ms = 50,
        .seed = 1,
    };
}

static bool in_range(float value, float low, float high)
{
    return value >= low && value <= high;
}

static bool config_valid(const struct arbiter_config *c)
{
    return c->abi == ARBITER_CLIENT_ABI && arb_proto_name_valid(c->name) &&
           c->interpolation_min_ms <= c->interpolation_max_ms && c->interpolation_max_ms <= 10000 &&
           in_range(c->correction_half_life_ms, 0.0F, 10000.0F) &&
           in_range(c->correction_tolerance_m, 0.0F, 1000.0F) &&
           in_range(c->hard_snap_m, 0.0F, 10000.0F) &&
           in_range(c->lead_min_ticks, -ARB_PREDICT_TICKS, ARB_PREDICT_TICKS) &&
           in_range(c->lead_max_ticks, c->lead_min_ticks, ARB_PREDICT_TICKS) &&
           in_range(c->spare_ticks, 0.0F, 32.0F) && c->resync_ticks >= 2 &&
           c->resync_ticks <= ARB_PREDICT_TICKS / 2 && c->max_events_per_poll > 0 &&
           c->max_bad_messages > 0 && c->max_entities > 0 && c->max_entities <= ARB_ENTITIES_MAX &&
           c->max_points > 0 && c->max_points <= 1U << 24 && c->max_welcome_bytes > 0 &&
           c->max_welcome_bytes <= ARB_LONG_MESSAGE_BYTES_MAX && c->timeout_ms > 0 &&
           c->silence_ms > 0 && c->late_poll_ms > 0;
}

uint32_t arbiter_client_abi(void)
{
    return ARBITER_CLIENT_ABI;
}

/* ---- life ---- */

struct arbiter_client *arbiter_client_create(const struct arbiter_config *config)
{
    if (!config_valid(config)) {
        return NULL;
    }
    struct arbiter_client *client = arb_mem_alloc(sizeof *client);
    client->config = *config;
    client->spectating.wish.follow = ARB_NO_SLOT;
    return client;
}

void arb_client_go_light(struct arbiter_client *client)
{
    ARB_ASSERT(client->net == NULL);
    client->light = true;
}

/* What only a connection has; the result and the figures outlive it. */
static void drop_connection(struct arbiter_client *client)
{
    if (client->net != NULL) {
        arb_net_destroy(client->net);
    }
    if (client->match.geometry != NULL) {
        arb_geometry_destroy(client->match.geometry);
    }
    arb_mem_free(client->parts_bytes);
    arb_mem_free(client->room);
    client->net = NULL;
    client->parts_bytes = NULL;
    client->room = NULL;
    client->connection = ARBITER_OFFLINE;
    client->ending = false;
    memset(&client->match, 0, sizeof client->match);
    memset(&client->clocks, 0, sizeof client->clocks);
    memset(&client->snapshots, 0, sizeof client->snapshots);
    memset(&client->controls, 0, sizeof client->controls);
    memset(&client->drawing, 0, sizeof client->drawing);
    memset(&client->projectiles, 0, sizeof client->projectiles);
    memset(&client->parts, 0, sizeof client->parts);
    arb_predict_reset(&client->predict, NULL, NULL);
}

static void drop_board(struct arbiter_client *client)
{
    arb_mem_free(client->board.players);
    memset(&client->board, 0, sizeof client->board);
    arb_client_events_free(client);
}

void arbiter_client_destroy(struct arbiter_client *client)
{
    if (client != NULL) {
        drop_connection(client);
        drop_board(client);
        arb_mem_free(client);
    }
}

/* The end of a connection: everything that was queued still happened. */
static void finish(struct arbiter_client *client)
{
    if (client->match.known) {
        arb_client_events_due(client, true);
    }
    if (client->info.reason != ARBITER_REASON_ASKED) {
        arb_client_news(client, ARBITER_LINE_ENDED);
    }
    bool result = client->board.has_result || client->board.phase == ARBITER_MATCH_RESULT ||
                  client->board.phase == ARBITER_MATCH_ENDED;
    drop_connection(client);
    if (result) {
        client->game = ARBITER_GAME_RESULT;
        return;
    }
    bool asked = client->info.reason == ARBITER_REASON_ASKED;
    client->game = asked ? ARBITER_GAME_NONE : ARBITER_GAME_ERROR;
    uint32_t unsampled = client->events.count;
    arb_mem_free(client->board.players);
    memset(&client->board, 0, sizeof client->board);
    ARB_ASSERT(client->events.due == unsampled);
}

void arb_client_end(struct arbiter_client *client, enum arbiter_reason reason, const char *text)
{
    if (!client->ending) {
        client->info.reason = reason;
        snprintf(client->info.text, sizeof client->info.text, "%s", text);
        client->ending = true;
    }
}

/* `token` NULL: as a new player. It may be the client's own. */
static void begin(struct arbiter_client *client, const uint8_t *token, uint64_t now_ns)
{
    client->resumes = token != NULL;
    client->has_token = false;
    if (token != NULL) {
        memmove(client->token, token, sizeof client->token);
    } else {
        memset(client->token, 0, sizeof client->token);
    }
    drop_connection(client);
    drop_board(client);
    memset(&client->info, 0, sizeof client->info);
    memset(&client->statistics, 0, sizeof client->statistics);
    memset(&client->account, 0, sizeof client->account);
    client->schema = NULL;
    client->correction_sum_m = client->outside_sum_m = 0.0;
    client->line = (struct arb_line){.heard_ns = now_ns, .poll_ns = now_ns};
    client->now_ns = now_ns;
    client->connect_ns = now_ns;
}

static bool connect_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                            const uint8_t *token, uint64_t now_ns)
{
    begin(client, token, now_ns);
    struct arb_net_options options = {
        .peer_capacity = 1,
        .seed = (uint32_t)(client->config.seed ^ client->config.seed >> 32),
        .timeout_ms = client->config.timeout_ms,
    };
    client->net = arb_net_create(carrier, &options, now_ns);
    if (client->net == NULL || !arb_net_connect(client->net, now_ns)) {
        arb_client_end(client, ARBITER_REASON_ADDRESS, "no connection could be begun");
        finish(client);
        return false;
    }
    client->parts_bytes = arb_mem_alloc(client->config.max_welcome_bytes);
    arb_parts_init(&client->parts, client->parts_bytes, client->config.max_welcome_bytes);
    client->connection = ARBITER_CONNECTING;
    client->game = ARBITER_GAME_JOINING;
    arb_net_flush(client->net, now_ns);
    return true;
}

bool arb_client_connect_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                                uint64_t now_ns)
{
    return connect_carrier(client, carrier, NULL, now_ns);
}

bool arb_client_resume_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                               const uint8_t token[ARBITER_TOKEN_BYTES], uint64_t now_ns)
{
    return connect_carrier(client, carrier, token, now_ns);
}

static bool connect_address(struct arbiter_client *client, const char *address, uint16_t port,
                            const uint8_t *token, uint64_t now_ns)
{
    struct arb_carrier *carrier = NULL;
    char error[ARBITER_TEXT_BYTES] = "";
    snprintf(client->address, sizeof client->address, "%s", address);
    client->port = port;
    if (arb_udp_connect(address, port, &carrier, error, sizeof error) != ARB_OK) {
        begin(client, token, now_ns);
        arb_client_end(client, ARBITER_REASON_ADDRESS, error);
        finish(client);
        return false;
    }
    return connect_carrier(client, carrier, token, now_ns);
}

bool arbiter_client_connect(struct arbiter_client *client, const char *address, uint16_t port,
                            uint64_t now_ns)
{
    return connect_address(client, address, port, NULL, now_ns);
}

bool arbiter_client_resume(struct arbiter_client *client, const char *address, uint16_t port,
                           const uint8_t token[ARBITER_TOKEN_BYTES], uint64_t now_ns)
{
    return connect_address(client, address, port, token, now_ns);
}

/* Of the player that the newest connection was, or was to be; NULL: none, or its place is gone. */
static const uint8_t *kept_token(const struct arbiter_client *client)
{
    bool was_somebody = client->has_token || client->resumes;
    return was_somebody && client->info.reason != ARBITER_REASON_TOKEN ? client->token : NULL;
}

bool arb_client_rejoin_carrier(struct arbiter_client *client, struct arb_carrier *carrier,
                               uint64_t now_ns)
{
    return connect_carrier(client, carrier, kept_token(client), now_ns);
}

bool arbiter_client_rejoin(struct arbiter_client *client, uint64_t now_ns)
{
    char address[ARBITER_ADDRESS_BYTES];
    memcpy(address, client->address, sizeof address);
    return connect_address(client, address, client->port, kept_token(client), now_ns);
}

bool arbiter_client_token(const struct arbiter_client *client, uint8_t token[ARBITER_TOKEN_BYTES])
{
    if (client->has_token) {
        memcpy(token, client->token, ARBITER_TOKEN_BYTES);
    }
    return client->has_token;
}

static uint64_t step_time(struct arbiter_client *client, uint64_t now_ns)
{
    if (now_ns > client->now_ns) {
        client->now_ns = now_ns;
    }
    return client->now_ns;
}

void arbiter_client_disconnect(struct arbiter_client *client, uint64_t now_ns)
{
    uint64_t now = step_time(client, now_ns);
    if (client->net == NULL || client->connection == ARBITER_DISCONNECTING) {
        return;
    }
    if (client->connection == ARBITER_CONNECTING) {
        arb_client_end(client, ARBITER_REASON_ASKED, "disconnected before it was connected");
        finish(client);
        return;
    }
    client->connection = ARBITER_DISCONNECTING;
    client->connect_ns = now;
    arb_net_disconnect(client->net, 0, ARB_GOODBYE_DATA);
    arb_net_flush(client->net, now);
}

int arbiter_client_fd(const struct arbiter_client *client)
{
    return client->net == NULL ? -1 : arb_carrier_fd(arb_net_carrier(client->net));
}

/* ---- the poll ---- */

/* A refusal that did not arrive as a message still names itself in the disconnect. */
static void disconnected(struct arbiter_client *client, uint32_t data)
{
    if (client->connection == ARBITER_CONNECTING) {
        arb_client_end(client, ARBITER_REASON_NO_ANSWER, "the server does not answer");
    } else if (client->connection == ARBITER_DISCONNECTING) {
        arb_client_end(client, ARBITER_REASON_ASKED, "disconnected as asked");
    } else {
        arb_client_end_refused(client, data);
    }
}

static void handle(struct arbiter_client *client, const struct arb_net_event *event)
{
    switch (event->type) {
    case ARB_NET_CONNECTED:
        if (client->connection == ARBITER_CONNECTING) {
            client->connection = ARBITER_JOINING;
            client->connect_ns = client->now_ns;
            arb_client_send_hello(client);
        }
        break;
    case ARB_NET_DISCONNECTED:
        disconnected(client, event->data);
        break;
    case ARB_NET_MESSAGE:
        arb_client_message(client, event->bytes, event->size, event->received_ns);
        break;
    case ARB_NET_NONE:
        break;
    }
}

/* Silence that the transport does not notice: an answer to the connect or the welcome that never
 * comes, a farewell that gets lost. */
static void check_deadlines(struct arbiter_client *client, uint64_t now)
{
    uint64_t passed = now - client->connect_ns;
    uint64_t timeout_ns = (uint64_t)client->config.timeout_ms * 1000000;
    if (client->connection == ARBITER_CONNECTING && passed > timeout_ns) {
        arb_client_end(client, ARBITER_REASON_NO_ANSWER, "the server does not answer");
    } else if (client->connection == ARBITER_JOINING && passed > timeout_ns) {
        arb_client_end(client, ARBITER_REASON_LOST, "the server sent no welcome");
    } else if (client->connection == ARBITER_DISCONNECTING && passed > DISCONNECT_WAIT_NS) {
        arb_client_end(client, ARBITER_REASON_ASKED, "disconnected; the server did not confirm");
    }
}

/* After a pause, what has waited here is told apart until all of it is handled. */
static void handle_events(struct arbiter_client *client)
{
    struct arb_net_event event;
    bool more = true;
    for (uint32_t i = 0; i < client->config.max_events_per_poll && !client->ending; i++) {
        more = arb_net_next(client->net, &event);
        if (!more) {
            break;
        }
        handle(client, &event);
    }
    client->clocks.behind = more;
}

static void note_bytes(struct arbiter_client *client)
{
    const struct arb_net_counters *counters = arb_net_counters(client->net);
    client->statistics.bytes_up = counters->bytes_out;
    client->statistics.bytes_down = counters->bytes_in;
}

void arbiter_client_poll(struct arbiter_client *client, uint64_t now_ns)
{
    uint64_t before = client->now_ns;
    uint64_t now = step_time(client, now_ns);
    if (client->net == NULL) {
        return;
    }
    client->clocks.behind |= now - before > GAP_NS_MAX;
    client->clocks.poll_gap_ns = now - before < GAP_NS_MAX ? now - before : GAP_NS_MAX;
    arb_net_service(client->net, now);
    handle_events(client);
    arb_client_line_poll(client, now);
    check_deadlines(client, now);
    if (client->ending) {
        note_bytes(client);
        if (client->connection != ARBITER_OFFLINE) {
            arb_net_disconnect(client->net, 0, 0);
            arb_net_flush(client->net, now);
        }
        finish(client);
        return;
    }
    if (client->connection == ARBITER_CONNECTED) {
        arb_client_ping(client, now);
        arb_client_clocks_advance(client, now);
        arb_client_events_due(client, false);
        if (client->config.spectate) {
            arb_client_spectate(client, now);
        } else {
            arb_client_inputs_make(client, now);
        }
        arb_client_note_clocks(client);
    }
    arb_net_flush(client->net, now);
    note_bytes(client);
}

/* ---- clocks ---- */

static float bounded(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

static arb_fine fine_from_ticks(float ticks)
{
    return (arb_fine)arb_quantise(bounded(ticks, -16384.0F, 16384.0F), 1.0F / 256.0F, INT32_MIN / 2,
                                  INT32_MAX / 2) *
           (ARB_FINE_TICK / 256);
}

arb_fine arb_client_half_round_trip(const struct arbiter_client *client)
{
    const struct arb_time_sync *sync = &client->clocks.sync;
    const struct arb_time_sample *best = arb_time_sync_best(sync);
    return best == NULL ? 0 : arb_fine_from_ns(best->rtt_ns / 2, sync->rate);
}

/* Before the server has said how early inputs come: they are half a round trip under way, wait for
 * the end of the tick in which they are made and for the poll that follows, and have the spare. A
 * frame shorter than a tick counts as one: something may jitter. */
static arb_fine first_lead(const struct arbiter_client *client)
{
    const struct arb_client_clocks *clocks = &client->clocks;
    arb_fine gap = arb_fine_from_ns(clocks->poll_gap_ns, clocks->sync.rate);
    arb_fine frame = gap > ARB_FINE_TICK ? gap : ARB_FINE_TICK;
    return arb_client_half_round_trip(client) + ARB_FINE_TICK + frame +
           fine_from_ticks(client->config.spare_ticks) -
           (arb_fine)client->match.welcome.input_delay_ticks * ARB_FINE_TICK;
}

static void advance_input_clock(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_client_clocks *clocks = &client->clocks;
    const struct arbiter_config *config = &client->config;
    arb_fine buffer = (arb_fine)client->match.welcome.input_buffer_ticks * ARB_FINE_TICK;
    arb_fine high = fine_from_ticks(config->lead_max_ticks);
    arb_fine lead = arb_lead_now(&clocks->lead, now_ns, first_lead(client),
                                 fine_from_ticks(config->lead_min_ticks), high + buffer / 2);
    struct arb_slew_limits limits = {4, (arb_fine)config->resync_ticks * ARB_FINE_TICK};
    arb_fine before = clocks->input.at;
    bool jumped = arb_slew_advance(&clocks->input, now_ns, clocks->sync.rate,
                                   clocks->server.at + (lead < high ? lead : high), limits);
    if (jumped && clocks->input.at < before) {
        client->statistics.resyncs++;
    }
}

void arb_client_clocks_advance(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_client_clocks *clocks = &client->clocks;
    arb_fine estimate = 0;
    if (!arb_time_sync_estimate(&clocks->sync, now_ns, &estimate)) {
        return;
    }
    uint32_t rate = clocks->sync.rate;
    arb_fine bound = (arb_fine)client->config.resync_ticks * ARB_FINE_TICK;
    arb_slew_advance(&clocks->server, now_ns, rate, estimate, (struct arb_slew_limits){4, bound});
    clocks->delay_now =
        arb_delay_now(&clocks->delay, now_ns, client->match.welcome.snapshot_interval_ticks,
                      arb_fine_from_ms(client->config.interpolation_min_ms, rate),
                      arb_fine_from_ms(client->config.interpolation_max_ms, rate));
    if (clocks->delay.count == 0) {
        /* No snapshot was measured yet: by the server's time as it is estimated they will be as old
         * as the way is taken to be long. A view that began younger would stand still until it has
         * fallen back. */
        clocks->delay_now.age = arb_time_sync_one_way(&clocks->sync);
    }
    arb_fine behind = clocks->delay_now.age + clocks->delay_now.interpolation;
    arb_slew_advance(&clocks->view, now_ns, rate, clocks->server.at - behind,
                     (struct arb_slew_limits){8, 2 * bound});
    advance_input_clock(client, now_ns);
}

/* ---- pings ---- */

enum { PINGS_AT_FIRST = 8, FIRST_PING_NS = 40000000, PING_NS = 250000000 };

/* Of the pings under way only ARB_CLIENT_PINGS are remembered: the longer the first answer is
 * awaited, or the round trip, the rarer they are, or no answer would ever be known. */
static uint64_t ping_interval_ns(const struct arb_client_clocks *clocks, uint64_t now_ns)
{
    bool answered = clocks->sync.count > 0;
    uint64_t way_ns = answered ? clocks->newest_rtt_ns : now_ns - clocks->first_ping_ns;
    uint64_t least_ns = way_ns / (ARB_CLIENT_PINGS / 2);
    bool hurry = clocks->pings_sent < (answered ? PINGS_AT_FIRST / 2 : PINGS_AT_FIRST);
    uint64_t wanted_ns = hurry ? FIRST_PING_NS : PING_NS;
    return wanted_ns > least_ns ? wanted_ns : least_ns;
}

void arb_client_ping(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_client_clocks *clocks = &client->clocks;
    if (now_ns < clocks->next_ping_ns) {
        return;
    }
    uint8_t bytes[16];
    struct arb_ping ping = {.sequence = ++clocks->ping_sequence};
    size_t size =
        arb_message_encode(ARB_MESSAGE_PING, &arb_ping_fields, &ping, bytes, sizeof bytes);
    ARB_ASSERT(size > 0);
    uint32_t place = ping.sequence % ARB_CLIENT_PINGS;
    clocks->ping_sent_ns[place] = now_ns;
    clocks->pings_open |= 1U << place;
    clocks->first_ping_ns = clocks->pings_sent == 0 ? now_ns : clocks->first_ping_ns;
    clocks->pings_sent++;
    clocks->next_ping_ns = now_ns + ping_interval_ns(clocks, now_ns);
    arb_net_send(client->net, 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
}

void arb_client_pong(struct arbiter_client *client, const struct arb_pong *pong,
                     uint64_t received_ns)
{
    struct arb_client_clocks *clocks = &client->clocks;
    uint16_t age = (uint16_t)(clocks->ping_sequence - pong->sequence);
    uint32_t place = pong->sequence % ARB_CLIENT_PINGS;
    if (age >= ARB_CLIENT_PINGS || (clocks->pings_open >> place & 1) == 0) {
        return;
    }
    clocks->pings_open &= ~(1U << place);
    arb_fine known = (arb_fine)client->match.welcome.tick * ARB_FINE_TICK;
    arb_time_sync_estimate(&clocks->sync, received_ns, &known);
    arb_tick near = known > 0 ? (arb_tick)(known / ARB_FINE_TICK) : 0;
    arb_tick next = arb_widen32(pong->tick, near);
    /* pong->tick comes next: the server stands a fraction after the step before it. */
    arb_fine answered = ((arb_fine)next - 1) * ARB_FINE_TICK + pong->fraction;
    arb_time_sync_add(&clocks->sync, answered, (uint64_t)pong->wait_us * 1000,
                      clocks->ping_sent_ns[place], received_ns);
    const struct arb_time_sample *newest =
        &clocks->sync.samples[(clocks->sync.count - 1) % ARB_TIME_SAMPLES];
    clocks->newest_rtt_ns = newest->rtt_ns;
    float rtt_ms = (float)newest->rtt_ns * 1e-6F;
    clocks->rtt_ms =
        clocks->sync.count == 1 ? rtt_ms : clocks->rtt_ms + (rtt_ms - clocks->rtt_ms) * 0.125F;
}

bool arb_client_estimate(const struct arbiter_client *client, uint64_t now_ns, arb_fine *out)
{
    return arb_time_sync_estimate(&client->clocks.sync, now_ns, out);
}
