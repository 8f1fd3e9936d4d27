/* What goes wrong, and when: each fault has a random stream of its own, so that leaving one out
 * changes no other. A fault picks its victim, begins, and ends by itself. */
#include "tools/sim/sim_internal.h"

#include "server/match/match_numbers.h"
#include "shared/base/arb_assert.h"

#include <string.h>

enum { STREAM_FAULTS = 100, RECOVERY_US = 12000000 };

static uint64_t between(struct arb_rng *rng, uint64_t low, uint64_t high)
{
    return low + (uint64_t)arb_rng_next(rng) * (high - low + 1) / (UINT64_C(1) << 32);
}

/* Mostly short, sometimes as long as it may be. */
static uint64_t mostly_short(struct arb_rng *rng, uint64_t low, uint64_t high)
{
    uint64_t length = between(rng, low, high);
    return between(rng, 0, 3) == 0 ? length : low + (length - low) / 8;
}

/* One of the clients and spectators, not of the spare players. */
static struct sim_player *pick(struct sim *sim, struct arb_rng *rng)
{
    return &sim->players[arb_rng_below(rng, sim->options.clients + sim->options.spectators)];
}

static void disturb(const struct sim *sim, struct sim_player *player, uint64_t us)
{
    uint64_t until_us = sim->now_us + us + RECOVERY_US;
    if (until_us > player->disturbed_us) player->disturbed_us = until_us;
}

/* ---- the faults ---- */

static void begin_vanish(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    uint64_t away_us = mostly_short(rng, 200000, 15000000);
    disturb(sim, player, away_us);
    if (player->client != NULL) sim_player_vanish(sim, player, sim->now_us + away_us);
}

static void begin_stall(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    uint64_t stall_us = mostly_short(rng, 50000, 6000000);
    disturb(sim, player, stall_us);
    if (player->frame_us != SIM_NEVER) player->frame_us += stall_us;
}

static void begin_move(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    disturb(sim, player, 0);
    sim_player_reconnect(sim, player);
}

static void begin_clock(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    int32_t rate_ppm = (int32_t)between(rng, 0, 20000) - 10000;
    if (between(rng, 0, 2) == 0) rate_ppm = rate_ppm < 0 ? -10000 : 10000;
    sim_clock_set_rate(&player->clock, sim->now_us, rate_ppm);
}

static void begin_overrun(struct sim *sim, struct arb_rng *rng)
{
    sim->server_busy_us = sim->now_us + mostly_short(rng, 10000, 500000);
    sim->overrun_us = sim->server_busy_us;
}

static void begin_duplicate(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    player->duplicate_until_us = sim->now_us + between(rng, 1000000, 6000000);
    sim_player_set_links(sim, player);
}

static void begin_corrupt(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    player->corrupt_until_us = sim->now_us + between(rng, 1000000, 6000000);
    disturb(sim, player, player->corrupt_until_us - sim->now_us);
    sim_player_set_links(sim, player);
}

/* Half of them say only the first word, the others greet and are silent then. */
static void begin_half_open(struct sim *sim, struct arb_rng *rng)
{
    const struct arb_link link = {.delay_us = 20000};
    uint32_t count = 1 + arb_rng_below(rng, 24);
    for (uint32_t i = 0; i < SIM_STRANGERS_MAX && count > 0; i++) {
        struct sim_stranger *stranger = &sim->faults.strangers[i];
        if (stranger->net != NULL) continue;
        count--;
        uint64_t now_ns = sim->now_us * 1000;
        struct arb_carrier *carrier = arb_simnet_connect(sim->network, sim->carrier, link, link);
        struct arb_net_options options = {
            .peer_capacity = 1, .seed = arb_rng_next(rng), .clock_start_ms = arb_rng_next(rng)};
        stranger->net = arb_net_create(carrier, &options, now_ns);
        ARB_ASSERT(stranger->net != NULL);
        bool begun = arb_net_connect(stranger->net, now_ns);
        ARB_ASSERT(begun);
        arb_net_flush(stranger->net, now_ns);
        stranger->greets = arb_rng_below(rng, 2) == 0;
        stranger->due_us = sim->now_us + (stranger->greets ? 100000 : 0);
        stranger->end_us = sim->now_us + between(rng, 500000, 8000000);
    }
}

static void begin_partition(struct sim *sim, struct arb_rng *rng)
{
    struct sim_player *player = pick(sim, rng);
    uint64_t dead_us = mostly_short(rng, 200000, 20000000);
    uint32_t direction = arb_rng_below(rng, 2);
    uint64_t until_us = sim->now_us + dead_us;
    disturb(sim, player, dead_us);
    if (until_us > player->block_until_us[direction]) player->block_until_us[direction] = until_us;
    sim_player_set_links(sim, player);
}

static void begin_storm(struct sim *sim, struct arb_rng *rng)
{
    for (uint32_t i = 0; i < sim->player_count; i++) {
        struct sim_player *player = &sim->players[i];
        if (!player->is_spare) continue;
        uint64_t join_us = sim->now_us + between(rng, 0, 1500000);
        uint64_t stay_us = between(rng, 100000, 4000000);
        player->leaves_politely = arb_rng_below(rng, 2) == 0;
        if (player->client == NULL) player->join_us = join_us;
        player->leave_us = join_us + stay_us;
        disturb(sim, player, 30 * SIM_SECOND_US);
    }
}

