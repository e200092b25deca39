/* cmd_facts.c: gdprobe facts. */
#include <getopt.h>
#include <stdio.h>

#include "probe/cmd.h"
#include "probe/sys.h"

static const char help[] =
    "Usage: gdprobe facts [--sysroot DIR]\n"
    "What this machine is and can do. What cannot be read is unknown, with the reason.\n\n"
    "  -r, --sysroot DIR  read a captured tree instead of this machine\n"
    "  -h, --help         this text\n";

int cmd_facts(int argc, char **argv)
{
    static const struct option options[] = {
        {"sysroot", required_argument, NULL, 'r'}, {"help", no_argument, NULL, 'h'}, {0}};
    const char *root = NULL;
    struct sys sys;
    struct why why;
    char line[256];
    for (int option; (option = getopt_long(argc, argv, "r:h", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_FINE;
        }
        if (option != 'r') {
            fprintf(stderr, "Try %s --help.\n", argv[0]);
            return EXIT_BAD_INPUT;
        }
        root = optarg;
    }
    if (!sys_open(&sys, root, &why)) {
        fprintf(stderr, "%s: %s\n", argv[0], why.text);
        return EXIT_BAD_INPUT;
    }
    if (sys_line(&sys, "/proc/sys/kernel/osrelease", line, sizeof line, &why))
        printf("kernel            %s\n", line);
    else
        printf("kernel            unknown: %s\n", why.text);
    return EXIT_FINE;
}
