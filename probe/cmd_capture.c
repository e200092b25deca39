/* cmd_capture.c: gdprobe capture. */
#include <stdio.h>

#include "probe/capture.h"
#include "probe/cmd.h"
#include "probe/options.h"

static const char help[] =
    "Usage: gdprobe capture [OPTION...] DIR\n"
    "Copy what facts and doctor read into DIR, a new directory, so that they can be asked "
    "elsewhere:\n"
    "gdprobe doctor --sysroot DIR. It holds the kernel's command line, the mounts, cpuinfo and the "
    "PCI tree;\nlook through it before you give it away. A file that may not be read here is not "
    "there in the copy.\n\n" OPTIONS_HELP "\nExample:\n"
    "  sudo gdprobe capture node17 && tar czf node17.tgz node17\n";

int cmd_capture(int argc, char **argv)
{
    struct options options;
    struct sys sys;
    struct why why = {""};
    size_t files = 0;
    int code = EXIT_FINE;
    if (!options_read(argc, argv, "1", help, &options, &sys, &code))
        return code;
    if (!options.operand) {
        fprintf(stderr, "%s: into which directory?\nTry %s --help.\n", argv[0], argv[0]);
        return EXIT_BAD_INPUT;
    }
    if (!capture_write(&sys, options.timeout_s, options.operand, &files, &why)) {
        fprintf(stderr, "%s: %s\n", argv[0], why.text);
        return EXIT_BAD_INPUT;
    }
    printf("%zu files into %s\n", files, options.operand);
    return EXIT_FINE;
}
