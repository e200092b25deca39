/* registry.h: the models as data, for `gdsim list models` and models/README.md. */
#ifndef GDSIM_MODELS_REGISTRY_H
#define GDSIM_MODELS_REGISTRY_H

#include <stddef.h>

struct model {
    const char *name;     /* the file in models/, without suffix */
    const char *summary;  /* what question it answers */
    const char *equation; /* in the symbols of its header */
    const char *source;
};

extern const struct model model_registry[];
extern const size_t model_registry_count;

#endif
