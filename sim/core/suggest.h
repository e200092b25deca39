/* suggest.h: "did you mean". */
#ifndef GDSIM_CORE_SUGGEST_H
#define GDSIM_CORE_SUGGEST_H

#include <stddef.h>

/* The candidate that `word` is most likely a slip of, or NULL. A NULL candidate is skipped. */
const char *suggest_word(const char *word, const char *const *candidates, size_t count);

#endif
