/* Sockets of Windows: the same calls, one datagram at a time. It keeps no stamps that all of its
 * versions know, so no wait is known. What it does otherwise: errors have numbers of their own, a
 * datagram that is longer than the room is an error, and so is, at each later read, that an earlier
 * one found nobody.
 */
#ifdef _WIN32

#include "shared/transport/arb_socket_internal.h"

#include <stdio.h>

static enum arb_socket_error why_not(void)
{
    switch (WSAGetLastError()) {
    case WSAEWOULDBLOCK:
    case WSAENOBUFS:
        return ARB_SOCKET_NOT_NOW;
    case WSAECONNRESET:
    case WSAECONNREFUSED:
    case WSAENETRESET:
    case WSAEINTR:
        return ARB_SOCKET_EARLIER;
    default:
        return ARB_SOCKET_FAILED;
    }
}

int arb_socket_read(int fd, struct arb_socket_in *in, int count, enum arb_socket_error *error)
{
    (void)count;
    int from_bytes = sizeof in->from;
    int size = recvfrom((SOCKET)fd, (char *)in->bytes, (int)in->room, 0,
                        (struct sockaddr *)&in->from, &from_bytes);
    in->wait_ns = 0;
    in->truncated = size < 0 && WSAGetLastError() == WSAEMSGSIZE;
    in->size = size < 0 ? in->room : (size_t)size;
    if (size >= 0 || in->truncated) return 1;
    *error = why_not();
    return 0;
}

int arb_socket_write(int fd, const struct arb_socket_out *out, int count,
                     enum arb_socket_error *error)
{
    (void)count;
    const struct sockaddr *to = out->to_bytes ? (const struct sockaddr *)&out->to : NULL;
    if (sendto((SOCKET)fd, (const char *)out->bytes, (int)out->size, 0, to, out->to_bytes) >= 0) {
        return 1;
    }
    *error = why_not();
    return 0;
}

static uint32_t ask_buffer(int fd, int option, int bytes)
{
    setsockopt((SOCKET)fd, SOL_SOCKET, option, (const char *)&bytes, sizeof bytes);
    int got = 0;
    int got_bytes = sizeof got;
    getsockopt((SOCKET)fd, SOL_SOCKET, option, (char *)&got, &got_bytes);
    return got > 0 ? (uint32_t)got : 0;
}

uint32_t arb_socket_size_buffers(int fd, int send_bytes, int receive_bytes)
{
    ask_buffer(fd, SO_SNDBUF, send_bytes);
    return ask_buffer(fd, SO_RCVBUF, receive_bytes);
}

static bool make_ready(SOCKET handle, int family)
{
    u_long on = 1;
    DWORD off = 0;
    return ioctlsocket(handle, (long)FIONBIO, &on) == 0 &&
           (family != AF_INET6 ||
            setsockopt(handle, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&off, sizeof off) == 0);
}

static bool attach(SOCKET handle, const struct sockaddr_in6 *name, int name_bytes, bool is_client)
{
    const struct sockaddr *to = (const struct sockaddr *)name;
    return (is_client ? connect(handle, to, name_bytes) : bind(handle, to, name_bytes)) == 0;
}

static void describe(int code, char *error, size_t error_bytes)
{
    char text[256];
    DWORD flags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
    DWORD length = FormatMessageA(flags, NULL, (DWORD)code, 0, text, sizeof text, NULL);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
        length--;
    }
    snprintf(error, error_bytes, "%.*s (Windows %d)", (int)length, text, code);
}

/* Each socket starts Winsock and each close ends it once: the system counts. */
int arb_socket_open(int family, const struct sockaddr_in6 *name, socklen_t name_bytes,
                    bool is_client, char *error, size_t error_bytes)
{
    WSADATA about;
    int code = WSAStartup(MAKEWORD(2, 2), &about);
    if (code != 0) {
        describe(code, error, error_bytes);
        return -1;
    }
    SOCKET handle = socket(family, SOCK_DGRAM, IPPROTO_UDP);
    if (handle != INVALID_SOCKET && make_ready(handle, family) &&
        attach(handle, name, name_bytes, is_client)) {
        return (int)handle;
    }
    describe(WSAGetLastError(), error, error_bytes);
    if (handle != INVALID_SOCKET) closesocket(handle);
    WSACleanup();
    return -1;
}

bool arb_socket_name(int fd, struct sockaddr_in6 *name)
{
    int name_bytes = sizeof *name;
    return getsockname((SOCKET)fd, (struct sockaddr *)name, &name_bytes) == 0;
}

void arb_socket_close(int fd)
{
    closesocket((SOCKET)fd);
    WSACleanup();
}

#else
typedef int arb_socket_windows_is_elsewhere; /* C wants something in each file */
#endif
