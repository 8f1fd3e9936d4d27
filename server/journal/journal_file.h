/* An open file as the source of a reader. Owns no descriptor and moves no place in it: whoever has
 * opened the file closes it, after the reader. Called by arbiterd before a resumed match and by
 * arbiter-replay (JOURNAL.md).
 */
#ifndef JOURNAL_FILE_H
#define JOURNAL_FILE_H

#include "server/journal/journal.h"

struct journal_file {
    int fd;
    uint64_t limit; /* bytes from there on are as if they were not there; UINT64_MAX: none are */
};

/* The file outlives the reader, and stays where it is; its limit may change between two reads. A
 * read that fails is one that found the file's end. */
struct journal_source journal_file_source(struct journal_file *file);

#endif
