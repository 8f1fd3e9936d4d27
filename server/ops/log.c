#define _GNU_SOURCE
#include "server/ops/log.h"

#include "server/ops/text.h"

#include "shared/base/arb_assert.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

static const uint64_t second_ns = 1000000000U;

/* How often an event came in the current second. */
struct event_rate {
    const char *event;
    uint64_t second;
    uint32_t count, suppressed;
};

static struct {
    struct ops_log_options options;
    bool opened, plain;
    struct event_rate rates[EVENTS_MAX];
    uint32_t rate_count;
    uint64_t dropped;
} logger;

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static uint64_t machine_wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

void ops_log_open(const struct ops_log_options *options)
{
    memset(&logger, 0, sizeof logger);
    logger.options = *options;
    if (logger.options.wall_ns == NULL) logger.options.wall_ns = machine_wall_ns;
    logger.opened = true;
    bool terminal = isatty(options->fd) == 1;
    logger.plain =
        options->format == OPS_LOG_PLAIN || (options->format == OPS_LOG_AUTO && terminal);
}

uint64_t ops_log_dropped(void)
{
    return logger.dropped;
}

/* ---- rate ---- */

static struct event_rate *rate_of(const char *event)
{
    for (uint32_t i = 0; i < logger.rate_count; i++) {
        if (strcmp(logger.rates[i].event, event) == 0) return &logger.rates[i];
    }
    ARB_ASSERT(logger.rate_count < EVENTS_MAX);
    struct event_rate *rate = &logger.rates[logger.rate_count++];
    rate->event = event;
    return rate;
}

/* Whether a line may be written now; *suppressed is how many were not since the last one. Any other
 * second than the last begins anew, so a clock that is set back does no harm. */
static bool may_write(const char *event, uint64_t second, uint32_t *suppressed)
{
    struct event_rate *rate = rate_of(event);
    if (rate->second != second) {
        rate->second = second;
        rate->count = 0;
    }
    if (rate->count == OPS_LOG_PER_SECOND) {
        rate->suppressed++;
        return false;
    }
    rate->count++;
    *suppressed = rate->suppressed;
    rate->suppressed = 0;
    return true;
}

/* ---- one line ---- */

static void print_value(struct ops_text *line, const struct ops_field *field)
{
    switch (field->type) {
    case OPS_FIELD_TEXT:
        ops_text_string(line, field->text);
        break;
    case OPS_FIELD_SIGNED:
        ops_text_print(line, "%lld", (long long)field->i);
        break;
    case OPS_FIELD_UNSIGNED:
        ops_text_print(line, "%llu", (unsigned long long)field->u);
        break;
    case OPS_FIELD_NUMBER:
        ops_text_print(line, "%.3f", field->number);
        break;
    }
}

static void print_head(struct ops_text *line, enum ops_level level, const char *event,
                       uint64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / second_ns);
    unsigned ms = (unsigned)(wall_ns % second_ns / 1000000U);
    struct tm utc;
    char stamp[32];
    gmtime_r(&seconds, &utc);
    if (logger.plain) {
        strftime(stamp, sizeof stamp, "%H:%M:%S", &utc);
        ops_text_print(line, "%s.%03u %-5s %s", stamp, ms, level_names[level], event);
    } else {
        strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
        ops_text_print(line, "{\"ts\":\"%s.%03uZ\",\"level\":\"%s\",\"event\":\"%s\"", stamp, ms,
                       level_names[level], event);
    }
}

static void print_field(struct ops_text *line, const struct ops_field *field)
{
    size_t before = line->size;
    ops_text_print(line, logger.plain ? " %s=" : ",\"%s\":", field->key);
    print_value(line, field);
    /* A value that does not fit is left out whole: the line stays readable. */
    if (line->full) ops_text_undo(line, before);
}

/* A pipe that says it is writable takes a line of this size whole, so this never waits. */
static void write_line(const char *bytes, size_t size)
{
    struct pollfd ready = {.fd = logger.options.fd, .events = POLLOUT};
    if (poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) {
        logger.dropped++;
        return;
    }
    ssize_t written = write(logger.options.fd, bytes, size);
    if (written != (ssize_t)size) logger.dropped++;
}

void ops_log_fields(enum ops_level level, const char *event, const struct ops_field *fields,
                    size_t count)
{
    if (!logger.opened) {
        ops_log_open(&(struct ops_log_options){.fd = STDERR_FILENO, .level = OPS_INFO});
    }
    if (level > logger.options.level) return;
    uint64_t wall_ns = logger.options.wall_ns();
    uint32_t suppressed;
    if (!may_write(event, wall_ns / second_ns, &suppressed)) return;
    char bytes[OPS_LOG_LINE_BYTES];
    struct ops_text line;
    ops_text_begin(&line, bytes, sizeof bytes - 2); /* room for the end */
    print_head(&line, level, event, wall_ns);
    for (size_t i = 0; i < count; i++) {
        print_field(&line, &fields[i]);
    }
    if (suppressed > 0) print_field(&line, &OPS_UINT("suppressed", suppressed));
    line.capacity = sizeof bytes;
    ops_text_print(&line, logger.plain ? "\n" : "}\n");
    write_line(bytes, line.size);
}
