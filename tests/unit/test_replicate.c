/* What a snapshot says, the budget, and what the server remembers of it. */
#include "server/replicate/replicate.h"
#include "shared/base/arb_mem.h"
#include "tests/unit/replicate_rig.h"

Test(replicate, header_says_what_the_match_knows)
{
    rig_open(&rig_schema, 65536, 1150);
    rig.client.controlled = (struct arb_key){4, 2};
    rig_add(7, 0, 1.0F, 2.0F);
    cr_assert(rig_send());
    cr_assert_eq(rig.header.id, 1);
    cr_assert_eq(rig.header.baseline, 0);
    cr_assert_eq(rig.header.tick, 1002);
    cr_assert_eq(rig.header.last_sequence, 0x2345);
    cr_assert_eq(rig.header.buffer_ticks, 3);
    cr_assert_eq(rig.header.control, 9);
    cr_assert(arb_key_equal(rig.got->controlled, rig.client.controlled));
    rig.client.buffer_ticks = -1000;
    rig.client.controlled = ARB_KEY_NONE;
    cr_assert(rig_send());
    cr_assert_eq(rig.header.id, 2);
    cr_assert_eq(rig.header.baseline, 1);
    cr_assert_eq(rig.header.buffer_ticks, -128);
    cr_assert(arb_key_is_none(rig.got->controlled));
    rig_close();
}

Test(replicate, own_part_travels_exact)
{
    rig_open(&arb_schema_arena, 65536, 1150);
    rig.own = (struct arb_own){.x = 42.23F,
                               .y = -0.1F,
                               .vx = 1.0F / 3.0F,
                               .heading = 1.5F,
                               .fire_cooldown = 11,
                               .magazine = {7, 3, 0, 1},
                               .weapon = 1,
                               .weapons = 3};
    rig.client.own = &rig.own;
    rig.client.starved_ticks = 12;
    rig.client.outside_changes = 65537;
    for (int n = 0; n < 20; n++) {
        cr_assert(rig_send());
        cr_assert(rig.got->has_own);
        cr_assert_eq(memcmp(&rig.got->own, &rig.own, sizeof rig.own), 0);
        cr_assert_eq(rig.got->own_part.starved_ticks, rig.client.starved_ticks & 0xFFFF);
        cr_assert_eq(rig.got->own_part.outside_changes, rig.client.outside_changes & 0xFFFF);
        rig.own.x += 0.1F;
        rig.own.heading = -rig.own.heading / 3.0F;
        rig.own.fire_cooldown--;
        if (n % 5 == 0) rig.own.magazine[0]--;
        rig.client.starved_ticks += 1000U * (uint32_t)n;
    }
    rig.client.own = NULL;
    cr_assert(rig_send());
    cr_assert_not(rig.got->has_own);
    rig.client.own = &rig.own;
    cr_assert(rig_send());
    cr_assert_eq(memcmp(&rig.got->own, &rig.own, sizeof rig.own), 0);
    rig_close();
}

Test(replicate, only_what_is_visible_is_sent)
{
    rig_open(&rig_schema, 65536, 1150);
    rig_add(1, 0, 1.0F, 0.0F);
    rig_add(2, 0, 2.0F, 0.0F);
    rig_add(9, 0, 3.0F, 0.0F);
    rig.hidden[0] = rig.hidden[2] = true;
    cr_assert(rig_send());
    cr_assert_eq(rig.got->frame.entity_count, 1);
    cr_assert_eq(rig.got->entities[0].key.id, 2);
    cr_assert_eq(rig.got->entities[0].q[2], 2);
    rig.hidden[1] = true;
    rig.hidden[2] = false;
    cr_assert(rig_send());
    cr_assert_eq(rig.header.baseline, 1);
    cr_assert_eq(rig.got->frame.entity_count, 1);
    cr_assert_eq(rig.got->entities[0].key.id, 9);
    rig_close();
}

