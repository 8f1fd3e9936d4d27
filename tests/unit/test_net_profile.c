#define _POSIX_C_SOURCE 200809L
/* Profiles: the ones with a name, files, and what links they give to whom and when. */
#include "shared/base/arb_hash.h"
#include "tests/unit/net_rig.h"
#include "tools/net/profile.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

static struct profile *load(const char *name, uint64_t seed)
{
    struct profile *profile;
    struct profile_error error;
    cr_assert_eq(profile_load(name, seed, &profile, &error), ARB_OK, "%s", error.text);
    return profile;
}

/* ---- the ones with a name ---- */

struct named_case {
    char name[16];                         /* no pointers: each case runs in another process */
    double rtt_ms, jitter_ms, loss, drift; /* specification; both directions alike */
};

ParameterizedTestParameters(net_profile, a_named_profile_stays_around_its_numbers)
{
    static struct named_case cases[] = {
        {"lan", 0.5, 0.1, 0, 0},     {"good", 30, 2, 0.001, 0.1}, {"average", 80, 10, 0.01, 0.15},
        {"bad", 160, 40, 0.05, 0.2}, {"mobile", 50, 0, 0, 0.1},
    };
    return cr_make_param_array(struct named_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(const struct named_case *c, net_profile, a_named_profile_stays_around_its_numbers)
{
    enum { CLIENTS = 20, STEPS = 2400 };
    struct profile *profile = load(c->name, 3);
    double delay = 0, loss = 0, jitter = 0;
    for (uint32_t i = 0; i < CLIENTS * STEPS; i++) {
        struct arb_link links[2];
        profile_links_at(profile, i / STEPS, i % STEPS * 250000ULL, &links[0], &links[1]);
        for (int k = 0; k < 2; k++) {
            double low = (1 - c->drift) - 0.001, high = (1 + c->drift) + 0.001;
            double delay_ms = links[k].delay_us / 1000.0;
            cr_assert(delay_ms >= c->rtt_ms / 2 * low && delay_ms <= c->rtt_ms / 2 * high);
            cr_assert(links[k].loss_ppm >= c->loss * 1e6 * low - 1);
            cr_assert(links[k].loss_ppm <= c->loss * 1e6 * high + 1);
            delay += delay_ms / (CLIENTS * STEPS);
            jitter += links[k].jitter_us / 2000.0 / (CLIENTS * STEPS);
            loss += links[k].loss_ppm / 2e6 / (CLIENTS * STEPS);
        }
    }
    cr_assert_float_eq(delay, c->rtt_ms, c->rtt_ms * 0.02, "%g", delay);
    cr_assert_float_eq(jitter, c->jitter_ms, c->jitter_ms * 0.02 + 1e-9, "%g", jitter);
    cr_assert_float_eq(loss, c->loss, c->loss * 0.02 + 1e-9, "%g", loss);
    profile_free(profile);
}

Test(net_profile, bad_has_bursts_doubles_and_reordering_and_mobile_a_trace)
{
    struct arb_link up, down;
    struct profile *profile = load("bad", 1);
    profile_links_at(profile, 0, 0, &up, &down);
    cr_assert_gt(up.burst_milli, 1000);
    cr_assert_gt(up.duplicate_ppm, 0);
    cr_assert_gt(down.reorder_ppm, 0);
    profile_free(profile);
    profile = load("mobile", 1);
    profile_links_at(profile, 0, 0, &up, &down);
    cr_assert_not_null(up.trace);
    cr_assert_not_null(down.trace);
    cr_assert_neq(up.trace, down.trace);
    cr_assert_eq(up.trace_offset_us, 0);
    profile_links_at(profile, 1, 0, &up, &down);
    cr_assert_neq(up.trace_offset_us, 0, "players are elsewhere in the trace");
    profile_free(profile);
}

Test(net_profile, links_change_slowly_at_steps_only)
{
    struct profile *profile = load("bad", 4);
    struct arb_link up, down, before, ignored;
    profile_links_at(profile, 2, 0, &before, &ignored);
    uint32_t low = UINT32_MAX, high = 0;
    for (uint64_t us = 0; us < 120000000; us += 50000) {
        profile_links_at(profile, 2, us, &up, &down);
        if (us % PROFILE_STEP_US != 0) cr_assert_eq(up.delay_us, before.delay_us);
        int change = abs((int)up.delay_us - (int)before.delay_us);
        cr_assert_leq(change, 80000 * 4 / 10 / 40 + 1, "more than the way from end to end in 10 s");
        before = up;
        if (up.delay_us < low) low = up.delay_us;
        if (up.delay_us > high) high = up.delay_us;
    }
    cr_assert_gt(high - low, 5000, "but it does change: %u to %u", low, high);
    profile_free(profile);
}

static uint64_t links_hash(const struct profile *profile, uint32_t client)
{
    uint64_t hash = 0;
    for (uint64_t us = 0; us < 60000000; us += PROFILE_STEP_US) {
        struct arb_link links[2];
        profile_links_at(profile, client, us, &links[0], &links[1]);
        for (int k = 0; k < 2; k++) {
            hash = arb_hash_mix(hash, (uint64_t)links[k].delay_us << 32 | links[k].jitter_us);
            hash = arb_hash_mix(hash, (uint64_t)links[k].loss_ppm << 32 | links[k].burst_milli);
            hash = arb_hash_mix(hash, links[k].trace_offset_us);
        }
    }
    return hash;
}

Test(net_profile, seed_client_and_direction_decide_on_every_machine)
{
    struct profile *first = load("average", 1), *again = load("average", 1),
                   *other = load("average", 2);
    cr_assert_eq(links_hash(first, 0), links_hash(again, 0));
    cr_assert_neq(links_hash(first, 0), links_hash(first, 1));
    cr_assert_neq(links_hash(first, 0), links_hash(other, 0));
    struct arb_link up, down;
    profile_links_at(first, 0, 5000000, &up, &down);
    cr_assert_neq(up.delay_us, down.delay_us);
    cr_assert_eq(links_hash(first, 0), 0xf82dba61eb766408, "%016llx",
                 (unsigned long long)links_hash(first, 0));
    profile_free(first);
    profile_free(again);
    profile_free(other);
}

/* ---- files ---- */

Test(net_profile, a_file_gives_exactly_its_numbers)
{
    struct rig rig = rig_begin();
    rig_file(&rig, "a.up", "5\n10\n");
    rig_file(&rig, "a.txt", "0 20 0\n10 30 1\n");
    char *path = rig_file(
        &rig, "p.json",
        "{\"up\":{\"delay_ms\":12.5,\"jitter_ms\":3,\"loss\":0.05,\"burst\":2.5,\"duplicate\":"
        "0.01,\"reorder\":0.02,\"rate_kbps\":2000,\"queue_bytes\":30000,\"corrupt\":0.001,"
        "\"trace\":\"a.txt\"},\n\"down\":{\"trace\":\"a.up\"}}");
    struct profile *profile = load(path, 1);
    cr_assert_str_eq(profile_name(profile), path);
    for (uint64_t us = 0; us < 30000000; us += 7000000) {
        struct arb_link up, down;
        profile_links_at(profile, 0, us, &up, &down);
        cr_assert_eq(up.delay_us, 12500);
        cr_assert_eq(up.jitter_us, 3000);
        cr_assert_eq(up.loss_ppm, 50000);
        cr_assert_eq(up.burst_milli, 2500);
        cr_assert_eq(up.duplicate_ppm, 10000);
        cr_assert_eq(up.reorder_ppm, 20000);
        cr_assert_eq(up.rate_kbps, 2000);
        cr_assert_eq(up.queue_bytes, 30000);
        cr_assert_eq(up.corrupt_ppm, 1000);
        cr_assert_eq(up.trace->count, 2);
        cr_assert_not_null(up.trace->delay_us);
        cr_assert_eq(down.delay_us, 25000, "what comes on top of a trace of opportunities");
        cr_assert_eq(down.trace->count, 2);
        cr_assert_null(down.trace->delay_us);
    }
    profile_free(profile);
    rig_end(&rig);
}

Test(net_profile, a_trace_may_have_another_delay_and_a_file_may_drift)
{
    struct rig rig = rig_begin();
    rig_file(&rig, "a.up", "5\n10\n");
    char *path = rig_file(&rig, "p.json",
                          "{\"up\":{\"delay_ms\":1,\"trace\":\"a.up\"},\"down\":{\"delay_ms\":100,"
                          "\"jitter_ms\":10,\"drift\":0.5,\"trace\":null}}");
    struct profile *profile = load(path, 1);
    struct arb_link up, down, later;
    profile_links_at(profile, 0, 0, &up, &down);
    cr_assert_eq(up.delay_us, 1000);
    cr_assert_null(down.trace);
    profile_links_at(profile, 0, 30000000, &up, &later);
    cr_assert_neq(down.delay_us, later.delay_us);
    cr_assert_neq(down.jitter_us, later.jitter_us);
    profile_free(profile);
    rig_end(&rig);
}

struct bad_case {
    char text[80];
    char expected[64]; /* behind the name of the file */
};

ParameterizedTestParameters(net_profile, what_is_no_profile_is_refused_with_its_place)
{
    static struct bad_case cases[] = {
        {"", ":1:1: "},
        {"{", ":1:2: "},
        {"[]", ":1:1: wants an object"},
        {"{}", ":1:1: up is missing"},
        {"{\"up\":{}}", ":1:1: down is missing"},
        {"{\"up\":{},\n\"down\":{}, \"left\":{}}", ":2:12: left: unknown key; allowed: up, down"},
        {"{\"up\":{},\"up\":{},\"down\":{}}", ":1:10: up: the key \"up\" is there twice"},
        {"{\"up\":3,\"down\":{}}", ":1:7: up: wants an object"},
        {"{\"up\":{},\"down\":{\"los\":0.1}}", ":1:18: down.los: unknown key; allowed: delay_ms, "},
        {"{\"up\":{\"Loss\":0.1},\"down\":{}}", ":1:8: up.Loss: unknown key"},
        {"{\"up\":{\"loss\":\"1\"},\"down\":{}}", ":1:15: up.loss: wants a number"},
        {"{\"up\":{\"loss\":1.1},\"down\":{}}", ":1:15: up.loss: is out of range; allowed: 0 to 1"},
        {"{\"up\":{\"loss\":-0.1},\"down\":{}}", ":1:15: up.loss: is out of range"},
        {"{\"up\":{\"loss\":1e999},\"down\":{}}", ":1:15: up.loss: "},
        {"{\"up\":{\"delay_ms\":10001},\"down\":{}}",
         "delay_ms: is out of range; allowed: 0 to 10000"},
        {"{\"up\":{\"jitter_ms\":-1},\"down\":{}}", "jitter_ms: is out of range"},
        {"{\"up\":{\"burst\":0.5},\"down\":{}}",
         "burst: is out of range; allowed: 0, or 1 to 1000"},
        {"{\"up\":{\"loss\":0.8,\"burst\":3},\"down\":{}}",
         ":1:15: up.loss: with bursts it is at most"},
        {"{\"up\":{\"duplicate\":2},\"down\":{}}", "duplicate: is out of range"},
        {"{\"up\":{\"reorder\":true},\"down\":{}}", "reorder: wants a number"},
        {"{\"up\":{\"rate_kbps\":1.5},\"down\":{}}", "rate_kbps: wants a whole number"},
        {"{\"up\":{\"rate_kbps\":-1},\"down\":{}}", "rate_kbps: is out of range"},
        {"{\"up\":{\"rate_kbps\":4294967297},\"down\":{}}", "rate_kbps: is out of range"},
        {"{\"up\":{\"queue_bytes\":9e9},\"down\":{}}", "queue_bytes: wants a whole number"},
        {"{\"up\":{\"queue_bytes\":99999999999999999999},\"down\":{}}",
         "queue_bytes: is out of range"},
        {"{\"up\":{\"drift\":0.95},\"down\":{}}", "drift: is out of range; allowed: 0 to 0.9"},
        {"{\"up\":{\"corrupt\":[]},\"down\":{}}", "corrupt: wants a number"},
        {"{\"up\":{\"trace\":1},\"down\":{}}", ":1:16: up.trace: wants the path of a file"},
        {"{\"up\":{\"trace\":\"\"},\"down\":{}}", ":1:16: up.trace: is no path of a file"},
        {"{\"up\":{\"trace\":\"gone\"},\"down\":{}}", "/gone: cannot be opened: "},
        {"{\"up\":{\"trace\":\"bad.up\"},\"down\":{}}", "/bad.up:2:1: a number is wanted here"},
        {"{\"up\":{\"trace\":\"good.up\",\"rate_kbps\":5},\"down\":{}}",
         ":1:38: up.rate_kbps: the trace already limits the rate"},
        {"{\"up\":{\"jitter_table\":\"good.up\"},\"down\":{}}",
         "good.up: holds 1 numbers of 4,096"},
    };
    return cr_make_param_array(struct bad_case, cases, sizeof cases / sizeof cases[0]);
}

ParameterizedTest(const struct bad_case *c, net_profile,
                  what_is_no_profile_is_refused_with_its_place)
{
    struct rig rig = rig_begin();
    struct profile *profile;
    struct profile_error error;
    rig_file(&rig, "bad.up", "1\nx\n");
    rig_file(&rig, "good.up", "7\n");
    char *path = rig_file(&rig, "p.json", c->text);
    cr_assert_eq(profile_load(path, 1, &profile, &error), ARB_DATA, "%s", c->text);
    cr_assert_null(profile);
    cr_assert(strncmp(error.text, path, strlen(path)) == 0, "%s", error.text);
    const char *rest = error.text + strlen(path);
    bool fits = c->expected[0] == ':' ? strncmp(rest, c->expected, strlen(c->expected)) == 0
                                      : strstr(rest, c->expected) != NULL;
    cr_assert(fits, "%s: %s", c->text, rest);
    rig_end(&rig);
}

Test(net_profile, a_name_that_is_neither_profile_nor_file_is_told_what_there_is)
{
    struct profile *profile;
    struct profile_error error;
    cr_assert_eq(profile_load("awful", 1, &profile, &error), ARB_DATA);
    cr_assert_not_null(strstr(error.text, "awful: cannot be opened"), "%s", error.text);
    cr_assert_not_null(strstr(error.text, "lan, good, average, bad, mobile"), "%s", error.text);
}
