/* Names of hosts: the one call that may block, apart from everything else. */
#define _GNU_SOURCE
#include "shared/client/arbiter_client.h"

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <netdb.h>
#include <sys/socket.h>
#endif

static bool resolve(const char *host, char address[ARBITER_ADDRESS_BYTES])
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    socklen_t found_bytes = (socklen_t)found->ai_addrlen;
    bool good = getnameinfo(found->ai_addr, found_bytes, address, ARBITER_ADDRESS_BYTES, NULL, 0,
                            NI_NUMERICHOST) == 0;
    freeaddrinfo(found);
    return good;
}

bool arbiter_resolve(const char *host, char address[ARBITER_ADDRESS_BYTES])
{
#ifdef _WIN32
    WSADATA about;
    if (WSAStartup(MAKEWORD(2, 2), &about) != 0) {
        return false;
    }
    bool good = resolve(host, address);
    WSACleanup();
    return good;
#else
    return resolve(host, address);
#endif
}
