/* What replication costs: characters that wander over a square, each of them a client that
 * acknowledges with some delay; spread out, and all in one cell. Prints a line per scene: CPU time
 * of the snapshot that was disturbed least, means of the bytes. Under callgrind, two runs of
 * different lengths give the instructions per client and snapshot (tests/bench/README.md).
 *
 * usage: bench_replicate [scene|all [snapshots [seed]]]
 */
#define _GNU_SOURCE
#include "server/replicate/replicate.h"
#include "server/rewind/rewind.h"

#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLAYERS_MAX = 1000,
    INTERVAL = 2,
    TICK_RATE = 60,
    ACK_SNAPSHOTS = 2, /* acknowledged so many snapshots later */
    WARM_SNAPSHOTS = 70,
};

struct scene {
    const char *name;
    uint32_t players;
    float half_m; /* they wander within +-half_m of the origin */
    float enter_m;
    uint32_t budget_bytes_per_s;
};

static const struct scene scenes[] = {
    {"arena_1000_see_35", 1000, 142.0F, 30.0F, 65536},
    {"arena_64_see_20", 64, 46.0F, 30.0F, 65536},
    {"arena_100_see_all", 100, 15.0F, 60.0F, 65536},
    {"arena_1000_one_cell", 1000, 4.0F, 30.0F, 65536},
};

static struct bench {
    struct arb_arena arena;
    struct arb_rng rng;
    struct rewind *rewind;
    struct interest *interest;
    struct replicate *replicate;
    struct match_port port;
    struct arb_own own[PLAYERS_MAX];
    uint64_t bytes, messages;
    uint64_t seen;
    uint32_t visible[PLAYERS_MAX][PLAYERS_MAX];
    uint32_t counts[PLAYERS_MAX];
    uint64_t interest_ns, begin_ns, send_ns; /* of one snapshot for all, the least */
    arb_tick tick;
} bench;

static void take_least(uint64_t *least, uint64_t ns)
{
    if (*least == 0 || ns < *least) *least = ns;
}

static void put(void *owner, struct port_session session, uint8_t channel, const uint8_t *bytes,
                size_t size)
{
    struct bench *to = owner;
    (void)session;
    (void)channel;
    (void)bytes;
    to->bytes += size;
    to->messages++;
}

static void open_bench(const struct scene *scene, uint64_t seed)
{
    memset(&bench, 0, sizeof bench);
    arb_arena_init(&bench.arena);
    arb_rng_seed(&bench.rng, seed, 1);
    static const struct rewind_kind shapes[ARB_KINDS_MAX];
    bench.rewind = rewind_create(&bench.arena,
                                 &(struct rewind_config){.schema = &arb_schema_arena,
                                                         .kinds = shapes,
                                                         .tick_rate = TICK_RATE,
                                                         .max_rewind_ms = 250,
                                                         .snapshot_interval_ticks = INTERVAL,
                                                         .entity_capacity = PLAYERS_MAX,
                                                         .point_capacity = 0,
                                                         .player_capacity = PLAYERS_MAX},
                                 NULL);
    struct interest_config interest = {.schema = &arb_schema_arena,
                                       .cell_m = 10.0F,
                                       .enter_m = scene->enter_m,
                                       .retain_m = scene->enter_m * 1.2F,
                                       .viewer_capacity = PLAYERS_MAX,
                                       .entity_capacity = PLAYERS_MAX};
    interest.radius_of_kind[ARB_ARENA_CHARACTER] = 0.5F;
    bench.interest = interest_create(&bench.arena, &interest);
    bench.replicate = replicate_create(
        &bench.arena, &(struct replicate_config){.schema = &arb_schema_arena,
                                                 .rewind = bench.rewind,
                                                 .client_capacity = PLAYERS_MAX,
                                                 .tick_rate = TICK_RATE,
                                                 .interval_ticks = INTERVAL,
                                                 .chunk_payload_bytes = 1150,
                                                 .budget_bytes_per_s = scene->budget_bytes_per_s,
                                                 .entity_capacity = PLAYERS_MAX,
                                                 .point_capacity = 0});
    bench.port = (struct match_port){.owner = &bench, .put = put};
    for (uint32_t i = 0; i < scene->players; i++) {
        replicate_reset(bench.replicate, (uint16_t)i);
        struct arb_own *own = &bench.own[i];
        uint32_t side = (uint32_t)(scene->half_m * 2.0F * 512.0F);
        own->x = (float)arb_rng_below(&bench.rng, side) / 512.0F - scene->half_m;
        own->y = (float)arb_rng_below(&bench.rng, side) / 512.0F - scene->half_m;
        own->magazine[0] = 30;
    }
}

