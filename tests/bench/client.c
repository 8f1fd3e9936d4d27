/* What the client library costs a frame: poll and sample with nothing new, and the frame in which a
 * snapshot arrives and the own player is predicted anew. A server of the test's own over the
 * simulated network; the time of its sending and of the network is not in the figures.
 */
#include "server/loop/clock.h"
#include "tests/support/fake_player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OTHERS = 63, ROUNDS_MAX = 20000, WARM_US = 3000000 };

static uint64_t samples[ROUNDS_MAX];
static uint32_t sample_count;

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static double at(uint32_t percent)
{
    qsort(samples, sample_count, sizeof samples[0], by_size);
    return sample_count == 0 ? 0.0 : (double)samples[(sample_count - 1) * percent / 100] / 1000.0;
}

static void print(const char *what)
{
    printf("  %-58s %8.2f us, p99 %8.2f us (%u)\n", what, at(50), at(99), sample_count);
    sample_count = 0;
}

static void add(uint64_t ns)
{
    if (sample_count < ROUNDS_MAX) samples[sample_count++] = ns;
}

static struct fake_server *open_server(bool serpent)
{
    const struct arb_link link = {.delay_us = 75000}; /* 12 inputs are on their way */
    return fake_create(&(struct fake_options){
        .seed = 1, .up = link, .down = link, .serpent = serpent, .movers = OTHERS});
}

/* Frames so short that nothing becomes due in them. */
static void measure_quiet(struct arbiter_client *client, uint64_t now_ns, uint32_t rounds)
{
    enum { BATCH = 64 };
    struct arbiter_view view;
    for (uint32_t i = 0; i < rounds / BATCH; i++) {
        uint64_t start_ns = loop_now_ns();
        for (uint32_t k = 0; k < BATCH; k++) {
            arbiter_client_poll(client, now_ns + i);
            arbiter_client_sample(client, now_ns + i, &view);
        }
        add((loop_now_ns() - start_ns) / BATCH);
    }
    printf("  in view: %u\n", view.entity_count);
    print("poll and sample, nothing arrives");
}

/* Every snapshot tells of a push, so that all that is not acknowledged is predicted again. */
static void measure_snapshots(struct fake_server *fake, struct arbiter_client *client,
                              uint32_t snapshots)
{
    struct arbiter_input input = {.move_x = 127};
    struct arbiter_view view;
    uint64_t repeated = 0;
    uint64_t us = arb_simnet_now_us(fake->sim);
    for (uint32_t i = 0; i < 8 * snapshots && sample_count < snapshots; i++) {
        us += 4167;
        fake->own.x += 1.0F / 512;
        fake->outside++;
        fake_advance(fake, us);
        uint64_t before = client->statistics.snapshots;
        arbiter_client_input(client, &input);
        uint64_t start_ns = loop_now_ns();
        arbiter_client_poll(client, fake_now_ns(fake));
        uint64_t passed_ns = loop_now_ns() - start_ns;
        arbiter_client_sample(client, fake_now_ns(fake), &view);
        if (client->statistics.snapshots == before + 1) {
            add(passed_ns);
            repeated += client->predict.predicted_tick - client->predict.confirmed_tick;
        }
    }
    printf("  predicted again for each: %.1f inputs\n", (double)repeated / sample_count);
    print("a poll that commits a snapshot, as a difference");
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000;
    if (rounds < 64 || rounds > ROUNDS_MAX || argc > 2) {
        fprintf(stderr, "usage: bench_client [rounds 64..%d]\n", ROUNDS_MAX);
        return 2;
    }
    for (int serpent = 0; serpent < 2; serpent++) {
        printf("%s\n", serpent ? "serpent, bodies of 9 points" : "arena");
        struct fake_server *fake = open_server(serpent != 0);
        struct arbiter_client *client = fake_join(fake);
        fake_run(fake, client, WARM_US, 60, NULL, NULL);
        measure_snapshots(fake, client, rounds);
        measure_quiet(client, fake_now_ns(fake), 64 * rounds / 4);
        arbiter_client_destroy(client);
        fake_destroy(fake);
    }
    return 0;
}
