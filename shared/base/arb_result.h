/* The one list of failures of the world (files, ports, memory, configuration), with texts. A
 * function that can fail for such a reason returns enum arb_result; `main` maps it to the exit
 * status (spec/operations.md).
 */
#ifndef ARB_RESULT_H
#define ARB_RESULT_H

/* name, exit status of a process that ends with it, text */
#define ARB_RESULT_MAP(X)                                                                          \
    X(OK, 0, "ok")                                                                                 \
    X(NO_RESULT, 1, "ended without a result")                                                      \
    X(ARGUMENTS, 64, "wrong arguments")                                                            \
    X(DATA, 65, "bad data")                                                                        \
    X(ADDRESS, 69, "address or port not to be had")                                                \
    X(MEMORY, 70, "out of memory")                                                                 \
    X(FILES, 74, "file cannot be read or written")                                                 \
    X(CONFIG, 78, "configuration or map not usable")

enum arb_result {
#define X(name, status, text) ARB_##name,
    ARB_RESULT_MAP(X)
#undef X
};

/* Static text, never NULL. */
const char *arb_result_text(enum arb_result result);

/* Exit status of sysexits kind, 0..78. */
int arb_result_exit_status(enum arb_result result);

#endif
