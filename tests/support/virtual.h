/* A match under virtual time for tests: tools/sim/sim.h, begun or the test fails. */
#ifndef VIRTUAL_H
#define VIRTUAL_H

#include "tools/sim/sim.h"

/* Asserts, after its text, when configuration, map or policy cannot be used. */
struct sim *virtual_create(const struct sim_options *options);

#endif
