#include "shared/transport/arb_carrier_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/transport/arb_socket_internal.h"

#include <stdio.h>
#include <string.h>

bool arb_address_equal(const struct arb_address *a, const struct arb_address *b)
{
    return a->kind == b->kind && a->port == b->port && a->scope == b->scope &&
           memcmp(a->ip, b->ip, sizeof a->ip) == 0;
}

void arb_address_text(const struct arb_address *address, char text[ARB_NET_ADDRESS_TEXT])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    char ip[INET6_ADDRSTRLEN] = "?";
    unsigned port = address->port;
    uint32_t index = 0;

    switch (address->kind) {
    case ARB_ADDRESS_IPV4:
        inet_ntop(AF_INET, address->ip, ip, sizeof ip);
        snprintf(text, ARB_NET_ADDRESS_TEXT, "%s:%u", ip, port);
        break;
    case ARB_ADDRESS_IPV6:
        if (memcmp(address->ip, mapped, sizeof mapped) == 0) {
            inet_ntop(AF_INET, address->ip + sizeof mapped, ip, sizeof ip);
            snprintf(text, ARB_NET_ADDRESS_TEXT, "%s:%u", ip, port);
        } else {
            inet_ntop(AF_INET6, address->ip, ip, sizeof ip);
            snprintf(text, ARB_NET_ADDRESS_TEXT, "[%s]:%u", ip, port);
        }
        break;
    case ARB_ADDRESS_SIM:
        memcpy(&index, address->ip, sizeof index);
        snprintf(text, ARB_NET_ADDRESS_TEXT, "sim:%u", (unsigned)index);
        break;
    default:
        snprintf(text, ARB_NET_ADDRESS_TEXT, "none");
        break;
    }
}

bool arb_carrier_receive(struct arb_carrier *carrier, struct arb_datagram *datagram)
{
    if (!carrier->ops->receive(carrier, datagram)) return false;
    carrier->counters->datagrams_in++;
    carrier->counters->bytes_in += datagram->size;
    return true;
}

uint8_t *arb_carrier_room(struct arb_carrier *carrier)
{
    return carrier->ops->room(carrier);
}

void arb_carrier_commit(struct arb_carrier *carrier, const struct arb_address *to, size_t size)
{
    ARB_ASSERT(size <= ARB_DATAGRAM_ROOM);
    carrier->ops->commit(carrier, to, size);
}

void arb_carrier_flush(struct arb_carrier *carrier)
{
    carrier->ops->flush(carrier);
}

int arb_carrier_fd(const struct arb_carrier *carrier)
{
    return carrier->fd;
}

uint16_t arb_carrier_port(const struct arb_carrier *carrier)
{
    return carrier->port;
}

uint32_t arb_carrier_receive_buffer(const struct arb_carrier *carrier)
{
    return carrier->receive_buffer_bytes;
}

void arb_carrier_close(struct arb_carrier *carrier)
{
    if (carrier != NULL) carrier->ops->close(carrier);
}
