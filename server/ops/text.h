/* JSON written into a fixed buffer: the lines of the log and of the result file. Text that is not
 * UTF-8 comes out as U+FFFD, so what is written is always JSON.
 */
#ifndef OPS_TEXT_H
#define OPS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ops_text {
    char *bytes;     /* caller's; always NUL-terminated */
    size_t capacity; /* with the NUL */
    size_t size;     /* without it */
    bool full;       /* something did not fit; nothing was added from then on */
};

void ops_text_begin(struct ops_text *text, char *bytes, size_t capacity);

/* As printf. */
void ops_text_print(struct ops_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A JSON string with its quotes. */
void ops_text_string(struct ops_text *text, const char *string);

/* Goes back to an earlier size, also after something did not fit. */
void ops_text_undo(struct ops_text *text, size_t size);

#endif
