/* What is looked after from time to time rather than when a datagram comes. */
#include "shared/transport/arb_endpoint_internal.h"

#include <enet/time.h>

/* ENet ends a peer after 2^(attempts - 1) >= 32 and a time that we make its only condition; beyond
 * 31 its shift is undefined. */
enum { ATTEMPTS_MAX = 8 };

bool net_is_half_open(const ENetPeer *peer)
{
    return peer->state == ENET_PEER_STATE_ACKNOWLEDGING_CONNECT ||
           peer->state == ENET_PEER_STATE_CONNECTION_PENDING;
}

static bool is_over(const struct arb_net *net, const ENetPeer *peer, const struct net_slot *slot,
                    uint32_t now_ms)
{
    if (net_is_half_open(peer)) return now_ms - slot->opened_ms >= ARB_NET_HALF_OPEN_MS;
    return now_ms - slot->heard_ms >= net->options.timeout_ms;
}

/* ENet doubles the wait of a message at each repeat and never shortens it again: at 20 % loss one
 * message in 150 then holds up all behind it for 6 s. Twice the estimate is enough: one of our
 * messages is a small part of what a peer gets, and the queue has its cap. */
static void shorten_waits(ENetPeer *peer)
{
    uint64_t estimate_ms = (uint64_t)peer->roundTripTime + 4ULL * peer->roundTripTimeVariance;
    uint32_t longest_ms = estimate_ms < ARB_NET_REPEAT_MAX_MS / 2 ? (uint32_t)(2 * estimate_ms)
                                                                  : ARB_NET_REPEAT_MAX_MS;
    ENetListIterator end = enet_list_end(&peer->sentReliableCommands);
    for (ENetListIterator i = enet_list_begin(&peer->sentReliableCommands); i != end;
         i = enet_list_next(i)) {
        ENetOutgoingCommand *command = (ENetOutgoingCommand *)i;
        if (command->roundTripTimeout > longest_ms) command->roundTripTimeout = longest_ms;
        if (command->sendAttempts > ATTEMPTS_MAX) command->sendAttempts = ATTEMPTS_MAX;
        uint32_t due_ms = command->sentTime + command->roundTripTimeout;
        if (ENET_TIME_LESS(due_ms, peer->nextTimeout)) peer->nextTimeout = due_ms;
    }
}

void net_watch(struct arb_net *net)
{
    uint32_t now_ms = net_clock_ms(net);
    if (now_ms - net->watched_ms < ARB_NET_WATCH_EVERY_MS) return;
    net->watched_ms = now_ms;
    for (uint32_t i = 0; i < net->slot_count; i++) {
        ENetPeer *peer = &net->host->peers[i];
        if (peer->state == ENET_PEER_STATE_DISCONNECTED) continue;
        struct net_slot *slot = &net->slots[i];
        if (!is_over(net, peer, slot, now_ms)) {
            shorten_waits(peer);
            continue;
        }
        if (slot->place != ARB_NET_NOWHERE) net_close_place(net, slot->place, 0);
        enet_peer_reset(peer);
    }
}
