/* Sockets of Unix. On Linux datagrams move in batches (recvmmsg, sendmmsg); elsewhere, or with
 * ARB_UDP_PLAIN, one by one through the calls that every system has.
 *
 * The kernel stamps each datagram when it comes in, with the wall clock: how long it then lay there
 * can only be found by reading that clock here, once per batch. This is the one place below the
 * loop that reads a clock. Only the difference leaves it, so what the wall clock says, and when it
 * is set, does not matter; without stamps (SO_TIMESTAMPNS is not everywhere) no wait is known.
 */
#ifndef _WIN32

#define _GNU_SOURCE

#include "shared/transport/arb_carrier_internal.h"
#include "shared/transport/arb_socket_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

_Static_assert(CMSG_SPACE(sizeof(struct timespec)) <= ARB_SOCKET_STAMP_BYTES &&
                   _Alignof(struct cmsghdr) <= 8,
               "room for a stamp");

static enum arb_socket_error why_not(void)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return ARB_SOCKET_NOT_NOW;
    return errno == EINTR || errno == ECONNREFUSED ? ARB_SOCKET_EARLIER : ARB_SOCKET_FAILED;
}

/* ---- stamps ---- */

static void ask_stamps(int fd)
{
#ifdef SO_TIMESTAMPNS
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
#else
    (void)fd;
#endif
}

/* The stamp is all that we ask for, so it comes first. False: there is none. */
static bool find_stamp(struct msghdr *header, struct timespec *stamp)
{
#ifdef SO_TIMESTAMPNS
    const struct cmsghdr *control = CMSG_FIRSTHDR(header);
    if (control == NULL || control->cmsg_level != SOL_SOCKET ||
        control->cmsg_type != SCM_TIMESTAMPNS || control->cmsg_len < CMSG_LEN(sizeof *stamp)) {
        return false;
    }
    memcpy(stamp, CMSG_DATA(control), sizeof *stamp);
    return true;
#else
    (void)header;
    (void)stamp;
    return false;
#endif
}

/* From `stamp` to `now`; 0 for what cannot be: the clock was set meanwhile, or nobody polled for so
 * long that it matters no more. */
static uint64_t wait_between(struct timespec stamp, struct timespec now)
{
    int64_t second_ns = 1000000000;
    if (now.tv_sec < stamp.tv_sec || now.tv_sec - stamp.tv_sec > 1) return 0;
    int64_t wait_ns = (now.tv_sec - stamp.tv_sec) * second_ns + now.tv_nsec - stamp.tv_nsec;
    return wait_ns > 0 && wait_ns <= ARB_WAIT_MAX_NS ? (uint64_t)wait_ns : 0;
}

/* ---- datagrams ---- */

static struct msghdr header_of(struct arb_socket_in *in, struct iovec *piece)
{
    *piece = (struct iovec){in->bytes, in->room};
    return (struct msghdr){.msg_name = &in->from,
                           .msg_namelen = sizeof in->from,
                           .msg_iov = piece,
                           .msg_iovlen = 1,
                           .msg_control = in->stamp,
                           .msg_controllen = CMSG_SPACE(sizeof(struct timespec))};
}

static void take_in(struct arb_socket_in *in, struct msghdr *header, size_t size,
                    struct timespec now)
{
    struct timespec stamp;
    in->size = size;
    in->truncated = (header->msg_flags & MSG_TRUNC) != 0;
    in->wait_ns = find_stamp(header, &stamp) ? wait_between(stamp, now) : 0;
}

#if ARB_SOCKET_BATCHED

int arb_socket_read(int fd, struct arb_socket_in *in, int count, enum arb_socket_error *error)
{
    struct mmsghdr headers[ARB_SOCKET_BATCH];
    struct iovec pieces[ARB_SOCKET_BATCH];
    for (int i = 0; i < count; i++) {
        headers[i].msg_hdr = header_of(&in[i], &pieces[i]);
    }
    int got = recvmmsg(fd, headers, (unsigned)count, MSG_DONTWAIT, NULL);
    if (got <= 0) {
        *error = got == 0 ? ARB_SOCKET_NOT_NOW : why_not();
        return 0;
    }
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < got; i++) {
        take_in(&in[i], &headers[i].msg_hdr, headers[i].msg_len, now);
    }
    return got;
}

