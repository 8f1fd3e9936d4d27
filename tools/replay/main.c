/* arbiter-replay: looks at what a match wrote down. */
#define _GNU_SOURCE
#include "tools/replay/picture.h"
#include "tools/replay/replay.h"

#include "shared/base/arb_mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: arbiter-replay verify JOURNAL\n"
    "       arbiter-replay info JOURNAL\n"
    "       arbiter-replay export JOURNAL\n"
    "       arbiter-replay render JOURNAL\n"
    "       arbiter-replay diff JOURNAL JOURNAL\n"
    "       arbiter-replay seek JOURNAL TICK\n"
    "       arbiter-replay clip JOURNAL FROM TO CLIP\n"
    "       arbiter-replay shots FILE\n"
    "       arbiter-replay shot FILE INDEX [-o PICTURE]\n"
    "  verify  plays a journal (journal.path) again and compares every checksum\n"
    "  info    tells what is in it, without playing it\n"
    "  export  prints it as lines of JSON\n"
    "  render  prints a page of HTML that plays it, with all that it needs inside\n"
    "  diff    plays two and tells the first difference: inputs, random draws, entities, fields\n"
    "  seek    goes to a tick, from the newest keyframe before it\n"
    "  clip    writes the part from tick FROM to tick TO as a journal of its own\n"
    "  shots   lists the shots of a file of debug.rewind_trace, one a line\n"
    "  shot    draws one of them as SVG, to the standard output or to PICTURE: blue now, red as\n"
    "          the shooter saw it, white the ray or the flight with a dot for\n"
    "          each tick, yellow the hit, grey the map\n"
    "exit status: 0 done, 1 something differs, 64 wrong arguments, 65 bad data,\n"
    "             74 a file cannot be read or written\n";

static enum arb_result fail(enum arb_result result, const char *sentence)
{
    fprintf(stderr, "arbiter-replay: %s\n", sentence);
    return result;
}

static enum arb_result fail_arguments(const char *sentence)
{
    fail(ARB_ARGUMENTS, sentence);
    fputs(usage, stderr);
    return ARB_ARGUMENTS;
}

static void tell_cut(const struct shots *shots)
{
    if (shots_cut(shots)) {
        fprintf(stderr, "arbiter-replay: the last line is not whole and was left out\n");
    }
}

/* ---- shots ---- */

/* Names are anybody's: nothing that a terminal obeys. */
static void print_name(const char *name)
{
    for (const char *c = name; *c != '\0'; c++) {
        putchar((unsigned char)*c < 0x20 || *c == 0x7F ? '?' : *c);
    }
}

static void print_hit(const struct shot *shot, struct shots_key key, double distance,
                      const char *more, bool *any)
{
    const struct shots_candidate *victim = shot_candidate(shot, key);
    printf("%s%lld@%.2fm%s", *any ? " " : "", victim != NULL ? (long long)victim->slot : -1LL,
           distance, more);
    if (victim != NULL && victim->cover_ms > 0) printf("(cover %.0fms)", victim->cover_ms);
    *any = true;
}

static void print_hits(const struct shot *shot)
{
    bool any = false;
    for (size_t i = 0; i < shot->ray_count; i++) {
        for (size_t h = 0; h < shot->rays[i].hit_count; h++) {
            const struct shots_hit *hit = &shot->rays[i].hits[h];
            print_hit(shot, hit->key, hit->distance, "", &any);
        }
    }
    for (size_t i = 0; i < shot->landing_count; i++) {
        const struct shots_landing *landing = &shot->landings[i];
        const struct shots_point *from = &shot->flights[landing->flight].origin;
        double way = hypot(landing->centre.x - from->x, landing->centre.y - from->y);
        print_hit(shot, landing->key, way, landing->blast ? "(blast)" : "", &any);
    }
    if (!any) printf("-");
}

static void print_shot(const struct shot *shot)
{
    printf("%6lld %8lld %6lld %6lld %12.3f %10.1f  %-12s ", (long long)shot->index,
           (long long)shot->tick, (long long)shot->slot, (long long)shot->weapon,
           picture_view_at(&shot->applied), shot->rewound_ms, shot->verdict);
    print_hits(shot);
    printf("  ");
    print_name(shot->name);
    putchar('\n');
}

static enum arb_result list(struct shots *shots, struct shot *shot, char *error)
{
    bool end = false;
    printf("%6s %8s %6s %6s %12s %10s  %-12s %s\n", "shot", "tick", "player", "weapon", "view",
           "rewound_ms", "claim", "hits (player@distance)  name");
    while (true) {
        enum arb_result result = shots_next(shots, shot, &end, error);
        if (result != ARB_OK) return fail(result, error);
        if (end) break;
        print_shot(shot);
    }
    tell_cut(shots);
    return ARB_OK;
}

/* ---- shot ---- */

