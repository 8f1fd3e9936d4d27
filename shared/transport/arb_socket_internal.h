/* The system's UDP sockets as arb_udp.c needs them: one file per kind of system implements this,
 * and nothing else in shared/ but the resolver sees a system's socket header. Addresses in the
 * system's form, `struct sockaddr_in6` being large enough for IPv4 too. A socket is an int on each
 * system: Windows' handles have 32 significant bits.
 */
#ifndef ARB_SOCKET_INTERNAL_H
#define ARB_SOCKET_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#include <winsock2.h>
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#if defined(__linux__) && !defined(ARB_UDP_PLAIN)
#define ARB_SOCKET_BATCHED 1
#else
#define ARB_SOCKET_BATCHED 0
#endif

enum {
    ARB_SOCKET_BATCH = ARB_SOCKET_BATCHED ? 64 : 1, /* datagrams that one system call moves */
    ARB_SOCKET_STAMP_BYTES = 64, /* of what the kernel says beside a datagram, aligned to 8 */
};

/* A datagram to be read: the caller sets bytes and room, the rest is the system's answer. */
struct arb_socket_in {
    uint8_t *bytes;
    size_t room, size;
    bool truncated;
    uint64_t wait_ns; /* how long the kernel had it, 0: not known */
    struct sockaddr_in6 from;
    _Alignas(8) uint8_t stamp[ARB_SOCKET_STAMP_BYTES];
};

/* A datagram to be sent. */
struct arb_socket_out {
    const uint8_t *bytes;
    size_t size;
    struct sockaddr_in6 to;
    socklen_t to_bytes; /* 0: the socket is connected */
};

/* Why a call moved nothing. */
enum arb_socket_error {
    ARB_SOCKET_NOT_NOW = 1, /* nothing to read, or no room to send */
    ARB_SOCKET_EARLIER,     /* it told the refusal of an earlier datagram: try again */
    ARB_SOCKET_FAILED,
};

/* A non-blocking socket of the family, bound to `name`, or connected for a client. "::" listens to
 * both families. -1, and a sentence in `error`, when that cannot be. */
int arb_socket_open(int family, const struct sockaddr_in6 *name, socklen_t name_bytes,
                    bool is_client, char *error, size_t error_bytes);
void arb_socket_close(int fd);
/* The address that it is bound to. */
bool arb_socket_name(int fd, struct sockaddr_in6 *name);

/* Asks for buffers of these sizes, as much as this process may have; bytes to receive that it got.
 */
uint32_t arb_socket_size_buffers(int fd, int send_bytes, int receive_bytes);

/* At most `count` (ARB_SOCKET_BATCH) datagrams; how many, else 0 with *error. */
int arb_socket_read(int fd, struct arb_socket_in *in, int count, enum arb_socket_error *error);
int arb_socket_write(int fd, const struct arb_socket_out *out, int count,
                     enum arb_socket_error *error);

#endif