Test(replicate, another_generation_leaves_and_enters)
{
    rig_open(&rig_schema, 65536, 1150);
    static const uint16_t generations[] = {1, 2, 65535, 1};
    rig_add(42, 0, 1.0F, 0.0F);
    rig_add(43, 0, 1.0F, 0.0F);
    for (size_t i = 0; i < sizeof generations / sizeof generations[0]; i++) {
        rig.entities[0].key.generation = generations[i];
        rig.entities[0].q[3] = (int32_t)i;
        cr_assert(rig_send());
        rig_check_frame(rig.got);
        cr_assert_eq(rig.got->frame.entity_count, 2);
        cr_assert_eq(rig.got->entities[0].key.generation, generations[i]);
        cr_assert_eq(rig.got->entries[0].age, 0);
    }
    const struct replicate_kind_traffic *dots = &replicate_traffic(rig.replicate)->kinds[0];
    cr_assert_eq(dots->enters, 5);
    cr_assert_eq(dots->gone, 3);
    cr_assert_eq(dots->unchanged, 3);
    rig_close();
}

/* Snapshots that were lost: what moved and came back is unchanged against an older baseline too,
 * and what moved and stayed is not. */
Test(replicate, what_moved_is_told_whatever_it_was_since_the_baseline)
{
    rig_open(&rig_schema, 65536, 1150);
    rig_add(10, 2, 1.0F, 0.0F);
    rig_add(11, 2, 2.0F, 0.0F);
    rig_add(12, 2, 3.0F, 0.0F);
    cr_assert(rig_send());
    for (int n = 0; n < 40; n++) {
        rig.mute = n % 4 != 3;
        rig.entities[0].q[0] = n % 2;
        if (n % 7 == 0) rig.entities[1].q[1]++;
        cr_assert(rig_send());
        rig_check_frame(rig.got);
    }
    const struct replicate_kind_traffic *boxes = &replicate_traffic(rig.replicate)->kinds[2];
    cr_expect_gt(boxes->updates, 30);
    cr_expect_gt(boxes->unchanged, 60);
    rig_close();
}

Test(replicate, shows_what_the_newest_snapshot_has_and_nobody_with_a_similar_id)
{
    rig_open(&rig_schema, 65536, 1150);
    rig_add(3, 0, 1.0F, 0.0F);
    rig_add(200, 0, 1.0F, 0.0F);
    cr_expect_not(replicate_shows(rig.replicate, RIG_CLIENT, (struct arb_key){3, 1}), "none yet");
    cr_assert(rig_send());
    cr_expect(replicate_shows(rig.replicate, RIG_CLIENT, rig.entities[0].key));
    cr_expect(replicate_shows(rig.replicate, RIG_CLIENT, rig.entities[1].key));
    cr_expect_not(replicate_shows(rig.replicate, RIG_CLIENT, (struct arb_key){3, 2}));
    cr_expect_not(replicate_shows(rig.replicate, RIG_CLIENT, (struct arb_key){3 + 512, 1}));
    cr_expect_not(replicate_shows(rig.replicate, RIG_CLIENT, (struct arb_key){4, 1}));
    rig.hidden[0] = true;
    cr_assert(rig_send());
    cr_expect_not(replicate_shows(rig.replicate, RIG_CLIENT, rig.entities[0].key));
    replicate_reset(rig.replicate, RIG_CLIENT);
    cr_expect_not(replicate_shows(rig.replicate, RIG_CLIENT, rig.entities[1].key));
    rig_close();
}

