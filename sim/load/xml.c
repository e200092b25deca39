/* xml.c: see xml.h. */
#include "sim/load/xml.h"

#include <string.h>

struct mark xml_here(const struct xml *xml)
{
    return (struct mark){xml->file, (uint32_t)XML_GetCurrentLineNumber(xml->parser),
                         (uint32_t)XML_GetCurrentColumnNumber(xml->parser) + 1};
}

void xml_stop(struct xml *xml, const char *hint, const char *message)
{
    if (!xml->stopped)
        diag_add(xml->diag, xml_here(xml), hint, "%s", message);
    xml->stopped = true;
    XML_StopParser(xml->parser, XML_FALSE);
}

const char *xml_attribute(const XML_Char **attributes, const char *name)
{
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

static void XMLCALL open_doctype(void *data, const XML_Char *name, const XML_Char *system_id,
                                 const XML_Char *public_id, int internal)
{
    (void)name, (void)system_id, (void)public_id, (void)internal;
    xml_stop(data, "NCCL writes none: remove it",
             "a DOCTYPE is refused, for the entities that it could declare");
}

enum status xml_read(struct xml *xml, const struct xml_handlers *handlers, const char *text,
                     size_t length)
{
    xml->parser = XML_ParserCreate(NULL);
    if (!xml->parser)
        return STATUS_NOMEM;
    XML_SetUserData(xml->parser, xml);
    XML_SetElementHandler(xml->parser, handlers->open, handlers->close);
    XML_SetCharacterDataHandler(xml->parser, handlers->text);
    XML_SetStartDoctypeDeclHandler(xml->parser, open_doctype);
    if (XML_Parse(xml->parser, text, (int)length, 1) == XML_STATUS_ERROR && !xml->stopped) {
        enum XML_Error code = XML_GetErrorCode(xml->parser);
        diag_add(xml->diag, xml_here(xml),
                 code == XML_ERROR_NO_ELEMENTS || code == XML_ERROR_UNCLOSED_TOKEN
                     ? "was the file cut off?"
                     : NULL,
                 "broken XML: %s", XML_ErrorString(code));
    }
    XML_ParserFree(xml->parser);
    xml->parser = NULL;
    return STATUS_OK;
}
