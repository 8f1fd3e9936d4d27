/* What arbiter-sim was asked for, one run of it, and its line to repeat it. */
#ifndef SIM_COMMAND_H
#define SIM_COMMAND_H

#include "tools/sim/sim.h"

#include <stdio.h>

enum {
    SIM_EXIT_CLEAN = 0,
    SIM_EXIT_VIOLATION = 1,
    SIM_EXIT_ARGUMENTS = 64,
    SIM_EXIT_PROFILE = 65,
    SIM_EXIT_FILES = 74,
    SIM_EXIT_CONFIG = 78,
    SIM_SETS_MAX = 64,
    SIM_CLIENTS_MAX = 512,
    SIM_SYNCTEST_MAX = 120,
};

struct sim_command {
    const char *config;
    const char *sets[SIM_SETS_MAX];
    uint32_t set_count;
    uint32_t clients, spectators;
    const char *profile;
    uint64_t seed;
    uint64_t ticks;
    uint32_t faults; /* bit per enum sim_fault */
    uint32_t frames_per_s;
    bool fixed_interpolation;
    uint32_t interpolation_ms;
    const char *policies[SIM_POLICIES_MAX + 1]; /* NULL behind the last */
    enum sim_cheat cheat;
    uint32_t synctest_ticks; /* 0: not */
    const char *journal;     /* name of the file; NULL: none */
    FILE *journal_out;       /* it, opened by whoever runs the command */
    bool report, shrink;
    uint32_t soak_minutes; /* 0: one run */
};

extern const char sim_usage[];

/* False with a sentence on stderr. */
bool sim_command_parse(struct sim_command *command, int argc, char **argv);

struct sim_outcome {
    int status;           /* SIM_EXIT_... */
    uint64_t ticks;       /* run */
    uint64_t first_ticks; /* run when the first violation was found */
};

/* One run. The report (NULL: none) is the same for the same command, byte for byte; sentences go to
 * stderr unless `quiet`. */
struct sim_outcome sim_command_run(const struct sim_command *command, FILE *report, bool quiet);

/* The command as a line for a shell, without a newline. */
void sim_command_print(const struct sim_command *command, FILE *out);

/* One run in a process of its own: one that ends by a signal (a failed assertion) is a violation.
 */
struct sim_outcome sim_command_try(const struct sim_command *command);

/* A smaller command that fails as well as the given one, which must fail, as `try` (for arbiter-sim
 * sim_command_try) says. */
struct sim_command sim_shrink(const struct sim_command *command,
                              struct sim_outcome (*try)(const struct sim_command *command));

/* sim_report.c */
void sim_report_print(FILE *out, const struct sim_command *command, const struct sim *sim);

#endif
