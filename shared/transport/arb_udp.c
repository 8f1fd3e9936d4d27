/* UDP carrier. On Linux datagrams move in batches (recvmmsg, sendmmsg); elsewhere, or with
 * ARB_UDP_PLAIN, one by one through the calls that every system has.
 *
 * The kernel stamps each datagram when it comes in, with the wall clock: how long it then lay there
 * can only be found by reading that clock here, once per batch. This is the one place below the
 * loop that reads a clock. Only the difference leaves it, so what the wall clock says, and when it
 * is set, does not matter; without stamps (SO_TIMESTAMPNS is not everywhere) no wait is known.
 */
#define _GNU_SOURCE

#include "shared/base/arb_mem.h"
#include "shared/transport/arb_carrier_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && !defined(ARB_UDP_PLAIN)
#define BATCHED 1
#else
#define BATCHED 0
#endif

enum {
    BATCH = BATCHED ? 64 : 1,
    RECEIVE_ROOM =
        1536, /* longer than any datagram of ours, so that a longer one shows as cut off */
    ERRORS_IN_A_ROW =
        8, /* errors of earlier sends that a read may report before we give up for now */
};

struct inbound {
    struct sockaddr_in6 from; /* large enough for IPv4 too */
    _Alignas(struct cmsghdr) uint8_t stamp[CMSG_SPACE(sizeof(struct timespec))];
    uint64_t wait_ns;
    size_t size;
    bool truncated;
    uint8_t bytes[RECEIVE_ROOM];
};

struct outbound {
    struct sockaddr_in6 to;
    socklen_t to_bytes; /* 0: the socket is connected */
    size_t size;
    uint8_t bytes[ARB_DATAGRAM_ROOM];
};

struct udp {
    struct arb_carrier carrier;
    int in_count, in_next; /* of the batch that was read: how many, and the first not yet given */
    bool in_last;          /* the batch was not full, so the socket is empty */
    int out_count;
    struct inbound in[BATCH];
    struct outbound out[BATCH];
    struct iovec pieces[BATCH];
#if BATCHED
    struct mmsghdr headers[BATCH];
#endif
};

static socklen_t to_socket_address(const struct arb_address *address, struct sockaddr_in6 *out)
{
    memset(out, 0, sizeof *out);
    if (address->kind == ARB_ADDRESS_IPV4) {
        struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(address->port)};
        memcpy(&four.sin_addr, address->ip, 4);
        memcpy(out, &four, sizeof four);
        return sizeof four;
    }
    out->sin6_family = AF_INET6;
    out->sin6_port = htons(address->port);
    out->sin6_scope_id = address->scope;
    memcpy(&out->sin6_addr, address->ip, 16);
    return sizeof *out;
}

static struct arb_address from_socket_address(const struct sockaddr_in6 *from)
{
    struct arb_address address = {.kind = ARB_ADDRESS_IPV6};
    if (from->sin6_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, from, sizeof four);
        address.kind = ARB_ADDRESS_IPV4;
        address.port = ntohs(four.sin_port);
        memcpy(address.ip, &four.sin_addr, 4);
    } else {
        address.port = ntohs(from->sin6_port);
        address.scope = from->sin6_scope_id;
        memcpy(address.ip, &from->sin6_addr, 16);
    }
    return address;
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

/* ---- system calls ---- */

static struct msghdr header_of(struct inbound *in, struct iovec *piece)
{
    *piece = (struct iovec){in->bytes, RECEIVE_ROOM};
    return (struct msghdr){.msg_name = &in->from,
                           .msg_namelen = sizeof in->from,
                           .msg_iov = piece,
                           .msg_iovlen = 1,
                           .msg_control = in->stamp,
                           .msg_controllen = sizeof in->stamp};
}

static void take_in(struct inbound *in, struct msghdr *header, size_t size, struct timespec now)
{
    struct timespec stamp;
    in->size = size;
    in->truncated = (header->msg_flags & MSG_TRUNC) != 0;
    in->wait_ns = find_stamp(header, &stamp) ? wait_between(stamp, now) : 0;
}

#if BATCHED

