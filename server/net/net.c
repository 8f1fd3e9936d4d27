#include "server/net/net_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

/* Between two drains of the inbox a place brings at most `messages_per_tick` messages (a HELLO
 * among them becomes a JOIN), and a LEAVE for each JOIN and for who was there before. A JOIN may
 * wait from earlier drains. */
static size_t inbox_bytes(const struct net_config *config)
{
    size_t message = sizeof(struct inbox_entry) + ARB_NET_MESSAGE_MAX;
    size_t leave = sizeof(struct inbox_entry);
    size_t place = config->messages_per_tick * message + (config->messages_per_tick + 1) * leave;
    return config->session_capacity * (place + NET_JOIN_BYTES);
}

struct net *net_create(struct arb_arena *arena, const struct net_config *config,
                       struct arb_net *transport)
{
    ARB_ASSERT(config->session_capacity > 0 && config->session_capacity <= UINT16_MAX);
    ARB_ASSERT(config->messages_per_tick > 0 && config->random != NULL);
    struct net *net = arb_arena_take(arena, sizeof *net);
    net->config = *config;
    net->transport = transport;
    net->schema_hash = arb_proto_schema_hash();
    net->sessions = arb_arena_take_array(arena, config->session_capacity, sizeof(struct session));
    net->inbox.capacity = inbox_bytes(config);
    net->inbox.bytes = arb_arena_take(arena, net->inbox.capacity);
    net->joins_per_tick = NET_JOIN_MESSAGES / config->session_capacity;
    if (net->joins_per_tick == 0) net->joins_per_tick = 1;
    net_renew_joins(net);
    net->waiting.capacity = (size_t)config->session_capacity * NET_JOIN_BYTES;
    net->waiting.bytes = arb_arena_take(arena, net->waiting.capacity);
    return net;
}

void net_renew_joins(struct net *net)
{
    uint32_t players = net->config.player_joins_per_tick;
    net->joins_left = net->joins_per_tick;
    net->player_joins_left = players > 0 ? players : UINT32_MAX;
}

void net_destroy(struct net *net)
{
    arb_net_destroy(net->transport);
    net->transport = NULL;
}

void net_count(struct net_traffic *traffic, const uint8_t *bytes, size_t size)
{
    struct net_traffic *type = &traffic[arb_message_type(bytes, size)];
    type->messages++;
    type->bytes += size;
}

struct session *net_find(struct net *net, struct port_session id)
{
    if (id.index >= net->config.session_capacity) return NULL;
    struct session *session = &net->sessions[id.index];
    return session->state != SESSION_FREE && session->epoch == id.epoch ? session : NULL;
}

void net_queue(struct net *net, enum port_message_type type, struct port_session id,
               const void *bytes, size_t size)
{
    struct inbox *inbox = &net->inbox;
    struct inbox_entry entry = {id.epoch, id.index, (uint16_t)size, (uint8_t)type};
    ARB_ASSERT(inbox->capacity - inbox->written >= sizeof entry + size);
    memcpy(inbox->bytes + inbox->written, &entry, sizeof entry);
    if (size > 0) memcpy(inbox->bytes + inbox->written + sizeof entry, bytes, size);
    inbox->written += sizeof entry + size;
}

static enum arb_role role_of(const struct net *net, struct port_session id)
{
    const struct session *session = &net->sessions[id.index];
    return session->epoch == id.epoch ? (enum arb_role)session->role : ARB_ROLE_PLAYER;
}

static void notify(const struct net *net, enum net_notice_type type, struct port_session id,
                   enum arb_refusal reason, const char *name)
{
    if (net->config.notice == NULL) return;
    bool resume = type == NET_HELLO && net->sessions[id.index].resume != 0;
    struct net_notice notice = {type, id, reason, name, role_of(net, id), resume};
    net->config.notice(net->config.observer, &notice);
}

/* ---- the end of a session ---- */

static void set_state(struct net *net, struct session *session, enum session_state state)
{
    if (session->state == SESSION_FREE) net->session_count++;
    if (session->state == SESSION_GREETING) net->greeting_count--;
    session->state = (uint8_t)state;
    if (state == SESSION_GREETING) net->greeting_count++;
    if (state == SESSION_FREE) net->session_count--;
    if (state == SESSION_FREE && session->ping_waits > 0) {
        session->ping_waits = 0;
        net->pings_open--;
    }
}

