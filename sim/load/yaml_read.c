/* yaml_read.c: from YAML text to nodes. See yaml_tree.h.
 *
 * Built on libyaml's events: its document interface would accept duplicate keys and cycles.
 */
#include "sim/load/yaml_tree.h"

#include <assert.h>
#include <string.h>

#include <yaml.h>

/* Room for one more element: the array itself, or a copy of twice the size. */
static void *array_grow(struct yaml_tree *tree, void *array, size_t count, size_t size)
{
    if (count > 0 && (count & (count - 1)) != 0)
        return array; /* capacities are powers of two */
    void *larger = yaml_tree_alloc(tree, (count > 0 ? 2 * count : 1) * size);
    if (larger && count > 0)
        memcpy(larger, array, count * size);
    return larger;
}

/* ---- mistakes ------------------------------------------------------------------------------- */
struct reader {
    yaml_parser_t parser;
    struct yaml_tree *tree;
    const struct yaml_source *source;
    struct diag_list *diag;
};

static uint32_t clip(size_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static struct mark mark_make(const struct reader *reader, yaml_mark_t at)
{
    uint32_t shift = at.line == 0 ? reader->source->shift : 0;
    return (struct mark){reader->source->file, clip(at.line + 1), clip(at.column + 1 + shift)};
}

/* Errors of encoding come without a mark, only with an offset in bytes. */
static yaml_mark_t offset_mark(const struct yaml_source *source, size_t offset)
{
    yaml_mark_t mark = {0, 0, 0};
    for (size_t i = 0; i < offset && i < source->length;) {
        size_t step = diag_line_end(source->text + i, source->length - i);
        if (step > 0) {
            mark.line++;
            mark.column = 0;
        } else {
            step = 1;
            mark.column += ((unsigned char)source->text[i] & 0xC0u) != 0x80u;
        }
        i += step;
    }
    return mark;
}

/* Is the line of this error indented with a tab, or does the error stand on one? */
static bool tab_near(const struct yaml_source *source, yaml_mark_t at)
{
    size_t i = 0, line = 0;
    for (; i < source->length && line < at.line; i++)
        line += source->text[i] == '\n';
    for (; i < source->length && (source->text[i] == ' ' || source->text[i] == '\t'); i++) {
        if (source->text[i] == '\t')
            return true;
    }
    return false;
}

static const char *syntax_hint(const struct yaml_source *source, const char *problem,
                               yaml_mark_t at)
{
    if (strstr(problem, "tab") || tab_near(source, at))
        return "YAML is indented with blanks; replace the tab";
    if (strstr(problem, "mapping values are not allowed"))
        return "check the indentation, or quote a text that contains \": \"";
    if (strstr(problem, "cannot start any token") || strstr(problem, "alphabetic or numeric"))
        return "quote a text that starts with a special character";
    return NULL;
}

static enum status syntax_error(struct reader *reader)
{
    const yaml_parser_t *parser = &reader->parser;
    const char *problem = parser->problem ? parser->problem : "not YAML";
    if (parser->error == YAML_MEMORY_ERROR)
        return STATUS_NOMEM;
    if (parser->error == YAML_READER_ERROR) {
        struct mark mark = mark_make(reader, offset_mark(reader->source, parser->problem_offset));
        bool control = strstr(problem, "control") != NULL;
        return diag_add(reader->diag, mark, control ? NULL : "save the file as UTF-8",
                        "%s (0x%02X)", problem, (unsigned)parser->problem_value);
    }
    /* At the end of a text without a last line end, libyaml is already a line further. */
    yaml_mark_t at = parser->problem_mark, end = offset_mark(reader->source, SIZE_MAX);
    if (at.line > end.line)
        at = end;
    struct mark mark = mark_make(reader, at);
    const char *hint = syntax_hint(reader->source, problem, at);
    if (!parser->context)
        return diag_add(reader->diag, mark, hint, "%s", problem);
    struct mark context = mark_make(reader, parser->context_mark);
    return diag_add(reader->diag, mark, hint, "%s (%s that starts at %lu:%lu)", problem,
                    parser->context, (unsigned long)context.line, (unsigned long)context.column);
}

static enum status event_next(struct reader *reader, yaml_event_t *event)
{
    return yaml_parser_parse(&reader->parser, event) ? STATUS_OK : syntax_error(reader);
}

int yaml_control_character(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\n') || c == 0x7F)
            return c;
        if (c == 0xC2 && i + 1 < length && (unsigned char)text[i + 1] < 0xA0)
            return (unsigned char)text[i + 1];
    }
    return -1;
}

/* ---- nodes ---------------------------------------------------------------------------------- */

/* Mistakes that leave the structure readable are added to the list and reading goes on; a status
 * other than OK means that it cannot. */

static void check_anchor_tag(struct reader *reader, struct mark mark, const yaml_char_t *anchor,
                             const yaml_char_t *tag)
{
    if (anchor)
        diag_add(reader->diag, mark, "write the value out at each place",
                 "anchors are not allowed");
    if (tag)
        diag_add(reader->diag, mark, "remove it; quotes make a text", "tags are not allowed");
}

