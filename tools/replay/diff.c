/* arbiter-replay diff and clip: two journals side by side, and a part of one as its own. */
#define _GNU_SOURCE
#include "tools/replay/replay.h"

#include "shared/base/arb_mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- diff ---- */

static void compare_text(const char *what, const char *a, const char *b, FILE *out)
{
    if (strcmp(a, b) == 0) return;
    fprintf(out, "%s: ", what);
    replay_print_string(a, out);
    fprintf(out, ", ");
    replay_print_string(b, out);
    fputc('\n', out);
}

/* False: they are of such different matches that no tick can be compared. */
static bool compare_heads(const struct journal_head *a, const struct journal_head *b, FILE *out)
{
    compare_text("build", a->build, b->build, out);
    compare_text("mode", a->mode, b->mode, out);
    compare_text("map", a->map, b->map, out);
    if (a->seed != b->seed) fprintf(out, "seed: %" PRIu64 ", %" PRIu64 "\n", a->seed, b->seed);
    if (a->map_hash != b->map_hash) fprintf(out, "the maps differ\n");
    bool same_config = a->config_bytes == b->config_bytes &&
                       memcmp(a->config_text, b->config_text, a->config_bytes) == 0;
    if (!same_config) fprintf(out, "the configurations differ\n");
    return strcmp(a->mode, b->mode) == 0 && a->first_tick == b->first_tick;
}

/* The next tick of a journal; keyframes and the result are passed. */
static void next_tick(struct replay *replay, struct match_replay_step *step)
{
    do {
        match_replay_next(replay->steps, step);
    } while (step->status != MATCH_REPLAY_STOPPED && step->status != MATCH_REPLAY_REFUSED &&
             step->record == NULL);
}

static const struct match_record_input *input_of(const struct match_replay_step *step, uint32_t i)
{
    return i < step->record->input_count ? &step->record->inputs[i] : NULL;
}

static bool same_input(const struct match_record_input *a, const struct match_record_input *b)
{
    return a->slot == b->slot && a->control == b->control &&
           memcmp(&a->input, &b->input, sizeof a->input) == 0;
}

/* What two ticks took in; true: the same. */
static bool compare_records(const struct match_replay_step *a, const struct match_replay_step *b,
                            FILE *out)
{
    const struct match_record *left = a->record, *right = b->record;
    if (left->command_count != right->command_count) {
        fprintf(out, "tick %" PRIu64 ": commands: %u, %u\n", a->tick, left->command_count,
                right->command_count);
        return false;
    }
    for (uint32_t i = 0; i < left->input_count || i < right->input_count; i++) {
        const struct match_record_input *one = input_of(a, i), *other = input_of(b, i);
        if (one != NULL && other != NULL && same_input(one, other)) continue;
        fprintf(out, "tick %" PRIu64 ": inputs: ", a->tick);
        fprintf(out, one != NULL ? "slot %u sequence %u" : "none", one != NULL ? one->slot : 0U,
                one != NULL ? one->input.sequence : 0U);
        fprintf(out, other != NULL ? ", slot %u sequence %u\n" : ", none\n",
                other != NULL ? other->slot : 0U, other != NULL ? other->input.sequence : 0U);
        return false;
    }
    if (left->late_count != right->late_count || left->view_count != right->view_count) {
        fprintf(out, "tick %" PRIu64 ": late presses: %u, %u; shots: %u, %u\n", a->tick,
                left->late_count, right->late_count, left->view_count, right->view_count);
        return false;
    }
    return true;
}

static bool have_ticks(const struct match_replay_step *a, const struct match_replay_step *b)
{
    return a->record != NULL && b->record != NULL && a->tick == b->tick;
}

/* Why the comparison ends here, where it is this journal's doing. */
static void print_end(const struct replay *replay, const struct match_replay_step *step,
                      bool other_goes_on, FILE *out)
{
    if (step->record != NULL) return;
    if (!replay_is_whole(step)) {
        replay_print_end(replay, step, out);
    } else if (other_goes_on) {
        fprintf(out, "%s ends there, the other goes on\n", replay->path);
    }
}

static enum arb_result compare_ticks(struct replay *a, struct replay *b, FILE *out)
{
    struct match_replay_step left, right;
    arb_tick reached = a->head->first_tick;
    bool told = false;
    while (true) {
        next_tick(a, &left);
        next_tick(b, &right);
        if (!have_ticks(&left, &right)) break;
        if (!told) told = !compare_records(&left, &right, out);
        if (match_checksum(a->match) != match_checksum(b->match)) {
            fprintf(out, "the states differ after tick %" PRIu64 ":\n", left.tick);
            replay_print_differences(a->match, b->match, "first", "second", out);
            return ARB_NO_RESULT;
        }
        if (left.recorded != right.recorded) {
            fprintf(out,
                    "recorded checksums differ after tick %" PRIu64 ": %0*" PRIx64 ", %0*" PRIx64
                    "; what both took in gives the same state here\n",
                    left.tick, (int)left.checksum_bits / 4, left.recorded,
                    (int)right.checksum_bits / 4, right.recorded);
            return ARB_NO_RESULT;
        }
        reached = left.tick + 1;
    }
    fprintf(out, "%s up to tick %" PRIu64 "\n", told ? "the same states" : "the same", reached);
    print_end(a, &left, right.record != NULL, out);
    print_end(b, &right, left.record != NULL, out);
    return told || left.record != right.record ? ARB_NO_RESULT : ARB_OK;
}

