/* Every key of the shipped configurations, damaged in every way: each is refused, at its own path.
 */
#define _GNU_SOURCE
#include "tests/unit/config_rig.h"

#include "server/config/config_internal.h"
#include "server/rules/arena_internal.h"
#include "shared/base/arb_rng.h"

static struct arb_arena arena;
static struct config config;

static void set_up(void)
{
    arb_arena_init(&arena);
}

static void tear_down(void)
{
    arb_arena_free(&arena);
    rig_clean();
}

TestSuite(config_corrupt, .init = set_up, .fini = tear_down, .timeout = 1200);

static const char *const shipped[] = {"arena", "serpent"};
enum { SHIPPED = 2, TEXT_MAX = 64 * 1024 };

/* One shipped file. The map's path is made absolute, so that the file can be loaded from elsewhere.
 */
struct subject {
    char text[TEXT_MAX];
    size_t bytes;
    struct json json;
};

static struct subject subject;

static void open_subject(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, ARBITER_SOURCE_DIR "/config/%s.json", name);
    size_t bytes;
    char *text = rig_read(path, &bytes);
    char *map = strstr(text, "\"maps/");
    cr_assert_not_null(map);
    int written = snprintf(subject.text, TEXT_MAX, "%.*s\"%s/config/%s", (int)(map - text), text,
                           ARBITER_SOURCE_DIR, map + 1);
    subject.bytes = (size_t)written;
    free(text);
    struct json_error error;
    cr_assert(json_parse(&subject.json, subject.text, subject.bytes, &error), "%s", error.what);
}

static enum arb_result load_bytes(const char *text, size_t bytes)
{
    arb_arena_free(&arena);
    return rig_load_bytes(&config, &arena, text, bytes);
}

static char damaged[TEXT_MAX + 1024];

/* The subject with the bytes from..to replaced. */
static size_t replace(size_t from, size_t to, const char *with)
{
    size_t length = strlen(with);
    memcpy(damaged, subject.text, from);
    memcpy(damaged + from, with, length);
    memcpy(damaged + from + length, subject.text + to, subject.bytes - to);
    return subject.bytes - (to - from) + length;
}

static unsigned cases;

static void expect_refused(size_t bytes, const char *path, const char *how)
{
    cases++;
    cr_expect_eq(load_bytes(damaged, bytes), ARB_CONFIG, "%s %s is accepted", path, how);
    const char *text = rig_text();
    cr_expect(rig_begins(text, "c.json:"), "%s", text);
    const char *rest = strstr(text, ": ");
    cr_expect(rest != NULL && rig_begins(rest + 2, path) && rest[2 + strlen(path)] == ':',
              "%s %s gives %s", path, how, text);
}

static const struct option *row_of(const char *path)
{
    char name[JSON_PATH_BYTES];
    snprintf(name, sizeof name, "%s", path);
    char *bracket = strchr(name, '[');
    const char *field = bracket != NULL ? strrchr(path, '.') + 1 : NULL;
    if (bracket != NULL) {
        *bracket = 0;
    }
    const struct option *lists[] = {config_options, arena_options, serpent_options};
    const size_t counts[] = {config_option_count, ARENA_OPTIONS, SERPENT_OPTIONS};
    for (size_t i = 0; i < 3; i++) {
        for (size_t k = 0; k < counts[i]; k++) {
            const struct option *row = &lists[i][k];
            if (strcmp(row->path, name) != 0) {
                continue;
            }
            for (size_t f = 0; field != NULL && f < row->item_count; f++) {
                if (strcmp(row->items[f].path, field) == 0) {
                    return &row->items[f];
                }
            }
            return row;
        }
    }
    return NULL;
}

static void damage_value(const struct json_mark *mark, const char *path, const char *with)
{
    char how[300];
    snprintf(how, sizeof how, "= %.200s", with);
    expect_refused(replace(mark->value, mark->end, with), path, how);
}

static void damage_bounds(const struct json_mark *mark, const char *path, const struct option *row)
{
    char text[512];
    switch (row->type) {
    case OPTION_INT:
        snprintf(text, sizeof text, "%.0f", row->low - 1);
        damage_value(mark, path, text);
        snprintf(text, sizeof text, "%.0f", row->high + 1);
        damage_value(mark, path, text);
        damage_value(mark, path, "4294967356"); /* 60 when cut to 32 bits */
        break;
    case OPTION_NUMBER:
        snprintf(text, sizeof text, "%.17g", row->low - 0.001);
        damage_value(mark, path, text);
        snprintf(text, sizeof text, "%.17g", row->high + 0.001);
        damage_value(mark, path, text);
        damage_value(mark, path, "1e999");
        break;
    case OPTION_STRING:
        memset(text, 'x', sizeof text);
        text[0] = '"';
        text[row->size + 1] = '"';
        text[row->size + 2] = 0;
        damage_value(mark, path, text);
        break;
    case OPTION_SEED:
        damage_value(mark, path, "18446744073709551616");
        damage_value(mark, path, "-1");
        damage_value(mark, path, "1.5");
        break;
    case OPTION_LIST:
        damage_value(mark, path, row->low > 0 ? "[]" : "[{},{},{},{},{},{},{},{},{},{},{}]");
        break;
    default:
        break;
    }
}

