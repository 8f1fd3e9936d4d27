#define _GNU_SOURCE
#include "server/ops/result.h"

#include "server/ops/text.h"

#include "shared/base/arb_assert.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, LINE_BYTES = 1024, FILE_MODE = 0644 };

/* A file that becomes `path` when it is complete. */
struct fresh_file {
    const char *path;
    char folder[PATH_BYTES];
    char temporary[PATH_BYTES];
    int fd;
};

static enum arb_result fail(char *error, const char *path, const char *what)
{
    snprintf(error, OPS_ERROR_BYTES, "match.result_path: %s: %s: %s", path, what, strerror(errno));
    return ARB_FILES;
}

/* The process id makes the name its own among processes that share the folder; a rest of a crashed
 * one with the same id is overwritten. */
static bool name_files(struct fresh_file *file, const char *path)
{
    const char *slash = strrchr(path, '/');
    int folder = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    const char *name = slash == NULL ? path : slash + 1;
    int a = snprintf(file->folder, sizeof file->folder, "%.*s", folder, slash == NULL ? "." : path);
    int b = snprintf(file->temporary, sizeof file->temporary, "%s/.%s.%ld.tmp", file->folder, name,
                     (long)getpid());
    file->path = path;
    bool fits = a < (int)sizeof file->folder && b < (int)sizeof file->temporary;
    if (!fits) errno = ENAMETOOLONG;
    if (fits && *name == '\0') errno = EISDIR;
    return fits && *name != '\0';
}

static enum arb_result begin(struct fresh_file *file, const char *path, char *error)
{
    struct stat existing;
    if (!name_files(file, path)) return fail(error, path, "no file name");
    if (stat(path, &existing) == 0 && !S_ISREG(existing.st_mode)) {
        errno = EEXIST;
        return fail(error, path, "is there and no regular file");
    }
    file->fd =
        open(file->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
    return file->fd < 0 ? fail(error, path, "cannot write a file in its folder") : ARB_OK;
}

static enum arb_result abandon(struct fresh_file *file, char *error, const char *what)
{
    fail(error, file->path, what);
    if (file->fd >= 0) close(file->fd);
    unlink(file->temporary);
    return ARB_FILES;
}

static bool write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* The name is durable only when the folder is. A file system that cannot sync folders keeps the
 * file all the same. */
static bool sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES; /* writable but not readable */
    bool good = fsync(fd) == 0 || errno == EINVAL;
    close(fd);
    return good;
}

static enum arb_result finish(struct fresh_file *file, char *error)
{
    if (fsync(file->fd) != 0) return abandon(file, error, "cannot sync");
    int closed = close(file->fd);
    file->fd = -1;
    if (closed != 0) return abandon(file, error, "cannot close");
    if (rename(file->temporary, file->path) != 0) return abandon(file, error, "cannot rename");
    return sync_folder(file->folder) ? ARB_OK : fail(error, file->path, "cannot sync its folder");
}

enum arb_result ops_result_check(const char *path, char error[OPS_ERROR_BYTES])
{
    struct fresh_file file;
    enum arb_result result = begin(&file, path, error);
    if (result != ARB_OK) return result;
    close(file.fd);
    unlink(file.temporary);
    return ARB_OK;
}

/* ---- content ---- */

static void print_head(struct ops_text *line, const struct match_result *result, const char *map)
{
    char id[MATCH_ID_TEXT_BYTES];
    match_id_text(result->match_id, id);
    ops_text_print(line, "{\"match_id\":\"%s\",\"mode\":", id);
    ops_text_string(line, result->mode);
    ops_text_print(line, ",\"map\":");
    ops_text_string(line, map);
    ops_text_print(line, ",\"seed\":\"%llu\",\"ticks\":%llu,\"end_reason\":\"%s\",\"players\":[",
                   (unsigned long long)result->seed, (unsigned long long)result->ticks,
                   arb_end_reason_text(result->end_reason));
}

