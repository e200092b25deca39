/* size.c: see size.h. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/size.h"

static const struct {
    const char *name;
    double bytes;
} units[] = {{"KiB", 1024},
             {"MiB", 1048576},
             {"GiB", 1073741824},
             {"TiB", 1099511627776.0},
             {"kB", 1e3},
             {"KB", 1e3},
             {"MB", 1e6},
             {"GB", 1e9},
             {"TB", 1e12},
             {"K", 1024},
             {"M", 1048576},
             {"G", 1073741824},
             {"T", 1099511627776.0},
             {"B", 1}};

const char *size_parse(const char *text, double *ret_bytes)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || !isfinite(number) || number < 0)
        return NULL;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(end, units[i].name, length) == 0 && !isalpha((unsigned char)end[length])) {
            number *= units[i].bytes;
            end += length;
            break;
        }
    }
    if (*end && *end != ',')
        return NULL;
    *ret_bytes = number;
    return end;
}

bool size_list(const char *text, double *sizes, size_t most, size_t *ret_count)
{
    size_t count = 0;
    while (count < most) {
        text = size_parse(text, &sizes[count]);
        if (!text)
            return false;
        count++;
        if (!*text) {
            *ret_count = count;
            return true;
        }
        text++;
    }
    return false;
}

const char *size_text(double bytes, char *buffer, size_t size)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, size, "%.4g %s", bytes, names[unit]);
    return buffer;
}
