/* Clients by the thousand, and what came down to them: for tools that measure. A game never
 * includes this; tools/bots does. The other calls are those of arbiter_client.h.
 */
#ifndef ARB_CLIENT_LIGHT_H
#define ARB_CLIENT_LIGHT_H

#include "shared/client/arbiter_client.h"
#include "shared/proto/arb_delta.h"

/* Before it connects: from then on nothing is predicted and the map is not kept, so that one core
 * can play a thousand. All that is said and heard stays as it is: every byte is decoded and
 * checked, inputs are made, views named, snapshots acknowledged. arbiter_client_sample, _map,
 * _shape and _ray must not be called; arb_client_glance takes the place of the first. */
void arb_client_go_light(struct arbiter_client *client);
/* As arbiter_client_sample, without drawing: the drawn time, connection, phase and result; events
 * are forgotten. No entities, no own character, no players. */
void arb_client_glance(struct arbiter_client *client, struct arbiter_view *view);

/* What came down, for whoever wants to know what to make smaller. */
struct arb_client_account {
    struct arb_client_message_account {
        uint64_t messages, bytes; /* without the transport's heads */
    } types[ARB_MESSAGE_TYPES];   /* by enum arb_message_type; 0: unknown ones */
    struct arb_delta_account streams;
    uint64_t first_ns, last_ns; /* of the messages; on the caller's clock */
};

/* Outlives the connection; whole streams only, so what a message has besides is the rest. */
const struct arb_client_account *arb_client_account(const struct arbiter_client *client);
/* Of the match that is, or was; NULL before the first welcome. */
const struct arb_schema *arb_client_schema(const struct arbiter_client *client);

#endif
