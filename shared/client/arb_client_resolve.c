/* Names of hosts: the one call that may block, apart from everything else. */
#define _GNU_SOURCE
#include "shared/client/arbiter_client.h"

#include <netdb.h>
#include <sys/socket.h>

bool arbiter_resolve(const char *host, char address[ARBITER_ADDRESS_BYTES])
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    bool good = getnameinfo(found->ai_addr, found->ai_addrlen, address, ARBITER_ADDRESS_BYTES, NULL,
                            0, NI_NUMERICHOST) == 0;
    freeaddrinfo(found);
    return good;
}