static void check_scalar(struct reader *reader, struct mark mark, const yaml_event_t *event,
                         const char *what)
{
    const char *text = (const char *)event->data.scalar.value;
    int control = yaml_control_character(text, event->data.scalar.length);
    if (control == '\t')
        diag_add(reader->diag, mark, "use blanks", "tab in %s", what);
    else if (control >= 0)
        diag_add(reader->diag, mark, NULL, "control character 0x%02X in %s", (unsigned)control,
                 what);
    /* A lone "!" leaves no tag behind, only that the plain text may not be taken as plain. */
    bool bare_tag = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                    !event->data.scalar.plain_implicit && !event->data.scalar.tag;
    check_anchor_tag(reader, mark, event->data.scalar.anchor,
                     bare_tag ? (const yaml_char_t *)"!" : event->data.scalar.tag);
}

static enum status read_node(struct reader *reader, yaml_event_t *event, unsigned depth,
                             struct yaml_node **ret_node);

static enum status read_list(struct reader *reader, struct yaml_node *node, unsigned depth)
{
    for (;;) {
        yaml_event_t event;
        enum status status = event_next(reader, &event);
        if (status != STATUS_OK)
            return status;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return STATUS_OK;
        }
        struct yaml_node *item;
        status = read_node(reader, &event, depth, &item);
        if (status != STATUS_OK)
            return status;
        node->items = array_grow(reader->tree, node->items, node->count, sizeof *node->items);
        if (!node->items)
            return STATUS_NOMEM;
        node->items[node->count++] = item;
    }
}

/* Read a key; *ret_key stays NULL when it is no good. Takes the event. */
static enum status read_key(struct reader *reader, yaml_event_t *event, const struct yaml_node *map,
                            unsigned depth, char **ret_key)
{
    struct mark mark = mark_make(reader, event->start_mark);
    if (event->type != YAML_SCALAR_EVENT) {
        struct yaml_node *ignored;
        if (event->type != YAML_ALIAS_EVENT)
            diag_add(reader->diag, mark, NULL, "a key must be a text, not a map or list");
        return read_node(reader, event, depth, &ignored);
    }

    enum status status = STATUS_OK;
    const char *key = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    check_scalar(reader, mark, event, "a key");
    struct yaml_entry *first = yaml_map_entry(map, key);
    if (length == 0) {
        diag_add(reader->diag, mark, NULL, "a key is missing");
    } else if (plain && strcmp(key, "<<") == 0) {
        diag_add(reader->diag, mark, "write the value out at each place",
                 "merge keys are not allowed");
    } else if (strlen(key) != length || strchr(key, '\n')) {
        if (strlen(key) == length) /* else the NUL has been reported */
            diag_add(reader->diag, mark, NULL, "line end in a key");
    } else if (first) {
        diag_add(reader->diag, mark, NULL, "duplicate key \"%s\", first at %lu:%lu", key,
                 (unsigned long)first->key_mark.line, (unsigned long)first->key_mark.column);
    } else {
        *ret_key = yaml_tree_copy(reader->tree, key, length);
        status = *ret_key ? STATUS_OK : STATUS_NOMEM;
    }
    yaml_event_delete(event);
    return status;
}

static enum status read_map(struct reader *reader, struct yaml_node *node, unsigned depth)
{
    for (;;) {
        yaml_event_t event;
        enum status status = event_next(reader, &event);
        if (status != STATUS_OK)
            return status;
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            return STATUS_OK;
        }
        struct yaml_entry entry = {.key_mark = mark_make(reader, event.start_mark)};
        status = read_key(reader, &event, node, depth, &entry.key);
        if (status == STATUS_OK)
            status = event_next(reader, &event);
        if (status == STATUS_OK)
            status = read_node(reader, &event, depth, &entry.value);
        if (status != STATUS_OK)
            return status;
        if (!entry.key)
            continue;
        if (node->count == YAML_TREE_KEYS)
            return diag_add(reader->diag, entry.key_mark, NULL, "more than %d keys in one map",
                            YAML_TREE_KEYS);
        node->entries = array_grow(reader->tree, node->entries, node->count, sizeof entry);
        if (!node->entries)
            return STATUS_NOMEM;
        node->entries[node->count++] = entry;
    }
}

/* Read the node that starts with `event`, which is taken. */
static enum status read_node(struct reader *reader, yaml_event_t *event, unsigned depth,
                             struct yaml_node **ret_node)
{
    struct mark mark = mark_make(reader, event->start_mark);
    struct yaml_node *node = yaml_tree_alloc(reader->tree, sizeof *node);
    enum status status = node ? STATUS_OK : STATUS_NOMEM;
    bool block = false;
    if (!node)
        goto done;
    node->mark = mark;
    node->origin_note = reader->source->note;

