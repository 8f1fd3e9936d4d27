/* The option table as documents: the effective configuration, a JSON Schema, a table in Markdown.
 */
#include "server/config/config_internal.h"

#include "shared/base/arb_assert.h"

#include <stdio.h>
#include <string.h>

/* Behind what options mean that are marked so. */
static const char reloadable[] = "May change while the match runs.";

static bool same_section(const char *a, const char *b)
{
    size_t length = option_section_length(a);
    return option_section_length(b) == length && memcmp(a, b, length) == 0;
}

/* Calls `each` for every section: its rows stand together, a mode's rows are one section. */
struct section {
    const struct option *options;
    size_t count;
    const void *base; /* only for printing values */
};

enum { SECTIONS_MAX = 32 };

static size_t gather_sections(const struct config *config, const struct config_mode *modes,
                              size_t mode_count, struct section sections[SECTIONS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < config_option_count; i++) {
        const struct option *option = &config_options[i];
        if (i == 0 || !same_section(option->path, option[-1].path)) {
            ARB_ASSERT(count < SECTIONS_MAX);
            sections[count++] = (struct section){option, 0, config};
        }
        sections[count - 1].count++;
    }
    for (size_t i = 0; i < mode_count; i++) {
        ARB_ASSERT(count < SECTIONS_MAX);
        if (modes[i].option_count > 0) {
            sections[count++] = (struct section){modes[i].options, modes[i].option_count,
                                                 config != NULL ? config->mode_params[i] : NULL};
        }
    }
    return count;
}

static void print_section_name(const struct section *section, FILE *out)
{
    const char *path = section->options[0].path;
    fprintf(out, "\"%.*s\"", (int)option_section_length(path), path);
}

void config_print(const struct config *config, const struct config_mode *modes, size_t mode_count,
                  FILE *out)
{
    struct section sections[SECTIONS_MAX];
    size_t count = gather_sections(config, modes, mode_count, sections);
    fputs("{", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\n    ", i > 0 ? "," : "");
        print_section_name(&sections[i], out);
        fputs(": {", out);
        for (size_t k = 0; k < sections[i].count; k++) {
            const struct option *option = &sections[i].options[k];
            fprintf(out, "%s\n        ", k > 0 ? "," : "");
            option_print_string(option_key(option->path), out);
            fputs(": ", out);
            option_print(option, sections[i].base, 8, out);
        }
        fputs("\n    }", out);
    }
    fputs("\n}\n", out);
}

void config_print_loaded(const struct config *config, FILE *out)
{
    config_print(config, config->rows->modes, config->rows->mode_count, out);
}

/* ---- JSON Schema ---- */

static void print_choices(const struct option *row, const struct config_mode *modes,
                          size_t mode_count, FILE *out)
{
    const char *name;
    size_t length;
    fputs(", \"enum\": [", out);
    for (size_t i = 0; row->type == OPTION_MODE && i < mode_count; i++) {
        fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", modes[i].name);
    }
    for (size_t i = 0;
         row->type == OPTION_CHOICE && (length = option_choice(row->choices, i, &name)) > 0; i++) {
        fprintf(out, "%s\"%.*s\"", i > 0 ? ", " : "", (int)length, name);
    }
    fputs("]", out);
}

static void print_properties(const struct option *rows, size_t count, bool items,
                             const struct config_mode *modes, size_t mode_count, int indent,
                             FILE *out);

static void print_bounds(const char *name, const struct option *row, FILE *out)
{
    char low[32], high[32];
    option_double_text(row->low, low);
    option_double_text(row->high, high);
    fprintf(out, "\"type\": \"%s\", \"minimum\": %s, \"maximum\": %s", name, low, high);
}

static void print_seed_type(const struct option *row, FILE *out)
{
    char low[32] = "0", high[32] = "18446744073709551615";
    if (row->high > 0) {
        option_double_text(row->low, low);
        option_double_text(row->high, high);
    }
    fprintf(out,
            "\"anyOf\": [{\"type\": \"integer\", \"minimum\": %s, \"maximum\": %s}, {\"type\": "
            "\"string\", \"pattern\": \"^(0|[1-9][0-9]{0,19})$\"}, {\"type\": \"null\"}]",
            low, high);
}

static void print_list_type(const struct option *row, const struct config_mode *modes,
                            size_t mode_count, int indent, FILE *out)
{
    fprintf(out, "\"type\": \"array\", \"minItems\": %d, \"maxItems\": %d, \"items\": {",
            (int)row->low, (int)row->high);
    fprintf(out, "\"type\": \"object\", \"additionalProperties\": false, \"properties\": ");
    print_properties(row->items, row->item_count, true, modes, mode_count, indent, out);
    bool any = false;
    for (size_t i = 0; i < row->item_count; i++) {
        if (row->items[i].fallback == NULL) {
            fprintf(out, "%s\"%s\"", any ? ", " : ", \"required\": [", row->items[i].path);
            any = true;
        }
    }
    fputs(any ? "]}" : "}", out);
}

