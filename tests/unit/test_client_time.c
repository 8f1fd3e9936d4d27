/* Time, lead and delay of the client library: the worked cases of spec/client.md "Time". */
#include "shared/client/arb_client_pace.h"
#include "shared/client/arb_client_time.h"

#include <criterion/criterion.h>

#define TICK ((arb_fine)ARB_FINE_TICK)
#define MS 1000000ULL
#define S 1000000000ULL

Test(client_time, estimate_is_answered_tick_plus_half_the_round_trip_rounded_up)
{
    static const struct {
        uint64_t rtt_ns;
        arb_fine answered;
        uint64_t later_ns;
        arb_fine expected;
    } cases[] = {
        {250 * MS, 1000, 0, 1008},
        {250 * MS, 1000, 250 * MS, 1023},
        {0, 1000, 0, 1000},
        {100 * MS, 1000, 0, 1003},
        {101 * MS, 1000, 0, 1004},
        {1 * MS, 7, S, 68},
        {250 * MS, (arb_fine)1 << 32, 250 * MS, ((arb_fine)1 << 32) + 23},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct arb_time_sync sync;
        arb_fine estimate = 0;
        arb_time_sync_reset(&sync, 60);
        uint64_t received = 5 * S + cases[i].rtt_ns;
        arb_time_sync_add(&sync, cases[i].answered * TICK, 0, 5 * S, received);
        cr_assert(arb_time_sync_estimate(&sync, received + cases[i].later_ns, &estimate));
        cr_assert_eq(estimate, cases[i].expected * TICK, "case %zu: %f", i,
                     (double)estimate / (double)TICK);
    }
}

Test(client_time, wait_of_the_server_is_no_part_of_the_round_trip)
{
    struct arb_time_sync sync;
    arb_fine estimate = 0;
    arb_time_sync_reset(&sync, 60);
    arb_time_sync_add(&sync, 1000 * TICK, 500 * MS, S, S + 600 * MS);
    cr_assert_eq(arb_time_sync_best(&sync)->rtt_ns, 100 * MS);
    arb_time_sync_estimate(&sync, S + 600 * MS, &estimate);
    cr_assert_eq(estimate, (1000 + 3) * TICK, "told when it answered, 3 on the way");
}

Test(client_time, smallest_round_trip_of_eight_wins_and_the_newer_on_a_tie)
{
    struct arb_time_sync sync;
    arb_fine estimate = 0;
    arb_time_sync_reset(&sync, 60);
    cr_assert_not(arb_time_sync_estimate(&sync, S, &estimate), "nothing is known yet");
    arb_time_sync_add(&sync, 100 * TICK, 0, S, S + 20 * MS);
    for (int i = 0; i < 3; i++) {
        arb_time_sync_add(&sync, 200 * TICK, 0, 2 * S, 2 * S + 50 * MS);
    }
    cr_assert_eq(arb_time_sync_best(&sync)->received_ns, S + 20 * MS);
    arb_time_sync_add(&sync, 300 * TICK, 0, 3 * S, 3 * S + 20 * MS);
    cr_assert_eq(arb_time_sync_best(&sync)->received_ns, 3 * S + 20 * MS, "the newer on a tie");
    for (int i = 0; i < 8; i++) {
        arb_time_sync_add(&sync, 400 * TICK, 0, 4 * S, 4 * S + 50 * MS);
    }
    cr_assert_eq(arb_time_sync_best(&sync)->rtt_ns, 50 * MS, "only eight are kept");
}

Test(client_time, server_that_lost_time_is_believed_with_its_first_answer)
{
    struct arb_time_sync sync;
    arb_fine estimate = 0;
    arb_time_sync_reset(&sync, 60);
    for (uint64_t i = 0; i < 8; i++) {
        arb_time_sync_add(&sync, (arb_fine)(60 * i) * TICK, 0, i * S, i * S + 20 * MS);
    }
    /* 200 ms may still be caught up with: the shorter round trip goes on to count. */
    arb_time_sync_add(&sync, (60 * 8 - 12) * TICK, 0, 8 * S, 8 * S + 40 * MS);
    cr_assert_eq(arb_time_sync_best(&sync)->rtt_ns, 20 * MS);
    /* An old answer that was under way for a second proves nothing. */
    arb_time_sync_add(&sync, (60 * 8 - 12) * TICK, 0, 8 * S, 9 * S);
    cr_assert_eq(arb_time_sync_best(&sync)->rtt_ns, 20 * MS);
    /* Five seconds were dropped; the round trip is longer than those before. */
    arb_time_sync_add(&sync, (60 * 14 - 300) * TICK, 0, 14 * S, 14 * S + 30 * MS);
    cr_assert(arb_time_sync_estimate(&sync, 14 * S + 30 * MS, &estimate));
    cr_assert_eq(estimate, (60 * 14 - 300 + 1) * TICK, "%f", (double)estimate / (double)TICK);
    /* A server ahead of the estimate is no such proof: the smallest round trip decides. */
    arb_time_sync_add(&sync, 60 * 16 * TICK, 0, 15 * S, 15 * S + 50 * MS);
    cr_assert_eq(arb_time_sync_best(&sync)->rtt_ns, 30 * MS);
}

