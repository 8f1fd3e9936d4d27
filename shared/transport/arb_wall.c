#include "shared/transport/arb_wall_internal.h"

#include <string.h>

/* Layouts from ENet's protocol.h, network order; offsets from the start of a command. */
enum {
    COMMAND_ACKNOWLEDGE = 1,
    COMMAND_CONNECT = 2,
    COMMAND_VERIFY_CONNECT = 3,
    COMMAND_DISCONNECT = 4,
    COMMAND_PING = 5,
    COMMAND_SEND_RELIABLE = 6,
    COMMAND_SEND_UNRELIABLE = 7,
    COMMAND_SEND_UNSEQUENCED = 9,
    COMMAND_BANDWIDTH_LIMIT = 10,
    COMMAND_THROTTLE_CONFIGURE = 11,
    COMMAND_MASK = 0x0F,

    FLAG_ACKNOWLEDGE = 0x80,
    FLAG_UNSEQUENCED = 0x40,
    FLAG_UNUSED = 0x30,

    HEADER_HAS_TIME = 0x8000,
    HEADER_COMPRESSED = 0x4000,

    COMMAND_HEAD_BYTES = 4, /* command, channel, reliable sequence */
    DATAGRAM_BYTES_MIN = 2 + COMMAND_HEAD_BYTES,
    CONNECT_BYTES = 48,

    AT_CHANNEL = 1,
    AT_SEQUENCE = 2,
    AT_CONNECT_MTU = 8, /* of VERIFY_CONNECT too, as the next two */
    AT_CONNECT_CHANNELS = 16,
    AT_CONNECT_BANDWIDTHS = 20,
    AT_CONNECT_ID = 40,
    AT_BANDWIDTHS = 4,
    AT_THROTTLE = 4,
};

struct row {
    uint8_t size;      /* 0: refused */
    uint8_t length_at; /* of the message's length; 0: carries none */
    uint8_t flags;     /* exactly these, unless any_flags */
    bool any_flags;
    bool client_only;
    bool has_channel; /* one of ours */
};

static const struct row rows[COMMAND_MASK + 1] = {
    [COMMAND_ACKNOWLEDGE] = {.size = 8},
    [COMMAND_VERIFY_CONNECT] = {.size = 44, .flags = FLAG_ACKNOWLEDGE, .client_only = true},
    [COMMAND_DISCONNECT] = {.size = 8, .any_flags = true},
    [COMMAND_PING] = {.size = 4, .flags = FLAG_ACKNOWLEDGE},
    [COMMAND_SEND_RELIABLE] = {.size = 6,
                               .length_at = 4,
                               .flags = FLAG_ACKNOWLEDGE,
                               .has_channel = true},
    [COMMAND_SEND_UNRELIABLE] = {.size = 8, .length_at = 6, .has_channel = true},
    [COMMAND_SEND_UNSEQUENCED] = {.size = 8,
                                  .length_at = 6,
                                  .flags = FLAG_UNSEQUENCED,
                                  .has_channel = true},
    [COMMAND_BANDWIDTH_LIMIT] = {.size = 12, .flags = FLAG_ACKNOWLEDGE},
    [COMMAND_THROTTLE_CONFIGURE] = {.size = 16, .flags = FLAG_ACKNOWLEDGE},
};

static uint16_t get16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static uint32_t get32(const uint8_t *bytes)
{
    return (uint32_t)get16(bytes) << 16 | get16(bytes + 2);
}

