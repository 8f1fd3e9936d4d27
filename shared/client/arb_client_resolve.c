/* Names of hosts: the one call that may block, apart from everything else. */
#define _GNU_SOURCE
#include "shared/client/arbiter_client_internal.h"

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include <string.h>

static bool is_ipv6_loopback(const struct addrinfo *at)
{
    struct sockaddr_in6 address;
    if (at->ai_family != AF_INET6) return false;
    memcpy(&address, at->ai_addr, sizeof address);
    return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr);
}

const struct addrinfo *arb_client_chosen_address(const struct addrinfo *found)
{
    if (!is_ipv6_loopback(found)) return found;
    for (const struct addrinfo *at = found; at != NULL; at = at->ai_next) {
        if (at->ai_family == AF_INET) return at;
    }
    return found;
}

static bool resolve(const char *host, char address[ARBITER_ADDRESS_BYTES])
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, NULL, &hints, &found) != 0) {
        return false;
    }
    const struct addrinfo *chosen = arb_client_chosen_address(found);
    bool good = getnameinfo(chosen->ai_addr, (socklen_t)chosen->ai_addrlen, address,
                            ARBITER_ADDRESS_BYTES, NULL, 0, NI_NUMERICHOST) == 0;
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
