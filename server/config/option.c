/* One option: a JSON value checked against its row and stored. */
#include "server/config/config_internal.h"

#include "shared/base/arb_assert.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t option_section_length(const char *path)
{
    const char *dot = strchr(path, '.');
    ARB_ASSERT(dot != NULL && strchr(dot + 1, '.') == NULL);
    return (size_t)(dot - path);
}

void option_environment_name(const char *path, char name[OPTION_PATH_BYTES])
{
    size_t length = (size_t)snprintf(name, OPTION_PATH_BYTES, "ARBITER_%s", path);
    ARB_ASSERT(length < OPTION_PATH_BYTES);
    for (size_t i = 0; i < length; i++) {
        name[i] = isalnum((unsigned char)name[i]) ? (char)toupper((unsigned char)name[i]) : '_';
    }
}

size_t option_choice(const char *choices, size_t index, const char **name)
{
    for (; index > 0; index--) {
        choices = strchr(choices, '|');
        if (choices == NULL) {
            return 0;
        }
        choices++;
    }
    *name = choices;
    return strcspn(choices, "|");
}

/* Whole numbers as they are written by hand, not as 6e+02. */
static bool whole_text(double value, char text[32])
{
    bool whole = value > -1e17 && value < 1e17 && (double)(int64_t)value == value;
    if (whole) {
        snprintf(text, 32, "%.0f", value);
    }
    return whole;
}

void option_double_text(double value, char text[32])
{
    if (whole_text(value, text)) {
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            return;
        }
    }
}

void option_float_text(float value, char text[32])
{
    if (whole_text((double)value, text)) {
        return;
    }
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, 32, "%.*g", digits, (double)value);
        if ((float)strtod(text, NULL) == value) {
            return;
        }
    }
}

/* ---- what is allowed ---- */

static int append_choices(const struct option *row, const struct config_mode *modes,
                          size_t mode_count, char *out, size_t out_bytes)
{
    int used = 0;
    if (row->type == OPTION_MODE) {
        for (size_t i = 0; i < mode_count && used < (int)out_bytes; i++) {
            used += snprintf(out + used, out_bytes - (size_t)used, "%s\"%s\"", i > 0 ? ", " : "",
                             modes[i].name);
        }
        return used;
    }
    const char *name;
    size_t length;
    for (size_t i = 0; (length = option_choice(row->choices, i, &name)) > 0; i++) {
        if (used < (int)out_bytes) {
            used += snprintf(out + used, out_bytes - (size_t)used, "%s\"%.*s\"", i > 0 ? ", " : "",
                             (int)length, name);
        }
    }
    return used;
}

void option_allowed(const struct option *row, const struct config_mode *modes, size_t mode_count,
                    char out[OPTION_TEXT_BYTES])
{
    char low[32], high[32];
    option_double_text(row->low, low);
    option_double_text(row->high, high);
    size_t size = OPTION_TEXT_BYTES;
    char unit[32] = "";
    if (row->unit != NULL && row->unit[0] != 0) {
        snprintf(unit, sizeof unit, " (%s)", row->unit);
    }
    switch (row->type) {
    case OPTION_BOOL:
        snprintf(out, size, "true or false");
        break;
    case OPTION_INT:
        snprintf(out, size, "an integer from %s to %s%s", low, high, unit);
        break;
    case OPTION_NUMBER:
        snprintf(out, size, "a number from %s to %s%s", low, high, unit);
        break;
    case OPTION_STRING:
        snprintf(out, size, "a string of at most %u bytes", row->size - 1);
        break;
    case OPTION_SEED:
        snprintf(out, size, "an integer from %s to %s, the same as a string of digits, or null",
                 row->high > 0 ? low : "0", row->high > 0 ? high : "18446744073709551615");
        break;
    case OPTION_LIST:
        snprintf(out, size, "an array of %s to %s objects", low, high);
        break;
    default:
        append_choices(row, modes, mode_count, out, size);
        break;
    }
}

