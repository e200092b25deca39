/* cmd_doctor.c: gdprobe doctor. */
#include <stdlib.h>

#include "probe/cmd.h"
#include "probe/doctor.h"
#include "probe/options.h"

static const char help[] =
    "Usage: gdprobe doctor [OPTION...]\n"
    "Whether the fast path of GPUDirect can engage here: each precondition of P2P, RDMA, Storage, "
    "Async and\nGDRCopy, with its evidence, the check that you can repeat, and the fix. Exit code "
    "1 "
    "when something fails,\n0 when nothing does; what is unknown does not count.\n\n"
    "  -q, --quiet          leave out what holds, and what only a run shows\n"
    "  -o, --output FILE    write there\n" OPTIONS_HELP "\nExample:\n"
    "  sudo gdprobe doctor\n";

static void write_all(void *what, FILE *to)
{
    doctor_write(what, false, to);
}

static void write_quiet(void *what, FILE *to)
{
    doctor_write(what, true, to);
}

int cmd_doctor(int argc, char **argv)
{
    struct options options;
    struct sys sys;
    int code = EXIT_FINE;
    if (!options_read(argc, argv, "oq", help, &options, &sys, &code))
        return code;
    struct facts *facts = facts_read(&sys, options.timeout_s);
    struct doctor *doctor = malloc(sizeof *doctor);
    if (!facts || !doctor || !doctor_examine(facts, doctor)) {
        fprintf(stderr, "%s: out of memory\n", argv[0]);
        code = EXIT_BAD_INPUT;
    } else if (!options_write(argv[0], options.output, options.quiet ? write_quiet : write_all,
                              doctor)) {
        code = EXIT_BAD_INPUT;
    } else {
        code = doctor_found(doctor) ? EXIT_FOUND : EXIT_FINE;
    }
    free(doctor);
    facts_free(facts);
    return code;
}