Test(client_time, elapsed_time_does_not_overflow_in_a_year)
{
    cr_assert_eq(arb_fine_from_ns(365ULL * 86400 * S, 128), 365LL * 86400 * 128 * TICK);
    cr_assert_eq(arb_fine_from_ns(S / 2, 60), 30 * TICK);
}

Test(client_time, clock_is_steered_within_its_rate_and_never_stands)
{
    struct arb_slew slew = {0};
    struct arb_slew_limits limits = {4, 15 * TICK};
    arb_slew_advance(&slew, S, 60, 100 * TICK, limits);
    cr_assert_eq(slew.at, 100 * TICK, "starts at its target");
    uint64_t now = S;
    arb_fine target = 110 * TICK; /* ten ticks ahead, then both go on */
    for (int frame = 0; frame < 600; frame++) {
        arb_fine before = slew.at;
        now += 10 * MS;
        target += arb_fine_from_ns(10 * MS, 60);
        cr_assert_not(arb_slew_advance(&slew, now, 60, target, limits), "no jump");
        arb_fine straight = arb_fine_from_ns(10 * MS, 60);
        arb_fine step = slew.at - before;
        cr_assert(step >= straight * 96 / 100 - 1 && step <= straight * 104 / 100 + 1);
    }
    arb_fine error = target - slew.at;
    cr_assert(error >= 0 && error < TICK / 8, "arrived: %f", (double)error / (double)TICK);
}

Test(client_time, beyond_the_bound_the_clock_jumps_once)
{
    struct arb_slew slew = {0};
    struct arb_slew_limits limits = {4, 15 * TICK};
    arb_slew_advance(&slew, S, 60, 100 * TICK, limits);
    cr_assert(arb_slew_advance(&slew, S + 16 * MS, 60, 400 * TICK, limits));
    cr_assert_eq(slew.at, 400 * TICK);
    cr_assert_not(arb_slew_advance(&slew, S + 32 * MS, 60, 401 * TICK, limits));
}

Test(client_time, one_way_time_that_rises_and_falls_turns_the_playback_once)
{
    /* +100 ms for two seconds, then back: pitfalls.md "Playback control overshoots". */
    struct arb_slew view = {0};
    struct arb_slew_limits limits = {8, 30 * TICK};
    int reversals = 0;
    int direction = 0;
    arb_fine step_before = arb_fine_from_ns(16 * MS, 60);
    uint64_t now = S;
    arb_slew_advance(&view, now, 60, 1000 * TICK, limits);
    for (int frame = 1; frame <= 375; frame++) {
        now += 16 * MS;
        arb_fine live = 1000 * TICK + arb_fine_from_ns(now - S, 60);
        bool delayed = frame > 62 && frame <= 187;
        arb_fine before = view.at;
        arb_slew_advance(&view, now, 60, live - (delayed ? 6 * TICK : 0), limits);
        arb_fine step = view.at - before;
        cr_assert(step * 10 >= step_before * 9 && step * 10 <= step_before * 11, "rate");
        int bent = step < step_before - 64 ? -1 : step > step_before + 64 ? 1 : 0;
        if (bent != 0 && bent != direction) {
            reversals += direction != 0;
            direction = bent;
        }
    }
    arb_fine live = 1000 * TICK + arb_fine_from_ns(now - S, 60);
    cr_assert_leq(reversals, 1);
    cr_assert_lt(live - view.at, arb_fine_from_ns(10 * MS, 60), "settled within 10 ms");
}

/* ---- pace ---- */

static const uint64_t PACE_START = 10 * S;