/* Goes straight for a second or so, turns, stands at times; sways its aim. */
static void wander(const struct scene *scene, struct arb_own *own)
{
    if (arb_rng_below(&bench.rng, 60) == 0) {
        bool stands = arb_rng_below(&bench.rng, 5) == 0;
        own->vx = stands ? 0.0F : (float)((int)arb_rng_below(&bench.rng, 641) - 320) / 64.0F;
        own->vy = stands ? 0.0F : (float)((int)arb_rng_below(&bench.rng, 641) - 320) / 64.0F;
    }
    float x = own->x + own->vx / TICK_RATE;
    float y = own->y + own->vy / TICK_RATE;
    if (fabsf(x) > scene->half_m) own->vx = -own->vx;
    if (fabsf(y) > scene->half_m) own->vy = -own->vy;
    own->x += own->vx / TICK_RATE;
    own->y += own->vy / TICK_RATE;
    own->heading += (float)((int)arb_rng_below(&bench.rng, 65) - 32) / 512.0F;
    if (own->heading > 3.0F || own->heading < -3.0F) own->heading = 0.0F;
    if (own->fire_cooldown > 0) own->fire_cooldown--;
    if (arb_rng_below(&bench.rng, 30) == 0) own->fire_cooldown = 8;
}

static void publish(const struct scene *scene)
{
    struct arb_frame *frame = rewind_begin_frame(bench.rewind, bench.tick);
    for (uint32_t i = 0; i < scene->players; i++) {
        struct arb_own *own = &bench.own[i];
        wander(scene, own);
        struct arb_published *out = &frame->entities[frame->entity_count++];
        *out = (struct arb_published){.key = {(uint16_t)i, 1}, .kind = ARB_ARENA_CHARACTER};
        out->q[ARB_CHARACTER_OWNER] = (int32_t)i + 1;
        out->q[ARB_CHARACTER_X] = arb_quantise(own->x, 1.0F / 512.0F, -(1 << 21), (1 << 21) - 1);
        out->q[ARB_CHARACTER_Y] = arb_quantise(own->y, 1.0F / 512.0F, -(1 << 21), (1 << 21) - 1);
        out->q[ARB_CHARACTER_VX] = arb_quantise(own->vx, 1.0F / 64.0F, -8192, 8191);
        out->q[ARB_CHARACTER_VY] = arb_quantise(own->vy, 1.0F / 64.0F, -8192, 8191);
        out->q[ARB_CHARACTER_HEADING] =
            (int32_t)arb_angle_to_turn(own->heading, ARB_CHARACTER_TURN_BITS);
        out->q[ARB_CHARACTER_HEALTH] = 100;
    }
    rewind_commit(bench.rewind);
}

static void send_one(uint32_t i, uint32_t id, const struct arb_frame *frame)
{
    uint16_t slot = (uint16_t)i;
    struct replicate_client client = {.session = {slot, 1},
                                      .client = slot,
                                      .own = &bench.own[i],
                                      .controlled = frame->entities[i].key,
                                      .control = 1,
                                      .last_sequence = (arb_sequence)bench.tick,
                                      .buffer_ticks = 2};
    if (id > ACK_SNAPSHOTS) {
        uint32_t newest = replicate_newest_sent(bench.replicate, slot) - ACK_SNAPSHOTS;
        replicate_ack(bench.replicate, slot, (uint16_t)(newest + 1), 1, bench.tick);
    }
    struct arb_vec2 eye = {bench.own[i].x, bench.own[i].y};
    replicate_send(bench.replicate, &client, frame, frame->tick, eye, bench.visible[i],
                   bench.counts[i], &bench.port);
    bench.seen += bench.counts[i];
}

