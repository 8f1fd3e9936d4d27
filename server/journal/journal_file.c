#define _GNU_SOURCE
#include "server/journal/journal_file.h"

#include <errno.h>
#include <unistd.h>

static size_t read_file(void *owner, uint64_t offset, void *bytes, size_t count)
{
    const struct journal_file *file = owner;
    uint8_t *out = bytes;
    size_t done = 0;
    if (offset >= file->limit) return 0;
    if (count > file->limit - offset) count = (size_t)(file->limit - offset);
    while (done < count) {
        ssize_t got = pread(file->fd, out + done, count - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        done += (size_t)got;
    }
    return done;
}

struct journal_source journal_file_source(struct journal_file *file)
{
    return (struct journal_source){file, read_file};
}
