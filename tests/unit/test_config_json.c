#include "server/config/json_internal.h"
#include "shared/base/arb_mem.h"

#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

struct bad_text {
    const char *text;
    uint32_t line, column;
    const char *path;
    const char *what; /* part of it */
};

/* Each is something that cJSON alone lets through, or that a file damaged on its way holds. */
static const struct bad_text bad_texts[] = {
    {"", 1, 1, "", "ends too early"},
    {"  \n ", 2, 2, "", "ends too early"},
    {"{} x", 1, 4, "", "text after the end"},
    {"{}{}", 1, 3, "", "text after the end"},
    {"{\"a\": 01}", 1, 7, "a", "begin with 0"},
    {"{\"a\": -01}", 1, 7, "a", "begin with 0"},
    {"{\"a\": 1.}", 1, 9, "a", "digit is missing"},
    {"{\"a\": .5}", 1, 7, "a", "expected a value"},
    {"{\"a\": +5}", 1, 7, "a", "plus sign"},
    {"{\"a\": 1e}", 1, 9, "a", "digit is missing"},
    {"{\"a\": -}", 1, 8, "a", "digit is missing"},
    {"{\"a\": NaN}", 1, 7, "a", "NaN"},
    {"{\"a\": Infinity}", 1, 7, "a", "Infinity"},
    {"{\"a\": nan}", 1, 7, "a", "expected a value"},
    {"{\"a\": 0x10}", 1, 8, "a", "expected , or }"},
    {"{\"a\": \"x\ny\"}", 1, 9, "a", "control character"},
    {"{\"a\": \"x\ty\"}", 1, 9, "a", "control character"},
    {"{\"a\": \"x\\u0000y\"}", 1, 9, "a", "NUL"},
    {"{\"a\": \"\\ud800\"}", 1, 8, "a", "high surrogate"},
    {"{\"a\": \"\\ud800\\u0041\"}", 1, 8, "a", "high surrogate"},
    {"{\"a\": \"\\udc00\"}", 1, 8, "a", "low surrogate"},
    {"{\"a\": \"\\u12g4\"}", 1, 8, "a", "hexadecimal"},
    {"{\"a\": \"\\x41\"}", 1, 8, "a", "escape"},
    {"{\"a\": \"\xff\"}", 1, 8, "a", "UTF-8"},
    {"{\"a\": \"\xc0\xaf\"}", 1, 8, "a", "UTF-8"},
    {"{\"a\": \"\xed\xa0\x80\"}", 1, 8, "a", "UTF-8"},
    {"{\"a\": \"\xf4\x90\x80\x80\"}", 1, 8, "a", "UTF-8"},
    {"{\"a\": \"\xe2\x82\"}", 1, 8, "a", "UTF-8"},
    {"{\"a\": \"\xc3\xa4\xc3\xb6\xff\"}", 1, 10, "a", "UTF-8"}, /* columns are characters */
    {"\xef\xbb\xbf{}", 1, 1, "", "byte order mark"},
    {"{\"a\": 1,}", 1, 9, "a", "comma before the end"},
    {"[1, 2,]", 1, 7, "[2]", "comma before the end"},
    {"{\"a\": 1 // no\n}", 1, 9, "a", "comments"},
    {"/* no */ {}", 1, 1, "", "comments"},
    {"{'a': 1}", 1, 2, "", "double quotes"},
    {"{a: 1}", 1, 2, "", "double quotes"},
    {"{\"a\" 1}", 1, 6, "a", "expected :"},
    {"{\"a\": 1 \"b\": 2}", 1, 9, "a", "expected , or }"},
    {"{\n  \"a\": {\n    \"b\": [1, 2, x]\n", 3, 17, "a.b[2]", "expected a value"},
    {"{\"a\": [1, {\"b\": tru", 1, 17, "a[1].b", "expected a value"},
    {"{\"a\": \"no end", 1, 7, "a", "does not end"},
    {"{\"a\": [1, 2", 1, 12, "a[1]", "ends too early"},
    {"{\"a\": 1, \"b\": 2, \"a\": 3}", 1, 18, "a", "\"a\" is there twice"},
    {"{\"a\": 1, \"\\u0061\": 3}", 1, 10, "\\u0061", "twice"},
    {"{\"s\": [{\"k\": 1,\n\"k\": 1}]}", 2, 1, "s[0].k", "twice"},
    {"{\"a\": 1234567890123456789012345678901234567890123456789012345678901}", 1, 7, "a",
     "more than 60"},
};