static void send_all(const struct scene *scene, uint32_t id)
{
    const struct arb_frame *frame = rewind_newest(bench.rewind);
    uint64_t begin = bench_cpu_ns();
    interest_build(bench.interest, frame);
    for (uint32_t i = 0; i < scene->players; i++) {
        struct arb_key own_key = frame->entities[i].key;
        struct arb_vec2 eye = {bench.own[i].x, bench.own[i].y};
        const uint32_t *visible =
            interest_update(bench.interest, i, eye, &own_key, 1, &bench.counts[i]);
        memcpy(bench.visible[i], visible, bench.counts[i] * sizeof *visible);
    }
    uint64_t looked = bench_cpu_ns();
    replicate_begin(bench.replicate, frame);
    uint64_t begun = bench_cpu_ns();
    for (uint32_t i = 0; i < scene->players; i++) {
        send_one(i, id, frame);
    }
    take_least(&bench.send_ns, bench_cpu_ns() - begun);
    take_least(&bench.begin_ns, begun - looked);
    take_least(&bench.interest_ns, looked - begin);
}

/* What the streams consisted of since `before`, per snapshot. */
static void print_traffic(const struct replicate_traffic *before)
{
    const struct replicate_traffic *now = replicate_traffic(bench.replicate);
    const struct replicate_kind_traffic *a = &before->kinds[ARB_ARENA_CHARACTER];
    const struct replicate_kind_traffic *b = &now->kinds[ARB_ARENA_CHARACTER];
    double snapshots = (double)(now->snapshots - before->snapshots);
    double updates = (double)(b->updates - a->updates);
    double enters = (double)(b->enters - a->enters);
    printf(
        "  per snapshot: own_bits %.1f updates %.2f of %.1f bits, unchanged %.2f, left_out %.2f, "
        "gone %.2f, enters %.2f of %.1f bits\n",
        (double)(now->own_bits - before->own_bits) / snapshots, updates / snapshots,
        (double)(b->update_bits - a->update_bits) / updates,
        (double)(b->unchanged - a->unchanged) / snapshots,
        (double)(b->left_out - a->left_out) / snapshots, (double)(b->gone - a->gone) / snapshots,
        enters / snapshots, (double)(b->enter_bits - a->enter_bits) / enters);
}

static void measure(const struct scene *scene, uint32_t snapshots, uint64_t seed)
{
    open_bench(scene, seed);
    struct replicate_traffic before = {0};
    for (uint32_t id = 1; id <= WARM_SNAPSHOTS + snapshots; id++) {
        for (uint32_t i = 0; i < INTERVAL; i++) {
            bench.tick++;
            publish(scene);
        }
        if (id == WARM_SNAPSHOTS + 1) {
            bench.bytes = bench.messages = bench.seen = 0;
            bench.interest_ns = bench.begin_ns = bench.send_ns = 0;
            before = *replicate_traffic(bench.replicate);
        }
        send_all(scene, id);
    }
    double views = (double)snapshots * scene->players;
    double per_second = (double)TICK_RATE / INTERVAL;
    printf("%-20s seed %llu snapshots %u seen %.1f bytes %.1f bytes_per_s %.0f messages %.3f "
           "begin_us %.1f interest_ns %.0f send_ns %.0f\n",
           scene->name, (unsigned long long)seed, snapshots, (double)bench.seen / views,
           (double)bench.bytes / views, (double)bench.bytes / views * per_second,
           (double)bench.messages / views, (double)bench.begin_ns / 1e3,
           (double)bench.interest_ns / scene->players, (double)bench.send_ns / scene->players);
    print_traffic(&before);
    rewind_destroy(bench.rewind);
    arb_arena_free(&bench.arena);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "all";
    uint32_t snapshots = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 100;
    uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    bool any = false;
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        if (strcmp(name, "all") != 0 && strcmp(name, scenes[i].name) != 0) continue;
        measure(&scenes[i], snapshots > 0 ? snapshots : 1, seed);
        any = true;
    }
    if (!any) fprintf(stderr, "usage: bench_replicate [scene|all [snapshots [seed]]]\n");
    return any ? 0 : 64;
}