/* A LEAVE or LOST in the inbox; when its turn comes and the match never took the JOIN, it is
 * skipped. */
static void queue_end(struct net *net, const struct session *session, struct port_session id,
                      enum port_message_type type)
{
    if (session->state == SESSION_OPEN) net_queue(net, type, id, NULL, 0);
}

void net_refuse(struct net *net, struct port_session id, const struct arb_refused *refused)
{
    struct session *session = net_find(net, id);
    if (session == NULL || session->state == SESSION_CLOSING) return;
    uint8_t bytes[64];
    size_t size =
        arb_message_encode(ARB_MESSAGE_REFUSED, &arb_refused_fields, refused, bytes, sizeof bytes);
    ARB_ASSERT(size > 0);
    arb_net_send(net->transport, id.index, ARB_NET_CHANNEL_RELIABLE, bytes, size);
    arb_net_disconnect(net->transport, id.index, refused->reason);
    net->answered = true;
    set_state(net, session, SESSION_CLOSING);
    notify(net, NET_REFUSED, id, (enum arb_refusal)refused->reason, NULL);
}

void net_refuse_reason(struct net *net, struct port_session id, enum arb_refusal reason)
{
    struct arb_refused refused = {.reason = (uint8_t)reason,
                                  .server_version = ARB_PROTOCOL_VERSION,
                                  .server_hash = net->schema_hash};
    net_refuse(net, id, &refused);
}

bool net_judge(struct net *net, struct port_session id, enum arb_decode reason)
{
    if (reason == ARB_DECODE_OK) return true;
    net->counters.refused[reason]++;
    struct session *session = net_find(net, id);
    if (session == NULL || session->state == SESSION_CLOSING) return false;
    if (++session->bad > net->config.bad_messages_max) {
        net->counters.cut_offenders++;
        queue_end(net, session, id, PORT_LEAVE);
        net_refuse_reason(net, id, ARB_REFUSED_PROTOCOL);
    }
    return false;
}

static void cut_silent(struct net *net)
{
    uint64_t limit_ns = net->config.hello_timeout_ms * UINT64_C(1000000);
    for (uint32_t i = 0; i < net->config.session_capacity && net->greeting_count > 0; i++) {
        struct session *session = &net->sessions[i];
        if (session->state != SESSION_GREETING) continue;
        if (net->now_ns < session->connected_ns + limit_ns) continue;
        net->counters.cut_silent++;
        arb_net_cut(net->transport, i);
        set_state(net, session, SESSION_FREE);
        struct port_session id = {(uint16_t)i, session->epoch};
        notify(net, NET_CUT_SILENT, id, ARB_REFUSED_PROTOCOL, NULL);
    }
}

/* ---- what comes in ---- */

static void on_connected(struct net *net, const struct arb_net_event *event)
{
    struct session *session = &net->sessions[event->peer];
    struct port_session old = {(uint16_t)event->peer, session->epoch};
    if (session->state != SESSION_FREE) {
        queue_end(net, session, old, PORT_LOST);
        set_state(net, session, SESSION_FREE);
    }
    session->epoch = event->epoch;
    session->connected_ns = net->now_ns;
    session->bad = 0;
    session->newest_sequence = 0;
    session->role = ARB_ROLE_PLAYER;
    session->part_message = 0;
    set_state(net, session, SESSION_GREETING);
    struct port_session id = {(uint16_t)event->peer, event->epoch};
    notify(net, NET_CONNECTED, id, ARB_REFUSED_PROTOCOL, NULL);
    if (net->door != 0) net_refuse_reason(net, id, (enum arb_refusal)net->door);
}

/* Without a goodbye the player may come back. */
static void on_disconnected(struct net *net, struct port_session id, uint32_t data)
{
    struct session *session = net_find(net, id);
    if (session == NULL) return;
    queue_end(net, session, id, data == ARB_GOODBYE_DATA ? PORT_LEAVE : PORT_LOST);
    set_state(net, session, SESSION_FREE);
    notify(net, NET_ENDED, id, ARB_REFUSED_PROTOCOL, NULL);
}

