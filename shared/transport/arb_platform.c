/* ENet's platform layer (instead of its unix.c): sockets are our carriers, the clock is the
 * caller's, memory comes from the endpoint's pool. */
#include "shared/transport/arb_endpoint_internal.h"

#include "shared/base/arb_assert.h"

#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <pthread.h>
#endif

static _Thread_local struct arb_net *current;

void net_enter(struct arb_net *net)
{
    current = net;
}

uint32_t net_clock_ms(const struct arb_net *net)
{
    return (uint32_t)(net->enet_ns / 1000000);
}

/* ---- memory ---- */

static void *pool_malloc(size_t bytes)
{
    ARB_ASSERT(current != NULL);
    return arb_pool_take(&current->pool, bytes);
}

static void pool_free(void *block)
{
    ARB_ASSERT(current != NULL);
    arb_pool_give(&current->pool, block);
}

/* ENet's own choice is abort(); it then returns NULL to us, which creation reports. */
static void no_memory(void)
{
}

static bool start_worked;

static void start(void)
{
    const ENetCallbacks callbacks = {pool_malloc, pool_free, no_memory};
    start_worked = enet_initialize_with_callbacks(ENET_VERSION, &callbacks) == 0;
}

/* Once in a process, whichever thread is first. */
#ifdef _WIN32
static INIT_ONCE started = INIT_ONCE_STATIC_INIT;

static BOOL CALLBACK start_once(INIT_ONCE *once, void *argument, void **context)
{
    (void)once;
    (void)argument;
    (void)context;
    start();
    return TRUE;
}

bool net_platform_start(void)
{
    return InitOnceExecuteOnce(&started, start_once, NULL, NULL) && start_worked;
}
#else
static pthread_once_t started = PTHREAD_ONCE_INIT;

bool net_platform_start(void)
{
    return pthread_once(&started, start) == 0 && start_worked;
}
#endif

int enet_initialize(void)
{
    return 0;
}

/* ---- clock and seed ---- */

enet_uint32 enet_time_get(void)
{
    return net_clock_ms(current);
}

enet_uint32 enet_host_random_seed(void)
{
    return current->options.seed;
}

/* ---- sockets ---- */

ENetSocket enet_socket_create(ENetSocketType type)
{
    (void)type;
    return 0;
}

int enet_socket_bind(ENetSocket socket, const ENetAddress *address)
{
    (void)socket;
    (void)address;
    return 0;
}

int enet_socket_get_address(ENetSocket socket, ENetAddress *address)
{
    (void)socket;
    *address = (ENetAddress){0};
    return 0;
}

int enet_socket_set_option(ENetSocket socket, ENetSocketOption option, int value)
{
    (void)socket;
    (void)option;
    (void)value;
    return 0;
}

void enet_socket_destroy(ENetSocket socket)
{
    (void)socket;
}

/* Never waits: the caller polls the carrier. */
int enet_socket_wait(ENetSocket socket, enet_uint32 *condition, enet_uint32 timeout_ms)
{
    (void)socket;
    (void)timeout_ms;
    *condition = ENET_SOCKET_WAIT_NONE;
    return 0;
}

/* A failure would end ENet's round over all peers, so what cannot be sent counts as lost. */
int enet_socket_send(ENetSocket socket, const ENetAddress *address, const ENetBuffer *buffers,
                     size_t count)
{
    (void)socket;
    struct arb_net *net = current;
    ARB_ASSERT(address->host < net->slot_count);
    const struct net_slot *slot = &net->slots[address->host];
    uint8_t *room = arb_carrier_room(net->carrier);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        ARB_ASSERT(size + buffers[i].dataLength <= ARB_DATAGRAM_ROOM);
        memcpy(room + size, buffers[i].data, buffers[i].dataLength);
        size += buffers[i].dataLength;
    }
    arb_carrier_commit(net->carrier, &slot->address, size);
    return (int)size;
}

/* The next datagram that may pass; 0 when there is none. Errors are never ENet's matter. */
int enet_socket_receive(ENetSocket socket, ENetAddress *address, ENetBuffer *buffers, size_t count)
{
    (void)socket;
    (void)count;
    struct arb_net *net = current;
    struct arb_datagram datagram;
    net_stamp_messages(net);
    while (net->reads_left > 0) {
        net->reads_left--;
        if (!arb_carrier_receive(net->carrier, &datagram)) {
            net->is_dry = true;
            return 0;
        }
        if (!net_admit(net, &datagram, address)) continue;
        net->arrived_ns = net->now_ns > datagram.wait_ns ? net->now_ns - datagram.wait_ns : 0;
        net->arrived_slot = address->host;
        ARB_ASSERT(datagram.size <= buffers->dataLength);
        memcpy(buffers->data, datagram.bytes, datagram.size);
        return (int)datagram.size;
    }
    return 0;
}
