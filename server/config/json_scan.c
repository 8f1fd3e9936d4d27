/* The scanner: one pass over the text, recursive by depth (bounded), never beyond `bytes`. It is
 * also what finds the path of an offset: it runs again up to there and tells the keys and indices
 * that it stands in.
 */
#include "server/config/json_internal.h"

#include "shared/base/arb_assert.h"
#include "shared/base/arb_mem.h"

#include <stdio.h>
#include <string.h>

/* One array or object that is open. */
struct level {
    bool object;
    uint32_t index;      /* of the current item */
    size_t key, key_end; /* of the current member, without quotes; equal: none yet */
};

struct scanner {
    const char *text;
    size_t bytes, at;
    size_t stop; /* first byte of the value at which to stop (json_path), else SIZE_MAX */
    bool stopped;
    struct level levels[JSON_DEPTH_MAX];
    uint32_t depth;
    struct json_mark *marks; /* NULL: not wanted */
    size_t mark_count, mark_capacity;
    const char *what; /* why it failed */
};

static bool fail(struct scanner *s, const char *what)
{
    s->what = what;
    return false;
}

static int peek(const struct scanner *s)
{
    return s->at < s->bytes ? (unsigned char)s->text[s->at] : -1;
}

static void skip_space(struct scanner *s)
{
    while (s->at < s->bytes && strchr(" \t\r\n", s->text[s->at]) != NULL && s->text[s->at] != 0) {
        s->at++;
    }
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static int hex_digit(int c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    int lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Bytes of the UTF-8 sequence at `at`; 0: none (also overlong ones, surrogates, beyond U+10FFFF).
 */
static size_t utf8_length(const char *text, size_t bytes, size_t at)
{
    const unsigned char *u = (const unsigned char *)text + at;
    size_t left = bytes - at;
    if (u[0] < 0x80) {
        return 1;
    }
    size_t length = u[0] >= 0xF0 ? 4 : u[0] >= 0xE0 ? 3 : 2;
    if (u[0] < 0xC2 || u[0] > 0xF4 || left < length) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    bool wrong = (u[0] == 0xE0 && u[1] < 0xA0) || (u[0] == 0xED && u[1] > 0x9F) ||
                 (u[0] == 0xF0 && u[1] < 0x90) || (u[0] == 0xF4 && u[1] > 0x8F);
    return wrong ? 0 : length;
}

/* The four digits behind \u; -1: not four. */
static int32_t unicode_escape(const struct scanner *s, size_t at)
{
    int32_t value = 0;
    for (size_t i = at; i < at + 4; i++) {
        int digit = i < s->bytes ? hex_digit((unsigned char)s->text[i]) : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* s->at is at the backslash. */
static bool scan_escape(struct scanner *s)
{
    int kind = s->at + 1 < s->bytes ? (unsigned char)s->text[s->at + 1] : 0;
    if (kind != 'u') {
        if (kind == 0 || strchr("\"\\/bfnrt", kind) == NULL) {
            return fail(s, "no such escape in a string");
        }
        s->at += 2;
        return true;
    }
    int32_t code = unicode_escape(s, s->at + 2);
    if (code < 0) {
        return fail(s, "\\u needs four hexadecimal digits");
    }
    if (code == 0) {
        return fail(s, "a string cannot hold the NUL character");
    }
    size_t length = 6;
    if (code >= 0xDC00 && code <= 0xDFFF) {
        return fail(s, "a low surrogate without its high surrogate");
    }
    if (code >= 0xD800 && code <= 0xDBFF) {
        bool escape = s->at + 7 < s->bytes && memcmp(s->text + s->at + 6, "\\u", 2) == 0;
        int32_t low = escape ? unicode_escape(s, s->at + 8) : -1;
        if (low < 0xDC00 || low > 0xDFFF) {
            return fail(s, "a high surrogate without its low surrogate");
        }
        length = 12;
    }
    s->at += length;
    return true;
}

/* s->at is at the opening quote. */
static bool scan_string(struct scanner *s)
{
    size_t start = s->at++;
    for (;;) {
        int c = peek(s);
        if (c < 0) {
            s->at = start;
            return fail(s, "a string that does not end");
        }
        if (c == '"') {
            s->at++;
            return true;
        }
        if (c < 0x20) {
            return fail(s, "a control character in a string; allowed: its escape");
        }
        if (c == '\\') {
            if (!scan_escape(s)) {
                return false;
            }
            continue;
        }
        size_t length = utf8_length(s->text, s->bytes, s->at);
        if (length == 0) {
            return fail(s, "not UTF-8");
        }
        s->at += length;
    }
}

static bool scan_digits(struct scanner *s)
{
    if (!is_digit(peek(s))) {
        return fail(s, "a digit is missing in a number");
    }
    while (is_digit(peek(s))) {
        s->at++;
    }
    return true;
}

static bool scan_number(struct scanner *s)
{
    size_t start = s->at;
    if (peek(s) == '-') {
        s->at++;
    }
    bool zero = peek(s) == '0';
    size_t first = s->at;
    if (!scan_digits(s)) {
        return false;
    }
    if (zero && s->at > first + 1) {
        s->at = start;
        return fail(s, "a number cannot begin with 0");
    }
    if (peek(s) == '.') {
        s->at++;
        if (!scan_digits(s)) {
            return false;
        }
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        s->at++;
        if (peek(s) == '+' || peek(s) == '-') {
            s->at++;
        }
        if (!scan_digits(s)) {
            return false;
        }
    }
    if (s->at - start > JSON_NUMBER_BYTES_MAX) {
        s->at = start;
        return fail(s, "a number of more than 60 characters");
    }
    return true;
}

static bool scan_word(struct scanner *s, const char *word)
{
    size_t length = strlen(word);
    if (s->bytes - s->at < length || memcmp(s->text + s->at, word, length) != 0) {
        return fail(s, "expected a value: true, false, null, a number, a string, [ or {");
    }
    s->at += length;
    return true;
}

static bool refuse_value(struct scanner *s)
{
    switch (peek(s)) {
    case -1:
        return fail(s, "the text ends too early");
    case '/':
    case '#':
        return fail(s, "comments are not allowed");
    case 'N':
    case 'I':
    case '+':
        return fail(s, "NaN, Infinity and a plus sign are not allowed");
    case ']':
    case '}':
        return fail(s, "a value is missing (a comma before the end is not allowed)");
    default:
        return fail(s, "expected a value: true, false, null, a number, a string, [ or {");
    }
}

static bool scan_value(struct scanner *s, size_t key);

static bool push(struct scanner *s, bool object)
{
    if (s->depth == JSON_DEPTH_MAX) {
        return fail(s, "more than 64 arrays and objects inside each other");
    }
    s->levels[s->depth++] = (struct level){.object = object};
    return true;
}

/* s->at is at the opening quote of a key, or at what should be one. */
static bool scan_member(struct scanner *s)
{
    struct level *level = &s->levels[s->depth - 1];
    if (peek(s) != '"') {
        if (peek(s) == '}') {
            return fail(s, "a key is missing (a comma before the end is not allowed)");
        }
        return peek(s) == -1 || peek(s) == '/' ? refuse_value(s)
                                               : fail(s, "expected a key in double quotes");
    }
    size_t key = s->at;
    level->key = level->key_end = 0;
    if (!scan_string(s)) {
        return false;
    }
    level->key = key + 1;
    level->key_end = s->at - 1;
    skip_space(s);
    if (peek(s) != ':') {
        return fail(s, peek(s) == -1 ? "the text ends too early" : "expected : after a key");
    }
    s->at++;
    skip_space(s);
    return scan_value(s, key);
}

/* After an item: true and *more when a comma was read; true and not *more at the end. */
static bool scan_separator(struct scanner *s, char end, bool *more)
{
    skip_space(s);
    int c = peek(s);
    *more = c == ',';
    if (c == ',' || c == end) {
        s->at++;
        skip_space(s);
        return true;
    }
    if (c == -1 || c == '/') {
        return refuse_value(s);
    }
    return fail(s, end == ']' ? "expected , or ]" : "expected , or }");
}

/* s->at is at [ or {. */
static bool scan_items(struct scanner *s)
{
    bool object = peek(s) == '{';
    char end = object ? '}' : ']';
    if (!push(s, object)) {
        return false;
    }
    s->at++;
    skip_space(s);
    bool more = peek(s) != end;
    if (!more) {
        s->at++;
    }
    while (more) {
        if (!(object ? scan_member(s) : scan_value(s, SIZE_MAX)) || s->stopped) {
            return !s->what;
        }
        if (!scan_separator(s, end, &more)) {
            return false;
        }
        s->levels[s->depth - 1].index++;
    }
    s->depth--;
    return true;
}

static bool add_mark(struct scanner *s, size_t key, size_t *index)
{
    if (s->mark_count == JSON_VALUES_MAX) {
        return fail(s, "more than 1000000 values");
    }
    if (s->marks != NULL && s->mark_count == s->mark_capacity) {
        s->mark_capacity *= 2;
        s->marks = arb_mem_realloc(s->marks, s->mark_capacity * sizeof s->marks[0]);
        ARB_ASSERT(s->marks != NULL);
    }
    *index = s->mark_count++;
    if (s->marks != NULL) {
        s->marks[*index].key = (uint32_t)(key == SIZE_MAX ? s->at : key);
        s->marks[*index].value = (uint32_t)s->at;
    }
    return true;
}

/* s->at is at the first byte. */
static bool scan_value(struct scanner *s, size_t key)
{
    size_t index;
    if (s->at == s->stop) {
        s->stopped = true;
        return true;
    }
    if (!add_mark(s, key, &index)) {
        return false;
    }
    bool ok;
    int c = peek(s);
    if (c == '{' || c == '[') {
        ok = scan_items(s);
    } else if (c == '"') {
        ok = scan_string(s);
    } else if (c == '-' || is_digit(c)) {
        ok = scan_number(s);
    } else if (c == 't' || c == 'f' || c == 'n') {
        ok = scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null");
    } else {
        ok = refuse_value(s);
    }
    if (ok && s->marks != NULL) {
        s->marks[index].end = (uint32_t)s->at;
    }
    return ok;
}

static bool scan_text(struct scanner *s)
{
    if (s->bytes >= 3 && memcmp(s->text, "\xEF\xBB\xBF", 3) == 0) {
        return fail(s, "a byte order mark is not allowed");
    }
    skip_space(s);
    if (!scan_value(s, SIZE_MAX) || s->stopped) {
        return s->stopped;
    }
    skip_space(s);
    if (s->at < s->bytes) {
        return fail(s, peek(s) == '/' ? "comments are not allowed" : "text after the end");
    }
    return true;
}

static void write_path(const struct scanner *s, char path[JSON_PATH_BYTES])
{
    size_t used = 0;
    path[0] = 0;
    for (uint32_t i = 0; i < s->depth && used < JSON_PATH_BYTES - 1; i++) {
        const struct level *level = &s->levels[i];
        int written = 0;
        if (!level->object) {
            written = snprintf(path + used, JSON_PATH_BYTES - used, "[%u]", level->index);
        } else if (level->key_end > level->key) {
            int length = (int)(level->key_end - level->key < 64 ? level->key_end - level->key : 64);
            written = snprintf(path + used, JSON_PATH_BYTES - used, "%s%.*s", i > 0 ? "." : "",
                               length, s->text + level->key);
        }
        used += written > 0 ? (size_t)written : 0;
    }
}

bool json_scan(struct json *json, struct json_error *error)
{
    struct scanner s = {.text = json->text, .bytes = json->bytes, .stop = SIZE_MAX};
    ARB_ASSERT(json->bytes < UINT32_MAX);
    s.mark_capacity = 64;
    s.marks = arb_mem_alloc(s.mark_capacity * sizeof s.marks[0]);
    bool ok = scan_text(&s);
    json->marks = s.marks;
    json->mark_count = s.mark_count;
    if (!ok) {
        error->offset = s.at;
        write_path(&s, error->path);
        snprintf(error->what, sizeof error->what, "%s", s.what);
        arb_mem_free(json->marks);
        json->marks = NULL;
    }
    return ok;
}

void json_path(const struct json *json, size_t offset, char path[JSON_PATH_BYTES])
{
    struct scanner s = {.text = json->text, .bytes = json->bytes, .stop = offset};
    scan_text(&s);
    write_path(&s, path);
}

struct json_place json_place(const char *text, size_t offset)
{
    struct json_place place = {1, 1};
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)text[i] & 0xC0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

void json_quote(char *out, size_t out_bytes, const char *text, size_t keep)
{
    size_t bytes = strlen(text), used = 0;
    char *end = out + out_bytes;
    out += snprintf(out, out_bytes, "\"") > 0 ? 1 : 0;
    while (used < bytes && used < keep && end - out > 16) {
        size_t length = utf8_length(text, bytes, used);
        unsigned char c = (unsigned char)text[used];
        if (length == 0 || c < 0x20 || c == 0x7F) {
            out += snprintf(out, 8, length == 0 ? "\\x%02x" : "\\u%04x", c);
            length = 1;
        } else {
            if (c == '"' || c == '\\') {
                *out++ = '\\';
            }
            memcpy(out, text + used, length);
            out += length;
        }
        used += length;
    }
    snprintf(out, (size_t)(end - out), used < bytes ? "...\"" : "\"");
}
