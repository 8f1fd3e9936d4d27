/* One message of every kind with all fields off their defaults, and its codec behind one signature,
 * so that round trips, golden bytes and property tests run over all of them. Used by tests of
 * shared/proto only.
 */
#ifndef PROTO_SAMPLES_H
#define PROTO_SAMPLES_H

#include "shared/proto/arb_delta.h"

enum {
    PROTO_SAMPLE_BYTES_MAX = 4096, /* encoded */
    PROTO_SAMPLE_POINTS_MAX = 1024,
    PROTO_SAMPLE_ENTITIES_MAX = 64,
};

/* Room for any message in its decoded form. */
struct proto_decoded {
    union {
        struct arb_hello hello;
        struct arb_refused refused;
        struct arb_ping ping;
        struct arb_pong pong;
        struct arb_spectate spectate;
        struct arb_counts counts;
        struct arb_late late;
        struct arb_event event;
        struct arb_scores scores;
        struct arb_events events;
        struct arb_part part;
        struct arb_chunk chunk;
        struct arb_input_packet input;
        struct arb_welcome welcome;
    };
    struct arb_shape shapes[8];
    struct proto_sample_params {
        uint8_t mover;
        uint16_t rate;
        float speed;
        uint16_t rounds[3];
    } params;
    struct arb_frame frame;
    struct arb_published entities[PROTO_SAMPLE_ENTITIES_MAX];
    struct arb_held_entry entries[PROTO_SAMPLE_ENTITIES_MAX];
    struct arb_point points[PROTO_SAMPLE_POINTS_MAX];
    struct arb_key controlled;
    struct arb_own_part own_part;
    struct proto_sample_own {
        float x, vx;
        float heading;
        uint16_t magazine[4];
        int8_t lean;
        uint8_t boost;
        int16_t push;
        int32_t drift;
    } own;
    bool has_own;
};

/* Tables for the structs above; they use every type of row that own state and parameters may. */
extern const struct arb_fields proto_sample_own_fields, proto_sample_param_fields;

struct proto_sample {
    const char *name;
    /* The sample in its decoded form. */
    void (*fill)(struct proto_decoded *out);
    /* Both as in arb_proto.h; sizes in bytes. Decoding zeroes nothing beforehand. */
    size_t (*encode)(const struct proto_decoded *message, uint8_t *bytes, size_t capacity);
    enum arb_decode (*decode)(const uint8_t *bytes, size_t size, struct proto_decoded *out);
    /* All members that travel are equal. */
    bool (*equal)(const struct proto_decoded *a, const struct proto_decoded *b);
};

extern const struct proto_sample proto_samples[];
extern const size_t proto_sample_count;

/* The reference for widening that the samples' ticks and sequences lie around. */
enum { PROTO_SAMPLE_NEAR_TICK = 0x1FFF8, PROTO_SAMPLE_NEAR_SEQUENCE = 0xFFFE };

/* Streams are those of the tick PROTO_SAMPLE_NEAR_TICK; the baseline of arena_delta and
 * serpent_delta is six ticks before. */
enum { PROTO_SAMPLE_TICK_RATE = 60 };

#endif
