/* One direction of a path by itself: each number of a link, its statistics and exact times. */
#include "shared/base/arb_hash.h"
#include "shared/base/arb_mem.h"
#include "shared/transport/arb_link.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

enum { SIZE = 952, BYTES = SIZE + ARB_LINK_HEADERS_BYTES }; /* 1,000 bytes on the wire */

struct sender {
    struct arb_link_state state;
    struct arb_link_counters counters;
    struct arb_link_delivery out[2];
};

static struct sender begin(struct arb_link link)
{
    struct sender sender = {0};
    arb_link_start(&sender.state, link, 1, 2);
    return sender;
}

static int send_at(struct sender *sender, uint64_t now_us)
{
    return arb_link_send(&sender->state, now_us, SIZE, sender->out, &sender->counters);
}

/* Arrives, once; when. */
static uint64_t due_at(struct sender *sender, uint64_t now_us)
{
    cr_assert_eq(send_at(sender, now_us), 1, "at %llu us", (unsigned long long)now_us);
    return sender->out[0].deliver_us;
}

/* ---- losses ---- */

struct loss_case {
    uint32_t loss_ppm, burst_milli;
    uint32_t runs_milli; /* expected mean length of a run of losses */
};

ParameterizedTestParameters(transport_link, losses_come_in_share_and_runs_as_asked)
{
    static struct loss_case cases[] = {
        {10000, 0, 1010},    {200000, 0, 1250},    {50000, 1000, 1000},  {50000, 3000, 3000},
        {10000, 8000, 8000}, {300000, 2500, 2500}, {1000, 20000, 20000},
    };
    return cr_make_param_array(struct loss_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(const struct loss_case *c, transport_link, losses_come_in_share_and_runs_as_asked)
{
    enum { COUNT = 3000000 };
    struct sender sender =
        begin((struct arb_link){.loss_ppm = c->loss_ppm, .burst_milli = c->burst_milli});
    uint64_t lost = 0, runs = 0;
    bool before = false;
    for (uint64_t i = 0; i < COUNT; i++) {
        bool is_lost = send_at(&sender, i) == 0;
        lost += is_lost;
        runs += is_lost && !before;
        before = is_lost;
    }
    cr_assert_eq(sender.counters.lost, lost);
    double share = (double)lost / COUNT, wanted = c->loss_ppm / 1e6;
    cr_assert_float_eq(share, wanted, wanted * 0.15, "share %g of %g", share, wanted);
    double length = (double)lost * 1000 / (double)runs, mean = c->runs_milli;
    cr_assert_float_eq(length, mean, mean * 0.1, "mean run %g of %g", length, mean);
}

Test(transport_link, loss_of_everything_and_of_nothing_is_exact)
{
    struct sender none = begin((struct arb_link){.burst_milli = 3000});
    struct sender all = begin((struct arb_link){.loss_ppm = 1000000, .burst_milli = 3000});
    for (uint64_t i = 0; i < 100000; i++) {
        cr_assert_eq(send_at(&none, i), 1);
        cr_assert_eq(send_at(&all, i), 0);
    }
}

/* ---- times ---- */

Test(transport_link, delay_is_exact)
{
    struct sender sender = begin((struct arb_link){.delay_us = 12345});
    cr_assert_eq(due_at(&sender, 7), 12352);
}

Test(transport_link, uniform_jitter_stays_inside_its_bounds_and_fills_them)
{
    struct sender sender = begin((struct arb_link){.delay_us = 1000, .jitter_us = 500});
    uint64_t low = UINT64_MAX, high = 0, sum = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t late = due_at(&sender, i * 10000) - i * 10000;
        sum += late;
        if (late < low) low = late;
        if (late > high) high = late;
    }
    cr_assert_eq(low, 1000);
    cr_assert_eq(high, 1500);
    cr_assert_float_eq((double)sum / 100000, 1250, 2);
}

Test(transport_link, order_is_kept_unless_reordering_is_asked_for)
{
    struct arb_link link = {.delay_us = 1000, .jitter_us = 30000};
    struct sender kept = begin(link);
    link.reorder_ppm = 100000;
    struct sender mixed = begin(link);
    uint64_t newest[2] = {0}, inversions = 0;
    for (uint64_t i = 0; i < 50000; i++) {
        uint64_t due = due_at(&kept, i * 1000);
        cr_assert_geq(due, newest[0]);
        newest[0] = due;
        due = due_at(&mixed, i * 1000);
        inversions += due < newest[1];
        if (due > newest[1]) newest[1] = due;
        cr_assert_leq(due, i * 1000 + 61000);
    }
    cr_assert_eq(kept.counters.reordered, 0);
    cr_assert_float_eq((double)mixed.counters.reordered, 5000, 300);
    cr_assert_gt(inversions, 2000);
}

Test(transport_link, a_double_comes_with_or_after_the_first)
{
    struct sender sender =
        begin((struct arb_link){.delay_us = 10, .jitter_us = 300, .duplicate_ppm = 250000});
    uint64_t doubled = 0;
    for (uint64_t i = 0; i < 40000; i++) {
        if (send_at(&sender, i * 1000) < 2) continue;
        doubled++;
        cr_assert_geq(sender.out[1].deliver_us, sender.out[0].deliver_us);
        cr_assert_leq(sender.out[1].deliver_us, sender.out[0].deliver_us + 300);
    }
    cr_assert_eq(sender.counters.duplicated, doubled);
    cr_assert_float_eq((double)doubled, 10000, 500);
}

/* ---- jitter from a table ---- */

Test(transport_link, a_jitter_table_gives_its_values_in_standard_deviations)
{
    static struct arb_jitter_table table;
    for (int i = 0; i < ARB_JITTER_VALUES; i++) {
        table.value[i] = (int16_t)(i % 4 == 0 ? 16384 : -8192 / 2);
    }
    struct sender sender =
        begin((struct arb_link){.delay_us = 50000, .jitter_us = 3000, .jitter_table = &table});
    uint64_t longer = 0;
    for (uint64_t i = 0; i < 40000; i++) {
        uint64_t late = due_at(&sender, i * 100000) - i * 100000;
        cr_assert(late == 56000 || late == 48500, "%llu", (unsigned long long)late);
        longer += late == 56000;
    }
    cr_assert_float_eq((double)longer, 10000, 400);
}

Test(transport_link, a_jitter_table_never_delivers_into_the_past)
{
    static struct arb_jitter_table table;
    for (int i = 0; i < ARB_JITTER_VALUES; i++) {
        table.value[i] = INT16_MIN;
    }
    struct sender sender = begin((struct arb_link){.delay_us = 100,
                                                   .jitter_us = 3000,
                                                   .reorder_ppm = 500000,
                                                   .duplicate_ppm = 500000,
                                                   .jitter_table = &table});
    for (uint64_t now = 10; now < 10000; now++) {
        int copies = send_at(&sender, now);
        for (int i = 0; i < copies; i++) {
            cr_assert_geq(sender.out[i].deliver_us, now);
        }
    }
}

/* ---- rate and queue ---- */

Test(transport_link, a_rate_is_kept_over_time_whatever_is_offered)
{
    struct sender sender = begin((struct arb_link){.rate_kbps = 777, .queue_bytes = 20000});
    uint64_t passed = 0, last = 0;
    for (uint64_t now = 0; now < 60000000; now += 1000) { /* offers 8 Mbit/s */
        if (send_at(&sender, now) == 0) continue;
        passed++;
        last = sender.out[0].deliver_us;
        cr_assert_leq(last - now, 20000 * 8000ULL / 777 + 1000);
    }
    double kbps = (double)(passed * BYTES * 8) * 1000 / (double)last;
    cr_assert_float_eq(kbps, 777, 0.1);
    cr_assert_eq(sender.counters.queue_full + passed, 60000);
}

Test(transport_link, a_queue_without_a_size_holds_64_kib)
{
    struct sender sender = begin((struct arb_link){.rate_kbps = 8});
    uint64_t passed = 0;
    for (int i = 0; i < 100; i++) {
        passed += send_at(&sender, 0) > 0;
    }
    cr_assert_eq(passed, 65536 / BYTES);
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 0), 65000);
}

