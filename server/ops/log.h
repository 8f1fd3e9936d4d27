/* The log of the process: JSON lines on stderr, or a plain form for terminals (spec/operations.md
 * "Logs"). One per process. Each event may come OPS_LOG_PER_SECOND times a second; what is beyond
 * is counted and told with the next line of that event. Never blocks: a line that the reader has no
 * room for is dropped and counted. Secrets never come here: that is the callers' duty. Thread: the
 * tick thread.
 */
#ifndef OPS_LOG_H
#define OPS_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As the choices of log.level and log.format. */
enum ops_level { OPS_ERROR, OPS_WARN, OPS_INFO, OPS_DEBUG };
enum ops_log_format { OPS_LOG_AUTO, OPS_LOG_JSON, OPS_LOG_PLAIN };

enum { OPS_LOG_PER_SECOND = 20, OPS_LOG_LINE_BYTES = 4096 /* a pipe takes so much whole */ };

struct ops_log_options {
    int fd; /* not owned */
    enum ops_level level;
    enum ops_log_format format; /* AUTO: plain when fd is a terminal */
    uint64_t (*wall_ns)(void);  /* since 1970; NULL: the machine's clock. Only stamps lines */
};

/* One key and value of a line; made by the macros below. */
struct ops_field {
    const char *key;
    enum { OPS_FIELD_TEXT, OPS_FIELD_SIGNED, OPS_FIELD_UNSIGNED, OPS_FIELD_NUMBER } type;
    union {
        const char *text;
        int64_t i;
        uint64_t u;
        double number;
    };
};

#define OPS_TEXT(name, value)                                                                      \
    ((struct ops_field){.key = (name), .type = OPS_FIELD_TEXT, .text = (value)})
#define OPS_INT(name, value)                                                                       \
    ((struct ops_field){.key = (name), .type = OPS_FIELD_SIGNED, .i = (value)})
#define OPS_UINT(name, value)                                                                      \
    ((struct ops_field){.key = (name), .type = OPS_FIELD_UNSIGNED, .u = (value)})
/* Three decimals. */
#define OPS_NUMBER(name, value)                                                                    \
    ((struct ops_field){.key = (name), .type = OPS_FIELD_NUMBER, .number = (value)})

/* Before it, lines go to stderr with level info. */
void ops_log_open(const struct ops_log_options *options);

/* One line. `event` is a string constant: lower case, words joined by underscores. */
void ops_log_fields(enum ops_level level, const char *event, const struct ops_field *fields,
                    size_t count);

/* ops_log(OPS_INFO, "ready", OPS_UINT("port", 7777), ...): at least one field. */
#define ops_log(level, event, ...)                                                                 \
    ops_log_fields(level, event, (const struct ops_field[]){__VA_ARGS__},                          \
                   sizeof((const struct ops_field[]){__VA_ARGS__}) / sizeof(struct ops_field))

/* Lines lost because the reader had no room. */
uint64_t ops_log_dropped(void);

#endif