/* As if it had sunk for years. */
static arb_fine settled(struct arb_delay *delay)
{
    delay->held_ns = 0;
    return arb_delay_now(delay, PACE_START, 2, 0, 60 * TICK).interpolation - TICK / 4;
}

/* On a line with the given loss of every n-th (0: none) snapshot; two ticks from one to the next,
 * six under way. Returns the delay after them. */
static arb_fine settle(struct arb_delay *delay, uint32_t snapshots, uint32_t lost_every,
                       uint32_t run)
{
    arb_tick previous = 100;
    arb_tick tick = 100;
    for (uint32_t i = 1; i <= snapshots; i++) {
        uint32_t lost = lost_every != 0 && i % lost_every == 0 ? run : 0;
        tick += 2 * ((arb_tick)lost + 1);
        arb_delay_add(delay, ((arb_fine)tick + 6) * TICK, previous, tick, lost);
        previous = tick;
    }
    return settled(delay);
}

Test(client_pace, delay_covers_the_interval_and_what_arrived_late)
{
    struct arb_delay delay = {0};
    struct arb_delay_state state = arb_delay_now(&delay, PACE_START, 2, 0, 60 * TICK);
    cr_assert_eq(state.interpolation, 2 * TICK + TICK * 7 / 16, "before any measurement");
    settle(&delay, 2 * ARB_LOSS_BLOCK * ARB_LOSS_DOUBTED, 0, 0);
    arb_delay_add(&delay, 1000 * TICK + 6 * TICK + 2 * TICK, 998, 1000, 0);
    state = arb_delay_now(&delay, PACE_START, 2, 0, 60 * TICK);
    cr_assert_eq(state.age, 6 * TICK);
    cr_assert_eq(state.jitter, 2 * TICK);
    cr_assert_eq(state.interpolation, 4 * TICK + TICK / 4, "interval and jitter, and a quarter");
    state = arb_delay_now(&delay, PACE_START, 2, 0, 3 * TICK);
    cr_assert_eq(state.interpolation, 3 * TICK, "within its limits");
    state = arb_delay_now(&delay, PACE_START, 2, 5 * TICK, 5 * TICK);
    cr_assert_eq(state.interpolation, 5 * TICK, "equal limits fix it");
}

Test(client_pace, uneven_line_is_doubted_until_it_has_shown_that_it_loses_nothing)
{
    static const struct {
        arb_fine late; /* of every second one */
        bool doubted;
    } rows[] = {{0, false}, {TICK / 16 - 2, false}, {TICK / 16 + 2, true}, {TICK, true}};
    const uint32_t doubted = ARB_LOSS_BLOCK * ARB_LOSS_DOUBTED;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct arb_delay delay = {0};
        arb_fine clean = 2 * TICK + rows[i].late; /* an interval and what comes late */
        for (uint32_t k = 1; k <= doubted + 1; k++) {
            arb_tick tick = 100 + 2 * k;
            arb_fine late = k % 2 == 0 ? rows[i].late : 0;
            arb_delay_add(&delay, ((arb_fine)tick + 6) * TICK + late, tick - 2, tick, 0);
            if (k == 10 || k == doubted) {
                cr_expect_eq(settled(&delay), rows[i].doubted ? clean + 2 * TICK : clean,
                             "row %zu after %u: one lost would be bridged, or not", i, k);
            }
        }
        cr_expect_eq(settled(&delay), clean, "row %zu: nothing for a loss", i);
    }
}

Test(client_pace, a_loss_is_bridged_long_after_it_and_frequent_ones_two_in_a_row)
{
    struct arb_delay delay = {0};
    uint32_t doubted = ARB_LOSS_BLOCK * ARB_LOSS_DOUBTED;
    settle(&delay, doubted, 0, 0);
    settle(&delay, 1, 1, 1);
    cr_assert_eq(settle(&delay, 2 * ARB_PACE_WINDOW, 0, 0), 4 * TICK, "one");
    cr_assert_eq(settle(&delay, ARB_LOSS_BLOCK * ARB_LOSS_BLOCKS, 0, 0), 2 * TICK, "forgotten");
    cr_assert_eq(settle(&delay, 20 * (ARB_LOSS_FREQUENT - 1), 20, 1), 4 * TICK, "still one");
    cr_assert_eq(settle(&delay, 1, 1, 1), 6 * TICK, "too many: two in a row will come");
    cr_assert_eq(settle(&delay, 1000, 5, 1), 6 * TICK, "a fifth of them: no more than that");
    cr_assert_eq(settle(&delay, 1, 1, 3), 8 * TICK, "three in a row, while it is in the window");
}