/* 8,000 bits: 8 ms at 1,000 kbit/s, 2 ms at 4,000. */
Test(transport_link, a_new_rate_serves_what_waits_and_keeps_the_order)
{
    struct arb_link link = {.delay_us = 100, .rate_kbps = 1000, .queue_bytes = 10000};
    struct sender sender = begin(link);
    for (uint64_t i = 1; i <= 10; i++) {
        cr_assert_eq(due_at(&sender, 0), i * 8000 + 100);
    }
    cr_assert_eq(send_at(&sender, 0), 0);
    link.rate_kbps = 4000;
    arb_link_set(&sender.state, link, 40000); /* 5 are through, 5 wait */
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 40000), 5000);
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 48000), 1000);
    /* 6 x 2 ms, but not before the tenth, which was promised for 80,100. */
    cr_assert_eq(due_at(&sender, 40000), 80100);
    cr_assert_eq(due_at(&sender, 90000), 92100);
    /* And slower: two that wait take as long as at the new rate. */
    cr_assert_eq(due_at(&sender, 90000), 94100);
    link.rate_kbps = 100;
    arb_link_set(&sender.state, link, 90000);
    cr_assert_eq(due_at(&sender, 90000), 90000 + 3 * 80000 + 100);
    link.rate_kbps = 0;
    arb_link_set(&sender.state, link, 1000000);
    cr_assert_eq(due_at(&sender, 1000000), 1000100);
}

