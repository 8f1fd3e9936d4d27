/* What the tests of configuration and maps share: files in a folder of their own, the shipped
 * modes' rows. Each test runs in a process of its own (Criterion), so statics are enough. */
#ifndef CONFIG_RIG_H
#define CONFIG_RIG_H

#include "server/config/config.h"
#include "server/rules/arena_internal.h"
#include "server/rules/serpent_internal.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct config_mode rig_modes[] = {
    {"arena", arena_options, ARENA_OPTIONS, sizeof(struct arena_params)},
    {"serpent", serpent_options, SERPENT_OPTIONS, sizeof(struct serpent_params)},
};
enum { RIG_MODES = 2 };

static char rig_folder[64];
static char rig_path[96];
static struct config_error rig_error;

/* A map that every configuration of the tests may name. */
static const char rig_map[] =
    "{\"type\":\"map\",\"orientation\":\"orthogonal\",\"width\":10,\"height\":10,"
    "\"tilewidth\":16,\"tileheight\":16,\"layers\":[],\"properties\":"
    "[{\"name\":\"metres_per_pixel\",\"value\":0.1}]}";

static inline const char *rig_write(const char *name, const char *text, size_t bytes)
{
    if (rig_folder[0] == 0) {
        snprintf(rig_folder, sizeof rig_folder, "/tmp/arbiter-test-XXXXXX");
        cr_assert_not_null(mkdtemp(rig_folder));
    }
    snprintf(rig_path, sizeof rig_path, "%s/%s", rig_folder, name);
    FILE *file = fopen(rig_path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
    return rig_path;
}

static inline void rig_clean(void)
{
    const char *const names[] = {"c.json", "m.tmj", "printed.json", "big"};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && rig_folder[0] != 0; i++) {
        snprintf(rig_path, sizeof rig_path, "%s/%s", rig_folder, names[i]);
        unlink(rig_path);
    }
    if (rig_folder[0] != 0) {
        rmdir(rig_folder);
    }
}

/* The whole file, NUL-terminated; freed by the caller. */
static inline char *rig_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*bytes + 1);
    cr_assert_eq(fread(text, 1, *bytes, file), *bytes);
    text[*bytes] = 0;
    fclose(file);
    return text;
}

/* Loads `text` as c.json beside m.tmj. */
static inline enum arb_result rig_load_bytes(struct config *config, struct arb_arena *arena,
                                             const char *text, size_t bytes)
{
    rig_write("m.tmj", rig_map, sizeof rig_map - 1);
    return config_load(config, arena, rig_modes, RIG_MODES, rig_write("c.json", text, bytes), NULL,
                       NULL, 0, NULL, &rig_error);
}

/* The error without the folder that changes with each run: "c.json:1:2: ...". */
static inline const char *rig_text(void)
{
    size_t length = strlen(rig_folder);
    return strncmp(rig_error.text, rig_folder, length) == 0 ? rig_error.text + length + 1
                                                            : rig_error.text;
}

static inline bool rig_begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

#endif
