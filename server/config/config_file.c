#define _POSIX_C_SOURCE 200809L
/* Reading a bounded file. */
#include "server/config/config_internal.h"

#include "shared/base/arb_mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool fail_file(struct config_error *error, const char *path, const char *what,
                      const char *reason)
{
    struct config_source source = {.name = path, .path = ""};
    return config_fail(error, &source, 0, 0, "%s%s", what, reason);
}

static bool fail_size(struct config_error *error, const char *path, size_t most)
{
    struct config_source source = {.name = path, .path = ""};
    return config_fail(error, &source, 0, 0, "is too large; allowed: at most %zu bytes", most);
}

/* Everything up to `most` + 1 bytes; the size that the system tells may be wrong (pipes). */
static bool read_all(FILE *file, const char *path, size_t most, char **text, size_t *bytes,
                     struct config_error *error)
{
    size_t capacity = 16384;
    char *buffer = arb_mem_alloc(capacity);
    size_t used = 0, got;
    while ((got = fread(buffer + used, 1, capacity - used, file)) > 0) {
        used += got;
        if (used > most) {
            break;
        }
        if (used == capacity) {
            capacity *= 2;
            char *larger = arb_mem_realloc(buffer, capacity);
            if (larger == NULL) {
                break;
            }
            buffer = larger;
        }
    }
    *text = buffer;
    *bytes = used;
    if (used <= most && !ferror(file)) {
        return true;
    }
    int reason = errno;
    arb_mem_free(buffer);
    *text = NULL;
    return used > most ? fail_size(error, path, most)
                       : fail_file(error, path, "cannot be read: ", strerror(reason));
}

bool config_read_file(const char *path, size_t most, char **text, size_t *bytes,
                      struct config_error *error)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return fail_file(error, path, "cannot be opened: ", strerror(errno));
    }
    struct stat status;
    bool ok;
    if (fstat(fileno(file), &status) == 0 && S_ISREG(status.st_mode) &&
        (uintmax_t)status.st_size > most) {
        ok = fail_size(error, path, most);
    } else {
        ok = read_all(file, path, most, text, bytes, error);
    }
    fclose(file);
    return ok;
}
