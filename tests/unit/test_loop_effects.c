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
