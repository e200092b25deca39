/* help_script.h: what the tests of scripts share: a script of 6 ranks on nodes of 2, root 1. */
#ifndef GDSIM_TESTS_HELP_SCRIPT_H
#define GDSIM_TESTS_HELP_SCRIPT_H

#include "sim/script/script.h"

/* What `print` printed, line by line. */
struct script_printed {
    char text[4096];
    size_t lines;
};

/* `printed` may be NULL: then there is no print. */
enum status script_run_bytes(const char *text, size_t length, struct plan *plan,
                             struct script_printed *printed, struct error *error);
enum status script_run(const char *text, struct plan *plan, struct script_printed *printed,
                       struct error *error);

/* The body of plan(p), standing on lines 2 and following. */
void script_wrap(const char *body, char *text, size_t size);

/* The script (or that of the body) is refused, with the words in its message, at the line. */
void script_refused_text(const char *text, unsigned line, const char *words);
void script_refused(const char *body, unsigned line, const char *words);

/* What the body prints; it is followed by a send, so that the plan is not empty. */
void script_prints(const char *body, const char *expected);

#endif
