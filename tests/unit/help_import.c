/* help_import.c: see help_import.h. */
#include "tests/unit/help_import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int import_set_up(void **state)
{
    struct import_fixture *f = calloc(1, sizeof *f);
    diag_init(&f->diag);
    *state = f;
    return 0;
}

static void forget(struct import_fixture *f)
{
    f->topology = topology_free(f->topology);
    free(f->text);
    f->text = NULL;
    diag_free(&f->diag);
    diag_init(&f->diag);
}

int import_tear_down(void **state)
{
    struct import_fixture *f = *state;
    forget(f);
    diag_free(&f->diag);
    free(f);
    return 0;
}

enum status import_given(struct import_fixture *f, enum import_format format, const char *text)
{
    forget(f);
    f->topology = topology_new();
    enum status status = import_read("in", text, strlen(text), format, f->topology, NULL, &f->diag);
    return status ? status : topology_settle(f->topology, &f->settings, &f->diag);
}

static void show_mistakes(struct import_fixture *f)
{
    char *rendered = NULL;
    assert_int_equal(diag_render(&f->diag, &rendered), STATUS_OK);
    print_message("%s", rendered);
    free(rendered);
}

/* The devices and links that are written, without head, comments and sources. */
void import_expect_node(struct import_fixture *f, enum import_format format, const char *text,
                        const char *expected)
{
    size_t length, used = 0;
    char node[8192];
    if (import_given(f, format, text))
        show_mistakes(f);
    assert_int_equal(diag_count(&f->diag), 0);
    assert_int_equal(topology_write(f->topology, "in", &f->text, &length), STATUS_OK);
    const char *at = strstr(f->text, "  devices:\n");
    assert_non_null(at);
    for (at = strchr(at, '\n') + 1; *at; at = strchr(at, '\n') + 1) {
        size_t line = strcspn(at, "\n");
        const char *comment = strstr(at, "  # ");
        if (comment && comment < at + line)
            line = (size_t)(comment - at);
        if (strncmp(at, "  links:", 8) == 0)
            continue;
        used += (size_t)snprintf(node + used, sizeof node - used, "%.*s\n", (int)line - 4, at + 4);
    }
    node[used] = '\0';
    assert_string_equal(node, expected);
}

/* Whether a note of that level about that device (NULL: any) holds the words. */
bool import_noted(const struct import_fixture *f, enum topology_level level, const char *device,
                  const char *words)
{
    for (size_t i = 0; i < f->topology->note_count; i++) {
        const struct topology_note *note = &f->topology->notes[i];
        bool about = !device;
        for (size_t d = 0; d < f->topology->device_count; d++)
            about = about || (note->devices[d / 64] >> (d % 64) & 1 &&
                              strcmp(f->topology->devices[d].name, device) == 0);
        if (note->level == level && about && strstr(note->text, words))
            return true;
    }
    return false;
}

/* A refusal whose printed form holds the words. */
void import_expect_bad(struct import_fixture *f, enum import_format format, const char *text,
                       const char *words)
{
    char *rendered = NULL;
    assert_int_equal(import_given(f, format, text), STATUS_INPUT);
    assert_int_equal(diag_render(&f->diag, &rendered), STATUS_OK);
    if (!strstr(rendered, words))
        print_message("wanted: %s\ngot: %s", words, rendered);
    assert_non_null(strstr(rendered, words));
    free(rendered);
}
