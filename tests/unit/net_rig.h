/* Files of a test, in a folder of its own that is gone afterwards. */
#ifndef NET_RIG_H
#define NET_RIG_H

#include <criterion/criterion.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RIG_FILES_MAX = 8, RIG_PATH_BYTES = 128 };

struct rig {
    char folder[64];
    uint32_t count;
};

/* Each test runs in a process of its own (Criterion), so a static is enough. */
static char rig_files[RIG_FILES_MAX][RIG_PATH_BYTES];

static inline struct rig rig_begin(void)
{
    struct rig rig = {.folder = "/tmp/arbiter-net-XXXXXX"};
    cr_assert_not_null(mkdtemp(rig.folder));
    return rig;
}

/* Path of a file that holds `text`; the rig's. */
static inline char *rig_file(struct rig *rig, const char *name, const char *text)
{
    cr_assert_lt(rig->count, RIG_FILES_MAX);
    char *path = rig_files[rig->count++];
    snprintf(path, RIG_PATH_BYTES, "%s/%s", rig->folder, name);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static inline void rig_end(struct rig *rig)
{
    for (uint32_t i = 0; i < rig->count; i++) {
        unlink(rig_files[i]);
    }
    rmdir(rig->folder);
}

#endif
