#include "shared/proto/arb_proto.h"

#include "tests/support/proto_samples.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct proto_decoded sample;
static struct proto_decoded decoded;

static size_t encode_sample(const struct proto_sample *kind, uint8_t *bytes, size_t capacity)
{
    memset(&sample, 0, sizeof sample);
    kind->fill(&sample);
    return kind->encode(&sample, bytes, capacity);
}

static bool is_chunk(const struct proto_sample *kind)
{
    return strcmp(kind->name, "chunk") == 0 || strcmp(kind->name, "parity") == 0;
}

Test(proto_messages, each_round_trips_with_all_fields_off_their_defaults)
{
    for (size_t i = 0; i < proto_sample_count; i++) {
        const struct proto_sample *kind = &proto_samples[i];
        uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
        size_t size = encode_sample(kind, bytes, sizeof bytes);
        cr_assert_gt(size, 0, "%s", kind->name);
        memset(&decoded, 0, sizeof decoded);
        cr_assert_eq(kind->decode(bytes, size, &decoded), ARB_DECODE_OK, "%s", kind->name);
        cr_assert(kind->equal(&sample, &decoded), "%s", kind->name);
    }
}

Test(proto_messages, each_is_refused_when_cut_at_any_byte)
{
    for (size_t i = 0; i < proto_sample_count; i++) {
        const struct proto_sample *kind = &proto_samples[i];
        uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
        size_t size = encode_sample(kind, bytes, sizeof bytes);
        bool open_ended = strcmp(kind->name, "part") == 0 || is_chunk(kind);
        size_t payload = open_ended ? 4 : 0; /* a shorter payload is a good one */
        for (size_t cut = 0; cut + payload < size; cut++) {
            uint8_t *exact = malloc(cut + 1); /* so that a sanitizer sees any read beyond */
            memcpy(exact, bytes, cut);
            enum arb_decode reason = kind->decode(exact, cut, &decoded);
            free(exact);
            cr_assert(reason == ARB_DECODE_SHORT || (cut == 0 && reason == ARB_DECODE_EMPTY),
                      "%s at %zu: %s", kind->name, cut, arb_decode_text(reason));
        }
    }
}

Test(proto_messages, each_is_refused_with_bytes_left_over_or_filled_with_ones)
{
    for (size_t i = 0; i < proto_sample_count; i++) {
        const struct proto_sample *kind = &proto_samples[i];
        if (strcmp(kind->name, "part") == 0 || is_chunk(kind)) {
            continue;
        }
        uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
        size_t size = encode_sample(kind, bytes, sizeof bytes - 1);
        bytes[size] = 0;
        cr_assert_eq(kind->decode(bytes, size + 1, &decoded), ARB_DECODE_LONG, "%s", kind->name);
    }
    uint8_t bytes[64];
    const struct arb_event event = {.kind = ARB_EVENT_PLAYER, .player = {.name = "x"}};
    size_t size = arb_event_encode(&event, bytes, sizeof bytes);
    bytes[size - 1] |= 0x80;
    struct arb_event out;
    cr_assert_eq(arb_event_decode(bytes, size, &out), ARB_DECODE_RANGE);
}

Test(proto_messages, none_is_written_into_too_little_room)
{
    for (size_t i = 0; i < proto_sample_count; i++) {
        const struct proto_sample *kind = &proto_samples[i];
        uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
        size_t size = encode_sample(kind, bytes, sizeof bytes);
        for (size_t room = 0; room < size; room++) {
            uint8_t *exact = malloc(room + 1);
            cr_assert_eq(kind->encode(&sample, exact, room), 0, "%s in %zu", kind->name, room);
            free(exact);
        }
        uint8_t *exact = malloc(size);
        cr_assert_eq(kind->encode(&sample, exact, size), size, "%s in exactly its size",
                     kind->name);
        cr_assert_eq(memcmp(exact, bytes, size), 0);
        free(exact);
    }
}