static int read_batch(struct udp *udp)
{
    for (int i = 0; i < BATCH; i++) {
        udp->headers[i].msg_hdr = header_of(&udp->in[i], &udp->pieces[i]);
    }
    int count = recvmmsg(udp->carrier.fd, udp->headers, BATCH, MSG_DONTWAIT, NULL);
    if (count <= 0) return count;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        take_in(&udp->in[i], &udp->headers[i].msg_hdr, udp->headers[i].msg_len, now);
    }
    return count;
}

/* How many of out[first..] the kernel took; -1 with errno when not even the first. */
static int write_batch(struct udp *udp, int first)
{
    int count = udp->out_count - first;
    for (int i = 0; i < count; i++) {
        struct outbound *out = &udp->out[first + i];
        udp->pieces[i] = (struct iovec){out->bytes, out->size};
        udp->headers[i].msg_hdr = (struct msghdr){.msg_name = out->to_bytes ? &out->to : NULL,
                                                  .msg_namelen = out->to_bytes,
                                                  .msg_iov = &udp->pieces[i],
                                                  .msg_iovlen = 1};
    }
    return sendmmsg(udp->carrier.fd, udp->headers, (unsigned)count, MSG_DONTWAIT);
}

#else

static int read_batch(struct udp *udp)
{
    struct msghdr header = header_of(&udp->in[0], &udp->pieces[0]);
    ssize_t size = recvmsg(udp->carrier.fd, &header, 0);
    if (size < 0) return -1;
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    take_in(&udp->in[0], &header, (size_t)size, now);
    return 1;
}

static int write_batch(struct udp *udp, int first)
{
    const struct outbound *out = &udp->out[first];
    const struct sockaddr *to = out->to_bytes ? (const struct sockaddr *)&out->to : NULL;
    ssize_t size = sendto(udp->carrier.fd, out->bytes, out->size, 0, to, out->to_bytes);
    return size < 0 ? -1 : 1;
}

#endif

/* False: nothing to read. A connected socket reports refusals of earlier sends here: no reason to
 * stop reading. */
static bool refill(struct udp *udp)
{
    for (int i = 0; i < ERRORS_IN_A_ROW; i++) {
        int count = read_batch(udp);
        if (count > 0) {
            udp->in_count = count;
            udp->in_next = 0;
            udp->in_last = BATCHED && count < BATCH;
            return true;
        }
        if (count == 0 || errno == EAGAIN || errno == EWOULDBLOCK) return false;
    }
    return false;
}

static bool udp_receive(struct arb_carrier *carrier, struct arb_datagram *datagram)
{
    struct udp *udp = (struct udp *)carrier;
    if (udp->in_next == udp->in_count) {
        bool last = udp->in_last;
        udp->in_last = false;
        if (last || !refill(udp)) return false;
    }
    struct inbound *in = &udp->in[udp->in_next++];
    datagram->bytes = in->bytes;
    datagram->size = in->size;
    datagram->truncated = in->truncated;
    datagram->wait_ns = in->wait_ns;
    datagram->from = carrier->is_client ? carrier->server : from_socket_address(&in->from);
    return true;
}

/* What cannot be sent is dropped and counted, as a router would: ENet resends what matters. */
static void udp_flush(struct arb_carrier *carrier)
{
    struct udp *udp = (struct udp *)carrier;
    int first = 0, errors = 0;
    while (first < udp->out_count) {
        int count = write_batch(udp, first);
        if (count > 0) {
            for (int i = first; i < first + count; i++) {
                carrier->counters->datagrams_out++;
                carrier->counters->bytes_out += udp->out[i].size;
            }
            first += count;
            errors = 0;
            continue;
        }
        bool full = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
        if (full) break;
        /* An earlier datagram's refusal is reported once, before this one was tried. */
        bool try_again = errno == EINTR || errno == ECONNREFUSED;
        if (try_again && ++errors < ERRORS_IN_A_ROW) continue;
        carrier->counters->send_failed++;
        first++;
        errors = 0;
    }
    carrier->counters->send_failed += (uint64_t)(udp->out_count - first);
    udp->out_count = 0;
}

static uint8_t *udp_room(struct arb_carrier *carrier)
{
    struct udp *udp = (struct udp *)carrier;
    if (udp->out_count == BATCH) udp_flush(carrier);
    return udp->out[udp->out_count].bytes;
}

