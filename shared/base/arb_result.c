#include "shared/base/arb_result.h"

#include "shared/base/arb_assert.h"

#include <stddef.h>

static const struct {
    const char *text;
    int status;
} result_rows[] = {
#define X(name, status, text) [ARB_##name] = {text, status},
    ARB_RESULT_MAP(X)
#undef X
};

const char *arb_result_text(enum arb_result result)
{
    ARB_ASSERT((size_t)result < sizeof result_rows / sizeof result_rows[0]);
    return result_rows[result].text;
}

int arb_result_exit_status(enum arb_result result)
{
    ARB_ASSERT((size_t)result < sizeof result_rows / sizeof result_rows[0]);
    return result_rows[result].status;
}