Test(replicate, one_datagram_unless_one_entity_is_larger)
{
    rig_open(&rig_schema, 1000000, 200);
    for (uint16_t i = 0; i < 200; i++) {
        rig_add((uint16_t)(i + 1), 0, (float)i, 0.0F);
    }
    uint32_t sent = 0;
    do {
        cr_assert(rig_send());
        cr_assert_eq(rig.chunks, 1);
        sent++;
    } while (rig.got->frame.entity_count < 200);
    cr_assert_leq(sent, 40);
    rig_add_body(rig_add(250, 1, 1.0F, 0.0F), 100);
    cr_assert(rig_send());
    cr_assert_gt(rig.chunks, 1, "the body alone takes more than 200 bytes");
    cr_assert_eq(rig.got->frame.entity_count, 201);
    rig_check_frame(rig.got);
    cr_assert(rig_send());
    cr_assert_eq(rig.chunks, 1);
    const struct replicate_counts *counts = replicate_counts(rig.replicate, RIG_CLIENT);
    cr_assert_eq(counts->snapshots, sent + 2);
    cr_assert_eq(counts->full, 1);
    rig_close();
}

/* ---- rates ---- */

Test(replicate, far_entities_come_less_often_and_the_own_one_always)
{
    rig_open_with(&(struct rig_options){&rig_schema, 65536, 1150, 50.0F, 3, false});
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, 1);
    for (uint16_t i = 0; i < 30; i++) {
        rig_add((uint16_t)(i + 1), 0, i < 10 ? 10.0F : 60.0F, 0.0F);
    }
    rig.client.controlled = rig.entities[29].key;
    cr_assert(rig_send());
    cr_assert_eq(rig.got->frame.entity_count, 30, "who enters does not wait");
    uint32_t renewed[30] = {0};
    for (int n = 0; n < 30; n++) {
        rig_shake(&rng);
        cr_assert(rig_send());
        rig_check_frame(rig.got);
        cr_assert_eq(rig.got->frame.entity_count, 30);
        for (uint32_t i = 0; i < 30; i++) {
            cr_assert_lt(rig.got->entries[i].age, 3 * RIG_INTERVAL);
            renewed[i] += rig.got->entries[i].age == 0;
        }
    }
    for (uint32_t i = 0; i < 30; i++) {
        cr_assert_eq(renewed[i], i < 10 || i == 29 ? 30 : 10, "%u: %u", i, renewed[i]);
    }
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->deferred, 0);
    rig_close();
}

/* Just the snapshots in which the far entity has its turn are lost. */
Test(replicate, rates_yield_to_an_old_state)
{
    rig_open_with(&(struct rig_options){&rig_schema, 65536, 1150, 50.0F, 2, false});
    struct arb_rng rng;
    arb_rng_seed(&rng, 1, 1);
    rig_add(7, 0, 60.0F, 0.0F);
    rig.mute = true;
    uint32_t oldest = 0;
    for (int n = 0; n < 300; n++) {
        rig_shake(&rng);
        cr_assert(rig_send_only());
        if (rig.header.id % 2 == 1 && rig.header.id != 1) continue;
        rig_commit();
        rig_check_frame(rig.got);
        replicate_ack(rig.replicate, RIG_CLIENT, rig.header.id, 0, rig.frame.tick);
        if (rig.got->entries[0].age > oldest) oldest = rig.got->entries[0].age;
    }
    cr_assert(oldest > 2 * RIG_INTERVAL && oldest <= 26 * RIG_INTERVAL, "%u ticks", oldest);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->full, 1);
    rig_close();
}

/* ---- budget ---- */

/* Sends `snapshots` of ever changing dots and returns the oldest state of any, in snapshots, once
 * all are in view; *bytes is what was sent. */
static uint32_t longest_wait(uint32_t snapshots, uint64_t *bytes)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 3, 3);
    uint32_t longest = 0;
    uint32_t seen = 0;
    *bytes = 0;
    for (uint32_t n = 1; n <= snapshots; n++) {
        rig_shake(&rng);
        cr_assert(rig_send());
        cr_assert_eq(rig.chunks, 1);
        rig_check_frame(rig.got);
        *bytes += rig.bytes;
        cr_assert_geq(rig.got->frame.entity_count, seen, "none leaves");
        seen = rig.got->frame.entity_count;
        if (n < 40) continue;
        cr_assert_eq(seen, rig.frame.entity_count, "all are in view by then");
        for (uint32_t i = 0; i < seen; i++) {
            uint32_t wait = rig.got->entries[i].age / RIG_INTERVAL;
            if (wait > longest) longest = wait;
        }
    }
    return longest;
}

