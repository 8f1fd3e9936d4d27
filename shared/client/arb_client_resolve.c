/* Names of hosts: as players type them, and the one call that may block, apart from everything
 * else. */
#define _GNU_SOURCE
#include "shared/client/arbiter_client_internal.h"

#include <string.h>

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

/* Digits alone: strtol takes signs and spaces as well. 0: no port. */
static uint16_t port_of(const char *text)
{
    uint32_t port = 0;
    for (; *text >= '0' && *text <= '9' && port <= UINT16_MAX; text++) {
        port = 10 * port + (uint32_t)(*text - '0');
    }
    return *text == '\0' && port <= UINT16_MAX ? (uint16_t)port : 0;
}

bool arbiter_parse_target(const char *text, char host[ARBITER_HOST_BYTES], uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || port_of(colon + 1) == 0) {
        return false;
    }
    size_t length = (size_t)(colon - text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    }
    if (length == 0 || length >= ARBITER_HOST_BYTES) {
        return false;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    *port = port_of(colon + 1);
    return true;
}

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
