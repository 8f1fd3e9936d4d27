/* Every decoder against bytes from outside: random ones, and good messages cut, flipped and
 * spliced. None reads beyond the bytes, none gives a value that the encoder would not take (it
 * asserts), and what is decoded survives another round. The seed is printed; ARBITER_SEED repeats a
 * run.
 */
#include "shared/base/arb_rng.h"
#include "tests/support/proto_samples.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_PER_DECODER = 200000, RANDOM_BYTES_MAX = 300 };

static struct proto_decoded sample;
static struct proto_decoded first;
static struct proto_decoded second;

static void check_schema_ranges(const struct arb_schema *schema)
{
    uint32_t before = 0;
    uint32_t points = 0;
    for (uint32_t i = 0; i < first.frame.entity_count; i++) {
        const struct arb_published *entity = &first.entities[i];
        cr_assert(i == 0 || arb_key_order(entity->key) > before);
        before = arb_key_order(entity->key);
        cr_assert_lt(entity->kind, schema->kind_count);
        const struct arb_kind *kind = &schema->kinds[entity->kind];
        for (int f = 0; f < kind->field_count; f++) {
            int32_t half = (int32_t)1 << (kind->fields[f].bits - 1);
            int32_t low = kind->fields[f].is_signed ? -half : 0;
            int32_t high = kind->fields[f].is_signed ? half - 1 : 2 * half - 1;
            cr_assert(entity->q[f] >= low && entity->q[f] <= high);
        }
        points += entity->body_count;
        cr_assert_leq(entity->body_first + entity->body_count, first.frame.point_count);
    }
    cr_assert_eq(points, first.frame.point_count);
}

/* Streams name widths; for a narrow value two names may stand for one width. */
static bool has_widths(const struct proto_sample *kind)
{
    return strncmp(kind->name, "arena", 5) == 0 || strncmp(kind->name, "serpent", 7) == 0;
}

/* Decodes bytes that end exactly at the block's end, so that a sanitizer sees a read beyond. What
 * comes out is not `other` (may be NULL). */
static bool try_bytes(const struct proto_sample *kind, const uint8_t *bytes, size_t size,
                      const struct proto_decoded *other)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    memcpy(exact, bytes, size);
    bool good = kind->decode(exact, size, &first) == ARB_DECODE_OK;
    if (good) {
        static uint8_t again[PROTO_SAMPLE_BYTES_MAX];
        size_t length = kind->encode(&first, again, sizeof again);
        cr_assert_gt(length, 0);
        cr_assert_eq(kind->decode(again, length, &second), ARB_DECODE_OK);
        cr_assert(kind->equal(&first, &second), "%s", kind->name);
        cr_assert(other == NULL || has_widths(kind) || !kind->equal(&first, other),
                  "%s: a bit without meaning", kind->name);
        if (strncmp(kind->name, "arena", 5) == 0) check_schema_ranges(&arb_schema_arena);
        if (strncmp(kind->name, "serpent", 7) == 0) check_schema_ranges(&arb_schema_serpent);
    }
    free(exact);
    return good;
}

static size_t random_bytes(struct arb_rng *rng, uint8_t *bytes, const uint8_t *good)
{
    size_t size = arb_rng_below(rng, RANDOM_BYTES_MAX + 1);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)arb_rng_next(rng);
    }
    if (size > 0 && arb_rng_below(rng, 16) != 0) {
        bytes[0] = good[0]; /* the type, else hardly one would come further */
    }
    return size;
}

static size_t changed_bytes(struct arb_rng *rng, uint8_t *bytes, const uint8_t *good, size_t size)
{
    memcpy(bytes, good, size);
    uint32_t flips = arb_rng_below(rng, 6);
    for (uint32_t i = 0; i < flips; i++) {
        uint32_t bit = arb_rng_below(rng, (uint32_t)size * 8);
        bytes[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    return arb_rng_below(rng, 4) == 0 ? arb_rng_below(rng, (uint32_t)size + 1) : size;
}

static uint64_t seed(void)
{
    const char *text = getenv("ARBITER_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 20260101;
}

Test(proto_property, no_bytes_break_a_decoder, .timeout = 1200)
{
    cr_log_info("ARBITER_SEED=%llu", (unsigned long long)seed());
    for (size_t i = 0; i < proto_sample_count; i++) {
        const struct proto_sample *kind = &proto_samples[i];
        struct arb_rng rng;
        arb_rng_seed(&rng, seed(), i);
        memset(&sample, 0, sizeof sample);
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        kind->fill(&sample);
        uint8_t good[PROTO_SAMPLE_BYTES_MAX];
        uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
        size_t size = kind->encode(&sample, good, sizeof good);
        uint32_t accepted = 0;
        for (int run = 0; run < RUNS_PER_DECODER; run++) {
            size_t length = run % 2 == 0 ? random_bytes(&rng, bytes, good)
                                         : changed_bytes(&rng, bytes, good, size);
            accepted += try_bytes(kind, bytes, length, NULL);
        }
        cr_assert_gt(accepted, 0, "%s: the unchanged ones at least", kind->name);
    }
}

Test(proto_property, each_single_flipped_bit_is_refused_or_another_good_message)
{
    for (size_t i = 0; i < proto_sample_count; i++) {
        const struct proto_sample *kind = &proto_samples[i];
        memset(&sample, 0, sizeof sample);
        memset(&first, 0, sizeof first);
        memset(&second, 0, sizeof second);
        kind->fill(&sample);
        uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
        size_t size = kind->encode(&sample, bytes, sizeof bytes);
        for (size_t bit = 0; bit < size * 8; bit++) {
            bytes[bit / 8] ^= (uint8_t)(1U << (bit % 8));
            try_bytes(kind, bytes, size, &sample);
            bytes[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        }
    }
}
