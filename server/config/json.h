/* Strict JSON with places: a scanner of ours decides what is JSON (RFC 8259, nothing more) and
 * notes where each value stands; cJSON builds the tree; integers are read from the text, so none is
 * rounded. cJSON alone accepts text after the end, `01`, raw newlines, 1e999, keys twice
 * (spec/operations.md, "Strict JSON"). For this folder and the tools that read files. Errors: false
 * and a json_error; nothing is left allocated then.
 */
#ifndef CONFIG_JSON_H
#define CONFIG_JSON_H

#include <cjson/cJSON.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JSON_DEPTH_MAX = 64,        /* arrays and objects inside each other */
    JSON_NUMBER_BYTES_MAX = 60, /* cJSON reads 63 */
    JSON_VALUES_MAX = 1000000,  /* bounds the memory of the tree */
    JSON_PATH_BYTES = 160,      /* longer paths are cut */
    JSON_WHAT_BYTES = 160,
};

/* Offsets of bytes in the text. */
struct json_mark {
    uint32_t key;   /* opening quote of the member's key; outside of an object: == value */
    uint32_t value; /* first byte */
    uint32_t end;   /* behind the last byte */
};

struct json {
    const char *text; /* caller's, outlives this */
    size_t bytes;
    struct json_mark *marks; /* of every value, parents first, in order of the text */
    size_t mark_count;
    cJSON *root; /* each node's valueint is the index of its mark */
};

struct json_error {
    size_t offset;
    char path[JSON_PATH_BYTES]; /* "match.teams", "layers[0].x", "" for the whole */
    char what[JSON_WHAT_BYTES];
};

struct json_place {
    uint32_t line, column; /* from 1; columns count characters, not bytes */
};

/* Checks `bytes` bytes of text and builds the tree; keys that occur twice are refused. */
bool json_parse(struct json *json, const char *text, size_t bytes, struct json_error *error);
void json_free(struct json *json);

/* Path of the value whose first byte is at `offset`. */
void json_path(const struct json *json, size_t offset, char path[JSON_PATH_BYTES]);
struct json_place json_place(const char *text, size_t offset);

const struct json_mark *json_mark_of(const struct json *json, const cJSON *node);

/* The member of exactly that name, or NULL. */
const cJSON *json_member(const cJSON *object, const char *name);

enum json_number {
    JSON_NUMBER_OK,
    JSON_NUMBER_NONE,    /* no number; for integers: has a fraction or an exponent */
    JSON_NUMBER_TOO_BIG, /* does not fit the type */
};

enum json_number json_read_i64(const struct json *json, const cJSON *node, int64_t *out);
/* Also from a string of decimal digits without leading zeros. */
enum json_number json_read_u64(const struct json *json, const cJSON *node, uint64_t *out);
/* Finite. */
enum json_number json_read_double(const struct json *json, const cJSON *node, double *out);

/* `text` as JSON string with quotes, cut to about `keep` bytes and always terminated; for messages.
 * Bytes that are not UTF-8 are shown as escapes. */
void json_quote(char *out, size_t out_bytes, const char *text, size_t keep);

#endif