enum arb_result replay_diff(const char *first, const char *second, FILE *out)
{
    static struct replay a, b;
    enum arb_result result = replay_open(&a, first);
    if (result != ARB_OK) return result;
    result = replay_open(&b, second);
    if (result == ARB_OK) {
        bool comparable = compare_heads(a.head, b.head, out);
        result = comparable ? compare_ticks(&a, &b, out) : ARB_NO_RESULT;
        if (!comparable) fprintf(out, "they are of different matches\n");
        replay_close(&b);
    }
    replay_close(&a);
    return result;
}

/* ---- clip ---- */

enum { CLIP_BLOCK_BYTES = JOURNAL_PLAIN_BYTES_MAX, CLIP_RECORDS = 30 };

struct clip {
    int fd;
    const char *path;
    uint64_t key;
    struct journal_packer *packer;
    uint8_t *plain;
    size_t plain_bytes;
    uint32_t records;
    arb_tick tick; /* of the block's first record */
    bool bad;
};

static void write_out(struct clip *clip, const uint8_t *bytes, size_t size)
{
    while (size > 0 && !clip->bad) {
        ssize_t got = write(clip->fd, bytes, size);
        if (got < 0 && errno == EINTR) continue;
        clip->bad = got <= 0;
        if (clip->bad) break;
        bytes += got;
        size -= (size_t)got;
    }
}

static void end_block(struct clip *clip)
{
    if (clip->plain_bytes == 0) return;
    size_t size;
    const uint8_t *block =
        journal_pack(clip->packer, clip->key, clip->tick, clip->plain, clip->plain_bytes, &size);
    write_out(clip, block, size);
    clip->plain_bytes = 0;
    clip->records = 0;
}

static void put(struct clip *clip, const struct journal_record *record)
{
    if (record->kind == JOURNAL_KEYFRAME || clip->records == CLIP_RECORDS) end_block(clip);
    if (clip->plain_bytes == 0) clip->tick = record->tick;
    size_t used =
        journal_put(record, clip->plain + clip->plain_bytes, CLIP_BLOCK_BYTES - clip->plain_bytes);
    if (used == 0) clip->bad = true;
    clip->plain_bytes += used;
    clip->records++;
}

static bool open_clip(struct clip *clip, const struct journal_head *head)
{
    clip->fd = open(clip->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    clip->packer = journal_packer_create(CLIP_BLOCK_BYTES);
    clip->plain = arb_mem_malloc(CLIP_BLOCK_BYTES);
    size_t size;
    uint8_t *bytes = journal_write_head(head, &size);
    bool good = clip->fd >= 0 && clip->packer != NULL && clip->plain != NULL && bytes != NULL;
    if (good) {
        clip->key = journal_file_key(bytes, size);
        write_out(clip, bytes, size);
    }
    arb_mem_free(bytes);
    return good;
}

static void close_clip(struct clip *clip)
{
    if (clip->fd >= 0 && close(clip->fd) != 0) clip->bad = true;
    journal_packer_destroy(clip->packer);
    arb_mem_free(clip->plain);
}

/* From the keyframe before `from`, which bridges what is left out, through the step of `to`. */
static arb_tick copy(struct replay *replay, arb_tick from, arb_tick to, struct clip *clip)
{
    struct journal_record record;
    arb_tick reached = replay->head->first_tick;
    bool first = true;
    journal_seek(replay->reader, from); /* no keyframe so early: from the beginning */
    while (journal_next(replay->reader, &record) == JOURNAL_READ_OK && record.tick <= to) {
        if (first && record.kind == JOURNAL_KEYFRAME && record.tick > replay->head->first_tick) {
            struct journal_record gap = {
                .kind = JOURNAL_GAP, .tick = replay->head->first_tick, .resume = record.tick};
            put(clip, &gap);
        }
        if (record.kind == JOURNAL_GAP && record.resume > to) break;
        put(clip, &record);
        reached = record.kind == JOURNAL_TICK ? record.tick + 1 : reached;
        first = false;
    }
    end_block(clip);
    return reached;
}

enum arb_result replay_clip(const char *path, arb_tick from, arb_tick to, const char *name,
                            FILE *out)
{
    struct replay replay;
    enum arb_result result = replay_open(&replay, path);
    if (result != ARB_OK) return result;
    struct clip clip = {.path = name};
    if (!open_clip(&clip, replay.head)) {
        fprintf(stderr, "arbiter-replay: %s: %s\n", name, strerror(errno));
        result = ARB_FILES;
    } else {
        arb_tick reached = copy(&replay, from, to, &clip);
        if (reached > from) {
            fprintf(out, "%s: up to tick %" PRIu64 "\n", name, reached);
        } else {
            fprintf(stderr,
                    "arbiter-replay: %s: nothing of ticks %" PRIu64 " to %" PRIu64 " is in it\n",
                    path, from, to);
            unlink(name);
            result = ARB_DATA;
        }
    }
    close_clip(&clip);
    if (result == ARB_OK && clip.bad) {
        fprintf(stderr, "arbiter-replay: %s: cannot be written\n", name);
        result = ARB_FILES;
    }
    replay_close(&replay);
    return result;
}
