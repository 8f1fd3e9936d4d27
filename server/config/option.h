/* One row per option: path, type, bounds, default, place in a plain struct, and what it means.
 * Parser, checker,
 * --print-config, --schema and the documents all read these rows. A leaf header: a game mode
 * (server/rules) brings rows of its own section.
 */
#ifndef OPTION_H
#define OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
    OPTION_BOOL,   /* bool */
    OPTION_INT,    /* int32_t, low..high inclusive; JSON integer (1.0 and 1e0 are refused) */
    OPTION_NUMBER, /* float, low..high inclusive, finite */
    OPTION_STRING, /* char[size], UTF-8 without NUL, at most size - 1 bytes */
    OPTION_CHOICE, /* int32_t: index into choices */
    OPTION_MODE,   /* char[size]: name of one of the modes handed to config_load; default: the first
                      of them */
    OPTION_SEED, /* struct option_seed: an integer, or a decimal string; 64 bits kept; null: unset;
                    low..high where high is not 0 */
    OPTION_LIST, /* array of objects, each with the rows in `items` */
};

struct option_seed {
    uint64_t value;
    uint64_t set; /* 0: not given */
};

struct option {
    const char *path; /* "match.tick_rate"; in a list's items relative to the item: "damage" */
    uint8_t type;     /* enum option_type */
    uint32_t offset;  /* of the member in the section's struct (in a list's items: in the item) */
    uint32_t size;    /* of the member in bytes; LIST: of the whole array */
    double low, high; /* INT, NUMBER; LIST: fewest and most items */
    const char *fallback; /* default as JSON text: 60, 1.5, true, "name", null; LIST: an array; NULL
                             in a list's items: must be given */
    const char *choices;  /* CHOICE: "claimed|round_trip" */
    const char *unit;     /* "Hz", "m", "ms", ... or "" */
    const char *doc;      /* meaning, effect and trade-off in one or two sentences */
    bool reload; /* a number that may change while the match runs (BOOL, INT, NUMBER, CHOICE): only
                    the server's ticks read it, and nothing was sized or told by it */
    const struct option *items; /* LIST */
    size_t item_count;          /* rows in items */
    uint32_t item_bytes;        /* size of one item */
    uint32_t count_offset;      /* LIST: int32_t that gets the number of items */
};

#define OPTION_AT(type, member)                                                                    \
    (uint32_t) offsetof(type, member), (uint32_t)sizeof(((type *)0)->member)

#endif
