/* What the client library promises of its clocks (README, "Figures"): own delay, evenness of the
 * felt input rate, starved ticks. The real server over the simulated network, so the same on every
 * machine. */
#include "tests/support/virtual.h"
#include "tools/net/profile.h"
#include "tools/sim/sim_internal.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <string.h>

#define ARENA ARBITER_SOURCE_DIR "/config/arena.json"

enum { CLIENTS = 6, FRAME_US = 16667, WINDOW = 60 /* frames of a second */ };

static struct sim *start(const char *interval, const struct profile *profile, struct arb_link link,
                         uint64_t seed)
{
    const char *const sets[] = {"match.min_players=1", "match.duration_s=600", interval};
    return virtual_create(&(struct sim_options){.config_file = ARENA,
                                                .sets = sets,
                                                .set_count = 3,
                                                .clients = CLIENTS,
                                                .seed = seed,
                                                .profile = profile,
                                                .up = link,
                                                .down = link,
                                                .policies = {"aim"}});
}

/* The age of what is drawn, less the way, in ms: by the server's own clock, not by the client's
 * estimate of it. */
static double own_delay_ms(struct sim *sim, uint32_t client, double way_ms)
{
    const struct arb_slew *view = &sim_client(sim, client)->clocks.view;
    uint64_t server_ns = sim_clock_ns(&sim->server_clock, sim_now_us(sim));
    uint64_t deadline_ns = scheduler_deadline_ns(&sim->scheduler);
    /* S[t] is published at its deadline, and the next one is that of tick head->tick. */
    double present =
        (double)match_tick(sim_match(sim)) + ((double)server_ns - (double)deadline_ns) * 60e-9;
    uint64_t client_ns = sim_clock_ns(&sim->players[client].clock, sim_now_us(sim));
    double drawn = (double)arb_slew_at(view, client_ns, 60) / (double)ARB_FINE_TICK;
    return (present - drawn) * 1000.0 / 60.0 - way_ms;
}

struct delays {
    double first, most; /* from the first frame on; of all */
    double mean, late;  /* mean and most after 15 s */
};

/* Of all clients, from the first frame in which one draws. */
static struct delays own_delays(const char *interval, uint32_t way_us)
{
    const struct arb_link calm = {.delay_us = way_us};
    struct sim *sim = start(interval, NULL, calm, 3);
    struct delays out = {0};
    double sum = 0.0;
    uint32_t count = 0;
    for (int i = 0; i < 25 * WINDOW; i++) {
        sim_run_us(sim, FRAME_US);
        for (uint32_t client = 0; client < CLIENTS; client++) {
            const struct arbiter_client *one = sim_client(sim, client);
            if (one == NULL || one->statistics.sampled_frames == 0) {
                continue;
            }
            double delay = own_delay_ms(sim, client, way_us * 1e-3);
            out.first = out.first > 0.0 ? out.first : delay;
            out.most = delay > out.most ? delay : out.most;
            if (i >= 15 * WINDOW) {
                out.late = delay > out.late ? delay : out.late;
                sum += delay;
                count++;
            }
        }
    }
    out.mean = sum / count;
    printf("own delay, %s, %u us: first %.2f ms, most %.2f; later mean %.2f, most %.2f\n", interval,
           way_us, out.first, out.most, out.mean, out.late);
    sim_destroy(sim);
    return out;
}

static const uint32_t ways_us[] = {250, 5000, 20000, 30000, 33000, 75000};

Test(client_figures, own_delay_is_at_most_the_way_between_snapshots_and_half_a_frame_ever)
{
    for (size_t i = 0; i < sizeof ways_us / sizeof ways_us[0]; i++) {
        struct delays each = own_delays("snapshot.interval_ticks=1", ways_us[i]);
        cr_expect_leq(each.most, 25.0, "%u us", ways_us[i]);
        cr_expect_gt(each.mean, 16.6, "two snapshots to draw between");
        struct delays second = own_delays("snapshot.interval_ticks=2", ways_us[i]);
        cr_expect_leq(second.most, 41.7, "%u us", ways_us[i]);
    }
}

