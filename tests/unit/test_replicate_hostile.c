/* Clients that never acknowledge, or nothing of use: full snapshots that become rare, then the
 * server gives up (spec/replication.md, issue "Bad input"). */
#include "server/replicate/replicate.h"
#include "tests/unit/replicate_rig.h"

enum { SECOND = RIG_RATE / RIG_INTERVAL };

static void crowd(uint32_t count)
{
    for (uint16_t i = 0; i < count; i++) {
        rig_add((uint16_t)(i + 1), 0, (float)i, 0.0F);
    }
}

Test(replicate_hostile, without_acknowledgements_full_snapshots_of_one_datagram_become_rare)
{
    rig_open(&rig_schema, 1000000, 300);
    crowd(200);
    rig.mute = true;
    uint32_t first[RIG_ENTITIES];
    uint32_t first_count = 0;
    uint32_t gap = 0;
    uint32_t longest = 0;
    uint32_t sent = 0;
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < 120 * SECOND && !replicate_in_vain(rig.replicate, RIG_CLIENT); n++) {
        gap++;
        if (!rig_send()) continue;
        sent++;
        bytes += rig.bytes;
        cr_assert_eq(rig.header.baseline, 0);
        cr_assert_eq(rig.chunks, 1);
        cr_assert_geq(gap, longest, "never more often again");
        if (sent <= 30) cr_assert_eq(gap, 1);
        if (gap > longest) longest = gap;
        gap = 0;
        /* The nearest ones, always the same. */
        if (sent == 1) first_count = rig.got->frame.entity_count;
        cr_assert_eq(rig.got->frame.entity_count, first_count);
        for (uint32_t i = 0; i < first_count; i++) {
            if (sent == 1) first[i] = rig.got->entities[i].key.id;
            cr_assert_eq(rig.got->entities[i].key.id, first[i]);
        }
    }
    cr_assert(replicate_in_vain(rig.replicate, RIG_CLIENT));
    cr_assert_eq(longest, SECOND, "a second apart in the end");
    cr_assert_eq(sent, 180);
    cr_assert_leq(bytes, 180 * 350);
    const struct replicate_counts *counts = replicate_counts(rig.replicate, RIG_CLIENT);
    cr_assert_eq(counts->full, 180);
    cr_assert_gt(counts->slowed, 500);
    rig_close();
}

Test(replicate_hostile, one_useful_acknowledgement_ends_the_slowness)
{
    rig_open(&rig_schema, 1000000, 1150);
    crowd(20);
    rig.mute = true;
    for (uint32_t n = 0; n < 20 * SECOND; n++) {
        rig_send();
    }
    cr_assert_not(replicate_in_vain(rig.replicate, RIG_CLIENT));
    rig.mute = false;
    while (!rig_send()) {
    }
    for (int n = 0; n < 100; n++) {
        cr_assert(rig_send());
        cr_assert_neq(rig.header.baseline, 0);
        cr_assert_eq(rig.chunks, 1);
    }
    rig_close();
}

