#include "server/ops/text.h"

#include "shared/base/arb_assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void ops_text_begin(struct ops_text *text, char *bytes, size_t capacity)
{
    ARB_ASSERT(capacity > 0);
    bytes[0] = '\0';
    *text = (struct ops_text){.bytes = bytes, .capacity = capacity};
}

void ops_text_undo(struct ops_text *text, size_t size)
{
    ARB_ASSERT(size <= text->size);
    text->size = size;
    text->bytes[size] = '\0';
    text->full = false;
}

void ops_text_print(struct ops_text *text, const char *format, ...)
{
    if (text->full) return;
    va_list arguments;
    va_start(arguments, format);
    size_t room = text->capacity - text->size;
    int wanted = vsnprintf(text->bytes + text->size, room, format, arguments);
    va_end(arguments);
    ARB_ASSERT(wanted >= 0);
    if ((size_t)wanted >= room) {
        text->bytes[text->size] = '\0';
        text->full = true;
        return;
    }
    text->size += (size_t)wanted;
}

static bool continues(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Length of the valid UTF-8 sequence that begins here, 0 when it is none (RFC 3629, table of
 * section 4). */
static size_t sequence_length(const uint8_t *at)
{
    uint8_t low = at[0] == 0xE0 ? 0xA0 : at[0] == 0xF0 ? 0x90 : 0x80;
    uint8_t high = at[0] == 0xED ? 0x9F : at[0] == 0xF4 ? 0x8F : 0xBF;
    if (at[0] < 0x80) return 1;
    if (at[0] < 0xC2 || at[0] > 0xF4) return 0;
    if (at[1] < low || at[1] > high) return 0;
    if (at[0] < 0xE0) return 2;
    if (!continues(at[2])) return 0;
    if (at[0] < 0xF0) return 3;
    return continues(at[3]) ? 4 : 0;
}

static size_t print_one(struct ops_text *text, const uint8_t *at)
{
    size_t length = sequence_length(at);
    if (length == 0) {
        ops_text_print(text, "\\ufffd");
        return 1;
    }
    if (*at == '"' || *at == '\\') {
        ops_text_print(text, "\\%c", *at);
    } else if (*at < 0x20 || *at == 0x7F) {
        ops_text_print(text, "\\u%04x", (unsigned)*at);
    } else {
        ops_text_print(text, "%.*s", (int)length, (const char *)at);
    }
    return length;
}

void ops_text_string(struct ops_text *text, const char *string)
{
    ops_text_print(text, "\"");
    const uint8_t *at = (const uint8_t *)string;
    while (*at != 0 && !text->full) {
        at += print_one(text, at);
    }
    ops_text_print(text, "\"");
}
