/* libFuzzer on saved blocks: what somebody made up, with a hash that fits, is refused and has
 * changed nothing, or is a match that goes on, is saved again and restored again.
 *
 * Bit 0 of the first byte: the mode. Bit 1: what follows stands in place of the published frames;
 * else it is a list of changes of a good block, each its place (3 bytes), how many bytes (1), and
 * those.
 */
#include "server/match/match_save.h"
#include "shared/base/arb_assert.h"
#include "shared/base/arb_hash.h"
#include "tests/scenes/scenes.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 64, HASH = 56, BYTES_AT = 8, FRAME_BYTES_AT = 44, WARM_TICKS = 150, PLAYED = 5 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

struct subject {
    struct scene_run run;
    struct arb_rng rng; /* of the inputs, when the good block was saved */
    uint8_t *good, *made, *now;
    uint32_t good_bytes, capacity, frames_at;
};

static uint32_t get_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static void open_subject(struct subject *subject, const char *scene)
{
    scene_open(&subject->run, scene_find(scene), 1);
    for (uint32_t i = 0; i < WARM_TICKS; i++) {
        scene_step(&subject->run);
    }
    subject->capacity = match_save_bytes(subject->run.match, MATCH_SAVE_WHOLE);
    subject->good = malloc(subject->capacity);
    subject->made = malloc(subject->capacity);
    subject->now = malloc(subject->capacity);
    subject->good_bytes =
        match_save(subject->run.match, MATCH_SAVE_WHOLE, subject->good, subject->capacity);
    subject->frames_at = subject->good_bytes - get_u32(subject->good + FRAME_BYTES_AT);
    subject->rng = subject->run.rng;
}

static void seal(uint8_t *block, uint32_t bytes)
{
    uint64_t hash = arb_hash(block + HEAD, bytes - HEAD, arb_hash(block, HASH, 0));
    put_u32(block + HASH, (uint32_t)hash);
    put_u32(block + HASH + 4, (uint32_t)(hash >> 32));
}

static uint32_t make_frames(struct subject *subject, const uint8_t *bytes, size_t size)
{
    size_t room = subject->capacity - subject->frames_at;
    uint32_t count = (uint32_t)(size < room ? size : room);
    memcpy(subject->made, subject->good, subject->frames_at);
    memcpy(subject->made + subject->frames_at, bytes, count);
    put_u32(subject->made + BYTES_AT, subject->frames_at + count);
    put_u32(subject->made + FRAME_BYTES_AT, count);
    return subject->frames_at + count;
}

static uint32_t make_changes(struct subject *subject, const uint8_t *bytes, size_t size)
{
    memcpy(subject->made, subject->good, subject->good_bytes);
    while (size >= 4) {
        uint32_t at = (get_u32(bytes) & 0xFFFFFF) % subject->good_bytes;
        size_t count = bytes[3] < size - 4 ? bytes[3] : size - 4;
        size_t room = subject->good_bytes - at;
        memcpy(subject->made + at, bytes + 4, count < room ? count : room);
        bytes += 4 + count;
        size -= 4 + count;
    }
    return subject->good_bytes;
}

static uint32_t save(struct subject *subject)
{
    return match_save(subject->run.match, MATCH_SAVE_WHOLE, subject->now, subject->capacity);
}

static void expect(struct subject *subject, const uint8_t *block, uint32_t bytes)
{
    struct match_save_error error;
    enum arb_result result = match_restore(subject->run.match, block, bytes, &error);
    ARB_ASSERT(result == ARB_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct subject subjects[2];
    struct match_save_error error;
    if (subjects[0].good == NULL) {
        open_subject(&subjects[0], "fight16");
        open_subject(&subjects[1], "serpent16");
    }
    if (size == 0) return 0;
    struct subject *subject = &subjects[bytes[0] & 1];
    uint32_t made = (bytes[0] & 2) != 0 ? make_frames(subject, bytes + 1, size - 1)
                                        : make_changes(subject, bytes + 1, size - 1);
    seal(subject->made, made);
    subject->run.rng = subject->rng;
    if (match_restore(subject->run.match, subject->made, made, &error) != ARB_OK) {
        ARB_ASSERT(save(subject) == subject->good_bytes);
        ARB_ASSERT(memcmp(subject->now, subject->good, subject->good_bytes) == 0);
        return 0;
    }
    for (uint32_t i = 0; i < PLAYED; i++) {
        scene_step(&subject->run);
    }
    uint32_t played = save(subject);
    memcpy(subject->made, subject->now, played);
    expect(subject, subject->made, played);
    ARB_ASSERT(save(subject) == played && memcmp(subject->now, subject->made, played) == 0);
    expect(subject, subject->good, subject->good_bytes);
    return 0;
}