/* Always one that the ring still has, and ones that it has no more. */
Test(replicate_hostile, acknowledging_everything_late_gets_old_baselines_or_full_ones)
{
    static const struct {
        uint32_t behind;
        bool useful;
    } rows[] = {{25, true}, {64, false}, {90, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig_open(&rig_schema, 1000000, 1150);
        struct arb_rng rng;
        arb_rng_seed(&rng, 1, i);
        crowd(20);
        rig.mute = true;
        for (uint32_t n = 0; n < 200 * SECOND; n++) {
            rig_shake(&rng);
            if (!rig_send()) continue;
            rig_check_frame(rig.got);
            uint32_t newest = replicate_newest_sent(rig.replicate, RIG_CLIENT);
            if (newest > rows[i].behind) {
                replicate_ack(rig.replicate, RIG_CLIENT, (uint16_t)(newest - rows[i].behind), 0,
                              rig.frame.tick);
            }
        }
        cr_assert_not(replicate_in_vain(rig.replicate, RIG_CLIENT), "it does hear us");
        const struct replicate_counts *counts = replicate_counts(rig.replicate, RIG_CLIENT);
        cr_assert_eq(counts->bad_acks, 0);
        if (rows[i].useful) {
            cr_assert_leq(counts->full, 80);
            cr_assert_eq(counts->slowed, 0);
        } else {
            cr_assert_eq(counts->full, counts->snapshots);
            cr_assert_leq(counts->full, 180 + 200, "a second apart in the end");
            cr_assert_geq(counts->full, 180 + 50);
        }
        rig_close();
    }
}

/* A round trip of 5 s while the ring reaches back 2.1 s, which later becomes one of 0.1 s. */
Test(replicate_hostile, a_line_longer_than_the_ring_lives_on_rare_full_snapshots)
{
    enum { LATE = 5 * SECOND, AT_LAST = 3 };
    static uint16_t said[300 * SECOND + LATE];
    rig_open(&rig_schema, 1000000, 1150);
    crowd(20);
    rig.mute = true;
    uint64_t sent_late = 0;
    for (uint32_t n = 0; n < 300 * SECOND; n++) {
        if (rig_send()) {
            cr_assert_eq(rig.header.baseline, 0);
            said[n + LATE] = rig.header.id;
            sent_late += n >= 200 * SECOND;
        }
        if (said[n] != 0) {
            replicate_ack(rig.replicate, RIG_CLIENT, said[n], 0, rig.frame.tick);
        }
        cr_assert_not(replicate_in_vain(rig.replicate, RIG_CLIENT), "after %u", n);
    }
    cr_assert_geq(sent_late, 95);
    cr_assert_leq(sent_late, 105, "one a second");
    uint32_t before = (uint32_t)replicate_counts(rig.replicate, RIG_CLIENT)->full;
    uint16_t fresh[2 * SECOND + AT_LAST] = {0};
    for (uint32_t n = 0; n < 2 * SECOND; n++) {
        if (rig_send()) fresh[n + AT_LAST] = rig.header.id;
        if (fresh[n] != 0) {
            replicate_ack(rig.replicate, RIG_CLIENT, fresh[n], 0, rig.frame.tick);
        }
    }
    cr_assert_neq(rig.header.baseline, 0);
    cr_assert_leq(replicate_counts(rig.replicate, RIG_CLIENT)->full - before, 2);
    rig_close();
}

Test(replicate_hostile, acknowledging_the_same_over_and_over_is_no_sign_of_life)
{
    rig_open(&rig_schema, 1000000, 1150);
    crowd(20);
    rig.mute = true;
    for (uint32_t n = 0; n < 200 * SECOND && !replicate_in_vain(rig.replicate, RIG_CLIENT); n++) {
        rig_send();
        replicate_ack(rig.replicate, RIG_CLIENT, 1, 0, rig.frame.tick);
    }
    cr_assert(replicate_in_vain(rig.replicate, RIG_CLIENT));
    rig_close();
}

Test(replicate_hostile, acknowledgements_of_what_was_never_sent_help_nobody)
{
    rig_open(&rig_schema, 1000000, 1150);
    crowd(20);
    rig.mute = true;
    uint32_t sent = 0;
    for (uint32_t n = 0; n < 200 * SECOND && !replicate_in_vain(rig.replicate, RIG_CLIENT); n++) {
        if (!rig_send()) continue;
        cr_assert_eq(rig.header.baseline, 0);
        replicate_ack(rig.replicate, RIG_CLIENT, (uint16_t)(rig.header.id + 1 + n % 100), 0,
                      rig.frame.tick);
        sent++;
    }
    cr_assert(replicate_in_vain(rig.replicate, RIG_CLIENT));
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->bad_acks, sent);
    rig_close();
}