    switch (event->type) {
    case YAML_SCALAR_EVENT:
        check_scalar(reader, mark, event, "a value");
        node->kind = YAML_TREE_SCALAR;
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->length = event->data.scalar.length;
        node->text =
            yaml_tree_copy(reader->tree, (const char *)event->data.scalar.value, node->length);
        status = node->text ? STATUS_OK : STATUS_NOMEM;
        break;
    case YAML_SEQUENCE_START_EVENT:
        node->kind = YAML_TREE_LIST;
        block = event->data.sequence_start.style == YAML_BLOCK_SEQUENCE_STYLE;
        check_anchor_tag(reader, mark, event->data.sequence_start.anchor,
                         event->data.sequence_start.tag);
        break;
    case YAML_MAPPING_START_EVENT:
        node->kind = YAML_TREE_MAP;
        block = event->data.mapping_start.style == YAML_BLOCK_MAPPING_STYLE;
        check_anchor_tag(reader, mark, event->data.mapping_start.anchor,
                         event->data.mapping_start.tag);
        break;
    default: /* the grammar leaves only this */
        assert(event->type == YAML_ALIAS_EVENT);
        diag_add(reader->diag, mark, "write the value out at each place",
                 "aliases are not allowed");
        node->kind = YAML_TREE_SCALAR;
        node->quoted = true; /* not blank: that would be a second mistake */
        node->text = yaml_tree_copy(reader->tree, "", 0);
        status = node->text ? STATUS_OK : STATUS_NOMEM;
        break;
    }
    if (block && reader->source->one_line)
        diag_add(reader->diag, mark, "write {key: value} or [item, item]; quote a plain text",
                 "a map or list needs its brackets here");

done:
    yaml_event_delete(event);
    if (status != STATUS_OK)
        return status;
    if (node->kind != YAML_TREE_SCALAR && depth == YAML_TREE_DEPTH)
        return diag_add(reader->diag, mark, NULL, "nested deeper than %d levels", YAML_TREE_DEPTH);
    if (node->kind == YAML_TREE_LIST)
        status = read_list(reader, node, depth + 1);
    else if (node->kind == YAML_TREE_MAP)
        status = read_map(reader, node, depth + 1);
    if (status == STATUS_OK)
        *ret_node = node;
    return status;
}

/* ---- documents ------------------------------------------------------------------------------ */
static enum status read_document(struct reader *reader, yaml_event_t *event,
                                 struct yaml_node **ret_root)
{
    struct mark mark = mark_make(reader, event->start_mark);
    if (event->type == YAML_DOCUMENT_START_EVENT &&
        (event->data.document_start.version_directive ||
         event->data.document_start.tag_directives.start !=
             event->data.document_start.tag_directives.end))
        diag_add(reader->diag, mark, "remove the line that starts with %",
                 "directives are not allowed");
    bool empty = event->type == YAML_STREAM_END_EVENT;
    yaml_event_delete(event);

    enum status status = STATUS_OK;
    if (!empty) {
        status = event_next(reader, event);
        if (status == STATUS_OK)
            status = read_node(reader, event, 0, ret_root);
        if (status != STATUS_OK)
            return status;
        empty = yaml_is_blank(*ret_root);
    }
    if (empty && reader->source->one_line)
        return diag_add(reader->diag, mark, "write \"\" for an empty text", "the value is missing");
    if (empty)
        return diag_add(reader->diag, (struct mark){mark.file, 0, 0}, NULL, "the file is empty");

    for (int ends = 0; ends < 2; ends++) { /* of the document, of the stream */
        status = event_next(reader, event);
        if (status != STATUS_OK)
            return status;
        mark = mark_make(reader, event->start_mark);
        bool second = event->type == YAML_DOCUMENT_START_EVENT;
        yaml_event_delete(event);
        if (second)
            return diag_add(reader->diag, mark, "keep one document in a file",
                            "a second document starts here");
    }
    return STATUS_OK;
}

enum status yaml_tree_read(struct yaml_tree *tree, const struct yaml_source *source,
                           struct yaml_node **ret_root, struct diag_list *diag)
{
    struct reader reader = {.tree = tree, .source = source, .diag = diag};
    struct yaml_node *root = NULL;
    yaml_event_t event;
    size_t before = diag_count(diag);
    if (!yaml_parser_initialize(&reader.parser)) {
        yaml_parser_delete(&reader.parser);
        return STATUS_NOMEM;
    }
    /* The encoding is given, or libyaml would also take UTF-16. */
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)source->text,
                                 source->length);

    enum status status = event_next(&reader, &event); /* the start of the stream */
    if (status == STATUS_OK) {
        yaml_event_delete(&event);
        status = event_next(&reader, &event);
    }
    if (status == STATUS_OK)
        status = read_document(&reader, &event, &root);
    yaml_parser_delete(&reader.parser);
    if (diag->nomem)
        return STATUS_NOMEM;
    if (status == STATUS_OK && diag_count(diag) > before)
        status = STATUS_INPUT;
    if (status == STATUS_OK)
        *ret_root = root;
    return status;
}
