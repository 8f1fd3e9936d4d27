/* The frames that the client keeps of the snapshots: which, where, and what may become one. */
#include "shared/client/arb_client_history.h"

#include "shared/base/arb_rng.h"

#include <criterion/criterion.h>
#include <string.h>

enum { ENTITIES = 40, POINTS = 64 };

static struct arb_published entities[ARB_HISTORY_PLACES * ENTITIES];
static struct arb_held_entry entries[ARB_HISTORY_PLACES * ENTITIES];
static struct arb_point points[ARB_HISTORY_PLACES * POINTS];
static struct arb_history history;

static void open_history(void)
{
    arb_history_init(&history, entities, entries, ENTITIES, points, POINTS);
}

/* A snapshot in the free place with entities (first, generation), (first + 1, generation), ...
 * whose x is the tick. */
static struct arb_history_slot *receive(uint32_t id, arb_tick tick, uint16_t first,
                                        uint16_t generation, uint32_t count)
{
    struct arb_history_slot *slot = arb_history_next(&history);
    cr_assert_eq(slot->frame.entity_count, 0);
    slot->id = id;
    slot->frame.tick = tick;
    slot->frame.entity_count = count;
    slot->frame.point_count = count;
    memset(slot->frame.entities, 0, ENTITIES * sizeof *slot->frame.entities);
    for (uint32_t i = 0; i < count; i++) {
        struct arb_published *entity = &slot->frame.entities[i];
        entity->key = (struct arb_key){(uint16_t)(first + i), generation};
        entity->q[ARB_CHARACTER_X] = (int32_t)tick;
        entity->body_count = 1;
        entity->body_first = i;
        slot->entries[i] = (struct arb_held_entry){.key = entity->key};
        slot->frame.points[i] = (struct arb_point){(int32_t)tick, (int32_t)i};
    }
    return slot;
}

static void commit(uint32_t id, arb_tick tick, uint16_t first, uint16_t generation, uint32_t count)
{
    struct arb_history_slot *slot = receive(id, tick, first, generation, count);
    cr_assert(arb_history_accepts(&history, &slot->frame, true));
    arb_history_commit(&history);
}

static void check_whole(const struct arb_history_slot *slot)
{
    for (uint32_t i = 0; i < slot->frame.entity_count; i++) {
        const struct arb_published *entity = &slot->frame.entities[i];
        cr_assert_eq(entity->q[ARB_CHARACTER_X], (int32_t)slot->frame.tick);
        cr_assert_eq(slot->frame.points[entity->body_first].x, (int32_t)slot->frame.tick);
        cr_assert(arb_key_equal(slot->entries[i].key, entity->key));
    }
}

Test(client_history, sixty_four_newest_ids_are_kept_whole)
{
    open_history();
    cr_assert_null(arb_history_newest(&history));
    for (uint32_t i = 0; i < 1000; i++) {
        commit(0xFFF0 + i, 100 + 2 * (arb_tick)i, 5, 1, i % (ENTITIES + 1));
        uint32_t kept = i + 1 < ARB_HELD_FRAMES ? i + 1 : ARB_HELD_FRAMES;
        cr_assert_eq(history.count, kept);
        cr_assert_eq(history.held.count, kept);
        for (uint32_t frame = 0; frame < kept; frame++) {
            const struct arb_history_slot *slot = arb_history_at(&history, frame);
            const struct arb_held_frame *held = &history.held.frames[frame];
            cr_assert_eq(slot->id, 0xFFF0 + i - (kept - 1 - frame));
            cr_assert_eq(held->id, slot->id);
            cr_assert_eq(held->tick, slot->frame.tick);
            cr_assert_eq(held->count, slot->frame.entity_count);
            cr_assert_eq(held->entries, slot->entries);
            check_whole(slot);
        }
    }
}

Test(client_history, frame_64_ids_back_is_no_longer_held_however_few_came_since)
{
    open_history();
    commit(100, 200, 1, 1, 2);
    commit(110, 220, 1, 1, 2);
    commit(163, 326, 1, 1, 2);
    cr_assert_eq(history.count, 3, "100 is 63 ids back");
    cr_assert_eq(arb_history_index(&history, 100), 0);
    commit(164, 328, 1, 1, 2);
    cr_assert_eq(history.count, 3);
    cr_assert_eq(arb_history_index(&history, 100), history.count);
    cr_assert_eq(arb_history_index(&history, 110), 0);
    commit(400, 800, 1, 1, 2);
    cr_assert_eq(history.count, 1);
    check_whole(arb_history_newest(&history));
}

