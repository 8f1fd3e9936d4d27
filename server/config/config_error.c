/* Error texts: one line, whatever the file held. */
#include "server/config/config_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool fail_line(struct config_error *error, const struct config_source *source,
                      size_t place_offset, const char *path, const char *format, va_list arguments)
{
    char what[CONFIG_ERROR_BYTES];
    vsnprintf(what, sizeof what, format, arguments);
    char place[32] = "";
    if (source->file && source->json != NULL) {
        struct json_place at = json_place(source->json->text, place_offset);
        snprintf(place, sizeof place, ":%u:%u", at.line, at.column);
    }
    const char *dot = source->path[0] != 0 && path[0] != 0 && path[0] != '[' ? "." : "";
    const char *colon = source->path[0] != 0 || path[0] != 0 ? ": " : "";
    int length = snprintf(error->text, sizeof error->text, "%s%s: %s%s%s%s%s", source->name, place,
                          source->path, dot, path, colon, what);
    if (length >= (int)sizeof error->text) {
        memcpy(error->text + sizeof error->text - 4, "...", 4);
    }
    for (char *c = error->text; *c != 0; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            *c = '?';
        }
    }
    return false;
}

bool config_fail(struct config_error *error, const struct config_source *source,
                 size_t place_offset, size_t path_offset, const char *format, ...)
{
    char path[JSON_PATH_BYTES] = "";
    if (source->json != NULL) {
        json_path(source->json, path_offset, path);
    }
    va_list arguments;
    va_start(arguments, format);
    fail_line(error, source, place_offset, path, format, arguments);
    va_end(arguments);
    return false;
}

/* `offset` of what is at fault; named by the path of `node`. */
static void fail_of_node(struct config_error *error, const struct config_source *source,
                         const cJSON *node, size_t offset, const char *format, va_list arguments)
{
    char path[JSON_PATH_BYTES];
    json_path(source->json, json_mark_of(source->json, node)->value, path);
    fail_line(error, source, offset, path, format, arguments);
}

bool config_fail_node(struct config_error *error, const struct config_source *source,
                      const cJSON *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_of_node(error, source, node, json_mark_of(source->json, node)->value, format, arguments);
    va_end(arguments);
    return false;
}

bool config_fail_key(struct config_error *error, const struct config_source *source,
                     const cJSON *node, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_of_node(error, source, node, json_mark_of(source->json, node)->key, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_with_path(struct config_error *error, const struct config_source *source,
                           size_t offset, const char *path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_line(error, source, offset, path, format, arguments);
    va_end(arguments);
    return false;
}

bool config_fail_json(struct config_error *error, const struct config_source *source,
                      const char *text, const struct json_error *cause)
{
    struct json json = {.text = text};
    struct config_source with_text = *source;
    with_text.json = &json;
    if (source->file) {
        return fail_with_path(error, &with_text, cause->offset, cause->path, "%s", cause->what);
    }
    struct json_place at = json_place(text, cause->offset);
    return fail_with_path(error, &with_text, cause->offset, cause->path, "%s (character %u of it)",
                          cause->what, at.column);
}

void config_show(const struct json *json, const cJSON *node, char *out, size_t out_bytes)
{
    const struct json_mark *mark = json_mark_of(json, node);
    if (cJSON_IsObject(node) || cJSON_IsArray(node)) {
        snprintf(out, out_bytes, "%s", cJSON_IsObject(node) ? "an object" : "an array");
    } else if (cJSON_IsString(node)) {
        json_quote(out, out_bytes, node->valuestring, 40);
    } else {
        snprintf(out, out_bytes, "%.*s", (int)(mark->end - mark->value), json->text + mark->value);
    }
}