/* A step that makes sense for integers or for the bits of floats; what may not be is not tried. */
static uint32_t other_number(struct arb_rng *rng, uint32_t value)
{
    static const uint32_t steps[] = {1, UINT32_MAX, 20, UINT32_C(0x00400000), UINT32_C(0xFFC00000)};
    enum { STEPS = sizeof steps / sizeof steps[0] };
    uint32_t kind = arb_rng_below(rng, STEPS + 1);
    return kind < STEPS ? value + steps[kind] : value / 2;
}

static void begin_reload(struct sim *sim, struct arb_rng *rng)
{
    enum { TRIES = 12 };
    char error[MATCH_NUMBERS_ERROR_BYTES];
    uint32_t numbers[MATCH_NUMBERS_MAX];
    uint32_t count = match_number_count(sim->match);
    if (count == 0) return; /* a mode may have none that change */
    memcpy(numbers, match_numbers(sim->match), count * sizeof numbers[0]);
    for (int i = 0; i < TRIES; i++) {
        uint32_t index = arb_rng_below(rng, count), before = numbers[index];
        numbers[index] = other_number(rng, before);
        if (!match_numbers_check(sim->match, numbers, error)) numbers[index] = before;
    }
    match_reload(sim->match, numbers);
}

static void begin_crash(struct sim *sim, struct arb_rng *rng)
{
    enum { TIME_OUT_US = 20000000 }; /* until everybody has noticed, and is there again */
    if (match_ended(sim->match) || !sim_crash(sim, rng)) return;
    for (uint32_t i = 0; i < sim->player_count; i++) {
        disturb(sim, &sim->players[i], TIME_OUT_US);
    }
}

static const struct {
    void (*begin)(struct sim *sim, struct arb_rng *rng);
    uint32_t low_ms, high_ms; /* from one to the next */
} faults[] = {
    [SIM_FAULT_VANISH] = {begin_vanish, 4000, 14000},
    [SIM_FAULT_STALL] = {begin_stall, 3000, 10000},
    [SIM_FAULT_MOVE] = {begin_move, 5000, 15000},
    [SIM_FAULT_CLOCK] = {begin_clock, 2000, 6000},
    [SIM_FAULT_OVERRUN] = {begin_overrun, 3000, 12000},
    [SIM_FAULT_DUPLICATE] = {begin_duplicate, 3000, 9000},
    [SIM_FAULT_CORRUPT] = {begin_corrupt, 3000, 9000},
    [SIM_FAULT_HALF_OPEN] = {begin_half_open, 3000, 9000},
    [SIM_FAULT_PARTITION] = {begin_partition, 5000, 15000},
    [SIM_FAULT_STORM] = {begin_storm, 6000, 16000},
    [SIM_FAULT_RELOAD] = {begin_reload, 2000, 9000},
    [SIM_FAULT_CRASH] = {begin_crash, 6000, 40000},
};
_Static_assert(sizeof faults / sizeof faults[0] == SIM_FAULTS, "a row for each fault");

/* ---- strangers ---- */

static void run_stranger(struct sim *sim, struct sim_stranger *stranger)
{
    if (stranger->end_us <= sim->now_us) {
        arb_net_destroy(stranger->net);
        stranger->net = NULL;
    } else if (stranger->greets && stranger->due_us <= sim->now_us) {
        struct arb_net_event event;
        arb_net_service(stranger->net, sim->now_us * 1000);
        while (arb_net_next(stranger->net, &event)) {
        }
        stranger->due_us = sim->now_us + 100000;
    }
}

static uint64_t stranger_next_us(const struct sim_stranger *stranger)
{
    if (stranger->net == NULL) return SIM_NEVER;
    return stranger->greets && stranger->due_us < stranger->end_us ? stranger->due_us
                                                                   : stranger->end_us;
}

/* ---- life ---- */

static void set_next(struct sim *sim, int fault)
{
    sim->faults.next_us[fault] =
        sim->now_us + between(&sim->faults.rng[fault], faults[fault].low_ms * UINT64_C(1000),
                              faults[fault].high_ms * UINT64_C(1000));
}

void sim_faults_open(struct sim *sim)
{
    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        arb_rng_seed(&sim->faults.rng[fault], sim->options.seed, STREAM_FAULTS + (uint64_t)fault);
        sim->faults.next_us[fault] = SIM_NEVER;
        if ((sim->options.faults >> fault & 1) != 0) set_next(sim, fault);
    }
}

void sim_faults_close(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_STRANGERS_MAX; i++) {
        if (sim->faults.strangers[i].net != NULL) arb_net_destroy(sim->faults.strangers[i].net);
    }
}

uint64_t sim_faults_next_us(const struct sim *sim)
{
    uint64_t next_us = SIM_NEVER;
    if (sim->options.faults == 0) return next_us;
    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        if (sim->faults.next_us[fault] < next_us) next_us = sim->faults.next_us[fault];
    }
    for (uint32_t i = 0; i < SIM_STRANGERS_MAX; i++) {
        uint64_t at_us = stranger_next_us(&sim->faults.strangers[i]);
        if (at_us < next_us) next_us = at_us;
    }
    return next_us;
}

void sim_faults_run(struct sim *sim)
{
    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        if (sim->faults.next_us[fault] > sim->now_us) continue;
        faults[fault].begin(sim, &sim->faults.rng[fault]);
        sim->totals.faults[fault]++;
        set_next(sim, fault);
    }
    for (uint32_t i = 0; i < SIM_STRANGERS_MAX; i++) {
        if (stranger_next_us(&sim->faults.strangers[i]) <= sim->now_us) {
            run_stranger(sim, &sim->faults.strangers[i]);
        }
    }
}
