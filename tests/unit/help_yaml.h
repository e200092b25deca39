/* help_yaml.h: what the tests of the YAML tree share. */
#ifndef GDSIM_TESTS_HELP_YAML_H
#define GDSIM_TESTS_HELP_YAML_H

#include "sim/load/yaml_tree.h"

struct yaml_fixture {
    struct diag_list diag;
    struct yaml_tree *tree;
};

int yaml_set_up(void **state);
int yaml_tear_down(void **state);

/* Read a text as "a.yaml" into the fixture's tree. */
enum status yaml_given(struct yaml_fixture *f, const char *text);

/* Compare a tree with {key=value, key=[item, "quoted"]}; with marks each key and node is followed
 * by @line:column. */
void yaml_expect_tree(const struct yaml_tree *tree, bool marks, const char *expected);

/* Compare all mistakes as printed, and forget them. */
void yaml_expect_diag(struct yaml_fixture *f, const char *expected);

/* A text many times over; to be freed. */
char *yaml_repeat(const char *piece, size_t times);

#endif
