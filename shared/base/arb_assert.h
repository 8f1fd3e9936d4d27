/* ARB_ASSERT: our own mistakes only. Bytes from outside are refused with a reason, the world's
 * failures are an arb_result; neither ever asserts. Cheap conditions stay on in release builds: a
 * match that continues on a broken invariant would write a wrong result, which is worse than none.
 */
#ifndef ARB_ASSERT_H
#define ARB_ASSERT_H

/* Prints file, line and condition to stderr and aborts. */
_Noreturn void arb_assert_failed(const char *file, int line, const char *condition);

#define ARB_ASSERT(condition)                                                                      \
    ((condition) ? (void)0 : arb_assert_failed(__FILE__, __LINE__, #condition))

/* Costly checks (whole-array scans): only in a build with -DARB_VALIDATE. */
#ifdef ARB_VALIDATE
#define ARB_VALIDATE_ASSERT(condition) ARB_ASSERT(condition)
#else
#define ARB_VALIDATE_ASSERT(condition) ((void)0)
#endif

#endif
