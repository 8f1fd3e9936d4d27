/* What the readers of profiles and traces share: one line for each error, whole files. Called by
 * this folder; the error also by who loads a profile.
 */
#ifndef NET_PROFILE_TEXT_H
#define NET_PROFILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { PROFILE_ERROR_BYTES = 512 };

struct profile_error {
    char text[PROFILE_ERROR_BYTES]; /* one line: file:line:column: path: what is wrong */
};

/* Always false. line 0: the file as a whole. */
bool profile_fail(struct profile_error *error, const char *file, size_t line, size_t column,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A whole file with a NUL behind it, freed by arb_mem_free; false: `error` says why. */
bool profile_read_file(const char *path, size_t most, char **text, size_t *bytes,
                       struct profile_error *error);

#endif
