/* The command firewall as pure functions: what passes, what is changed, what is refused and why. */
#include "shared/base/arb_rng.h"
#include "shared/transport/arb_wall_internal.h"

#include <criterion/criterion.h>
#include <string.h>

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

enum { TIME = 0x80 /* in the first byte: the header has a time */ };

static enum arb_wall_verdict judge(enum arb_wall_side side, uint8_t *bytes, size_t *size)
{
    struct arb_wall_header header;
    const uint16_t order[ARB_NET_CHANNELS] = {0};
    enum arb_wall_verdict verdict = arb_wall_open(bytes, *size, &header);
    if (verdict != ARB_WALL_PASS) return verdict;
    uint32_t connect_id, ahead;
    if (header.peer_id == ARB_WALL_PEER_NONE) {
        return arb_wall_connect(bytes, *size, &header, &connect_id);
    }
    return arb_wall_commands(side, bytes, size, &header, order, &ahead);
}

struct wall_case {
    const char *name;
    enum arb_wall_verdict at_server, at_client;
    const uint8_t *bytes;
    size_t size;
};

#define BOTH(verdict) ARB_WALL_##verdict, ARB_WALL_##verdict

static const struct wall_case cases[] = {
    {"one byte", BOTH(SIZE), BYTES(0)},
    {"header only", BOTH(SIZE), BYTES(TIME, 0, 0, 1)},
    {"ping", BOTH(PASS), BYTES(TIME, 0, 0, 1, 0x85, 0xFF, 0, 1)},
    {"compressed", BOTH(HEADER), BYTES(0xC0, 0, 0, 1, 0x85, 0xFF, 0, 1)},
    {"ping without time", BOTH(HEADER), BYTES(0, 0, 0x85, 0xFF, 0, 1)},
    {"ping without its flag", BOTH(COMMAND), BYTES(TIME, 0, 0, 1, 0x05, 0xFF, 0, 1)},
    {"unused flag", BOTH(COMMAND), BYTES(TIME, 0, 0, 1, 0x95, 0xFF, 0, 1)},
    {"acknowledge", BOTH(PASS), BYTES(0, 0, 0x01, 0xFF, 0, 1, 0, 1, 0, 5)},
    {"acknowledge cut off", BOTH(LENGTH), BYTES(0, 0, 0x01, 0xFF, 0, 1, 0, 1, 0)},
    {"disconnect", BOTH(PASS), BYTES(TIME, 0, 0, 1, 0x84, 0xFF, 0, 2, 0, 0, 0, 7)},
    {"disconnect unsequenced", BOTH(PASS), BYTES(0, 0, 0x44, 0xFF, 0, 2, 0, 0, 0, 7)},
    {"reliable", BOTH(PASS), BYTES(TIME, 0, 0, 1, 0x86, 0, 0, 1, 0, 2, 'h', 'i')},
    {"reliable on a third channel", BOTH(COMMAND),
     BYTES(TIME, 0, 0, 1, 0x86, 2, 0, 1, 0, 2, 'h', 'i')},
    {"reliable of no length", BOTH(LENGTH), BYTES(TIME, 0, 0, 1, 0x86, 0, 0, 1, 0, 0)},
    {"reliable longer than its datagram", BOTH(LENGTH),
     BYTES(TIME, 0, 0, 1, 0x86, 0, 0, 1, 0, 3, 'h', 'i')},
    {"reliable with bytes left over", BOTH(LENGTH),
     BYTES(TIME, 0, 0, 1, 0x86, 0, 0, 1, 0, 1, 'h', 'i')},
    {"reliable longer than any", BOTH(LENGTH), BYTES(TIME, 0, 0, 1, 0x86, 0, 0, 1, 0xFF, 0xFF)},
    {"unreliable", BOTH(PASS), BYTES(0, 0, 0x07, 1, 0, 0, 0, 1, 0, 1, 'x')},
    {"unreliable of no length", BOTH(LENGTH), BYTES(0, 0, 0x07, 1, 0, 0, 0, 1, 0, 0)},
    {"unsequenced", BOTH(PASS), BYTES(0, 0, 0x49, 1, 0, 0, 0, 1, 0, 1, 'x')},
    {"unsequenced of no length", BOTH(LENGTH), BYTES(0, 0, 0x49, 1, 0, 0, 0, 1, 0, 0)},
    {"fragment", BOTH(COMMAND),
     BYTES(TIME, 0, 0, 1, 0x88, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0,
           'x')},
    {"unreliable fragment", BOTH(COMMAND),
     BYTES(0, 0, 0x0C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 'x')},
    {"command 0", BOTH(COMMAND), BYTES(0, 0, 0x00, 0, 0, 0, 0, 0)},
    {"command 13", BOTH(COMMAND), BYTES(0, 0, 0x0D, 0, 0, 0, 0, 0)},
    {"connect from a known peer", BOTH(COMMAND), BYTES(TIME, 0, 0, 1, 0x82, 0xFF, 0, 1)},
    {"connect cut off", BOTH(LENGTH), BYTES(0x8F, 0xFF, 0, 1, 0x82, 0xFF, 0, 1)},
    {"ping from a stranger", BOTH(COMMAND), BYTES(0x8F, 0xFF, 0, 1, 0x85, 0xFF, 0, 1)},
    {"connect without time", BOTH(HEADER), BYTES(0x0F, 0xFF, 0x82, 0xFF, 0, 1)},
    {"a refused command after a good one", BOTH(COMMAND),
     BYTES(TIME, 0, 0, 1, 0x85, 0xFF, 0, 1, 0x88, 0, 0, 1)},
    {"verify connect", ARB_WALL_COMMAND, ARB_WALL_PASS,
     BYTES(TIME, 0, 0, 1, 0x83, 0xFF, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 0,
           0, 1, 0, 0, 0, 1, 0, 0, 0x13, 0x88, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4)},
};

