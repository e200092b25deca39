/* status.c: filling struct error. See status.h. */
#include "sim/core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum status error_set(struct error *error, enum status status, const char *format, ...)
{
    if (!error)
        return status;
    memset(error, 0, sizeof *error);
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    return status;
}

enum status error_hint(struct error *error, const char *format, ...)
{
    if (!error)
        return STATUS_INPUT;
    va_list args;
    va_start(args, format);
    vsnprintf(error->hint, sizeof error->hint, format, args);
    va_end(args);
    return error->status;
}
