/* One option's value as JSON. */
#include "server/config/config_internal.h"

#include "shared/base/arb_assert.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void option_print_string(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != 0; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7F) {
            fprintf(out, "\\u%04x", c);
        } else {
            if (c == '"' || c == '\\') {
                fputc('\\', out);
            }
            fputc(c, out);
        }
    }
    fputc('"', out);
}

static void print_item(const struct option *row, const char *item, int indent, FILE *out)
{
    fputc('{', out);
    for (size_t i = 0; i < row->item_count; i++) {
        fprintf(out, "%s\n%*s", i > 0 ? "," : "", indent + 4, "");
        option_print_string(row->items[i].path, out);
        fputs(": ", out);
        option_print(&row->items[i], item, indent + 4, out);
    }
    fprintf(out, "\n%*s}", indent, "");
}

static void print_list(const struct option *row, const char *base, int indent, FILE *out)
{
    int32_t count;
    memcpy(&count, base + row->count_offset, sizeof count);
    fputc('[', out);
    for (int32_t i = 0; i < count; i++) {
        fprintf(out, "%s\n%*s", i > 0 ? "," : "", indent + 4, "");
        print_item(row, base + row->offset + (size_t)i * row->item_bytes, indent + 4, out);
    }
    if (count > 0) {
        fprintf(out, "\n%*s", indent, "");
    }
    fputc(']', out);
}

static void print_seed(const char *member, FILE *out)
{
    struct option_seed seed;
    memcpy(&seed, member, sizeof seed);
    if (seed.set) {
        /* As a string: readers that keep numbers as doubles round above 2^53. */
        fprintf(out, "\"%" PRIu64 "\"", seed.value);
    } else {
        fputs("null", out);
    }
}

void option_print(const struct option *row, const void *base, int indent, FILE *out)
{
    const char *member = (const char *)base + row->offset;
    const char *name;
    char text[32];
    bool yes;
    int32_t integer;
    float number;
    switch (row->type) {
    case OPTION_BOOL:
        memcpy(&yes, member, sizeof yes);
        fputs(yes ? "true" : "false", out);
        break;
    case OPTION_INT:
        memcpy(&integer, member, sizeof integer);
        fprintf(out, "%" PRId32, integer);
        break;
    case OPTION_NUMBER:
        memcpy(&number, member, sizeof number);
        option_float_text(number, text);
        fputs(text, out);
        break;
    case OPTION_STRING:
    case OPTION_MODE:
        option_print_string(member, out);
        break;
    case OPTION_CHOICE: {
        memcpy(&integer, member, sizeof integer);
        size_t length = option_choice(row->choices, (size_t)integer, &name);
        ARB_ASSERT(length > 0);
        fprintf(out, "\"%.*s\"", (int)length, name);
        break;
    }
    case OPTION_SEED:
        print_seed(member, out);
        break;
    default:
        ARB_ASSERT(row->type == OPTION_LIST);
        print_list(row, base, indent, out);
        break;
    }
}
