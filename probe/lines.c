/* lines.c: see lines.h. */
#include "probe/lines.h"

void lines_end(struct lines *lines, void (*take)(void *context, const char *line), void *context)
{
    if (lines->filled == 0)
        return;
    lines->line[lines->filled] = '\0';
    lines->filled = 0;
    take(context, lines->line);
}

void lines_feed(struct lines *lines, const char *data, size_t length,
                void (*take)(void *context, const char *line), void *context)
{
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '\n')
            lines_end(lines, take, context);
        else if (lines->filled < sizeof lines->line - 1)
            lines->line[lines->filled++] = data[i] ? data[i] : ' ';
    }
}
