/* Snapshots that are differences: what the client has after them, what it does with one that it
 * cannot read, and what it draws of entities that some of them leave out. */
#include "shared/base/arb_math.h"
#include "shared/base/arb_rng.h"
#include "shared/client/arbiter_client_internal.h"
#include "shared/move/arb_move.h"
#include "tests/support/fake_player.h"

#include <criterion/criterion.h>
#include <string.h>

#define S 1000000ULL /* of the virtual clock, in microseconds */

/* ---- what it has ---- */

static void check_entity(const struct fake_sent *sent, const struct arb_history_slot *slot,
                         uint32_t i)
{
    const struct arb_published *expected = &sent->entities[i];
    const struct arb_published *entity = &slot->frame.entities[i];
    cr_assert(arb_key_equal(entity->key, expected->key));
    cr_assert_eq(entity->kind, expected->kind);
    cr_assert_arr_eq(entity->q, expected->q, sizeof entity->q);
    cr_assert_arr_eq(&slot->entries[i], &sent->entries[i], sizeof slot->entries[i]);
    cr_assert_eq(entity->body_count, expected->body_count);
    cr_assert_arr_eq(slot->frame.points + entity->body_first, sent->points + expected->body_first,
                     entity->body_count * sizeof *sent->points);
}

struct compared {
    struct fake_server *fake;
    uint32_t last;
    uint32_t frames, carried;
};

/* Each frame that it has committed since, against what the server meant it to have. */
static void compare(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    (void)view;
    struct compared *compared = user;
    const struct arb_history *history = &client->snapshots.history;
    for (uint32_t i = 0; i < history->count; i++) {
        const struct arb_history_slot *slot = arb_history_at(history, i);
        if (slot->id <= compared->last) {
            continue;
        }
        compared->last = slot->id;
        compared->frames++;
        const struct fake_sent *sent = &compared->fake->sent[slot->id % FAKE_SENT];
        cr_assert_eq(sent->id, (uint16_t)slot->id);
        cr_assert_eq(slot->frame.tick, sent->frame.tick);
        cr_assert_eq(slot->frame.entity_count, sent->frame.entity_count);
        for (uint32_t e = 0; e < sent->frame.entity_count; e++) {
            check_entity(sent, slot, e);
            compared->carried += slot->entries[e].age > 0;
        }
        cr_assert_eq(slot->has_own, sent->has_own);
        cr_assert(arb_key_equal(slot->controlled, sent->controlled));
        if (sent->has_own) {
            cr_assert_arr_eq(&slot->own, &sent->own, sizeof sent->own);
        }
    }
}

static struct compared run_compared(const struct fake_options *options)
{
    struct fake_server *fake = fake_create(options);
    struct arbiter_client *client = fake_join(fake);
    struct compared compared = {.fake = fake};
    struct walker walker = walker_open(fake, options->seed);
    uint64_t now = 0;
    for (uint32_t i = 0; i < 60; i++) {
        fake->thin = i % 4;
        fake->first_mover_gone = i % 3 == 1;
        fake->no_character = i % 10 == 7;
        fake->key.generation = (uint16_t)(fake->key.generation + (i % 10 == 8));
        fake->control = (uint8_t)(fake->control + (i % 10 == 7 || i % 10 == 8));
        for (uint64_t until = now + S / 4; now < until; now += S / 60) {
            struct arbiter_view view;
            fake_advance(fake, now);
            arbiter_client_poll(client, now * 1000);
            arbiter_client_sample(client, now * 1000, &view);
            walker_walk(&walker, client, &view);
            compare(&compared, client, &view);
        }
    }
    struct arbiter_statistics figures = fake_figures(client);
    cr_assert_eq(figures.bad_messages, 0);
    cr_assert_eq(figures.snapshots_undecodable, 0);
    cr_assert_gt(fake->deltas, 300);
    walker_close(&walker);
    arbiter_client_destroy(client);
    fake_destroy(fake);
    return compared;
}

