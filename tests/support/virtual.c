#include "tests/support/virtual.h"

#include "shared/base/arb_assert.h"

#include <stdio.h>

struct sim *virtual_create(const struct sim_options *options)
{
    struct config_error error;
    struct sim *sim = sim_create(options, &error);
    if (sim == NULL) fprintf(stderr, "%s\n", error.text);
    ARB_ASSERT(sim != NULL);
    return sim;
}
