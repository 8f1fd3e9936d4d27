/* Runs what the tests of one program registered; an argument picks those whose name holds it. Ends
 * with 'N passed, N failed, N skipped'. */
#define _GNU_SOURCE
#include <criterion/criterion.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

static struct plain_test *tests;
static jmp_buf way_out;
static unsigned failures; /* of the test that runs */

/* In the order of their lines: constructors come in one that differs between systems. */
void plain_add(struct plain_test *test)
{
    struct plain_test **at = &tests;
    while (*at != NULL && (*at)->options.line < test->options.line) {
        at = &(*at)->next;
    }
    test->next = *at;
    *at = test;
}

static void fail(const char *file, int line, const char *condition, const char *text,
                 va_list arguments)
{
    failures++;
    fprintf(stderr, "%s:%d: %s ", file, line, condition);
    vfprintf(stderr, text, arguments);
    fputc('\n', stderr);
}

void plain_note(const char *file, int line, const char *condition, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    fail(file, line, condition, text, arguments);
    va_end(arguments);
}

void plain_stop(const char *file, int line, const char *condition, const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    fail(file, line, condition, text, arguments);
    va_end(arguments);
    longjmp(way_out, 1);
}

void plain_log(const char *text, ...)
{
    va_list arguments;
    va_start(arguments, text);
    vfprintf(stderr, text, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

static struct plain_options options_of(const struct plain_test *test)
{
    struct plain_options options = test->options;
    for (const struct plain_test *suite = tests; suite != NULL; suite = suite->next) {
        if (suite->name != NULL || strcmp(suite->suite, test->suite) != 0) continue;
        if (options.init == NULL) options.init = suite->options.init;
        if (options.fini == NULL) options.fini = suite->options.fini;
    }
    return options;
}

static void run_once(const struct plain_test *test, void *parameter)
{
    const struct plain_options options = options_of(test);
    if (setjmp(way_out) == 0) {
        if (options.init != NULL) options.init();
        if (test->run_with != NULL) {
            test->run_with(parameter);
        } else {
            test->run();
        }
    }
    if (options.fini != NULL && setjmp(way_out) == 0) options.fini();
}

static void run(const struct plain_test *test)
{
    if (test->run_with == NULL) {
        run_once(test, NULL);
        return;
    }
    struct criterion_test_params all = test->parameters();
    for (size_t i = 0; i < all.length; i++) {
        run_once(test, (char *)all.params + i * all.size);
    }
}

/* False: it cannot be tried on this system. */
static bool run_to_signal(const struct plain_test *test)
{
#ifdef _WIN32
    (void)test;
    return false;
#else
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) {
        run(test);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != test->options.signal) failures++;
    return true;
#endif
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0, skipped = 0;
    for (const struct plain_test *test = tests; test != NULL; test = test->next) {
        if (test->name == NULL || (argc > 1 && strstr(test->name, argv[1]) == NULL)) continue;
        failures = 0;
        if (test->options.signal != 0) {
            if (!run_to_signal(test)) {
                skipped++;
                continue;
            }
        } else {
            run(test);
        }
        if (failures > 0) fprintf(stderr, "failed: %s/%s\n", test->suite, test->name);
        failed += failures > 0;
        passed += failures == 0;
    }
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed > 0 || passed == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