struct row {
    char profile[16];
};

ParameterizedTestParameters(client_figures, input_rate_is_even)
{
    static struct row rows[] = {{"lan"}, {"good"}, {"average"}, {"bad"}, {"mobile"}};
    return cr_make_param_array(struct row, rows, sizeof rows / sizeof rows[0]);
}

/* Newest first; a window begins anew with a resync. */
struct pace {
    double rate[WINDOW];
    uint32_t count;
    uint64_t at_ns, resyncs;
    arb_fine at;
};

static double spread(const struct pace *pace)
{
    double low = 10.0, high = 0.0;
    uint32_t held = pace->count < WINDOW ? pace->count : WINDOW;
    for (uint32_t i = 0; i < held; i++) {
        low = pace->rate[i] < low ? pace->rate[i] : low;
        high = pace->rate[i] > high ? pace->rate[i] : high;
    }
    return held == 0 ? 0.0 : high - low;
}

static double look(struct pace *pace, const struct arbiter_client *client)
{
    const struct arb_slew *input = &client->clocks.input;
    if (!input->running || client->statistics.resyncs != pace->resyncs) {
        memset(pace, 0, sizeof *pace);
        pace->resyncs = client->statistics.resyncs;
    } else if (pace->at_ns != 0 && input->now_ns > pace->at_ns) {
        double passed = (double)(input->now_ns - pace->at_ns) * 60e-9;
        double went = (double)(input->at - pace->at) / (double)ARB_FINE_TICK;
        pace->rate[pace->count++ % WINDOW] = went / passed;
    }
    pace->at_ns = input->now_ns;
    pace->at = input->at;
    return spread(pace);
}

ParameterizedTest(struct row *row, client_figures, input_rate_is_even)
{
    static struct pace paces[CLIENTS];
    struct profile *profile = NULL;
    struct profile_error error;
    cr_assert_eq(profile_load(row->profile, 4, &profile, &error), ARB_OK, "%s", error.text);
    memset(paces, 0, sizeof paces);
    struct sim *sim = start("snapshot.interval_ticks=2", profile, (struct arb_link){0}, 4);
    sim_run_us(sim, 4 * SIM_SECOND_US);
    double worst = 0.0;
    for (int i = 0; i < 60 * WINDOW; i++) {
        sim_run_us(sim, FRAME_US);
        for (uint32_t client = 0; client < CLIENTS; client++) {
            const struct arbiter_client *one = sim_client(sim, client);
            double now = one == NULL ? 0.0 : look(&paces[client], one);
            worst = now > worst ? now : worst;
        }
    }
    printf("%s: the input clock's rate changes by %.4f within a second\n", row->profile, worst);
    cr_assert_leq(worst, 0.0801, "%s", row->profile);
    sim_destroy(sim);
    profile_free(profile);
}

Test(client_figures, hardly_a_tick_is_starved_at_10_percent_loss)
{
    const struct arb_link lossy = {.delay_us = 40000, .jitter_us = 4000, .loss_ppm = 100000};
    struct sim *sim = start("snapshot.interval_ticks=2", NULL, lossy, 5);
    sim_run_us(sim, 10 * SIM_SECOND_US);
    struct arb_counts before[CLIENTS], after;
    for (uint16_t slot = 0; slot < CLIENTS; slot++) {
        match_get_counts(sim_match(sim), slot, &before[slot]);
    }
    sim_run_us(sim, 120 * SIM_SECOND_US);
    uint64_t ticks = 0, starved = 0;
    for (uint16_t slot = 0; slot < CLIENTS; slot++) {
        match_get_counts(sim_match(sim), slot, &after);
        ticks += after.ticks - before[slot].ticks;
        starved += after.inputs_starved - before[slot].inputs_starved;
    }
    printf("10 %% loss: %llu of %llu ticks starved, %.4f %%\n", (unsigned long long)starved,
           (unsigned long long)ticks, 100.0 * (double)starved / (double)ticks);
    cr_assert_lt(1000 * starved, ticks);
    sim_destroy(sim);
}
