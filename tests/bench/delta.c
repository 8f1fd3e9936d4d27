/* What snapshots cost as differences, and what each trick gains: the scenes of tests/scenes are
 * played, and each entity's state is told against the one that the client had `lag` ticks before.
 * Prints means in bits. usage: bench_delta [scene [lag [ticks [seed]]]]
 */
#include "server/match/match_internal.h"
#include "server/rewind/rewind.h"
#include "shared/proto/arb_proto_internal.h"
#include "tests/scenes/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_TICKS = 120, RECORD_BYTES = 8192, STREAM_BYTES = 65536, LAG_MAX = 32, VISIBLE = 21 };

/* Sums of bits. */
struct sums {
    uint64_t moving, still; /* entities that changed, and that did not */
    uint64_t speed, place, turn, body, update;
    uint64_t full;    /* as an entity that enters, key included */
    uint64_t changed; /* fields that changed, each in its full width, and the body whole */
    uint64_t place_was, place_old;   /* expected where it was; where the old velocity leads */
    uint64_t own, own_full, streams; /* of the player in slot 0 */
    uint64_t stream, stream_entities;
};

static struct sums sums;
static struct scene_run run;
static struct arb_own owns[LAG_MAX + 1];

static uint32_t count_step(const struct arb_step *code, unsigned bits, int64_t step)
{
    uint8_t bytes[16];
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_step_write(&writer, code, bits, arb_fold(arb_wrap(step, bits)));
    return (uint32_t)writer.bit;
}

static uint32_t count_steps(const struct arb_step *code, unsigned bits, int64_t a, int64_t b)
{
    uint8_t bytes[16];
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_steps_write(&writer, code, bits, arb_fold(arb_wrap(a, bits)), arb_fold(arb_wrap(b, bits)));
    return (uint32_t)writer.bit;
}

static void count_motion(const struct arb_delta_rule *rule, const struct arb_kind *kind,
                         const int32_t *from, const int32_t *to, uint32_t ticks)
{
    unsigned bits = kind->fields[kind->x].bits;
    int64_t x = to[kind->x], y = to[kind->y];
    sums.place_was += count_steps(&arb_step_moved, bits, x - from[kind->x], y - from[kind->y]);
    if (kind->heading >= 0) {
        sums.turn += count_step(&arb_step_turn, kind->fields[kind->heading].bits,
                                to[kind->heading] - from[kind->heading]);
    }
    if (kind->vx < 0) return;
    sums.speed += count_steps(&arb_step_speed, kind->fields[kind->vx].bits,
                              to[kind->vx] - from[kind->vx], to[kind->vy] - from[kind->vy]);
    sums.place_old +=
        count_steps(&arb_step_place, bits,
                    x - arb_delta_expected(rule, kind, from, from[kind->vx], false, ticks),
                    y - arb_delta_expected(rule, kind, from, from[kind->vy], true, ticks));
    sums.place += count_steps(&arb_step_place, bits,
                              x - arb_delta_expected(rule, kind, from, to[kind->vx], false, ticks),
                              y - arb_delta_expected(rule, kind, from, to[kind->vy], true, ticks));
}

static void count_changed(const struct arb_kind *kind, const int32_t *from, const int32_t *to,
                          size_t body_bits)
{
    for (int i = 0; i < kind->field_count; i++) {
        sums.changed += 1U + (from[i] != to[i] ? kind->fields[i].bits : 0U);
    }
    sums.changed += body_bits;
}

static size_t full_bits(const struct arb_schema *schema, const struct arb_delta_state *state,
                        bool with_body)
{
    static uint8_t bytes[RECORD_BYTES];
    struct arb_bit_writer writer;
    struct arb_frame frame = {.points = (struct arb_point *)state->points,
                              .point_count = state->entity->body_first + state->entity->body_count};
    struct arb_published entity = *state->entity;
    if (!with_body) entity.body_count = 0;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_entity_encode(schema, &frame, &entity, &writer);
    return writer.bit;
}

/* What of a record's bits the body takes: all but those of the record without one. */
static size_t body_bits(const struct arb_delta_rule *rule, const struct arb_delta_state *from,
                        const struct arb_delta_state *to, size_t bits)
{
    uint8_t bytes[256];
    struct arb_published bare_from = *from->entity, bare_to = *to->entity;
    bare_from.body_count = bare_to.body_count = 0;
    struct arb_delta_state a = {&bare_from, from->points, from->tick};
    struct arb_delta_state b = {&bare_to, to->points, to->tick};
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    bool moved = arb_delta_record(rule, &a, &b, &writer);
    return moved ? bits - writer.bit + 1 : bits; /* the bit that says that there is none is its */
}

/* Returns the bits of the record in `bytes`, 0: unchanged. */
static size_t count_entity(const struct arb_delta_rule *rule, const struct arb_delta_state *from,
                           const struct arb_delta_state *to, uint8_t *bytes)
{
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, RECORD_BYTES);
    const struct arb_kind *kind = &rule->schema->kinds[to->entity->kind];
    if (!arb_delta_record(rule, from, to, &writer)) {
        sums.still++;
        return 0;
    }
    if (kind->owner < 0) return writer.bit;
    size_t full = full_bits(rule->schema, to, true);
    sums.moving++;
    sums.body += kind->has_body ? body_bits(rule, from, to, writer.bit) : 0;
    sums.update += writer.bit;
    sums.full += full + 8; /* an id one or two further, a small generation */
    count_motion(rule, kind, from->entity->q, to->entity->q, (uint32_t)(to->tick - from->tick));
    count_changed(kind, from->entity->q, to->entity->q, full - full_bits(rule->schema, to, false));
    return writer.bit;
}

