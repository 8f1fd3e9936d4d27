/* server/loop: what cannot be taken back leaves once by its key. */
#include "server/loop/loop_effects.h"

#include <criterion/criterion.h>
#include <string.h>

static struct arb_arena arena;
static struct loop_effects effects;
static int calls;
static bool sink_fails;

static void setup(void)
{
    arb_arena_init(&arena);
    effects = (struct loop_effects){.ledger = journal_ledger_create(&arena, LOOP_EFFECTS_MAX)};
}

static void teardown(void)
{
    arb_arena_free(&arena);
}

TestSuite(loop_effects, .init = setup, .fini = teardown);

static bool sink(void *owner)
{
    cr_assert_eq(owner, &arena);
    calls++;
    return !sink_fails;
}

static enum loop_effect deliver(const char *key)
{
    return loop_effects_deliver(&effects, key, sink, &arena);
}

Test(loop_effects, asked_for_again_it_does_not_leave_again)
{
    cr_expect_eq(deliver("result"), LOOP_EFFECT_LEFT);
    cr_expect_eq(deliver("result"), LOOP_EFFECT_HAD_LEFT);
    cr_expect_eq(calls, 1);
    cr_expect_eq(deliver("reward 3.1.7"), LOOP_EFFECT_LEFT, "another one is another one");
    cr_expect_eq(calls, 2);
}

static bool other_sink(void *owner)
{
    ++*(int *)owner;
    return true;
}

/* The interface knows nothing of what keys mean: another kind has another key and another way out.
 */
Test(loop_effects, another_kind_goes_its_own_way_and_fails_on_its_own)
{
    int rewards = 0;
    sink_fails = true;
    cr_expect_eq(deliver("result"), LOOP_EFFECT_FAILED);
    cr_expect_eq(loop_effects_deliver(&effects, "reward 3.1.7", other_sink, &rewards),
                 LOOP_EFFECT_LEFT);
    cr_expect_eq(loop_effects_deliver(&effects, "reward 3.1.8", other_sink, &rewards),
                 LOOP_EFFECT_LEFT, "another action of the same actor");
    sink_fails = false;
    cr_expect_eq(deliver("result"), LOOP_EFFECT_LEFT);
    cr_expect_eq(loop_effects_deliver(&effects, "reward 3.1.7", other_sink, &rewards),
                 LOOP_EFFECT_HAD_LEFT);
    cr_expect_eq(rewards, 2);
}

Test(loop_effects, what_failed_may_be_tried_again)
{
    sink_fails = true;
    cr_expect_eq(deliver("result"), LOOP_EFFECT_FAILED);
    cr_expect_eq(deliver("result"), LOOP_EFFECT_FAILED);
    sink_fails = false;
    cr_expect_eq(deliver("result"), LOOP_EFFECT_LEFT);
    cr_expect_eq(deliver("result"), LOOP_EFFECT_HAD_LEFT);
    cr_expect_eq(calls, 3);
}

Test(loop_effects, what_a_process_before_has_sent_is_not_sent)
{
    cr_assert(journal_ledger_add(effects.ledger, "result", strlen("result")));
    cr_expect_eq(deliver("result"), LOOP_EFFECT_HAD_LEFT);
    cr_expect_eq(calls, 0);
}