Test(transport_link, setting_the_same_link_again_changes_nothing)
{
    struct arb_link link = {
        .delay_us = 1000, .jitter_us = 500, .rate_kbps = 333, .loss_ppm = 100000};
    struct sender once = begin(link), often = begin(link);
    for (uint64_t now = 0; now < 3000000; now += 7001) {
        arb_link_set(&often.state, link, now);
        cr_assert_eq(send_at(&once, now), send_at(&often, now));
        cr_assert_eq(once.out[0].deliver_us, often.out[0].deliver_us);
    }
}

/* ---- traces ---- */

static const uint32_t moments_ms[] = {10, 20, 20, 30, 100};
static const struct arb_trace moments = {5, 100, moments_ms, NULL, NULL};

/* 1,000 bytes each: opportunities of 1,500 carry one and a half. */
Test(transport_link, opportunities_are_shared_and_filled_in_order)
{
    struct sender sender = begin((struct arb_link){.delay_us = 25000, .trace = &moments});
    static const uint64_t due_ms[] = {10, 20, 20, 20, 30, 30, 100, 110, 110, 120};
    /*                    bytes up to:  1   2   3   4   5   6    7    8    9   10 thousand
     * opportunities end at: 1.5 (10), 3 (20), 4.5 (20), 6 (30), 7.5 (100), 9 (110), 10.5 (120) */
    for (size_t i = 0; i < sizeof due_ms / sizeof due_ms[0]; i++) {
        cr_assert_eq(due_at(&sender, 0), due_ms[i] * 1000 + 25000, "datagram %zu", i);
    }
}

Test(transport_link, an_opportunity_that_nobody_used_is_gone)
{
    struct sender sender = begin((struct arb_link){.trace = &moments});
    cr_assert_eq(due_at(&sender, 10000), 10000); /* exactly then is in time */
    cr_assert_eq(due_at(&sender, 10001), 20000); /* what was left at 10 is lost */
    cr_assert_eq(due_at(&sender, 30001), 100000);
    cr_assert_eq(due_at(&sender, 100000), 110000); /* 500 at 100, 500 at 110 */
    cr_assert_eq(due_at(&sender, 100001), 110000);
    /* Many passes later, and its last moment once more. */
    cr_assert_eq(due_at(&sender, 1000000100000), 1000000100000);
    cr_assert_eq(due_at(&sender, 1000000100001), 1000000110000);
}

