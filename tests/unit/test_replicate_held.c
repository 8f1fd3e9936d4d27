/* What the server remembers of what each client holds, and the same under loss: whatever arrives,
 * client and server agree on every frame. */
#include "server/replicate/replicate_internal.h"
#include "tests/unit/replicate_rig.h"

Test(replicate_held, held_frames_are_the_acknowledged_ones_up_to_that_id)
{
    rig_open(&rig_schema, 65536, 1150);
    rig_add(1, 0, 1.0F, 0.0F);
    rig_add(9, 0, 3.0F, 0.0F);
    for (int n = 0; n < 70; n++) {
        rig.mute = n == 67;
        cr_assert(rig_send());
        if (n == 9) rig_add(12, 0, 3.0F, 0.0F);
    }
    static struct arb_held held;
    static const struct {
        uint16_t asked;
        uint32_t answer, count, first, last;
    } rows[] = {
        {70, 70, 63, 7, 70},                      /* all of the ring but 68 */
        {66, 66, 60, 7, 66},  {68, 0, 61, 7, 67}, /* 68 was never acknowledged */
        {8, 8, 2, 7, 8},      {6, 0, 0, 0, 0},    /* out of the ring */
        {71, 0, 63, 7, 70},                       /* never sent */
        {0xFFFF, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_assert_eq(replicate_held(rig.replicate, RIG_CLIENT, rows[i].asked, &held),
                     rows[i].answer, "row %zu", i);
        cr_assert_eq(held.count, rows[i].count, "row %zu: %u", i, held.count);
        for (uint32_t f = 0; f < held.count; f++) {
            const struct arb_held_frame *frame = &held.frames[f];
            cr_assert(f == 0 || held.frames[f - 1].id < frame->id);
            cr_assert_neq(frame->id, 68);
            cr_assert_eq(frame->tick, 1000 + RIG_INTERVAL * (arb_tick)frame->id);
            cr_assert_eq(frame->count, frame->id <= 10 ? 2 : 3);
            cr_assert_eq(frame->entries[1].key.id, 9);
            cr_assert_eq(frame->entries[1].age, 0);
        }
        if (held.count == 0) continue;
        cr_assert_eq(held.frames[0].id, rows[i].first);
        cr_assert_eq(held.frames[held.count - 1].id, rows[i].last);
    }
    rig_close();
}

Test(replicate_held, held_ids_go_over_the_wrap)
{
    rig_open(&rig_schema, 65536, 1150);
    static struct arb_held held;
    for (uint32_t id = 1; id < 66000; id++) {
        cr_assert(rig_send());
        if (id % 1000 > 70) continue;
        uint32_t asked = id > 5 ? id - 5 : id;
        cr_assert_eq(replicate_held(rig.replicate, RIG_CLIENT, (uint16_t)asked, &held), asked);
    }
    rig_close();
}

static const struct arb_held_entry *low, *high; /* of all that was remembered */

/* So many are in view with each of 5,000 snapshots; returns the most of them. */
static uint32_t expect_remembered(uint32_t (*in_view)(uint32_t id))
{
    static struct arb_held held;
    uint32_t counts[REPLICATE_RING] = {0}, most = 0;
    for (uint16_t i = 0; i < 240; i++) {
        rig_add((uint16_t)(i + 1), 0, 1.0F, 0.0F);
    }
    for (uint32_t id = 1; id <= 5000; id++) {
        rig.frame.entity_count = in_view(id);
        if (rig.frame.entity_count > most) most = rig.frame.entity_count;
        counts[id % REPLICATE_RING] = rig.frame.entity_count;
        cr_assert(rig_send());
        cr_assert_eq(replicate_held(rig.replicate, RIG_CLIENT, rig.header.id, &held), id);
        cr_assert_eq(held.count, id < REPLICATE_RING ? id : REPLICATE_RING);
        for (uint32_t f = 0; f < held.count; f++) {
            const struct arb_held_frame *frame = &held.frames[f];
            cr_assert_eq(frame->count, counts[frame->id % REPLICATE_RING]);
            for (uint32_t i = 0; i < frame->count; i++) {
                cr_assert_eq(frame->entries[i].key.id, i + 1);
            }
            const struct arb_held_entry *end = frame->entries + frame->count;
            low = low == NULL || frame->entries < low ? frame->entries : low;
            high = high == NULL || end > high ? end : high;
        }
    }
    return most;
}

/* Grows and shrinks slowly, so that frames do not fit where older ones were. */
static uint32_t few_in_view(uint32_t id)
{
    return 20 + id / 7 % 30 + id * 7919 % 3;
}

Test(replicate_held, remembered_entries_of_some_dozens_lie_close_together)
{
    rig_open(&rig_schema, 1000000, 1150);
    uint32_t most = expect_remembered(few_in_view);
    cr_assert_eq(most, 51);
    cr_assert_leq(high - low, REPLICATE_ENTRIES);
    rig_close();
}

/* From where all fits the first part of the ring to where hardly one frame does. */
static uint32_t many_in_view(uint32_t id)
{
    uint32_t wave = id % 200;
    return 20 + (wave < 100 ? wave : 200 - wave);
}

Test(replicate_held, remembered_entries_stay_when_more_are_in_view_than_lie_close_together)
{
    rig_open(&rig_schema, 1000000, 1150);
    cr_assert_eq(expect_remembered(many_in_view), 120);
    cr_assert_gt(high - low, REPLICATE_ENTRIES);
    rig_close();
}

/* ---- loss ---- */

static struct arb_rng dice;

static bool chance(uint32_t percent)
{
    return arb_rng_below(&dice, 100) < percent;
}

/* Dots and snakes move, stand, come into view and leave, die and come back as others. */
static void change_world(void)
{
    for (uint32_t i = 0; i < rig.frame.entity_count; i++) {
        struct arb_published *entity = &rig.entities[i];
        if (chance(2)) rig.hidden[i] = !rig.hidden[i];
        if (chance(1)) entity->key.generation++;
        if (entity->key.generation == 0) entity->key.generation = 1;
        if (entity->kind == 2 || chance(30)) continue;
        entity->q[0] += (int32_t)arb_rng_below(&dice, 41) - 20;
        entity->q[1] += (int32_t)arb_rng_below(&dice, 41) - 20;
        entity->q[2] = (int32_t)arb_rng_below(&dice, 1 << 20);
        struct arb_point *points = rig.points + entity->body_first;
        for (uint32_t p = entity->body_count; p > 1; p--) {
            points[p - 1] = points[p - 2];
        }
        if (entity->body_count > 0) points[0] = (struct arb_point){entity->q[0], entity->q[1]};
    }
}

static void build_world(uint32_t count)
{
    for (uint16_t i = 0; i < count; i++) {
        struct arb_published *entity =
            rig_add((uint16_t)(i + 1), (uint8_t)(i % 3), (float)(i % 100), (float)(i % 7));
        if (entity->kind == 1) rig_add_body(entity, 10 + i % 20);
    }
}

struct losses {
    const char *name;
    uint32_t entities;
    uint32_t budget, payload;
    float far_m;
    uint32_t down, up; /* % of snapshots and of acknowledgements that are lost */
    uint32_t lag;      /* snapshots until an acknowledgement arrives */
};

static void check_known(const struct arb_held *known)
{
    for (uint32_t i = 0; i < known->count; i++) {
        const struct arb_held_frame *frame = &known->frames[i];
        const struct rig_held *held = &rig.held[frame->id % ARB_HELD_FRAMES];
        cr_assert_eq(held->id, frame->id);
        cr_assert_eq(held->frame.tick, frame->tick);
        cr_assert_eq(held->frame.entity_count, frame->count);
        cr_assert_eq(memcmp(held->entries, frame->entries, frame->count * sizeof *frame->entries),
                     0);
    }
}

static void play(const struct losses *losses)
{
    static struct arb_held known;
    rig_open_with(&(struct rig_options){&rig_schema, losses->budget, losses->payload, losses->far_m,
                                        2, false});
    rig.mute = true;
    rig.other = true;
    rig.client.controlled = (struct arb_key){1, 1};
    build_world(losses->entities);
    uint16_t waiting[64] = {0}; /* acknowledgements under way, by snapshot modulo */
    for (uint32_t n = 0; n < 3000; n++) {
        change_world();
        rig.client.controlled = rig.entities[0].key;
        bool arrives = rig_send_only() && !chance(losses->down);
        if (arrives) {
            rig_commit();
            rig_check_frame(rig.got);
            for (uint32_t i = 0; i < rig.got->frame.entity_count; i++) {
                cr_assert_lt(rig.got->entries[i].age, 48 * RIG_INTERVAL);
            }
        }
        waiting[n % 64] = arrives && !chance(losses->up) ? rig.header.id : 0;
        uint16_t due = waiting[(n + 64 - losses->lag) % 64];
        if (due != 0) replicate_ack(rig.replicate, RIG_CLIENT, due, 0, rig.frame.tick);
        waiting[(n + 64 - losses->lag) % 64] = 0;
        uint32_t acked = replicate_newest_acked(rig.replicate, RIG_CLIENT);
        if (acked == 0) continue;
        cr_assert_eq(replicate_held(rig.replicate, RIG_CLIENT, (uint16_t)acked, &known), acked);
        check_known(&known);
    }
    const struct replicate_counts *counts = replicate_counts(rig.replicate, RIG_CLIENT);
    cr_assert_leq(counts->full, 5 + losses->lag, "%s: %u full ones", losses->name,
                  (unsigned)counts->full);
    cr_assert_eq(counts->bad_acks, 0);
    rig_close();
}

Test(replicate_held, client_and_server_agree_on_every_frame_whatever_is_lost)
{
    static const struct losses rows[] = {
        {"no loss", 60, 1000000, 1150, 0.0F, 0, 0, 0},
        {"late acknowledgements", 60, 1000000, 1150, 0.0F, 0, 0, 9},
        {"far ones less often", 60, 1000000, 1150, 40.0F, 5, 5, 3},
        {"loss 20 %", 60, 1000000, 1150, 0.0F, 20, 20, 5},
        {"loss 60 %", 60, 1000000, 1150, 0.0F, 60, 60, 5},
        {"short of budget", 100, 20000, 1150, 0.0F, 0, 0, 3},
        {"short of budget, loss 20 %", 100, 20000, 1150, 30.0F, 20, 20, 5},
        {"a crowd in one datagram", 250, 1000000, 500, 0.0F, 5, 5, 3},
        {"small datagrams, loss 20 %", 100, 1000000, 300, 0.0F, 20, 20, 9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        arb_rng_seed(&dice, 11, i);
        play(&rows[i]);
    }
}
