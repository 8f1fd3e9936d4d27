/* What a spectator says: which snapshots it has, and what it wants to see. One message says it all,
 * over and over, so a lost one harms nothing. */
#include "shared/client/arbiter_client_internal.h"

#include "shared/base/arb_assert.h"

enum {
    /* A wish travels at once, acknowledgements gather for so long: many watch, and each message
     * costs the server as much as a snapshot. */
    SPECTATE_NS = 100000000,
    /* While no snapshot comes the wish is repeated. */
    SPECTATE_BARE_NS = 250000000,
};

static bool in_world(float v)
{
    return v >= -4096.0F && v <= 4096.0F; /* NaN is not */
}

void arbiter_client_spectate_follow(struct arbiter_client *client, uint16_t slot)
{
    struct arb_client_spectating *spectating = &client->spectating;
    spectating->changed |= spectating->wish.follow != slot;
    spectating->wish.follow = slot;
}

void arbiter_client_spectate_camera(struct arbiter_client *client, float x, float y)
{
    struct arb_client_spectating *spectating = &client->spectating;
    if (!in_world(x) || !in_world(y)) {
        return;
    }
    /* A moving camera changes all the time: that travels with the next one that is due. */
    spectating->changed |= spectating->wish.follow != ARB_NO_SLOT;
    spectating->wish.follow = ARB_NO_SLOT;
    spectating->wish.x = x;
    spectating->wish.y = y;
    spectating->placed = true;
}

void arb_client_spectate_begin(struct arbiter_client *client)
{
    client->spectating.changed = true;
    client->spectating.sent_ns = client->now_ns;
}

void arb_client_spectate(struct arbiter_client *client, uint64_t now_ns)
{
    struct arb_client_spectating *spectating = &client->spectating;
    struct arb_client_snapshots *snapshots = &client->snapshots;
    uint64_t passed = now_ns - spectating->sent_ns;
    bool due = snapshots->unacknowledged ? passed >= SPECTATE_NS : passed >= SPECTATE_BARE_NS;
    if (!due && !spectating->changed) {
        return;
    }
    struct arb_spectate *message = &spectating->wish;
    message->number++;
    message->has_ack = snapshots->any;
    message->ack_snapshot = snapshots->header.id;
    message->ack_mask = (uint32_t)(snapshots->committed_mask >> 1);
    uint8_t bytes[64];
    size_t size = arb_message_encode(ARB_MESSAGE_SPECTATE, &arb_spectate_fields, message, bytes,
                                     sizeof bytes);
    ARB_ASSERT(size > 0);
    arb_net_send(client->net, 0, ARB_NET_CHANNEL_UNSEQUENCED, bytes, size);
    spectating->changed = false;
    spectating->sent_ns = now_ns;
    snapshots->unacknowledged = false;
}