static enum arb_result draw(const struct shots *shots, const struct shot *shot, const char *path)
{
    FILE *out = path == NULL ? stdout : fopen(path, "we");
    if (out != NULL) {
        picture_print(shots_head(shots), shot, out);
        bool good = ferror(out) == 0 && fflush(out) == 0;
        int number = errno;
        if (path != NULL && fclose(out) != 0) good = false;
        if (good) return ARB_OK;
        errno = number;
    }
    fprintf(stderr, "arbiter-replay: %s: %s\n", path != NULL ? path : "standard output",
            strerror(errno));
    return ARB_FILES;
}

static enum arb_result find(struct shots *shots, struct shot *shot, uint64_t index,
                            const char *path, char *error)
{
    bool end = false;
    for (uint64_t i = 0; true; i++) {
        enum arb_result result = shots_next(shots, shot, &end, error);
        if (result != ARB_OK) return fail(result, error);
        if (end) {
            tell_cut(shots);
            fprintf(stderr, "arbiter-replay: no shot %llu: the file has %llu\n",
                    (unsigned long long)index, (unsigned long long)i);
            return ARB_ARGUMENTS;
        }
        if (i == index) return draw(shots, shot, path);
    }
}

/* ---- arguments ---- */

static bool parse_index(const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    *out = value;
    return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

static enum arb_result run(const char *file, bool all, uint64_t index, const char *path)
{
    char error[SHOTS_ERROR_BYTES];
    struct shots *shots;
    enum arb_result result = shots_open(file, &shots, error);
    if (result != ARB_OK) return fail(result, error);
    struct shot *shot = arb_mem_alloc(sizeof *shot);
    result = all ? list(shots, shot, error) : find(shots, shot, index, path, error);
    arb_mem_free(shot);
    shots_close(shots);
    return result;
}

static enum arb_result run_shot(int count, char **words)
{
    const char *path = NULL;
    uint64_t index;
    if (count == 5 && strcmp(words[3], "-o") == 0) path = words[4];
    if (count != 3 && path == NULL) return fail_arguments("shot wants FILE INDEX [-o PICTURE]");
    if (!parse_index(words[2], &index)) return fail_arguments("INDEX is a number from 0");
    return run(words[1], false, index, path);
}

/* Commands of journals. False: it is none of them. */
static bool run_journal(int count, char **words, enum arb_result *result)
{
    static const struct {
        const char *name;
        enum arb_result (*run)(const char *path, FILE *out);
    } simple[] = {{"verify", replay_verify},
                  {"info", replay_info},
                  {"export", replay_export},
                  {"render", replay_render}};
    uint64_t from, to;
    for (size_t i = 0; i < sizeof simple / sizeof simple[0]; i++) {
        if (strcmp(words[0], simple[i].name) != 0) continue;
        *result =
            count == 2 ? simple[i].run(words[1], stdout) : fail_arguments("it wants one JOURNAL");
        return true;
    }
    if (strcmp(words[0], "diff") == 0) {
        *result = count == 3 ? replay_diff(words[1], words[2], stdout)
                             : fail_arguments("diff wants two JOURNALs");
    } else if (strcmp(words[0], "seek") == 0) {
        *result = count == 3 && parse_index(words[2], &to)
                      ? replay_seek(words[1], to, stdout)
                      : fail_arguments("seek wants JOURNAL TICK");
    } else if (strcmp(words[0], "clip") == 0) {
        bool good =
            count == 5 && parse_index(words[2], &from) && parse_index(words[3], &to) && from <= to;
        *result = good ? replay_clip(words[1], from, to, words[4], stdout)
                       : fail_arguments("clip wants JOURNAL FROM TO CLIP, FROM not after TO");
    } else {
        return false;
    }
    return true;
}

static enum arb_result run_command(int count, char **words)
{
    enum arb_result result;
    if (count >= 1 && strcmp(words[count - 1], "--help") == 0) {
        fputs(usage, stdout);
        return ARB_OK;
    }
    if (count >= 1 && run_journal(count, words, &result)) return result;
    if (count >= 1 && strcmp(words[0], "shot") == 0) return run_shot(count, words);
    if (count >= 1 && strcmp(words[0], "shots") == 0) {
        return count == 2 ? run(words[1], true, 0, NULL) : fail_arguments("shots wants FILE");
    }
    if (count == 0) return fail_arguments("a command is missing");
    fprintf(stderr, "arbiter-replay: no such command: %s\n%s", words[0], usage);
    return ARB_ARGUMENTS;
}

int main(int argc, char **argv)
{
    enum arb_result result = run_command(argc - 1, argv + 1);
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && result == ARB_OK) {
        fprintf(stderr, "arbiter-replay: standard output: %s\n", strerror(errno));
        result = ARB_FILES;
    }
    return arb_result_exit_status(result);
}