static void on_hello(struct net *net, struct session *session, struct port_session id,
                     const struct arb_net_event *event)
{
    struct arb_refused refused = {.reason = ARB_REFUSED_VERSION,
                                  .server_version = ARB_PROTOCOL_VERSION,
                                  .server_hash = net->schema_hash};
    if (session->state != SESSION_GREETING) {
        net_judge(net, id, ARB_DECODE_ORDER);
        return;
    }
    if (!arb_hello_peek(event->bytes, event->size, &refused.client_version, &refused.client_hash)) {
        net_judge(net, id, ARB_DECODE_SHORT);
        return;
    }
    if (refused.client_version != refused.server_version ||
        refused.client_hash != refused.server_hash) {
        net->counters.versions_refused++;
        net_refuse(net, id, &refused);
        return;
    }
    struct arb_hello hello;
    if (!net_judge(net, id,
                   arb_message_decode(ARB_MESSAGE_HELLO, &arb_hello_fields, event->bytes,
                                      event->size, &hello))) {
        return;
    }
    set_state(net, session, SESSION_OPEN);
    session->role = hello.role;
    session->resume = hello.resume;
    struct net_join join = {.resume = hello.resume};
    memcpy(join.name, hello.name, sizeof join.name);
    memcpy(join.token, hello.token, sizeof join.token);
    if (!hello.resume) net->config.random(net->config.random_owner, join.token, sizeof join.token);
    net_queue(net, PORT_JOIN, id, &join, sizeof join);
    notify(net, NET_HELLO, id, ARB_REFUSED_PROTOCOL, hello.name);
}

/* A spectator's clock stands where all that it is sent comes from. */
static arb_tick tick_told(const struct net *net, const struct session *session)
{
    bool late = session->role == ARB_ROLE_SPECTATOR;
    return net->next_tick - (late ? net->config.spectator_delay_ticks : 0);
}

/* Stage 9 is some milliseconds after the tick has read its messages: the clock that a pong tells
 * goes on meanwhile, and so does the wait that it admits. */
