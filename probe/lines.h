/* lines.h: whole lines of a stream that comes in pieces. */
#ifndef GDPROBE_LINES_H
#define GDPROBE_LINES_H

#include <stddef.h>

struct lines {
    char line[2048]; /* the one that is not complete yet; longer ones are cut */
    size_t filled;
};

/* Take a piece, cut anywhere, and hand on each line that it completes, without its end. */
void lines_feed(struct lines *lines, const char *data, size_t length,
                void (*take)(void *context, const char *line), void *context);
/* Hand on what is left at the end of the stream. */
void lines_end(struct lines *lines, void (*take)(void *context, const char *line), void *context);

#endif
