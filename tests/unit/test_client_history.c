/* What the client keeps of the snapshots, and where its view stands in them. */
#include "shared/client/arb_client_history.h"

#include <criterion/criterion.h>
#include <string.h>

#define TICK ((arb_fine)ARB_FINE_TICK)

enum { ENTITIES = 40, POINTS = 64 };

static struct arb_published store[ENTITIES];
static struct arb_point point_store[POINTS];

static struct arb_history opened(void)
{
    struct arb_history history;
    arb_history_init(&history, store, ENTITIES, point_store, POINTS);
    return history;
}

/* A frame with entities (first, generation), (first + 1, generation), ... whose x is the tick. */
static void add(struct arb_history *history, arb_tick tick, uint16_t first, uint16_t generation,
                uint32_t count)
{
    struct arb_published entities[ENTITIES];
    struct arb_point points[ENTITIES];
    memset(entities, 0, sizeof entities);
    for (uint32_t i = 0; i < count; i++) {
        entities[i].key = (struct arb_key){(uint16_t)(first + i), generation};
        entities[i].q[ARB_CHARACTER_X] = (int32_t)tick;
        entities[i].body_count = 1;
        entities[i].body_first = i;
        points[i] = (struct arb_point){(int32_t)tick, (int32_t)i};
    }
    struct arb_frame frame = {tick, count, count, entities, points};
    cr_assert(arb_history_accepts(history, &frame));
    arb_history_add(history, &frame);
}

Test(client_history, view_stands_between_two_snapshots_in_256ths)
{
    struct arb_history history = opened();
    struct arb_history_view view;
    cr_assert_not(arb_history_find(&history, 100 * TICK, &view), "nothing is held");
    add(&history, 100, 1, 1, 2);
    add(&history, 104, 1, 1, 2);
    static const struct {
        arb_fine at;
        bool found;
        uint32_t from, to, fraction;
    } cases[] = {
        {99 * TICK, false, 0, 0, 0},
        {100 * TICK, true, 0, 1, 0},
        {101 * TICK, true, 0, 1, 64},
        {101 * TICK + 100, true, 0, 1, 64},
        {104 * TICK - 1, true, 0, 1, 255},
        {104 * TICK, true, 1, 1, 0},
        {105 * TICK + TICK / 2, true, 1, 1, 384},
        {4000 * TICK, true, 1, 1, 65535},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool found = arb_history_find(&history, cases[i].at, &view);
        cr_assert_eq(found, cases[i].found, "case %zu", i);
        if (found) {
            cr_assert_eq(view.from, cases[i].from, "case %zu", i);
            cr_assert_eq(view.to, cases[i].to, "case %zu", i);
            cr_assert_eq(view.fraction, cases[i].fraction, "case %zu: %u", i, view.fraction);
            cr_assert_leq(view.at, cases[i].at);
        }
    }
}

Test(client_history, each_entity_has_its_own_pair)
{
    struct arb_history history = opened();
    struct arb_history_view view;
    struct arb_history_pair pair;
    add(&history, 100, 1, 1, 3);
    add(&history, 102, 1, 1, 2); /* 3 was left out */
    add(&history, 104, 1, 1, 3);
    arb_history_find(&history, 103 * TICK, &view);
    cr_assert(arb_history_pair(&history, &view, (struct arb_key){3, 1}, 6, &pair));
    cr_assert_eq(pair.from_tick, 100);
    cr_assert_eq(pair.to_tick, 104);
    cr_assert_eq(pair.from_points[0].x, 100);
    cr_assert_eq(pair.to_points[0].y, 2);
    cr_assert(arb_history_pair(&history, &view, (struct arb_key){1, 1}, 6, &pair));
    cr_assert_eq(pair.from_tick, 102);
    cr_assert_not(arb_history_pair(&history, &view, (struct arb_key){3, 1}, 2, &pair),
                  "not looked back that far");
    cr_assert_not(arb_history_pair(&history, &view, (struct arb_key){1, 2}, 6, &pair),
                  "another generation is another entity");
}

Test(client_history, entity_that_enters_later_has_no_state_yet)
{
    struct arb_history history = opened();
    struct arb_history_view view;
    struct arb_history_pair pair;
    add(&history, 100, 1, 1, 1);
    add(&history, 104, 1, 1, 2);
    arb_history_find(&history, 103 * TICK, &view);
    cr_assert_not(arb_history_pair(&history, &view, (struct arb_key){2, 1}, 6, &pair));
}

Test(client_history, group_that_goes_back_changes_nothing)
{
    struct arb_history history = opened();
    struct arb_published entity = {.key = {1, 1}};
    add(&history, 124, 1, 1, 1);
    add(&history, 128, 1, 1, 1);
    struct arb_frame older = {127, 1, 0, &entity, NULL};
    cr_assert_not(arb_history_accepts(&history, &older));
    struct arb_frame same = {128, 1, 0, &entity, NULL};
    cr_assert(arb_history_accepts(&history, &same));
    arb_history_add(&history, &same);
    cr_assert_eq(history.count, 2, "128 again replaces");
    cr_assert_eq(arb_history_frame(&history, 1).entities[0].q[ARB_CHARACTER_X], 0);
}

Test(client_history, older_generation_is_refused)
{
    struct arb_history history = opened();
    struct arb_published entity = {.key = {42, 3}};
    struct arb_frame late = {130, 1, 0, &entity, NULL};
    add(&history, 128, 42, 4, 1);
    cr_assert_not(arb_history_accepts(&history, &late));
    entity.key.generation = 5;
    cr_assert(arb_history_accepts(&history, &late));
}

Test(client_history, oldest_frames_make_room_and_the_rest_stays_whole)
{
    struct arb_history history = opened();
    for (arb_tick tick = 0; tick < 2000; tick += 2) {
        uint32_t count = (uint32_t)(tick / 2 % 13);
        add(&history, tick, 5, 1, count);
        cr_assert_gt(history.count, 0);
        for (uint32_t i = 0; i < history.count; i++) {
            struct arb_frame frame = arb_history_frame(&history, i);
            cr_assert_eq(frame.tick, tick - 2 * (history.count - 1 - i));
            cr_assert_eq(frame.entity_count, frame.tick / 2 % 13);
            for (uint32_t e = 0; e < frame.entity_count; e++) {
                cr_assert_eq(frame.entities[e].q[ARB_CHARACTER_X], (int32_t)frame.tick);
                cr_assert_eq(frame.points[frame.entities[e].body_first].x, (int32_t)frame.tick);
            }
        }
    }
}
