/* The same views in other encodings: a difference to what the client acknowledged (ours), the same
 * codec without a baseline, and plain structs, copied and compressed by zstd.
 * A view is an own player and the first so many characters of a scene of tests/scenes. Prints mean
 * bytes per snapshot, and CPU time of the least disturbed snapshot for the plain ones.
 * usage: bench_plain [scene [visible [lag [snapshots]]]]
 */
#define _GNU_SOURCE
#include "server/match/match_internal.h"
#include "server/rewind/rewind.h"
#include "shared/view/arb_drawn.h"
#include "shared/proto/arb_delta.h"
#include "shared/proto/arb_proto_internal.h"
#include "tests/bench/bench.h"
#include "tests/scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { WARM_TICKS = 120, STREAM_BYTES = 65536, RECORD_BYTES = 8192, VISIBLE_MAX = 1000 };

/* What a game would copy without a codec: all that others need to draw a character, and to tell it
 * apart. */
struct plain {
    uint32_t key;
    float x, y, vx, vy, heading;
    uint16_t owner, health;
    uint8_t kind, team, weapon, jump;
};

struct plain_head {
    uint32_t snapshot, tick, sequence;
    struct arb_own own;
    uint32_t count;
};

static struct encoding {
    uint64_t bytes, least_ns;
} delta, full, plain, packed1, packed3;

static struct scene_run run;
static struct arb_own owns[64];
static uint8_t copied[sizeof(struct plain_head) + VISIBLE_MAX * sizeof(struct plain)];

static void add(struct encoding *encoding, size_t bytes, uint64_t ns)
{
    encoding->bytes += bytes;
    if (encoding->least_ns == 0 || ns < encoding->least_ns) encoding->least_ns = ns;
}

static float value(const struct arb_kind *kind, const struct arb_published *state, int8_t field)
{
    return field < 0 ? 0.0F : arb_published_value(kind, state, field);
}

static size_t copy_plain(const struct arb_schema *schema, const struct arb_frame *frame,
                         uint32_t count)
{
    struct plain_head head = {.snapshot = (uint32_t)run.ticks,
                              .tick = (uint32_t)frame->tick,
                              .sequence = (uint32_t)run.ticks,
                              .own = owns[run.ticks % 64],
                              .count = count};
    memcpy(copied, &head, sizeof head);
    for (uint32_t i = 0; i < count; i++) {
        const struct arb_published *state = &frame->entities[i];
        const struct arb_kind *kind = &schema->kinds[state->kind];
        struct plain one = {.key = arb_key_order(state->key), .kind = state->kind};
        one.x = value(kind, state, kind->x);
        one.y = value(kind, state, kind->y);
        one.vx = value(kind, state, kind->vx);
        one.vy = value(kind, state, kind->vy);
        one.heading = value(kind, state, kind->heading);
        one.owner = (uint16_t)(kind->owner < 0 ? 0 : state->q[kind->owner]);
        one.jump = (uint8_t)(kind->jump < 0 ? 0 : state->q[kind->jump]);
        one.health = 100;
        memcpy(copied + sizeof head + i * sizeof one, &one, sizeof one);
    }
    return sizeof head + count * sizeof(struct plain);
}

static void pack(ZSTD_CCtx *zstd, struct encoding *encoding, size_t size, int level)
{
    static uint8_t out[STREAM_BYTES * 2];
    uint64_t before = bench_cpu_ns();
    size_t bytes = ZSTD_compressCCtx(zstd, out, sizeof out, copied, size, level);
    uint64_t passed = bench_cpu_ns() - before;
    if (!ZSTD_isError(bytes)) add(encoding, bytes, passed);
}

static void encode_full(const struct arb_delta_rule *rule, const struct arb_frame *frame,
                        uint32_t count)
{
    static uint8_t stream[STREAM_BYTES], record[RECORD_BYTES];
    struct arb_own_part own = {0, 0, &owns[run.ticks % 64]};
    struct arb_delta_head head = {{1, 1}, &own};
    struct arb_delta_writer writer;
    if (!arb_delta_begin(&writer, rule, &head, NULL, 0, 0, stream, sizeof stream)) return;
    for (uint32_t i = 0; i < count; i++) {
        struct arb_bit_writer bits;
        arb_bits_write_begin(&bits, record, sizeof record);
        arb_entity_encode(rule->schema, frame, &frame->entities[i], &bits);
        arb_delta_enter(&writer, frame->entities[i].key, record, 0, bits.bit);
    }
    add(&full, arb_delta_end(&writer), 0);
}