Test(transport_wall, each_kind_of_datagram_has_its_verdict)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int side = 0; side < 2; side++) {
            uint8_t bytes[ARB_NET_MTU];
            size_t size = cases[i].size;
            memcpy(bytes, cases[i].bytes, size);
            enum arb_wall_verdict want = side == 0 ? cases[i].at_server : cases[i].at_client;
            cr_expect_eq(judge(side == 0 ? ARB_WALL_SERVER : ARB_WALL_CLIENT, bytes, &size), want,
                         "%s at the %s", cases[i].name, side == 0 ? "server" : "client");
        }
    }
}

Test(transport_wall, a_datagram_of_any_size_beyond_ours_is_refused)
{
    static uint8_t bytes[5000];
    struct arb_wall_header header;
    cr_assert_eq(arb_wall_open(bytes, 0, &header), ARB_WALL_SIZE);
    cr_assert_eq(arb_wall_open(bytes, 5, &header), ARB_WALL_SIZE);
    cr_assert_eq(arb_wall_open(bytes, ARB_NET_MTU, &header), ARB_WALL_PASS);
    cr_assert_eq(arb_wall_open(bytes, ARB_NET_MTU + 1, &header), ARB_WALL_SIZE);
    cr_assert_eq(arb_wall_open(bytes, sizeof bytes, &header), ARB_WALL_SIZE);
}

static const uint8_t connect_bytes[] = {
    0x8F, 0xFF, 0,    1,                                  /* a stranger, with time */
    0x82, 0xFF, 0,    1,    0, 0, 0xFF, 0xFF,             /* CONNECT */
    0,    0,    0x10, 0,    0, 1, 0,    0,    0, 0, 0, 2, /* MTU 4,096, window, channels */
    0,    0,    0,    1,    0, 0, 0,    2,                /* bandwidths */
    0,    0,    0x13, 0x88, 0, 0, 0,    2,    0, 0, 0, 2, /* throttle */
    1,    2,    3,    4,    0, 0, 0,    0,                /* id, data */
};

Test(transport_wall, connect_gets_our_mtu_no_bandwidth_and_only_our_channels)
{
    uint8_t bytes[64];
    struct arb_wall_header header;
    uint32_t connect_id = 0;
    memcpy(bytes, connect_bytes, sizeof connect_bytes);
    cr_assert_eq(sizeof connect_bytes, 52);
    cr_assert_eq(arb_wall_open(bytes, 52, &header), ARB_WALL_PASS);
    cr_assert_eq(arb_wall_connect(bytes, 52, &header, &connect_id), ARB_WALL_PASS);
    cr_assert_eq(memcmp(&connect_id, "\1\2\3\4", 4), 0);
    uint8_t expected[52];
    memcpy(expected, connect_bytes, 52);
    expected[14] = ARB_NET_MTU >> 8;
    expected[15] = ARB_NET_MTU & 0xFF;
    expected[27] = expected[31] = 0;
    cr_assert_eq(memcmp(bytes, expected, 52), 0, "the throttle's values are echoed, so they stay");

    for (uint8_t channels = 0; channels < 8; channels++) {
        bytes[23] = channels;
        cr_assert_eq(arb_wall_connect(bytes, 52, &header, &connect_id),
                     channels == 2 ? ARB_WALL_PASS : ARB_WALL_COMMAND);
    }
    bytes[23] = 2;
    cr_assert_eq(arb_wall_connect(bytes, 51, &header, &connect_id), ARB_WALL_LENGTH);
    cr_assert_eq(arb_wall_connect(bytes, 56, &header, &connect_id), ARB_WALL_LENGTH,
                 "alone in its datagram");
}