int arb_socket_write(int fd, const struct arb_socket_out *out, int count,
                     enum arb_socket_error *error)
{
    struct mmsghdr headers[ARB_SOCKET_BATCH];
    struct iovec pieces[ARB_SOCKET_BATCH];
    for (int i = 0; i < count; i++) {
        pieces[i] = (struct iovec){(void *)(uintptr_t)out[i].bytes, out[i].size};
        void *to = out[i].to_bytes ? (void *)(uintptr_t)&out[i].to : NULL;
        headers[i].msg_hdr = (struct msghdr){
            .msg_name = to, .msg_namelen = out[i].to_bytes, .msg_iov = &pieces[i], .msg_iovlen = 1};
    }
    int sent = sendmmsg(fd, headers, (unsigned)count, MSG_DONTWAIT);
    if (sent > 0) return sent;
    *error = why_not();
    return 0;
}

#else

int arb_socket_read(int fd, struct arb_socket_in *in, int count, enum arb_socket_error *error)
{
    (void)count;
    struct iovec piece;
    struct msghdr header = header_of(in, &piece);
    ssize_t size = recvmsg(fd, &header, 0);
    if (size < 0) {
        *error = why_not();
        return 0;
    }
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    take_in(in, &header, (size_t)size, now);
    return 1;
}

int arb_socket_write(int fd, const struct arb_socket_out *out, int count,
                     enum arb_socket_error *error)
{
    (void)count;
    const struct sockaddr *to = out->to_bytes ? (const struct sockaddr *)&out->to : NULL;
    if (sendto(fd, out->bytes, out->size, 0, to, out->to_bytes) >= 0) return 1;
    *error = why_not();
    return 0;
}

#endif

/* ---- life of a socket ---- */

static uint32_t ask_buffer(int fd, int option, int forced_option, int bytes)
{
    if (setsockopt(fd, SOL_SOCKET, forced_option, &bytes, sizeof bytes) != 0) {
        setsockopt(fd, SOL_SOCKET, option, &bytes, sizeof bytes);
    }
    int got = 0;
    socklen_t got_bytes = sizeof got;
    getsockopt(fd, SOL_SOCKET, option, &got, &got_bytes);
    return got > 0 ? (uint32_t)got : 0;
}

uint32_t arb_socket_size_buffers(int fd, int send_bytes, int receive_bytes)
{
#ifdef SO_RCVBUFFORCE
    ask_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, send_bytes);
    return ask_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, receive_bytes);
#else
    ask_buffer(fd, SO_SNDBUF, SO_SNDBUF, send_bytes);
    return ask_buffer(fd, SO_RCVBUF, SO_RCVBUF, receive_bytes);
#endif
}

static bool make_ready(int fd, int family)
{
    int off = 0;
    return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 &&
           (family != AF_INET6 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0);
}

int arb_socket_open(int family, const struct sockaddr_in6 *name, socklen_t name_bytes,
                    bool is_client, char *error, size_t error_bytes)
{
    int (*attach)(int, const struct sockaddr *, socklen_t) = is_client ? connect : bind;
    int fd = socket(family, SOCK_DGRAM, IPPROTO_UDP);
    if (fd >= 0 && make_ready(fd, family) &&
        attach(fd, (const struct sockaddr *)name, name_bytes) == 0) {
        ask_stamps(fd);
        return fd;
    }
    snprintf(error, error_bytes, "%s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

bool arb_socket_name(int fd, struct sockaddr_in6 *name)
{
    socklen_t name_bytes = sizeof *name;
    return getsockname(fd, (struct sockaddr *)name, &name_bytes) == 0;
}

void arb_socket_close(int fd)
{
    close(fd);
}

#else
typedef int arb_socket_unix_is_elsewhere; /* C wants something in each file */
#endif
