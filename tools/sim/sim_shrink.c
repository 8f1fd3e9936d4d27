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

struct search {
    struct sim_outcome (*try)(const struct sim_command *command);
    struct sim_command best;
};

static bool keep_if_it_fails(struct search *search, const struct sim_command *smaller)
{
    struct sim_outcome outcome = search->try(smaller);
    if (outcome.status != SIM_EXIT_VIOLATION) return false;
    search->best = *smaller;
    if (outcome.first_ticks > 0 && outcome.first_ticks < smaller->ticks) {
        search->best.ticks = outcome.first_ticks;
    }
    return true;
}

/* The first violation says how many are enough; a failed assertion says nothing. */
static bool fewer_ticks(struct search *search)
{
    bool any = false;
    for (uint64_t less = search->best.ticks / 2; less > 0;) {
        struct sim_command smaller = search->best;
        smaller.ticks -= less;
        if (smaller.ticks > 0 && keep_if_it_fails(search, &smaller)) {
            any = true;
        } else {
            less /= 2;
        }
        if (less >= search->best.ticks) less = search->best.ticks / 2;
    }
    return any;
}

static bool fewer_faults(struct search *search)
{
    bool any = false;
    for (int fault = 0; fault < SIM_FAULTS; fault++) {
        struct sim_command smaller = search->best;
        smaller.faults &= ~(1U << fault);
        if (smaller.faults != search->best.faults) any |= keep_if_it_fails(search, &smaller);
    }
    return any;
}

static bool fewer_clients(struct search *search)
{
    bool any = false;
    for (uint32_t less = search->best.clients / 2; less > 0;) {
        struct sim_command smaller = search->best;
        smaller.clients -= less;
        if (smaller.clients > 0 && keep_if_it_fails(search, &smaller)) {
            any = true;
        } else {
            less /= 2;
        }
        if (less >= search->best.clients) less = search->best.clients / 2;
    }
    return any;
}

struct sim_command sim_shrink(const struct sim_command *command,
                              struct sim_outcome (*try)(const struct sim_command *command))
{
    struct search search = {.try = try, .best = *command};
    bool any = keep_if_it_fails(&search, command);
    while (any) {
        any = fewer_faults(&search);
        any |= fewer_clients(&search);
        any |= fewer_ticks(&search);
    }
    return search.best;
}