Test(proto_messages, type_is_known_or_zero)
{
    const uint8_t known[] = {ARB_MESSAGE_SNAPSHOT};
    const uint8_t unknown[] = {200};
    cr_assert_eq(arb_message_type(known, 1), ARB_MESSAGE_SNAPSHOT);
    cr_assert_eq(arb_message_type(unknown, 1), 0);
    cr_assert_eq(arb_message_type(known, 0), 0);
    struct arb_ping ping;
    cr_assert_eq(arb_message_decode(ARB_MESSAGE_PING, &arb_ping_fields, known, 1, &ping),
                 ARB_DECODE_UNKNOWN);
}

Test(proto_messages, every_reason_has_a_text)
{
    for (unsigned reason = 0; reason < ARB_DECODE_REASONS; reason++) {
        cr_assert_gt(strlen(arb_decode_text((enum arb_decode)reason)), 0);
    }
}

Test(proto_messages, every_refusal_has_a_text)
{
    for (uint8_t reason = ARB_REFUSED_VERSION; reason <= ARB_REFUSED_REPLACED; reason++) {
        cr_assert_str_neq(arb_refusal_text(reason), "unknown reason");
    }
    cr_assert_str_eq(arb_refusal_text(0), "unknown reason");
    cr_assert_str_eq(arb_refusal_text(ARB_REFUSED_REPLACED + 1), "unknown reason");
}

Test(proto_messages, version_is_read_from_a_hello_of_another_version)
{
    uint8_t bytes[64];
    struct arb_hello hello = {.version = 7, .schema_hash = 0xAABBCCDD00112233ULL, .name = "x"};
    arb_message_encode(ARB_MESSAGE_HELLO, &arb_hello_fields, &hello, bytes, sizeof bytes);
    bytes[11] = 0xFF; /* from here on another version may differ */
    uint16_t version = 0;
    uint64_t hash = 0;
    cr_assert(arb_hello_peek(bytes, 12, &version, &hash));
    cr_assert_eq(version, 7);
    cr_assert_eq(hash, 0xAABBCCDD00112233ULL);
    cr_assert_not(arb_hello_peek(bytes, 10, &version, &hash));
    bytes[0] = ARB_MESSAGE_PING;
    cr_assert_not(arb_hello_peek(bytes, 12, &version, &hash));
}

