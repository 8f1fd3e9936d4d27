#define _GNU_SOURCE
#include "tools/sim/sim_command.h"

#include "shared/base/arb_rng.h"
#include "tools/net/profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char sim_usage[] =
    "usage: arbiter-sim [--config FILE] [--set PATH=VALUE]... [--clients N] [--spectators N]\n"
    "                   [--profile NAME|FILE] [--seed S] [--ticks T] [--faults LIST|all|none] "
    "[--fps N]\n"
    "                   [--interp-delay-ms N] [--policy NAME]... [--cheat NAME] [--report json]\n"
    "                   [--synctest N] [--journal FILE]\n"
    "                   [--shrink | --soak MINUTES]\n"
    "  --clients          10 unless given\n"
    "  --spectators       who watch beside them, at most spectator.max; 0 unless given\n"
    "  --profile          lan, good, average, bad, mobile, or a file; average unless given\n"
    "  --ticks            3600 unless given; a match that ends sooner ends the run\n"
    "  --faults           names with commas between; none unless given:\n"
    "                     vanish stall move clock overrun duplicate corrupt half_open partition\n"
    "                     storm reload crash; all: all of these but crash\n"
    "  --fps              frames a second of the clients; 60 unless given\n"
    "  --interp-delay-ms  fixed; it adapts unless given\n"
    "  --policy           of the clients: aim (unless given), wander, idle, replay:FILE;\n"
    "                     repeated: client i takes the one of i mod their number\n"
    "  --cheat            client 0 lies about what it saw when it fires: random old recent\n"
    "                     alternating future stall lag held freeze ahead; honest fires alike and\n"
    "                     tells the truth\n"
    "  --synctest         runs every tick again from N ticks before, and compares; 1 to 120\n"
    "  --journal          writes the journal of the match there, for arbiter-replay\n"
    "  --shrink           looks for a smaller run that fails as well, and prints its line\n"
    "  --soak             goes on with the seeds after S for so long\n"
    "exit status: 0 all invariants held, 1 one did not, 64 wrong arguments, 65 bad profile,\n"
    "74 the journal cannot be written, 78 bad configuration or map\n";

/* ---- arguments ---- */

static bool parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] < '0' || text[0] > '9' ||
        value < low || value > high) {
        return false;
    }
    *out = value;
    return true;
}

static bool parse_u32(const char *text, uint32_t low, uint32_t high, uint32_t *out)
{
    uint64_t value = 0;
    if (!parse_number(text, low, high, &value)) return false;
    *out = (uint32_t)value;
    return true;
}

static bool add_fault(uint32_t *faults, const char *name, size_t length)
{
    if (length == 3 && strncmp(name, "all", length) == 0) {
        *faults |= SIM_FAULTS_ALL;
        return true;
    }
    for (int i = 0; i < SIM_FAULTS; i++) {
        const char *known = sim_fault_name((enum sim_fault)i);
        if (strlen(known) == length && strncmp(known, name, length) == 0) {
            *faults |= 1U << i;
            return true;
        }
    }
    fprintf(stderr, "arbiter-sim: no fault '%.*s'\n", (int)length, name);
    return false;
}

static bool parse_faults(const char *text, uint32_t *out)
{
    *out = 0;
    if (strcmp(text, "none") == 0) return true;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!add_fault(out, text, length)) return false;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

static bool parse_cheat(const char *text, enum sim_cheat *out)
{
    for (int i = 0; i < SIM_CHEATS; i++) {
        if (strcmp(text, sim_cheat_name((enum sim_cheat)i)) == 0) {
            *out = (enum sim_cheat)i;
            return true;
        }
    }
    return false;
}

static uint32_t count_policies(const struct sim_command *command)
{
    uint32_t count = 0;
    while (command->policies[count] != NULL) {
        count++;
    }
    return count;
}

