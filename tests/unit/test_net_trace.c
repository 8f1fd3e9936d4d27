#define _POSIX_C_SOURCE 200809L
/* Recorded traces and delay distributions as files, and the generator. */
#include "shared/base/arb_hash.h"
#include "tests/unit/net_rig.h"
#include "tools/net/trace.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

/* ---- what is read ---- */

Test(net_trace, a_list_of_moments_is_read)
{
    struct rig rig = rig_begin();
    struct trace trace;
    struct profile_error error;
    char *path = rig_file(&rig, "a.up", "# recorded\n0\n\n 12\r\n12 # twice\n15.9\n20");
    cr_assert(trace_read(path, &trace, &error), "%s", error.text);
    static const uint32_t expected[] = {0, 12, 12, 15, 20};
    cr_assert_eq(trace.link.count, 5);
    cr_assert_arr_eq(trace.link.time_ms, expected, sizeof expected);
    cr_assert_eq(trace.link.period_ms, 20);
    cr_assert_null(trace.link.delay_us);
    trace_free(&trace);
    rig_end(&rig);
}

Test(net_trace, a_table_is_read_and_begins_with_its_first_row)
{
    struct rig rig = rig_begin();
    struct trace trace;
    struct profile_error error;
    char *path =
        rig_file(&rig, "a.txt", "time_ms delay_ms lost\n1000 23.4567 0\n1200\t0.5 1\n1250 31 0\n");
    cr_assert(trace_read(path, &trace, &error), "%s", error.text);
    static const uint32_t times[] = {0, 200, 250}, delays[] = {23456, 500, 31000};
    static const uint8_t lost[] = {0, 1, 0};
    cr_assert_eq(trace.link.count, 3);
    cr_assert_arr_eq(trace.link.time_ms, times, sizeof times);
    cr_assert_arr_eq(trace.link.delay_us, delays, sizeof delays);
    cr_assert_arr_eq(trace.link.lost, lost, sizeof lost);
    cr_assert_eq(trace.link.period_ms, 300, "the last row lasts as long as the one before");
    trace_free(&trace);
    rig_end(&rig);
}

/* ---- what is refused ---- */

struct bad_case {
    char text[48], place[16], what[40]; /* no pointers: each case runs in another process */
};