Test(client_pace, outage_counts_as_a_short_loss_in_the_delay)
{
    struct arb_delay delay = {0};
    settle(&delay, ARB_LOSS_BLOCK * ARB_LOSS_DOUBTED + 1, 0, 0);
    settle(&delay, 1, 1, 60);
    cr_assert_eq(settle(&delay, ARB_PACE_WINDOW, 0, 0), 4 * TICK);
}

Test(client_pace, what_waited_behind_an_outage_at_the_begin_is_no_measure_for_a_third_of_a_second)
{
    struct arb_delay delay = {0};
    const arb_fine way = 3 * TICK, limit = way + 15 * TICK;
    cr_assert_not(arb_delay_is_backlog(&delay, limit, way, 60, S), "a quarter of a second older");
    cr_assert(arb_delay_is_backlog(&delay, limit + 1, way, 60, S));
    cr_assert(arb_delay_is_backlog(&delay, 60 * TICK, way, 60, S + 332 * MS));
    cr_assert_not(arb_delay_is_backlog(&delay, 60 * TICK, way, 60, S + 333 * MS), "it stays slow");
    struct arb_delay measured = {0};
    settle(&measured, 1, 0, 0);
    cr_assert_not(arb_delay_is_backlog(&measured, 60 * TICK, way, 60, S), "the line is known");
}

Test(client_pace, delay_rises_at_once_and_sinks_by_half_in_a_second)
{
    struct arb_delay delay = {0};
    uint32_t doubted = ARB_LOSS_BLOCK * ARB_LOSS_DOUBTED;
    settle(&delay, doubted, 0, 0);
    settle(&delay, 1, 0, 0);
    arb_delay_add(&delay, 2000 * TICK + 6 * TICK + 8 * TICK, 1998, 2000, 0);
    arb_fine risen = arb_delay_now(&delay, PACE_START, 2, 0, 60 * TICK).interpolation;
    cr_assert_eq(risen, 10 * TICK + TICK / 4);
    for (arb_tick tick = 2002; tick < 2002 + 2 * ARB_PACE_WINDOW; tick += 2) {
        arb_delay_add(&delay, ((arb_fine)tick + 6) * TICK, tick - 2, tick, 0);
    }
    arb_fine before = risen;
    for (uint64_t ms = 16; ms <= 1024; ms += 16) {
        arb_fine now = arb_delay_now(&delay, PACE_START + ms * MS, 2, 0, 60 * TICK).interpolation;
        cr_assert(now < before && before - now <= 8 * TICK / 100, "no step");
        before = now;
    }
    cr_assert(before > 6 * TICK && before < 8 * TICK, "%d", (int)(before / (TICK / 100)));
}

Test(client_pace, lead_rises_at_once_to_what_would_have_been_in_time_and_sinks_slowly)
{
    struct arb_lead lead = {0};
    uint64_t now = S;
    cr_assert_eq(arb_lead_now(&lead, now, 9 * TICK, 0, 60 * TICK), 9 * TICK);
    arb_lead_add(&lead, 8 * TICK, 3, TICK);
    cr_assert_eq(arb_lead_now(&lead, now, 9 * TICK, 0, 60 * TICK), 6 * TICK, "3 early, 1 asked");
    arb_lead_add(&lead, 6 * TICK, -1, TICK);
    cr_assert_eq(arb_lead_now(&lead, now, 9 * TICK, 0, 60 * TICK), 8 * TICK, "one late");
    for (int i = 0; i < ARB_PACE_WINDOW; i++) {
        arb_lead_add(&lead, 8 * TICK, 3, TICK);
    }
    arb_fine after = arb_lead_now(&lead, now + S, 9 * TICK, 0, 60 * TICK);
    cr_assert(after < 8 * TICK && after > 7 * TICK, "a tenth of the way in a second");
    cr_assert_eq(arb_lead_now(&lead, now, 0, 0, 3 * TICK), 3 * TICK, "within its limits");
}

Test(client_pace, outage_does_not_leave_a_lead_of_its_own_length)
{
    struct arb_lead lead = {0};
    arb_lead_add(&lead, 8 * TICK, -100, TICK);
    cr_assert_eq(arb_lead_now(&lead, S, 0, 0, 120 * TICK), 13 * TICK);
}
