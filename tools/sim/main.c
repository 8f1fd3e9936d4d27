/* arbiter-sim: whole matches under virtual time, from a seed. Everything that depends on the
 * machine's clock is here, and goes to stderr. */
#define _GNU_SOURCE
#include "tools/sim/sim_command.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int run_one(const struct sim_command *command)
{
    double begin_s = now_s();
    struct sim_command own = *command;
    if (own.journal != NULL && (own.journal_out = fopen(own.journal, "wb")) == NULL) {
        perror(own.journal);
        return SIM_EXIT_FILES;
    }
    struct sim_outcome outcome = sim_command_run(&own, own.report ? stdout : NULL, false);
    if (own.journal_out != NULL && fclose(own.journal_out) != 0) outcome.status = SIM_EXIT_FILES;
    if (outcome.status == SIM_EXIT_FILES) perror(own.journal);
    if (outcome.status == SIM_EXIT_CLEAN || outcome.status == SIM_EXIT_VIOLATION) {
        double took_s = now_s() - begin_s;
        fprintf(stderr, "arbiter-sim: %" PRIu64 " ticks in %.2f s: %.0f a second; %s\n",
                outcome.ticks, took_s, (double)outcome.ticks / took_s,
                outcome.status == SIM_EXIT_CLEAN ? "all invariants held" : "one did not hold");
    }
    return outcome.status;
}

static int shrink(const struct sim_command *command)
{
    struct sim_outcome outcome = sim_command_try(command);
    if (outcome.status != SIM_EXIT_VIOLATION) {
        fprintf(stderr, "arbiter-sim: that run does not fail\n");
        return outcome.status;
    }
    struct sim_command smaller = sim_shrink(command, sim_command_try);
    sim_command_print(&smaller, stdout);
    printf("\n");
    fflush(stdout);
    return SIM_EXIT_VIOLATION;
}

/* Each seed in a process of its own, so that a failed assertion ends only that one. */
static int soak(const struct sim_command *command)
{
    double end_s = now_s() + 60.0 * command->soak_minutes;
    struct sim_command next = *command;
    uint64_t runs = 0, failed = 0;
    while (now_s() < end_s) {
        struct sim_outcome outcome = sim_command_try(&next);
        runs++;
        if (outcome.status != SIM_EXIT_CLEAN && outcome.status != SIM_EXIT_VIOLATION) {
            return outcome.status;
        }
        if (outcome.status == SIM_EXIT_VIOLATION) {
            failed++;
            printf("failed: ");
            sim_command_print(&next, stdout);
            printf("\n");
            fflush(stdout);
        }
        next.seed++;
    }
    printf("%" PRIu64 " seeds from %" PRIu64 ", %" PRIu64 " failed\n", runs, command->seed, failed);
    return failed > 0 ? SIM_EXIT_VIOLATION : SIM_EXIT_CLEAN;
}

int main(int argc, char **argv)
{
    struct sim_command command;
    if (argc > 1 && strcmp(argv[argc - 1], "--help") == 0) {
        fputs(sim_usage, stdout);
        return SIM_EXIT_CLEAN;
    }
    if (!sim_command_parse(&command, argc, argv)) {
        fputs(sim_usage, stderr);
        return SIM_EXIT_ARGUMENTS;
    }
    if (command.soak_minutes > 0) return soak(&command);
    return command.shrink ? shrink(&command) : run_one(&command);
}