Test(config_json, every_kind_of_bad_text_is_refused_with_its_place)
{
    for (size_t i = 0; i < sizeof bad_texts / sizeof bad_texts[0]; i++) {
        const struct bad_text *bad = &bad_texts[i];
        struct json json;
        struct json_error error = {0};
        cr_assert_not(json_parse(&json, bad->text, strlen(bad->text), &error), "%s", bad->text);
        struct json_place place = json_place(bad->text, error.offset);
        cr_expect_eq(place.line, bad->line, "%s: line %u", bad->text, place.line);
        cr_expect_eq(place.column, bad->column, "%s: column %u", bad->text, place.column);
        cr_expect_str_eq(error.path, bad->path, "%s: path %s", bad->text, error.path);
        cr_expect_not_null(strstr(error.what, bad->what), "%s: %s", bad->text, error.what);
    }
}

Test(config_json, a_nul_byte_in_the_text_is_refused)
{
    static const char text[] = "{\"a\": \"x\0y\"}";
    struct json json;
    struct json_error error;
    cr_assert_not(json_parse(&json, text, sizeof text - 1, &error));
    cr_assert_eq(error.offset, 8);
    cr_assert_not(json_parse(&json, "{}\0", 3, &error));
}

Test(config_json, depth_is_bounded)
{
    char text[4096];
    struct json json;
    struct json_error error;
    memset(text, '[', sizeof text);
    cr_assert_not(json_parse(&json, text, sizeof text, &error));
    cr_assert_eq(error.offset, JSON_DEPTH_MAX);
    memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    cr_assert(json_parse(&json, text, 2 * JSON_DEPTH_MAX, &error));
    json_free(&json);
}

Test(config_json, the_number_of_values_is_bounded)
{
    size_t bytes = 2 * (size_t)JSON_VALUES_MAX + 3;
    char *text = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) {
        text[i] = i % 2 == 0 ? ',' : '1';
    }
    text[0] = '[';
    text[bytes - 1] = ']';
    struct json json;
    struct json_error error;
    cr_assert_not(json_parse(&json, text, bytes, &error));
    cr_assert_not_null(strstr(error.what, "1000000 values"));
    free(text);
}

static struct json parse(const char *text)
{
    struct json json;
    struct json_error error;
    cr_assert(json_parse(&json, text, strlen(text), &error), "%s: %s", text, error.what);
    return json;
}

Test(config_json, what_is_json_is_accepted_and_read_whole)
{
    struct json json = parse(" {\"a\":[],\"\xc3\xa4\":{\"b\":\"\\ud83d\\ude00\\n\"},"
                             "\"c\":-0.5e+3,\"d\":true,\"e\":null}\r\n\t ");
    double number;
    cr_assert_str_eq(json_member(json_member(json.root, "\xc3\xa4"), "b")->valuestring,
                     "\xf0\x9f\x98\x80\n");
    cr_assert_eq(json_read_double(&json, json_member(json.root, "c"), &number), JSON_NUMBER_OK);
    cr_assert_eq(number, -500.0);
    cr_assert_null(json_member(json.root, "A"), "keys are not looked up without case");
    json_free(&json);
}