static void damage_type(const struct json_mark *mark, const char *path, const struct option *row)
{
    const char *const wrong[] = {"{}", "[7]", "true", "null", "7.5", "\"wrong\""};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char first = wrong[i][0];
        bool right = false;
        if (row != NULL) {
            right = (row->type == OPTION_BOOL && first == 't') ||
                    (row->type == OPTION_SEED && first == 'n') ||
                    (row->type == OPTION_NUMBER && first == '7') ||
                    (row->type == OPTION_STRING && first == '"');
        } else {
            right = first == '{'; /* a section */
        }
        if (row != NULL && row->type == OPTION_LIST && first == '[') {
            char item[JSON_PATH_BYTES + 4];
            snprintf(item, sizeof item, "%s[0]", path);
            damage_value(mark, item, wrong[i]);
        } else if (!right) {
            damage_value(mark, path, wrong[i]);
        }
    }
}

static void damage_key(const struct json_mark *mark, const char *path)
{
    char renamed[JSON_PATH_BYTES + 4], twice[TEXT_MAX / 2];
    size_t key_end = mark->key + 1 + strcspn(subject.text + mark->key + 1, "\"");
    snprintf(renamed, sizeof renamed, "%sx", path);
    expect_refused(replace(key_end, key_end, "x"), renamed, "renamed");
    int length = (int)(mark->end - mark->key);
    cr_assert_lt((size_t)length + 2, sizeof twice);
    snprintf(twice, sizeof twice, ", %.*s", length, subject.text + mark->key);
    expect_refused(replace(mark->end, mark->end, twice), path, "doubled");
}

Test(config_corrupt, each_key_renamed_doubled_mistyped_or_out_of_bounds_is_refused_at_its_path)
{
    for (size_t s = 0; s < SHIPPED; s++) {
        open_subject(shipped[s]);
        cr_assert_eq(load_bytes(subject.text, subject.bytes), ARB_OK, "%s", rig_error.text);
        cases = 0;
        for (size_t i = 0; i < subject.json.mark_count; i++) {
            const struct json_mark *mark = &subject.json.marks[i];
            if (mark->key == mark->value) {
                continue; /* the root, or an item of a list */
            }
            char path[JSON_PATH_BYTES];
            json_path(&subject.json, mark->value, path);
            const struct option *row = row_of(path);
            cr_assert(row != NULL || strchr(path, '.') == NULL, "%s", path);
            damage_key(mark, path);
            damage_type(mark, path, row);
            if (row != NULL) {
                damage_bounds(mark, path, row);
            }
        }
        cr_expect_gt(cases, 400, "only %u cases of %s", cases, shipped[s]);
        json_free(&subject.json);
    }
}

Test(config_corrupt, each_item_of_a_list_that_is_no_object_is_refused_at_its_path)
{
    open_subject("arena");
    unsigned items = 0;
    for (size_t i = 1; i < subject.json.mark_count; i++) {
        const struct json_mark *mark = &subject.json.marks[i];
        if (mark->key == mark->value) {
            char path[JSON_PATH_BYTES];
            json_path(&subject.json, mark->value, path);
            damage_value(mark, path, "1");
            damage_value(mark, path, "[]");
            items++;
        }
    }
    cr_assert_eq(items, 6);
    json_free(&subject.json);
}

Test(config_corrupt, each_cut_of_a_file_is_refused)
{
    open_subject("arena");
    for (size_t length = 0; length + 2 < subject.bytes; length++) {
        cr_expect_eq(load_bytes(subject.text, length), ARB_CONFIG, "%zu bytes", length);
        cr_expect(rig_begins(rig_text(), "c.json:"));
    }
    json_free(&subject.json);
}

/* Whatever bytes change: no crash, and what is refused is refused with one line. */
Test(config_corrupt, random_damage_is_accepted_or_refused_in_one_line)
{
    struct arb_rng rng;
    uint64_t seed = 20240717;
    arb_rng_seed(&rng, seed, 1);
    open_subject("arena");
    for (int i = 0; i < 4000; i++) {
        memcpy(damaged, subject.text, subject.bytes);
        uint32_t changes = 1 + arb_rng_below(&rng, 4);
        for (uint32_t k = 0; k < changes; k++) {
            static const char likely[] = "{}[]\",:0123456789.-eE\\ \n\xff";
            uint32_t at = arb_rng_below(&rng, (uint32_t)subject.bytes);
            damaged[at] = arb_rng_below(&rng, 2) == 0 ? likely[arb_rng_below(&rng, sizeof likely)]
                                                      : (char)arb_rng_below(&rng, 256);
        }
        if (load_bytes(damaged, subject.bytes) != ARB_OK) {
            cr_assert_gt(strlen(rig_error.text), 10, "seed %lu case %d", (unsigned long)seed, i);
            cr_assert_null(strchr(rig_error.text, '\n'), "seed %lu case %d", (unsigned long)seed,
                           i);
        }
    }
    json_free(&subject.json);
}
