/* Entities that are longer than a datagram: groups of chunks, and the one that makes up for a lost
 * one (spec/replication.md "Snapshots"). `--verbose` prints how long the first state takes. */
#include "server/replicate/replicate.h"
#include "tests/unit/replicate_rig.h"

#include <criterion/logging.h>
#include <stdlib.h>

enum { PAYLOAD = 1150 };

static void open_with(bool parity, uint32_t points)
{
    rig_open_with(&(struct rig_options){
        .schema = &rig_schema, .budget = 65536, .payload = PAYLOAD, .parity = parity});
    rig_add_body(rig_add(1, 1, 5.0F, 0.0F), points);
    for (uint16_t i = 1; i < 20; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
}

Test(replicate_parity, is_the_chunks_combined_and_comes_only_with_groups)
{
    open_with(true, 400);
    uint32_t groups = 0;
    for (int n = 0; n < 60; n++) {
        if (!rig_send()) continue;
        cr_assert_eq(rig.parities, rig.chunks > 1);
        if (rig.parities == 0) continue;
        groups++;
        uint8_t expected[PAYLOAD] = {0};
        for (size_t i = 0; i < rig.stream_size; i++) {
            expected[i % PAYLOAD] ^= rig.stream[i];
        }
        cr_assert_eq(rig.parity_bytes, PAYLOAD);
        cr_assert_eq(memcmp(rig.parity, expected, PAYLOAD), 0);
        cr_assert_eq(rig.parity_header.chunk_count, rig.chunks);
        cr_assert_eq(rig.parity_header.last_bytes,
                     rig.stream_size - (rig.chunks - 1) * (size_t)PAYLOAD);
        cr_assert_eq(rig.parity_header.id, rig.header.id);
    }
    cr_assert_gt(groups, 0);
    const struct replicate_counts *counts = replicate_counts(rig.replicate, RIG_CLIENT);
    cr_assert_eq(counts->parities, groups);
    rig_close();
}

Test(replicate_parity, is_not_sent_when_it_is_not_wanted)
{
    open_with(false, 400);
    for (int n = 0; n < 60; n++) {
        rig_send();
        cr_assert_eq(rig.parities, 0);
    }
    rig_close();
}

/* ---- how long the first state takes ---- */

enum { TRIALS = 300, PATIENCE = 600, ROUND_TRIP = 3 };

static int ascending(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* Snapshots until a client has the long one, with its acknowledgements three snapshots later. */
static uint32_t wait_once(struct arb_rng *rng, bool parity, uint32_t points, uint32_t percent)
{
    uint32_t acks[PATIENCE + ROUND_TRIP] = {0};
    open_with(parity, points);
    rig.mute = true;
    uint32_t n;
    for (n = 0; n < PATIENCE; n++) {
        if (acks[n] != 0) {
            replicate_ack(rig.replicate, RIG_CLIENT, (uint16_t)acks[n], 0, rig.frame.tick);
        }
        if (!rig_send()) continue;
        uint32_t lost = 0;
        for (uint32_t i = 0; i < rig.chunks + rig.parities; i++) {
            lost += arb_rng_below(rng, 100) < percent;
        }
        if (lost > rig.parities) continue;
        if (rig.got->frame.entity_count > 0 && rig.got->frame.entities[0].key.id == 1) break;
        acks[n + ROUND_TRIP] = rig.header.id;
    }
    rig_close();
    return n + 1;
}

static double wait_of(bool parity, uint32_t points, uint32_t percent)
{
    static uint32_t waits[TRIALS];
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, percent);
    double sum = 0;
    for (int i = 0; i < TRIALS; i++) {
        waits[i] = wait_once(&rng, parity, points, percent);
        sum += waits[i];
    }
    qsort(waits, TRIALS, sizeof waits[0], ascending);
    cr_log_info("%u points, %u %% lost, %s parity: %.2f snapshots in the mean, p99 %u", points,
                percent, parity ? "with" : "without", sum / TRIALS, waits[TRIALS * 99 / 100]);
    return sum / TRIALS;
}

Test(replicate_parity, makes_long_entities_come_sooner_where_there_is_loss, .timeout = 1200)
{
    static const uint32_t percents[] = {5, 20};
    for (int i = 0; i < 2; i++) {
        double without = wait_of(false, 512, percents[i]);
        double with = wait_of(true, 512, percents[i]);
        cr_assert_lt(with, without);
    }
}
