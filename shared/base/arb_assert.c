#include "shared/base/arb_assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void arb_assert_failed(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
    abort();
}
