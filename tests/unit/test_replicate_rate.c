/* The working rate of a client over simulated paths: a slow line with a long queue, a lossy one,
 * one that becomes longer. */
#include "server/replicate/replicate.h"
#include "shared/transport/arb_link.h"
#include "tests/unit/replicate_rig.h"

enum { TICK_US = 1000000 / RIG_RATE, BUDGET = 65536, UNDER_WAY = 4096 };

/* A snapshot on its way down, then its acknowledgement on its way up. */
struct under_way {
    uint16_t id;
    bool is_ack;
    uint64_t due_us;
};

static struct path {
    struct arb_link_state down;
    struct arb_link_counters counters;
    uint32_t up_us;
    struct under_way list[UNDER_WAY];
    uint32_t count;
    uint16_t newest; /* that the client has */
    uint32_t mask;
    uint64_t longest_us; /* a snapshot took down, since it was last set to 0 */
    uint64_t bytes;
} path;

static void open_path(struct arb_link down, uint64_t seed)
{
    memset(&path, 0, sizeof path);
    arb_link_start(&path.down, down, seed, 1);
    path.up_us = down.delay_us;
    rig_open(&rig_schema, BUDGET, 1150);
    rig.mute = true;
    for (uint16_t i = 0; i < 250; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F); /* much more than a datagram holds */
    }
}

static void start(uint16_t id, bool is_ack, uint64_t due_us)
{
    cr_assert_lt(path.count, UNDER_WAY);
    path.list[path.count++] = (struct under_way){id, is_ack, due_us};
}

static void arrive(const struct under_way *what)
{
    if (what->is_ack) {
        replicate_ack(rig.replicate, RIG_CLIENT, what->id, 0, rig.frame.tick);
    } else {
        start(what->id, true, what->due_us + path.up_us);
    }
}

/* Two ticks and a snapshot. */
static void step(struct arb_rng *rng)
{
    rig_shake(rng);
    bool sent = rig_send_only();
    uint64_t now_us = rig.frame.tick * TICK_US;
    struct arb_link_delivery out[2];
    if (sent) {
        path.bytes += rig.bytes;
        int copies = arb_link_send(&path.down, now_us, rig.bytes, out, &path.counters);
        if (copies > 0) {
            uint64_t took = out[0].deliver_us - now_us;
            if (took > path.longest_us) path.longest_us = took;
            start(rig.header.id, false, out[0].deliver_us);
        }
    }
    for (uint32_t i = 0; i < path.count;) { /* what arrive() adds is looked at as well */
        if (path.list[i].due_us > now_us) {
            i++;
            continue;
        }
        struct under_way what = path.list[i];
        memmove(&path.list[i], &path.list[i + 1], (--path.count - i) * sizeof what);
        arrive(&what);
    }
}

static void run(struct arb_rng *rng, uint32_t seconds)
{
    for (uint32_t i = 0; i < seconds * RIG_RATE / RIG_INTERVAL; i++) {
        step(rng);
    }
}

static const struct replicate_counts *counts(void)
{
    return replicate_counts(rig.replicate, RIG_CLIENT);
}

Test(replicate_rate, slow_line_is_used_without_filling_its_queue)
{
    static const struct {
        uint32_t kbps, delay_us, queue_bytes;
    } rows[] = {{256, 40000, 65536}, {128, 40000, 65536}, {128, 20000, 8000}, {64, 150000, 32768}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_rng rng;
        arb_rng_seed(&rng, 5, i);
        open_path((struct arb_link){.delay_us = rows[i].delay_us,
                                    .rate_kbps = rows[i].kbps,
                                    .queue_bytes = rows[i].queue_bytes},
                  i);
        run(&rng, 20); /* finds its rate */
        cr_assert_gt(counts()->reduced, 0);
        path.longest_us = path.bytes = 0;
        uint64_t dropped = path.counters.queue_full;
        run(&rng, 100);
        uint64_t queued_us = path.longest_us - rows[i].delay_us;
        cr_assert_lt(queued_us, 500000, "%u kbit/s: %llu ms", rows[i].kbps,
                     (unsigned long long)queued_us / 1000);
        uint64_t line = (uint64_t)rows[i].kbps * 125 * 100;
        cr_assert_gt(path.bytes, line * 6 / 10, "%u kbit/s: %llu of %llu bytes", rows[i].kbps,
                     (unsigned long long)path.bytes, (unsigned long long)line);
        cr_assert_lt(path.counters.queue_full - dropped, 100);
        rig_close();
    }
}

Test(replicate_rate, losses_without_a_queue_slow_nobody)
{
    static const uint32_t loss_percent[] = {0, 1, 5, 10, 20};
    for (size_t i = 0; i < sizeof loss_percent / sizeof loss_percent[0]; i++) {
        struct arb_rng rng;
        arb_rng_seed(&rng, 6, i);
        open_path((struct arb_link){.delay_us = 40000,
                                    .jitter_us = 30000,
                                    .loss_ppm = loss_percent[i] * 10000},
                  i);
        run(&rng, 120);
        cr_assert_eq(counts()->reduced, 0, "%u %%: %u times, now %u", loss_percent[i],
                     (unsigned)counts()->reduced, counts()->rate_bytes_per_s);
        cr_assert_eq(counts()->rate_bytes_per_s, BUDGET);
        rig_close();
    }
}

/* A line that drops what it cannot carry at once gives no other sign. */
Test(replicate_rate, half_of_all_lost_slows_down_to_a_quarter_at_most)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 7, 1);
    open_path((struct arb_link){.delay_us = 40000, .loss_ppm = 600000}, 1);
    run(&rng, 60);
    cr_assert_gt(counts()->reduced, 0);
    cr_assert_lt(counts()->rate_bytes_per_s, BUDGET / 2);
    cr_assert_gt(counts()->rate_bytes_per_s, BUDGET / 8);
    rig_close();
}

Test(replicate_rate, longer_path_is_believed_after_a_while_and_the_rate_returns)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 8, 1);
    open_path((struct arb_link){.delay_us = 20000}, 1);
    run(&rng, 30);
    cr_assert_eq(counts()->rate_bytes_per_s, BUDGET);
    path.up_us += 300000;
    run(&rng, 25);
    uint64_t reduced = counts()->reduced;
    uint32_t rate = counts()->rate_bytes_per_s;
    cr_assert_gt(reduced, 0);
    cr_assert_geq(rate, 4096, "there is a floor");
    run(&rng, 60);
    cr_assert_eq(counts()->reduced, reduced);
    cr_assert_gt(counts()->rate_bytes_per_s, rate + BUDGET / 4);
    rig_close();
}

Test(replicate_rate, new_session_begins_with_the_whole_budget)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 9, 1);
    open_path((struct arb_link){.delay_us = 40000, .rate_kbps = 128}, 1);
    run(&rng, 20);
    cr_assert_lt(counts()->rate_bytes_per_s, BUDGET);
    replicate_reset(rig.replicate, RIG_CLIENT);
    cr_assert_eq(counts()->rate_bytes_per_s, BUDGET);
    cr_assert_eq(counts()->reduced, 0);
    rig_close();
}