/* ---- reading ---- */

static bool refuse(const struct option_reader *reader, const struct option *row, const cJSON *node)
{
    char allowed[OPTION_TEXT_BYTES], shown[96];
    option_allowed(row, reader->modes, reader->mode_count, allowed);
    config_show(reader->source->json, node, shown, sizeof shown);
    return config_fail_node(reader->error, reader->source, node, "%s is not allowed; allowed: %s",
                            shown, allowed);
}

static bool read_int(const struct option_reader *reader, const struct option *row, char *member,
                     const cJSON *node)
{
    int64_t value;
    if (json_read_i64(reader->source->json, node, &value) != JSON_NUMBER_OK ||
        value < (int64_t)row->low || value > (int64_t)row->high) {
        return refuse(reader, row, node);
    }
    int32_t stored = (int32_t)value;
    ARB_ASSERT(row->size == sizeof stored);
    memcpy(member, &stored, sizeof stored);
    return true;
}

static bool read_number(const struct option_reader *reader, const struct option *row, char *member,
                        const cJSON *node)
{
    double value;
    if (json_read_double(reader->source->json, node, &value) != JSON_NUMBER_OK ||
        value < row->low || value > row->high) {
        return refuse(reader, row, node);
    }
    float stored = (float)value;
    ARB_ASSERT(row->size == sizeof stored);
    memcpy(member, &stored, sizeof stored);
    return true;
}

static bool read_string(const struct option_reader *reader, const struct option *row, char *member,
                        const cJSON *node)
{
    if (!cJSON_IsString(node) || strlen(node->valuestring) >= row->size) {
        return refuse(reader, row, node);
    }
    bool known = row->type != OPTION_MODE;
    for (size_t i = 0; i < reader->mode_count && !known; i++) {
        known = strcmp(node->valuestring, reader->modes[i].name) == 0;
    }
    if (!known) {
        return refuse(reader, row, node);
    }
    memset(member, 0, row->size);
    memcpy(member, node->valuestring, strlen(node->valuestring));
    return true;
}

static bool read_choice(const struct option_reader *reader, const struct option *row, char *member,
                        const cJSON *node)
{
    const char *name;
    size_t length;
    for (int32_t i = 0;
         cJSON_IsString(node) && (length = option_choice(row->choices, (size_t)i, &name)) > 0;
         i++) {
        if (strlen(node->valuestring) == length && memcmp(node->valuestring, name, length) == 0) {
            ARB_ASSERT(row->size == sizeof i);
            memcpy(member, &i, sizeof i);
            return true;
        }
    }
    return refuse(reader, row, node);
}

static bool read_seed(const struct option_reader *reader, const struct option *row, char *member,
                      const cJSON *node)
{
    struct option_seed seed = {0, 0};
    ARB_ASSERT(row->size == sizeof seed);
    if (!cJSON_IsNull(node)) {
        seed.set = 1;
        if (json_read_u64(reader->source->json, node, &seed.value) != JSON_NUMBER_OK ||
            (row->high > 0 &&
             (seed.value < (uint64_t)row->low || seed.value > (uint64_t)row->high))) {
            return refuse(reader, row, node);
        }
    }
    memcpy(member, &seed, sizeof seed);
    return true;
}

static const struct option *find_item_row(const struct option *row, const char *key)
{
    for (size_t i = 0; i < row->item_count; i++) {
        if (strcmp(row->items[i].path, key) == 0) {
            return &row->items[i];
        }
    }
    return NULL;
}

static bool refuse_item_key(const struct option_reader *reader, const struct option *row,
                            const cJSON *node)
{
    char allowed[OPTION_TEXT_BYTES];
    int used = 0;
    for (size_t i = 0; i < row->item_count && used < OPTION_TEXT_BYTES; i++) {
        used += snprintf(allowed + used, (size_t)(OPTION_TEXT_BYTES - used), "%s%s",
                         i > 0 ? ", " : "", row->items[i].path);
    }
    return config_fail_key(reader->error, reader->source, node, "unknown key; allowed: %s",
                           allowed);
}