Test(proto_text, accepts_utf8_and_nothing_else)
{
    static const struct {
        const char *text;
        size_t size;
        bool valid;
    } cases[] = {
        {"", 0, true},
        {"plain", 5, true},
        {"\xC2\xA0", 2, true},
        {"\xE2\x82\xAC", 3, true},
        {"\xF4\x8F\xBF\xBF", 4, true},
        {"\xF4\x90\x80\x80", 4, false}, /* beyond U+10FFFF */
        {"\xED\xA0\x80", 3, false},     /* surrogate */
        {"\xC0\x80", 2, false},         /* overlong */
        {"\xE0\x80\xAF", 3, false},
        {"\xF0\x80\x80\xAF", 4, false},
        {"\xE2\x82", 2, false}, /* cut */
        {"\x80", 1, false},
        {"\xFF", 1, false},
        {"a\nb", 3, false}, /* control characters */
        {"a\0b", 3, false},
        {"\x7F", 1, false},
        {"\xC2\x85", 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_assert_eq(arb_proto_text_valid(cases[i].text, cases[i].size), cases[i].valid, "%zu", i);
    }
}

Test(proto_text, a_name_that_is_no_text_or_too_long_is_refused)
{
    uint8_t bytes[64];
    struct arb_hello hello = {.name = "ab"};
    size_t size =
        arb_message_encode(ARB_MESSAGE_HELLO, &arb_hello_fields, &hello, bytes, sizeof bytes);
    struct arb_hello out;
    bytes[13] = 0xFF;
    cr_assert_eq(arb_message_decode(ARB_MESSAGE_HELLO, &arb_hello_fields, bytes, size, &out),
                 ARB_DECODE_RANGE);
    uint8_t longest[12 + 31 + 17 + 1];
    memset(longest, 'a', sizeof longest);
    memcpy(longest, bytes, 11);
    longest[11] = 32;
    cr_assert_eq(
        arb_message_decode(ARB_MESSAGE_HELLO, &arb_hello_fields, longest, sizeof longest, &out),
        ARB_DECODE_RANGE, "32 bytes leave no room for the NUL");
    longest[11] = 31;
    memset(longest + 12 + 31, 0, 17);
    longest[12 + 31] = ARB_ROLE_SPECTATOR;
    cr_assert_eq(
        arb_message_decode(ARB_MESSAGE_HELLO, &arb_hello_fields, longest, sizeof longest - 1, &out),
        ARB_DECODE_OK);
    cr_assert_eq(strlen(out.name), 31);
    cr_assert_eq(out.role, ARB_ROLE_SPECTATOR);
}

Test(proto_fields, a_value_outside_its_row_is_our_mistake, .signal = SIGABRT)
{
    uint8_t bytes[64];
    struct arb_refused refused = {.reason = ARB_REFUSED_REPLACED + 1};
    arb_message_encode(ARB_MESSAGE_REFUSED, &arb_refused_fields, &refused, bytes, sizeof bytes);
}

Test(proto_fields, a_value_outside_its_row_is_refused_from_outside)
{
    uint8_t bytes[64];
    struct arb_refused refused = {.reason = ARB_REFUSED_KICKED};
    size_t size =
        arb_message_encode(ARB_MESSAGE_REFUSED, &arb_refused_fields, &refused, bytes, sizeof bytes);
    static const uint8_t wrong[] = {0, ARB_REFUSED_REPLACED + 1, 255};
    for (size_t i = 0; i < sizeof wrong; i++) {
        bytes[1] = wrong[i];
        cr_assert_eq(
            arb_message_decode(ARB_MESSAGE_REFUSED, &arb_refused_fields, bytes, size, &refused),
            ARB_DECODE_RANGE);
    }
}

/* Puts 32 bits of a float at a byte of an encoded message. */
static void put_float(uint8_t *bytes, float value)
{
    uint32_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(pattern >> (8 * i));
    }
}

static const float bad_places[] = {NAN, INFINITY, -INFINITY, 4096.5F, -4097.0F, 1e30F};

Test(proto_events, places_beyond_the_world_are_refused)
{
    struct arb_event event = {.kind = ARB_EVENT_HIT};
    uint8_t bytes[64];
    size_t size = arb_event_encode(&event, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bad_places / sizeof bad_places[0]; i++) {
        put_float(bytes + size - 4, bad_places[i]);
        cr_assert_eq(arb_event_decode(bytes, size, &event), ARB_DECODE_RANGE);
    }
}

Test(proto_events, an_unknown_kind_is_refused)
{
    struct arb_event event = {.kind = ARB_EVENT_PHASE, .phase = {.phase = ARB_PHASE_LIVE}};
    uint8_t bytes[64];
    size_t size = arb_event_encode(&event, bytes, sizeof bytes);
    static const uint8_t kinds[] = {0, 9, 255};
    for (size_t i = 0; i < sizeof kinds; i++) {
        bytes[5] = kinds[i];
        cr_assert_eq(arb_event_decode(bytes, size, &event), ARB_DECODE_RANGE);
        cr_assert_null(arb_event_fields(kinds[i]));
    }
}

Test(proto_events, end_reasons_are_those_of_the_result_file)
{
    static const char *const texts[] = {"time", "score", "aborted", "nobody", "empty"};
    for (unsigned i = 0; i < 5; i++) {
        cr_assert_str_eq(arb_end_reason_text((enum arb_end_reason)i), texts[i]);
    }
}

/* ---- WELCOME ---- */

/* Byte of the first shape in the sample: everything before it is whole bytes. */
static size_t first_shape(void)
{
    return 1 + (1 + 5) + 16 + 16 + 8 + 2 + 2 + 4 + 2 + 3 + 8 + 16 + 4;
}

