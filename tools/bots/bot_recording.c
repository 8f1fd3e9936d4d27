/* Recordings of people's inputs: one JSON line per tick. */
#include "tools/bots/bot_internal.h"

#include "shared/base/arb_input.h"
#include "shared/base/arb_mem.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES_MAX = 4096, RECORDS_MAX = 128 * 3600 * 8 };

static bool read_int(const cJSON *item, double low, double high, int *out)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= low && item->valuedouble <= high)) {
        return false;
    }
    *out = (int)item->valuedouble;
    return (double)*out == item->valuedouble;
}

static uint16_t button_of(const char *name)
{
#define X(bit, button, text)                                                                       \
    if (strcmp(name, text) == 0) return 1 << (bit);
    ARB_BUTTON_MAP(X)
#undef X
    return strcmp(name, "boost") == 0 ? ARB_BUTTON_BOOST : 0;
}

static bool read_buttons(const cJSON *list, uint16_t *out)
{
    const cJSON *item = NULL;
    if (!cJSON_IsArray(list)) {
        return false;
    }
    *out = 0;
    cJSON_ArrayForEach(item, list)
    {
        uint16_t button = cJSON_IsString(item) ? button_of(item->valuestring) : 0;
        if (button == 0) {
            return false;
        }
        *out |= button;
    }
    return true;
}

/* NULL when all is well, else what is wrong. */
static const char *read_record(const cJSON *line, uint32_t index, int *first_tick,
                               struct arbiter_input *out)
{
    int tick = 0;
    int x = 0;
    int y = 0;
    int aim = 0;
    const cJSON *move = cJSON_GetObjectItemCaseSensitive(line, "move");
    if (!cJSON_IsObject(line)) {
        return "is no JSON object";
    }
    if (!read_int(cJSON_GetObjectItemCaseSensitive(line, "tick"), 0, 1e9, &tick)) {
        return "'tick' must be a whole number";
    }
    *first_tick = index == 0 ? tick : *first_tick;
    if (tick - *first_tick != (int)index) {
        return "'tick' must go up by one";
    }
    if (cJSON_GetArraySize(move) != 2 || !read_int(cJSON_GetArrayItem(move, 0), -128, 127, &x) ||
        !read_int(cJSON_GetArrayItem(move, 1), -128, 127, &y)) {
        return "'move' must be two whole numbers in -127..127";
    }
    if (!read_int(cJSON_GetObjectItemCaseSensitive(line, "aim"), 0, 65535, &aim)) {
        return "'aim' must be in 0..65535";
    }
    if (!read_buttons(cJSON_GetObjectItemCaseSensitive(line, "buttons"), &out->buttons)) {
        return "'buttons' must be names: fire, use, dash, reload, boost";
    }
    out->move_x = (int8_t)x;
    out->move_y = (int8_t)y;
    out->aim = (uint16_t)aim;
    return NULL;
}

static bool add(struct bot_policy *policy, uint32_t *capacity, const struct arbiter_input *record)
{
    if (policy->record_count == *capacity) {
        uint32_t more = *capacity == 0 ? 16384 : 2 * *capacity;
        struct arbiter_input *grown =
            more > RECORDS_MAX ? NULL : arb_mem_realloc(policy->records, more * sizeof *grown);
        if (grown == NULL) {
            return false;
        }
        policy->records = grown;
        *capacity = more;
    }
    policy->records[policy->record_count++] = *record;
    return true;
}

bool bot_recording_load(struct bot_policy *policy, const char *path, char *error,
                        size_t error_bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        snprintf(error, error_bytes, "recording %s cannot be read", path);
        return false;
    }
    char line[LINE_BYTES_MAX];
    uint32_t capacity = 0;
    uint32_t number = 0;
    int first_tick = 0;
    const char *problem = NULL;
    while (problem == NULL && fgets(line, sizeof line, file) != NULL) {
        number++;
        if (strspn(line, " \t\r\n") == strlen(line)) {
            continue;
        }
        struct arbiter_input record = {0};
        cJSON *tree = cJSON_Parse(line);
        problem = read_record(tree, policy->record_count, &first_tick, &record);
        cJSON_Delete(tree);
        if (problem == NULL && !add(policy, &capacity, &record)) {
            problem = "is one too many";
        }
    }
    fclose(file);
    if (problem != NULL) {
        snprintf(error, error_bytes, "%s:%u: %s", path, (unsigned)number, problem);
    } else if (policy->record_count == 0) {
        problem = "empty";
        snprintf(error, error_bytes, "%s: holds no record", path);
    }
    return problem == NULL;
}