void net_answer_ping(struct net *net, uint32_t index)
{
    struct session *session = &net->sessions[index];
    const struct net_config *config = &net->config;
    uint64_t now_ns = config->clock != NULL ? config->clock(config->clock_owner) : net->now_ns;
    uint64_t later_ns = now_ns > net->now_ns ? now_ns - net->now_ns : 0;
    uint64_t fraction = net->fraction + later_ns * config->tick_rate * 65536 / 1000000000U;
    uint64_t wait_us = now_ns > session->pinged_ns ? (now_ns - session->pinged_ns) / 1000 : 0;
    struct arb_pong pong = {
        .sequence = session->ping,
        .tick = (uint32_t)(tick_told(net, session) + fraction / 65536),
        .fraction = (uint16_t)(fraction % 65536),
        .wait_us = wait_us < UINT32_MAX ? (uint32_t)wait_us : UINT32_MAX,
    };
    uint8_t bytes[32];
    size_t size =
        arb_message_encode(ARB_MESSAGE_PONG, &arb_pong_fields, &pong, bytes, sizeof bytes);
    ARB_ASSERT(size > 0);
    session->ping_waits = 0;
    net->pings_open--;
    arb_net_send(net->transport, index, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
    net_count(net->counters.out, bytes, size);
}

static void on_ping(struct net *net, struct session *session, struct port_session id,
                    const struct arb_net_event *event)
{
    struct arb_ping ping;
    if (!net_judge(net, id,
                   arb_message_decode(ARB_MESSAGE_PING, &arb_ping_fields, event->bytes, event->size,
                                      &ping))) {
        return;
    }
    if (session->ping_waits > 0) net_answer_ping(net, id.index);
    session->ping = ping.sequence;
    session->pinged_ns = event->received_ns;
    session->ping_waits = NET_PONG_TICKS;
    net->pings_open++;
}

/* What is for the next tick. No client sends it before its welcome, which follows its HELLO, nor
 * what the other role says. */
static void on_turn(struct net *net, struct port_session id, enum arb_role role,
                    const struct arb_net_event *event)
{
    const struct session *session = net_find(net, id);
    bool due = session->state == SESSION_OPEN && session->role == role;
    if (net_judge(net, id, due ? ARB_DECODE_OK : ARB_DECODE_ORDER)) {
        net_queue(net, role == ARB_ROLE_PLAYER ? PORT_INPUTS : PORT_SPECTATE, id, event->bytes,
                  event->size);
    }
}

static void on_message(struct net *net, const struct arb_net_event *event)
{
    struct port_session id = {(uint16_t)event->peer, event->epoch};
    struct session *session = net_find(net, id);
    net->counters.messages++;
    net_count(net->counters.in, event->bytes, event->size);
    if (session == NULL || session->state == SESSION_CLOSING) return;
    if (session->messages >= net->config.messages_per_tick) {
        net->counters.over_limit++;
        return;
    }
    session->messages++;
    switch (arb_message_type(event->bytes, event->size)) {
    case ARB_MESSAGE_HELLO:
        on_hello(net, session, id, event);
        break;
    case ARB_MESSAGE_PING:
        on_ping(net, session, id, event);
        break;
    case ARB_MESSAGE_INPUT:
        on_turn(net, id, ARB_ROLE_PLAYER, event);
        break;
    case ARB_MESSAGE_SPECTATE:
        on_turn(net, id, ARB_ROLE_SPECTATOR, event);
        break;
    default:
        net_judge(net, id, event->size == 0 ? ARB_DECODE_EMPTY : ARB_DECODE_UNKNOWN);
    }
}

void net_receive(struct net *net, uint64_t now_ns, arb_tick next_tick, uint16_t fraction)
{
    net->now_ns = now_ns;
    net->next_tick = next_tick;
    net->fraction = fraction;
    arb_net_service(net->transport, now_ns);
    struct arb_net_event event;
    while (arb_net_next(net->transport, &event)) {
        ARB_ASSERT(event.peer < net->config.session_capacity);
        switch (event.type) {
        case ARB_NET_CONNECTED:
            on_connected(net, &event);
            break;
        case ARB_NET_DISCONNECTED:
            on_disconnected(net, (struct port_session){(uint16_t)event.peer, event.epoch},
                            event.data);
            break;
        case ARB_NET_MESSAGE:
            on_message(net, &event);
            break;
        case ARB_NET_NONE:
            break;
        }
    }
    if (net->greeting_count > 0) cut_silent(net);
    if (net->answered) arb_net_flush(net->transport, now_ns);
    net->answered = false;
}

/* ---- for the owner ---- */

void net_close_door(struct net *net, enum arb_refusal reason)
{
    net->door = (uint8_t)reason;
    for (uint32_t i = 0; i < net->config.session_capacity; i++) {
        if (net->sessions[i].state != SESSION_GREETING) continue;
        net_refuse_reason(net, (struct port_session){(uint16_t)i, net->sessions[i].epoch}, reason);
    }
}

static void end_sessions(struct net *net, enum arb_refusal reason, bool spectators_too)
{
    for (uint32_t i = 0; i < net->config.session_capacity; i++) {
        struct session *session = &net->sessions[i];
        if (session->state == SESSION_FREE) continue;
        if (session->role == ARB_ROLE_SPECTATOR && !spectators_too) continue;
        struct port_session id = {(uint16_t)i, session->epoch};
        queue_end(net, session, id, PORT_LEAVE);
        net_refuse_reason(net, id, reason);
    }
    arb_net_flush(net->transport, net->now_ns);
    net->answered = false;
}

void net_end_all(struct net *net, enum arb_refusal reason)
{
    end_sessions(net, reason, true);
}

void net_end_players(struct net *net, enum arb_refusal reason)
{
    end_sessions(net, reason, false);
}

uint32_t net_session_count(const struct net *net)
{
    return net->session_count;
}

const struct net_counters *net_counters(const struct net *net)
{
    return &net->counters;
}

struct arb_net *net_transport(struct net *net)
{
    return net->transport;
}

void net_session_address(const struct net *net, struct port_session id,
                         char text[ARB_NET_ADDRESS_TEXT])
{
    memcpy(text, "-", 2);
    if (id.index >= net->config.session_capacity) return;
    const struct session *session = &net->sessions[id.index];
    if (session->state != SESSION_FREE && session->epoch == id.epoch) {
        arb_net_peer_address(net->transport, id.index, text);
    }
}
