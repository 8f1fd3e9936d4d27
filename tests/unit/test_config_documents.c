/* The documents that are made from the option table, held against the files that ship. */
#define _GNU_SOURCE
#include "tests/unit/config_rig.h"

#include "server/config/config_internal.h"
#include "server/rules/arena_internal.h"
#include "shared/proto/arb_proto.h"

static char *made_by(void (*print)(const struct config_mode *, size_t, FILE *), size_t *bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);
    print(rig_modes, RIG_MODES, out);
    fclose(out);
    return text;
}

static bool renew(void)
{
    return getenv("ARBITER_RENEW") != NULL;
}

static void write_file(const char *path, const char *a, size_t a_bytes, const char *b,
                       size_t b_bytes, const char *c)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    fwrite(a, 1, a_bytes, file);
    fwrite(b, 1, b_bytes, file);
    fputs(c, file);
    fclose(file);
}

Test(config_documents, the_shipped_schema_is_that_of_the_table)
{
    const char *path = ARBITER_SOURCE_DIR "/config/schema.json";
    size_t wanted_bytes, bytes;
    char *wanted = made_by(config_print_schema, &wanted_bytes);
    if (renew()) {
        write_file(path, wanted, wanted_bytes, "", 0, "");
    }
    char *text = rig_read(path, &bytes);
    cr_assert_str_eq(text, wanted, "config/schema.json is old: run this with ARBITER_RENEW=1");
    free(text);
    free(wanted);
}

Test(config_documents, the_readme_lists_the_options_of_the_table)
{
    const char *path = ARBITER_SOURCE_DIR "/config/README.md";
    size_t wanted_bytes, bytes;
    char *wanted = made_by(config_print_options, &wanted_bytes);
    char *text = rig_read(path, &bytes);
    char *begin = strstr(text, "<!-- options");
    char *end = strstr(text, "<!-- end of options");
    cr_assert(begin != NULL && end != NULL);
    begin = strchr(begin, '\n') + 2; /* a blank line follows */
    if (renew()) {
        write_file(path, text, (size_t)(begin - text), wanted, wanted_bytes, end);
    } else {
        cr_assert_eq((size_t)(end - begin), wanted_bytes,
                     "config/README.md is old: run this with ARBITER_RENEW=1");
        cr_assert_eq(memcmp(begin, wanted, wanted_bytes), 0,
                     "config/README.md is old: run this with ARBITER_RENEW=1");
    }
    free(text);
    free(wanted);
}

/* ---- the table itself ---- */

static const struct option *rows[512];
static size_t row_count;

static void gather(const struct option *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_assert_lt(row_count, 512);
        rows[row_count++] = &list[i];
    }
}

static void gather_all(void)
{
    gather(config_options, config_option_count);
    for (size_t i = 0; i < RIG_MODES; i++) {
        gather(rig_modes[i].options, rig_modes[i].option_count);
    }
}

Test(config_documents, each_option_has_one_section_one_key_and_one_variable)
{
    gather_all();
    for (size_t i = 0; i < row_count; i++) {
        char name[OPTION_PATH_BYTES];
        option_environment_name(rows[i]->path, name);
        cr_expect_gt(option_section_length(rows[i]->path), 0);
        cr_expect_gt(strlen(option_key(rows[i]->path)), 0);
        for (size_t k = 0; k < i; k++) {
            char other[OPTION_PATH_BYTES];
            option_environment_name(rows[k]->path, other);
            cr_expect_str_neq(name, other);
        }
    }
    for (size_t i = 0; i < RIG_MODES; i++) {
        for (size_t k = 0; k < rig_modes[i].option_count; k++) {
            cr_expect(rig_begins(rig_modes[i].options[k].path, rig_modes[i].name));
        }
    }
}

static void check_row(const struct option *row)
{
    cr_expect_not_null(row->doc, "%s", row->path);
    cr_expect_gt(strlen(row->doc), 10, "%s", row->path);
    cr_expect_not_null(row->unit, "%s", row->path);
    if (row->type == OPTION_NUMBER) {
        /* Else the text of a float at its bound would lie beyond it. */
        char low[32], high[32];
        option_float_text((float)row->low, low);
        option_float_text((float)row->high, high);
        cr_expect_eq(strtod(low, NULL), row->low, "%s: low", row->path);
        cr_expect_eq(strtod(high, NULL), row->high, "%s: high", row->path);
    }
    for (size_t i = 0; row->type == OPTION_LIST && i < row->item_count; i++) {
        check_row(&row->items[i]);
    }
}

Test(config_documents, each_row_says_what_it_means_and_has_bounds_a_float_can_hold)
{
    gather_all();
    for (size_t i = 0; i < row_count; i++) {
        check_row(rows[i]);
    }
}

Test(config_documents, the_largest_chunk_payload_is_the_largest_that_fits_a_message)
{
    static uint8_t payload[ARB_MESSAGE_BYTES_MAX], bytes[ARB_MESSAGE_BYTES_MAX];
    gather_all();
    for (size_t i = 0; i < row_count; i++) {
        if (strcmp(rows[i]->path, "snapshot.chunk_payload_bytes") != 0) {
            continue;
        }
        /* The longest head: of the parity of several chunks while something is not confirmed. */
        struct arb_chunk chunk = {.header = {.tick = 1, .chunk_index = 2, .chunk_count = 2},
                                  .payload = payload};
        chunk.header.last_bytes = 1;
        chunk.payload_bytes = (uint16_t)rows[i]->high;
        cr_assert_neq(arb_chunk_encode(&chunk, bytes, sizeof bytes), 0);
        chunk.payload_bytes++;
        cr_assert_eq(arb_chunk_encode(&chunk, bytes, sizeof bytes), 0);
        return;
    }
    cr_assert_fail("there is no such option");
}