static bool parse_value(struct sim_command *command, const char *name, const char *value)
{
    if (strcmp(name, "--config") == 0) {
        command->config = value;
    } else if (strcmp(name, "--set") == 0 && command->set_count < SIM_SETS_MAX) {
        command->sets[command->set_count++] = value;
    } else if (strcmp(name, "--clients") == 0) {
        return parse_u32(value, 1, SIM_CLIENTS_MAX, &command->clients);
    } else if (strcmp(name, "--spectators") == 0) {
        return parse_u32(value, 0, SIM_CLIENTS_MAX, &command->spectators);
    } else if (strcmp(name, "--profile") == 0) {
        command->profile = value;
    } else if (strcmp(name, "--seed") == 0) {
        return parse_number(value, 0, UINT64_MAX, &command->seed);
    } else if (strcmp(name, "--ticks") == 0) {
        return parse_number(value, 1, UINT64_C(1) << 40, &command->ticks);
    } else if (strcmp(name, "--faults") == 0) {
        return parse_faults(value, &command->faults);
    } else if (strcmp(name, "--fps") == 0) {
        return parse_u32(value, 5, 1000, &command->frames_per_s);
    } else if (strcmp(name, "--interp-delay-ms") == 0) {
        command->fixed_interpolation = true;
        return parse_u32(value, 0, 10000, &command->interpolation_ms);
    } else if (strcmp(name, "--policy") == 0 && count_policies(command) < SIM_POLICIES_MAX) {
        command->policies[count_policies(command)] = value;
    } else if (strcmp(name, "--cheat") == 0) {
        return parse_cheat(value, &command->cheat);
    } else if (strcmp(name, "--journal") == 0) {
        command->journal = value;
    } else if (strcmp(name, "--synctest") == 0) {
        return parse_u32(value, 1, SIM_SYNCTEST_MAX, &command->synctest_ticks);
    } else if (strcmp(name, "--report") == 0 && strcmp(value, "json") == 0) {
        command->report = true;
    } else if (strcmp(name, "--soak") == 0) {
        return parse_u32(value, 1, 100000, &command->soak_minutes);
    } else {
        return false;
    }
    return true;
}

bool sim_command_parse(struct sim_command *command, int argc, char **argv)
{
    *command = (struct sim_command){
        .clients = 10, .profile = "average", .seed = 1, .ticks = 3600, .frames_per_s = 60};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--shrink") == 0) {
            command->shrink = true;
            continue;
        }
        if (i + 1 == argc) {
            fprintf(stderr, "arbiter-sim: %s wants a value, or is unknown\n", argv[i]);
            return false;
        }
        if (!parse_value(command, argv[i], argv[i + 1])) {
            fprintf(stderr, "arbiter-sim: %s %s is not understood\n", argv[i], argv[i + 1]);
            return false;
        }
        i++;
    }
    if (command->policies[0] == NULL) command->policies[0] = "aim";
    if (command->shrink && command->soak_minutes > 0) {
        fprintf(stderr, "arbiter-sim: --shrink and --soak are not for one run\n");
        return false;
    }
    return true;
}

static void print_word(FILE *out, const char *word)
{
    if (strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,") ==
        strlen(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(*word, out);
        }
    }
    fputc('\'', out);
}

static void print_faults(uint32_t faults, FILE *out)
{
    const char *comma = "";
    if (faults != 0) fputs(" --faults ", out);
    if ((faults & SIM_FAULTS_ALL) == SIM_FAULTS_ALL) {
        fputs("all", out);
        faults &= ~SIM_FAULTS_ALL;
        comma = ",";
    }
    for (int i = 0; i < SIM_FAULTS; i++) {
        if ((faults >> i & 1) == 0) continue;
        fprintf(out, "%s%s", comma, sim_fault_name((enum sim_fault)i));
        comma = ",";
    }
}