Test(transport_wall, bandwidths_and_throttle_lose_their_power_but_pass)
{
    uint8_t bytes[] = {TIME, 0,    0, 1,                                       /**/
                       0x8A, 0xFF, 0, 1, 0, 0, 0,  1, 0, 0, 0, 2,              /**/
                       0x8B, 0xFF, 0, 2, 0, 0, 0,  1, 0, 0, 0, 0, 0, 0, 0, 32, /**/
                       0x86, 0,    0, 1, 0, 1, 'x'};
    const uint8_t expected[] = {TIME, 0,    0, 1,                                            /**/
                                0x8A, 0xFF, 0, 1, 0, 0, 0,    0,    0, 0, 0, 0,              /**/
                                0x8B, 0xFF, 0, 2, 0, 0, 0x13, 0x88, 0, 0, 0, 32, 0, 0, 0, 0, /**/
                                0x86, 0,    0, 1, 0, 1, 'x'};
    size_t size = sizeof bytes;
    cr_assert_eq(judge(ARB_WALL_SERVER, bytes, &size), ARB_WALL_PASS);
    cr_assert_eq(size, sizeof bytes);
    cr_assert_eq(memcmp(bytes, expected, size), 0);
}

Test(transport_wall, thirty_two_commands_and_no_more)
{
    uint8_t bytes[4 + 33 * 4] = {TIME};
    for (int i = 0; i < 33; i++) {
        bytes[4 + 4 * i] = 0x85;
    }
    size_t size = 4 + 32 * 4;
    cr_assert_eq(judge(ARB_WALL_SERVER, bytes, &size), ARB_WALL_PASS);
    size = 4 + 33 * 4;
    cr_assert_eq(judge(ARB_WALL_SERVER, bytes, &size), ARB_WALL_COMMAND);
}

static size_t put_message(uint8_t *bytes, uint8_t command, uint8_t channel, uint16_t sequence)
{
    bytes[0] = command;
    bytes[1] = channel;
    bytes[2] = (uint8_t)(sequence >> 8);
    bytes[3] = (uint8_t)sequence;
    size_t at = 4;
    if (command == 0x07) { /* its unreliable sequence */
        bytes[at++] = 0;
        bytes[at++] = 1;
    }
    bytes[at++] = 0;
    bytes[at++] = 1;
    bytes[at++] = 'm';
    return at;
}

/* Verdict on one message when `newest` was the last in order on its channel. */
static enum arb_wall_verdict judge_message(enum arb_wall_side side, uint8_t command,
                                           uint16_t newest, uint16_t sequence)
{
    uint8_t bytes[32] = {TIME};
    size_t size = 4 + put_message(bytes + 4, command, 1, sequence);
    const uint16_t order[ARB_NET_CHANNELS] = {9999, newest};
    struct arb_wall_header header;
    uint32_t ahead = 0;
    cr_assert_eq(arb_wall_open(bytes, size, &header), ARB_WALL_PASS);
    enum arb_wall_verdict verdict = arb_wall_commands(side, bytes, &size, &header, order, &ahead);
    cr_assert_eq(ahead, verdict == ARB_WALL_AHEAD);
    return verdict;
}

Test(transport_wall, reliable_messages_may_be_so_far_ahead)
{
    const uint16_t starts[] = {0, 1, 4095, 0x7FF0, 0x8000, 0xFFC0, 0xFFF0, 0xFFFF};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        for (int side = 0; side < 2; side++) {
            enum arb_wall_side behind = side == 0 ? ARB_WALL_SERVER : ARB_WALL_CLIENT;
            int limit = side == 0 ? ARB_WALL_AHEAD_SERVER : ARB_WALL_AHEAD_CLIENT;
            for (int step = -40; step < limit + 3; step++) {
                uint16_t sequence = (uint16_t)(starts[i] + step);
                cr_assert_eq(judge_message(behind, 0x86, starts[i], sequence),
                             step <= limit ? ARB_WALL_PASS : ARB_WALL_AHEAD);
            }
            cr_assert_eq(judge_message(behind, 0x86, starts[i], (uint16_t)(starts[i] + 0x7FFF)),
                         ARB_WALL_AHEAD);
        }
    }
}

