/* Reading files of numbers, strictly: a line that is not understood is told with its place. */
#include "tools/net/trace.h"

#include "shared/base/arb_mem.h"

#include <string.h>

enum {
    COLUMNS_MAX = 3,
    SINGLE_ROW_MS = 1000, /* period of a table of one row: any would do */
    MILLI = 1000,
};

/* ---- lines of numbers ---- */

struct reader {
    const char *file;
    const char *at, *line_begin, *end;
    size_t line;
    struct profile_error *error;
};

static bool fail_here(const struct reader *reader, const char *what)
{
    return profile_fail(reader->error, reader->file, reader->line,
                        (size_t)(reader->at - reader->line_begin) + 1, "%s", what);
}

static void skip_blanks(struct reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' ||
            (*reader->at == '\r' && reader->at + 1 < reader->end && reader->at[1] == '\n'))) {
        reader->at++;
    }
}

static bool at_line_end(const struct reader *reader)
{
    return reader->at == reader->end || *reader->at == '\n' || *reader->at == '#';
}

static void next_line(struct reader *reader)
{
    const char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->at = newline == NULL ? reader->end : newline + 1;
    reader->line_begin = reader->at;
    reader->line++;
}

static bool is_digit(const struct reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

/* A decimal number of at most `most`, in thousandths; further places are cut. */
static bool read_milli(struct reader *reader, uint64_t most, uint64_t *out)
{
    const char *begin = reader->at;
    uint64_t whole = 0, part = 0, place = 100;
    if (!is_digit(reader)) return fail_here(reader, "a number is wanted here");
    for (; is_digit(reader); reader->at++) {
        whole = whole * 10 + (uint64_t)(*reader->at - '0');
        if (whole > most) {
            reader->at = begin;
            return fail_here(reader, "the number is too large");
        }
    }
    if (reader->at < reader->end && *reader->at == '.') {
        reader->at++;
        if (!is_digit(reader)) return fail_here(reader, "a digit is wanted here");
        for (; is_digit(reader); reader->at++, place /= 10) {
            part += place * (uint64_t)(*reader->at - '0');
        }
    }
    *out = whole * MILLI + part;
    skip_blanks(reader);
    return true;
}

/* Goes to the next line that holds anything; false at the end. */
static bool find_line(struct reader *reader)
{
    for (; reader->at < reader->end; next_line(reader)) {
        skip_blanks(reader);
        if (!at_line_end(reader)) return true;
    }
    return false;
}

static bool skip_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) {
        return false;
    }
    reader->at += length;
    skip_blanks(reader);
    return true;
}

/* A table may name its columns. */
static void skip_header(struct reader *reader)
{
    struct reader before = *reader;
    if (skip_word(reader, "time_ms") && skip_word(reader, "delay_ms") &&
        skip_word(reader, "lost") && at_line_end(reader)) {
        next_line(reader);
    } else {
        *reader = before;
    }
}

/* ---- traces ---- */