void sim_command_print(const struct sim_command *command, FILE *out)
{
    fputs("arbiter-sim", out);
    if (command->config != NULL) {
        fputs(" --config ", out);
        print_word(out, command->config);
    }
    for (uint32_t i = 0; i < command->set_count; i++) {
        fputs(" --set ", out);
        print_word(out, command->sets[i]);
    }
    fprintf(out, " --clients %u", command->clients);
    if (command->spectators > 0) fprintf(out, " --spectators %u", command->spectators);
    fprintf(out, " --profile ");
    print_word(out, command->profile);
    fprintf(out, " --seed %" PRIu64 " --ticks %" PRIu64, command->seed, command->ticks);
    print_faults(command->faults, out);
    if (command->frames_per_s != 60) fprintf(out, " --fps %u", command->frames_per_s);
    if (command->fixed_interpolation) {
        fprintf(out, " --interp-delay-ms %u", command->interpolation_ms);
    }
    uint32_t policies = count_policies(command);
    if (policies == 1 && strcmp(command->policies[0], "aim") == 0) policies = 0;
    for (uint32_t i = 0; i < policies; i++) {
        fputs(" --policy ", out);
        print_word(out, command->policies[i]);
    }
    if (command->synctest_ticks > 0) {
        fprintf(out, " --synctest %u", command->synctest_ticks);
    }
    if (command->cheat != SIM_CHEAT_none) {
        fprintf(out, " --cheat %s", sim_cheat_name(command->cheat));
    }
}

/* ---- one run ---- */

/* What the seed decides of the match, unless --set does: where the ticks begin (near the places
 * where 16, 31 and 32 bits end), whether rounds are short, and how little of it is replicated. */
enum { CHOICES_MAX = 16 };
struct choices {
    char texts[CHOICES_MAX][64];
    const char *sets[CHOICES_MAX + SIM_SETS_MAX];
    uint32_t count;
};

static void choose(struct choices *choices, const char *path, uint64_t value)
{
    char *text = choices->texts[choices->count];
    snprintf(text, sizeof choices->texts[0], "%s=%" PRIu64, path, value);
    choices->sets[choices->count++] = text;
}

/* In every second match: snapshots rarely or with each tick, a budget that does not hold what is in
 * view, far entities at a lower rate, enemies behind walls not told. */
static void choose_replication(struct choices *choices, uint64_t seed)
{
    enum { STREAM_REPLICATION = 702 };
    struct arb_rng rng;
    arb_rng_seed(&rng, seed, STREAM_REPLICATION);
    if (arb_rng_below(&rng, 2) == 0) return;
    uint32_t interval = 1 + arb_rng_below(&rng, 4);
    uint32_t budget = 4096 + arb_rng_below(&rng, 8000);
    uint32_t far_m = 5 + arb_rng_below(&rng, 30), far_every = 2 + arb_rng_below(&rng, 3);
    choose(choices, "snapshot.interval_ticks", interval);
    if (arb_rng_below(&rng, 2) == 0) choose(choices, "snapshot.budget_bytes_per_s", budget);
    if (arb_rng_below(&rng, 2) == 0) {
        choose(choices, "snapshot.far_m", far_m);
        choose(choices, "snapshot.far_every", far_every);
    }
    if (arb_rng_below(&rng, 2) == 0)
        choices->sets[choices->count++] = "interest.line_of_sight=true";
}

static void choose_match(struct choices *choices, const struct sim_command *command)
{
    enum { STREAM_CHOICES = 700 };
    struct arb_rng rng;
    arb_rng_seed(&rng, command->seed, STREAM_CHOICES);
    if (command->clients == 1) choose(choices, "match.min_players", 1);
    uint32_t rounds = arb_rng_below(&rng, 4);
    uint32_t length = 15 + arb_rng_below(&rng, 25), pause = 1 + arb_rng_below(&rng, 3);
    if (rounds > 0) choose(choices, "match.rounds", 1000);
    if (rounds == 1) {
        choose(choices, "match.duration_s", length);
        choose(choices, "match.result_s", pause);
        choose(choices, "match.countdown_s", pause - 1);
    }
    uint32_t place = arb_rng_below(&rng, 4);
    uint64_t before = 1 + arb_rng_below(&rng, 3000);
    uint64_t page = 1 + arb_rng_below(&rng, 65535);
    if (place == 1) choose(choices, "debug.first_tick", (UINT64_C(1) << 31) - before);
    if (place == 2) choose(choices, "debug.first_tick", (UINT64_C(1) << 32) - before);
    if (place == 3) choose(choices, "debug.first_tick", (page << 16) - before);
    choose_replication(choices, command->seed);
    for (uint32_t i = 0; i < command->set_count; i++) {
        choices->sets[choices->count++] = command->sets[i];
    }
}

