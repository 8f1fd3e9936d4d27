/* Tests with parameters, as criterion.h beside this. */
#ifndef PLAIN_CRITERION_PARAMETERIZED_H
#define PLAIN_CRITERION_PARAMETERIZED_H

#include "tests/support/plain/criterion/criterion.h"

#define ParameterizedTestParameters(suite_, name_)                                                 \
    static struct criterion_test_params suite_##_##name_##_parameters(void)

#define cr_make_param_array(type, array, count)                                                    \
    (struct criterion_test_params)                                                                 \
    {                                                                                              \
        sizeof(type), (array), (count)                                                             \
    }

/* Called through `void *`, which each of our systems passes as any other pointer. */
#define ParameterizedTest(parameter_, suite_, name_, ...)                                          \
    static struct criterion_test_params suite_##_##name_##_parameters(void);                       \
    static void suite_##_##name_##_run(parameter_);                                                \
    PLAIN_REGISTER(suite_##_##name_, .suite = #suite_, .name = #name_,                             \
                   .run_with = (void (*)(void *))(void (*)(void))suite_##_##name_##_run,           \
                   .parameters = suite_##_##name_##_parameters,                                    \
                   .options = {.line = __LINE__, __VA_ARGS__})                                     \
    static void suite_##_##name_##_run(parameter_)

#endif
