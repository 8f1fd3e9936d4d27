/* The match's side: what stages 1 and 9 call. */
#include "server/net/net_internal.h"

#include "shared/base/arb_assert.h"

#include <sodium.h>
#include <string.h>

/* ---- take ---- */

static void wait_for_turn(struct net *net, const uint8_t *entry, size_t bytes)
{
    struct inbox *waiting = &net->waiting;
    ARB_ASSERT(bytes <= NET_JOIN_BYTES && waiting->capacity - waiting->written >= bytes);
    memcpy(waiting->bytes + waiting->written, entry, bytes);
    waiting->written += bytes;
}

static bool take_join(struct net *net, struct port_message *out, const uint8_t *bytes, size_t size)
{
    struct session *session = net_find(net, out->session);
    if (session == NULL || session->state != SESSION_OPEN) return false; /* gone meanwhile */
    bool plays = session->role == ARB_ROLE_PLAYER;
    if (net->joins_left == 0 || (plays && net->player_joins_left == 0)) {
        size_t head = sizeof(struct inbox_entry);
        wait_for_turn(net, bytes - head, head + size);
        return false;
    }
    net->joins_left--;
    net->player_joins_left -= plays;
    session->taken = true;
    session->taken_epoch = session->epoch;
    struct net_join join;
    ARB_ASSERT(size == sizeof join);
    memcpy(&join, bytes, sizeof join);
    memcpy(out->name, join.name, sizeof out->name);
    memcpy(out->token, join.token, sizeof out->token);
    crypto_generichash(out->token_hash, sizeof out->token_hash, join.token, sizeof join.token, NULL,
                       0);
    out->resume = join.resume != 0;
    out->role = (enum arb_role)session->role;
    return true;
}

static bool take_leave(struct net *net, const struct port_message *out)
{
    struct session *place = &net->sessions[out->session.index];
    if (!place->taken) return false;
    /* A place is given again only after the LEAVE of the one before was queued. */
    ARB_ASSERT(place->taken_epoch == out->session.epoch);
    place->taken = false;
    return true;
}

static bool take_inputs(struct net *net, struct port_message *out, const uint8_t *bytes,
                        size_t size)
{
    struct session *session = net_find(net, out->session);
    if (session == NULL || session->state != SESSION_OPEN || !session->taken) return false;
    struct arb_input_packet *packet = &out->inputs;
    enum arb_decode reason =
        arb_input_packet_decode(bytes, size, session->newest_sequence, net->next_tick, packet);
    if (!net_judge(net, out->session, reason)) return false;
    if (packet->count > 0) {
        arb_sequence newest = packet->inputs[packet->count - 1].sequence;
        if (newest > session->newest_sequence) session->newest_sequence = newest;
    }
    return true;
}

static bool take_spectate(struct net *net, struct port_message *out, const uint8_t *bytes,
                          size_t size)
{
    const struct session *session = net_find(net, out->session);
    if (session == NULL || session->state != SESSION_OPEN || !session->taken) return false;
    return net_judge(net, out->session,
                     arb_message_decode(ARB_MESSAGE_SPECTATE, &arb_spectate_fields, bytes, size,
                                        &out->spectate));
}

static void drained(struct net *net)
{
    net->inbox.read = 0;
    net->inbox.written = net->waiting.written;
    memcpy(net->inbox.bytes, net->waiting.bytes, net->waiting.written);
    net->waiting.written = 0;
    net_renew_joins(net);
    for (uint32_t i = 0; i < net->config.session_capacity; i++) {
        net->sessions[i].messages = 0;
    }
}

static bool port_take(void *owner, struct port_message *out)
{
    struct net *net = owner;
    struct inbox *inbox = &net->inbox;
    while (inbox->read < inbox->written) {
        struct inbox_entry entry;
        memcpy(&entry, inbox->bytes + inbox->read, sizeof entry);
        const uint8_t *bytes = inbox->bytes + inbox->read + sizeof entry;
        inbox->read += sizeof entry + entry.size;
        out->type = (enum port_message_type)entry.type;
        out->session = (struct port_session){entry.index, entry.epoch};
        bool good = out->type == PORT_JOIN       ? take_join(net, out, bytes, entry.size)
                    : out->type == PORT_LEAVE    ? take_leave(net, out)
                    : out->type == PORT_LOST     ? take_leave(net, out)
                    : out->type == PORT_SPECTATE ? take_spectate(net, out, bytes, entry.size)
                                                 : take_inputs(net, out, bytes, entry.size);
        if (good) return true;
    }
    drained(net);
    out->type = PORT_NONE;
    return false;
}

/* ---- put ---- */

static void put_parts(struct net *net, struct session *session, uint32_t peer, const uint8_t *bytes,
                      size_t size)
{
    uint16_t message = session->part_message++;
    uint16_t count = arb_part_count(size);
    for (uint16_t i = 0; i < count; i++) {
        struct arb_part part = arb_part_cut(bytes, size, message, i);
        uint8_t encoded[ARB_NET_MESSAGE_MAX];
        size_t used = arb_part_encode(&part, encoded, sizeof encoded);
        ARB_ASSERT(used > 0);
        /* A full queue means that the peer is being cut: the rest is of no use to it. */
        if (!arb_net_send(net->transport, peer, ARB_NET_CHANNEL_RELIABLE, encoded, used)) return;
    }
}

static void port_put(void *owner, struct port_session id, uint8_t channel, const uint8_t *bytes,
                     size_t size)
{
    struct net *net = owner;
    struct session *session = net_find(net, id);
    if (session == NULL || session->state != SESSION_OPEN) return;
    if (session->ping_waits > 0) net_answer_ping(net, id.index);
    if (size > ARB_NET_MESSAGE_MAX) {
        ARB_ASSERT(channel == PORT_CHANNEL_RELIABLE);
        put_parts(net, session, id.index, bytes, size);
    } else {
        arb_net_send(net->transport, id.index, channel, bytes, size);
    }
    net_count(net->counters.out, bytes, size);
}

static void port_refuse(void *owner, struct port_session id, enum arb_refusal reason)
{
    struct net *net = owner;
    struct session *session = net_find(net, id);
    if (session == NULL) return;
    session->taken = false; /* neither LEAVE nor LOST follows */
    net_refuse_reason(net, id, reason);
}

/* Nothing was sent to them for ticks: they need not wait longer. */
static void answer_lonely(struct net *net)
{
    for (uint32_t i = 0; i < net->config.session_capacity && net->pings_open > 0; i++) {
        struct session *session = &net->sessions[i];
        if (session->ping_waits > 1) {
            session->ping_waits--;
        } else if (session->ping_waits == 1) {
            net_answer_ping(net, i);
        }
    }
}

static void port_flush(void *owner)
{
    struct net *net = owner;
    answer_lonely(net);
    arb_net_flush(net->transport, net->now_ns);
    net->answered = false;
}

struct match_port net_port(struct net *net)
{
    _Static_assert((int)PORT_CHANNEL_RELIABLE == (int)ARB_NET_CHANNEL_RELIABLE &&
                       (int)PORT_CHANNEL_UNSEQUENCED == (int)ARB_NET_CHANNEL_UNSEQUENCED,
                   "one numbering of channels");
    return (struct match_port){net, port_take, port_put, port_refuse, port_flush};
}
