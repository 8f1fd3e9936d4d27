/* A configuration that is read again while a match runs with the first one: what may differ. */
#define _POSIX_C_SOURCE 200809L
#include "server/config/config_internal.h"

#include "shared/base/arb_assert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct difference {
    char path[OPTION_PATH_BYTES];
    const struct option *row;
    const void *before, *after; /* structs that the row's offset is in */
};

static void differs(struct difference *out, const struct option *row, const void *before,
                    const void *after)
{
    snprintf(out->path, sizeof out->path, "%s", row->path);
    out->row = row;
    out->before = before;
    out->after = after;
}

/* The drawn seed is not what the file has, and a file that leaves it open asks for none. */
static bool same_seed(const char *before, const char *after)
{
    struct option_seed a, b;
    memcpy(&a, before, sizeof a);
    memcpy(&b, after, sizeof b);
    return !b.set || (a.set && a.value == b.value);
}

/* Unused bytes of strings are zero, those of items that there are not as well. */
static bool same_value(const struct option *row, const void *before, const void *after)
{
    const char *a = (const char *)before + row->offset, *b = (const char *)after + row->offset;
    return row->type == OPTION_SEED ? same_seed(a, b) : memcmp(a, b, row->size) == 0;
}

/* Of a list that is as long as before, the first that differs and may not. */
static bool find_in_items(const struct option *list, const char *before, const char *after,
                          int32_t items, struct difference *out)
{
    for (int32_t item = 0; item < items; item++) {
        size_t at = list->offset + (size_t)item * list->item_bytes;
        for (size_t i = 0; i < list->item_count; i++) {
            const struct option *row = &list->items[i];
            if (row->reload || same_value(row, before + at, after + at)) continue;
            differs(out, row, before + at, after + at);
            snprintf(out->path, sizeof out->path, "%s[%d].%s", list->path, (int)item, row->path);
            return true;
        }
    }
    return false;
}

static bool find_difference(const struct option *row, const void *before, const void *after,
                            struct difference *out)
{
    if (row->reload) return false;
    if (row->type != OPTION_LIST) {
        bool same = same_value(row, before, after);
        if (!same) differs(out, row, before, after);
        return !same;
    }
    int32_t a, b;
    memcpy(&a, (const char *)before + row->count_offset, sizeof a);
    memcpy(&b, (const char *)after + row->count_offset, sizeof b);
    if (a == b) return find_in_items(row, before, after, a, out);
    differs(out, row, before, after);
    return true;
}

/* As JSON, cut where it is long. */
static void show(const struct option *row, const void *base, char *out, size_t size)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = row->type != OPTION_LIST ? open_memstream(&text, &bytes) : NULL;
    if (file != NULL) {
        option_print(row, base, 0, file);
        fclose(file);
    }
    snprintf(out, size, "%s", text != NULL ? text : "a list of another length");
    free(text);
}

/* Sections of modes that are not played are nothing to this match. */
static bool is_of_other_mode(const struct config *config, const char *path)
{
    size_t length = option_section_length(path);
    for (size_t i = 0; i < config->rows->mode_count; i++) {
        const char *name = config->rows->modes[i].name;
        if (strlen(name) == length && memcmp(path, name, length) == 0) {
            return strcmp(name, config->mode) != 0;
        }
    }
    return false;
}

static bool is_compared(const struct config *running, const char *path, bool resumed)
{
    if (is_of_other_mode(running, path)) return false;
    return !resumed || (!config_is_of_process(path) && strcmp(path, "journal.path") != 0);
}

static bool refuse(const struct config *next, const struct difference *found,
                   struct config_error *error)
{
    char before[64], after[64], sentence[CONFIG_ERROR_BYTES / 2];
    show(found->row, found->before, before, sizeof before);
    show(found->row, found->after, after, sizeof after);
    bool is_list = found->row->type == OPTION_LIST;
    snprintf(sentence, sizeof sentence,
             "%s is %s, the match runs with %s: this option needs a new match; allowed while one "
             "runs: the numbers of the game that config/README.md names",
             found->path, after, is_list ? "its own" : before);
    config_explain(next, sentence, error);
    return false;
}

bool config_check_reload(const struct config *running, const struct config *next, bool resumed,
                         struct config_error *error)
{
    const struct config_rows *before = running->rows, *after = next->rows;
    ARB_ASSERT(before->count == after->count);
    for (size_t i = 0; i < before->count; i++) {
        struct difference found;
        const struct option *row = before->list[i].option;
        if (!is_compared(running, row->path, resumed)) continue;
        if (find_difference(row, before->list[i].base, after->list[i].base, &found)) {
            return refuse(next, &found, error);
        }
    }
    return true;
}