ParameterizedTestParameters(net_trace, what_is_no_trace_is_refused_with_its_place)
{
    static struct bad_case cases[] = {
        {"", ": ", "holds no times"},
        {"# nothing\n\n", ": ", "holds no times"},
        {"time_ms delay_ms lost\n", ": ", "holds no times"},
        {"0\n0\n", ": ", "cannot repeat"},
        {"5\n4\n", ":2:1: ", "go back"},
        {"5\nabc\n", ":2:1: ", "a number is wanted"},
        {"5\n-6\n", ":2:1: ", "a number is wanted"},
        {"5\n6x\n", ":2:2: ", "one time in ms"},
        {"5\n6.\n", ":2:3: ", "a digit is wanted"},
        {"5\n  6 7\n", ":2:5: ", "one time in ms"},
        {"5 6\n", ":1:3: ", "one time in ms"},
        {"5\n99999999999999999999\n", ":2:1: ", "too large"},
        {"5\n86400001\n", ":2:1: ", "too large"},
        {"0 10 0\n5 20\n", ":2:5: ", "a number is wanted"},
        {"0 10 0\n5 20 2\n", ":2:6: ", "too large"},
        {"0 10 0\n5 20 0.5\n", ":2:6: ", "lost is 0 or 1"},
        {"0 10 0\n5 60001 0\n", ":2:3: ", "too large"},
        {"0 10 0\n5 20 0 1\n", ":2:8: ", "time_ms, delay_ms and lost"},
        {"0 10 0\n5\n", ":2:2: ", "a number is wanted"},
        {"9 10 0\n5 20 0\n", ":2:1: ", "go back"},
        {"time_ms delay_ms\n0 1 0\n", ":1:1: ", "a number is wanted"},
    };
    return cr_make_param_array(struct bad_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(const struct bad_case *c, net_trace, what_is_no_trace_is_refused_with_its_place)
{
    struct rig rig = rig_begin();
    struct trace trace;
    struct profile_error error;
    char *path = rig_file(&rig, "bad.txt", c->text);
    cr_assert_not(trace_read(path, &trace, &error), "%s", c->text);
    cr_assert(strncmp(error.text, path, strlen(path)) == 0, "%s", error.text);
    cr_assert(strncmp(error.text + strlen(path), c->place, strlen(c->place)) == 0, "%s: %s",
              c->text, error.text);
    cr_assert_not_null(strstr(error.text, c->what), "%s: %s", c->text, error.text);
    cr_assert_null(trace.time_ms);
    rig_end(&rig);
}

Test(net_trace, a_file_that_cannot_be_read_is_told)
{
    struct rig rig = rig_begin();
    struct trace trace;
    struct profile_error error;
    cr_assert_not(trace_read("/nowhere/at/all", &trace, &error));
    cr_assert_not_null(strstr(error.text, "/nowhere/at/all: cannot be opened"), "%s", error.text);
    cr_assert_not(trace_read(rig.folder, &trace, &error));
    cr_assert_not_null(strstr(error.text, "cannot be read"), "%s", error.text);
    rig_end(&rig);
}

/* ---- distributions ---- */

static char *number_text(uint32_t count, int value)
{
    char *text = malloc(count * 8 + 64);
    char *at = text + sprintf(text, "# a distribution\n");
    for (uint32_t i = 0; i < count; i++) {
        at += sprintf(at, "%d%c", value, i % 8 == 7 ? '\n' : ' ');
    }
    return text;
}

Test(net_trace, a_distribution_has_exactly_4096_numbers)
{
    struct rig rig = rig_begin();
    static struct arb_jitter_table table;
    struct profile_error error;
    for (uint32_t count = 4095; count <= 4097; count++) {
        char *text = number_text(count, -4321);
        bool good = trace_read_jitter(rig_file(&rig, "a.dist", text), &table, &error);
        cr_assert_eq(good, count == 4096, "%u", count);
        free(text);
    }
    cr_assert_eq(table.value[0], -4321);
    cr_assert_eq(table.value[4095], -4321);
    cr_assert_not(trace_read_jitter(rig_file(&rig, "b.dist", "1 2 3.5"), &table, &error));
    cr_assert_not_null(strstr(error.text, "b.dist:1:5: a whole number"), "%s", error.text);
    cr_assert_not(trace_read_jitter(rig_file(&rig, "b.dist", "1\n32768"), &table, &error));
    cr_assert_not_null(strstr(error.text, "b.dist:2:1: the number is too large"), "%s", error.text);
    rig_end(&rig);
}

/* iproute2's normal distribution, where it is installed: mean 0, one standard deviation 8,192. */
Test(net_trace, iproute2s_normal_distribution_shapes_the_jitter)
{
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/tc/normal.dist",
                                         "/usr/lib/aarch64-linux-gnu/tc/normal.dist",
                                         "/usr/lib/tc/normal.dist", "/usr/share/tc/normal.dist"};
    static struct arb_jitter_table table;
    struct profile_error error;
    bool found = false;
    for (size_t i = 0; i < sizeof places / sizeof places[0] && !found; i++) {
        found = trace_read_jitter(places[i], &table, &error);
    }
    if (!found) cr_skip_test("no iproute2 here");
    struct arb_link link = {
        .delay_us = 100000, .jitter_us = 10000, .reorder_ppm = 0, .jitter_table = &table};
    struct arb_link_state state;
    struct arb_link_counters counters = {0};
    struct arb_link_delivery out[2];
    arb_link_start(&state, link, 5, 5);
    double sum = 0, squares = 0;
    enum { COUNT = 100000 };
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t now = i * 1000000;
        arb_link_send(&state, now, 100, out, &counters);
        double off = (double)(out[0].deliver_us - now) - 100000;
        sum += off;
        squares += off * off;
    }
    cr_assert_float_eq(sum / COUNT, 0, 150);
    cr_assert_float_eq(squares / COUNT, 1e8, 0.03e8);
}

