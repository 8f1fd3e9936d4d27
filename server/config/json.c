/* The tree over what the scanner accepted, and numbers read from the text. */
#include "server/config/json_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_keys(const void *a, const void *b)
{
    const cJSON *left = *(const cJSON *const *)a, *right = *(const cJSON *const *)b;
    int order = strcmp(left->string, right->string);
    return order != 0 ? order : left->valueint - right->valueint;
}

/* The first member whose key, unescaped, an earlier one has too; NULL: none. */
static const cJSON *find_duplicate(const cJSON *object)
{
    size_t count = 0;
    for (const cJSON *child = object->child; child != NULL; child = child->next) {
        count++;
    }
    if (count < 2) {
        return NULL;
    }
    const cJSON **members = arb_mem_alloc(count * sizeof(const cJSON *));
    size_t filled = 0;
    for (const cJSON *child = object->child; child != NULL; child = child->next) {
        members[filled++] = child;
    }
    qsort(members, count, sizeof members[0], compare_keys);
    const cJSON *found = NULL;
    for (size_t i = 1; i < count; i++) {
        if (strcmp(members[i - 1]->string, members[i]->string) == 0 &&
            (found == NULL || members[i]->valueint < found->valueint)) {
            found = members[i];
        }
    }
    arb_mem_free(members);
    return found;
}

/* Numbers the nodes in the scanner's order; returns the first key that is there twice, or NULL. */
static const cJSON *number_nodes(cJSON *node, int *next)
{
    node->valueint = (*next)++;
    for (cJSON *child = node->child; child != NULL; child = child->next) {
        const cJSON *duplicate = number_nodes(child, next);
        if (duplicate != NULL) {
            return duplicate;
        }
    }
    return cJSON_IsObject(node) ? find_duplicate(node) : NULL;
}

static bool refuse_duplicate(struct json *json, const cJSON *node, struct json_error *error)
{
    const struct json_mark *mark = json_mark_of(json, node);
    error->offset = mark->key;
    json_path(json, mark->value, error->path);
    char key[80];
    json_quote(key, sizeof key, node->string, 40);
    snprintf(error->what, sizeof error->what, "the key %s is there twice", key);
    json_free(json);
    return false;
}

bool json_parse(struct json *json, const char *text, size_t bytes, struct json_error *error)
{
    cJSON_InitHooks(&(cJSON_Hooks){arb_mem_malloc, arb_mem_free});
    *json = (struct json){.text = text, .bytes = bytes};
    if (!json_scan(json, error)) {
        return false;
    }
    json->root = cJSON_ParseWithLengthOpts(text, bytes, NULL, false);
    ARB_ASSERT(json->root != NULL);
    int count = 0;
    const cJSON *duplicate = number_nodes(json->root, &count);
    if (duplicate != NULL) {
        return refuse_duplicate(json, duplicate, error);
    }
    ARB_ASSERT((size_t)count == json->mark_count);
    return true;
}

void json_free(struct json *json)
{
    cJSON_Delete(json->root);
    arb_mem_free(json->marks);
    *json = (struct json){0};
}

const struct json_mark *json_mark_of(const struct json *json, const cJSON *node)
{
    ARB_ASSERT(node->valueint >= 0 && (size_t)node->valueint < json->mark_count);
    return &json->marks[node->valueint];
}

const cJSON *json_member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* Copies the number's text; false when the node is none. */
static bool number_text(const struct json *json, const cJSON *node,
                        char text[JSON_NUMBER_BYTES_MAX + 1])
{
    if (!cJSON_IsNumber(node)) {
        return false;
    }
    const struct json_mark *mark = json_mark_of(json, node);
    size_t length = mark->end - mark->value;
    ARB_ASSERT(length <= JSON_NUMBER_BYTES_MAX);
    memcpy(text, json->text + mark->value, length);
    text[length] = 0;
    return true;
}

enum json_number json_read_i64(const struct json *json, const cJSON *node, int64_t *out)
{
    char text[JSON_NUMBER_BYTES_MAX + 1];
    if (!number_text(json, node, text) || strpbrk(text, ".eE") != NULL) {
        return JSON_NUMBER_NONE;
    }
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == 0 ? JSON_NUMBER_OK : JSON_NUMBER_TOO_BIG;
}

enum json_number json_read_u64(const struct json *json, const cJSON *node, uint64_t *out)
{
    char text[JSON_NUMBER_BYTES_MAX + 1];
    const char *digits = text;
    if (cJSON_IsString(node)) {
        digits = node->valuestring;
    } else if (!number_text(json, node, text)) {
        return JSON_NUMBER_NONE;
    }
    if (digits[0] == 0 || digits[strspn(digits, "0123456789")] != 0 ||
        (digits[0] == '0' && digits[1] != 0)) {
        return JSON_NUMBER_NONE;
    }
    errno = 0;
    *out = strtoull(digits, NULL, 10);
    return errno == 0 ? JSON_NUMBER_OK : JSON_NUMBER_TOO_BIG;
}

enum json_number json_read_double(const struct json *json, const cJSON *node, double *out)
{
    char text[JSON_NUMBER_BYTES_MAX + 1];
    if (!number_text(json, node, text)) {
        return JSON_NUMBER_NONE;
    }
    *out = strtod(text, NULL);
    return isfinite(*out) ? JSON_NUMBER_OK : JSON_NUMBER_TOO_BIG;
}