static void udp_commit(struct arb_carrier *carrier, const struct arb_address *to, size_t size)
{
    struct udp *udp = (struct udp *)carrier;
    struct outbound *out = &udp->out[udp->out_count++];
    out->size = size;
    out->to_bytes = carrier->is_client ? 0 : to_socket_address(to, &out->to);
}

static void udp_close(struct arb_carrier *carrier)
{
    close(carrier->fd);
    arb_mem_free(carrier);
}

static const struct arb_carrier_ops udp_ops = {
    .receive = udp_receive,
    .room = udp_room,
    .commit = udp_commit,
    .flush = udp_flush,
    .close = udp_close,
};

static bool parse_address(const char *text, uint16_t port, struct arb_address *out)
{
    *out = (struct arb_address){.port = port};
    if (inet_pton(AF_INET, text, out->ip) == 1) {
        out->kind = ARB_ADDRESS_IPV4;
        return true;
    }
    out->kind = ARB_ADDRESS_IPV6;
    return inet_pton(AF_INET6, text, out->ip) == 1;
}

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

static uint32_t size_buffers(int fd)
{
#ifdef SO_RCVBUFFORCE
    ask_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, ARB_UDP_SEND_BYTES);
    return ask_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, ARB_UDP_RECEIVE_BYTES);
#else
    ask_buffer(fd, SO_SNDBUF, SO_SNDBUF, ARB_UDP_SEND_BYTES);
    return ask_buffer(fd, SO_RCVBUF, SO_RCVBUF, ARB_UDP_RECEIVE_BYTES);
#endif
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_in6 name = {0};
    socklen_t name_bytes = sizeof name;
    if (getsockname(fd, (struct sockaddr *)&name, &name_bytes) != 0) return 0;
    return from_socket_address(&name).port;
}

/* A non-blocking socket of the address's family; -1 with errno. "::" listens to both families. */
static int make_socket(const struct arb_address *address)
{
    int family = address->kind == ARB_ADDRESS_IPV4 ? AF_INET : AF_INET6;
    int fd = socket(family, SOCK_DGRAM, IPPROTO_UDP);
    if (fd < 0) return -1;
    int off = 0;
    bool ready = fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
    if (ready && family == AF_INET6) {
        ready = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0;
    }
    if (ready) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static enum arb_result open_udp(const char *text, uint16_t port, bool is_client,
                                struct arb_carrier **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct arb_address address;
    if (!parse_address(text, port, &address)) {
        snprintf(error, error_bytes, "%s is not a numeric IPv4 or IPv6 address", text);
        return ARB_ADDRESS;
    }
    struct sockaddr_in6 name;
    socklen_t name_bytes = to_socket_address(&address, &name);
    int fd = make_socket(&address);
    int (*attach)(int, const struct sockaddr *, socklen_t) = is_client ? connect : bind;
    if (fd < 0 || attach(fd, (const struct sockaddr *)&name, name_bytes) != 0) {
        snprintf(error, error_bytes, "%s port %u (UDP): %s", text, (unsigned)port, strerror(errno));
        if (fd >= 0) close(fd);
        return ARB_ADDRESS;
    }
    ask_stamps(fd);
    struct udp *udp = arb_mem_alloc(sizeof *udp);
    udp->carrier = (struct arb_carrier){
        .ops = &udp_ops,
        .is_client = is_client,
        .fd = fd,
        .port = bound_port(fd),
        .receive_buffer_bytes = size_buffers(fd),
    };
    if (is_client) udp->carrier.server = address;
    udp->carrier.counters = &udp->carrier.own;
    *out = &udp->carrier;
    return ARB_OK;
}

enum arb_result arb_udp_open(const char *address, uint16_t port, struct arb_carrier **out,
                             char *error, size_t error_bytes)
{
    return open_udp(address, port, false, out, error, error_bytes);
}

enum arb_result arb_udp_connect(const char *address, uint16_t port, struct arb_carrier **out,
                                char *error, size_t error_bytes)
{
    return open_udp(address, port, true, out, error, error_bytes);
}