Test(client_history, what_is_received_and_not_committed_changes_no_frame)
{
    open_history();
    for (uint32_t i = 0; i < 70; i++) {
        commit(i, i, 1, 1, 7);
        receive(i + 1, 9999, 3, 2, ENTITIES);
        for (uint32_t frame = 0; frame < history.count; frame++) {
            check_whole(arb_history_at(&history, frame));
        }
    }
}

Test(client_history, group_that_goes_back_is_refused_and_one_of_the_same_tick_replaces)
{
    open_history();
    commit(1, 124, 1, 1, 1);
    commit(2, 128, 1, 1, 1);
    cr_assert_not(arb_history_accepts(&history, &receive(3, 127, 1, 1, 1)->frame, true));
    cr_assert_eq(history.count, 2);
    commit(4, 128, 1, 1, 2);
    cr_assert_eq(history.count, 2, "128 again replaces");
    cr_assert_eq(arb_history_newest(&history)->frame.entity_count, 2);
    cr_assert_eq(arb_history_index(&history, 2), history.count);
    cr_assert_eq(history.held.frames[1].id, 4);
    commit(5, 130, 1, 1, 3);
    cr_assert_eq(arb_history_index(&history, 4), 1);
    check_whole(arb_history_at(&history, 1));
}

Test(client_history, older_generation_is_refused)
{
    open_history();
    commit(1, 128, 42, 4, 1);
    cr_assert_not(arb_history_accepts(&history, &receive(2, 130, 42, 3, 1)->frame, true));
    cr_assert(arb_history_accepts(&history, &receive(2, 130, 42, 5, 1)->frame, true));
    cr_assert(arb_history_accepts(&history, &receive(2, 130, 41, 1, 1)->frame, true));
    cr_assert(arb_history_accepts(&history, &receive(2, 130, 42, 3, 1)->frame, false),
              "what was not settled may never have been");
}

/* Sizes that change as they like: all held frames stay whole, and what they take stays close to
 * what they are. */
Test(client_history, frames_lie_close_together_and_never_upon_each_other)
{
    struct arb_rng rng;
    arb_rng_seed(&rng, 3, 1);
    open_history();
    size_t top = 0, sum_most = 0;
    uint32_t id = 0;
    for (uint32_t n = 0; n < 20000; n++) {
        id += arb_rng_below(&rng, 20) == 0 ? 1 + arb_rng_below(&rng, 70) : 1;
        uint32_t most = n / 500 % 2 == 0 ? 6 : ENTITIES + 1;
        uint32_t count = arb_rng_below(&rng, most);
        /* Now and then of the tick of the one before, which it replaces. */
        arb_tick tick = 1000 + n - (arb_rng_below(&rng, 10) == 0);
        if (arb_history_newest(&history) != NULL && tick < arb_history_newest(&history)->frame.tick)
            tick = arb_history_newest(&history)->frame.tick;
        commit(id, tick, 1, 1, count);
        size_t sum = 0;
        for (uint32_t i = 0; i < history.count; i++) {
            const struct arb_history_slot *slot = arb_history_at(&history, i);
            check_whole(slot);
            sum += slot->frame.entity_count;
            if (n < 500 && slot->first + slot->frame.entity_count > top) {
                top = slot->first + slot->frame.entity_count;
            }
        }
        if (n < 500 && sum > sum_most) sum_most = sum;
    }
    cr_assert_leq(top, 4 * sum_most, "%zu of %zu", top, sum_most);
}

/* All as large as can be: still 64. */
Test(client_history, the_largest_frames_have_room)
{
    open_history();
    for (uint32_t id = 1; id <= 300; id++) {
        commit(id, 1000 + id, 1, 1, ENTITIES);
        cr_assert_eq(history.count, id < ARB_HELD_FRAMES ? id : ARB_HELD_FRAMES);
        for (uint32_t i = 0; i < history.count; i++) {
            check_whole(arb_history_at(&history, i));
        }
    }
}