static enum arb_decode decode_welcome(const uint8_t *bytes, size_t size)
{
    return arb_welcome_decode(bytes, size, &proto_sample_param_fields, decoded.shapes, 8,
                              &decoded.params, &decoded.welcome);
}

static size_t encode_welcome(uint8_t *bytes, size_t capacity)
{
    for (size_t i = 0; i < proto_sample_count; i++) {
        if (strcmp(proto_samples[i].name, "welcome") == 0) {
            return encode_sample(&proto_samples[i], bytes, capacity);
        }
    }
    return 0;
}

Test(proto_welcome, shapes_are_checked)
{
    uint8_t bytes[1024];
    size_t size = encode_welcome(bytes, sizeof bytes);
    cr_assert_eq(decode_welcome(bytes, size), ARB_DECODE_OK);
    uint8_t *circle = bytes + first_shape();
    cr_assert_eq(circle[0], ARB_SHAPE_CIRCLE);
    for (size_t i = 0; i < sizeof bad_places / sizeof bad_places[0]; i++) {
        put_float(circle + 6, bad_places[i]);
        cr_assert_eq(decode_welcome(bytes, size), ARB_DECODE_RANGE, "point %zu", i);
    }
    encode_welcome(bytes, sizeof bytes);
    static const float radii[] = {NAN, INFINITY, 0.0F, -1.0F, 5000.0F};
    for (size_t i = 0; i < sizeof radii / sizeof radii[0]; i++) {
        put_float(circle + 2, radii[i]);
        cr_assert_eq(decode_welcome(bytes, size), ARB_DECODE_RANGE, "radius %zu", i);
    }
    encode_welcome(bytes, sizeof bytes);
    static const uint8_t heads[][2] = {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {3, 2}, {3, 9}, {4, 3}};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        memcpy(circle, heads[i], 2);
        cr_assert_eq(decode_welcome(bytes, size), ARB_DECODE_RANGE, "type and count %zu", i);
    }
}

Test(proto_welcome, relations_and_capacities_are_checked)
{
    uint8_t bytes[1024];
    size_t size = encode_welcome(bytes, sizeof bytes);
    cr_assert_eq(arb_welcome_decode(bytes, size, &proto_sample_param_fields, decoded.shapes, 3,
                                    &decoded.params, &decoded.welcome),
                 ARB_DECODE_RANGE, "4 shapes into 3");
    sample.welcome.player_slot = 16;
    arb_welcome_encode(&sample.welcome, &proto_sample_param_fields, bytes, sizeof bytes);
    cr_assert_eq(decode_welcome(bytes, size), ARB_DECODE_RANGE, "slot beyond the capacity");
    sample.welcome.player_slot = 0;
    sample.welcome.bounds.high.x = sample.welcome.bounds.low.x;
    arb_welcome_encode(&sample.welcome, &proto_sample_param_fields, bytes, sizeof bytes);
    cr_assert_eq(decode_welcome(bytes, size), ARB_DECODE_RANGE, "bounds without area");
}

/* ---- PART ---- */

static struct arb_part part_of(uint16_t message, uint16_t index, uint16_t count, const char *text)
{
    return (struct arb_part){message, index, count, (uint16_t)strlen(text), (const uint8_t *)text};
}

Test(proto_parts, a_long_message_is_cut_and_joined)
{
    enum { SIZE = 5000 };
    static uint8_t message[SIZE];
    static uint8_t joined[SIZE];
    for (size_t i = 0; i < SIZE; i++) {
        message[i] = (uint8_t)(i * 7);
    }
    struct arb_parts parts;
    arb_parts_init(&parts, joined, SIZE);
    cr_assert_eq(arb_part_count(SIZE), 5);
    cr_assert_eq(arb_part_count(ARB_LONG_MESSAGE_BYTES_MAX), ARB_PARTS_MAX);
    for (uint16_t number = 65534; number != 2; number++) {
        for (uint16_t i = 0; i < 5; i++) {
            uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
            struct arb_part part = arb_part_cut(message, SIZE, number, i);
            size_t size = arb_part_encode(&part, bytes, sizeof bytes);
            cr_assert_eq(arb_part_decode(bytes, size, &part), ARB_DECODE_OK);
            cr_assert_eq(arb_parts_add(&parts, &part),
                         i < 4 ? ARB_PARTS_WAITING : ARB_PARTS_COMPLETE);
        }
        cr_assert_eq(parts.size, SIZE);
        cr_assert_eq(memcmp(message, joined, SIZE), 0);
    }
}

