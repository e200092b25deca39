/* cmd_facts.c: gdprobe facts. */
#include <string.h>

#include "probe/cmd.h"
#include "probe/facts.h"
#include "probe/options.h"

static const char help[] =
    "Usage: gdprobe facts [OPTION...]\n"
    "What this machine is and can do: PCI tree, IOMMU, modules, GPUs, NICs, drives. What cannot be "
    "read\nis unknown, with the reason. Most of it needs no root; MPS, MRRS, ACS and ATS do.\n\n"
    "      --yaml           YAML for gdsim import instead of the report\n"
    "  -o, --output FILE    the same, into FILE, and the report on standard output\n" OPTIONS_HELP
    "\nExample:\n"
    "  sudo gdprobe facts -o facts.yaml\n"
    "  gdsim import facts.yaml -o node.yaml && gdsim check node.yaml\n";

static void write_yaml(void *what, FILE *to)
{
    facts_write_yaml(what, to, "");
}

static void write_report(void *what, FILE *to)
{
    facts_write_report(what, to);
}

int cmd_facts(int argc, char **argv)
{
    struct options options;
    struct sys sys;
    int code = EXIT_FINE;
    if (!options_read(argc, argv, "oy", help, &options, &sys, &code))
        return code;
    struct facts *facts = facts_read(&sys, options.timeout_s);
    if (!facts) {
        fprintf(stderr, "%s: out of memory\n", argv[0]);
        return EXIT_BAD_INPUT;
    }
    bool fine = options_write(argv[0], NULL, options.yaml ? write_yaml : write_report, facts);
    if (fine && options.output)
        fine = options_write(argv[0], options.output, write_yaml, facts);
    facts_free(facts);
    return fine ? EXIT_FINE : EXIT_BAD_INPUT;
}