static void encode_delta(const struct arb_delta_rule *rule, const struct arb_frame *now,
                         uint32_t count, uint32_t lag)
{
    static uint8_t stream[STREAM_BYTES], record[RECORD_BYTES];
    const struct arb_frame *before = rewind_frame(run.match->rewind, now->tick - lag);
    struct arb_own_part own = {0, 0, &owns[run.ticks % 64]};
    struct arb_own_part own_before = {0, 0, &owns[(run.ticks - lag) % 64]};
    struct arb_delta_head head = {{1, 1}, &own}, head_before = {{1, 1}, &own_before};
    struct arb_delta_writer writer;
    if (!arb_delta_begin(&writer, rule, &head, &head_before, lag, count, stream, sizeof stream)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct arb_delta_state from = {&before->entities[i], before->points, before->tick};
        struct arb_delta_state to = {&now->entities[i], now->points, now->tick};
        struct arb_bit_writer bits;
        arb_bits_write_begin(&bits, record, sizeof record);
        if (arb_delta_record(rule, &from, &to, &bits)) {
            arb_delta_update(&writer, now->entities[i].kind, record, 0, bits.bit);
        } else {
            arb_delta_unchanged(&writer, now->entities[i].kind);
        }
    }
    add(&delta, arb_delta_end(&writer), 0);
}

static void report(const char *name, const struct encoding *encoding, uint32_t snapshots,
                   uint32_t visible)
{
    if (encoding->bytes == 0) return;
    double bytes = (double)encoding->bytes / (double)snapshots;
    printf("  %-28s %8.1f bytes %7.2f per entity", name, bytes, bytes / (double)visible);
    if (encoding->least_ns > 0) printf(" %8.2f us", (double)encoding->least_ns / 1e3);
    printf("\n");
}

int main(int argc, char **argv)
{
    const struct scene *scene = scene_find(argc > 1 ? argv[1] : "arena64");
    uint32_t visible = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20;
    uint32_t lag = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 6;
    uint32_t snapshots = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 300;
    if (scene == NULL || visible < 1 || visible > VISIBLE_MAX || visible > scene->players ||
        lag < 1 || lag > 60 || snapshots < 1) {
        fprintf(stderr, "usage: bench_plain [scene [visible [lag [snapshots]]]]\n");
        return 2;
    }
    scene_open(&run, scene, 1);
    const struct arb_schema *schema = run.match->rules->schema;
    struct arb_delta_rule rule = {schema, arb_own_fields((enum arb_mover)schema->mover),
                                  (uint32_t)run.config.match.tick_rate};
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    for (uint32_t i = 0; i < WARM_TICKS + 2 * snapshots; i++) {
        scene_step(&run);
        owns[run.ticks % 64] = run.match->world.players[0].own;
        if (i < WARM_TICKS || i % 2 != 0) continue;
        const struct arb_frame *frame = rewind_newest(run.match->rewind);
        uint64_t before = bench_cpu_ns();
        size_t size = copy_plain(schema, frame, visible);
        add(&plain, size, bench_cpu_ns() - before);
        encode_full(&rule, frame, visible);
        encode_delta(&rule, frame, visible, lag);
        pack(zstd, &packed1, size, 1);
        pack(zstd, &packed3, size, 3);
    }
    printf("%s, %u visible, acknowledged %u ticks before\n", scene->name, visible, lag);
    report("difference (ours)", &delta, snapshots, visible);
    report("all fields, no baseline", &full, snapshots, visible);
    report("plain structs", &plain, snapshots, visible);
    report("plain structs, zstd -1", &packed1, snapshots, visible);
    report("plain structs, zstd -3", &packed3, snapshots, visible);
    ZSTD_freeCCtx(zstd);
    scene_close(&run);
    return 0;
}