static bool has_policies(const struct sim_command *command)
{
    char error[256];
    for (uint32_t i = 0; command->policies[i] != NULL; i++) {
        struct bot_policy *policy = bot_policy_create(command->policies[i], error, sizeof error);
        if (policy == NULL) {
            fprintf(stderr, "arbiter-sim: %s\n", error);
            return false;
        }
        bot_policy_destroy(policy);
    }
    return true;
}

static struct sim *create(const struct sim_command *command, const struct profile *profile)
{
    enum { FRAME_JITTER_US = 1500 };
    struct choices choices = {.count = 0};
    struct config_error error;
    choose_match(&choices, command);
    struct sim_options options = {
        .config_file = command->config,
        .sets = choices.sets,
        .set_count = choices.count,
        .clients = command->clients,
        .spectators = command->spectators,
        .seed = command->seed,
        .profile = profile,
        .cheat = command->cheat,
        .frames_per_s = command->frames_per_s,
        .frame_jitter_us = FRAME_JITTER_US,
        .fixed_interpolation = command->fixed_interpolation,
        .interpolation_ms = command->interpolation_ms,
        .faults = command->faults,
        .check = true,
        .synctest_ticks = command->synctest_ticks,
        .journal = command->journal_out != NULL,
        .own_clocks = true,
    };
    memcpy(options.policies, command->policies, sizeof options.policies);
    struct sim *sim = sim_create(&options, &error);
    if (sim == NULL) fprintf(stderr, "arbiter-sim: %s\n", error.text);
    return sim;
}

static void tell_violations(const struct sim_command *command, const struct sim *sim)
{
    const char *text;
    sim_first_violation(sim, &text);
    fprintf(stderr, "arbiter-sim: %s\n", text);
    for (int i = 0; i < SIM_INVARIANTS; i++) {
        uint64_t count = sim_violations(sim, (enum sim_invariant)i);
        if (count == 0) continue;
        fprintf(stderr, "arbiter-sim: %" PRIu64 " times not: %s\n", count,
                sim_invariant_text((enum sim_invariant)i));
    }
    fprintf(stderr, "reproduce: ");
    sim_command_print(command, stderr);
    fprintf(stderr, "\n");
}

struct sim_outcome sim_command_run(const struct sim_command *command, FILE *report, bool quiet)
{
    struct profile *profile = NULL;
    struct profile_error error;
    if (!has_policies(command)) return (struct sim_outcome){.status = SIM_EXIT_ARGUMENTS};
    if (profile_load(command->profile, command->seed, &profile, &error) != ARB_OK) {
        fprintf(stderr, "arbiter-sim: %s\n", error.text);
        return (struct sim_outcome){.status = SIM_EXIT_PROFILE};
    }
    struct sim *sim = create(command, profile);
    if (sim == NULL) {
        profile_free(profile);
        return (struct sim_outcome){.status = SIM_EXIT_CONFIG};
    }
    sim_run_ticks(sim, command->ticks);
    if (match_ended(sim_match(sim))) sim_run_us(sim, 2000000);
    sim_settle(sim);
    struct sim_outcome outcome = {.ticks = sim_ticks(sim)};
    const char *text;
    outcome.first_ticks = sim_first_violation(sim, &text);
    outcome.status = sim_violation_count(sim) > 0 ? SIM_EXIT_VIOLATION : SIM_EXIT_CLEAN;
    if (command->journal_out != NULL && !sim_write_journal(sim, command->journal_out)) {
        outcome.status = SIM_EXIT_FILES;
    }
    if (report != NULL) sim_report_print(report, command, sim);
    if (outcome.status == SIM_EXIT_VIOLATION && !quiet) tell_violations(command, sim);
    sim_destroy(sim);
    profile_free(profile);
    return outcome;
}