Test(config_json, integers_are_never_rounded)
{
    static const struct {
        const char *text;
        enum json_number as_i64, as_u64;
        uint64_t value;
    } cases[] = {
        {"4294967296", JSON_NUMBER_OK, JSON_NUMBER_OK, 4294967296U},
        {"9007199254740993", JSON_NUMBER_OK, JSON_NUMBER_OK, 9007199254740993U},
        {"9223372036854775808", JSON_NUMBER_TOO_BIG, JSON_NUMBER_OK, 9223372036854775808U},
        {"18446744073709551615", JSON_NUMBER_TOO_BIG, JSON_NUMBER_OK, UINT64_MAX},
        {"18446744073709551616", JSON_NUMBER_TOO_BIG, JSON_NUMBER_TOO_BIG, 0},
        {"70000.5", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
        {"1.0", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
        {"1e3", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
        {"\"18446744073709551615\"", JSON_NUMBER_NONE, JSON_NUMBER_OK, UINT64_MAX},
        {"\"007\"", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
        {"\"\"", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
        {"\"12x\"", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
        {"-1", JSON_NUMBER_OK, JSON_NUMBER_NONE, UINT64_MAX},
        {"true", JSON_NUMBER_NONE, JSON_NUMBER_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json json = parse(cases[i].text);
        int64_t signed_value;
        uint64_t value;
        cr_expect_eq(json_read_i64(&json, json.root, &signed_value), cases[i].as_i64, "%s",
                     cases[i].text);
        cr_expect_eq(json_read_u64(&json, json.root, &value), cases[i].as_u64, "%s", cases[i].text);
        if (cases[i].as_u64 == JSON_NUMBER_OK) {
            cr_expect_eq(value, cases[i].value, "%s", cases[i].text);
        }
        json_free(&json);
    }
}

Test(config_json, numbers_beyond_a_double_are_refused)
{
    struct json json = parse("[1e999, -1e999, 1e308]");
    double number;
    cr_assert_eq(json_read_double(&json, json.root->child, &number), JSON_NUMBER_TOO_BIG);
    cr_assert_eq(json_read_double(&json, json.root->child->next, &number), JSON_NUMBER_TOO_BIG);
    cr_assert_eq(json_read_double(&json, json.root->child->next->next, &number), JSON_NUMBER_OK);
    json_free(&json);
}

Test(config_json, the_tree_and_the_marks_agree)
{
    struct json json = parse("{\"a\": [1, {\"b\": 22}], \"c\": \"x\"}");
    const cJSON *b = json_member(json_member(json.root, "a")->child->next, "b");
    const struct json_mark *mark = json_mark_of(&json, b);
    cr_assert_eq(memcmp(json.text + mark->value, "22", 2), 0);
    cr_assert_eq(mark->end - mark->value, 2);
    cr_assert_eq(json.text[mark->key], '"');
    char path[JSON_PATH_BYTES];
    json_path(&json, mark->value, path);
    cr_assert_str_eq(path, "a[1].b");
    json_free(&json);
}

Test(config_json, the_tree_lives_in_counted_memory)
{
    uint64_t before = arb_mem_count();
    struct json json = parse("{\"a\": [1, 2, 3]}");
    cr_assert_geq(arb_mem_count() - before, 6); /* marks, five nodes */
    json_free(&json);
}

Test(config_json, quoting_never_breaks_a_line_or_a_character)
{
    char out[64];
    json_quote(out, sizeof out, "a\nb\"\xc3\xa4\xff", 40);
    cr_assert_str_eq(out, "\"a\\u000ab\\\"\xc3\xa4\\xff\"");
    json_quote(out, sizeof out, "\xc3\xa4\xc3\xa4\xc3\xa4", 3);
    cr_assert_str_eq(out, "\"\xc3\xa4\xc3\xa4...\"");
    char small[24];
    json_quote(small, sizeof small, "a long text that does not fit", 100);
    cr_assert_lt(strlen(small), sizeof small);
}