Test(client_delta, frames_are_what_the_server_meant_whatever_is_lost)
{
    static const struct fake_options networks[] = {
        {.seed = 51, .movers = 20},
        {.seed = 52,
         .up = {.delay_us = 50000, .loss_ppm = 200000},
         .down = {.delay_us = 50000,
                  .jitter_us = 30000,
                  .loss_ppm = 200000,
                  .reorder_ppm = 200000,
                  .duplicate_ppm = 100000},
         .movers = 20},
        {.seed = 53,
         .up = {.delay_us = 30000},
         .down = {.delay_us = 30000, .jitter_us = 8000, .loss_ppm = 50000},
         .movers = 12,
         .serpent = true,
         .chunk_payload = 100},
    };
    for (size_t i = 0; i < sizeof networks / sizeof networks[0]; i++) {
        struct compared compared = run_compared(&networks[i]);
        cr_assert_gt(compared.frames, 200, "network %zu: %u", i, compared.frames);
        cr_assert_gt(compared.carried, 1000, "network %zu: %u", i, compared.carried);
    }
}

/* ---- what it cannot read ---- */

Test(client_delta, snapshot_against_one_that_it_lacks_changes_nothing_and_is_counted)
{
    struct fake_server *fake = fake_create(&(struct fake_options){.seed = 54, .movers = 5});
    struct arbiter_client *client = fake_join(fake);
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    fake->withhold = true;
    fake_send_snapshot(fake, fake->tick - 1);
    fake_acknowledge(fake, (uint16_t)(fake->next_snapshot - 1));
    fake->withhold = false;
    fake->hold_snapshots = true;
    for (uint64_t now = 2 * S; now < 2 * S + S / 5; now += 1000) {
        fake_advance(fake, now);
        arbiter_client_poll(client, now * 1000);
    }
    struct arbiter_statistics before = fake_figures(client);
    uint32_t held = client->snapshots.history.count;
    uint16_t acked = client->snapshots.header.id;
    fake_send_snapshot(fake, fake->tick - 1);
    fake_run(fake, client, 2 * S + S / 2, 60, NULL, NULL);
    struct arbiter_statistics after = fake_figures(client);
    cr_assert_eq(after.snapshots_undecodable, before.snapshots_undecodable + 1);
    cr_assert_eq(after.bad_messages, 0, "the server did nothing wrong");
    cr_assert_eq(after.snapshots, before.snapshots);
    cr_assert_eq(client->snapshots.history.count, held);
    cr_assert_eq(client->snapshots.header.id, acked, "nor is it acknowledged");

    fake->has_acked = false;
    fake->hold_snapshots = false;
    fake_run(fake, client, 4 * S, 60, NULL, NULL);
    after = fake_figures(client);
    cr_assert_gt(after.snapshots, before.snapshots + 40, "a full one, and on from there");
    cr_assert_eq(after.snapshots_undecodable, before.snapshots_undecodable + 1);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

Test(client_delta, damaged_snapshot_changes_nothing)
{
    struct fake_server *fake =
        fake_create(&(struct fake_options){.seed = 55, .movers = 20, .serpent = true});
    struct arbiter_client *client = fake_join(fake);
    struct compared compared = {.fake = fake};
    struct arb_rng rng;
    arb_rng_seed(&rng, 55, 1);
    fake_run(fake, client, 2 * S, 60, compare, &compared);
    for (uint32_t i = 0; i < 40; i++) {
        uint8_t payload[64];
        for (size_t b = 0; b < sizeof payload; b++) {
            payload[b] = (uint8_t)arb_rng_next(&rng);
        }
        const struct arb_history *history = &client->snapshots.history;
        const struct arb_history_slot *newest = arb_history_newest(history);
        struct arb_chunk chunk = {
            .header = {.id = (uint16_t)(newest->id + 1),
                       .tick = (uint16_t)(newest->frame.tick + 2),
                       .confirmed_tick = (uint16_t)(newest->frame.tick + 2),
                       .baseline = (uint8_t)(i % 2),
                       .buffer_ticks = ARB_CLIENT_NO_MEASURE,
                       .control = fake->control,
                       .chunk_count = 1},
            .payload = payload,
            .payload_bytes = (uint16_t)(1 + arb_rng_below(&rng, sizeof payload)),
        };
        uint8_t bytes[ARB_MESSAGE_BYTES_MAX];
        size_t size = arb_chunk_encode(&chunk, bytes, sizeof bytes);
        uint64_t bad = client->statistics.bad_snapshots;
        uint32_t newest_id = newest->id;
        arb_client_chunk(client, bytes, size, client->now_ns);
        cr_assert_eq(client->statistics.bad_snapshots, bad + 1, "damage %u", i);
        cr_assert_eq(arb_history_newest(history)->id, newest_id);
        compared.last = 0;
        compare(&compared, client, NULL);
        fake->next_snapshot++; /* that id is dead here */
        fake_run(fake, client, 2 * S + (i + 1) * S / 20, 60, compare, &compared);
    }
    arbiter_client_destroy(client);
    fake_destroy(fake);
}

/* ---- what it draws of what is left out ---- */

struct pairs {
    struct fake_server *fake;
    uint32_t between, beyond, own_pair;
};

/* Newest tick not after `at`, and oldest after it, of which the client was given a state of it. */
static void given(const struct fake_server *fake, const struct arbiter_client *client,
                  struct arb_key key, double at, arb_tick *from, arb_tick *to)
{
    const struct arb_history *history = &client->snapshots.history;
    *from = *to = 0;
    for (uint32_t i = 0; i < history->count; i++) {
        const struct arb_history_slot *slot = arb_history_at(history, i);
        bool has = !fake_leaves_out(fake, (uint16_t)slot->id, key);
        if (has && (double)slot->frame.tick <= at) {
            *from = slot->frame.tick;
        } else if (has && *to == 0) {
            *to = slot->frame.tick;
        }
    }
}

static float quantised(float value)
{
    return arb_dequantise(arb_quantise(value, 1.0F / 512.0F, -(1 << 21), (1 << 21) - 1),
                          1.0F / 512.0F);
}

static void check_pairs(void *user, struct arbiter_client *client, const struct arbiter_view *view)
{
    struct pairs *pairs = user;
    double span = (double)(view->time.to_tick - view->time.from_tick);
    double at = (double)view->time.from_tick +
                (double)view->time.fraction / 256.0 * (span > 0.0 ? span : 1.0);
    for (uint32_t i = 0; i < view->entity_count; i++) {
        const struct arbiter_entity *entity = &view->entities[i];
        struct arb_key key = {(uint16_t)(entity->key >> 16), (uint16_t)entity->key};
        uint32_t index = key.id - 30U - (key.id > FAKE_OWN_ID);
        arb_tick from, to;
        given(pairs->fake, client, key, at, &from, &to);
        if (entity->is_own) {
            continue;
        }
        struct arb_vec2 a = fake_mover(index, from), b = fake_mover(index, to);
        if (to == 0) {
            double ticks = at - (double)from;
            cr_assert_eq(entity->drawn, ticks > 4.0   ? ARBITER_FROZEN
                                        : ticks > 0.0 ? ARBITER_EXTRAPOLATED
                                                      : ARBITER_INTERPOLATED);
            double ahead = (ticks < 4.0 ? ticks : 4.0) * 3.0 / 60.0;
            cr_assert_float_eq((double)entity->x, (double)quantised(a.x) + ahead, 1e-4);
            pairs->beyond++;
            continue;
        }
        float part = (float)((at - (double)from) / (double)(to - from));
        struct arb_vec2 expected = arb_move_lerp((struct arb_vec2){quantised(a.x), 0.0F},
                                                 (struct arb_vec2){quantised(b.x), 0.0F}, part);
        cr_assert_eq(entity->drawn, ARBITER_INTERPOLATED);
        cr_assert_eq(entity->x, b.x < a.x ? quantised(a.x) : expected.x);
        pairs->between++;
        pairs->own_pair += from != view->time.from_tick || to != view->time.to_tick;
    }
}

Test(client_delta, entity_that_is_left_out_is_drawn_between_its_own_two_states)
{
    struct fake_server *fake = fake_create(&(struct fake_options){
        .seed = 56,
        .up = {.delay_us = 40000},
        .down = {.delay_us = 40000, .jitter_us = 20000, .loss_ppm = 30000},
        .movers = 30,
    });
    struct arbiter_client *client = fake_join(fake);
    struct pairs pairs = {.fake = fake};
    fake_run(fake, client, 2 * S, 60, NULL, NULL);
    fake->thin = 3;
    fake_run(fake, client, 5 * S, 60, NULL, NULL);
    fake_run(fake, client, 30 * S, 144, check_pairs, &pairs);
    cr_assert_gt(pairs.between, 50000, "%u", pairs.between);
    cr_assert_gt(pairs.own_pair, pairs.between / 2, "%u", pairs.own_pair);
    cr_assert_gt(pairs.beyond, 1000, "%u", pairs.beyond);
    arbiter_client_destroy(client);
    fake_destroy(fake);
}