Test(proto_parts, what_does_not_come_next_breaks_the_stream)
{
    struct step {
        uint16_t message, index, count;
        const char *text;
        enum arb_parts_result expected;
    };
    static const struct step cases[][4] = {
        {{5, 1, 2, "b", ARB_PARTS_BROKEN}, {5, 0, 1, "a", ARB_PARTS_COMPLETE}},
        {{5, 0, 3, "a", ARB_PARTS_WAITING},
         {5, 2, 3, "c", ARB_PARTS_BROKEN},
         {5, 1, 3, "b", ARB_PARTS_BROKEN},
         {6, 0, 1, "n", ARB_PARTS_COMPLETE}},
        {{5, 0, 3, "a", ARB_PARTS_WAITING}, {5, 0, 3, "a", ARB_PARTS_BROKEN}},
        {{5, 0, 3, "a", ARB_PARTS_WAITING}, {6, 0, 1, "a", ARB_PARTS_BROKEN}},
        {{5, 0, 3, "a", ARB_PARTS_WAITING}, {6, 1, 3, "a", ARB_PARTS_BROKEN}},
        {{5, 0, 3, "a", ARB_PARTS_WAITING}, {5, 1, 4, "a", ARB_PARTS_BROKEN}},
        {{5, 0, 1, "a", ARB_PARTS_COMPLETE}, {7, 0, 1, "a", ARB_PARTS_BROKEN}},
        {{5, 0, 2, "1234", ARB_PARTS_WAITING},
         {5, 1, 2, "56789", ARB_PARTS_TOO_LONG},
         {5, 1, 2, "5", ARB_PARTS_BROKEN},
         {6, 0, 1, "12345678", ARB_PARTS_COMPLETE}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint8_t joined[8];
        struct arb_parts parts;
        arb_parts_init(&parts, joined, sizeof joined);
        for (int s = 0; s < 4 && cases[c][s].text != NULL; s++) {
            const struct step *step = &cases[c][s];
            struct arb_part part = part_of(step->message, step->index, step->count, step->text);
            cr_assert_eq(arb_parts_add(&parts, &part), step->expected, "case %zu step %d", c, s);
        }
    }
}

Test(proto_parts, heads_that_no_sender_writes_are_refused)
{
    uint8_t bytes[7 + ARB_PART_PAYLOAD_MAX + 1] = {ARB_MESSAGE_PART, 0, 0, 2, 0, 2, 0, 1};
    struct arb_part part;
    cr_assert_eq(arb_part_decode(bytes, 8, &part), ARB_DECODE_ORDER, "index 2 of 2");
    bytes[3] = 1;
    cr_assert_eq(arb_part_decode(bytes, 8, &part), ARB_DECODE_OK);
    cr_assert_eq(arb_part_decode(bytes, 7, &part), ARB_DECODE_SHORT, "no payload");
    cr_assert_eq(arb_part_decode(bytes, sizeof bytes, &part), ARB_DECODE_LONG);
    bytes[5] = bytes[6] = 0xFF;
    cr_assert_eq(arb_part_decode(bytes, 8, &part), ARB_DECODE_RANGE, "65,535 parts");
    bytes[3] = bytes[5] = bytes[6] = 0;
    cr_assert_eq(arb_part_decode(bytes, 8, &part), ARB_DECODE_RANGE, "no parts");
}
