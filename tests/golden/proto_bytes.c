/* The bytes of one message of every kind (tests/support/proto_samples.c). They change only with the
 * protocol's version or schema hash. Renew: ARBITER_RENEW=1 ctest --test-dir build/debug -R
 * golden/proto_bytes
 */
#include "tests/support/proto_samples.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN ARBITER_SOURCE_DIR "/tests/golden/proto_bytes.txt"

enum { LINE_BYTES_MAX = 2 * PROTO_SAMPLE_BYTES_MAX + 64 };

static struct proto_decoded sample;
static char line[LINE_BYTES_MAX];
static char expected[LINE_BYTES_MAX];

static void write_line(const struct proto_sample *kind)
{
    uint8_t bytes[PROTO_SAMPLE_BYTES_MAX];
    memset(&sample, 0, sizeof sample);
    kind->fill(&sample);
    size_t size = kind->encode(&sample, bytes, sizeof bytes);
    int at = snprintf(line, sizeof line, "%s ", kind->name);
    for (size_t i = 0; i < size; i++) {
        at += snprintf(line + at, sizeof line - (size_t)at, "%02x", bytes[i]);
    }
    snprintf(line + at, sizeof line - (size_t)at, "\n");
}

Test(proto_golden, every_message_has_the_bytes_it_always_had)
{
    bool renew = getenv("ARBITER_RENEW") != NULL;
    FILE *file = fopen(GOLDEN, renew ? "wb" : "rb");
    cr_assert_not_null(file, "%s", GOLDEN);
    for (size_t i = 0; i < proto_sample_count; i++) {
        write_line(&proto_samples[i]);
        if (renew) {
            fputs(line, file);
        } else {
            cr_assert_not_null(fgets(expected, sizeof expected, file));
            cr_assert_str_eq(line, expected);
        }
    }
    cr_assert(renew || fgets(expected, sizeof expected, file) == NULL, "more lines than samples");
    fclose(file);
}
