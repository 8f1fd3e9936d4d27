/* The part of Criterion that the tests of shared/ use, for systems that have no Criterion: the same
 * sources then run there, one after the other in one process (a test that must end by a signal in
 * one of its own; where there is no fork it is skipped). Only tests/portable.cmake puts this folder
 * before Criterion's own. plain.c has main().
 */
#ifndef PLAIN_CRITERION_H
#define PLAIN_CRITERION_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct plain_options {
    int line, signal;
    double timeout;
    void (*init)(void);
    void (*fini)(void);
};

struct criterion_test_params {
    size_t size;
    void *params;
    size_t length;
};

struct plain_test {
    const char *suite, *name; /* name NULL: options of a whole suite */
    void (*run)(void);
    void (*run_with)(void *parameter); /* instead of run, once for each parameter */
    struct criterion_test_params (*parameters)(void);
    struct plain_options options;
    struct plain_test *next;
};

void plain_add(struct plain_test *test);
/* Of the test that runs: a condition failed; the second form ends the test. `text` is a format and
 * may be empty. */
void plain_note(const char *file, int line, const char *condition, const char *text, ...);
_Noreturn void plain_stop(const char *file, int line, const char *condition, const char *text, ...);
void plain_log(const char *text, ...);

#define PLAIN_REGISTER(id, ...)                                                                    \
    static struct plain_test id##_entry = {__VA_ARGS__};                                           \
    __attribute__((constructor)) static void id##_add(void)                                        \
    {                                                                                              \
        plain_add(&id##_entry);                                                                    \
    }

#define Test(suite_, name_, ...)                                                                   \
    static void suite_##_##name_##_run(void);                                                      \
    PLAIN_REGISTER(suite_##_##name_, .suite = #suite_, .name = #name_,                             \
                   .run = suite_##_##name_##_run, .options = {.line = __LINE__, __VA_ARGS__})      \
    static void suite_##_##name_##_run(void)

#define TestSuite(suite_, ...)                                                                     \
    PLAIN_REGISTER(suite_##_suite, .suite = #suite_, .options = {.line = __LINE__, __VA_ARGS__})   \
    struct plain_test

#define PLAIN_ASSERT(condition, ...)                                                               \
    ((condition) ? (void)0 : plain_stop(__FILE__, __LINE__, #condition, "" __VA_ARGS__))
#define PLAIN_EXPECT(condition, ...)                                                               \
    ((condition) ? (void)0 : plain_note(__FILE__, __LINE__, #condition, "" __VA_ARGS__))

#define cr_assert(condition, ...) PLAIN_ASSERT((condition), __VA_ARGS__)
#define cr_assert_not(condition, ...) PLAIN_ASSERT(!(condition), __VA_ARGS__)
#define cr_assert_eq(a, b, ...) PLAIN_ASSERT((a) == (b), __VA_ARGS__)
#define cr_assert_neq(a, b, ...) PLAIN_ASSERT((a) != (b), __VA_ARGS__)
#define cr_assert_lt(a, b, ...) PLAIN_ASSERT((a) < (b), __VA_ARGS__)
#define cr_assert_leq(a, b, ...) PLAIN_ASSERT((a) <= (b), __VA_ARGS__)
#define cr_assert_gt(a, b, ...) PLAIN_ASSERT((a) > (b), __VA_ARGS__)
#define cr_assert_geq(a, b, ...) PLAIN_ASSERT((a) >= (b), __VA_ARGS__)
#define cr_assert_null(a, ...) PLAIN_ASSERT((a) == NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...) PLAIN_ASSERT((a) != NULL, __VA_ARGS__)
#define cr_assert_float_eq(a, b, most, ...)                                                        \
    PLAIN_ASSERT(fabs((double)(a) - (double)(b)) <= (double)(most), __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) PLAIN_ASSERT(strcmp(a, b) == 0, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) PLAIN_ASSERT(strcmp(a, b) != 0, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, bytes, ...) PLAIN_ASSERT(memcmp(a, b, bytes) == 0, __VA_ARGS__)
#define cr_expect(condition, ...) PLAIN_EXPECT((condition), __VA_ARGS__)
#define cr_expect_not(condition, ...) PLAIN_EXPECT(!(condition), __VA_ARGS__)
#define cr_expect_eq(a, b, ...) PLAIN_EXPECT((a) == (b), __VA_ARGS__)
#define cr_expect_neq(a, b, ...) PLAIN_EXPECT((a) != (b), __VA_ARGS__)
#define cr_expect_lt(a, b, ...) PLAIN_EXPECT((a) < (b), __VA_ARGS__)
#define cr_expect_leq(a, b, ...) PLAIN_EXPECT((a) <= (b), __VA_ARGS__)
#define cr_expect_gt(a, b, ...) PLAIN_EXPECT((a) > (b), __VA_ARGS__)
#define cr_expect_geq(a, b, ...) PLAIN_EXPECT((a) >= (b), __VA_ARGS__)
#define cr_expect_null(a, ...) PLAIN_EXPECT((a) == NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...) PLAIN_EXPECT((a) != NULL, __VA_ARGS__)
#define cr_expect_float_eq(a, b, most, ...)                                                        \
    PLAIN_EXPECT(fabs((double)(a) - (double)(b)) <= (double)(most), __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) PLAIN_EXPECT(strcmp(a, b) == 0, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, bytes, ...) PLAIN_EXPECT(memcmp(a, b, bytes) == 0, __VA_ARGS__)

#endif