static void count_own(const struct arb_delta_rule *rule, uint32_t lag)
{
    uint8_t bytes[256];
    struct arb_own_part now = {0, 0, &owns[run.ticks % (LAG_MAX + 1)]};
    struct arb_own_part before = {0, 0, &owns[(run.ticks - lag) % (LAG_MAX + 1)]};
    struct arb_bit_writer writer;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_delta_own_write(&writer, rule, &now, &before, lag);
    sums.own += writer.bit;
    arb_bits_write_begin(&writer, bytes, sizeof bytes);
    arb_delta_own_write(&writer, rule, &now, NULL, 0);
    sums.own_full += writer.bit;
}

/* The first VISIBLE entities, as if they were all in view. */
static void count_frame(const struct arb_delta_rule *rule, uint32_t lag)
{
    static uint8_t stream[STREAM_BYTES], record[RECORD_BYTES];
    const struct arb_frame *now = rewind_newest(run.match->rewind);
    const struct arb_frame *before = rewind_frame(run.match->rewind, now->tick - lag);
    struct arb_own_part own = {0, 0, &owns[run.ticks % (LAG_MAX + 1)]};
    struct arb_own_part own_before = {0, 0, &owns[(run.ticks - lag) % (LAG_MAX + 1)]};
    struct arb_delta_head head = {{1, 1}, &own}, head_before = {{1, 1}, &own_before};
    struct arb_delta_writer writer;
    uint32_t count = before->entity_count < VISIBLE ? before->entity_count : VISIBLE;
    if (!arb_delta_begin(&writer, rule, &head, &head_before, lag, count, stream, sizeof stream)) {
        return;
    }
    for (uint32_t i = 0; i < before->entity_count; i++) {
        const struct arb_published *entity = &before->entities[i];
        const struct arb_published *later = arb_frame_find(now, entity->key);
        struct arb_delta_state from = {entity, before->points, before->tick};
        struct arb_delta_state to = {later, now->points, now->tick};
        size_t bits = later != NULL ? count_entity(rule, &from, &to, record) : 0;
        if (i >= count) continue;
        if (later == NULL) {
            arb_delta_gone(&writer, entity->kind);
        } else if (bits == 0 || !arb_delta_update(&writer, entity->kind, record, 0, bits)) {
            arb_delta_unchanged(&writer, entity->kind);
        }
    }
    sums.stream += arb_delta_end(&writer) * 8;
    sums.stream_entities += count;
    sums.streams++;
    count_own(rule, lag);
}

static void print(const char *what, uint64_t bits, uint64_t count)
{
    if (bits > 0) printf("  %-58s %7.2f\n", what, (double)bits / (double)(count > 0 ? count : 1));
}

static void report(const struct scene *scene, uint32_t lag)
{
    uint64_t n = sums.moving;
    printf("%s, %u ticks back: %llu changed, %llu unchanged\n", scene->name, lag,
           (unsigned long long)n, (unsigned long long)sums.still);
    print("as if it entered: key and all fields, the body whole", sums.full, n);
    print("changed fields in full width, the body whole", sums.changed, n);
    print("an update", sums.update, n);
    print("  of it speed", sums.speed, n);
    print("  of it place", sums.place, n);
    print("  of it heading", sums.turn, n);
    print("  of it body", sums.body, n);
    print("  place, expected where the old velocity leads", sums.place_old, n);
    print("  place, expected where it was", sums.place_was, n);
    print("own part", sums.own, sums.streams);
    print("own part without a baseline", sums.own_full, sums.streams);
    print("stream: own part and 21 entities, bytes", sums.stream / 8, sums.streams);
}

static void measure(const struct scene *scene, uint32_t lag, uint32_t ticks, uint64_t seed)
{
    memset(&sums, 0, sizeof sums);
    scene_open(&run, scene, seed);
    const struct arb_schema *schema = run.match->rules->schema;
    struct arb_delta_rule rule = {schema, arb_own_fields((enum arb_mover)schema->mover),
                                  (uint32_t)run.config.match.tick_rate};
    for (uint32_t i = 0; i < WARM_TICKS + ticks; i++) {
        scene_step(&run);
        owns[run.ticks % (LAG_MAX + 1)] = run.match->world.players[0].own;
        if (i >= WARM_TICKS && i % 2 == 0) count_frame(&rule, lag);
    }
    report(scene, lag);
    scene_close(&run);
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"arena64", "fight16", "serpent64"};
    uint32_t lag = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 6;
    uint32_t ticks = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 1200;
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    if (lag < 1 || lag > LAG_MAX || (argc > 1 && scene_find(argv[1]) == NULL)) {
        fprintf(stderr, "usage: bench_delta [scene [lag 1..%d [ticks [seed]]]]\n", LAG_MAX);
        return 2;
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (argc > 1 && i > 0) break;
        measure(scene_find(argc > 1 ? argv[1] : usual[i]), lag, ticks, seed);
    }
    return 0;
}
