/* diag.h: the mistakes found in an input, all of them, with their places.
 *
 * A user who made five mistakes wants to read five messages, so the readers of sim/load add to a
 * list and go on where they can. The list also keeps the texts that the marks point into, so that
 * diag_render() can quote the line and put a caret under the column.
 *
 * Ownership: the list owns everything, including the file names that marks point to. So it must
 * outlive every mark and every tree that was read with it.
 */
#ifndef GDSIM_LOAD_DIAG_H
#define GDSIM_LOAD_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

enum { DIAG_MAX = 50 }; /* beyond these, mistakes are only counted */

struct mark {
    const char *file; /* interned, see diag_intern(); NULL: no file */
    uint32_t line;    /* 1-based; 0: the whole file */
    uint32_t column;  /* 1-based, in characters */
};

struct diag {
    struct mark mark;
    char *message;
    char *hint; /* NULL: none */
};

/* Read the fields through the functions below. */
struct diag_list {
    struct diag items[DIAG_MAX];
    size_t stored;
    size_t total;
    struct diag_source *sources;
    size_t source_count;
    bool nomem; /* a message was lost for want of memory */
};

void diag_init(struct diag_list *list);
void diag_free(struct diag_list *list);

/* The list's own copy of a file name; NULL without memory. */
const char *diag_intern(struct diag_list *list, const char *name);

/* Register the text of a file, so that its lines can be quoted. A second text of the same name
 * replaces the first. Returns the interned name; NULL without memory. */
const char *diag_add_source(struct diag_list *list, const char *name, const char *text,
                            size_t length);

/* Add a mistake. Always returns a failure: STATUS_INPUT, or STATUS_NOMEM when the message could
 * not be kept (it is counted all the same). `hint` may be NULL. */
enum status diag_add(struct diag_list *list, struct mark mark, const char *hint, const char *format,
                     ...) PRINTF_LIKE(4, 5);

/* The same from an error that a parser of single values has filled. */
enum status diag_add_error(struct diag_list *list, struct mark mark, const struct error *error);

size_t diag_count(const struct diag_list *list);                         /* all of them */
const struct diag *diag_get(const struct diag_list *list, size_t index); /* NULL: not kept */

/* All mistakes as text for a terminal; the caller frees *ret_text. Control characters of the
 * input come out as '?'. */
enum status diag_render(const struct diag_list *list, char **ret_text);

/* Bytes of the line end at `s`, of which `left` > 0 bytes are there; 0: none stands there. These
 * are the line ends that libyaml counts: CR LF, LF, CR and Unicode's NEL, LS and PS. */
size_t diag_line_end(const char *s, size_t left);

#endif