static size_t count_lines(const char *text, size_t bytes)
{
    size_t lines = 1;
    for (size_t i = 0; i < bytes; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

static size_t count_columns(struct reader reader)
{
    uint64_t value;
    struct profile_error ignored;
    reader.error = &ignored;
    size_t columns = 0;
    while (!at_line_end(&reader) && read_milli(&reader, UINT32_MAX, &value)) {
        columns++;
    }
    return columns;
}

static bool read_time(struct reader *reader, struct trace *trace)
{
    const char *begin = reader->at;
    uint64_t time_milli;
    if (!read_milli(reader, TRACE_TIME_MAX_MS, &time_milli)) return false;
    uint32_t time_ms = (uint32_t)(time_milli / MILLI);
    uint32_t count = trace->link.count;
    if (count > 0 && time_ms < trace->time_ms[count - 1]) {
        reader->at = begin;
        return fail_here(reader, "the times go back here");
    }
    trace->time_ms[count] = time_ms;
    return true;
}

static bool read_row(struct reader *reader, struct trace *trace)
{
    uint64_t delay_us, lost;
    uint32_t row = trace->link.count;
    if (!read_milli(reader, ARB_LINK_TIME_MAX_US / MILLI, &delay_us)) return false;
    if (delay_us > ARB_LINK_TIME_MAX_US) return fail_here(reader, "the delay is too long");
    const char *begin = reader->at;
    if (!read_milli(reader, 1, &lost)) return false;
    if (lost != 0 && lost != MILLI) {
        reader->at = begin;
        return fail_here(reader, "lost is 0 or 1");
    }
    trace->delay_us[row] = (uint32_t)delay_us;
    trace->lost[row] = lost != 0;
    return true;
}

static bool read_lines(struct reader *reader, struct trace *trace, bool is_table)
{
    while (find_line(reader)) {
        if (!read_time(reader, trace)) return false;
        if (is_table && !read_row(reader, trace)) return false;
        if (!at_line_end(reader)) {
            return fail_here(reader, is_table ? "a line holds time_ms, delay_ms and lost"
                                              : "a line holds one time in ms");
        }
        trace->link.count++;
        next_line(reader);
    }
    return true;
}

/* Times count from the first row; the last row lasts as long as the one before it. */
static void finish_table(struct trace *trace)
{
    uint32_t count = trace->link.count, first = trace->time_ms[0];
    for (uint32_t i = 0; i < count; i++) {
        trace->time_ms[i] -= first;
    }
    uint32_t last = trace->time_ms[count - 1];
    uint32_t gap = count > 1 ? last - trace->time_ms[count - 2] : SINGLE_ROW_MS;
    trace->link.period_ms = last + (gap > 0 ? gap : 1);
}

static bool finish(struct trace *trace, const char *path, bool is_table,
                   struct profile_error *error)
{
    if (is_table) {
        finish_table(trace);
    } else {
        trace->link.period_ms = trace->time_ms[trace->link.count - 1];
        if (trace->link.period_ms == 0) {
            return profile_fail(error, path, 0, 0, "its last time is 0: it cannot repeat");
        }
    }
    trace->link.time_ms = trace->time_ms;
    trace->link.delay_us = trace->delay_us;
    trace->link.lost = trace->lost;
    return true;
}

static bool read_trace(struct reader *reader, size_t lines, struct trace *trace)
{
    if (!find_line(reader)) {
        return profile_fail(reader->error, reader->file, 0, 0, "holds no times");
    }
    skip_header(reader);
    if (!find_line(reader)) {
        return profile_fail(reader->error, reader->file, 0, 0, "holds no times");
    }
    bool is_table = count_columns(*reader) == COLUMNS_MAX;
    trace->time_ms = arb_mem_alloc(lines * sizeof *trace->time_ms);
    if (is_table) {
        trace->delay_us = arb_mem_alloc(lines * sizeof *trace->delay_us);
        trace->lost = arb_mem_alloc(lines);
    }
    return read_lines(reader, trace, is_table) &&
           finish(trace, reader->file, is_table, reader->error);
}

bool trace_read(const char *path, struct trace *trace, struct profile_error *error)
{
    char *text;
    size_t bytes;
    *trace = (struct trace){0};
    if (!profile_read_file(path, TRACE_FILE_BYTES_MAX, &text, &bytes, error)) return false;
    struct reader reader = {path, text, text, text + bytes, 1, error};
    bool good = read_trace(&reader, count_lines(text, bytes), trace);
    arb_mem_free(text);
    if (!good) trace_free(trace);
    return good;
}

void trace_free(struct trace *trace)
{
    arb_mem_free(trace->time_ms);
    arb_mem_free(trace->delay_us);
    arb_mem_free(trace->lost);
    *trace = (struct trace){0};
}

/* ---- delay distributions ---- */

static bool read_value(struct reader *reader, int16_t *value)
{
    const char *begin = reader->at;
    bool is_negative = reader->at < reader->end && *reader->at == '-';
    uint64_t milli;
    reader->at += is_negative;
    if (!read_milli(reader, INT16_MAX, &milli)) return false;
    if (milli % MILLI != 0) {
        reader->at = begin;
        return fail_here(reader, "a whole number is wanted here");
    }
    int whole = (int)(milli / MILLI);
    *value = (int16_t)(is_negative ? -whole : whole);
    return true;
}

static bool read_values(struct reader *reader, struct arb_jitter_table *table)
{
    size_t count = 0;
    while (find_line(reader)) {
        for (; !at_line_end(reader); count++) {
            if (count == ARB_JITTER_VALUES) return fail_here(reader, "there are more than 4,096");
            if (!read_value(reader, &table->value[count])) return false;
        }
        next_line(reader);
    }
    if (count == ARB_JITTER_VALUES) return true;
    return profile_fail(reader->error, reader->file, 0, 0, "holds %zu numbers of 4,096", count);
}

bool trace_read_jitter(const char *path, struct arb_jitter_table *table,
                       struct profile_error *error)
{
    char *text;
    size_t bytes;
    if (!profile_read_file(path, TRACE_FILE_BYTES_MAX, &text, &bytes, error)) return false;
    struct reader reader = {path, text, text, text + bytes, 1, error};
    bool good = read_values(&reader, table);
    arb_mem_free(text);
    return good;
}
