/* xml.h: the part of reading XML that is the same for every kind of file: expat as a stream, places
 * for messages, and no DOCTYPE, hence no entities of the file's own. */
#ifndef GDSIM_LOAD_XML_H
#define GDSIM_LOAD_XML_H

#include <expat.h>

#include "sim/load/diag.h"

/* First member of what a reader hands to its handlers. The caller fills file and diag. */
struct xml {
    XML_Parser parser;
    const char *file;
    struct diag_list *diag;
    bool stopped;
};

struct xml_handlers {
    XML_StartElementHandler open;
    XML_EndElementHandler close;
    XML_CharacterDataHandler text; /* may be NULL */
};

/* Where the parser is. */
struct mark xml_here(const struct xml *xml);

/* Stop parsing with a message; the first one counts. */
void xml_stop(struct xml *xml, const char *hint, const char *message);

/* NULL without it. */
const char *xml_attribute(const XML_Char **attributes, const char *name);

/* Read the whole text, at most INT_MAX bytes. What is wrong goes to diag; STATUS_NOMEM only. */
enum status xml_read(struct xml *xml, const struct xml_handlers *handlers, const char *text,
                     size_t length);

#endif