static bool read_item(const struct option_reader *reader, const struct option *row, char *item,
                      const cJSON *node)
{
    if (!cJSON_IsObject(node)) {
        char shown[96];
        config_show(reader->source->json, node, shown, sizeof shown);
        return config_fail_node(reader->error, reader->source, node,
                                "%s is not allowed; allowed: an object", shown);
    }
    for (const cJSON *child = node->child; child != NULL; child = child->next) {
        const struct option *field = find_item_row(row, child->string);
        if (field == NULL) {
            return refuse_item_key(reader, row, child);
        }
        if (!option_read(reader, field, item, child)) {
            return false;
        }
    }
    for (size_t i = 0; i < row->item_count; i++) {
        const struct option *field = &row->items[i];
        if (json_member(node, field->path) != NULL) {
            continue;
        }
        if (field->fallback == NULL) {
            return config_fail_node(reader->error, reader->source, node, "the key %s is missing",
                                    field->path);
        }
        option_set_default(field, item, reader->modes, reader->mode_count);
    }
    return true;
}

static bool read_list(const struct option_reader *reader, const struct option *row, char *base,
                      const cJSON *node)
{
    int count = cJSON_IsArray(node) ? cJSON_GetArraySize(node) : -1;
    if (count < (int)row->low || count > (int)row->high) {
        return refuse(reader, row, node);
    }
    ARB_ASSERT(row->size >= (size_t)row->high * row->item_bytes);
    memset(base + row->offset, 0, row->size);
    char *item = base + row->offset;
    for (const cJSON *child = node->child; child != NULL; child = child->next) {
        if (!read_item(reader, row, item, child)) {
            return false;
        }
        item += row->item_bytes;
    }
    int32_t stored = count;
    memcpy(base + row->count_offset, &stored, sizeof stored);
    return true;
}

bool option_read(const struct option_reader *reader, const struct option *row, void *base,
                 const cJSON *node)
{
    char *member = (char *)base + row->offset;
    switch (row->type) {
    case OPTION_BOOL: {
        bool value = cJSON_IsTrue(node);
        ARB_ASSERT(row->size == sizeof value);
        if (!cJSON_IsBool(node)) {
            return refuse(reader, row, node);
        }
        memcpy(member, &value, sizeof value);
        return true;
    }
    case OPTION_INT:
        return read_int(reader, row, member, node);
    case OPTION_NUMBER:
        return read_number(reader, row, member, node);
    case OPTION_STRING:
    case OPTION_MODE:
        return read_string(reader, row, member, node);
    case OPTION_CHOICE:
        return read_choice(reader, row, member, node);
    case OPTION_SEED:
        return read_seed(reader, row, member, node);
    default:
        ARB_ASSERT(row->type == OPTION_LIST);
        return read_list(reader, row, base, node);
    }
}

void option_set_default(const struct option *row, void *base, const struct config_mode *modes,
                        size_t mode_count)
{
    if (row->type == OPTION_MODE) {
        ARB_ASSERT(mode_count > 0 && strlen(modes[0].name) < row->size);
        memset((char *)base + row->offset, 0, row->size);
        memcpy((char *)base + row->offset, modes[0].name, strlen(modes[0].name));
        return;
    }
    struct json json;
    struct json_error cause;
    struct config_error error;
    ARB_ASSERT(json_parse(&json, row->fallback, strlen(row->fallback), &cause));
    struct config_source source = {.name = "default", .path = row->path, .json = &json};
    struct option_reader reader = {&source, modes, mode_count, &error};
    ARB_ASSERT(option_read(&reader, row, base, json.root));
    json_free(&json);
}