Test(transport_link, an_offset_begins_elsewhere_in_the_trace)
{
    struct sender sender = begin((struct arb_link){.trace = &moments, .trace_offset_us = 25000});
    cr_assert_eq(due_at(&sender, 0), 5000);
    cr_assert_eq(due_at(&sender, 5001), 75000);
}

Test(transport_link, a_trace_drops_what_its_queue_cannot_hold)
{
    struct sender sender = begin((struct arb_link){.trace = &moments, .queue_bytes = 3500});
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(send_at(&sender, 0), 1);
    }
    cr_assert_eq(send_at(&sender, 0), 0);
    cr_assert_eq(sender.counters.queue_full, 1);
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 0), 3000);
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 9999), 3000);
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 10000), 1500);
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 20000), 0);
    cr_assert_eq(due_at(&sender, 10000), 20000);
}

Test(transport_link, a_trace_carries_its_rate)
{
    struct sender sender = begin((struct arb_link){.trace = &moments, .queue_bytes = 9000});
    uint64_t passed = 0;
    for (uint64_t now = 0; now < 100000000; now += 5000) { /* 20 in 100 ms; 7.5 pass */
        passed += send_at(&sender, now) > 0;
    }
    cr_assert_float_eq((double)passed, 7500, 10);
}

Test(transport_link, a_trace_follows_a_rate_and_takes_over_its_queue)
{
    struct arb_link link = {.rate_kbps = 1000};
    struct sender sender = begin(link);
    for (uint64_t i = 1; i <= 3; i++) {
        cr_assert_eq(due_at(&sender, 0), i * 8000);
    }
    link.trace = &moments;
    arb_link_set(&sender.state, link, 8000); /* 2,000 bytes wait: until 20 */
    cr_assert_eq(arb_link_waiting_bytes(&sender.state, 8000), 2000);
    cr_assert_eq(due_at(&sender, 8000), 24000); /* 20, but the third was promised for 24 */
    cr_assert_eq(due_at(&sender, 8000), 24000);
    cr_assert_eq(due_at(&sender, 8000), 30000);
}

static const uint32_t rows_ms[] = {0, 100, 250};
static const uint32_t rows_delay_us[] = {5000, 40000, 7500};
static const uint8_t rows_lost[] = {0, 0, 1};
static const struct arb_trace rows = {3, 400, rows_ms, rows_delay_us, rows_lost};

Test(transport_link, a_table_gives_the_delay_and_loss_of_its_row_and_repeats)
{
    struct sender sender = begin((struct arb_link){.delay_us = 1000, .trace = &rows});
    for (uint64_t pass = 0; pass < 3; pass++) {
        uint64_t base = pass * 400000;
        cr_assert_eq(due_at(&sender, base), base + 6000);
        cr_assert_eq(due_at(&sender, base + 99999), base + 99999 + 6000);
        cr_assert_eq(due_at(&sender, base + 100000), base + 141000);
        cr_assert_eq(due_at(&sender, base + 249999), base + 290999);
        cr_assert_eq(send_at(&sender, base + 250000), 0);
        cr_assert_eq(send_at(&sender, base + 399999), 0);
        cr_assert_eq(sender.counters.lost, 2 * pass + 2);
    }
}

Test(transport_link, a_table_can_stand_behind_a_rate)
{
    struct sender sender = begin((struct arb_link){.rate_kbps = 1000, .trace = &rows});
    cr_assert_eq(due_at(&sender, 0), 13000);
    cr_assert_eq(due_at(&sender, 0), 21000);
}

/* ---- partitions and damage ---- */