Test(transport_wall, an_unreliable_message_never_waits_for_a_reliable_one)
{
    cr_assert_eq(judge_message(ARB_WALL_SERVER, 0x07, 100, 100), ARB_WALL_PASS);
    cr_assert_eq(judge_message(ARB_WALL_SERVER, 0x07, 100, 99), ARB_WALL_PASS);
    cr_assert_eq(judge_message(ARB_WALL_SERVER, 0x07, 100, 101), ARB_WALL_AHEAD);
    /* Unless that one is in front of it in the same datagram. */
    uint8_t bytes[64] = {TIME};
    size_t size = 4;
    size += put_message(bytes + size, 0x86, 0, 1);
    size += put_message(bytes + size, 0x07, 0, 1);
    size_t whole = size;
    cr_assert_eq(judge(ARB_WALL_SERVER, bytes, &size), ARB_WALL_PASS);
    cr_assert_eq(size, whole);
}

Test(transport_wall, what_is_too_far_ahead_is_cut_out_and_the_rest_stays)
{
    uint8_t bytes[128] = {TIME}, expected[128] = {TIME};
    size_t size = 4, expected_size = 4;
    size += put_message(bytes + size, 0x86, 0, 1);
    size += put_message(bytes + size, 0x86, 0, 1000);
    size += put_message(bytes + size, 0x07, 1, 50);
    size += put_message(bytes + size, 0x86, 0, 2);
    expected_size += put_message(expected + expected_size, 0x86, 0, 1);
    expected_size += put_message(expected + expected_size, 0x86, 0, 2);
    struct arb_wall_header header;
    const uint16_t order[ARB_NET_CHANNELS] = {0};
    uint32_t ahead = 0;
    cr_assert_eq(arb_wall_open(bytes, size, &header), ARB_WALL_PASS);
    cr_assert_eq(arb_wall_commands(ARB_WALL_SERVER, bytes, &size, &header, order, &ahead),
                 ARB_WALL_PASS);
    cr_assert_eq(ahead, 2);
    cr_assert_eq(size, expected_size);
    cr_assert_eq(memcmp(bytes, expected, size), 0);
}

/* Bytes that look right often enough to get deep; under a sanitizer, nothing beyond them is read.
 */
Test(transport_wall, what_passed_passes_again_unchanged)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, 0);
    static const uint8_t commands[] = {0x01, 0x82, 0x83, 0x84, 0x85, 0x86, 0x07,
                                       0x49, 0x8A, 0x8B, 0x88, 0x0C, 0x44, 0x10};
    uint32_t passed = 0, verdicts[ARB_WALL_AHEAD + 1] = {0};
    for (uint32_t i = 0; i < 200000; i++) {
        uint8_t all[96], again[96];
        size_t size = arb_rng_below(&rng, sizeof all + 1);
        uint8_t *bytes = all + sizeof all - size; /* ends with the array */
        for (size_t b = 0; b < size; b++) {
            bool is_small = arb_rng_below(&rng, 4) > 0;
            bytes[b] = (uint8_t)(is_small ? arb_rng_below(&rng, 3) : arb_rng_next(&rng));
        }
        if (size > 0 && arb_rng_below(&rng, 2) == 0) bytes[0] = TIME;
        if (size > 4) bytes[4] = commands[arb_rng_below(&rng, sizeof commands)];
        enum arb_wall_side side = i % 2 ? ARB_WALL_SERVER : ARB_WALL_CLIENT;
        enum arb_wall_verdict verdict = judge(side, bytes, &size);
        verdicts[verdict]++;
        if (verdict != ARB_WALL_PASS) continue;
        passed++;
        memcpy(again, bytes, size);
        size_t again_size = size;
        cr_assert_eq(judge(side, again, &again_size), ARB_WALL_PASS);
        cr_assert_eq(again_size, size);
        cr_assert_eq(memcmp(again, bytes, size), 0);
    }
    cr_assert_gt(passed, 1000);
    for (int i = 0; i <= ARB_WALL_LENGTH; i++) {
        cr_assert_gt(verdicts[i], 100);
    }
}