static void put32(uint8_t *bytes, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

enum arb_wall_verdict arb_wall_open(const uint8_t *bytes, size_t size,
                                    struct arb_wall_header *header)
{
    if (size < DATAGRAM_BYTES_MIN || size > ARB_NET_MTU) return ARB_WALL_SIZE;
    uint16_t word = get16(bytes);
    header->peer_id = word & ARB_WALL_PEER_NONE;
    header->has_time = (word & HEADER_HAS_TIME) != 0;
    header->size = header->has_time ? 4 : 2;
    if ((word & HEADER_COMPRESSED) != 0) return ARB_WALL_HEADER;
    return ARB_WALL_PASS;
}

enum arb_wall_verdict arb_wall_connect(uint8_t *bytes, size_t size,
                                       const struct arb_wall_header *header, uint32_t *connect_id)
{
    uint8_t *command = bytes + header->size;
    if (!header->has_time) return ARB_WALL_HEADER;
    if (size < header->size + COMMAND_HEAD_BYTES) return ARB_WALL_SIZE;
    if (command[0] != (COMMAND_CONNECT | FLAG_ACKNOWLEDGE)) return ARB_WALL_COMMAND;
    if (size != header->size + CONNECT_BYTES) return ARB_WALL_LENGTH;
    if (get32(command + AT_CONNECT_CHANNELS) != ARB_NET_CHANNELS) return ARB_WALL_COMMAND;
    put32(command + AT_CONNECT_MTU, ARB_NET_MTU);
    put32(command + AT_CONNECT_BANDWIDTHS, 0);
    put32(command + AT_CONNECT_BANDWIDTHS + 4, 0);
    memcpy(connect_id, command + AT_CONNECT_ID, sizeof *connect_id);
    return ARB_WALL_PASS;
}

/* Size with its message of the command at `bytes`, of which `left` bytes are there. */
static enum arb_wall_verdict check_command(enum arb_wall_side side, const uint8_t *bytes,
                                           size_t left, bool has_time, size_t *size)
{
    if (left < COMMAND_HEAD_BYTES) return ARB_WALL_LENGTH;
    const struct row *row = &rows[bytes[0] & COMMAND_MASK];
    uint8_t flags = bytes[0] & (uint8_t)~COMMAND_MASK;
    if (row->size == 0 || (flags & FLAG_UNUSED) != 0) return ARB_WALL_COMMAND;
    if (row->client_only && side != ARB_WALL_CLIENT) return ARB_WALL_COMMAND;
    if (!row->any_flags && flags != row->flags) return ARB_WALL_COMMAND;
    if (row->has_channel && bytes[AT_CHANNEL] >= ARB_NET_CHANNELS) return ARB_WALL_COMMAND;
    /* ENet answers these with the header's time: without it, it would stop in the middle. */
    if ((flags & FLAG_ACKNOWLEDGE) != 0 && !has_time) return ARB_WALL_HEADER;
    if (left < row->size) return ARB_WALL_LENGTH;
    *size = row->size;
    if (row->length_at == 0) return ARB_WALL_PASS;
    uint16_t length = get16(bytes + row->length_at);
    if (length == 0 || length > ARB_NET_MESSAGE_MAX || length > left - row->size) {
        return ARB_WALL_LENGTH;
    }
    *size += length;
    return ARB_WALL_PASS;
}

/* False: the message would have to wait for too many others. `order` moves on with the datagram.
 * ENet keeps an unreliable message of a later reliable one in a sorted list without a bound; such
 * a message is treated as lost instead. */
static bool is_in_reach(enum arb_wall_side side, const uint8_t *command,
                        uint16_t order[ARB_NET_CHANNELS])
{
    uint8_t number = command[0] & COMMAND_MASK;
    if (number != COMMAND_SEND_RELIABLE && number != COMMAND_SEND_UNRELIABLE) return true;
    uint16_t *newest = &order[command[AT_CHANNEL]];
    uint16_t ahead = (uint16_t)(get16(command + AT_SEQUENCE) - *newest);
    bool is_old = ahead >= 0x8000;
    if (number == COMMAND_SEND_UNRELIABLE) return ahead == 0 || is_old;
    if (ahead == 1) ++*newest;
    return is_old ||
           ahead <= (side == ARB_WALL_SERVER ? ARB_WALL_AHEAD_SERVER : ARB_WALL_AHEAD_CLIENT);
}

static void neutralise(uint8_t *command)
{
    switch (command[0] & COMMAND_MASK) {
    case COMMAND_VERIFY_CONNECT:
        put32(command + AT_CONNECT_MTU, ARB_NET_MTU);
        put32(command + AT_CONNECT_BANDWIDTHS, 0);
        put32(command + AT_CONNECT_BANDWIDTHS + 4, 0);
        break;
    case COMMAND_BANDWIDTH_LIMIT:
        put32(command + AT_BANDWIDTHS, 0);
        put32(command + AT_BANDWIDTHS + 4, 0);
        break;
    case COMMAND_THROTTLE_CONFIGURE:
        put32(command + AT_THROTTLE, ARB_THROTTLE_INTERVAL_MS);
        put32(command + AT_THROTTLE + 4, ARB_THROTTLE_ACCELERATION);
        put32(command + AT_THROTTLE + 8, ARB_THROTTLE_DECELERATION);
        break;
    default:
        break;
    }
}

enum arb_wall_verdict arb_wall_commands(enum arb_wall_side side, uint8_t *bytes, size_t *size,
                                        const struct arb_wall_header *header,
                                        const uint16_t order[ARB_NET_CHANNELS], uint32_t *ahead)
{
    size_t at = header->size;
    /* First all of it is checked, then something changes. */
    for (uint32_t count = 0; at < *size; count++) {
        size_t command_bytes = 0;
        if (count == ARB_WALL_COMMANDS_MAX) return ARB_WALL_COMMAND;
        enum arb_wall_verdict verdict =
            check_command(side, bytes + at, *size - at, header->has_time, &command_bytes);
        if (verdict != ARB_WALL_PASS) return verdict;
        at += command_bytes;
    }

    uint16_t newest[ARB_NET_CHANNELS];
    memcpy(newest, order, sizeof newest);
    size_t kept = header->size;
    *ahead = 0;
    for (at = header->size; at < *size;) {
        size_t command_bytes = 0;
        check_command(side, bytes + at, *size - at, header->has_time, &command_bytes);
        if (is_in_reach(side, bytes + at, newest)) {
            neutralise(bytes + at);
            if (kept != at) memmove(bytes + kept, bytes + at, command_bytes);
            kept += command_bytes;
        } else {
            ++*ahead;
        }
        at += command_bytes;
    }
    if (kept == header->size) return ARB_WALL_AHEAD;
    *size = kept;
    return ARB_WALL_PASS;
}
