/* Words of a test, as criterion.h beside this. */
#ifndef PLAIN_CRITERION_LOGGING_H
#define PLAIN_CRITERION_LOGGING_H

#include "tests/support/plain/criterion/criterion.h"

#define cr_log_info(...) plain_log(__VA_ARGS__)

#endif
