/* A failing run made smaller: fewer ticks, faults and clients, one change at a time, kept when the
 * run still fails. */
#define _GNU_SOURCE
#include "tools/sim/sim_command.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

struct sim_outcome sim_command_try(const struct sim_command *command)
{
    struct sim_outcome outcome = {.status = SIM_EXIT_VIOLATION};
    int ends[2];
    if (pipe(ends) != 0) {
        perror("arbiter-sim: pipe");
        exit(EXIT_FAILURE);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("arbiter-sim: fork");
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        struct sim_outcome own = sim_command_run(command, NULL, true);
        bool told = write(ends[1], &own, sizeof own) == (ssize_t)sizeof own;
        _exit(told ? own.status : SIM_EXIT_VIOLATION);
    }
    close(ends[1]);
    struct sim_outcome told;
    if (read(ends[0], &told, sizeof told) == (ssize_t)sizeof told) outcome = told;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return outcome;
}

static bool fails(const struct sim_command *command, struct sim_outcome *outcome)
{
    *outcome = sim_command_try(command);
    return outcome->status == SIM_EXIT_VIOLATION;
}

static bool keep_if_it_fails(struct sim_command *best, const struct sim_command *smaller,
                             struct sim_outcome *outcome)
{
    if (!fails(smaller, outcome)) return false;
    *best = *smaller;
    if (outcome->first_ticks > 0 && outcome->first_ticks < best->ticks) {
        best->ticks = outcome->first_ticks;
    }
    return true;
}

static bool fewer_ticks(struct sim_command *best)
{
    struct sim_outcome outcome;
    struct sim_command smaller = *best;
    bool any = false;
    while (smaller.ticks > 1) {
        smaller.ticks = smaller.ticks / 2;
        if (!keep_if_it_fails(best, &smaller, &outcome)) break;
        any = true;
        smaller.ticks = best->ticks;
    }
    return any;
}

static bool fewer_faults(struct sim_command *best)
{
    struct sim_outcome outcome;
    bool any = false;
    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        struct sim_command smaller = *best;
        smaller.faults &= ~(1U << fault);
        if (smaller.faults != best->faults) any |= keep_if_it_fails(best, &smaller, &outcome);
    }
    return any;
}

static bool fewer_clients(struct sim_command *best)
{
    struct sim_outcome outcome;
    bool any = false;
    for (uint32_t less = best->clients / 2; less > 0;) {
        struct sim_command smaller = *best;
        smaller.clients -= less;
        if (smaller.clients > 0 && keep_if_it_fails(best, &smaller, &outcome)) {
            any = true;
        } else {
            less /= 2;
        }
        if (less >= best->clients) less = best->clients / 2;
    }
    return any;
}

struct sim_command sim_shrink(const struct sim_command *command)
{
    struct sim_command best = *command;
    struct sim_outcome outcome;
    if (!keep_if_it_fails(&best, command, &outcome)) return best;
    bool any = true;
    while (any) {
        any = fewer_faults(&best);
        any |= fewer_clients(&best);
        any |= fewer_ticks(&best);
    }
    return best;
}