static void print_player(struct ops_text *line, const struct match_result_player *player, bool last)
{
    ops_text_print(line, "\n{\"id\":\"%llu\",\"name\":", (unsigned long long)player->player_id);
    ops_text_string(line, player->name);
    ops_text_print(
        line, ",\"team\":%u,\"score\":%d,\"kills\":%u,\"deaths\":%u,\"deaths_by_nobody\":%u}%s",
        (unsigned)player->team, player->score, player->kills, player->deaths,
        player->deaths_by_nobody, last ? "\n" : ",");
}

static void print_histogram(struct ops_text *line, const char *name,
                            const struct match_histogram *histogram)
{
    uint32_t end = FAIRNESS_BUCKETS;
    while (end > 0 && histogram->counts[end - 1] == 0) {
        end--;
    }
    ops_text_print(line, "\n\"%s\":{\"count\":%llu,\"p50\":%u,\"p90\":%u,\"p99\":%u,\"max\":%u",
                   name, (unsigned long long)histogram->count, match_histogram_ms(histogram, 500),
                   match_histogram_ms(histogram, 900), match_histogram_ms(histogram, 990),
                   histogram->max_ms);
    ops_text_print(line, ",\"counts\":[");
    for (uint32_t i = 0; i < end; i++) {
        ops_text_print(line, "%s%llu", i == 0 ? "" : ",", (unsigned long long)histogram->counts[i]);
    }
    ops_text_print(line, "]},");
}

static void print_lagcomp(struct ops_text *line, const struct match_result *result)
{
    const struct match_fairness *fairness = &result->fairness;
    const struct match_view_counts *views = &result->views;
    ops_text_print(line, ",\"lagcomp\":{\"max_rewind_ms\":%u,\"bucket_ms\":%d,",
                   fairness->max_rewind_ms, (int)FAIRNESS_BUCKET_MS);
    print_histogram(line, "rewound_ms", &fairness->rewound_shots);
    print_histogram(line, "rewound_hit_ms", &fairness->rewound_hits);
    print_histogram(line, "cover_hit_ms", &fairness->cover_hits);
    static const char *const verdicts[] = {
#define X(name, text) text,
        MATCH_VIEW_MAP(X)
#undef X
    };
    ops_text_print(line, "\n\"claims\":{");
    for (int i = 0; i < MATCH_VIEW_VERDICTS; i++) {
        ops_text_print(line, "%s\"%s\":%llu", i == 0 ? "" : ",", verdicts[i],
                       (unsigned long long)views->claims[i]);
    }
    ops_text_print(line, "},\"late\":%llu,\"unseen\":%llu,\"spared\":%llu}",
                   (unsigned long long)views->late, (unsigned long long)views->unseen,
                   (unsigned long long)fairness->spared);
}

static bool write_text(int fd, const struct ops_text *text)
{
    ARB_ASSERT(!text->full);
    return write_all(fd, text->bytes, text->size);
}

static bool write_content(int fd, const struct match_result *result, const char *map)
{
    char bytes[2 * PATH_BYTES]; /* a map's path may be escaped */
    struct ops_text line;
    ops_text_begin(&line, bytes, sizeof bytes);
    print_head(&line, result, map);
    bool good = write_text(fd, &line);
    for (uint32_t i = 0; i < result->player_count && good; i++) {
        ops_text_begin(&line, bytes, LINE_BYTES);
        print_player(&line, &result->players[i], i + 1 == result->player_count);
        good = write_text(fd, &line);
    }
    ops_text_begin(&line, bytes, sizeof bytes);
    ops_text_print(&line, "]");
    print_lagcomp(&line, result);
    ops_text_print(&line, ",\"checksum\":\"%016llx\"}\n", (unsigned long long)result->checksum);
    return good && write_text(fd, &line);
}

enum arb_result ops_result_write(const char *path, const struct match_result *result,
                                 const char *map, char error[OPS_ERROR_BYTES])
{
    ARB_ASSERT(result->player_count <= MATCH_LINES_MAX);
    struct fresh_file file;
    enum arb_result begun = begin(&file, path, error);
    if (begun != ARB_OK) return begun;
    if (!write_content(file.fd, result, map)) return abandon(&file, error, "cannot write");
    return finish(&file, error);
}