/* ---- the generator ---- */

struct figures {
    double mbps, silent_share; /* share of the time in silences of over 100 ms */
    double over_100, over_300; /* silences a minute */
    uint32_t longest_ms;
};

static struct figures measure(enum trace_direction direction, uint64_t seed)
{
    enum { LENGTH_MS = 600000 };
    struct trace trace;
    struct figures figures = {0};
    trace_generate(&trace, direction, LENGTH_MS, seed);
    cr_assert_eq(trace.link.period_ms, LENGTH_MS);
    cr_assert_eq(trace.time_ms[trace.link.count - 1], LENGTH_MS);
    for (uint32_t i = 1; i < trace.link.count; i++) {
        cr_assert_geq(trace.time_ms[i], trace.time_ms[i - 1]);
        uint32_t gap = trace.time_ms[i] - trace.time_ms[i - 1];
        figures.over_100 += gap > 100;
        figures.over_300 += gap > 300;
        figures.silent_share += gap > 100 ? (double)gap / LENGTH_MS : 0;
        if (gap > figures.longest_ms) figures.longest_ms = gap;
    }
    figures.mbps = trace.link.count * 12.0 / LENGTH_MS;
    figures.over_100 *= 60000.0 / LENGTH_MS;
    figures.over_300 *= 60000.0 / LENGTH_MS;
    trace_free(&trace);
    return figures;
}

/* The figures of the recordings that it resembles: 1.9 and 4.6 Mbit/s, 42 and 32 silences a minute
 * of over 100 ms, 5 and 6 of over 300, 21 and 12 % of the time. */
Test(net_trace, what_is_generated_resembles_recorded_lte)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct figures up = measure(TRACE_UP, seed), down = measure(TRACE_DOWN, seed);
        cr_assert(up.mbps > 1.5 && up.mbps < 2.4, "%g", up.mbps);
        cr_assert(down.mbps > 3.6 && down.mbps < 5.8, "%g", down.mbps);
        cr_assert(up.over_100 > 35 && up.over_100 < 65, "%g", up.over_100);
        cr_assert(down.over_100 > 25 && down.over_100 < 45, "%g", down.over_100);
        cr_assert(up.over_300 > 4 && up.over_300 < 12, "%g", up.over_300);
        cr_assert(down.over_300 > 3 && down.over_300 < 12, "%g", down.over_300);
        cr_assert(up.silent_share > 0.12 && up.silent_share < 0.26, "%g", up.silent_share);
        cr_assert(down.silent_share > 0.09 && down.silent_share < 0.18, "%g", down.silent_share);
        cr_assert(up.longest_ms > 600 && up.longest_ms < 1300, "%u", up.longest_ms);
        cr_assert(down.longest_ms > 600 && down.longest_ms < 1300, "%u", down.longest_ms);
    }
}

static uint64_t generated_hash(uint64_t seed)
{
    struct trace trace;
    trace_generate(&trace, TRACE_DOWN, 10000, seed);
    uint64_t hash = 0;
    for (uint32_t i = 0; i < trace.link.count; i++) {
        hash = arb_hash_mix(hash, trace.time_ms[i]);
    }
    trace_free(&trace);
    return hash;
}

Test(net_trace, the_seed_decides_what_is_generated)
{
    cr_assert_eq(generated_hash(1), 0x030077e4251ca38f, "%016llx",
                 (unsigned long long)generated_hash(1));
    cr_assert_neq(generated_hash(2), generated_hash(1));
}