Test(transport_link, a_partition_lasts_until_it_is_lifted_and_survives_new_numbers)
{
    struct arb_link link = {.delay_us = 100, .jitter_us = 1000, .loss_ppm = 300000};
    struct sender free = begin(link), cut = begin(link);
    for (uint64_t i = 0; i < 300; i++) {
        if (i == 100) arb_link_block(&cut.state, true);
        if (i == 150) arb_link_set(&cut.state, link, i * 10000);
        if (i == 200) arb_link_block(&cut.state, false);
        int copies = send_at(&free, i * 10000);
        bool blocked = i >= 100 && i < 200;
        cr_assert_eq(send_at(&cut, i * 10000), blocked ? 0 : copies);
        /* Afterwards each datagram meets the fate it would have met. */
        if (!blocked && copies > 0) cr_assert_eq(cut.out[0].deliver_us, free.out[0].deliver_us);
    }
    cr_assert_eq(cut.counters.blocked, 100);
}

Test(transport_link, damage_hits_as_many_copies_as_asked_and_changes_bits)
{
    struct sender sender = begin((struct arb_link){.corrupt_ppm = 100000, .duplicate_ppm = 500000});
    uint64_t copies = 0, damaged = 0;
    uint8_t whole[64] = {0}, bytes[64];
    for (uint64_t i = 0; i < 50000; i++) {
        int count = send_at(&sender, i);
        copies += (uint64_t)count;
        for (int k = 0; k < count; k++) {
            if (sender.out[k].corrupt == 0) continue;
            damaged++;
            size_t size = 1 + i % sizeof bytes;
            memcpy(bytes, whole, sizeof bytes);
            arb_link_corrupt(sender.out[k].corrupt, bytes, size);
            cr_assert_neq(memcmp(bytes, whole, size), 0);
            cr_assert_eq(memcmp(bytes + size, whole, sizeof bytes - size), 0);
            arb_link_corrupt(sender.out[k].corrupt, bytes, size);
            cr_assert_eq(memcmp(bytes, whole, size), 0, "the same bits again");
        }
    }
    cr_assert_eq(sender.counters.corrupted, damaged);
    cr_assert_float_eq((double)damaged, (double)copies / 10, 300);
}

/* ---- the seed ---- */

/* Everything at once, on all machines the same. */
static uint64_t fate_hash(uint64_t seed, uint64_t stream)
{
    static struct arb_jitter_table table;
    for (int i = 0; i < ARB_JITTER_VALUES; i++) {
        table.value[i] = (int16_t)(i * 13 % 30000 - 15000);
    }
    struct arb_link link = {.delay_us = 20000,
                            .jitter_us = 9000,
                            .loss_ppm = 40000,
                            .burst_milli = 2500,
                            .duplicate_ppm = 30000,
                            .reorder_ppm = 50000,
                            .corrupt_ppm = 20000,
                            .queue_bytes = 8000,
                            .jitter_table = &table,
                            .trace = &moments};
    struct sender sender = {0};
    arb_link_start(&sender.state, link, seed, stream);
    uint64_t hash = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        if (i % 500 == 250) {
            link.trace = link.trace == NULL ? &moments : NULL;
            link.rate_kbps = link.trace == NULL ? 700 : 0;
            arb_link_set(&sender.state, link, i * 6000);
        }
        int copies = send_at(&sender, i * 6000);
        for (int k = 0; k < copies; k++) {
            hash = arb_hash_mix(hash, sender.out[k].deliver_us);
            hash = arb_hash_mix(hash, sender.out[k].corrupt);
        }
        hash = arb_hash_mix(hash, (uint64_t)copies);
    }
    return hash;
}

Test(transport_link, seed_and_stream_decide_every_fate_on_every_machine)
{
    uint64_t first = fate_hash(1, 1);
    cr_assert_eq(fate_hash(1, 1), first);
    cr_assert_neq(fate_hash(2, 1), first);
    cr_assert_neq(fate_hash(1, 2), first);
    cr_assert_eq(first, 0xae2ffad97d3e9a69, "%016llx", (unsigned long long)first);
}

Test(transport_link, nothing_is_allocated)
{
    uint64_t before = arb_mem_count();
    fate_hash(1, 1);
    cr_assert_eq(arb_mem_count(), before);
}