/* A third of what 200 changing dots need. */
#define SHORT_BUDGET (600 * (RIG_RATE / RIG_INTERVAL))

Test(replicate, none_starves_with_equal_weights)
{
    rig_open(&rig_schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint64_t bytes;
    uint32_t longest = longest_wait(300, &bytes);
    cr_assert(longest >= 2 && longest <= 5, "waited %u snapshots", longest);
    uint64_t allowed = (uint64_t)SHORT_BUDGET * 10 + SHORT_BUDGET;
    cr_assert(bytes <= allowed && bytes > allowed * 8 / 10, "%llu of %llu bytes",
              (unsigned long long)bytes, (unsigned long long)allowed);
    cr_assert_gt(replicate_counts(rig.replicate, RIG_CLIENT)->deferred, 0);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->dropped, 0);
    rig_close();
}

Test(replicate, none_starves_with_weights_ten_to_one_and_near_ones_come_more_often)
{
    rig_open(&rig_schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        rig_add((uint16_t)(i + 1), 0, i % 2 == 0 ? 1.0F : 100.0F, 0.0F);
    }
    uint64_t bytes;
    uint32_t longest = longest_wait(300, &bytes);
    cr_assert(longest <= 24, "waited %u snapshots", longest);
    uint32_t near = 0;
    uint32_t far = 0;
    struct arb_rng rng;
    arb_rng_seed(&rng, 4, 4);
    for (int n = 0; n < 40; n++) {
        rig_shake(&rng);
        cr_assert(rig_send());
        for (uint32_t i = 0; i < rig.got->frame.entity_count; i++) {
            bool renewed = rig.got->entries[i].age == 0;
            near += renewed && i % 2 == 0;
            far += renewed && i % 2 == 1;
        }
    }
    cr_assert(near > 2 * far, "%u near, %u far", near, far);
    rig_close();
}

Test(replicate, own_entity_is_in_every_snapshot)
{
    rig_open(&rig_schema, SHORT_BUDGET, 1150);
    for (uint16_t i = 0; i < 200; i++) {
        rig_add((uint16_t)(i + 1), 0, i == 150 ? 100.0F : 1.0F, 0.0F);
    }
    rig.client.controlled = rig.entities[150].key;
    struct arb_rng rng;
    arb_rng_seed(&rng, 4, 4);
    for (int n = 0; n < 100; n++) {
        rig_shake(&rng);
        cr_assert(rig_send());
        const struct arb_published *own = arb_frame_find(&rig.got->frame, rig.client.controlled);
        cr_assert_not_null(own);
        cr_assert_eq(rig.got->entries[own - rig.got->entities].age, 0);
    }
    rig_close();
}

