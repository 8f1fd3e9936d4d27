#include "tools/net/profile_text.h"

#include "shared/base/arb_mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool profile_fail(struct profile_error *error, const char *file, size_t line, size_t column,
                  const char *format, ...)
{
    char what[PROFILE_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    char place[48] = "";
    if (line > 0) snprintf(place, sizeof place, ":%zu:%zu", line, column);
    int length = snprintf(error->text, sizeof error->text, "%s%s: %s", file, place, what);
    if (length >= (int)sizeof error->text) memcpy(error->text + sizeof error->text - 4, "...", 4);
    for (char *c = error->text; *c != 0; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = '?';
    }
    return false;
}

static char *larger(char *text, size_t used, size_t capacity)
{
    char *more = arb_mem_alloc(capacity);
    memcpy(more, text, used);
    arb_mem_free(text);
    return more;
}

bool profile_read_file(const char *path, size_t most, char **text, size_t *bytes,
                       struct profile_error *error)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return profile_fail(error, path, 0, 0, "cannot be opened: %s", strerror(errno));
    }
    size_t capacity = 16384, used = 0, got;
    *text = arb_mem_alloc(capacity);
    /* One byte stays for the NUL. */
    while (used <= most && (got = fread(*text + used, 1, capacity - 1 - used, file)) > 0) {
        used += got;
        if (used < capacity - 1) continue;
        *text = larger(*text, used, capacity * 2);
        capacity *= 2;
    }
    int reason = ferror(file) ? errno : 0;
    fclose(file);
    (*text)[used] = 0;
    *bytes = used;
    if (reason == 0 && used <= most) return true;
    arb_mem_free(*text);
    *text = NULL;
    return reason != 0 ? profile_fail(error, path, 0, 0, "cannot be read: %s", strerror(reason))
                       : profile_fail(error, path, 0, 0, "is too large; allowed: %zu bytes", most);
}