static void print_type(const struct option *row, const struct config_mode *modes, size_t mode_count,
                       int indent, FILE *out)
{
    switch (row->type) {
    case OPTION_BOOL:
        fputs("\"type\": \"boolean\"", out);
        break;
    case OPTION_INT:
        print_bounds("integer", row, out);
        break;
    case OPTION_NUMBER:
        print_bounds("number", row, out);
        break;
    case OPTION_STRING:
        fprintf(out, "\"type\": \"string\", \"maxLength\": %u", row->size - 1);
        break;
    case OPTION_SEED:
        print_seed_type(row, out);
        break;
    case OPTION_LIST:
        print_list_type(row, modes, mode_count, indent, out);
        break;
    default:
        fputs("\"type\": \"string\"", out);
        print_choices(row, modes, mode_count, out);
        break;
    }
}

static void print_properties(const struct option *rows, size_t count, bool items,
                             const struct config_mode *modes, size_t mode_count, int indent,
                             FILE *out)
{
    fputs("{", out);
    for (size_t i = 0; i < count; i++) {
        const struct option *row = &rows[i];
        fprintf(out, "%s\n%*s\"%s\": {", i > 0 ? "," : "", indent + 4, "",
                items ? row->path : option_key(row->path));
        print_type(row, modes, mode_count, indent + 4, out);
        if (row->type == OPTION_MODE) {
            fprintf(out, ", \"default\": \"%s\"", modes[0].name);
        } else if (row->fallback != NULL) {
            fprintf(out, ", \"default\": %s", row->fallback);
        }
        fputs(", \"description\": ", out);
        char text[1024];
        bool unit = row->unit != NULL && row->unit[0] != 0;
        int used = snprintf(text, sizeof text, unit ? "%s Unit: %s." : "%s%s", row->doc,
                            unit ? row->unit : "");
        ARB_ASSERT(used < (int)sizeof text - 64);
        if (row->reload) snprintf(text + used, sizeof text - (size_t)used, " %s", reloadable);
        option_print_string(text, out);
        fputs("}", out);
    }
    fprintf(out, "\n%*s}", indent, "");
}

void config_print_schema(const struct config_mode *modes, size_t mode_count, FILE *out)
{
    struct section sections[SECTIONS_MAX];
    size_t count = gather_sections(NULL, modes, mode_count, sections);
    fputs("{\n    \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
          "    \"title\": \"Configuration of arbiterd\",\n    \"type\": \"object\",\n"
          "    \"additionalProperties\": false,\n    \"properties\": {",
          out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\n        ", i > 0 ? "," : "");
        print_section_name(&sections[i], out);
        fputs(": {\"type\": \"object\", \"additionalProperties\": false, \"properties\": ", out);
        print_properties(sections[i].options, sections[i].count, false, modes, mode_count, 8, out);
        fputs("}", out);
    }
    fputs("\n    }\n}\n", out);
}

/* ---- Markdown ---- */

static void print_cell(const char *text, FILE *out)
{
    for (; *text != 0; text++) {
        if (*text == '|') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
}

static void print_row(const struct option *row, const char *name, const struct config_mode *modes,
                      size_t mode_count, FILE *out)
{
    char allowed[OPTION_TEXT_BYTES];
    option_allowed(row, modes, mode_count, allowed);
    fprintf(out, "| `%s` | ", name);
    if (row->type == OPTION_MODE) {
        fprintf(out, "`\"%s\"`", modes[0].name);
    } else if (row->fallback == NULL) {
        fputs("must be given", out);
    } else if (row->type == OPTION_LIST && strlen(row->fallback) > 40) {
        fputs("see `--print-config`", out);
    } else {
        fprintf(out, "`%s`", row->fallback);
    }
    fputs(" | ", out);
    print_cell(allowed, out);
    fputs(" | ", out);
    print_cell(row->doc, out);
    if (row->reload) fprintf(out, " %s", reloadable);
    fputs(" |\n", out);
}

static void print_table(const struct option *rows, size_t count, bool items,
                        const struct config_mode *modes, size_t mode_count, FILE *out)
{
    fputs("| key | default | allowed | meaning |\n| --- | --- | --- | --- |\n", out);
    for (size_t i = 0; i < count; i++) {
        print_row(&rows[i], items ? rows[i].path : option_key(rows[i].path), modes, mode_count,
                  out);
    }
    fputc('\n', out);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].type == OPTION_LIST) {
            fprintf(out, "Each item of `%s`:\n\n", rows[i].path);
            print_table(rows[i].items, rows[i].item_count, true, modes, mode_count, out);
        }
    }
}

void config_print_options(const struct config_mode *modes, size_t mode_count, FILE *out)
{
    struct section sections[SECTIONS_MAX];
    size_t count = gather_sections(NULL, modes, mode_count, sections);
    for (size_t i = 0; i < count; i++) {
        const char *path = sections[i].options[0].path;
        fprintf(out, "### %.*s\n\n", (int)option_section_length(path), path);
        print_table(sections[i].options, sections[i].count, false, modes, mode_count, out);
    }
}