Test(replicate, large_entity_gets_its_turn)
{
    rig_open(&rig_schema, 3000, 1150); /* 100 bytes a snapshot; the body alone takes some 2,800 */
    struct arb_rng rng;
    arb_rng_seed(&rng, 4, 4);
    rig_add_body(rig_add(1, 1, 100.0F, 0.0F), 400);
    for (uint16_t i = 1; i < 60; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint32_t times = 0;
    for (int n = 0; n < 30 * 60; n++) {
        rig_shake(&rng);
        rig.hidden[0] = n / 150 % 2 == 1; /* comes into view every ten seconds */
        if (!rig_send() || rig.hidden[0]) continue;
        times += rig.chunks > 1;
        if (n % 150 == 149) cr_assert_eq(rig.got->entities[0].key.id, 1);
    }
    cr_assert(times >= 6, "%u times in a minute", times);
    rig_close();
}

Test(replicate, short_budget_sends_fewer_but_useful_snapshots)
{
    rig_open(&rig_schema, 3000, 1150);
    struct arb_rng rng;
    arb_rng_seed(&rng, 4, 4);
    for (uint16_t i = 0; i < 150; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    do { /* the bucket is full at first */
        rig_shake(&rng);
    } while (rig_send());
    uint64_t bytes = 0;
    uint32_t sent = 0;
    uint64_t held = replicate_counts(rig.replicate, RIG_CLIENT)->held;
    for (int n = 0; n < 300; n++) {
        rig_shake(&rng);
        if (!rig_send()) continue;
        cr_assert_geq(rig.stream_size, 380, "%zu bytes", rig.stream_size);
        bytes += rig.bytes;
        sent++;
    }
    cr_assert(sent >= 50 && sent < 100, "%u snapshots", sent);
    cr_assert_leq(bytes, 3000 * 10 + 400);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->held - held, 300 - sent);
    rig_close();
}

Test(replicate, events_are_paid_first)
{
    rig_open(&rig_schema, SHORT_BUDGET, 1150);
    struct arb_rng rng;
    arb_rng_seed(&rng, 4, 4);
    for (uint16_t i = 0; i < 200; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    uint64_t snapshots = 0;
    uint64_t events = 0;
    for (int n = 0; n < 300; n++) {
        replicate_spend(rig.replicate, RIG_CLIENT, 200);
        events += 212;
        rig_shake(&rng);
        if (rig_send()) snapshots += rig.bytes;
    }
    uint64_t allowed = (uint64_t)SHORT_BUDGET * 10;
    cr_assert_leq(snapshots + events, allowed + SHORT_BUDGET);
    cr_assert_geq(snapshots + events, allowed * 8 / 10);
    rig_close();
}

Test(replicate, long_message_silences_for_a_second_at_most)
{
    rig_open(&rig_schema, 65536, 1150);
    rig_add(1, 0, 1.0F, 0.0F);
    cr_assert(rig_send());
    replicate_spend(rig.replicate, RIG_CLIENT, 3000000);
    int silent = 0;
    while (!rig_send()) {
        silent++;
        cr_assert_lt(silent, 40);
    }
    cr_assert_geq(silent, 29);
    rig_close();
}

/* ---- acknowledgements ---- */

Test(replicate, acknowledged_snapshots_are_marked_in_the_ring)
{
    rig_open(&rig_schema, 65536, 1150);
    rig.mute = true;
    cr_assert(rig_send());
    replicate_ack(rig.replicate, RIG_CLIENT, 1, 0, rig.frame.tick);
    for (int n = 1; n < 64; n++) {
        cr_assert(rig_send());
    }
    replicate_ack(rig.replicate, RIG_CLIENT, 49, 0, rig.frame.tick);
    for (int n = 64; n < 80; n++) {
        cr_assert(rig_send());
    }
    replicate_ack(rig.replicate, RIG_CLIENT, 80, 0x80000005U, rig.frame.tick); /* 80, 79, 77, 48 */
    static const struct {
        uint32_t id;
        bool acked;
    } rows[] = {{80, true}, {79, true}, {78, false}, {77, true}, {50, false}, {48, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct replicate_sent *sent = replicate_sent(rig.replicate, RIG_CLIENT, rows[i].id);
        cr_assert_not_null(sent);
        cr_assert_eq(sent->acked, rows[i].acked, "snapshot %u", rows[i].id);
        cr_assert_eq(sent->tick, 1000 + RIG_INTERVAL * (arb_tick)rows[i].id);
    }
    cr_assert_null(replicate_sent(rig.replicate, RIG_CLIENT, 16), "out of the ring");
    cr_assert_eq(replicate_newest_acked(rig.replicate, RIG_CLIENT), 80);
    replicate_ack(rig.replicate, RIG_CLIENT, 70, 0, rig.frame.tick);
    cr_assert_eq(replicate_newest_acked(rig.replicate, RIG_CLIENT), 80, "an older one is no newer");
    replicate_ack(rig.replicate, RIG_CLIENT, 3, 0, rig.frame.tick);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->bad_acks, 0);
    rig_close();
}

Test(replicate, acknowledging_what_was_never_sent_is_counted)
{
    rig_open(&rig_schema, 65536, 1150);
    rig.mute = true;
    replicate_ack(rig.replicate, RIG_CLIENT, 1, 0, rig.frame.tick);
    replicate_ack(rig.replicate, RIG_CLIENT, 0, 0, rig.frame.tick);
    cr_assert(rig_send());
    replicate_ack(rig.replicate, RIG_CLIENT, 1, 1, rig.frame.tick); /* 1 is right, 0 never was */
    replicate_ack(rig.replicate, RIG_CLIENT, 2, 0, rig.frame.tick);
    replicate_ack(rig.replicate, RIG_CLIENT, 0xFFFF, 0xFFFFFFFFU, rig.frame.tick);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->bad_acks, 5);
    cr_assert_eq(replicate_newest_acked(rig.replicate, RIG_CLIENT), 1);
    rig_close();
}

Test(replicate, ids_and_acknowledgements_go_over_the_wrap)
{
    rig_open(&rig_schema, 65536, 1150);
    rig.mute = true;
    rig_add(1, 0, 1.0F, 0.0F);
    for (uint32_t id = 0; id < 70000; id++) {
        rig.entities[0].q[2] = (int32_t)id;
        cr_assert(rig_send());
        cr_assert_eq(rig.header.id, (uint16_t)(id + 1));
        if (id % 7 == 0) {
            replicate_ack(rig.replicate, RIG_CLIENT, rig.header.id, 0, rig.frame.tick);
            cr_assert_eq(replicate_newest_acked(rig.replicate, RIG_CLIENT), id + 1);
        }
    }
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->bad_acks, 0);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->full, 1);
    rig_close();
}

Test(replicate, new_session_starts_afresh)
{
    rig_open(&rig_schema, 65536, 1150);
    for (int n = 0; n < 5; n++) {
        cr_assert(rig_send());
    }
    replicate_reset(rig.replicate, RIG_CLIENT);
    cr_assert_eq(replicate_newest_acked(rig.replicate, RIG_CLIENT), 0);
    cr_assert_null(replicate_sent(rig.replicate, RIG_CLIENT, 5));
    cr_assert(rig_send());
    cr_assert_eq(rig.header.id, 1);
    cr_assert_eq(rig.header.baseline, 0);
    cr_assert_eq(replicate_counts(rig.replicate, RIG_CLIENT)->snapshots, 1);
    rig_close();
}

/* ---- memory ---- */

/* A crowd that does not fit, bodies, enters and leaves, a lost snapshot now and then. */
Test(replicate, warm_tick_allocates_nothing)
{
    rig_open_with(&(struct rig_options){&rig_schema, 30000, 500, 50.0F, 2, false});
    struct arb_rng rng;
    arb_rng_seed(&rng, 5, 5);
    for (uint16_t i = 0; i < 200; i++) {
        rig_add((uint16_t)(i + 1), 0, (float)i, 0.0F);
    }
    rig_add_body(rig_add(250, 1, 1.0F, 0.0F), 300);
    rig.mute = true;
    rig.other = true;
    uint64_t before = 0;
    for (uint32_t n = 0; n < 400; n++) {
        if (n == 100) before = arb_mem_count();
        rig_shake(&rng);
        rig.hidden[arb_rng_below(&rng, 201)] = arb_rng_below(&rng, 3) == 0;
        if (!rig_send_only() || arb_rng_below(&rng, 5) == 0) continue;
        replicate_ack(rig.replicate, RIG_CLIENT, rig.header.id, 0, rig.frame.tick);
    }
    cr_assert_gt(before, 0);
    cr_assert_eq(arb_mem_count() - before, 0);
    cr_assert_gt(replicate_counts(rig.replicate, RIG_CLIENT)->deferred, 1000);
    rig_close();
}
